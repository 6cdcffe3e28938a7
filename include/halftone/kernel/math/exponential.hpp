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
    const V p = horner(r, 0.000199344999f, 0.00139331527f, 0.00833322015f, 0.0416664854f,
                       0.166666672f, 0.5f);
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

}  // namespace detail

/// e^x.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> exp(Vec<T, N> x) {
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
