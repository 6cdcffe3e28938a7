#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CONV_TRANSPOSE_HPP
#define HALFTONE_OP_CONV_TRANSPOSE_HPP

#include <halftone/base/window.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/conv.hpp>

namespace halftone {

namespace kernel {

// kernel/conv_transpose.hpp. The window's extents and pads belong to the output.
template <class T>
void transposed_convolution(const Window& window, std::int64_t groups, const KernelCall& call,
                            View<const T> x, View<const T> w, View<const T> b, View<T> y);
template <class T>
constexpr std::size_t transposed_convolution_workspace(const Window& window, std::int64_t groups,
                                                       const KernelCall& call, View<const T> x,
                                                       View<const T> w);
template <class T>
void blocked_transposed_convolution(const Window& window, std::int64_t groups,
                                    const KernelCall& call, View<const T> x, View<const T> w,
                                    View<T> y);
template <class T>
constexpr std::size_t blocked_transposed_convolution_workspace(const Window& window,
                                                               std::int64_t groups,
                                                               const KernelCall& call,
                                                               View<const T> x, View<const T> w);

}  // namespace kernel

namespace op {

/// Transposed convolution, the gradient of Conv with respect to its input: every element of x adds
/// the kernel, times itself, to a window of y.
///
/// x       [batch, channels, spatial...], any number of spatial dimensions
/// w       [channels, filters / group, kernel...]; group divides the channels
/// b       [filters], may be absent
/// y       [batch, filters, output...], along each dimension output = (input - 1) * stride + reach
///         + output_padding - pads, where reach = (kernel - 1) * dilation + 1. Pads cut elements
///         off. output_shape, or auto_pad SAME_* with output = input * stride, says the pads
///         instead: the odd one is at the end for SAME_UPPER, else at the begin; an output that is
///         larger than without pads has more elements at its end, which are b or 0
/// grad    dx = Conv of dy with w; dw is ConvWeightGradient of the same; db = sum(dy)
/// limits  half and bfloat16 sum in float; float8 as of MatMul: ConvTransposePow2Scaled. PopART
///         refuses dilations and derives pads from output_shape for two dimensions only
/// source  ai.onnx ConvTranspose-11
struct ConvTranspose {
  Dims kernel_shape{}, strides{}, dilations{}, output_padding{}, output_shape{};
  Pads pads{};
  std::int64_t group = 1;
  AutoPad auto_pad = AutoPad::notset;

  static constexpr OpId id{"ai.onnx", "ConvTranspose", 1, 11, 22};
  static constexpr Signature signature = "x w b? -> y";

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("strides", strides);
    visit("dilations", dilations);
    visit("output_padding", output_padding);
    visit("output_shape", output_shape);
    visit("pads", pads);
    visit("group", group);
    visit("auto_pad", auto_pad);
  }

  constexpr void cost(auto& machine, auto in, auto out) const {
    const Dims w = in[1].shape;
    const std::int64_t columns = w.back();
    machine.product({.groups = group,
                     .rows = in[0].elements() / w[0],
                     .inner = w[0] / group,
                     .columns = w[1],
                     .kernel_rows = product(w) / (w[0] * w[1] * columns),
                     .kernel_columns = columns,
                     .width = in[0].shape.back()});
    if (in[2].is_known()) machine.pass("Add", out[0]);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo w, TensorInfo b) const {
    const auto rank = static_cast<std::int64_t>(x.rank());
    if (rank < 3) return Inferred::mismatch("the input has no spatial dimension", 3, rank);
    if (w.rank() != x.rank()) {
      return Inferred::mismatch("input and weight have different ranks", rank,
                                static_cast<std::int64_t>(w.rank()));
    }
    if (group < 1 || group > Window::limit) {
      return Inferred::mismatch("group is out of range", 1, group);
    }
    const std::int64_t channels = agree(x.shape[1], w.shape[0]);
    if (channels == contradictory) {
      return Inferred::mismatch("input channels do not match the weight", x.shape[1], w.shape[0]);
    }
    if (channels != dynamic && channels % group != 0) {
      return Inferred::mismatch("group does not divide the number of channels", group, channels);
    }
    std::int64_t filters = product(Dims{w.shape[1], group});
    if (b.is_known()) {
      if (b.rank() != 1) {
        return Inferred::mismatch("the bias is not a vector", 1,
                                  static_cast<std::int64_t>(b.rank()));
      }
      const std::int64_t both = agree(filters, b.shape[0]);
      if (both == contradictory) {
        return Inferred::mismatch("the bias has not one element per filter", filters, b.shape[0]);
      }
      filters = both;
    }
    const std::span<const std::int64_t> kernel = w.shape.span().subspan(2);
    if (!kernel_shape.empty() && kernel_shape.size() != kernel.size()) {
      return Inferred::mismatch("kernel_shape needs one number per spatial dimension",
                                static_cast<std::int64_t>(kernel.size()),
                                static_cast<std::int64_t>(kernel_shape.size()));
    }
    Dims known(kernel);
    for (std::size_t i = 0; i < kernel.size() && !kernel_shape.empty(); ++i) {
      known[i] = agree(kernel_shape[i], kernel[i]);
      if (known[i] == contradictory) {
        return Inferred::mismatch("kernel_shape is not the weight's", kernel_shape[i], kernel[i]);
      }
    }
    const Window window = window_over(x.shape.span().subspan(2), known);
    if (!window.ok()) return Inferred::mismatch(window.reason, window.expected, window.found);
    TensorInfo y{x.type, {x.shape[0], filters}};
    for (const std::int64_t extent : window.output) y.shape.push_back(extent);
    return y;
  }

  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> w, View<const T> b,
              View<T> y) const {
    const Window window = window_over(x.shape().subspan(2), Dims(w.shape().subspan(2)));
    kernel::transposed_convolution<T>(window, group, call, x, w, b, y);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> x, View<const T> w,
                                  View<const T>, View<T>) const {
    const Window window = window_over(x.shape().subspan(2), Dims(w.shape().subspan(2)));
    return kernel::transposed_convolution_workspace<T>(window, group, call, x, w);
  }
  constexpr void gradient(auto& g) const {
    const auto x = g.x(0), w = g.x(1), dy = g.dy();
    const Dims input = x.info().shape, output = dy.info().shape;
    const Window window =
        window_over(input.span().subspan(2), Dims(w.info().shape.span().subspan(2)));
    if (g.needs(0)) {
      // Pads at the end such that there are as many windows as x has elements, or a few more.
      Pads reached = window.pads;
      Dims axes, starts, ends;
      bool has_more = false;
      for (std::size_t i = 0; i < window.rank(); ++i) {
        const std::int64_t missing = (input[2 + i] - 1) * window.strides[i] + window.reach(i) -
                                     window.pad_begin(i) - output[2 + i];
        reached[window.rank() + i] = missing > 0 ? missing : 0;
        has_more = has_more || -missing >= window.strides[i];
        axes.push_back(static_cast<std::int64_t>(i) + 2);
        starts.push_back(0);
        ends.push_back(input[2 + i]);
      }
      const auto all = op::conv(dy, w,
                                {.strides = window.strides,
                                 .dilations = window.dilations,
                                 .pads = reached,
                                 .group = group});
      if (has_more) {
        g.dx(0) += op::slice(all, constant(g.graph(), starts), constant(g.graph(), ends),
                             constant(g.graph(), axes));
      } else {
        g.dx(0) += all;
      }
    }
    if (g.needs(1)) {
      const auto dw =
          halftone::detail::record(g.graph(), ConvWeightGradient(window, group), {dy.id, x.id}, 1);
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

  /// Window::over for the other direction; `dynamic` extents give `dynamic` outputs.
  constexpr Window window_over(std::span<const std::int64_t> input, const Dims& kernel) const {
    Window w;
    const std::size_t rank = input.size();
    const auto fail = [&](std::string_view reason, auto expected, auto found) {
      w.reason = reason;
      w.expected = static_cast<std::int64_t>(expected);
      w.found = static_cast<std::int64_t>(found);
      return w;
    };
    w.kernel = kernel;
    w.strides = strides.empty() ? Dims::filled(rank, 1) : strides;
    w.dilations = dilations.empty() ? Dims::filled(rank, 1) : dilations;
    const bool reads_pads = auto_pad == AutoPad::notset && output_shape.empty() && !pads.empty();
    w.pads = reads_pads ? pads : Pads::filled(2 * rank, 0);
    w.output = Dims::filled(rank, dynamic);
    const Dims extra = output_padding.empty() ? Dims::filled(rank, 0) : output_padding;
    if (w.strides.size() != rank) {
      return fail("strides need one number per spatial dimension", rank, w.strides.size());
    }
    if (w.dilations.size() != rank) {
      return fail("dilations need one number per spatial dimension", rank, w.dilations.size());
    }
    if (w.pads.size() != 2 * rank) {
      return fail("pads need two numbers per spatial dimension", 2 * rank, w.pads.size());
    }
    if (extra.size() != rank) {
      return fail("output_padding needs one number per spatial dimension", rank, extra.size());
    }
    // Some writers list batch and channels as well.
    const std::size_t skipped = output_shape.size() == rank + 2 ? 2 : 0;
    if (!output_shape.empty() && output_shape.size() != rank + skipped) {
      return fail("output_shape needs one number per spatial dimension", rank, output_shape.size());
    }
    for (std::size_t i = 0; i < rank; ++i) {
      std::int64_t& begin = w.pads[i];
      std::int64_t& end = w.pads[rank + i];
      const auto is_within = [](std::int64_t value, std::int64_t least) {
        return value >= least && value <= Window::limit;
      };
      if (!is_within(w.strides[i], 1)) return fail("strides are out of range", 1, w.strides[i]);
      if (!is_within(w.dilations[i], 1)) {
        return fail("dilations are out of range", 1, w.dilations[i]);
      }
      if (!is_within(begin, 0)) return fail("pads are out of range", 0, begin);
      if (!is_within(end, 0)) return fail("pads are out of range", 0, end);
      if (!is_within(extra[i], 0)) return fail("output_padding is out of range", 0, extra[i]);
      const bool is_given = !output_shape.empty();
      if (is_given) w.output[i] = output_shape[skipped + i];
      if (kernel[i] == dynamic || input[i] == dynamic) continue;
      if (!is_within(kernel[i], 1)) return fail("kernel_shape is out of range", 1, kernel[i]);
      if (input[i] > Window::limit) {
        return fail("spatial extent is too large", Window::limit, input[i]);
      }
      const bool is_same = auto_pad == AutoPad::same_upper || auto_pad == AutoPad::same_lower;
      const std::int64_t full = (input[i] - 1) * w.strides[i] + w.reach(i) + extra[i];
      if (is_given || is_same) {
        if (!is_given) w.output[i] = input[i] * w.strides[i];
        const std::int64_t total = full > w.output[i] ? full - w.output[i] : 0;
        begin = auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
        end = total - begin;
      } else {
        w.output[i] = full - begin - end;
      }
      if (w.output[i] <= 0) return fail("spatial extent leaves no output", 1, w.output[i]);
    }
    return w;
  }
};

/// ConvTranspose of two spatial dimensions without a bias, of activations in blocks of channels, as FusedConv has
/// them. Made by the pass `block_channels`.
///
/// x       [batch, channels / block, height, width, block]
/// w       as ConvTranspose's
/// y       [batch, filters / block, output..., block]
/// output  the extents of y
/// pads    resolved
/// limits  windows that kernel::has_phases(), of at most 256 columns; groups that FusedConv has in blocks
/// source  none
struct BlockedConvTranspose {
  Dims strides{1, 1}, dilations{1, 1}, output{};
  Pads pads{0, 0, 0, 0};
  std::int64_t group = 1, block = 0;

  static constexpr OpId id{"halftone", "ConvTranspose", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature = "x w -> y";
  using types = TypeList<TypeList<float>>;

  constexpr void attributes(auto&& visit) {
    visit("strides", strides);
    visit("dilations", dilations);
    visit("output", output);
    visit("pads", pads);
    visit("group", group);
    visit("block", block);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo w) const {
    const std::int64_t filters = w.shape[1] * group;
    return TensorInfo{x.type,
                      {x.shape[0], (filters + block - 1) / block, output[0], output[1], block}};
  }
  static constexpr std::int64_t flops(auto in, auto) {
    return 2 * in[1].elements() * in[0].shape[0] * in[0].shape[2] * in[0].shape[3];
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> w, View<T> y) const {
    kernel::blocked_transposed_convolution<T>(window(w), group, call, x, w, y);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> x, View<const T> w,
                                  View<T>) const {
    return kernel::blocked_transposed_convolution_workspace<T>(window(w), group, call, x, w);
  }

 private:
  constexpr Window window(const auto& w) const {
    Window result;
    result.kernel = Dims(w.shape().subspan(2));
    result.strides = strides;
    result.dilations = dilations;
    result.output = output;
    result.pads = pads;
    return result;
  }
};

}  // namespace op
}  // namespace halftone

#endif
