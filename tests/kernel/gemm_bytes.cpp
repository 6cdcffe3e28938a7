// Products of bytes against their definition, sums modulo 2^32, in 64-bit integers.
#include <doctest/doctest.h>

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
void check_convolution(const Window& window, std::int64_t groups, const Extents& input,
                       const Extents& weights, const Extents& output) {
  const auto size = [](const Extents& e) {
    std::int64_t n = 1;
    for (const std::int64_t v : e) n *= v;
    return n;
  };
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
    const std::int64_t filters = weights[0], channels = weights[1];
    std::int64_t wrong = 0, at = 0;
    for (std::int64_t image = 0; image < input[0]; ++image) {
      for (std::int64_t f = 0; f < filters; ++f) {
        const std::int64_t first = f / (filters / groups) * channels;
        for (std::int64_t i = 0; i < output[2]; ++i) {
          for (std::int64_t j = 0; j < output[3]; ++j, ++at) {
            std::int64_t sum = 0;
            for (std::int64_t c = 0; c < channels; ++c) {
              for (std::int64_t p = 0; p < weights[2]; ++p) {
                for (std::int64_t q = 0; q < weights[3]; ++q) {
                  const std::int64_t row =
                      i * window.strides[0] + p * window.dilations[0] - window.pad_begin(0);
                  const std::int64_t column =
                      j * window.strides[1] + q * window.dilations[1] - window.pad_begin(1);
                  if (row < 0 || row >= input[2] || column < 0 || column >= input[3]) continue;
                  const std::int64_t plane = image * input[1] + first + c;
                  sum +=
                      (x[std::size_t((plane * input[2] + row) * input[3] + column)] - zero_x[0]) *
                      (w[std::size_t(((f * channels + c) * weights[2] + p) * weights[3] + q)] -
                       zero_w[f]);
                }
              }
            }
            wrong += y[std::size_t(at)] != sum;
          }
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
  const auto window = [](std::int64_t extent, Dims kernel, Dims strides, Dims dilations,
                         Pads pads) {
    const std::int64_t input[]{extent, extent};
    const Window w = Window::over(
        input, {.kernel = kernel, .strides = strides, .dilations = dilations, .pads = pads});
    REQUIRE(w.ok());
    return w;
  };
  check_convolution<std::uint8_t, std::int8_t>(window(9, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}), 1,
                                               {2, 5, 9, 9}, {13, 5, 3, 3}, {2, 13, 9, 9});
  check_convolution<std::int8_t, std::int8_t>(window(12, {3, 2}, {2, 2}, {2, 1}, {0, 1, 2, 0}), 2,
                                              {1, 6, 12, 12}, {8, 3, 3, 2}, {1, 8, 5, 6});
  check_convolution<std::uint8_t, std::uint8_t>(window(20, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}), 1,
                                                {1, 7, 20, 20}, {3, 7, 1, 1}, {1, 3, 20, 20});
}
