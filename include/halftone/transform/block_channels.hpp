#pragma once

#include <type_traits>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/kernel/last_shape.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/fold_batch_norm.hpp>
#include <halftone/transform/nodes.hpp>

namespace halftone {

namespace detail {

/// Rewrites a graph node by node so that convolutions read and write activations in blocks of
/// channels, of all channels where they are bytes. Every tensor may exist plain (with its old id) and in
/// blocks (with a new one).
class ChannelBlocks {
 public:
  constexpr ChannelBlocks(Graph graph, std::int64_t block, bool with_bytes)
      : graph_(std::move(graph)),
        block_(block),
        with_bytes_(with_bytes),
        blocked_(graph_, no_tensor),
        is_plain_(graph_, true) {}

  constexpr Graph run() {
    Vector<Node> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : old) {
      here_ = node.place;
      // Nodes of a later stage may stand before those of an earlier one: complete_places finds where.
      here_.stage = here_.ipu = -1;
      if (!place_convolution(node) && !place_quantized(node) && !place_elementwise(node) &&
          !place_copy(node) && !place_pool(node) && !place_concat(node) &&
          !place_normalization(node)) {
        for (const TensorId id : node.inputs) plain(id);
        graph_.nodes.push_back(std::move(node));
      }
    }
    for (const TensorId id : graph_.outputs) plain(id);
    drop_reorders();
    return std::move(graph_);
  }

 private:
  constexpr bool fits(const TensorInfo& info) const {
    return info.type == ElementType::float32 && info.rank() == 4 && info.elements() > 0;
  }
  /// The same of blocks of all channels.
  constexpr bool fits_last(const TensorInfo& info) const {
    const bool is_byte = info.type == ElementType::uint8 || info.type == ElementType::int8;
    return (is_byte || info.type == ElementType::float32) && info.rank() == 4 &&
           info.elements() > 0;
  }
  /// Whether a tensor may lie in such blocks: those of floats, or of all channels.
  constexpr bool may_lie_in(const TensorInfo& info, std::int64_t block) const {
    return (block == block_ && fits(info)) || (fits_last(info) && block == info.shape[1]);
  }
  /// Whether operators may work on a tensor's blocks: they could make other than zero of channels that
  /// do not exist.
  constexpr bool may_work_on(const TensorInfo& y, std::int64_t block) const {
    return block != 0 && may_lie_in(y, block) && is_whole(y, block);
  }
  static constexpr bool is_whole(const TensorInfo& info, std::int64_t block) {
    return info.shape[1] % block == 0;
  }
  static constexpr TensorInfo blocked_info(TensorInfo info, std::int64_t block) {
    info.shape[1] = (info.shape[1] + block - 1) / block;
    info.shape.push_back(block);
    return info;
  }
  /// Channels of a tensor's blocks; 0: it has none.
  constexpr std::int64_t block_of(TensorId id) const {
    return has_blocked(id) ? graph_.info(blocked_[id]).shape.back() : 0;
  }
  /// The tables know the graph's new tensors.
  constexpr void follow() {
    blocked_.follow(graph_, no_tensor);
    is_plain_.follow(graph_, true);
  }
  constexpr TensorId add_blocked(TensorId id, std::int64_t block) {
    const TensorId b = graph_.add_tensor({.info = blocked_info(graph_.info(id), block)}, {});
    follow();
    blocked_[id] = b;
    return b;
  }
  constexpr void reorder(TensorId from, TensorId to, bool to_blocks, TensorId plain) {
    const std::int64_t block = block_of(plain), channels = graph_.info(plain).shape[1];
    graph_.nodes.push_back({.op = &descriptor<op::ReorderChannels>,
                            .attributes = pack(op::ReorderChannels{block, channels, to_blocks}),
                            .inputs = {from},
                            .outputs = {to},
                            .place = here_});
  }
  constexpr bool has_blocked(TensorId id) const { return blocked_[id] != no_tensor; }
  constexpr TensorId in_blocks(TensorId id, std::int64_t block) {
    if (block_of(id) != block) {
      plain(id);
      const TensorId b = add_blocked(id, block);
      reorder(id, b, true, id);
    }
    return blocked_[id];
  }
  constexpr TensorId plain(TensorId id) {
    if (id == no_tensor || is_plain_[id]) return id;
    is_plain_[id] = true;
    reorder(blocked_[id], id, false, id);
    return id;
  }
  /// The output of a node exists in blocks alone.
  constexpr TensorId blocked_output(TensorId id, std::int64_t block) {
    is_plain_[id] = false;
    return add_blocked(id, block);
  }
  /// The node is called as its output was, which has no name any more.
  constexpr void block_output(Node& node, std::int64_t block) {
    if (node.name.empty()) node.name = graph_.tensor(node.outputs[0]).name;
    node.outputs[0] = blocked_output(node.outputs[0], block);
  }

  constexpr bool place_convolution(Node& node) {
    if (node.op->id != op::FusedConv::id || !fits(graph_.info(node.inputs[0]))) return false;
    auto conv = unpack<op::FusedConv>(node.attributes);
    const std::int64_t channels = graph_.info(node.inputs[0]).shape[1];
    const std::int64_t filters = graph_.info(node.inputs[1]).shape[conv.flipped ? 1 : 0];
    const bool narrow = channels == filters && block_ % (channels / conv.group) == 0;
    const bool wide = channels / conv.group % block_ == 0 && filters / conv.group % block_ == 0;
    if (conv.group != 1 && !narrow && !wide) return false;
    conv.block = block_;
    // A first layer's few channels are read as they are.
    conv.blocked_input =
        conv.group != 1 || channels >= block_ || block_of(node.inputs[0]) == block_;
    // Gradients are read by operators that have no blocks.
    conv.blocked_output = !conv.flipped;
    if (conv.flipped) conv.blocked_input = block_of(node.inputs[0]) == block_;
    if (conv.blocked_input) {
      node.inputs[0] = in_blocks(node.inputs[0], block_);
    } else {
      plain(node.inputs[0]);
    }
    plain(node.inputs[1]);
    if (has_input(node, 3)) {
      TensorId& residual = node.inputs[3];
      residual = conv.blocked_output ? in_blocks(residual, block_) : plain(residual);
    }
    if (conv.blocked_output) block_output(node, block_);
    node.attributes = pack(conv);
    graph_.nodes.push_back(std::move(node));
    return true;
  }

  /// A convolution of bytes of two dimensions whose filters have no zero points.
  constexpr bool place_quantized(Node& node) {
    if (!with_bytes_ || node.op->id != op::QuantizedConv::id) return false;
    auto conv = unpack<op::QuantizedConv>(node.attributes);
    const TensorInfo x = graph_.info(node.inputs[0]), y = graph_.info(node.outputs[0]);
    const TensorInfo w = graph_.info(node.inputs[1]);
    if (!fits_last(x) || !fits_last(y) || w.elements() <= 0) return false;
    if (graph_.tensor(node.inputs[1]).role != Role::constant) return false;
    const std::int64_t channels = x.shape[1];
    if (conv.conv.group != 1 && (conv.conv.group != channels || y.shape[1] != channels))
      return false;
    if (node.inputs.size() > 3 && !is_middle(node.inputs[3], w.type)) return false;
    if (w.type == ElementType::uint8 && (node.inputs.size() < 4 || node.inputs[3] == no_tensor)) {
      return false;
    }
    const std::int64_t input[]{x.shape[2], x.shape[3]};
    const Window window = conv.conv.window_over(input, Dims(w.shape.span().subspan(2)));
    const kernel::LastShape shape(window, x.shape[0], x.shape[2], x.shape[3], channels, y.shape[1],
                                  conv.conv.group != 1);
    if (!shape.fits()) return false;
    conv.channels_last = true;
    node.attributes = pack(conv);
    node.inputs[0] = in_blocks(node.inputs[0], channels);
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (i != op::QuantizedConv::residual_input) plain(node.inputs[i]);
    }
    if (node.inputs.size() > op::QuantizedConv::residual_input) {
      TensorId& residual = node.inputs[op::QuantizedConv::residual_input];
      residual = in_blocks(residual, y.shape[1]);
    }
    block_output(node, y.shape[1]);
    graph_.nodes.push_back(std::move(node));
    return true;
  }
  /// Whether zero points are those of the middle of a type of bytes.
  constexpr bool is_middle(TensorId id, ElementType type) const {
    if (id == no_tensor) return true;
    const TensorRecord& t = graph_.tensor(id);
    if (t.role != Role::constant || t.data.size() == 0) return false;
    const std::byte middle{type == ElementType::uint8 ? std::uint8_t{128} : std::uint8_t{0}};
    for (const std::byte b : t.data.span()) {
      if (b != middle) return false;
    }
    return true;
  }

  /// An input of an element-wise node is in blocks, or it has one element, one constant for each channel,
  /// or, as gates have, one number for each channel of an image.
  enum class Operand { blocked, scalar, channel, gate, other };
  constexpr Operand operand(TensorId id, const TensorInfo& y, std::int64_t block) const {
    const TensorInfo& x = graph_.info(id);
    if (x.shape == y.shape && block_of(id) == block) return Operand::blocked;
    if (x.elements() == 1) return Operand::scalar;
    const std::size_t axis = x.rank() == 4 ? 1 : 0;
    if ((x.rank() == 4 || x.rank() == 3) && x.shape[axis] == y.shape[1] &&
        x.elements() == y.shape[1] && graph_.tensor(id).role == Role::constant) {
      return Operand::channel;
    }
    const bool is_gate = fits(x) && x.shape[1] == y.shape[1] && x.shape[2] == 1 && x.shape[3] == 1;
    return is_gate ? Operand::gate : Operand::other;
  }
  /// A constant with one element for each channel.
  constexpr TensorId constant_in_blocks(TensorId id, std::int64_t channels, std::int64_t block) {
    const Dims shape{channels / block, 1, 1, block};
    const Bytes data = graph_.tensor(id).data;
    const TensorId b = graph_.add_tensor(
        {.info = {graph_.info(id).type, shape}, .role = Role::constant, .data = data}, {});
    if (data.size() == 0) {  // its value is not known here: a view of it will do
      graph_.nodes.push_back({.op = &descriptor<op::Reshape>,
                              .attributes = pack(op::Reshape{}),
                              .inputs = {id, constant(graph_, shape).id},
                              .outputs = {b},
                              .place = here_});
    }
    follow();
    return b;
  }
  constexpr bool place_elementwise(Node& node) {
    if (!node.op->elementwise || node.outputs.size() != 1) return false;
    const TensorInfo y = graph_.info(node.outputs[0]);
    std::int64_t block = 0;
    for (const TensorId id : node.inputs) {
      if (id != no_tensor && block == 0 && graph_.info(id).shape == y.shape) block = block_of(id);
    }
    if (!may_work_on(y, block)) return false;
    for (const TensorId id : node.inputs) {
      if (id != no_tensor && operand(id, y, block) == Operand::other) return false;
    }
    for (TensorId& id : node.inputs) {
      if (id == no_tensor) continue;
      const Operand kind = operand(id, y, block);
      if (kind == Operand::blocked) id = blocked_[id];
      if (kind == Operand::channel) id = constant_in_blocks(id, y.shape[1], block);
      if (kind == Operand::gate) id = in_blocks(id, block);
      if (kind == Operand::scalar) plain(id);
    }
    block_output(node, block);
    graph_.nodes.push_back(std::move(node));
    return true;
  }

  /// What looks at each element of its first input alone, and at no other input's place.
  constexpr bool place_copy(Node& node) {
    const OpId& id = node.op->id;
    if (id != op::Cast::id && id != op::Identity::id && id != op::ByteTable::id) return false;
    const TensorInfo y = graph_.info(node.outputs[0]);
    const std::int64_t block = block_of(node.inputs[0]);
    if (!may_work_on(y, block)) return false;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) plain(node.inputs[i]);
    node.inputs[0] = blocked_[node.inputs[0]];
    block_output(node, block);
    graph_.nodes.push_back(std::move(node));
    return true;
  }

  /// A window over height and width is one over height, width and the channels of a block.
  template <class Pool>
  constexpr void widen(Node& node, const TensorInfo& x) {
    auto pool = unpack<Pool>(node.attributes);
    const std::int64_t input[]{x.shape[2], x.shape[3]};
    const Window window = Window::over(input, {.kernel = pool.kernel_shape,
                                               .strides = pool.strides,
                                               .dilations = pool.dilations,
                                               .pads = pool.pads,
                                               .auto_pad = pool.auto_pad,
                                               .ceil_mode = pool.ceil_mode != 0});
    pool.kernel_shape = window.kernel;
    pool.strides = window.strides;
    pool.dilations = window.dilations;
    pool.auto_pad = AutoPad::notset;
    pool.kernel_shape.push_back(1);
    pool.strides.push_back(1);
    pool.dilations.push_back(1);
    pool.pads = {window.pads[0], window.pads[1], 0, window.pads[2], window.pads[3], 0};
    node.attributes = pack(pool);
  }
  constexpr bool place_pool(Node& node) {
    if (node.inputs.size() != 1 || node.outputs.size() != 1 || !has_blocked(node.inputs[0])) {
      return false;
    }
    const TensorInfo x = graph_.info(node.inputs[0]);
    const std::int64_t block = block_of(node.inputs[0]);
    if (!may_lie_in(x, block)) return false;
    if (node.op->id == op::MaxPool::id) {
      widen<op::MaxPool>(node, x);
    } else if (node.op->id == op::AveragePool::id) {
      widen<op::AveragePool>(node, x);
    } else if (node.op->id == op::GlobalAveragePool::id) {
      const Dims axes{2, 3};
      node.op = &descriptor<op::ReduceMean>;
      node.attributes = pack(op::ReduceMean{});
      node.inputs.push_back(constant(graph_, axes).id);
      follow();
    } else {
      return false;
    }
    node.inputs[0] = blocked_[node.inputs[0]];
    block_output(node, block);
    graph_.nodes.push_back(std::move(node));
    return true;
  }

  /// Blocks follow each other; where they have all channels, their lines are joined.
  constexpr bool place_concat(Node& node) {
    if (node.op->id != op::Concat::id) return false;
    const TensorInfo y = graph_.info(node.outputs[0]);
    if (!fits_last(y) || normalized_axis(unpack<op::Concat>(node.attributes).axis, 4) != 1) {
      return false;
    }
    bool are_blocks = fits(y), are_last = true;
    for (const TensorId id : node.inputs) {
      const TensorInfo& x = graph_.info(id);
      are_blocks = are_blocks && block_of(id) == block_ && is_whole(x, block_);
      are_last = are_last && block_of(id) == x.shape[1];
    }
    if (!are_blocks && !are_last) return false;
    node.attributes = pack(op::Concat{.axis = are_blocks ? 1 : 4});
    for (TensorId& id : node.inputs) id = blocked_[id];
    block_output(node, are_blocks ? block_ : y.shape[1]);
    graph_.nodes.push_back(std::move(node));
    return true;
  }

  /// A normalization that no convolution has taken in becomes three operators, which join their
  /// neighbours. Not in constant evaluation: weights are not known there.
  constexpr bool place_normalization(Node& node) {
    if (std::is_constant_evaluated() || node.op->id != op::BatchNormalization::id ||
        node.outputs.size() != 1) {
      return false;
    }
    const auto norm = unpack<op::BatchNormalization>(node.attributes);
    const TensorInfo y = graph_.info(node.outputs[0]);
    const std::int64_t block = block_of(node.inputs[0]);
    if (norm.training_mode != 0 || !fits(y) || !may_work_on(y, block)) return false;
    for (std::size_t i = 1; i < 5; ++i) {
      const TensorRecord& parameter = graph_.tensor(node.inputs[i]);
      if (parameter.role != Role::constant || parameter.info.type != ElementType::float32) {
        return false;
      }
    }
    split_normalization(node, norm.epsilon, block);
    return true;
  }

  void split_normalization(const Node& node, float epsilon, std::int64_t block) {
    const ChannelNumbers numbers(graph_, node, epsilon);
    const TensorInfo y = graph_.info(node.outputs[0]);
    const Dims shape{y.shape[1] / block, 1, 1, block};
    TensorId x = blocked_[node.inputs[0]];
    const auto apply = [&](const Descriptor& op, Vector<Word> attributes, const Vector<float>& list,
                           TensorId to) {
      const TensorId number = constant<float>(graph_, {list.data(), list.size()}, shape).id;
      if (to == no_tensor) to = graph_.add_tensor({.info = blocked_info(y, block)}, {});
      follow();
      graph_.nodes.push_back({.op = &op,
                              .attributes = std::move(attributes),
                              .inputs = {x, number},
                              .outputs = {to},
                              .name = node.name,
                              .place = here_});
      x = to;
    };
    apply(descriptor<op::Sub>, pack(op::Sub{}), numbers.means, no_tensor);
    apply(descriptor<op::Mul>, pack(op::Mul{}), numbers.factors, no_tensor);
    apply(descriptor<op::Add>, pack(op::Add{}), numbers.addends,
          blocked_output(node.outputs[0], block));
  }

  /// A convolution whose input or output alone is reordered does that itself.
  constexpr void drop_reorders() {
    const Uses uses(graph_);
    for (Node& node : graph_.nodes) {
      if (node.op == nullptr || node.op->id != op::ReorderChannels::id) continue;
      const bool to_blocks = unpack<op::ReorderChannels>(node.attributes).to_blocks;
      const TensorId between = to_blocks ? node.outputs[0] : node.inputs[0];
      const int reader = uses.only_reader(between);
      const int other = to_blocks ? reader : uses.producer[between];
      if (other == no_node || reader == no_node) continue;
      Node& conv = graph_.nodes[static_cast<std::size_t>(other)];
      if (conv.op == nullptr || conv.op->id != op::FusedConv::id) continue;
      auto attributes = unpack<op::FusedConv>(conv.attributes);
      if (to_blocks) {
        if (conv.inputs[0] != between) continue;
        conv.inputs[0] = node.inputs[0];
        attributes.blocked_input = false;
      } else {
        // The residual must have the output's layout.
        if (conv.inputs.size() > 3) continue;
        conv.outputs[0] = node.outputs[0];
        attributes.blocked_output = false;
      }
      conv.attributes = pack(attributes);
      node.op = nullptr;
    }
    remove_empty_nodes(graph_);
  }

  Graph graph_;
  std::int64_t block_;
  bool with_bytes_;
  Place here_{};  ///< of the node at hand
  TensorMap<TensorId> blocked_;
  TensorMap<bool> is_plain_;
};

}  // namespace detail

/// Brings the activations between convolutions of float32 into blocks of `block` channels, the
/// layout of the fast kernels: [batch, channels / block, height, width, block]; with_bytes: those
/// between convolutions of bytes into blocks of all channels, which lie last then. Element-wise
/// operators, pooling, concatenation and normalization between them work on the blocks; what else
/// reads such a tensor gets it reordered.
constexpr Graph block_channels(Graph graph, std::int64_t block, bool with_bytes = false) {
  bool has_convolutions = false;
  for (const Node& node : graph.nodes) {
    has_convolutions = has_convolutions || node.op->id == op::FusedConv::id ||
                       (with_bytes && node.op->id == op::QuantizedConv::id);
  }
  if (!has_convolutions) return graph;
  return detail::ChannelBlocks(std::move(graph), block, with_bytes).run();
}

}  // namespace halftone
