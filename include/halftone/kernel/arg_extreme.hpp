#pragma once

#include <cstdint>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/executor.hpp>

namespace halftone::kernel {

/// y[o, i] = where in x[o, :, i] the largest (or the smallest) element is, for x [outer, n, inner];
/// the first or the last one of equals. The first NaN counts as the largest and the smallest.
template <class T>
void arg_extreme(const Executor& executor, bool largest, bool last, const T* x, std::int64_t outer,
                 std::int64_t n, std::int64_t inner, std::int64_t* y) {
  using S = halftone::detail::Compute<T>;
  constexpr std::int64_t columns = 64, task = 1 << 15;
  const auto takes = [=](S v, S best) {
    if (v != v) return best == best;
    return largest ? v > best || (last && v == best) : v < best || (last && v == best);
  };
  const std::int64_t strips = (inner + columns - 1) / columns, units = outer * strips;
  const std::int64_t work = n * (inner < columns ? inner : columns);
  const std::int64_t per_task = work >= task ? 1 : task / (work < 1 ? 1 : work);
  parallel_for(executor, (units + per_task - 1) / per_task, [&](std::int64_t t) {
    const std::int64_t end = (t + 1) * per_task < units ? (t + 1) * per_task : units;
    for (std::int64_t unit = t * per_task; unit < end; ++unit) {
      const std::int64_t o = unit / strips, first = unit % strips * columns;
      const std::int64_t count = inner - first < columns ? inner - first : columns;
      const T* const from = x + o * n * inner + first;
      std::int64_t* const to = y + o * inner + first;
      if (inner == 1) {
        S best = static_cast<S>(*from);
        std::int64_t at = 0;
        for (std::int64_t k = 1; k < n; ++k) {
          const S v = static_cast<S>(from[k]);
          if (!takes(v, best)) continue;
          best = v;
          at = k;
        }
        *to = at;
        continue;
      }
      S best[columns];
      for (std::int64_t i = 0; i < count; ++i) {
        best[i] = static_cast<S>(from[i]);
        to[i] = 0;
      }
      for (std::int64_t k = 1; k < n; ++k) {
        const T* const row = from + k * inner;
        for (std::int64_t i = 0; i < count; ++i) {
          const S v = static_cast<S>(row[i]);
          if (!takes(v, best[i])) continue;
          best[i] = v;
          to[i] = k;
        }
      }
    }
  });
}

}  // namespace halftone::kernel
