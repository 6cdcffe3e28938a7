#pragma once

#include <algorithm>
#include <cstdint>

#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/target.hpp>

/// Cycles of reductions. source: poplibs' popops and poplin estimators.
namespace halftone::ipu {

/// One worker adds (or takes the largest of) n contiguous elements.
constexpr std::int64_t reduce_all_cycles(const Target& t, std::int64_t n, ElementType type,
                                         bool is_add = true) {
  const std::int64_t e = is_add ? (size_in_bytes(type) == 4 ? 4 : 8) : t.vector_width(type);
  const std::int64_t cycles = is_add ? 2 : 1;
  return 9 + n * cycles / e + 5 + n % e + 3 + (size_in_bytes(type) == 4 ? 0 : 5);
}

/// One worker reduces `partials` rows of `outputs` elements, input and output of one type.
constexpr std::int64_t strided_reduce_cycles(const Target& t, std::int64_t outputs,
                                             std::int64_t partials, ElementType type,
                                             bool is_add = true) {
  const std::int64_t first = size_in_bytes(type) == 4 ? (is_add ? 5 : 4) : 8;
  return 16 + divide_up(outputs, t.vector_width(type)) * (3 + first + 3 + (partials - 1));
}

/// One worker, `reductions` outputs of `size` elements, each from `partials` pieces of that size.
constexpr std::int64_t general_reduce_cycles(const Target& t, std::int64_t reductions,
                                             std::int64_t size, std::int64_t partials,
                                             ElementType type, bool is_add = true) {
  const std::int64_t v = t.vector_width(type);
  const std::int64_t e = is_add ? (size_in_bytes(type) == 4 ? 4 : 8) : v;
  std::int64_t log_e = 0;
  while ((std::int64_t{1} << (log_e + 1)) <= e) ++log_e;
  const std::int64_t store = 2 * std::min(e, v) + (is_add ? 1 : 0);
  const std::int64_t vectors = size / e;
  std::int64_t cycles = 24 + 2 * log_e;
  cycles += vectors * ((is_add ? 6 : 4) + store + 10 * partials + (is_add ? 9 : 6) * partials);
  for (std::int64_t piece = e / 2, rest = size % e; piece > 0; piece /= 2) {
    if ((rest & piece) != 0) cycles += (is_add ? 4 : 2) + store + 10 * partials + 6 * partials;
  }
  return 33 + reductions * cycles;
}

/// The sum of `partials` (D) copies of a convolution's `outputs` on a tile. Those that come over
/// the exchange, in whole memory elements, have a faster form if they are under 1/16 of the tile.
constexpr std::int64_t partials_reduce_cycles(const Target& t, std::int64_t outputs,
                                              std::int64_t partials, ElementType from,
                                              ElementType to) {
  constexpr std::int64_t memory_element = 16'384;
  const std::int64_t w = t.worker_contexts;
  const bool from_float = size_in_bytes(from) == 4, to_float = size_in_bytes(to) == 4;
  const std::int64_t a = from_float ? 4 : 8;
  const std::int64_t d = partials;
  const std::int64_t received = outputs * (d - 1) * size_in_bytes(from);
  const bool is_small =
      divide_up(received, memory_element) * memory_element < t.bytes_per_tile / 16;
  if (outputs % a == 0 && is_small) {
    const std::int64_t h = from_float ? (to_float ? 8 : 7) : (to_float ? 10 : 9);
    return 33 + w * (20 + (2 * (d - 1) + h) * divide_up(divide_up(outputs, a), w));
  }
  std::int64_t loops = outputs / a;
  for (std::int64_t rest = outputs % a; rest != 0; rest &= rest - 1) ++loops;
  const std::int64_t q = loops / w;
  const std::int64_t each = 3 * d + (from_float ? 7 : 9) - (to_float ? 0 : 1);
  const std::int64_t tail = loops % w == 0 ? 0 : 2 * d + (from_float ? 13 : 11);
  return w * (32 + each * q + tail);
}

/// A reduction on one tile by all its workers: `outputs` sums of `partials` elements each.
constexpr std::int64_t reduce_on_tile_cycles(const Target& t, std::int64_t outputs,
                                             std::int64_t partials, ElementType type,
                                             bool is_add = true) {
  const std::int64_t w = t.worker_contexts;
  if (outputs >= w) {
    return w * strided_reduce_cycles(t, divide_up(outputs, w), partials, type, is_add);
  }
  const std::int64_t rows = divide_up(partials, w);
  return w * strided_reduce_cycles(t, outputs, rows, type, is_add) +
         w * strided_reduce_cycles(t, outputs, w, type, is_add);
}

/// What is left of a reduction once each tile has its own partial result.
struct TileReduction {
  std::int64_t first_exchange = 0, first_compute = 0;    ///< bytes received, cycles
  std::int64_t second_exchange = 0, second_compute = 0;  ///< 0: one stage
  std::int64_t tiles = 1;                                ///< that take part in the first stage
};

/// `outputs` results, each with partials on `spread` tiles: at the destination, or balanced over
/// all tiles, or in stages of about sqrt(spread) partials when one result's are far spread.
constexpr TileReduction plan_tile_reduction(const Target& t, std::int64_t outputs,
                                            std::int64_t spread, std::int64_t tiles,
                                            ElementType type) {
  const std::int64_t bytes = std::max(size_in_bytes(type), 1), v = t.vector_width(type);
  TileReduction best;
  if (spread <= 1 || outputs <= 0) return best;
  const std::int64_t setup = t.sync_cycles + t.exchange_setup_cycles;
  const std::int64_t grains = divide_up(divide_up(outputs, 8), tiles) * 8;
  const std::int64_t balanced =
      exchange_cycles(t, grains * spread * bytes) + setup + spread * divide_up(grains, v);
  std::int64_t root = 1;
  while (root * root < spread) ++root;
  const std::int64_t groups = divide_up(spread, root);
  const std::int64_t staged = exchange_cycles(t, grains * root * bytes) +
                              exchange_cycles(t, grains * groups * bytes) + 2 * setup +
                              (root + groups) * divide_up(grains, v);
  if (staged < balanced && spread > 4) {
    best.first_exchange = grains * root * bytes;
    best.first_compute = reduce_on_tile_cycles(t, grains, root, type);
    best.second_exchange = grains * groups * bytes;
    best.second_compute = reduce_on_tile_cycles(t, grains, groups, type);
    best.tiles = std::min(tiles, divide_up(outputs, grains) * groups);
  } else {
    best.first_exchange = grains * spread * bytes;
    best.first_compute = reduce_on_tile_cycles(t, grains, spread, type);
    best.tiles = std::min(tiles, divide_up(outputs, grains));
  }
  return best;
}

}  // namespace halftone::ipu
