#pragma once

#include <cstdint>
#include <type_traits>

#include <halftone/base/config.hpp>

/// What operators are made of: functions of one number, or of a vector of them. One text serves
/// both: float and double use the compilers' builtins, half and bfloat16 are computed as float,
/// integers as double where the function is not theirs, and anything else (kernel::Vec) finds its
/// functions by argument-dependent look-up where the text is instantiated.
///
/// Comparisons and kinds (`x > 0`, isnan) give bool or a mask; select takes both.
namespace halftone {

namespace detail {

/// What a number is computed in; void for classes that bring their own functions.
template <class X>
struct MathType {
  using type = std::conditional_t<
      std::is_same_v<X, float>, float,
      std::conditional_t<std::is_same_v<X, double> || std::is_integral_v<X>, double,
                         std::conditional_t<std::is_convertible_v<X, float>, float, void>>>;
};
template <class X>
using math_t = typename MathType<X>::type;

template <class... X>
inline constexpr bool are_numbers = (!std::is_void_v<math_t<X>> && ...);
template <class... X>
inline constexpr bool are_integers = (std::is_integral_v<X> && ...);
/// float if all are computed in float, else double.
template <class... X>
using wider_math_t = std::conditional_t<(std::is_same_v<math_t<X>, float> && ...), float, double>;

/// Calls by name alone, from where no function of that name hides those of the arguments.
namespace found_by_argument {
// The functions that take nothing hide objects of the same name in the namespaces around.
#define HALFTONE_FORWARD(function)                                \
  template <class... X>                                           \
    requires false                                                \
  void function(X...);                                            \
  template <class... X>                                           \
  HALFTONE_INLINE constexpr auto call_##function(const X&... x) { \
    return function(x...);                                        \
  }
HALFTONE_FORWARD(exp)
HALFTONE_FORWARD(exp2)
HALFTONE_FORWARD(expm1)
HALFTONE_FORWARD(expm1_below_zero)
HALFTONE_FORWARD(log)
HALFTONE_FORWARD(log2)
HALFTONE_FORWARD(log1p)
HALFTONE_FORWARD(sqrt)
HALFTONE_FORWARD(erf)
HALFTONE_FORWARD(erfc)
HALFTONE_FORWARD(sin)
HALFTONE_FORWARD(cos)
HALFTONE_FORWARD(tan)
HALFTONE_FORWARD(asin)
HALFTONE_FORWARD(acos)
HALFTONE_FORWARD(atan)
HALFTONE_FORWARD(sinh)
HALFTONE_FORWARD(cosh)
HALFTONE_FORWARD(tanh)
HALFTONE_FORWARD(asinh)
HALFTONE_FORWARD(acosh)
HALFTONE_FORWARD(atanh)
HALFTONE_FORWARD(floor)
HALFTONE_FORWARD(ceil)
HALFTONE_FORWARD(trunc)
HALFTONE_FORWARD(round_even)
HALFTONE_FORWARD(abs)
HALFTONE_FORWARD(sign)
HALFTONE_FORWARD(sigmoid)
HALFTONE_FORWARD(swish)
HALFTONE_FORWARD(gelu)
HALFTONE_FORWARD(softplus)
HALFTONE_FORWARD(mish)
HALFTONE_FORWARD(isnan)
HALFTONE_FORWARD(isinf)
HALFTONE_FORWARD(isfinite)
HALFTONE_FORWARD(min)
HALFTONE_FORWARD(max)
HALFTONE_FORWARD(pow)
HALFTONE_FORWARD(fmod)
HALFTONE_FORWARD(atan2)
HALFTONE_FORWARD(copysign)
HALFTONE_FORWARD(select)
HALFTONE_FORWARD(all)
#undef HALFTONE_FORWARD
}  // namespace found_by_argument

}  // namespace detail

namespace math {

#define HALFTONE_FUNCTION(function, builtin)                \
  template <class X>                                        \
  HALFTONE_INLINE constexpr auto function(const X& x) {     \
    using M = detail::math_t<X>;                            \
    if constexpr (std::is_void_v<M>) {                      \
      return detail::found_by_argument::call_##function(x); \
    } else if constexpr (std::is_same_v<M, float>) {        \
      return __builtin_##builtin##f(static_cast<float>(x)); \
    } else {                                                \
      return __builtin_##builtin(static_cast<double>(x));   \
    }                                                       \
  }
HALFTONE_FUNCTION(exp, exp)
HALFTONE_FUNCTION(exp2, exp2)
HALFTONE_FUNCTION(expm1, expm1)
HALFTONE_FUNCTION(log, log)
HALFTONE_FUNCTION(log2, log2)
HALFTONE_FUNCTION(log1p, log1p)
HALFTONE_FUNCTION(sqrt, sqrt)
HALFTONE_FUNCTION(erf, erf)
HALFTONE_FUNCTION(erfc, erfc)
HALFTONE_FUNCTION(sin, sin)
HALFTONE_FUNCTION(cos, cos)
HALFTONE_FUNCTION(tan, tan)
HALFTONE_FUNCTION(asin, asin)
HALFTONE_FUNCTION(acos, acos)
HALFTONE_FUNCTION(atan, atan)
HALFTONE_FUNCTION(sinh, sinh)
HALFTONE_FUNCTION(cosh, cosh)
HALFTONE_FUNCTION(tanh, tanh)
HALFTONE_FUNCTION(asinh, asinh)
HALFTONE_FUNCTION(acosh, acosh)
HALFTONE_FUNCTION(atanh, atanh)
HALFTONE_FUNCTION(floor, floor)
HALFTONE_FUNCTION(ceil, ceil)
HALFTONE_FUNCTION(trunc, trunc)
/// To the nearest whole number, halves to the even one (in the default rounding mode).
HALFTONE_FUNCTION(round_even, nearbyint)
#undef HALFTONE_FUNCTION

/// |x|; the lowest integer stays as it is.
template <class X>
HALFTONE_INLINE constexpr auto abs(const X& x) {
  if constexpr (std::is_unsigned_v<X>) {
    return x;
  } else if constexpr (std::is_integral_v<X>) {
    return static_cast<X>(x < 0
                              ? std::make_unsigned_t<X>(0) - static_cast<std::make_unsigned_t<X>>(x)
                              : static_cast<std::make_unsigned_t<X>>(x));
  } else if constexpr (std::is_void_v<detail::math_t<X>>) {
    return detail::found_by_argument::call_abs(x);
  } else {
    return static_cast<detail::math_t<X>>(__builtin_fabs(static_cast<double>(x)));
  }
}

/// -1, 0 or 1; 0 for both zeros, NaN for NaN.
template <class X>
HALFTONE_INLINE constexpr auto sign(const X& x) {
  if constexpr (std::is_void_v<detail::math_t<X>>) {
    return detail::found_by_argument::call_sign(x);
  } else if constexpr (std::is_unsigned_v<X>) {
    return static_cast<X>(x > 0);
  } else if constexpr (std::is_integral_v<X>) {
    return static_cast<X>((x > 0) - (x < 0));
  } else {
    using M = detail::math_t<X>;
    const M wide = static_cast<M>(x);
    return wide > 0 ? M(1) : wide < 0 ? M(-1) : wide == 0 ? M(0) : wide;
  }
}

/// 1 / (1 + e^-x), accurate also where it is close to 0.
template <class X>
HALFTONE_INLINE constexpr auto sigmoid(const X& x) {
  using M = detail::math_t<X>;
  if constexpr (std::is_void_v<M>) {
    return detail::found_by_argument::call_sigmoid(x);
  } else {
    const M e = exp(-abs(static_cast<M>(x)));
    return (x < 0 ? e : M(1)) / (1 + e);
  }
}

/// factor (e^x - 1), for x < 0 rounded as one.
template <class X, class S>
HALFTONE_INLINE constexpr auto expm1_below_zero(const X& x, const S& factor) {
  if constexpr (std::is_void_v<detail::math_t<X>>) {
    return detail::found_by_argument::call_expm1_below_zero(x, factor);
  } else {
    return expm1(x) * factor;
  }
}

#define HALFTONE_KIND(function)                                          \
  template <class X>                                                     \
  HALFTONE_INLINE constexpr auto function(const X& x) {                  \
    using M = detail::math_t<X>;                                         \
    if constexpr (std::is_void_v<M>) {                                   \
      return detail::found_by_argument::call_##function(x);              \
    } else {                                                             \
      return static_cast<bool>(__builtin_##function(static_cast<M>(x))); \
    }                                                                    \
  }
HALFTONE_KIND(isnan)
HALFTONE_KIND(isinf)
HALFTONE_KIND(isfinite)
#undef HALFTONE_KIND

/// c ? a : b, lane by lane if c is a mask.
template <class C, class A, class B>
HALFTONE_INLINE constexpr auto select(const C& c, const A& a, const B& b) {
  if constexpr (!std::is_same_v<C, bool>) {
    return detail::found_by_argument::call_select(c, a, b);
  } else if constexpr (std::is_same_v<A, B>) {
    return c ? a : b;
  } else if constexpr (detail::are_numbers<A, B>) {
    using Y = std::common_type_t<A, B>;
    return c ? static_cast<Y>(a) : static_cast<Y>(b);
  } else {
    using Y = std::conditional_t<detail::are_numbers<A>, B, A>;
    return c ? Y(a) : Y(b);
  }
}

/// NaN if an operand is NaN, as ONNX and numpy have it; of zeros of both signs, the second.
template <class A, class B>
HALFTONE_INLINE constexpr auto min(const A& a, const B& b) {
  if constexpr (detail::are_numbers<A, B>) {
    using Y = std::common_type_t<A, B>;
    const Y x = static_cast<Y>(a), y = static_cast<Y>(b);
    return x != x || x < y ? x : y;
  } else {
    return detail::found_by_argument::call_min(a, b);
  }
}

/// NaN if an operand is NaN, as ONNX and numpy have it; of zeros of both signs, the second.
template <class A, class B>
HALFTONE_INLINE constexpr auto max(const A& a, const B& b) {
  if constexpr (detail::are_numbers<A, B>) {
    using Y = std::common_type_t<A, B>;
    const Y x = static_cast<Y>(a), y = static_cast<Y>(b);
    return x != x || x > y ? x : y;
  } else {
    return detail::found_by_argument::call_max(a, b);
  }
}

/// log(1 + e^x), accurate also where it is close to 0.
template <class X>
HALFTONE_INLINE constexpr auto softplus(const X& x) {
  using M = detail::math_t<X>;
  if constexpr (std::is_void_v<M>) {
    return detail::found_by_argument::call_softplus(x);
  } else {
    const M wide = static_cast<M>(x);
    return max(wide, M(0)) + log1p(exp(-abs(wide)));
  }
}

/// x / (1 + e^-x); -0 for -infinity.
template <class X>
HALFTONE_INLINE constexpr auto swish(const X& x) {
  using M = detail::math_t<X>;
  if constexpr (std::is_void_v<M>) {
    return detail::found_by_argument::call_swish(x);
  } else {
    const double wide = max(static_cast<double>(x), -760.0);
    return static_cast<M>(wide / (1 + exp(-wide)));
  }
}

/// x / (1 + e^-2u) with u = (x + 0.044715 x^3) sqrt(2 / pi); -0 for -infinity.
template <class X>
HALFTONE_INLINE constexpr auto gelu(const X& x) {
  using M = detail::math_t<X>;
  if constexpr (std::is_void_v<M>) {
    return detail::found_by_argument::call_gelu(x);
  } else {
    const double wide = max(static_cast<double>(x), -22.0);
    const double u = wide * (1 + 0.044715 * wide * wide) * 0.7978845608028654;
    return static_cast<M>(wide / (1 + exp(-2 * u)));
  }
}

/// x tanh(log(1 + e^x)), which is x from x = 20 on.
template <class X>
HALFTONE_INLINE constexpr auto mish(const X& x) {
  using M = detail::math_t<X>;
  if constexpr (std::is_void_v<M>) {
    return detail::found_by_argument::call_mish(x);
  } else {
    const M wide = static_cast<M>(x), e = exp(min(wide, M(20))), n = e * (e + 2);
    return wide * (n / (n + 2));
  }
}

/// -x; the lowest integer stays as it is.
template <class X>
HALFTONE_INLINE constexpr auto negate(const X& x) {
  if constexpr (std::is_integral_v<X>) {
    return static_cast<X>(0 - static_cast<std::uint64_t>(x));
  } else {
    return -x;
  }
}

#define HALFTONE_WRAPPING(function, sign)                                                      \
  template <class A, class B>                                                                  \
  HALFTONE_INLINE constexpr auto function(const A& a, const B& b) {                            \
    if constexpr (detail::are_integers<A, B>) {                                                \
      using Y = std::common_type_t<A, B>;                                                      \
      return static_cast<Y>(static_cast<std::uint64_t>(a) sign static_cast<std::uint64_t>(b)); \
    } else {                                                                                   \
      return a sign b;                                                                         \
    }                                                                                          \
  }
/// a + b, a - b, a * b; integers wrap around.
HALFTONE_WRAPPING(add, +)
HALFTONE_WRAPPING(subtract, -)
HALFTONE_WRAPPING(multiply, *)
#undef HALFTONE_WRAPPING

/// a / b; integers round to zero, and a division by zero gives 0, never a trap.
template <class A, class B>
HALFTONE_INLINE constexpr auto divide(const A& a, const B& b) {
  if constexpr (detail::are_integers<A, B>) {
    using Y = std::common_type_t<A, B>;
    const Y x = static_cast<Y>(a), y = static_cast<Y>(b);
    if constexpr (std::is_signed_v<Y>) {
      // The lowest number by -1 does not fit and stays as it is.
      if (y == -1)
        return static_cast<Y>(std::make_unsigned_t<Y>(0) - static_cast<std::make_unsigned_t<Y>>(x));
    }
    return static_cast<Y>(y == 0 ? Y(0) : static_cast<Y>(x / y));
  } else {
    return a / b;
  }
}

/// a - b trunc(a / b) with a's sign, as C's fmod and %; of integers by zero 0.
template <class A, class B>
HALFTONE_INLINE constexpr auto fmod(const A& a, const B& b) {
  if constexpr (detail::are_integers<A, B>) {
    using Y = std::common_type_t<A, B>;
    const Y x = static_cast<Y>(a), y = static_cast<Y>(b);
    if constexpr (std::is_signed_v<Y>) {
      if (y == -1) return Y(0);
    }
    return static_cast<Y>(y == 0 ? Y(0) : static_cast<Y>(x % y));
  } else if constexpr (!detail::are_numbers<A, B>) {
    return detail::found_by_argument::call_fmod(a, b);
  } else if constexpr (std::is_same_v<detail::wider_math_t<A, B>, float>) {
    return __builtin_fmodf(static_cast<float>(a), static_cast<float>(b));
  } else {
    return __builtin_fmod(static_cast<double>(a), static_cast<double>(b));
  }
}

/// The magnitude of a with the sign of b.
template <class A, class B>
HALFTONE_INLINE constexpr auto copysign(const A& a, const B& b) {
  if constexpr (!detail::are_numbers<A, B>) {
    return detail::found_by_argument::call_copysign(a, b);
  } else if constexpr (std::is_same_v<detail::wider_math_t<A, B>, float>) {
    return __builtin_copysignf(static_cast<float>(a), static_cast<float>(b));
  } else {
    return __builtin_copysign(static_cast<double>(a), static_cast<double>(b));
  }
}

/// The angle of the point (x, y).
template <class A, class B>
HALFTONE_INLINE constexpr auto atan2(const A& y, const B& x) {
  if constexpr (!detail::are_numbers<A, B>) {
    return detail::found_by_argument::call_atan2(y, x);
  } else if constexpr (std::is_same_v<detail::wider_math_t<A, B>, float>) {
    return __builtin_atan2f(static_cast<float>(y), static_cast<float>(x));
  } else {
    return __builtin_atan2(static_cast<double>(y), static_cast<double>(x));
  }
}

/// The nearest number of an integer type, rounded to zero; NaN gives 0.
template <class Y>
HALFTONE_INLINE constexpr Y saturated(double x) {
  constexpr int bits = 8 * static_cast<int>(sizeof(Y)) - (std::is_signed_v<Y> ? 1 : 0);
  constexpr double above = 2.0 * static_cast<double>(std::uint64_t{1} << (bits - 1));
  constexpr Y largest = static_cast<Y>(static_cast<std::uint64_t>(-1) >> (64 - bits));
  constexpr Y lowest = std::is_signed_v<Y> ? static_cast<Y>(~largest) : Y(0);
  if (x >= above) return largest;
  if (x < static_cast<double>(lowest)) return lowest;
  return x == x ? static_cast<Y>(x) : Y(0);
}

namespace integer {
/// x^y modulo the size of X; 1 / x^|y| rounded to zero if y is negative, 0 for 0^-n.
template <class X, class Y>
constexpr X power(X x, Y y) {
  if constexpr (std::is_signed_v<Y>) {
    if (y < 0) {
      if constexpr (std::is_signed_v<X>) {
        if (x == -1) return static_cast<X>(y % 2 == 0 ? 1 : -1);
      }
      return static_cast<X>(x == 1);
    }
  }
  std::uint64_t base = static_cast<std::uint64_t>(x), result = 1;
  for (auto n = static_cast<std::uint64_t>(y); n != 0; n >>= 1) {
    if ((n & 1) != 0) result *= base;
    base *= base;
  }
  return static_cast<X>(result);
}
}  // namespace integer

/// x^y as C's pow. Integers stay integers: x^y modulo their size, or the nearest one.
template <class X, class Y>
HALFTONE_INLINE constexpr auto pow(const X& x, const Y& y) {
  if constexpr (!detail::are_numbers<X, Y>) {
    // Squares are what models are full of. Each lane has the same result whatever its neighbours.
    const auto square = x * x;
    const auto is_two = y == decltype(square)(2);
    if (detail::found_by_argument::call_all(is_two)) return square;
    return detail::found_by_argument::call_select(
        is_two, square, detail::found_by_argument::call_pow(decltype(square)(x), y));
  } else if constexpr (detail::are_integers<X, Y>) {
    return integer::power(x, y);
  } else if constexpr (std::is_integral_v<X>) {
    return saturated<X>(__builtin_pow(static_cast<double>(x), static_cast<double>(y)));
  } else if constexpr (std::is_same_v<detail::wider_math_t<X, Y>, float>) {
    return __builtin_powf(static_cast<float>(x), static_cast<float>(y));
  } else {
    using M = detail::math_t<X>;
    const M wide = static_cast<M>(x);
    if (y == 2) return wide * wide;
    return static_cast<M>(__builtin_pow(static_cast<double>(wide), static_cast<double>(y)));
  }
}

}  // namespace math

}  // namespace halftone
