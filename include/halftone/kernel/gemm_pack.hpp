#pragma once

#include <cstdint>
#include <halftone/kernel/matrix.hpp>
#include <halftone/kernel/tile.hpp>
#include <utility>

namespace halftone::kernel {
namespace detail {

inline constexpr std::int64_t most_tasks = 16;

/// Tasks that a product is worth, by its size alone.
constexpr std::int64_t task_count(std::int64_t m, std::int64_t n, std::int64_t k) {
  const double tasks = double(m) * double(n) * double(k) / double(1 << 19);
  return tasks < 1 ? 1 : tasks > double(most_tasks) ? most_tasks : std::int64_t(tasks);
}

template <int D, class R, int... I>
HALFTONE_INLINE void exchange(R& a, R& b, std::integer_sequence<int, I...>) {
  constexpr int N = sizeof...(I);
  const R low = __builtin_shufflevector(a, b, ((I & D) != 0 ? N + I - D : I)...);
  const R high = __builtin_shufflevector(a, b, ((I & D) != 0 ? N + I : I + D)...);
  a = low;
  b = high;
}

/// One step of a transposition in registers: swaps blocks of D lanes between rows D apart.
template <int D, class S, int N>
HALFTONE_INLINE void transpose_step(Vec<S, N>* r) {
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) {
    if ((i & D) == 0) exchange<D>(r[i].v, r[i + D].v, std::make_integer_sequence<int, N>{});
  }
}

/// r[i][j] becomes r[j][i].
template <class S, int N>
HALFTONE_INLINE void transpose(Vec<S, N>* r) {
  if constexpr (N > 8) transpose_step<8>(r);
  if constexpr (N > 4) transpose_step<4>(r);
  if constexpr (N > 2) transpose_step<2>(r);
  transpose_step<1>(r);
}

/// Packs a strip of a matrix for a tile: to[q * width + i] = x[i * stride + q * step] for i < count
/// and q < steps; columns from `count` to `width` become zero.
template <class T>
void pack_strip(const T* x, std::int64_t stride, std::int64_t step, std::int64_t count,
                std::int64_t steps, compute_t<T>* to, std::int64_t width) {
  using S = compute_t<T>;
  using V = Vec<S>;
  constexpr std::int64_t N = V::size;
  if (step == 1) {
    for (std::int64_t q = 0; q < steps; q += N) {
      const std::int64_t lanes = steps - q < N ? steps - q : N;
      for (std::int64_t i = 0; i < width; i += N) {
        const std::int64_t rows = count - i < N ? count - i : N;
        const T* from = x + i * stride + q;
        V r[N];
        if (lanes == N) {
#pragma GCC unroll 16
          for (int l = 0; l < N; ++l) r[l] = l < rows ? load_compute(from + l * stride) : V(S(0));
        } else {
#pragma GCC unroll 16
          for (int l = 0; l < N; ++l) {
            r[l] = l < rows ? load_compute_partial(from + l * stride, lanes) : V(S(0));
          }
        }
        transpose(r);
        // What a whole vector writes too much is overwritten by the next step, but for the last.
        const std::int64_t wide = width - i < N ? width - i : N;
        S* out = to + q * width + i;
        if (wide == N || (width < N && (q + N) * width + N <= steps * width)) {
#pragma GCC unroll 16
          for (int l = 0; l < N; ++l) {
            if (l < lanes) r[l].store(out + l * width);
          }
        } else {
#pragma GCC unroll 16
          for (int l = 0; l < N; ++l) {
            if (l < lanes) r[l].store_partial(out + l * width, wide);
          }
        }
      }
    }
  } else if (stride == 1 && width % N == 0) {
    for (std::int64_t q = 0; q < steps; ++q, x += step, to += width) {
      std::int64_t i = 0;
      for (; i + N <= count; i += N) load_compute(x + i).store(to + i);
      for (; i < width; i += N) {
        (i < count ? load_compute_partial(x + i, count - i) : V(S(0))).store(to + i);
      }
    }
  } else {
    for (std::int64_t q = 0; q < steps; ++q, x += step, to += width) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = S(x[i * stride]);
      for (std::int64_t i = count; i < width; ++i) to[i] = 0;
    }
  }
}

/// Vectors of the panel that begins at `column` of n.
template <class S>
constexpr std::int64_t vectors_of_panel(std::int64_t column, std::int64_t n) {
  const std::int64_t vectors = (n - column + Vec<S>::size - 1) / Vec<S>::size;
  return vectors < panel_vectors ? vectors : panel_vectors;
}

template <class S>
inline constexpr std::int64_t panel_columns = panel_vectors * Vec<S>::size;

/// Whether T is computed with by vectors of float or double; integers take simple loops.
template <class T>
inline constexpr bool is_real = std::is_floating_point_v<compute_t<T>>;

}  // namespace detail

/// The right operand b [k, n] of a product, packed: panels of columns, each [k][panel columns].
/// The packed form is in the compute type and 64-byte aligned; it fits the instruction set the
/// packing function was compiled for.
template <class T>
struct PackedB {
  const compute_t<T>* data = nullptr;
  std::int64_t rows = 0, columns = 0;
};

/// The left operand a [m, k], packed: groups of rows, each [k][rows].
template <class T>
struct PackedA {
  const compute_t<T>* data = nullptr;
  std::int64_t rows = 0, columns = 0;
};

template <class T>
constexpr std::int64_t packed_b_bytes(std::int64_t k, std::int64_t n) {
  using S = compute_t<T>;
  constexpr std::int64_t N = detail::is_real<T> ? Vec<S>::size : 1;
  return k * ((n + N - 1) / N * N) * std::int64_t(sizeof(S));
}

template <class T>
constexpr std::int64_t packed_a_bytes(std::int64_t m, std::int64_t k) {
  return m * k * std::int64_t(sizeof(compute_t<T>));
}

namespace detail {

/// Packs the panels [first, last) of b; `packed` is where panel `first` goes. Rows in memory are
/// read in bands, so that reading is sequential.
template <class T>
void pack_panels(Matrix<const T> b, std::int64_t first, std::int64_t last, compute_t<T>* packed) {
  using S = compute_t<T>;
  const std::int64_t band = b.row_stride == 1 || b.rows == 0 ? b.rows : 16;
  for (std::int64_t q = 0; q < b.rows; q += band) {
    const std::int64_t steps = b.rows - q < band ? b.rows - q : band;
    for (std::int64_t p = first; p < last; ++p) {
      const std::int64_t j = p * panel_columns<S>;
      const std::int64_t width = vectors_of_panel<S>(j, b.columns) * Vec<S>::size;
      pack_strip(b.data + j * b.column_stride + q * b.row_stride, b.column_stride, b.row_stride,
                 b.columns - j < width ? b.columns - j : width, steps,
                 packed + (j - first * panel_columns<S>)*b.rows + q * width, width);
    }
  }
}

}  // namespace detail

/// Packs b into packed_b_bytes(b.rows, b.columns) bytes, 64-byte aligned.
template <class T>
PackedB<std::remove_const_t<T>> pack_b(Matrix<T> b, void* packed) {
  using E = std::remove_const_t<T>;
  using S = compute_t<E>;
  S* to = static_cast<S*>(packed);
  if constexpr (detail::is_real<E>) {
    detail::pack_panels<E>(b, 0, Parts(b.columns, detail::panel_columns<S>).parts, to);
  } else {
    for (std::int64_t i = 0; i < b.rows; ++i) {
      for (std::int64_t j = 0; j < b.columns; ++j) to[i * b.columns + j] = b(i, j);
    }
  }
  return {to, b.rows, b.columns};
}

/// Packs a into packed_a_bytes(a.rows, a.columns) bytes, 64-byte aligned.
template <class T>
PackedA<std::remove_const_t<T>> pack_a(Matrix<T> a, void* packed) {
  using E = std::remove_const_t<T>;
  using S = compute_t<E>;
  S* to = static_cast<S*>(packed);
  if constexpr (detail::is_real<E>) {
    const Parts tiles(a.rows, tile_rows);
    for (std::int64_t t = 0; t < tiles.parts; ++t) {
      const std::int64_t i = tiles.begin(t), rows = tiles.begin(t + 1) - i;
      detail::pack_strip<E>(a.data + i * a.row_stride, a.row_stride, a.column_stride, rows,
                            a.columns, to + i * a.columns, rows);
    }
  } else {
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (std::int64_t j = 0; j < a.columns; ++j) to[i * a.columns + j] = a(i, j);
    }
  }
  return {to, a.rows, a.columns};
}

}  // namespace halftone::kernel
