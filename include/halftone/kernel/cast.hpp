#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

#include <halftone/base/bfloat16.hpp>
#include <halftone/base/element_type.hpp>
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

inline constexpr std::int64_t cast_buffer = 1024;

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

/// The same of floats, a vector at a time.
template <class Y>
void truncate(const float* x, Y* y, std::int64_t n) {
  using V = Vec<float>;
  constexpr float lowest = std::numeric_limits<Y>::lowest(),
                  largest = std::numeric_limits<Y>::max();
  const auto cut = [&](V v) {
    v = clamp(select(v == v, v, V(0)), V(lowest), V(largest));
    return convert<Y>(convert<std::int32_t>(v));
  };
  std::int64_t i = 0;
  for (; i + V::size <= n; i += V::size) cut(V::load(x + i)).store(y + i);
  if (i < n) cut(V::load_partial(x + i, n - i)).store_partial(y + i, n - i);
}

/// Between float, double, integers and bool. One instantiation serves all that come by way of
/// float, hence not inlined.
template <class X, class Y>
[[gnu::noinline]] void cast_plain(const X* x, Y* y, std::int64_t n) {
  if constexpr (std::is_same_v<Y, bool>) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] != X(0);
  } else if constexpr (std::is_same_v<X, float> && std::is_integral_v<Y> && sizeof(Y) < 4) {
    truncate(x, y, n);
  } else if constexpr (std::is_floating_point_v<X> && std::is_integral_v<Y>) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = truncated<Y>(x[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<Y>(x[i]);
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

/// n elements, whatever their types.
using CastPart = void (*)(const void* x, void* y, std::int64_t n, CastMode mode);

template <class X, class Y, void (*function)(const X*, Y*, std::int64_t)>
void part(const void* x, void* y, std::int64_t n, CastMode) {
  function(static_cast<const X*>(x), static_cast<Y*>(y), n);
}
template <class Y>
void narrow_part(const void* x, void* y, std::int64_t n, CastMode mode) {
  narrow(static_cast<const float*>(x), static_cast<Y*>(y), n, mode);
}
template <std::size_t size>
void copy_part(const void* x, void* y, std::int64_t n, CastMode) {
  __builtin_memcpy(y, x, std::size_t(n) * size);
}
/// The low bits, which float may lose.
template <class X, class Y>
void cut_off(const X* x, Y* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = Y(x[i]);
}

/// From one type to another: at once, or to floats and from there.
struct CastRoute {
  CastPart first = nullptr, second = nullptr;
};

template <class X>
struct Unsigned : std::make_unsigned<X> {};
template <>
struct Unsigned<bool> {
  using type = std::uint8_t;
};
/// What an integer's low bits are read as: integers of one width have them in common.
template <class X, class Y>
using CutOff = std::conditional_t<(sizeof(X) < sizeof(Y)), X, typename Unsigned<X>::type>;

template <class X, class Y>
constexpr CastRoute cast_route() {
  constexpr bool integers = std::is_integral_v<X> && std::is_integral_v<Y>;
  if constexpr (std::is_same_v<X, Y>) {
    return {&copy_part<sizeof(X)>};
  } else if constexpr (std::is_integral_v<X> && is_narrow_integer<Y>) {
    using From = CutOff<X, Y>;
    return {&part<From, Y, &cut_off<From, Y>>};
  } else if constexpr (integers && !std::is_same_v<Y, bool>) {
    using From = CutOff<X, Y>;
    using To = std::make_unsigned_t<Y>;
    return {&part<From, To, &cast_plain<From, To>>};
  } else if constexpr (!is_narrow_float<X> && !is_narrow_float<Y>) {
    return {&part<X, Y, &cast_plain<X, Y>>};
  } else {
    CastRoute route;
    if constexpr (is_narrow_float<X>) {
      route.first = &part<X, float, &widen<X>>;
    } else if constexpr (!std::is_same_v<X, float>) {
      route.first = &part<X, float, &prepare<X>>;
    }
    if constexpr (is_narrow_float<Y>) {
      route.second = &narrow_part<Y>;
    } else if constexpr (!std::is_same_v<Y, float>) {
      route.second = &part<float, Y, &cast_plain<float, Y>>;
    }
    return route.first == nullptr ? CastRoute{route.second} : route;
  }
}

/// By the number of the element type.
template <class X, class... Y>
constexpr auto cast_routes(TypeList<Y...>) {
  std::array<CastRoute, std::size(halftone::detail::element_type_rows)> routes{};
  ((routes[static_cast<std::size_t>(element_type<Y>)] = cast_route<X, Y>()), ...);
  return routes;
}

[[gnu::noinline]] inline void cast_by(CastRoute route, const void* x, std::int64_t x_size, void* y,
                                      std::int64_t y_size, std::int64_t n, CastMode mode) {
  if (route.second == nullptr) return route.first(x, y, n, mode);
  float buffer[cast_buffer];
  for (std::int64_t i = 0; i < n; i += cast_buffer) {
    const std::int64_t count = n - i < cast_buffer ? n - i : cast_buffer;
    route.first(static_cast<const char*>(x) + i * x_size, buffer, count, mode);
    route.second(buffer, static_cast<char*>(y) + i * y_size, count, mode);
  }
}

[[gnu::noinline]] inline void cast_along(const Executor& executor, CastRoute route, const void* x,
                                         std::int64_t x_size, void* y, std::int64_t y_size,
                                         std::int64_t n, CastMode mode) {
  const std::int64_t tasks = copy_tasks(n * (x_size > y_size ? x_size : y_size));
  parallel_for(executor, tasks, [&](std::int64_t task) {
    const std::int64_t begin = n * task / tasks, end = n * (task + 1) / tasks;
    cast_by(route, static_cast<const char*>(x) + begin * x_size, x_size,
            static_cast<char*>(y) + begin * y_size, y_size, end - begin, mode);
  });
}

template <class X>
inline constexpr auto routes_from = cast_routes<X>(AllTypes{});

}  // namespace detail

/// y[i] = x[i] as an element of type `to`, see op::Cast. Where x and y overlap, they are the same and
/// their elements of one size. Not a template of both types, which are hundreds of pairs.
template <class X>
void cast_block(const X* x, ElementType to, void* y, std::int64_t n, CastMode mode) {
  detail::cast_by(detail::routes_from<X>[static_cast<std::size_t>(to)], x, sizeof(X), y,
                  size_in_bytes(to), n, mode);
}

/// The same of any number of elements, by all threads; x and y do not overlap.
template <class X>
void cast(const Executor& executor, const X* x, ElementType to, void* y, std::int64_t n,
          CastMode mode) {
  detail::cast_along(executor, detail::routes_from<X>[static_cast<std::size_t>(to)], x, sizeof(X),
                     y, size_in_bytes(to), n, mode);
}

}  // namespace halftone::kernel
