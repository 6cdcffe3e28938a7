#pragma once

#include "halftone/kernel/math/exponential.hpp"

/// The error function and its complement; double is computed by the C library lane by lane (the
/// complement in long double: glibc's for double is off by more than 2 units in the last place).
namespace halftone::kernel {

/// erf(x); below 1 an odd polynomial, from there on 1 - 2^-P(|x|).
template <class T, int N>
HALFTONE_INLINE Vec<T, N> erf(Vec<T, N> x) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double lane) { return __builtin_erf(lane); }, x);
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
