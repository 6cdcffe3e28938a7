#pragma once

#include "halftone/kernel/math/logarithm.hpp"

/// Inverses of the trigonometric and hyperbolic functions. float's atan2 is computed in double, and
/// so are its hyperbolic ones where there are no tables; double by the C library lane by lane.
namespace halftone::kernel {

namespace detail {

/// asin(x) / x - 1 for z = x^2 <= 0.25; 2^-27 of the whole.
template <int N>
HALFTONE_INLINE Vec<float, N> asin_rest(Vec<float, N> z) {
  return z * horner(z, 0.042218566f, 0.0241476f, 0.0454771f, 0.074952416f, 0.16666754f);
}

/// atan(t) / t - 1 for z = t^2 <= 1; 2^-26.
template <int N>
HALFTONE_INLINE Vec<float, N> atan_rest(Vec<float, N> z) {
  return z * horner(z, -0.0017963512f, 0.010927595f, -0.031203656f, 0.057985295f, -0.08405184f,
                    0.10952822f, -0.14264372f, 0.19998561f, -0.333333f);
}

/// atan(t) / t for z = t^2 <= 1; relative error 2^-34.
template <int N>
HALFTONE_INLINE Vec<double, N> atan_factor(Vec<double, N> z) {
  return horner(z, -0.00069802932295557523, 0.0049236610538847094, -0.016284208563561321,
                0.034440858380703085, -0.054471532402138936, 0.072560013952562841,
                -0.089837670581661561, 0.11093995542857434, -0.14284074794235591,
                0.19999918060312558, -0.33333331720872894, 0.99999999994740418);
}

#if HALFTONE_AVX512
/// Tangents and their angles, which are nearly floats, in the middle of 8 intervals in each octave
/// of a + 1/2, for 0 <= a < 7; the last one goes on to infinity.
alignas(64) inline constexpr float atan_from[32] = {
    1.6180041f,  1.8684545f,  2.1189835f,  2.3699293f,  2.619544f,   2.8701522f,  3.1206753f,
    3.3712397f,  3.7344062f,  4.235755f,   4.7369084f,  5.238264f,   5.7398806f,  6.2390733f,
    6.740328f,   14.073363f,  0.0f,        0.09364057f, 0.15610561f, 0.21858202f, 0.2810511f,
    0.34351686f, 0.40594745f, 0.46834096f, 0.56089395f, 0.6856933f,  0.810519f,   0.9356226f,
    1.0602816f,  1.1852607f,  1.3106809f,  1.4355617f};
alignas(64) inline constexpr float atan_angle[32] = {
    1.0172137f,  1.0793855f,  1.1298604f,  1.1715089f,  1.2061247f,  1.2355355f,  1.2606912f,
    1.2824371f,  1.3091546f,  1.338956f,   1.362743f,   1.382163f,   1.3983079f,  1.4118679f,
    1.42351f,    1.4998593f,  0.0f,        0.09336831f, 0.15485579f, 0.21519738f, 0.27398312f,
    0.33088756f, 0.38562295f, 0.43800116f, 0.5111686f,  0.6010595f,  0.6811221f,  0.75215113f,
    0.81464875f, 0.8699733f,  0.9190509f,  0.96236163f};
#endif

inline constexpr double pi = 3.14159265358979324;
/// pi / 2 as a float, and what that lacks.
inline constexpr float half_pi_high = 1.57079637f, half_pi_low = -4.37113883e-8f;

}  // namespace detail

template <class T, int N>
HALFTONE_INLINE Vec<T, N> asin(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_asin(lane); }, x);
#if HALFTONE_AVX512
  } else if constexpr (detail::has_lookup<T, N>) {
    using namespace detail;
    using V = Vec<T, N>;
    const V a = abs(x), d = fma(a, V(-2), V(2));
    const auto is_large = a > 0.5405f;  // then pi / 2 - 2 asin(sqrt(d) / 2), the latter below 1
    const V z = select(is_large, d * 0.25f, a * a);
    const V s = select(is_large, root(d), a);
    const V r = fma(s,
                    z * horner(z, 0.043589886f, 0.009958742f, 0.033029687f, 0.04436686f, 0.075013f,
                               0.16666655f),
                    s);
    return with_sign_of(select(is_large, half_pi_high - r, r), x);
#endif
  } else {
    using V = Vec<T, N>;
    const V a = abs(x);
    const auto is_large = a > 0.5f;  // then pi / 2 - 2 asin(sqrt((1 - a) / 2))
    const V z = select(is_large, fma(a, -0.5f, 0.5f), a * a);
    const V s = select(is_large, -2 * sqrt(z), a);
    const V from = select(is_large, detail::half_pi_high, 0);
    const V sum = from + s, lost = s - (sum - from);
    const V rest = fma(s, detail::asin_rest(z), select(is_large, detail::half_pi_low, 0));
    return copysign(sum + (rest + lost), x);
  }
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> acos(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_acos(lane); }, x);
#if HALFTONE_AVX512
  } else if constexpr (detail::has_lookup<T, N>) {
    // sqrt(1 - |x|) by a polynomial, and of pi what that lacks below 0.
    using namespace detail;
    using V = Vec<T, N>;
    const V a = abs(x);
    const V p = horner(a, 0.00064780825f, -0.0038206708f, 0.010764136f, -0.020488836f, 0.032449838f,
                       -0.050559435f, 0.08902535f, -0.214601f, 1.5707964f);
    const V d = 1 - a;
    // The root is s + rest; the estimate for 0 is infinite.
    const V estimate = lower_or_second(V(0x1p100f), reciprocal_root_estimate(d)), s = d * estimate;
    const V rest = fma(-s, s, d) * (0.5f * estimate);
    const V r = fma(s, p, rest * p);
    return select(bit_cast<std::int32_t>(x) < 0, 3.14159274f - r, r);
#endif
  } else {
    using V = Vec<T, N>;
    const V a = abs(x);
    const auto is_large = a > 0.5f;  // then of a 2 asin(sqrt((1 - a) / 2))
    const V z = select(is_large, fma(a, -0.5f, 0.5f), a * a);
    const V s = detail::with_sign_of(2 * sqrt(z), x);
    const V signed_part = select(is_large, s, -x);
    const V quarters = select(is_large, select(x < 0, 2, 0), 1);  // of the circle
    const V rest = fma(signed_part, detail::asin_rest(z), quarters * detail::half_pi_low);
    return fma(quarters, detail::half_pi_high, signed_part) + rest;
  }
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> atan(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_atan(lane); }, x);
#if HALFTONE_AVX512
  } else if constexpr (detail::has_lookup<T, N>) {
    // atan(c) + atan(t) for t = (a - c) / (1 + a c), of which |t| < 0.072. An error of t's as large
    // as the estimate's counts little beside atan(c), and is part of the polynomial's factor.
    using namespace detail;
    using V = Vec<T, N>;
    const V a = lower_or_second(V(0x1p100f), abs(x));
    const auto index = bit_cast<std::uint32_t>(lower_or_second(V(7.75f), a + 0.5f)) >> 20;
    const V c = lookup(atan_from, index), d = fma(a, c, V(1));
    const V estimate = reciprocal_estimate(d);
    const V t = (a - c) * estimate, z = t * t;
    const V rest = fma(z, fma(z, V(0.19899965f), V(-0.33333177f)), fma(-d, estimate, V(1)));
    return with_sign_of(fma(t, rest, lookup(atan_angle, index) + t), x);
#endif
  } else {
    using V = Vec<T, N>;
    const V a = abs(x);
    const auto is_large = a > 1;  // then pi / 2 - atan(1 / a)
    const V t = select(is_large, -1 / a, a);
    const V rest = fma(t, detail::atan_rest(t * t), select(is_large, detail::half_pi_low, 0));
    return copysign(select(is_large, detail::half_pi_high + t, t) + rest, x);
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
#if HALFTONE_AVX512
  } else if constexpr (detail::has_lookup<T, N>) {
    // ln(1 + 2 a (a + sqrt(a^2 + 1))) / 2, without any cancellation; where the square is
    // too large ln(1 + 2 a).
    using namespace detail;
    using V = Vec<T, N>;
    const V a = abs(x), square = a * a, z = square + 1;
    const auto is_large = a > 0x1p40f;
    const V estimate = reciprocal_root_estimate(z), s = z * estimate;
    const V rest = fma(a, a, fma(-s, s, V(1))) * (0.5f * estimate);  // of the root, to s
    const V y = select(is_large, a * 0x1p-8f, fma(a, s, fma(a, rest, square)));
    const V w = select(is_large, a * 0x1p-8f, fma(a, s, square + 0.5f));
    const V half = log1p_by_table<2, true>(y, w);
    const V r = select(is_large, fma(half, V(2), V(8 * ln_2)), half);
    constexpr int cases =
        instead(Kind::minus_infinity, Instead::x) | instead(Kind::infinity, Instead::x);
    return replaced<cases>(with_sign_of(r, x), x);
#endif
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
#if HALFTONE_AVX512
  } else if constexpr (detail::has_lookup<T, N>) {
    using namespace detail;
    using V = Vec<T, N>;
    const V t = (x - 1) * 0.5f, z = fma(x, x, V(-1));
    const V estimate = reciprocal_root_estimate(z), h = 0.5f * estimate;
    const V s = z * h;  // half the root
    const auto is_large = x > 0x1p40f;
    const V y = select(is_large, t * 0x1p-7f, s + fma(s, fma(-s, estimate, V(0.5f)), t));
    const V w = select(is_large, t * 0x1p-7f, fma(x, V(0.5f), s));
    const V log = log1p_by_table<2, false>(y, w);
    const V r = select(is_large, log + 8 * ln_2, log);
    constexpr int cases =
        instead(Kind::minus_infinity, Instead::nan) | instead(Kind::below, Instead::nan) |
        instead(Kind::infinity, Instead::infinity) | instead(Kind::zero, Instead::zero);
    return replaced<cases>(r, t);
#endif
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
#if HALFTONE_AVX512
  } else if constexpr (detail::has_lookup<T, N>) {
    // ln(1 + 2 y) / 2 with y = a / (1 - a).
    using namespace detail;
    using V = Vec<T, N>;
    const V a = abs(x), d = 1 - a;
    const V estimate = reciprocal_estimate(d), y0 = a * estimate;
    const V y = fma(a, fma(fma(-d, y0, a), estimate, y0), a);  // a + a a / (1 - a)
    constexpr int cases = instead(Kind::zero, Instead::infinity) |
                          instead(Kind::minus_infinity, Instead::nan) |
                          instead(Kind::below, Instead::nan);
    return with_sign_of(replaced<cases>(log1p_by_table<2, true>(y, estimate - 0.5f), d), x);
#endif
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
