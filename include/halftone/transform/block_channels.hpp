#pragma once

#include <initializer_list>
#include <type_traits>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/graph/infer.hpp>
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
        is_trained_(is_trained(graph_)),
        aliases_(graph_),
        blocked_(graph_, no_tensor),
        is_plain_(graph_, true),
        is_wanted_(graph_, false) {
    if (is_trained_) find_wanted();
  }

  constexpr Graph run() {
    Vector<Node> old = std::move(graph_.nodes);
    graph_.nodes.clear();
    TensorMap<bool> is_output(graph_, false);
    for (const TensorId id : graph_.outputs) is_output[id] = true;
    for (Node& node : old) {
      here_ = node.place;
      const Vector<TensorId> made = node.outputs;
      // Nodes of a later stage may stand before those of an earlier one: complete_places finds where.
      here_.stage = here_.ipu = -1;
      if (!place_convolution(node) && !place_transposed(node) && !place_weight_gradient(node) &&
          !place_quantized(node) && !place_elementwise(node) && !place_copy(node) &&
          !place_pool(node) && !place_concat(node) && !place_normalization(node) &&
          !place_trained_normalization(node) && !place_normalization_gradient(node) &&
          !place_slice(node) && !place_expand(node) && !place_sum(node)) {
        for (const TensorId id : node.inputs) plain(id);
        graph_.nodes.push_back(std::move(node));
      }
      // An output leaves its blocks where it is made: a training may make it several times before it updates.
      for (const TensorId id : made) {
        if (id == no_tensor) continue;
        if (is_output[id] || aliases_.is_modified(id)) plain(id);
        if (aliases_.is_modified(id)) blocked_[id] = no_tensor;
      }
    }
    join_clamps();
    drop_reorders();
    return std::move(graph_);
  }

 private:
  /// In a training, marks activations and gradients that convolutions and normalizations read, themselves or
  /// behind slices and element-wise operators. The marks only save reorders.
  constexpr void find_wanted() {
    const auto want = [&](const Node& node, std::initializer_list<std::size_t> inputs) {
      for (const std::size_t i : inputs) {
        if (has_input(node, i)) is_wanted_[node.inputs[i]] = true;
      }
    };
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      const OpId& id = node.op->id;
      if (id == op::FusedConv::id) want(node, {0, 3});
      if (id == op::ConvTranspose::id || id == op::BatchNormalization::id) want(node, {0});
      if (id == op::ConvWeightGradient::id) want(node, {0, 1});
      if (id == op::BatchNormalizationGradient::id) want(node, {0, 2});
      const bool looks_at_elements = node.op->elementwise || id == op::Slice::id;
      if (!looks_at_elements || node.outputs.size() != 1 || !is_wanted_[node.outputs[0]]) continue;
      for (const TensorId x : node.inputs) {
        if (x != no_tensor) is_wanted_[x] = true;
      }
    }
  }

  constexpr bool fits(const TensorInfo& info) const {
    return info.type == ElementType::float32 && info.rank() == 4 && info.elements() > 0;
  }
  /// The same of blocks of all channels.
  constexpr bool fits_last(const TensorInfo& info) const {
    const bool is_byte = info.type == ElementType::uint8 || info.type == ElementType::int8;
    return (is_byte || info.type == ElementType::float32) && info.rank() == 4 &&
           info.elements() > 0;
  }
  /// Truth values of activations, which gradients have.
  constexpr bool fits_mask(const TensorInfo& info) const {
    return is_trained_ && info.type == ElementType::boolean && info.rank() == 4 &&
           info.elements() > 0;
  }
  /// Whether a tensor may lie in such blocks: those of floats, or of all channels.
  constexpr bool may_lie_in(const TensorInfo& info, std::int64_t block) const {
    return (block == block_ && (fits(info) || fits_mask(info))) ||
           (fits_last(info) && block == info.shape[1]);
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
  /// Channels of the blocks that a tensor has; 0: none.
  constexpr std::int64_t block_of(TensorId id) const {
    return blocked_[id] == no_tensor ? 0 : graph_.info(blocked_[id]).shape.back();
  }
  /// The blocks in which a tensor is summed up. In a training they follow from its shape alone: blocks are summed up
  /// in another order, which must not change where activations are recomputed, kept elsewhere or made in parts.
  constexpr std::int64_t block_for_sums(TensorId id) const {
    return is_trained_ && fits(graph_.info(id)) ? block_ : block_of(id);
  }
  /// The tables know the graph's new tensors.
  constexpr void follow() {
    blocked_.follow(graph_, no_tensor);
    is_plain_.follow(graph_, true);
    is_wanted_.follow(graph_, false);
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
  constexpr TensorId in_blocks(TensorId id, std::int64_t block) {
    if (block_of(id) == block) return blocked_[id];
    plain(id);
    const TensorId b = add_blocked(id, block);
    reorder(id, b, true, id);
    // Memory that nodes modify is brought into blocks anew for each reader.
    if (aliases_.is_modified(id)) blocked_[id] = no_tensor;
    return b;
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

  constexpr bool may_have_groups(std::int64_t channels, std::int64_t filters,
                                 std::int64_t groups) const {
    const bool narrow = channels == filters && block_ % (channels / groups) == 0;
    const bool wide = channels / groups % block_ == 0 && filters / groups % block_ == 0;
    return groups == 1 || narrow || wide;
  }
  constexpr bool place_convolution(Node& node) {
    if (node.op->id != op::FusedConv::id || !fits(graph_.info(node.inputs[0]))) return false;
    auto conv = unpack<op::FusedConv>(node.attributes);
    const std::int64_t channels = graph_.info(node.inputs[0]).shape[1];
    const std::int64_t filters = graph_.info(node.inputs[1]).shape[conv.flipped ? 1 : 0];
    if (!may_have_groups(channels, filters, conv.group)) return false;
    conv.block = block_;
    // Few channels of a first layer are read as they are. In a training few channels always are: in blocks they are
    // summed up in another order, which must not follow from where they come from.
    const bool is_blocked = !is_trained_ && block_of(node.inputs[0]) == block_;
    conv.blocked_input = conv.group != 1 || channels >= block_ || is_blocked;
    conv.blocked_output = true;
    // In a training the gradient of the weights reads the same blocks.
    if (conv.flipped && !is_trained_) conv.blocked_input = is_blocked;
    if (conv.blocked_input) {
      node.inputs[0] = in_blocks(node.inputs[0], block_);
    } else {
      plain(node.inputs[0]);
    }
    plain(node.inputs[1]);
    if (has_input(node, 3)) node.inputs[3] = in_blocks(node.inputs[3], block_);
    block_output(node, block_);
    node.attributes = pack(conv);
    graph_.nodes.push_back(std::move(node));
    return true;
  }

  /// A ConvTranspose without a bias, such as the gradient of a convolution that has strides or groups by its input.
  constexpr bool place_transposed(Node& node) {
    if (node.op->id != op::ConvTranspose::id || has_input(node, 2)) return false;
    const TensorInfo x = graph_.info(node.inputs[0]), w = graph_.info(node.inputs[1]);
    if (!fits(x) || (!is_trained_ && block_of(node.inputs[0]) != block_)) return false;
    const auto conv = unpack<op::ConvTranspose>(node.attributes);
    const Window window =
        conv.window_over(x.shape.span().subspan(2), Dims(w.shape.span().subspan(2)));
    if (!window.ok() || !kernel::has_phases(window) || w.elements() == 0) return false;
    if (window.kernel[1] > kernel::most_kernel_columns) return false;
    if (!may_have_groups(x.shape[1], w.shape[1] * conv.group, conv.group)) return false;
    node.op = &descriptor<op::BlockedConvTranspose>;
    node.attributes = pack(op::BlockedConvTranspose{.strides = window.strides,
                                                    .dilations = window.dilations,
                                                    .output = window.output,
                                                    .pads = window.pads,
                                                    .group = conv.group,
                                                    .block = block_});
    node.inputs[0] = in_blocks(node.inputs[0], block_);
    plain(node.inputs[1]);
    block_output(node, block_);
    graph_.nodes.push_back(std::move(node));
    return true;
  }

  /// The gradient of weights reads both of its inputs in blocks, but few channels as they are.
  constexpr bool place_weight_gradient(Node& node) {
    if (!is_trained_ || node.op->id != op::ConvWeightGradient::id) return false;
    const TensorInfo x = graph_.info(node.inputs[0]), dy = graph_.info(node.inputs[1]);
    if (!fits(x) || !fits(dy)) return false;
    auto conv = unpack<op::ConvWeightGradient>(node.attributes);
    if (!may_have_groups(x.shape[1], dy.shape[1], conv.group)) return false;
    if (conv.kernel_shape[1] > kernel::most_kernel_columns) return false;
    conv.block = block_;
    conv.channels = x.shape[1];
    conv.filters = dy.shape[1];
    conv.blocked_input = conv.group != 1 || x.shape[1] >= block_;
    node.attributes = pack(conv);
    node.inputs[0] = conv.blocked_input ? in_blocks(node.inputs[0], block_) : plain(node.inputs[0]);
    node.inputs[1] = in_blocks(node.inputs[1], block_);
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

  /// An input of an element-wise node is in blocks or comes into them where that is wanted, or it has one element,
  /// one constant for each channel, or, as gates have, one number for each channel of an image.
  enum class Operand { blocked, scalar, channel, gate, other };
  constexpr Operand operand(TensorId id, const TensorInfo& y, std::int64_t block,
                            bool is_wanted) const {
    const TensorInfo& x = graph_.info(id);
    const Role role = graph_.tensor(id).role;
    const bool may_come =
        is_wanted && block == block_ && fits(x) && (role == Role::value || role == Role::input);
    if (x.shape == y.shape && (block_of(id) == block || may_come)) return Operand::blocked;
    if (x.elements() == 1) return Operand::scalar;
    const std::size_t axis = x.rank() == 4 ? 1 : 0;
    if ((x.rank() == 4 || x.rank() == 3) && x.shape[axis] == y.shape[1] &&
        x.elements() == y.shape[1] && role == Role::constant) {
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
  /// Whether an operator makes zero of zeros.
  constexpr bool keeps_zeros(const Node& node) const {
    float lower = 0, upper = 0;
    const OpId& id = node.op->id;
    if (id == op::Clip::id) {
      return detail::clamp_limits(graph_, node, lower, upper) && lower <= 0 && upper >= 0;
    }
    return id == op::Add::id || id == op::Sub::id || id == op::Mul::id || id == op::Relu::id ||
           id == op::LeakyRelu::id || id == op::HardSwish::id || id == op::ReluGradient::id ||
           id == op::ClipGradient::id;
  }
  /// Whether an input is a limit of Clip, or of its gradient, which makes zero of dy's zeros whatever it is.
  static constexpr bool is_limit(const Node& node, TensorId id) {
    if (node.op->id == op::Clip::id) return id != node.inputs[0];
    return node.op->id == op::ClipGradient::id && id != node.inputs[0] && id != node.inputs[1];
  }
  constexpr bool place_elementwise(Node& node) {
    if (!node.op->elementwise || node.outputs.size() != 1) return false;
    const TensorInfo y = graph_.info(node.outputs[0]);
    std::int64_t block = 0;
    for (const TensorId id : node.inputs) {
      if (id != no_tensor && block == 0 && graph_.info(id).shape == y.shape) block = block_of(id);
    }
    if (block == 0 || !may_lie_in(y, block)) return false;
    const bool needs_blocks =
        !is_whole(y, block);  // other operands would give missing channels numbers
    if (needs_blocks && !keeps_zeros(node)) return false;
    // An Add of a training joins residuals, or parts of a gradient, which convolutions read.
    const bool is_wanted =
        is_wanted_[node.outputs[0]] || (is_trained_ && node.op->id == op::Add::id);
    for (const TensorId id : node.inputs) {
      if (id == no_tensor) continue;
      const Operand kind = operand(id, y, block, is_wanted);
      if (kind == Operand::other) return false;
      if (needs_blocks && kind != Operand::blocked && !is_limit(node, id)) return false;
    }
    for (TensorId& id : node.inputs) {
      if (id == no_tensor) continue;
      const Operand kind = operand(id, y, block, is_wanted);
      if (kind == Operand::blocked) id = in_blocks(id, block);
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
    if (node.inputs.size() != 1 || node.outputs.size() != 1) return false;
    const bool is_max = node.op->id == op::MaxPool::id;
    const TensorInfo x = graph_.info(node.inputs[0]);
    const std::int64_t block = is_max ? block_of(node.inputs[0]) : block_for_sums(node.inputs[0]);
    if (block == 0 || !may_lie_in(x, block)) return false;
    if (is_max) {
      widen<op::MaxPool>(node, x);
    } else if (node.op->id == op::AveragePool::id) {
      widen<op::AveragePool>(node, x);
    } else if (node.op->id == op::GlobalAveragePool::id) {
      node.op = &descriptor<op::ReduceMean>;
      node.attributes = pack(op::ReduceMean{});
      node.inputs.push_back(whole_numbers({2, 3}));
    } else {
      return false;
    }
    node.inputs[0] = in_blocks(node.inputs[0], block);
    block_output(node, block);
    graph_.nodes.push_back(std::move(node));
    return true;
  }

  /// Blocks follow each other; where they have all channels, their lines are joined. Images stay as they are.
  constexpr bool place_concat(Node& node) {
    if (node.op->id != op::Concat::id) return false;
    const TensorInfo y = graph_.info(node.outputs[0]);
    if (!fits_last(y)) return false;
    const auto axis = normalized_axis(unpack<op::Concat>(node.attributes).axis, 4);
    if (axis > 1) return false;
    bool are_blocks = fits(y), are_last = true;
    for (const TensorId id : node.inputs) {
      const TensorInfo& x = graph_.info(id);
      are_blocks = are_blocks && block_of(id) == block_ && (axis == 0 || is_whole(x, block_));
      are_last = are_last && block_of(id) == x.shape[1];
    }
    if (!are_blocks && !are_last) return false;
    node.attributes = pack(op::Concat{.axis = axis == 0 ? 0 : are_blocks ? 1 : 4});
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
    const std::int64_t block = block_for_sums(node.inputs[0]);
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
    TensorId x = in_blocks(node.inputs[0], block);
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

  /// Moments of x in blocks, which are computed once.
  struct Moments {
    TensorId x, mean, variance;
  };
  constexpr Moments moments(TensorId x, const Name& name) {
    for (const Moments& known : moments_) {
      if (known.x == x) return known;
    }
    const Dims shape = graph_.info(x).shape;
    const TensorInfo list{ElementType::float32, {shape[1] * shape[4]}};
    const TensorId mean = graph_.add_tensor({.info = list}, {});
    const TensorId variance = graph_.add_tensor({.info = list}, {});
    follow();
    graph_.nodes.push_back({.op = &descriptor<op::ChannelMoments>,
                            .attributes = pack(op::ChannelMoments{}),
                            .inputs = {x},
                            .outputs = {mean, variance},
                            .name = name,
                            .place = here_});
    moments_.push_back({x, mean, variance});
    return moments_.back();
  }
  constexpr bool place_trained_normalization(Node& node) {
    if (node.op->id != op::BatchNormalization::id || node.outputs.size() > 3) return false;
    const auto norm = unpack<op::BatchNormalization>(node.attributes);
    if (norm.training_mode == 0 || !is_trained_) return false;
    for (const TensorId id : node.inputs) {
      if (graph_.info(id).type != ElementType::float32) return false;
    }
    if (!fits(graph_.info(node.inputs[0]))) return false;
    block_output(node, block_);
    node.inputs[0] = in_blocks(node.inputs[0], block_);
    const Moments own = moments(node.inputs[0], node.name);
    node.inputs.push_back(own.mean);
    node.inputs.push_back(own.variance);
    node.op = &descriptor<op::BlockedBatchNormalization>;
    node.attributes =
        pack(op::BlockedBatchNormalization{.epsilon = norm.epsilon, .momentum = norm.momentum});
    graph_.nodes.push_back(std::move(node));
    return true;
  }
  constexpr bool place_normalization_gradient(Node& node) {
    if (!is_trained_ || node.op->id != op::BatchNormalizationGradient::id) return false;
    if (!fits(graph_.info(node.inputs[0]))) return false;
    const auto norm = unpack<op::BatchNormalizationGradient>(node.attributes);
    block_output(node, block_);
    node.inputs[0] = in_blocks(node.inputs[0], block_);
    node.inputs[2] = in_blocks(node.inputs[2], block_);
    const Moments own = moments(node.inputs[0], node.name);
    node.inputs.push_back(own.mean);
    node.inputs.push_back(own.variance);
    node.op = &descriptor<op::BlockedBatchNormalizationGradient>;
    node.attributes = pack(op::BlockedBatchNormalizationGradient{norm.epsilon});
    graph_.nodes.push_back(std::move(node));
    return true;
  }

  constexpr Vector<std::int64_t> numbers(const Node& node, std::size_t input) const {
    if (!has_input(node, input)) return {};
    const InputInfo in = input_info(graph_, node.inputs[input]);
    return Inputs({&in, 1}, 0).integers(0);
  }
  constexpr TensorId whole_numbers(const Dims& list) {
    const TensorId id = constant(graph_, list).id;
    follow();
    return id;
  }
  /// A Slice takes images, or whole blocks of channels, as the gradient of a Concat does.
  constexpr bool place_slice(Node& node) {
    if (!is_trained_ || node.op->id != op::Slice::id || block_of(node.inputs[0]) != block_) {
      return false;
    }
    const TensorInfo x = graph_.info(node.inputs[0]), y = graph_.info(node.outputs[0]);
    const Vector<std::int64_t> starts = numbers(node, 1), axes = numbers(node, 3);
    if (!fits(y) || starts.size() != 1 || axes.size() != 1 || has_input(node, 4)) return false;
    if (axes[0] != 0 && axes[0] != 1) return false;
    if (axes[0] == 1) {
      std::int64_t start = starts[0] < 0 ? starts[0] + x.shape[1] : starts[0];
      if (start < 0) start = 0;
      if (start % block_ != 0 || (!is_whole(y, block_) && start + y.shape[1] != x.shape[1])) {
        return false;
      }
      const std::int64_t first = start / block_, count = blocked_info(y, block_).shape[1];
      node.inputs = {node.inputs[0], whole_numbers({first}), whole_numbers({first + count}),
                     whole_numbers({1})};
    }
    node.inputs[0] = in_blocks(node.inputs[0], block_);
    block_output(node, block_);
    graph_.nodes.push_back(std::move(node));
    return true;
  }
  /// An Expand gives each channel's number of an image to all its pixels.
  constexpr bool place_expand(Node& node) {
    if (!is_trained_ || node.op->id != op::Expand::id || block_of(node.inputs[0]) != block_) {
      return false;
    }
    const TensorInfo x = graph_.info(node.inputs[0]), y = graph_.info(node.outputs[0]);
    if (!fits(y) || x.shape[0] != y.shape[0] || x.shape[1] != y.shape[1]) return false;
    const TensorId from = in_blocks(node.inputs[0], block_);
    node.inputs = {from, whole_numbers(blocked_info(y, block_).shape)};
    block_output(node, block_);
    graph_.nodes.push_back(std::move(node));
    return true;
  }
  /// A sum goes over the pixels of each image, or of all images.
  constexpr bool place_sum(Node& node) {
    if (!is_trained_ || node.op->id != op::ReduceSum::id) return false;
    const TensorInfo x = graph_.info(node.inputs[0]), y = graph_.info(node.outputs[0]);
    if (!fits(x)) return false;
    const auto sum = unpack<op::ReduceSum>(node.attributes);
    const Vector<std::int64_t> axes = numbers(node, 1);
    const bool is_by_image =
        axes.size() == 2 && axes[0] + axes[1] == 5 && axes[0] * axes[1] == 6 && sum.keepdims != 0;
    const bool is_by_channel = axes.size() == 3 && axes[0] == 0 && axes[1] == 2 && axes[2] == 3 &&
                               sum.keepdims == 0 && is_whole(x, block_);
    if (!is_by_image && !is_by_channel) return false;
    node.inputs[0] = in_blocks(node.inputs[0], block_);
    if (is_by_image) {
      block_output(node, block_);
      graph_.nodes.push_back(std::move(node));
      return true;
    }
    const TensorId sums = graph_.add_tensor({.info = {x.type, {x.shape[1] / block_, block_}}}, {});
    const TensorId to = std::exchange(node.outputs[0], sums);
    follow();
    graph_.nodes.push_back(std::move(node));
    graph_.nodes.push_back({.op = &descriptor<op::Reshape>,
                            .attributes = pack(op::Reshape{}),
                            .inputs = {sums, whole_numbers(y.shape)},
                            .outputs = {to},
                            .place = here_});
    return true;
  }

  /// A normalization in training takes in the limits of its only reader.
  constexpr void join_clamps() {
    if (moments_.empty()) return;
    const Uses uses(graph_);
    for (Node& clamp : graph_.nodes) {
      float lower = 0, upper = 0;
      if (!detail::clamp_limits(graph_, clamp, lower, upper)) continue;
      const int producer = uses.producer[clamp.inputs[0]];
      if (producer == no_node || uses.only_reader(clamp.inputs[0]) == no_node) continue;
      Node& norm = graph_.nodes[static_cast<std::size_t>(producer)];
      if (norm.op == nullptr || norm.op->id != op::BlockedBatchNormalization::id ||
          !may_share_kernel(clamp.place, norm.place)) {
        continue;
      }
      auto attributes = unpack<op::BlockedBatchNormalization>(norm.attributes);
      if (attributes.clamp) continue;
      attributes.clamp = true;
      attributes.lower = lower;
      attributes.upper = upper;
      norm.attributes = pack(attributes);
      norm.outputs[0] = clamp.outputs[0];
      clamp.op = nullptr;
    }
    remove_empty_nodes(graph_);
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
  bool with_bytes_, is_trained_;
  Aliases aliases_;
  Vector<Moments> moments_;
  Place here_{};  ///< of the node at hand
  TensorMap<TensorId> blocked_;
  TensorMap<bool> is_plain_, is_wanted_;
};

}  // namespace detail

/// Brings the activations between convolutions of float32 into blocks of `block` channels, the
/// layout of the fast kernels: [batch, channels / block, height, width, block]; with_bytes: those
/// between convolutions of bytes into blocks of all channels, which lie last then. Element-wise
/// operators, pooling, concatenation and normalization between them work on the blocks; what else
/// reads such a tensor gets it reordered. In a training gradients lie in blocks, too, and what sums up activations of
/// four dimensions always does.
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
