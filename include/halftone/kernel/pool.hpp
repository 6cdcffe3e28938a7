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
    std::int64_t count() const {
      const std::int64_t reach = last > first ? last - first : 0;
      return step == 1 ? reach : (reach + step - 1) / step;  // divisions would cost most of a row
    }
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
inline constexpr std::int64_t pool_grain = 128 * 1024;

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

/// Lanes 1, 3, 5, ... of a and then b.
template <class T, int N, int... I>
HALFTONE_INLINE Vec<T, N> odd_lanes(Vec<T, N> a, Vec<T, N> b, std::integer_sequence<int, I...>) {
  return Vec<T, N>(__builtin_shufflevector(a.v, b.v, (2 * I + 1)...));
}

/// The lanes of before, at and after, side by side, from `Move` lanes after at's first one on.
template <int Move, class T, int N, int... I>
HALFTONE_INLINE Vec<T, N> moved_lanes(Vec<T, N> before, Vec<T, N> at, Vec<T, N> after,
                                      std::integer_sequence<int, I...>) {
  if constexpr (Move < 0)
    return Vec<T, N>(__builtin_shufflevector(before.v, at.v, I + N + Move...));
  if constexpr (Move > 0) return Vec<T, N>(__builtin_shufflevector(at.v, after.v, I + Move...));
  return at;
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
  bool streams;  ///< whole vectors of outputs go past the caches
  Finish finish;

  static HALFTONE_INLINE V join(V a, V b) {
    if constexpr (Max) return max(b, a);  // no load waits for whether `a` is NaN
    return a + b;
  }
  static HALFTONE_INLINE V start() { return V(Max ? static_cast<S>(lowest<T>()) : S(0)); }
  HALFTONE_INLINE void store(T* y, V v, std::int64_t lanes) const {
    if (lanes >= V::size) {
      if constexpr (std::is_same_v<T, S>) {
        if (streams) return v.stream(y);
      }
      store_compute(y, v);
    } else {
      store_compute_partial(y, v, lanes);
    }
  }
  std::int64_t count(int axis, std::int64_t at) const {
    return counts_padding ? s.padded_count(axis, at) : s.range(axis, at).count();
  }

  /// How many columns of the windows [first, first + n) of a row count, in whole vectors.
  void count_columns(std::int64_t first, std::int64_t n, S* counts) const {
    const std::int64_t last_start = s.input[2] - (s.kernel[2] - 1) * s.dilation[2] - 1;
    for (std::int64_t i = 0; i < n || i % V::size != 0; ++i) {
      const std::int64_t start = (first + i) * s.stride[2] - s.begin[2];
      const bool is_inside = start >= 0 && start <= last_start;
      counts[i] = static_cast<S>(Max || i >= n ? 1 : is_inside ? s.kernel[2] : count(2, first + i));
    }
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

  /// A vector of outputs whose windows begin at `column` and beyond, two apart, all in registers:
  /// for narrow windows inside the input.
  HALFTONE_INLINE V inside(const T* const* rows, int row_count, std::int64_t column) const {
    constexpr auto all = std::make_integer_sequence<int, V::size>();
    const auto joined = [&](std::int64_t at) {
      V v = load_compute(rows[0] + at);
      for (int k = 1; k < row_count; ++k) v = join(v, load_compute(rows[k] + at));
      return v;
    };
    V sum = start();
    for (std::int64_t k = 0; k < s.kernel[2]; k += 2) {
      const V v = joined(column + k), next = joined(column + k + V::size);
      sum = join(sum, even_lanes(v, next, all));
      if (k + 1 < s.kernel[2]) sum = join(sum, odd_lanes(v, next, all));
    }
    return sum;
  }
  /// The last column that inside() may begin at; below 0: none.
  std::int64_t last_inside() const {
    if (s.stride[2] != 2 || s.kernel[2] > 3 || s.dilation[2] != 1) return -1;
    return s.input[2] - 2 * V::size - (s.kernel[2] - 1) / 2 * 2;
  }

  /// Fetches what will be read soon after the row of outputs whose windows begin at x: the machine
  /// does not see a stream in rows that are read side by side. Inlined: g++ leaves out calls of a
  /// function that only fetches.
  HALFTONE_INLINE void fetch_ahead(const T* x) const {
    constexpr std::int64_t distance = 8192, line = 64;
    const std::int64_t bytes = s.stride[1] * s.input[2] * std::int64_t(sizeof(T));
    const auto* const from = reinterpret_cast<const char*>(x) + distance;
    for (std::int64_t i = 0; i < bytes; i += line) __builtin_prefetch(from + i);
  }

  /// The rows of a plane that the windows of row h of depth d read; gives their number.
  int rows_read(const T* x, std::int64_t d, std::int64_t h, const T** rows) const {
    const Range deep = s.range(0, d), high = s.range(1, h);
    int count = 0;
    for (std::int64_t a = deep.first; a < deep.last; a += deep.step) {
      for (std::int64_t b = high.first; b < high.last; b += high.step) {
        rows[count++] = x + (a * s.input[1] + b) * s.input[2];
      }
    }
    return count;
  }

  /// A vector of the rows joined, from column c below `end` on; behind that, nothing.
  HALFTONE_INLINE V joined_rows(const T* const* rows, int row_count, std::int64_t c,
                                std::int64_t end) const {
    V v = start();
    if (end - c >= V::size) {
      for (int k = 0; k < row_count; ++k) v = join(v, load_compute(rows[k] + c));
    } else {
      for (int k = 0; k < row_count; ++k) v = join(v, load_compute_partial(rows[k] + c, end - c));
      v = select(V::mask::first(end - c), v, start());
    }
    return v;
  }

  /// Windows K columns wide that begin side by side, the first `Begin` columns before the input:
  /// the rows that a window reads are joined once, and moved in registers.
  template <int Begin, int K>
  void run_side_by_side(const T* x, T* y, std::int64_t first, std::int64_t last,
                        std::int64_t first_column, std::int64_t n) const {
    alignas(64) S counts[room];
    count_columns(first_column, n, counts);
    std::int64_t d = first / s.output[1], h = first % s.output[1];
    for (std::int64_t row = first; row < last; ++row, ++h) {
      if (h == s.output[1]) ++d, h = 0;
      fetch_ahead(x + (d * s.stride[0] * s.input[1] + h * s.stride[1]) * s.input[2]);
      const T* rows[most_rows];
      const int row_count = rows_read(x, d, h, rows);
      const auto joined = [&](std::int64_t c) {
        if (c + V::size <= s.input[2] && row_count == K) {  // most windows are as high as wide
          V v = join(load_compute(rows[0] + c), load_compute(rows[1] + c));
          if constexpr (K > 2) v = join(v, load_compute(rows[2] + c));
          return v;
        }
        return c < s.input[2] ? joined_rows(rows, row_count, c, s.input[2]) : start();
      };
      const V elements(static_cast<S>(Max ? 1 : count(0, d) * count(1, h)));
      V before = first_column == 0 ? start() : joined(first_column - V::size);
      V at = joined(first_column);
      for (std::int64_t i = 0; i < n; i += V::size) {
        const V after = joined(first_column + i + V::size);
        const auto moved = [&](auto move) {
          return moved_lanes<move()>(before, at, after, std::make_integer_sequence<int, V::size>());
        };
        V sum = moved(std::integral_constant<int, -Begin>());
        sum = join(sum, moved(std::integral_constant<int, 1 - Begin>()));
        if constexpr (K > 2) sum = join(sum, moved(std::integral_constant<int, 2 - Begin>()));
        const V all = elements * V::load(counts + i);
        store(y + row * s.output[2] + first_column + i, finish(sum, all), n - i);
        before = at;
        at = after;
      }
    }
  }

  /// Rows of the input that a window reads are joined into one, padded, which is then joined with
  /// itself, moved; but for what inside() does. Columns [first_column, first_column + n) of the
  /// outputs.
  template <int Stride>
  void run_columns(const T* x, T* y, std::int64_t first, std::int64_t last,
                   std::int64_t first_column, std::int64_t n) const {
    alignas(64) S joined[room + 2 * V::size], counts[room];
    const std::int64_t low = first_column * s.stride[2] - s.begin[2];
    const std::int64_t reach = (s.kernel[2] - 1) * s.dilation[2] + 1;
    const std::int64_t high = low + (n - 1) * s.stride[2] + reach;
    const std::int64_t inside_last = last_inside();
    const bool is_wide = inside_last < 0;  // the whole row is joined at once
    const std::int64_t from = low < 0 ? 0 : low;
    const std::int64_t to = high < s.input[2] ? high : s.input[2];
    // Whole vectors of outputs are computed, and two of the row read for each.
    const std::int64_t used = high - low + V::size * (s.stride[2] + 1);
    for (std::int64_t i = 0; i < used && i < room + V::size; i += V::size)
      start().store(joined + i);
    count_columns(first_column, n, counts);
    std::int64_t d = first / s.output[1], h = first % s.output[1];
    for (std::int64_t row = first; row < last; ++row, ++h) {
      if (h == s.output[1]) ++d, h = 0;
      fetch_ahead(x + (d * s.stride[0] * s.input[1] + h * s.stride[1]) * s.input[2]);
      const T* rows[most_rows];
      const int row_count = rows_read(x, d, h, rows);
      const auto join_rows = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; c += V::size) {
          joined_rows(rows, row_count, c, to).store(joined + (c - low));
        }
      };
      if (is_wide) join_rows(from, to);
      const V elements(static_cast<S>(Max ? 1 : count(0, d) * count(1, h)));
      for (std::int64_t i = 0; i < n; i += V::size) {
        const std::int64_t column = low + i * s.stride[2];
        V sum = start();
        if (Stride == 2 && column >= 0 && column <= inside_last && row_count > 0) {
          sum = inside(rows, row_count, column);
        } else {
          if (!is_wide) {
            const std::int64_t end = column + reach + (V::size - 1) * s.stride[2];
            join_rows(column < from ? from : column, end < to ? end : to);
          }
          for (std::int64_t k = 0; k < s.kernel[2]; ++k) {
            const S* const at = joined + i * s.stride[2] + k * s.dilation[2];
            sum = join(sum, load_strided<Stride, V>(at, s.stride[2]));
          }
        }
        const V all(elements * V::load(counts + i));
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
          if (s.dilation[2] == 1 && s.kernel[2] == 3 && s.begin[2] == 1) {
            run_side_by_side<1, 3>(x, y, first, last, c, n);
          } else if (s.dilation[2] == 1 && s.kernel[2] == 3 && s.begin[2] == 0) {
            run_side_by_side<0, 3>(x, y, first, last, c, n);
          } else if (s.dilation[2] == 1 && s.kernel[2] == 2 && s.begin[2] == 0) {
            run_side_by_side<0, 2>(x, y, first, last, c, n);
          } else {
            run_columns<1>(x, y, first, last, c, n);
          }
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
  const std::int64_t row_bytes = s.output[2] * s.lanes * std::int64_t(sizeof(T));
  const bool streams = has_stream &&
                       s.planes * s.output_size() * std::int64_t(sizeof(T)) >= beyond_caches &&
                       is_in_lines(y, row_bytes);
  const PoolRows<Max, T, Finish> rows{s, counts_padding, streams, finish};
  for_each_row(executor, s, [&](std::int64_t p, std::int64_t first, std::int64_t last) {
    rows.run(x + p * s.input_size(), y + p * s.output_size(), first, last);
    if (streams) stream_end();
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

/// f(output pixel, ranges of its window, its position) for the output pixels [first, last) of a
/// row.
template <class F>
void for_each_window(const PoolShape& s, std::int64_t row, std::int64_t first, std::int64_t last,
                     F&& f) {
  const std::int64_t d = row / s.output[1], h = row % s.output[1];
  PoolShape::Range r[3]{s.range(0, d), s.range(1, h), {}};
  for (std::int64_t w = first; w < last; ++w) {
    r[2] = s.range(2, w);
    const std::int64_t at[3]{d, h, w};
    f(row * s.output[2] + w, r, at);
  }
}

/// Where the rows of the input begin that the windows of a row of outputs read, and their number.
struct PoolInputRows {
  static constexpr std::int64_t most = 256;
  std::int64_t offsets[most];
  int count = 0;

  PoolInputRows(const PoolShape& s, std::int64_t row) {
    const auto deep = s.range(0, row / s.output[1]), high = s.range(1, row % s.output[1]);
    for (std::int64_t a = deep.first; a < deep.last; a += deep.step) {
      for (std::int64_t b = high.first; b < high.last; b += high.step) {
        offsets[count++] = (a * s.input[1] + b) * s.input[2];
      }
    }
  }
};

/// Elements 0, stride, 2 * stride, ... from p in the first n lanes; reads nothing behind the last.
template <int Stride, class T, class V = Vec<compute_t<T>>>
HALFTONE_INLINE V load_strided_partial(const T* p, std::int64_t stride, std::int64_t n) {
  if constexpr (Stride == 1) {
    return n < V::size ? load_compute_partial(p, n) : load_compute(p);
  } else if constexpr (Stride == 2) {
    constexpr auto all = std::make_integer_sequence<int, V::size>();
    const std::int64_t span = 2 * n - 1, rest = span - V::size;
    const V first = rest < 0 ? load_compute_partial(p, span) : load_compute(p);
    return even_lanes(first, rest > 0 ? load_compute_partial(p + V::size, rest) : V(0), all);
  } else {
    typename V::value_type lanes[V::size] = {};
    for (std::int64_t i = 0; i < n; ++i) {
      lanes[i] = static_cast<typename V::value_type>(p[i * stride]);
    }
    return V::load(lanes);
  }
}

/// Adds the first n lanes to elements from p.
template <class T, int N>
HALFTONE_INLINE void add_to(T* p, Vec<T, N> v, std::int64_t n) {
  if (n >= N) {
    (Vec<T, N>::load(p) + v).store(p);
  } else if (n > 0) {
    (Vec<T, N>::load_partial(p, n) + v).store_partial(p, n);
  }
}

/// a[0], b[0], a[1], b[1], ...: the first half of that if Half is 0, else the second.
template <int Half, class T, int N, int... I>
HALFTONE_INLINE Vec<T, N> interleaved(Vec<T, N> a, Vec<T, N> b, std::integer_sequence<int, I...>) {
  return Vec<T, N>(__builtin_shufflevector(a.v, b.v, (Half * N + I) / 2 + I % 2 * N...));
}

/// Adds to `to`, elements [0, width) of a row of the input, what its windows send there:
/// term(c, w) is what a vector of windows from w sends to their column c. Reads up to a
/// vector and the kernel's reach beyond the windows on both sides; the stride is 1, or 2 without
/// dilation.
template <int Stride, class T, class F>
HALFTONE_INLINE void add_columns(const PoolShape& s, std::int64_t width, T* to, F&& term) {
  using V = Vec<T>;
  constexpr auto all = std::make_integer_sequence<int, V::size>();
  const std::int64_t columns = s.kernel[2], begin = s.begin[2];
  if constexpr (Stride == 1) {
    for (std::int64_t i = 0; i < width; i += V::size) {
      V sum(0);
      for (std::int64_t c = 0; c < columns; ++c) sum += term(c, i + begin - c * s.dilation[2]);
      add_to(to + i, sum, width - i);
    }
  } else {
    // Columns 2 w - begin take from the windows' even columns, the ones behind them from the odd.
    const std::int64_t skipped = begin % 2;
    for (std::int64_t i = -skipped; i < width; i += 2 * V::size) {
      const std::int64_t w = (i + begin) / 2;
      V even(0), odd(0);
      for (std::int64_t c = 0; c < columns; c += 2) even += term(c, w - c / 2);
      for (std::int64_t c = 1; c < columns; c += 2) odd += term(c, w - c / 2);
      const V low = interleaved<0>(even, odd, all), high = interleaved<1>(even, odd, all);
      if (i >= 0) {
        add_to(to + i, low, width - i);
      } else {
        T lanes[V::size];
        low.store(lanes);
        for (int k = 1; k < V::size && k - 1 < width; ++k) to[k - 1] += lanes[k];
      }
      add_to(to + i + V::size, high, width - i - V::size);
    }
  }
}

/// A row of windows: what is sent from each, with room for what add_columns() reads beyond.
struct PoolGradientRow {
  static constexpr std::int64_t room = 2048;   ///< windows
  static constexpr std::int64_t margin = 256;  ///< the kernel's reach, and a vector
  static constexpr std::int64_t size = room + 2 * margin;

  const PoolShape& s;
  bool fits, by_column;

  explicit PoolGradientRow(const PoolShape& shape) : s(shape) {
    const std::int64_t reach = (s.kernel[2] - 1) * s.dilation[2] + 1;
    fits = s.lanes == 1 && s.output[2] > 0 && s.output[2] <= room && reach + 128 <= margin &&
           s.begin[2] <= reach && s.kernel[0] * s.kernel[1] <= PoolInputRows::most;
    by_column = s.stride[2] == 1 || (s.stride[2] == 2 && s.dilation[2] == 1);
  }
  /// Fills the windows' places of a list, and what is read on both sides.
  template <class T>
  void fill(T* list, T value) const {
    const std::int64_t beyond = (s.kernel[2] - 1) * s.dilation[2] + 1 + 128;
    for (std::int64_t i = -beyond; i < s.output[2] + beyond; ++i) list[margin + i] = value;
  }
  /// Columns of the input that windows reach; no more than the windows' room has.
  std::int64_t width() const {
    const std::int64_t reached =
        (s.output[2] - 1) * s.stride[2] - s.begin[2] + (s.kernel[2] - 1) * s.dilation[2] + 1;
    return reached < s.input[2] ? reached : s.input[2];
  }
};

/// The place of the largest element of each window of a row of outputs, [0, last - first), whose
/// windows lie inside the input's rows: which of the rows, times the columns, and which column.
template <int Stride, class T, class P>
void find_largest(const PoolShape& s, const PoolInputRows& rows, const T* x, std::int64_t first,
                  std::int64_t last, P* places) {
  using V = Vec<compute_t<T>>;
  using Place = Vec<P>;
  const std::int64_t columns = s.kernel[2], stride = s.stride[2];
  for (std::int64_t w = first; w < last; w += V::size) {
    const std::int64_t n = last - w < V::size ? last - w : V::size;
    const T* const from = x + w * stride - s.begin[2];
    V best(0);
    Place place(P(-1));
    for (int r = 0; r < rows.count; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const V v =
            load_strided_partial<Stride>(from + rows.offsets[r] + c * s.dilation[2], stride, n);
        // As the indices of MaxPool: the first largest element, NaN before all.
        const auto is_first = typename V::mask(r == 0 && c == 0);
        const auto is_better = is_first | (v > best) | ((v != v) & (best == best));
        best = select(is_better, v, best);
        place = select(is_better, Place(P(r * columns + c)), place);
      }
    }
    place.store_partial(places + w, n);
  }
}

}  // namespace detail

/// Memory for the sums of a pooling's gradient.
template <class T>
constexpr std::size_t pool_gradient_workspace(std::int64_t elements) {
  if (std::is_same_v<T, compute_t<T>>) return 0;
  return static_cast<std::size_t>(elements) * sizeof(compute_t<T>);
}

/// op::MaxPoolGradient; the window's output is dy's.
template <class T>
void max_pool_gradient(const KernelCall& call, const Window& window, View<const T> x,
                       View<const T> dy, View<T> dx) {
  using S = compute_t<T>;
  using V = Vec<S>;
  using P = typename V::mask::lane;
  using Row = detail::PoolGradientRow;
  const detail::PoolShape s(window, x);
  const Row gradient_row(s);
  const std::int64_t columns = s.kernel[2], stride = s.stride[2];
  // Outputs whose windows lie inside the input's rows.
  const std::int64_t first = (s.begin[2] + stride - 1) / stride;
  std::int64_t last = s.input[2] - 1 - (columns - 1) * s.dilation[2] + s.begin[2];
  last = last < 0 ? 0 : last / stride + 1;
  if (last > s.output[2]) last = s.output[2];
  if (last < first) last = first;
  detail::add_up_planes<T>(
      *call.executor, s, dx.data, call.workspace, [&](std::int64_t p, S* sums) {
        const T* const plane = x.data + p * s.input_size();
        const T* const from = dy.data + p * s.output_size();
        // The row and column of a window's first largest element, NaN before all.
        const auto largest = [&](const auto& r, std::int64_t lane, auto found) {
          S best = 0;
          std::int64_t place = -1, row = 0, best_row = 0, best_column = 0;
          for (std::int64_t a = r[0].first; a < r[0].last; a += r[0].step) {
            for (std::int64_t b = r[1].first; b < r[1].last; b += r[1].step, ++row) {
              for (std::int64_t c = r[2].first; c < r[2].last; c += r[2].step) {
                const std::int64_t at = ((a * s.input[1] + b) * s.input[2] + c) * s.lanes + lane;
                const auto v = static_cast<S>(plane[at]);
                if (place >= 0 && !(v > best) && !(v != v && best == best)) continue;
                best = v;
                place = at;
                best_row = row;
                best_column = c;
              }
            }
          }
          if (place >= 0) found(place, best_row, best_column);
        };
        if (!gradient_row.fits) {
          for (std::int64_t row = 0; row < s.output[0] * s.output[1]; ++row) {
            detail::for_each_window(
                s, row, 0, s.output[2], [&](std::int64_t out, const auto& r, const auto&) {
                  for (std::int64_t lane = 0; lane < s.lanes; ++lane) {
                    largest(r, lane, [&](std::int64_t place, std::int64_t, std::int64_t) {
                      sums[place] += static_cast<S>(from[out * s.lanes + lane]);
                    });
                  }
                });
          }
          return;
        }
        alignas(64) P places[Row::size];
        alignas(64) S sent[Row::size];
        gradient_row.fill(places, P(-1));
        gradient_row.fill(sent, S(0));
        P* const own_places = places + Row::margin;
        S* const own = sent + Row::margin;
        for (std::int64_t row = 0; row < s.output[0] * s.output[1]; ++row) {
          const detail::PoolInputRows rows(s, row);
          const auto at_edge = [&](std::int64_t, const auto& r, const auto& at) {
            own_places[at[2]] = -1;
            largest(r, 0, [&](std::int64_t, std::int64_t which, std::int64_t column) {
              const std::int64_t c = (column - at[2] * stride + s.begin[2]) / s.dilation[2];
              own_places[at[2]] = static_cast<P>(which * columns + c);
            });
          };
          detail::for_each_window(s, row, 0, first < s.output[2] ? first : s.output[2], at_edge);
          if (stride == 1) {
            detail::find_largest<1>(s, rows, plane, first, last, own_places);
          } else if (stride == 2) {
            detail::find_largest<2>(s, rows, plane, first, last, own_places);
          } else {
            detail::find_largest<0>(s, rows, plane, first, last, own_places);
          }
          detail::for_each_window(s, row, last, s.output[2], at_edge);
          const T* const dy_row = from + row * s.output[2];
          for (std::int64_t w = 0; w < s.output[2]; ++w) own[w] = static_cast<S>(dy_row[w]);
          if (!gradient_row.by_column) {
            for (std::int64_t w = 0; w < s.output[2]; ++w) {
              const std::int64_t place = own_places[w];
              if (place < 0) continue;
              const std::int64_t column = w * stride - s.begin[2] + place % columns * s.dilation[2];
              sums[rows.offsets[place / columns] + column] += own[w];
            }
            continue;
          }
          for (int r = 0; r < rows.count; ++r) {
            const auto term = [&](std::int64_t c, std::int64_t w) {
              const auto is_here = Vec<P>::load(own_places + w) == P(r * columns + c);
              return select(is_here, V::load(own + w), V(0));
            };
            S* const to = sums + rows.offsets[r];
            if (stride == 1) {
              detail::add_columns<1>(s, gradient_row.width(), to, term);
            } else {
              detail::add_columns<2>(s, gradient_row.width(), to, term);
            }
          }
        }
      });
}

/// op::AveragePoolGradient; the window's output is dy's.
template <class T>
void average_pool_gradient(const KernelCall& call, const Window& window, PoolCount counted,
                           View<const T> dy, View<T> dx) {
  using S = compute_t<T>;
  using V = Vec<S>;
  using Row = detail::PoolGradientRow;
  const detail::PoolShape s(window, View<const T>{dx.data, dx.extents, dx.rank});
  const Row gradient_row(s);
  const std::int64_t width = gradient_row.width();
  const bool by_row = gradient_row.fits && gradient_row.by_column && width <= 2 * Row::room;
  const auto count = [&](int axis, std::int64_t at) {
    if (counted == PoolCount::inside) return s.range(axis, at).count();
    return counted == PoolCount::padded ? s.padded_count(axis, at) : std::int64_t{1};
  };
  detail::add_up_planes<T>(
      *call.executor, s, dx.data, call.workspace, [&](std::int64_t p, S* sums) {
        const T* const from = dy.data + p * s.output_size();
        alignas(64) S sent[Row::size], columns[Row::room], along[2 * Row::room + V::size];
        if (by_row) {
          gradient_row.fill(sent, S(0));
          for (std::int64_t w = 0; w < s.output[2]; ++w) columns[w] = static_cast<S>(count(2, w));
        }
        for (std::int64_t row = 0; row < s.output[0] * s.output[1]; ++row) {
          const std::int64_t high = count(0, row / s.output[1]) * count(1, row % s.output[1]);
          if (by_row) {
            const T* const dy_row = from + row * s.output[2];
            S* const own = sent + Row::margin;
            for (std::int64_t w = 0; w < s.output[2]; ++w) {
              const S elements = columns[w] * static_cast<S>(high);
              own[w] = elements == 0 ? S(0) : static_cast<S>(dy_row[w]) / elements;
            }
            for (std::int64_t i = 0; i < width; ++i) along[i] = 0;
            const auto term = [&](std::int64_t, std::int64_t w) { return V::load(own + w); };
            if (s.stride[2] == 1) {
              detail::add_columns<1>(s, width, along, term);
            } else {
              detail::add_columns<2>(s, width, along, term);
            }
            const detail::PoolInputRows rows(s, row);
            for (int r = 0; r < rows.count; ++r) {
              S* const to = sums + rows.offsets[r];
              for (std::int64_t i = 0; i < width; ++i) to[i] += along[i];
            }
            continue;
          }
          detail::for_each_window(
              s, row, 0, s.output[2], [&](std::int64_t out, const auto& r, const auto& at) {
                const std::int64_t elements = high * count(2, at[2]);
                if (elements == 0) return;
                for (std::int64_t lane = 0; lane < s.lanes; ++lane) {
                  const S share =
                      static_cast<S>(from[out * s.lanes + lane]) / static_cast<S>(elements);
                  for (std::int64_t a = r[0].first; a < r[0].last; a += r[0].step) {
                    for (std::int64_t b = r[1].first; b < r[1].last; b += r[1].step) {
                      S* const to = sums + (a * s.input[1] + b) * s.input[2] * s.lanes + lane;
                      for (std::int64_t c = r[2].first; c < r[2].last; c += r[2].step) {
                        to[c * s.lanes] += share;
                      }
                    }
                  }
                }
              });
        }
      });
}

}  // namespace halftone::kernel
