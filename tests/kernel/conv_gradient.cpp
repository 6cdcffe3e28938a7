#include <algorithm>
#include <cmath>
#include <halftone/kernel/conv_gradient.hpp>
#include <vector>

#include "convolution.hpp"

// Gradients of weights are compared with the definition, summed up in double. Where results are not
// exact, the law is that of Winograd's convolutions: an error is below 16 units in the last place of the
// largest gradient of the absolute values.

namespace {

using namespace convolution;
using halftone::Dims;
using halftone::KernelCall;
using halftone::View;
using halftone::Window;

std::vector<float> reference_gradient(const ConvShape& s, const std::vector<float>& x,
                                      const std::vector<float>& dy) {
  std::vector<float> dw;
  for (std::int64_t f = 0; f < s.filters; ++f) {
    for (std::int64_t c = 0; c < s.channels; ++c) {
      for (std::int64_t t = 0; t < s.kernel_size(); ++t) {
        double sum = 0;
        for (std::int64_t n = 0; n < s.batch; ++n) {
          for (std::int64_t p = 0; p < s.output_pixels(); ++p) {
            const std::int64_t h =
                p / s.output(2) * s.stride[1] - s.pads_begin[1] + t / s.kernel[2] * s.dilation[1];
            const std::int64_t v =
                p % s.output(2) * s.stride[2] - s.pads_begin[2] + t % s.kernel[2] * s.dilation[2];
            if (h < 0 || h >= s.input[1] || v < 0 || v >= s.input[2]) continue;
            sum += double(x[(n * s.channels + c) * s.input_pixels() + h * s.input[2] + v]) *
                   double(dy[(n * s.filters + f) * s.output_pixels() + p]);
          }
        }
        dw.push_back(float(sum));
      }
    }
  }
  return dw;
}

std::vector<float> gradient(const ConvShape& s, const std::vector<float>& x,
                            const std::vector<float>& dy, std::int64_t edge,
                            const Executor& executor = {}) {
  Window window;
  window.kernel = {s.kernel[1], s.kernel[2]};
  window.strides = {s.stride[1], s.stride[2]};
  window.dilations = {s.dilation[1], s.dilation[2]};
  window.output = {s.output(1), s.output(2)};
  window.pads = {s.pads_begin[1], s.pads_begin[2], s.pads_end[1], s.pads_end[2]};
  const std::int64_t of_x[] = {s.batch, s.channels, s.input[1], s.input[2]};
  const std::int64_t of_dy[] = {s.batch, s.filters, s.output(1), s.output(2)};
  const std::int64_t of_dw[] = {s.filters, s.channels, s.kernel[1], s.kernel[2]};
  const View<const float> from{x.data(), of_x, 4}, with{dy.data(), of_dy, 4};
  std::vector<float> dw(s.filters * s.channels * s.kernel_size(), 77);
  const std::size_t bytes =
      convolution_weight_gradient_workspace<float>(window, 1, edge, from, with);
  std::vector<char> workspace(bytes + 128);
  char* const begin = reinterpret_cast<char*>(aligned(workspace));
  char& guard = begin[bytes];
  guard = 0x5a;
  KernelCall call;
  call.workspace = begin;
  call.executor = &executor;
  convolution_weight_gradient<float>(window, 1, edge, call, from, with,
                                     View<float>{dw.data(), of_dw, 4});
  CHECK(guard == 0x5a);
  return dw;
}

struct Form {
  std::int64_t edge, taps;
};
constexpr Form forms[] = {{0, 3}, {2, 3}, {4, 3}, {0, 5}, {2, 5}};

ConvShape square(std::int64_t taps, std::int64_t batch, std::int64_t channels, std::int64_t filters,
                 std::int64_t height, std::int64_t width, std::int64_t pad = -1) {
  return shape2(batch, channels, filters, 1, height, width, taps, taps, 1,
                pad < 0 ? taps / 2 : pad);
}

double largest_gradient(const ConvShape& s, std::vector<float> x, std::vector<float> dy) {
  for (float& v : x) v = std::fabs(v);
  for (float& v : dy) v = std::fabs(v);
  const std::vector<float> dw = reference_gradient(s, x, dy);
  return *std::max_element(dw.begin(), dw.end());
}

/// The largest difference, in units in the last place of `largest`.
double error(const std::vector<float>& dw, const std::vector<float>& expected, double largest) {
  double worst = 0;
  for (std::size_t i = 0; i < dw.size(); ++i) {
    const double off = std::fabs(double(dw[i]) - double(expected[i]));
    worst = off <= worst ? worst : off;
  }
  return worst / std::ldexp(1., std::ilogb(float(largest)) - 23);
}

TEST_CASE("gradients of weights equal the definition in every form") {
  for (const auto [edge, taps] : forms) {
    const auto shape = [&](auto... extents) { return square(taps, extents...); };
    std::vector<ConvShape> shapes = {
        shape(1, 32, 32, 8, 12),    shape(2, 19, 37, 9, 11),  // odd extents
        shape(1, 16, 48, 7, 30, 0),                           // no padding
        shape(1, 16, 16, 2, 3, 5),                            // padding beyond the kernel
        shape(3, 20, 16, 1, 1),                               // one pixel
        shape(70, 16, 17, 5, 5),                              // images in several parts
        shape(2, 16, 16, 61, 29),                             // rows in several parts
        shape(1, 16, 16, 3, 800),  // more tiles in a row than are taken at once
        shape(2, 150, 40, 6, 5),   // several panels of channels
    };
    ConvShape uneven = shape(2, 20, 18, 12, 10, 0);
    uneven.pads_begin[1] = 2, uneven.pads_end[1] = 0, uneven.pads_begin[2] = 0;
    uneven.pads_end[2] = 3;
    shapes.push_back(uneven);
    for (const ConvShape& s : shapes) {
      CAPTURE(edge);
      CAPTURE(taps);
      CAPTURE(s.channels);
      CAPTURE(s.input[2]);
      const auto x = numbers<float>(s.batch * s.channels * s.input_pixels(), 1, 4);
      const auto dy = numbers<float>(s.batch * s.filters * s.output_pixels(), 2, 4);
      const auto dw = gradient(s, x, dy, edge);
      // Sums of small multiples of 1/64 are exact, but for the thirds of F(4x4, 3x3).
      CHECK(error(dw, reference_gradient(s, x, dy), largest_gradient(s, x, dy)) <=
            (edge == 4 ? 16 : 0));
      CHECK(gradient(s, x, dy, edge, {2, reversed, nullptr}) == dw);
    }
  }
}

/// In [0, 1].
float uniform(unsigned& seed) {
  seed = seed * 1664525 + 1013904223;
  return float(seed >> 8) * 0x1p-24f;
}

TEST_CASE("errors of gradients by Winograd's forms stay below 16 units in the last place") {
  unsigned seed = 5;
  const auto any = [&](std::int64_t, std::int64_t) { return 2 * uniform(seed) - 1; };
  const auto positive = [&](std::int64_t, std::int64_t) { return .5f + .5f * uniform(seed); };
  const auto constant = [](std::int64_t, std::int64_t) { return .1f; };
  const auto wide = [&](std::int64_t, std::int64_t) {
    return std::exp(12 * uniform(seed) - 6) * (2 * uniform(seed) - 1);
  };
  // Signs that make what tiles of edge 2 hold as large as can be.
  const auto with_signs = [&](unsigned signs, bool is_constant) {
    return [&seed, signs, is_constant](std::int64_t h, std::int64_t v) {
      const bool is_negative = ((signs >> (h + 1) % 4 ^ signs >> (v + 1) % 4) & 1) != 0;
      return (is_negative ? -1.f : 1.f) * (is_constant ? .1f : .5f + .5f * uniform(seed));
    };
  };
  for (const auto [edge, taps] : forms) {
    if (edge == 0) continue;  // the direct sum of 28 x 28 constants is off by 276
    for (const std::int64_t size : {4, 8, 28}) {
      const ConvShape s = square(taps, size == 28 ? 2 : 1, 16, 16, size, size);
      const auto check = [&](const char* name, auto&& of_x, auto&& of_dy) {
        std::vector<float> x(s.batch * s.channels * s.input_pixels());
        std::vector<float> dy(s.batch * s.filters * s.output_pixels());
        for (std::size_t i = 0; i < x.size(); ++i) {
          x[i] = of_x(std::int64_t(i) / size % size, std::int64_t(i) % size);
        }
        for (std::size_t i = 0; i < dy.size(); ++i) {
          dy[i] = of_dy(std::int64_t(i) / size % size, std::int64_t(i) % size);
        }
        CAPTURE(name);
        CAPTURE(size);
        CAPTURE(edge);
        CAPTURE(taps);
        CHECK(error(gradient(s, x, dy, edge), reference_gradient(s, x, dy),
                    largest_gradient(s, x, dy)) < 16);
      };
      check("uniform", any, any);
      check("positive", positive, positive);
      check("constant", constant, constant);
      check("of many magnitudes", wide, wide);
      if (edge != 2) continue;
      for (const unsigned signs : {0b0100u, 0b1010u, 0b0110u, 0b1100u}) {
        for (const bool is_constant : {false, true}) {
          check("signs", with_signs(signs, is_constant), with_signs(0b1010u, is_constant));
          check("signs of x", with_signs(signs, is_constant), positive);
        }
      }
    }
  }
}

TEST_CASE("convolutions without a form of Winograd's have the gradient of the direct sum") {
  for (const ConvShape& s :
       {shape2(2, 16, 16, 1, 9, 9, 3, 3, 2, 1), shape2(2, 16, 16, 1, 9, 9, 3, 3, 1, 2, 2),
        shape2(2, 16, 16, 1, 9, 9, 3, 1), shape2(2, 2, 16, 1, 9, 9, 3, 3, 1, 1)}) {
    const auto x = numbers<float>(s.batch * s.channels * s.input_pixels(), 1, 4);
    const auto dy = numbers<float>(s.batch * s.filters * s.output_pixels(), 2, 4);
    CHECK(gradient(s, x, dy, 2) == reference_gradient(s, x, dy));
  }
}

}  // namespace
