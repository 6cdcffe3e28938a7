#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/session/session.hpp>

namespace halftone::detail {

/// Throws InputError unless there is a number i of so many.
inline void check_number(std::size_t i, std::size_t count, std::string_view what) {
  if (i < count) return;
  fail(ErrorKind::input, {.what = what,
                          .expected = "a number below " + std::to_string(count),
                          .found = std::to_string(i)});
}

struct OutputPort {
  std::string_view name;
  TensorId id = no_tensor;
  Return returns = Return::all;
  std::int64_t period = 1;
  std::int64_t count = 1;  ///< values in a micro-batch: replicas x slices
  AnyArray collected{};    ///< of streams, replicas, and runs with several micro-batches
};

/// The tensors that a session returns, as its options say; the outputs of the graph if they name
/// none.
std::vector<OutputPort> find_outputs(const Graph& graph, const SessionOptions& options,
                                     const DataFlow& flow);

/// Keeps what runs return: the outputs of an engine, then the streams that it stores to.
class SessionOutputs {
 public:
  SessionOutputs(Engine& engine, const DataFlow& flow, std::vector<OutputPort> ports);

  /// Gives the engine memory for what it stores in micro-batch m.
  void hand_over(std::int64_t m);
  /// Takes output i of micro-batch m, which the engine has just computed, as number j of those that ran
  /// together.
  void collect(std::size_t i, std::int64_t m, std::int64_t j = 0);
  /// Whether outputs have to be collected: there are several values of them.
  bool collects() const { return flow_.micro_batches() > 1 || flow_.replicas > 1; }
  bool is_stream(std::size_t i) const { return i >= outputs_; }
  /// Of one value.
  const TensorInfo& info(std::size_t i) const;
  Dims shape(std::size_t i) const;
  /// What micro-batch m has computed, for all replicas.
  AnyView of_micro_batch(std::size_t i, std::int64_t m) const;
  /// What the last run returned.
  AnyView value(std::size_t i) const;

  std::size_t size() const { return ports_.size(); }
  const OutputPort& operator[](std::size_t i) const { return ports_[i]; }
  const OutputPort& at(std::size_t i) const {
    check_number(i, ports_.size(), "a run returns fewer tensors");
    return ports_[i];
  }
  /// Their number if none has this name.
  std::size_t find(std::string_view name) const;
  std::size_t find(TensorId id) const;
  /// "'logits', 'loss'", for hints.
  std::string names() const;

 private:
  void add(OutputPort& port, const AnyView& value, std::int64_t m, int replica);
  void reserve(OutputPort& port, const TensorInfo& own, const Dims& shape);
  void check_same(const OutputPort& port, const TensorInfo& own, std::int64_t bytes) const;

  Engine& engine_;
  DataFlow flow_;
  std::size_t outputs_;  ///< ports that are outputs
  std::vector<Engine::Stream> streams_;
  std::vector<OutputPort> ports_;
};

}  // namespace halftone::detail
