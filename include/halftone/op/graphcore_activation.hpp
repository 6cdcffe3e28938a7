#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_ACTIVATION_HPP
#define HALFTONE_OP_GRAPHCORE_ACTIVATION_HPP

#include <halftone/base/math.hpp>

namespace halftone::op {

/// y = x / 2 * (1 + tanh(0.7978845608 * (x + 0.044715 * x^3))), element by element.
///
/// x, y    any shape, floating point
/// grad    with t the tangent, dx = dy / 2 * (1 + t + x * (1 - t^2) * 0.7978845608 *
///         (1 + 0.134145 * x^2))
/// limits  -inf gives -0, the limit
/// source  ai.graphcore Gelu-1; Hendrycks and Gimpel 2016, arXiv:1606.08415
struct Gelu {
  static constexpr OpId id{"ai.graphcore", "Gelu", 1};
  static constexpr Signature signature = "x -> y";

  static constexpr double factor = 0.7978845608028654, cubic = 0.044715;

  static constexpr auto forward(auto x) { return math::gelu(x); }
  static constexpr auto backward(auto dy, auto x) {
    const auto t = tanh(x * factor * (1 + x * x * cubic));
    return dy * 0.5 * (1 + t + x * (1 - t * t) * factor * (1 + x * x * (3 * cubic)));
  }
};

/// y = x / 2 * (1 + erf(x / sqrt(2))), element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy * ((1 + erf(x / sqrt(2))) / 2 + x * e^(-x^2 / 2) / sqrt(2 pi))
/// limits  -inf gives NaN
/// source  ai.graphcore GeluErf-1; Hendrycks and Gimpel 2016, arXiv:1606.08415
struct GeluErf {
  static constexpr OpId id{"ai.graphcore", "GeluErf", 1};
  static constexpr Signature signature = "x -> y";

  static constexpr auto forward(auto x) {
    return x * 0.5 * (1 + math::erf(x * 0.7071067811865476));
  }
  static constexpr auto backward(auto dy, auto x) {
    const auto density = exp(x * x * -0.5) * 0.3989422804014327;
    return dy * (0.5 * (1 + erf(x * 0.7071067811865476)) + x * density);
  }
};

/// y = x * sigmoid(x), element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy * s * (1 + x * (1 - s)) with s = sigmoid(x)
/// limits  -inf gives -0, the limit
/// source  ai.graphcore Swish-1; Ramachandran et al. 2017, arXiv:1710.05941
struct Swish {
  static constexpr OpId id{"ai.graphcore", "Swish", 1};
  static constexpr Signature signature = "x -> y";

  static constexpr auto forward(auto x) { return math::swish(x); }
  static constexpr auto backward(auto dy, auto x) {
    const auto s = sigmoid(x);
    return dy * s * (1 + x * (1 - s));
  }
};

}  // namespace halftone::op

#endif
