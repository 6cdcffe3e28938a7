#pragma once

#include <cstdint>
#include <type_traits>

#include <halftone/base/math.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

namespace detail {

/// One row of n elements, in the arithmetic of T.
template <class T>
struct NormalizedRow {
  using S = compute_t<T>;
  using V = Vec<S>;

  /// f(vector, place, lanes that count).
  template <class F>
  static HALFTONE_INLINE void each(const T* x, std::int64_t n, F&& f) {
    std::int64_t i = 0;
    for (; i + V::size <= n; i += V::size) f(load_compute(x + i), i, std::int64_t{V::size});
    if (i < n) f(load_compute_partial(x + i, n - i), i, n - i);
  }
  /// Sum of f(vector) over the row; blocks are summed for themselves, so that few terms follow each
  /// other.
  template <class F>
  static HALFTONE_INLINE S sum(const T* x, std::int64_t n, F&& f) {
    constexpr std::int64_t block = 64 * V::size;
    V total(0);
    for (std::int64_t first = 0; first < n; first += block) {
      const std::int64_t end = n - first < block ? n : first + block;
      V a(0), b(0);
      std::int64_t i = first;
      for (; i + 2 * V::size <= end; i += 2 * V::size) {
        a += f(load_compute(x + i));
        b += f(load_compute(x + i + V::size));
      }
      each(x + i, end - i, [&](V v, std::int64_t, std::int64_t lanes) {
        a += lanes == V::size ? f(v) : select(V::mask::first(lanes), f(v), V(0));
      });
      total += a + b;
    }
    return reduce_add(total);
  }

  static void run(const T* x, const T* scale, const T* bias, T* y, std::int64_t n, S epsilon,
                  S& mean, S& inverse) {
    const S count = static_cast<S>(n);
    mean = sum(x, n, [](V v) { return v; }) / count;
    const V center(mean);
    const S variance = sum(x, n, [&](V v) { return (v - center) * (v - center); }) / count;
    inverse = 1 / math::sqrt(variance + epsilon);
    const V factor(inverse);
    each(x, n, [&](V v, std::int64_t at, std::int64_t lanes) {
      const auto parameter = [&](const T* p) {
        return lanes == V::size ? load_compute(p + at) : load_compute_partial(p + at, lanes);
      };
      V z = (v - center) * factor * parameter(scale);
      if (bias != nullptr) z += parameter(bias);
      if (lanes == V::size) {
        store_compute(y + at, z);
      } else {
        store_compute_partial(y + at, z, lanes);
      }
    });
  }
};

/// f(row) for each of `outer` rows of n elements.
template <class F>
void normalize_rows(const Executor& executor, std::int64_t outer, std::int64_t n, const F& f) {
  constexpr std::int64_t task = 1 << 14;  // elements that are worth one
  const std::int64_t per_task = n >= task ? 1 : task / (n > 0 ? n : 1);
  parallel_for(executor, (outer + per_task - 1) / per_task, [&](std::int64_t t) {
    const std::int64_t first = t * per_task;
    const std::int64_t end = outer - first < per_task ? outer : first + per_task;
    for (std::int64_t row = first; row < end; ++row) f(row);
  });
}

}  // namespace detail

/// Each of `outer` rows of n elements: y = x / sqrt(mean of x^2 + epsilon) * scale, with n numbers
/// in scale; y may be x.
template <class T, class V, class S>
void rms_normalization(const Executor& executor, const T* x, const V* scale, V* y,
                       std::int64_t outer, std::int64_t n, S epsilon) {
  static_assert(std::is_same_v<S, compute_t<T>>);
  using Row = detail::NormalizedRow<T>;
  using Lanes = typename Row::V;
  detail::normalize_rows(executor, outer, n, [&](std::int64_t row) {
    const T* const from = x + row * n;
    V* const to = y + row * n;
    const S mean = Row::sum(from, n, [](Lanes v) { return v * v; }) / static_cast<S>(n);
    const S inverse = 1 / math::sqrt(mean + epsilon);
    if constexpr (std::is_same_v<compute_t<V>, S>) {
      Row::each(from, n, [&](Lanes v, std::int64_t at, std::int64_t lanes) {
        if (lanes == Lanes::size) {
          store_compute(to + at, v * Lanes(inverse) * load_compute(scale + at));
        } else {
          const Lanes factor = load_compute_partial(scale + at, lanes);
          store_compute_partial(to + at, v * Lanes(inverse) * factor, lanes);
        }
      });
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        const double z = static_cast<double>(from[i]) * static_cast<double>(inverse);
        to[i] = static_cast<V>(z * static_cast<double>(scale[i]));
      }
    }
  });
}

/// Each of `outer` rows of n elements: y = (x - mean) / sqrt(variance + epsilon) * scale + bias,
/// with n numbers in scale and bias; bias may be null. mean and inverse (1 / sqrt) get one number
/// per row, or are null; y may be x.
template <class T, class S>
void layer_normalization(const Executor& executor, const T* x, const T* scale, const T* bias, T* y,
                         std::int64_t outer, std::int64_t n, S epsilon, S* mean, S* inverse) {
  static_assert(std::is_same_v<S, compute_t<T>>);
  detail::normalize_rows(executor, outer, n, [&](std::int64_t row) {
    S m, r;
    detail::NormalizedRow<T>::run(x + row * n, scale, bias, y + row * n, n, epsilon, m, r);
    if (mean != nullptr) mean[row] = m;
    if (inverse != nullptr) inverse[row] = r;
  });
}

}  // namespace halftone::kernel
