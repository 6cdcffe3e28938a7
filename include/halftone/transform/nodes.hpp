#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <halftone/graph/graph.hpp>
#include <halftone/graph/index.hpp>
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

/// A tensor that was loaded from a remote buffer is the one that was stored there, if nothing else is
/// stored in that buffer. The function gives the stored one, and any other tensor itself.
constexpr TensorId before_remote(const Graph& graph, const Uses& uses, TensorId id) {
  const int load = uses.producer[id];
  if (load == no_node) return id;
  const Node& loading = graph.nodes[static_cast<std::size_t>(load)];
  if (loading.op->id != op::RemoteLoad::id) return id;
  const auto input = [](const Node& node, std::size_t i) {
    return i < node.inputs.size() ? node.inputs[i] : no_tensor;
  };
  const auto is_same = [&](TensorId a, TensorId b) {
    if (a == b || a == no_tensor || b == no_tensor) return a == b;
    const TensorRecord &x = graph.tensor(a), &y = graph.tensor(b);
    return x.role == Role::constant && y.role == Role::constant && x.info == y.info &&
           x.data == y.data;
  };
  const auto buffer = unpack<op::RemoteLoad>(loading.attributes).buffer_id;
  TensorId found = no_tensor;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op->id != op::RemoteStore::id) continue;
    if (input(node, 2) != input(loading, 2)) continue;
    if (unpack<op::RemoteStore>(node.attributes).buffer_id != buffer) continue;
    const bool is_row =
        is_same(input(node, 1), input(loading, 1)) && n < static_cast<std::size_t>(load);
    if (!is_row || found != no_tensor) return id;
    found = node.inputs[0];
  }
  return found == no_tensor ? id : found;
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
