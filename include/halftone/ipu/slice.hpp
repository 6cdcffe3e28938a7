#pragma once

#include <algorithm>
#include <cstdint>

#include <halftone/graph/cost.hpp>
#include <halftone/ipu/target.hpp>

/// Cycles of vertices that take or change parts of a tensor. source: poplibs' popops estimators.
namespace halftone::ipu {

/// `offsets` rows (on one worker) of `elements` from a table on this tile; `missed` lie elsewhere.
constexpr std::int64_t gather_cycles(const Target& t, std::int64_t offsets, std::int64_t elements,
                                     ElementType type, std::int64_t missed = 0) {
  const int bytes = size_in_bytes(type);
  const std::int64_t at_once = bytes == 1 ? 4 : 2, cycles = bytes == 1 ? 3 : 2;
  const std::int64_t row = 19 + divide_up(elements, at_once) * cycles;
  return t.worker_contexts * (30 + offsets * row + 8 * missed);
}

/// table[offset] = row: a gather's loop, whose start is a cycle shorter.
constexpr std::int64_t scatter_cycles(const Target& t, std::int64_t offsets, std::int64_t elements,
                                      ElementType type, std::int64_t missed = 0) {
  return gather_cycles(t, offsets, elements, type, missed) - t.worker_contexts;
}

/// table[offset] += scale * row.
constexpr std::int64_t scatter_add_cycles(const Target& t, std::int64_t offsets,
                                          std::int64_t elements, ElementType type,
                                          std::int64_t missed = 0) {
  const bool is_half = size_in_bytes(type) == 2;
  const std::int64_t atoms =
      std::max<std::int64_t>(divide_up(elements * std::max(size_in_bytes(type), 1), 4), 1);
  const std::int64_t row = (is_half ? 13 : 11) + 3 * (atoms - 1);
  return t.worker_contexts * (3 + (is_half ? 34 : 35) + offsets * row + 5 * missed);
}

/// Slices of `region` elements at a place that is known when it runs.
constexpr std::int64_t dynamic_slice_cycles(const Target& t, std::int64_t region,
                                            std::int64_t regions, ElementType type) {
  const std::int64_t copies = divide_up(region, t.worker_contexts) / t.vector_width(type);
  return 25 + t.worker_contexts * (39 + (24 + 2 * copies) * regions);
}

/// Index of the largest of n elements.
constexpr std::int64_t arg_max_cycles(const Target& t, std::int64_t n) {
  const std::int64_t chunk = std::max<std::int64_t>(divide_up(n, t.worker_contexts), 1);
  return 9 + t.worker_contexts * (17 + 3 * (chunk - 1) + 13);
}

/// Bitonic top-k of n keys: stages, each an exchange and a compare-and-swap.
constexpr std::int64_t top_k_stages(std::int64_t n, std::int64_t k) {
  const std::int64_t log_n = doublings(n), log_k = doublings(k);
  return log_k * (log_k + 1) / 2 + std::max<std::int64_t>(log_n - log_k, 0) * (log_k + 1);
}
constexpr std::int64_t compare_and_swap_cycles(const Target& t, std::int64_t pairs) {
  return 19 + t.worker_contexts * (36 + divide_up(pairs, t.worker_contexts) * 11);
}

/// Pooling: `outputs` elements on the tile, windows of `taps`.
constexpr std::int64_t pool_cycles(const Target& t, std::int64_t outputs, std::int64_t taps,
                                   ElementType type, bool is_max) {
  const std::int64_t vectors =
      divide_up(divide_up(outputs, t.worker_contexts), t.vector_width(type));
  return 9 + t.worker_contexts * (13 + 20 + 3 + 4 + vectors * ((is_max ? 5 : 4) + 3 * taps));
}

}  // namespace halftone::ipu
