#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <halftone/base/element_type.hpp>
#include <halftone/base/math.hpp>
#include <halftone/base/window.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/simd.hpp>
#include <halftone/op/pool.hpp>

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

/// Elements that one task reads at least.
inline constexpr std::int64_t pool_grain = 16 * 1024;

/// f(plane, first row, last row) for all rows of outputs; a task has rows of one plane, or several
/// whole planes.
template <class F>
void for_each_row(const Executor& executor, const PoolShape& s, F&& f) {
  const std::int64_t rows = s.output[0] * s.output[1];
  const std::int64_t row = s.output[2] * s.lanes * s.kernel[0] * s.kernel[1] * s.kernel[2] + 1;
  if (rows == 0 || s.planes == 0) return;
  std::int64_t step = pool_grain / row + 1;
  if (step < rows) {
    const std::int64_t pieces = (rows + step - 1) / step;
    parallel_for(executor, s.planes * pieces, [&](std::int64_t task) {
      const std::int64_t first = task % pieces * step;
      f(task / pieces, first, rows - first < step ? rows : first + step);
    });
  } else {
    step /= rows;
    parallel_for(executor, (s.planes + step - 1) / step, [&](std::int64_t task) {
      const std::int64_t last = (task + 1) * step;
      for (std::int64_t p = task * step; p < s.planes && p < last; ++p) f(p, std::int64_t{0}, rows);
    });
  }
}

template <class T>
constexpr T lowest() {
  if constexpr (real<T>) {
    return static_cast<T>(-__builtin_inff());
  } else {
    return math::saturated<T>(-1e30);
  }
}

/// Lanes 0, 2, 4, ... of a and then b.
template <class T, int N, int... I>
HALFTONE_INLINE Vec<T, N> even_lanes(Vec<T, N> a, Vec<T, N> b, std::integer_sequence<int, I...>) {
  return Vec<T, N>(__builtin_shufflevector(a.v, b.v, 2 * I...));
}

/// Elements 0, stride, 2 * stride, ... from p; Stride 0: as `stride` says.
template <int Stride, class V>
HALFTONE_INLINE V load_strided(const typename V::value_type* p, std::int64_t stride) {
  if constexpr (Stride == 1) {
    return V::load(p);
  } else if constexpr (Stride == 2) {
    return even_lanes(V::load(p), V::load(p + V::size), std::make_integer_sequence<int, V::size>());
  } else {
    typename V::value_type lanes[V::size];
    for (int i = 0; i < V::size; ++i) lanes[i] = p[i * stride];
    return V::load(lanes);
  }
}

/// Sums or maxima of the windows of some rows of outputs. `finish` makes of them, and of the number
/// of elements that count (a vector, or one number for all lanes), what is stored.
template <bool Max, class T, class Finish>
struct PoolRows {
  using S = compute_t<T>;
  using V = Vec<S>;
  using Range = PoolShape::Range;
  static constexpr std::int64_t room = 2048;      ///< numbers of a row
  static constexpr std::int64_t most_rows = 256;  ///< of a window

  const PoolShape& s;
  bool counts_padding;
  Finish finish;

  static HALFTONE_INLINE V join(V a, V b) {
    if constexpr (Max) return max(b, a);  // no load waits for whether `a` is NaN
    return a + b;
  }
  static HALFTONE_INLINE V start() { return V(Max ? static_cast<S>(lowest<T>()) : S(0)); }
  static HALFTONE_INLINE void store(T* y, V v, std::int64_t lanes) {
    if (lanes >= V::size) {
      store_compute(y, v);
    } else {
      store_compute_partial(y, v, lanes);
    }
  }
  std::int64_t count(int axis, std::int64_t at) const {
    return counts_padding ? s.padded_count(axis, at) : s.range(axis, at).count();
  }

  /// Lanes that lie side by side in every element: a window at a time, `K` vectors in registers.
  template <int K>
  void lanes(const T* x, const Range (&r)[3], std::int64_t n, V elements, T* y) const {
    V sums[K];
    for (int k = 0; k < K; ++k) sums[k] = start();
    for (std::int64_t a = r[0].first; a < r[0].last; a += r[0].step) {
      for (std::int64_t b = r[1].first; b < r[1].last; b += r[1].step) {
        const T* const row = x + (a * s.input[1] + b) * s.input[2] * s.lanes;
        for (std::int64_t c = r[2].first; c < r[2].last; c += r[2].step) {
          const T* const from = row + c * s.lanes;
          for (int k = 0; k < K; ++k) {
            sums[k] = join(sums[k], n < V::size ? load_compute_partial(from, n)
                                                : load_compute(from + k * V::size));
          }
        }
      }
    }
    for (int k = 0; k < K; ++k) store(y + k * V::size, finish(sums[k], elements), n);
  }
  void run_lanes(const T* x, T* y, std::int64_t first, std::int64_t last) const {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t d = row / s.output[1], h = row % s.output[1];
      const std::int64_t elements = Max ? 1 : count(0, d) * count(1, h);
      for (std::int64_t w = 0; w < s.output[2]; ++w) {
        const Range r[3]{s.range(0, d), s.range(1, h), s.range(2, w)};
        const V all(static_cast<S>(Max ? 1 : elements * count(2, w)));
        T* const to = y + (row * s.output[2] + w) * s.lanes;
        std::int64_t i = 0;
        for (; i + 4 * V::size <= s.lanes; i += 4 * V::size)
          lanes<4>(x + i, r, V::size, all, to + i);
        for (; i + V::size <= s.lanes; i += V::size) lanes<1>(x + i, r, V::size, all, to + i);
        if (i < s.lanes) lanes<1>(x + i, r, s.lanes - i, all, to + i);
      }
    }
  }

  /// Rows of the input that a window reads are joined into one, padded, which is then joined with
  /// itself, moved. Columns [first_column, first_column + n) of the outputs.
  template <int Stride>
  void run_columns(const T* x, T* y, std::int64_t first, std::int64_t last,
                   std::int64_t first_column, std::int64_t n) const {
    alignas(64) S joined[room + 2 * V::size], counts[room];
    const std::int64_t low = first_column * s.stride[2] - s.begin[2];
    const std::int64_t high = low + (n - 1) * s.stride[2] + (s.kernel[2] - 1) * s.dilation[2] + 1;
    const std::int64_t from = low < 0 ? 0 : low;
    const std::int64_t to = high < s.input[2] ? high : s.input[2];
    // Whole vectors of outputs are computed, and two of the row read for each.
    const std::int64_t used = high - low + V::size * (s.stride[2] + 1);
    for (std::int64_t i = 0; i < used && i < room + V::size; i += V::size)
      start().store(joined + i);
    for (std::int64_t i = 0; i < n; ++i) {
      counts[i] = static_cast<S>(Max ? 1 : count(2, first_column + i));
    }
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t d = row / s.output[1], h = row % s.output[1];
      const Range deep = s.range(0, d), high_range = s.range(1, h);
      const T* rows[most_rows];
      int row_count = 0;
      for (std::int64_t a = deep.first; a < deep.last; a += deep.step) {
        for (std::int64_t b = high_range.first; b < high_range.last; b += high_range.step) {
          rows[row_count++] = x + (a * s.input[1] + b) * s.input[2];
        }
      }
      for (std::int64_t c = from; c < to; c += V::size) {
        V sum = start();
        if (to - c >= V::size) {
          for (int k = 0; k < row_count; ++k) sum = join(sum, load_compute(rows[k] + c));
        } else {
          for (int k = 0; k < row_count; ++k) {
            sum = join(sum, load_compute_partial(rows[k] + c, to - c));
          }
          sum = select(V::mask::first(to - c), sum, start());
        }
        sum.store(joined + (c - low));
      }
      const V elements(static_cast<S>(Max ? 1 : count(0, d) * count(1, h)));
      for (std::int64_t i = 0; i < n; i += V::size) {
        V sum = start();
        for (std::int64_t k = 0; k < s.kernel[2]; ++k) {
          const S* const at = joined + i * s.stride[2] + k * s.dilation[2];
          sum = join(sum, load_strided<Stride, V>(at, s.stride[2]));
        }
        V all = elements;
        if constexpr (!Max) {
          all = all * (n - i < V::size ? V::load_partial(counts + i, n - i) : V::load(counts + i));
        }
        store(y + row * s.output[2] + first_column + i, finish(sum, all), n - i);
      }
    }
  }

  /// Columns of outputs that the joined row has room for; 0: windows are too large for that.
  std::int64_t columns() const {
    const std::int64_t reach = (s.kernel[2] - 1) * s.dilation[2] + 1;
    if (s.kernel[0] * s.kernel[1] > most_rows || reach > room) return 0;
    const std::int64_t n = (room - reach) / s.stride[2] + 1;
    return n < V::size ? 0 : n / V::size * V::size;
  }

  /// Element by element.
  void run_slowly(const T* x, T* y, std::int64_t first, std::int64_t last) const {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t d = row / s.output[1], h = row % s.output[1];
      const std::int64_t elements = Max ? 1 : count(0, d) * count(1, h);
      for (std::int64_t w = 0; w < s.output[2]; ++w) {
        const Range r[3]{s.range(0, d), s.range(1, h), s.range(2, w)};
        double sum = Max ? static_cast<double>(lowest<T>()) : 0;
        for (std::int64_t a = r[0].first; a < r[0].last; a += r[0].step) {
          for (std::int64_t b = r[1].first; b < r[1].last; b += r[1].step) {
            const T* const from = x + (a * s.input[1] + b) * s.input[2];
            for (std::int64_t c = r[2].first; c < r[2].last; c += r[2].step) {
              const auto v = static_cast<double>(from[c]);
              sum = Max ? math::max(sum, v) : sum + v;
            }
          }
        }
        const V all(static_cast<S>(Max ? 1 : elements * count(2, w)));
        store_compute_partial(y + row * s.output[2] + w, finish(V(static_cast<S>(sum)), all), 1);
      }
    }
  }

  void run(const T* x, T* y, std::int64_t first, std::int64_t last) const {
    if (s.lanes > 1) return run_lanes(x, y, first, last);
    const std::int64_t step = columns();
    if (step == 0) return run_slowly(x, y, first, last);
    for (std::int64_t c = 0; c < s.output[2]; c += step) {
      const std::int64_t n = s.output[2] - c < step ? s.output[2] - c : step;
      switch (s.stride[2]) {
        case 1:
          run_columns<1>(x, y, first, last, c, n);
          break;
        case 2:
          run_columns<2>(x, y, first, last, c, n);
          break;
        default:
          run_columns<0>(x, y, first, last, c, n);
          break;
      }
    }
  }
};

template <bool Max, class T, class Finish>
void pool_rows(const Executor& executor, const PoolShape& s, bool counts_padding, const T* x, T* y,
               Finish finish) {
  const PoolRows<Max, T, Finish> rows{s, counts_padding, finish};
  for_each_row(executor, s, [&](std::int64_t p, std::int64_t first, std::int64_t last) {
    rows.run(x + p * s.input_size(), y + p * s.output_size(), first, last);
  });
}

}  // namespace detail

template <class T>
void max_pool(const Executor& executor, const Window& window, bool column_major, View<const T> x,
              View<T> y, View<std::int64_t> indices) {
  using S = compute_t<T>;
  const detail::PoolShape s(window, x);
  if (!indices) {
    detail::pool_rows<true>(executor, s, false, x.data, y.data, [](auto v, auto) { return v; });
    return;
  }
  detail::for_each_row(executor, s, [&](std::int64_t p, std::int64_t first, std::int64_t last) {
    const T* plane = x.data + p * s.input_size();
    std::int64_t out = p * s.output_size() + first * s.output[2] * s.lanes;
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t d = row / s.output[1], h = row % s.output[1];
      {
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
  const detail::PoolShape s(window, x);
  detail::pool_rows<false>(executor, s, include_padding, x.data, y.data,
                           [](auto sum, auto elements) { return sum / elements; });
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
        result = largest ? math::max(result, v) : result + v;
      }
      y[p] = static_cast<T>(largest ? result : result / static_cast<S>(pixels));
    }
  });
}

namespace detail {

/// f(plane, sums of the plane) for all planes of a gradient; sums, in the compute type, start at
/// zero and are rounded once. They are dx itself where its type is that; else in `memory`.
template <class T, class F>
void add_up_planes(const Executor& executor, const PoolShape& s, T* dx, void* memory, F&& f) {
  using S = compute_t<T>;
  const std::int64_t size = s.input_size(), grain = pool_grain / (size + 1) + 1;
  parallel_for(executor, (s.planes + grain - 1) / grain, [&](std::int64_t task) {
    const std::int64_t last = (task + 1) * grain < s.planes ? (task + 1) * grain : s.planes;
    for (std::int64_t p = task * grain; p < last; ++p) {
      S* sums;
      if constexpr (std::is_same_v<T, S>) {
        sums = dx + p * size;
      } else {
        sums = static_cast<S*>(memory) + p * size;
      }
      for (std::int64_t i = 0; i < size; ++i) sums[i] = 0;
      f(p, sums);
      if constexpr (!std::is_same_v<T, S>) {
        for (std::int64_t i = 0; i < size; ++i) dx[p * size + i] = static_cast<T>(sums[i]);
      }
    }
  });
}

/// f(output pixel, ranges of its window, its position) for all output pixels of a plane.
template <class F>
void for_each_window(const PoolShape& s, F&& f) {
  std::int64_t out = 0;
  for (std::int64_t d = 0; d < s.output[0]; ++d) {
    for (std::int64_t h = 0; h < s.output[1]; ++h) {
      PoolShape::Range r[3]{s.range(0, d), s.range(1, h), {}};
      for (std::int64_t w = 0; w < s.output[2]; ++w, ++out) {
        r[2] = s.range(2, w);
        const std::int64_t at[3]{d, h, w};
        f(out, r, at);
      }
    }
  }
}

}  // namespace detail

/// Memory for the sums of a pooling's gradient.
template <class T>
std::size_t pool_gradient_workspace(std::int64_t elements) {
  if (std::is_same_v<T, compute_t<T>>) return 0;
  return static_cast<std::size_t>(elements) * sizeof(compute_t<T>);
}

/// op::MaxPoolGradient; the window's output is dy's.
template <class T>
void max_pool_gradient(const KernelCall& call, const Window& window, View<const T> x,
                       View<const T> dy, View<T> dx) {
  using S = compute_t<T>;
  const detail::PoolShape s(window, x);
  detail::add_up_planes<T>(
      *call.executor, s, dx.data, call.workspace, [&](std::int64_t p, S* sums) {
        const T* const plane = x.data + p * s.input_size();
        const T* const from = dy.data + p * s.output_size();
        detail::for_each_window(s, [&](std::int64_t out, const auto& r, const auto&) {
          for (std::int64_t lane = 0; lane < s.lanes; ++lane) {
            S best = 0;
            std::int64_t place = -1;
            for (std::int64_t a = r[0].first; a < r[0].last; a += r[0].step) {
              for (std::int64_t b = r[1].first; b < r[1].last; b += r[1].step) {
                const std::int64_t row = (a * s.input[1] + b) * s.input[2];
                for (std::int64_t c = r[2].first; c < r[2].last; c += r[2].step) {
                  const std::int64_t at = (row + c) * s.lanes + lane;
                  const auto v = static_cast<S>(plane[at]);
                  // As the indices of MaxPool: the first largest element, NaN before all.
                  if (place >= 0 && !(v > best) && !(v != v && best == best)) continue;
                  best = v;
                  place = at;
                }
              }
            }
            if (place >= 0) sums[place] += static_cast<S>(from[out * s.lanes + lane]);
          }
        });
      });
}

/// op::AveragePoolGradient; the window's output is dy's.
template <class T>
void average_pool_gradient(const KernelCall& call, const Window& window, PoolCount counted,
                           View<const T> dy, View<T> dx) {
  using S = compute_t<T>;
  const detail::PoolShape s(window, View<const T>{dx.data, dx.extents, dx.rank});
  detail::add_up_planes<T>(
      *call.executor, s, dx.data, call.workspace, [&](std::int64_t p, S* sums) {
        const T* const from = dy.data + p * s.output_size();
        detail::for_each_window(s, [&](std::int64_t out, const auto& r, const auto& at) {
          std::int64_t count = 1;
          for (int axis = 0; axis < 3; ++axis) {
            if (counted == PoolCount::inside) count *= r[axis].count();
            if (counted == PoolCount::padded) count *= s.padded_count(axis, at[axis]);
          }
          if (count == 0) return;
          for (std::int64_t lane = 0; lane < s.lanes; ++lane) {
            const S share = static_cast<S>(from[out * s.lanes + lane]) / static_cast<S>(count);
            for (std::int64_t a = r[0].first; a < r[0].last; a += r[0].step) {
              for (std::int64_t b = r[1].first; b < r[1].last; b += r[1].step) {
                S* const row = sums + (a * s.input[1] + b) * s.input[2] * s.lanes + lane;
                for (std::int64_t c = r[2].first; c < r[2].last; c += r[2].step) {
                  row[c * s.lanes] += share;
                }
              }
            }
          }
        });
      });
}

}  // namespace halftone::kernel
