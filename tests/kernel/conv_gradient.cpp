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
    for (std::int64_t i = 0; i < s.channels_per_group(); ++i) {
      const std::int64_t c = f / s.filters_per_group() * s.channels_per_group() + i;
      for (std::int64_t t = 0; t < s.kernel_size(); ++t) {
        double sum = 0;
        for (std::int64_t n = 0; n < s.batch; ++n) {
          for (std::int64_t p = 0; p < s.output_pixels(); ++p) {
            std::int64_t out = p, tap = t, from = 0, step = 1;
            bool is_inside = true;
            for (int axis = 2; axis >= 0; --axis) {
              const std::int64_t at = out % s.output(axis) * s.stride[axis] - s.pads_begin[axis] +
                                      tap % s.kernel[axis] * s.dilation[axis];
              is_inside = is_inside && at >= 0 && at < s.input[axis];
              from += at * step;
              step *= s.input[axis];
              out /= s.output(axis);
              tap /= s.kernel[axis];
            }
            if (!is_inside) continue;
            sum += double(x[(n * s.channels + c) * s.input_pixels() + from]) *
                   double(dy[(n * s.filters + f) * s.output_pixels() + p]);
          }
        }
        dw.push_back(float(sum));
      }
    }
  }
  return dw;
}

/// Plain activations in blocks of channels.
std::vector<float> in_blocks(const std::vector<float>& plain, std::int64_t batch,
                             std::int64_t channels, std::int64_t pixels) {
  std::vector<float> blocked(activation_size<float>(Layout::blocked, batch, channels, pixels), 55);
  block_channels(plain.data(), blocked.data(), batch, channels, pixels);
  return blocked;
}

std::vector<float> gradient(const ConvShape& s, std::vector<float> x, std::vector<float> dy,
                            std::int64_t edge, const Executor& executor = {}, Blocks blocks = {}) {
  Window window;
  Dims of_x{s.batch, s.channels}, of_dy{s.batch, s.filters},
      of_dw{s.filters, s.channels_per_group()}, ends;
  for (int axis = s.input[0] == 1 && s.kernel[0] == 1 ? 1 : 0; axis < 3; ++axis) {
    window.kernel.push_back(s.kernel[axis]);
    window.strides.push_back(s.stride[axis]);
    window.dilations.push_back(s.dilation[axis]);
    window.output.push_back(s.output(axis));
    window.pads.push_back(s.pads_begin[axis]);
    ends.push_back(s.pads_end[axis]);
    of_x.push_back(s.input[axis]);
    of_dy.push_back(s.output(axis));
    of_dw.push_back(s.kernel[axis]);
  }
  for (const std::int64_t end : ends) window.pads.push_back(end);
  const auto block = [](Dims& dims, std::vector<float>& plain) {
    const std::int64_t pixels = product(dims) / (dims[0] * dims[1]);
    plain = in_blocks(plain, dims[0], dims[1], pixels);
    dims[1] = channel_blocks<float>(dims[1]);
    dims.push_back(channel_block<float>);
  };
  if (blocks.input) block(of_x, x);
  if (blocks.output) block(of_dy, dy);
  const View<const float> from{x.data(), of_x.begin(), of_x.size()},
      with{dy.data(), of_dy.begin(), of_dy.size()};
  std::vector<float> dw(s.filters * s.channels_per_group() * s.kernel_size(), 77);
  const View<float> to{dw.data(), of_dw.begin(), of_dw.size()};
  const WeightGradientForm form{s.groups, edge, blocks};
  const std::size_t bytes =
      convolution_weight_gradient_workspace<float>(window, form, from, with, to);
  std::vector<char> workspace(bytes + 128);
  char* const begin = reinterpret_cast<char*>(aligned(workspace));
  char& guard = begin[bytes];
  guard = 0x5a;
  KernelCall call;
  call.workspace = begin;
  call.executor = &executor;
  convolution_weight_gradient<float>(window, form, call, from, with, to);
  CHECK(guard == 0x5a);
  return dw;
}

constexpr Blocks in_both{.input = true, .output = true}, in_dy{.output = true};

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
      CHECK(gradient(s, x, dy, edge, {2, reversed, nullptr}, in_both) == dw);
    }
  }
}

/// Sums of small multiples of 1/64 are exact.
void check_exact(const ConvShape& s) {
  CAPTURE(s.batch);
  CAPTURE(s.channels);
  CAPTURE(s.filters);
  CAPTURE(s.groups);
  CAPTURE(s.kernel[0]);
  CAPTURE(s.kernel[2]);
  CAPTURE(s.stride[0]);
  CAPTURE(s.stride[2]);
  const auto x = numbers<float>(s.batch * s.channels * s.input_pixels(), 1, 4);
  const auto dy = numbers<float>(s.batch * s.filters * s.output_pixels(), 2, 4);
  const auto dw = gradient(s, x, dy, 0);
  CHECK(dw == reference_gradient(s, x, dy));
  CHECK(gradient(s, x, dy, 0, {2, reversed, nullptr}) == dw);
  const std::int64_t group = s.channels_per_group(), filters = s.filters_per_group();
  constexpr std::int64_t block = channel_block<float>;
  const bool fits = s.groups == 1 || (s.channels == s.filters && block % group == 0) ||
                    (group % block == 0 && filters % block == 0);
  if (is_flat(s) && fits) CHECK(gradient(s, x, dy, 0, {2, reversed, nullptr}, in_both) == dw);
  if (s.groups == 1) CHECK(gradient(s, x, dy, 0, {2, reversed, nullptr}, in_dy) == dw);
}

TEST_CASE("gradients of weights of one pixel equal the definition") {
  for (const ConvShape& s :
       {shape2(2, 16, 16, 1, 7, 9, 1, 1), shape2(3, 35, 21, 1, 5, 6, 1, 1),
        shape2(1, 144, 40, 1, 9, 8, 1, 1, 2), shape2(70, 24, 100, 1, 4, 4, 1, 1, 1, 1),
        shape2(2, 8, 7, 1, 3, 3, 1, 1), shape2(9, 80, 24, 1, 60, 33, 1, 1, 2)}) {
    check_exact(s);
  }
}

TEST_CASE("gradients of depthwise weights equal the definition") {
  const auto depthwise = [](std::int64_t batch, std::int64_t channels, std::int64_t height,
                            std::int64_t width, std::int64_t taps, std::int64_t stride = 1,
                            std::int64_t dilation = 1) {
    return shape2(batch, channels, channels, channels, height, width, taps, taps, stride, taps / 2,
                  dilation);
  };
  ConvShape uneven = depthwise(2, 20, 9, 8, 3);
  uneven.kernel[1] = 4, uneven.pads_begin[1] = 3, uneven.pads_end[2] = 0;
  ConvShape row = depthwise(3, 18, 1, 40, 1);
  row.kernel[2] = 9, row.pads_begin[2] = 8;
  for (const ConvShape& s :
       {depthwise(2, 35, 13, 11, 3), depthwise(1, 16, 14, 15, 3, 2), depthwise(2, 7, 12, 9, 5),
        depthwise(1, 48, 17, 13, 5, 2), depthwise(1, 33, 15, 16, 7),
        depthwise(2, 20, 12, 14, 3, 1, 2), depthwise(1, 16, 17, 19, 5, 3, 2),
        depthwise(1, 40, 3, 2, 7), uneven, row}) {
    check_exact(s);
  }
}

TEST_CASE("gradients of weights of groups equal the definition") {
  for (const ConvShape& s :
       {shape2(2, 24, 24, 12, 11, 13, 3, 3, 1, 1), shape2(2, 20, 20, 5, 9, 12, 3, 3, 2, 1),
        shape2(1, 48, 48, 6, 10, 9, 3, 3, 1, 1), shape2(3, 40, 40, 5, 7, 8, 5, 5, 1, 2),
        shape2(2, 16, 16, 4, 12, 14, 1, 1), shape2(2, 64, 64, 4, 9, 7, 3, 3, 1, 1),
        shape2(70, 32, 64, 2, 5, 6, 3, 3, 2, 1), shape2(2, 128, 64, 2, 9, 9, 1, 1),
        shape2(2, 18, 18, 3, 9, 7, 3, 3, 1, 1), shape2(2, 16, 32, 8, 9, 7, 3, 3, 1, 1)}) {
    check_exact(s);
  }
}

TEST_CASE("gradients of weights of few channels equal the definition") {
  ConvShape uneven = shape2(2, 5, 21, 1, 11, 14, 3, 4, 2, 1);
  uneven.kernel[1] = 5, uneven.pads_begin[2] = 3, uneven.pads_end[1] = 0, uneven.pads_end[2] = 2;
  uneven.stride[1] = 3, uneven.dilation[2] = 2;
  for (const ConvShape& s :
       {shape2(2, 3, 64, 1, 37, 41, 7, 7, 2, 3),    // a first layer's; bands of rows
        shape2(1, 3, 130, 1, 30, 33, 3, 3, 2, 1),   // several panels of filters
        shape2(70, 1, 6, 1, 28, 28, 5, 5, 1, 2),    // images in several parts
        shape2(3, 3, 32, 1, 300, 301, 3, 3, 2, 1),  // one image at a time
        shape2(2, 4, 35, 1, 9, 11, 3, 3),           // x is read where it lies
        shape2(2, 3, 17, 1, 8, 9, 1, 1, 2),         // of one pixel, with strides
        shape2(1, 7, 20, 1, 10, 12, 3, 3, 1, 4, 3), shape2(1, 2, 18, 1, 5, 40, 1, 11, 4, 5),
        uneven}) {
    check_exact(s);
  }
}

TEST_CASE("gradients of weights in three dimensions equal the definition") {
  ConvShape cube = shape2(2, 20, 37, 1, 6, 9, 3, 3, 1, 1);
  cube.input[0] = 5, cube.kernel[0] = 3, cube.pads_begin[0] = cube.pads_end[0] = 1;
  ConvShape strided = cube;
  for (int axis = 0; axis < 3; ++axis) strided.stride[axis] = 2;
  ConvShape hollow = cube;
  hollow.kernel[0] = 2, hollow.dilation[0] = 3, hollow.pads_begin[0] = 2, hollow.pads_end[0] = 0;
  ConvShape long_kernel = cube;
  long_kernel.kernel[1] = long_kernel.kernel[2] = 1;
  ConvShape many = cube;
  many.batch = 40;
  ConvShape pixels = cube;
  for (int axis = 0; axis < 3; ++axis) {
    pixels.kernel[axis] = 1, pixels.stride[axis] = 2;
    pixels.pads_begin[axis] = pixels.pads_end[axis] = 0;
  }
  for (const ConvShape& s : {cube, strided, hollow, long_kernel, many, pixels}) {
    check_exact(s);
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
