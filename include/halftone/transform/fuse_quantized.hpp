#pragma once

#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/fuse_convolutions.hpp>

namespace halftone {

namespace detail {

/// Follows the nodes behind a ConvInteger or a MatMulInteger until its sums are bytes again.
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
    inputs_.resize(9, no_tensor);
    fits_ = y_.is_static() && has_channels(node) && find();
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
            .attributes = pack(op::QuantizedConv{conv, result_}),
            .inputs = inputs_};
  }

 private:
  enum Input { addend = 4, scale, bias, y_scale, y_zero };

  /// A product with a vector has no columns.
  constexpr bool has_channels(const Node& product) const {
    return is_conv_ ? y_.rank() > 2 : y_.rank() > 0 && graph_.info(product.inputs[1]).rank() > 1;
  }
  constexpr bool find() {
    take<op::Add>(addend, ElementType::int32);
    if (!follow<op::Cast>() || info().type != ElementType::float32) return false;
    if (!take<op::Mul>(scale, ElementType::float32)) return false;
    take<op::Add>(bias, ElementType::float32);
    if (const Node* next = reader(); next != nullptr && next->inputs[0] == result() &&
                                     clamp_limits(graph_, *next, result_.lower, result_.upper)) {
      result_.clamp = true;
      add();
    }
    if (!take<op::Div>(y_scale, ElementType::float32) || !follow<op::Round>()) return false;
    take<op::Add>(y_zero, ElementType::float32);
    if (!follow<op::Cast>()) return false;
    result_.to = info().type;
    return has_type(QuantizedTypes{}, result_.to);
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
    if (is_second && Op::id == op::Div::id) return false;
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
  Vector<TensorId> inputs_;
  bool fits_ = false;
};

}  // namespace detail

/// Convolutions and products of bytes whose results become bytes again take in what lies between, where nothing
/// else reads the values. They are computed where the last of these nodes is. All infos must be
/// known.
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
  return graph;
}

}  // namespace halftone
