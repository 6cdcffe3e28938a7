#pragma once

#include "halftone/kernel/math/logarithm.hpp"

/// Inverses of the trigonometric and hyperbolic functions. float is computed in double, double by
/// the C library lane by lane.
namespace halftone::kernel {

namespace detail {

/// asin(x) / x for z = x^2 <= 0.25; relative error 2^-35.
template <int N>
HALFTONE_INLINE Vec<double, N> asin_factor(Vec<double, N> z) {
  return horner(z, 0.034999416494084466, 0.0071818790944868276, 0.024725991172829004,
                0.030089740703288612, 0.044662252143026424, 0.074999372936329814,
                0.16666667435864091, 0.99999999998454059);
}

/// atan(t) / t for z = t^2 <= 1; relative error 2^-34.
template <int N>
HALFTONE_INLINE Vec<double, N> atan_factor(Vec<double, N> z) {
  return horner(z, -0.00069802932295557523, 0.0049236610538847094, -0.016284208563561321,
                0.034440858380703085, -0.054471532402138936, 0.072560013952562841,
                -0.089837670581661561, 0.11093995542857434, -0.14284074794235591,
                0.19999918060312558, -0.33333331720872894, 0.99999999994740418);
}

inline constexpr double pi = 3.14159265358979324;

}  // namespace detail

template <class T, int N>
HALFTONE_INLINE Vec<T, N> asin(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_asin(lane); }, x);
  } else {
    return detail::in_double(
        [](auto wide) {
          const auto a = abs(wide);
          const auto is_large = a > 0.5;
          const auto z = select(is_large, 0.5 - 0.5 * a, a * a);
          const auto p = detail::asin_factor(z);
          const auto large = fma(-2 * sqrt(z), p, detail::pi / 2);
          return copysign(select(is_large, large, a * p), wide);
        },
        x);
  }
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> acos(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_acos(lane); }, x);
  } else {
    return detail::in_double(
        [](auto wide) {
          const auto a = abs(wide);
          const auto is_large = a > 0.5;
          const auto z = select(is_large, 0.5 - 0.5 * a, a * a);
          const auto p = detail::asin_factor(z);
          const auto s = 2 * sqrt(z);
          const auto large = select(wide < 0, fma(-s, p, detail::pi), s * p);
          return select(is_large, large, fma(-wide, p, detail::pi / 2));
        },
        x);
  }
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> atan(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_atan(lane); }, x);
  } else {
    return detail::in_double(
        [](auto wide) {
          const auto a = abs(wide);
          const auto is_large = a > 1;
          const auto t = select(is_large, 1 / a, a);
          const auto p = detail::atan_factor(t * t);
          return copysign(select(is_large, fma(-t, p, detail::pi / 2), t * p), wide);
        },
        x);
  }
}

/// The angle of the point (x, y), in [-pi, pi], as C's atan2.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> atan2(Vec<T, N> y, std::type_identity_t<Vec<T, N>> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double a, double b) { return __builtin_atan2(a, b); }, y, x);
  } else {
    return detail::in_double(
        [](auto up, auto right) {
          using V = decltype(up);
          const V a = abs(right), b = abs(up);
          const V large = max(a, b), small = min(a, b);
          // 0 / 0 means 0 and infinity / infinity 1.
          V t = small / large;
          t = select(large == 0, 0, select(isinf(small), 1, t));
          const V p = detail::atan_factor(t * t);
          V r = select(b > a, fma(-t, p, detail::pi / 2), t * p);
          r = select(bit_cast<std::int64_t>(right) < 0, detail::pi - r, r);
          return copysign(r, up);
        },
        y, x);
  }
}

template <class T, int N, detail::scalar S>
HALFTONE_INLINE Vec<T, N> atan2(S y, Vec<T, N> x) {
  return atan2(Vec<T, N>(y), x);
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> asinh(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_asinh(lane); }, x);
  } else {
    return detail::in_double(
        [](auto wide) {
          const auto a = abs(wide);
          const auto r = log1p(a + a * a / (1 + sqrt(fma(a, a, 1))));
          return copysign(select(isinf(a), a, r), wide);
        },
        x);
  }
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> acosh(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_acosh(lane); }, x);
  } else {
    return detail::in_double(
        [](auto wide) {
          const auto t = wide - 1;
          return select(t < 0, __builtin_nan(""), log1p(t + sqrt(t * (t + 2))));
        },
        x);
  }
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> atanh(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_atanh(lane); }, x);
  } else {
    return detail::in_double(
        [](auto wide) {
          const auto a = abs(wide);
          return copysign(0.5 * log1p(2 * a / (1 - a)), wide);
        },
        x);
  }
}

}  // namespace halftone::kernel
