#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_INTEGER_PRODUCT_HPP
#define HALFTONE_OP_INTEGER_PRODUCT_HPP

#include <halftone/op/conv.hpp>
#include <halftone/op/quantize_linear.hpp>

namespace halftone::detail {

/// The type whose products of 8-bit numbers have exact sums of `terms`: float up to 2^24, else
/// double.
constexpr ElementType exact_type(std::int64_t terms) {
  return terms >= 0 && terms <= (1 << 24) / (255 * 255) ? ElementType::float32
                                                        : ElementType::float64;
}

/// x - zero_point, exact in `type`; the zero point may be absent and is [n, 1...] from dimension
/// `axis` on if it is a vector.
template <class X>
X centered(const X& x, const auto& inputs, std::size_t i, std::size_t axis, ElementType type) {
  const X y = as_type(x, type);
  if (!is_given(inputs, i)) return y;
  return op::sub(y, along(as_type(inputs[i], type), axis, x.info().rank()));
}

/// Dimension of the rows of a matrix, which vectors of a left operand belong to.
constexpr std::size_t row_axis(const TensorInfo& a) { return a.rank() < 2 ? 0 : a.rank() - 2; }

/// The exact product of matrices less their zero points, inputs `zero_a` and `zero_b`.
template <class X>
X integer_product(const X& a, const X& b, const auto& inputs, std::size_t zero_a,
                  std::size_t zero_b) {
  const std::int64_t k = a.info().rank() == 0 ? dynamic : a.info().shape.back();
  const ElementType type = exact_type(k);
  const std::size_t last = b.info().rank() == 0 ? 0 : b.info().rank() - 1;
  return op::matmul(centered(a, inputs, zero_a, row_axis(a.info()), type),
                    centered(b, inputs, zero_b, last, type));
}

/// The exact convolution of tensors less their zero points, inputs `zero_x` and `zero_w`.
template <class X>
X integer_convolution(const op::Conv& conv, const X& x, const X& w, const auto& inputs,
                      std::size_t zero_x, std::size_t zero_w) {
  std::int64_t terms = dynamic;
  if (w.info().rank() > 1) terms = product(w.info().shape.span().subspan(1));
  const ElementType type = exact_type(terms);
  return op::conv(centered(x, inputs, zero_x, 0, type), centered(w, inputs, zero_w, 0, type), none,
                  conv);
}

}  // namespace halftone::detail

namespace halftone::op {

/// The product of 8-bit matrices less their zero points, exact. Recorded as MatMul in float, where
/// its sums are exact, or double.
///
/// a, b          as MatMul's, signed or unsigned, one each
/// a_zero_point  a scalar, one number for each row of a, or what broadcasts to a; absent: 0
/// b_zero_point  a scalar, one number for each column of b, or what broadcasts to b; absent: 0
/// limits        the nearest int32 where a sum is beyond
/// source        ai.onnx MatMulInteger-10
struct MatMulInteger {
  static constexpr OpId id{"ai.onnx", "MatMulInteger", 10};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "a:A b:B a_zero_point:A? b_zero_point:B? -> y";
  using types = TypeList<TypeList<std::int32_t>, TypeList<std::int8_t, std::uint8_t>>;

  std::vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    return {halftone::detail::as_type(
        halftone::detail::integer_product(inputs[0], inputs[1], inputs, 2, 3), ElementType::int32)};
  }
};

/// The convolution of 8-bit tensors less their zero points, exact; what padding adds is the zero
/// point. Recorded as Conv in float, where its sums are exact, or double.
///
/// x, w          as Conv's, signed or unsigned, one each
/// x_zero_point  a scalar; absent: 0
/// w_zero_point  a scalar, or one number for each filter; absent: 0
/// limits        the nearest int32 where a sum is beyond
/// source        ai.onnx ConvInteger-10
struct ConvInteger {
  Conv conv{};

  static constexpr OpId id{"ai.onnx", "ConvInteger", 10};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x:X w:W x_zero_point:X? w_zero_point:W? -> y";
  using types = TypeList<TypeList<std::int32_t>, TypeList<std::int8_t, std::uint8_t>>;

  constexpr void attributes(auto&& visit) { conv.attributes(visit); }
  std::vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    return {halftone::detail::as_type(
        halftone::detail::integer_convolution(conv, inputs[0], inputs[1], inputs, 2, 3),
        ElementType::int32)};
  }
};

/// The product of quantised matrices, quantised: the exact one of MatMulInteger times a_scale
/// b_scale, then QuantizeLinear.
///
/// scales and zero points  scalars; those of a and y also one number for each row, those of b one
///                         for each column
/// source                  ai.onnx QLinearMatMul-10
struct QLinearMatMul {
  static constexpr OpId id{"ai.onnx", "QLinearMatMul", 10, 21};
  static constexpr bool differentiable = false;
  static constexpr Signature signature =
      "a:A a_scale:S a_zero_point:A b:B b_scale:S b_zero_point:B y_scale:S y_zero_point -> y";
  using types = TypeList<TypeList<std::int8_t, std::uint8_t>, TypeList<std::int8_t, std::uint8_t>,
                         TypeList<float, half, bfloat16>, TypeList<std::int8_t, std::uint8_t>>;

  std::vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    const auto a = inputs[0], b = inputs[3];
    const auto real = [&](const auto& x) {
      return halftone::detail::as_type(x, ElementType::float32);
    };
    const auto rows = [&](const auto& numbers) {
      return halftone::detail::along(real(numbers), halftone::detail::row_axis(a.info()),
                                     a.info().rank());
    };
    auto y = real(halftone::detail::integer_product(a, b, inputs, 2, 5));
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
  using types =
      TypeList<TypeList<std::int8_t, std::uint8_t>, TypeList<std::int8_t, std::uint8_t>,
               TypeList<float>, TypeList<std::int8_t, std::uint8_t>, TypeList<std::int32_t>>;

  constexpr void attributes(auto&& visit) { conv.attributes(visit); }
  std::vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    const auto x = inputs[0], w = inputs[3];
    // One number for each filter lies along dimension 1 of y.
    const std::size_t rank = w.info().is_known() ? w.info().rank() : x.info().rank();
    if (rank < 3) {
      fail(ErrorKind::unsupported, {.what = "quantised: the rank of a tensor is not known"});
    }
    auto y = halftone::detail::integer_convolution(conv, x, w, inputs, 2, 5);
    if (halftone::detail::is_given(inputs, 8)) {
      const ElementType type = y.info().is_known() ? y.info().type : ElementType::float64;
      y = add(halftone::detail::as_type(y, type),
              halftone::detail::along(halftone::detail::as_type(inputs[8], type), 1, rank));
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
