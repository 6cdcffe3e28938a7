#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <halftone/graph/cost.hpp>
#include <halftone/ipu/target.hpp>

/// Cycles of vertices that take or change parts of a tensor. source: poplibs' popops estimators.
namespace halftone::ipu {

/// What is asked of a table's rows: of so many offsets, those that one worker serves.
struct Lookups {
  std::int64_t offsets = 0, in_range = 0;
  /// Sorted offsets are found by a search, which leaves out those of other tables; so many ask for
  /// each row of the table.
  std::int64_t sorted_per_row = 0;

  constexpr bool is_sorted() const { return sorted_per_row > 0; }
  /// Cycles besides those of the rows: `each` for an offset out of range.
  constexpr std::int64_t search_cycles(std::int64_t each) const {
    if (!is_sorted()) return each * (offsets - in_range);
    return 20 * doublings(offsets) + 15 * sorted_per_row;
  }
};

/// Rows of `elements` from a table on this tile. `is_split`: workers share the elements of each row.
constexpr std::int64_t gather_cycles(const Target& t, const Lookups& lookups, std::int64_t elements,
                                     ElementType type, bool is_split = false) {
  const std::int64_t w = t.worker_contexts;
  const int bytes = size_in_bytes(type);
  const std::int64_t at_once = bytes == 1 ? 4 : 2, cycles = bytes == 1 ? 3 : 2;
  if (is_split) elements = divide_up(elements, w);
  const std::int64_t row = 19 + divide_up(elements, at_once) * cycles;
  return w *
         (30 + lookups.in_range * row + lookups.search_cycles(8) + (lookups.is_sorted() ? 29 : 0));
}

/// table[offset] = row: a gather's loop, whose start is a cycle shorter.
constexpr std::int64_t scatter_cycles(const Target& t, const Lookups& lookups,
                                      std::int64_t elements, ElementType type,
                                      bool is_split = false) {
  return gather_cycles(t, lookups, elements, type, is_split) - t.worker_contexts;
}

/// How rows are added to a table: scaled by a number, of the table's type or of float, or as they
/// are (also for the largest and for products).
enum class ScatterScale : std::uint8_t { none, same, wide };

/// table[offset] += scale * row. `has_part_words`: rows do not fill whole words.
constexpr std::int64_t scatter_add_cycles(const Target& t, const Lookups& lookups,
                                          std::int64_t elements, ElementType type,
                                          ScatterScale scale = ScatterScale::same,
                                          bool has_part_words = false) {
  const bool is_half = size_in_bytes(type) == 2, is_scaled = scale != ScatterScale::none;
  const bool is_wide = scale == ScatterScale::wide;
  const std::int64_t bytes = elements * std::max(size_in_bytes(type), 1);
  const std::int64_t words = std::max<std::int64_t>(divide_up(bytes, 4), 1);
  std::int64_t base = (is_half ? 33 : 32) + (is_scaled ? (is_half ? 4 : 6) : 0);
  std::int64_t row = (is_half ? 12 + (is_scaled ? 1 : 0) : 11) + (is_wide ? 4 : 3) * (words - 1);
  if (has_part_words) {
    row = 13 + 20 * elements;
    --base;
  } else if (is_scaled && (bytes == 8 || (bytes == 16 && !is_half))) {
    row = is_half ? (is_wide ? 12 : 9) : bytes;
    --base;
  }
  return t.worker_contexts * (base + lookups.in_range * row + lookups.search_cycles(5) +
                              (lookups.is_sorted() ? 24 : 0));
}

/// `slices` slices of `region` elements at a place that is known when it runs.
constexpr std::int64_t dynamic_slice_cycles(const Target& t, std::int64_t region,
                                            std::int64_t slices, ElementType type) {
  const int bytes = size_in_bytes(type);
  const std::int64_t on_worker = divide_up(bytes == 8 ? 2 * region : region, t.worker_contexts);
  const std::int64_t copies = on_worker / (bytes == 1 || bytes == 2 ? 4 : 2);
  return 25 + t.worker_contexts *
                  (bytes == 1 ? 76 + (72 + 2 * copies) * slices : 39 + (24 + 2 * copies) * slices);
}

/// The place of the largest, or smallest, of n elements, `on_worker` of them a worker.
constexpr std::int64_t arg_max_cycles(const Target& t, std::int64_t n, std::int64_t on_worker,
                                      ElementType type) {
  const std::int64_t w = t.worker_contexts;
  if (!is_floating_point(type)) {
    return 9 + w * (22 + divide_up(n, on_worker) * (6 * on_worker + 25));
  }
  return 9 + w * (30 + 3 * (std::min(on_worker, n) - 1));
}
/// One worker finds it among n elements that were found so.
constexpr std::int64_t arg_max_worker_cycles(std::int64_t n, ElementType type) {
  return is_floating_point(type) ? 24 + 3 * n : 23 + 6 * n;
}

/// Bitonic top-k of n keys: stages, each an exchange and a compare-and-swap.
constexpr std::int64_t top_k_stages(std::int64_t n, std::int64_t k) {
  const std::int64_t log_n = doublings(n), log_k = doublings(k);
  return log_k * (log_k + 1) / 2 + std::max<std::int64_t>(log_n - log_k, 0) * (log_k + 1);
}

/// A worker's list of pairs that it compares and swaps: `entries` entries of `pairs` pairs, whose
/// elements lie `distance` apart. The first entry begins with `first` pairs of a run; the order
/// changes after `until_change` pairs, and then after every `change`.
struct PairList {
  std::int64_t entries = 1, pairs = 0, distance = 1, first = 1, until_change = 0, change = 0;
};

/// The keys of pairs are floats or whole numbers; values may go with them, and decide between equal
/// keys.
enum class PairValues : std::uint8_t { none, carried, decide };

constexpr std::int64_t compare_and_swap_cycles(const Target& t, const PairList& list,
                                               bool has_float_keys, PairValues values) {
  struct Cost {
    std::int64_t start, entry, first_run, run, first_pair, pair;
  };
  constexpr Cost costs[][2] = {{{42, 22, 3, 17, 12, 12}, {40, 17, 3, 13, 13, 13}},
                               {{43, 30, 5, 22, 17, 17}, {23, 4, 11, 11, 8, 11}},
                               {{49, 30, 7, 25, 27, 27}, {45, 30, 6, 24, 25, 25}}};
  const Cost& c = costs[static_cast<int>(values)][has_float_keys ? 1 : 0];
  std::int64_t worker = c.start + list.entries * c.entry;
  for (std::int64_t i = 0; i < list.entries; ++i) {
    const std::int64_t in_run = i == 0 ? list.first : std::min(list.distance, list.pairs);
    const std::int64_t runs = divide_up(list.pairs - in_run, list.distance);
    worker += c.first_pair + (list.pairs - 1) * c.pair + c.first_run + runs * c.run;
    if (list.change > 0 && list.pairs >= list.until_change) {
      worker += 2 * (1 + (list.pairs - list.until_change) / list.change);
    }
  }
  return 19 + t.worker_contexts * worker;
}

/// One worker sorts n keys, with a value each.
constexpr std::int64_t heap_sort_worker_cycles(std::int64_t n, bool has_values) {
  const std::int64_t levels = n > 0 ? std::bit_width(static_cast<std::uint64_t>(n)) - 1 : 0;
  return (has_values ? 16 : 8) * (19 * n * levels + 6 * n + 2);
}

}  // namespace halftone::ipu
