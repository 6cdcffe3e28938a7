#pragma once

#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/base/window.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>

namespace halftone {

namespace detail {

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

/// Describes a node as a convolution of two dimensions, and says whether it is one. A ConvTranspose of
/// floats whose steps are 1 is one with flipped weights.
constexpr bool as_convolution(const Graph& graph, const Node& node, op::FusedConv& fused) {
  if (node.op == nullptr) return false;
  const bool is_transposed = node.op->id == op::ConvTranspose::id;
  if (!is_transposed && node.op->id != op::Conv::id) return false;
  const TensorInfo x = graph.info(node.inputs[0]), w = graph.info(node.inputs[1]);
  if (x.rank() != 4) return false;
  const std::int64_t input[]{x.shape[2], x.shape[3]};
  const Dims kernel{w.shape[2], w.shape[3]};
  Window window;
  if (is_transposed) {
    const auto conv = unpack<op::ConvTranspose>(node.attributes);
    if (x.type != ElementType::float32 || conv.group != 1 || x.elements() <= 0) return false;
    window = conv.window_over(input, kernel);
    constexpr std::int64_t widest = 256;  // the kinds of ConvPlan that take flipped weights
    if (!window.ok() || window.strides != Dims{1, 1} || kernel[1] > widest) return false;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t reach = window.reach(i) - 1, pad = reach - window.pad_begin(i);
      window.pads[i] = pad;
      window.pads[2 + i] = window.output[i] - input[i] + reach - pad;
      if (pad < 0 || window.pads[2 + i] < 0) return false;
    }
    fused.flipped = true;
  } else {
    const auto conv = unpack<op::Conv>(node.attributes);
    window = conv.window_over(input, kernel);
    if (!window.ok()) return false;
    fused.group = conv.group;
  }
  fused.strides = window.strides;
  fused.dilations = window.dilations;
  fused.pads = window.pads;
  return true;
}

}  // namespace detail

/// Two-dimensional convolutions become FusedConv and take in the addition of another tensor of
/// their shape and the Relu or Clip that follow, where nothing else reads the values between. They
/// are computed where the last of these nodes is. All infos must be known.
constexpr Graph fuse_convolutions(Graph graph) {
  const Uses uses(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    op::FusedConv fused;
    if (!detail::as_convolution(graph, graph.nodes[n], fused)) continue;
    std::size_t at = n;
    Vector<TensorId> inputs = graph.nodes[n].inputs;
    inputs.resize(4, no_tensor);
    for (;;) {
      const TensorId y = graph.nodes[at].outputs[0];
      const int reader = uses.only_reader(y);
      if (reader == no_node || fused.clamp) break;
      const Node& next = graph.nodes[static_cast<std::size_t>(reader)];
      if (next.op == nullptr || graph.info(next.outputs[0]) != graph.info(y)) break;
      if (!may_share_kernel(next.place, graph.nodes[at].place)) break;
      float lower = 0, upper = 0;
      if (next.op->id == op::Add::id && inputs[3] == no_tensor) {
        const TensorId other = next.inputs[next.inputs[0] == y ? 1 : 0];
        if (graph.info(other) != graph.info(y)) break;
        inputs[3] = other;
      } else if (next.inputs[0] == y && detail::clamp_limits(graph, next, lower, upper)) {
        fused.clamp = true;
        fused.lower = lower;
        fused.upper = upper;
      } else {
        break;
      }
      if (graph.nodes[static_cast<std::size_t>(reader)].name.empty()) {
        graph.nodes[static_cast<std::size_t>(reader)].name = graph.nodes[at].name;
      }
      graph.nodes[at].op = nullptr;
      at = static_cast<std::size_t>(reader);
    }
    while (inputs.back() == no_tensor) inputs.pop_back();
    Node& node = graph.nodes[at];
    node.op = &descriptor<op::FusedConv>;
    node.attributes = pack(fused);
    node.inputs = std::move(inputs);
    if (!graph.nodes[n].name.empty()) node.name = graph.nodes[n].name;
  }
  detail::remove_empty_nodes(graph);
  return graph;
}

}  // namespace halftone
