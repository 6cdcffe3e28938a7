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

/// The largest elements of N lanes of 16-bit floats, NaN before all. Their bits order as they do where no
/// sign is set, and the other way round where one is; NaN with a sign has the largest of all.
template <class T, int N>
class LargestBits {
 public:
  HALFTONE_INLINE void add(const T* x) {
    Vec<std::uint16_t, N> bits;
    __builtin_memcpy(&bits.v, static_cast<const void*>(x), sizeof(bits.v));
    positive_ = max(positive_, bit_cast<std::int16_t>(bits));
    smallest_ = min(smallest_, bits);
    largest_ = max(largest_, bits);
  }
  /// This stores minus infinity where nothing was added.
  HALFTONE_INLINE void store(T* y) const {
    const auto number = select(positive_ < 0, smallest_, bit_cast<std::uint16_t>(positive_));
    const auto bits = select(largest_ > minus_infinity, largest_, number);
    __builtin_memcpy(static_cast<void*>(y), &bits.v, sizeof(bits.v));
  }

 private:
  static constexpr std::uint16_t minus_infinity = coded_float<T, 0x3f80> ? 0xff80 : 0xfc00;
  Vec<std::int16_t, N> positive_{std::int16_t(-0x8000)};
  Vec<std::uint16_t, N> smallest_{minus_infinity}, largest_{std::uint16_t(0)};
};

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

/// Fetches what will be read soon after the row of outputs whose windows begin at x: the machine
/// does not see a stream in rows that are read side by side. Inlined: g++ leaves out calls of a
/// function that only fetches.
template <class T>
HALFTONE_INLINE void fetch_ahead(const PoolShape& s, const T* x) {
  constexpr std::int64_t distance = 8192, line = 64;
  const std::int64_t bytes = s.stride[1] * s.input[2] * std::int64_t(sizeof(T));
  const auto* const from = reinterpret_cast<const char*>(x) + distance;
  for (std::int64_t i = 0; i < bytes; i += line) __builtin_prefetch(from + i);
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
  /// Outputs [from, to) of a row.
  void run_lanes(const T* x, T* y, std::int64_t row, std::int64_t from, std::int64_t to) const {
    const std::int64_t d = row / s.output[1], h = row % s.output[1];
    const std::int64_t elements = Max ? 1 : count(0, d) * count(1, h);
    for (std::int64_t w = from; w < to; ++w) {
      const Range r[3]{s.range(0, d), s.range(1, h), s.range(2, w)};
      const V all(static_cast<S>(Max ? 1 : elements * count(2, w)));
      T* const out = y + (row * s.output[2] + w) * s.lanes;
      std::int64_t i = 0;
      for (; i + 4 * V::size <= s.lanes; i += 4 * V::size)
        lanes<4>(x + i, r, V::size, all, out + i);
      for (; i + V::size <= s.lanes; i += V::size) lanes<1>(x + i, r, V::size, all, out + i);
      if (i < s.lanes) lanes<1>(x + i, r, s.lanes - i, all, out + i);
    }
  }
  /// Vectors that a block of channels has here, or one of pairs of them (see Layout).
  static constexpr int block_vectors = Max && !std::is_same_v<T, S> ? 2 : 1;
  /// Whether windows are K columns wide and elements are such vectors, side by side.
  bool has_vectors(int K) const {
    const bool is_flat = s.input[0] == 1 && s.output[0] == 1 && s.kernel[0] == 1 && s.begin[0] == 0;
    return is_flat && s.lanes == block_vectors * V::size && s.kernel[2] == K &&
           s.dilation[1] == 1 && s.dilation[2] == 1;
  }
  /// The same row by row of outputs; windows inside the input, `Rows` high (0: as many as are inside),
  /// need no ranges.
  template <int K, int Rows>
  void run_vectors(const T* x, T* y, std::int64_t row, std::int64_t from, std::int64_t to) const {
    // The machine does not see a stream in rows that are read side by side.
    constexpr std::int64_t ahead = 4096 / std::int64_t(sizeof(T));
    constexpr int N = block_vectors * V::size;
    const std::int64_t h = row % s.output[1], width = s.input[2] * N;
    const Range high = s.range(1, h);
    const std::int64_t rows = Rows != 0 ? Rows : high.count();
    [[maybe_unused]] const V all(static_cast<S>(Max ? 1 : count(0, 0) * count(1, h) * K));
    const T* window = x + high.first * width + (from * s.stride[2] - s.begin[2]) * N;
    T* out = y + (row * s.output[2] + from) * N;
    const std::int64_t step = s.stride[2] * N;
    for (std::int64_t w = from; w < to; ++w, window += step, out += N) {
      const auto add_window = [&](auto&& add) __attribute__((always_inline)) {
        const T* at = window;
        for (std::int64_t k = 0; k < rows; ++k, at += width) {
          for (int c = 0; c < K; ++c) add(at + c * N);
          for (std::int64_t i = 0; i < step; i += 64 / std::int64_t(sizeof(T))) {
            __builtin_prefetch(at + ahead + i);
          }
        }
      };
      if constexpr (block_vectors == 2) {
        LargestBits<T, N> largest;
        add_window([&](const T* block) __attribute__((always_inline)) { largest.add(block); });
        largest.store(out);
      } else {
        V sum = start();
        add_window([&](const T* block)
                       __attribute__((always_inline)) { sum = join(sum, load_compute(block)); });
        store(out, finish(sum, all), V::size);
      }
    }
  }
  template <int K>
  void run_vectors(const T* x, T* y, std::int64_t first, std::int64_t last) const {
    const std::int64_t reach = s.input[2] + s.begin[2] - K;
    std::int64_t from = (s.begin[2] + s.stride[2] - 1) / s.stride[2];
    std::int64_t to = reach < 0 ? 0 : reach / s.stride[2] + 1;
    to = to < s.output[2] ? to : s.output[2];
    from = from < to ? from : to;
    for (std::int64_t row = first; row < last; ++row) {
      run_lanes(x, y, row, 0, from);
      if (s.range(1, row % s.output[1]).count() == K) {
        run_vectors<K, K>(x, y, row, from, to);
      } else {
        run_vectors<K, 0>(x, y, row, from, to);
      }
      run_lanes(x, y, row, to, s.output[2]);
    }
  }
  void run_lanes(const T* x, T* y, std::int64_t first, std::int64_t last) const {
    if (has_vectors(2)) return run_vectors<2>(x, y, first, last);
    if (has_vectors(3)) return run_vectors<3>(x, y, first, last);
    for (std::int64_t row = first; row < last; ++row) run_lanes(x, y, row, 0, s.output[2]);
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
      fetch_ahead(s, x + (d * s.stride[0] * s.input[1] + h * s.stride[1]) * s.input[2]);
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
      fetch_ahead(s, x + (d * s.stride[0] * s.input[1] + h * s.stride[1]) * s.input[2]);
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

/// What the windows of a row send to elements of a row of the input: with Stride 1 to those from i
/// on; with 2 to those from i, i even, two apart in sums[0] and to their neighbours in sums[1].
/// term(c, w) is what a vector of windows from w sends to their column c. Adds in ascending c. Reads
/// up to a vector and the kernel's reach beyond the windows on both sides; the stride is 1, or 2
/// without dilation.
template <int Stride, class V, class F>
HALFTONE_INLINE void column_sums(const PoolShape& s, std::int64_t i, V (&sums)[Stride], F&& term) {
  const std::int64_t columns = s.kernel[2], from = i + s.begin[2];
  for (V& sum : sums) sum = V(0);
  if constexpr (Stride == 1) {
    for (std::int64_t c = 0; c < columns; ++c) sums[0] += term(c, from - c * s.dilation[2]);
  } else if (s.begin[2] % 2 == 0) {
    for (std::int64_t c = 0; c < columns; c += 2) sums[0] += term(c, (from - c) >> 1);
    for (std::int64_t c = 1; c < columns; c += 2) sums[1] += term(c, (from + 1 - c) >> 1);
  } else {
    for (std::int64_t c = 1; c < columns; c += 2) sums[0] += term(c, (from - c) >> 1);
    for (std::int64_t c = 0; c < columns; c += 2) sums[1] += term(c, (from + 1 - c) >> 1);
  }
}

/// The same for K columns without dilation, the first of them Begin columns before the input:
/// term(c, move) is what windows send that begin `move`, a constant, after those from i / Stride.
template <int Stride, int K, int Begin, class V, class F>
HALFTONE_INLINE void column_sums(V (&sums)[Stride], F&& term) {
  for (V& sum : sums) sum = V(0);
  const auto add = [&](auto c) __attribute__((always_inline)) {
    constexpr int column = c(), parity = (column + Begin) % Stride;
    constexpr int move = (parity + Begin - column) / Stride;
    sums[parity] += term(column, std::integral_constant<int, move>());
  };
  add(std::integral_constant<int, 0>());
  if constexpr (K > 1) add(std::integral_constant<int, 1>());
  if constexpr (K > 2) add(std::integral_constant<int, 2>());
}

/// The vector that begins `Move` lanes after p, made of whole vectors from p: the machine forwards a
/// store in flight only to a load of the same place.
template <int Move, class T, class V = Vec<T>>
HALFTONE_INLINE V load_moved(const T* p) {
  constexpr auto all = std::make_integer_sequence<int, V::size>();
  const V at = V::load(p);
  if constexpr (Move < 0) return moved_lanes<Move>(V::load(p - V::size), at, at, all);
  if constexpr (Move > 0) return moved_lanes<Move>(at, at, V::load(p + V::size), all);
  return at;
}

/// Puts the sums of column_sums() side by side.
template <class V>
HALFTONE_INLINE void interleave(V (&)[1]) {}
template <class V>
HALFTONE_INLINE void interleave(V (&sums)[2]) {
  constexpr auto all = std::make_integer_sequence<int, V::size>();
  const V low = interleaved<0>(sums[0], sums[1], all), high = interleaved<1>(sums[0], sums[1], all);
  sums[0] = low, sums[1] = high;
}

/// Adds to `to`, elements [0, width) of a row of the input, the sums of column_sums().
template <int Stride, class T, class F>
HALFTONE_INLINE void add_columns(const PoolShape& s, std::int64_t width, T* to, F&& term) {
  using V = Vec<T>;
  for (std::int64_t i = 0; i < width; i += Stride * V::size) {
    V sums[Stride];
    column_sums<Stride>(s, i, sums, term);
    interleave(sums);
    for (int k = 0; k < Stride; ++k) add_to(to + i + k * V::size, sums[k], width - i - k * V::size);
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

/// Whether elements come before the best so far, which is the order of MaxPool's indices: the first
/// largest element, and NaN before all.
template <class V>
HALFTONE_INLINE typename V::mask comes_before(V v, V best) {
  return ~(v <= best) & (best == best);
}

/// The place of the largest element of each window of a row of outputs, [first, last), whose
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
        const auto is_first = typename V::mask(r == 0 && c == 0);
        const auto is_better = is_first | comes_before(v, best);
        best = select(is_better, v, best);
        place = select(is_better, Place(P(r * columns + c)), place);
      }
    }
    place.store_partial(places + w, n);
  }
}

/// Narrow windows without dilation: their constants.
template <int Stride_, int K_, int Begin_>
struct NarrowWindow {
  static constexpr int stride = Stride_, columns = K_, begin = Begin_;
};

/// A vector of the windows from w on (a multiple of the vector), `n` of which exist: the places of
/// their largest elements, as find_largest() has them, -1 where there is none. `row_count` rows of
/// `width` elements, `pitch` apart. IsInside: all of their elements lie in the rows.
template <class W, bool IsInside, class P, class T>
HALFTONE_INLINE Vec<P> find_narrow(const T* x, std::int64_t pitch, int row_count,
                                   std::int64_t width, std::int64_t w, std::int64_t n) {
  using V = Vec<compute_t<T>>;
  using Place = Vec<P>;
  using std::integral_constant;
  constexpr auto all = std::make_integer_sequence<int, V::size>();
  // No element outside is larger than one inside, so that none is chosen if the search starts at
  // the first column inside.
  const V outside(static_cast<compute_t<T>>(lowest<T>()));
  Place start(P(0));
  if constexpr (!IsInside) {
    const Place before = Place(P(W::begin)) - (Place::iota() + P(w)) * P(W::stride);
    start = select(before > P(0), before, Place(P(0)));
  }
  const auto look_at = [](V v, Place at, V& best, Place& place) __attribute__((always_inline)) {
    const auto is_better = comes_before(v, best);
    best = select(is_better, v, best);
    place = select(is_better, at, place);
  };
  V best = outside;
  Place place(P(-1));
  const auto look_at_row = [&](int r) __attribute__((always_inline)) {
    const T* const row = x + r * pitch;
    // The vector of a row that begins at a column of the first window.
    const auto load = [&](auto column) __attribute__((always_inline)) {
      constexpr int at = column() - W::begin;
      if constexpr (IsInside) {
        return load_compute(row + w * W::stride + at);
      } else {
        const auto part = [&](std::int64_t from) __attribute__((always_inline)) {
          const std::int64_t rest = width - from;
          if (rest >= V::size) return load_compute(row + from);
          if (rest <= 0) return outside;
          return select(V::mask::first(rest), load_compute_partial(row + from, rest), outside);
        };
        if constexpr (at < 0) {
          if (w == 0) return moved_lanes<at>(outside, part(0), outside, all);
        }
        return part(w * W::stride + at);
      }
    };
    // Rows by themselves: no row waits for the one before.
    const P base = P(r * W::columns);
    V largest;
    Place column = start + base;
    constexpr integral_constant<int, 0> first;
    constexpr integral_constant<int, 1> second;
    constexpr integral_constant<int, 2> third;
    if constexpr (W::stride == 1) {
      largest = load(first);
      look_at(load(second), Place(base + 1), largest, column);
      if constexpr (W::columns > 2) look_at(load(third), Place(base + 2), largest, column);
    } else {
      const V a = load(first), b = load(integral_constant<int, V::size>());
      largest = even_lanes(a, b, all);
      look_at(odd_lanes(a, b, all), Place(base + 1), largest, column);
      if constexpr (W::columns > 2) {  // of vectors that end with the windows
        const V c = load(second), d = load(integral_constant<int, V::size + 1>());
        look_at(odd_lanes(c, d, all), Place(base + 2), largest, column);
      }
    }
    if (r == 0) {
      best = largest, place = column;
    } else {
      look_at(largest, column, best, place);
    }
  };
  if (row_count == W::columns) {  // most windows are as high as wide
#pragma GCC unroll 3
    for (int r = 0; r < W::columns; ++r) look_at_row(r);
  } else {
    for (int r = 0; r < row_count; ++r) look_at_row(r);
  }
  if constexpr (!IsInside) {
    // A window that begins behind the row has no elements.
    const std::int64_t nonempty = (width + W::begin + W::stride - 1) / W::stride - w;
    place = select(Place::mask::first(n < nonempty ? n : nonempty), place, Place(P(-1)));
  }
  return place;
}

/// f(a NarrowWindow) for the windows of most networks; else f of one without columns.
template <class F>
void for_window(const PoolShape& s, F&& f) {
  const bool is_dense = s.dilation[2] == 1;
  const std::int64_t stride = s.stride[2], columns = s.kernel[2], begin = s.begin[2];
  if (stride == 1) {
    if (is_dense && columns == 3 && begin == 1) return f(NarrowWindow<1, 3, 1>());
    return f(NarrowWindow<1, 0, 0>());
  }
  if (columns == 2 && begin == 0) return f(NarrowWindow<2, 2, 0>());
  if (columns == 3 && begin == 0) return f(NarrowWindow<2, 3, 0>());
  if (columns == 3 && begin == 1) return f(NarrowWindow<2, 3, 1>());
  f(NarrowWindow<2, 0, 0>());
}

/// Gradients of windows that do not reach over the depth, row by row of dx: a ring of slots holds
/// what the last rows of windows send, so that each row of dx is summed in registers and written
/// once. The sums are those of adding the rows of windows one after the other.
template <class T>
struct GradientRing {
  using S = compute_t<T>;
  using V = Vec<S>;
  static constexpr std::int64_t room = 12 * 1024;  ///< numbers of all slots
  static constexpr int most_slots = 8;

  const PoolShape& s;
  std::int64_t margin, pitch, slots;
  std::int64_t width;  ///< columns of the input that windows reach
  bool fits;

  explicit GradientRing(const PoolShape& shape) : s(shape) {
    const std::int64_t reach = (s.kernel[2] - 1) * s.dilation[2] + 1;
    margin = (reach + 3 * V::size - 1) / V::size * V::size;
    const std::int64_t longest = s.input[2] > s.output[2] ? s.input[2] : s.output[2];
    pitch = (longest + V::size - 1) / V::size * V::size + 2 * margin;
    slots = (s.kernel[1] - 1) * s.dilation[1] / s.stride[1] + 1;
    width = (s.output[2] - 1) * s.stride[2] - s.begin[2] + reach;
    if (width > s.input[2]) width = s.input[2];
    const bool is_flat =
        s.kernel[0] == 1 && s.stride[0] == 1 && s.begin[0] == 0 && s.output[0] == s.input[0];
    fits = is_flat && s.lanes == 1 && s.output[1] > 0 && s.output[2] > 1 &&
           (s.stride[2] == 1 || (s.stride[2] == 2 && s.dilation[2] == 1)) && s.kernel[1] <= 256 &&
           s.begin[2] <= reach && s.begin[1] <= (s.kernel[1] - 1) * s.dilation[1] + 1 &&
           slots <= most_slots && slots * pitch <= room;
  }

  /// A row of windows that reads a row of the input: its slot, and which row of the windows that is.
  struct Source {
    std::int64_t slot;
    int row;
  };

  /// For each task a value of Rows(ring), of which make(slice, row of windows, slot) fills a slot
  /// and add(sender(slot, row of the windows), i, sums) adds what it sends from column i on, to
  /// sums as column_sums() has them.
  template <class Rows>
  void run(const Executor& executor, T* dx, const auto&... arguments) const {
    const std::int64_t size = s.input[1] * s.input[2], slices = s.planes * s.input[0];
    const std::int64_t grain = pool_grain / (size + 1) + 1;
    const bool streams = has_stream && std::is_same_v<T, S> &&
                         slices * size * std::int64_t(sizeof(T)) >= beyond_caches &&
                         is_in_lines(dx, s.input[2] * std::int64_t(sizeof(T)));
    parallel_for(executor, (slices + grain - 1) / grain, [&](std::int64_t task) {
      const std::int64_t last = (task + 1) * grain < slices ? (task + 1) * grain : slices;
      Rows rows(*this, arguments...);
      for (std::int64_t p = task * grain; p < last; ++p) run_slice(rows, p, dx + p * size, streams);
      if (streams) stream_end();
    });
  }

 private:
  template <class Rows>
  void run_slice(Rows& rows, std::int64_t slice, T* dx, bool streams) const {
    const std::int64_t stride = s.stride[1], dilation = s.dilation[1];
    const auto by_dilation = [&](std::int64_t n) { return dilation == 1 ? n : n / dilation; };
    std::int64_t made = 0, slot = 0;  // slot: the next one to fill
    for (std::int64_t b = 0; b < s.input[1]; ++b) {
      const std::int64_t at = b + s.begin[1];
      for (; made < s.output[1] && made * stride <= at; ++made) {
        rows.make(slice, made, slot * pitch + margin);
        slot = slot + 1 == slots ? 0 : slot + 1;
      }
      Source sources[most_slots];
      int count = 0;
      std::int64_t h = made > slots ? made - slots : 0, from = made > slots ? slot : 0;
      for (; h < made; ++h, from = from + 1 == slots ? 0 : from + 1) {
        const std::int64_t distance = at - h * stride, row = by_dilation(distance);
        if (row * dilation != distance || row >= s.kernel[1]) continue;
        // Rows above the input are not among those of a window.
        const std::int64_t first = s.range(1, h).first;
        sources[count++] = {from * pitch + margin, static_cast<int>(by_dilation(b - first))};
      }
      T* const to = dx + b * s.input[2];
      if (count == 1) {
        sum_row<1>(rows, sources, 1, to, streams);
      } else if (count == 2) {
        sum_row<2>(rows, sources, 2, to, streams);
      } else if (count == 3) {
        sum_row<3>(rows, sources, 3, to, streams);
      } else {
        sum_row<0>(rows, sources, count, to, streams);
      }
    }
  }
  template <int Count, class Rows>
  void sum_row(const Rows& rows, const Source* sources, int count, T* to, bool streams) const {
    constexpr std::int64_t step = Rows::vectors * V::size;
    typename Rows::Sender senders[Count ? Count : most_slots];
    for (int k = 0; k < (Count ? Count : count); ++k) {
      senders[k] = rows.sender(sources[k].slot, sources[k].row);
    }
    for (std::int64_t i = 0; i < s.input[2]; i += step) {
      V sums[Rows::vectors];
      for (V& sum : sums) sum = V(0);
      if (i < width) {
        if constexpr (Count > 0) {
#pragma GCC unroll 3
          for (int k = 0; k < Count; ++k) rows.add(senders[k], i, sums);
        } else {
          for (int k = 0; k < count; ++k) rows.add(senders[k], i, sums);
        }
      }
      interleave(sums);
      for (int k = 0; k < Rows::vectors; ++k) {
        const std::int64_t at = i + k * V::size, n = s.input[2] - at;
        if (n >= V::size) {
          if constexpr (std::is_same_v<T, S>) {
            if (streams) {
              sums[k].stream(to + at);
              continue;
            }
          }
          store_compute(to + at, sums[k]);
        } else if (n > 0) {
          store_compute_partial(to + at, sums[k], n);
        }
      }
    }
  }
};

/// The first largest element of a window of a plane, NaN before all: found(its place in the plane,
/// which of the window's rows, its column), unless the window is empty.
template <class T, class F>
void find_largest_of(const PoolShape& s, const T* plane, const PoolShape::Range (&r)[3],
                     std::int64_t lane, F&& found) {
  using S = compute_t<T>;
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
}

/// The places of the largest elements of a row of outputs, [0, output[2]), as find_largest() has
/// them; -1 for a window that has none.
template <int Stride, class T, class P>
void find_places(const PoolShape& s, const T* plane, std::int64_t row, const PoolInputRows& rows,
                 P* places) {
  const std::int64_t columns = s.kernel[2], stride = s.stride[2];
  // Outputs whose windows lie inside the input's rows.
  std::int64_t first = (s.begin[2] + stride - 1) / stride;
  std::int64_t last = s.input[2] - 1 - (columns - 1) * s.dilation[2] + s.begin[2];
  last = last < 0 ? 0 : last / stride + 1;
  if (last > s.output[2]) last = s.output[2];
  if (first > s.output[2]) first = s.output[2];
  if (last < first) last = first;
  const auto at_edge = [&](std::int64_t, const auto& r, const auto& at) {
    places[at[2]] = -1;
    find_largest_of(s, plane, r, 0, [&](std::int64_t, std::int64_t which, std::int64_t column) {
      const std::int64_t c = (column - at[2] * stride + s.begin[2]) / s.dilation[2];
      places[at[2]] = static_cast<P>(which * columns + c);
    });
  };
  for_each_window(s, row, 0, first, at_edge);
  if (rows.count > 0) {
    find_largest<Stride>(s, rows, plane, first, last, places);
  } else {
    for (std::int64_t w = first; w < last; ++w) places[w] = -1;
  }
  for_each_window(s, row, last, s.output[2], at_edge);
}

/// The slots of MaxPool's gradient: where the largest elements are, and dy.
template <class W, class T>
struct MaxGradientRows {
  using Ring = GradientRing<T>;
  using S = compute_t<T>;
  using V = Vec<S>;
  using P = typename V::mask::lane;
  static constexpr int vectors = W::stride;

  const PoolShape& s;
  const T *x, *dy;
  alignas(64) P places[Ring::room];
  alignas(64) S own[Ring::room];

  MaxGradientRows(const Ring& ring, const T* x_, const T* dy_) : s(ring.s), x(x_), dy(dy_) {
    for (std::int64_t i = 0; i < ring.slots * ring.pitch; ++i) places[i] = -1, own[i] = 0;
  }
  void make(std::int64_t slice, std::int64_t h, std::int64_t slot) {
    const T* const from = dy + (slice * s.output[1] + h) * s.output[2];
    for (std::int64_t w = 0; w < s.output[2]; w += V::size) {
      const std::int64_t n = s.output[2] - w;
      (n < V::size ? load_compute_partial(from + w, n) : load_compute(from + w))
          .store(own + slot + w);
    }
    const T* const plane = x + slice * s.input[1] * s.input[2];
    if constexpr (W::columns == 0) {
      find_places<W::stride>(s, plane, h, PoolInputRows(s, h), places + slot);
    } else {
      const auto high = s.range(1, h);
      const T* const first = plane + high.first * s.input[2];
      const auto count = static_cast<int>(high.count());
      fetch_ahead(s, first);
      const std::int64_t pitch = high.step * s.input[2], width = s.input[2];
      // Behind the last window whose columns lie in the input.
      const std::int64_t last = (width - W::columns + W::begin) / W::stride + 1;
      for (std::int64_t w = 0; w < s.output[2]; w += V::size) {
        const std::int64_t n = s.output[2] - w;
        Vec<P> found;
        if ((w == 0 && W::begin > 0) || n < V::size || w + V::size > last || count == 0) {
          found = find_narrow<W, false, P>(first, pitch, count, width, w, n);
        } else {
          found = find_narrow<W, true, P>(first, pitch, count, width, w, n);
        }
        found.store(places + slot + w);
      }
    }
  }
  /// A row of windows as one of the rows that it reads sees it.
  struct Sender {
    const P* places;
    const S* own;
    P base;
    Vec<P> columns[W::columns + 1];
  };
  HALFTONE_INLINE Sender sender(std::int64_t slot, int row) const {
    Sender r{places + slot, own + slot, P(row * s.kernel[2]), {}};
    for (int c = 0; c < W::columns; ++c) r.columns[c] = Vec<P>(P(r.base + c));
    return r;
  }
  HALFTONE_INLINE void add(const Sender& from, std::int64_t i, V (&sums)[vectors]) const {
    V terms[vectors];
    if constexpr (W::columns == 0) {
      column_sums(s, i, terms, [&](std::int64_t c, std::int64_t w) {
        const auto is_here = Vec<P>::load(from.places + w) == P(from.base + c);
        return select(is_here, V::load(from.own + w), V(0));
      });
    } else {
      const std::int64_t w = i / W::stride;
      column_sums<W::stride, W::columns, W::begin>(
          terms, [&](int c, auto move) __attribute__((always_inline)) {
            const auto is_here = load_moved<move()>(from.places + w) == from.columns[c];
            return select(is_here, load_moved<move()>(from.own + w), V(0));
          });
    }
    for (int j = 0; j < vectors; ++j) sums[j] += terms[j];
  }
};

/// The slots of AveragePool's gradient: what a row of windows sends to each column.
template <class W, class T, class Count>
struct AverageGradientRows {
  using Ring = GradientRing<T>;
  using S = compute_t<T>;
  using V = Vec<S>;
  static constexpr int vectors = 1;

  const PoolShape& s;
  const T* dy;
  const Count& count;
  std::int64_t margin, width;
  alignas(64) S along[Ring::room];
  alignas(64) S sent[Ring::room];
  alignas(64) S columns[Ring::room];

  AverageGradientRows(const Ring& ring, const T* dy_, const Count& count_)
      : s(ring.s), dy(dy_), count(count_), margin(ring.margin), width(ring.width) {
    for (std::int64_t i = 0; i < ring.pitch; ++i) sent[i] = columns[i] = 0;
    for (std::int64_t w = 0; w < s.output[2]; ++w) columns[w] = static_cast<S>(count(2, w));
  }
  void make(std::int64_t slice, std::int64_t h, std::int64_t slot) {
    const std::int64_t depth = s.input[0] == 1 ? 0 : slice % s.input[0];
    const T* const from = dy + (slice * s.output[1] + h) * s.output[2];
    const V high(static_cast<S>(count(0, depth) * count(1, h)));
    S* const own = sent + margin;
    for (std::int64_t w = 0; w < s.output[2]; w += V::size) {
      const std::int64_t n = s.output[2] - w;
      const V elements = V::load(columns + w) * high;
      const V v = n < V::size ? load_compute_partial(from + w, n) : load_compute(from + w);
      select(elements == V(0), V(0), v / elements).store(own + w);
    }
    for (std::int64_t i = 0; i < width; i += W::stride * V::size) {
      V sums[W::stride];
      if constexpr (W::columns == 0) {
        column_sums(s, i, sums, [&](std::int64_t, std::int64_t w) { return V::load(own + w); });
      } else {
        column_sums<W::stride, W::columns, W::begin>(
            sums, [&](int, auto move) __attribute__((always_inline)) {
              return load_moved<move()>(own + i / W::stride);
            });
      }
      interleave(sums);
      for (int k = 0; k < W::stride; ++k) sums[k].store(along + slot + i + k * V::size);
    }
  }
  using Sender = const S*;
  HALFTONE_INLINE Sender sender(std::int64_t slot, int) const { return along + slot; }
  HALFTONE_INLINE void add(Sender from, std::int64_t i, V (&sums)[1]) const {
    sums[0] += V::load(from + i);
  }
};

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
  const detail::GradientRing<T> ring(s);
  if (ring.fits) {
    detail::for_window(s, [&]<class W>(W) {
      ring.template run<detail::MaxGradientRows<W, T>>(*call.executor, dx.data, x.data, dy.data);
    });
    return;
  }
  const Row gradient_row(s);
  const std::int64_t columns = s.kernel[2], stride = s.stride[2];
  detail::add_up_planes<T>(
      *call.executor, s, dx.data, call.workspace, [&](std::int64_t p, S* sums) {
        const T* const plane = x.data + p * s.input_size();
        const T* const from = dy.data + p * s.output_size();
        if (!gradient_row.fits) {
          for (std::int64_t row = 0; row < s.output[0] * s.output[1]; ++row) {
            detail::for_each_window(
                s, row, 0, s.output[2], [&](std::int64_t out, const auto& r, const auto&) {
                  for (std::int64_t lane = 0; lane < s.lanes; ++lane) {
                    detail::find_largest_of(
                        s, plane, r, lane, [&](std::int64_t place, std::int64_t, std::int64_t) {
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
          if (stride == 1) {
            detail::find_places<1>(s, plane, row, rows, own_places);
          } else if (stride == 2) {
            detail::find_places<2>(s, plane, row, rows, own_places);
          } else {
            detail::find_places<0>(s, plane, row, rows, own_places);
          }
          const T* const dy_row = from + row * s.output[2];
          for (std::int64_t w = 0; w < s.output[2]; ++w) own[w] = static_cast<S>(dy_row[w]);
          if (!gradient_row.by_column || s.output[2] == 1) {
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
  const detail::GradientRing<T> ring(s);
  if (ring.fits) {
    detail::for_window(s, [&]<class W>(W) {
      using Rows = detail::AverageGradientRows<W, T, decltype(count)>;
      ring.template run<Rows>(*call.executor, dx.data, dy.data, count);
    });
    return;
  }
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
