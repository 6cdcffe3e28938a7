#include <halftone/base/math.hpp>

#include <doctest/doctest.h>
#include <halftone/base/element_type.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

using namespace halftone;

static_assert(math::pow(3, 4) == 81 && math::pow(std::int8_t{-1}, -3) == -1);
static_assert(math::pow(2, 0) == 1 && math::pow(0, 0) == 1 && math::pow(5, -1) == 0);
static_assert(math::divide(7, 0) == 0 && math::divide(-7, 2) == -3);
static_assert(math::divide(INT32_MIN, -1) == INT32_MIN && math::fmod(INT32_MIN, -1) == 0);
static_assert(math::fmod(-7, 3) == -1 && math::fmod(7, 0) == 0);
static_assert(math::abs(INT64_MIN) == INT64_MIN && math::abs(std::int8_t{-5}) == 5);
static_assert(math::sign(-3) == -1 && math::sign(0u) == 0 && math::sign(7u) == 1);
static_assert(math::add(INT32_MAX, 1) == INT32_MIN && math::subtract(INT32_MIN, 1) == INT32_MAX);
static_assert(math::multiply(std::uint16_t{65535}, std::uint16_t{65535}) == 1);
static_assert(math::negate(INT64_MIN) == INT64_MIN && math::negate(std::uint8_t{1}) == 255);
static_assert(math::add(1, 2.5f) == 3.5f);
static_assert(math::min(1, 2.5f) == 1.f && math::max(-1, 2) == 2);
static_assert(math::select(true, 1, 2.5) == 1. && math::select(false, 1, 2.5) == 2.5);
static_assert(std::is_same_v<decltype(math::exp(1.f)), float>);
static_assert(std::is_same_v<decltype(math::exp(1.)), double>);
static_assert(std::is_same_v<decltype(math::exp(half(1))), float>);
static_assert(std::is_same_v<decltype(math::exp(bfloat16(1))), float>);
static_assert(std::is_same_v<decltype(math::exp(1)), double>);
static_assert(std::is_same_v<decltype(math::isnan(1.f)), bool>);

TEST_CASE_TEMPLATE("math: saturated holds the nearest number of every integer type", T, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t) {
  using Limits = std::numeric_limits<T>;
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(math::saturated<T>(1e30) == Limits::max());
  CHECK(math::saturated<T>(infinity) == Limits::max());
  CHECK(math::saturated<T>(-1e30) == Limits::min());
  CHECK(math::saturated<T>(-infinity) == Limits::min());
  CHECK(math::saturated<T>(std::nan("")) == 0);
  CHECK(math::saturated<T>(static_cast<double>(Limits::max())) == Limits::max());
  CHECK(math::saturated<T>(static_cast<double>(Limits::min())) == Limits::min());
  CHECK(math::saturated<T>(41.9) == 41);
  CHECK(math::saturated<T>(-0.9) == 0);
}

TEST_CASE_TEMPLATE("math: NaN is not lost by min and max, zeros give the second", T, float,
                   double) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const auto& f :
       {+[](T a, T b) { return math::min(a, b); }, +[](T a, T b) { return math::max(a, b); }}) {
    CHECK(std::isnan(f(nan, 1)));
    CHECK(std::isnan(f(1, nan)));
    CHECK(std::signbit(f(T(0), T(-0.0))));
    CHECK_FALSE(std::signbit(f(T(-0.0), T(0))));
  }
}

TEST_CASE("math: sigmoid does not overflow and keeps small results") {
  CHECK(math::sigmoid(1000.f) == 1);
  CHECK(math::sigmoid(-1000.f) == 0);
  CHECK(math::sigmoid(-80.) == doctest::Approx(std::exp(-80.)));
  CHECK(math::sigmoid(0) == 0.5);
}

TEST_CASE("math: powers of an integer to a fraction are the nearest integers") {
  CHECK(math::pow(9, 0.5) == 3);
  CHECK(math::pow(std::int32_t{-8}, 0.5) == 0);
  CHECK(math::pow(10, 99.) == INT32_MAX);
  CHECK(math::pow(3.f, std::int64_t{2}) == 9);
  CHECK(math::pow(-1.f, std::int64_t{16777217}) == -1);
}
