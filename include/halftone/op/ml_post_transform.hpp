#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ML_POST_TRANSFORM_HPP
#define HALFTONE_OP_ML_POST_TRANSFORM_HPP

#include <halftone/kernel/post_transform.hpp>

namespace halftone::detail {

/// The element type of an input of an operator of ai.onnx.ml that is expanded, which depends on it.
constexpr ElementType known_type(AnyTensor x) {
  const ElementType type = x.info().type;
  if (type == ElementType::undefined) {
    fail(ErrorKind::unsupported, {.what = "the type and rank of the input are not known"});
  }
  return type;
}

/// x as numbers of another type, or x itself if it has that type.
constexpr AnyTensor cast_to(ElementType type, std::same_as<AnyTensor> auto x) {
  return known_type(x) == type ? x : op::cast(x, {.to = type});
}

/// x as a matrix of float: a vector is one row.
constexpr AnyTensor float_matrix(std::same_as<AnyTensor> auto x) {
  const auto y = cast_to(ElementType::float32, x);
  const std::size_t rank = x.info().rank();
  if (rank == 2) return y;
  if (rank != 1) {
    fail(ErrorKind::model, {.what = "the input is neither a vector nor a matrix",
                            .found = std::to_string(rank) + " dimensions"});
  }
  return op::reshape(y, constant(*x.graph, Dims{1, -1}));
}

/// Scores [n, e] as kernel::post_transform() makes them.
constexpr AnyTensor transformed(PostTransform kind, std::same_as<AnyTensor> auto x) {
  switch (kind) {
    case PostTransform::softmax:
      return op::softmax(x, {.axis = -1});
    case PostTransform::logistic:
      return op::sigmoid(x);
    case PostTransform::softmax_zero: {
      const auto axis = constant(*x.graph, Dims{-1});
      const auto largest = op::max(x, axis);
      const auto is_zero = op::logical_not(op::greater(op::abs(x), 0.0000001f));
      const auto e = op::exp(op::sub(x, largest));
      const auto sum = op::sum(op::where(is_zero, 0.0f, e), axis);
      return op::div(op::where(is_zero, op::mul(x, op::exp(op::neg(largest))), e), sum);
    }
    case PostTransform::probit: {
      const auto t = op::sub(op::mul(x, 2.0f), 1.0f);
      const auto l = op::log(op::mul(op::sub(1.0f, t), op::add(t, 1.0f)));
      const auto v = op::add(op::mul(l, 0.5f), 2 / (3.14159265f * 0.147f));
      const auto root = op::sqrt(op::sub(op::mul(v, v), op::div(l, 0.147f)));
      const auto y = op::mul(op::sqrt(op::sub(root, v)), 1.41421356f);
      return op::where(op::less(t, 0.0f), op::neg(y), y);
    }
    default:
      return x;
  }
}

}  // namespace halftone::detail

#endif
