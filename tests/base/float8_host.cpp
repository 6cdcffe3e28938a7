#include <halftone/float8_host.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "error_of.hpp"

using namespace halftone;

namespace {

constexpr ElementType e4 = ElementType::float8_e4m3fnuz, e5 = ElementType::float8_e5m2fnuz;

std::vector<int> codes(const std::vector<float>& values, ElementType type, int scale = 0,
                       bool nan_on_overflow = true) {
  Array<float> x({static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) x[static_cast<std::int64_t>(i)] = values[i];
  const AnyArray y = host_pow2scale_cast_to_fp8(x, type, scale, nan_on_overflow);
  std::vector<int> all;
  for (std::size_t i = 0; i < y.bytes(); ++i) all.push_back(static_cast<int>(y.data()[i]));
  return all;
}

}  // namespace

// Codes from the formats' definition: PopXL's tests give 0.75 as 0x3c, largest numbers 240 and 57344,
// smallest 2^-10 and 2^-17, and 0x80 as the only NaN.
TEST_CASE("float8 on the host: codes, scales and overflow") {
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(codes({.75f, 240, -240, 0, -0.f, 0x1p-10f}, e4) ==
        std::vector<int>{0x3c, 0x7f, 0xff, 0, 0, 1});
  CHECK(codes({57344, 0x1p-17f}, e5) == std::vector<int>{0x7f, 1});
  CHECK(codes({1e6f, -1e6f, inf, std::nanf("")}, e4) == std::vector<int>{0x80, 0x80, 0x80, 0x80});
  CHECK(codes({1e6f, -1e6f, inf}, e4, 0, false) == std::vector<int>{0x7f, 0xff, 0x80});
  CHECK(codes({1.5f}, e4, -1) == codes({.75f}, e4));
  CHECK(codes({480}, e4, -1) == std::vector<int>{0x7f});
}

TEST_CASE("float8 on the host: the way back, and the best scale") {
  Array<float> x({3}, {1, 2, -3});
  const AnyArray narrow = host_pow2scale_cast_to_fp8(x, e4, 3);
  const AnyArray back = host_pow2scale_cast_from_fp8(narrow, ElementType::float32, -3);
  for (int i = 0; i < 3; ++i) CHECK(back.values<float>()[static_cast<std::size_t>(i)] == x[i]);
  // 1000 needs a scale of -3 to be within 240, where 125 has the neighbours 120 and 128; -2 overflows.
  Array<float> large({1}, {1000});
  const int scale = host_fp8_mse_scale(large, e4);
  const AnyArray best = host_pow2scale_cast_from_fp8(host_pow2scale_cast_to_fp8(large, e4, scale),
                                                     ElementType::float64, -scale);
  CHECK(best.values<double>()[0] == 1024);  // the nearest number with 4 bits
}

TEST_CASE("float8 on the host: types and scales that are refused") {
  const Array<float> x({1});
  const Array<std::int32_t> i({1});
  using test::contains, test::error_of;
  CHECK(contains(error_of([&] { host_pow2scale_cast_to_fp8(i, e4); }), "wider floats"));
  CHECK(contains(error_of([&] { host_pow2scale_cast_to_fp8(x, ElementType::float32); }), "fnuz"));
  CHECK(contains(error_of([&] { host_pow2scale_cast_to_fp8(x, e4, 32); }), "-32 to 31"));
  CHECK(contains(error_of([&] { host_pow2scale_cast_from_fp8(x, ElementType::float32); }), "fnuz"));
  CHECK(contains(error_of([&] {
                   host_pow2scale_cast_from_fp8(host_pow2scale_cast_to_fp8(x, e4),
                                                ElementType::int32);
                 }),
                 "wider floats"));
}
