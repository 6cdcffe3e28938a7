#pragma once

#include <cstdint>
#include <type_traits>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

namespace detail {

/// Elements are compared in this type, whose lanes are wide enough for an index.
template <class T>
using compared_t = std::conditional_t<(sizeof(compute_t<T>) < 4), std::int32_t, compute_t<T>>;

/// Vectors of the best elements so far and their rows.
template <class T>
struct BestLanes {
  using S = compared_t<T>;
  using V = Vec<S>;
  using Index = Vec<typename V::mask::lane>;

  V best;
  Index at;

  static HALFTONE_INLINE V load(const T* p) { return convert<S>(load_compute<V::size>(p)); }
  /// Elements that are `stride` apart.
  static HALFTONE_INLINE V load(const T* p, std::int64_t stride) {
    S numbers[V::size];
    for (int i = 0; i < V::size; ++i) numbers[i] = static_cast<S>(p[i * stride]);
    return V::load(numbers);
  }

  /// NaN is best of all, and the first one stays.
  template <bool largest, bool last>
  HALFTONE_INLINE void take(V v, Index row) {
    // A comparison for each selection: compilers make vectors of masks that they combine.
    const auto stays = [&] {
      if constexpr (last) {
        return largest ? v < best : v > best;
      } else {
        return largest ? v <= best : v >= best;
      }
    }();
    V next = select(stays, best, v);
    Index next_at = select(stays, at, row);
    if constexpr (V::is_float) {
      const auto is_number = best == best;
      next = select(is_number, next, best);
      next_at = select(is_number, next_at, at);
    }
    best = next;
    at = next_at;
  }
};

/// Whether v at `at` is better than `best` at `best_at`, whichever comes first in memory.
template <bool largest, bool last, class S>
constexpr bool is_better(S v, std::int64_t at, S best, std::int64_t best_at) {
  if (v != v || best != best) return v != v && (best == best || at < best_at);
  if (v == best) return last ? at > best_at : at < best_at;
  return largest ? v > best : v < best;
}

/// The indices in lanes stay below this.
inline constexpr std::int64_t arg_extreme_rows = std::int64_t{1} << 30;

/// Lines of fewer elements are not worth vectors of their own.
template <class T>
inline constexpr std::int64_t arg_extreme_short = 8 * Vec<compared_t<T>>::size;

/// The best one of n neighbouring elements.
template <bool largest, bool last, class T>
std::int64_t arg_extreme_line(const T* x, std::int64_t n) {
  using Best = BestLanes<T>;
  using S = typename Best::S;
  using Index = typename Best::Index;
  constexpr std::int64_t N = Best::V::size, wide = 4;
  static_assert(arg_extreme_short<T> >= wide * N);
  S best = static_cast<S>(x[0]);
  std::int64_t at = 0, begin = 0;
  const auto take = [&](S v, std::int64_t i) {
    if (!is_better<largest, last>(v, i, best, at)) return;
    best = v;
    at = i;
  };
  while (n - begin >= arg_extreme_short<T>) {
    const T* const from = x + begin;
    const std::int64_t some = n - begin < arg_extreme_rows ? n - begin : arg_extreme_rows;
    Best found[wide];
    for (std::int64_t w = 0; w < wide; ++w) found[w] = {Best::load(from + w * N), Index(0)};
    std::int64_t i = wide * N, row = 1;
    for (; i + wide * N <= some; i += wide * N, ++row) {
      const Index rows(static_cast<typename Index::value_type>(row));
      found[0].template take<largest, last>(Best::load(from + i), rows);
      found[1].template take<largest, last>(Best::load(from + i + N), rows);
      found[2].template take<largest, last>(Best::load(from + i + 2 * N), rows);
      found[3].template take<largest, last>(Best::load(from + i + 3 * N), rows);
    }
    for (std::int64_t w = 0; w < wide; ++w) {
      for (int k = 0; k < N; ++k) {
        const auto place = static_cast<std::int64_t>(found[w].at[k]) * wide + w;
        take(found[w].best[k], begin + place * N + k);
      }
    }
    begin += i;
  }
  for (; begin < n; ++begin) take(static_cast<S>(x[begin]), begin);
  return at;
}

/// y[i] = the best row of column i, for some columns of n rows that are `step` elements apart; the
/// columns are side by side, or the rows are.
template <bool largest, bool last, bool side_by_side, class T>
void arg_extreme_columns(const T* x, std::int64_t n, std::int64_t step, std::int64_t count,
                         std::int64_t* y) {
  using Best = BestLanes<T>;
  using S = typename Best::S;
  using Index = typename Best::Index;
  constexpr std::int64_t N = Best::V::size;
  const std::int64_t apart = side_by_side ? 1 : n;
  const auto load = [&](const T* p) {
    if constexpr (side_by_side) return Best::load(p);
    return Best::load(p, apart);
  };
  std::int64_t i = 0;
  const auto vectors = [&](auto number) {
    constexpr std::int64_t wide = decltype(number)::value;
    for (; i + wide * N <= count; i += wide * N) {
      Best found[wide];
      for (std::int64_t w = 0; w < wide; ++w) found[w].best = load(x + (i + w * N) * apart);
      for (std::int64_t j = i; j < i + wide * N; ++j) y[j] = 0;
      for (std::int64_t begin = 0; begin < n; begin += arg_extreme_rows) {
        const std::int64_t some = n - begin < arg_extreme_rows ? n - begin : arg_extreme_rows;
        for (Best& f : found) f.at = -1;
        const T* from = x + begin * step + i * apart;
        for (std::int64_t k = 0; k < some; ++k, from += step) {
          const Index row(static_cast<typename Index::value_type>(k));
          for (std::int64_t w = 0; w < wide; ++w) {
            found[w].template take<largest, last>(load(from + w * N * apart), row);
          }
        }
        for (std::int64_t w = 0; w < wide; ++w) {
          for (int k = 0; k < N; ++k) {
            if (found[w].at[k] >= 0) y[i + w * N + k] = begin + found[w].at[k];
          }
        }
      }
    }
  };
  vectors(std::integral_constant<std::int64_t, 4>());
  vectors(std::integral_constant<std::int64_t, 2>());
  vectors(std::integral_constant<std::int64_t, 1>());
  for (; i < count; ++i) {
    S best = static_cast<S>(x[i * apart]);
    y[i] = 0;
    for (std::int64_t k = 1; k < n; ++k) {
      const auto v = static_cast<S>(x[k * step + i * apart]);
      if (!is_better<largest, last>(v, k, best, y[i])) continue;
      best = v;
      y[i] = k;
    }
  }
}

template <bool largest, bool last, class T>
void arg_extreme(const Executor& executor, const T* x, std::int64_t outer, std::int64_t n,
                 std::int64_t inner, std::int64_t* y) {
  constexpr std::int64_t columns = 64, task = 1 << 15;
  const std::int64_t strips = (inner + columns - 1) / columns, units = outer * strips;
  const std::int64_t work = n * (inner < columns ? inner : columns);
  const std::int64_t per_task = work >= task ? 1 : task / (work < 1 ? 1 : work);
  parallel_for(executor, (units + per_task - 1) / per_task, [&](std::int64_t t) {
    const std::int64_t end = (t + 1) * per_task < units ? (t + 1) * per_task : units;
    std::int64_t unit = t * per_task;
    if (inner == 1 && n < arg_extreme_short<T>) {
      return arg_extreme_columns<largest, last, false>(x + unit * n, n, 1, end - unit, y + unit);
    }
    for (; unit < end; ++unit) {
      const std::int64_t o = unit / strips, first = unit % strips * columns;
      const std::int64_t count = inner - first < columns ? inner - first : columns;
      const T* const from = x + o * n * inner + first;
      std::int64_t* const to = y + o * inner + first;
      if (inner == 1) {
        *to = arg_extreme_line<largest, last>(from, n);
      } else {
        arg_extreme_columns<largest, last, true>(from, n, inner, count, to);
      }
    }
  });
}

}  // namespace detail

/// y[o, i] = where in x[o, :, i] the largest (or the smallest) element is, for x [outer, n, inner];
/// the first or the last one of equals. The first NaN counts as the largest and the smallest.
template <class T>
void arg_extreme(const Executor& executor, bool largest, bool last, const T* x, std::int64_t outer,
                 std::int64_t n, std::int64_t inner, std::int64_t* y) {
  if (largest) {
    if (last) return detail::arg_extreme<true, true>(executor, x, outer, n, inner, y);
    return detail::arg_extreme<true, false>(executor, x, outer, n, inner, y);
  }
  if (last) return detail::arg_extreme<false, true>(executor, x, outer, n, inner, y);
  detail::arg_extreme<false, false>(executor, x, outer, n, inner, y);
}

}  // namespace halftone::kernel
