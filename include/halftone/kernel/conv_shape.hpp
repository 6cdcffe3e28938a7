#pragma once

#include <cstdint>
#include <halftone/kernel/epilogue.hpp>

namespace halftone::kernel {

/// Extents of a convolution. x [batch, channels, spatial...], weights [filters, channels / groups,
/// kernel...], y [batch, filters, output...]. Spatial axes are depth, height and width; a
/// convolution of fewer dimensions leaves the leading ones at their defaults.
struct ConvShape {
  std::int64_t batch = 1, channels = 1, filters = 1, groups = 1;
  std::int64_t input[3] = {1, 1, 1};
  std::int64_t kernel[3] = {1, 1, 1};
  std::int64_t stride[3] = {1, 1, 1};
  std::int64_t dilation[3] = {1, 1, 1};
  std::int64_t pads_begin[3] = {0, 0, 0};
  std::int64_t pads_end[3] = {0, 0, 0};

  /// From the first to the last element that the kernel touches along an axis.
  constexpr std::int64_t reach(int axis) const { return (kernel[axis] - 1) * dilation[axis] + 1; }
  constexpr std::int64_t output(int axis) const {
    const std::int64_t room = input[axis] + pads_begin[axis] + pads_end[axis] - reach(axis);
    return room < 0 ? 0 : room / stride[axis] + 1;
  }
  constexpr std::int64_t input_pixels() const { return input[0] * input[1] * input[2]; }
  constexpr std::int64_t output_pixels() const { return output(0) * output(1) * output(2); }
  constexpr std::int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
  constexpr std::int64_t channels_per_group() const { return channels / groups; }
  constexpr std::int64_t filters_per_group() const { return filters / groups; }
};

/// How activations lie in memory.
enum class Layout : std::uint8_t {
  plain,    ///< [batch, channels, pixels]
  blocked,  ///< [batch, channel blocks, pixels, channel_block<T>], missing channels are zero
  /// [batch, pairs of blocks, pixels, 2 channel_block<float>] in bfloat16, missing channels zero: pairs of
  /// channels as products take them, each in the place of a float (T is float).
  pairs,
};

/// Channels of a block: a vector's lanes, so it depends on the instruction set.
template <class T>
inline constexpr std::int64_t channel_block = Vec<compute_t<T>>::size;

/// Blocks that hold so many channels.
template <class T>
constexpr std::int64_t channel_blocks(std::int64_t channels) {
  return (channels + channel_block<T> - 1) / channel_block<T>;
}

/// Elements of activations in a layout.
template <class T>
constexpr std::int64_t activation_size(Layout layout, std::int64_t batch, std::int64_t channels,
                                       std::int64_t pixels) {
  if (layout == Layout::plain) return batch * channels * pixels;
  std::int64_t blocks = channel_blocks<T>(channels);
  if (layout == Layout::pairs) blocks = (blocks + 1) / 2;
  return batch * blocks * channel_block<T> * pixels;
}

/// A convolution may normalize x in blocks before it multiplies: an element becomes (x - mean) * factor +
/// addend, with the numbers of its channel, and then, if negatives are cleared, no less than 0. Padding stays 0.
///
/// means, factors, addends  [channels of whole blocks], zero for missing channels; null: x as it is
template <class T>
struct ConvNormalization {
  const T* means = nullptr;
  const T* factors = nullptr;
  const T* addends = nullptr;
  bool clears_negatives = false;
};

/// What happens to a sum before it is stored: y = clamp(sum + bias + residual), then post.
///
/// bias      [filters] or null
/// residual  as y, in y's layout, or null; must not overlap y. Of a y in blocks or pairs, it is in pairs if
///           residual_in_pairs is set, else in blocks
/// post      sees y as a matrix: a row is one channel of one image (one block of channels, if y is
///           blocked), row = image * rows of an image + channel, its columns the pixels (times the
///           block's channels)
template <class T>
struct ConvEpilogue {
  using S = compute_t<T>;
  const T* bias = nullptr;
  const T* residual = nullptr;
  bool residual_in_pairs = false;
  bool clamp = false;
  S lower = 0, upper = 0;
  PostHook<T> post = nullptr;
  void* context = nullptr;
  ConvNormalization<T> input{};  ///< where normalizes_copies()
};

}  // namespace halftone::kernel
