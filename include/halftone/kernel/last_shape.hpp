#pragma once

#include <cstdint>

#include <halftone/base/window.hpp>

namespace halftone::kernel {

/// What a convolution of two dimensions reads and makes. A run is what neighbouring bytes of the input
/// are read for at once: the channels under a tap, or, where these are few, those under a row of taps in a
/// copy of the image that has its padding.
struct LastShape {
  static constexpr std::int64_t most_places = 64;
  static constexpr std::int64_t few_channels = 8;
  static constexpr std::int64_t lanes = 16;  ///< filters of a vector

  std::int64_t batch, height, width, channels;
  std::int64_t filters;
  bool by_channel;
  Window window;

  constexpr LastShape(const Window& over, std::int64_t batch_, std::int64_t height_,
                      std::int64_t width_, std::int64_t channels_, std::int64_t filters_,
                      bool by_channel_)
      : batch(batch_),
        height(height_),
        width(width_),
        channels(channels_),
        filters(filters_),
        by_channel(by_channel_),
        window(over) {}

  constexpr std::int64_t taps() const { return window.kernel[0] * window.kernel[1]; }
  constexpr std::int64_t image() const { return window.output[0] * window.output[1]; }
  constexpr std::int64_t pixels() const { return batch * image(); }
  constexpr std::int64_t columns() const { return up(filters, lanes); }
  constexpr bool reads_rows() const {
    const bool is_worth_it = channels <= few_channels && taps() > 1 && window.dilations[1] == 1;
    return !by_channel && (channels % 4 != 0 || is_worth_it);
  }
  /// Whether the kernels take it.
  constexpr bool fits() const {
    return places() <= most_places && (!reads_rows() || window.dilations[1] == 1);
  }
  constexpr std::int64_t runs() const { return reads_rows() ? window.kernel[0] : taps(); }
  /// Bytes of a run, whole words.
  constexpr std::int64_t run_bytes() const {
    return reads_rows() ? up(window.kernel[1] * channels, 4) : channels;
  }
  constexpr std::int64_t terms() const { return runs() * run_bytes(); }
  /// Channels of a filter.
  constexpr std::int64_t own_channels() const { return by_channel ? 1 : channels; }
  /// The place of a term among those of a filter.
  constexpr std::int64_t term(std::int64_t tap, std::int64_t channel) const {
    if (by_channel) return place(tap);
    if (!reads_rows()) return tap * channels + channel;
    return tap / window.kernel[1] * run_bytes() + tap % window.kernel[1] * channels + channel;
  }
  /// Words of a column of taps of a channel, four taps each.
  constexpr std::int64_t column_words() const { return (window.kernel[0] + 3) / 4; }
  constexpr std::int64_t words() const { return window.kernel[1] * column_words(); }
  /// The place of a tap in these words.
  constexpr std::int64_t place(std::int64_t tap) const {
    return tap % window.kernel[1] * column_words() * 4 + tap / window.kernel[1];
  }
  /// Whether neighbours of a line share columns of taps that the kernel by channel keeps.
  constexpr bool slides() const {
    return by_channel && words() == 3 && window.kernel[1] == 3 && window.strides[1] < 3 &&
           window.dilations[1] == 1;
  }
  /// Places of the runs of a pixel.
  constexpr std::int64_t places() const { return by_channel ? 4 * words() : runs(); }
  /// The filters in panels, and the sum of each one's weights.
  constexpr std::int64_t packed_bytes() const {
    if (by_channel) return up(filters, 64) * 4 * (words() + 1);
    return columns() * (terms() + 4);
  }
  /// Extents of the copy.
  constexpr std::int64_t copied(std::size_t d) const {
    return (window.output[d] - 1) * window.strides[d] + window.reach(d);
  }
  constexpr std::int64_t copy_bytes() const {
    return reads_rows() ? up(batch * copied(0) * copied(1) * channels + 4, 64) : 0;
  }
  constexpr std::int64_t workspace_bytes() const { return up(channels, 64) + copy_bytes(); }

 private:
  static constexpr std::int64_t up(std::int64_t n, std::int64_t to) {
    return (n + to - 1) / to * to;
  }
};

}  // namespace halftone::kernel
