#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/session/session.hpp>

namespace halftone::detail {

struct OutputPort {
  std::string_view name;
  TensorId id = no_tensor;
  Return returns = Return::all;
  std::int64_t period = 1;
  AnyArray collected{};  ///< of runs with several micro-batches
};

/// The tensors that a session returns, as its options say; the outputs of the graph if they name
/// none.
std::vector<OutputPort> find_outputs(const Graph& graph, const SessionOptions& options,
                                     const DataFlow& flow);

/// Keeps what runs return: the outputs of an engine.
class SessionOutputs {
 public:
  SessionOutputs(const Engine& engine, const DataFlow& flow, std::vector<OutputPort> ports);

  /// Takes output i of micro-batch m, which the engine has just computed.
  void collect(std::size_t i, std::int64_t m);
  /// What the last run returned.
  AnyView value(std::size_t i) const;

  std::size_t size() const { return ports_.size(); }
  const OutputPort& operator[](std::size_t i) const { return ports_[i]; }
  const OutputPort& at(std::size_t i) const { return ports_.at(i); }
  /// Their number if none has this name.
  std::size_t find(std::string_view name) const;
  std::size_t find(TensorId id) const;
  /// "'logits', 'loss'", for hints.
  std::string names() const;

 private:
  void add(OutputPort& port, const AnyView& value, std::int64_t m);
  void reserve(OutputPort& port, const TensorInfo& own, const Dims& shape);
  void check_same(const OutputPort& port, const TensorInfo& own, std::int64_t bytes) const;

  const Engine& engine_;
  DataFlow flow_;
  std::vector<OutputPort> ports_;
};

}  // namespace halftone::detail
