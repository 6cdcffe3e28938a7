#pragma once

#include "halftone/kernel/math/basic.hpp"

/// Sine, cosine, tangent.
///
/// |x| = n pi/2 + r with |r| <= pi/4; n's two lowest bits choose polynomial and sign. pi/2 is
/// subtracted in three parts. Beyond `trigonometric_last` that loses digits, and the C library
/// computes those lanes.
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
template <class T, int N>
HALFTONE_INLINE Vec<T, N> sin_in_quadrant(Quadrant<T, N> q) {
  using B = typename Float<T>::bits;
  using V = Vec<T, N>;
  const auto is_sine = (q.n & 1) == 0;
  V r;
  if constexpr (std::is_same_v<T, float>) {
    // Coefficients are chosen, not results: one polynomial for both.
    const auto c = [&](float sine, float cosine) { return select(is_sine, V(sine), V(cosine)); };
    const V z = q.r * q.r;
    V p = fma(c(2.836146e-06f, 2.44599596e-05f), z, c(-0.000198534442f, -0.00138876063f));
    p = fma(p, z, c(0.00833338033f, 0.041666653f));
    p = fma(p, z, c(-0.166666672f, -0.5f));
    const V first = select(is_sine, q.r, V(1));
    r = fma(first * z, p, first);
  } else {
    r = select(is_sine, sin_of(q.r), cos_of(q.r));
  }
  return bit_cast<T>(bit_cast<B>(r) ^ ((q.n & 2) << (8 * int(sizeof(T)) - 2)));
}

enum class Trigonometric { sine, cosine, tangent };

/// Replaces the lanes of r whose x is large by the C library's results.
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
  if (__builtin_expect(any(abs(x) > trigonometric_last<T>), 0)) {
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
  const auto r = detail::sin_in_quadrant(detail::quadrant(abs(x)));
  const auto bits = bit_cast<B>(r) ^ (bit_cast<B>(x) & detail::Float<T>::sign_mask);
  return detail::with_large<detail::Trigonometric::sine>(x, bit_cast<T>(bits));
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> cos(Vec<T, N> x) {
  auto q = detail::quadrant(abs(x));
  q.n = q.n + 1;
  return detail::with_large<detail::Trigonometric::cosine>(x, detail::sin_in_quadrant(q));
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
    const V p = detail::horner(z, 0.00448545674f, -0.000129028907f, 0.0110053541f, 0.0212183315f,
                               0.054071825f, 0.133325651f, 0.333333522f);
    const V t = fma(q.r * z, p, q.r);
    const V r = select((q.n & 1) == 0, t, -1 / t);
    const auto bits = bit_cast<B>(r) ^ (bit_cast<B>(x) & detail::Float<T>::sign_mask);
    return detail::with_large<detail::Trigonometric::tangent>(x, bit_cast<T>(bits));
  }
}

}  // namespace halftone::kernel
