#include "halftone/base/float8.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "halftone/base/bfloat16.hpp"
#include "halftone/base/half.hpp"
#include "narrow_float.hpp"

using halftone::float8_e4m3fn;
using halftone::float8_e4m3fnuz;
using halftone::float8_e5m2;
using halftone::float8_e5m2fnuz;
using halftone::half;

static_assert(sizeof(float8_e4m3fn) == 1 && std::is_trivial_v<float8_e4m3fn>);
static_assert(sizeof(float8_e5m2) == 1 && std::is_trivial_v<float8_e5m2>);
static_assert(sizeof(float8_e4m3fnuz) == 1 && std::is_trivial_v<float8_e4m3fnuz>);
static_assert(!std::is_convertible_v<float, float8_e4m3fn>);

template <float8_e4m3fn x>
constexpr float float8_argument = x;
static_assert(float8_argument<float8_e4m3fn(0.25f)> == 0.25f);
template <float8_e5m2fnuz x>
constexpr float as_other_argument = x;
static_assert(as_other_argument<float8_e5m2fnuz(0.25f)> == 0.25f);

TEST_CASE("float8_e4m3fn: every code means what the paper says") {
  for (std::uint32_t code = 0; code < 0x100; ++code) {
    const float x = float8_e4m3fn::from_bits(static_cast<std::uint8_t>(code));
    const std::uint32_t magnitude = code & 0x7f;
    CHECK(std::signbit(x) == (code >= 0x80));
    if (magnitude == 0x7f) {
      CHECK(std::isnan(x));
    } else {
      CHECK(std::fabs(x) == narrow_float_test::value(magnitude, 3, 7));
    }
    CHECK(float8_e4m3fn(x).bits == code);
    CHECK(float8_e4m3fn::unsaturated(x).bits == code);
  }
  // arXiv:2209.05433, table 1.
  CHECK(float8_e4m3fn::from_bits(0b0'1111'110) == 448);
  CHECK(float8_e4m3fn::from_bits(0b0'0001'000) == 0x1p-6f);
  CHECK(float8_e4m3fn::from_bits(0b0'0000'111) == 0.875f * 0x1p-6f);
  CHECK(float8_e4m3fn::from_bits(0b0'0000'001) == 0x1p-9f);
}

TEST_CASE("float8_e5m2: every code means what the paper says") {
  for (std::uint32_t code = 0; code < 0x100; ++code) {
    const float x = float8_e5m2::from_bits(static_cast<std::uint8_t>(code));
    const std::uint32_t magnitude = code & 0x7f;
    CHECK(std::signbit(x) == (code >= 0x80));
    if (magnitude > 0x7c) {
      CHECK(std::isnan(x));
      CHECK(std::isnan(static_cast<float>(float8_e5m2(x))));
      CHECK(std::isnan(static_cast<float>(float8_e5m2::unsaturated(x))));
    } else if (magnitude == 0x7c) {
      CHECK(std::fabs(x) == std::numeric_limits<float>::infinity());
      CHECK(float8_e5m2(x).bits == code - 1);
      CHECK(float8_e5m2::unsaturated(x).bits == code);
    } else {
      CHECK(std::fabs(x) == narrow_float_test::value(magnitude, 2, 15));
      CHECK(float8_e5m2(x).bits == code);
      CHECK(float8_e5m2::unsaturated(x).bits == code);
    }
  }
  // arXiv:2209.05433, table 1.
  CHECK(float8_e5m2::from_bits(0b0'11110'11) == 57344);
  CHECK(float8_e5m2::from_bits(0b0'00001'00) == 0x1p-14f);
  CHECK(float8_e5m2::from_bits(0b0'00000'11) == 0.75f * 0x1p-14f);
  CHECK(float8_e5m2::from_bits(0b0'00000'01) == 0x1p-16f);
}

TEST_CASE("float8: rounded once, to nearest even, saturated or not as in ONNX Cast-19") {
  const auto saturated = [](auto type) {
    return [](auto x) -> std::uint32_t { return decltype(type)(x).bits; };
  };
  const auto unsaturated = [](auto type) {
    return [](auto x) -> std::uint32_t { return decltype(type)::unsaturated(x).bits; };
  };
  narrow_float_test::Rounding e4m3{
      .fraction_bits = 3, .bias = 7, .largest = 0x7e, .overflow = 0x7e, .sign = 0x80};
  narrow_float_test::check_rounding(e4m3, saturated(float8_e4m3fn{}));
  e4m3.overflow = 0x7f;
  narrow_float_test::check_rounding(e4m3, unsaturated(float8_e4m3fn{}));

  narrow_float_test::Rounding e5m2{
      .fraction_bits = 2, .bias = 15, .largest = 0x7b, .overflow = 0x7b, .sign = 0x80};
  narrow_float_test::check_rounding(e5m2, saturated(float8_e5m2{}));
  e5m2.overflow = 0x7c;
  narrow_float_test::check_rounding(e5m2, unsaturated(float8_e5m2{}));
}

TEST_CASE_TEMPLATE("float8 of the IPU: every code, and numbers between", T, float8_e4m3fnuz,
                   float8_e5m2fnuz) {
  const int fraction_bits = std::is_same_v<T, float8_e4m3fnuz> ? 3 : 2;
  const int bias = fraction_bits == 3 ? 8 : 16;
  for (std::uint32_t code = 0; code < 0x100; ++code) {
    const float x = T::from_bits(static_cast<std::uint8_t>(code));
    CHECK(T(x).bits == code);
    CHECK(T::unsaturated(x).bits == code);
    if (code == 0x80) {
      CHECK(std::isnan(x));
      continue;
    }
    CHECK(std::signbit(x) == (code > 0x80));
    CHECK(std::fabs(x) == narrow_float_test::value(code & 0x7f, fraction_bits, bias));
  }
  // Graphcore's documentation of the formats: smallest and largest numbers, the code of 0.75.
  CHECK(T::from_bits(1) == (fraction_bits == 3 ? 0x1p-10f : 0x1p-17f));
  CHECK(T::from_bits(0x7f) == (fraction_bits == 3 ? 240 : 57344));
  CHECK(float8_e4m3fnuz(0.75f).bits == 0x3c);

  // Rounding: a number between two neighbours goes to the nearer one, from the middle to the even.
  for (std::uint32_t code = 0; code < 0x7f; ++code) {
    const auto at = [&](std::uint32_t c) {
      return static_cast<double>(T::from_bits(static_cast<std::uint8_t>(c)));
    };
    const double middle = (at(code) + at(code + 1)) / 2;
    const std::uint32_t even = code % 2 == 0 ? code : code + 1;
    CHECK(T(middle).bits == even);
    CHECK(T(std::nextafter(middle, 0)).bits == code);
    CHECK(T(std::nextafter(middle, 1e9)).bits == code + 1);
    CHECK(T(-middle).bits == (even == 0 ? 0 : even | 0x80));
    CHECK(T(-std::nextafter(middle, 1e9)).bits == ((code + 1) | 0x80));
  }
  CHECK(T(-0.0f).bits == 0);
  CHECK(T(-1e-30f).bits == 0);
  for (const float large : {61440.f, 1e9f, std::numeric_limits<float>::infinity()}) {
    CHECK(T(large).bits == 0x7f);
    CHECK(T(-large).bits == 0xff);
    CHECK(T::unsaturated(large).bits == 0x80);
    CHECK(T::unsaturated(-large).bits == 0x80);
  }
}

TEST_CASE_TEMPLATE("float8: NaN stays NaN, saturated or not", T, float8_e4m3fn, float8_e5m2,
                   float8_e4m3fnuz, float8_e5m2fnuz) {
  for (const std::uint32_t nan : {0x7f80'0001u, 0xff80'0001u, 0x7fc0'0000u, 0xffff'ffffu}) {
    const float x = std::bit_cast<float>(nan);
    CHECK(std::isnan(static_cast<float>(T(x))));
    CHECK(std::isnan(static_cast<float>(T::unsaturated(x))));
  }
}

TEST_CASE_TEMPLATE("float8: from half as from float", T, float8_e4m3fn, float8_e5m2,
                   float8_e4m3fnuz, float8_e5m2fnuz) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const half x = std::bit_cast<half>(static_cast<std::uint16_t>(code));
    REQUIRE(T(x).bits == T(static_cast<float>(x)).bits);
    REQUIRE(T::unsaturated(x).bits == T::unsaturated(static_cast<float>(x)).bits);
  }
  CHECK(T(halftone::bfloat16(3)) == 3);
  CHECK(T(float8_e5m2(3.0f)) == 3);
  CHECK(T(-1) == -1);
}
