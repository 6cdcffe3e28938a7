#pragma once

#include "halftone/base/narrow_float.hpp"

namespace halftone {

/// 8 bits with 4 exponent bits, bias 7, ONNX FLOAT8E4M3FN: no infinities, NaN is S.1111.111 only,
/// largest value 448. Only for storage: compute in float.
///
/// Numbers are rounded once, to nearest even; what then exceeds 448, infinities too, becomes +-448
/// when converted, NaN by `unsaturated` (ONNX Cast-19 with saturate = 1 and 0). NaN stays NaN.
/// source: Micikevicius et al. 2022, arXiv:2209.05433
struct float8_e4m3fn {
  std::uint8_t bits;

  float8_e4m3fn() = default;

  template <class N>
    requires(std::is_convertible_v<N, float> && !std::is_same_v<N, float8_e4m3fn>)
  constexpr explicit float8_e4m3fn(N x) : bits(encode(detail::to_float_for_rounding(x), 0x7e)) {}

  template <class N>
    requires std::is_convertible_v<N, float>
  static constexpr float8_e4m3fn unsaturated(N x) {
    return from_bits(encode(detail::to_float_for_rounding(x), 0x7f));
  }

  static constexpr float8_e4m3fn from_bits(std::uint8_t bits) {
    float8_e4m3fn x(0);
    x.bits = bits;
    return x;
  }

  constexpr operator float() const {
    const std::uint32_t code = bits & 0x7f;
    const std::uint32_t value =
        code == 0x7f ? 0x7fc0'0000
                     : std::bit_cast<std::uint32_t>(detail::widen_magnitude<format>(code));
    return std::bit_cast<float>(((std::uint32_t{bits} & 0x80) << 24) | value);
  }

 private:
  static constexpr detail::FloatFormat format{.fraction_bits = 3, .bias = 7};

  static constexpr std::uint8_t encode(float x, std::uint32_t overflow) {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
    const bool is_nan = (u & 0x7fff'ffff) > detail::float_infinity_bits;
    const std::uint32_t rounded = detail::round_magnitude<format>(x);
    const std::uint32_t code = is_nan ? 0x7f : rounded > 0x7e ? overflow : rounded;
    return static_cast<std::uint8_t>(((u >> 24) & 0x80) | code);
  }
};

/// 8 bits with 5 exponent bits, bias 15, ONNX FLOAT8E5M2: IEEE 754's infinities and NaN, largest
/// finite value 57344. Only for storage: compute in float.
///
/// Numbers are rounded once, to nearest even; what then exceeds 57344, infinities too, becomes
/// +-57344 when converted, infinity by `unsaturated` (ONNX Cast-19 with saturate = 1 and 0). NaN
/// stays NaN. source: Micikevicius et al. 2022, arXiv:2209.05433
struct float8_e5m2 {
  std::uint8_t bits;

  float8_e5m2() = default;

  template <class N>
    requires(std::is_convertible_v<N, float> && !std::is_same_v<N, float8_e5m2>)
  constexpr explicit float8_e5m2(N x) : bits(encode(detail::to_float_for_rounding(x), 0x7b)) {}

  template <class N>
    requires std::is_convertible_v<N, float>
  static constexpr float8_e5m2 unsaturated(N x) {
    return from_bits(encode(detail::to_float_for_rounding(x), 0x7c));
  }

  static constexpr float8_e5m2 from_bits(std::uint8_t bits) {
    float8_e5m2 x(0);
    x.bits = bits;
    return x;
  }

  constexpr operator float() const {
    const std::uint32_t code = bits & 0x7f;
    const std::uint32_t finite =
        std::bit_cast<std::uint32_t>(detail::widen_magnitude<format>(code));
    const std::uint32_t special =
        detail::float_infinity_bits | (code > 0x7c ? 0x0040'0000 | ((code & 3) << 21) : 0);
    return std::bit_cast<float>(((std::uint32_t{bits} & 0x80) << 24) |
                                (code < 0x7c ? finite : special));
  }

 private:
  static constexpr detail::FloatFormat format{.fraction_bits = 2, .bias = 15};

  static constexpr std::uint8_t encode(float x, std::uint32_t overflow) {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
    const bool is_nan = (u & 0x7fff'ffff) > detail::float_infinity_bits;
    const std::uint32_t rounded = detail::round_magnitude<format>(x);
    const std::uint32_t code = is_nan ? 0x7f : rounded > 0x7b ? overflow : rounded;
    return static_cast<std::uint8_t>(((u >> 24) & 0x80) | code);
  }
};

namespace detail {

/// The formats of the IPU, FLOAT8_143 and FLOAT8_152, which ONNX calls FNUZ: one zero, no
/// infinities, and the code that would be the negative zero is the only NaN. Only for storage:
/// compute in float.
///
/// Numbers are rounded once, to nearest even; what then exceeds the largest value, infinities too,
/// becomes +-that value when converted, NaN by `unsaturated` (ONNX Cast-19, saturate = 1 and 0).
/// source: Noune et al. 2022, arXiv:2206.02915
template <class T, int FractionBits>
struct Float8Fnuz {
  std::uint8_t bits;

  Float8Fnuz() = default;

  template <class N>
    requires(std::is_convertible_v<N, float> && !std::is_same_v<N, T>)
  constexpr explicit Float8Fnuz(N x) : bits(encode(to_float_for_rounding(x), largest)) {}

  template <class N>
    requires std::is_convertible_v<N, float>
  static constexpr T unsaturated(N x) {
    return from_bits(encode(to_float_for_rounding(x), nan));
  }

  static constexpr T from_bits(std::uint8_t bits) {
    T x(0);
    x.bits = bits;
    return x;
  }

  constexpr operator float() const {
    const std::uint32_t value = std::bit_cast<std::uint32_t>(widen_magnitude<format>(bits & 0x7f));
    return std::bit_cast<float>(bits == nan ? 0x7fc0'0000
                                            : ((std::uint32_t{bits} & 0x80) << 24) | value);
  }

 private:
  static constexpr FloatFormat format{.fraction_bits = FractionBits, .bias = 64 >> FractionBits};
  static constexpr std::uint32_t largest = 0x7f, nan = 0x80;

  static constexpr std::uint8_t encode(float x, std::uint32_t overflow) {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
    const bool is_nan = (u & 0x7fff'ffff) > float_infinity_bits;
    const std::uint32_t rounded = round_magnitude<format>(x);
    const std::uint32_t code = is_nan ? nan : rounded > largest ? overflow : rounded;
    return static_cast<std::uint8_t>(code == 0 ? 0 : ((u >> 24) & 0x80) | code);
  }
};

}  // namespace detail

/// 4 exponent bits, bias 8, largest value 240.
struct float8_e4m3fnuz : detail::Float8Fnuz<float8_e4m3fnuz, 3> {
  float8_e4m3fnuz() = default;
  using Float8Fnuz::Float8Fnuz;
};
/// 5 exponent bits, bias 16, largest value 57344.
struct float8_e5m2fnuz : detail::Float8Fnuz<float8_e5m2fnuz, 2> {
  float8_e5m2fnuz() = default;
  using Float8Fnuz::Float8Fnuz;
};

}  // namespace halftone
