#pragma once

#include <cstdint>
#include <type_traits>

#include <halftone/kernel/simd.hpp>

namespace halftone::kernel {

/// Some neighbouring elements as a vector of numbers S: all lanes, or the first `count` ones.
template <class S, bool whole>
struct Lanes {
  using V = Vec<S>;
  std::int64_t at, count;

  /// Elements [at, at + count) of p.
  template <class E>
  HALFTONE_INLINE V load(const E* p) const {
    if constexpr (!std::is_same_v<compute_t<E>, S>) {
      S numbers[V::size] = {};
      for (std::int64_t i = 0; i < count; ++i) numbers[i] = static_cast<S>(p[at + i]);
      return V::load(numbers);
    } else if constexpr (whole) {
      return load_compute(p + at);
    } else {
      return load_compute_partial(p + at, count);
    }
  }
  template <class E>
  HALFTONE_INLINE void store(E* p, V v) const {
    if constexpr (!std::is_same_v<compute_t<E>, S>) {
      S numbers[V::size];
      v.store(numbers);
      for (std::int64_t i = 0; i < count; ++i) p[at + i] = static_cast<E>(numbers[i]);
    } else if constexpr (whole) {
      store_compute(p + at, v);
    } else {
      store_compute_partial(p + at, v, count);
    }
  }
};

/// f(lanes) for the elements [begin, end), vector by vector.
template <class S, class F>
HALFTONE_INLINE void for_lanes(std::int64_t begin, std::int64_t end, F&& f) {
  constexpr std::int64_t N = Vec<S>::size;
  std::int64_t i = begin;
  for (; i + N <= end; i += N) f(Lanes<S, true>{i, N});
  if (i < end) f(Lanes<S, false>{i, end - i});
}

}  // namespace halftone::kernel
