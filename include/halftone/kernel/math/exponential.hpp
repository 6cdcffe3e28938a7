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

/// x must be in a range where n fits the exponent twice, or NaN; `rest` is what it lacks, if given.
template <class T, int N, class... Rest>
HALFTONE_INLINE ExpParts<T, N> exp_parts(Vec<T, N> x, Rest... rest) {
  using V = Vec<T, N>;
  constexpr T magic = Float<T>::magic;
  const V n = fma(x, T(1.4426950408889634), magic) - magic;
  if constexpr (std::is_same_v<T, float>) {
    const V r = (fma(n, -1.42860682e-06f, fma(n, -0.693145752f, x)) + ... + rest);
    const V p = horner(r, 0.0013906303f, 0.008363098f, 0.041666754f, 0.16666578f, 0.5f);
    return {n, fma(r * r, p, r)};
  } else {
    const V r = (fma(n, -1.9082149292705877e-10, fma(n, -0.69314718036912382, x)) + ... + rest);
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

/// 2^(i / 16), and what its rounding left, as a part of it.
alignas(64) inline constexpr float exp2_high[16] = {
    1.0f,       1.0442737f, 1.0905077f, 1.1387886f, 1.1892071f, 1.2418578f, 1.2968396f, 1.3542556f,
    1.4142135f, 1.4768262f, 1.5422108f, 1.6104903f, 1.6817929f, 1.7562522f, 1.8340081f, 1.9152066f};
alignas(64) inline constexpr float exp2_rest[16] = {
    0.0f,           4.628547e-08f,  -1.19921575e-08f, 4.7297824e-08f, 3.193418e-08f,
    3.6210572e-08f, -3.099072e-08f, -7.475213e-09f,   1.7114271e-08f, -3.0476834e-08f,
    5.233334e-09f,  6.1075918e-09f, -1.4719605e-08f,  -5.258795e-09f, -6.1282597e-09f,
    5.1406093e-09f};

/// 2^(i / 16) times a power of two.
struct Exp2Table {
  alignas(64) float at[16];
  constexpr explicit Exp2Table(float scale) : at{} {
    for (int i = 0; i < 16; ++i) at[i] = exp2_high[i] * scale;
  }
};
/// Products with these are floats where those with exp2_high would be infinite, or denormal.
inline constexpr Exp2Table small_exp2(0x1p-40f), large_exp2(0x1p24f);

/// Sign x = n ln 2 + r with n in sixteenths, which stand in the lowest bits of `index`. `close` is
/// Sign r but for the last digits of ln 2, and known earlier: r = Sign close + n ln2_rest.
template <int N>
struct Sixteenths {
  Vec<float, N> n, close;
  Vec<std::uint32_t, N> index;
};
inline constexpr float ln2_rest = 1.9046542e-09f;

template <int Sign = 1, int N>
HALFTONE_INLINE Sixteenths<N> sixteenths(Vec<float, N> x, float last = 200) {
  using V = Vec<float, N>;
  constexpr float magic = 0x1.8p19f;
  V t = fma(x, Sign * 1.44269504f, magic);
  if (last < 200) t = lower_or_second(V(magic + last), t);
  const V n = t - magic;
  return {n, fma(n, Sign * -0.693147182f, x), bit_cast<std::uint32_t>(t)};
}

/// e^x, or e^-x, times a power of two that the table has; x as for exp_parts.
template <int Sign = 1, int N>
HALFTONE_INLINE Vec<float, N> exp_by_table(Vec<float, N> x, const float (&table)[16] = exp2_high) {
  const auto s = sixteenths<Sign>(x);
  const auto high = lookup(table, s.index);
  const auto p = horner(s.close, Sign * 0.16666827f, 0.50001466f, Sign * 1.0f);
  const auto rest = fma(s.n, ln2_rest, lookup(exp2_rest, s.index));
  return scaled(fma(high, fma(s.close, p, rest), high), s.n);
}

/// e^x is power (1 + q), where q takes what the table lacks: up to infinity beyond the last power
/// below 2^128.
template <int N>
struct ExpByTable {
  Vec<float, N> power, q;
};
template <int N>
HALFTONE_INLINE ExpByTable<N> exp_parts_by_table(Vec<float, N> x) {
  const auto s = sixteenths(x, 127.9375f);
  const auto p = horner(s.close, 0.041666668f, 0.16666667f, 0.5f);
  const auto r = s.close + fma(s.n, ln2_rest, lookup(exp2_rest, s.index));
  return {scaled(lookup(exp2_high, s.index), s.n), fma(s.close * s.close, p, r)};
}

/// e^x - 1 for x >= -18: (2^n - 1) + 2^n (e^r - 1).
template <int N>
HALFTONE_INLINE Vec<float, N> expm1_by_table(Vec<float, N> x) {
  const auto e = exp_parts_by_table(x);
  return with_sign_of(fma(e.power, e.q, e.power - 1), x);  // that of -0 too
}

/// 2^(i / 16) times a factor that makes all of these nearly floats.
struct Exp2Multiples {
  alignas(64) float at[16];
};
constexpr Exp2Multiples exp2_multiples(float scale) {
  Exp2Multiples r{{1.8130949f, 1.8933674f, 1.977194f, 2.0647318f, 2.1561453f, 2.251606f, 2.351293f,
                   2.4553938f, 2.5641034f, 2.677626f, 2.7961745f, 2.9199717f, 3.04925f, 3.1842518f,
                   3.3252306f, 3.4724512f}};
  for (float& multiple : r.at) multiple *= scale;
  return r;
}
/// Products with the large ones are normal even where e^x is denormal, and those with the small
/// ones are finite where e^-x is.
inline constexpr Exp2Multiples large_multiples = exp2_multiples(0x1p24f);
inline constexpr Exp2Multiples small_multiples = exp2_multiples(0x1p-64f);

/// multiples.at[0] e^x, or e^-x, is power (1 + q).
template <int N>
struct ExpMultiple {
  Vec<float, N> power, q;
};
template <int Sign, int N>
HALFTONE_INLINE ExpMultiple<N> exp_multiple(Vec<float, N> x, const Exp2Multiples& multiples) {
  const auto s = sixteenths<Sign>(x);
  const auto r = fma(s.n, Sign * ln2_rest, s.close);
  return {scaled(lookup(multiples.at, s.index), s.n),
          fma(s.close * s.close, fma(s.close, Sign * 0.16666827f, 0.50001466f), Sign > 0 ? r : -r)};
}

/// x = n ln 2 + r: quarters of 2^n and 2^-n, which are finite where the results are, 2 sinh(r) and
/// 2 (cosh(r) - 1).
template <int N>
struct Hyperbolic {
  Vec<float, N> above, below, sine, cosine;
};
template <int N>
HALFTONE_INLINE Hyperbolic<N> hyperbolic(Vec<float, N> any) {
  using V = Vec<float, N>;
  constexpr float magic = Float<float>::magic;
  const V x = clamped(any, -89.7f, 89.7f);
  const V t = fma(x, 1.44269504f, magic);
  const V n = t - magic;
  // Neither part changes the sign of -0.
  const V r = fma(n, -5.76999888e-08f, fma(n, -0.693147123f, x));
  const V z = r * r;
  return {scaled(V(0.25f), n), scaled(V(0.25f), magic - t),
          fma(z * r, fma(z, 0.016733384f, 0.33333084f), r + r),
          fma(z * z, fma(z, 0.002789304f, 0.08333252f), z)};
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
  if constexpr (detail::has_lookup<T, N>) {
    return detail::expm1_by_table(detail::upper_or_second(Vec<T, N>(first), x));
  }
  const auto e = detail::exp_parts(detail::clamped(x, first, detail::exp_last<T>));
  // Half of the result, as 2^n itself may overflow.
  const auto s = detail::power_of_two(e.n - 1);
  const auto r = 2 * fma(e.q, s, s - T(0.5));
  return select(e.n == 0, select(x == 0, x, e.q), r);
}

/// factor (e^x - 1), for x < 0 with as few roundings as expm1 has.
template <class T, int N, detail::scalar S>
HALFTONE_INLINE Vec<T, N> expm1_below_zero(Vec<T, N> x, S factor) {
  using V = Vec<T, N>;
  if constexpr (detail::has_lookup<T, N>) {
    const auto e = detail::exp_parts_by_table(detail::upper_or_second(V(-18), x));
    const V c = T(factor);
    return fma(c, e.power - 1, c * e.power * e.q);  // of the larger part nothing is lost
  }
  return expm1(x) * factor;
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
  if constexpr (detail::has_lookup<T, N>) {
    const auto h = detail::hyperbolic(x);
    const V minus = h.below - h.above;  // 0, not -0, for no power: -0 stays
    return fma(V(-2), minus, fma(-minus, h.cosine, (h.above + h.below) * h.sine));
  }
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
  if constexpr (detail::has_lookup<T, N>) {
    const auto h = detail::hyperbolic(x);
    const auto sum = h.above + h.below;
    return fma(Vec<T, N>(2), sum, fma(sum, h.cosine, (h.above - h.below) * h.sine));
  }
  const auto e = detail::half_exp(abs(x));
  return e + T(0.25) / e;
}

}  // namespace halftone::kernel
