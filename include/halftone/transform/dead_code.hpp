#pragma once

#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/graph/subgraphs.hpp>

namespace halftone {

/// Whether a node does more than compute its outputs: prints, or changes one of its inputs (an
/// optimizer's update, say). It is never dead.
constexpr bool has_effect(const Node& node) {
  if (node.op->has_effect) return true;
  bool modifies = false;
  for_each_modified(node, [&](std::size_t) { modifies = true; });
  return modifies;
}

constexpr bool has_effect(const Graph& graph, const Node& node);

/// The same of what the bodies of a node do.
constexpr bool has_effect_inside(const Graph& graph, const Node& node) {
  bool found = false;
  for_each_body(graph, node, [&](const Graph& body) {
    for (const Node& inner : body.nodes) found = found || has_effect(body, inner);
  });
  return found;
}

/// The same of a node with its bodies.
constexpr bool has_effect(const Graph& graph, const Node& node) {
  return has_effect(node) || has_effect_inside(graph, node);
}

/// Whether a node was computed beforehand: it has given its outputs away, and does nothing else.
constexpr bool is_evaluated(const Node& node) {
  return node.outputs.empty() && node.op->signature.outputs() != 0 && !has_effect(node) &&
         subgraphs_of(node).empty();
}

/// Drops the nodes from number `first` on that nothing depends on: no tensor with used[id] and no
/// variable.
constexpr void drop_dead_nodes(Graph& graph, std::size_t first, TensorMap<bool> used) {
  NodeMap<bool> keep(graph, true);
  for (std::size_t n = graph.nodes.size(); n-- > first;) {
    const Node& node = graph.nodes[n];
    bool wanted = has_effect(graph, node);
    for (const TensorId id : node.outputs) {
      wanted = wanted || (id != no_tensor && used[id]);
    }
    keep[n] = wanted;
    if (!wanted) continue;
    for (const TensorId id : node.inputs) {
      if (id != no_tensor) used[id] = true;
    }
  }
  std::size_t kept = first;
  for (std::size_t n = first; n < graph.nodes.size(); ++n) {
    if (!keep[n]) continue;
    if (kept != n) graph.nodes[kept] = std::move(graph.nodes[n]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

/// Without the nodes that no output and no variable depends on. Ids of tensors stay.
constexpr Graph without_dead_code(Graph graph) {
  TensorMap<bool> used(graph, false);
  for (const TensorId id : graph.outputs) used[id] = true;
  drop_dead_nodes(graph, 0, std::move(used));
  return graph;
}

}  // namespace halftone
