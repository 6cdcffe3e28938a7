#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/graph/operator.hpp>

namespace halftone {

/// What an operator's `gradient(auto& g)` works with: the tensors of its node, the gradients that
/// arrive at the outputs, and the ones of the inputs, to which it adds what it records.
///
///   g.dx(0) += op::matmul(g.dy(), op::transpose(g.x(1)));
class GradientScope {
 public:
  /// `gradients` has one tensor for each tensor of the graph that has a gradient so far, `needed`
  /// says which ones get one; both by id.
  GradientScope(Graph& graph, const Node& node, TensorMap<TensorId>& gradients,
                const TensorMap<bool>& needed)
      : graph_(graph), node_(node), gradients_(gradients), needed_(needed) {}

  Graph& graph() { return graph_; }
  const Node& node() const { return node_; }
  std::size_t inputs() const { return node_.inputs.size(); }
  std::size_t outputs() const { return node_.outputs.size(); }

  /// Input i, absent if the node has none.
  AnyTensor x(std::size_t i = 0) { return {&graph_, i < inputs() ? node_.inputs[i] : no_tensor}; }
  AnyTensor y(std::size_t i = 0) { return {&graph_, i < outputs() ? node_.outputs[i] : no_tensor}; }
  /// Whether a gradient arrives at output i.
  bool has_dy(std::size_t i = 0) const {
    return i < outputs() && node_.outputs[i] != no_tensor && at(node_.outputs[i]) != no_tensor;
  }
  /// The gradient of output i: zeros of its shape if none arrives.
  AnyTensor dy(std::size_t i = 0);
  /// Whether anybody asks for the gradient of input i.
  bool needs(std::size_t i) const {
    return i < inputs() && node_.inputs[i] != no_tensor && needed_.has(node_.inputs[i]) &&
           needed_[node_.inputs[i]];
  }

  /// The gradient of an input. What is added is summed over dimensions that were broadcast.
  class Sum {
   public:
    Sum(GradientScope& scope, std::size_t input) : scope_(scope), input_(input) {}
    void operator+=(AnyTensor part) { scope_.add(input_, part); }
    void operator+=(None) {}

   private:
    GradientScope& scope_;
    std::size_t input_;
  };
  Sum dx(std::size_t i = 0) { return {*this, i}; }

  /// `x` summed over the dimensions that a tensor of this shape is broadcast over to x's shape.
  static AnyTensor sum_to(AnyTensor x, const Dims& shape);
  /// The values of constant input i, whole numbers; throws UnsupportedError if it is no constant.
  std::vector<std::int64_t> integers(std::size_t i);
  /// Zeros of that type and shape.
  static AnyTensor zeros(Graph& graph, const TensorInfo& info);

 private:
  TensorId at(TensorId id) const { return gradients_.has(id) ? gradients_[id] : no_tensor; }
  void add(std::size_t input, AnyTensor part);

  Graph& graph_;
  Node node_;  // a copy: recording moves the graph's nodes
  TensorMap<TensorId>& gradients_;
  const TensorMap<bool>& needed_;
};

namespace detail {

/// The gradient of an operator: its `gradient`, or what its `backward` gives for each input.
template <class Op>
void gradient_thunk(std::span<const Word> attributes, GradientScope& g) {
  const Op op = unpack<Op>(attributes);
  if constexpr (requires { op.gradient(g); }) {
    op.gradient(g);
  } else {
    const auto result = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return op.backward(g.dy(), g.x(I)...);
    }(std::make_index_sequence<slots_of<Op>.inputs()>{});
    if constexpr (requires { std::tuple_size<std::remove_cvref_t<decltype(result)>>::value; }) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((g.dx(I) += std::get<I>(result)), ...);
      }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(result)>>>{});
    } else {
      g.dx(0) += result;
    }
  }
}

}  // namespace detail

/// The gradient of a node that runs subgraphs once: a node like it, whose subgraphs run theirs
/// another time and compute the gradients of what they got.
///
/// first     the node's input that is the subgraphs' first one
/// errors    UnsupportedError for subgraphs that would draw other random numbers
class SubgraphGradient {
 public:
  SubgraphGradient(GradientScope& g, std::size_t first);
  Subgraph of(Subgraph forward);
  template <class Op>
  void record(const Op& op) {
    record(descriptor<Op>, pack(op));
  }

 private:
  void record(const Descriptor& op, std::vector<Word> attributes);

  GradientScope& g_;
  std::size_t first_;
  std::vector<std::size_t> arriving_, wanted_;
};

/// The gradient of a Loop or Scan: the node another time, for its states before each pass, and a
/// Scan from the last pass to the first.
///
/// errors    UnsupportedError for a number of passes that the run finds, for bodies that draw
///           random numbers, and for more than 32 states and slices
void record_repeat_gradient(GradientScope& g);

/// Records the nodes that compute the derivative of a scalar by each tensor of `wanted`, by the
/// chain rule backwards. One id for each, no_tensor where the scalar does not depend on it.
///
/// loss      one element, of a floating-point type
/// d_loss    the derivative that is started with; no_tensor: 1
/// limits    infos of all tensors on the way are known (give sizes when the model is loaded)
/// errors    UnsupportedError with all operators on the way that have no gradient; ModelError for a
///           loss that is no scalar
std::vector<TensorId> differentiate(Graph& graph, TensorId loss, std::span<const TensorId> wanted,
                                    TensorId d_loss = no_tensor);
/// The same from the gradients of several tensors at once; an output may be there twice.
std::vector<TensorId> differentiate(Graph& graph, std::span<const TensorId> outputs,
                                    std::span<const TensorId> d_outputs,
                                    std::span<const TensorId> wanted);

}  // namespace halftone
