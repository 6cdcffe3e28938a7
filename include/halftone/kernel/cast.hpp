#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <halftone/base/bfloat16.hpp>
#include <halftone/base/float8.hpp>
#include <halftone/base/half.hpp>
#include <halftone/base/mx_float.hpp>
#include <halftone/base/narrow_integer.hpp>
#include <halftone/kernel/copy.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::kernel {

namespace detail {

/// Elements that are converted by way of float, a block at a time.
template <class T>
inline constexpr bool is_narrow_float = !std::is_arithmetic_v<T>;
template <>
inline constexpr bool is_narrow_float<half> = true;

template <class T>
inline constexpr bool is_float8 = sizeof(T) == 1 && !std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool is_narrow_integer = std::is_same_v<T, int4> || std::is_same_v<T, uint4> ||
                                          std::is_same_v<T, int2> || std::is_same_v<T, uint2>;

inline constexpr std::int64_t cast_block = 1024;

/// The integer nearest to x towards zero, within Y's range; NaN gives 0. Without branches.
template <class Y, class X>
HALFTONE_INLINE Y truncated(X x) {
  constexpr int bits = 8 * int(sizeof(Y)) - (std::is_signed_v<Y> ? 1 : 0);
  constexpr Y largest = Y(~std::uint64_t{0} >> (64 - bits));
  constexpr Y lowest = std::is_signed_v<Y> ? Y(~largest) : Y(0);
  if constexpr (sizeof(Y) < 4) {
    // Both limits are exact, and an int32 holds what lies between.
    X v = x == x ? x : X(0);
    v = v > X(lowest) ? v : X(lowest);
    v = v < X(largest) ? v : X(largest);
    return Y(std::int32_t(v));
  } else {
    constexpr X above = X(2) * X(std::uint64_t{1} << (bits - 1));
    const bool is_above = x >= above, is_inside = x > X(lowest) && !is_above;
    const Y inside = Y(is_inside ? x : X(0));
    const Y limit = is_above ? largest : x <= X(lowest) ? lowest : Y(0);
    return is_inside ? inside : limit;
  }
}

/// Between float, double, integers and bool. One instantiation serves all that come by way of
/// float, hence not inlined.
template <class X, class Y>
[[gnu::noinline]] void cast_plain(const X* x, Y* y, std::int64_t n) {
  if constexpr (std::is_same_v<Y, bool>) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] != X(0);
  } else if constexpr (std::is_floating_point_v<X> && std::is_integral_v<Y>) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = truncated<Y>(x[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<Y>(x[i]);
  }
}

/// Integers of one width are cut off in the same way: one instantiation for both.
template <class X, class Y>
HALFTONE_INLINE void cast_plain_shared(const X* x, Y* y, std::int64_t n) {
  if constexpr (std::is_integral_v<X> && std::is_integral_v<Y> && !std::is_same_v<Y, bool>) {
    using U = std::make_unsigned_t<Y>;
    U* const to = reinterpret_cast<U*>(y);
    if constexpr (std::is_same_v<X, bool>) {
      cast_plain(reinterpret_cast<const std::uint8_t*>(x), to, n);
    } else if constexpr (sizeof(X) >= sizeof(Y)) {
      cast_plain(reinterpret_cast<const std::make_unsigned_t<X>*>(x), to, n);
    } else {
      cast_plain(x, to, n);
    }
  } else {
    cast_plain(x, y, n);
  }
}

template <class X>
[[gnu::noinline]] void widen(const X* x, float* y, std::int64_t n) {
  if constexpr (is_float8<X>) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = float(x[i]);
  } else {
    constexpr std::int64_t N = Vec<float>::size;
    std::int64_t i = 0;
    for (; i + N <= n; i += N) load_compute(x + i).store(y + i);
    if (i < n) load_compute_partial(x + i, n - i).store_partial(y + i, n - i);
  }
}

template <class Y>
[[gnu::noinline]] void narrow(const float* x, Y* y, std::int64_t n, CastMode mode) {
  if constexpr (std::is_same_v<Y, float8_e8m0>) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = Y::rounded(x[i], mode.rounding, mode.saturate);
  } else if constexpr (is_narrow_integer<Y>) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = Y(x[i]);
  } else if constexpr (is_float8<Y>) {
    if (mode.saturate) {
      for (std::int64_t i = 0; i < n; ++i) y[i] = Y(x[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) y[i] = Y::unsaturated(x[i]);
    }
  } else {
    constexpr std::int64_t N = Vec<float>::size;
    std::int64_t i = 0;
    for (; i + N <= n; i += N) store_compute(y + i, Vec<float>::load(x + i));
    if (i < n) store_compute_partial(y + i, Vec<float>::load_partial(x + i, n - i), n - i);
  }
}

/// As floats that round to a narrower type as the numbers themselves would.
template <class X>
[[gnu::noinline]] void prepare(const X* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = halftone::detail::to_float_for_rounding(x[i]);
}

/// A part of a tensor, whatever its types.
using CastPart = void (*)(const void* x, void* y, std::int64_t n, CastMode mode);

template <class X, class Y>
void cast_part(const void* from, void* to, std::int64_t n, CastMode mode) {
  const X* const x = static_cast<const X*>(from);
  Y* const y = static_cast<Y*>(to);
  if constexpr (std::is_same_v<X, Y>) {
    __builtin_memcpy(to, from, std::size_t(n) * sizeof(X));
  } else if constexpr (is_narrow_float<X> && std::is_same_v<Y, float>) {
    widen(x, y, n);
  } else if constexpr (std::is_integral_v<X> && is_narrow_integer<Y>) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = Y(x[i]);  // the low bits, which float may lose
  } else if constexpr (is_narrow_float<X> || is_narrow_float<Y>) {
    float buffer[cast_block];
    for (std::int64_t i = 0; i < n; i += cast_block) {
      const std::int64_t count = n - i < cast_block ? n - i : cast_block;
      const float* values = buffer;
      if constexpr (is_narrow_float<X>) {
        widen(x + i, buffer, count);
      } else if constexpr (std::is_same_v<X, float>) {
        values = x + i;
      } else {
        prepare(x + i, buffer, count);
      }
      if constexpr (is_narrow_float<Y>) {
        narrow(values, y + i, count, mode);
      } else {
        cast_plain(values, y + i, count);
      }
    }
  } else {
    cast_plain_shared(x, y, n);
  }
}

/// Not inlined: there are hundreds of pairs of types.
[[gnu::noinline]] inline void cast_parts(const Executor& executor, CastPart part, const void* x,
                                         std::int64_t x_size, void* y, std::int64_t y_size,
                                         std::int64_t n, CastMode mode) {
  const std::int64_t tasks = copy_tasks(n * (x_size > y_size ? x_size : y_size));
  parallel_for(executor, tasks, [&](std::int64_t task) {
    const std::int64_t begin = n * task / tasks, end = n * (task + 1) / tasks;
    part(static_cast<const char*>(x) + begin * x_size, static_cast<char*>(y) + begin * y_size,
         end - begin, mode);
  });
}

}  // namespace detail

/// y[i] = x[i] as an element of another type, see op::Cast. x and y do not overlap.
template <class X, class Y>
void cast(const Executor& executor, const X* x, Y* y, std::int64_t n, CastMode mode) {
  detail::cast_parts(executor, &detail::cast_part<X, Y>, x, sizeof(X), y, sizeof(Y), n, mode);
}

}  // namespace halftone::kernel
