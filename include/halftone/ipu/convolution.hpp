#pragma once

#include <algorithm>
#include <cstdint>

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
  const std::int64_t supervisor = 50 + (v.is_half() ? w * (7 + 3 * (in_groups * groups - 1)) : 0);
  return supervisor +
         groups * (a + (in_groups - 1) * (b + out_groups * (19 + passes * (6 + load + later))) +
                   11 + out_groups * (c + passes * (7 + load + first)));
}

/// Matrix units over a kernel of `taps` positions in `kernel_rows` rows, each worker with
/// `items` pieces of output rows. `height` kernel rows share the input channels (1, 2 or 4).
constexpr std::int64_t matrix_window_cycles(const Target& t, const ConvolutionVertex& v,
                                            std::int64_t rows, std::int64_t items,
                                            std::int64_t kernel_rows, std::int64_t kernel_columns,
                                            std::int64_t in_groups, std::int64_t out_groups,
                                            std::int64_t groups = 1, std::int64_t height = 1) {
  const std::int64_t w = t.worker_contexts;
  const std::int64_t more_load = height == 4 ? 60 : height == 2 ? 46 : 15;
  const std::int64_t tap = v.weight_load * (height == 4 ? 2 : 1) + more_load + 3;
  const auto item = [&](std::int64_t n) -> std::int64_t {
    if (n == 0) return 3 + 17 - 9;
    if (n == 1) return 3 + (v.is_half() ? 29 : 33) - 9;
    if (n == 2) return 3 + (v.is_half() ? 34 : 44) - 9;
    return 3 + (v.is_half() ? 34 + 4 * (n - 3) : 45 + 8 * (n - 3)) - 9;
  };
  const auto worker = [&](std::int64_t n) {
    const std::int64_t each = n / items, more = n % items;
    return 17 + (v.has_half_partials() ? 1 : 0) + (items - more) * item(each) +
           more * item(each + 1);
  };
  const std::int64_t slow = worker(divide_up(rows, w)), fast = worker(rows / w);
  const std::int64_t taps = kernel_rows * kernel_columns;
  const std::int64_t inner =
      kernel_rows * (14 + kernel_columns * (12 + tap)) +
      taps * detail::all_workers(w, std::max(slow, fast), std::min(slow, fast), 9);
  return 109 + 9 * w + (v.has_half_partials() ? 10 : 9) * w +
         groups * (17 * out_groups + 6 * (out_groups - 1) + 1) + 6 * (groups - 1) + 1 +
         groups * (16 + in_groups * (14 + out_groups * (14 + inner)));
}

/// Before matrix_window_cycles and dot_cycles: partial sums are set to zero.
constexpr std::int64_t zero_cycles(const Target& t, std::int64_t outputs, ElementType partials) {
  const std::int64_t w = t.worker_contexts;
  return w * (divide_up(divide_up(outputs, w), t.vector_width(partials)) + 5);
}

/// Horizontal multiply-accumulate: dot products over input channels, any shape. `in` and `out`
/// channels of a group, one group each way unless given.
constexpr std::int64_t dot_cycles(const Target& t, const ConvolutionVertex& v, std::int64_t rows,
                                  std::int64_t in, std::int64_t out, std::int64_t taps = 1,
                                  std::int64_t groups = 1, std::int64_t in_groups = 1,
                                  std::int64_t out_groups = 1) {
  const std::int64_t w = t.worker_contexts, vector = t.vector_width(v.input);
  const bool half_half = v.is_half() && v.has_half_partials();
  const std::int64_t o = half_half ? 2 : 1, half_partials = v.has_half_partials() ? 1 : 0;
  std::int64_t q = 1;
  while (2 * q <= vector && in % (2 * q) == 0) q *= 2;
  const bool fills = q * size_in_bytes(v.input) == 8;
  const std::int64_t minus = v.is_half() ? 1 : 0;
  const std::int64_t dot =
      3 * o + half_partials + 4 + in / q * (fills ? 1 : 2) + (fills ? 0 : o) - minus;
  const std::int64_t channels = half_half ? divide_up(out, 2) : out;
  const bool is_1x1 = taps == 1 && v.is_half();
  const std::int64_t n = divide_up(rows, w);
  std::int64_t item = is_1x1 ? 13 + n * (7 + channels * dot) : 19 + n * (7 + channels * dot);
  if (is_1x1 && channels == 1) item = 14 + n * (2 + dot);
  if (n == 0) item = 7;
  const std::int64_t retained = is_1x1 ? 15 : v.is_half() ? 6 : 0;
  const std::int64_t worker = 16 + taps * (16 - retained + item);
  const std::int64_t outer = (v.is_half() ? 65 : 58) - (is_1x1 ? 10 : 0) +
                             w * (v.has_half_partials() ? 10 : 9) +
                             w * (is_1x1                  ? 15
                                  : v.has_half_partials() ? 6
                                                          : 0);
  return outer + groups * (23 + in_groups * (15 + out_groups * (10 + w * worker)));
}

/// The outer product of a column of `rows` and a row of `columns`, `groups` times: convolutions of
/// one input channel.
constexpr std::int64_t outer_product_cycles(const Target& t, std::int64_t groups,
                                            std::int64_t width, std::int64_t channels,
                                            ElementType type) {
  const bool is_half = size_in_bytes(type) == 2;
  const std::int64_t c = channels;
  std::int64_t each = is_half ? 10 + divide_up(5 * c, 2) : 10 + 2 * c;
  if (!is_half && c >= 6 && c % 2 == 0) each = 6 + (c - 6) / 2;
  if (is_half && c >= 12 && c % 4 == 0) each = 6 + (c - 12) / 4;
  const std::int64_t on_worker = divide_up(width, t.worker_contexts);
  return t.worker_contexts * (25 + groups * ((is_half ? 10 : 11) + on_worker * each));
}

}  // namespace halftone::ipu
