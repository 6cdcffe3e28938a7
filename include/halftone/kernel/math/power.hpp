#pragma once

#include "halftone/kernel/math/exponential.hpp"
#include "halftone/kernel/math/logarithm.hpp"

/// Powers and remainders.
namespace halftone::kernel {

/// x^y as C's pow, special cases included. float is computed in double, double by the C library.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> pow(Vec<T, N> x, std::type_identity_t<Vec<T, N>> y) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double a, double b) { return __builtin_pow(a, b); }, x, y);
  } else {
    using V = Vec<T, N>;
    const V a = abs(x);
    const V magnitude =
        detail::in_double([](auto base, auto power) { return exp2(power * log2(base)); }, a, y);
    const auto is_whole = trunc(y) == y;
    const auto is_odd = is_whole & (trunc(y * 0.5f) != y * 0.5f);
    const auto is_negative = bit_cast<std::int32_t>(x) < 0;
    V r = select(is_negative & is_odd, -magnitude, magnitude);
    r = select((x < 0) & !is_whole & isfinite(x), __builtin_nanf(""), r);
    // 1 whatever y is, as C has it; also -1 to an infinite power.
    return select((y == 0) | (x == 1) | ((a == 1) & isinf(y)), 1, r);
  }
}

template <class T, int N, detail::scalar S>
HALFTONE_INLINE Vec<T, N> pow(S x, Vec<T, N> y) {
  return pow(Vec<T, N>(x), y);
}

/// The remainder x - y trunc(x / y), exact, with x's sign, as C's fmod.
template <class T, int N>
HALFTONE_INLINE Vec<T, N> fmod(Vec<T, N> x, std::type_identity_t<Vec<T, N>> y) {
  if constexpr (std::is_same_v<T, double>) {
    return detail::each_lane([](double a, double b) { return __builtin_fmod(a, b); }, x, y);
  } else {
    using V = Vec<T, N>;
    // A quotient below 2^28 times y is exact in double; it may be one too large.
    V r = detail::in_double(
        [](auto a, auto b) {
          a = abs(a);
          b = abs(b);
          const auto rest = a - trunc(a / b) * b;
          return select(rest < 0, rest + b, rest);
        },
        x, y);
    r = detail::with_sign_of(r, x);
    const auto is_simple = (abs(x) < abs(y) * 0x1p28f) & isfinite(y);
    if (__builtin_expect(!all(is_simple), 0)) {
      for (int i = 0; i < N; ++i) {
        if (!is_simple[i]) r.v[i] = __builtin_fmodf(x.v[i], y.v[i]);
      }
    }
    return r;
  }
}

template <class T, int N, detail::scalar S>
HALFTONE_INLINE Vec<T, N> fmod(S x, Vec<T, N> y) {
  return fmod(Vec<T, N>(x), y);
}

}  // namespace halftone::kernel
