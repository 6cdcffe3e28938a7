#pragma once

#include <span>
#include <string_view>

#include "halftone/base/narrow_float.hpp"

// The formats of the Open Compute Project's Microscaling (MX) specification 1.0 that are not in
// float8.hpp. They are only for storage: compute in float.
namespace halftone {

namespace detail {

/// A sign, an exponent and a fraction, without infinities and NaN, in the low bits of a byte.
///
/// Numbers are rounded once, to nearest even; what then exceeds the largest value, infinities too,
/// becomes +-that value. NaN becomes -0, as the reference of ONNX Cast has it.
template <class T, int ExponentBits, int FractionBits>
struct MxFloat {
  static constexpr int bit_count = 1 + ExponentBits + FractionBits;

  std::uint8_t code;

  MxFloat() = default;

  template <class N>
    requires(std::is_convertible_v<N, float> && !std::is_same_v<N, T>)
  constexpr explicit MxFloat(N x) : code(encode(to_float_for_rounding(x))) {}

  /// The same as the conversion: there is nothing beyond the largest value.
  template <class N>
    requires std::is_convertible_v<N, float>
  static constexpr T unsaturated(N x) {
    return T(x);
  }
  static constexpr T from_bits(std::uint8_t bits) {
    T x(0);
    x.code = static_cast<std::uint8_t>(bits & (2 * sign - 1));
    return x;
  }
  constexpr std::uint8_t bits() const { return code; }

  constexpr operator float() const {
    const float magnitude = widen_magnitude<format>(code & (sign - 1));
    return (code & sign) != 0 ? -magnitude : magnitude;
  }

 private:
  static constexpr std::uint32_t sign = 1u << (ExponentBits + FractionBits);
  static constexpr FloatFormat format{.fraction_bits = FractionBits,
                                      .bias = (1 << (ExponentBits - 1)) - 1};

  static constexpr std::uint8_t encode(float x) {
    const std::uint32_t rounded = round_magnitude<format>(x);
    const std::uint32_t magnitude = rounded < sign ? rounded : sign - 1;
    if (!(x == x)) return static_cast<std::uint8_t>(sign);
    return static_cast<std::uint8_t>((std::bit_cast<std::uint32_t>(x) >> 31) * sign | magnitude);
  }
};

}  // namespace detail

/// 0, 0.5, 1, 1.5, 2, 3, 4 and 6, with a sign.
struct float4_e2m1 : detail::MxFloat<float4_e2m1, 2, 1> {
  float4_e2m1() = default;
  using MxFloat::MxFloat;
};
/// Multiples of 1/8 up to 7.5 in magnitude.
struct float6_e2m3 : detail::MxFloat<float6_e2m3, 2, 3> {
  float6_e2m3() = default;
  using MxFloat::MxFloat;
};
/// Multiples of 1/16 up to 28 in magnitude.
struct float6_e3m2 : detail::MxFloat<float6_e3m2, 3, 2> {
  float6_e3m2() = default;
  using MxFloat::MxFloat;
};

/// How a number becomes a power of two (the attribute round_mode of ONNX Cast-24): `up` away from
/// zero, `down` towards zero, `nearest` with ties up.
enum class ScaleRounding : std::uint8_t { up, down, nearest };
namespace detail {
inline constexpr std::string_view scale_rounding_names[] = {"up", "down", "nearest"};
}
constexpr std::span<const std::string_view> names_of(ScaleRounding) {
  return detail::scale_rounding_names;
}

/// A scale: a power of two from 2^-127 to 2^127, or NaN (code 255), ONNX FLOAT8E8M0.
///
/// A conversion rounds up, and what is out of range, 0 too, becomes the nearest end of the range.
/// Negative numbers are NaN.
struct float8_e8m0 {
  std::uint8_t bits;

  float8_e8m0() = default;

  template <class N>
    requires(std::is_convertible_v<N, float> && !std::is_same_v<N, float8_e8m0>)
  constexpr explicit float8_e8m0(N x)
      : bits(rounded(detail::to_float_for_rounding(x), ScaleRounding::up, true).bits) {}

  template <class N>
    requires std::is_convertible_v<N, float>
  static constexpr float8_e8m0 unsaturated(N x) {
    return rounded(detail::to_float_for_rounding(x), ScaleRounding::up, false);
  }
  static constexpr float8_e8m0 from_bits(std::uint8_t bits) {
    float8_e8m0 x{};
    x.bits = bits;
    return x;
  }
  /// With `saturate` false, what is out of range becomes NaN.
  static constexpr float8_e8m0 rounded(float x, ScaleRounding rounding, bool saturate) {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
    if (u > detail::float_infinity_bits) return from_bits(u == 0x8000'0000 && saturate ? 0 : nan);
    // The power of two below, and what lies above it in units of it, of 2^-23 (2^-22 for 2^-127).
    std::uint32_t code = u >> 23, rest = u & 0x7f'ffff, middle = 0x40'0000;
    if (code == 0) {
      if (rest < middle) return from_bits(saturate ? 0 : nan);
      rest -= middle;
      middle >>= 1;
    }
    const bool goes_up = rounding == ScaleRounding::up        ? rest != 0
                         : rounding == ScaleRounding::nearest ? rest >= middle
                                                              : false;
    code += goes_up ? 1 : 0;
    if (code >= nan) return from_bits(saturate ? nan - 1 : nan);
    return from_bits(static_cast<std::uint8_t>(code));
  }

  constexpr operator float() const {
    if (bits == nan) return std::bit_cast<float>(0x7fc0'0000u);
    return std::bit_cast<float>(bits == 0 ? 0x0040'0000u : std::uint32_t{bits} << 23);
  }

 private:
  static constexpr std::uint8_t nan = 255;
};

}  // namespace halftone
