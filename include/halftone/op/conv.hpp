#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CONV_HPP
#define HALFTONE_OP_CONV_HPP

#include <halftone/base/window.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone {

namespace kernel {

// kernel/conv_gradient.hpp. The window's output is dy's.
template <class T>
void convolution_weight_gradient(const Window& window, const WeightGradientForm& form,
                                 const KernelCall& call, View<const T> x, View<const T> dy,
                                 View<T> dw);
template <class T>
constexpr std::size_t convolution_weight_gradient_workspace(const Window& window,
                                                            const WeightGradientForm& form,
                                                            View<const T> x, View<const T> dy,
                                                            View<T> dw);

}  // namespace kernel

namespace op {

/// Convolution (cross-correlation, the kernel is not flipped) with one to three spatial dimensions.
///
/// x       [batch, channels, spatial...]
/// w       [filters, channels / group, kernel...]; group divides channels and filters
/// b       [filters], may be absent
/// y       [batch, filters, output...], see Window for the output extents
/// grad    dx = ConvTranspose of dy with w; dw is ConvWeightGradient; db = sum(dy)
/// limits  half and bfloat16 sum in float; float8 as of MatMul: ConvPow2Scaled
/// source  ai.onnx Conv-11
struct Conv {
  Dims kernel_shape{}, strides{}, dilations{};
  Pads pads{};
  std::int64_t group = 1;
  AutoPad auto_pad = AutoPad::notset;

  static constexpr OpId id{"ai.onnx", "Conv", 1, 11, 22};
  static constexpr Signature signature = "x w b? -> y";
  static constexpr std::uint32_t by_sample = 1;
  static constexpr int packed_input = 1;

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("strides", strides);
    visit("dilations", dilations);
    visit("pads", pads);
    visit("group", group);
    visit("auto_pad", auto_pad);
  }

  constexpr void cost(auto& machine, auto in, auto out) const {
    const Dims x = in[0].shape, w = in[1].shape, y = out[0].shape;
    const std::int64_t outputs = y[1] > 0 ? out[0].elements() / y[1] : 0;
    const std::int64_t columns = w.back();
    machine.product({.groups = group,
                     .rows = outputs,
                     .inner = w[1],
                     .columns = w[0] / group,
                     .kernel_rows = product(w) / (w[0] * w[1] * columns),
                     .kernel_columns = columns,
                     .input_rows = in[0].elements() / x[1],
                     .width = y.back()});
    if (in[2].is_known()) machine.pass("Add", out[0]);
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
      if (contradict(filters, b.shape[0])) {
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
        if (contradict(kernel_shape[i], kernel[i])) {
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
  void kernel(const auto& call, View<const T> x, View<const T> w, View<const T> b,
              View<T> y) const {
    kernel::convolution<T>(window_over(x, w), group, call, x, w, b, y);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> x, View<const T> w,
                                  View<const T>, View<T>) const {
    return kernel::convolution_workspace<T>(window_over(x, w), group, call, x, w);
  }
  template <class T>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const T> x, View<const T> w,
                                     View<const T>, View<T>) const {
    return kernel::convolution_packed_bytes<T>(window_over(x, w), group, call, x, w);
  }
  template <class T>
  void pack(const auto& call, void* packed, View<const T> x, View<const T> w, View<const T>,
            View<T>) const {
    kernel::convolution_pack<T>(window_over(x, w), group, call, packed, x, w);
  }
  constexpr unsigned conv_kinds() const { return kernel::conv_kinds(group); }
  constexpr void gradient(auto& g) const;

  /// The window over these spatial extents.
  constexpr Window window_over(std::span<const std::int64_t> input, const Dims& kernel) const {
    return Window::over(input, {.kernel = kernel,
                                .strides = strides,
                                .dilations = dilations,
                                .pads = pads,
                                .auto_pad = auto_pad});
  }
  template <class X, class W>
  constexpr Window window_over(View<const X> x, View<const W> w) const {
    return window_over(x.shape().subspan(2), Dims(w.shape().subspan(2)));
  }
};

/// The gradient of a convolution's weights: dw[f, c, k] is the sum of dy[n, f, p] times the element
/// of x that output pixel p multiplies with kernel position k.
///
/// x       [batch, channels, spatial...]
/// dy      [batch, filters, output...]
/// dw      [filters, channels / group, kernel_shape...]
/// pads    resolved; those at the end follow from the extents
/// winograd  edge of the output tiles of Winograd's form, as FusedConv's; 0: the direct sum
/// block   if not 0, dy lies in blocks of so many channels, as FusedConv's, and x does with blocked_input; `channels`
///         and `filters` say how many there are
struct ConvWeightGradient {
  Dims kernel_shape{}, strides{}, dilations{};
  Pads pads{};
  std::int64_t group = 1;
  std::int64_t winograd = 0;
  std::int64_t block = 0, channels = 0, filters = 0;
  bool blocked_input = false;

  static constexpr OpId id{"halftone", "ConvWeightGradient", 1};
  static constexpr Signature signature = "x dy -> dw";

  ConvWeightGradient() = default;
  constexpr ConvWeightGradient(const Window& window, std::int64_t group_)
      : kernel_shape(window.kernel),
        strides(window.strides),
        dilations(window.dilations),
        pads(window.pads),
        group(group_) {}

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("strides", strides);
    visit("dilations", dilations);
    visit("pads", pads);
    visit("group", group);
    visit("winograd", winograd);
    visit("block", block);
    visit("channels", channels);
    visit("filters", filters);
    visit("blocked_input", blocked_input);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    const Dims dw = out[0].shape;
    const std::int64_t rows = dw[0];
    machine.product({.groups = group,
                     .rows = rows > 0 ? product(dw) / rows : 0,
                     .inner = rows > 0 ? in[1].elements() / rows : 0,
                     .columns = rows / group});
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo dy) const {
    const std::int64_t from = block == 0 ? x.shape[1] : channels;
    TensorInfo dw{x.type, {block == 0 ? dy.shape[1] : filters, dynamic}};
    if (from != dynamic) dw.shape[1] = from / group;
    for (const std::int64_t extent : kernel_shape) dw.shape.push_back(extent);
    return dw;
  }
  static constexpr std::int64_t flops(auto in, auto out) {
    std::int64_t pixels = in[1].shape[0];
    for (std::size_t i = 2; i < out[0].rank(); ++i) pixels *= in[1].shape[i];
    return 2 * out[0].elements() * pixels;
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> dy, View<T> dw) const {
    kernel::convolution_weight_gradient<T>(window_of(dy), form(), call, x, dy, dw);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const T> dy,
                                  View<T> dw) const {
    return kernel::convolution_weight_gradient_workspace<T>(window_of(dy), form(), x, dy, dw);
  }

 private:
  constexpr kernel::WeightGradientForm form() const {
    return {group, winograd, {.input = blocked_input, .output = block != 0}};
  }
  constexpr Window window_of(const auto& dy) const {
    Window w;
    w.kernel = kernel_shape;
    w.strides = strides;
    w.dilations = dilations;
    w.output = Dims(dy.shape().subspan(2, kernel_shape.size()));
    w.pads = pads;
    return w;
  }
};

constexpr void Conv::gradient(auto& g) const {
  const auto x = g.x(0), w = g.x(1), dy = g.dy();
  const Dims input = x.info().shape;
  const Window window =
      window_over(input.span().subspan(2), Dims(w.info().shape.span().subspan(2)));
  if (g.needs(0)) {
    Dims rest;  // elements at the end that no window reads
    for (std::size_t i = 0; i < window.rank(); ++i) {
      rest.push_back((input[2 + i] + window.pad_begin(i) + window.pad_end(i) - window.reach(i)) %
                     window.strides[i]);
    }
    g.dx(0) += op::conv_transpose(dy, w,
                                  {.strides = window.strides,
                                   .dilations = window.dilations,
                                   .output_padding = rest,
                                   .pads = window.pads,
                                   .group = group});
  }
  if (g.needs(1)) {
    const auto dw =
        halftone::detail::record(g.graph(), ConvWeightGradient(window, group), {x.id, dy.id}, 1);
    g.dx(1) += AnyTensor{&g.graph(), dw[0]};
  }
  if (g.needs(2)) {
    Dims axes;
    for (std::size_t i = 0; i < input.size(); ++i) {
      if (i != 1) axes.push_back(static_cast<std::int64_t>(i));
    }
    g.dx(2) += op::sum(dy, constant(g.graph(), axes), {.keepdims = 0});
  }
}

}  // namespace op
}  // namespace halftone

#endif
