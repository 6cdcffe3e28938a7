#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <halftone/base/dims.hpp>

namespace halftone {

/// ONNX's auto_pad: explicit pads, pads that give ceil(input / stride) outputs with the odd one at
/// the end or at the begin, or no pads.
enum class AutoPad : std::uint8_t { notset, same_upper, same_lower, valid };

namespace detail {
inline constexpr std::string_view auto_pad_names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER",
                                                      "VALID"};
}
constexpr std::span<const std::string_view> names_of(AutoPad) { return detail::auto_pad_names; }

/// What convolution and pooling say about their window, one number per spatial dimension. Empty
/// lists stand for ONNX's defaults: strides and dilations 1, pads 0.
struct WindowAttributes {
  Dims kernel, strides{}, dilations{};
  Pads pads{};  ///< [begin..., end...]; only AutoPad::notset reads them
  AutoPad auto_pad = AutoPad::notset;
  bool ceil_mode = false;  ///< one more output for a last piece of the input, if there is one
};

/// A window that slides over the spatial dimensions: every number resolved, or why there is none.
///
/// Along each dimension: output = (input + pads - reach) / stride + 1, where reach =
/// (kernel - 1) * dilation + 1, rounded down, or up with ceil_mode; then a last window that would
/// start behind the input and its begin pad is left out, as ONNX 1.16, PyTorch and onnxruntime do.
/// AutoPad::valid does not look at ceil_mode. Extents that are `dynamic` give `dynamic` outputs,
/// and pads of 0 where they depend on the extent.
struct Window {
  Dims kernel, strides, dilations, output;
  Pads pads;
  std::string_view reason{};  ///< a literal; empty if all is well
  std::int64_t expected = 0, found = 0;

  /// No list of the attributes may have a number above this, no extent above its square.
  static constexpr std::int64_t limit = std::int64_t{1} << 30;

  constexpr bool ok() const { return reason.empty(); }
  constexpr std::size_t rank() const { return kernel.size(); }
  constexpr std::int64_t pad_begin(std::size_t axis) const { return pads[axis]; }
  constexpr std::int64_t pad_end(std::size_t axis) const { return pads[rank() + axis]; }
  /// From the first to the last element that the window touches.
  constexpr std::int64_t reach(std::size_t axis) const {
    return (kernel[axis] - 1) * dilations[axis] + 1;
  }

  /// The window over spatial extents, as many as kernel has.
  static constexpr Window over(std::span<const std::int64_t> input, const WindowAttributes& given) {
    Window w;
    const std::size_t rank = input.size();
    w.kernel = given.kernel;
    w.strides = given.strides.empty() ? Dims::filled(rank, 1) : given.strides;
    w.dilations = given.dilations.empty() ? Dims::filled(rank, 1) : given.dilations;
    const bool is_explicit = given.auto_pad == AutoPad::notset;
    w.pads = is_explicit && !given.pads.empty() ? given.pads : Pads::filled(2 * rank, 0);
    w.output = Dims::filled(rank, dynamic);

    if (rank > max_rank - 2) return w.failed("too many spatial dimensions", max_rank - 2, rank);
    if (w.kernel.size() != rank) {
      return w.failed("kernel_shape needs one number per spatial dimension", rank, w.kernel.size());
    }
    if (w.strides.size() != rank) {
      return w.failed("strides need one number per spatial dimension", rank, w.strides.size());
    }
    if (w.dilations.size() != rank) {
      return w.failed("dilations need one number per spatial dimension", rank, w.dilations.size());
    }
    if (w.pads.size() != 2 * rank) {
      return w.failed("pads need two numbers per spatial dimension", 2 * rank, w.pads.size());
    }
    for (std::size_t i = 0; i < rank && w.ok(); ++i) w.resolve(i, input[i], given);
    return w;
  }

 private:
  template <class A, class B>
  constexpr Window& failed(std::string_view why, A expected_, B found_) {
    reason = why;
    expected = static_cast<std::int64_t>(expected_);
    found = static_cast<std::int64_t>(found_);
    return *this;
  }

  constexpr bool is_within(std::string_view why, std::int64_t value, std::int64_t least) {
    if (value >= least && value <= limit) return true;
    failed(why, value < least ? least : limit, value);
    return false;
  }

  constexpr void resolve(std::size_t i, std::int64_t input, const WindowAttributes& given) {
    std::int64_t& begin = pads[i];
    std::int64_t& end = pads[rank() + i];
    if (!is_within("kernel_shape is out of range", kernel[i], 1) ||
        !is_within("strides are out of range", strides[i], 1) ||
        !is_within("dilations are out of range", dilations[i], 1) ||
        !is_within("pads are out of range", begin, 0) ||
        !is_within("pads are out of range", end, 0)) {
      return;
    }
    if (input == dynamic) return;
    if (input > limit * limit) {
      failed("spatial extent is too large", limit * limit, input);
      return;
    }
    const bool is_same =
        given.auto_pad == AutoPad::same_upper || given.auto_pad == AutoPad::same_lower;
    if (is_same) {
      output[i] = (input + strides[i] - 1) / strides[i];
      const std::int64_t missing = (output[i] - 1) * strides[i] + reach(i) - input;
      const std::int64_t total = output[i] > 0 && missing > 0 ? missing : 0;
      begin = given.auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
      end = total - begin;
    } else {
      const std::int64_t room = input + begin + end - reach(i);
      if (room < 0) {
        failed("the window is larger than the padded input", reach(i), input + begin + end);
        return;
      }
      output[i] = room / strides[i] + 1;
      if (given.ceil_mode && given.auto_pad == AutoPad::notset && room % strides[i] != 0 &&
          output[i] * strides[i] < input + begin) {
        ++output[i];
      }
    }
    if (output[i] <= 0) failed("spatial extent leaves no output", 1, input);
  }
};

}  // namespace halftone
