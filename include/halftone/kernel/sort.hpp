#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <halftone/base/element_type.hpp>

namespace halftone::kernel {

/// An element by its place in the order of its type, and its index.
struct Coded {
  std::uint64_t code;
  std::int64_t index;
};

/// A number that is ordered as the elements of T are: zeros of both signs are equal, NaN is above
/// all.
template <class T>
constexpr std::uint64_t order_code(T x) {
  constexpr std::uint64_t top = std::uint64_t{1} << 63;
  if constexpr (std::is_same_v<T, bool> || std::is_unsigned_v<T>) {
    return static_cast<std::uint64_t>(x);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)) ^ top;
  } else {
    const double wide = static_cast<double>(x) + 0.0;  // -0 becomes 0
    if (wide != wide) return ~std::uint64_t{0};
    const auto bits = std::bit_cast<std::uint64_t>(wide);
    return (bits & top) != 0 ? ~bits : bits | top;
  }
}

/// Sorts by code; equal ones keep their order. `scratch` has room for n.
inline void sort_codes(Coded* items, Coded* scratch, std::int64_t n) {
  constexpr std::int64_t run = 16;
  for (std::int64_t first = 0; first < n; first += run) {
    const std::int64_t end = n - first < run ? n : first + run;
    for (std::int64_t i = first + 1; i < end; ++i) {
      const Coded item = items[i];
      std::int64_t at = i;
      for (; at > first && items[at - 1].code > item.code; --at) items[at] = items[at - 1];
      items[at] = item;
    }
  }
  Coded *from = items, *to = scratch;
  for (std::int64_t width = run; width < n; width *= 2) {
    for (std::int64_t first = 0; first < n; first += 2 * width) {
      const std::int64_t middle = n - first < width ? n : first + width;
      const std::int64_t end = n - middle < width ? n : middle + width;
      std::int64_t a = first, b = middle;
      for (std::int64_t i = first; i < end; ++i) {
        const bool takes_b = a == middle || (b < end && from[b].code < from[a].code);
        to[i] = takes_b ? from[b++] : from[a++];
      }
    }
    Coded* const other = from;
    from = to;
    to = other;
  }
  if (from != items) __builtin_memcpy(items, from, static_cast<std::size_t>(n) * sizeof(Coded));
}

/// Tasks for `lines` lines of n elements; at most 16, as each has its own scratch memory.
constexpr std::int64_t sort_tasks(std::int64_t lines, std::int64_t n) {
  const std::int64_t worth = n > 0 && lines > (std::int64_t{1} << 18) / n ? 16 : lines * n >> 14;
  const std::int64_t tasks = worth < 1 ? 1 : worth > 16 ? 16 : worth;
  return tasks < lines || lines == 0 ? tasks : lines;
}

}  // namespace halftone::kernel
