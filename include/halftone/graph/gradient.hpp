#pragma once

#include <cstddef>
#include <span>
#include <tuple>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/graph/operator.hpp>

namespace halftone {

/// Records the gradient of a node with these attributes.
using RecordGradient = void (*)(std::span<const Word> attributes, GradientScope& g);
/// Finds it for an operator, or null if the operator has none.
using FindGradient = RecordGradient (*)(const Descriptor& op);

/// The gradient that the descriptor has, at run time.
constexpr RecordGradient gradient_of(const Descriptor& op) { return op.gradient; }

/// What an operator's `gradient(auto& g)` works with: the tensors of its node, the gradients that
/// arrive at the outputs, and the ones of the inputs, to which it adds what it records.
///
///   g.dx(0) += op::matmul(g.dy(), op::transpose(g.x(1)));
///
/// Members that record nodes are templates: only programs that record gradients compile them. They
/// are defined in op/gradient.hpp, behind the operators that they record.
class GradientScope {
 public:
  /// `gradients` has one tensor for each tensor of the graph that has a gradient so far, `needed`
  /// says which ones get one; both by id.
  constexpr GradientScope(Graph& graph, const Node& node, TensorMap<TensorId>& gradients,
                          const TensorMap<bool>& needed, FindGradient find)
      : graph_(graph), node_(node), gradients_(gradients), needed_(needed), find_(find) {}

  constexpr Graph& graph() { return graph_; }
  constexpr const Node& node() const { return node_; }
  constexpr std::size_t inputs() const { return node_.inputs.size(); }
  constexpr std::size_t outputs() const { return node_.outputs.size(); }
  /// How gradients of nodes in subgraphs are found.
  constexpr FindGradient finder() const { return find_; }

  /// Input i, absent if the node has none.
  constexpr AnyTensor x(std::size_t i = 0) {
    return {&graph_, i < inputs() ? node_.inputs[i] : no_tensor};
  }
  constexpr AnyTensor y(std::size_t i = 0) {
    return {&graph_, i < outputs() ? node_.outputs[i] : no_tensor};
  }
  /// Whether a gradient arrives at output i.
  constexpr bool has_dy(std::size_t i = 0) const {
    return i < outputs() && node_.outputs[i] != no_tensor && at(node_.outputs[i]) != no_tensor;
  }
  /// The gradient of output i: zeros of its shape if none arrives.
  template <std::same_as<Graph> G = Graph>
  constexpr AnyTensor dy(std::size_t i = 0);
  /// Whether anybody asks for the gradient of input i.
  constexpr bool needs(std::size_t i) const {
    return i < inputs() && node_.inputs[i] != no_tensor && needed_.has(node_.inputs[i]) &&
           needed_[node_.inputs[i]];
  }

  /// The gradient of an input. What is added is summed over dimensions that were broadcast.
  class Sum {
   public:
    constexpr Sum(GradientScope& scope, std::size_t input) : scope_(scope), input_(input) {}
    template <std::same_as<Graph> G = Graph>
    constexpr void operator+=(AnyTensor part) {
      scope_.add<G>(input_, part);
    }
    constexpr void operator+=(None) {}

   private:
    GradientScope& scope_;
    std::size_t input_;
  };
  constexpr Sum dx(std::size_t i = 0) { return {*this, i}; }

  /// `x` summed over the dimensions that a tensor of this shape is broadcast over to x's shape.
  template <std::same_as<Graph> G = Graph>
  static constexpr AnyTensor sum_to(AnyTensor x, const Dims& shape);
  /// `x` in this shape. An extent 0 stands for itself: nothing is copied from x's shape.
  template <std::same_as<Graph> G = Graph>
  static constexpr AnyTensor reshape_to(AnyTensor x, const Dims& shape);
  /// The values of constant input i, whole numbers; throws UnsupportedError if it is no constant.
  constexpr Vector<std::int64_t> integers(std::size_t i);
  /// Whether the values of input i are known before the run.
  constexpr bool is_constant(std::size_t i) const {
    return i < node_.inputs.size() && input_info(graph_, node_.inputs[i]).is_constant;
  }
  /// Zeros of that type and shape.
  template <std::same_as<Graph> G>
  static constexpr AnyTensor zeros(G& graph, const TensorInfo& like);

 private:
  constexpr TensorId at(TensorId id) const {
    return gradients_.has(id) ? gradients_[id] : no_tensor;
  }
  template <std::same_as<Graph> G>
  constexpr void add(std::size_t input, AnyTensor part);

  Graph& graph_;
  Node node_;  // a copy: recording moves the graph's nodes
  TensorMap<TensorId>& gradients_;
  const TensorMap<bool>& needed_;
  FindGradient find_;
};

namespace detail {

/// Throws that a node has no gradient, an UnsupportedError. Defined in the core.
[[noreturn]] void refuse_gradient(const Graph& graph, const Node& node, ErrorParts parts);

}  // namespace detail

constexpr Vector<std::int64_t> GradientScope::integers(std::size_t i) {
  const InputInfo info = input_info(graph_, node_.inputs[i]);
  if (!info.is_constant) {
    detail::refuse_gradient(graph_, node_,
                            {.what = "the gradient needs an input's value before the run",
                             .tensor = graph_.name(node_.inputs[i])});
  }
  return Inputs({&info, 1}, 0).integers(0);
}

namespace detail {

/// An input; if it is left out, what stands for it, see `Op::absent` at KernelCall. Defined where constants are.
template <class Op>
constexpr AnyTensor given_or_absent(GradientScope& g, std::size_t input);

/// The gradient of an operator: its `gradient`, or what its `backward` gives for each input.
template <class Op>
constexpr void record_gradient(std::span<const Word> attributes, GradientScope& g) {
  const Op op = unpack<Op>(attributes);
  if constexpr (requires { op.gradient(g); }) {
    op.gradient(g);
  } else {
    const auto result = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return op.backward(g.dy(), given_or_absent<Op>(g, I)...);
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
/// The same for descriptors, not constexpr: see expand_thunk.
template <class Op>
void gradient_thunk(std::span<const Word> attributes, GradientScope& g) {
  record_gradient<Op>(attributes, g);
}

}  // namespace detail

/// Finds the gradients of these operators by their ids. In constant evaluation descriptors have no
/// gradients, so that a program compiles those of the operators that it names alone.
template <class... Op>
constexpr RecordGradient gradient_in_list(const Descriptor& op) {
  RecordGradient found = nullptr;
  const auto take = [&]<class O>(std::type_identity<O>) {
    if (op.id != O::id) return false;
    if constexpr (detail::differentiable_op<O>) found = &detail::record_gradient<O>;
    return true;
  };
  static_cast<void>((take(std::type_identity<Op>{}) || ...));
  return found;
}

/// The gradient of a node that runs subgraphs once: a node like it, whose subgraphs run theirs
/// another time and compute the gradients of what they got. Its members, and the function below, are
/// defined in transform/gradient_subgraphs.hpp.
///
/// first     the node's input that is the subgraphs' first one
/// errors    UnsupportedError for subgraphs that would draw other random numbers
class SubgraphGradient {
 public:
  constexpr SubgraphGradient(GradientScope& g, std::size_t first) : g_(g), first_(first) {
    for (std::size_t i = 0; i < g.outputs(); ++i) {
      if (g.has_dy(i)) arriving_.push_back(i);
    }
    for (std::size_t i = first; i < g.inputs(); ++i) {
      if (g.needs(i)) wanted_.push_back(i);
    }
  }
  constexpr Subgraph of(Subgraph forward);
  template <class Op>
  constexpr void record(const Op& op);

 private:
  GradientScope& g_;
  std::size_t first_;
  Vector<std::size_t> arriving_, wanted_;
};

/// The gradient of a Loop or Scan: the node another time, for its states before each pass, and a
/// Scan from the last pass to the first.
///
/// errors    UnsupportedError for a number of passes that the run finds, for bodies that draw
///           random numbers, and for more than 32 states and slices
constexpr void record_repeat_gradient(GradientScope& g);

/// Records the nodes that compute the derivative of a scalar by each tensor of `wanted`, by the
/// chain rule backwards. One id for each, no_tensor where the scalar does not depend on it.
/// transform/gradient.hpp has the same for constant evaluation.
///
/// loss      one element, of a floating-point type
/// d_loss    the derivative that is started with; no_tensor: 1
/// limits    infos of all tensors on the way are known (give sizes when the model is loaded)
/// errors    UnsupportedError with all operators on the way that have no gradient; ModelError for a
///           loss that is no scalar
Vector<TensorId> differentiate(Graph& graph, TensorId loss, std::span<const TensorId> wanted,
                               TensorId d_loss = no_tensor);
/// The same from the gradients of several tensors at once; an output may be there twice.
Vector<TensorId> differentiate(Graph& graph, std::span<const TensorId> outputs,
                               std::span<const TensorId> d_outputs,
                               std::span<const TensorId> wanted);

}  // namespace halftone
