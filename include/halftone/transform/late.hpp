#pragma once

#include <halftone/base/vector.hpp>
#include <halftone/transform/infer.hpp>

namespace halftone {

/// Whether a tensor can have its place in memory before a run: its shape is known, and it owns
/// nothing elsewhere, as texts, sequences, optional values and maps do.
constexpr bool is_plannable(const TensorInfo& info) {
  return info.is_static() && !has_objects(info.type);
}

namespace detail {

/// Whether what the bodies of a node give is sure to be what its outputs are taken for.
constexpr bool has_sure_outputs(const Graph& graph, const Node& node,
                                std::span<const std::int32_t> bodies) {
  op::Repeat repeat;
  if (!bodies.empty() && describe_repeat(graph, node, repeat)) {
    bool has_stack = false;
    for (std::size_t o = repeat.states; o < node.outputs.size(); ++o) {
      has_stack = has_stack || node.outputs[o] != no_tensor;
    }
    return !has_stack || pass_count(graph, node, repeat) != dynamic;
  }
  for (const std::int32_t index : bodies) {
    const Graph& body = graph.graphs[static_cast<std::size_t>(index)];
    for (std::size_t o = 0; o < node.outputs.size() && o < body.outputs.size(); ++o) {
      if (node.outputs[o] == no_tensor) continue;
      if (body.info(body.outputs[o]) != graph.info(node.outputs[o])) return false;
    }
  }
  return true;
}

}  // namespace detail

constexpr bool is_late(const Graph& graph, const Node& node);

/// Whether nothing of a graph is late, and no tensor has objects.
constexpr bool is_static(const Graph& graph) {
  for (const TensorRecord& t : graph.tensors) {
    if (has_objects(t.info.type)) return false;
  }
  for (const Node& node : graph.nodes) {
    if (is_late(graph, node)) return false;
  }
  return true;
}

/// Whether a node is late: the shapes of its tensors, or of those of its bodies, follow from values
/// when it runs, or they have objects.
constexpr bool is_late(const Graph& graph, const Node& node) {
  if (node.op->run != nullptr && node.op->kernel == nullptr) return true;
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    for (const TensorId id : *ids) {
      if (id != no_tensor && !is_plannable(graph.info(id))) return true;
    }
  }
  const Vector<std::int32_t> bodies = subgraphs_of(node);
  if (!detail::has_sure_outputs(graph, node, bodies)) return true;
  for (const std::int32_t index : bodies) {
    const Graph& body = graph.graphs[static_cast<std::size_t>(index)];
    for (const TensorId id : body.inputs) {
      if (!is_plannable(body.info(id))) return true;
    }
    if (!is_static(body)) return true;
  }
  return false;
}

}  // namespace halftone
