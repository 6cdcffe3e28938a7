#pragma once

#include <cstdint>
#include <type_traits>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/lanes.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

namespace detail {

/// N neighbouring elements in what they are joined in.
template <class Total, int N, class T>
HALFTONE_INLINE Vec<Total, N> load_terms(const T* p) {
  return convert<Total>(load_compute<N>(p));
}
template <class Total, int N, class T>
HALFTONE_INLINE void store_totals(T* p, Vec<Total, N> totals) {
  if constexpr (std::is_same_v<compute_t<T>, T>) {
    convert<T>(totals).store(p);
  } else {
    // A double is rounded to a narrow float once, not by way of float.
    for (int i = 0; i < N; ++i) p[i] = static_cast<T>(totals[i]);
  }
}

/// Joins the n rows of `count` elements that start `step` elements apart. One row after the other:
/// rows that are a power of two apart would push each other out of the first cache.
template <bool exclusive, class T, class Total, class Join>
void cumulate_rows(const T* x, T* y, std::int64_t n, std::int64_t step, std::int64_t count,
                   Total start, Total* totals, const Join& join) {
  constexpr int N = Vec<Total>::size;
  const auto row = [&](auto is_first) {
    std::int64_t i = 0;
    for (; i + N <= count; i += N) {
      Vec<Total> total(start);
      if constexpr (!is_first) total = Vec<Total>::load(totals + i);
      const Vec<Total> next = join(total, load_terms<Total, N>(x + i));
      store_totals(y + i, exclusive ? total : next);
      next.store(totals + i);
    }
    for (; i < count; ++i) {
      const Total total = is_first ? start : totals[i];
      const Total next = join(total, static_cast<Total>(x[i]));
      y[i] = static_cast<T>(exclusive ? total : next);
      totals[i] = next;
    }
  };
  if (n > 0) row(std::true_type());
  for (std::int64_t k = 1; k < n; ++k) {
    x += step;
    y += step;
    row(std::false_type());
  }
}

/// Joins the lines [line, end) of dimensions [outer, n, inner], four at once: a sum waits for the one
/// before it.
template <bool exclusive, class T, class Total, class Join>
void cumulate_lines(const T* x, T* y, std::int64_t line, std::int64_t end, std::int64_t n,
                    std::int64_t inner, bool reverse, Total start, const Join& join) {
  const std::int64_t step = reverse ? -inner : inner, first = reverse ? (n - 1) * inner : 0;
  const auto offset = [&](std::int64_t i) { return i / inner * n * inner + i % inner + first; };
  const auto take = [&](Total& total, std::int64_t at) {
    const Total next = join(total, static_cast<Total>(x[at]));
    y[at] = static_cast<T>(exclusive ? total : next);
    total = next;
  };
  for (; line + 4 <= end; line += 4) {
    const std::int64_t at_a = offset(line), at_b = offset(line + 1);
    const std::int64_t at_c = offset(line + 2), at_d = offset(line + 3);
    Total a = start, b = start, c = start, d = start;
    for (std::int64_t k = 0, at = 0; k < n; ++k, at += step) {
      take(a, at_a + at);
      take(b, at_b + at);
      take(c, at_c + at);
      take(d, at_d + at);
    }
  }
  for (; line < end; ++line) {
    const std::int64_t at_line = offset(line);
    Total total = start;
    for (std::int64_t k = 0, at = at_line; k < n; ++k, at += step) take(total, at);
  }
}

/// join(so far, element) along the middle one of dimensions [outer, n, inner], from `start` on.
/// Floating point is joined in double.
template <bool exclusive, class T, class Start, class Join>
void cumulate(const Executor& executor, bool reverse, const T* x, std::int64_t outer,
              std::int64_t n, std::int64_t inner, T* y, Start start_value, const Join& join) {
  using Total = std::conditional_t<integer<T>, std::uint64_t, double>;
  constexpr std::int64_t N = Vec<Total>::size, most_columns = 1024, task = 1 << 15;
  // Longer rows are read faster, but make fewer tasks.
  const std::int64_t wide = executor.threads <= 1 ? most_columns : 128;
  const std::int64_t columns = inner < N ? 1 : inner < wide ? inner : wide;
  const auto start = static_cast<Total>(start_value);
  const std::int64_t strips = (inner + columns - 1) / columns, units = outer * strips;
  const std::int64_t work = n * columns;
  const std::int64_t per_task = work >= task ? 1 : task / (work < 1 ? 1 : work);
  parallel_for(executor, (units + per_task - 1) / per_task, [&](std::int64_t t) {
    std::int64_t unit = t * per_task;
    const std::int64_t end = unit + per_task < units ? unit + per_task : units;
    if (inner < N) {
      return cumulate_lines<exclusive>(x, y, unit, end, n, inner, reverse, start, join);
    }
    for (; unit < end; ++unit) {
      const std::int64_t first = unit % strips * columns;
      const std::int64_t count = inner - first < columns ? inner - first : columns;
      const std::int64_t at = unit / strips * n * inner + first + (reverse ? n - 1 : 0) * inner;
      Total totals[most_columns];
      cumulate_rows<exclusive>(x + at, y + at, n, reverse ? -inner : inner, count, start, totals,
                               join);
    }
  });
}

/// join(start, element), which rounds nothing, for each element.
template <class T, class Start, class Join>
void join_start(const Executor& executor, const T* x, std::int64_t n, T* y, Start start,
                const Join& join) {
  using S = compute_t<T>;
  constexpr std::int64_t task = 1 << 15;
  parallel_for(executor, (n + task - 1) / task, [&](std::int64_t t) {
    for_lanes<S>(t * task, (t + 1) * task < n ? (t + 1) * task : n, [&](auto lanes) {
      lanes.store(y, join(Vec<S>(static_cast<S>(start)), lanes.load(x)));
    });
  });
}

template <class T, class Start, class Join>
void cumulate(const Executor& executor, bool exclusive, bool reverse, const T* x,
              std::int64_t outer, std::int64_t n, std::int64_t inner, T* y, Start start,
              const Join& join) {
  if (n == 1 && !exclusive) return join_start(executor, x, outer * inner, y, start, join);
  if (exclusive) return cumulate<true>(executor, reverse, x, outer, n, inner, y, start, join);
  cumulate<false>(executor, reverse, x, outer, n, inner, y, start, join);
}

}  // namespace detail

/// Sums along the middle one of dimensions [outer, n, inner]: up to each element or, if exclusive,
/// to the one in front of it; from the end if reversed. Floating point is summed in double.
template <class T>
void cumulative_sum(const Executor& executor, bool exclusive, bool reverse, const T* x,
                    std::int64_t outer, std::int64_t n, std::int64_t inner, T* y) {
  detail::cumulate(executor, exclusive, reverse, x, outer, n, inner, y, 0,
                   [](auto a, auto b) { return a + b; });
}

/// The same for products.
template <class T>
void cumulative_product(const Executor& executor, bool exclusive, bool reverse, const T* x,
                        std::int64_t outer, std::int64_t n, std::int64_t inner, T* y) {
  detail::cumulate(executor, exclusive, reverse, x, outer, n, inner, y, 1,
                   [](auto a, auto b) { return a * b; });
}

}  // namespace halftone::kernel
