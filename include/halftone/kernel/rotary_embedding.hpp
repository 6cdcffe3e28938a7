#pragma once

#include <cstdint>

#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/simd.hpp>
#include <halftone/op/rotary_embedding.hpp>

namespace halftone::kernel {

namespace detail {

/// One head: the pairs of the first 2 * half of n elements are turned, the others stay. y may be x.
template <class T>
void rotate_head(const T* x, const T* cos, const T* sin, std::int64_t half, std::int64_t n,
                 bool is_interleaved, T* y) {
  using S = compute_t<T>;
  using V = Vec<S>;
  if (is_interleaved) {
    for (std::int64_t i = 0; i < half; ++i) {
      const S a = static_cast<S>(x[2 * i]), b = static_cast<S>(x[2 * i + 1]);
      const S c = static_cast<S>(cos[i]), s = static_cast<S>(sin[i]);
      y[2 * i] = static_cast<T>(c * a - s * b);
      y[2 * i + 1] = static_cast<T>(s * a + c * b);
    }
  } else {
    std::int64_t i = 0;
    for (; i + V::size <= half; i += V::size) {
      const V a = load_compute(x + i), b = load_compute(x + half + i);
      const V c = load_compute(cos + i), s = load_compute(sin + i);
      store_compute(y + i, c * a - s * b);
      store_compute(y + half + i, s * a + c * b);
    }
    if (const std::int64_t rest = half - i; rest > 0) {
      const V a = load_compute_partial(x + i, rest), b = load_compute_partial(x + half + i, rest);
      const V c = load_compute_partial(cos + i, rest), s = load_compute_partial(sin + i, rest);
      store_compute_partial(y + i, c * a - s * b, rest);
      store_compute_partial(y + half + i, s * a + c * b, rest);
    }
  }
  if (y != x) {
    for (std::int64_t i = 2 * half; i < n; ++i) y[i] = x[i];
  }
}

}  // namespace detail

/// op::RotaryEmbedding; row(sample, step) is the row of cos and sin.
template <class T, class Row>
void rotary_embedding(const Executor& executor, const HeadLayout& at, bool is_interleaved,
                      std::int64_t half, const T* x, const T* cos, const T* sin, const Row& row,
                      T* y) {
  const std::int64_t tokens = at.batch * at.steps, work = at.heads * at.size;
  const std::int64_t per_task = work >= 1 << 13 ? 1 : (1 << 13) / (work > 0 ? work : 1);
  parallel_for(executor, (tokens + per_task - 1) / per_task, [&](std::int64_t task) {
    const std::int64_t end = (task + 1) * per_task < tokens ? (task + 1) * per_task : tokens;
    for (std::int64_t token = task * per_task; token < end; ++token) {
      const std::int64_t sample = token / at.steps, step = token % at.steps;
      const std::int64_t turn = row(sample, step) * half;
      for (std::int64_t head = 0; head < at.heads; ++head) {
        const std::int64_t place =
            sample * at.heads * at.steps * at.size + step * at.step_stride + head * at.head_stride;
        detail::rotate_head(x + place, cos + turn, sin + turn, half, at.size, is_interleaved,
                            y + place);
      }
    }
  });
}

}  // namespace halftone::kernel
