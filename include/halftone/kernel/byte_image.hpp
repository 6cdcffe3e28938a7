#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <halftone/base/view.hpp>
#include <halftone/base/window.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/gemm_bytes.hpp>

/// The right operand of a convolution of bytes: the terms of a column go position by position of
/// the kernel, and a position's channels lie four in a word, so that columns are packed by words.
namespace halftone::kernel::detail {

/// Sizes of an image of one group: [channels / 4, rows, phases, phase_width] words. The rows are
/// the elements that the window touches along all dimensions but the last, padding included. Along
/// the last one a phase holds every stride-th element: neighbouring outputs read neighbouring words.
struct ByteImage {
  std::int64_t channels, positions = 1, pixels = 1, rows = 1, phases = 1, phase_width = 1;
  bool is_pointwise = true;  ///< the columns are the image itself, which needs no copy

  constexpr ByteImage(const Window& window, std::int64_t channels_) : channels(channels_) {
    const std::size_t last = window.rank() - 1;
    for (std::size_t d = 0; d <= last; ++d) {
      positions *= window.kernel[d];
      pixels *= window.output[d];
      if (d < last) rows *= touched(window, d);
      is_pointwise = is_pointwise && window.kernel[d] == 1 && window.strides[d] == 1 &&
                     window.pad_begin(d) == 0 && window.pad_end(d) == 0;
    }
    const std::int64_t stride = window.strides[last], reach = window.reach(last);
    phases = stride < reach ? stride : reach;
    phase_width = window.output[last] + (reach - 1) / stride;
  }
  /// Elements along a dimension from the first to the last that any output reads.
  static constexpr std::int64_t touched(const Window& window, std::size_t d) {
    return (window.output[d] - 1) * window.strides[d] + window.reach(d);
  }

  constexpr ByteShape product(std::int64_t filters) const {
    return {filters, pixels, channels * positions, positions};
  }
  constexpr std::int64_t blocks() const { return (channels + 3) / 4; }
  /// Channels that a block has.
  constexpr std::int64_t given(std::int64_t block) const {
    return channels - 4 * block < 4 ? channels - 4 * block : 4;
  }
  constexpr std::int64_t line() const { return phases * phase_width; }
  constexpr std::int64_t plane() const { return rows * line(); }
  /// A vector may begin at the last word and is read whole, hence its lanes more.
  constexpr std::int64_t words() const { return blocks() * plane() + byte_lanes; }
  /// Scratch memory of the image and of the places of the kernel's positions in it.
  constexpr std::int64_t bytes() const {
    return is_pointwise ? 0 : round_up(4 * words(), 64) + 8 * positions;
  }
};

#if HALFTONE_AVX512
/// Words of every `step`-th element of `given` channels, which are `plane` elements apart; words
/// from `count` on and other channels are 0. A lane as wide as the step has its element first.
template <int step = 1, class X>
HALFTONE_INLINE ByteWords channel_words(const X* from, std::int64_t plane, std::int64_t given,
                                        std::int64_t count) {
  using Lane = std::conditional_t<step == 1, std::uint8_t, std::uint16_t>;
  using Lanes = raw_t<Lane, int(byte_lanes)>;
  static_assert(sizeof(Lane) == step);
  const std::int64_t bytes = count * step - (step - 1);
  constexpr std::int64_t most = sizeof(Lanes);
  const int loaded = int(bytes < most ? bytes : most);
  ByteWords words{};
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    if (r >= given) break;
    Lanes lanes = masked_load<1>(from + r * plane, Lanes{}, loaded);
    if constexpr (step > 1) lanes &= 0xff;
    words |= __builtin_convertvector(lanes ^ flip_right<X>, ByteWords) << (8 * r);
  }
  return words;
}

/// `count` words of every stride-th element.
template <class X>
void write_channel_words(const X* from, std::int64_t plane, std::int64_t given, std::int64_t stride,
                         std::int64_t count, std::uint32_t* to) {
  if (stride <= 2) {
    for (std::int64_t i = 0; i < count; i += byte_lanes) {
      const std::int64_t rest = count - i;
      const ByteWords words = stride == 1 ? channel_words<1>(from + i, plane, given, rest)
                                          : channel_words<2>(from + 2 * i, plane, given, rest);
      masked_store<4>(to + i, words, int(rest < byte_lanes ? rest : byte_lanes));
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = 0;
    for (std::int64_t r = 0; r < given; ++r) {
      const auto byte = static_cast<std::uint8_t>(from[r * plane + i * stride]);
      to[i] |= std::uint32_t(byte ^ flip_right<X>) << (8 * r);
    }
  }
}

/// Writes the image of a group, whose padding has the zero point, and the places of positions.
template <class X>
void write_byte_image(const ByteImage& s, const Window& window, View<const X> x, const X* group,
                      X zero, std::uint32_t* to, std::int64_t* places, const Executor& executor) {
  const std::size_t last = window.rank() - 1;
  const std::int64_t width = x.extent(2 + last), stride = window.strides[last];
  const std::int64_t input = x.size(2, x.rank);
  for (std::int64_t p = 0; p < s.positions; ++p) {
    const std::int64_t column = p % window.kernel[last] * window.dilations[last];
    std::int64_t rest = p / window.kernel[last], row = 0, rows = 1;
    for (std::size_t d = last; d-- > 0; rest /= window.kernel[d]) {
      row += rest % window.kernel[d] * window.dilations[d] * rows;
      rows *= ByteImage::touched(window, d);
    }
    places[p] = row * s.line() + column % stride * s.phase_width + column / stride;
  }
  parallel_for(executor, s.blocks() * s.rows, [&](std::int64_t task) {
    const std::int64_t block = task / s.rows, given = s.given(block);
    std::int64_t offset = 4 * block * input, rest = task % s.rows, rows = width;
    bool is_inside = true;
    for (std::size_t d = last; d-- > 0;) {
      const std::int64_t touched = ByteImage::touched(window, d), at = rest % touched;
      if (at % window.strides[d] >= window.reach(d)) return;  // no output reads it
      const std::int64_t row = at - window.pad_begin(d);
      is_inside = is_inside && row >= 0 && row < x.extent(2 + d);
      offset += row * rows;
      rows *= x.extent(2 + d);
      rest /= touched;
    }
    std::uint32_t padding = 0;
    for (std::int64_t r = 0; r < given; ++r) {
      const auto byte = static_cast<std::uint8_t>(zero);
      padding |= std::uint32_t(byte ^ flip_right<X>) << (8 * r);
    }
    for (std::int64_t phase = 0; phase < s.phases; ++phase) {
      std::uint32_t* const line = to + task * s.line() + phase * s.phase_width;
      // Words [low, high) are of the input.
      const std::int64_t start = phase - window.pad_begin(last);
      std::int64_t low = start < 0 ? (stride - 1 - start) / stride : 0;
      std::int64_t high = start < width ? (width - start + stride - 1) / stride : 0;
      if (high > s.phase_width) high = s.phase_width;
      if (!is_inside || low >= high) low = high = s.phase_width;
      for (std::int64_t i = 0; i < low; ++i) line[i] = padding;
      for (std::int64_t i = high; i < s.phase_width; ++i) line[i] = padding;
      if (low == high) continue;
      write_channel_words(group + offset + start + low * stride, input, given, stride, high - low,
                          line + low);
    }
  });
}

/// Adds the signed bytes of each word to its sum.
HALFTONE_VNNI inline void add_bytes(const ByteWords& words, ByteWords& sums) {
  sums = add_products(sums, ByteWords{} + 0x01010101u, words);
}

/// Vectors of columns of the panels [first, last): calls f(column, the place of its first word, the
/// bytes from a step of four terms to the next).
template <class F>
HALFTONE_VNNI void each_byte_vector(const ByteShape& s, std::int64_t first, std::int64_t last,
                                    std::uint8_t* to, F&& f) {
  const std::int64_t begin = first * byte_columns;
  const std::int64_t end = last * byte_columns < s.columns() ? last * byte_columns : s.columns();
  for (std::int64_t column = begin; column < end; column += byte_lanes) {
    const std::int64_t panel = column / byte_columns * byte_columns;
    const std::int64_t width = end - panel < byte_columns ? end - panel : byte_columns;
    f(column, to + (panel - begin) * s.terms() + (column - panel) * 4, width * 4);
  }
}

/// Packs panels of a pointwise convolution from the group's elements.
template <class X>
HALFTONE_VNNI void pack_pointwise_panels(const ByteImage& image, const ByteShape& s, const X* group,
                                         std::int64_t first, std::int64_t last, std::uint8_t* to,
                                         std::int32_t* sums) {
  const std::int64_t begin = first * byte_columns;
  ByteWords sum[byte_strip * byte_columns / byte_lanes] = {};
  for (std::int64_t b = 0; b < image.blocks(); ++b) {
    each_byte_vector(s, first, last, to,
                     [&](std::int64_t column, std::uint8_t* out, std::int64_t step) HALFTONE_VNNI {
                       const ByteWords words = channel_words(group + 4 * b * s.n + column, s.n,
                                                             image.given(b), s.n - column);
                       __builtin_memcpy(out + b * step, &words, sizeof(words));
                       add_bytes(words, sum[(column - begin) / byte_lanes]);
                     });
  }
  each_byte_vector(s, first, last, to, [&](std::int64_t column, std::uint8_t*, std::int64_t) {
    const std::int64_t at = column - begin;
    __builtin_memcpy(sums + at, &sum[at / byte_lanes], sizeof(ByteWords));
  });
}

/// Packs panels from an image. Outputs of one line read neighbouring words, so that a vector of
/// columns is a blend of as many loads as there are lines in it.
HALFTONE_VNNI inline void pack_image_panels(const ByteImage& image, const ByteShape& s,
                                            const Window& window, const std::uint32_t* words,
                                            const std::int64_t* places, std::int64_t first,
                                            std::int64_t last, std::uint8_t* to,
                                            std::int32_t* sums) {
  using Lanes = raw_t<int, int(byte_lanes)>;
  const std::size_t end = window.rank() - 1;
  const std::int64_t columns = window.output[end], begin = first * byte_columns;
  const Lanes lanes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  each_byte_vector(s, first, last, to,
                   [&](std::int64_t column, std::uint8_t* out, std::int64_t step) HALFTONE_VNNI {
                     // The lines' first lanes, and where lane 0 would be if they had begun there.
                     std::int64_t from[byte_lanes], lane[byte_lanes];
                     int lines = 0;
                     for (std::int64_t i = 0; i < byte_lanes && column + i < s.n; ++lines) {
                       const std::int64_t pixel = column + i, at = pixel % columns;
                       std::int64_t rest = pixel / columns, row = 0, rows = 1;
                       for (std::size_t d = end; d-- > 0; rest /= window.output[d]) {
                         row += rest % window.output[d] * window.strides[d] * rows;
                         rows *= ByteImage::touched(window, d);
                       }
                       from[lines] = row * image.line() + at - i;
                       lane[lines] = i;
                       i += columns - at;
                     }
                     ByteWords sum{};
                     const std::int64_t blocks = image.blocks();
                     for (std::int64_t b = 0; b < blocks; ++b) {
                       for (std::int64_t p = 0; p < image.positions; ++p) {
                         const std::uint32_t* const place = words + b * image.plane() + places[p];
                         ByteWords v;
                         __builtin_memcpy(&v, place + from[0], sizeof(v));
                         for (int r = 1; r < lines; ++r) {
                           ByteWords next;
                           __builtin_memcpy(&next, place + from[r], sizeof(next));
                           v = lanes >= int(lane[r]) ? next : v;
                         }
                         __builtin_memcpy(out + (p * blocks + b) * step, &v, sizeof(v));
                         add_bytes(v, sum);
                       }
                     }
                     __builtin_memcpy(sums + (column - begin), &sum, sizeof(sum));
                   });
}
#endif

}  // namespace halftone::kernel::detail
