#pragma once

#include <cstdint>

#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

namespace detail {

template <class R, int... I>
HALFTONE_INLINE void interleave(R a, R b, R& low, R& high, std::integer_sequence<int, I...>) {
  constexpr int N = sizeof...(I);
  low = __builtin_shufflevector(a, b, ((I & 1) != 0 ? N + I / 2 : I / 2)...);
  high = __builtin_shufflevector(a, b, ((I & 1) != 0 ? N + N / 2 + I / 2 : N / 2 + I / 2)...);
}

/// A tile of 16 by 16 bytes' worth of elements, in registers: interleaving row i with row i + N / 2
/// log2(N) times transposes, and each step is one instruction a register on every x86-64.
template <class T>
HALFTONE_INLINE void transpose_tile(const T* from, std::int64_t from_row, T* to,
                                    std::int64_t to_row) {
  constexpr int N = 16 / int(sizeof(T));
  using R = raw_t<T, N>;
  R a[N], b[N];
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) __builtin_memcpy(&a[i], from + i * from_row, 16);
#pragma GCC unroll 4
  for (int step = 1; step < N; step *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < N / 2; ++i) {
      interleave(a[i], a[i + N / 2], b[2 * i], b[2 * i + 1], std::make_integer_sequence<int, N>{});
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) a[i] = b[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) __builtin_memcpy(to + i * to_row, &a[i], 16);
}

/// Any small tile; the longer side is the inner loop.
template <class T>
void transpose_rest(const T* from, std::int64_t from_row, T* to, std::int64_t to_row,
                    std::int64_t rows, std::int64_t columns) {
  if (rows <= columns) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) to[i * to_row + j] = from[j * from_row + i];
    }
  } else {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) to[i * to_row + j] = from[j * from_row + i];
    }
  }
}

}  // namespace detail

/// to[i * to_row + j] = from[j * from_row + i] for i < rows and j < columns, by blocks whose lines
/// of memory stay in L1.
template <class T>
void transpose(const T* from, std::int64_t from_row, T* to, std::int64_t to_row, std::int64_t rows,
               std::int64_t columns) {
  constexpr std::int64_t N = 16 / int(sizeof(T));
  constexpr std::int64_t block = 128 / int(sizeof(T));
  if (rows < N || columns < N) {
    // Few rows (columns) are read (written) together, so that every line is touched once.
    constexpr std::int64_t piece = 4096 / int(sizeof(T));
    for (std::int64_t i = 0; i < rows; i += piece) {
      for (std::int64_t j = 0; j < columns; j += piece) {
        detail::transpose_rest(from + j * from_row + i, from_row, to + i * to_row + j, to_row,
                               rows - i < piece ? rows - i : piece,
                               columns - j < piece ? columns - j : piece);
      }
    }
    return;
  }
  const std::int64_t whole_rows = rows / N * N, whole_columns = columns / N * N;
  for (std::int64_t i0 = 0; i0 < whole_rows; i0 += block) {
    const std::int64_t i1 = whole_rows - i0 < block ? whole_rows : i0 + block;
    for (std::int64_t j0 = 0; j0 < whole_columns; j0 += block) {
      const std::int64_t j1 = whole_columns - j0 < block ? whole_columns : j0 + block;
      for (std::int64_t i = i0; i < i1; i += N) {
        for (std::int64_t j = j0; j < j1; j += N) {
          detail::transpose_tile(from + j * from_row + i, from_row, to + i * to_row + j, to_row);
        }
      }
    }
    if (whole_columns < columns) {
      detail::transpose_rest(from + whole_columns * from_row + i0, from_row,
                             to + i0 * to_row + whole_columns, to_row, i1 - i0,
                             columns - whole_columns);
    }
  }
  if (whole_rows < rows) {
    detail::transpose_rest(from + whole_rows, from_row, to + whole_rows * to_row, to_row,
                           rows - whole_rows, columns);
  }
}

}  // namespace halftone::kernel
