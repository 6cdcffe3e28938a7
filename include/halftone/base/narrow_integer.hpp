#pragma once

#include <cstdint>
#include <type_traits>

namespace halftone {

namespace detail {

/// An integer of 4 or 2 bits, which takes a byte of its own in memory; files hold it packed. Only
/// for storage: compute in a wider type.
///
/// Of integers the low bits stay, also of those that floating-point numbers are cut off to; NaN is
/// 0 (ONNX Cast, whose reference has it so).
template <class T, int Bits, bool IsSigned>
struct NarrowInteger {
  using Value = std::conditional_t<IsSigned, std::int8_t, std::uint8_t>;
  static constexpr int lowest = IsSigned ? -(1 << (Bits - 1)) : 0;
  static constexpr int largest = IsSigned ? (1 << (Bits - 1)) - 1 : (1 << Bits) - 1;
  static constexpr int bit_count = Bits;

  Value value;

  NarrowInteger() = default;
  template <class N>
    requires(std::is_convertible_v<N, float> && !std::is_same_v<N, T>)
  constexpr explicit NarrowInteger(N x) : value(convert(x)) {}

  /// The element whose code, the low bits of `code`, a file has.
  static constexpr T from_bits(std::uint8_t code) { return T(static_cast<int>(code)); }
  constexpr std::uint8_t bits() const {
    return static_cast<std::uint8_t>(static_cast<std::uint8_t>(value) & ((1 << Bits) - 1));
  }
  constexpr operator float() const { return static_cast<float>(value); }

 private:
  template <class N>
  static constexpr Value convert(N x) {
    if constexpr (std::is_integral_v<N>) {
      const int low = static_cast<int>(static_cast<std::uint64_t>(x) & ((1u << Bits) - 1));
      return static_cast<Value>(low > largest ? low - (1 << Bits) : low);
    } else {
      const auto v = static_cast<float>(x);
      const bool fits = v > -0x1p31f && v < 0x1p31f;  // NaN does not
      return convert(fits ? static_cast<int>(v) : 0);
    }
  }
};

}  // namespace detail

/// -8 to 7.
struct int4 : detail::NarrowInteger<int4, 4, true> {
  int4() = default;
  using NarrowInteger::NarrowInteger;
};
/// 0 to 15.
struct uint4 : detail::NarrowInteger<uint4, 4, false> {
  uint4() = default;
  using NarrowInteger::NarrowInteger;
};
/// -2 to 1.
struct int2 : detail::NarrowInteger<int2, 2, true> {
  int2() = default;
  using NarrowInteger::NarrowInteger;
};
/// 0 to 3.
struct uint2 : detail::NarrowInteger<uint2, 2, false> {
  uint2() = default;
  using NarrowInteger::NarrowInteger;
};

}  // namespace halftone
