#pragma once

#include <algorithm>
#include <cstdint>

#include <halftone/ipu/target.hpp>

/// Cycles of casts, fills and copies on one tile. source: poplibs' popops estimators.
namespace halftone::ipu {

/// Conversion of n elements in one region.
constexpr std::int64_t cast_cycles(const Target& t, std::int64_t n, ElementType from,
                                   ElementType to) {
  const std::int64_t w = t.worker_contexts, on_worker = divide_up(n, w);
  std::int64_t at_once = 1, cycles = 2, checks = 0;
  if (is_floating_point(from) && is_floating_point(to)) {
    const std::int64_t loaded = 8 / std::max(size_in_bytes(from), 1);
    const std::int64_t stored = 8 / std::max(size_in_bytes(to), 1);
    at_once = std::min(2 * loaded, stored);
    cycles = std::max(divide_up(at_once, loaded), divide_up(at_once, stored));
    const std::int64_t rest = on_worker % at_once;
    for (std::int64_t bit = at_once / 2; bit > 0; bit /= 2) checks += (rest & bit) != 0 ? 3 : 1;
  }
  return 12 + w * (18 + 19 + cycles * (on_worker / at_once) + checks);
}

/// One worker writes a value n times.
constexpr std::int64_t fill_cycles(const Target& t, std::int64_t n, ElementType type) {
  const int bytes = size_in_bytes(type);
  std::int64_t cycles = 23 + n / 2;
  if (bytes == 2) cycles = 26 + n / 4;
  if (bytes == 1) cycles = n < 64 ? 28 + n / 4 : 39 + n / 8;
  if (bytes == 8) cycles = 5 + n;
  return t.worker_contexts * cycles;
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
