#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/nodes.hpp>

namespace halftone {

namespace detail {

/// Whether nodes behind `join`, but for one, leave the memory of its input alone, which is no variable's
/// and not given out.
constexpr bool is_left_alone(const Graph& graph, const Aliases& aliases, std::size_t join,
                             std::size_t but_for) {
  const TensorId root = aliases.root(graph.nodes[join].inputs[0]);
  const auto is_there = [&](TensorId id) { return id != no_tensor && aliases.root(id) == root; };
  if (graph.tensor(root).role != Role::value) return false;
  if (std::any_of(graph.outputs.begin(), graph.outputs.end(), is_there)) return false;
  for (std::size_t n = join + 1; n < graph.nodes.size(); ++n) {
    const Vector<TensorId>& inputs = graph.nodes[n].inputs;
    if (n != but_for && std::any_of(inputs.begin(), inputs.end(), is_there)) return false;
  }
  return true;
}

/// The node that joins a gradient for this update alone; no_node: the update has to stay as it is.
constexpr int join_of_update(const Graph& graph, const Uses& uses, const Aliases& aliases,
                             std::size_t n) {
  const Node& node = graph.nodes[n];
  if (node.op == nullptr || node.op->id != op::Update::id) return no_node;
  const auto update = unpack<op::Update>(node.attributes);
  const bool is_conditional = has_input(node, 7);
  if (update.kind == op::Optimizing::lamb || update.clear || is_conditional) return no_node;
  const TensorId g = node.inputs[1];
  const int join = uses.producer[g];
  if (join == no_node || uses.only_reader(g) != static_cast<int>(n)) return no_node;
  const auto at = static_cast<std::size_t>(join);
  const Node& reduce = graph.nodes[at];
  const bool fits = reduce.op != nullptr && reduce.op->id == op::ReplicatedAllReduce::id &&
                    may_merge(reduce.place, node.place) && is_left_alone(graph, aliases, at, n);
  return fits ? join : no_node;
}

}  // namespace detail

/// Updates join the replicas' gradients themselves, where nothing else reads what is joined: a pass
/// over memory less. Replicas still meet in the same order, that of the updates.
constexpr Graph join_updates(Graph graph) {
  if (graph.replicas == 1) return graph;
  const Uses uses(graph);
  const Aliases aliases(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const int join = detail::join_of_update(graph, uses, aliases, n);
    if (join == no_node) continue;
    Node& reduce = graph.nodes[static_cast<std::size_t>(join)];
    Node& node = graph.nodes[n];
    node.inputs[1] = reduce.inputs[0];
    node.inputs.resize(descriptor<op::JoinedUpdate>.signature.inputs(), no_tensor);
    node.attributes =
        pack(op::JoinedUpdate{unpack<op::Update>(node.attributes),
                              unpack<op::ReplicatedAllReduce>(reduce.attributes).collective});
    node.op = &descriptor<op::JoinedUpdate>;
    reduce.op = nullptr;
  }
  detail::remove_empty_nodes(graph);
  return graph;
}

}  // namespace halftone
