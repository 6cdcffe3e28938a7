// Products of bytes against their definition, sums modulo 2^32, in 64-bit integers.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <halftone/base/storage.hpp>
#include <halftone/kernel/integer_product.hpp>
#include <type_traits>
#include <vector>

using namespace halftone;
using namespace halftone::kernel;

namespace {

/// All bytes, in an order that has no period of a tile's size.
template <class T>
std::vector<T> bytes(std::int64_t count, std::uint32_t seed) {
  std::vector<T> x(static_cast<std::size_t>(count));
  for (T& v : x) {
    seed = seed * 1664525 + 1013904223;
    v = static_cast<T>(seed >> 24);
  }
  return x;
}

using Extents = std::vector<std::int64_t>;

template <class T>
View<T> view(T* data, const Extents& extents) {
  return {data, extents.data(), extents.size()};
}

/// Zero points of one side: none, one, or one for each row or column.
enum class Zeros { none, one, each };

template <class T>
struct ZeroPoints {
  std::vector<T> values;
  Extents extents;
  View<const T> view;

  ZeroPoints(Zeros kind, std::int64_t count, std::uint32_t seed) {
    if (kind == Zeros::none) return;
    values = bytes<T>(kind == Zeros::one ? 1 : count, seed);
    if (kind == Zeros::each) extents = {count};
    view = {values.data(), extents.data(), extents.size()};
  }
  std::int64_t operator[](std::int64_t i) const {
    return values.empty() ? 0 : values.size() == 1 ? values[0] : values[std::size_t(i)];
  }
};

template <class A, class B>
void check_product(std::int64_t m, std::int64_t n, std::int64_t k, Zeros kind_a, Zeros kind_b) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const auto a = bytes<A>(m * k, 1);
  const auto b = bytes<B>(k * n, 2);
  const ZeroPoints<A> zero_a(kind_a, m, 3);
  const ZeroPoints<B> zero_b(kind_b, n, 4);
  const Extents left{m, k}, right{k, n}, out{m, n};
  const View<const A> va = view(a.data(), left);
  const View<const B> vb = view(b.data(), right);
  const Executor executor;
  KernelCall call;
  call.executor = &executor;
  call.constants = 2;
  const halftone::Storage workspace =
      halftone::Storage::allocate(integer_matmul_workspace<A, B>(va, vb, zero_a.view, zero_b.view));
  const halftone::Storage packed = halftone::Storage::allocate(
      integer_matmul_packed_bytes<A, B>(call, va, vb, zero_a.view, zero_b.view) + 1);
  call.workspace = workspace.data();
  for (const bool is_packed : {false, true}) {
    CAPTURE(is_packed);
    if (is_packed) {
      if (integer_matmul_packed_bytes<A, B>(call, va, vb, zero_a.view, zero_b.view) == 0) break;
      integer_matmul_pack<A, B>(call, packed.data(), va, vb, zero_a.view, zero_b.view);
      call.packed = packed.data();
    }
    std::vector<std::int32_t> y(static_cast<std::size_t>(m * n), -1);
    integer_matmul<A, B>(call, va, vb, zero_a.view, zero_b.view, view(y.data(), out));
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t q = 0; q < k; ++q) {
          sum += (a[std::size_t(i * k + q)] - zero_a[i]) * (b[std::size_t(q * n + j)] - zero_b[j]);
        }
        wrong += y[std::size_t(i * n + j)] != sum;
      }
    }
    CHECK(wrong == 0);
  }
}

template <class A, class B>
void check_products() {
  const std::int64_t sizes[][3]{{1, 1, 1},   {1, 33, 5},   {12, 32, 4},    {13, 31, 7},
                                {25, 48, 3}, {7, 300, 18}, {30, 17, 1030}, {2, 3, 0}};
  for (const auto& s : sizes) {
    check_product<A, B>(s[0], s[1], s[2], Zeros::none, Zeros::none);
    check_product<A, B>(s[0], s[1], s[2], Zeros::one, Zeros::each);
    check_product<A, B>(s[0], s[1], s[2], Zeros::each, Zeros::one);
  }
}

template <class X, class W>
void check_convolution(const WindowAttributes& attributes, std::int64_t groups,
                       const Extents& input, std::int64_t filters) {
  const auto size = [](const Extents& e) {
    std::int64_t n = 1;
    for (const std::int64_t v : e) n *= v;
    return n;
  };
  const Window window = Window::over(std::span(input).subspan(2), attributes);
  REQUIRE(window.ok());
  const std::int64_t channels = input[1] / groups;
  Extents weights{filters, channels}, output{input[0], filters};
  for (const std::int64_t extent : window.kernel) weights.push_back(extent);
  for (const std::int64_t extent : window.output) output.push_back(extent);
  CAPTURE(input);
  CAPTURE(weights);
  CAPTURE(output);
  const auto x = bytes<X>(size(input), 1);
  const auto w = bytes<W>(size(weights), 2);
  const ZeroPoints<X> zero_x(Zeros::one, 1, 3);
  const ZeroPoints<W> zero_w(Zeros::each, weights[0], 4);
  const View<const X> vx = view(x.data(), input);
  const View<const W> vw = view(w.data(), weights);
  const Executor executor;
  KernelCall call;
  call.executor = &executor;
  call.constants = 2;
  const halftone::Storage workspace =
      halftone::Storage::allocate(integer_convolution_workspace<X, W>(window, groups, vx, vw));
  const std::size_t packed_bytes = integer_convolution_packed_bytes<X, W>(groups, call, vw);
  const halftone::Storage packed = halftone::Storage::allocate(packed_bytes + 1);
  call.workspace = workspace.data();
  for (const bool is_packed : {false, true}) {
    CAPTURE(is_packed);
    if (is_packed) {
      if (packed_bytes == 0) break;
      integer_convolution_pack<X, W>(groups, call, packed.data(), vw);
      call.packed = packed.data();
    }
    std::vector<std::int32_t> y(static_cast<std::size_t>(size(output)), -1);
    integer_convolution<X, W>(window, groups, call, vx, vw, zero_x.view, zero_w.view,
                              view(y.data(), output));
    const std::int64_t positions = size(weights) / (filters * channels);
    const std::int64_t pixels = size(output) / (output[0] * filters);
    std::int64_t wrong = 0, at = 0;
    for (std::int64_t image = 0; image < input[0]; ++image) {
      for (std::int64_t f = 0; f < filters; ++f) {
        const std::int64_t first = f / (filters / groups) * channels;
        for (std::int64_t pixel = 0; pixel < pixels; ++pixel, ++at) {
          std::int64_t sum = 0;
          for (std::int64_t p = 0; p < positions; ++p) {
            std::int64_t place = 0, stride = 1, rest_pixel = pixel, rest = p;
            bool is_inside = true;
            for (std::size_t d = window.rank(); d-- > 0;) {
              const std::int64_t i = rest_pixel % output[2 + d] * window.strides[d] +
                                     rest % weights[2 + d] * window.dilations[d] -
                                     window.pad_begin(d);
              is_inside = is_inside && i >= 0 && i < input[2 + d];
              place += i * stride;
              stride *= input[2 + d];
              rest_pixel /= output[2 + d];
              rest /= weights[2 + d];
            }
            if (!is_inside) continue;
            for (std::int64_t c = 0; c < channels; ++c) {
              const std::int64_t plane = image * input[1] + first + c;
              sum += (x[std::size_t(plane * stride + place)] - zero_x[0]) *
                     (w[std::size_t((f * channels + c) * positions + p)] - zero_w[f]);
            }
          }
          wrong += y[std::size_t(at)] != sum;
        }
      }
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("integer product: bytes of any signs, sizes and zero points give the exact sums") {
  check_products<std::uint8_t, std::int8_t>();
  check_products<std::int8_t, std::uint8_t>();
  check_products<std::uint8_t, std::uint8_t>();
  check_products<std::int8_t, std::int8_t>();
}

TEST_CASE(
    "integer product: convolutions of bytes give the exact sums, padding has the zero point") {
  using U = std::uint8_t;
  using S = std::int8_t;
  check_convolution<U, S>({.kernel = {3, 3}, .pads = {1, 1, 1, 1}}, 1, {2, 5, 9, 9}, 13);
  check_convolution<S, S>(
      {.kernel = {3, 2}, .strides = {2, 2}, .dilations = {2, 1}, .pads = {0, 1, 2, 0}}, 2,
      {1, 6, 12, 12}, 8);
  check_convolution<U, U>({.kernel = {1, 1}}, 1, {1, 7, 20, 20}, 3);
}

TEST_CASE("integer product: steps, dilations and padding of any size read the right elements") {
  using U = std::uint8_t;
  using S = std::int8_t;
  // The window is wider than the input and starts in front of it by more than a stride.
  check_convolution<U, S>({.kernel = {5, 7}, .strides = {3, 2}, .pads = {4, 5, 4, 6}}, 1,
                          {1, 3, 2, 3}, 2);
  // Dilations below, at and above the stride, and a stride above the window's reach.
  check_convolution<S, U>(
      {.kernel = {3, 3}, .strides = {1, 3}, .dilations = {3, 2}, .pads = {3, 1, 0, 4}}, 1,
      {2, 4, 11, 40}, 5);
  check_convolution<U, U>({.kernel = {3, 2}, .strides = {2, 2}, .dilations = {2, 2}}, 1,
                          {1, 9, 17, 9}, 3);
  check_convolution<S, S>({.kernel = {2, 1}, .strides = {4, 3}, .pads = {0, 2, 1, 1}}, 1,
                          {1, 6, 13, 14}, 4);
  // A last piece of the input has an output of its own.
  check_convolution<U, S>({.kernel = {3, 2}, .strides = {2, 3}, .ceil_mode = true}, 1, {1, 2, 6, 9},
                          3);
}

TEST_CASE("integer product: convolutions along one and three dimensions and by channel are exact") {
  using U = std::uint8_t;
  using S = std::int8_t;
  check_convolution<U, S>({.kernel = {5}, .pads = {2, 2}}, 1, {2, 3, 75}, 14);
  check_convolution<S, U>({.kernel = {1}, .strides = {2}}, 2, {1, 10, 70}, 2);
  check_convolution<U, S>({.kernel = {1}}, 1, {2, 6, 33}, 13);
  check_convolution<S, S>({.kernel = {2, 3, 3},
                           .strides = {2, 1, 2},
                           .dilations = {1, 2, 1},
                           .pads = {1, 0, 1, 0, 2, 1}},
                          1, {1, 5, 4, 6, 5}, 3);
  check_convolution<U, U>({.kernel = {3, 3}, .pads = {1, 1, 1, 1}}, 6, {1, 6, 8, 19}, 12);
  // Few channels a group, plane by plane: steps, dilations, padding, lines shorter than a vector,
  // several filters, signs of both.
  check_convolution<U, S>({.kernel = {3, 3}, .pads = {1, 1, 1, 1}}, 20, {2, 20, 9, 37}, 20);
  check_convolution<S, S>({.kernel = {5, 4}, .strides = {2, 3}, .pads = {3, 0, 2, 4}}, 8,
                          {1, 16, 11, 50}, 16);
  check_convolution<S, U>({.kernel = {2, 3}, .dilations = {3, 9}, .pads = {0, 9, 1, 9}}, 3,
                          {1, 3, 7, 21}, 9);
  check_convolution<U, U>({.kernel = {7}, .strides = {2}, .pads = {20, 20}}, 5, {1, 5, 33}, 5);
  check_convolution<U, S>({.kernel = {2, 1, 3}, .pads = {1, 0, 1, 0, 0, 1}}, 4, {1, 4, 3, 2, 5}, 4);
  // Each output is a line of its own.
  check_convolution<U, S>({.kernel = {2, 3}}, 1, {1, 5, 18, 3}, 3);
}

// The formula again, for quotients that are as near to halves between integers as floats are, of random
// scales and of those beside powers of two.
TEST_CASE("integer product: bytes are those of the division beside every half") {
  std::uint32_t state = 1;
  const auto below = [&](std::uint32_t n) {
    return ((state = state * 1664525u + 1013904223u) >> 8) % n;
  };
  int saturating = 0;
  for (int round = 0; round < 80; ++round) {
    CAPTURE(round);
    float y_scale =
        std::ldexp(1.f + static_cast<float>(below(1u << 23)) * 0x1p-23f, -1 - round % 15);
    if (round < 20) {
      y_scale = std::nextafter(std::ldexp(1.f, round - 15), round % 2 == 0 ? 0.f : 1e9f);
    }
    std::vector<float> values;
    for (int k = -390; k < 390; ++k) {
      const double half = k + 0.5;
      for (const double quotient :
           {half - 1e-7 * std::abs(half), half, half + 1e-7 * std::abs(half)}) {
        float v = static_cast<float>(quotient * static_cast<double>(y_scale));
        for (int i = 0; i < 4; ++i) v = std::nextafter(v, -1e30f);
        for (int i = 0; i < 9; ++i, v = std::nextafter(v, 1e30f)) values.push_back(v);
      }
    }
    const auto count = static_cast<std::int64_t>(values.size());
    const std::vector<std::int32_t> sums(values.size());
    std::vector<std::uint8_t> y(values.size());
    const float scale = 1e-9f;
    Requantize how;
    how.scale.data = &scale;
    how.scale.count = 1;
    how.bias = View<const float>{values.data(), &count, 1};
    how.by_columns = true;
    how.y.scale = y_scale;
    how.y.is_signed = round % 2 == 0;
    how.y.zero = static_cast<float>(static_cast<int>(below(256)) - (how.y.is_signed ? 128 : 0));
    how.prepare();
    saturating += how.y.is_saturating ? 1 : 0;
    requantize(how, sums.data(), count, 0, 0, 1, count, y.data(), count);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      float v = std::nearbyint(values[i] / y_scale) + how.y.zero;
      v = std::fmin(std::fmax(v, how.y.lowest()), how.y.largest());
      wrong += y[i] != static_cast<std::uint8_t>(static_cast<std::int32_t>(v));
    }
    CHECK(wrong == 0);
  }
  CHECK(saturating >= (has_saturation ? 60 : 0));
}

// The formula, in float as the operators compute it, whose quotients are often halfway between integers.
TEST_CASE("integer product: bytes of sums are those of the division") {
  std::vector<std::int32_t> sums;
  for (std::int32_t sum = -70'000; sum <= 70'000; ++sum) sums.push_back(sum);
  sums.insert(sums.end(), {INT32_MIN, INT32_MAX});
  const auto count = static_cast<std::int64_t>(sums.size());
  std::vector<std::uint8_t> y(sums.size());
  for (const float y_scale : {0.03125f, 0.037f, 0.1f, 1.9999999f, 3e-5f, 1e-30f, 1e30f}) {
    for (const float scale : {0.015625f, 1.1e-3f}) {
      for (const bool is_signed : {false, true}) {
        CAPTURE(y_scale);
        CAPTURE(scale);
        CAPTURE(is_signed);
        const float bias = 0.5f, lower = -0.75f, upper = 2;
        Requantize how;
        how.scale.data = &scale;
        how.bias.data = &bias;
        how.scale.count = how.bias.count = 1;
        how.y.scale = y_scale;
        how.y.zero = is_signed ? -5.f : 97.f;
        how.y.is_signed = is_signed;
        for (const bool clamps : {false, true}) {
          how.y.clamp = clamps;
          how.y.lower = lower;
          how.y.upper = upper;
          how.prepare();
          CHECK(how.y.is_quick ==
                (has_fma && y_scale > 1e-18f && y_scale < 1e18f && y_scale != 1.9999999f));
          // Quotients may reach 2^31 scale / y_scale; the limits are not those of bytes.
          const bool fits = how.y.is_quick && 0x1p31f * scale < 0x1p30f * y_scale;
          CHECK(how.y.is_saturating == (has_saturation && fits && !clamps));
          requantize(how, sums.data(), count, 0, 0, 1, count, y.data(), count);
          std::int64_t wrong = 0;
          for (std::int64_t i = 0; i < count; ++i) {
            const volatile float product = static_cast<float>(sums[std::size_t(i)]) * scale;
            float v = product + bias;
            if (clamps) v = std::fmin(std::fmax(v, lower), upper);
            v = std::nearbyint(v / y_scale) + how.y.zero;
            v = std::fmin(std::fmax(v, how.y.lowest()), how.y.largest());
            wrong += y[std::size_t(i)] != static_cast<std::uint8_t>(static_cast<std::int32_t>(v));
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}
