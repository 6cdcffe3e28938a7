#pragma once

#include <vector>

#include <halftone/exec/engine.hpp>

#include "node.hpp"

namespace halftone {

/// How the interpreter runs nodes: its threads, and whoever computes single nodes, if not run_node.
struct Interpretation {
  const kernel::Executor& executor;
  NodeRunner* runner;

  Interpretation(const kernel::Executor& threads, NodeRunner* other = nullptr)
      : executor(threads), runner(other) {}
};

/// Runs a graph node by node, finding shapes as it goes: for graphs whose shapes depend on values.
/// Returns the outputs.
std::vector<AnyArray> interpret(const Graph& graph, std::span<const AnyView> inputs,
                                const Interpretation& how);
/// The same for other outputs than the graph's own; no_tensor: none in this place.
std::vector<AnyArray> interpret(const Graph& graph, std::span<const AnyView> inputs,
                                const Interpretation& how, std::span<const TensorId> outputs);

}  // namespace halftone
