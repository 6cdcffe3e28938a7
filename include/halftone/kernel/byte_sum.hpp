#pragma once

#include <cstdint>
#include <type_traits>

#include <halftone/kernel/quantization.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

/// Bytes of the sum of two tensors of bytes:
///
///     y = quantized((x - x_zero) * x_scale + (residual - residual_zero) * residual_scale)
///
/// with the roundings of the operators DequantizeLinear, Add, Clip and QuantizeLinear. All bytes have the
/// signedness of y.
struct ByteSum {
  const std::uint8_t* residual = nullptr;  ///< null: there is no sum
  float x_scale = 1, x_zero = 0;
  float residual_scale = 1, residual_zero = 0;
  Quantization y;

  void prepare() {
    const auto most = [](double scale, double zero) {
      return (scale < 0 ? -scale : scale) * (256 + (zero < 0 ? -zero : zero));
    };
    y.prepare(most(x_scale, x_zero) + most(residual_scale, residual_zero));
  }
};

namespace detail {

template <ToBytes way, class Byte>
void add_bytes(const ByteSum& sum, const Byte* residual, std::int64_t rows, std::int64_t columns,
               std::int64_t stride, Byte* y) {
  constexpr int N = Vec<float>::size;
  using B = Vec<Byte, N>;
  using V = Vec<float, N>;
  const Quantizer<N, way> to_bytes(sum.y);
  const V scale(sum.x_scale), zero(sum.x_zero);
  const V residual_scale(sum.residual_scale), residual_zero(sum.residual_zero);
  const auto number = [](B bytes, V by, V less) __attribute__((always_inline)) {
    // GCC converts bytes that it finds in memory one by one.
    return apart((convert<float>(convert<std::int32_t>(apart(bytes))) - less) * by);
  };
  const auto made = [&](B x, B r) __attribute__((always_inline)) {
    const V v = number(x, scale, zero) + number(r, residual_scale, residual_zero);
    return bit_cast<Byte>(to_bytes(v));
  };
  for (std::int64_t i = 0; i < rows; ++i, y += stride, residual += stride) {
    std::int64_t j = 0;
    for (; j + N <= columns; j += N) made(B::load(y + j), B::load(residual + j)).store(y + j);
    if (j == columns) continue;
    const std::int64_t rest = columns - j;
    made(B::load_partial(y + j, rest), B::load_partial(residual + j, rest))
        .store_partial(y + j, rest);
  }
}

}  // namespace detail

/// Replaces bytes y by their sums with the residual's: in `rows` lines of `columns` elements, of which the
/// first begins at element `first` and the others `stride` elements further each.
inline void add_bytes(const ByteSum& sum, std::int64_t first, std::int64_t rows,
                      std::int64_t columns, std::int64_t stride, std::uint8_t* y) {
  with_way(sum.y, [&]<ToBytes way>() {
    const auto add = [&]<class Byte>(Byte* to) {
      const auto* const residual = reinterpret_cast<const Byte*>(sum.residual);
      detail::add_bytes<way>(sum, residual + first, rows, columns, stride, to + first);
    };
    sum.y.is_signed ? add(reinterpret_cast<std::int8_t*>(y)) : add(y);
  });
}

}  // namespace halftone::kernel
