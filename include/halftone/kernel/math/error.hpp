#pragma once

#include "halftone/kernel/math/exponential.hpp"

/// The error function and its complement; double is computed by the C library lane by lane (the
/// complement in long double: glibc's for double is off by more than 2 units in the last place).
namespace halftone::kernel {

namespace detail {

/// erf(a) for a in [0, 4.2], in the form of piecewise(); 1 at its end.
inline constexpr float erf_begin = 0.28125f, erf_last = 4.2f;
alignas(64) inline constexpr float erf_pieces[5][32] = {
    {-0.043833822f,   -0.028371628f,  -0.014562003f,  -0.006171726f, -0.0022016517f, -0.0006700494f,
     -0.00017286751f, -3.820974e-05f, -3.864689e-06f, 0.03231466f,   0.031093173f,   0.04155335f,
     0.056977987f,    0.0803536f,     0.10297789f,    0.116874404f,  0.12642464f,    0.14969519f,
     0.1622419f,      0.17771149f,    0.17764077f,    0.18464553f,   0.18033928f,    0.16397281f,
     0.14185812f,     0.10198851f,    0.05654551f,    0.020322246f,  -0.01300918f,   -0.035829008f,
     -0.046352256f,   -0.050248574f},
    {0.09495538f,    0.050890855f,  0.022911929f, 0.008786671f,  0.0028940486f, 0.0008238677f,
     0.00020228712f, 4.308036e-05f, 5.85631e-06f, -0.37754273f,  -0.3755458f,   -0.3718288f,
     -0.36629915f,   -0.35912365f,  -0.3499812f,  -0.33838722f,  -0.32484752f,  -0.29318982f,
     -0.25506505f,   -0.21385087f,  -0.16878496f, -0.123751365f, -0.078153014f, -0.0334373f,
     0.009339484f,   0.08047773f,   0.13178268f,  0.16005585f,   0.16936146f,   0.16261363f,
     0.14458275f,    0.121157475f},
    {-0.10097215f,   -0.045903828f,   -0.018108513f,   -0.0062206257f,  -0.0018654388f,
     -0.0004893377f, -0.00011224153f, -2.2556187e-05f, -3.5633864e-06f, 1.8830693e-05f,
     -0.035219595f,  -0.070249125f,   -0.10486121f,    -0.13885604f,    -0.17204301f,
     -0.20424952f,   -0.2352893f,     -0.29320198f,    -0.3446666f,     -0.38866052f,
     -0.42460257f,   -0.4520381f,     -0.47092175f,    -0.48139018f,    -0.4838962f,
     -0.46728346f,   -0.42777807f,    -0.3731784f,     -0.3114461f,     -0.24927214f,
     -0.19167703f,   -0.14183007f},
    {0.05881343f,    0.02339103f,   0.008209271f,   0.0025423495f, 0.0006947714f, 0.00016754807f,
     3.5644374e-05f, 6.690695e-06f, 1.0831073e-06f, 1.1283791f,    1.1272777f,    1.12398f,
     1.1185052f,     1.1108853f,    1.1011643f,     1.0893987f,    1.0756559f,    1.0425613f,
     1.0026219f,     0.95670825f,   0.90579313f,    0.85091376f,   0.79313904f,   0.7335336f,
     0.6731296f,     0.55370176f,   0.44145003f,    0.3411263f,    0.25549173f,   0.18546696f,
     0.13049217f,    0.08898773f},
    {0.8838439f,     0.9485835f,    0.9800834f,    0.993243f,    0.9979905f,     0.9994757f,
     0.99987996f,    0.99997586f,   0.9999958f,    0.0f,         2.2944778e-05f, 0.00018322487f,
     0.00061657757f, 0.0014555469f, 0.0028279563f, 0.004855413f, 0.0076519735f,  0.015963364f,
     0.028477918f,   0.045724183f,  0.068022944f,  0.09548051f,  0.12799108f,    0.16525127f,
     0.20678055f,    0.3000398f,    0.40166444f,   0.5049807f,   0.60383445f,    0.6933915f,
     0.7705497f,     0.8339735f}};

}  // namespace detail

/// erf(x). Without lookup() an odd polynomial below 1, and from there on 1 - 2^-P(|x|).
template <class T, int N>
HALFTONE_INLINE Vec<T, N> erf(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_erf(lane); }, x);
  } else if constexpr (detail::has_lookup<T, N>) {
    using V = Vec<T, N>;
    const V a = detail::lower_or_second(V(detail::erf_last), abs(x));
    return detail::with_sign_of(detail::piecewise(a, detail::erf_pieces, detail::erf_begin), x);
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
