#pragma once

#include <halftone/kernel/epilogue.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/gemm_packed.hpp>

/// Vector times matrix: bound by reading the matrix once, so nothing is packed.
namespace halftone::kernel::detail {

/// sums[j] = sum over q < k of a[q] * b[q * b_row + j], q ascending, for j < n. Rows end before the
/// processor notices that they are streams, so the next ones are fetched here.
template <class T>
void add_rows(const compute_t<T>* a, std::int64_t k, const T* b, std::int64_t b_row, std::int64_t n,
              compute_t<T>* sums) {
  using S = compute_t<T>;
  using V = Vec<S>;
  constexpr int R = 6;  // more addresses than this do not stay in registers
  for (std::int64_t j = 0; j < n; ++j) sums[j] = 0;
  std::int64_t q = 0;
  for (; q + R <= k; q += R) {
    V x[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) x[r] = a[q + r];
    const T* row = b + q * b_row;
    std::int64_t j = 0;
    for (; j + V::size <= n; j += V::size) {
      V sum = V::load(sums + j);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) __builtin_prefetch(row + (R + r) * b_row + j);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sum = fma(x[r], load_compute(row + r * b_row + j), sum);
      sum.store(sums + j);
    }
    if (j < n) {
      V sum = V::load_partial(sums + j, n - j);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        sum = fma(x[r], load_compute_partial(row + r * b_row + j, n - j), sum);
      }
      sum.store_partial(sums + j, n - j);
    }
  }
  for (; q < k; ++q) {
    const V x = a[q];
    const T* row = b + q * b_row;
    std::int64_t j = 0;
    for (; j + V::size <= n; j += V::size) {
      fma(x, load_compute(row + j), V::load(sums + j)).store(sums + j);
    }
    if (j < n) {
      fma(x, load_compute_partial(row + j, n - j), V::load_partial(sums + j, n - j))
          .store_partial(sums + j, n - j);
    }
  }
}

/// sums[c] = a . column c, for C columns b_column apart. Lane l of the first of two vectors sums
/// the steps q = l modulo 2 N in ascending order, that of the second those N further; then the
/// second joins the first and reduce_add its lanes.
template <int C, class T>
HALFTONE_INLINE void dot_columns(const compute_t<T>* a, std::int64_t k, const T* b,
                                 std::int64_t b_column, compute_t<T>* sums) {
  using S = compute_t<T>;
  using V = Vec<S>;
  constexpr std::int64_t N = V::size;
  V sum[C][2];
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) sum[c][0] = sum[c][1] = V(S(0));
  std::int64_t q = 0;
  for (; q + 2 * N <= k; q += 2 * N) {
    const V x0 = V::load(a + q), x1 = V::load(a + q + N);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      sum[c][0] = fma(x0, load_compute(b + c * b_column + q), sum[c][0]);
      sum[c][1] = fma(x1, load_compute(b + c * b_column + q + N), sum[c][1]);
    }
  }
  for (int half = 0; q < k; q += N, ++half) {
    const std::int64_t count = k - q < N ? k - q : N;
    const V x = V::load_partial(a + q, count);
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) {
      const V w = load_compute_partial(b + c * b_column + q, count);
      if (half == 0) {
        sum[c][0] = fma(x, w, sum[c][0]);
      } else {
        sum[c][1] = fma(x, w, sum[c][1]);
      }
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < C; ++c) sums[c] = reduce_add(sum[c][0] + sum[c][1]);
}

/// Whether a [1, k] by b [k, n] takes this way.
template <class T>
constexpr bool is_vector_product(std::int64_t m, Matrix<const T> b) {
  return m == 1 && (b.column_stride == 1 || b.row_stride == 1);
}

template <class T>
constexpr std::int64_t vector_product_bytes(std::int64_t n, std::int64_t k) {
  return (n + k + 32) * std::int64_t(sizeof(compute_t<T>));
}

/// y[j] (y_stride apart) from a (a_stride apart) and b; the output is one row.
template <class T>
void multiply_vector(const T* a, std::int64_t a_stride, Matrix<const T> b, T* y,
                     std::int64_t y_stride, const Epilogue<T>& e, void* workspace,
                     const Executor& executor) {
  using S = compute_t<T>;
  const std::int64_t k = b.rows, n = b.columns;
  S* x = static_cast<S*>(workspace);
  S* const sums = x + round_up(k, 16);
  for (std::int64_t q = 0; q < k; ++q) x[q] = S(a[q * a_stride]);
  const bool columns = b.row_stride == 1 && b.column_stride != 1;
  const Parts blocks(n, columns ? 64 : 512);
  // Shorter pieces of rows lose bandwidth, longer ones lose the sums from L1. No sum is divided,
  // so the number of threads may count.
  const std::int64_t least = Parts(n, 4096).parts;
  const std::int64_t tasks = executor.threads <= 1 ? 1 : task_count(8, n, k);
  const std::int64_t wanted = tasks > 4 * executor.threads ? 4 * executor.threads : tasks;
  const Parts parts(blocks.parts, Parts(blocks.parts, wanted > least ? wanted : least).parts);
  parallel_for(executor, parts.parts, [&](std::int64_t task) {
    const std::int64_t begin = blocks.begin(parts.begin(task));
    const std::int64_t end = blocks.begin(parts.begin(task + 1));
    if (columns) {
      std::int64_t j = begin;
      for (; j + 4 <= end; j += 4) {
        dot_columns<4>(x, k, b.data + j * b.column_stride, b.column_stride, sums + j);
      }
      for (; j < end; ++j) {
        dot_columns<1>(x, k, b.data + j * b.column_stride, b.column_stride, sums + j);
      }
    } else {
      add_rows(x, k, b.data + begin, b.row_stride, end - begin, sums + begin);
    }
    finish(sums + begin, 0, y + begin * y_stride, 0, y_stride, 0, begin, 1, end - begin, e);
  });
}

}  // namespace halftone::kernel::detail
