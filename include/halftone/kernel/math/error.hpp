#pragma once

#include "halftone/kernel/math/exponential.hpp"

/// The error function and its complement; double is computed by the C library lane by lane (the
/// complement in long double: glibc's for double is off by more than 2 units in the last place).
namespace halftone::kernel {

namespace detail {

/// erf(a) / a for a in [0, 4], in the form of times_piecewise(); 1 / a at its end.
inline constexpr float erf_first = 0x1p-5f, erf_last = 4;
alignas(64) inline constexpr float erf_factor[6][32] = {
    {0.0035716915f,  -0.00068677025f,
     -0.0007533388f, -0.00031903613f,
     0.0f,           0.0f,
     0.0f,           0.0f,
     3.6639905f,     111869.12f,
     119746.27f,     -110702.95f,
     338.69846f,     568.01624f,
     5096.9614f,     -5362.4995f,
     39.028584f,     -93.318954f,
     185.84099f,     108.3865f,
     0.76034296f,    -1.9574403f,
     2.7171204f,     -2.0319216f,
     -0.09279493f,   -0.03595539f,
     0.00965683f,    -0.06227664f,
     0.0004064291f,  0.013462394f,
     0.01769398f,    0.01287857f},
    {-0.0018810262f, 0.005546401f,   0.0036078093f, 0.0017465577f, 0.0f,          0.0f,
     0.0f,           0.0f,           0.72739226f,   -2403.3513f,   -2572.5903f,   2378.5312f,
     -14.443498f,    -24.29789f,     -218.91196f,   230.54059f,    -3.249667f,    8.121783f,
     -15.876885f,    -9.224862f,     -0.048195075f, 0.40600288f,   -0.41251484f,  0.3888329f,
     0.047222618f,   -0.0011633747f, -0.040054157f, -0.030814152f, -0.060661376f, -0.05879037f,
     -0.040898766f,  -0.019375227f},
    {-0.025858436f, -0.021355834f, -0.012027964f, -0.0066037746f, 0.0f,        0.0f,
     0.0f,          0.0f,          0.040464588f,  18.794905f,     20.120607f,  -18.557163f,
     0.25551456f,   0.4164001f,    3.4642868f,    -3.552103f,     0.16028258f, -0.18212198f,
     0.5805099f,    0.38455305f,   0.11330798f,   0.10490357f,    0.1727259f,  0.13553895f,
     0.16502872f,   0.17568293f,   0.17119433f,   0.14978933f,    0.12648083f, 0.06633918f,
     0.016298797f,  -0.013648992f},
    {0.09865751f,  0.061460525f, 0.03688377f,  0.023309765f, 0.0f,         0.0f,
     0.0f,         0.0f,         -0.3751259f,  -0.4392756f,  -0.44334134f, -0.31059173f,
     -0.3750428f,  -0.3746164f,  -0.3936042f,  -0.34346762f, -0.36708024f, -0.35640827f,
     -0.35964537f, -0.34862038f, -0.33558616f, -0.31315726f, -0.28931043f, -0.25974375f,
     -0.22981092f, -0.16528127f, -0.10031769f, -0.03962728f, 0.012441379f, 0.08463814f,
     0.114451975f, 0.1140853f},
    {-0.23850006f, -0.15906419f, -0.11106261f,  -0.081630446f, 0.0f,          0.0f,
     0.0f,         0.0f,         -0.023494761f, -0.029268445f, -0.035119552f, -0.04115369f,
     -0.04690142f, -0.05854772f, -0.07008767f,  -0.08175829f,  -0.09314694f,  -0.115851775f,
     -0.13807108f, -0.15988827f, -0.1811631f,   -0.22177961f,  -0.259437f,    -0.2937812f,
     -0.32443666f, -0.37389702f, -0.40703303f,  -0.42439172f,  -0.42759186f,  -0.4014398f,
     -0.35009256f, -0.2920208f},
    {0.49766114f, 0.39983723f, 0.33332598f, 0.28571406f, 0.25f,      0.2f,       0.16666667f,
     0.14285715f, 1.128012f,   1.1278055f,  1.1275532f,  1.1272553f, 1.1269116f, 1.1260877f,
     1.125082f,   1.1238958f,  1.1225296f,  1.1192633f,  1.1152942f, 1.1106364f, 1.1053056f,
     1.0926996f,  1.0776451f,  1.0603386f,  1.0409998f,  0.9971854f, 0.9482075f, 0.8960858f,
     0.8427008f,  0.7383201f,  0.6440701f,  0.5638124f}};

}  // namespace detail

/// erf(x). Without lookup() an odd polynomial below 1, and from there on 1 - 2^-P(|x|).
template <class T, int N>
HALFTONE_INLINE Vec<T, N> erf(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_erf(lane); }, x);
  } else if constexpr (detail::has_lookup<T, N>) {
    using V = Vec<T, N>;
    const V a = detail::lower_or_second(V(detail::erf_last), abs(x));
    const V y = detail::times_piecewise(a, detail::erf_factor, detail::erf_first);
    return detail::with_sign_of(detail::lower_or_second(V(1), y), x);
  } else {
    using V = Vec<T, N>;
    const V a = detail::lower_or_second(V(4), abs(x));  // 1 above
    const V p = detail::horner(a * a, 7.78068352e-05f, -0.000799140777f, 0.0051866076f,
                               -0.0268531535f, 0.112835765f, -0.37612626f, 0.128379166f);
    const V g = detail::horner(a, 3.12988814e-05f, -0.000636878598f, 0.00606684294f, -0.0363706574f,
                               0.156419843f, 0.913538277f, 1.62963986f, -0.000271891942f);
    const auto e = detail::exp2_parts(-g);
    return detail::with_sign_of(select(a < 1, fma(a, p, a), 1 - e.p * detail::power_of_two(e.n)),
                                x);
  }
}

/// 1 - erf(x), accurate where it is small. float is computed in double: e^(-a^2) / (1 + 2 a) times
/// a polynomial in (a - 3) / (a + 3), a = |x|, of relative error 2^-34.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> erfc(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return double(__builtin_erfcl(lane)); }, x);
  } else {
    return detail::in_double(
        [](auto wide) {
          using V = decltype(wide);
          const V a = detail::lower_or_second(V(10.2), abs(wide));  // 0 or 2 above
          const V t = (a - 3) / (a + 3);
          const V p = detail::horner(
              t, 3.3102949953735482e-05, 0.00012670399699279776, -0.00012674581618995088,
              -0.00079001158689853083, 0.0018942900295100911, 0.0025335512048228056,
              -0.023771055734997514, 0.068307364763152315, -0.11927365302161799, 0.1296452013304252,
              -0.047562293902523478, -0.13562110690355902, 1.2530080582663956);
          const V r = exp(-a * a) * p / (1 + 2 * a);
          return select(wide < 0, 2 - r, r);
        },
        x);
  }
}

}  // namespace halftone::kernel
