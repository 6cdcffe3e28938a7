#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/session/session.hpp>

namespace halftone::detail {

struct InputPort {
  std::string_view name;
  TensorId id = no_tensor;
  TensorInfo info;             ///< of one micro-batch or slice, as the model says
  std::int64_t count = 1;      ///< how many of them there are in a micro-batch: replicas x slices
  TensorInfo accepted;         ///< of what was given last and fits
  std::uint64_t given_in = 0;  ///< the run in which it was given last
};

/// Finds what a run is given among the inputs of an engine's graph and the streams that it loads from.
class SessionInputs {
 public:
  SessionInputs(Engine& engine, const DataFlow& flow);

  /// Takes the inputs of a run; see Session::run.
  void bind(std::span<const Input> given);
  /// Makes the views those of micro-batch m of what was bound.
  void use(std::int64_t m);
  /// Prepares for step IO, which gives every input in the shape that the model says. Throws
  /// InputError if a shape is not known.
  void expect_declared();
  /// Gives variables their own values again that a run has replaced.
  void restore_variables();
  [[noreturn]] void refuse(const InputPort& port, std::string_view what,
                           std::string_view found) const;

  /// Gives the engine the present micro-batch of streams; the views of the graph's own inputs.
  std::span<const AnyView> hand_over();

  /// The graph's inputs, then streams.
  const std::vector<InputPort>& ports() const { return ports_; }
  const std::vector<InputPort>& optional() const { return optional_; }

  /// One micro-batch of each port, with the info of one replica's tensor or slice.
  std::vector<AnyView> views;

 private:
  void accept(std::size_t i, const TensorInfo& found);
  void check_symbols();
  void replace_variable(const Input& input);
  void check_data(const InputPort& port, const AnyView& value) const;
  bool take(InputPort& port) const;
  [[noreturn]] void throw_missing() const;

  /// A variable that has another value for one run.
  struct Override {
    TensorId id = no_tensor;
    AnyArray value;  // its own
  };

  void accept_stream(std::size_t i, const TensorInfo& found);

  Engine& engine_;
  DataFlow flow_;
  std::int64_t lead_[3];
  std::size_t inputs_;  ///< ports that are the graph's own
  std::vector<Engine::Stream> streams_;
  std::vector<InputPort> ports_, optional_;
  std::vector<const void*> given_;  // the elements of all micro-batches
  std::vector<Override> overrides_;
  std::uint64_t run_number_ = 0;
  bool symbols_agree_ = false;
};

}  // namespace halftone::detail
