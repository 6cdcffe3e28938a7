#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_QUANTIZED_PRODUCT_HPP
#define HALFTONE_OP_QUANTIZED_PRODUCT_HPP

#include <halftone/op/integer_product.hpp>

namespace halftone::op {

/// The limits of a Clip in front of a quantization.
struct QuantizedLimits {
  bool clamp = false;
  float lower = 0, upper = 0;
};

/// How the sums of a product become bytes, beside its inputs.
struct QuantizedResult {
  QuantizedLimits limits{};
  ElementType to = ElementType::uint8;

  constexpr void attributes(auto&& visit) {
    visit("clamp", limits.clamp);
    visit("lower", limits.lower);
    visit("upper", limits.upper);
    visit("to", to);
  }
};

}  // namespace halftone::op

namespace halftone::kernel {

// kernel/integer_product.hpp. Op: op::QuantizedConv.
template <class X, class W, class Y, class Op>
void quantized_conv(const Op& op, const KernelCall& call, View<const X> x, View<const W> w,
                    View<const X> zero_x, View<const W> zero_w, View<const std::int32_t> addend,
                    View<const float> scale, View<const float> bias, View<const float> y_scale,
                    View<const float> y_zero, View<const Y> residual,
                    View<const float> residual_scale, View<const float> residual_zero,
                    View<const float> sum_scale, View<const float> sum_zero, View<Y> y);
template <class X, class W, class Op>
constexpr std::size_t quantized_conv_workspace(const Op& op, const KernelCall& call,
                                               View<const X> x, View<const W> w);
template <class X, class W, class Op>
constexpr std::size_t quantized_conv_packed_bytes(const Op& op, const KernelCall& call,
                                                  View<const X> x, View<const W> w);
template <class X, class W, class Op>
void quantized_conv_pack(const Op& op, const KernelCall& call, void* packed, View<const X> x,
                         View<const W> w);
template <class A, class B, class Y>
void quantized_matmul(const op::QuantizedResult& result, const KernelCall& call, View<const A> a,
                      View<const B> b, View<const A> zero_a, View<const B> zero_b,
                      View<const std::int32_t> addend, View<const float> scale,
                      View<const float> bias, View<const float> y_scale, View<const float> y_zero,
                      View<Y> y);
template <class A, class B, class Y>
constexpr std::size_t quantized_matmul_workspace(View<const A> a, View<const B> b,
                                                 View<const A> zero_a, View<const B> zero_b,
                                                 View<Y> y);

}  // namespace halftone::kernel

namespace halftone::op {

/// ConvInteger with what follows it until its results are bytes again:
/// y = saturate(round(clamp((sum + addend) * scale + bias) / y_scale) + y_zero_point), with the
/// roundings of Add, Cast, Mul, Add, Clip and QuantizeLinear. Made by the pass `fuse_quantized`.
///
/// x, w, zero points    as ConvInteger's
/// addend, scale, bias  one number, or one for each filter
/// y_scale              one number
/// y_zero_point         one number, an integer in float
/// residual             as y: its numbers are added to those of y's bytes, which become bytes again,
///                      clamped before if sum_clamp is set:
///                      (y - y_zero_point) * y_scale + (residual - residual_zero_point) * residual_scale
/// residual_scale, residual_zero_point, sum_scale, sum_zero_point
///                      one number, if there is a residual
/// channels_last        x, y and the residual are [batch, 1, height, width, channels], as the pass
///                      `block_channels` makes them: one group, or one for each channel and filter, and
///                      w_zero_point is what w's type has for 0 (128 if unsigned) or absent
/// source               none
struct QuantizedConv {
  Conv conv{};
  QuantizedResult result{};
  QuantizedLimits sum{};
  bool channels_last = false;

  static constexpr OpId id{"halftone", "QuantizedConv", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature =
      "x:X w:W x_zero_point:X? w_zero_point:W? addend:I? scale:F bias:F? y_scale:F y_zero_point:F?"
      " residual:Y? residual_scale:F? residual_zero_point:F? sum_scale:F? sum_zero_point:F? -> y:Y";
  static constexpr std::size_t residual_input = 9;
  static constexpr std::uint32_t by_sample = 1 | 1 << residual_input;
  static constexpr int packed_input = 1;
  using Bytes = halftone::detail::QuantizedTypes;
  using types = TypeList<Bytes, Bytes, TypeList<std::int32_t>, TypeList<float>, Bytes>;

  constexpr void attributes(auto&& visit) {
    conv.attributes(visit);
    result.attributes(visit);
    visit("sum_clamp", sum.clamp);
    visit("sum_lower", sum.lower);
    visit("sum_upper", sum.upper);
    visit("channels_last", channels_last);
  }
  constexpr Inferred infer(const Inputs& in) const {
    TensorInfo x = in[0];
    if (channels_last) x.shape = {x.shape[0], x.shape[4], x.shape[2], x.shape[3]};
    Inferred y = ConvInteger{conv}.infer(x, in[1], in[2], in[3]);
    if (!y.ok()) return y;
    y.outputs[0].type = result.to;
    Dims& shape = y.outputs[0].shape;
    if (channels_last) shape = {shape[0], 1, shape[2], shape[3], shape[1]};
    if (in.size() > residual_input && in[residual_input].is_static() && y.outputs[0].is_static() &&
        in[residual_input] != y.outputs[0]) {
      return Inferred::mismatch("the residual has another shape than the output",
                                y.outputs[0].elements(), in[residual_input].elements());
    }
    return y;
  }
  static constexpr std::int64_t flops(auto in, auto out) { return Conv::flops(in, out); }

  template <class X, class W, class I, class F, class Y>
  void kernel(const KernelCall& call, View<const X> x, View<const W> w, View<const X> zero_x,
              View<const W> zero_w, View<const I> addend, View<const F> scale, View<const F> bias,
              View<const F> y_scale, View<const F> y_zero, View<const Y> residual,
              View<const F> residual_scale, View<const F> residual_zero, View<const F> sum_scale,
              View<const F> sum_zero, View<Y> y) const {
    kernel::quantized_conv<X, W, Y>(*this, call, x, w, zero_x, zero_w, addend, scale, bias, y_scale,
                                    y_zero, residual, residual_scale, residual_zero, sum_scale,
                                    sum_zero, y);
  }
  template <class X, class W, class I, class F, class Y>
  constexpr std::size_t workspace(const KernelCall& call, View<const X> x, View<const W> w,
                                  auto...) const {
    return kernel::quantized_conv_workspace<X, W>(*this, call, x, w);
  }
  template <class X, class W, class I, class F, class Y>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const X> x, View<const W> w,
                                     auto...) const {
    return kernel::quantized_conv_packed_bytes<X, W>(*this, call, x, w);
  }
  template <class X, class W, class I, class F, class Y>
  void pack(const KernelCall& call, void* packed, View<const X> x, View<const W> w, auto...) const {
    kernel::quantized_conv_pack<X, W>(*this, call, packed, x, w);
  }
};

/// MatMulInteger with what follows it until its results are bytes again, as QuantizedConv has it.
/// Made by the pass `fuse_quantized`.
///
/// a, b, zero points    as MatMulInteger's
/// addend, scale, bias  one number, or one for each column
/// y_scale              one number
/// y_zero_point         one number, an integer in float
/// source               none
struct QuantizedMatMul {
  QuantizedResult result{};

  static constexpr OpId id{"halftone", "QuantizedMatMul", 1};
  static constexpr bool for_host = true;
  static constexpr Signature signature =
      "a:A b:B a_zero_point:A? b_zero_point:B? addend:I? scale:F bias:F? y_scale:F y_zero_point:F?"
      " -> y:Y";
  static constexpr int packed_input = 1;
  using Bytes = halftone::detail::QuantizedTypes;
  using types = TypeList<Bytes, Bytes, TypeList<std::int32_t>, TypeList<float>, Bytes>;

  constexpr void attributes(auto&& visit) { result.attributes(visit); }
  constexpr Inferred infer(const Inputs& in) const {
    Inferred y = MatMulInteger::infer(in[0], in[1], in[2], in[3]);
    if (y.ok()) y.outputs[0].type = result.to;
    return y;
  }
  static constexpr std::int64_t flops(auto in, auto out) { return MatMul::flops(in, out); }

  template <class A, class B, class I, class F, class Y>
  void kernel(const KernelCall& call, View<const A> a, View<const B> b, View<const A> zero_a,
              View<const B> zero_b, View<const I> addend, View<const F> scale, View<const F> bias,
              View<const F> y_scale, View<const F> y_zero, View<Y> y) const {
    kernel::quantized_matmul<A, B, Y>(result, call, a, b, zero_a, zero_b, addend, scale, bias,
                                      y_scale, y_zero, y);
  }
  template <class A, class B, class I, class F, class Y>
  constexpr std::size_t workspace(const KernelCall&, View<const A> a, View<const B> b,
                                  View<const A> zero_a, View<const B> zero_b, View<const I>,
                                  View<const F>, View<const F>, View<const F>, View<const F>,
                                  View<Y> y) const {
    return kernel::quantized_matmul_workspace<A, B, Y>(a, b, zero_a, zero_b, y);
  }
  template <class A, class B, class I, class F, class Y>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const A> a, View<const B> b,
                                     View<const A> zero_a, View<const B> zero_b, auto...) const {
    return kernel::integer_matmul_packed_bytes<A, B>(call, a, b, zero_a, zero_b);
  }
  template <class A, class B, class I, class F, class Y>
  void pack(const KernelCall& call, void* packed, View<const A> a, View<const B> b,
            View<const A> zero_a, View<const B> zero_b, auto...) const {
    kernel::integer_matmul_pack<A, B>(call, packed, a, b, zero_a, zero_b);
  }
};

}  // namespace halftone::op

#endif
