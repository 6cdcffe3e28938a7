#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_FLATTEN_HPP
#define HALFTONE_OP_FLATTEN_HPP

namespace halftone::op {

/// The same elements as a matrix, without a copy: the dimensions before `axis`, and those from it.
///
/// x       any shape; axis in [-rank, rank], from the end if negative
/// y       [product of the former, product of the latter]
/// source  ai.onnx Flatten-13
struct Flatten {
  std::int64_t axis = 1;

  static constexpr OpId id{"ai.onnx", "Flatten", 1, 9, 11, 13, 21, 23, 24, 25};
  static constexpr Signature signature = "x -> y@x";
  using types = TypeList<BitTypes>;

  constexpr void attributes(auto&& visit) { visit("axis", axis); }

  constexpr Inferred infer(TensorInfo x) const {
    const auto rank = static_cast<std::int64_t>(x.rank());
    if (axis < -rank || axis > rank) return Inferred::mismatch("axis is out of range", rank, axis);
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    return TensorInfo{x.type,
                      {product(x.shape.span().first(at)), product(x.shape.span().subspan(at))}};
  }
  static constexpr void gradient(auto& g) {
    g.dx(0) += GradientScope::reshape_to(g.dy(), g.x().info().shape);
  }
};

}  // namespace halftone::op

#endif
