#include <halftone/kernel/bytes_last.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

using namespace halftone;
using namespace halftone::kernel;

namespace {

std::vector<std::uint8_t> bytes(std::int64_t n, std::uint32_t seed) {
  std::vector<std::uint8_t> x(static_cast<std::size_t>(n));
  for (std::uint8_t& value : x) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<std::uint8_t>(seed >> 24);
  }
  return x;
}

struct Case {
  std::int64_t batch, height, width, channels, filters;
  WindowAttributes window;
  bool by_channel = false;
};

/// Memory from the beginning of a cache line on.
struct Memory {
  std::vector<char> bytes;
  explicit Memory(std::int64_t n) : bytes(static_cast<std::size_t>(n + 64)) {}
  void* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    return bytes.data() + (64 - address % 64) % 64;
  }
};

Executor reversed() {
  return {.threads = 2, .run = [](void*, std::int64_t n, Executor::Task task, void* context) {
            while (n-- > 0) task(context, n);
          }};
}

/// The sums of the definition, exact, as the bytes that `requantize` makes of them, and `add_bytes` of
/// those.
template <class X, class W>
void check(const Case& c, bool is_signed, float y_scale, bool has_sum = false) {
  const std::int64_t extents[]{c.height, c.width};
  const LastShape s(Window::over(extents, c.window), c.batch, c.height, c.width, c.channels,
                    c.filters, c.by_channel);
  REQUIRE(s.window.ok());
  REQUIRE(s.fits());
  const std::int64_t given = c.by_channel ? 1 : c.channels, taps = s.taps();
  // Nothing behind the input may be read.
  std::vector<std::uint8_t> x_bytes = bytes(c.batch * c.height * c.width * c.channels, 1);
  const std::vector<std::uint8_t> w_bytes = bytes(c.filters * given * taps, 2);
  const auto* const x = reinterpret_cast<const X*>(x_bytes.data());
  const auto* const w = reinterpret_cast<const W*>(w_bytes.data());
  const std::int32_t zero = std::is_signed_v<X> ? -3 : 131;
  const std::int32_t middle = std::is_signed_v<W> ? 0 : 128;

  std::vector<float> scale, bias;
  std::vector<std::int32_t> addend;
  for (std::int64_t f = 0; f < c.filters; ++f) {
    scale.push_back(0.001f * static_cast<float>(f % 7 + 1));
    bias.push_back(0.1f * static_cast<float>(f % 5 - 2));
    addend.push_back(static_cast<std::int32_t>(f * 37 % 101 - 50));
  }
  const std::int64_t count = c.filters;
  Requantize how;
  how.scale = View<const float>{scale.data(), &count, 1};
  how.bias = View<const float>{bias.data(), &count, 1};
  how.addend = View<const std::int32_t>{addend.data(), &count, 1};
  how.by_columns = true;
  how.y = {.scale = y_scale, .zero = is_signed ? -7.f : 9.f, .is_signed = is_signed};
  how.prepare();
  const std::vector<std::uint8_t> residual = bytes(s.pixels() * c.filters, 3);
  ByteSum sum;
  if (has_sum) {
    sum = {.residual = residual.data(),
           .x_scale = how.y.scale,
           .x_zero = how.y.zero,
           .residual_scale = 0.03f,
           .residual_zero = 11,
           .y = {.scale = 0.07f, .zero = 3, .is_signed = is_signed}};
    sum.prepare();
  }

  Memory packed(s.packed_bytes()), workspace(s.workspace_bytes());
  kernel::detail::pack_last(s, w, packed.data());
  const auto convolved = [&](const Executor& executor) {
    std::vector<std::uint8_t> y(static_cast<std::size_t>(s.pixels() * c.filters + 1), 0xab);
    kernel::detail::convolve_last(s, x, zero, packed.data(), how, sum, y.data(), workspace.data(),
                                  executor);
    CHECK(y.back() == 0xab);
    return y;
  };
  const std::vector<std::uint8_t> y = convolved({});
  std::int64_t wrong = 0;
  for (std::int64_t pixel = 0; pixel < s.pixels(); ++pixel) {
    const std::int64_t image = pixel / s.image(), at = pixel % s.image();
    const std::int64_t line = at / s.window.output[1], column = at % s.window.output[1];
    for (std::int64_t f = 0; f < c.filters; ++f) {
      std::int32_t total = 0;
      for (std::int64_t t = 0; t < taps; ++t) {
        const std::int64_t row = line * s.window.strides[0] - s.window.pad_begin(0) +
                                 t / s.window.kernel[1] * s.window.dilations[0];
        const std::int64_t place = column * s.window.strides[1] - s.window.pad_begin(1) +
                                   t % s.window.kernel[1] * s.window.dilations[1];
        if (row < 0 || row >= c.height || place < 0 || place >= c.width) continue;
        const X* const from = x + ((image * c.height + row) * c.width + place) * c.channels;
        for (std::int64_t k = 0; k < given; ++k) {
          total += (from[c.by_channel ? f : k] - zero) * (w[(f * given + k) * taps + t] - middle);
        }
      }
      std::uint8_t expected = 0;
      requantize(how, &total, 1, 0, f, 1, 1, &expected, 1);
      const std::int64_t place = pixel * c.filters + f;
      if (has_sum) {
        ByteSum one = sum;
        one.residual += place;
        add_bytes(one, 0, 1, 1, 1, &expected);
      }
      if (y[static_cast<std::size_t>(place)] != expected) ++wrong;
    }
  }
  CHECK(wrong == 0);
  CHECK(convolved(reversed()) == y);
}

void check_types(const Case& c) {
  CAPTURE(c.channels);
  CAPTURE(c.filters);
  CAPTURE(c.window.kernel[0]);
  // One correction makes bytes of 0.05, the division of a reciprocal that is not rounded as others are.
  check<std::uint8_t, std::int8_t>(c, false, 0.05f);
  check<std::int8_t, std::int8_t>(c, true, 0.05f);
  check<std::uint8_t, std::uint8_t>(c, true, 0x1.fffffep-5f);
  check<std::int8_t, std::uint8_t>(c, false, 0x1.fffffep-5f);
  check<std::uint8_t, std::int8_t>(c, true, 0.05f, true);
  check<std::uint8_t, std::int8_t>(c, false, 0x1.fffffep-5f, true);
}

}  // namespace

TEST_CASE("bytes with channels last: the definition's sums, for all widths of panels") {
  for (const std::int64_t filters : {1, 16, 24, 48, 64, 70, 130}) {
    check_types({2, 5, 7, 8, filters, {.kernel = {3, 3}, .pads = {1, 1, 1, 1}}});
    check_types({1, 9, 6, 20, filters, {.kernel = {1, 1}}});
  }
  for (const std::int64_t channels : {1, 3, 4, 10, 12, 36}) {
    check_types(
        {2, 11, 9, channels, 18, {.kernel = {5, 3}, .strides = {2, 2}, .pads = {2, 0, 1, 3}}});
    check_types({1, 8, 8, channels, 5, {.kernel = {1, 1}, .strides = {2, 3}}});
    check_types(
        {1, 8, 9, channels, 5, {.kernel = {7, 7}, .strides = {2, 2}, .pads = {3, 3, 3, 3}}});
  }
  check_types({1, 12, 12, 8, 20, {.kernel = {3, 2}, .dilations = {2, 3}, .pads = {2, 1, 2, 1}}});
  check_types({1, 12, 12, 12, 20, {.kernel = {3, 2}, .dilations = {2, 3}, .pads = {9, 9, 0, 0}}});
}

TEST_CASE(
    "bytes with channels last: by channel, whose neighbours share columns of taps or do not") {
  for (const std::int64_t channels : {1, 3, 32, 64, 70, 144}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      const Dims strides{stride, stride};
      check_types({2,
                   9,
                   13,
                   channels,
                   channels,
                   {.kernel = {3, 3}, .strides = strides, .pads = {1, 1, 1, 1}},
                   true});
      check_types({1,
                   9,
                   8,
                   channels,
                   channels,
                   {.kernel = {5, 5}, .strides = strides, .pads = {2, 2, 2, 2}},
                   true});
    }
    check_types({1,
                 9,
                 9,
                 channels,
                 channels,
                 {.kernel = {3, 3}, .dilations = {2, 2}, .pads = {2, 2, 2, 2}},
                 true});
    check_types({1, 6, 60, channels, channels, {.kernel = {1, 4}, .pads = {0, 3, 0, 2}}, true});
  }
}
