#pragma once

#include <halftone/kernel/conv_plan.hpp>
#include <halftone/kernel/executor.hpp>

namespace halftone::kernel {
namespace detail {

/// One block of channels, pixels [begin, end): blocked[pixel][c] = plain[c][pixel] for c < count,
/// zero for the rest of the block. Rows of `plain` are `ld` apart.
template <class T>
void block_pixels(const T* plain, std::int64_t ld, std::int64_t count, std::int64_t begin,
                  std::int64_t end, T* blocked) {
  constexpr std::int64_t N = channel_block<T>;
  if constexpr (is_real<T> && std::is_same_v<T, compute_t<T>>) {
    pack_strip<T>(plain + begin, ld, 1, count, end - begin, blocked + begin * N, N);
  } else {
    for (std::int64_t p = begin; p < end; ++p) {
      for (std::int64_t c = 0; c < N; ++c) {
        blocked[p * N + c] = c < count ? plain[c * ld + p] : T(0);
      }
    }
  }
}

/// The way back: plain[c][pixel] = blocked[pixel][c] for c < count; `blocked` has pixels of
/// `images` images in turn, of which this is one.
template <class T>
void unblock_pixels(const T* blocked, T* plain, std::int64_t ld, std::int64_t count,
                    std::int64_t begin, std::int64_t end, std::int64_t images = 1) {
  constexpr std::int64_t N = channel_block<T>;
  if constexpr (is_real<T> && std::is_same_v<T, compute_t<T>>) {
    using V = Vec<T>;
    for (std::int64_t p = begin; p < end; p += N) {
      const std::int64_t pixels = end - p < N ? end - p : N;
      V r[N];
#pragma GCC unroll 16
      for (int l = 0; l < N; ++l) {
        r[l] = l < pixels ? V::load(blocked + (p + l) * images * N) : V(T(0));
      }
      transpose(r);
      if (pixels == N) {
#pragma GCC unroll 16
        for (int l = 0; l < N; ++l) {
          if (l < count) r[l].store(plain + l * ld + p);
        }
      } else {
#pragma GCC unroll 16
        for (int l = 0; l < N; ++l) {
          if (l < count) r[l].store_partial(plain + l * ld + p, pixels);
        }
      }
    }
  } else {
    for (std::int64_t p = begin; p < end; ++p) {
      for (std::int64_t c = 0; c < count; ++c) plain[c * ld + p] = blocked[p * images * N + c];
    }
  }
}

/// Sets the channels from `count` of a block to zero again, pixels [begin, end).
template <class T>
void clear_missing(T* block, std::int64_t count, std::int64_t begin, std::int64_t end) {
  for (std::int64_t p = begin; p < end; ++p) {
    for (std::int64_t c = count; c < channel_block<T>; ++c) block[p * channel_block<T> + c] = T(0);
  }
}

/// Pixels that one task reorders.
inline constexpr std::int64_t reorder_pixels = 4096;

/// to[j * to_row + i] = from[i * from_row + j] for 16 x 16 bytes.
inline void transpose_bytes(const void* from, std::int64_t from_row, void* to,
                            std::int64_t to_row) {
  using Line = raw_t<char, 16>;
  Line line[16], next[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    __builtin_memcpy(&line[i], static_cast<const char*>(from) + i * from_row, 16);
  }
  // Each round joins the bytes of lines that are eight apart: four of them transpose.
#pragma GCC unroll 4
  for (int round = 0; round < 4; ++round) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      next[2 * i] = __builtin_shufflevector(line[i], line[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                            5, 21, 6, 22, 7, 23);
      next[2 * i + 1] = __builtin_shufflevector(line[i], line[i + 8], 8, 24, 9, 25, 10, 26, 11, 27,
                                                12, 28, 13, 29, 14, 30, 15, 31);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) line[i] = next[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    __builtin_memcpy(static_cast<char*>(to) + i * to_row, &line[i], 16);
  }
}

/// to[j * to_row + i] = from[i * from_row + j] for i < rows and j < columns.
template <class T>
void transpose_plane(const T* from, std::int64_t from_row, std::int64_t rows, std::int64_t columns,
                     T* to, std::int64_t to_row) {
  std::int64_t i = 0;
  if constexpr (sizeof(T) == 1) {
    for (; i + 16 <= rows; i += 16) {
      std::int64_t j = 0;
      for (; j + 16 <= columns; j += 16) {
        transpose_bytes(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
      }
      for (; j < columns; ++j) {
        for (std::int64_t k = i; k < i + 16; ++k) to[j * to_row + k] = from[k * from_row + j];
      }
    }
  }
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[j * to_row + i] = from[i * from_row + j];
  }
}

/// The numbers of three planes side by side, as pixels of an image have them.
template <class T>
void join_three(const T* from, std::int64_t plane, std::int64_t pixels, T* to) {
  for (std::int64_t p = 0; p < pixels; ++p) {
    to[3 * p] = from[p];
    to[3 * p + 1] = from[plane + p];
    to[3 * p + 2] = from[2 * plane + p];
  }
}

/// All channels of a pixel side by side, or back: [batch, pixels, channels] and
/// [batch, channels, pixels].
template <class T>
void reorder_last(const Executor& executor, bool to_last, std::int64_t batch, std::int64_t channels,
                  std::int64_t pixels, const T* x, T* y) {
  const Parts parts(pixels, reorder_pixels / 2);
  parallel_for(executor, batch * parts.parts, [&](std::int64_t task) {
    const std::int64_t image = task / parts.parts * channels * pixels, part = task % parts.parts;
    const std::int64_t begin = parts.begin(part), count = parts.begin(part + 1) - begin;
    const std::int64_t plain = image + begin, last = image + begin * channels;
    if (to_last && channels == 3) {
      join_three(x + plain, pixels, count, y + last);
    } else if (to_last) {
      transpose_plane(x + plain, pixels, channels, count, y + last, channels);
    } else {
      transpose_plane(x + last, channels, count, channels, y + plain, pixels);
    }
  });
}

/// Truth values of activations in blocks of any size from plain ones, or back. Gradients seldom need it.
inline void reorder_masks(const Executor& executor, bool to_blocks, const View<const bool>& plain,
                          std::int64_t block, const bool* x, bool* y) {
  const std::int64_t channels = plain.extent(1), pixels = plain.size(2, plain.rank);
  const std::int64_t blocks = (channels + block - 1) / block;
  parallel_for(executor, plain.extent(0) * blocks, [&](std::int64_t task) {
    const std::int64_t first = task % blocks * block;
    const std::int64_t in_plain = (task / blocks * channels + first) * pixels;
    for (std::int64_t p = 0; p < pixels; ++p) {
      for (std::int64_t c = 0; c < block; ++c) {
        const bool exists = first + c < channels;
        const std::int64_t at = (task * pixels + p) * block + c, other = in_plain + c * pixels + p;
        if (to_blocks) {
          y[at] = exists && x[other];
        } else if (exists) {
          y[other] = x[at];
        }
      }
    }
  });
}

}  // namespace detail

/// blocked[batch, blocks, pixels, block] from plain[batch, channels, pixels]; they must not
/// overlap.
template <class T>
void block_channels(const T* plain, T* blocked, std::int64_t batch, std::int64_t channels,
                    std::int64_t pixels, const Executor& executor = {}) {
  constexpr std::int64_t N = channel_block<T>;
  const std::int64_t blocks = channel_blocks<T>(channels);
  const Parts parts(pixels, detail::reorder_pixels);
  parallel_for(executor, batch * blocks * parts.parts, [&](std::int64_t task) {
    const std::int64_t part = task % parts.parts, block = task / parts.parts;
    const std::int64_t image = block / blocks, c = block % blocks * N;
    detail::block_pixels(plain + (image * channels + c) * pixels, pixels,
                         channels - c < N ? channels - c : N, parts.begin(part),
                         parts.begin(part + 1), blocked + block * N * pixels);
  });
}

/// plain[batch, channels, pixels] from blocked[batch, blocks, pixels, block].
template <class T>
void unblock_channels(const T* blocked, T* plain, std::int64_t batch, std::int64_t channels,
                      std::int64_t pixels, const Executor& executor = {}) {
  constexpr std::int64_t N = channel_block<T>;
  const std::int64_t blocks = channel_blocks<T>(channels);
  const Parts parts(pixels, detail::reorder_pixels);
  parallel_for(executor, batch * blocks * parts.parts, [&](std::int64_t task) {
    const std::int64_t part = task % parts.parts, block = task / parts.parts;
    const std::int64_t image = block / blocks, c = block % blocks * N;
    detail::unblock_pixels(blocked + block * N * pixels, plain + (image * channels + c) * pixels,
                           pixels, channels - c < N ? channels - c : N, parts.begin(part),
                           parts.begin(part + 1));
  });
}

}  // namespace halftone::kernel
