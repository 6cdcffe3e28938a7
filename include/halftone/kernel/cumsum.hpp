#pragma once

#include <cstdint>
#include <type_traits>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/executor.hpp>

namespace halftone::kernel {

namespace detail {

/// join(so far, element) along the middle one of dimensions [outer, n, inner], from `start` on.
/// Floating point is joined in double.
template <class T, class Start, class Join>
void cumulate(const Executor& executor, bool exclusive, bool reverse, const T* x,
              std::int64_t outer, std::int64_t n, std::int64_t inner, T* y, Start start_value,
              const Join& join) {
  using Total = std::conditional_t<integer<T>, std::uint64_t, double>;
  constexpr std::int64_t columns = 64, task = 1 << 15;
  const std::int64_t strips = (inner + columns - 1) / columns, units = outer * strips;
  const std::int64_t work = n * (inner < columns ? inner : columns);
  const std::int64_t per_task = work >= task ? 1 : task / (work < 1 ? 1 : work);
  parallel_for(executor, (units + per_task - 1) / per_task, [&](std::int64_t t) {
    const std::int64_t end = (t + 1) * per_task < units ? (t + 1) * per_task : units;
    for (std::int64_t unit = t * per_task; unit < end; ++unit) {
      const std::int64_t first = unit % strips * columns;
      const std::int64_t count = inner - first < columns ? inner - first : columns;
      const std::int64_t start = unit / strips * n * inner + first + (reverse ? n - 1 : 0) * inner;
      const std::int64_t step = reverse ? -inner : inner;
      Total totals[columns];
      for (Total& total : totals) total = static_cast<Total>(start_value);
      for (std::int64_t k = 0; k < n; ++k) {
        const T* const from = x + start + k * step;
        T* const to = y + start + k * step;
        for (std::int64_t i = 0; i < count; ++i) {
          const Total total = join(totals[i], static_cast<Total>(from[i]));
          to[i] = static_cast<T>(exclusive ? totals[i] : total);
          totals[i] = total;
        }
      }
    }
  });
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
