#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <halftone/ipu/copy.hpp>
#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/target.hpp>

/// Cycles of reductions. source: poplibs' popops and poplin estimators.
namespace halftone::ipu {

enum class Reduction : std::uint8_t { add, square_add, multiply, max, min, log_add, logical };

/// What a reduction's vertex does: its operation, the types, and whether it adds to what the output
/// holds.
struct ReduceVertex {
  Reduction operation = Reduction::add;
  ElementType partials = ElementType::float32, output = ElementType::float32;
  bool is_update = false;

  /// Sums go through accumulators.
  constexpr bool is_sum() const {
    return operation == Reduction::add || operation == Reduction::square_add;
  }
  constexpr bool is_log() const { return operation == Reduction::log_add; }
  /// Whether only a loop in C++, an element at a time, is there.
  constexpr bool is_scalar() const { return is_log() || operation == Reduction::logical; }
  constexpr bool has_float_partials() const { return size_in_bytes(partials) == 4; }
  constexpr bool has_float_output() const { return size_in_bytes(output) == 4; }
};

/// The vertex for sums, or for largest elements, of one type.
constexpr ReduceVertex reduce_vertex(ElementType type, bool is_sum = true) {
  return {is_sum ? Reduction::add : Reduction::max, type, type};
}

/// One worker reduces n contiguous elements to one.
constexpr std::int64_t reduce_all_cycles(const Target& t, const ReduceVertex& vertex,
                                         std::int64_t n) {
  std::int64_t at_once = t.vector_width(vertex.partials), cycles = 1;
  if (vertex.is_sum()) {
    at_once *= 2;
    cycles = 2;
  } else if (vertex.is_scalar()) {
    at_once = 1;
    cycles = vertex.is_log() ? 20 : 1;
  }
  return 17 + n * cycles / at_once + n % at_once + (vertex.has_float_output() ? 0 : 5);
}

/// One worker reduces `partials` rows of `outputs` elements that lie `stride` elements apart,
/// `times` times.
constexpr std::int64_t strided_reduce_cycles(const Target& t, const ReduceVertex& vertex,
                                             std::int64_t outputs, std::int64_t partials,
                                             std::int64_t stride = 0, std::int64_t times = 1) {
  const bool is_add = vertex.operation == Reduction::add, to_float = vertex.has_float_output();
  const bool is_update = vertex.is_update;
  std::int64_t store = 0;  // the end of a loop, and of its results
  if (vertex.has_float_partials()) {
    const std::int64_t log_update = to_float ? 27 : 13, update = to_float ? 5 : 4;
    store = (is_add ? 3 : 2) + (!is_update ? 2 : vertex.is_log() ? log_update : update);
  } else if (is_add) {
    store = to_float ? (is_update ? 12 : 7) : (is_update ? 10 : 8);
  } else {
    store = !is_update ? 8 : !vertex.is_log() ? 11 : to_float ? 57 : 23;
  }
  const std::int64_t each = !vertex.is_log() ? 1 : vertex.has_float_partials() ? 23 : 13;
  const std::int64_t v = t.vector_width(vertex.partials);
  const std::int64_t at_once = stride == 0 ? v : std::gcd(v, stride);
  return 16 + divide_up(outputs, at_once) * (3 + store + times * (3 + each * (partials - 1)));
}

/// One worker, `reductions` outputs of `size` elements, each from `regions` pieces of `multiple`
/// times that size.
constexpr std::int64_t general_reduce_cycles(const Target& t, const ReduceVertex& vertex,
                                             std::int64_t reductions, std::int64_t size,
                                             std::int64_t regions, std::int64_t multiple = 1) {
  const std::int64_t partials = regions * multiple;
  if (vertex.is_scalar()) {
    const std::int64_t each =
        24 + (vertex.is_log() ? 12 : 1) + (vertex.partials != vertex.output ? 1 : 0);
    return 31 + reductions * (8 + regions * 22 + each * size * partials);
  }
  const bool is_sum = vertex.is_sum();
  const std::int64_t v = t.vector_width(vertex.partials), e = is_sum ? 2 * v : v;
  const std::int64_t output_width = t.vector_width(vertex.output);
  const auto store = [&](std::int64_t width) {
    return (vertex.is_update ? 3 : 2) * std::min(width, output_width) + (is_sum ? 1 : 0);
  };
  std::int64_t cycles = 24;
  cycles += size / e * ((is_sum ? 6 : 4) + store(e) + 10 * regions + (is_sum ? 9 : 6) * partials);
  for (std::int64_t piece = e / 2; piece > 0; piece /= 2) {
    cycles += 2;
    if ((size % e & piece) == 0) continue;
    cycles += (is_sum ? 4 : 2) + store(piece) + 10 * regions + 6 * partials;
  }
  return 33 + reductions * cycles;
}

/// One worker, `outputs` results of so many contiguous elements each. poplibs' estimator is called
/// with one output too few.
constexpr std::int64_t continuous_reduce_cycles(const Target& t, const ReduceVertex& vertex,
                                                std::int64_t outputs, std::int64_t elements) {
  const std::int64_t at_once = vertex.is_scalar() ? 1 : t.vector_width(vertex.partials);
  const std::int64_t each = vertex.is_log() ? 20 : 1;
  return 17 + outputs * (12 + each * (elements / at_once)) + (elements % 2 != 0 ? 2 : 0) +
         (vertex.is_update ? 1 : 0);
}

// --- partial sums of convolutions ----------------------------------------------------------------

/// A tile adds up `copies` copies of a convolution's `outputs`. With `is_single` all but its own lie
/// one behind the other, and `copies` does not count its own; `is_fast`: in interleaved memory.
constexpr std::int64_t partials_vertex_cycles(const Target& t, std::int64_t outputs,
                                              std::int64_t copies, ElementType from, ElementType to,
                                              bool is_single, bool is_fast = false) {
  const std::int64_t w = t.worker_contexts;
  const bool from_float = size_in_bytes(from) == 4, to_float = size_in_bytes(to) == 4;
  const std::int64_t at_once = from_float ? 4 : 8;
  if (is_single) {
    const std::int64_t store = from_float ? (to_float ? 8 : 7) : (to_float ? 10 : 9);
    return 33 + w * (20 + ((is_fast ? 1 : 2) * copies + store) * divide_up(outputs / at_once, w));
  }
  std::int64_t loops = outputs / at_once, worker = 32;
  const std::int64_t rest = outputs % at_once;
  for (std::int64_t left = rest; left != 0; left &= left - 1) ++loops;
  std::int64_t rounds = loops / w;
  if (loops % w != 0) {
    if (rest != 0) {
      worker += 2 * copies + (from_float ? 13 : 11);
    } else {
      ++rounds;
    }
  }
  return w * (worker + (3 * copies + (from_float ? 7 : 9) - (to_float ? 0 : 1)) * rounds);
}

/// The numbers of copies that are left after each stage but the last, about equal factors of
/// `copies`; and the messages that a tile receives.
struct ReductionStages {
  std::int64_t count = 0, left[2] = {};
  double messages = 0;
};

constexpr ReductionStages reduction_stages(std::int64_t copies, std::int64_t stages) {
  if (stages == 1) return {.messages = static_cast<double>(copies)};
  // The largest k whose power of `stages` is at most that of `copies` of one less.
  std::int64_t k = 1;
  const auto is_within = [&](std::int64_t x) {
    return stages == 2 ? x * x <= copies : x * x * x <= copies * copies;
  };
  while (is_within(k + 1)) ++k;
  ReductionStages best;
  for (const std::int64_t next : {k + 1, k}) {
    const ReductionStages rest = reduction_stages(next, stages - 1);
    const double messages = rest.messages + static_cast<double>(copies) / static_cast<double>(next);
    if (best.count > 0 && messages >= best.messages) continue;
    best = {rest.count + 1, {next, rest.left[0]}, messages};
  }
  return best;
}

/// Calls f(outputs, copies, type of the sums) for each stage in which tiles add up `copies` copies
/// of `outputs` elements.
constexpr void for_each_reduction_stage(std::int64_t outputs, std::int64_t copies, ElementType from,
                                        ElementType to, bool has_stages, auto&& f) {
  const std::int64_t number = !has_stages ? 1 : copies >= 125 ? 3 : copies >= 16 ? 2 : 1;
  const ReductionStages stages = reduction_stages(copies, number);
  std::int64_t left = copies, size = outputs * copies;
  for (std::int64_t i = 0; i <= stages.count && left > 1; ++i) {
    const std::int64_t now = i < stages.count ? divide_up(left, stages.left[i]) : left;
    left = divide_up(left, now);
    size = divide_up(size, now);
    if (now > 1) f(size, now, left == 1 ? to : from);
  }
}

/// Whether the copies of `outputs` that come over the exchange lie one behind the other: in whole
/// vectors, and in memory elements that are less than 1/16 of the tile.
constexpr bool is_single_input(const Target& t, std::int64_t outputs, std::int64_t copies,
                               ElementType type, bool is_fast = false) {
  constexpr std::int64_t memory_element = 16'384;
  const std::int64_t bytes = outputs * (copies - 1) * size_in_bytes(type);
  const bool is_small = divide_up(bytes, memory_element) * memory_element < t.bytes_per_tile / 16;
  return outputs % (size_in_bytes(type) == 4 ? 4 : 8) == 0 && (is_fast || is_small);
}

/// One stage of the sum of `copies` copies of `outputs`.
constexpr std::int64_t partials_stage_cycles(const Target& t, std::int64_t outputs,
                                             std::int64_t copies, ElementType from, ElementType to,
                                             bool is_fast = false) {
  const bool is_single = is_single_input(t, outputs, copies, from, is_fast);
  return partials_vertex_cycles(t, outputs, copies - (is_single ? 1 : 0), from, to, is_single,
                                is_fast);
}

/// The sum of `copies` copies of a convolution's `outputs` on a tile, in stages if they are many; a
/// cast if there is one. source: poplin's planner.
constexpr std::int64_t partials_reduce_cycles(const Target& t, std::int64_t outputs,
                                              std::int64_t copies, ElementType from, ElementType to,
                                              bool has_stages = true, bool is_fast = false) {
  if (copies == 1) {
    return size_in_bytes(from) == size_in_bytes(to) ? 0
                                                    : partials_cast_cycles(t, outputs, from, to);
  }
  std::int64_t cycles = 0;
  for_each_reduction_stage(outputs, copies, from, to, has_stages,
                           [&](std::int64_t size, std::int64_t now, ElementType type) {
                             cycles += partials_stage_cycles(t, size, now, from, type, is_fast);
                           });
  return cycles;
}

// --- reductions over tiles -----------------------------------------------------------------------

/// A reduction on one tile by all its workers: `outputs` sums, or largest elements, of `partials`
/// elements each, which lie one behind the other, or in rows.
constexpr std::int64_t reduce_on_tile_cycles(const Target& t, std::int64_t outputs,
                                             std::int64_t partials, ElementType type,
                                             bool is_sum = true, bool is_contiguous = false) {
  const std::int64_t w = t.worker_contexts;
  const ReduceVertex vertex = reduce_vertex(type, is_sum);
  if (outputs >= w) {
    const std::int64_t on_worker = divide_up(outputs, w);
    return w * (is_contiguous ? continuous_reduce_cycles(t, vertex, on_worker, partials)
                              : strided_reduce_cycles(t, vertex, on_worker, partials));
  }
  // Workers share the elements of an output, and one of them adds up the rest.
  const std::int64_t rows = divide_up(partials, w);
  const std::int64_t first = outputs == 1    ? reduce_all_cycles(t, vertex, rows)
                             : is_contiguous ? continuous_reduce_cycles(t, vertex, outputs, rows)
                                             : strided_reduce_cycles(t, vertex, outputs, rows);
  return w * (first + strided_reduce_cycles(t, vertex, outputs, w));
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
