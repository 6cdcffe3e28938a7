#pragma once

#include "halftone/kernel/math/basic.hpp"

/// The exponential function and what is made of it.
///
/// x = n ln 2 + r with n whole and |r| <= ln 2 / 2 gives e^x = 2^n e^r; e^r is a polynomial.
/// ln 2 is subtracted in two parts, the first short enough for exact products. Coefficients are
/// minimax (Remez), found for this library.
namespace halftone::kernel {

namespace detail {

template <class T, int N>
struct ExpParts {
  Vec<T, N> n;  ///< the power of two
  Vec<T, N> q;  ///< e^r - 1, in [-0.3, 0.42]
};

/// x must be in a range where n fits the exponent twice, or NaN.
template <class T, int N>
HALFTONE_INLINE ExpParts<T, N> exp_parts(Vec<T, N> x) {
  using V = Vec<T, N>;
  constexpr T magic = Float<T>::magic;
  const V n = fma(x, T(1.4426950408889634), magic) - magic;
  if constexpr (std::is_same_v<T, float>) {
    const V r = fma(n, -1.42860682e-06f, fma(n, -0.693145752f, x));
    const V p = horner(r, 0.0013906303f, 0.008363098f, 0.041666754f, 0.16666578f, 0.5f);
    return {n, fma(r * r, p, r)};
  } else {
    const V r = fma(n, -1.9082149292705877e-10, fma(n, -0.69314718036912382, x));
    const V p = horner(r, 2.0925025091915792e-09, 2.510977856385994e-08, 2.7557241061357281e-07,
                       2.7557242416803198e-06, 2.4801587362237639e-05, 0.00019841269887519374,
                       0.0013888888888866225, 0.0083333333333212647, 0.041666666666666699,
                       0.16666666666666677, 0.5);
    return {n, fma(r * r, p, r)};
  }
}

/// From where on e^x rounds to 0, and up to where it is finite.
template <class T>
inline constexpr T exp_first = std::is_same_v<T, float> ? T(-104) : T(-746);
template <class T>
inline constexpr T exp_last = std::is_same_v<T, float> ? T(89) : T(710);

/// e^x / 2 for x >= 0, infinite only where the quotient is.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> half_exp(Vec<T, N> x) {
  const auto e = exp_parts(lower_or_second(Vec<T, N>(exp_last<T> + 1), x));
  return scaled(1 + e.q, e.n - 1);
}

template <class T, int N>
struct Exp2Parts {
  Vec<T, N> n;  ///< the power of two
  Vec<T, N> p;  ///< 2^r, in [0.7, 1.42]
};

/// 2^x = 2^n 2^r; x in a range where n fits the exponent twice, or NaN.
template <class T, int N>
HALFTONE_INLINE Exp2Parts<T, N> exp2_parts(Vec<T, N> x) {
  using V = Vec<T, N>;
  constexpr T magic = Float<T>::magic;
  const V n = x + magic - magic;
  const V r = x - n;
  V p;
  if constexpr (std::is_same_v<T, float>) {
    p = horner(r, 0.00015474722f, 0.00133916899f, 0.00961803272f, 0.0555035882f, 0.240226507f,
               0.693147182f);
  } else {
    p = horner(r, 2.5742697780651971e-11, 4.4568113636410303e-10, 7.05488762904874e-09,
               1.0178050431630924e-07, 1.3215486834640399e-06, 1.525273385771353e-05,
               0.00015403530393339338, 0.0013333558146389419, 0.009618129107628496,
               0.055504108664821701, 0.24022650695910072, 0.69314718055994529);
  }
  return {n, fma(r, p, 1)};
}

/// 2^(i / 16), and what its rounding left.
alignas(64) inline constexpr float exp2_high[16] = {
    1.0f,       1.0442737f, 1.0905077f, 1.1387886f, 1.1892071f, 1.2418578f, 1.2968396f, 1.3542556f,
    1.4142135f, 1.4768262f, 1.5422108f, 1.6104903f, 1.6817929f, 1.7562522f, 1.8340081f, 1.9152066f};
alignas(64) inline constexpr float exp2_low[16] = {
    0.0f,          4.83347e-08f,    -1.307754e-08f,  5.3862223e-08f, 3.7976353e-08f,
    4.496838e-08f, -4.0189995e-08f, -1.0123349e-08f, 2.4203235e-08f, -4.500899e-08f,
    8.070905e-09f, 9.836217e-09f,   -2.4755327e-08f, -9.23577e-09f,  -1.1239278e-08f,
    9.845328e-09f};

/// e^x for x as for exp_parts: 2^floor(n) (high + low) with n in sixteenths; `low` is below
/// high / 32 and has the digits that `high` lacks.
template <int N>
HALFTONE_INLINE Vec<float, N> exp_by_table(Vec<float, N> x) {
  using V = Vec<float, N>;
  constexpr float magic = 0x1.8p19f;  // x + magic has x, rounded to sixteenths, in its low bits
  const V t = fma(x, 1.44269504f, magic);
  const auto index = bit_cast<std::uint32_t>(t);
  const V n = t - magic;
  const V r = fma(n, -1.42860682e-06f, fma(n, -0.693145752f, x));
  const V high = lookup(exp2_high, index);
  const V p = horner(r, 0.16666827f, 0.50001466f, 1.0f);
  return scaled(high + fma(r * high, p, lookup(exp2_low, index)), n);
}

/// tanh(a) / a for a in [0, 10], in the form of times_piecewise(); 1 / a at its end.
inline constexpr float tanh_first = 0x1p-4f, tanh_last = 10;
alignas(64) inline constexpr float tanh_factor[6][32] = {
    {0.0015082187f,
     -2.4199304e-05f,
     -0.00023614572f,
     -0.00017921011f,
     -9.32335e-05f,
     -3.3719625e-05f,
     -1.286382e-05f,
     -6.1373357e-06f,
     -1.9065313e-06f,
     0.0f,
     0.0f,
     0.0f,
     -0.08986133f,
     -1223.0112f,
     1116.4484f,
     1531.9337f,
     68.31613f,
     -8.751188f,
     1.7347424f,
     88.951f,
     1.1279752f,
     -0.9641059f,
     -2.3485296f,
     -2.900636f,
     -0.100049645f,
     -0.042617623f,
     -0.09047685f,
     -0.050712667f,
     0.011476947f,
     0.015666917f,
     0.008639564f,
     0.0051508215f},
    {-0.0012746301f, 0.0020129902f,  0.0018394735f,  0.0012197924f, 0.00072146556f, 0.00027909526f,
     0.00011837604f, 5.7828263e-05f, 2.6780102e-05f, 0.0f,          0.0f,           0.0f,
     0.10414672f,    52.680958f,     -47.849247f,    -65.70779f,    -5.7542777f,    0.8624636f,
     -0.04725366f,   -7.5532885f,    -0.11702975f,   0.22097768f,   0.4370567f,     0.5110255f,
     0.018541474f,   -0.02658947f,   -0.02254445f,   -0.038178373f, -0.05413321f,   -0.0387873f,
     -0.01934937f,   -0.008232578f},
    {-0.013578866f,
     -0.01259962f,
     -0.0086690085f,
     -0.0055690724f,
     -0.003545053f,
     -0.0015559496f,
     -0.00076366455f,
     -0.00041610005f,
     -0.00024046269f,
     0.0f,
     0.0f,
     0.0f,
     0.030798314f,
     -0.78002393f,
     0.7987735f,
     1.0856586f,
     0.24823849f,
     0.055950463f,
     0.09797868f,
     0.34512773f,
     0.13045001f,
     0.12747872f,
     0.12664644f,
     0.1292211f,
     0.16103794f,
     0.15566993f,
     0.13279474f,
     0.10734486f,
     0.08166132f,
     0.035221726f,
     0.005751095f,
     -0.008260737f},
    {0.068812214f,  0.04839963f,   0.0324851f,    0.02194358f,   0.0151885785f, 0.007953196f,
     0.0046236617f, 0.0029152113f, 0.0019513895f, 0.0f,          0.0f,          0.0f,
     -0.33027956f,  -0.3228666f,   -0.3314891f,   -0.330911f,    -0.3235401f,   -0.31395617f,
     -0.30624887f,  -0.3001118f,   -0.2867036f,   -0.26212958f,  -0.234612f,    -0.20521761f,
     -0.17560415f,  -0.11535273f,  -0.060101386f, -0.013972761f, 0.021797523f,  0.06453179f,
     0.07885519f,   0.07726788f},
    {-0.20568246f,  -0.14722162f,  -0.10727294f,  -0.08044351f, -0.06212224f,  -0.039959844f,
     -0.02777322f,  -0.020407742f, -0.015624649f, 0.0f,         0.0f,          0.0f,
     -0.04153655f,  -0.051845625f, -0.06204858f,  -0.07220424f, -0.082287446f, -0.10216371f,
     -0.121557645f, -0.14039049f,  -0.15863527f,  -0.19297674f, -0.22411351f,  -0.25171554f,
     -0.2755757f,   -0.31190524f,  -0.33371013f,  -0.342799f,   -0.34162128f,  -0.31856835f,
     -0.28181785f,  -0.24235252f},
    {0.4820138f,  0.39464572f, 0.33168492f, 0.28519368f,  0.24983232f,  0.19998184f, 0.16666462f,
     0.14285691f, 0.12499996f, 0.1f,        0.083333336f, 0.071428575f, 0.99869996f, 0.99797046f,
     0.99708056f, 0.99603134f, 0.994824f,   0.9919407f,   0.98844373f,  0.98434895f, 0.97967464f,
     0.96867114f, 0.95561975f, 0.9407316f,  0.92423433f,  0.88735956f,  0.8468653f,  0.80446357f,
     0.7615942f,  0.6786269f,  0.6034322f,  0.5379289f}};

}  // namespace detail

/// e^x.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> exp(Vec<T, N> x) {
  if constexpr (detail::has_lookup<T, N>) {
    return detail::exp_by_table(detail::clamped(x, detail::exp_first<T>, detail::exp_last<T>));
  }
  const auto e = detail::exp_parts(detail::clamped(x, detail::exp_first<T>, detail::exp_last<T>));
  return detail::scaled(1 + e.q, e.n);
}

/// 2^x.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> exp2(Vec<T, N> x) {
  constexpr T first = std::is_same_v<T, float> ? -151 : -1076;
  constexpr T last = std::is_same_v<T, float> ? 129 : 1025;
  const auto e = detail::exp2_parts(detail::clamped(x, first, last));
  return detail::scaled(e.p, e.n);
}

/// e^x - 1, accurate near 0.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> expm1(Vec<T, N> x) {
  constexpr T first = std::is_same_v<T, float> ? T(-18) : T(-38);  // -1 below
  const auto e = detail::exp_parts(detail::clamped(x, first, detail::exp_last<T>));
  // Half of the result, as 2^n itself may overflow.
  const auto s = detail::power_of_two(e.n - 1);
  const auto r = 2 * fma(e.q, s, s - T(0.5));
  return select(e.n == 0, select(x == 0, x, e.q), r);
}

/// The logistic function 1 / (1 + e^-x); accurate also where it is close to 0.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> sigmoid(Vec<T, N> x) {
  if constexpr (detail::has_lookup<T, N>) {
    using V = Vec<T, N>;
    // With e = e^-|x| it is 1 / (1 + e) or e / (1 + e): nothing overflows. What the estimate lacks
    // is (1 - estimate) - e * estimate, so that the sum's rounding does not count.
    const V e = detail::exp_by_table(detail::upper_or_second(V(detail::exp_first<T>), -abs(x)));
    const V estimate = detail::reciprocal_estimate(1 + e);
    const V lacking = fma(-e, estimate, 1 - estimate);
    const V y = select(x < 0, e, 1) * estimate;
    return fma(y, lacking, y);
  }
  // 2^-c / (2^-c + 2^-c e^-x): the sum rounds once and e^-x may be as large as 1 / denormal.
  constexpr T c = std::is_same_v<T, float> ? T(64) : T(512);
  constexpr T scale = std::is_same_v<T, float> ? T(0x1p-64) : T(0x1p-512);
  const auto e = detail::exp_parts(detail::clamped(-x, T(-40), -detail::exp_first<T>));
  const auto s = detail::power_of_two(e.n - c);
  const auto sum = s + scale;
  const auto rest = scale - (sum - s);
  return scale / (fma(e.q, s, rest) + sum);
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> tanh(Vec<T, N> x) {
  using V = Vec<T, N>;
  if constexpr (detail::has_lookup<T, N>) {
    const V a = detail::lower_or_second(V(detail::tanh_last), abs(x));
    const V y = detail::times_piecewise(a, detail::tanh_factor, detail::tanh_first);
    return detail::with_sign_of(detail::lower_or_second(V(1), y), x);
  }
  constexpr T last = std::is_same_v<T, float> ? 10 : 20;  // 1 above
  const V a = abs(x);
  const V z = a * a;
  V p;
  if constexpr (std::is_same_v<T, float>) {
    p = detail::horner(z, 0.0021386079f, -0.00817643292f, 0.0217022821f, -0.0539475381f,
                       0.133332178f, -0.333333313f);
  } else {
    p = detail::horner(z, 6.0950190098658141e-06, -3.0312685259458492e-05, 9.1689770931007179e-05,
                       -0.00023709095684246493, 0.00058948220390720384, -0.0014557336867838248,
                       0.0035921153204138147, -0.0088632344618186833, 0.02186948847948398,
                       -0.0539682539665206, 0.13333333333330766, -0.3333333333333332);
  }
  const auto e = detail::exp_parts(2 * detail::lower_or_second(V(last), a));
  const V s = detail::power_of_two(e.n);
  const V large = 1 - 2 / fma(e.q, s, s + 1);
  return detail::with_sign_of(select(a < T(0.625), fma(a * z, p, a), large), x);
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> sinh(Vec<T, N> x) {
  using V = Vec<T, N>;
  const V a = abs(x);
  const V z = a * a;
  V p;
  if constexpr (std::is_same_v<T, float>) {
    p = detail::horner(z, 2.78392667e-06f, 0.000198426351f, 0.00833331142f, 0.166666672f);
  } else {
    p = detail::horner(z, 2.8483095537636554e-15, 7.6464800401659411e-13, 1.6059050643510867e-10,
                       2.5052108346196209e-08, 2.7557319224117479e-06, 0.00019841269841269597,
                       0.0083333333333333332, 0.16666666666666666);
  }
  const V e = detail::half_exp(a);
  return detail::with_sign_of(select(a < 1, fma(a * z, p, a), e - T(0.25) / e), x);
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> cosh(Vec<T, N> x) {
  const auto e = detail::half_exp(abs(x));
  return e + T(0.25) / e;
}

}  // namespace halftone::kernel
