#pragma once

#include "halftone/kernel/math/exponential.hpp"
#include "halftone/kernel/math/logarithm.hpp"

/// Activations that are quotients and logarithms of e^x: sigmoid, swish, gelu, softplus, mish.
namespace halftone::kernel {

/// The logistic function 1 / (1 + e^-x); accurate also where it is close to 0.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> sigmoid(Vec<T, N> x) {
  if constexpr (detail::has_lookup<T, N>) {
    // c / (c + c e^-x)
    const auto e = detail::exp_multiple<-1>(detail::clamped(x, detail::exp_first<T>, T(40)),
                                            detail::small_multiples);
    constexpr T c = detail::small_multiples.at[0];
    return c / (fma(e.power, e.q, c) + e.power);
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

namespace detail {

/// log(1 + e^-a) / y - 2^-26 by powers of y, the large multiple of e^-a, for each eighth of 2^24.
alignas(64) inline constexpr float softplus_pieces[4][16] = {
    {-2.7969677e-31f, -2.3596718e-31f, -1.931054e-31f, -1.597964e-31f, -1.3358357e-31f,
     -1.1269674e-31f, -9.585752e-32f, -8.214442e-32f, -7.087556e-32f, -6.1527755e-32f,
     -5.3718575e-32f, -4.7147165e-32f, -4.1580577e-32f, -3.6835976e-32f, -3.276906e-32f,
     -3.276906e-32f},
    {1.1836046e-23f, 1.1681872e-23f, 1.1282362e-23f, 1.0762429e-23f, 1.0188195e-23f, 9.599086e-24f,
     9.018135e-24f, 8.4586865e-24f, 7.927931e-24f, 7.42892e-24f, 6.962858e-24f, 6.5292787e-24f,
     6.1269608e-24f, 5.7541968e-24f, 5.4090772e-24f, 5.4090772e-24f},
    {-5.4036504e-16f, -5.401671e-16f, -5.3890306e-16f, -5.361796e-16f, -5.3197205e-16f,
     -5.2642203e-16f, -5.197319e-16f, -5.121166e-16f, -5.037776e-16f, -4.9489287e-16f,
     -4.8561685e-16f, -4.7607746e-16f, -4.6638206e-16f, -4.5661725e-16f, -4.468527e-16f,
     -4.468527e-16f},
    {1.797337e-08f, 1.7973282e-08f, 1.7971924e-08f, 1.7967137e-08f, 1.7956825e-08f, 1.793936e-08f,
     1.7913644e-08f, 1.7879056e-08f, 1.7835351e-08f, 1.778259e-08f, 1.7721021e-08f, 1.7651034e-08f,
     1.7573127e-08f, 1.7487839e-08f, 1.7395728e-08f, 1.7395728e-08f}};

template <int N>
HALFTONE_INLINE Vec<float, N> softplus_by_table(Vec<float, N> x) {
  using V = Vec<float, N>;
  const auto e = exp_multiple<-1>(lower_magnitude(x, -exp_first<float>), large_multiples);
  const V y = fma(e.power, e.q, e.power);
  const auto index = bit_cast<std::uint32_t>(e.power + 0x1.8p44f);
  V p = lookup(softplus_pieces[0], index);
  for (int i = 1; i < 4; ++i) p = fma(p, y, lookup(softplus_pieces[i], index));
  return fma(y, p, fma(y, 0x1p-26f, upper_or_second(V(0), x)));  // y 2^-26 does not round
}

/// x / (1 + e^y), where e^y = 2^n (1 + q) by exp2_high and what it lacks by exp2_rest; n below 168,
/// in sixteenths that stand in the lowest bits of `index`. a is x, or the largest number for which y
/// was computed: from there on the result is x.
template <int N>
HALFTONE_INLINE Vec<float, N> over_one_plus(Vec<float, N> x, Vec<float, N> a, Vec<float, N> n,
                                            Vec<float, N> q, Vec<std::uint32_t, N> index) {
  using V = Vec<float, N>;
  constexpr float c = small_exp2.at[0];
  const V power = scaled(lookup(small_exp2.at, index), n);
  // The larger one is added last: what is rounded before counts less.
  const V sum = upper_or_second(power, V(c)) + fma(power, q, lower_or_second(power, V(c)));
  return fma(a / sum, c, -(a - x));  // -0 stays
}

/// x / (1 + e^-x) for x above -112.
template <int N>
HALFTONE_INLINE Vec<float, N> swish_by_table(Vec<float, N> x) {
  const auto a = lower_or_second(Vec<float, N>(40), x);
  const auto s = sixteenths<-1>(a);
  const auto close = fma(s.n, -ln2_rest, s.close);
  const auto q =
      fma(close * close, fma(close, -0.16666827f, 0.50001466f), lookup(exp2_rest, s.index) - close);
  return over_one_plus(x, a, s.n, q, s.index);
}

/// x / (1 + e^-2u) for x above -11; 2 u = c a (a^2 + k) = -n ln 2 + c close with n in sixteenths.
template <int N>
HALFTONE_INLINE Vec<float, N> gelu_by_table(Vec<float, N> x) {
  constexpr float c = 0.0713548163f, k = 22.363861f, k_rest = -1.08174799e-06f;
  constexpr float magic = 0x1.8p19f, octave = 9.71484375f, octave_rest = -0.000752721976f;
  const auto a = lower_or_second(Vec<float, N>(9), x);
  const auto s = fma(a, a, k);
  const auto s_rest = fma(a, a, k - s) + k_rest;  // k is short: the difference is exact
  const auto t = fma(a * -0.10294324f, s, magic);
  const auto n = t - magic;
  const auto close = fma(n, octave_rest, fma(a, s_rest, fma(a, s, n * octave)));
  const auto index = bit_cast<std::uint32_t>(t);
  const auto q = fma(close * close, fma(close, -6.05512069e-05f, 0.00254582954f),
                     fma(close, -c, lookup(exp2_rest, index)));
  return over_one_plus(x, a, n, q, index);
}

/// What mish(x) lacks of x where x >= 0, and of x e^x below, as a part of it: for y = e^-|x|, which
/// is power (1 + q), 2 y^2 / (2 y^2 + 2 y + 1) and (y^2 + y) / (y^2 + 2 y + 2).
template <class T, int N, class M>
HALFTONE_INLINE Vec<T, N> mish_lack(Vec<T, N> power, Vec<T, N> q, M is_below) {
  using V = Vec<T, N>;
  if constexpr (std::is_same_v<T, float>) {
    const V u = fma(power, q, power - 0.5f);
    const V p = horner(u, -0.31506887f, 0.3735911f, -0.09038732f, -0.079332575f, 0.18629563f,
                       -0.33739936f, 0.45549485f, -0.47979373f, 0.3891271f, -0.17918341f,
                       -0.12800032f, 0.47999987f, 0.2f);
    const V p_below =
        horner(u, 0.0022389959f, 0.00024199256f, -0.009215441f, 0.022696523f, -0.03794408f,
               0.040918037f, 0.0005594833f, -0.13472873f, 0.40236688f, 0.23076923f);
    return select(is_below, p_below, p);
  } else {
    // What rounding takes is given back.
    const V y = fma(power, q, power);
    const V twice = select(is_below, y, 2 * y), first = select(is_below, V(2), V(1));
    const V once = select(is_below, y, V(0));
    const V over = fma(y, twice, once), over_rest = fma(y, twice, once - over);
    const V sum = first + twice, sum_rest = twice - (sum - first);
    const V under = sum + over, under_rest = over - (under - sum) + sum_rest;
    const V p = over / under;
    return p + (fma(-p, under, over) + fma(-p, under_rest, over_rest)) / under;
  }
}

/// mish_lack for each fifteenth of y, x >= 0 first: by powers of 2^24 times the distance from there,
/// the fourth first. The step, nearly 2^24 / 15, is one for which the last ones round little.
inline constexpr float mish_step = 1109933.2f;
alignas(64) inline constexpr float mish_pieces[5][32] = {
    {5.0153545e-29f,  4.5516324e-29f,  3.6148158e-29f, 2.6811455e-29f, 1.9065018e-29f,
     1.3155976e-29f,  8.994972e-30f,   5.8890266e-30f, 3.5373412e-30f, 2.6511601e-30f,
     1.998817e-30f,   7.852734e-31f,   3.7406725e-31f, 3.63825e-31f,   2.5006766e-31f,
     -4.0737575e-31f, 3.042335e-30f,   2.558022e-30f,  1.918391e-30f,  1.9274365e-30f,
     1.4269368e-30f,  6.5913274e-31f,  1.0575939e-30f, 6.134128e-31f,  2.148372e-31f,
     2.1833717e-31f,  -2.6004369e-33f, 2.3997238e-31f, -5.307802e-32f, 1.4407375e-31f,
     -9.695153e-32f,  -2.6826354e-31f},
    {-8.4686437e-22f, -6.312287e-22f,  -4.4883924e-22f, -3.0870207e-22f, -2.0668638e-22f,
     -1.348229e-22f,  -8.5347644e-23f, -5.1695194e-23f, -2.9170656e-23f, -1.4305746e-23f,
     -4.597281e-24f,  1.6136799e-24f,  5.4605323e-24f,  7.715474e-24f,   8.935551e-24f,
     8.566831e-24f,   -5.2896475e-23f, -4.0098336e-23f, -2.9459887e-23f, -2.0834676e-23f,
     -1.3962863e-23f, -8.582713e-24f,  -4.4249673e-24f, -1.281994e-24f,  1.0652297e-24f,
     2.768465e-24f,   3.9716965e-24f,  4.7987478e-24f,  5.32683e-24f,    5.625608e-24f,
     5.753463e-24f,   5.1751638e-24f},
    {7.105405e-15f,   4.6514005e-15f,  2.8668633e-15f,  1.6192783e-15f,  7.724898e-16f,
     2.1240411e-16f,  -1.4809572e-16f, -3.7200147e-16f, -5.0375956e-16f, -5.744418e-16f,
     -6.047196e-16f,  -6.0856114e-16f, -5.962099e-16f,  -5.739995e-16f,  -5.4605445e-16f,
     -5.1553247e-16f, -5.09483e-21f,   -1.5420448e-16f, -2.6931193e-16f, -3.5260205e-16f,
     -4.0998205e-16f, -4.469219e-16f,  -4.684789e-16f,  -4.776201e-16f,  -4.776764e-16f,
     -4.7117716e-16f, -4.5975826e-16f, -4.4517913e-16f, -4.2814225e-16f, -4.0995677e-16f,
     -3.9086169e-16f, -3.7190845e-16f},
    {0.0f,           1.2915666e-08f, 2.114789e-08f,  2.6040897e-08f, 2.8632842e-08f, 2.9681798e-08f,
     2.9722713e-08f, 2.9124708e-08f, 2.813859e-08f,  2.6932533e-08f, 2.5617929e-08f, 2.4267468e-08f,
     2.2927635e-08f, 2.1627267e-08f, 2.038338e-08f,  1.9205144e-08f, 2.9802322e-08f, 2.9623212e-08f,
     2.9146468e-08f, 2.8450867e-08f, 2.7600326e-08f, 2.6645775e-08f, 2.5627134e-08f, 2.4575204e-08f,
     2.3513353e-08f, 2.2458996e-08f, 2.1424828e-08f, 2.0419842e-08f, 1.9450168e-08f, 1.8519732e-08f,
     1.7630787e-08f, 1.6784332e-08f},
    {0.0f,        0.007671361f, 0.026941381f, 0.053385217f, 0.08390075f, 0.116378106f, 0.14941941f,
     0.18212359f, 0.21392977f,  0.24450682f,  0.27367672f,  0.30136225f, 0.3275514f,   0.3522733f,
     0.37558204f, 0.39754602f,  0.0f,         0.03301083f,  0.06564966f, 0.09763131f,  0.12874962f,
     0.158862f,   0.18787609f,  0.2157386f,   0.24242616f,  0.26793793f, 0.29228964f,  0.31550902f,
     0.33763206f, 0.35870034f,  0.37875876f,  0.39785406f}};

template <int N>
HALFTONE_INLINE Vec<float, N> mish_by_table(Vec<float, N> x) {
  using V = Vec<float, N>;
  constexpr float scale = large_exp2.at[0];
  const auto is_below = x < 0;
  // 2^24 e^-|x|, which is normal where the result is, and 0 in the end.
  const V y = exp_by_table<-1>(lower_magnitude(x, 150), large_exp2.at);
  const V first = select(is_below, V(0x1.8p23f + 16), V(0x1.8p23f));
  const V t = fma(y, 15 / scale, first);
  const auto index = bit_cast<std::uint32_t>(t);
  const V u = fma(t - first, -mish_step, y);
  V p = lookup(mish_pieces[0], index);
  for (int i = 1; i < 5; ++i) p = fma(p, u, lookup(mish_pieces[i], index));
  const V z = select(is_below, x * y, x), z_lack = select(is_below, fma(-x, y, z), V(0));
  // x may be infinite, what is multiplied by p may not.
  const V r = z - fma(lower_or_second(V(0x1p127f), z), p, z_lack);
  return select(is_below, r * (1 / scale), r);
}

/// x / (1 + e^-(z + rest)) for z above twice exp_first, where e^-z may be beyond T: there both parts
/// of the fraction are scaled.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> times_sigmoid(Vec<T, N> x, Vec<T, N> z, Vec<T, N> rest) {
  using V = Vec<T, N>;
  constexpr bool is_float = std::is_same_v<T, float>;
  const auto is_scaled = z < (is_float ? T(-64) : T(-512));
  const V one = select(is_scaled, V(is_float ? T(0x1p-64) : T(0x1p-512)), V(1));
  const auto e = exp_parts(-z, -rest);
  const V s = power_of_two(e.n - select(is_scaled, V(is_float ? 64 : 512), V(0)));
  const V sum = s + one;
  return x * one / (fma(e.q, s, one - (sum - s)) + sum);
}

}  // namespace detail

/// x / (1 + e^-x); -0 for -infinity.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> swish(Vec<T, N> x) {
  using V = Vec<T, N>;
  constexpr T first = std::is_same_v<T, float> ? T(-112) : T(-760);  // 0 below
  const V from = detail::upper_or_second(V(first), x);
  if constexpr (detail::has_lookup<T, N>) {
    return detail::swish_by_table(from);
  }
  return detail::times_sigmoid(from, detail::lower_or_second(V(40), from), V(0));  // x above
}

/// x / (1 + e^-2u) with u = (x + 0.044715 x^3) sqrt(2 / pi); -0 for -infinity. What is rounded off
/// from 2 u is kept: it would count as many times as u is large.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> gelu(Vec<T, N> x) {
  using V = Vec<T, N>;
  constexpr bool is_float = std::is_same_v<T, float>;
  constexpr T first = is_float ? T(-11) : T(-22);  // 0 below
  const V from = detail::upper_or_second(V(first), x);
  if constexpr (detail::has_lookup<T, N>) {
    return detail::gelu_by_table(from);
  }
  const V a = detail::lower_or_second(V(9), from);  // x above
  constexpr long double linear = 1.595769121605730711759784L, cubic = 0.07135481627260024877633875L;
  // Short enough for exact differences with sums of up to 64.
  constexpr T magic = is_float ? T(0x1.8p5) : T(0x1.8p6), short_linear = T(linear) + magic - magic;
  const V square = a * a;
  const V sum = fma(square, T(cubic), short_linear);
  V rest = detail::product_rest(a, a, square) * T(cubic);
  if constexpr (has_fma) {
    rest += fma(square, T(cubic), short_linear - sum);
  } else {
    const V cube = square * T(cubic);
    rest += detail::product_rest(square, V(T(cubic)), cube) + (cube + (short_linear - sum));
  }
  rest += fma(square, T(cubic - T(cubic)), T(linear - short_linear));
  const V z = a * sum;
  return detail::times_sigmoid(from, z, fma(a, rest, detail::product_rest(a, sum, z)));
}

/// log(1 + e^x), accurate also where it is close to 0.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> softplus(Vec<T, N> x) {
  if constexpr (detail::has_lookup<T, N>) {
    return detail::softplus_by_table(x);
  }
  return max(x, 0) + log1p(exp(-abs(x)));
}

/// x tanh(log(1 + e^x)): with y = e^-|x|, x (1 - p) where x >= 0 and x y (1 - p) below, with p as
/// mish_lack says.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> mish(Vec<T, N> x) {
  using V = Vec<T, N>;
  if constexpr (detail::has_lookup<T, N>) return detail::mish_by_table(x);
  constexpr bool is_float = std::is_same_v<T, float>;
  constexpr T scale = is_float ? T(0x1p24) : T(0x1p54);
  const auto is_below = x < 0;
  const V a = detail::lower_or_second(V(is_float ? 150 : 900), abs(x));
  const auto e = detail::exp_parts(-a);
  const V power = detail::scaled(V(scale), e.n);  // normal where the result is, and 0 in the end
  const V p = detail::mish_lack(power * (1 / scale), e.q, is_below);
  const V q = select(is_below, e.q, V(0));
  // The factor is 1 - (1 - p) (1 + q). x may be infinite, what is multiplied may not.
  const V by = select(is_below, x * power, a);
  const V r = fma(-by, fma(q, p - 1, p), select(is_below, by, x));
  return detail::with_sign_of(select(is_below, r * (1 / scale), r), x);  // that of 0 too
}

}  // namespace halftone::kernel
