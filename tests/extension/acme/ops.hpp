#pragma once

#include <halftone/halftone.hpp>

/// An extension as somebody else would write it: two operators in a namespace of its own, nothing
/// of the library touched.
namespace acme {

using halftone::Inferred;
using halftone::TensorInfo;
using halftone::View;

/// y = x^3, element by element.
///
/// x, y    any shape, float, half or integer
/// grad    dx = dy * 3 * x^2
/// source  none
struct Cube {
  static constexpr halftone::OpId id{"acme", "Cube", 1};
  static constexpr halftone::Signature signature = "x -> y";
  using types = halftone::TypeList<halftone::NumericTypes>;

  static constexpr auto forward(auto x) { return x * x * x; }
  static constexpr auto backward(auto dy, auto x) { return dy * 3 * x * x; }
};
inline constexpr halftone::OpFunction<Cube> cube;

/// y[i] = factor * (x[i] - x[i - distance]) along the last axis, where x counts as 0 before its
/// begin.
///
/// x, y    [..., n], same shape, floating point
/// source  none
struct Step {
  float factor = 1;
  std::int64_t distance = 1;

  static constexpr halftone::OpId id{"acme", "Step", 1, 2};
  static constexpr halftone::Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("factor", factor);
    visit("distance", distance);
  }
  constexpr Inferred infer(TensorInfo x) const {
    if (x.rank() == 0) return Inferred::mismatch("x has no axis to step along", 1, 0);
    if (distance < 0) return Inferred::mismatch("distance is negative", 0, distance);
    return x;
  }
  template <class T>
  void kernel(View<const T> x, View<T> y) const {
    const std::int64_t n = x.extent(x.rank - 1);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const T before = i % n < distance ? T(0) : x[i - distance];
      y[i] = static_cast<T>(T(factor) * (x[i] - before));
    }
  }
};
inline constexpr halftone::OpFunction<Step> step;

using ops = halftone::builtin::with<Cube, Step>;

}  // namespace acme
