#pragma once

#include <halftone/kernel/epilogue.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/gemm_pack.hpp>

/// Products that are too small for packing to pay, and those of integers.
namespace halftone::kernel::detail {

/// Products up to this size of b and of work read both operands where they are.
inline constexpr std::int64_t direct_bytes_of_b = 96 * 1024;
inline constexpr std::int64_t direct_work = 128 * 128 * 128;

template <class T>
constexpr bool is_direct_product(std::int64_t m, std::int64_t n, std::int64_t k,
                                 Matrix<const T> b) {
  using S = compute_t<T>;
  if (!std::is_same_v<T, S> || b.column_stride != 1 || n < Vec<S>::size) return false;
  return m <= direct_rows ||
         (k * n * std::int64_t(sizeof(T)) <= direct_bytes_of_b && m * n * k <= direct_work);
}

/// Float or double, at least one vector of columns, b's and y's columns contiguous. The last
/// vectors of a row overlap the ones before when n is no multiple of their size.
template <class S>
void multiply_direct(Matrix<const S> a, Matrix<const S> b, Matrix<S> y, const Epilogue<S>& e,
                     const Executor& executor) {
  constexpr std::int64_t N = Vec<S>::size;
  const std::int64_t n = b.columns, whole = n / N;
  const bool fused = n % N == 0 && e.alpha == S(1) &&
                     (e.addend == nullptr || (e.beta == S(1) && e.addend_row_stride == 0 &&
                                              e.addend_column_stride == 1)) &&
                     (e.residual == nullptr || e.residual_column_stride == 1);
  const Segment segment{0, b.rows};
  const Parts tiles(a.rows, direct_rows), panels(whole, direct_vectors);
  const Parts tasks(tiles.parts, Parts(tiles.parts, task_count(a.rows, n, b.rows)).parts);
  Tile<S> model;
  model.x_row = a.row_stride;
  model.x_step = a.column_stride;
  model.w_step = b.row_stride;
  model.y_row = y.row_stride;
  model.segments = &segment;
  model.segment_count = 1;
  if (fused) {
    model.residual_row = e.residual_row_stride;
    model.clamp = e.clamp;
    model.lower = e.lower;
    model.upper = e.upper;
  }
  parallel_for(executor, tasks.parts, [&](std::int64_t task) {
    Tile<S> tile = model;
    for (std::int64_t t = tasks.begin(task); t < tasks.begin(task + 1); ++t) {
      const std::int64_t i = tiles.begin(t), rows = tiles.begin(t + 1) - i;
      S* const row = y.data + i * y.row_stride;
      tile.x = a.data + i * a.row_stride;
      for (std::int64_t p = 0; p < panels.parts; ++p) {
        const std::int64_t j = panels.begin(p) * N;
        tile.w = b.data + j;
        tile.y = row + j;
        if (fused && e.addend != nullptr) tile.bias = e.addend + j;
        if (fused && e.residual != nullptr) {
          tile.residual = e.residual + i * e.residual_row_stride + j;
        }
        tile_kernel<S, Source::rows>(rows, panels.begin(p + 1) - panels.begin(p))(tile);
      }
      if (n % N != 0) {
        tile.w = b.data + n - N;
        tile.y = row + n - N;
        tile_kernel<S, Source::rows>(rows, 1)(tile);
      }
      if (!fused && !e.is_plain()) {
        finish(row, y.row_stride, row, y.row_stride, 1, i, 0, rows, n, e);
      }
      if (e.post != nullptr) e.post(e.context, row, i, 0, rows, n, y.row_stride);
    }
  });
}

/// Any element type, in the compute type, wrapping around for integers.
template <class T>
void multiply_simple(Matrix<const T> a, Matrix<const T> b, Matrix<T> y, const Epilogue<T>& e) {
  using S = compute_t<T>;
  using U =
      typename std::conditional_t<std::is_integral_v<S>,
                                  std::conditional<(sizeof(S) > 4), std::uint64_t, std::uint32_t>,
                                  std::type_identity<S>>::type;
  constexpr std::int64_t block = 64;
  U sums[block];
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; j += block) {
      const std::int64_t columns = b.columns - j < block ? b.columns - j : block;
      for (std::int64_t c = 0; c < block; ++c) sums[c] = 0;
      for (std::int64_t q = 0; q < b.rows; ++q) {
        const U x = U(a(i, q));
        const T* row = b.data + q * b.row_stride + j * b.column_stride;
        for (std::int64_t c = 0; c < columns; ++c) sums[c] += x * U(row[c * b.column_stride]);
      }
      for (std::int64_t c = 0; c < columns; ++c) {
        U v = U(e.alpha) * sums[c];
        if (e.addend != nullptr) {
          v += U(e.beta) * U(e.addend[i * e.addend_row_stride + (j + c) * e.addend_column_stride]);
        }
        if (e.residual != nullptr) {
          v += U(e.residual[i * e.residual_row_stride + (j + c) * e.residual_column_stride]);
        }
        S s = S(v);
        if (e.clamp) s = s < e.lower ? e.lower : s > e.upper ? e.upper : s;
        y(i, j + c) = T(s);
      }
    }
    if (e.post != nullptr) {
      e.post(e.context, y.data + i * y.row_stride, i, 0, 1, b.columns, y.row_stride);
    }
  }
}

}  // namespace halftone::kernel::detail
