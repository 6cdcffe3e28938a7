#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/reduce.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

template <class T, class S>
void normalize_channels(const Executor& executor, const T* x, T* y, std::int64_t outer,
                        std::int64_t channels, std::int64_t inner, const S* mean, const S* factor,
                        const S* bias) {
  using V = Vec<S>;
  constexpr std::int64_t task = 1 << 14;  // elements that are worth one
  if (outer == 0 || channels == 0 || inner == 0) return;
  // Without inner dimensions the vectors lie across the channels.
  const bool is_row = inner == 1;
  const std::int64_t n = is_row ? channels : inner, units = is_row ? outer : outer * channels;
  const std::int64_t per_task = n >= task ? 1 : task / n;
  parallel_for(executor, (units + per_task - 1) / per_task, [&](std::int64_t t) {
    std::int64_t unit = t * per_task;
    const std::int64_t end = units - unit < per_task ? units : unit + per_task;
    for (; unit < end; ++unit) {
      const T* const from = x + unit * n;
      T* const to = y + unit * n;
      const auto each = [&](auto parameter) {
        std::int64_t i = 0;
        for (; i + V::size <= n; i += V::size) {
          const V v = load_compute(from + i);
          store_compute(to + i,
                        (v - parameter(mean, i)) * parameter(factor, i) + parameter(bias, i));
        }
        if (i < n) {
          const V v = load_compute_partial(from + i, n - i);
          store_compute_partial(
              to + i, (v - parameter(mean, i)) * parameter(factor, i) + parameter(bias, i), n - i);
        }
      };
      if (is_row) {
        each([&](const S* p, std::int64_t i) {
          return n - i < V::size ? V::load_partial(p + i, n - i) : V::load(p + i);
        });
      } else {
        const std::int64_t channel = unit % channels;
        each([&](const S* p, std::int64_t) { return V(p[channel]); });
      }
    }
  });
}

template <class T>
constexpr std::size_t channel_moments_workspace(std::int64_t outer, std::int64_t channels,
                                                std::int64_t inner) {
  const std::int64_t extents[3] = {outer, channels, inner};
  const detail::ReducePlan plan(extents, 3, 5);
  return static_cast<std::size_t>(plan.parts() == 1 ? 0 : plan.parts() * channels) * 8;
}

template <class T, class S>
void channel_moments(const Executor& executor, const T* x, std::int64_t outer,
                     std::int64_t channels, std::int64_t inner, S* mean, S* variance,
                     void* workspace) {
  const std::int64_t extents[3] = {outer, channels, inner};
  const detail::ReducePlan plan(extents, 3, 5);
  auto* const partial = static_cast<double*>(workspace);
  const auto mean_into = [&](S* list) {
    return [&plan, list](std::int64_t first, const double* totals, std::int64_t n) {
      detail::finish_all(Finish::mean, totals, plan.terms, static_cast<const S*>(nullptr), n,
                         list + first);
    };
  };
  detail::reduce_terms<detail::Accumulator<Accumulation::sum, T>>(executor, plan, x, nullptr,
                                                                  partial, mean_into(mean));
  detail::reduce_terms<detail::Accumulator<Accumulation::deviations, T>>(
      executor, plan, x, mean, partial, mean_into(variance));
}

}  // namespace halftone::kernel
