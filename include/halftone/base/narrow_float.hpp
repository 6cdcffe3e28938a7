#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

/// What the floating-point types below 32 bits share: conversions and arithmetic through float.
namespace halftone::detail {

/// Sign, exponent, fraction; value = 2^(exponent - bias) * 1.fraction, with subnormals.
struct FloatFormat {
  int fraction_bits;
  int bias;
};

inline constexpr std::uint32_t float_infinity_bits = 0x7f80'0000;

/// c ? a : b by masks: with ?: around floating-point code, g++ keeps a branch that stops it from
/// vectorising the loop (4 times slower on x86-64-v3).
constexpr std::uint32_t select_bits(bool c, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t mask = 0 - static_cast<std::uint32_t>(c);
  return b ^ ((a ^ b) & mask);
}

/// Code of |x| in format f, rounded to nearest even, as if exponents went on for ever: what lies
/// past the format's largest value gets a larger code, infinity and NaN the largest of all.
/// Normal numbers only touch integers, subnormals are rounded by an addition; no branches.
template <FloatFormat f>
constexpr std::uint32_t round_magnitude(float x) {
  constexpr int shift = 23 - f.fraction_bits;
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x) & 0x7fff'ffff;
  const std::uint32_t rounded = (u + ((1u << (shift - 1)) - 1) + ((u >> shift) & 1)) >> shift;
  if constexpr (f.bias == 127) {
    return rounded;
  } else {
    // A float whose last place weighs as much as the format's smallest subnormal.
    constexpr std::uint32_t magic = std::uint32_t(151 - f.bias - f.fraction_bits) << 23;
    constexpr std::uint32_t smallest_normal = std::uint32_t(128 - f.bias) << 23;
    const std::uint32_t small = select_bits(u < smallest_normal, u, 0);  // NaN would raise a flag
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(small) + std::bit_cast<float>(magic)) -
        magic;
    return select_bits(u < smallest_normal, subnormal,
                       rounded - (std::uint32_t(127 - f.bias) << f.fraction_bits));
  }
}

/// The float of a code without sign, for finite values; exact. Never reads a subnormal float, so
/// that it also works where the processor takes these for zero.
template <FloatFormat f>
constexpr float widen_magnitude(std::uint32_t code) {
  const std::uint32_t u = code << (23 - f.fraction_bits);
  if constexpr (f.bias == 127) {
    return std::bit_cast<float>(u);
  } else {
    constexpr std::uint32_t smallest_normal = std::uint32_t(128 - f.bias) << 23;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(
        std::bit_cast<float>(smallest_normal + u) - std::bit_cast<float>(smallest_normal));
    const std::uint32_t normal = u + (std::uint32_t(127 - f.bias) << 23);
    return std::bit_cast<float>(select_bits(code >> f.fraction_bits == 0, subnormal, normal));
  }
}

/// x as a float that still rounds to any narrower type as x itself would: inexact results are cut
/// off and get an odd last bit ("round to odd", Boldo and Melquiond 2008), so that rounding twice
/// is rounding once.
constexpr float round_to_odd(double x) {
  const std::uint64_t u = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t magnitude = u & 0x7fff'ffff'ffff'ffff;
  const std::uint32_t sign = std::uint32_t(u >> 32) & 0x8000'0000;
  const bool is_finite = magnitude < 0x7ff0'0000'0000'0000;
  if (is_finite && magnitude > 0x47ef'ffff'e000'0000) {  // the largest float
    return std::bit_cast<float>(sign | (float_infinity_bits - 1));
  }
  const float nearest = static_cast<float>(x);
  const double back = nearest;
  if (!is_finite || back == x) return nearest;
  std::uint32_t y = std::bit_cast<std::uint32_t>(nearest);
  if ((std::bit_cast<std::uint64_t>(back) & 0x7fff'ffff'ffff'ffff) > magnitude) --y;
  return std::bit_cast<float>(y | sign | 1);
}

/// Any number as a float that rounds to a narrower type as the number itself would.
template <class N>
constexpr float to_float_for_rounding(N x) {
  if constexpr (std::is_integral_v<N> && sizeof(N) == 8) {
    const bool is_negative = x < 0;
    std::uint64_t m = is_negative ? 0 - std::uint64_t(x) : std::uint64_t(x);
    if (m >> 53 != 0) {  // does not fit in a double: to odd here, too
      m = (m & ~std::uint64_t{0x7ff}) | (std::uint64_t{(m & 0x7ff) != 0} << 11);
    }
    const float y = round_to_odd(static_cast<double>(m));
    return is_negative ? -y : y;
  } else if constexpr (std::is_integral_v<N> || std::is_same_v<N, double> ||
                       std::is_same_v<N, long double>) {
    return round_to_odd(static_cast<double>(x));
  } else {
    return static_cast<float>(x);
  }
}

/// Arithmetic of T, a 16-bit float that converts to and from float, with _Float16's result types:
/// T with T or an integer gives T, with float or double gives the wider type. Each operation is
/// done in float and rounded once; as float has more than twice T's precision, the result is the
/// correctly rounded one. Comparisons are float's own, through the conversion.
template <class T>
struct NarrowArithmetic {
  template <class N>
  using Mixed = std::conditional_t<std::is_floating_point_v<N>, N, T>;

  friend constexpr T operator+(T a) { return a; }
  friend constexpr T operator-(T a) {
    return T::from_bits(static_cast<std::uint16_t>(a.bits ^ 0x8000));
  }

  friend constexpr T operator+(T a, T b) { return T(float(a) + float(b)); }
  friend constexpr T operator-(T a, T b) { return T(float(a) - float(b)); }
  friend constexpr T operator*(T a, T b) { return T(float(a) * float(b)); }
  friend constexpr T operator/(T a, T b) { return T(float(a) / float(b)); }

  template <class N>
    requires std::is_arithmetic_v<N>
  friend constexpr Mixed<N> operator+(T a, N b) {
    return Mixed<N>(a) + Mixed<N>(b);
  }
  template <class N>
    requires std::is_arithmetic_v<N>
  friend constexpr Mixed<N> operator+(N a, T b) {
    return Mixed<N>(a) + Mixed<N>(b);
  }
  template <class N>
    requires std::is_arithmetic_v<N>
  friend constexpr Mixed<N> operator-(T a, N b) {
    return Mixed<N>(a) - Mixed<N>(b);
  }
  template <class N>
    requires std::is_arithmetic_v<N>
  friend constexpr Mixed<N> operator-(N a, T b) {
    return Mixed<N>(a) - Mixed<N>(b);
  }
  template <class N>
    requires std::is_arithmetic_v<N>
  friend constexpr Mixed<N> operator*(T a, N b) {
    return Mixed<N>(a) * Mixed<N>(b);
  }
  template <class N>
    requires std::is_arithmetic_v<N>
  friend constexpr Mixed<N> operator*(N a, T b) {
    return Mixed<N>(a) * Mixed<N>(b);
  }
  template <class N>
    requires std::is_arithmetic_v<N>
  friend constexpr Mixed<N> operator/(T a, N b) {
    return Mixed<N>(a) / Mixed<N>(b);
  }
  template <class N>
    requires std::is_arithmetic_v<N>
  friend constexpr Mixed<N> operator/(N a, T b) {
    return Mixed<N>(a) / Mixed<N>(b);
  }

  template <class N>
    requires(std::is_arithmetic_v<N> || std::is_same_v<N, T>)
  friend constexpr T& operator+=(T& a, N b) {
    return a = T(a + b);
  }
  template <class N>
    requires(std::is_arithmetic_v<N> || std::is_same_v<N, T>)
  friend constexpr T& operator-=(T& a, N b) {
    return a = T(a - b);
  }
  template <class N>
    requires(std::is_arithmetic_v<N> || std::is_same_v<N, T>)
  friend constexpr T& operator*=(T& a, N b) {
    return a = T(a * b);
  }
  template <class N>
    requires(std::is_arithmetic_v<N> || std::is_same_v<N, T>)
  friend constexpr T& operator/=(T& a, N b) {
    return a = T(a / b);
  }
};

}  // namespace halftone::detail
