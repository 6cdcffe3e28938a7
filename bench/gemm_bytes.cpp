// Rates of products of 8-bit matrices and of convolutions, one thread, as shares of the peak of AMX
// or VNNI measured in the same run, or of the float peak where the machine has neither.
#include <halftone/kernel/integer_product.hpp>

#include "narrow_peak.hpp"

namespace {

using namespace halftone::kernel;

void product(std::int64_t m, std::int64_t n, std::int64_t k, bool is_packed) {
  using A = std::uint8_t;
  using B = std::int8_t;
  bench::Buffer<A> a(m * k);
  bench::Buffer<B> b(k * n);
  bench::Buffer<std::int32_t> y(m * n);
  for (std::int64_t i = 0; i < m * k; ++i) a.data()[i] = static_cast<A>(i * 7);
  for (std::int64_t i = 0; i < k * n; ++i) b.data()[i] = static_cast<B>(i * 5);
  const std::int64_t left[]{m, k}, right[]{k, n}, out[]{m, n};
  const A zero = 128;
  const halftone::View<const A> zero_a{&zero, nullptr, 0};
  const halftone::View<const A> va{a.data(), left, 2};
  const halftone::View<const B> vb{b.data(), right, 2}, zero_b{};
  const halftone::View<std::int32_t> vy{y.data(), out, 2};
  const Executor executor;
  halftone::KernelCall call;
  call.executor = &executor;
  call.constants = 2;
  bench::Buffer<char> workspace(
      std::int64_t(integer_matmul_workspace<A, B>(va, vb, zero_a, zero_b)));
  bench::Buffer<char> packed(
      std::int64_t(integer_matmul_packed_bytes<A, B>(call, va, vb, zero_a, zero_b)));
  call.workspace = workspace.data();
  if (is_packed && packed.size > 0) {
    integer_matmul_pack<A, B>(call, packed.data(), va, vb, zero_a, zero_b);
    call.packed = packed.data();
  }
  char name[100];
  std::snprintf(name, sizeof(name), "gemm %lldx%lldx%lld u8 s8%s", (long long)m, (long long)n,
                (long long)k, is_packed ? " packed" : "");
  bench::report(
      name, "GOP/s", "peak", 2e-9 * double(m) * double(n) * double(k),
      [&] { integer_matmul<A, B>(call, va, vb, zero_a, zero_b, vy); }, bench::byte_peak);
}

void convolution(std::int64_t channels, std::int64_t filters, std::int64_t extent,
                 std::int64_t kernel, std::int64_t stride = 1) {
  using X = std::uint8_t;
  using W = std::int8_t;
  const std::int64_t input[]{1, channels, extent, extent};
  const std::int64_t weights[]{filters, channels, kernel, kernel};
  const std::int64_t side = (extent + stride - 1) / stride, pixels = side * side;
  const std::int64_t output[]{1, filters, side, side};
  const std::int64_t pad = kernel / 2, terms = channels * kernel * kernel;
  bench::Buffer<X> x(channels * extent * extent);
  bench::Buffer<W> w(filters * terms);
  bench::Buffer<std::int32_t> y(filters * pixels);
  for (std::int64_t i = 0; i < x.size; ++i) x.data()[i] = static_cast<X>(i * 7);
  for (std::int64_t i = 0; i < w.size; ++i) w.data()[i] = static_cast<W>(i * 5);
  const auto window = halftone::Window::over(
      std::span(input).subspan(2),
      {.kernel = {kernel, kernel}, .strides = {stride, stride}, .pads = {pad, pad, pad, pad}});
  const halftone::View<const X> vx{x.data(), input, 4};
  const halftone::View<const W> vw{w.data(), weights, 4};
  const halftone::View<std::int32_t> vy{y.data(), output, 4};
  const Executor executor;
  halftone::KernelCall call;
  call.executor = &executor;
  call.constants = 2;
  bench::Buffer<char> workspace(
      std::int64_t(integer_convolution_workspace<X, W>(window, 1, vx, vw)));
  bench::Buffer<char> packed(std::int64_t(integer_convolution_packed_bytes<X, W>(1, call, vw)));
  call.workspace = workspace.data();
  if (packed.size > 0) {
    integer_convolution_pack<X, W>(1, call, packed.data(), vw);
    call.packed = packed.data();
  }
  char name[100];
  std::snprintf(name, sizeof(name), "conv %lldx%lld %lld to %lld of %lldx%lld by %lld u8 s8",
                (long long)kernel, (long long)kernel, (long long)channels, (long long)filters,
                (long long)extent, (long long)extent, (long long)stride);
  bench::report(
      name, "GOP/s", "peak", 2e-9 * double(filters) * double(pixels) * double(terms),
      [&] { integer_convolution<X, W>(window, 1, call, vx, vw, {}, {}, vy); }, bench::byte_peak);
}

}  // namespace

int main() {
  for (const std::int64_t n : {64, 128, 256, 512, 1024}) {
    product(n, n, n, false);
    product(n, n, n, true);
  }
  product(1, 1024, 1024, true);
  product(196, 512, 4608, true);
  // Layers of ResNet-50.
  convolution(3, 64, 224, 7, 2);
  convolution(64, 64, 56, 1);
  convolution(64, 64, 56, 3);
  convolution(64, 256, 56, 1);
  convolution(128, 128, 28, 3);
  convolution(128, 128, 56, 3, 2);
  convolution(256, 256, 14, 3);
  convolution(512, 512, 7, 3);
  convolution(1024, 256, 14, 1);
  convolution(256, 512, 56, 1, 2);
  convolution(1, 1, 56, 3);
}
