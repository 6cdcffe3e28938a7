#pragma once

#include "halftone/kernel/math/basic.hpp"

/// Sine, cosine, tangent.
///
/// |x| = n pi/2 + r with |r| <= pi/4; n's two lowest bits choose polynomial and sign. Sine and
/// cosine of float subtract multiples of pi instead, |r| <= pi/2, and one polynomial does. pi/2 and
/// pi are subtracted in three parts. Beyond `trigonometric_last` that loses digits, and the C
/// library computes those lanes.
namespace halftone::kernel {

namespace detail {

template <class T>
inline constexpr T trigonometric_last = std::is_same_v<T, float> ? T(0x1p15) : T(0x1p20);

template <class T, int N>
struct Quadrant {
  Vec<T, N> r;
  Vec<typename Float<T>::bits, N> n;
};

/// For 0 <= a <= trigonometric_last.
template <int N>
HALFTONE_INLINE Quadrant<double, N> quadrant(Vec<double, N> a) {
  using V = Vec<double, N>;
  const V t = fma(a, 0.63661977236758134, Float<double>::magic);
  const V n = t - Float<double>::magic;
  const V x = fma(n, -1.5707963267341256, a);  // exact, as is n times the next part
  const V y = n * 6.077100506303966e-11;
  const V high = x - y;
  const V back = high - x;
  const V low = (x - (high - back)) - (y + back);
  return {high + fma(n, -2.0222662487959506e-21, low), bit_cast<std::uint64_t>(t)};
}

template <int N>
HALFTONE_INLINE Quadrant<float, N> quadrant(Vec<float, N> a) {
  using V = Vec<float, N>;
  const V t = fma(a, 0.636619772f, Float<float>::magic);
  const V n = t - Float<float>::magic;
  V r;
  if constexpr (has_fma) {
    r = fma(n, -1.57079637f, a);
    r = fma(n, 4.37113883e-08f, r);
    r = fma(n, 1.71512451e-15f, r);
  } else {
    r = in_double(
        [](auto wide, auto whole) {
          return wide - whole * 1.5707963267341256 - whole * 6.077100506303966e-11;
        },
        a, n);
  }
  return {r, bit_cast<std::uint32_t>(t)};
}

template <int N>
HALFTONE_INLINE Vec<double, N> sin_of(Vec<double, N> r) {
  const auto z = r * r;
  const auto p = horner(z, 1.5895792968112794e-10, -2.5050742858156876e-08, 2.7557313610604513e-06,
                        -0.00019841269829634081, 0.0083333333333223038, -0.16666666666666632);
  return fma(r * z, p, r);
}

template <int N>
HALFTONE_INLINE Vec<double, N> cos_of(Vec<double, N> r) {
  const auto z = r * r;
  const auto p = horner(z, -1.1368658410147097e-11, 2.0875902911492505e-09, -2.7557315712726537e-07,
                        2.4801587294308493e-05, -0.001388888888888199, 0.041666666666666644);
  return fma(z * z, p, fma(z, -0.5, 1));
}

/// sin(r + n pi/2), also for the cosine's n.
template <int N>
HALFTONE_INLINE Vec<double, N> sin_in_quadrant(Quadrant<double, N> q) {
  const auto r = select((q.n & 1) == 0, sin_of(q.r), cos_of(q.r));
  return bit_cast<double>(bit_cast<std::uint64_t>(r) ^ ((q.n & 2) << 62));
}

/// sin(a - n pi), where that is at most pi / 2, for a whole or halved n; the highest bit of `sign`
/// changes the result's. NaN gives some number.
template <int N>
HALFTONE_INLINE Vec<float, N> sin_from_multiple(Vec<float, N> n, Vec<float, N> a,
                                                Vec<std::uint32_t, N> sign) {
  using V = Vec<float, N>;
  V r, close;  // the difference, and what is close to it, but known earlier
  if constexpr (has_fma) {
    close = fma(n, 8.742278e-08f, fma(n, -3.1415927f, a));
    r = fma(n, 3.430249e-15f, close);
  } else {
    close = r = in_double(
        [](auto whole, auto wide) {
          return wide - whole * 3.1415926534682512 - whole * 1.215420101260793e-10;
        },
        n, a);
  }
  const V z = close * close;
  // With these coefficients no sum rounds to more than 1.
  const V p = horner(z, 2.60587558e-06f, -0.000198108668f, 0.00833310839f, -0.166666627f);
  V y = fma(close * z, p, r);
  if constexpr (!has_fma) y = clamped(y, -1.0f, 1.0f);
  return bit_cast<float>(bit_cast<std::uint32_t>(y) ^ (sign & 0x80000000));
}

enum class Trigonometric { sine, cosine, tangent };

/// Replaces the lanes of r whose x is large, or NaN, by the C library's results.
template <Trigonometric What, class T, int N>
__attribute__((noinline, cold)) void replace_large(const T* x, T* r) {
  for (int i = 0; i < N; ++i) {
    if (__builtin_fabs(double(x[i])) <= trigonometric_last<T>) continue;
    if constexpr (What == Trigonometric::sine) r[i] = T(__builtin_sin(double(x[i])));
    if constexpr (What == Trigonometric::cosine) r[i] = T(__builtin_cos(double(x[i])));
    if constexpr (What == Trigonometric::tangent) r[i] = T(__builtin_tan(double(x[i])));
  }
}

template <Trigonometric What, class T, int N>
HALFTONE_INLINE Vec<T, N> with_large(Vec<T, N> x, Vec<T, N> r) {
  if (__builtin_expect(any_beyond(abs(x), trigonometric_last<T>), 0)) {
    T from[N], to[N];
    x.store(from);
    r.store(to);
    replace_large<What, T, N>(from, to);
    r = Vec<T, N>::load(to);
  }
  return r;
}

}  // namespace detail

template <class T, int N>
HALFTONE_INLINE Vec<T, N> sin(Vec<T, N> x) {
  using B = typename detail::Float<T>::bits;
  constexpr T magic = detail::Float<T>::magic;
  Vec<T, N> r;
  if constexpr (std::is_same_v<T, float>) {
    const auto t = fma(abs(x), 0.318309873f, magic);
    r = detail::sin_from_multiple(t - magic, abs(x), (bit_cast<B>(t) << 31) ^ bit_cast<B>(x));
  } else {
    r = detail::sin_in_quadrant(detail::quadrant(abs(x)));
    r = bit_cast<T>(bit_cast<B>(r) ^ (bit_cast<B>(x) & detail::Float<T>::sign_mask));
  }
  return detail::with_large<detail::Trigonometric::sine>(x, r);
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> cos(Vec<T, N> x) {
  using B = typename detail::Float<T>::bits;
  constexpr T magic = detail::Float<T>::magic;
  Vec<T, N> r;
  if constexpr (std::is_same_v<T, float>) {
    // cos(|x|) = -(-1)^n sin(|x| - (n + 1/2) pi)
    const auto t = fma(abs(x), 0.318309873f, -0.5f) + magic;
    r = detail::sin_from_multiple(t - magic + 0.5f, abs(x), ~bit_cast<B>(t) << 31);
  } else {
    auto q = detail::quadrant(abs(x));
    q.n = q.n + 1;
    r = detail::sin_in_quadrant(q);
  }
  return detail::with_large<detail::Trigonometric::cosine>(x, r);
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> tan(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_tan(lane); }, x);
  } else {
    using V = Vec<T, N>;
    using B = typename detail::Float<T>::bits;
    const auto q = detail::quadrant(abs(x));
    const V z = q.r * q.r;
    const V above = fma(q.r * z, -0.0957808123f, q.r);
    const V below = detail::horner(z, 0.00970931119f, -0.429114646f, 1.0f);
    // tan(r + pi / 2) = -1 / tan(r)
    const auto is_even = (q.n & 1) == 0;
    const V r = select(is_even, above, below) / select(is_even, below, above);
    const auto sign = ((q.n << 31) ^ bit_cast<B>(x)) & detail::Float<T>::sign_mask;
    const auto bits = bit_cast<B>(r) ^ sign;
    return detail::with_large<detail::Trigonometric::tangent>(x, bit_cast<T>(bits));
  }
}

}  // namespace halftone::kernel
