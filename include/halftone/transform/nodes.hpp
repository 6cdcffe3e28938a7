#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <halftone/graph/graph.hpp>
#include <halftone/op/list.hpp>

/// Several passes ask these questions about nodes and graphs, and drop nodes in this way.
namespace halftone::detail {

/// The value of a constant float of one element.
constexpr bool scalar_value(const Graph& graph, TensorId id, float& value) {
  const TensorRecord& t = graph.tensor(id);
  const std::span<const std::byte> bytes = t.data.span();
  if (t.role != Role::constant || t.info.type != ElementType::float32 || bytes.size() != 4) {
    return false;
  }
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    bits |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  }
  value = std::bit_cast<float>(bits);
  return true;
}

/// The limits of a node that clamps its first input: Relu, Clip with constant limits.
constexpr bool clamp_limits(const Graph& graph, const Node& node, float& lower, float& upper) {
  // Not infinity: the largest float leaves every finite sum and infinity's place alone.
  constexpr float infinity = std::bit_cast<float>(0x7f800000);
  lower = -infinity;
  upper = infinity;
  if (node.op->id == op::Relu::id) {
    lower = 0;
    return true;
  }
  if (node.op->id != op::Clip::id) return false;
  return (!has_input(node, 1) || scalar_value(graph, node.inputs[1], lower)) &&
         (!has_input(node, 2) || scalar_value(graph, node.inputs[2], upper)) && lower <= upper;
}

/// Whether a graph has nodes of gradients or of updates.
constexpr bool is_trained(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.place.part != Part::forward) return true;
  }
  return false;
}

/// Drops nodes without an operator.
constexpr void remove_empty_nodes(Graph& graph) {
  std::size_t kept = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op == nullptr) continue;
    if (kept != n) graph.nodes[kept] = std::move(graph.nodes[n]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

}  // namespace halftone::detail
