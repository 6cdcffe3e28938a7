#include "halftone/base/mx_float.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "narrow_float.hpp"

using namespace halftone;

static_assert(sizeof(float4_e2m1) == 1 && std::is_trivial_v<float4_e2m1>);
static_assert(sizeof(float8_e8m0) == 1 && std::is_trivial_v<float8_e8m0>);
static_assert(!std::is_convertible_v<float, float6_e2m3>);

namespace {

/// Every code is the number of the formula, and is what that number and numbers around it become.
template <class T>
void check_codes(int fraction_bits, int bias, float largest) {
  const unsigned sign = 1u << (T::bit_count - 1);
  for (unsigned code = 0; code < 2 * sign; ++code) {
    CAPTURE(code);
    const float x = T::from_bits(static_cast<std::uint8_t>(code));
    CHECK(std::signbit(x) == (code >= sign));
    CHECK(std::fabs(x) == narrow_float_test::value(code & (sign - 1), fraction_bits, bias));
    CHECK(T(x).bits() == code);
    if ((code & (sign - 1)) == sign - 1) continue;
    // Halfway to the next number goes to the even code.
    const float next = T::from_bits(static_cast<std::uint8_t>(code + 1));
    const float middle = (x + next) / 2;
    CHECK(T(middle).bits() == (code % 2 == 0 ? code : code + 1));
    CHECK(T(std::nextafter(middle, next)).bits() == code + 1);
  }
  CHECK(float(T::from_bits(static_cast<std::uint8_t>(sign - 1))) == largest);
  CHECK(float(T(1e30f)) == largest);
  CHECK(T(std::nanf("")).bits() == sign);
  CHECK(float(T(-std::numeric_limits<float>::infinity())) == -largest);
}

}  // namespace

TEST_CASE("mx_float: every code means what the MX specification 1.0 says") {
  check_codes<float4_e2m1>(1, 1, 6);
  check_codes<float6_e2m3>(3, 1, 7.5f);
  check_codes<float6_e3m2>(2, 3, 28);
}

TEST_CASE("mx_float: scales are powers of two") {
  for (unsigned code = 0; code < 255; ++code) {
    CAPTURE(code);
    const auto x = float8_e8m0::from_bits(static_cast<std::uint8_t>(code));
    CHECK(float(x) == std::ldexp(1.0f, static_cast<int>(code) - 127));
    for (const auto rounding : {ScaleRounding::up, ScaleRounding::down, ScaleRounding::nearest}) {
      CHECK(float8_e8m0::rounded(x, rounding, false).bits == code);
    }
    if (code == 254) continue;
    // ONNX Cast-24: up away from zero, down towards zero, nearest with ties up.
    const float between = std::ldexp(1.5f, static_cast<int>(code) - 127);
    CHECK(float8_e8m0::rounded(between, ScaleRounding::up, true).bits == code + 1);
    CHECK(float8_e8m0::rounded(between, ScaleRounding::down, true).bits == code);
    CHECK(float8_e8m0::rounded(between, ScaleRounding::nearest, true).bits == code + 1);
    const float below = std::nextafter(between, 0.0f);
    CHECK(float8_e8m0::rounded(below, ScaleRounding::nearest, true).bits == code);
  }
  CHECK(std::isnan(float(float8_e8m0::from_bits(255))));
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  // The table of ONNX Cast-24.
  CHECK(float8_e8m0(0.0f).bits == 0);
  CHECK(float8_e8m0(infinity).bits == 254);
  CHECK(float8_e8m0(nan).bits == 255);
  for (const float x : {0.0f, infinity, nan, 3.4e38f, 1e-45f}) {
    CHECK(float8_e8m0::rounded(x, ScaleRounding::nearest, false).bits == 255);
  }
  CHECK(float8_e8m0(3.4e38f).bits == 254);
  CHECK(float8_e8m0(1e-45f).bits == 0);
}
