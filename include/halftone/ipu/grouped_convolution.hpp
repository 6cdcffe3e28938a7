#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <halftone/ipu/convolution.hpp>

/// Cycles of the convolution vertices for few channels a group on one tile: vertical
/// multiply-accumulate (one channel, as depthwise convolutions have it), the four-wide window of the
/// matrix units (SLIC), and outer products. source: poplibs' poplin estimators.
namespace halftone::ipu {

/// A vertical multiply-accumulate of half: `groups` groups of `together` (4, 8 or 16) convolution
/// groups of one channel each.
struct VerticalShape {
  std::int64_t together = 4, groups = 1, in_groups = 1, kernel_rows = 1, kernel_columns = 1;
  std::int64_t outputs = 1;  ///< positions on the tile
  std::int64_t zeroed = 1;   ///< elements that are zeroed and added up
  bool has_float_partials = false;
};

constexpr std::int64_t vertical_cycles(const Target& t, const VerticalShape& s) {
  const std::int64_t w = t.worker_contexts;
  // A worker takes whole kernel rows, and parts of the positions that are left.
  const std::int64_t parts = w / std::gcd(w, s.outputs), own = divide_up(s.outputs * parts, w);
  const std::int64_t whole = s.kernel_rows * (own / parts), split = s.kernel_rows * (own % parts);
  const std::int64_t part = divide_up(s.kernel_columns, parts);
  const auto items = [&](std::int64_t start, std::int64_t each) {
    return whole * (start + each * (s.kernel_columns - 1)) + split * (start + each * (part - 1));
  };
  std::int64_t worker = 0;
  if (s.together >= 8 && !s.has_float_partials) {
    worker = (s.together == 8 ? 13 : 25) + s.together / 8 * items(25, 3);
  } else {
    const std::int64_t each = s.together >= 8 ? 3 * (s.together / 8) : 2;
    worker = (s.has_float_partials ? 19 : 18) + items(s.has_float_partials ? 15 : 13, each);
  }
  const std::int64_t zero = 4 + divide_up(s.zeroed, s.has_float_partials ? 2 : 4);
  const std::int64_t on_worker = divide_up(s.zeroed, w), copies = w - 1;
  const std::int64_t sum = s.has_float_partials ? 9 + (9 + 2 * copies) * on_worker / s.together
                                                : 10 + (7 + copies) * on_worker / s.together;
  return 75 + (s.has_float_partials ? 26 : 25) +
         s.groups * (zero + 32 + s.in_groups * (24 + w * worker) + sum);
}

/// A convolution in the four-wide window: `group_groups` groups of `together` convolution groups of
/// `channels` input and output channels each (together times channels: 4, or with half partials 8 or
/// 16), over `sub_kernels` parts of the kernel, one row high and four columns wide.
struct WindowShape {
  std::int64_t together = 1, channels = 4, group_groups = 1, sub_kernels = 1;
  std::int64_t stride = 1;  ///< of the outputs in a line, 1 or 2
  std::int64_t chains = 4;  ///< of convolution units, 2 or 4
  OutputLines outputs{};
};

namespace detail {

/// Cycles of a run of n outputs in one pass over the inputs.
constexpr std::int64_t window_run(const WindowShape& s, bool is_paired, bool has_float_partials,
                                  std::int64_t n, bool is_first) {
  const std::int64_t minus = has_float_partials ? 1 : 0;
  if (s.stride == 2) return (n == 1 ? 13 : n == 2 ? 15 : 15 + 2 * (n - 3)) - minus;
  if (n < (is_paired ? 6 : 5)) {
    if (is_first) return 13 + (n > 1 ? n : 0) - minus;
    return (n == 1 ? 13 : 17 + n) - minus;
  }
  return 15 + (n - 5) + (is_paired && !is_first ? 3 : 0) - minus;
}

/// The workers' cycles for one part of the kernel; the first sets the partial sums.
constexpr std::int64_t window_workers(const Target& t, const WindowShape& s,
                                      bool has_float_partials, bool is_first) {
  // Two chains of units and half partials: outputs come in two copies, which are merged at the end.
  const bool is_paired = s.chains == 2 && !has_float_partials;
  const std::int64_t passes = s.chains == 4 ? 1 : 2;
  const std::int64_t start = 17 + (s.together > 4 ? 4 : 0) + (is_paired ? 2 : 0);
  const auto run = [&](std::int64_t n) {
    return (is_paired ? 9 : 10) + (is_first ? 1 : 0) + (has_float_partials ? 3 : 0) +
           passes * window_run(s, is_paired, has_float_partials, n, is_first);
  };
  const std::int64_t merge = is_paired && is_first ? 2 + 2 * s.outputs.elements : 0;
  return t.worker_contexts * s.outputs.extremes(t.worker_contexts, start, run).first + merge;
}

constexpr std::int64_t float8_window_workers(const Target& t, const WindowShape& s, bool is_first) {
  const auto run = [&](std::int64_t n) -> std::int64_t {
    constexpr std::int64_t first[] = {0, 11, 13, 18, 21}, later[] = {0, 9, 12, 16, 16};
    std::int64_t row = 0;
    if (s.stride == 2) {
      row = n == 1 ? 10 : n == 2 ? 15 : 13 + 2 * (n - 3);
    } else if (is_first) {
      row = n < 5 ? first[n] : 14 + (n - 5);
    } else {
      row = 18 + (n < 5 ? later[n] : 12 + (n - 5));
    }
    return 24 + 2 * row;
  };
  return t.worker_contexts * s.outputs.extremes(t.worker_contexts, 20, run).first;
}

}  // namespace detail

constexpr std::int64_t window_cycles(const Target& t, ElementType input, ElementType partials,
                                     const WindowShape& s) {
  const std::int64_t w = t.worker_contexts;
  if (size_in_bytes(input) == 1) {
    const std::int64_t load = 38 + 6 * w;
    return 43 + s.group_groups *
                    (13 * w + 15 + load + 6 * w + 12 + detail::float8_window_workers(t, s, true) +
                     (s.sub_kernels - 1) *
                         (load + 5 * w + 8 + detail::float8_window_workers(t, s, false)));
  }
  const bool has_float_partials = size_in_bytes(partials) == 4;
  const bool is_paired = s.chains == 2 && !has_float_partials;
  const std::int64_t rearrange = (s.together == 2 ? 12 : 10) + (s.together > 4 ? 1 : 0);
  const std::int64_t load = 16 + (s.channels == 4 ? 18 : 21 + w * rearrange);
  const auto turns = [](std::int64_t n) { return 6 * (n - 1) + 1; };
  std::int64_t part = load + (is_paired ? 16 : 20), group = is_paired ? 12 : 15, strides = 1;
  if (s.together > 4) {
    strides = s.together / 4;
    part = strides * (load + 21) + turns(strides) + 15;
    group += 8;
  }
  return (is_paired ? 25 : 28) + group * s.group_groups + turns(s.group_groups) +
         part * s.sub_kernels + turns(s.sub_kernels) +
         s.group_groups * (detail::window_workers(t, s, has_float_partials, true) +
                           (s.sub_kernels - 1) * strides *
                               detail::window_workers(t, s, has_float_partials, false));
}

/// The outer products of a column of `width` elements on one worker and rows of `channels` in groups
/// of `together`: convolutions of one input channel.
constexpr std::int64_t outer_product_worker_cycles(std::int64_t width, std::int64_t channels,
                                                   std::int64_t together, ElementType type) {
  constexpr std::int64_t most_repeats = 4096, most_stride = 512;
  const bool is_half = size_in_bytes(type) == 2;
  const std::int64_t v = is_half ? 4 : 2, c = together, least = 3 * v;
  const bool is_fast =
      c >= least && c % v == 0 && c / v - 3 < most_repeats && c / v + 1 < most_stride;
  const std::int64_t each = is_fast ? 6 + (c - least) / v : 10 + (is_half ? c * 5 / 2 : c * 2);
  return 25 + channels / together * ((is_half ? 10 : 11) + width * each);
}

}  // namespace halftone::ipu
