#pragma once

#include "halftone/kernel/math/basic.hpp"

/// Logarithms: x = 2^e (1 + f) with f in [-0.25, 0.5), and a minimax polynomial in f.
namespace halftone::kernel {

namespace detail {

template <class T, int N>
struct LogParts {
  Vec<T, N> e;
  Vec<T, N> f;
};

template <class T>
inline constexpr auto three_quarters =
    (typename Float<T>::bits(Float<T>::bias - 1) << Float<T>::fraction_bits) +
    (typename Float<T>::bits{1} << (Float<T>::fraction_bits - 1));

/// e with x / 2^e in [0.75, 1.5), for normal x > 0.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> exponent_of(Vec<T, N> x) {
  using F = Float<T>;
  using B = typename F::bits;
  constexpr T two = T(B{1} << F::fraction_bits);
  // x / 0.75 has the biased exponent in its bits; beside those of 2^23 (2^52) it is a number.
  const auto i = bit_cast<B>(x) + ((B(F::bias) << F::fraction_bits) - three_quarters<T>);
  const auto whole = (i >> F::fraction_bits) | (B(F::bias + F::fraction_bits) << F::fraction_bits);
  return bit_cast<T>(whole) - (two + F::bias);
}

/// For 0 and infinity e is infinite and f is 0; below zero f is NaN.
template <class T, int N>
HALFTONE_INLINE LogParts<T, N> log_parts(Vec<T, N> x) {
  using F = Float<T>;
  using V = Vec<T, N>;
#if HALFTONE_AVX512
  using R = typename V::raw;
  constexpr int bytes = N * int(sizeof(T));
  constexpr int range = 3 << 2 | 3;  // negative numbers give NaN; [0.75, 1.5)
  if constexpr (bytes >= 16) {
    V e, m;
    if constexpr (bytes == 64 && sizeof(T) == 4) {
      e = __builtin_ia32_getexpps512_mask(x.v, R{}, -1, 4);
      m = __builtin_ia32_getmantps512_mask(x.v, range, R{}, -1, 4);
    } else if constexpr (bytes == 64) {
      e = __builtin_ia32_getexppd512_mask(x.v, R{}, -1, 4);
      m = __builtin_ia32_getmantpd512_mask(x.v, range, R{}, -1, 4);
    } else if constexpr (bytes == 32 && sizeof(T) == 4) {
      e = __builtin_ia32_getexpps256_mask(x.v, R{}, -1);
      m = __builtin_ia32_getmantps256_mask(x.v, range, R{}, -1);
    } else if constexpr (bytes == 32) {
      e = __builtin_ia32_getexppd256_mask(x.v, R{}, -1);
      m = __builtin_ia32_getmantpd256_mask(x.v, range, R{}, -1);
    } else if constexpr (sizeof(T) == 4) {
      e = __builtin_ia32_getexpps128_mask(x.v, R{}, -1);
      m = __builtin_ia32_getmantps128_mask(x.v, range, R{}, -1);
    } else {
      e = __builtin_ia32_getexppd128_mask(x.v, R{}, -1);
      m = __builtin_ia32_getmantpd128_mask(x.v, range, R{}, -1);
    }
    return {select(m < 1, e + 1, e), m - 1};
  }
#endif
  using B = typename F::bits;
  constexpr T least = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022);
  constexpr T infinity = T(__builtin_inf());
  const auto tiny = x < least;
  const V normal = select(tiny, x * T(B{1} << F::fraction_bits), x);
  const V k = exponent_of(normal);
  // k moved into the exponent; normal's fraction stays as it is.
  const auto moved = bit_cast<B>(k + F::magic) << F::fraction_bits;
  V f = bit_cast<T>(bit_cast<B>(normal) - moved) - 1;
  V e = select(tiny, k - F::fraction_bits, k);
  const auto is_ordinary = (x > 0) & (x < infinity);
  e = select(is_ordinary, e, select(x == 0, -infinity, infinity));
  f = select(is_ordinary, f, select(x >= 0, 0, T(__builtin_nan(""))));
  return {e, f};
}

/// ln(1 + f) + e ln 2.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> log_of_parts(LogParts<T, N> parts) {
  using V = Vec<T, N>;
  const V f = parts.f, e = parts.e;
  const V z = f * f;
  V p;
  T high, low;  // of ln 2; products of e with the first are exact
  if constexpr (std::is_same_v<T, float>) {
    p = horner(f, 0.0397052243f, -0.0933327824f, 0.117320485f, -0.126964182f, 0.142684892f,
               -0.166568413f, 0.200000077f, -0.250001371f, 0.333333343f);
    high = 0.693145752f;
    low = 1.42860682e-06f;
  } else {
    p = horner(
        f, -0.007510745490485346, 0.027572031049958475, -0.047958087353895368, 0.056649023364279696,
        -0.057578925105084305, 0.058839253749595893, -0.062262331196285985, 0.066620524072611056,
        -0.071439676363473315, 0.076927149401194342, -0.083333176223118158, 0.090908926305833387,
        -0.099999995574683712, 0.11111111461924006, -0.12500000017967169, 0.14285714281883422,
        -0.16666666666467664, 0.2000000000001789, -0.25000000000000605, 0.33333333333333315);
    high = 0.69314718036912382;
    low = 1.9082149292705877e-10;
  }
  const V y = fma(z, T(-0.5), fma(e, low, f * z * p));
  return fma(e, high, f + y);
}

}  // namespace detail

/// The natural logarithm.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> log(Vec<T, N> x) {
  return detail::log_of_parts(detail::log_parts(x));
}

/// The logarithm to base 2; exact for powers of two.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> log2(Vec<T, N> x) {
  const auto [e, f] = detail::log_parts(x);
  Vec<T, N> p;  // log2(1 + f) / f - 1: f itself stays exact
  if constexpr (std::is_same_v<T, float>) {
    p = detail::horner(f, -0.0661293864f, 0.152675703f, -0.190718204f, 0.208899751f, -0.240077347f,
                       0.288389504f, -0.36067757f, 0.480900735f, -0.721347511f, 0.442695022f);
  } else {
    p = detail::horner(
        f, -0.010419266668352172, 0.038955964112862847, -0.068824161839951603, 0.082026760398404161,
        -0.08338670935774288, 0.084928572832747365, -0.08977323957497782, 0.09609488949203418,
        -0.10306861670152918, 0.11098449927681153, -0.12022437192778508, 0.13115373960119664,
        -0.14426948950941995, 0.16029945772432391, -0.18033688072440562, 0.20609929143621869,
        -0.24044917347229128, 0.28853900817862815, -0.36067376022229541, 0.48089834696298545,
        -0.72134752044448158, 0.44269504088896339);
  }
  return fma(f, p, e + f);
}

/// ln(1 + x), accurate near 0.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> log1p(Vec<T, N> x) {
  using V = Vec<T, N>;
  constexpr T infinity = T(__builtin_inf());
  const V e = detail::exponent_of(1 + x);
  // f = (1 + x) / 2^e - 1 with one rounding; by 2^(2 - e) first, as 2^-e may be denormal.
  const V s = detail::power_of_two(2 - e);
  const V f = fma(x * s, T(0.25), fma(s, T(0.25), -1));
  const V r = copysign(detail::log_of_parts<T, N>({e, f}), x);
  const V special = select(x == -1, -infinity, select(x == infinity, x, T(__builtin_nan(""))));
  return select((x > -1) & (x < infinity), r, special);
}

}  // namespace halftone::kernel
