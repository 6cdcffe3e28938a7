#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_MATH_HPP
#define HALFTONE_OP_MATH_HPP

#include <halftone/base/math.hpp>
#include <halftone/op/broadcast_by_attribute.hpp>

namespace halftone::op {

/// y = e^x, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy * y
/// source  ai.onnx Exp-6
struct Exp {
  static constexpr OpId id{"ai.onnx", "Exp", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::exp(x); }
  static constexpr auto backward(auto dy, auto x) { return dy * exp(x); }
};

/// Natural logarithm, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy / x
/// limits  0 gives -inf, less gives NaN
/// source  ai.onnx Log-6
struct Log {
  static constexpr OpId id{"ai.onnx", "Log", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::log(x); }
  static constexpr auto backward(auto dy, auto x) { return dy / x; }
};

/// Square root, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy / (2 y)
/// limits  NaN below 0
/// source  ai.onnx Sqrt-6
struct Sqrt {
  static constexpr OpId id{"ai.onnx", "Sqrt", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_short = true;
  static constexpr auto forward(auto x) { return math::sqrt(x); }
  static constexpr auto backward(auto dy, auto x) { return dy / (2 * sqrt(x)); }
};

/// y = 1 / x, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = -dy / x^2
/// source  ai.onnx Reciprocal-6
struct Reciprocal {
  static constexpr OpId id{"ai.onnx", "Reciprocal", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_short = true;
  static constexpr auto forward(auto x) { return 1 / x; }
  static constexpr auto backward(auto dy, auto x) { return -dy / (x * x); }
};

/// The error function, element by element: 2 / sqrt(pi) times the integral of e^-t^2 from 0 to x.
///
/// x, y    any shape, floating point
/// grad    dx = dy * 2 / sqrt(pi) * e^-x^2
/// source  ai.onnx Erf-9
struct Erf {
  static constexpr OpId id{"ai.onnx", "Erf", 9, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::erf(x); }
  static constexpr auto backward(auto dy, auto x) {
    return dy * 1.1283791670955126 * exp(-(x * x));
  }
};

/// |x|, element by element.
///
/// x, y    any shape, any numbers
/// grad    dx = dy * sign(x), 0 at 0
/// limits  the lowest integer stays as it is
/// source  ai.onnx Abs-6
struct Abs {
  static constexpr OpId id{"ai.onnx", "Abs", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_short = true;
  using types = TypeList<NumericTypes>;
  static constexpr auto forward(auto x) { return math::abs(x); }
  static constexpr auto backward(auto dy, auto x) { return dy * sign(x); }
};

/// -1, 0 or 1, as x is below, at or above 0; NaN for NaN.
///
/// x, y    any shape, any numbers
/// grad    0
/// source  ai.onnx Sign-9
struct Sign {
  static constexpr OpId id{"ai.onnx", "Sign", 9, 13};
  static constexpr Signature signature = "x -> y";
  using types = TypeList<NumericTypes>;
  static constexpr auto forward(auto x) { return math::sign(x); }
  static constexpr auto backward(auto dy, auto) { return dy * 0; }
};

/// The largest whole number that is not above x.
///
/// x, y    any shape, floating point
/// grad    0
/// source  ai.onnx Floor-6
struct Floor {
  static constexpr OpId id{"ai.onnx", "Floor", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_short = true;
  static constexpr auto forward(auto x) { return math::floor(x); }
  static constexpr auto backward(auto dy, auto) { return dy * 0; }
};

/// The smallest whole number that is not below x.
///
/// x, y    any shape, floating point
/// grad    0
/// source  ai.onnx Ceil-6
struct Ceil {
  static constexpr OpId id{"ai.onnx", "Ceil", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_short = true;
  static constexpr auto forward(auto x) { return math::ceil(x); }
  static constexpr auto backward(auto dy, auto) { return dy * 0; }
};

/// The nearest whole number, halves to the even one.
///
/// x, y    any shape, floating point
/// grad    0
/// source  ai.onnx Round-11 (PopART rounds halves away from zero)
struct Round {
  static constexpr OpId id{"ai.onnx", "Round", 11, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_short = true;
  static constexpr auto forward(auto x) { return math::round_even(x); }
  static constexpr auto backward(auto dy, auto) { return dy * 0; }
};

/// Sine of x in radians, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy * cos(x)
/// source  ai.onnx Sin-7
struct Sin {
  static constexpr OpId id{"ai.onnx", "Sin", 7, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_grouped = true;
  static constexpr auto forward(auto x) { return math::sin(x); }
  static constexpr auto backward(auto dy, auto x) { return dy * cos(x); }
};

/// Cosine of x in radians, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = -dy * sin(x)
/// source  ai.onnx Cos-7
struct Cos {
  static constexpr OpId id{"ai.onnx", "Cos", 7, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_grouped = true;
  static constexpr auto forward(auto x) { return math::cos(x); }
  static constexpr auto backward(auto dy, auto x) { return -dy * sin(x); }
};

/// Tangent of x in radians, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy * (1 + y^2)
/// source  ai.onnx Tan-7
struct Tan {
  static constexpr OpId id{"ai.onnx", "Tan", 7, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_grouped = true;
  static constexpr auto forward(auto x) { return math::tan(x); }
  static constexpr auto backward(auto dy, auto x) {
    const auto y = tan(x);
    return dy * (1 + y * y);
  }
};

/// Arc sine, in [-pi/2, pi/2].
///
/// x, y    any shape, floating point
/// grad    dx = dy / sqrt(1 - x^2)
/// limits  NaN outside [-1, 1]
/// source  ai.onnx Asin-7
struct Asin {
  static constexpr OpId id{"ai.onnx", "Asin", 7, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::asin(x); }
  static constexpr auto backward(auto dy, auto x) { return dy / sqrt(1 - x * x); }
};

/// Arc cosine, in [0, pi].
///
/// x, y    any shape, floating point
/// grad    dx = -dy / sqrt(1 - x^2)
/// limits  NaN outside [-1, 1]
/// source  ai.onnx Acos-7
struct Acos {
  static constexpr OpId id{"ai.onnx", "Acos", 7, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::acos(x); }
  static constexpr auto backward(auto dy, auto x) { return -dy / sqrt(1 - x * x); }
};

/// Arc tangent, in [-pi/2, pi/2].
///
/// x, y    any shape, floating point
/// grad    dx = dy / (1 + x^2)
/// source  ai.onnx Atan-7
struct Atan {
  static constexpr OpId id{"ai.onnx", "Atan", 7, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::atan(x); }
  static constexpr auto backward(auto dy, auto x) { return dy / (1 + x * x); }
};

/// Hyperbolic sine, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy * cosh(x)
/// source  ai.onnx Sinh-9
struct Sinh {
  static constexpr OpId id{"ai.onnx", "Sinh", 9, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::sinh(x); }
  static constexpr auto backward(auto dy, auto x) { return dy * cosh(x); }
};

/// Hyperbolic cosine, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy * sinh(x)
/// source  ai.onnx Cosh-9
struct Cosh {
  static constexpr OpId id{"ai.onnx", "Cosh", 9, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::cosh(x); }
  static constexpr auto backward(auto dy, auto x) { return dy * sinh(x); }
};

/// Hyperbolic tangent, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy * (1 - y^2)
/// source  ai.onnx Tanh-6
struct Tanh {
  static constexpr OpId id{"ai.onnx", "Tanh", 6, 13};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::tanh(x); }
  static constexpr auto backward(auto dy, auto x) {
    const auto y = tanh(x);
    return dy * (1 - y * y);
  }
};

/// Inverse hyperbolic sine, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy / sqrt(x^2 + 1)
/// source  ai.onnx Asinh-9
struct Asinh {
  static constexpr OpId id{"ai.onnx", "Asinh", 9, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_grouped = true;
  static constexpr auto forward(auto x) { return math::asinh(x); }
  static constexpr auto backward(auto dy, auto x) { return dy / sqrt(x * x + 1); }
};

/// Inverse hyperbolic cosine, not below 0.
///
/// x, y    any shape, floating point
/// grad    dx = dy / sqrt(x^2 - 1)
/// limits  NaN below 1
/// source  ai.onnx Acosh-9
struct Acosh {
  static constexpr OpId id{"ai.onnx", "Acosh", 9, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr bool is_grouped = true;
  static constexpr auto forward(auto x) { return math::acosh(x); }
  static constexpr auto backward(auto dy, auto x) { return dy / sqrt(x * x - 1); }
};

/// Inverse hyperbolic tangent, element by element.
///
/// x, y    any shape, floating point
/// grad    dx = dy / (1 - x^2)
/// limits  -1 and 1 give infinities, beyond is NaN
/// source  ai.onnx Atanh-9
struct Atanh {
  static constexpr OpId id{"ai.onnx", "Atanh", 9, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::atanh(x); }
  static constexpr auto backward(auto dy, auto x) { return dy / (1 - x * x); }
};

/// z = x^y, element by element.
///
/// x       floating point, int32 or int64; y: any numbers; shapes that broadcast together
/// z       the common shape, x's type
/// grad    dx = dz * y * x^(y - 1), 0 where y is 0; dy = dz * z * log(x), 0 where x is 0 and y >= 0
/// limits  special cases as C's pow; an integer to an integer power wraps, and to a negative one is
///         1 / x^|y| rounded to zero, 0 for x = 0
/// source  ai.onnx Pow-7; types that differ: Pow-12
struct Pow {
  static constexpr OpId id{"ai.onnx", "Pow", 7, 12, 13, 15};
  static constexpr Signature signature = "x y:U -> z";
  using types = TypeList<Joined<FloatTypes, TypeList<std::int32_t, std::int64_t>>, NumericTypes>;

  static constexpr auto forward(auto x, auto y) { return math::pow(x, y); }
  static constexpr auto backward(auto dz, auto x, auto y) {
    const auto is_zero = [](auto v, auto then, auto otherwise) {
      return select(v > 0, otherwise, select(v < 0, otherwise, then));
    };
    const auto as_type_of = [](auto v, auto like) {
      if constexpr (tensor_handle<decltype(v)>) {
        const ElementType type = like.info().type;
        return v.info().type == type ? AnyTensor(v) : AnyTensor(op::cast(v, {.to = type}));
      } else {
        return v;
      }
    };
    const auto n = as_type_of(y, x);
    const auto dx = dz * n * pow(x, n - 1);
    const auto dy = dz * pow(x, n) * log(x);
    return std::tuple(is_zero(n, dz * 0, dx),
                      as_type_of(is_zero(x, select(n >= 0, dz * 0, dy), dy), y));
  }
};

/// Pow with the attributes `broadcast` and `axis`.
struct Pow_1 : detail::BroadcastByAttribute<Pow> {
  static constexpr OpId id{"ai.onnx", "Pow", 1};
};

/// Whether x is not a number, element by element, as bool.
///
/// x       any shape, floating point
/// source  ai.onnx IsNaN-9
struct IsNaN {
  static constexpr OpId id{"ai.onnx", "IsNaN", 9, 13, 20};
  static constexpr Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return math::isnan(x); }
};

/// Whether x is infinite, element by element, as bool.
///
/// x                any shape, floating point
/// detect_negative  whether -inf counts
/// detect_positive  whether inf counts
/// source           ai.onnx IsInf-10
struct IsInf {
  std::int64_t detect_negative = 1, detect_positive = 1;

  static constexpr OpId id{"ai.onnx", "IsInf", 10, 20};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("detect_negative", detect_negative);
    visit("detect_positive", detect_positive);
  }
  constexpr auto forward(auto x) const {
    if (detect_negative != 0 && detect_positive != 0) return math::isinf(x);
    const float infinity = __builtin_inff();
    if (detect_positive != 0) return x == infinity;
    return x == (detect_negative != 0 ? -infinity : __builtin_nanf(""));
  }
};

}  // namespace halftone::op

#endif
