#pragma once

#include "halftone/kernel/simd.hpp"

/// Rounding, square root, signs and kinds of floats, and what the other functions are made of.
namespace halftone::kernel {

/// Vectors that a function may look at together (`Op::is_grouped`).
template <class V>
struct Quad {
  V a, b, c, d;
};

namespace detail {

/// The format of T's lanes.
template <class T>
struct Float;
template <>
struct Float<float> {
  using bits = std::uint32_t;
  static constexpr int fraction_bits = 23;
  static constexpr int bias = 127;
  static constexpr bits fraction_mask = 0x007fffff;
  static constexpr bits sign_mask = 0x80000000;
  static constexpr bits infinity = 0x7f800000;
  static constexpr float magic = 0x1.8p23f;  ///< x + magic has x, rounded to whole, in its low bits
};
template <>
struct Float<double> {
  using bits = std::uint64_t;
  static constexpr int fraction_bits = 52;
  static constexpr int bias = 1023;
  static constexpr bits fraction_mask = 0x000fffffffffffff;
  static constexpr bits sign_mask = 0x8000000000000000;
  static constexpr bits infinity = 0x7ff0000000000000;
  static constexpr double magic = 0x1.8p52;
};

/// The rest of a polynomial in x: `a` waits for its next coefficient but one, `b` just got its own.
template <class V>
HALFTONE_INLINE V alternating(V x, V, V a, V b) {
  return fma(a, x, b);
}
template <class V, class T, class... C>
HALFTONE_INLINE V alternating(V x, V square, V a, V b, T next, C... others) {
  return alternating(x, square, b, fma(a, square, V(next)), others...);
}

/// Polynomial in x, highest coefficient first. Long ones run as even and odd powers: two chains of
/// half the latency.
template <class T, int N, class... C>
HALFTONE_INLINE Vec<T, N> horner(Vec<T, N> x, T highest, T next, C... others) {
  using V = Vec<T, N>;
  if constexpr (sizeof...(C) < 9) {
    V r = fma(V(highest), x, V(next));
    ((r = fma(r, x, V(others))), ...);
    return r;
  } else {
    return alternating(x, x * x, V(highest), V(next), others...);
  }
}

/// f(lane) for each lane; how double gets what only float needs fast.
template <class T, int N, class F, class... X>
HALFTONE_INLINE Vec<T, N> each_lane(F f, Vec<T, N> x, X... y) {
  Vec<T, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = f(x.v[i], y.v[i]...);
  return r;
}

/// f in double for lanes of float: rare functions take their accuracy from the wider type.
template <int N, class F, class... X>
HALFTONE_INLINE Vec<float, N> in_double(F f, Vec<float, N> x, X... y) {
  if constexpr (N == 1 || N * sizeof(double) <= register_bytes) {
    return convert<float>(f(convert<double>(x), convert<double>(y)...));
  } else {
    return concat(convert<float>(f(convert<double>(low(x)), convert<double>(low(y))...)),
                  convert<float>(f(convert<double>(high(x)), convert<double>(high(y))...)));
  }
}

/// The smaller and the larger; b if one is NaN.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> lower_or_second(Vec<T, N> a, Vec<T, N> b) {
  return lower<T>(a.v, b.v);
}
template <class T, int N>
HALFTONE_INLINE Vec<T, N> upper_or_second(Vec<T, N> a, Vec<T, N> b) {
  return upper<T>(a.v, b.v);
}

/// x held in [first, last]; NaN stays NaN.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> clamped(Vec<T, N> x, T first, T last) {
  return lower_or_second(Vec<T, N>(last), upper_or_second(Vec<T, N>(first), x));
}

/// a b - p for p = a b, rounded: exact where it is not denormal. Without fma() by halves (Dekker).
template <class T, int N>
HALFTONE_INLINE Vec<T, N> product_rest(Vec<T, N> a, Vec<T, N> b, Vec<T, N> p) {
  using V = Vec<T, N>;
  if constexpr (has_fma) return fma(a, b, -p);
  constexpr T split = std::is_same_v<T, float> ? T(4097) : T(134217729);
  const V x = a * split, y = b * split;
  const V high_a = x - (x - a), high_b = y - (y - b);
  const V low_a = a - high_a, low_b = b - high_b;
  return ((high_a * high_b - p) + high_a * low_b + low_a * high_b) + low_a * low_b;
}

/// The lower of |x| and a limit that is not negative; NaN gives that.
template <int N>
HALFTONE_INLINE Vec<float, N> lower_magnitude(Vec<float, N> x, float limit) {
  using V = Vec<float, N>;
#if HALFTONE_AVX512
  using R = typename V::raw;
  constexpr int lower_without_sign = 10;
  if constexpr (N == 16) {
    return __builtin_ia32_rangeps512_mask(x.v, V(limit).v, lower_without_sign, R{}, -1, 4);
  }
  if constexpr (N == 8) {
    return __builtin_ia32_rangeps256_mask(x.v, V(limit).v, lower_without_sign, R{}, -1);
  }
  if constexpr (N == 4) {
    return __builtin_ia32_rangeps128_mask(x.v, V(limit).v, lower_without_sign, R{}, -1);
  }
#endif
  return lower_or_second(abs(x), V(limit));
}

/// magnitude with x's sign; magnitude's own sign must be plus, or x's.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> with_sign_of(Vec<T, N> magnitude, Vec<T, N> x) {
  using B = typename Float<T>::bits;
  return bit_cast<T>(bit_cast<B>(magnitude) | (bit_cast<B>(x) & Float<T>::sign_mask));
}

/// 2^n for a whole n of the normal range.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> power_of_two(Vec<T, N> n) {
  using F = Float<T>;
  return bit_cast<T>(bit_cast<typename F::bits>(n + (F::magic + F::bias)) << F::fraction_bits);
}

/// Whether lanes look numbers up in registers: functions of float go by tables then, and the
/// polynomials left are short.
template <class T, int N>
inline constexpr bool has_lookup =
    HALFTONE_AVX512 && std::is_same_v<T, float> && (N == 4 || N == 8 || N == 16);

/// Whether functions take a Quad of these.
template <class V>
inline constexpr bool has_groups = HALFTONE_AVX512 && std::is_same_v<V, Vec<float, 16>>;

/// Lane i is table[index[i] % Size].
template <int Size, int N>
HALFTONE_INLINE Vec<float, N> lookup(const float (&table)[Size], Vec<std::uint32_t, N> index) {
  static_assert(Size == 16 || Size == 32);
#if HALFTONE_AVX512
  if constexpr (N == 16) {
    using V = Vec<float, 16>;
    const auto i = bit_cast<std::int32_t>(index).v;
    const auto first = V::load(table).v;
#ifdef __clang__
    if constexpr (Size == 16) return __builtin_ia32_permvarsf512(first, i);
    if constexpr (Size == 32) {
      return __builtin_ia32_vpermi2varps512(first, i, V::load(table + 16).v);
    }
#else
    if constexpr (Size == 16) return __builtin_shuffle(first, i);
    if constexpr (Size == 32) return __builtin_shuffle(first, V::load(table + 16).v, i);
#endif
  }
#endif
  return Vec<float, N>::gather(table, index & std::uint32_t(Size - 1));
}

/// A function by a polynomial for each of 32 intervals, eight of equal width in each octave of
/// a + begin, for 0 <= a < 15 begin. u is the distance from an interval's lower end:
/// table[4] + table[3] a + u^2 (table[2] + table[1] u + table[0] u^2). As it is `a` that the linear
/// part takes, u may be rounded. Where an interval stands is what its lower end's bits say.
template <int N>
HALFTONE_INLINE Vec<float, N> piecewise(Vec<float, N> a, const float (&table)[5][32], float begin) {
  const auto w = a + begin;
  const auto at = bit_cast<std::uint32_t>(w);
  const auto index = at >> 20;
  const auto u = w - bit_cast<float>(at & 0xfff00000);
  const auto p =
      fma(fma(lookup(table[0], index), u, lookup(table[1], index)), u, lookup(table[2], index));
  return fma(u * u, p, fma(lookup(table[3], index), a, lookup(table[4], index)));
}

/// p * 2^n for a whole n in twice the normal range; rounds once, to denormals too. With AVX-512 a
/// fraction of n counts as nothing: floor(n) it is.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> scaled(Vec<T, N> p, Vec<T, N> n) {
#if HALFTONE_AVX512
  using R = typename Vec<T, N>::raw;
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (N == 16) return __builtin_ia32_scalefps512_mask(p.v, n.v, R{}, -1, 4);
    if constexpr (N == 8) return __builtin_ia32_scalefps256_mask(p.v, n.v, R{}, -1);
    if constexpr (N == 4) return __builtin_ia32_scalefps128_mask(p.v, n.v, R{}, -1);
  } else {
    if constexpr (N == 8) return __builtin_ia32_scalefpd512_mask(p.v, n.v, R{}, -1, 4);
    if constexpr (N == 4) return __builtin_ia32_scalefpd256_mask(p.v, n.v, R{}, -1);
    if constexpr (N == 2) return __builtin_ia32_scalefpd128_mask(p.v, n.v, R{}, -1);
  }
#endif
  const Vec<T, N> half = n * T(0.5) + Float<T>::magic - Float<T>::magic;
  return p * power_of_two(half) * power_of_two(n - half);
}

#if HALFTONE_AVX512
/// 1 / x to 14 bits; of 0 and infinity too.
template <int N>
HALFTONE_INLINE Vec<float, N> reciprocal_estimate(Vec<float, N> x) {
  using R = typename Vec<float, N>::raw;
  if constexpr (N == 16) return __builtin_ia32_rcp14ps512_mask(x.v, R{}, -1);
  if constexpr (N == 8) return __builtin_ia32_rcp14ps256_mask(x.v, R{}, -1);
  if constexpr (N == 4) return __builtin_ia32_rcp14ps128_mask(x.v, R{}, -1);
}

/// 1 / sqrt(x) to 14 bits: a start for Newton's step. NaN below zero, infinite for 0.
template <int N>
HALFTONE_INLINE Vec<float, N> reciprocal_root_estimate(Vec<float, N> x) {
  using R = typename Vec<float, N>::raw;
  if constexpr (N == 16) return __builtin_ia32_rsqrt14ps512_mask(x.v, R{}, -1);
  if constexpr (N == 8) return __builtin_ia32_rsqrt14ps256_mask(x.v, R{}, -1);
  if constexpr (N == 4) return __builtin_ia32_rsqrt14ps128_mask(x.v, R{}, -1);
}

/// sqrt(x) for 0 and normal x, 0.7 units in the last place: an estimate and a step of Newton's. NaN
/// below zero and for infinity.
template <int N>
HALFTONE_INLINE Vec<float, N> root(Vec<float, N> x) {
  using V = Vec<float, N>;
  // The estimate for 0 is infinite.
  const V estimate = lower_or_second(V(0x1p100f), reciprocal_root_estimate(x));
  const V s = x * estimate;
  return fma(fma(-s, s, x), 0.5f * estimate, s);
}

/// What `replaced` tells apart, and what it can say of each.
enum class Kind { quiet_nan, signalling_nan, zero, one, minus_infinity, infinity, below, above };
enum class Instead { result = 0, x = 1, nan = 3, minus_infinity = 4, infinity = 5, zero = 8 };
constexpr int instead(Kind kind, Instead what) { return int(what) << (4 * int(kind)); }

/// result, but what Cases, a sum of instead(), says where x is special.
template <int Cases, int N>
HALFTONE_INLINE Vec<float, N> replaced(Vec<float, N> result, Vec<float, N> x) {
  const auto cases = Vec<std::int32_t, N>(Cases).v;
  if constexpr (N == 16) {
    return __builtin_ia32_fixupimmps512_mask(result.v, x.v, cases, 0, -1, 4);
  }
  if constexpr (N == 8) return __builtin_ia32_fixupimmps256_mask(result.v, x.v, cases, 0, -1);
  if constexpr (N == 4) return __builtin_ia32_fixupimmps128_mask(result.v, x.v, cases, 0, -1);
}
#endif

/// Whether a lane is above `limit` or NaN.
template <class T, int N>
HALFTONE_INLINE bool any_beyond(Vec<T, N> x, T limit) {
#if HALFTONE_AVX512
  if constexpr (N * sizeof(T) == 64) {
    constexpr int not_less_or_equal = 22;
    if constexpr (sizeof(T) == 4) {
      return __builtin_ia32_cmpps512_mask(x.v, Vec<T, N>(limit).v, not_less_or_equal, -1, 4) != 0;
    } else {
      return __builtin_ia32_cmppd512_mask(x.v, Vec<T, N>(limit).v, not_less_or_equal, -1, 4) != 0;
    }
  }
#endif
  return any(!(x <= limit));
}

/// The larger of two numbers that are not negative; NaN is larger than any.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> upper_bits(Vec<T, N> a, Vec<T, N> b) {
  using B = typename Float<T>::bits;
  return bit_cast<T>(max(bit_cast<B>(a), bit_cast<B>(b)));
}

/// F::near(x) for |x| <= F::last, and F::far(x) where it is not, which should be rare.
template <class F, int N>
HALFTONE_INLINE Vec<float, N> near_and_far(Vec<float, N> x) {
  return select(abs(x) <= F::last, F::near(x), F::far(x));
}
template <class F, int N>
__attribute__((noinline)) Vec<float, N> partly_far(Vec<float, N> x) {
  return near_and_far<F>(x);
}
template <class F, int N>
HALFTONE_INLINE Vec<float, N> near_or_far(Vec<float, N> x) {
  if (__builtin_expect(any_beyond(abs(x), F::last), 0)) return partly_far<F>(x);
  return F::near(x);
}

/// Four vectors, whose far lanes are looked for together.
template <class F, class V>
HALFTONE_SIDE_BY_SIDE __attribute__((noinline, flatten)) void partly_far(const Quad<V>& x,
                                                                         Quad<V>& y) {
  using B = std::uint32_t;
  const V a = x.a, b = x.b, c = x.c, d = x.d;
  const auto least = min(min(bit_cast<B>(abs(a)), bit_cast<B>(abs(b))),
                         min(bit_cast<B>(abs(c)), bit_cast<B>(abs(d))));
  if (any(bit_cast<float>(least) <= F::last)) {
    y = {near_and_far<F>(a), near_and_far<F>(b), near_and_far<F>(c), near_and_far<F>(d)};
  } else {
    y = {F::far(a), F::far(b), F::far(c), F::far(d)};
  }
}
template <class F, class V>
HALFTONE_INLINE Quad<V> near_or_far(const Quad<V>& x) {
  const V a = x.a, b = x.b, c = x.c, d = x.d;
  const V largest = upper_bits(upper_bits(abs(a), abs(b)), upper_bits(abs(c), abs(d)));
  if (__builtin_expect(any_beyond(largest, F::last), 0)) {
    Quad<V> y;
    partly_far<F>(x, y);
    return y;
  }
  return {F::near(a), F::near(b), F::near(c), F::near(d)};
}

/// x * factor rounded down, in the low bits; off by one where the product is nearly whole.
template <int N>
HALFTONE_INLINE Vec<std::uint32_t, N> whole_below(Vec<float, N> x, float factor) {
  using V = Vec<float, N>;
#if HALFTONE_AVX512
  if constexpr (N == 16) {
    constexpr int down = 9;
    const V t =
        __builtin_ia32_vfmaddps512_mask(x.v, V(factor).v, V(Float<float>::magic).v, -1, down);
    return bit_cast<std::uint32_t>(t);
  }
#endif
  return bit_cast<std::uint32_t>(fma(x, V(factor), V(-0.5f)) + Float<float>::magic);
}

/// Rounds to whole numbers; mode 0 to nearest even, 1 down, 2 up, 3 to zero.
template <int Mode, class T, int N>
HALFTONE_INLINE Vec<T, N> rounded(Vec<T, N> x) {
  [[maybe_unused]] constexpr int bytes = N * int(sizeof(T));
#if HALFTONE_AVX512
  using R = typename Vec<T, N>::raw;
  if constexpr (bytes == 64 && sizeof(T) == 4) {
    return __builtin_ia32_rndscaleps_mask(x.v, Mode, R{}, -1, 4);
  } else if constexpr (bytes == 64) {
    return __builtin_ia32_rndscalepd_mask(x.v, Mode, R{}, -1, 4);
  }
#endif
#ifdef __AVX__
  if constexpr (bytes == 32 && sizeof(T) == 4) {
    return __builtin_ia32_roundps256(x.v, Mode);
  } else if constexpr (bytes == 32) {
    return __builtin_ia32_roundpd256(x.v, Mode);
  }
#endif
#ifdef __SSE4_1__
  if constexpr (bytes == 16 && sizeof(T) == 4) {
    return __builtin_ia32_roundps(x.v, Mode);
  } else if constexpr (bytes == 16) {
    return __builtin_ia32_roundpd(x.v, Mode);
  }
#endif
  const Vec<T, N> a = abs(x);
  // From 2^23 (2^52) on all floats are whole; below, the sum leaves no room for a fraction.
  constexpr T limit = T(std::uint64_t{1} << Float<T>::fraction_bits);
  const Vec<T, N> nearest = a + limit - limit;
  Vec<T, N> r = nearest;
  if constexpr (Mode != 0) {
    const Vec<T, N> down = select(nearest > a, nearest - 1, nearest);
    const Vec<T, N> up = select(nearest < a, nearest + 1, nearest);
    if constexpr (Mode == 1) r = select(x < 0, up, down);
    if constexpr (Mode == 2) r = select(x < 0, down, up);
    if constexpr (Mode == 3) r = down;
  }
  return select(a < limit, with_sign_of(r, x), x);
}

}  // namespace detail

/// Correctly rounded; NaN below zero.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> sqrt(Vec<T, N> x) {
  [[maybe_unused]] constexpr int bytes = N * int(sizeof(T));
#ifdef __clang__
  if constexpr (bytes >= 16) return __builtin_elementwise_sqrt(x.v);
#else
#if HALFTONE_AVX512
  using R = typename Vec<T, N>::raw;
  if constexpr (bytes == 64 && sizeof(T) == 4) {
    return __builtin_ia32_sqrtps512_mask(x.v, R{}, -1, 4);
  } else if constexpr (bytes == 64) {
    return __builtin_ia32_sqrtpd512_mask(x.v, R{}, -1, 4);
  }
#endif
#ifdef __AVX__
  if constexpr (bytes == 32 && sizeof(T) == 4) {
    return __builtin_ia32_sqrtps256(x.v);
  } else if constexpr (bytes == 32) {
    return __builtin_ia32_sqrtpd256(x.v);
  }
#endif
#ifdef __SSE2__
  if constexpr (bytes == 16 && sizeof(T) == 4) {
    return __builtin_ia32_sqrtps(x.v);
  } else if constexpr (bytes == 16) {
    return __builtin_ia32_sqrtpd(x.v);
  }
#endif
#endif
  return detail::each_lane(
      [](T lane) {
        if constexpr (std::is_same_v<T, float>) return __builtin_sqrtf(lane);
        return T(__builtin_sqrt(lane));
      },
      x);
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> floor(Vec<T, N> x) {
  return detail::rounded<1>(x);
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> ceil(Vec<T, N> x) {
  return detail::rounded<2>(x);
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> trunc(Vec<T, N> x) {
  return detail::rounded<3>(x);
}

/// To the nearest whole number, halves to the even one, as ONNX's Round.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> round_even(Vec<T, N> x) {
  return detail::rounded<0>(x);
}

/// Whether nearest() and saturated_bytes() are one instruction each.
inline constexpr bool has_saturation = HALFTONE_AVX512;

/// The nearest integers, ties to even, of floats in their range.
template <int N>
HALFTONE_INLINE Vec<std::int32_t, N> nearest(Vec<float, N> v) {
#if HALFTONE_AVX512
  if constexpr (N == 16) {
    using I = typename Vec<std::int32_t, 16>::raw;
    return (I)__builtin_ia32_cvtps2dq512_mask(v.v, I{}, -1, 4);
  }
#endif
  return convert<std::int32_t>(round_even(v));
}

/// The bytes of integers, unsigned or signed: what lies beyond becomes the last one there.
template <int N>
HALFTONE_INLINE Vec<std::uint8_t, N> saturated_bytes(Vec<std::int32_t, N> v, bool is_signed) {
  using V = Vec<std::int32_t, N>;
#if HALFTONE_AVX512
  if constexpr (N == 16) {
    using R = typename Vec<std::uint8_t, 16>::raw;
    using Given = char __attribute__((vector_size(16)));
    if (is_signed) return (R)__builtin_ia32_pmovsdb512_mask(v.v, Given{}, -1);
    return (R)__builtin_ia32_pmovusdb512_mask(max(v, V(0)).v, Given{}, -1);
  }
#endif
  const V low(is_signed ? -128 : 0), high(is_signed ? 127 : 255);
  return convert<std::uint8_t>(min(max(v, low), high));
}

template <class T, int N>
HALFTONE_INLINE Mask<T, N> isnan(Vec<T, N> x) {
  using B = typename detail::Float<T>::bits;
  return bit_cast<B>(abs(x)) > detail::Float<T>::infinity;
}

template <class T, int N>
HALFTONE_INLINE Mask<T, N> isinf(Vec<T, N> x) {
  using B = typename detail::Float<T>::bits;
  return bit_cast<B>(abs(x)) == detail::Float<T>::infinity;
}

template <class T, int N>
HALFTONE_INLINE Mask<T, N> isfinite(Vec<T, N> x) {
  using B = typename detail::Float<T>::bits;
  return bit_cast<B>(abs(x)) < detail::Float<T>::infinity;
}

/// -1, 0 or 1; 0 for both zeros, NaN for NaN.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> sign(Vec<T, N> x) {
  if constexpr (std::is_unsigned_v<T>) return select(x > 0, 1, 0);
  const Vec<T, N> r = select(x > 0, 1, select(x < 0, -1, 0));
  if constexpr (std::is_floating_point_v<T>) return select(x == x, r, x);
  return r;
}

/// The magnitude of `magnitude` with the sign of `sign`, of NaN too.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> copysign(Vec<T, N> magnitude, std::type_identity_t<Vec<T, N>> sign) {
  return detail::with_sign_of(abs(magnitude), sign);
}

template <class T, int N, detail::scalar S>
HALFTONE_INLINE Vec<T, N> copysign(S magnitude, Vec<T, N> sign) {
  return copysign(Vec<T, N>(magnitude), sign);
}

}  // namespace halftone::kernel
