#pragma once

#include <algorithm>
#include <cstdint>

#include <halftone/ipu/target.hpp>

/// Cycles of casts, fills and copies on one tile. source: poplibs' popops estimators.
namespace halftone::ipu {

namespace detail {

/// Cycles of an assembly loop over atoms of `atom` elements: the first, every other one, and by the
/// number of elements that are left.
struct AtomLoop {
  std::int64_t atom, first, next, left[4];

  constexpr std::int64_t cycles(std::int64_t elements) const {
    const std::int64_t atoms = elements / atom;
    return (atoms > 0 ? first + (atoms - 1) * next : 0) + left[elements % atom];
  }
};

constexpr bool is_byte(ElementType type) {
  return type == ElementType::int8 || type == ElementType::uint8;
}

/// A worker's conversion of `elements`, without its start.
constexpr std::int64_t cast_worker_cycles(std::int64_t elements, ElementType from, ElementType to) {
  const int from_bytes = std::max(size_in_bytes(from), 1),
            to_bytes = std::max(size_in_bytes(to), 1);
  if (!is_floating_point(to) && to_bytes == 8) {
    const bool is_signed = from == ElementType::int32 || from == ElementType::int16;
    return 3 + (is_signed ? 5 : 4) * elements;
  }
  const bool has_half = from_bytes == 2 || to_bytes == 2;
  if (is_byte(from) && is_floating_point(to) && to_bytes > 1) {
    constexpr AtomLoop loops[] = {{4, 14, 10, {2, 9, 15, 21}},
                                  {4, 14, 9, {2, 12, 14, 22}},
                                  {4, 13, 9, {2, 9, 15, 21}},
                                  {4, 15, 13, {2, 12, 14, 22}}};
    return 4 + loops[(from == ElementType::int8 ? 2 : 0) + (has_half ? 1 : 0)].cycles(elements);
  }
  if (is_byte(to) && is_floating_point(from) && from_bytes > 1) {
    constexpr AtomLoop loops[] = {{4, 18, 14, {2, 13, 21, 28}}, {4, 19, 16, {2, 14, 21, 29}}};
    return 8 + loops[has_half ? 1 : 0].cycles(elements);
  }
  const bool is_small = from_bytes == 1 || to_bytes == 1;  // float8
  if ((is_byte(from) && to_bytes == 1 && is_floating_point(to)) ||
      (is_byte(to) && from_bytes == 1 && is_floating_point(from))) {
    return AtomLoop{4, 26, 18, {5, 7, 9, 11}}.cycles(elements);
  }
  if (!is_floating_point(from) || !is_floating_point(to) ||
      (is_small && std::max(from_bytes, to_bytes) > 2)) {
    return 19 + 2 * elements;
  }
  const std::int64_t loaded = 8 / from_bytes, stored = 8 / to_bytes;
  const std::int64_t at_once = std::min(2 * loaded, stored);
  const std::int64_t each = std::max(divide_up(at_once, loaded), divide_up(at_once, stored));
  std::int64_t cycles = 19 + each * (elements / at_once);
  for (std::int64_t bit = at_once / 2; bit > 0; bit /= 2) {
    cycles += (elements % at_once & bit) != 0 ? 3 : 1;
  }
  return cycles;
}

}  // namespace detail

/// Conversion of n elements in one region.
constexpr std::int64_t cast_cycles(const Target& t, std::int64_t n, ElementType from,
                                   ElementType to) {
  const std::int64_t w = t.worker_contexts;
  return 12 + w * (18 + detail::cast_worker_cycles(divide_up(n, w), from, to));
}

/// Conversion of n partial sums, as the planner of convolutions has it.
constexpr std::int64_t partials_cast_cycles(const Target& t, std::int64_t n, ElementType from,
                                            ElementType to) {
  const std::int64_t w = t.worker_contexts, on_worker = divide_up(n, w);
  const std::int64_t load = divide_up(on_worker, t.vector_width(from));
  const std::int64_t store = divide_up(on_worker, t.vector_width(to));
  return w * (26 + std::max(load, store));
}

/// One worker writes a value n times.
constexpr std::int64_t fill_worker_cycles(std::int64_t n, ElementType type) {
  const int bytes = size_in_bytes(type);
  if (bytes == 8) return 5 + n;
  if (bytes == 2) return n == 1 ? 15 : n == 2 ? 21 : 26 + n / 4;
  if (bytes == 1) return n < 64 ? 28 + n / 4 : 39 + n / 8;
  return 23 + n / 2 + n % 2;
}

/// Bytes from one place of a tile to another.
constexpr std::int64_t copy_cycles(const Target& t, std::int64_t bytes) {
  return divide_up(bytes, t.copy_bytes_per_cycle);
}

/// A copy that transposes groups of elements, the grouped extents multiples of the vector width or
/// not.
constexpr std::int64_t rearrange_cycles(const Target& t, std::int64_t bytes, ElementType type,
                                        bool is_grouped = true) {
  const std::int64_t rate =
      std::min<std::int64_t>(t.copy_bytes_per_cycle, std::max(size_in_bytes(type), 1));
  const std::int64_t cycles = divide_up(bytes, rate);
  return is_grouped ? divide_up(cycles * 5, 4) : divide_up(cycles * 5, 3);
}

}  // namespace halftone::ipu
