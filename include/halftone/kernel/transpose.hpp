#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/kernel/gemm_pack.hpp>

namespace halftone::kernel {

namespace detail {

template <class R, int... I>
HALFTONE_INLINE void interleave(R a, R b, R& low, R& high, std::integer_sequence<int, I...>) {
  constexpr int N = sizeof...(I);
  low = __builtin_shufflevector(a, b, ((I & 1) != 0 ? N + I / 2 : I / 2)...);
  high = __builtin_shufflevector(a, b, ((I & 1) != 0 ? N + N / 2 + I / 2 : N / 2 + I / 2)...);
}

/// Side of a tile: a register of the wider types, for which one instruction moves a lane anywhere;
/// 16 bytes of the narrow ones.
template <class T>
inline constexpr std::int64_t transpose_lanes =
    (sizeof(T) >= 4 ? register_bytes : 16) / int(sizeof(T));

/// A square tile in registers; whether its lines go past the caches.
template <class T, bool Streams = false>
HALFTONE_INLINE void transpose_tile(const T* from, std::int64_t from_row, T* to,
                                    std::int64_t to_row) {
  constexpr int N = transpose_lanes<T>;
  if constexpr (sizeof(T) >= 4) {
    Vec<T, N> lines[N];
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) lines[i] = Vec<T, N>::load(from + i * from_row);
    transpose(lines);
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) {
      if constexpr (Streams) {
        lines[i].stream(to + i * to_row);
      } else {
        lines[i].store(to + i * to_row);
      }
    }
  } else {
    // Interleaving row i with row i + N / 2 log2(N) times transposes, and each step is one
    // instruction a register on every x86-64.
    using R = raw_t<T, N>;
    R a[N], b[N];
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) __builtin_memcpy(&a[i], from + i * from_row, 16);
#pragma GCC unroll 4
    for (int step = 1; step < N; step *= 2) {
#pragma GCC unroll 8
      for (int i = 0; i < N / 2; ++i) {
        interleave(a[i], a[i + N / 2], b[2 * i], b[2 * i + 1],
                   std::make_integer_sequence<int, N>{});
      }
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) a[i] = b[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) __builtin_memcpy(to + i * to_row, &a[i], 16);
  }
}

/// A block by tiles, or element by element if it is narrower than one. The last tile of a line
/// starts earlier where they do not fit evenly.
template <class T>
HALFTONE_INLINE void transpose_block(const T* from, std::int64_t from_row, T* to,
                                     std::int64_t to_row, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t N = transpose_lanes<T>;
  if (rows >= N && columns >= N) {
    for (std::int64_t j0 = 0; j0 < columns; j0 += N) {
      const std::int64_t j = columns - j0 < N ? columns - N : j0;
      for (std::int64_t i0 = 0; i0 < rows; i0 += N) {
        const std::int64_t i = rows - i0 < N ? rows - N : i0;
        transpose_tile(from + j * from_row + i, from_row, to + i * to_row + j, to_row);
      }
    }
  } else if (rows <= columns) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) to[i * to_row + j] = from[j * from_row + i];
    }
  } else {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) to[i * to_row + j] = from[j * from_row + i];
    }
  }
}

/// As transpose_matrix, for whole tiles whose lines are lines of the cache. Reads runs of a page, so
/// that each is looked up once and fetched ahead; of the output, nothing is read.
template <class T>
void transpose_streaming(const T* from, std::int64_t from_row, T* to, std::int64_t to_row,
                         std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t N = transpose_lanes<T>, height = 4096 / sizeof(T);
  for (std::int64_t i = 0; i < rows; i += height) {
    const std::int64_t end = rows - i < height ? rows : i + height;
    for (std::int64_t j = 0; j < columns; j += N) {
      for (std::int64_t k = i; k < end; k += N) {
        transpose_tile<T, true>(from + j * from_row + k, from_row, to + k * to_row + j, to_row);
      }
    }
  }
}

/// As transpose_matrix, for large arrays: reads runs of a kilobyte, so that few pages are looked up
/// again and memory is fetched ahead, into a buffer whose rows leave it by whole lines of the cache.
template <class T>
void transpose_by_lines(const T* from, std::int64_t from_row, T* to, std::int64_t to_row,
                        std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t line = 64 / int(sizeof(T)), width = 4 * line,
                         height = 1024 / int(sizeof(T)), stride = line + width;
  alignas(64) T buffer[height * stride];
  for (std::int64_t i = 0; i < rows; i += height) {
    const std::int64_t run = rows - i < height ? rows - i : height;
    for (std::int64_t j = 0; j < columns; j += width) {
      const std::int64_t n = columns - j < width ? columns - j : width;
      const bool is_last = j + n == columns;
      transpose_block(from + j * from_row + i, from_row, buffer + line, stride, run, n);
      for (std::int64_t r = 0; r < run; ++r) {
        T* target = to + (i + r) * to_row + j;
        T* source = buffer + r * stride + line;
        // What is in the target's first line, but for the first one of the row, waits before `source`.
        const auto begun =
            static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(target) % 64) /
            std::int64_t(sizeof(T));
        std::int64_t left = n;
        if (j > 0) {
          target -= begun, source -= begun, left += begun;
        } else if (begun > 0) {
          const std::int64_t head = left < line - begun ? left : line - begun;
          __builtin_memcpy(target, source, std::size_t(head) * sizeof(T));
          target += head, source += head, left -= head;
        }
        for (; left >= line; target += line, source += line, left -= line) {
          Vec<T, line>::load(source).stream(target);
        }
        if (is_last) {
          __builtin_memcpy(target, source, std::size_t(left) * sizeof(T));
        } else {
          Vec<T, line>::load(source + left - line).store(buffer + r * stride);
        }
      }
    }
  }
}

}  // namespace detail

/// to[i * to_row + j] = from[j * from_row + i] for i < rows and j < columns, by blocks that stay in
/// L1. Rows whose distance makes their lines share few places of the cache go through a buffer, so
/// that each line of memory is touched once. `streams`: the output is too large for the caches.
template <class T>
void transpose_matrix(const T* from, std::int64_t from_row, T* to, std::int64_t to_row,
                      std::int64_t rows, std::int64_t columns, bool streams = false) {
  if constexpr (has_stream) {
    if constexpr (sizeof(T) >= 4) {
      constexpr std::int64_t N = detail::transpose_lanes<T>;
      if (streams && rows % N == 0 && columns % N == 0 &&
          detail::is_in_lines(to, to_row * std::int64_t(sizeof(T)))) {
        return detail::transpose_streaming(from, from_row, to, to_row, rows, columns);
      }
    }
    if (streams && rows >= 32 && columns >= 64) {
      return detail::transpose_by_lines(from, from_row, to, to_row, rows, columns);
    }
  }
  constexpr std::int64_t block = sizeof(T) == 8 ? 32 : sizeof(T) == 1 ? 128 : 64;
  constexpr std::int64_t bad_stride = 1024 / int(sizeof(T));
  const bool is_small = rows < detail::transpose_lanes<T> || columns < detail::transpose_lanes<T>;
  const bool buffered = !is_small && rows * columns > 64 * 64 &&
                        (from_row % bad_stride == 0 || to_row % bad_stride == 0);
  // A narrow matrix: its rows are read, or written, side by side, so that every line is touched
  // once.
  const std::int64_t wide = is_small ? 4096 : block;
  alignas(64) T buffer[block * block];
  for (std::int64_t i = 0; i < rows; i += wide) {
    const std::int64_t height = rows - i < wide ? rows - i : wide;
    for (std::int64_t j = 0; j < columns; j += wide) {
      const std::int64_t width = columns - j < wide ? columns - j : wide;
      const T* const source = from + j * from_row + i;
      T* const target = to + i * to_row + j;
      if (!buffered) {
        detail::transpose_block(source, from_row, target, to_row, height, width);
        continue;
      }
      detail::transpose_block(source, from_row, buffer, block, height, width);
      if (width == block) {
        for (std::int64_t r = 0; r < height; ++r) {
          __builtin_memcpy(target + r * to_row, buffer + r * block, block * sizeof(T));
        }
      } else {
        for (std::int64_t r = 0; r < height; ++r) {
          __builtin_memcpy(target + r * to_row, buffer + r * block, std::size_t(width) * sizeof(T));
        }
      }
    }
  }
}

}  // namespace halftone::kernel
