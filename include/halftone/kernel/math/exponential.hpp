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

/// e^x for x as for exp_parts: 2^floor(n) (high + low) with n in sixteenths; `low` is
/// below high / 32 and has the digits that `high` lacks.
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

/// 2^(i / 16) times a factor that makes all of these nearly floats; times 2^-64, and what the bits
/// of i add to it at 19 left away.
inline constexpr float sigmoid_factor = 1.81309485f;
alignas(64) inline constexpr float sigmoid_powers[16] = {
    9.8288069e-20f,  9.92515212e-20f, 1.00407635e-19f, 1.00010382e-19f,
    9.91000179e-20f, 9.82993523e-20f, 9.76132447e-20f, 9.70467682e-20f,
    9.66052153e-20f, 9.62941178e-20f, 9.61192531e-20f, 9.60866506e-20f,
    9.6202611e-20f,  9.6473713e-20f,  9.69068195e-20f, 9.75091104e-20f};

/// c / (c + c e^-x), with e^-x as above, for x in [-104, 40]; c is small, as e^-x is large.
template <int N>
HALFTONE_INLINE Vec<float, N> sigmoid_by_table(Vec<float, N> x) {
  using V = Vec<float, N>;
  constexpr float magic = 0x1.8p19f, c = sigmoid_factor * 0x1p-64f;
  const V t = fma(x, -1.44269504f, magic);
  const auto index = bit_cast<std::uint32_t>(t);
  const V n = t - magic;
  const V r = fma(n, 1.42860682e-06f, fma(n, 0.693145752f, x));  // of -x, with the other sign
  const V p = horner(r, -0.16666827f, 0.50001466f, -1.0f);
  const auto power = bit_cast<std::uint32_t>(lookup(sigmoid_powers, index)) + (index << 19);
  const V high = bit_cast<float>(power);
  return c / (high + fma(high, r * p, c));
}

/// tanh(a) for a in [0, 9.3], in the form of piecewise(); 1 at its end.
inline constexpr float tanh_begin = 0.625f, tanh_last = 9.3f;
alignas(64) inline constexpr float tanh_pieces[5][32] = {
    {-0.024759311f,   -0.023437576f,   -0.017830623f,  -0.012352442f,   -0.0080753565f,
     -0.005085343f,   -0.0031822433f,  -0.0019600012f, -0.00094986806f, -0.0003515193f,
     -0.00012983129f, -4.7693742e-05f, -1.763097e-05f, -6.5589593e-06f, -2.2216045e-06f,
     -8.1244133e-07f, -2.1328508e-07f, -4.460043e-08f, 0.01587605f,     0.06047087f,
     0.096566685f,    0.12616076f,     0.1472445f,     0.1642981f,      0.1696026f,
     0.1536817f,      0.11922417f,     0.07794242f,    0.04242287f,     0.016633326f,
     -0.005008703f,   -0.018027434f},
    {0.1001425f,     0.07471495f,    0.051125158f,  0.033341113f,   0.021114137f,   0.0131297875f,
     0.008095451f,   0.004956493f,   0.0028620176f, 0.0010576466f,  0.00038995227f, 0.00014343484f,
     5.2862797e-05f, 1.9528552e-05f, 7.000648e-06f, 2.5704508e-06f, 8.383556e-07f,  1.4238503e-07f,
     -0.33390293f,   -0.32916087f,   -0.31381288f,  -0.28931898f,   -0.2571437f,    -0.21978512f,
     -0.17862242f,   -0.09299023f,   -0.01571454f,  0.04434241f,    0.08385057f,    0.1045592f,
     0.11177623f,    0.10889916f},
    {-0.19880012f,    -0.1329615f,     -0.08561048f,    -0.05385432f,    -0.03339667f,
     -0.020529546f,   -0.0125547005f,  -0.007652656f,   -0.0046225344f,  -0.0017052399f,
     -0.00062802166f, -0.00023108818f, -8.505273e-05f,  -3.1319883e-05f, -1.1466952e-05f,
     -4.2168613e-06f, -1.5123682e-06f, -2.2130067e-07f, 5.806539e-06f,   -0.062154662f,
     -0.12241292f,    -0.17895716f,    -0.2302299f,     -0.27497318f,    -0.31233692f,
     -0.36347985f,    -0.38411355f,    -0.37903285f,    -0.355222f,      -0.3198891f,
     -0.27926785f,    -0.23789628f},
    {0.22590613f,    0.14373301f,    0.08979583f,    0.05546183f,    0.034014538f,   0.02077077f,
     0.012650002f,   0.007691794f,   0.0046702162f,  0.0017205983f,  0.00063331897f, 0.00023302775f,
     8.5735686e-05f, 3.1545114e-05f, 1.1599451e-05f, 4.2670385e-06f, 1.566441e-06f,  2.1503796e-07f,
     1.0f,           0.99610376f,    0.98453623f,    0.9656516f,     0.94001496f,    0.908367f,
     0.8715799f,     0.7864483f,     0.6924208f,     0.5965871f,     0.5045181f,     0.41997537f,
     0.34503236f,    0.28041515f},
    {0.56920576f,  0.6917801f,     0.7856781f,    0.85401636f, 0.9020605f,    0.9350365f,
     0.9572859f,   0.9721097f,     0.981899f,     0.9924716f,  0.99691236f,   0.9987474f,
     0.9994963f,   0.9997989f,     0.99992025f,   0.9999685f,  0.99998766f,   0.9999981f,
     0.0f,         0.00016226154f, 0.0012859729f, 0.00427353f, 0.0099149225f, 0.018845048f,
     0.031514943f, 0.06889301f,    0.12183673f,   0.18770862f, 0.26245227f,   0.34161878f,
     0.42113966f,  0.4977647f}};

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
    return detail::sigmoid_by_table(detail::clamped(x, detail::exp_first<T>, T(40)));
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
    return detail::with_sign_of(detail::piecewise(a, detail::tanh_pieces, detail::tanh_begin), x);
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
