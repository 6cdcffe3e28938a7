#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <halftone/base/math.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/kernel/pool.hpp>

namespace halftone::kernel {

namespace detail {

/// f(x) to y, n elements.
template <class X, class Y, class F>
void map_elements(const Executor& executor, const X* x, Y* y, std::int64_t n, F f) {
  const std::int64_t parts = (n + pool_grain - 1) / pool_grain;
  parallel_for(executor, parts, [&](std::int64_t part) {
    const std::int64_t end = n * (part + 1) / parts;
    for (std::int64_t i = n * part / parts; i < end; ++i) y[i] = f(x[i]);
  });
}

/// |x|^p to y.
template <class X, class Y>
void magnitudes_to_power(const Executor& executor, double p, const X* x, Y* y, std::int64_t n) {
  const auto e = static_cast<Y>(p);
  if (p == 1) {
    map_elements(executor, x, y, n, [](X v) { return math::abs(static_cast<Y>(v)); });
  } else if (p == 2) {
    map_elements(executor, x, y, n, [](X v) { return static_cast<Y>(v) * static_cast<Y>(v); });
  } else {
    map_elements(executor, x, y, n,
                 [e](X v) { return math::pow(math::abs(static_cast<Y>(v)), e); });
  }
}

/// x^(1 / p) to y.
template <class X, class Y>
void roots(const Executor& executor, double p, const X* x, Y* y, std::int64_t n) {
  const auto e = static_cast<X>(1 / p);
  if (p == 2) {
    map_elements(executor, x, y, n, [](X v) { return static_cast<Y>(math::sqrt(v)); });
  } else if (p != 1 || !std::is_same_v<X, Y>) {
    map_elements(executor, x, y, n,
                 [e](X v) { return static_cast<Y>(e == 1 ? v : math::pow(v, e)); });
  }
}

}  // namespace detail

/// op::LpPool: sums of powers by the loops of average_pool, then their roots.
template <class T>
constexpr std::size_t lp_pool_workspace(View<const T> x, View<T> y) {
  using S = compute_t<T>;
  const std::int64_t sums = std::is_same_v<T, S> ? 0 : y.size();
  return std::size_t(x.size() + sums) * sizeof(S);
}

template <class T>
void lp_pool(const KernelCall& call, const Window& window, double p, View<const T> x, View<T> y) {
  using S = compute_t<T>;
  const Executor& executor = *call.executor;
  S* const powers = static_cast<S*>(call.workspace);
  S* sums = powers + x.size();
  if constexpr (std::is_same_v<T, S>) sums = y.data;
  detail::magnitudes_to_power(executor, p, x.data, powers, x.size());
  detail::pool_rows<false, S>(executor, detail::PoolShape(window, x), false, powers, sums,
                              [](auto sum, auto) { return sum; });
  detail::roots(executor, p, static_cast<const S*>(sums), y.data, y.size());
}

/// op::GlobalLpPool.
template <class T>
void global_lp_pool(const Executor& executor, double p, View<const T> x, View<T> y) {
  const std::int64_t planes = x.size(0, 2), pixels = x.size(2, x.rank);
  const std::int64_t grain = detail::pool_grain / (pixels + 1) + 1;
  parallel_for(executor, (planes + grain - 1) / grain, [&](std::int64_t task) {
    const std::int64_t last = (task + 1) * grain < planes ? (task + 1) * grain : planes;
    for (std::int64_t plane = task * grain; plane < last; ++plane) {
      double sum = 0;
      for (std::int64_t i = plane * pixels; i < (plane + 1) * pixels; ++i) {
        const double v = math::abs(static_cast<double>(x[i]));
        sum += p == 2 ? v * v : p == 1 ? v : math::pow(v, p);
      }
      const double root = p == 2 ? math::sqrt(sum) : math::pow(sum, 1 / p);
      y[plane] = static_cast<T>(static_cast<compute_t<T>>(root));
    }
  });
}

}  // namespace halftone::kernel
