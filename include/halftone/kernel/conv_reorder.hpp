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
