#include "transform/defer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <halftone/graph/planning.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/late.hpp>

namespace halftone {
namespace {

/// Marks the outputs of a node; returns whether none of its inputs is marked.
bool reads_none(const TensorMap<bool>& marked, const Node& node) {
  return std::none_of(node.inputs.begin(), node.inputs.end(),
                      [&](TensorId id) { return id != no_tensor && marked[id]; });
}
void mark_outputs(TensorMap<bool>& marked, const Node& node) {
  for (const TensorId id : node.outputs) {
    if (id != no_tensor) marked[id] = true;
  }
}

/// A graph of some of the nodes: its inputs are what they read of others, its outputs what `wanted`
/// has of theirs.
Graph part_of(const Graph& graph, Vector<Node> nodes, const Vector<TensorId>& wanted) {
  Graph part = graph;
  part.nodes = std::move(nodes);
  part.inputs.clear();
  part.outputs.clear();
  part.optional_inputs.clear();
  part.symbols.clear();
  part.notes.clear();
  TensorMap<bool> seen(graph, false);
  for (const Node& node : part.nodes) {
    for (const TensorId id : node.inputs) {
      if (id == no_tensor || seen[id]) continue;
      seen[id] = true;
      TensorRecord& t = part.tensor(id);
      if (t.role == Role::constant || is_variable(t)) continue;
      t.role = Role::input;
      part.inputs.push_back(id);
    }
    mark_outputs(seen, node);
  }
  TensorMap<bool> made(graph, false);
  for (const Node& node : part.nodes) mark_outputs(made, node);
  for (const TensorId id : wanted) {
    if (id == no_tensor || !made[id]) continue;
    made[id] = false;
    part.outputs.push_back(id);
  }
  return part;
}

/// What nodes and a graph's outputs read.
Vector<TensorId> reads_of(const Vector<Node>& nodes, const Vector<TensorId>& outputs) {
  Vector<TensorId> ids = outputs;
  for (const Node& node : nodes) ids.insert(ids.end(), node.inputs.begin(), node.inputs.end());
  return ids;
}

/// The node that runs a part of the graph.
Node call_of(Graph& graph, Graph part, std::string_view name) {
  const op::Call call{.callee = {static_cast<std::int32_t>(graph.graphs.size())}};
  Node node{.op = &descriptor<op::Call>,
            .attributes = pack(call),
            .inputs = part.inputs,
            .outputs = part.outputs,
            .name = graph.store_name(name)};
  graph.graphs.push_back(std::move(part));
  return node;
}

bool is_worth_planning(const Vector<Node>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return !is_view(node); });
}

}  // namespace

bool has_products(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (is_planned(node.op->id.name)) return true;
    const std::vector<std::int32_t> bodies = subgraphs_of(node);
    return std::any_of(bodies.begin(), bodies.end(), [&](std::int32_t index) {
      return has_products(graph.graphs[static_cast<std::size_t>(index)]);
    });
  });
}

Graph defer(Graph graph) {
  const auto has_any_effect = [&](const Node& node) { return has_effect(graph, node); };
  if (is_static(graph) || std::any_of(graph.nodes.begin(), graph.nodes.end(), has_any_effect)) {
    return graph;
  }
  Vector<Node> early, between, late;
  TensorMap<bool> is_found(graph, false);  // what late nodes make, and all that depends on it
  for (const Node& node : graph.nodes) {
    const bool is_first = reads_none(is_found, node);
    if (is_first && !is_late(graph, node)) {
      early.push_back(node);
      continue;
    }
    (is_first ? between : late).push_back(node);
    mark_outputs(is_found, node);
  }
  Graph rest = part_of(graph, late, graph.outputs);
  if (between.empty() || !has_products(rest)) {
    between.insert(between.end(), late.begin(), late.end());
    late.clear();
  }
  Vector<Node> others = between;
  others.insert(others.end(), late.begin(), late.end());
  Graph first = part_of(graph, early, reads_of(others, graph.outputs));

  graph.nodes.clear();
  if (is_worth_planning(early)) {
    graph.nodes.push_back(call_of(graph, std::move(first), "early"));
  } else {
    graph.nodes = std::move(early);
  }
  graph.nodes.insert(graph.nodes.end(), between.begin(), between.end());
  if (!late.empty()) graph.nodes.push_back(call_of(graph, std::move(rest), "late"));
  return graph;
}

}  // namespace halftone
