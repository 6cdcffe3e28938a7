#pragma once

#include <halftone/base/element_type.hpp>
#include <halftone/base/window.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

namespace detail {

/// Windows over up to three spatial dimensions, the last one innermost; missing leading ones are 1.
/// Where the last dimensions are neither windowed nor strided (a block of channels), they are one
/// dense run of `lanes` elements.
struct PoolShape {
  std::int64_t planes = 1, lanes = 1;
  std::int64_t input[3]{1, 1, 1}, output[3]{1, 1, 1}, kernel[3]{1, 1, 1}, stride[3]{1, 1, 1},
      dilation[3]{1, 1, 1}, begin[3]{0, 0, 0}, end[3]{0, 0, 0};

  template <class T>
  PoolShape(const Window& w, View<const T> x) {
    planes = x.extent(0) * x.extent(1);
    std::size_t rank = w.rank();
    while (rank > 1 && w.kernel[rank - 1] == 1 && w.strides[rank - 1] == 1 &&
           w.pad_begin(rank - 1) == 0 && w.pad_end(rank - 1) == 0) {
      lanes *= x.extent(2 + --rank);
    }
    for (std::size_t i = 0; i < rank; ++i) {
      const std::size_t at = 3 - rank + i;
      input[at] = x.extent(2 + i);
      output[at] = w.output[i];
      kernel[at] = w.kernel[i];
      stride[at] = w.strides[i];
      dilation[at] = w.dilations[i];
      begin[at] = w.pad_begin(i);
      end[at] = w.pad_end(i);
    }
  }
  std::int64_t input_size() const { return input[0] * input[1] * input[2] * lanes; }
  std::int64_t output_size() const { return output[0] * output[1] * output[2] * lanes; }

  /// The elements [first, last) of a window along an axis that lie in the input, `step` apart.
  struct Range {
    std::int64_t first, last, step;
    std::int64_t count() const { return first < last ? (last - first + step - 1) / step : 0; }
  };
  Range range(int axis, std::int64_t at) const {
    const std::int64_t start = at * stride[axis] - begin[axis], step = dilation[axis];
    const std::int64_t stop = start + (kernel[axis] - 1) * step + 1;
    const std::int64_t skipped = start < 0 ? (-start + step - 1) / step : 0;
    return {start + skipped * step, stop < input[axis] ? stop : input[axis], step};
  }
  /// How many elements of a window lie in the padded input (ceil_mode may reach behind it).
  std::int64_t padded_count(int axis, std::int64_t at) const {
    const std::int64_t start = at * stride[axis] - begin[axis], step = dilation[axis];
    const std::int64_t limit = input[axis] + end[axis];
    const std::int64_t stop = start + (kernel[axis] - 1) * step + 1;
    return Range{start, stop < limit ? stop : limit, step}.count();
  }
};

/// Elements that one task computes at least.
inline constexpr std::int64_t pool_grain = 16 * 1024;

/// f(plane) for every plane, several planes a task.
template <class F>
void for_each_plane(const Executor& executor, const PoolShape& s, F&& f) {
  const std::int64_t size = s.output_size() * s.kernel[0] * s.kernel[1] * s.kernel[2];
  const std::int64_t per_task = size >= pool_grain ? 1 : pool_grain / (size > 0 ? size : 1);
  const std::int64_t tasks = (s.planes + per_task - 1) / per_task;
  parallel_for(executor, tasks, [&](std::int64_t task) {
    const std::int64_t last = (task + 1) * per_task;
    for (std::int64_t p = task * per_task; p < s.planes && p < last; ++p) f(p);
  });
}

template <class T>
constexpr T lowest() {
  if constexpr (real<T>) {
    return static_cast<T>(-__builtin_inff());
  } else {
    return static_cast<T>(T(-1) > T(0) ? T(0) : T(T(1) << (8 * sizeof(T) - 1)));
  }
}

template <class S>
HALFTONE_INLINE S larger(S a, S b) {
  // NaN wins.
  return b > a || b != b ? b : a;
}

/// Rows of `n` sums or maxima: y[i] = combine(y[i], x[i * step]).
template <bool Max, class T, class S>
void combine_row(S* y, const T* x, std::int64_t n, std::int64_t step) {
  if (step == 1) {
    for (std::int64_t i = 0; i < n; ++i) {
      const S v = static_cast<S>(x[i]);
      y[i] = Max ? larger(y[i], v) : y[i] + v;
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      const S v = static_cast<S>(x[i * step]);
      y[i] = Max ? larger(y[i], v) : y[i] + v;
    }
  }
}

}  // namespace detail

/// Sums or maxima of all windows of one plane, a row of outputs at a time: the rows of the input
/// that a row of outputs reads are combined first where windows lie side by side.
template <bool Max, class T, class Finish>
void pool_plane(const detail::PoolShape& s, const T* x, T* y, Finish&& finish) {
  using S = compute_t<T>;
  constexpr std::int64_t most = 512;
  S sums[most];
  const S start = Max ? static_cast<S>(detail::lowest<T>()) : S(0);
  for (std::int64_t d = 0; d < s.output[0]; ++d) {
    for (std::int64_t h = 0; h < s.output[1]; ++h) {
      const detail::PoolShape::Range rows[2]{s.range(0, d), s.range(1, h)};
      T* const to = y + (d * s.output[1] + h) * s.output[2] * s.lanes;
      if (s.lanes > 1) {
        for (std::int64_t w = 0; w < s.output[2]; ++w) {
          const detail::PoolShape::Range r[3]{rows[0], rows[1], s.range(2, w)};
          for (std::int64_t lane = 0; lane < s.lanes; lane += most) {
            const std::int64_t n = s.lanes - lane < most ? s.lanes - lane : most;
            for (std::int64_t i = 0; i < n; ++i) sums[i] = start;
            for (std::int64_t a = r[0].first; a < r[0].last; a += r[0].step) {
              for (std::int64_t b = r[1].first; b < r[1].last; b += r[1].step) {
                for (std::int64_t c = r[2].first; c < r[2].last; c += r[2].step) {
                  detail::combine_row<Max>(
                      sums, x + ((a * s.input[1] + b) * s.input[2] + c) * s.lanes + lane, n, 1);
                }
              }
            }
            finish(sums, to + w * s.lanes + lane, n, d, h, w, std::int64_t{0});
          }
        }
        continue;
      }
      for (std::int64_t first = 0; first < s.output[2]; first += most) {
        const std::int64_t n = s.output[2] - first < most ? s.output[2] - first : most;
        for (std::int64_t i = 0; i < n; ++i) sums[i] = start;
        for (std::int64_t a = rows[0].first; a < rows[0].last; a += rows[0].step) {
          for (std::int64_t b = rows[1].first; b < rows[1].last; b += rows[1].step) {
            const T* row = x + (a * s.input[1] + b) * s.input[2];
            for (std::int64_t k = 0; k < s.kernel[2]; ++k) {
              // Outputs whose element k lies in the row.
              const std::int64_t offset = k * s.dilation[2] - s.begin[2];
              std::int64_t low = offset < 0 ? (-offset + s.stride[2] - 1) / s.stride[2] : 0;
              std::int64_t high =
                  offset >= s.input[2] ? 0 : (s.input[2] - 1 - offset) / s.stride[2] + 1;
              low = low < first ? first : low;
              high = high > first + n ? first + n : high;
              if (low < high) {
                detail::combine_row<Max>(sums + low - first, row + low * s.stride[2] + offset,
                                         high - low, s.stride[2]);
              }
            }
          }
        }
        finish(sums, to + first, n, d, h, first, std::int64_t{1});
      }
    }
  }
}

template <class T>
void max_pool(const Executor& executor, const Window& window, bool column_major, View<const T> x,
              View<T> y, View<std::int64_t> indices) {
  using S = compute_t<T>;
  const detail::PoolShape s(window, x);
  if (!indices) {
    detail::for_each_plane(executor, s, [&](std::int64_t p) {
      pool_plane<true>(s, x.data + p * s.input_size(), y.data + p * s.output_size(),
                       [](const S* sums, T* to, std::int64_t n, auto...) {
                         for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(sums[i]);
                       });
    });
    return;
  }
  detail::for_each_plane(executor, s, [&](std::int64_t p) {
    const T* plane = x.data + p * s.input_size();
    std::int64_t out = p * s.output_size();
    for (std::int64_t d = 0; d < s.output[0]; ++d) {
      for (std::int64_t h = 0; h < s.output[1]; ++h) {
        for (std::int64_t w = 0; w < s.output[2]; ++w) {
          const detail::PoolShape::Range r[3]{s.range(0, d), s.range(1, h), s.range(2, w)};
          for (std::int64_t lane = 0; lane < s.lanes; ++lane, ++out) {
            S best = static_cast<S>(detail::lowest<T>());
            std::int64_t at[3]{r[0].first, r[1].first, r[2].first};
            bool any = false;
            for (std::int64_t a = r[0].first; a < r[0].last; a += r[0].step) {
              for (std::int64_t b = r[1].first; b < r[1].last; b += r[1].step) {
                for (std::int64_t c = r[2].first; c < r[2].last; c += r[2].step) {
                  const auto v = static_cast<S>(
                      plane[((a * s.input[1] + b) * s.input[2] + c) * s.lanes + lane]);
                  if (any && !(v > best) && !(v != v && best == best)) continue;
                  any = true;
                  best = v;
                  at[0] = a, at[1] = b, at[2] = c;
                }
              }
            }
            y[out] = static_cast<T>(best);
            // Lanes are the innermost spatial dimension.
            const std::int64_t place =
                column_major
                    ? at[0] + s.input[0] * (at[1] + s.input[1] * (at[2] + s.input[2] * lane))
                    : ((at[0] * s.input[1] + at[1]) * s.input[2] + at[2]) * s.lanes + lane;
            indices[out] = p * s.input_size() + place;
          }
        }
      }
    }
  });
}

template <class T>
void average_pool(const Executor& executor, const Window& window, bool include_padding,
                  View<const T> x, View<T> y) {
  using S = compute_t<T>;
  const detail::PoolShape s(window, x);
  const auto count = [&](int axis, std::int64_t at) {
    return include_padding ? s.padded_count(axis, at) : s.range(axis, at).count();
  };
  detail::for_each_plane(executor, s, [&](std::int64_t p) {
    pool_plane<false>(s, x.data + p * s.input_size(), y.data + p * s.output_size(),
                      [&](const S* sums, T* to, std::int64_t n, std::int64_t d, std::int64_t h,
                          std::int64_t w, std::int64_t step) {
                        const std::int64_t rows = count(0, d) * count(1, h);
                        for (std::int64_t i = 0; i < n; ++i) {
                          const std::int64_t elements = rows * count(2, w + i * step);
                          to[i] = static_cast<T>(sums[i] / static_cast<S>(elements));
                        }
                      });
  });
}

/// The mean or the largest element of each plane x[batch, channel, ...].
template <class T>
void global_pool(const Executor& executor, bool largest, View<const T> x, View<T> y) {
  using S = compute_t<T>;
  using V = Vec<S>;
  const std::int64_t planes = x.size(0, 2), pixels = x.size(2, x.rank);
  const std::int64_t grain = pixels > 0 ? (detail::pool_grain + pixels - 1) / pixels : planes + 1;
  parallel_for(executor, (planes + grain - 1) / grain, [&](std::int64_t task) {
    const std::int64_t last = (task + 1) * grain < planes ? (task + 1) * grain : planes;
    for (std::int64_t p = task * grain; p < last; ++p) {
      const T* plane = x.data + p * pixels;
      const S start = largest ? static_cast<S>(detail::lowest<T>()) : S(0);
      V lanes[4]{V(start), V(start), V(start), V(start)};
      std::int64_t i = 0;
      for (; i + 4 * V::size <= pixels; i += 4 * V::size) {
        for (int k = 0; k < 4; ++k) {
          const V v = load_compute(plane + i + k * V::size);
          lanes[k] = largest ? max(lanes[k], v) : lanes[k] + v;
        }
      }
      const V all = largest ? max(max(lanes[0], lanes[1]), max(lanes[2], lanes[3]))
                        : (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
      S result = largest ? reduce_max(all) : reduce_add(all);
      for (; i < pixels; ++i) {
        const auto v = static_cast<S>(plane[i]);
        result = largest ? detail::larger(result, v) : result + v;
      }
      y[p] = static_cast<T>(largest ? result : result / static_cast<S>(pixels));
    }
  });
}

}  // namespace halftone::kernel
