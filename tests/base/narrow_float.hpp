#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace narrow_float_test {

/// Value of a code without sign, from the definition: 2^(1 - bias) * 0.fraction if the exponent is
/// 0, else 2^(exponent - bias) * 1.fraction.
inline double value(std::uint32_t code, int fraction_bits, int bias) {
  const int exponent = static_cast<int>(code >> fraction_bits);
  const int fraction = static_cast<int>(code & ((1u << fraction_bits) - 1));
  if (exponent == 0) return std::ldexp(fraction, 1 - bias - fraction_bits);
  return std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

struct Rounding {
  int fraction_bits;
  int bias;
  std::uint32_t largest;   // code of the largest finite value
  std::uint32_t overflow;  // code of what rounds to more than that
  std::uint32_t sign;      // sign bit
};

/// Checks encode(float) and encode(double) at every value, at every midpoint between neighbours
/// and next to both, against the definition of rounding to nearest even.
template <class Encode>
void check_rounding(const Rounding& r, Encode encode) {
  int failures = 0;
  const auto expect = [&](auto x, std::uint32_t code) {
    const std::uint32_t positive = encode(x);
    const std::uint32_t negative = encode(-x);
    if (positive == code && negative == (code | r.sign)) return;
    if (++failures <= 5) {
      FAIL_CHECK("x = " << x << ": codes " << positive << ", " << negative << " for +-x, expected "
                        << code);
    }
  };
  const auto around = [](auto x, auto direction) {
    return std::nextafter(x, static_cast<decltype(x)>(direction));
  };
  const double infinity = std::numeric_limits<double>::infinity();

  for (std::uint32_t code = 0; code <= r.largest; ++code) {
    const double x = value(code, r.fraction_bits, r.bias);
    const double middle = (x + value(code + 1, r.fraction_bits, r.bias)) / 2;
    const std::uint32_t next = code == r.largest ? r.overflow : code + 1;
    const std::uint32_t even = code % 2 == 0 ? code : next;
    const float x_float = static_cast<float>(x);
    const float middle_float = static_cast<float>(middle);
    REQUIRE(x_float == x);
    REQUIRE(middle_float == middle);

    expect(x, code);
    expect(around(x, infinity), code);
    expect(around(middle, 0), code);
    expect(middle, even);
    expect(around(middle, infinity), next);
    if (code != 0) expect(around(x, 0), code);

    expect(x_float, code);
    expect(around(x_float, infinity), code);
    expect(around(middle_float, 0), code);
    expect(middle_float, even);
    expect(around(middle_float, infinity), next);
    if (code != 0) expect(around(x_float, 0), code);
  }
  expect(std::numeric_limits<float>::max(), r.overflow);
  expect(std::numeric_limits<float>::infinity(), r.overflow);
  expect(std::numeric_limits<double>::max(), r.overflow);
  expect(infinity, r.overflow);
  expect(std::numeric_limits<double>::denorm_min(), 0);
  CHECK(failures == 0);
}

}  // namespace narrow_float_test
