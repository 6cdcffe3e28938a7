#include <halftone/kernel/byte_sum.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

using namespace halftone::kernel;

namespace {

/// All pairs of bytes, by the formula in float, whose roundings are those of the operators.
template <class Byte>
void check(ByteSum sum) {
  constexpr std::int64_t rows = 256, columns = 256, stride = 259;
  std::vector<Byte> x(rows * stride), residual(rows * stride);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      x[std::size_t(i * stride + j)] = static_cast<Byte>(i);
      residual[std::size_t(i * stride + j)] = static_cast<Byte>(j);
    }
  }
  std::vector<Byte> y = x;
  sum.residual = reinterpret_cast<const std::uint8_t*>(residual.data());
  sum.y.is_signed = std::is_signed_v<Byte>;
  sum.prepare();
  add_bytes(sum, 0, rows, columns - 3, stride, reinterpret_cast<std::uint8_t*>(y.data()));
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < rows * stride; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i % stride >= columns - 3) {  // beside what is asked for
      wrong += y[at] != x[at];
      continue;
    }
    const volatile float a = (static_cast<float>(x[at]) - sum.x_zero) * sum.x_scale;
    const volatile float b =
        (static_cast<float>(residual[at]) - sum.residual_zero) * sum.residual_scale;
    float v = a + b;
    if (sum.y.clamp) v = std::fmin(std::fmax(v, sum.y.lower), sum.y.upper);
    v = std::nearbyint(v / sum.y.scale) + sum.y.zero;
    v = std::isnan(v) ? 0 : std::fmin(std::fmax(v, sum.y.lowest()), sum.y.largest());
    wrong += y[at] != static_cast<Byte>(v);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("byte sum: the bytes are those of the operators") {
  // Scales whose quotients are halves between integers, any ones, the reciprocal that is not rounded as
  // others, and those that have no quick way.
  for (const float scale : {0.25f, 0.037f, 0x1.fffffep-5f, 1e-30f, 0.f}) {
    for (const float x_scale : {0.125f, 0.0213f, 1e25f}) {
      CAPTURE(scale);
      CAPTURE(x_scale);
      const ByteSum sum{.x_scale = x_scale,
                        .x_zero = 3,
                        .residual_scale = 0.125f,
                        .residual_zero = 100,
                        .y = {.scale = scale, .zero = 5}};
      ByteSum clamped = sum;
      clamped.y.clamp = true, clamped.y.lower = -0.5f, clamped.y.upper = 3;
      // A zero point may lie between integers, too.
      ByteSum between = sum;
      between.x_zero = 0.1f;
      for (const ByteSum& one : {sum, clamped, between}) {
        check<std::uint8_t>(one);
        check<std::int8_t>(one);
      }
    }
  }
}
