#pragma once

#include <cstddef>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/infer.hpp>

namespace halftone {

namespace detail {

/// Whether a body changes no other inputs than those that its call says it changes.
constexpr bool keeps_inputs(const Graph& body, const op::Call& call) {
  const Aliases aliases(body);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    if (aliases.is_modified(body.inputs[i]) && !call.modifies(i)) return false;
  }
  return true;
}

/// The largest number of a block among nodes that have places.
constexpr std::int32_t last_block(const Vector<Node>& nodes) {
  std::int32_t last = 0;
  for (const Node& node : nodes) last = node.order.block > last ? node.order.block : last;
  return last;
}

/// Appends the nodes of a body to a graph, on the tensors that a call of it has. Their blocks get
/// numbers behind `blocks`; those without a place get the call's.
constexpr void append_body(Graph& graph, const Graph& body, const Node& call, std::int32_t blocks) {
  TensorMap<TensorId> id_of(body, no_tensor);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) id_of[body.inputs[i]] = call.inputs[i];
  for (std::size_t i = 0; i < body.tensors.size(); ++i) {
    const TensorRecord& t = body.tensors[i];
    if (t.role == Role::constant) {
      id_of[static_cast<TensorId>(i)] = graph.add_constant(t.info, t.data);
    }
  }
  // What is copied in the end: an output that is an input, a constant, or an output another time.
  Vector<std::size_t> copied;
  for (std::size_t o = 0; o < call.outputs.size(); ++o) {
    if (call.outputs[o] == no_tensor) continue;
    TensorId& id = id_of[body.outputs[o]];
    if (id == no_tensor) {
      id = call.outputs[o];
    } else {
      copied.push_back(o);
    }
  }
  const auto first_graph = static_cast<std::int32_t>(graph.graphs.size());
  for (const Graph& inner : body.graphs) graph.graphs.push_back(inner);
  for (const Node& inner : body.nodes) {
    Node node{.op = inner.op,
              .attributes = inner.attributes,
              .planning = inner.planning,
              .place = inlined(inner.place, call.place),
              .order = inner.order};
    if (node.order.block == 0) {
      node.order = call.order;
    } else {
      node.order.block += blocks;
    }
    if (node.op->id == op::Call::id) {
      auto nested = unpack<op::Call>(node.attributes);
      nested.callee.index += first_graph;
      node.attributes = pack(nested);
    }
    for (const TensorId id : inner.inputs) {
      node.inputs.push_back(id == no_tensor ? no_tensor : id_of[id]);
    }
    for (const TensorId id : inner.outputs) {
      if (id != no_tensor && id_of[id] == no_tensor) {
        id_of[id] = graph.add_tensor({.info = body.info(id)}, {});
      }
      node.outputs.push_back(id == no_tensor ? no_tensor : id_of[id]);
    }
    graph.nodes.push_back(std::move(node));
  }
  for (const std::size_t o : copied) {
    graph.nodes.push_back({.op = &descriptor<op::Identity>,
                           .attributes = pack(op::Identity{}),
                           .inputs = {id_of[body.outputs[o]]},
                           .outputs = {call.outputs[o]},
                           .place = call.place});
  }
}

/// A body whose nodes may stand in the graph of its call: it has no subgraphs but those of calls,
/// and no variables of its own.
constexpr bool can_inline(const Graph& body, const Node& node) {
  if (node.inputs.size() != body.inputs.size()) return false;
  for (const TensorRecord& t : body.tensors) {
    if (is_variable(t)) return false;
  }
  for (const Node& inner : body.nodes) {
    if (inner.op->id != op::Call::id && !subgraphs_of(inner).empty()) return false;
  }
  return keeps_inputs(body, unpack<op::Call>(node.attributes));
}

}  // namespace detail

/// Replaces calls by the nodes of what they call, calls in there, too. All infos must be known;
/// calls of bodies with loops or branches stay.
constexpr Graph inline_calls(Graph graph) {
  const auto is_call = [](const Node& node) { return node.op->id == op::Call::id; };
  bool has_more = false;
  for (const Node& node : graph.nodes) has_more = has_more || is_call(node);
  while (has_more) {
    has_more = false;
    Vector<Node> nodes = std::exchange(graph.nodes, {});
    std::int32_t blocks = detail::last_block(nodes);
    for (Node& node : nodes) {
      if (is_call(node)) {
        const auto callee = unpack<op::Call>(node.attributes).callee;
        const Graph body = graph.graphs[static_cast<std::size_t>(callee.index)];
        if (detail::can_inline(body, node)) {
          detail::append_body(graph, body, node, blocks);
          blocks += detail::last_block(body.nodes);
          has_more = true;
          continue;
        }
      }
      graph.nodes.push_back(std::move(node));
    }
  }
  return graph;
}

}  // namespace halftone
