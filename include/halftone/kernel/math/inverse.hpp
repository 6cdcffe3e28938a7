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
/// atan for each sixteenth of [0, 1), u from its lower end: table[4] + table[3] t + u^2 (table[2] +
/// table[1] u + table[0] u^2). Too large by a third of what half_pi_high is, which so divides into
/// the errors of t and of 1 / t.
alignas(64) inline constexpr float atan_table[5][16] = {
    {2.3895135e-02f, 8.9369446e-02f, 1.3792709e-01f, 1.7320263e-01f, 1.9015992e-01f, 1.9572182e-01f,
     1.8101265e-01f, 1.696247e-01f, 1.3520233e-01f, 1.2028144e-01f, 8.5860245e-02f, 6.988355e-02f,
     3.554091e-02f, 1.6955019e-03f, -8.375671e-03f, 1.060369e-02f},
    {-3.3419678e-01f, -3.2709026e-01f, -3.044286e-01f, -2.696491e-01f, -2.2606573e-01f,
     -1.7835784e-01f, -1.2918428e-01f, -8.3796814e-02f, -4.136993e-02f, -7.268605e-03f,
     2.2334533e-02f, 4.3802977e-02f, 6.161352e-02f, 7.462454e-02f, 8.127218e-02f, 8.185783e-02f},
    {8.876001e-06f, -6.198223e-02f, -1.21158816e-01f, -1.7496294e-01f, -2.2144789e-01f,
     -2.5936404e-01f, -2.8825006e-01f, -3.0822e-01f, -3.2003132e-01f, -3.2459655e-01f,
     -3.2321575e-01f, -3.1701013e-01f, -3.0723825e-01f, -2.9488042e-01f, -2.8074926e-01f,
     -2.6554838e-01f},
    {1, 9.961087e-01f, 9.846152e-01f, 9.6603763e-01f, 9.411764e-01f, 9.11032e-01f, 8.767124e-01f,
     8.393444e-01f, 8.0000013e-01f, 7.5964403e-01f, 7.1910125e-01f, 6.790452e-01f, 6.400001e-01f,
     6.0235304e-01f, 5.6637174e-01f, 5.322246e-01f},
    {0, 1.6201712e-04f, 1.2780965e-03f, 4.215899e-03f, 9.684565e-03f, 1.818737e-02f, 3.0003536e-02f,
     4.5197282e-02f, 6.364755e-02f, 8.5089706e-02f, 1.0916105e-01f, 1.3544379e-01f, 1.6350105e-01f,
     1.9290474e-01f, 2.2325476e-01f, 2.5419074e-01f},
};

/// 16 t rounded down, in the low bits, for 0 <= t < 1.
template <int N>
HALFTONE_INLINE Vec<std::uint32_t, N> sixteenth(Vec<float, N> t) {
  if constexpr (N == 16) {
    constexpr int down = 9;
    const Vec<float, N> magic(0x1.8p19f);
#ifdef __clang__
    const Vec<float, N> moved = __builtin_ia32_addps512(t.v, magic.v, down);
#else
    const Vec<float, N> moved = __builtin_ia32_addps512_mask(t.v, magic.v, t.v, -1, down);
#endif
    return bit_cast<std::uint32_t>(moved);
  }
  return bit_cast<std::uint32_t>(convert<std::int32_t>(t * 16));
}
template <int N>
HALFTONE_INLINE Vec<float, N> above_sixteenth(Vec<float, N> t) {
  using R = typename Vec<float, N>::raw;
  constexpr int four_bits_down = 4 << 4 | 1;
#ifdef __clang__
  if constexpr (N == 16) return __builtin_ia32_reduceps512_mask(t.v, four_bits_down, R{}, -1, 4);
#else
  if constexpr (N == 16) return __builtin_ia32_reduceps512_mask(t.v, four_bits_down, R{}, -1);
#endif
  if constexpr (N == 8) return __builtin_ia32_reduceps256_mask(t.v, four_bits_down, R{}, -1);
  if constexpr (N == 4) return __builtin_ia32_reduceps128_mask(t.v, four_bits_down, R{}, -1);
}
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
    using namespace detail;
    using V = Vec<T, N>;
    const V a = abs(x), finite = lower_magnitude(x, 0x1p100f);
    const auto is_large = a > 1;  // then pi / 2 - atan(1 / a)
    const V estimate = reciprocal_estimate(finite);
    const V inverse = fma(fma(-finite, estimate, V(1)), estimate, estimate);
    const V t = select(is_large, inverse, lower_or_second(V(1 - 0x1p-24f), a));
    const auto index = sixteenth(t);
    const auto at = [&](int i)
                        __attribute__((always_inline)) { return lookup(atan_table[i], index); };
    const V u = above_sixteenth(t);
    const V p = fma(fma(at(0), u, at(1)), u, at(2));
    const V r = fma(u * u, p, fma(at(3), t, at(4)));
    return with_sign_of(select(is_large, half_pi_high - r, r), x);
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
