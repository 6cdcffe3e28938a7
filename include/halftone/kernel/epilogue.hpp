#pragma once

#include <halftone/kernel/matrix.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

/// Called on each finished block of an output while it is hot: rows [row, row + rows) and columns
/// [column, column + columns) of the output seen as a matrix, `block` its first element, `ld`
/// elements from row to row. Blocks cover the output once, in any order, on any thread.
template <class T>
using PostHook = void (*)(void* context, T* block, std::int64_t row, std::int64_t column,
                          std::int64_t rows, std::int64_t columns, std::int64_t ld);

/// What is done with a sum before it is stored:
///
///     y = clamp(alpha * sum + beta * addend + residual), then post
///
/// in the compute type, rounded to T once. The addend is Gemm's C or a bias: strides (0, 1) are a
/// bias per column, (1, 0) one per row. NaN passes the clamp. Neither addend nor residual may
/// overlap the output.
template <class T>
struct Epilogue {
  using S = compute_t<T>;
  S alpha = 1, beta = 1;
  const T* addend = nullptr;
  std::int64_t addend_row_stride = 0, addend_column_stride = 1;
  const T* residual = nullptr;
  std::int64_t residual_row_stride = 0, residual_column_stride = 1;
  bool clamp = false;
  S lower = 0, upper = 0;
  PostHook<T> post = nullptr;
  void* context = nullptr;

  constexpr bool is_plain() const {
    return alpha == S(1) && addend == nullptr && residual == nullptr && !clamp;
  }
  /// For the output's transposed matrix; the hook stays as it is.
  constexpr Epilogue transposed() const {
    Epilogue t = *this;
    t.addend_row_stride = addend_column_stride;
    t.addend_column_stride = addend_row_stride;
    t.residual_row_stride = residual_column_stride;
    t.residual_column_stride = residual_row_stride;
    return t;
  }
};

namespace detail {

/// Elements p[0], p[stride], ... of one row as a vector, the first `count` of them.
template <class T>
HALFTONE_INLINE auto load_strided(const T* p, std::int64_t stride, std::int64_t count) {
  using S = compute_t<T>;
  using V = Vec<S>;
  if (stride == 1) return count == V::size ? load_compute(p) : load_compute_partial(p, count);
  S lanes[V::size] = {};
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = S(p[i * stride]);
  return V::load(lanes);
}

/// Applies the epilogue (not the hook) to sums: y(row + i, column + j) from sums[i * ld + j]. The
/// sums may be y itself. y's rows are `y_row` apart, its columns `y_column`.
template <class T>
void finish(const compute_t<T>* sums, std::int64_t ld, T* y, std::int64_t y_row,
            std::int64_t y_column, std::int64_t row, std::int64_t column, std::int64_t rows,
            std::int64_t columns, const Epilogue<T>& epilogue) {
  using S = compute_t<T>;
  using V = Vec<S>;
  const Epilogue<T> e = epilogue;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; j += V::size) {
      const std::int64_t count = columns - j < V::size ? columns - j : V::size;
      const S* s = sums + i * ld + j;
      V v = count == V::size ? V::load(s) : V::load_partial(s, count);
      if (e.alpha != S(1)) v = v * V(e.alpha);
      if (e.addend != nullptr) {
        const T* p =
            e.addend + (row + i) * e.addend_row_stride + (column + j) * e.addend_column_stride;
        v = fma(V(e.beta), load_strided(p, e.addend_column_stride, count), v);
      }
      if (e.residual != nullptr) {
        const T* p = e.residual + (row + i) * e.residual_row_stride +
                     (column + j) * e.residual_column_stride;
        v = v + load_strided(p, e.residual_column_stride, count);
      }
      if (e.clamp) v = clamp(v, V(e.lower), V(e.upper));
      T* to = y + i * y_row + j * y_column;
      if (y_column != 1) {
        T lanes[V::size];
        store_compute(lanes, v);
        for (std::int64_t c = 0; c < count; ++c) to[c * y_column] = lanes[c];
      } else if (count == V::size) {
        store_compute(to, v);
      } else {
        store_compute_partial(to, v, count);
      }
    }
  }
}

}  // namespace detail
}  // namespace halftone::kernel
