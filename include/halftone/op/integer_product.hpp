#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_INTEGER_PRODUCT_HPP
#define HALFTONE_OP_INTEGER_PRODUCT_HPP

#include <halftone/op/conv.hpp>
#include <halftone/op/quantize_linear.hpp>

namespace halftone {

namespace kernel {

// kernel/integer_product.hpp
template <class A, class B>
void integer_matmul(const KernelCall& call, View<const A> a, View<const B> b, View<const A> zero_a,
                    View<const B> zero_b, View<std::int32_t> y);
template <class A, class B>
constexpr std::size_t integer_matmul_workspace(View<const A> a, View<const B> b,
                                               View<const A> zero_a, View<const B> zero_b);
template <class A, class B>
constexpr std::size_t integer_matmul_packed_bytes(const KernelCall& call, View<const A> a,
                                                  View<const B> b, View<const A> zero_a,
                                                  View<const B> zero_b);
template <class A, class B>
void integer_matmul_pack(const KernelCall& call, void* packed, View<const A> a, View<const B> b,
                         View<const A> zero_a, View<const B> zero_b);
template <class X, class W>
void integer_convolution(const Window& window, std::int64_t groups, const KernelCall& call,
                         View<const X> x, View<const W> w, View<const X> zero_x,
                         View<const W> zero_w, View<std::int32_t> y);
template <class X, class W>
constexpr std::size_t integer_convolution_workspace(const Window& window, std::int64_t groups,
                                                    View<const X> x, View<const W> w);
template <class X, class W>
constexpr std::size_t integer_convolution_packed_bytes(std::int64_t groups, const KernelCall& call,
                                                       View<const W> w);
template <class X, class W>
void integer_convolution_pack(std::int64_t groups, const KernelCall& call, void* packed,
                              View<const W> w);

}  // namespace kernel

namespace detail {

/// Dimension of the rows of a matrix, which vectors of a left operand belong to.
constexpr std::size_t row_axis(const TensorInfo& a) { return a.rank() < 2 ? 0 : a.rank() - 2; }

/// x - zero_point, exact in `type`; the zero point may be absent and is [n, 1...] from dimension
/// `axis` on if it is a vector.
template <class X>
constexpr X centered(const X& x, const auto& inputs, std::size_t i, std::size_t axis,
                     ElementType type) {
  const X y = as_type(x, type);
  if (!is_given(inputs, i)) return y;
  return op::sub(y, along(as_type(inputs[i], type), axis, x.info().rank()));
}

/// The product of 8-bit matrices less their zero points, inputs `zero_a` and `zero_b`, in int32.
template <class X>
constexpr X integer_product(const X& a, const X& b, const auto& inputs, std::size_t zero_a,
                            std::size_t zero_b) {
  const auto zero_point = [&](std::size_t i) {
    return is_given(inputs, i) ? X(inputs[i]) : X{a.graph, no_tensor};
  };
  return op::matmul_integer(a, b, zero_point(zero_a), zero_point(zero_b));
}

/// Whether zero points broadcast to the tensor they belong to; a vector may have one number for
/// each index along an axis.
constexpr bool fits_zero_points(const TensorInfo& x, const TensorInfo& zeros, std::size_t axis) {
  if (zeros.rank() == 1 && x.rank() > 1) {
    return zeros.shape[0] == 1 || !contradict(x.shape[axis], zeros.shape[0]);
  }
  Broadcast both;
  both.add(x.shape);
  both.add(zeros.shape);
  if (!both.ok || both.shape.size() != x.rank()) return false;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (contradict(both.shape[i], x.shape[i])) return false;
  }
  return true;
}

}  // namespace detail
}  // namespace halftone

namespace halftone::op {

/// The product of 8-bit matrices less their zero points, exact.
///
/// a, b          as MatMul's, signed or unsigned, one each
/// a_zero_point  a scalar, one number for each row of a, or what broadcasts to a; absent: 0
/// b_zero_point  a scalar, one number for each column of b, or what broadcasts to b; absent: 0
/// limits        wraps around where a sum is beyond int32
/// source        ai.onnx MatMulInteger-10
struct MatMulInteger {
  static constexpr OpId id{"ai.onnx", "MatMulInteger", 10};
  static constexpr Signature signature = "a:A b:B a_zero_point:A? b_zero_point:B? -> y";
  static constexpr int packed_input = 1;
  using types = TypeList<halftone::detail::QuantizedTypes, halftone::detail::QuantizedTypes,
                         TypeList<std::int32_t>>;

  static constexpr void cost(auto& machine, auto in, auto out) { MatMul::cost(machine, in, out); }
  static constexpr Inferred infer(TensorInfo a, TensorInfo b, TensorInfo zero_a,
                                  TensorInfo zero_b) {
    Inferred y = MatMul::infer(a, b);
    if (!y.ok()) return y;
    y.outputs[0].type = ElementType::int32;
    if ((zero_a.is_known() && !detail::fits_zero_points(a, zero_a, detail::row_axis(a))) ||
        (zero_b.is_known() && !detail::fits_zero_points(b, zero_b, b.rank() - 1))) {
      return Inferred::mismatch("zero points do not broadcast to their tensor");
    }
    return y;
  }
  static constexpr std::int64_t flops(auto in, auto out) { return MatMul::flops(in, out); }

  template <class A, class B, class T>
  void kernel(const KernelCall& call, View<const A> a, View<const B> b, View<const A> zero_a,
              View<const B> zero_b, View<T> y) const {
    kernel::integer_matmul<A, B>(call, a, b, zero_a, zero_b, y);
  }
  template <class A, class B, class T>
  constexpr std::size_t workspace(const KernelCall&, View<const A> a, View<const B> b,
                                  View<const A> zero_a, View<const B> zero_b, View<T>) const {
    return kernel::integer_matmul_workspace<A, B>(a, b, zero_a, zero_b);
  }
  template <class A, class B, class T>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const A> a, View<const B> b,
                                     View<const A> zero_a, View<const B> zero_b, View<T>) const {
    return kernel::integer_matmul_packed_bytes<A, B>(call, a, b, zero_a, zero_b);
  }
  template <class A, class B, class T>
  void pack(const KernelCall& call, void* packed, View<const A> a, View<const B> b,
            View<const A> zero_a, View<const B> zero_b, View<T>) const {
    kernel::integer_matmul_pack<A, B>(call, packed, a, b, zero_a, zero_b);
  }
};

/// The convolution of 8-bit tensors less their zero points, exact; what padding adds is the zero
/// point.
///
/// x, w          as Conv's, signed or unsigned, one each
/// x_zero_point  one number; absent: 0
/// w_zero_point  one number, or one for each filter; absent: 0
/// limits        wraps around where a sum is beyond int32
/// source        ai.onnx ConvInteger-10
struct ConvInteger {
  Conv conv{};

  static constexpr OpId id{"ai.onnx", "ConvInteger", 10};
  static constexpr Signature signature = "x:X w:W x_zero_point:X? w_zero_point:W? -> y";
  static constexpr int packed_input = 1;
  using types = TypeList<halftone::detail::QuantizedTypes, halftone::detail::QuantizedTypes,
                         TypeList<std::int32_t>>;

  constexpr void attributes(auto&& visit) { conv.attributes(visit); }
  constexpr void cost(auto& machine, auto in, auto out) const {
    const TensorInfo factors[]{in[0], in[1], {}};
    conv.cost(machine, std::span(factors), out);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo w, TensorInfo zero_x, TensorInfo zero_w) const {
    Inferred y = conv.infer(x, w, {});
    if (!y.ok()) return y;
    y.outputs[0].type = ElementType::int32;
    if (zero_x.is_static() && zero_x.elements() != 1) {
      return Inferred::mismatch("the zero point of the input is not one number", 1,
                                zero_x.elements());
    }
    if (zero_w.is_static() && zero_w.elements() != 1 &&
        (zero_w.rank() != 1 || contradict(w.shape[0], zero_w.shape[0]))) {
      return Inferred::mismatch("the weight has neither one zero point nor one for each filter",
                                w.shape[0], zero_w.elements());
    }
    return y;
  }
  static constexpr std::int64_t flops(auto in, auto out) { return Conv::flops(in, out); }

  template <class X, class W, class T>
  void kernel(const KernelCall& call, View<const X> x, View<const W> w, View<const X> zero_x,
              View<const W> zero_w, View<T> y) const {
    kernel::integer_convolution<X, W>(conv.window_over(x, w), conv.group, call, x, w, zero_x,
                                      zero_w, y);
  }
  template <class X, class W, class T>
  constexpr std::size_t workspace(const KernelCall&, View<const X> x, View<const W> w,
                                  View<const X>, View<const W>, View<T>) const {
    return kernel::integer_convolution_workspace<X, W>(conv.window_over(x, w), conv.group, x, w);
  }
  template <class X, class W, class T>
  constexpr std::size_t packed_bytes(const KernelCall& call, View<const X>, View<const W> w,
                                     View<const X>, View<const W>, View<T>) const {
    return kernel::integer_convolution_packed_bytes<X, W>(conv.group, call, w);
  }
  template <class X, class W, class T>
  void pack(const KernelCall& call, void* packed, View<const X>, View<const W> w, View<const X>,
            View<const W>, View<T>) const {
    kernel::integer_convolution_pack<X, W>(conv.group, call, packed, w);
  }
};

/// The product of quantised matrices, quantised: the exact one of MatMulInteger times a_scale
/// b_scale, then QuantizeLinear. Products of float8 numbers are summed in float or double.
///
/// scales and zero points  scalars; those of a and y also one number for each row, those of b one
///                         for each column
/// source                  ai.onnx QLinearMatMul-21
struct QLinearMatMul {
  static constexpr OpId id{"ai.onnx", "QLinearMatMul", 10, 21};
  static constexpr bool differentiable = false;
  static constexpr Signature signature =
      "a:A a_scale:S a_zero_point:A b:B b_scale:S b_zero_point:B y_scale:S y_zero_point -> y";
  using Quantized = Joined<halftone::detail::QuantizedTypes, Float8Types>;
  using types = TypeList<Quantized, Quantized, TypeList<float, half, bfloat16>, Quantized>;

  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    const auto a = inputs[0], b = inputs[3];
    const auto real = [&](const auto& x) {
      return halftone::detail::as_type(x, ElementType::float32);
    };
    const auto rows = [&](const auto& numbers) {
      return halftone::detail::along(real(numbers), halftone::detail::row_axis(a.info()),
                                     a.info().rank());
    };
    AnyTensor y;
    if (is_integer(a.info().type)) {
      y = real(halftone::detail::integer_product(a, b, inputs, 2, 5));
    } else {  // of float8
      const auto centered = [&](const AnyTensor& x, std::size_t zero_point, std::size_t axis) {
        return halftone::detail::centered(x, inputs, zero_point, axis, ElementType::float32);
      };
      y = matmul(centered(a, 2, halftone::detail::row_axis(a.info())),
                 centered(b, 5, b.info().rank() - 1));
    }
    y = mul(y, mul(rows(inputs[1]), real(inputs[4])));
    return {halftone::detail::quantized(y, rows(inputs[6]), rows(inputs[7]), inputs[7].info().type,
                                        true)};
  }
};

/// The convolution of quantised tensors, quantised: the exact one of ConvInteger plus b, times
/// x_scale w_scale, then QuantizeLinear.
///
/// scales and zero points  scalars; those of w also one number for each filter
/// b                       [filters], int32, in units of x_scale w_scale; may be absent
/// source                  ai.onnx QLinearConv-10
struct QLinearConv {
  Conv conv{};

  static constexpr OpId id{"ai.onnx", "QLinearConv", 10};
  static constexpr bool differentiable = false;
  static constexpr Signature signature =
      "x:X x_scale:S x_zero_point:X w:W w_scale:S w_zero_point:W y_scale:S y_zero_point b:B? -> y";
  using types = TypeList<halftone::detail::QuantizedTypes, halftone::detail::QuantizedTypes,
                         TypeList<float>, halftone::detail::QuantizedTypes, TypeList<std::int32_t>>;

  constexpr void attributes(auto&& visit) { conv.attributes(visit); }
  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    const auto x = inputs[0], w = inputs[3];
    // One number for each filter lies along dimension 1 of y.
    const std::size_t rank = w.info().is_known() ? w.info().rank() : x.info().rank();
    if (rank < 3) {
      fail(ErrorKind::unsupported, {.what = "quantised: the rank of a tensor is not known"});
    }
    auto y = op::conv_integer(x, w, inputs[2], inputs[5], {.conv = conv});
    if (halftone::detail::is_given(inputs, 8)) {
      y = add(y, halftone::detail::along(inputs[8], 1, rank));
    }
    const auto w_scale = halftone::detail::along(inputs[4], 1, rank);
    y = mul(halftone::detail::as_type(y, ElementType::float32), mul(w_scale, inputs[1]));
    return {halftone::detail::quantized(y, inputs[6],
                                        halftone::detail::as_type(inputs[7], ElementType::float32),
                                        inputs[7].info().type, true)};
  }
};

}  // namespace halftone::op

#endif
