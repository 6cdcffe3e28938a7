#include "halftone/base/narrow_integer.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace halftone;

static_assert(sizeof(int4) == 1 && std::is_trivial_v<int4> && std::is_trivial_v<uint2>);

TEST_CASE_TEMPLATE("narrow_integer: codes, and numbers in and out of range", T, int4, uint4, int2,
                   uint2) {
  constexpr int count = 1 << T::bit_count;
  for (int code = 0; code < 256; ++code) {
    const T x = T::from_bits(static_cast<std::uint8_t>(code));
    CHECK(x.bits() == code % count);
    const int value = x.value;
    CHECK(value >= T::lowest);
    CHECK(value <= T::largest);
    CHECK((value - code) % count == 0);  // two's complement
  }
  for (int value = -40; value < 40; ++value) {
    CAPTURE(value);
    CHECK(T(value).bits() == (value & (count - 1)));  // ONNX Cast: the low bits
    CHECK(T(static_cast<float>(value)).bits() == T(value).bits());
  }
  CHECK(float(T(0.9f)) == 0);
  CHECK(float(T(1e30f)) == 0);
  CHECK(float(T(std::nanf(""))) == 0);
}
