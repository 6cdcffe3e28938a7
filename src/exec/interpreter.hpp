#pragma once

#include <unordered_map>
#include <vector>

#include <halftone/exec/engine.hpp>

#include "node.hpp"

namespace halftone {

/// By the node, which has to stay where it is.
using KeptNodes = std::unordered_map<const Node*, KeptNode>;

/// How the interpreter runs nodes: its threads, and whoever computes single nodes, if not run_node.
struct Interpretation {
  const kernel::Executor& executor;
  NodeRunner* runner;
  KeptNodes* kept;  ///< what nodes keep from run to run; null: nothing

  Interpretation(const kernel::Executor& threads, NodeRunner* other = nullptr,
                 KeptNodes* nodes = nullptr)
      : executor(threads), runner(other), kept(nodes) {}
};

/// Runs a graph node by node, finding shapes as it goes: for graphs whose shapes depend on values.
/// Returns the outputs.
std::vector<AnyArray> interpret(const Graph& graph, std::span<const AnyView> inputs,
                                const Interpretation& how);
/// The same for other outputs than the graph's own; no_tensor: none in this place.
std::vector<AnyArray> interpret(const Graph& graph, std::span<const AnyView> inputs,
                                const Interpretation& how, std::span<const TensorId> outputs);

}  // namespace halftone
