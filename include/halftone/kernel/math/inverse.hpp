#pragma once

#include "halftone/kernel/math/logarithm.hpp"

/// Inverses of the trigonometric and hyperbolic functions. float's atan2 is computed in double, and
/// so are its hyperbolic ones where there are no tables; double by the C library lane by lane.
namespace halftone::kernel {

namespace detail {

/// asin(x) / x - 1 for z = x^2 <= 0.25; 2^-27 of the whole.
template <int N>
HALFTONE_INLINE Vec<float, N> asin_rest(Vec<float, N> z) {
  return z * horner(z, 0.042218566f, 0.0241476f, 0.0454771f, 0.074952416f, 0.16666754f);
}

/// atan(t) / t - 1 for z = t^2 <= 1; 2^-26.
template <int N>
HALFTONE_INLINE Vec<float, N> atan_rest(Vec<float, N> z) {
  return z * horner(z, -0.0017963512f, 0.010927595f, -0.031203656f, 0.057985295f, -0.08405184f,
                    0.10952822f, -0.14264372f, 0.19998561f, -0.333333f);
}

/// atan(t) / t for z = t^2 <= 1; relative error 2^-34.
template <int N>
HALFTONE_INLINE Vec<double, N> atan_factor(Vec<double, N> z) {
  return horner(z, -0.00069802932295557523, 0.0049236610538847094, -0.016284208563561321,
                0.034440858380703085, -0.054471532402138936, 0.072560013952562841,
                -0.089837670581661561, 0.11093995542857434, -0.14284074794235591,
                0.19999918060312558, -0.33333331720872894, 0.99999999994740418);
}

#if HALFTONE_AVX512
/// Tangents and their angles, which are nearly floats, in the middle of 8 intervals in each octave
/// of a + 1/2, for 0 <= a < 7; the last one goes on to infinity.
alignas(64) inline constexpr float atan_from[32] = {
    1.6180041f,  1.8684545f,  2.1189835f,  2.3699293f,  2.619544f,   2.8701522f,  3.1206753f,
    3.3712397f,  3.7344062f,  4.235755f,   4.7369084f,  5.238264f,   5.7398806f,  6.2390733f,
    6.740328f,   14.073363f,  0.0f,        0.09364057f, 0.15610561f, 0.21858202f, 0.2810511f,
    0.34351686f, 0.40594745f, 0.46834096f, 0.56089395f, 0.6856933f,  0.810519f,   0.9356226f,
    1.0602816f,  1.1852607f,  1.3106809f,  1.4355617f};
alignas(64) inline constexpr float atan_angle[32] = {
    1.0172137f,  1.0793855f,  1.1298604f,  1.1715089f,  1.2061247f,  1.2355355f,  1.2606912f,
    1.2824371f,  1.3091546f,  1.338956f,   1.362743f,   1.382163f,   1.3983079f,  1.4118679f,
    1.42351f,    1.4998593f,  0.0f,        0.09336831f, 0.15485579f, 0.21519738f, 0.27398312f,
    0.33088756f, 0.38562295f, 0.43800116f, 0.5111686f,  0.6010595f,  0.6811221f,  0.75215113f,
    0.81464875f, 0.8699733f,  0.9190509f,  0.96236163f};
#endif

inline constexpr double pi = 3.14159265358979324;
/// pi / 2 as a float, and what that lacks.
inline constexpr float half_pi_high = 1.57079637f, half_pi_low = -4.37113883e-8f;

}  // namespace detail

template <class T, int N>
HALFTONE_INLINE Vec<T, N> asin(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_asin(lane); }, x);
#if HALFTONE_AVX512
  } else if constexpr (detail::has_lookup<T, N>) {
    using namespace detail;
    using V = Vec<T, N>;
    const V a = abs(x), d = fma(a, V(-2), V(2));
    const auto is_large = a > 0.5405f;  // then pi / 2 - 2 asin(sqrt(d) / 2), the latter below 1
    const V z = select(is_large, d * 0.25f, a * a);
    const V s = select(is_large, root(d), a);
    const V r = fma(s,
                    z * horner(z, 0.043589886f, 0.009958742f, 0.033029687f, 0.04436686f, 0.075013f,
                               0.16666655f),
                    s);
    return with_sign_of(select(is_large, half_pi_high - r, r), x);
#endif
  } else {
    using V = Vec<T, N>;
    const V a = abs(x);
    const auto is_large = a > 0.5f;  // then pi / 2 - 2 asin(sqrt((1 - a) / 2))
    const V z = select(is_large, fma(a, -0.5f, 0.5f), a * a);
    const V s = select(is_large, -2 * sqrt(z), a);
    const V from = select(is_large, detail::half_pi_high, 0);
    const V sum = from + s, lost = s - (sum - from);
    const V rest = fma(s, detail::asin_rest(z), select(is_large, detail::half_pi_low, 0));
    return copysign(sum + (rest + lost), x);
  }
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> acos(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_acos(lane); }, x);
#if HALFTONE_AVX512
  } else if constexpr (detail::has_lookup<T, N>) {
    // sqrt(1 - |x|) by a polynomial, and of pi what that lacks below 0.
    using namespace detail;
    using V = Vec<T, N>;
    const V a = abs(x);
    const V p = horner(a, 0.00064780825f, -0.0038206708f, 0.010764136f, -0.020488836f, 0.032449838f,
                       -0.050559435f, 0.08902535f, -0.214601f, 1.5707964f);
    const V d = 1 - a;
    // The root is s + rest; the estimate for 0 is infinite.
    const V estimate = lower_or_second(V(0x1p100f), reciprocal_root_estimate(d)), s = d * estimate;
    const V rest = fma(-s, s, d) * (0.5f * estimate);
    const V r = fma(s, p, rest * p);
    return select(bit_cast<std::int32_t>(x) < 0, 3.14159274f - r, r);
#endif
  } else {
    using V = Vec<T, N>;
    const V a = abs(x);
    const auto is_large = a > 0.5f;  // then of a 2 asin(sqrt((1 - a) / 2))
    const V z = select(is_large, fma(a, -0.5f, 0.5f), a * a);
    const V s = detail::with_sign_of(2 * sqrt(z), x);
    const V signed_part = select(is_large, s, -x);
    const V quarters = select(is_large, select(x < 0, 2, 0), 1);  // of the circle
    const V rest = fma(signed_part, detail::asin_rest(z), quarters * detail::half_pi_low);
    return fma(quarters, detail::half_pi_high, signed_part) + rest;
  }
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> atan(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_atan(lane); }, x);
#if HALFTONE_AVX512
  } else if constexpr (detail::has_lookup<T, N>) {
    // atan(c) + atan(t) for t = (a - c) / (1 + a c), of which |t| < 0.072. An error of t's as large
    // as the estimate's counts little beside atan(c), and is part of the polynomial's factor.
    using namespace detail;
    using V = Vec<T, N>;
    const V a = lower_or_second(V(0x1p100f), abs(x));
    const auto index = bit_cast<std::uint32_t>(lower_or_second(V(7.75f), a + 0.5f)) >> 20;
    const V c = lookup(atan_from, index), d = fma(a, c, V(1));
    const V estimate = reciprocal_estimate(d);
    const V t = (a - c) * estimate, z = t * t;
    const V rest = fma(z, fma(z, V(0.19899965f), V(-0.33333177f)), fma(-d, estimate, V(1)));
    return with_sign_of(fma(t, rest, lookup(atan_angle, index) + t), x);
#endif
  } else {
    using V = Vec<T, N>;
    const V a = abs(x);
    const auto is_large = a > 1;  // then pi / 2 - atan(1 / a)
    const V t = select(is_large, -1 / a, a);
    const V rest = fma(t, detail::atan_rest(t * t), select(is_large, detail::half_pi_low, 0));
    return copysign(select(is_large, detail::half_pi_high + t, t) + rest, x);
  }
}

/// The angle of the point (x, y), in [-pi, pi], as C's atan2.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> atan2(Vec<T, N> y, std::type_identity_t<Vec<T, N>> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double a, double b) { return __builtin_atan2(a, b); }, y, x);
  } else {
    return detail::in_double(
        [](auto up, auto right) {
          using V = decltype(up);
          const V a = abs(right), b = abs(up);
          const V large = max(a, b), small = min(a, b);
          // 0 / 0 means 0 and infinity / infinity 1.
          V t = small / large;
          t = select(large == 0, 0, select(isinf(small), 1, t));
          const V p = detail::atan_factor(t * t);
          V r = select(b > a, fma(-t, p, detail::pi / 2), t * p);
          r = select(bit_cast<std::int64_t>(right) < 0, detail::pi - r, r);
          return copysign(r, up);
        },
        y, x);
  }
}

template <class T, int N, detail::scalar S>
HALFTONE_INLINE Vec<T, N> atan2(S y, Vec<T, N> x) {
  return atan2(Vec<T, N>(y), x);
}

namespace detail {

#if HALFTONE_AVX512
/// asinh(a), and acosh(1 + d) / sqrt(d) - 1, for a and d in [0, 13.125), in the form of piecewise().
inline constexpr float inverse_begin = 0.875f;
alignas(64) inline constexpr float asinh_pieces[5][32] = {
    {-0.0004784351f,   -0.004508733f,   -0.0050477083f,  -0.004595163f,   -0.003699888f,
     -0.0029359965f,   -0.002192686f,   -0.0018244281f,  -0.0012491688f,  -0.00079840276f,
     -0.0005224259f,   -0.00035851466f, -0.00025719134f, -0.00018606453f, -0.00013080175f,
     -0.000105032115f, -6.813479e-05f,  -4.2344647e-05f, -2.7825146e-05f, -1.8108021e-05f,
     -1.310617e-05f,   -1.0118498e-05f, 0.008913789f,    0.033973224f,    0.06036021f,
     0.078701206f,     0.07747678f,     0.06434825f,     0.045585636f,    0.029435068f,
     0.016224593f,     0.006523661f},
    {0.033821277f,  0.032863583f,   0.028205782f,   0.023174563f,   0.018660806f,   0.015022213f,
     0.012081209f,  0.009879439f,   0.007984552f,   0.005523758f,   0.003943309f,   0.0029035965f,
     0.0021969988f, 0.0016958927f,  0.00132884f,    0.0010686482f,  0.00085274986f, 0.00058495894f,
     0.0004183105f, 0.00030748924f, 0.00023400264f, 0.00018283202f, -0.16698594f,   -0.16435677f,
     -0.15698399f,  -0.12585978f,   -0.08583547f,   -0.047014177f,  -0.015000365f,  0.007545079f,
     0.02195608f,   0.030023094f},
    {-0.1650056f,   -0.13990912f,  -0.11696469f,   -0.0977f,      -0.08201567f,   -0.06939028f,
     -0.059204582f, -0.050967205f, -0.044210408f,  -0.03407263f,  -0.026963271f,  -0.021820797f,
     -0.017996378f, -0.015080501f, -0.012810261f,  -0.011013228f, -0.009559552f,  -0.0074019097f,
     -0.005896649f, -0.004805117f, -0.0039905254f, -0.003366544f, 3.2466098e-06f, -0.031054491f,
     -0.060993925f, -0.11411413f,  -0.15393431f,   -0.17890789f,  -0.19060518f,   -0.19202572f,
     -0.18650283f,  -0.17680721f},
    {0.6643653f,  0.5881723f,  0.5240974f,  0.47058818f, 0.4257966f,  0.38805696f, 0.35599497f,
     0.3285207f,  0.30477422f, 0.26592833f, 0.23559958f, 0.21133246f, 0.1915102f,  0.17503323f,
     0.16113186f, 0.14925265f, 0.13898796f, 0.12215481f, 0.10893664f, 0.09828704f, 0.08952656f,
     0.0821951f,  1.0f,        0.9980525f,  0.9922769f,  0.97014225f, 0.9363294f,  0.8944273f,
     0.847999f,   0.8000002f,  0.752577f,   0.7071074f},
    {0.21964867f,   0.31462774f,   0.41050106f, 0.50394154f,  0.59336156f,  0.67814434f,
     0.75819343f,   0.8336619f,    0.9048314f,  1.0355152f,   1.1527437f,   1.2586986f,
     1.355173f,     1.4436154f,    1.5251915f,  1.6008466f,   1.6713563f,   1.7993507f,
     1.9131073f,    2.0154283f,    2.108373f,   2.1934972f,   0.0f,         8.110147e-05f,
     0.0006421349f, 0.0049309004f, 0.01560107f, 0.033998176f, 0.060144324f, 0.09314704f,
     0.13166384f,   0.17426616f}};
alignas(64) inline constexpr float acosh_pieces[5][32] = {
    {0.0004479833f,  0.0003297697f,  0.00026566786f,  0.00015834725f, 0.00016261697f,
     0.00011951672f, 0.00014635015f, 0.000100389596f, 6.6744324e-05f, 4.8164213e-05f,
     3.3988214e-05f, 2.6934362e-05f, 2.0670377e-05f,  1.4635877e-05f, 1.3184528e-05f,
     9.756693e-06f,  7.1878267e-06f, 4.7490134e-06f,  3.452845e-06f,  2.52238e-06f,
     1.7782221e-06f, 1.4412677e-06f, -0.01818568f,    -0.039883f,     0.0010971294f,
     0.0014200622f,  0.0014989576f,  0.001286635f,    0.00085110887f, 0.00062614284f,
     0.00080738333f, 0.0002567149f},
    {-0.0023026483f,  -0.0018564259f,   -0.0015276623f,  -0.0012460947f,  -0.0010635348f,
     -0.00089634367f, -0.0007880764f,   -0.0006700808f,  -0.0005729792f,  -0.0004411607f,
     -0.0003452587f,  -0.00027748375f,  -0.00022545282f, -0.00018418847f, -0.00015489137f,
     -0.00012966689f, -0.000109213244f, -8.062326e-05f,  -6.1489234e-05f, -4.786576e-05f,
     -3.7766215e-05f, -3.0582287e-05f,  -0.00573137f,    -0.0028519856f,  -0.0064967214f,
     -0.0056690862f,  -0.0049664015f,   -0.004316775f,   -0.0037323881f,  -0.0032638588f,
     -0.0029440206f,  -0.0025291417f},
    {0.011813915f,  0.010252107f,  0.008983071f,   0.00793301f,   0.007061603f,  0.006323746f,
     0.005698821f,  0.005158849f,  0.004691486f,   0.0039308234f, 0.0033399798f, 0.0028729492f,
     0.0024965869f, 0.002188633f,  0.00193455f,    0.0017214202f, 0.001541042f,  0.0012557296f,
     0.0010421886f, 0.0008781698f, 0.00074941287f, 0.000646765f,  0.026460921f,  0.024982544f,
     0.02378152f,   0.021466613f,  0.019478578f,   0.017752297f,  0.016247107f,  0.014927203f,
     0.0137668485f, 0.01273114f},
    {-0.07806219f,  -0.07255899f,  -0.06776039f,  -0.06353867f,  -0.059795678f, -0.056454103f,
     -0.053452782f, -0.05074222f,  -0.048282173f, -0.04398708f,  -0.040363055f, -0.037265f,
     -0.034586746f, -0.03224892f,  -0.030191079f, -0.02836615f,  -0.02673705f,  -0.023953887f,
     -0.021665242f, -0.019751538f, -0.018128708f, -0.016736032f, -0.117851175f, -0.11462654f,
     -0.111572124f, -0.105922f,    -0.100809924f, -0.09616147f,  -0.091915905f, -0.08802239f,
     -0.08443857f,  -0.08112871f},
    {0.39483082f, 0.38796806f, 0.38078338f, 0.37340626f, 0.36592937f, 0.3584185f,  0.35092172f,
     0.3434733f,  0.336098f,   0.3216337f,  0.30761516f, 0.29408062f, 0.2810398f,  0.2684868f,
     0.25640756f, 0.2447825f,  0.23358992f, 0.21241574f, 0.19271171f, 0.17431961f, 0.15709846f,
     0.14092569f, 0.41421357f, 0.41411373f, 0.41382822f, 0.41277486f, 0.41118252f, 0.4091533f,
     0.4067691f,  0.40409574f, 0.4011869f,  0.3980866f}};

struct Asinh {
  static constexpr float last = 13.0f;

  template <int N>
  static HALFTONE_INLINE Vec<float, N> near(Vec<float, N> x) {
    return with_sign_of(piecewise(abs(x), asinh_pieces, inverse_begin), x);
  }
  template <int N>
  static HALFTONE_INLINE Vec<float, N> far(Vec<float, N> x) {
    // ln(1 + 2 a (a + sqrt(a^2 + 1))) / 2, without any cancellation; where the square is
    // too large ln(1 + 2 a).
    using V = Vec<float, N>;
    const V a = abs(x), square = a * a, z = square + 1;
    const auto is_large = a > 0x1p40f;
    const V estimate = reciprocal_root_estimate(z), s = z * estimate;
    const V rest = fma(a, a, fma(-s, s, V(1))) * (0.5f * estimate);  // of the root, to s
    const V y = select(is_large, a * 0x1p-8f, fma(a, s, fma(a, rest, square)));
    const V w = select(is_large, a * 0x1p-8f, fma(a, s, square + 0.5f));
    const V half = log1p_by_table<2, true>(y, w);
    const V r = select(is_large, fma(half, V(2), V(8 * ln_2)), half);
    constexpr int cases =
        instead(Kind::minus_infinity, Instead::x) | instead(Kind::infinity, Instead::x);
    return replaced<cases>(with_sign_of(r, x), x);
  }
};

struct Acosh {
  static constexpr float last = 14.0f;

  template <int N>
  static HALFTONE_INLINE Vec<float, N> near(Vec<float, N> x) {
    const auto d = x - 1, s = root(d);
    return fma(s, piecewise(d, acosh_pieces, inverse_begin), s);
  }
  template <int N>
  static HALFTONE_INLINE Vec<float, N> far(Vec<float, N> x) {
    using V = Vec<float, N>;
    const V t = (x - 1) * 0.5f, z = fma(x, x, V(-1));
    const V estimate = reciprocal_root_estimate(z), h = 0.5f * estimate;
    const V s = z * h;  // half the root
    const auto is_large = x > 0x1p40f;
    const V y = select(is_large, t * 0x1p-7f, s + fma(s, fma(-s, estimate, V(0.5f)), t));
    const V w = select(is_large, t * 0x1p-7f, fma(x, V(0.5f), s));
    const V log = log1p_by_table<2, false>(y, w);
    const V r = select(is_large, log + 8 * ln_2, log);
    constexpr int cases =
        instead(Kind::minus_infinity, Instead::nan) | instead(Kind::below, Instead::nan) |
        instead(Kind::infinity, Instead::infinity) | instead(Kind::zero, Instead::zero);
    return replaced<cases>(r, t);
  }
};
#endif

}  // namespace detail

template <class T, int N>
HALFTONE_INLINE Vec<T, N> asinh(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_asinh(lane); }, x);
#if HALFTONE_AVX512
  } else if constexpr (detail::has_lookup<T, N>) {
    return detail::near_or_far<detail::Asinh>(x);
#endif
  } else {
    return detail::in_double(
        [](auto wide) {
          const auto a = abs(wide);
          const auto r = log1p(a + a * a / (1 + sqrt(fma(a, a, 1))));
          return copysign(select(isinf(a), a, r), wide);
        },
        x);
  }
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> acosh(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_acosh(lane); }, x);
#if HALFTONE_AVX512
  } else if constexpr (detail::has_lookup<T, N>) {
    return detail::near_or_far<detail::Acosh>(x);
#endif
  } else {
    return detail::in_double(
        [](auto wide) {
          const auto t = wide - 1;
          return select(t < 0, __builtin_nan(""), log1p(t + sqrt(t * (t + 2))));
        },
        x);
  }
}

template <class T, int N>
HALFTONE_INLINE Vec<T, N> atanh(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_atanh(lane); }, x);
#if HALFTONE_AVX512
  } else if constexpr (detail::has_lookup<T, N>) {
    // ln(1 + 2 y) / 2 with y = a / (1 - a).
    using namespace detail;
    using V = Vec<T, N>;
    const V a = abs(x), d = 1 - a;
    const V estimate = reciprocal_estimate(d), y0 = a * estimate;
    const V y = fma(a, fma(fma(-d, y0, a), estimate, y0), a);  // a + a a / (1 - a)
    constexpr int cases = instead(Kind::zero, Instead::infinity) |
                          instead(Kind::minus_infinity, Instead::nan) |
                          instead(Kind::below, Instead::nan);
    return with_sign_of(replaced<cases>(log1p_by_table<2, true>(y, estimate - 0.5f), d), x);
#endif
  } else {
    return detail::in_double(
        [](auto wide) {
          const auto a = abs(wide);
          return copysign(0.5 * log1p(2 * a / (1 - a)), wide);
        },
        x);
  }
}

#if HALFTONE_AVX512
template <class V>
  requires detail::has_groups<V>
HALFTONE_INLINE Quad<V> asinh(const Quad<V>& x) {
  return detail::near_or_far<detail::Asinh>(x);
}
template <class V>
  requires detail::has_groups<V>
HALFTONE_INLINE Quad<V> acosh(const Quad<V>& x) {
  return detail::near_or_far<detail::Acosh>(x);
}
#endif

}  // namespace halftone::kernel
