#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRADIENT_HPP
#define HALFTONE_OP_GRADIENT_HPP

// The members of GradientScope that record nodes, behind the operators that they record.
namespace halftone {

template <std::same_as<Graph> G>
constexpr AnyTensor GradientScope::zeros(G& graph, const TensorInfo& like) {
  const TensorInfo info = like;  // it may be one of the graph's, which adding tensors moves
  const AnyTensor zero{&graph,
                       graph.add_constant({info.type, {}}, detail::scalar_bytes(info.type, 0))};
  return op::expand(zero, constant(graph, info.shape));
}

template <class Op>
constexpr AnyTensor detail::given_or_absent(GradientScope& g, std::size_t input) {
  if constexpr (requires { Op::template absent<float>(input); }) {
    if (g.x(input).is_absent()) {
      const ElementType type = g.dy().info().type;
      Bytes value;
      visit_type<NumericTypes>(type, [&]<class T>() {
        value = detail::scalar_bytes(type, static_cast<double>(Op::template absent<T>(input)));
      });
      return {&g.graph(), g.graph().add_constant({type, {}}, value)};
    }
  }
  return g.x(input);
}

template <std::same_as<Graph> G>
constexpr AnyTensor GradientScope::dy(std::size_t i) {
  if (has_dy(i)) return {&graph_, at(node_.outputs[i])};
  return zeros<G>(graph_, graph_.info(node_.outputs[i]));
}

template <std::same_as<Graph> G>
constexpr AnyTensor GradientScope::sum_to(AnyTensor x, const Dims& shape) {
  G& graph = *x.graph;
  const Dims from = x.info().shape;
  if (from == shape) return x;
  Dims axes;
  const std::size_t more = from.size() - shape.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i < more || (shape[i - more] == 1 && from[i] != 1)) {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (!axes.empty()) x = op::sum(x, constant(graph, axes), {.keepdims = 1});
  return x.info().shape == shape ? x : reshape_to<G>(x, shape);
}

template <std::same_as<Graph> G>
constexpr AnyTensor GradientScope::reshape_to(AnyTensor x, const Dims& shape) {
  G& graph = *x.graph;
  // Reshape refuses allowzero beside an extent that it has to find.
  const bool has_zero = shape.contains(0) && !shape.contains(dynamic);
  return op::reshape(x, constant(graph, shape), {.allowzero = has_zero});
}

template <std::same_as<Graph> G>
constexpr void GradientScope::add(std::size_t input, AnyTensor part) {
  if (!needs(input) || part.is_absent()) return;
  G& graph = graph_;
  const TensorId id = node_.inputs[input];
  const TensorInfo info = graph.info(id);
  part = sum_to<G>(part, info.shape);
  if (part.info().type != info.type) {
    part = op::cast(part, {.to = info.type});
  }
  const TensorId before = gradients_[id];
  gradients_[id] = before == no_tensor ? part.id : op::add(AnyTensor{&graph, before}, part).id;
}

}  // namespace halftone

#endif
