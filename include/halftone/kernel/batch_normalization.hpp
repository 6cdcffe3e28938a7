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

namespace detail {

/// A sum of many vectors, lane by lane: of doubles, of some hundred floats each.
template <class T>
class LongSum {
 public:
  using V = Vec<T>;
  HALFTONE_INLINE void add(V v) { part_ += v; }
  /// To be called after as many vectors as a float may sum up.
  HALFTONE_INLINE void keep() {
    for (int l = 0; l < V::size; ++l) total_[l] += static_cast<double>(part_[l]);
    part_ = T(0);
  }
  double lane(int l) const { return total_[l]; }
  double all() const {
    double sum = 0;
    for (int l = 0; l < V::size; ++l) sum += total_[l];
    return sum;
  }

 private:
  V part_ = T(0);
  double total_[V::size] = {};
};

/// Computes the gradients of one channel, or, where there are no inner dimensions, those of one channel
/// in each lane. The elements are read several times while they are in the cache.
template <class T, bool by_lane>
class NormalizationGradient {
 public:
  using V = Vec<T>;
  static constexpr std::int64_t channels_at_once = by_lane ? V::size : 1;

  NormalizationGradient(double epsilon, std::int64_t outer, std::int64_t channels,
                        std::int64_t inner)
      : epsilon_(epsilon), outer_(outer), channels_(channels), inner_(inner) {}

  void run(const T* x, const T* scale, const T* dy, std::int64_t channel, T* dx, T* dscale,
           T* dbias) const {
    // The sums of nothing are 0.
    const double count = outer_ * inner_ == 0 ? 1 : static_cast<double>(outer_ * inner_);
    const std::int64_t left = channels_ - channel;
    const int lanes = int(left < channels_at_once ? left : channels_at_once);
    LongSum<T> sums, squares, of_dy, products;
    const auto add_x = [&](std::int64_t at, std::int64_t n) { sums.add(load(x + at, n, 0)); };
    each(channel, add_x, sums);
    const V mean = by_channel([&](int l) { return sum_of(sums, l) / count; });
    const auto add_products = [&](std::int64_t at, std::int64_t n) {
      const V v = load(x + at, n, mean[0]) - mean, d = load(dy + at, n, 0);
      squares.add(v * v);
      of_dy.add(d);
      products.add(d * v);
    };
    each(channel, add_products, squares, of_dy, products);
    double inverse[V::size];
    for (int l = 0; l < lanes; ++l) {
      inverse[l] = 1 / math::sqrt(sum_of(squares, l) / count + epsilon_);
    }
    const V factor =
        by_channel([&](int l) { return l < lanes ? double(scale[channel + l]) * inverse[l] : 0; });
    const V mean_dy = by_channel([&](int l) { return sum_of(of_dy, l) / count; });
    const V slope = by_channel([&](int l) {
      return l < lanes ? sum_of(products, l) / count * inverse[l] * inverse[l] : 0;
    });
    for (int l = 0; l < lanes; ++l) {
      if (dscale != nullptr) dscale[channel + l] = static_cast<T>(sum_of(products, l) * inverse[l]);
      if (dbias != nullptr) dbias[channel + l] = static_cast<T>(sum_of(of_dy, l));
    }
    each(channel, [&](std::int64_t at, std::int64_t n) {
      const V v = load(x + at, n, 0) - mean, d = load(dy + at, n, 0) - mean_dy;
      const V to = (d - v * slope) * factor;
      n == V::size ? to.store(dx + at) : to.store_partial(dx + at, n);
    });
  }

 private:
  static HALFTONE_INLINE V load(const T* from, std::int64_t n, T otherwise) {
    return n == V::size ? V::load(from) : V::load_partial(from, n, otherwise);
  }
  static double sum_of(const LongSum<T>& sum, int lane) {
    return by_lane ? sum.lane(lane) : sum.all();
  }
  /// The vector has one number in all lanes, or a number of its own in each.
  static V by_channel(auto&& number) {
    if constexpr (!by_lane) return V(static_cast<T>(number(0)));
    T numbers[V::size];
    for (int l = 0; l < V::size; ++l) numbers[l] = static_cast<T>(number(l));
    return V::load(numbers);
  }
  /// f(place, number) for all vectors of the channel; sums are kept now and then.
  HALFTONE_INLINE void each(std::int64_t channel, auto&& f, auto&... sums) const {
    constexpr std::int64_t N = V::size, most = 256;
    const auto keep = [&] { (sums.keep(), ...); };
    if constexpr (by_lane) {
      const std::int64_t left = channels_ - channel, n = left < N ? left : N;
      for (std::int64_t o = 0; o < outer_; ++o) {
        f(o * channels_ + channel, n);
        if (o % most == most - 1) keep();
      }
      keep();
      return;
    }
    std::int64_t vectors = 0;
    for (std::int64_t o = 0; o < outer_; ++o) {
      const std::int64_t begin = (o * channels_ + channel) * inner_;
      for (std::int64_t i = 0; i < inner_;) {
        // The inner loop asks nothing: it ends where the sums have to be kept.
        const std::int64_t room = (most - vectors) * N;
        const std::int64_t end = inner_ - i < room ? inner_ : i + room;
        for (; i + N <= end; i += N, ++vectors) f(begin + i, N);
        if (i < end) f(begin + i, end - i), i = end, ++vectors;
        if (vectors == most) keep(), vectors = 0;
      }
    }
    keep();
  }

  double epsilon_;
  std::int64_t outer_, channels_, inner_;
};

template <bool by_lane, class T>
void normalization_gradient(const Executor& executor, double epsilon, const T* x, const T* scale,
                            const T* dy, std::int64_t outer, std::int64_t channels,
                            std::int64_t inner, T* dx, T* dscale, T* dbias) {
  using Gradient = NormalizationGradient<T, by_lane>;
  constexpr std::int64_t task = 1 << 13;  // elements that are worth one
  constexpr std::int64_t step = Gradient::channels_at_once;
  const Gradient gradient(epsilon, outer, channels, inner);
  const std::int64_t units = (channels + step - 1) / step, elements = outer * inner * step;
  const std::int64_t per_task = elements < task ? task / (elements + 1) + 1 : 1;
  parallel_for(executor, (units + per_task - 1) / per_task, [&](std::int64_t t) {
    const std::int64_t end = (t + 1) * per_task < units ? (t + 1) * per_task : units;
    for (std::int64_t u = t * per_task; u < end; ++u) {
      gradient.run(x, scale, dy, u * step, dx, dscale, dbias);
    }
  });
}

}  // namespace detail

template <class T>
void batch_normalization_gradient(const Executor& executor, double epsilon, const T* x,
                                  const T* scale, const T* dy, std::int64_t outer,
                                  std::int64_t channels, std::int64_t inner, T* dx, T* dscale,
                                  T* dbias) {
  // The vectors lie across the channels where there are no inner dimensions.
  const auto run = inner == 1 ? detail::normalization_gradient<true, T>
                              : detail::normalization_gradient<false, T>;
  run(executor, epsilon, x, scale, dy, outer, channels, inner, dx, dscale, dbias);
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
