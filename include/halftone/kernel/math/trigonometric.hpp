#pragma once

#include "halftone/kernel/math/basic.hpp"

/// Sine, cosine, tangent.
///
/// |x| = n pi/2 + r with |r| <= pi/4; n's two lowest bits choose polynomial and sign. Sine and
/// cosine of float subtract multiples of pi instead, |r| <= pi/2, and one polynomial does. pi/2 and
/// pi are subtracted in three parts. Beyond `trigonometric_last` that loses digits, and the C
/// library computes those lanes. With AVX-512 small multiples come from tables, in two parts, and
/// who has four vectors hands them over as a Quad.
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

/// sin(r) for |r| <= pi/2, z = r^2. With these coefficients no sum rounds to more than 1.
template <int N>
HALFTONE_INLINE Vec<float, N> sin_near_zero(Vec<float, N> r, Vec<float, N> z) {
  const auto p = horner(z, 2.60569368e-06f, -0.000198112917f, 0.00833313167f, -0.166666657f);
  return fma(r, fma(z, p, 0), r);  // the sum with 0 keeps -0
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

/// Multiples n of pi, of pi + pi/2 and of pi/2, the last two parts of 48 bits; element n % 16 for n
/// in [-8, 8).
struct Multiples {
  alignas(64) float high[16], low[16];
};
inline constexpr Multiples pi_multiples{
    {0.0f, 3.14159274f, 6.28318548f, 9.42477798f, 12.566371f, 15.707963f, 18.849556f, 21.991148f,
     -25.1327419f, -21.991148f, -18.849556f, -15.707963f, -12.566371f, -9.42477798f, -6.28318548f,
     -3.14159274f},
    {0.0f, -8.74227766e-08f, -1.74845553e-07f, -2.38497613e-08f, -3.49691106e-07f, 2.7814184e-07f,
     -4.76995226e-08f, 5.80133417e-07f, 6.99382213e-07f, -5.80133417e-07f, 4.76995226e-08f,
     -2.7814184e-07f, 3.49691106e-07f, 2.38497613e-08f, 1.74845553e-07f, 8.74227766e-08f}};
inline constexpr Multiples odd_half_pi_multiples{
    {1.57079637f, 4.71238899f, 7.85398149f, 10.995574f, 14.137167f, 17.278759f, 20.4203529f,
     23.561945f, -23.561945f, -20.4203529f, -17.278759f, -14.137167f, -10.995574f, -7.85398149f,
     -4.71238899f, -1.57079637f},
    {-4.37113883e-08f, -1.19248806e-08f, 1.3907092e-07f, 2.90066708e-07f, -3.57746401e-08f,
     5.92058313e-07f, -6.87457373e-07f, -5.9624405e-08f, 5.9624405e-08f, 6.87457373e-07f,
     -5.92058313e-07f, 3.57746401e-08f, -2.90066708e-07f, -1.3907092e-07f, 1.19248806e-08f,
     4.37113883e-08f}};
inline constexpr Multiples half_pi_multiples{
    {0.0f, 1.57079637f, 3.14159274f, 4.71238899f, 6.28318548f, 7.85398149f, 9.42477798f, 10.995574f,
     -12.566371f, -10.995574f, -9.42477798f, -7.85398149f, -6.28318548f, -4.71238899f, -3.14159274f,
     -1.57079637f},
    {0.0f, -4.37113883e-08f, -8.74227766e-08f, -1.19248806e-08f, -1.74845553e-07f, 1.3907092e-07f,
     -2.38497613e-08f, 2.90066708e-07f, 3.49691106e-07f, -2.90066708e-07f, 2.38497613e-08f,
     -1.3907092e-07f, 1.74845553e-07f, 1.19248806e-08f, 8.74227766e-08f, 4.37113883e-08f}};
template <int N>
HALFTONE_INLINE Vec<float, N> without(Vec<float, N> x, const Multiples& multiples,
                                      Vec<std::uint32_t, N> n) {
  return x - lookup(multiples.high, n) - lookup(multiples.low, n);
}

/// `even` / `odd` where n is even, else -odd / even.
template <int N>
HALFTONE_INLINE Vec<float, N> quadrant_quotient(Vec<float, N> even, Vec<float, N> odd,
                                                Vec<std::uint32_t, N> n) {
  const auto is_even = (n & 1) == 0;
  return select(is_even, even, odd) / select(is_even, odd, -even);
}
#if HALFTONE_AVX512 && !defined(__clang__)
/// g++ does not find the instructions that test, and change signs, of some lanes.
HALFTONE_INLINE Vec<float, 16> quadrant_quotient(Vec<float, 16> even, Vec<float, 16> odd,
                                                 Vec<std::uint32_t, 16> n) {
  using Ints = raw_t<int, 16>;
  constexpr int sign = -0x7fffffff - 1;
  const auto is_odd = __builtin_ia32_ptestmd512((Ints)n.v, Ints{} + 1, -1);
  const Vec<float, 16> above = __builtin_ia32_blendmps_512_mask(even.v, odd.v, is_odd);
  const Ints below = __builtin_ia32_pxord512_mask((Ints)even.v, Ints{} + sign, (Ints)odd.v, is_odd);
  return above / Vec<float, 16>((raw_t<float, 16>)below);
}
#endif

/// A function by table, and the square of what was left of x: large where the tables are too short.
template <int N>
struct ByTable {
  Vec<float, N> y, square;
};
template <Trigonometric What>
inline constexpr float most_square = What == Trigonometric::tangent ? 0.7f : 2.6f;

template <Trigonometric What, int N>
HALFTONE_INLINE ByTable<N> trigonometric_by_table(Vec<float, N> x) {
  [[maybe_unused]] constexpr float magic = Float<float>::magic;
  if constexpr (What == Trigonometric::sine) {
    const auto n = bit_cast<std::uint32_t>(fma(x, 0.318309873f, magic));
    const auto r = without(x, pi_multiples, n), z = r * r;
    return {bit_cast<float>(bit_cast<std::uint32_t>(sin_near_zero(r, z)) ^ (n << 31)), z};
  } else if constexpr (What == Trigonometric::cosine) {
    // cos(x) = -(-1)^n sin(x - (n + 1/2) pi)
    const auto n = whole_below(x, 0.318309873f);
    const auto r = without(x, odd_half_pi_multiples, n), z = r * r;
    const auto sign = ~(n << 31) & 0x80000000;
    return {bit_cast<float>(bit_cast<std::uint32_t>(sin_near_zero(r, z)) ^ sign), z};
  } else {
    // tan(r + pi / 2) = -1 / tan(r)
    const auto n = bit_cast<std::uint32_t>(fma(x, 0.636619772f, magic));
    const auto r = without(x, half_pi_multiples, n), z = r * r;
    return {quadrant_quotient(r * fma(z, -9.86527729f, 102.998917f),
                              fma(z - 44.1982803f, z, 102.998917f), n),
            z};
  }
}

/// Any lanes.
template <Trigonometric What, int N>
HALFTONE_INLINE Vec<float, N> trigonometric_by_parts(Vec<float, N> x) {
  using B = std::uint32_t;
  [[maybe_unused]] constexpr float magic = Float<float>::magic;
  Vec<float, N> r;
  if constexpr (What == Trigonometric::sine) {
    const auto t = fma(abs(x), 0.318309873f, magic);
    r = sin_from_multiple(t - magic, abs(x), (bit_cast<B>(t) << 31) ^ bit_cast<B>(x));
  } else if constexpr (What == Trigonometric::cosine) {
    // cos(|x|) = -(-1)^n sin(|x| - (n + 1/2) pi)
    const auto t = fma(abs(x), 0.318309873f, -0.5f) + magic;
    r = sin_from_multiple(t - magic + 0.5f, abs(x), ~bit_cast<B>(t) << 31);
  } else {
    const auto q = quadrant(abs(x));
    const auto z = q.r * q.r;
    const auto tangent = quadrant_quotient(fma(q.r * z, -0.0957808123f, q.r),
                                           horner(z, 0.00970931119f, -0.429114646f, 1.0f), q.n);
    r = bit_cast<float>(bit_cast<B>(tangent) ^ (bit_cast<B>(x) & Float<float>::sign_mask));
  }
  return with_large<What>(x, r);
}

/// y, by parts where the tables were too short or x is NaN.
template <Trigonometric What, int N>
__attribute__((noinline)) Vec<float, N> with_beyond_table(Vec<float, N> x, Vec<float, N> y,
                                                          Vec<float, N> square) {
  return select(square <= most_square<What>, y, trigonometric_by_parts<What>(x));
}

template <Trigonometric What, int N>
HALFTONE_INLINE Vec<float, N> trigonometric(Vec<float, N> x) {
  if constexpr (has_lookup<float, N>) {
    auto made = trigonometric_by_table<What>(x);
    if (__builtin_expect(any_beyond(made.square, most_square<What>), 0)) {
      made.y = with_beyond_table<What>(x, made.y, made.square);
    }
    return made.y;
  } else {
    return trigonometric_by_parts<What>(x);
  }
}

/// Four vectors, whose lanes beyond the tables are looked for together.
template <Trigonometric What, class V>
HALFTONE_INLINE Quad<V> trigonometric(const Quad<V>& group) {
  const V a = group.a, b = group.b, c = group.c, d = group.d;
  auto [ya, za] = trigonometric_by_table<What>(a);
  auto [yb, zb] = trigonometric_by_table<What>(b);
  auto [yc, zc] = trigonometric_by_table<What>(c);
  auto [yd, zd] = trigonometric_by_table<What>(d);
  const V largest = upper_bits(upper_bits(za, zb), upper_bits(zc, zd));
  if (__builtin_expect(any_beyond(largest, most_square<What>), 0)) {
    ya = with_beyond_table<What>(a, ya, za);
    yb = with_beyond_table<What>(b, yb, zb);
    yc = with_beyond_table<What>(c, yc, zc);
    yd = with_beyond_table<What>(d, yd, zd);
  }
  return {ya, yb, yc, yd};
}

}  // namespace detail

template <class T, int N>
HALFTONE_INLINE Vec<T, N> sin(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, float>) {
    return detail::trigonometric<detail::Trigonometric::sine>(x);
  } else {
    using B = typename detail::Float<T>::bits;
    const auto r = detail::sin_in_quadrant(detail::quadrant(abs(x)));
    const auto sign = bit_cast<B>(x) & detail::Float<T>::sign_mask;
    return detail::with_large<detail::Trigonometric::sine>(x, bit_cast<T>(bit_cast<B>(r) ^ sign));
  }
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> cos(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, float>) {
    return detail::trigonometric<detail::Trigonometric::cosine>(x);
  } else {
    auto q = detail::quadrant(abs(x));
    q.n = q.n + 1;
    return detail::with_large<detail::Trigonometric::cosine>(x, detail::sin_in_quadrant(q));
  }
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> tan(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_tan(lane); }, x);
  } else {
    return detail::trigonometric<detail::Trigonometric::tangent>(x);
  }
}

template <class V>
  requires detail::has_groups<V>
HALFTONE_INLINE Quad<V> sin(const Quad<V>& x) {
  return detail::trigonometric<detail::Trigonometric::sine>(x);
}
template <class V>
  requires detail::has_groups<V>
HALFTONE_INLINE Quad<V> cos(const Quad<V>& x) {
  return detail::trigonometric<detail::Trigonometric::cosine>(x);
}
template <class V>
  requires detail::has_groups<V>
HALFTONE_INLINE Quad<V> tan(const Quad<V>& x) {
  return detail::trigonometric<detail::Trigonometric::tangent>(x);
}

}  // namespace halftone::kernel
