#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <halftone/base/window.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/kernel/byte_image.hpp>
#include <halftone/kernel/byte_planes.hpp>
#include <halftone/kernel/byte_sum.hpp>
#include <halftone/kernel/bytes_last.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/gemm.hpp>
#include <halftone/kernel/gemm_bytes.hpp>
#include <halftone/kernel/requantize.hpp>
#include <halftone/op/quantized_product.hpp>

namespace halftone::kernel {

namespace detail {

/// 8-bit numbers less their zero points have products below 2^16 in size, so that float has the sum
/// of this many exactly.
inline constexpr std::int64_t exact_terms = 256;
/// Rows and columns of a block of the product; with the terms above they bound the scratch memory.
inline constexpr std::int64_t integer_rows = 512, integer_columns = 1024;

struct IntegerBlocks {
  std::int64_t rows, columns, terms;

  constexpr IntegerBlocks(std::int64_t m, std::int64_t n, std::int64_t k)
      : rows(m < integer_rows ? m : integer_rows),
        columns(n < integer_columns ? n : integer_columns),
        terms(k < exact_terms ? k : exact_terms) {}
  constexpr std::int64_t a_floats() const { return round_up(rows * terms, 16); }
  constexpr std::int64_t b_floats() const { return round_up(terms * columns, 16); }
  constexpr std::int64_t y_floats() const { return round_up(rows * columns, 16); }
  constexpr std::size_t bytes() const {
    return static_cast<std::size_t>(a_floats() + b_floats() + y_floats()) * sizeof(float) +
           static_cast<std::size_t>(gemm_workspace_bytes<float>(rows, columns, terms));
  }
};

/// y[m, n] = sum over k of a[m, k] b[k, n], exact, but sums wrap around beyond int32. `fill_a(row,
/// term, terms, to)` gives a piece of a row of a as float, `fill_b(term, column, columns, to)` of b.
template <class A, class B>
void integer_product(std::int64_t m, std::int64_t n, std::int64_t k, A&& fill_a, B&& fill_b,
                     std::int32_t* y, void* workspace, const Executor& executor) {
  const IntegerBlocks blocks(m, n, k);
  float* const a = static_cast<float*>(workspace);
  float* const b = a + blocks.a_floats();
  float* const part = b + blocks.b_floats();
  void* const rest = part + blocks.y_floats();
  for (std::int64_t n0 = 0; n0 < n; n0 += blocks.columns) {
    const std::int64_t columns = n - n0 < blocks.columns ? n - n0 : blocks.columns;
    for (std::int64_t m0 = 0; m0 < m; m0 += blocks.rows) {
      const std::int64_t rows = m - m0 < blocks.rows ? m - m0 : blocks.rows;
      const auto each_row = [&](auto&& f) {
        parallel_for(executor, rows,
                     [&](std::int64_t i) { f(part + i * columns, y + (m0 + i) * n + n0); });
      };
      if (k == 0) {
        each_row([&](const float*, std::int32_t* to) {
          for (std::int64_t j = 0; j < columns; ++j) to[j] = 0;
        });
      }
      for (std::int64_t k0 = 0; k0 < k; k0 += blocks.terms) {
        const std::int64_t terms = k - k0 < blocks.terms ? k - k0 : blocks.terms;
        parallel_for(executor, rows,
                     [&](std::int64_t i) { fill_a(m0 + i, k0, terms, a + i * terms); });
        parallel_for(executor, terms,
                     [&](std::int64_t i) { fill_b(k0 + i, n0, columns, b + i * columns); });
        gemm<float>(row_major<const float>(a, rows, terms),
                    row_major<const float>(b, terms, columns), row_major(part, rows, columns), {},
                    rest, executor);
        each_row([&](const float* from, std::int32_t* to) {
          if (k0 == 0) {
            for (std::int64_t j = 0; j < columns; ++j) to[j] = static_cast<std::int32_t>(from[j]);
            return;
          }
          for (std::int64_t j = 0; j < columns; ++j) {
            const auto sum = static_cast<std::uint32_t>(to[j]) +
                             static_cast<std::uint32_t>(static_cast<std::int32_t>(from[j]));
            to[j] = static_cast<std::int32_t>(sum);
          }
        });
      }
    }
  }
}

/// Scratch memory of a product, whichever way the machine computes it; `more` follows that of the
/// product of bytes.
constexpr std::size_t integer_product_bytes(const ByteShape& shape, std::size_t more = 0) {
  const std::size_t in_float = IntegerBlocks(shape.m, shape.n, shape.k).bytes();
  const auto by_bytes = static_cast<std::size_t>(round_up(shape.workspace_bytes(), 64)) + more;
  return can_multiply_bytes && by_bytes > in_float ? by_bytes : in_float;
}

/// A stack of matrices [..., rows, columns] less zero points that broadcast to it. A vector of zero
/// points belongs to the dimension `vector_axis`, counted from the end.
template <class T>
struct CenteredMatrices {
  const T *data, *zero;
  std::int64_t rows = 1, columns = 1;
  std::size_t batch_rank = 0;
  std::int64_t batch[max_rank] = {}, zero_strides[max_rank] = {};
  std::int64_t zero_row = 0, zero_column = 0;

  CenteredMatrices(View<const T> x, View<const T> zeros, bool is_column, std::size_t vector_axis)
      : data(x.data), zero(zeros.data) {
    // A vector is a row on the left, a column on the right.
    std::int64_t extents[max_rank + 1], strides[max_rank + 1] = {};
    std::size_t rank = 0;
    for (; rank < x.rank; ++rank) extents[rank] = x.extent(rank);
    if (rank == 1 && is_column) {
      extents[rank++] = 1;
    } else if (rank == 1) {
      extents[1] = extents[0];
      extents[0] = 1;
      rank = 2;
    }
    rows = extents[rank - 2];
    columns = extents[rank - 1];
    if (zero != nullptr && zeros.rank == 1 && x.rank > 1) {
      strides[rank - vector_axis] = zeros.extent(0) == 1 ? 0 : 1;
    } else if (zero != nullptr && zeros.size() > 1) {
      std::int64_t stride = 1;
      for (std::size_t d = zeros.rank; d-- > 0;) {
        // A column's own dimension is the one in front of the last.
        const std::size_t at = rank - (zeros.rank - d) - (x.rank == 1 && is_column ? 1 : 0);
        strides[at] = zeros.extent(d) == 1 ? 0 : stride;
        stride *= zeros.extent(d);
      }
    }
    zero_row = strides[rank - 2];
    zero_column = strides[rank - 1];
    batch_rank = rank - 2;
    for (std::size_t d = 0; d < batch_rank; ++d) {
      batch[d] = extents[d];
      zero_strides[d] = strides[d];
    }
  }

  /// The places of a matrix of the broadcast stack and of its zero points.
  void find(std::int64_t number, std::span<const std::int64_t> stack, std::int64_t& at,
            std::int64_t& zero_at) const {
    std::int64_t stride = rows * columns;
    at = zero_at = 0;
    for (std::size_t d = stack.size(); d-- > 0; number /= stack[d]) {
      const std::size_t missing = stack.size() - batch_rank;
      if (d < missing) continue;
      const std::int64_t i = batch[d - missing] == 1 ? 0 : number % stack[d];
      at += i * stride;
      zero_at += i * zero_strides[d - missing];
      stride *= batch[d - missing];
    }
  }
  /// A piece of a row as it is.
  void fill(std::int64_t at, std::int64_t row, std::int64_t column, std::int64_t count,
            std::uint8_t* to) const {
    __builtin_memcpy(to, data + at + row * columns + column, static_cast<std::size_t>(count));
  }
  /// A piece of a row less its zero points.
  void fill(std::int64_t at, std::int64_t zero_at, std::int64_t row, std::int64_t column,
            std::int64_t count, float* to) const {
    const T* const from = data + at + row * columns + column;
    if (zero == nullptr) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
      return;
    }
    const T* const zeros = zero + zero_at + row * zero_row + column * zero_column;
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<float>(from[i]) - static_cast<float>(zeros[i * zero_column]);
    }
  }
};

/// Whether zero points are the same for all terms of a sum, so that sums of rows and columns take
/// care of them. `sums` is the dimension of x, counted from the end, that the terms lie along.
constexpr bool repeats_along(const auto& x, const auto& zeros, std::size_t sums) {
  if (zeros.rank == 0) return true;
  if (x.rank == 1) return zeros.extent(zeros.rank - 1) == 1;
  return zeros.rank == 1 || zeros.extent(zeros.rank - sums) == 1;
}

/// Sizes of op::MatMulInteger, whose right operand may be packed once.
template <class A, class B>
struct IntegerMatMulShape {
  ByteShape one;
  std::int64_t b_count;
  bool fits_bytes;

  constexpr IntegerMatMulShape(View<const A> a, View<const B> b, View<const A> zero_a,
                               View<const B> zero_b)
      : one{a.rank == 1 ? 1 : a.extent(a.rank - 2), b.rank == 1 ? 1 : b.extent(b.rank - 1),
            a.extent(a.rank - 1)},
        b_count(b.rank > 2 ? b.size(0, b.rank - 2) : 1),
        fits_bytes(repeats_along(a, zero_a, 1) && repeats_along(b, zero_b, 2)) {
    // The rows of a stack follow each other.
    if (b.rank <= 2 && zero_a.rank == 0 && a.rank > 2) one.m = a.size(0, a.rank - 1);
  }
};

}  // namespace detail

namespace detail {

/// Whether this machine makes bytes of sums while they are in registers.
template <class A, class B>
constexpr bool requantizes_in_place(const IntegerMatMulShape<A, B>& shape) {
  return shape.fits_bytes && multiplies_bytes();
}

/// The products of the stack of matrices that has y's shape, behind each other. Bytes only where
/// requantizes_in_place.
template <class A, class B, class Y>
void multiply_integers(const KernelCall& call, View<const A> a, View<const B> b,
                       View<const A> zero_a, View<const B> zero_b, View<Y> y, const ByteOutput& out,
                       void* workspace) {
  const CenteredMatrices<A> left(a, zero_a, false, 2);
  const CenteredMatrices<B> right(b, zero_b, true, 1);
  const IntegerMatMulShape<A, B> shape(a, b, zero_a, zero_b);
  const std::int64_t m = shape.one.m, n = shape.one.n, k = shape.one.k;
  const std::size_t lost = (a.rank == 1 ? 1 : 0) + (b.rank == 1 ? 1 : 0);
  const auto stack = y.shape().first(y.rank + lost - 2);
  const bool by_bytes = requantizes_in_place(shape);
  for (std::int64_t i = 0, count = y.size() / (m * n); i < count; ++i) {
    const ByteOutput one = out.from(i * m * n, i * m);
    std::int64_t at_a, zero_at_a, at_b, zero_at_b;
    left.find(i, stack, at_a, zero_at_a);
    right.find(i, stack, at_b, zero_at_b);
    const auto rows = [&](std::int64_t row, std::int64_t term, std::int64_t terms, auto* to) {
      if constexpr (std::is_same_v<decltype(to), float*>) {
        left.fill(at_a, zero_at_a, row, term, terms, to);
      } else {
        left.fill(at_a, row, term, terms, to);
      }
    };
    const auto lines = [&](std::int64_t term, std::int64_t column, std::int64_t columns, auto* to) {
      if constexpr (std::is_same_v<decltype(to), float*>) {
        right.fill(at_b, zero_at_b, term, column, columns, to);
      } else {
        right.fill(at_b, term, column, columns, to);
      }
    };
    if (!by_bytes) {
      integer_product(m, n, k, rows, lines, one.sums, workspace, *call.executor);
      continue;
    }
    const char* const packed = static_cast<const char*>(call.packed);
    const std::int64_t matrix = at_b / (k * n == 0 ? 1 : k * n);
    multiply_bytes<A, B>(
        shape.one, rows,
        [&](std::int64_t first, std::int64_t last, std::uint8_t* panels, std::int32_t* sums) {
          pack_byte_panels<B>(shape.one, lines, first, last, panels, sums);
        },
        [&](std::int64_t row) {
          return zero_a ? std::int32_t{left.zero[zero_at_a + row * left.zero_row]} : 0;
        },
        [&](std::int64_t column) {
          return zero_b ? std::int32_t{right.zero[zero_at_b + column * right.zero_column]} : 0;
        },
        nullptr, packed == nullptr ? nullptr : packed + matrix * shape.one.b_bytes(), one,
        workspace, *call.executor);
  }
}

/// Space for sums in front of the workspace of what makes them.
constexpr std::int64_t sums_bytes(std::int64_t elements) {
  return round_up(elements * static_cast<std::int64_t>(sizeof(std::int32_t)), 64);
}

/// The quantization to bytes of type Y that attributes and inputs describe.
template <class Y>
Quantization quantization(const op::QuantizedLimits& limits, View<const float> scale,
                          View<const float> zero) {
  return {.scale = scale[0],
          .zero = zero ? zero[0] : 0,
          .lower = limits.lower,
          .upper = limits.upper,
          .clamp = limits.clamp,
          .is_signed = std::is_signed_v<Y>};
}

/// The same of the result of an operator.
template <class Y>
Requantize requantization(const op::QuantizedResult& result, View<const std::int32_t> addend,
                          View<const float> scale, View<const float> bias,
                          View<const float> y_scale, View<const float> y_zero, View<Y>) {
  Requantize how;
  how.addend = addend;
  how.scale = scale;
  how.bias = bias;
  how.y = quantization<Y>(result.limits, y_scale, y_zero);
  how.prepare();
  return how;
}

}  // namespace detail

/// op::MatMulInteger.
template <class A, class B>
void integer_matmul(const KernelCall& call, View<const A> a, View<const B> b, View<const A> zero_a,
                    View<const B> zero_b, View<std::int32_t> y) {
  if (y.size() == 0) return;
  detail::multiply_integers(call, a, b, zero_a, zero_b, y, {y.data}, call.workspace);
}

/// op::QuantizedMatMul.
template <class A, class B, class Y>
void quantized_matmul(const op::QuantizedResult& result, const KernelCall& call, View<const A> a,
                      View<const B> b, View<const A> zero_a, View<const B> zero_b,
                      View<const std::int32_t> addend, View<const float> scale,
                      View<const float> bias, View<const float> y_scale, View<const float> y_zero,
                      View<Y> y) {
  if (y.size() == 0) return;
  Requantize how = detail::requantization(result, addend, scale, bias, y_scale, y_zero, y);
  how.by_columns = true;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(y.data);
  const detail::IntegerMatMulShape<A, B> shape(a, b, zero_a, zero_b);
  if (detail::requantizes_in_place(shape)) {
    return detail::multiply_integers(call, a, b, zero_a, zero_b, y, {nullptr, &how, bytes},
                                     call.workspace);
  }
  auto* const sums = static_cast<std::int32_t*>(call.workspace);
  detail::multiply_integers(call, a, b, zero_a, zero_b, y, {sums},
                            static_cast<char*>(call.workspace) + detail::sums_bytes(y.size()));
  const std::int64_t columns = shape.one.n, rows = y.size() / columns;
  parallel_for(*call.executor, rows, [&](std::int64_t row) {
    requantize(how, sums + row * columns, columns, row, 0, 1, columns, bytes + row * columns,
               columns);
  });
}

template <class A, class B>
constexpr std::size_t integer_matmul_workspace(View<const A> a, View<const B> b,
                                               View<const A> zero_a, View<const B> zero_b) {
  const detail::IntegerMatMulShape<A, B> shape(a, b, zero_a, zero_b);
  return detail::integer_product_bytes(shape.one);
}

template <class A, class B, class Y>
constexpr std::size_t quantized_matmul_workspace(View<const A> a, View<const B> b,
                                                 View<const A> zero_a, View<const B> zero_b,
                                                 View<Y> y) {
  const std::size_t product = integer_matmul_workspace(a, b, zero_a, zero_b);
  const detail::IntegerMatMulShape<A, B> shape(a, b, zero_a, zero_b);
  if (detail::requantizes_in_place(shape)) return product;
  return product + static_cast<std::size_t>(detail::sums_bytes(y.size()));
}

template <class A, class B>
constexpr std::size_t integer_matmul_packed_bytes(const KernelCall& call, View<const A> a,
                                                  View<const B> b, View<const A> zero_a,
                                                  View<const B> zero_b) {
  const detail::IntegerMatMulShape<A, B> shape(a, b, zero_a, zero_b);
  if (!detail::multiplies_bytes() || !shape.fits_bytes) return 0;
  if (!call.is_constant(1) || call.is_constant(0)) return 0;
  return static_cast<std::size_t>(shape.b_count * shape.one.b_bytes());
}

template <class A, class B>
void integer_matmul_pack(const KernelCall& call, void* packed, View<const A> a, View<const B> b,
                         View<const A> zero_a, View<const B> zero_b) {
  const detail::IntegerMatMulShape<A, B> shape(a, b, zero_a, zero_b);
  const detail::CenteredMatrices<B> right(b, {}, true, 1);
  for (std::int64_t i = 0; i < shape.b_count; ++i) {
    const auto lines = [&](std::int64_t term, std::int64_t column, std::int64_t columns,
                           std::uint8_t* to) {
      right.fill(i * right.rows * right.columns, term, column, columns, to);
    };
    detail::pack_bytes_right(
        shape.one,
        [&](std::int64_t first, std::int64_t last, std::uint8_t* to, std::int32_t* sums) {
          detail::pack_byte_panels<B>(shape.one, lines, first, last, to, sums);
        },
        0, shape.one.panels(), static_cast<char*>(packed) + i * shape.one.b_bytes(),
        call.executor == nullptr ? Executor{} : *call.executor);
  }
}

namespace detail {

/// The product that a group's filters take part in, but for its columns.
template <class W>
constexpr ByteShape byte_filters(std::int64_t groups, View<const W> w) {
  return {w.extent(0) / groups, 0, w.size(1, w.rank), w.size(2, w.rank)};
}

/// A piece of a run of a filter [channels, positions], whose terms go position by position.
template <class W>
void fill_byte_filter(const ByteShape& s, const W* filters, std::int64_t row, std::int64_t term,
                      std::int64_t count, std::uint8_t* to) {
  const std::int64_t channels = s.k / s.runs;
  const W* const from = filters + row * s.k + term % channels * s.runs + term / channels;
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::uint8_t>(from[i * s.runs]);
}

/// A convolution of activations [batch, 1, height, width, channels].
template <class Conv, class X, class W>
constexpr LastShape last_shape(const Conv& conv, View<const X> x, View<const W> w) {
  return {conv.window_over(x.shape().subspan(2, 2), Dims(w.shape().subspan(2))),
          x.extent(0),
          x.extent(2),
          x.extent(3),
          x.extent(4),
          w.extent(0),
          conv.group != 1};
}

/// Convolves one group of an image. packed: its filters, or null where they are not packed yet.
template <class X, class W, class ZeroFilter>
void multiply_byte_image([[maybe_unused]] const Window& window, [[maybe_unused]] View<const X> x,
                         [[maybe_unused]] const X* group, [[maybe_unused]] X zero,
                         [[maybe_unused]] const ByteShape& filters, [[maybe_unused]] const W* w,
                         [[maybe_unused]] ZeroFilter&& zero_filter,
                         [[maybe_unused]] const void* packed, [[maybe_unused]] const ByteOutput& y,
                         [[maybe_unused]] void* workspace,
                         [[maybe_unused]] const Executor& executor) {
#if HALFTONE_AVX512
  const ByteImage image(window, filters.k / filters.runs);
  const ByteShape shape = image.product(filters.m);
  auto* const words = reinterpret_cast<std::uint32_t*>(static_cast<char*>(workspace) +
                                                       round_up(shape.workspace_bytes(), 64));
  auto* const places = reinterpret_cast<std::int64_t*>(words + round_up(image.words(), byte_lanes));
  if (!image.is_pointwise) {
    write_byte_image(image, window, x, group, zero, words, places, executor);
  }
  multiply_bytes<W, X>(
      shape,
      [&](std::int64_t row, std::int64_t term, std::int64_t count, std::uint8_t* to) {
        fill_byte_filter(shape, w, row, term, count, to);
      },
      [&](std::int64_t first, std::int64_t last, std::uint8_t* to, std::int32_t* sums) {
        if (image.is_pointwise) {
          pack_pointwise_panels(image, shape, group, first, last, to, sums);
        } else {
          pack_image_panels(image, shape, window, words, places, first, last, to, sums);
        }
      },
      zero_filter, [zero](std::int64_t) { return +zero; }, packed, nullptr, y, workspace, executor);
#endif
}

/// The same of the tensor of weights.
template <class W>
constexpr bool adds_planes(std::int64_t groups, View<const W> w) {
  return kernel::adds_planes(groups, w.extent(1), w.extent(0) / groups, w.size(2, w.rank));
}

/// to[j] += (from[j * step] - zero) * weight for j < n.
template <class X>
void add_line(const X* from, std::int64_t step, std::int32_t zero, std::int32_t weight,
              std::int32_t* to, std::int64_t n) {
  using V = Vec<std::int32_t>;
  using Bytes = Vec<X, V::size>;
  std::int64_t j = 0;
  const auto product = [&](Bytes bytes) {
    return (convert<std::int32_t>(bytes) - V(zero)) * V(weight);
  };
  for (; step == 1 && j + V::size <= n; j += V::size) {
    (V::load(to + j) + product(Bytes::load(from + j))).store(to + j);
  }
  if (step == 1 && j < n) {
    const V sum = V::load_partial(to + j, n - j) + product(Bytes::load_partial(from + j, n - j));
    sum.store_partial(to + j, n - j);
    return;
  }
  for (; j < n; ++j) to[j] += (from[j * step] - zero) * weight;
}

/// A position of the kernel over the input of a convolution.
struct Tap {
  std::int64_t place[max_rank];  ///< of the input under it, for the first output

  Tap(const Window& window, std::int64_t position) {
    for (std::size_t d = window.rank(); d-- > 0; position /= window.kernel[d]) {
      place[d] = position % window.kernel[d] * window.dilations[d] - window.pad_begin(d);
    }
  }
  /// Where in a channel of x the line begins that it sees for a line of outputs; -1: beside x.
  template <class X>
  std::int64_t line(const Window& window, View<const X> x, std::int64_t output) const {
    std::int64_t offset = 0, stride = x.extent(x.rank - 1);
    for (std::size_t d = window.rank() - 1; d-- > 0;) {
      const std::int64_t extent = x.extent(2 + d);
      // A division takes longer than a line.
      const std::int64_t index = d == 0 ? output : output % window.output[d];
      if (d != 0) output /= window.output[d];
      const std::int64_t at = index * window.strides[d] + place[d];
      if (at < 0 || at >= extent) return -1;
      offset += at * stride;
      stride *= extent;
    }
    return offset;
  }
};

/// Computes one filter's plane of sums over a group's channels, tap by tap.
template <class X, class W>
void add_plane(const Window& window, View<const X> x, const X* group, X zero_x,
               std::int64_t channels, const W* filter, std::int32_t zero_w, std::int32_t* y) {
  const std::size_t rank = window.rank();
  const std::int64_t input = x.size(2, x.rank), width = x.extent(x.rank - 1);
  const std::int64_t columns = window.output[rank - 1], step = window.strides[rank - 1];
  std::int64_t positions = 1, lines = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    positions *= window.kernel[d];
    if (d + 1 < rank) lines *= window.output[d];
  }
  for (std::int64_t i = 0; i < lines * columns; ++i) y[i] = 0;
  for (std::int64_t term = 0; term < channels * positions; ++term) {
    const Tap tap(window, term % positions);
    // Outputs [low, high) of a line read elements of the input; what is beside it adds nothing.
    const std::int64_t start = tap.place[rank - 1];
    const std::int64_t low = start < 0 ? (step - 1 - start) / step : 0;
    const std::int64_t end = start < width ? (width - 1 - start) / step + 1 : 0;
    const std::int64_t high = end < columns ? end : columns;
    if (low >= high) continue;
    const X* const plane = group + term / positions * input;
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::int64_t offset = tap.line(window, x, line);
      if (offset < 0) continue;
      add_line(plane + offset + start + low * step, step, std::int32_t{zero_x},
               filter[term] - zero_w, y + line * columns + low, high - low);
    }
  }
}

/// Whether this machine makes bytes of sums while they are in registers.
template <class W>
constexpr bool requantizes_in_place(const Window& window, std::int64_t groups, View<const W> w) {
  if (!adds_planes(groups, w)) return multiplies_bytes();
  return permutes_bytes() && ByteTaps(window, w.extent(1)).fits;
}

/// The weights of a group times the input's elements under the window, one column for each output;
/// w's zero points are one or one for each filter. Bytes only where requantizes_in_place.
template <class X, class W>
void convolve_bytes(const Window& window, std::int64_t groups, const KernelCall& call,
                    View<const X> x, View<const W> w, View<const X> zero_x, View<const W> zero_w,
                    const ByteOutput& y) {
  const std::size_t rank = window.rank();
  const std::int64_t channels = w.extent(1), filters = w.extent(0) / groups;
  const std::int64_t positions = w.size(2, w.rank);
  const std::int64_t pixels = product(window.output);
  const std::int64_t input = x.size(2, x.rank), terms = channels * positions;
  const X zero = zero_x ? zero_x[0] : X(0);
  const bool has_zeros = zero_w && zero_w.size() > 1;
  const std::int64_t columns = window.output[rank - 1], width = x.extent(x.rank - 1);
  const std::int64_t step = window.strides[rank - 1];
  const ByteShape shape = byte_filters(groups, w);
  const auto centered = [zero](X v) { return static_cast<float>(v - zero); };
  if (adds_planes(groups, w)) {
    [[maybe_unused]] const ByteTaps taps(window, channels);
    // `taps` come first: an initializer that the compiler can evaluate would not ask the machine.
    [[maybe_unused]] const bool permutes = taps.fits && permutes_bytes();
#if HALFTONE_AVX512
    const BytePlanes planes(window, taps, channels, x, zero);
#endif
    parallel_for(*call.executor, x.extent(0) * groups * filters, [&](std::int64_t plane) {
      const std::int64_t filter = plane % (groups * filters);
      const X* const group = x.data + plane / filters * channels * input;
      const std::int32_t z = zero_w ? std::int32_t{zero_w[has_zeros ? filter : 0]} : 0;
      const ByteOutput to = y.from(plane * pixels, filter);
#if HALFTONE_AVX512
      if (permutes) {
        const ByteFilter numbers(planes, w.data + filter * terms, zero, z);
        return convolve_byte_plane(planes, numbers, group, to);
      }
#endif
      add_plane(window, x, group, zero, channels, w.data + filter * terms, z, to.sums);
    });
    return;
  }
  for (std::int64_t i = 0; i < x.extent(0) * groups; ++i) {
    const std::int64_t first = i % groups * filters;
    const X* const image = x.data + i * channels * input;
    const auto zero_filter = [&](std::int64_t row) {
      return zero_w ? std::int32_t{zero_w[has_zeros ? first + row : 0]} : 0;
    };
    const ByteOutput part = y.from(i * filters * pixels, first);
    if (multiplies_bytes()) {
      const char* const packed = static_cast<const char*>(call.packed);
      multiply_byte_image(window, x, image, zero, shape, w.data + first * terms, zero_filter,
                          packed == nullptr ? nullptr : packed + i % groups * shape.a_bytes(), part,
                          call.workspace, *call.executor);
      continue;
    }
    const auto weights = [&](std::int64_t row, std::int64_t term, std::int64_t count, float* to) {
      const W* const from = w.data + (first + row) * terms + term;
      const std::int32_t z = zero_filter(row);
      for (std::int64_t j = 0; j < count; ++j) to[j] = static_cast<float>(from[j] - z);
    };
    // This is one position of the kernel in one channel, for `count` outputs from `pixel` on.
    const auto under_window = [&](std::int64_t term, std::int64_t pixel, std::int64_t count,
                                  float* to) {
      const Tap tap(window, term % positions);
      const X* const plane = image + term / positions * input;
      while (count > 0) {
        const std::int64_t column = pixel % columns;
        const std::int64_t run = count < columns - column ? count : columns - column;
        const std::int64_t offset = tap.line(window, x, pixel / columns);
        // Outputs [low, high) of the run read elements of the input.
        std::int64_t low = 0, high = offset >= 0 ? run : 0;
        const std::int64_t start = column * step + tap.place[rank - 1];
        while (low < high && start + low * step < 0) ++low;
        while (low < high && start + (high - 1) * step >= width) --high;
        for (std::int64_t j = 0; j < low; ++j) to[j] = centered(zero);
        for (std::int64_t j = high; j < run; ++j) to[j] = centered(zero);
        if (low < high) {
          const X* const from = plane + offset + start;
          if (step == 1) {
            for (std::int64_t j = low; j < high; ++j) to[j] = centered(from[j]);
          } else {
            for (std::int64_t j = low; j < high; ++j) to[j] = centered(from[j * step]);
          }
        }
        to += run;
        pixel += run;
        count -= run;
      }
    };
    integer_product(filters, pixels, terms, weights, under_window, part.sums, call.workspace,
                    *call.executor);
  }
}

}  // namespace detail

/// op::ConvInteger.
template <class X, class W>
void integer_convolution(const Window& window, std::int64_t groups, const KernelCall& call,
                         View<const X> x, View<const W> w, View<const X> zero_x,
                         View<const W> zero_w, View<std::int32_t> y) {
  if (y.size() == 0) return;
  detail::convolve_bytes(window, groups, call, x, w, zero_x, zero_w, {y.data});
}

template <class X, class W>
constexpr std::size_t integer_convolution_workspace(const Window& window, std::int64_t groups,
                                                    View<const X>, View<const W> w) {
  if (detail::adds_planes(groups, w)) return 0;
  const detail::ByteImage image(window, w.extent(1));
  const detail::ByteShape shape = image.product(w.extent(0) / groups);
  return detail::integer_product_bytes(
      shape, detail::can_multiply_bytes ? static_cast<std::size_t>(image.bytes()) : 0);
}

/// The same as bytes.
template <class X, class W>
void quantized_convolution(const Window& window, std::int64_t groups, const KernelCall& call,
                           View<const X> x, View<const W> w, View<const X> zero_x,
                           View<const W> zero_w, const Requantize& how, std::uint8_t* y) {
  if (detail::requantizes_in_place(window, groups, w)) {
    return detail::convolve_bytes(window, groups, call, x, w, zero_x, zero_w, {nullptr, &how, y});
  }
  const std::int64_t filters = w.extent(0), pixels = product(window.output);
  auto* const sums = static_cast<std::int32_t*>(call.workspace);
  KernelCall behind = call;
  behind.workspace =
      static_cast<char*>(call.workspace) + detail::sums_bytes(x.extent(0) * filters * pixels);
  detail::convolve_bytes(window, groups, behind, x, w, zero_x, zero_w, {sums});
  parallel_for(*call.executor, x.extent(0) * filters, [&](std::int64_t plane) {
    requantize(how, sums + plane * pixels, pixels, plane % filters, 0, 1, pixels,
               y + plane * pixels, pixels);
  });
}

/// op::QuantizedConv.
template <class X, class W, class Y, class Op>
void quantized_conv(const Op& op, const KernelCall& call, View<const X> x, View<const W> w,
                    View<const X> zero_x, View<const W> zero_w, View<const std::int32_t> addend,
                    View<const float> scale, View<const float> bias, View<const float> y_scale,
                    View<const float> y_zero, View<const Y> residual,
                    View<const float> residual_scale, View<const float> residual_zero,
                    View<const float> sum_scale, View<const float> sum_zero, View<Y> y) {
  if (y.size() == 0) return;
  Requantize how = detail::requantization(op.result, addend, scale, bias, y_scale, y_zero, y);
  ByteSum sum;
  if (residual) {
    sum = {.residual = reinterpret_cast<const std::uint8_t*>(residual.data),
           .x_scale = how.y.scale,
           .x_zero = how.y.zero,
           .residual_scale = residual_scale[0],
           .residual_zero = residual_zero ? residual_zero[0] : 0,
           .y = detail::quantization<Y>(op.sum, sum_scale, sum_zero)};
    sum.prepare();
  }
  auto* const bytes = reinterpret_cast<std::uint8_t*>(y.data);
  if (op.channels_last) {
    how.by_columns = true;
    const LastShape shape = detail::last_shape(op.conv, x, w);
    auto* workspace = static_cast<char*>(call.workspace);
    const void* packed = call.packed;
    if (packed == nullptr) {
      detail::pack_last(shape, w.data, workspace);
      packed = workspace;
      workspace += detail::round_up(shape.packed_bytes(), 64);
    }
    return detail::convolve_last(shape, x.data, zero_x ? zero_x[0] : 0, packed, how, sum, bytes,
                                 workspace, *call.executor);
  }
  const Window window = op.conv.window_over(x, w);
  quantized_convolution(window, op.conv.group, call, x, w, zero_x, zero_w, how, bytes);
  if (!residual) return;
  const std::int64_t pixels = product(window.output);
  parallel_for(*call.executor, y.size() / pixels,
               [&](std::int64_t plane) { add_bytes(sum, plane * pixels, 1, pixels, 0, bytes); });
}

template <class X, class W, class Op>
constexpr std::size_t quantized_conv_workspace(const Op& op, const KernelCall& call,
                                               View<const X> x, View<const W> w) {
  if (op.channels_last) {
    const LastShape shape = detail::last_shape(op.conv, x, w);
    const std::int64_t packed =
        call.packed == nullptr ? detail::round_up(shape.packed_bytes(), 64) : 0;
    return static_cast<std::size_t>(packed + shape.workspace_bytes());
  }
  const Window window = op.conv.window_over(x, w);
  const std::size_t bytes = integer_convolution_workspace(window, op.conv.group, x, w);
  if (detail::requantizes_in_place(window, op.conv.group, w)) return bytes;
  const std::int64_t sums = x.extent(0) * w.extent(0) * product(window.output);
  return bytes + static_cast<std::size_t>(detail::sums_bytes(sums));
}

template <class X, class W>
constexpr std::size_t integer_convolution_packed_bytes(std::int64_t groups, const KernelCall& call,
                                                       View<const W> w) {
  if (!detail::multiplies_bytes() || !call.is_constant(1) || call.is_constant(0)) return 0;
  if (detail::adds_planes(groups, w)) return 0;
  return static_cast<std::size_t>(groups * detail::byte_filters(groups, w).a_bytes());
}

template <class X, class W>
void integer_convolution_pack(std::int64_t groups, const KernelCall& call, void* packed,
                              View<const W> w) {
  const detail::ByteShape shape = detail::byte_filters(groups, w);
  for (std::int64_t g = 0; g < groups; ++g) {
    const W* const filters = w.data + g * shape.m * shape.k;
    detail::pack_bytes_left<W>(
        shape,
        [&](std::int64_t row, std::int64_t term, std::int64_t count, std::uint8_t* to) {
          detail::fill_byte_filter(shape, filters, row, term, count, to);
        },
        static_cast<char*>(packed) + g * shape.a_bytes(),
        call.executor == nullptr ? Executor{} : *call.executor);
  }
}

template <class X, class W, class Op>
constexpr std::size_t quantized_conv_packed_bytes(const Op& op, const KernelCall& call,
                                                  View<const X> x, View<const W> w) {
  if (!op.channels_last) return integer_convolution_packed_bytes<X, W>(op.conv.group, call, w);
  if (!call.is_constant(1)) return 0;
  return static_cast<std::size_t>(detail::last_shape(op.conv, x, w).packed_bytes());
}

template <class X, class W, class Op>
void quantized_conv_pack(const Op& op, const KernelCall& call, void* packed, View<const X> x,
                         View<const W> w) {
  if (!op.channels_last) return integer_convolution_pack<X, W>(op.conv.group, call, packed, w);
  detail::pack_last(detail::last_shape(op.conv, x, w), w.data, packed);
}

}  // namespace halftone::kernel
