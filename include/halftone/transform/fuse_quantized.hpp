#pragma once

#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/nodes.hpp>

namespace halftone {

namespace detail {

/// Follows the nodes behind a ConvInteger or a MatMulInteger until its sums are bytes again, and, behind a
/// convolution, until the numbers of these and of other bytes are added and bytes again.
class Requantization {
 public:
  constexpr Requantization(const Graph& graph, const Uses& uses, std::size_t product)
      : graph_(graph),
        uses_(uses),
        nodes_{product},
        y_(graph.info(graph.nodes[product].outputs[0])) {
    const Node& node = graph.nodes[product];
    is_conv_ = node.op->id == op::ConvInteger::id;
    inputs_ = node.inputs;
    inputs_.resize(inputs, no_tensor);
    fits_ = y_.is_static() && has_channels(node) && find_bytes();
    if (fits_ && is_conv_) find_sum();
  }

  static constexpr bool begins_at(const Node& node) {
    return node.op != nullptr &&
           (node.op->id == op::ConvInteger::id || node.op->id == op::MatMulInteger::id);
  }

  constexpr bool fits() const { return fits_; }
  /// All of its nodes in their order; the last one makes the bytes.
  constexpr const Vector<std::size_t>& nodes() const { return nodes_; }
  constexpr Node made() {
    while (inputs_.back() == no_tensor) inputs_.pop_back();
    if (!is_conv_) {
      return {.op = &descriptor<op::QuantizedMatMul>,
              .attributes = pack(op::QuantizedMatMul{result_}),
              .inputs = inputs_};
    }
    const op::Conv conv = unpack<op::ConvInteger>(graph_.nodes[nodes_[0]].attributes).conv;
    return {.op = &descriptor<op::QuantizedConv>,
            .attributes = pack(op::QuantizedConv{conv, result_, sum_}),
            .inputs = inputs_};
  }

 private:
  enum Input {
    addend = 4,
    scale,
    bias,
    y_scale,
    y_zero,
    residual,
    residual_scale,
    residual_zero,
    sum_scale,
    sum_zero,
    inputs
  };

  /// A product with a vector has no columns.
  constexpr bool has_channels(const Node& product) const {
    return is_conv_ ? y_.rank() > 2 : y_.rank() > 0 && graph_.info(product.inputs[1]).rank() > 1;
  }
  constexpr bool find_bytes() {
    take<op::Add>(addend, ElementType::int32);
    if (!follow<op::Cast>() || info().type != ElementType::float32) return false;
    if (!take<op::Mul>(scale, ElementType::float32)) return false;
    take<op::Add>(bias, ElementType::float32);
    if (!quantize(result_.limits, y_scale, y_zero)) return false;
    result_.to = info().type;
    return has_type(QuantizedTypes{}, result_.to);
  }
  constexpr void find_sum() {
    const Vector<TensorId> found = inputs_;
    const std::size_t count = nodes_.size();
    if (add_residual() && quantize(sum_, sum_scale, sum_zero) && info().type == result_.to) return;
    inputs_ = found;
    nodes_.resize(count);
    sum_ = {};
  }
  constexpr bool quantize(op::QuantizedLimits& limits, Input divisor, Input zero) {
    if (const Node* next = reader(); next != nullptr && next->inputs[0] == result() &&
                                     clamp_limits(graph_, *next, limits.lower, limits.upper)) {
      limits.clamp = true;
      add();
    }
    if (!take<op::Div>(divisor, ElementType::float32) || !follow<op::Round>()) return false;
    take<op::Add>(zero, ElementType::float32);
    return follow<op::Cast>();
  }
  /// Follows the bytes until they are numbers again, by their own scale and zero point, and the numbers of
  /// other bytes are added.
  constexpr bool add_residual() {
    if (!follow<op::Cast>() || info().type != ElementType::float32) return false;
    take<op::Sub>(residual_zero, ElementType::float32);
    if (!take<op::Mul>(residual_scale, ElementType::float32)) return false;
    if (!is_same(inputs_[residual_scale], inputs_[y_scale])) return false;
    if (!is_same(inputs_[residual_zero], inputs_[y_zero])) return false;
    const Node* const sum = reader();
    if (sum == nullptr || sum->op->id != op::Add::id) return false;
    TensorId other = sum->inputs[sum->inputs[0] == result() ? 1 : 0];
    add();
    inputs_[residual_zero] = no_tensor;
    if (!take_back<op::Mul>(other, residual_scale)) return false;
    take_back<op::Sub>(other, residual_zero);
    const Node* const cast = producer(other);
    if (cast == nullptr || cast->op->id != op::Cast::id) return false;
    inputs_[residual] = cast->inputs[0];
    return graph_.info(inputs_[residual]) == TensorInfo{result_.to, y_.shape};
  }
  constexpr bool is_same(TensorId a, TensorId b) const {
    float first = 0, second = 0;
    return a == b || (a != no_tensor && b != no_tensor && scalar_value(graph_, a, first) &&
                      scalar_value(graph_, b, second) && first == second);
  }
  constexpr const Node* producer(TensorId id) const {
    const int node = uses_.producer[id];
    if (node == no_node) return nullptr;
    const Node& made = graph_.nodes[static_cast<std::size_t>(node)];
    return made.op == nullptr ? nullptr : &made;
  }
  /// Goes back over the operator that makes the floats `id` of other floats and one number: the number
  /// becomes an input, and `id` is then the other floats.
  template <class Op>
  constexpr bool take_back(TensorId& id, Input input) {
    const Node* const made = producer(id);
    if (made == nullptr || made->op->id != Op::id) return false;
    const std::size_t number = graph_.info(made->inputs[1]).elements() == 1 ? 1 : 0;
    if (number == 0 && Op::id == op::Sub::id) return false;
    const TensorInfo& one = graph_.info(made->inputs[number]);
    if (one.elements() != 1 || one.type != ElementType::float32) return false;
    inputs_[input] = made->inputs[number];
    id = made->inputs[1 - number];
    return true;
  }
  constexpr TensorId result() const { return graph_.nodes[nodes_.back()].outputs[0]; }
  constexpr const TensorInfo& info() const { return graph_.info(result()); }
  /// The node that alone reads the result and makes one of the same shape; null: there is none.
  constexpr const Node* reader() const {
    const int reader = uses_.only_reader(result());
    if (reader == no_node) return nullptr;
    const Node& next = graph_.nodes[static_cast<std::size_t>(reader)];
    const bool fits = next.op != nullptr && graph_.info(next.outputs[0]).shape == y_.shape &&
                      may_share_kernel(next.place, graph_.nodes[nodes_[0]].place);
    return fits ? &next : nullptr;
  }
  constexpr void add() { nodes_.push_back(static_cast<std::size_t>(uses_.only_reader(result()))); }
  template <class Op>
  constexpr bool follow() {
    const Node* const next = reader();
    if (next == nullptr || next->op->id != Op::id) return false;
    add();
    return true;
  }
  /// The same of an operator whose other operand becomes an input.
  template <class Op>
  constexpr bool take(Input input, ElementType type) {
    const Node* const next = reader();
    if (next == nullptr || next->op->id != Op::id) return false;
    const bool is_second = next->inputs[1] == result();
    if (is_second && (Op::id == op::Div::id || Op::id == op::Sub::id)) return false;
    const TensorId other = next->inputs[is_second ? 0 : 1];
    const TensorInfo& numbers = graph_.info(other);
    const bool may_be_channels = input == addend || input == scale || input == bias;
    if (numbers.type != type || info().type != type || !numbers.is_static()) return false;
    if (numbers.elements() != 1 && !(may_be_channels && lies_along_channels(numbers))) return false;
    inputs_[input] = other;
    add();
    return true;
  }
  /// A matrix has columns in place of channels.
  constexpr bool lies_along_channels(const TensorInfo& numbers) const {
    const std::size_t behind = is_conv_ ? y_.rank() - 2 : 0;  // dimensions behind the channels'
    const std::size_t rank = numbers.rank();
    const std::int64_t channels = y_.shape[y_.rank() - 1 - behind];
    return rank > behind && rank <= y_.rank() && numbers.shape[rank - 1 - behind] == channels &&
           numbers.elements() == channels;
  }

  const Graph& graph_;
  const Uses& uses_;
  Vector<std::size_t> nodes_;
  TensorInfo y_;
  bool is_conv_ = false;
  op::QuantizedResult result_{};
  op::QuantizedLimits sum_{};
  Vector<TensorId> inputs_;
  bool fits_ = false;
};

}  // namespace detail

/// Convolutions and products of bytes whose results become bytes again take in what lies between, where nothing
/// else reads the values. A convolution takes in the addition of other bytes' numbers, too. They are
/// computed where the last of these nodes is. All infos must be known.
constexpr Graph fuse_quantized(Graph graph) {
  const Uses uses(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!detail::Requantization::begins_at(graph.nodes[n])) continue;
    detail::Requantization found(graph, uses, n);
    if (!found.fits()) continue;
    Node& last = graph.nodes[found.nodes().back()];
    Node made = found.made();
    made.outputs = last.outputs;
    made.place = last.place;
    made.order = last.order;
    made.name = graph.nodes[n].name.empty() ? last.name : graph.nodes[n].name;
    for (const std::size_t node : found.nodes()) graph.nodes[node].op = nullptr;
    last = std::move(made);
  }
  detail::remove_empty_nodes(graph);
  // The floats of residuals may have no reader any more.
  return without_dead_code(std::move(graph));
}

}  // namespace halftone
