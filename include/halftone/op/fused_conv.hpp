#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_FUSED_CONV_HPP
#define HALFTONE_OP_FUSED_CONV_HPP

#include <halftone/base/window.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// Convolution of two spatial dimensions with what follows it, in either layout:
/// y = clamp(conv(n(x), w) + b + residual), where n(x) is x, or (x - means) * factors + addends and no less
/// than 0 if negatives are cleared. Made by the passes `fuse_convolutions`, `block_channels`,
/// `fuse_normalizations` and `choose_convolutions`.
///
/// x         [batch, channels, height, width], or in blocks [batch, channels / block, height,
/// width,
///           block], missing channels zero
/// w         [filters, channels / group, kernel height, kernel width], always plain; if flipped,
///           [channels, filters, ...], the kernel's elements in the other order
/// b         [filters]
/// residual  as y
/// means, factors, addends  [channels of whole blocks, zero for missing ones], of x in blocks
/// source    none
struct FusedConv {
  std::int64_t group = 1;
  Dims strides{1, 1}, dilations{1, 1};
  Pads pads{0, 0, 0, 0};
  std::int64_t block = 0;  ///< channels of a block
  bool blocked_input = false, blocked_output = false;
  bool clamp = false;
  float lower = 0, upper = 0;
  bool clears_negatives = false;  ///< of normalized x
  bool flipped = false;           ///< w is a ConvTranspose's
  /// Edges of the output tiles of Winograd's form, and of its kernel; winograd 0: the direct sum.
  std::int64_t winograd = 0, winograd_taps = 3;

  static constexpr OpId id{"halftone", "Conv", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature = "x w b? residual? means? factors? addends? -> y";
  static constexpr std::uint32_t by_sample = 0b1001;
  static constexpr int packed_input = 1;

  constexpr void attributes(auto&& visit) {
    visit("group", group);
    visit("strides", strides);
    visit("dilations", dilations);
    visit("pads", pads);
    visit("block", block);
    visit("blocked_input", blocked_input);
    visit("blocked_output", blocked_output);
    visit("clamp", clamp);
    visit("lower", lower);
    visit("upper", upper);
    visit("clears_negatives", clears_negatives);
    visit("flipped", flipped);
    visit("winograd", winograd);
    visit("winograd_taps", winograd_taps);
  }

  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo &x = in[0], &w = in[1];
    const std::int64_t input[]{x.shape[2], x.shape[3]};
    const Window window = Window::over(input, {.kernel = {w.shape[2], w.shape[3]},
                                               .strides = strides,
                                               .dilations = dilations,
                                               .pads = pads});
    if (!window.ok()) return Inferred::mismatch(window.reason, window.expected, window.found);
    const std::int64_t filters = w.shape[flipped ? 1 : 0];
    TensorInfo y{x.type, {x.shape[0], filters, window.output[0], window.output[1]}};
    if (blocked_output) {
      y.shape[1] = (filters + block - 1) / block;
      y.shape.push_back(block);
    }
    return y;
  }
  static constexpr std::int64_t flops(auto in, auto out) {
    return 2 * in[1].elements() * out[0].shape[0] * out[0].shape[2] * out[0].shape[3];
  }

  template <class T>
  void kernel(const auto& call, View<const T> x, View<const T> w, View<const T> b,
              View<const T> residual, View<const T> means, View<const T> factors,
              View<const T> addends, View<T> y) const {
    kernel::fused_conv<T>(*this, call, x, w, b, residual,
                          {means.data, factors.data, addends.data, clears_negatives}, y);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> x, View<const T> w,
                                  View<const T>, View<const T>, View<const T> means, View<const T>,
                                  View<const T>, View<T>) const {
    return kernel::fused_conv_workspace<T>(*this, call, x, w, bool(means));
  }
  template <class T>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const T> x, View<const T> w,
                                     View<const T>, View<const T>, View<const T>, View<const T>,
                                     View<const T>, View<T>) const {
    return kernel::fused_conv_packed_bytes<T>(*this, call, x, w);
  }
  template <class T>
  void pack(const auto& call, void* packed, View<const T> x, View<const T> w, View<const T>,
            View<const T>, View<const T>, View<const T>, View<const T>, View<T>) const {
    kernel::fused_conv_pack<T>(*this, call, packed, x, w);
  }
  constexpr unsigned conv_kinds() const {
    return kernel::conv_kinds(group, winograd, winograd_taps);
  }
};

/// Brings activations, or truth values of them, into blocks of channels, or back; a block that is not the
/// kernels' has all channels. Made by the pass `block_channels`.
struct ReorderChannels {
  std::int64_t block = 0;
  std::int64_t channels = 0;
  bool to_blocks = false;

  static constexpr OpId id{"halftone", "ReorderChannels", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature = "x -> y";
  static constexpr std::uint32_t by_sample = 1;
  using types = TypeList<Joined<FloatTypes, TypeList<std::uint8_t, std::int8_t, bool>>>;

  constexpr void attributes(auto&& visit) {
    visit("block", block);
    visit("channels", channels);
    visit("to_blocks", to_blocks);
  }
  constexpr Inferred infer(TensorInfo x) const {
    TensorInfo y = x;
    if (to_blocks) {
      y.shape[1] = (channels + block - 1) / block;
      y.shape.push_back(block);
    } else {
      y.shape[1] = channels;
      y.shape.pop_back();
    }
    return y;
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::reorder_channels<T>(call, block, to_blocks, x, y);
  }
};

}  // namespace halftone::op

#endif
