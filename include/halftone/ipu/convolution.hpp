#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include <halftone/ipu/target.hpp>

/// Cycles of convolution vertices on one tile. Channels come in groups: `in_groups` of the vertex'
/// input channels, `out_groups` of its output channels, `groups` convolution groups; `rows` are the
/// output elements of one channel. source: poplibs' poplin estimators.
namespace halftone::ipu {

struct ConvolutionVertex {
  ElementType input = ElementType::float32, partials = ElementType::float32;
  std::int64_t units = 16;
  std::int64_t weight_load = 64;  ///< cycles to load the units' weights

  constexpr bool is_half() const { return size_in_bytes(input) == 2; }
  constexpr bool has_half_partials() const { return size_in_bytes(partials) == 2; }
  /// Input channels of a group.
  constexpr std::int64_t channels() const {
    const int bytes = size_in_bytes(input);
    return bytes == 1 ? 32 : bytes == 2 ? 16 : 8;
  }
};

/// The machine's matrix units for these types.
constexpr ConvolutionVertex matrix_vertex(const Target& t, ElementType input,
                                          ElementType partials) {
  ConvolutionVertex v{input, partials, t.units(input, partials), 0};
  v.weight_load = v.units * 32 / t.coefficient_bytes_per_cycle;
  return v;
}

namespace detail {

/// Cycles of the worker with `rows` rows in the 1x1 vertex, a first pass (zeroing) or a later one.
constexpr std::int64_t worker_1x1(const ConvolutionVertex& v, std::int64_t rows, bool zeroing) {
  if (size_in_bytes(v.input) == 1) {
    constexpr std::int64_t few[] = {4, 18, 23};
    return 17 + (rows < 3 ? few[rows] : 27 + 4 * (rows - 3)) - (zeroing ? 5 : 0);
  }
  if (!v.is_half()) {
    constexpr std::int64_t few[] = {24, 47, 46};
    const std::int64_t zero = zeroing && rows > 0 ? 2 + (v.units == 16 ? 8 : 4) * rows : 0;
    return (rows < 3 ? few[rows] : 46 + 8 * (rows - 3)) + zero;
  }
  if (v.units == 8 && v.has_half_partials()) {
    const std::int64_t z = zeroing ? 1 : 0;
    if (rows == 0) return 24;
    if (rows == 1) return 39 + 4 * z;
    if (rows == 2) return 40 + 6 * z;
    return 41 + (2 + 2 * rows) * z + 4 * (rows - 3);
  }
  constexpr std::int64_t few[] = {20, 31, 40};
  const std::int64_t z = zeroing ? 1 : 2;
  return (rows < 3 ? few[rows] + z : 36 + z + 4 * (rows - 3)) - 7;
}

constexpr std::int64_t all_workers(std::int64_t workers, std::int64_t slowest, std::int64_t fastest,
                                   std::int64_t slack) {
  return std::max(workers * slowest, workers * fastest + slack);
}

constexpr std::int64_t inner_1x1(const Target& t, const ConvolutionVertex& v, std::int64_t rows,
                                 bool zeroing) {
  const std::int64_t w = t.worker_contexts;
  const std::int64_t a = worker_1x1(v, rows / w, zeroing);
  const std::int64_t b = worker_1x1(v, divide_up(rows, w), zeroing);
  return all_workers(w, std::max(a, b), std::min(a, b), 14);
}

}  // namespace detail

/// Matrix units, one kernel position. `passes`: output channels of a group in units (P).
constexpr std::int64_t matrix_cycles(const Target& t, const ConvolutionVertex& v, std::int64_t rows,
                                     std::int64_t in_groups, std::int64_t out_groups,
                                     std::int64_t groups = 1, std::int64_t passes = 1) {
  const std::int64_t w = t.worker_contexts, load = v.weight_load;
  const std::int64_t first = detail::inner_1x1(t, v, rows, true);
  const std::int64_t later = detail::inner_1x1(t, v, rows, false);
  if (size_in_bytes(v.input) == 1) {
    return 46 + groups * (2 * w + 9 +
                          out_groups * (6 * w + 10 + 20 * w + 11 + load + first +
                                        (in_groups - 1) * (17 * w + 6 + load + later)));
  }
  const bool is_old = v.is_half() && v.units == 8 && v.has_half_partials();
  const std::int64_t a = is_old ? 12 : 13, b = is_old ? 16 : 15, c = is_old ? 19 : 18;
  const std::int64_t supervisor =
      50 + (v.is_half() && !is_old ? w * (7 + 3 * (in_groups * groups - 1)) : 0);
  return supervisor +
         groups * (a + (in_groups - 1) * (b + out_groups * (19 + passes * (6 + load + later))) +
                   11 + out_groups * (c + passes * (7 + load + first)));
}

/// The outputs of one channel on a tile, which its workers divide: in lines of `width`, each worker
/// the next part of them; width 0: each worker has its part of all in `items` runs.
struct OutputLines {
  std::int64_t elements = 1, width = 0, items = 1;

  /// The cycles of the slowest and the fastest of the workers, of which one takes `start` and each
  /// run of n outputs item(n).
  constexpr std::pair<std::int64_t, std::int64_t> extremes(std::int64_t workers, std::int64_t start,
                                                           auto&& item) const {
    std::int64_t slowest = 0, fastest = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t w = 0; w < workers; ++w) {
      const std::int64_t cycles = start + sum(workers, w, item);
      slowest = std::max(slowest, cycles);
      fastest = std::min(fastest, cycles);
    }
    return {slowest, fastest};
  }

 private:
  constexpr std::int64_t sum(std::int64_t workers, std::int64_t w, auto&& item) const {
    if (width == 0) {
      const std::int64_t own = elements / workers + (w < elements % workers ? 1 : 0);
      const std::int64_t each = own / items, more = own % items;
      return (items - more) * item(each) + (more > 0 ? more * item(each + 1) : 0);
    }
    const std::int64_t begin = w * elements / workers, end = (w + 1) * elements / workers;
    if (begin == end) return 0;
    const std::int64_t first = begin / width, last = (end - 1) / width;
    if (first == last) return item(end - begin);
    std::int64_t cycles = item(width - begin % width) + item((end - 1) % width + 1);
    if (last - first > 1) cycles += (last - first - 1) * item(width);
    return cycles;
  }
};

/// How the matrix units take a kernel: `rows` and `columns` of positions, where `height` rows of the
/// kernel share the input channels (1, 2 or 4). Of a kernel of more rows there are as many positions
/// less.
struct KernelWindow {
  std::int64_t rows = 1, columns = 1, height = 1;
};

/// Matrix units over a kernel. The partial sums are zero before: see zero_cycles.
constexpr std::int64_t matrix_window_cycles(const Target& t, const ConvolutionVertex& v,
                                            const OutputLines& outputs, const KernelWindow& kernel,
                                            std::int64_t in_groups, std::int64_t out_groups,
                                            std::int64_t groups = 1, std::int64_t passes = 1) {
  const std::int64_t w = t.worker_contexts, positions = kernel.rows * kernel.columns;
  // The weights of four rows are shuffled, for which wide loads are of no use.
  const std::int64_t weight_load =
      kernel.height == 4 ? std::max(v.weight_load, v.units * 4) : v.weight_load;
  if (size_in_bytes(v.input) == 1) {
    const auto [slowest, fastest] = outputs.extremes(w, 18, [](std::int64_t n) -> std::int64_t {
      constexpr std::int64_t few[] = {20, 34, 39};
      return n < 3 ? few[n] : 43 + 4 * (n - 3);
    });
    const std::int64_t first = 15 * w + 13, later = 13 * w + 8;
    const std::int64_t inner =
        kernel.rows * (5 * w + 3 + first + (kernel.columns - 1) * later + 2 * weight_load) +
        positions * passes * detail::all_workers(w, slowest, fastest, 9);
    return 83 + groups * (5 * w + 7 + out_groups * (8 * w + 10 + in_groups * (8 * w + 13 + inner)));
  }
  const bool is_half = v.is_half();
  const bool is_old = is_half && v.has_half_partials() && v.units == 8;
  const auto [slowest, fastest] =
      outputs.extremes(w, v.has_half_partials() ? 18 : 17, [&](std::int64_t n) -> std::int64_t {
        if (n == 0) return 11;
        if (n == 1) return is_half ? 23 : 27;
        if (n == 2) return is_half ? (is_old ? 27 : 28) : 38;
        return is_half ? 28 + 4 * (n - 3) : 39 + 8 * (n - 3);
      });
  const std::int64_t more_load = kernel.height == 4 ? 60 : kernel.height == 2 ? 46 : 15;
  const std::int64_t inner =
      kernel.rows * (14 + kernel.columns * (12 + passes * (weight_load + more_load + 3))) +
      positions * passes * detail::all_workers(w, slowest, fastest, 9);
  return 109 + 9 * w + (v.has_half_partials() ? 10 : 9) * w +
         groups * (17 * out_groups + 6 * (out_groups - 1) + 1) + 6 * (groups - 1) + 1 +
         groups * (16 + in_groups * (14 + out_groups * (14 + inner)));
}

/// Before matrix_window_cycles and dot_cycles: the partial sums of each of `groups` are set to zero.
constexpr std::int64_t zero_cycles(const Target& t, std::int64_t outputs, ElementType partials,
                                   std::int64_t groups = 1) {
  const std::int64_t w = t.worker_contexts;
  return w * groups * (divide_up(divide_up(outputs, w), t.vector_width(partials)) + 5);
}

/// Says what dot products are taken over: channels of a group, kernel positions, groups of each kind.
struct DotShape {
  std::int64_t in = 1, out = 1, taps = 1, groups = 1, in_groups = 1, out_groups = 1;
};

/// Whether the machine has a vertex for dot products at one kernel position.
constexpr bool has_plain_dot(const ConvolutionVertex& v, std::int64_t taps) {
  return taps == 1 && v.is_half() && !v.has_half_partials();
}

/// Horizontal multiply-accumulate: dot products over input channels, any shape. A worker's outputs
/// at a kernel position come in `runs` of `row_outputs` and one of `more_outputs`. `is_plain`: at
/// the only kernel position.
constexpr std::int64_t dot_cycles(const Target& t, const ConvolutionVertex& v,
                                  const DotShape& shape, std::int64_t runs,
                                  std::int64_t row_outputs, std::int64_t more_outputs,
                                  bool is_plain) {
  const std::int64_t w = t.worker_contexts, vector = t.vector_width(v.input);
  const bool half_half = v.is_half() && v.has_half_partials();
  const std::int64_t at_once = half_half ? 2 : 1, half_partials = v.has_half_partials() ? 1 : 0;
  std::int64_t q = 1;
  while (2 * q <= vector && shape.in % (2 * q) == 0) q *= 2;
  const bool fills = q * size_in_bytes(v.input) == 8;
  const std::int64_t dot = 3 * at_once + half_partials + 4 + shape.in / q * (fills ? 1 : 2) +
                           (fills ? 0 : at_once) - (v.is_half() ? 1 : 0);
  const std::int64_t channels = divide_up(shape.out, at_once);
  const auto item = [&](std::int64_t n) -> std::int64_t {
    if (n == 0) return 7;
    if (is_plain && channels == 1) return 14 + n * (2 + dot);
    return (is_plain ? 13 : 19) + n * (7 + channels * dot);
  };
  std::int64_t items = runs * item(row_outputs);
  if (more_outputs > 0) items += item(more_outputs);
  const std::int64_t retained = is_plain ? 15 : v.is_half() ? 6 : 0;
  const std::int64_t worker = 16 + shape.taps * (16 - retained + items);
  const std::int64_t start = is_plain ? 15 : v.has_half_partials() ? 6 : 0;
  const std::int64_t outer = (v.is_half() ? 65 : 58) - (is_plain ? 10 : 0) +
                             w * ((v.has_half_partials() ? 10 : 9) + start);
  return outer +
         shape.groups * (23 + shape.in_groups * (15 + shape.out_groups * (10 + w * worker)));
}

/// The same for `rows` outputs of a channel, of which each worker has one run.
constexpr std::int64_t dot_cycles(const Target& t, const ConvolutionVertex& v, std::int64_t rows,
                                  const DotShape& shape) {
  return dot_cycles(t, v, shape, 1, divide_up(rows, t.worker_contexts), 0,
                    has_plain_dot(v, shape.taps));
}

/// The same as the planner adds it up: `lines` of `width` outputs, of which a worker takes whole ones
/// and a part of one, with zeros before.
constexpr std::int64_t planned_dot_cycles(const Target& t, const ConvolutionVertex& v,
                                          std::int64_t lines, std::int64_t width,
                                          const DotShape& shape, bool is_plain) {
  const std::int64_t w = t.worker_contexts, parts = w / std::gcd(w, lines);
  const std::int64_t own = divide_up(lines * parts, w), left = own % parts;
  const bool is_whole = is_plain && shape.in_groups == 1 && shape.out == 1;
  return dot_cycles(t, v, shape, own / parts, width, left * (width + parts - 1) / parts, is_plain) +
         (is_whole ? 0
                   : zero_cycles(t, lines * width * shape.out, ElementType::float32,
                                 shape.out_groups * shape.groups));
}

}  // namespace halftone::ipu
