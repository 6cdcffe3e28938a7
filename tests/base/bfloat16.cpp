#include "halftone/base/bfloat16.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "halftone/base/half.hpp"
#include "narrow_float.hpp"

using halftone::bfloat16;

static_assert(sizeof(bfloat16) == 2 && std::is_trivial_v<bfloat16>);
static_assert(std::is_convertible_v<float, bfloat16> && std::is_convertible_v<bfloat16, float>);
static_assert(bfloat16(1.5f).bits == 0x3fc0);
static_assert(std::is_same_v<decltype(1 - bfloat16(1)), bfloat16>);
static_assert(std::is_same_v<decltype(bfloat16(1) * 1.0f), float>);
static_assert(std::is_same_v<decltype(1.0 / bfloat16(1)), double>);

template <bfloat16 x>
constexpr float bfloat16_argument = x;
static_assert(bfloat16_argument<bfloat16(0.25f)> == 0.25f);

TEST_CASE("bfloat16: every code is the upper half of a float") {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const float x = bfloat16::from_bits(static_cast<std::uint16_t>(code));
    const std::uint32_t magnitude = code & 0x7fff;
    REQUIRE(std::signbit(x) == (code >= 0x8000));
    if (magnitude > 0x7f80) {
      REQUIRE(std::isnan(x));
      REQUIRE(std::isnan(static_cast<float>(bfloat16(x))));
    } else {
      const double value = magnitude == 0x7f80 ? std::numeric_limits<double>::infinity()
                                               : narrow_float_test::value(magnitude, 7, 127);
      REQUIRE(std::fabs(x) == value);
      REQUIRE(bfloat16(x).bits == code);
    }
  }
}

TEST_CASE("bfloat16: float and double are rounded once, to nearest even") {
  narrow_float_test::check_rounding(
      {.fraction_bits = 7, .bias = 127, .largest = 0x7f7f, .overflow = 0x7f80, .sign = 0x8000},
      [](auto x) -> std::uint32_t { return bfloat16(x).bits; });
}

TEST_CASE("bfloat16: NaN stays NaN, whatever bits are cut off") {
  for (const std::uint32_t nan : {0x7f80'0001u, 0xff80'0001u, 0x7fc0'0000u, 0xffff'ffffu}) {
    const std::uint16_t code = bfloat16(std::bit_cast<float>(nan)).bits;
    CHECK((code & 0x7fff) > 0x7f80);
    CHECK((code & 0x8000) == (nan >> 16 & 0x8000));
  }
  CHECK(std::isnan(static_cast<float>(bfloat16(std::numeric_limits<double>::quiet_NaN()))));
}

TEST_CASE("bfloat16: integers are rounded once") {
  // At 2^n the last place is 2^(n - 7): 2^n + 2^(n - 8) is the middle, 2^n is even. One more must
  // go up even where float and double cannot hold it.
  for (int n = 9; n < 63; ++n) {
    const std::int64_t power = std::int64_t{1} << n;
    const std::int64_t middle = power + (power >> 8);
    const double next = std::ldexp(1.0, n) + std::ldexp(1.0, n - 7);
    CHECK(bfloat16(middle) == static_cast<double>(power));
    CHECK(bfloat16(middle - 1) == static_cast<double>(power));
    CHECK(bfloat16(middle + 1) == next);
    CHECK(bfloat16(-middle) == -static_cast<double>(power));
    CHECK(bfloat16(-middle - 1) == -next);
  }
  CHECK(bfloat16(std::numeric_limits<std::int64_t>::min()) == -0x1p63);
  CHECK(bfloat16(std::numeric_limits<std::uint64_t>::max()) == 0x1p64);
  CHECK(bfloat16(false) == 0);
}

TEST_CASE("bfloat16: arithmetic is float's, rounded") {
  int failures = 0;
  const auto same = [](bfloat16 x, double exact) {
    return std::isnan(exact) ? std::isnan(static_cast<float>(x)) : x.bits == bfloat16(exact).bits;
  };
  for (std::uint32_t a = 0; a < 0x10000; ++a) {
    const bfloat16 x = bfloat16::from_bits(static_cast<std::uint16_t>(a));
    const double x_wide = x;
    failures += !same(-x, -x_wide);
    for (std::uint32_t i = 0; i < 12; ++i) {
      const bfloat16 y = bfloat16::from_bits(static_cast<std::uint16_t>(i * 5461 + a * 40503));
      const double y_wide = y;
      // In double, products are exact and quotients too close to be rounded wrongly. Sums are
      // exact unless the exponents are far apart, and then far from any middle.
      failures += !same(x + y, x_wide + y_wide);
      failures += !same(x - y, x_wide - y_wide);
      failures += !same(x * y, x_wide * y_wide);
      if (y_wide != 0) failures += !same(x / y, x_wide / y_wide);
      failures += (x < y) != (x_wide < y_wide);
      failures += (x >= y) != (x_wide >= y_wide);
      failures += (x != y) != (x_wide != y_wide);
    }
  }
  CHECK(failures == 0);
}

TEST_CASE("bfloat16: compound assignment, other narrow types") {
  bfloat16 x = 256;
  x += 1;  // 257 is the middle: back to even
  CHECK(x == 256);
  x += bfloat16(2);
  CHECK(x == 258);
  x -= 2.0f;
  x *= 3;
  x /= 2.0;
  CHECK(x == 384);
  CHECK(static_cast<bfloat16>(static_cast<halftone::half>(0.5f)) == 0.5f);
  CHECK(static_cast<float>(static_cast<halftone::half>(bfloat16(0.5f))) == 0.5f);
}
