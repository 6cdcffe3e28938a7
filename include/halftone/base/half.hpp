#pragma once

#include "halftone/base/narrow_float.hpp"

namespace halftone {

namespace detail {

inline constexpr FloatFormat half_format{.fraction_bits = 10, .bias = 15};

/// IEEE 754 binary16 code of x, rounded to nearest even; |x| >= 65520 is infinity, NaN stays NaN.
/// Without branches, so that loops over it become vector code where there is no F16C.
constexpr std::uint16_t float_to_half_bits(float x) {
  const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = u & 0x7fff'ffff;
  const std::uint32_t rounded = round_magnitude<half_format>(x);
  const std::uint32_t finite = select_bits(rounded < 0x7c00, rounded, 0x7c00);
  const std::uint32_t nan = 0x7e00 | ((magnitude >> 13) & 0x1ff);
  const std::uint32_t code = select_bits(magnitude > float_infinity_bits, nan, finite);
  return static_cast<std::uint16_t>(((u >> 16) & 0x8000) | code);
}

/// The float of a binary16 code; exact, NaN becomes quiet.
constexpr float half_bits_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (std::uint32_t{bits} & 0x8000) << 16;
  const std::uint32_t code = bits & 0x7fff;
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(widen_magnitude<half_format>(code));
  const std::uint32_t quiet = select_bits(code > 0x7c00, 0x0040'0000, 0);
  const std::uint32_t special = float_infinity_bits | ((code & 0x3ff) << 13) | quiet;
  return std::bit_cast<float>(sign | select_bits(code >= 0x7c00, special, finite));
}

/// `half` for compilers without _Float16: same size, values, rounding and result types.
struct SoftwareHalf : NarrowArithmetic<SoftwareHalf> {
  std::uint16_t bits;

  SoftwareHalf() = default;

  template <class N>
    requires(std::is_convertible_v<N, float> && !std::is_same_v<N, SoftwareHalf>)
  constexpr explicit(!std::is_arithmetic_v<N>) SoftwareHalf(N x)
      : bits(float_to_half_bits(to_float_for_rounding(x))) {}

  static constexpr SoftwareHalf from_bits(std::uint16_t bits) {
    SoftwareHalf x(0);
    x.bits = bits;
    return x;
  }

  constexpr operator float() const { return half_bits_to_float(bits); }
};

}  // namespace detail

/// IEEE 754 binary16, ONNX float16. Converts from and to float implicitly.
#if defined(__FLT16_MANT_DIG__) && !defined(HALFTONE_SOFTWARE_HALF)
using half = _Float16;
#else
using half = detail::SoftwareHalf;
#endif

}  // namespace halftone
