#pragma once

#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/base/window.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/nodes.hpp>

namespace halftone {

namespace detail {

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
    if (!window.ok() || window.strides != Dims{1, 1}) return false;
    if (kernel[1] > kernel::most_kernel_columns) return false;
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
