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

/// Whether one instruction each takes numbers apart.
template <class T, int N>
inline constexpr bool has_exponent = HALFTONE_AVX512 && N * sizeof(T) >= 16 && N * sizeof(T) <= 64;

#if HALFTONE_AVX512
template <class T, int N>
struct ExponentAndFraction {
  Vec<T, N> e, m;
};

/// floor(log2(x)), and x / 2^e in [1, 2) for Range 0, in [0.75, 1.5) for Range 3; denormal numbers
/// too. Of 0 and infinity -+infinity and 1; m is NaN below zero.
template <int Range, class T, int N>
HALFTONE_INLINE ExponentAndFraction<T, N> exponent_and_fraction(Vec<T, N> x) {
  using R = typename Vec<T, N>::raw;
  constexpr int bytes = N * int(sizeof(T));
  constexpr int range = 3 << 2 | Range;
  if constexpr (bytes == 64 && sizeof(T) == 4) {
    return {__builtin_ia32_getexpps512_mask(x.v, R{}, -1, 4),
            __builtin_ia32_getmantps512_mask(x.v, range, R{}, -1, 4)};
  } else if constexpr (bytes == 64) {
    return {__builtin_ia32_getexppd512_mask(x.v, R{}, -1, 4),
            __builtin_ia32_getmantpd512_mask(x.v, range, R{}, -1, 4)};
  } else if constexpr (bytes == 32 && sizeof(T) == 4) {
    return {__builtin_ia32_getexpps256_mask(x.v, R{}, -1),
            __builtin_ia32_getmantps256_mask(x.v, range, R{}, -1)};
  } else if constexpr (bytes == 32) {
    return {__builtin_ia32_getexppd256_mask(x.v, R{}, -1),
            __builtin_ia32_getmantpd256_mask(x.v, range, R{}, -1)};
  } else if constexpr (sizeof(T) == 4) {
    return {__builtin_ia32_getexpps128_mask(x.v, R{}, -1),
            __builtin_ia32_getmantps128_mask(x.v, range, R{}, -1)};
  } else {
    return {__builtin_ia32_getexppd128_mask(x.v, R{}, -1),
            __builtin_ia32_getmantpd128_mask(x.v, range, R{}, -1)};
  }
}
#endif

/// For 0 and infinity e is infinite and f is 0; below zero f is NaN.
template <class T, int N>
HALFTONE_INLINE LogParts<T, N> log_parts(Vec<T, N> x) {
  using F = Float<T>;
  using V = Vec<T, N>;
#if HALFTONE_AVX512
  if constexpr (has_exponent<T, N>) {
    const auto [e, m] = exponent_and_fraction<3>(x);
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

#if HALFTONE_AVX512
/// For m in [1, 2), by its first five binary digits: c with c m close to 1, and -log(c) as a
/// multiple of 2^-15, which sums with multiples of log(2)'s first part are exact for, and the rest.
/// The first c is 1 and the last one 1/2, so that logarithms near 1 are accurate.
alignas(64) inline constexpr float log_factor[32] = {
    1.0f,        0.95522386f, 0.92753625f, 0.90140843f, 0.8767123f,  0.85333335f, 0.83116883f,
    0.8101266f,  0.79012346f, 0.7710843f,  0.7529412f,  0.7356322f,  0.71910113f, 0.7032967f,
    0.68817204f, 0.67368424f, 0.6597938f,  0.64646465f, 0.63366336f, 0.6213592f,  0.60952383f,
    0.5981308f,  0.58715594f, 0.5765766f,  0.5663717f,  0.5565217f,  0.5470086f,  0.53781515f,
    0.5289256f,  0.5203252f,  0.512f,      0.5f};
alignas(64) inline constexpr float log_high[32] = {
    0.0f,        0.045806885f, 0.07522583f, 0.10379028f, 0.13156128f, 0.15859985f, 0.18493652f,
    0.21057129f, 0.23556519f,  0.25994873f, 0.28378296f, 0.30703735f, 0.32974243f, 0.35198975f,
    0.37371826f, 0.394989f,    0.41583252f, 0.43624878f, 0.4562378f,  0.4758606f,  0.49508667f,
    0.51394653f, 0.5324707f,   0.5506592f,  0.56851196f, 0.5860596f,  0.603302f,   0.62023926f,
    0.63690186f, 0.6532898f,   0.6694336f,  0.69314575f};
alignas(64) inline constexpr float log_low[32] = {0.0f,
                                                  2.6745488e-06f,
                                                  -2.427467e-06f,
                                                  6.529105e-06f,
                                                  1.5085942e-05f,
                                                  5.1524466e-06f,
                                                  -1.4184012e-05f,
                                                  -6.545101e-06f,
                                                  8.783153e-07f,
                                                  8.831221e-06f,
                                                  -1.4805411e-05f,
                                                  -1.23144955e-05f,
                                                  1.0844487e-05f,
                                                  -1.3348083e-05f,
                                                  -1.8509938e-06f,
                                                  4.7517283e-06f,
                                                  -4.593654e-06f,
                                                  -1.2011591e-05f,
                                                  -3.4365468e-07f,
                                                  -1.47001465e-05f,
                                                  -9.441308e-06f,
                                                  -7.504359e-07f,
                                                  -5.8614146e-06f,
                                                  -1.20859495e-05f,
                                                  -7.2238126e-06f,
                                                  -1.04796745e-05f,
                                                  -1.1199875e-05f,
                                                  1.1007166e-06f,
                                                  5.648678e-06f,
                                                  1.1514344e-05f,
                                                  -2.987305e-06f,
                                                  1.4286068e-06f};
alignas(64) inline constexpr float log2_high[32] = {
    0.0f,        0.066101074f, 0.10852051f, 0.14974976f, 0.18981934f, 0.2288208f,  0.26678467f,
    0.30377197f, 0.33984375f,  0.37503052f, 0.4093933f,  0.44293213f, 0.47573853f, 0.507782f,
    0.53915405f, 0.56985474f,  0.59991455f, 0.629364f,   0.6582031f,  0.6864929f,  0.7142334f,
    0.7414551f,  0.7681885f,   0.7944031f,  0.8201904f,  0.8454895f,  0.8703613f,  0.8948059f,
    0.91885376f, 0.9425049f,   0.9657898f,  1.0f};
alignas(64) inline constexpr float log2_low[32] = {0.0f,
                                                   -1.185017e-05f,
                                                   3.9220936e-06f,
                                                   -2.6094824e-06f,
                                                   5.2336914e-06f,
                                                   -2.1452192e-06f,
                                                   1.8740698e-06f,
                                                   8.739244e-06f,
                                                   6.242136e-06f,
                                                   8.967513e-06f,
                                                   -2.4026251e-06f,
                                                   1.1372317e-05f,
                                                   -5.109204e-06f,
                                                   1.2621499e-05f,
                                                   4.7597173e-06f,
                                                   8.101966e-07f,
                                                   -1.6642548e-06f,
                                                   -7.392249e-06f,
                                                   8.3805935e-06f,
                                                   7.593825e-06f,
                                                   1.2064141e-05f,
                                                   1.1953959e-05f,
                                                   -4.0899795e-06f,
                                                   1.2755244e-05f,
                                                   -1.1461898e-05f,
                                                   6.1482837e-07f,
                                                   3.3202468e-06f,
                                                   1.1781206e-05f,
                                                   9.537972e-06f,
                                                   9.6762715e-06f,
                                                   -5.578784e-06f,
                                                   0.0f};

/// x = 2^e (1 + r) / log_factor, -1/64 <= r < 1/32; e is infinite for 0 and infinity, r NaN below.
template <int N>
struct LogTableParts {
  Vec<float, N> e, r;
  Vec<std::uint32_t, N> index;

  HALFTONE_INLINE Vec<float, N> log() const {
    const auto p = fma(r * r, fma(r, 0.1945478f, -0.250024f), fma(r, 0.33333454f, -0.5f));
    const auto low = fma(e, 1.42860682e-06f, lookup(log_low, index));
    const auto high = fma(e, 0.693145752f, lookup(log_high, index));
    return high + (r + fma(r * r, p, low));
  }
};
template <int N>
HALFTONE_INLINE LogTableParts<N> log_table_parts(Vec<float, N> x) {
  const auto [e, m] = exponent_and_fraction<0>(x);
  const auto index = bit_cast<std::uint32_t>(m) >> 18;
  return {e, fma(m, lookup(log_factor, index), -1), index};
}

/// For q in [1, 2), by its first four binary digits: c with c q close to 1, and -log(c). A c has 20
/// bits and is such that -log(c) is a multiple of 2^-22 but for 2^-34, so that sums with ln_2 are
/// exact. In the upper half that is more by what ln_2 has too much: below 1, ln_2 goes off.
inline constexpr float ln_2 = 0.693147182f;
inline constexpr float log1p_factor[16] = {1.0f,        0.9144993f,  0.86573887f, 0.82137585f,
                                           0.78148365f, 0.7443819f,  0.71006966f, 0.68057346f,
                                           0.6531029f,  0.62622833f, 0.6035881f,  0.5811262f,
                                           0.5623903f,  0.5441599f,  0.5243654f,  0.5f};
inline constexpr float log1p_constant[16] = {0.0f,        0.089378595f, 0.14417195f, 0.19677448f,
                                             0.24656105f, 0.29520106f,  0.3423922f,  0.3848195f,
                                             0.42602062f, 0.46804023f,  0.50486326f, 0.5427873f,
                                             0.57555914f, 0.60851216f,  0.64556646f, ln_2};

/// What share * ln(1 + times y) takes from those; times and share are powers of two.
struct Log1pTables {
  alignas(64) float factor[16], constant[16];
};
constexpr Log1pTables log1p_tables(float times, float share) {
  Log1pTables t{};
  for (int i = 0; i < 16; ++i) {
    t.factor[i] = log1p_factor[i] * (0x1p127f * share);
    t.constant[i] = share * (log1p_constant[i] + (times == 4 ? 2 : 1) * ln_2);
  }
  return t;
}
template <int Times, bool IsHalf>
inline constexpr Log1pTables log1p_table = log1p_tables(Times, IsHalf ? 0.5f : 1);

/// ln(1 + Times y), or half of it, for y < 2^124 and 1 + Times y >= 0; w is y + 1 / Times.
template <int Times, bool IsHalf, int N>
HALFTONE_INLINE Vec<float, N> log1p_by_table(Vec<float, N> y, Vec<float, N> w) {
  using V = Vec<float, N>;
  constexpr float share = IsHalf ? 0.5f : 1;
  const auto& table = log1p_table<Times, IsHalf>;
  const auto bits = bit_cast<std::uint32_t>(w);
  const auto index = bits >> 19;
  // c / 2^e from the tables' c 2^127.
  const auto factor = bit_cast<std::uint32_t>(lookup(table.factor, index));
  const V c = bit_cast<float>(factor - (bits & 0xff800000));
  const V r = fma(c, y, fma(c, V(1.0f / Times), V(-share)));
  const V e = exponent_and_fraction<0>(w).e;
  const V high = fma(e, V(ln_2 * share), lookup(table.constant, index));
  constexpr float s = 1 / share;
  const V square = r * r;
  const V p = fma(square, fma(r, V(0.18855189f * s * s * s * s), V(-0.25006658f * s * s * s)),
                  fma(r, V(0.33334446f * s * s), V(-0.5f * s)));
  return high + fma(square, p, r);
}
#endif

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
#if HALFTONE_AVX512
  if constexpr (detail::has_lookup<T, N>) {
    return detail::log_table_parts(x).log();
  }
#endif
  return detail::log_of_parts(detail::log_parts(x));
}

/// The logarithm to base 2; exact for powers of two.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> log2(Vec<T, N> x) {
#if HALFTONE_AVX512
  if constexpr (detail::has_lookup<T, N>) {
    const auto [e, r, index] = detail::log_table_parts(x);
    const auto p =
        detail::horner(r, 0.29459888f, -0.3598501f, 0.48085114f, -0.7213476f, 0.44269505f);
    const auto low = r + detail::lookup(detail::log2_low, index);
    return e + detail::lookup(detail::log2_high, index) + fma(r, p, low);
  }
#endif
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
#if HALFTONE_AVX512
  if constexpr (detail::has_lookup<T, N>) {
    using namespace detail;
    if constexpr (N < 16) {
      return low(log1p(concat(x, x)));
    } else {
      // Rounded up, so that for denormal x the result is not below x.
      constexpr int up = 10;
#ifdef __clang__
      const V y = __builtin_ia32_mulps512(x.v, V(0.25f).v, up);
#else
      const V y = __builtin_ia32_mulps512_mask(x.v, V(0.25f).v, x.v, -1, up);
#endif
      const V w = y + 0.25f;
      // The logarithm is below x: so the smaller is -0 for -0, and infinity for that.
      const V r = lower_or_second(log1p_by_table<4, false>(y, w), x);
      constexpr int cases =
          instead(Kind::quiet_nan, Instead::nan) | instead(Kind::zero, Instead::minus_infinity) |
          instead(Kind::minus_infinity, Instead::nan) | instead(Kind::below, Instead::nan);
      return replaced<cases>(r, w);
    }
  }
#endif
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
