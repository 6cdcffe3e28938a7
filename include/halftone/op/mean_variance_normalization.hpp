#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_MEAN_VARIANCE_NORMALIZATION_HPP
#define HALFTONE_OP_MEAN_VARIANCE_NORMALIZATION_HPP

#include <halftone/op/axes.hpp>

namespace halftone::op {

/// y = (x - mean) / (deviation + 1e-9) over some dimensions; recorded as these operators.
///
/// x, y    any shape, floating point
/// axes    the dimensions, from the end if negative; [0, 2, 3]: channels of images
/// limits  the deviation is that of x - mean, which loses nothing where the mean is large; half
///         and bfloat16 are computed in float
/// source  ai.onnx MeanVarianceNormalization-13
struct MeanVarianceNormalization {
  Dims axes{0, 2, 3};

  static constexpr OpId id{"ai.onnx", "MeanVarianceNormalization", 9, 13};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) { visit("axes", axes); }
  constexpr AnyTensor expand(tensor_handle auto given) const {
    auto& graph = *given.graph;
    const ElementType type = given.info().type;
    const bool is_wide = type == ElementType::float32 || type == ElementType::float64;
    const auto x = is_wide ? given : cast(given, {.to = ElementType::float32});
    const auto mean_of = [&](const auto& t) {
      return axes.empty() ? mean(t) : mean(t, constant(graph, axes));
    };
    const auto centered = sub(x, mean_of(x));
    const auto variance = mean_of(mul(centered, centered));
    // The slope of the root is infinite at 0, which makes the gradient of equal numbers NaN.
    const auto is_zero = equal(variance, 0);
    const auto deviation = where(is_zero, 0, sqrt(where(is_zero, 1, variance)));
    const auto y = div(centered, add(deviation, 1e-9));
    return is_wide ? y : cast(y, {.to = type});
  }
};

/// y = x / norm of x along one dimension; recorded as these operators.
///
/// x, y    any shape with at least one dimension, floating point
/// axis    the dimension, from the end if negative
/// p       1: the norm is the sum of magnitudes; 2: the root of the sum of squares
/// limits  where the norm is 0, so is y
/// source  ai.onnx LpNormalization-1
struct LpNormalization {
  std::int64_t axis = -1, p = 2;

  static constexpr OpId id{"ai.onnx", "LpNormalization", 1, 22};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("p", p);
  }
  constexpr AnyTensor expand(tensor_handle auto x) const {
    if (p != 1 && p != 2) fail(ErrorKind::model, {.what = "LpNormalization: p is neither 1 nor 2"});
    const auto axes = constant(*x.graph, Dims{axis});
    const auto norm = p == 1 ? l1(x, axes) : l2(x, axes);
    return div(x, where(equal(norm, 0), 1, norm));
  }
};

}  // namespace halftone::op

#endif
