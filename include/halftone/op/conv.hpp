#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CONV_HPP
#define HALFTONE_OP_CONV_HPP

#include <halftone/base/window.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// Convolution (cross-correlation, the kernel is not flipped) with one to three spatial dimensions.
///
/// x       [batch, channels, spatial...]
/// w       [filters, channels / group, kernel...]; group divides channels and filters
/// b       [filters], may be absent
/// y       [batch, filters, output...], see Window for the output extents
/// limits  half and bfloat16 sum in float
/// source  ai.onnx Conv-11
struct Conv {
  Dims kernel_shape{}, strides{}, dilations{};
  Pads pads{};
  std::int64_t group = 1;
  AutoPad auto_pad = AutoPad::notset;

  static constexpr OpId id{"ai.onnx", "Conv", 1, 11};
  static constexpr Signature signature = "x w b? -> y";
  static constexpr int packed_input = 1;

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("strides", strides);
    visit("dilations", dilations);
    visit("pads", pads);
    visit("group", group);
    visit("auto_pad", auto_pad);
  }

  constexpr Inferred infer(TensorInfo x, TensorInfo w, TensorInfo b) const {
    const auto rank = static_cast<std::int64_t>(x.rank());
    if (rank < 3 || rank > 5) {
      return Inferred::mismatch("the input has not one to three spatial dimensions",
                                rank < 3 ? 3 : 5, rank);
    }
    if (w.rank() != x.rank()) {
      return Inferred::mismatch("input and weight have different ranks", rank,
                                static_cast<std::int64_t>(w.rank()));
    }
    const std::int64_t channels = x.shape[1], filters = w.shape[0];
    if (group < 1 || group > Window::limit) {
      return Inferred::mismatch("group is out of range", 1, group);
    }
    if (channels != dynamic && w.shape[1] != dynamic &&
        (channels % group != 0 || channels / group != w.shape[1])) {
      return Inferred::mismatch("input channels do not match the weight", channels,
                                product(Dims{w.shape[1], group}));
    }
    if (filters != dynamic && filters % group != 0) {
      return Inferred::mismatch("group does not divide the number of filters", group, filters);
    }
    if (b.is_known()) {
      if (b.rank() != 1) {
        return Inferred::mismatch("the bias is not a vector", 1,
                                  static_cast<std::int64_t>(b.rank()));
      }
      if (agree(filters, b.shape[0]) == -2) {
        return Inferred::mismatch("the bias has not one element per filter", filters, b.shape[0]);
      }
    }
    const std::span<const std::int64_t> kernel = w.shape.span().subspan(2);
    if (!kernel_shape.empty() && kernel_shape.size() != kernel.size()) {
      return Inferred::mismatch("kernel_shape needs one number per spatial dimension",
                                static_cast<std::int64_t>(kernel.size()),
                                static_cast<std::int64_t>(kernel_shape.size()));
    }
    Dims known(kernel);
    bool all_known = true;
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      if (!kernel_shape.empty()) {
        if (agree(kernel_shape[i], kernel[i]) == -2) {
          return Inferred::mismatch("kernel_shape is not the weight's", kernel_shape[i], kernel[i]);
        }
        known[i] = kernel_shape[i];
      }
      all_known = all_known && known[i] != dynamic;
    }
    TensorInfo y{x.type, {x.shape[0], filters}};
    if (!all_known) {
      for (std::size_t i = 0; i < kernel.size(); ++i) y.shape.push_back(dynamic);
      return y;
    }
    const Window window = window_over(x.shape.span().subspan(2), known);
    if (!window.ok()) return Inferred::mismatch(window.reason, window.expected, window.found);
    for (const std::int64_t extent : window.output) y.shape.push_back(extent);
    return y;
  }

  static constexpr std::int64_t flops(auto in, auto out) {
    return 2 * out[0].elements() * (in[1].elements() / (in[1].shape[0] + (in[1].shape[0] == 0)));
  }

  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> w, View<const T> b,
              View<T> y) const {
    kernel::convolution<T>(window_over(x, w), group, call, x, w, b, y);
  }
  template <class T>
  std::size_t workspace(const KernelCall& call, View<const T> x, View<const T> w, View<const T>,
                        View<T>) const {
    return kernel::convolution_workspace<T>(window_over(x, w), group, call, x, w);
  }
  template <class T>
  std::size_t packed_bytes(const KernelCall& call, View<const T> x, View<const T> w, View<const T>,
                           View<T>) const {
    return kernel::convolution_packed_bytes<T>(window_over(x, w), group, call, x, w);
  }
  template <class T>
  void pack(const KernelCall&, void* packed, View<const T> x, View<const T> w, View<const T>,
            View<T>) const {
    kernel::convolution_pack<T>(window_over(x, w), group, packed, x, w);
  }

 private:
  constexpr Window window_over(std::span<const std::int64_t> input, const Dims& kernel) const {
    return Window::over(input, {.kernel = kernel,
                                .strides = strides,
                                .dilations = dilations,
                                .pads = pads,
                                .auto_pad = auto_pad});
  }
  template <class T>
  Window window_over(View<const T> x, View<const T> w) const {
    return window_over(x.shape().subspan(2), Dims(w.shape().subspan(2)));
  }
};

}  // namespace halftone::op

#endif
