#include "transform/pair_channels.hpp"

#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/kernel/conv_plan.hpp>
#include <halftone/op/list.hpp>

namespace halftone {
namespace {

/// This finds the tensors of a graph that can be pairs, and makes them pairs.
class Pairs {
 public:
  explicit Pairs(Graph graph)
      : graph_(std::move(graph)), is_made_(graph_, false), is_taken_(graph_, true) {
    for (const TensorId id : graph_.outputs) is_taken_[id] = false;
    for (const Node& node : graph_.nodes) {
      if (node.op->id == op::FusedConv::id) {
        note_convolution(node);
      } else if (keeps_pairs(node)) {
        is_made_[node.outputs[0]] = true;
      } else {
        for (const TensorId id : node.inputs) deny(id);
      }
    }
    while (deny_mixed()) {
    }
  }

  Graph made() && {
    for (Node& node : graph_.nodes) {
      if (node.op->id == op::FusedConv::id) pair(node);
    }
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      if (is_pair(id)) to_pairs(graph_.tensors[i].info);
    }
    return std::move(graph_);
  }

 private:
  void deny(TensorId id) {
    if (id != no_tensor) is_taken_[id] = false;
  }
  bool is_pair(TensorId id) const { return id != no_tensor && is_made_[id] && is_taken_[id]; }

  void note_convolution(const Node& node) {
    const auto conv = unpack<op::FusedConv>(node.attributes);
    const TensorInfo& w = graph_.info(node.inputs[1]);
    const std::int64_t filters = w.shape[conv.flipped ? 1 : 0];
    const std::int64_t channels = w.shape[conv.flipped ? 0 : 1] * conv.group;
    const bool is_depthwise =
        conv.group == channels && channels == filters && conv.blocked_input && conv.blocked_output;
    const bool has_pairs = w.type == ElementType::float32 && (conv.group == 1 || is_depthwise) &&
                           w.shape[3] <= kernel::most_kernel_columns;
    const bool makes = has_pairs && conv.blocked_output && filters % conv.block == 0;
    const std::int64_t rows = (w.shape[2] - 1) * conv.dilations[0] + 1;
    const std::int64_t width = graph_.info(node.inputs[0]).shape[3];
    const bool fits = kernel::detail::fits_depthwise_ring(rows, width);
    // The channels of one block do not fill a register's steps, and floats alone are normalized.
    const bool takes = has_pairs && conv.blocked_input && node.inputs.size() <= 4 &&
                       (is_depthwise ? fits : channels > conv.block);
    is_made_[node.outputs[0]] = makes;
    if (!takes) deny(node.inputs[0]);
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (i != 3 || !makes) deny(node.inputs[i]);
    }
  }

  /// Whether a node moves elements of blocks and does nothing else. A Concat of an odd number of blocks does not
  /// keep pairs: its last block would share one with the first block of the next tensor.
  bool keeps_pairs(const Node& node) const {
    if (node.outputs.size() != 1 || graph_.info(node.outputs[0]).rank() != 5) return false;
    if (node.op->id == op::MaxPool::id) return is_block(node.inputs[0]);
    if (node.op->id != op::Concat::id || unpack<op::Concat>(node.attributes).axis != 1)
      return false;
    for (const TensorId id : node.inputs) {
      if (!is_block(id) || graph_.info(id).shape[1] % 2 != 0) return false;
    }
    return true;
  }
  bool is_block(TensorId id) const {
    const TensorInfo& x = graph_.info(id);
    return x.type == ElementType::float32 && x.rank() == 5;
  }

  /// All tensors of a node that keeps pairs are pairs, or none of them; returns whether one had to be denied.
  bool deny_mixed() {
    bool has_denied = false;
    for (const Node& node : graph_.nodes) {
      if (!keeps_pairs(node)) continue;
      bool are_pairs = is_pair(node.outputs[0]), is_any = are_pairs;
      for (const TensorId id : node.inputs) {
        are_pairs = are_pairs && is_pair(id);
        is_any = is_any || is_pair(id);
      }
      if (are_pairs || !is_any) continue;
      for (const TensorId id : node.inputs) deny(id);
      deny(node.outputs[0]);
      has_denied = true;
    }
    return has_denied;
  }

  void pair(Node& node) {
    bool has_pairs = is_pair(node.outputs[0]);
    for (const TensorId id : node.inputs) has_pairs = has_pairs || is_pair(id);
    if (!has_pairs) return;
    node.op = &descriptor<op::PairedConv>;
    node.attributes = pack(op::PairedConv{.conv = unpack<op::FusedConv>(node.attributes),
                                          .makes_pairs = is_pair(node.outputs[0])});
  }
  static void to_pairs(TensorInfo& info) {
    const Dims& s = info.shape;
    info = {ElementType::bfloat16, {s[0], (s[1] + 1) / 2, s[2], s[3], 2 * s[4]}};
  }

  Graph graph_;
  TensorMap<bool> is_made_;   ///< by what can make pairs
  TensorMap<bool> is_taken_;  ///< by nothing but what can take them
};

}  // namespace

Graph pair_channels(Graph graph) { return Pairs(std::move(graph)).made(); }

}  // namespace halftone
