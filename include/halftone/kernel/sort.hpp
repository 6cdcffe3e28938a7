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

/// order_code of elements of at most 32 bits, in as many.
template <class T>
constexpr std::uint32_t short_order_code(T x) {
  static_assert(sizeof(T) <= 4);
  constexpr std::uint32_t top = std::uint32_t{1} << 31;
  if constexpr (std::is_same_v<T, bool> || std::is_unsigned_v<T>) {
    return static_cast<std::uint32_t>(x);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(x)) ^ top;
  } else {
    const float wide = static_cast<float>(x) + 0.0f;  // -0 becomes 0
    const auto bits = std::bit_cast<std::uint32_t>(wide);
    const std::uint32_t code = (bits & top) != 0 ? ~bits : bits | top;
    return wide != wide ? ~std::uint32_t{0} : code;
  }
}

/// A code of 32 bits with an index below 2^32 as one number.
struct PackedCode {
  std::uint64_t both;
};

constexpr std::uint64_t code_of(const Coded& item) { return item.code; }
constexpr std::uint64_t code_of(const PackedCode& item) { return item.both >> 32; }
constexpr std::int64_t index_of(const Coded& item) { return item.index; }
constexpr std::int64_t index_of(const PackedCode& item) {
  return static_cast<std::int64_t>(item.both & 0xffff'ffff);
}

namespace detail {

/// Byte by byte from the lowest one; bytes that all items share need no pass.
template <class Item>
void sort_by_bytes(Item* items, Item* scratch, std::int64_t n) {
  constexpr int bytes = std::is_same_v<Item, PackedCode> ? 4 : 8;
  std::int64_t counts[bytes][256]{};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t code = code_of(items[i]);
    for (int b = 0; b < bytes; ++b) ++counts[b][code >> (8 * b) & 255];
  }
  Item *from = items, *to = scratch;
  for (int b = 0; b < bytes; ++b) {
    std::int64_t* const places = counts[b];
    if (places[code_of(from[0]) >> (8 * b) & 255] == n) continue;
    std::int64_t before = 0;
    for (int value = 0; value < 256; ++value) {
      const std::int64_t count = places[value];
      places[value] = before;
      before += count;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const Item item = from[i];
      to[places[code_of(item) >> (8 * b) & 255]++] = item;
    }
    Item* const other = from;
    from = to;
    to = other;
  }
  if (from != items) __builtin_memcpy(items, from, static_cast<std::size_t>(n) * sizeof(Item));
}

}  // namespace detail

/// Sorts by code; equal ones keep their order. `scratch` has room for n.
template <class Item>
void sort_codes(Item* items, Item* scratch, std::int64_t n) {
  constexpr std::int64_t run = 8, many = std::is_same_v<Item, PackedCode> ? 128 : 256;
  if (n >= many) return detail::sort_by_bytes(items, scratch, n);
  for (std::int64_t first = 0; first < n; first += run) {
    const std::int64_t end = n - first < run ? n : first + run;
    for (std::int64_t i = first + 1; i < end; ++i) {
      const Item item = items[i];
      std::int64_t at = i;
      for (; at > first && code_of(items[at - 1]) > code_of(item); --at) items[at] = items[at - 1];
      items[at] = item;
    }
  }
  Item *from = items, *to = scratch;
  for (std::int64_t width = run; width < n; width *= 2) {
    for (std::int64_t first = 0; first < n; first += 2 * width) {
      const std::int64_t middle = n - first < width ? n : first + width;
      const std::int64_t end = n - middle < width ? n : middle + width;
      std::int64_t a = first, b = middle, i = first;
      // Nobody can foresee the codes, so that no branch depends on them.
      for (; a < middle && b < end; ++i) {
        const bool takes_b = code_of(from[b]) < code_of(from[a]);
        to[i] = from[takes_b ? b : a];
        b += takes_b;
        a += !takes_b;
      }
      while (a < middle) to[i++] = from[a++];
      while (b < end) to[i++] = from[b++];
    }
    Item* const other = from;
    from = to;
    to = other;
  }
  if (from != items) __builtin_memcpy(items, from, static_cast<std::size_t>(n) * sizeof(Item));
}

/// Tasks for `lines` lines of n elements; at most 16, as each has its own scratch memory.
constexpr std::int64_t sort_tasks(std::int64_t lines, std::int64_t n) {
  const std::int64_t worth = n > 0 && lines > (std::int64_t{1} << 18) / n ? 16 : lines * n >> 14;
  const std::int64_t tasks = worth < 1 ? 1 : worth > 16 ? 16 : worth;
  return tasks < lines || lines == 0 ? tasks : lines;
}

}  // namespace halftone::kernel
