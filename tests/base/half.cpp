#include "halftone/base/half.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "narrow_float.hpp"

using halftone::half;
using halftone::detail::float_to_half_bits;
using halftone::detail::half_bits_to_float;
using halftone::detail::SoftwareHalf;

static_assert(sizeof(half) == 2 && std::is_trivially_copyable_v<half>);
static_assert(sizeof(SoftwareHalf) == 2 && std::is_trivial_v<SoftwareHalf>);
static_assert(std::is_convertible_v<float, half> && std::is_convertible_v<half, float>);
static_assert(SoftwareHalf(1.5f).bits == 0x3e00);
static_assert(SoftwareHalf(2) * 3 - 0.5f == 5.5f);
static_assert((-SoftwareHalf(0)).bits == 0x8000);

template <SoftwareHalf x>
constexpr float half_argument = x;
static_assert(half_argument<SoftwareHalf(0.25f)> == 0.25f);

TEST_CASE("half: every code means what IEEE 754 says") {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const float x = half_bits_to_float(static_cast<std::uint16_t>(code));
    const std::uint32_t magnitude = code & 0x7fff;
    REQUIRE(std::signbit(x) == (code >= 0x8000));
    if (magnitude > 0x7c00) {
      REQUIRE(std::isnan(x));
      REQUIRE(std::isnan(half_bits_to_float(float_to_half_bits(x))));
    } else {
      const double value = magnitude == 0x7c00 ? std::numeric_limits<double>::infinity()
                                               : narrow_float_test::value(magnitude, 10, 15);
      REQUIRE(std::fabs(x) == value);
      REQUIRE(float_to_half_bits(x) == code);
    }
  }
}

TEST_CASE("half: float and double are rounded once, to nearest even") {
  narrow_float_test::check_rounding(
      {.fraction_bits = 10, .bias = 15, .largest = 0x7bff, .overflow = 0x7c00, .sign = 0x8000},
      [](auto x) -> std::uint32_t { return SoftwareHalf(x).bits; });
  narrow_float_test::check_rounding(
      {.fraction_bits = 10, .bias = 15, .largest = 0x7bff, .overflow = 0x7c00, .sign = 0x8000},
      [](auto x) -> std::uint32_t { return std::bit_cast<std::uint16_t>(static_cast<half>(x)); });
}

TEST_CASE("half: NaN stays NaN, integers are rounded") {
  for (const std::uint32_t nan : {0x7f80'0001u, 0xff80'0001u, 0x7fc0'0000u, 0xffff'ffffu}) {
    const std::uint16_t code = float_to_half_bits(std::bit_cast<float>(nan));
    CHECK((code & 0x7fff) > 0x7c00);
    CHECK((code & 0x8000) == (nan >> 16 & 0x8000));
  }
  CHECK(std::isnan(static_cast<float>(SoftwareHalf(std::numeric_limits<double>::quiet_NaN()))));
  // Above 2048 the last place is 2, so 2049 and 2051 lie in the middle.
  CHECK(SoftwareHalf(2049) == 2048);
  CHECK(SoftwareHalf(-2051) == -2052);
  CHECK(SoftwareHalf(std::int64_t{65519}) == 65504);
  CHECK(SoftwareHalf(std::int64_t{65520}) == std::numeric_limits<float>::infinity());
  CHECK(SoftwareHalf(std::numeric_limits<std::int64_t>::min()) ==
        -std::numeric_limits<float>::infinity());
  CHECK(SoftwareHalf(true) == 1);
}

#ifdef __FLT16_MANT_DIG__
namespace {

bool same(SoftwareHalf x, _Float16 y) {
  const float wide = y;
  return std::isnan(wide) ? std::isnan(static_cast<float>(x))
                          : x.bits == std::bit_cast<std::uint16_t>(y);
}

}  // namespace

TEST_CASE("half: the software class equals the compiler's _Float16") {
  static_assert(std::is_same_v<decltype(SoftwareHalf(1) + 1), SoftwareHalf>);
  static_assert(std::is_same_v<decltype(_Float16(1) + 1), _Float16>);
  static_assert(std::is_same_v<decltype(SoftwareHalf(1) + 1.0f), float>);
  static_assert(std::is_same_v<decltype(_Float16(1) + 1.0f), float>);
  static_assert(std::is_same_v<decltype(1.0 / SoftwareHalf(1)), double>);
  static_assert(std::is_same_v<decltype(1.0 / _Float16(1)), double>);

  int failures = 0;
  for (std::uint32_t a = 0; a < 0x10000; ++a) {
    const SoftwareHalf x = SoftwareHalf::from_bits(static_cast<std::uint16_t>(a));
    const _Float16 x_native = std::bit_cast<_Float16>(x.bits);
    const float wide = x_native;
    failures += !(std::isnan(wide) ? std::isnan(static_cast<float>(x)) : wide == float(x));
    failures += !same(-x, -x_native);
    // 12 partners from all over, others for each x: 0x10000 / 12 apart, shifted by an odd number.
    for (std::uint32_t i = 0; i < 12; ++i) {
      const std::uint16_t b = static_cast<std::uint16_t>(i * 5461 + a * 40503);
      const SoftwareHalf y = SoftwareHalf::from_bits(b);
      const _Float16 y_native = std::bit_cast<_Float16>(b);
      failures += !same(x + y, x_native + y_native);
      failures += !same(x - y, x_native - y_native);
      failures += !same(x * y, x_native * y_native);
      failures += !same(x / y, x_native / y_native);
      failures += (x < y) != (x_native < y_native);
      failures += (x <= y) != (x_native <= y_native);
      failures += (x == y) != (x_native == y_native);
    }
  }
  CHECK(failures == 0);
}
#endif

TEST_CASE("half: compound assignment rounds after every step") {
  SoftwareHalf x(2048);
  x += 1;  // 2049 is the middle: back to even
  CHECK(x == 2048);
  x += SoftwareHalf(2);
  CHECK(x == 2050);
  x *= 2.0f;
  x -= 100;
  x /= 2;
  CHECK(x == 2000);
}
