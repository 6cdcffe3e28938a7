#pragma once

#include "halftone/base/narrow_float.hpp"

namespace halftone {

/// The upper half of a float, ONNX bfloat16: 8 exponent and 7 fraction bits.
///
/// Numbers convert implicitly and are rounded once, to nearest even; overflow gives infinity, NaN
/// stays NaN. Arithmetic is done in float; result types as with _Float16: with bfloat16 or an
/// integer bfloat16, with float or double the wider type.
struct bfloat16 : detail::NarrowArithmetic<bfloat16> {
  std::uint16_t bits;

  bfloat16() = default;

  template <class N>
    requires(std::is_convertible_v<N, float> && !std::is_same_v<N, bfloat16>)
  constexpr explicit(!std::is_arithmetic_v<N>) bfloat16(N x)
      : bits(encode(detail::to_float_for_rounding(x))) {}

  static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 x(0);
    x.bits = bits;
    return x;
  }

  constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

 private:
  static constexpr std::uint16_t encode(float x) {
    constexpr detail::FloatFormat format{.fraction_bits = 7, .bias = 127};
    const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
    const bool is_nan = (u & 0x7fff'ffff) > detail::float_infinity_bits;
    const std::uint32_t code =
        is_nan ? ((u >> 16) & 0x7fff) | 0x40 : detail::round_magnitude<format>(x);
    return static_cast<std::uint16_t>(((u >> 16) & 0x8000) | code);
  }
};

}  // namespace halftone
