#pragma once

#include <cstdint>
#include <type_traits>

#include <halftone/base/math.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/kernel/math.hpp>
#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

namespace detail {

/// Softmax of V::size lanes or of one row, in the arithmetic of T.
template <class T>
struct Softmax {
  using S = compute_t<T>;
  using V = Vec<S>;
  /// Whether powers are kept in y between the passes; halves would lose digits.
  static constexpr bool keeps_powers = std::is_same_v<S, T>;

  /// f(vector, place, lanes that count) over n elements side by side.
  template <class F>
  static HALFTONE_INLINE void each(const T* x, std::int64_t n, F&& f) {
    std::int64_t i = 0;
    for (; i + V::size <= n; i += V::size) f(load_compute(x + i), i, std::int64_t{V::size});
    if (i < n) f(load_compute_partial(x + i, n - i), i, n - i);
  }
  static HALFTONE_INLINE void store(T* y, V v, std::int64_t lanes) {
    if (lanes == V::size) {
      store_compute(y, v);
    } else {
      store_compute_partial(y, v, lanes);
    }
  }

  static void row(bool logarithm, const T* x, T* y, std::int64_t n) {
    const V lowest(-static_cast<S>(__builtin_inf()));
    V a = lowest, b = lowest;
    std::int64_t i = 0;
    for (; i + 2 * V::size <= n; i += 2 * V::size) {
      a = max(load_compute(x + i), a);
      b = max(load_compute(x + i + V::size), b);
    }
    each(x + i, n - i, [&](V v, std::int64_t, std::int64_t lanes) {
      a = max(select(V::mask::first(lanes), v, lowest), a);
    });
    const V largest(reduce_max(max(a, b)));
    // Few terms one after the other: blocks are summed for themselves.
    constexpr std::int64_t block = 64 * V::size;
    V sum(0);
    for (std::int64_t first = 0; first < n; first += block) {
      V part(0);
      each(x + first, n - first < block ? n - first : block,
           [&](V v, std::int64_t at, std::int64_t lanes) {
             const V e = exp(v - largest);
             part += lanes == V::size ? e : select(V::mask::first(lanes), e, V(0));
             if (keeps_powers && !logarithm) store(y + first + at, e, lanes);
           });
      sum += part;
    }
    const S total = reduce_add(sum);
    if (logarithm) {
      const V log_total(math::log(total));
      each(x, n, [&](V v, std::int64_t at, std::int64_t lanes) {
        store(y + at, v - largest - log_total, lanes);
      });
    } else {
      const V factor(1 / total);
      each(keeps_powers ? y : x, n, [&](V v, std::int64_t at, std::int64_t lanes) {
        store(y + at, (keeps_powers ? v : exp(v - largest)) * factor, lanes);
      });
    }
  }

  /// Columns of n elements, `stride` apart; as many columns as lanes count.
  static void columns(bool logarithm, const T* x, T* y, std::int64_t n, std::int64_t stride,
                      std::int64_t lanes) {
    const auto load = [&](const T* p) {
      return lanes == V::size ? load_compute(p) : load_compute_partial(p, lanes);
    };
    // Short columns are copied: each of their cache lines is then visited twice, not thrice or
    // more.
    constexpr std::int64_t room = 256;
    alignas(64) S copy[room * V::size];
    const bool is_copied = n <= room;
    V largest(-static_cast<S>(__builtin_inf()));
    for (std::int64_t i = 0; i < n; ++i) {
      const V v = load(x + i * stride);
      if (is_copied) v.store(copy + i * V::size);
      largest = max(v, largest);
    }
    const auto element = [&](std::int64_t i) {
      return is_copied ? V::load(copy + i * V::size) : load(x + i * stride);
    };
    V sum(0);
    for (std::int64_t i = 0; i < n;) {
      V part(0);
      for (const std::int64_t end = n - i < 64 ? n : i + 64; i < end; ++i) {
        const V e = exp(element(i) - largest);
        part += e;
        if (logarithm) continue;
        if (is_copied) {
          e.store(copy + i * V::size);
        } else if (keeps_powers) {
          store(y + i * stride, e, lanes);
        }
      }
      sum += part;
    }
    if (logarithm) {
      const V log_sum = log(sum);
      for (std::int64_t i = 0; i < n; ++i) {
        store(y + i * stride, element(i) - largest - log_sum, lanes);
      }
    } else {
      const V factor = 1 / sum;
      for (std::int64_t i = 0; i < n; ++i) {
        const V e = is_copied      ? element(i)
                    : keeps_powers ? load(y + i * stride)
                                   : exp(element(i) - largest);
        store(y + i * stride, e * factor, lanes);
      }
    }
  }

  /// What the gradient of a loss has at the label, before its factor: p - 1.
  static HALFTONE_INLINE S less_one(bool is_logarithm, T p) {
    const S x = static_cast<S>(p);
    return is_logarithm ? expm1(V(x))[0] : x - 1;
  }
  static void nll_row(bool is_logarithm, const T* p, T* dx, std::int64_t n, const Sample& sample) {
    const V factor(static_cast<S>(sample.factor));
    if (sample.factor == 0) {
      each(p, n, [&](V, std::int64_t at, std::int64_t lanes) { store(dx + at, V(0), lanes); });
      return;
    }
    const S own = less_one(is_logarithm, p[sample.label]) * factor[0];
    each(p, n, [&](V v, std::int64_t at, std::int64_t lanes) {
      store(dx + at, (is_logarithm ? exp(v) : v) * factor, lanes);
    });
    dx[sample.label] = static_cast<T>(own);
  }
  /// As columns(), with a sample for each.
  template <class SampleOf>
  static void nll_columns(bool is_logarithm, const T* p, T* dx, std::int64_t n, std::int64_t stride,
                          std::int64_t lanes, std::int64_t line, const SampleOf& sample) {
    Sample samples[V::size];
    alignas(64) S factors[V::size] = {}, own[V::size];
    for (std::int64_t j = 0; j < lanes; ++j) {
      samples[j] = sample(line + j);
      factors[j] = static_cast<S>(samples[j].factor);
      if (samples[j].factor == 0) continue;
      own[j] = less_one(is_logarithm, p[samples[j].label * stride + j]) * factors[j];
    }
    const V factor = V::load(factors);
    for (std::int64_t i = 0; i < n; ++i) {
      const T* const from = p + i * stride;
      V v = lanes == V::size ? load_compute(from) : load_compute_partial(from, lanes);
      if (is_logarithm) v = exp(v);
      store(dx + i * stride, select(factor == V(0), V(0), v * factor), lanes);
    }
    for (std::int64_t j = 0; j < lanes; ++j) {
      if (samples[j].factor != 0) dx[samples[j].label * stride + j] = static_cast<T>(own[j]);
    }
  }
};

/// Calls f(place, line, lines) for all lines of n elements in [outer, n, inner]: the place of the
/// first line's first element and how many lines lie side by side, one or as many as lanes count.
template <class T, class F>
void for_lines(const Executor& executor, std::int64_t outer, std::int64_t n, std::int64_t inner,
               const F& f) {
  constexpr std::int64_t lanes = Softmax<T>::V::size;
  constexpr std::int64_t task = 1 << 14;  // elements that are worth one
  if (outer == 0 || n == 0 || inner == 0) return;
  const bool is_row = inner == 1;
  const std::int64_t strips = is_row ? 1 : (inner + lanes - 1) / lanes, units = outer * strips;
  const std::int64_t work = is_row ? n : n * lanes;
  const std::int64_t per_task = work >= task ? 1 : task / work;
  parallel_for(executor, (units + per_task - 1) / per_task, [&](std::int64_t t) {
    std::int64_t unit = t * per_task;
    const std::int64_t end = units - unit < per_task ? units : unit + per_task;
    for (; unit < end; ++unit) {
      const std::int64_t column = unit % strips * lanes, row = unit / strips;
      const std::int64_t count = inner - column < lanes ? inner - column : lanes;
      f(row * n * inner + column, row * inner + column, count);
    }
  });
}

}  // namespace detail

template <class T>
void softmax(const Executor& executor, bool logarithm, const T* x, T* y, std::int64_t outer,
             std::int64_t n, std::int64_t inner) {
  detail::for_lines<T>(executor, outer, n, inner,
                       [&](std::int64_t at, std::int64_t, std::int64_t lines) {
                         if (inner == 1) {
                           detail::Softmax<T>::row(logarithm, x + at, y + at, n);
                         } else {
                           detail::Softmax<T>::columns(logarithm, x + at, y + at, n, inner, lines);
                         }
                       });
}

template <class T, class SampleOf>
void softmax_nll_gradient(const Executor& executor, bool is_logarithm, const T* p, T* dx,
                          std::int64_t outer, std::int64_t n, std::int64_t inner,
                          const SampleOf& sample) {
  using Lanes = detail::Softmax<T>;
  detail::for_lines<T>(
      executor, outer, n, inner, [&](std::int64_t at, std::int64_t line, std::int64_t lines) {
        if (inner == 1) {
          Lanes::nll_row(is_logarithm, p + at, dx + at, n, sample(line));
        } else {
          Lanes::nll_columns(is_logarithm, p + at, dx + at, n, inner, lines, line, sample);
        }
      });
}

}  // namespace halftone::kernel
