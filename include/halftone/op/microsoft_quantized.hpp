#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_MICROSOFT_QUANTIZED_HPP
#define HALFTONE_OP_MICROSOFT_QUANTIZED_HPP

#include <halftone/op/integer_product.hpp>
#include <halftone/op/microsoft_product.hpp>
#include <halftone/op/pool.hpp>
#include <halftone/op/recurrent.hpp>

namespace halftone::detail {

/// Inputs first to first + 2: (x - zero point) * scale in float, one number each. The zero point may
/// be absent.
constexpr auto real_number(const auto& inputs, std::size_t first) {
  auto x = inputs[first];
  x = as_type(x, ElementType::float32);
  if (is_given(inputs, first + 2)) {
    x = op::sub(x, as_type(inputs[first + 2], ElementType::float32));
  }
  x = op::mul(x, inputs[first + 1]);
  return x;
}

/// y in float as integers of `type` with the scale and zero point that are inputs first and
/// first + 1.
template <class X>
constexpr X whole_number(const X& y, const auto& inputs, std::size_t first, ElementType type) {
  X zero_point{y.graph, no_tensor};
  if (is_given(inputs, first + 1)) {
    zero_point = as_type(inputs[first + 1], ElementType::float32);
  }
  return quantized(y, X(inputs[first]), zero_point, type, true);
}

/// Computes in float what gets inputs 0 to 2 and gives output 3 and 4.
template <class F>
constexpr Vector<AnyTensor> requantized(const auto& inputs, F&& function) {
  const auto x = real_number(inputs, 0);
  return {whole_number(AnyTensor(function(x)), inputs, 3, inputs[0].info().type)};
}

}  // namespace halftone::detail

namespace halftone::op {

/// QuantizeLinear of ONNX Runtime, which has more element types than its time's ai.onnx had.
///
/// axis    absent: scale and zero point are one number each
/// source  com.microsoft QuantizeLinear-1
struct MicrosoftQuantizeLinear {
  Optional<std::int64_t> axis{};

  static constexpr OpId id{"com.microsoft", "QuantizeLinear", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x scale zero_point:Y? -> y:Y";

  constexpr void attributes(auto&& visit) { visit("axis", axis); }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto scale,
                             tensor_handle auto zero) const {
    return quantize_linear(x, scale, zero, {.axis = axis.value_or(1)});
  }
};

/// DequantizeLinear of ONNX Runtime, which has more element types than its time's ai.onnx had.
///
/// axis    absent: scale and zero point are one number each
/// source  com.microsoft DequantizeLinear-1
struct MicrosoftDequantizeLinear {
  Optional<std::int64_t> axis{};

  static constexpr OpId id{"com.microsoft", "DequantizeLinear", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x:X scale zero_point:X? -> y";

  constexpr void attributes(auto&& visit) { visit("axis", axis); }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto scale,
                             tensor_handle auto zero) const {
    return dequantize_linear(x, scale, zero, {.axis = axis.value_or(1)});
  }
};

/// The product of 8-bit matrices less their zero points, exact, times a_scale b_scale, plus bias.
///
/// b_scale, b_zero_point  one number, or one for each column
/// bias                   [columns], may be absent
/// source                 com.microsoft MatMulIntegerToFloat-1
struct MatMulIntegerToFloat {
  static constexpr OpId id{"com.microsoft", "MatMulIntegerToFloat", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature =
      "a:A b:B a_scale b_scale a_zero_point:A? b_zero_point:B? bias? -> y";
  using types = TypeList<TypeList<float, half>, halftone::detail::QuantizedTypes>;

  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    using namespace halftone::detail;
    const auto real = [](const auto& x) { return as_type(x, ElementType::float32); };
    const ElementType type = inputs[2].info().type;
    auto y = inputs[0];
    y = real(integer_product(inputs[0], inputs[1], inputs, 4, 5));
    y = mul(y, mul(real(inputs[2]), real(inputs[3])));
    if (is_given(inputs, 6)) y = add(y, real(inputs[6]));
    return {as_type(y, type)};
  }
};

/// MatMulIntegerToFloat of a that is quantised first, see DynamicQuantizeLinear.
///
/// a                      float
/// b_scale, b_zero_point  one number, or one for each column; the zero point may be absent
/// bias                   [columns], may be absent
/// source                 com.microsoft DynamicQuantizeMatMul-1
struct DynamicQuantizeMatMul {
  static constexpr OpId id{"com.microsoft", "DynamicQuantizeMatMul", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "a b:B b_scale b_zero_point:B? bias? -> y";
  using types = TypeList<TypeList<float>, halftone::detail::QuantizedTypes>;

  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    const auto quantized =
        DynamicQuantizeLinear{}.expand(graph, Vector<AnyTensor>{AnyTensor(inputs[0])}, 3);
    const auto optional = [&](std::size_t i) {
      return halftone::detail::is_given(inputs, i) ? AnyTensor(inputs[i])
                                                   : AnyTensor{&graph, no_tensor};
    };
    const Vector<AnyTensor> given{quantized[0], inputs[1],   quantized[1], inputs[2],
                                  quantized[2], optional(3), optional(4)};
    return MatMulIntegerToFloat{}.expand(graph, given, 1);
  }
};

/// LSTM whose weights are integers, of float inputs.
///
/// W, R     [directions, input, 4 * hidden] and [directions, hidden, 4 * hidden]: LSTM's, transposed
/// scales   [directions] or [directions, 4 * hidden], and so are the zero points
/// limits   computed in float; ONNX Runtime also rounds the inputs of its products to 8 bits
/// source   com.microsoft DynamicQuantizeLSTM-1
struct DynamicQuantizeLSTM {
  LSTM lstm{};

  static constexpr OpId id{"com.microsoft", "DynamicQuantizeLSTM", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature =
      "X W:Q R:Q B? sequence_lens:I? initial_h? initial_c? P? W_scale W_zero_point:Q R_scale "
      "R_zero_point:Q -> Y? Y_h? Y_c?";
  using types = TypeList<TypeList<float>, halftone::detail::QuantizedTypes>;

  constexpr void attributes(auto&& visit) { lstm.attributes(visit); }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    using namespace halftone::detail;
    const auto real = [](const auto& x) { return as_type(x, ElementType::float32); };
    const auto weight = [&](std::size_t at, std::size_t scale) {
      const auto spread = [&](const auto& numbers) {
        return reshape(
            numbers, constant(graph, numbers.info().rank() == 2 ? Dims{0, 1, -1} : Dims{-1, 1, 1}));
      };
      auto w = inputs[at];
      w = mul(sub(real(w), spread(real(inputs[scale + 1]))), spread(inputs[scale]));
      return op::transpose(w, {.perm = {0, 2, 1}}).id;
    };
    Vector<TensorId> ids{inputs[0].id, weight(1, 8), weight(2, 10)};
    for (std::size_t i = 3; i < 8; ++i) ids.push_back(inputs[i].id);
    Vector<AnyTensor> all;
    for (const TensorId made : record(graph, lstm, ids, 3)) all.push_back({&graph, made});
    if (outputs < all.size()) all.resize(outputs);
    return all;
  }
};

/// y = a + b of quantised tensors, quantised.
///
/// a, b, y  numpy broadcasting; each has a scale and a zero point, which may be absent
/// source   com.microsoft QLinearAdd-1
struct QLinearAdd {
  static constexpr OpId id{"com.microsoft", "QLinearAdd", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature =
      "a a_scale:S a_zero_point? b b_scale:S b_zero_point? y_scale:S y_zero_point? -> y";
  using types = TypeList<halftone::detail::QuantizedTypes, TypeList<float>>;

  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    const auto a = halftone::detail::real_number(inputs, 0);
    const auto b = halftone::detail::real_number(inputs, 3);
    return {halftone::detail::whole_number(AnyTensor(add(a, b)), inputs, 6, inputs[0].info().type)};
  }
};

/// y = a * b of quantised tensors, quantised.
///
/// a, b, y  as QLinearAdd's
/// source   com.microsoft QLinearMul-1
struct QLinearMul {
  static constexpr OpId id{"com.microsoft", "QLinearMul", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature =
      "a a_scale:S a_zero_point? b b_scale:S b_zero_point? y_scale:S y_zero_point? -> y";
  using types = TypeList<halftone::detail::QuantizedTypes, TypeList<float>>;

  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    const auto a = halftone::detail::real_number(inputs, 0);
    const auto b = halftone::detail::real_number(inputs, 3);
    return {halftone::detail::whole_number(AnyTensor(mul(a, b)), inputs, 6, inputs[0].info().type)};
  }
};

/// x or y, element by element as the condition says, of quantised tensors, quantised.
///
/// x, y, z  each has a scale and a zero point
/// source   com.microsoft QLinearWhere-1
struct QLinearWhere {
  static constexpr OpId id{"com.microsoft", "QLinearWhere", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature =
      "condition:B x x_scale:S x_zero_point y y_scale:S y_zero_point z_scale:S z_zero_point -> z";
  using types = TypeList<halftone::detail::QuantizedTypes, TypeList<bool>, TypeList<float>>;

  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    const auto x = halftone::detail::real_number(inputs, 1);
    const auto y = halftone::detail::real_number(inputs, 4);
    return {halftone::detail::whole_number(AnyTensor(where(inputs[0], x, y)), inputs, 7,
                                           inputs[1].info().type)};
  }
};

/// Sigmoid of a quantised tensor, quantised. source  com.microsoft QLinearSigmoid-1
struct QLinearSigmoid {
  static constexpr OpId id{"com.microsoft", "QLinearSigmoid", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x x_scale:S x_zero_point? y_scale:S y_zero_point? -> y";
  using types = TypeList<halftone::detail::QuantizedTypes, TypeList<float>>;

  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    return halftone::detail::requantized(inputs, [](const auto& x) { return sigmoid(x); });
  }
};

/// LeakyRelu of a quantised tensor, quantised. source  com.microsoft QLinearLeakyRelu-1
struct QLinearLeakyRelu {
  float alpha = 0.01f;

  static constexpr OpId id{"com.microsoft", "QLinearLeakyRelu", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x x_scale:S x_zero_point? y_scale:S y_zero_point? -> y";
  using types = TypeList<halftone::detail::QuantizedTypes, TypeList<float>>;

  constexpr void attributes(auto&& visit) { visit("alpha", alpha); }
  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    return halftone::detail::requantized(
        inputs, [&](const auto& x) { return leaky_relu(x, {.alpha = alpha}); });
  }
};

/// Softmax of a quantised tensor, quantised.
///
/// opset   below 13: over all dimensions from `axis` on together
/// source  com.microsoft QLinearSoftmax-1
struct QLinearSoftmax {
  std::int64_t axis = -1, opset = required;

  static constexpr OpId id{"com.microsoft", "QLinearSoftmax", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x x_scale:S x_zero_point? y_scale:S y_zero_point -> y";
  using types = TypeList<halftone::detail::QuantizedTypes, TypeList<float>>;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("opset", opset);
  }
  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    return halftone::detail::requantized(inputs, [&](const auto& x) {
      return opset < 13 ? Softmax_1{{.axis = axis}}.expand(x)
                        : AnyTensor(softmax(x, {.axis = axis}));
    });
  }
};

/// AveragePool of a quantised tensor, quantised.
///
/// channels_last  1: x and y are [batch, spatial..., channels]
/// source         com.microsoft QLinearAveragePool-1
struct QLinearAveragePool {
  AveragePool pool{};
  std::int64_t channels_last = 0;

  static constexpr OpId id{"com.microsoft", "QLinearAveragePool", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x x_scale:S x_zero_point? y_scale:S y_zero_point? -> y";
  using types = TypeList<halftone::detail::QuantizedTypes, TypeList<float>>;

  constexpr void attributes(auto&& visit) {
    pool.attributes(visit);
    visit("channels_last", channels_last);
  }
  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    return halftone::detail::requantized(inputs, [&](const auto& x) {
      if (channels_last == 0) return AnyTensor(average_pool(x, pool));
      const auto y = average_pool(halftone::detail::channels_first(x), pool);
      return AnyTensor(halftone::detail::channels_last(y, halftone::detail::known_rank(x)));
    });
  }
};

/// GlobalAveragePool of a quantised tensor, quantised.
///
/// channels_last  1: x and y are [batch, spatial..., channels]
/// source         com.microsoft QLinearGlobalAveragePool-1
struct QLinearGlobalAveragePool {
  std::int64_t channels_last = 0;

  static constexpr OpId id{"com.microsoft", "QLinearGlobalAveragePool", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x x_scale:S x_zero_point y_scale:S y_zero_point -> y";
  using types = TypeList<halftone::detail::QuantizedTypes, TypeList<float>>;

  constexpr void attributes(auto&& visit) { visit("channels_last", channels_last); }
  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    return halftone::detail::requantized(inputs, [&](const auto& x) {
      if (channels_last == 0) return AnyTensor(global_average_pool(x));
      const auto y = global_average_pool(halftone::detail::channels_first(x));
      return AnyTensor(halftone::detail::channels_last(y, halftone::detail::known_rank(x)));
    });
  }
};

/// ReduceMean of a quantised tensor, quantised. source  com.microsoft QLinearReduceMean-1
struct QLinearReduceMean {
  Dims axes{};
  std::int64_t keepdims = required;

  static constexpr OpId id{"com.microsoft", "QLinearReduceMean", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x x_scale:S x_zero_point? y_scale:S y_zero_point? -> y";
  using types = TypeList<halftone::detail::QuantizedTypes, TypeList<float>>;

  constexpr void attributes(auto&& visit) {
    visit("axes", axes);
    visit("keepdims", keepdims);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    return halftone::detail::requantized(inputs, [&](const auto& x) {
      return mean(x, constant(graph, axes), {.keepdims = keepdims});
    });
  }
};

/// Concat of quantised tensors, quantised.
///
/// inputs  three for each tensor: the tensor, its scale, its zero point
/// source  com.microsoft QLinearConcat-1
struct QLinearConcat {
  std::int64_t axis = required;

  static constexpr OpId id{"com.microsoft", "QLinearConcat", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "y_scale:S y_zero_point inputs:*... -> y";
  using types = TypeList<TypeList<float>, halftone::detail::QuantizedTypes>;

  constexpr void attributes(auto&& visit) { visit("axis", axis); }
  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    if (inputs.size() < 5 || inputs.size() % 3 != 2) {
      fail(ErrorKind::model, {.what = "QLinearConcat: a tensor comes without scale or zero point"});
    }
    Vector<AnyTensor> parts;
    for (std::size_t i = 2; i < inputs.size(); i += 3) {
      parts.push_back(halftone::detail::real_number(inputs, i));
    }
    return {halftone::detail::whole_number(AnyTensor(concat(parts, {.axis = axis})), inputs, 0,
                                           inputs[1].info().type)};
  }
};

/// QLinearConv, see there, whose zero points may be absent and whose channels may come last.
///
/// channels_last  1: x and y are [batch, spatial..., channels]; w is as Conv's
/// source         com.microsoft QLinearConv-1
struct MicrosoftQLinearConv {
  QLinearConv conv{};
  std::int64_t channels_last = 0;

  static constexpr OpId id{"com.microsoft", "QLinearConv", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature =
      "x:X x_scale:S x_zero_point:X w:W w_scale:S w_zero_point:W y_scale:S y_zero_point b:B? -> y";
  using types = QLinearConv::types;

  constexpr void attributes(auto&& visit) {
    conv.attributes(visit);
    visit("channels_last", channels_last);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, auto inputs, std::size_t) const {
    if (channels_last == 0) return conv.expand(graph, inputs, 1);
    const std::size_t rank = halftone::detail::known_rank(inputs[0]);
    inputs[0] = halftone::detail::channels_first(inputs[0]);
    return {halftone::detail::channels_last(conv.expand(graph, inputs, 1)[0], rank)};
  }
};

/// Gemm of quantised matrices: alpha * a_scale * b_scale * (a' b' less zero points + c), quantised
/// if y has a scale.
///
/// b_scale, b_zero_point  one number, or one for each column of b'
/// c                      int32 in units of alpha a_scale b_scale, broadcasts to y; may be absent
/// y_scale, y_zero_point  absent: y is float
/// source                 com.microsoft QGemm-1
struct QGemm {
  float alpha = 1;
  bool trans_a = false, trans_b = false;

  static constexpr OpId id{"com.microsoft", "QGemm", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature =
      "a:A a_scale:S a_zero_point:A b:B b_scale:S b_zero_point:B c:C? y_scale:S? y_zero_point:Y? "
      "-> y:Z";

  constexpr void attributes(auto&& visit) {
    visit("alpha", alpha);
    visit("transA", trans_a);
    visit("transB", trans_b);
  }
  constexpr Vector<AnyTensor> expand(auto&, auto inputs, std::size_t) const {
    using namespace halftone::detail;
    inputs[0] = product_operand(inputs[0], trans_a, false);
    inputs[3] = product_operand(inputs[3], trans_b, false);
    auto y = inputs[0];
    y = integer_product(inputs[0], inputs[3], inputs, 2, 5);
    if (is_given(inputs, 6)) {
      const ElementType type = y.info().is_known() ? y.info().type : ElementType::float64;
      y = add(as_type(y, type), as_type(inputs[6], type));
    }
    y = mul(as_type(y, ElementType::float32), mul(mul(inputs[1], inputs[4]), alpha));
    if (!is_given(inputs, 7)) return {y};
    const ElementType type = is_given(inputs, 8) ? inputs[8].info().type : inputs[0].info().type;
    return {whole_number(AnyTensor(y), inputs, 7, type)};
  }
};

/// (a - a_zero_point) * (b - b_zero_point) of 8-bit integers, int32.
///
/// source  com.microsoft MulInteger-1
struct MulInteger {
  static constexpr OpId id{"com.microsoft", "MulInteger", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "a a_zero_point? b b_zero_point? -> y:Y";
  using types = TypeList<halftone::detail::QuantizedTypes, TypeList<std::int32_t>>;

  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    const auto centered = [&](std::size_t i) {
      return halftone::detail::centered(inputs[i], inputs, i + 1, 0, ElementType::int32);
    };
    return {mul(centered(0), centered(2))};
  }
};

/// The sum of 8-bit integers over some dimensions, int32 or uint32. The types are given by what the
/// model says of y; without it int32.
///
/// source  com.microsoft ReduceSumInteger-1
struct ReduceSumInteger {
  Dims axes{};
  std::int64_t keepdims = required;

  static constexpr OpId id{"com.microsoft", "ReduceSumInteger", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x -> y:Y";
  using types = TypeList<halftone::detail::QuantizedTypes, TypeList<std::int32_t>>;

  constexpr void attributes(auto&& visit) {
    visit("axes", axes);
    visit("keepdims", keepdims);
  }
  constexpr AnyTensor expand(tensor_handle auto x) const {
    const ElementType type =
        x.info().type == ElementType::uint8 ? ElementType::uint32 : ElementType::int32;
    return sum(halftone::detail::as_type(x, type), constant(*x.graph, axes),
               {.keepdims = keepdims});
  }
};

/// The exact product of 16-bit matrices; y is int32. source  com.microsoft MatMulInteger16-1
struct MatMulInteger16 {
  static constexpr OpId id{"com.microsoft", "MatMulInteger16", 1};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "a b -> y:Y";
  using types = TypeList<TypeList<std::int16_t>, TypeList<std::int32_t>>;

  static constexpr AnyTensor expand(tensor_handle auto a, tensor_handle auto b) {
    const auto wide = [](const auto& x) {
      return halftone::detail::as_type(x, ElementType::float64);
    };
    return op::cast(matmul(wide(a), wide(b)), {.to = ElementType::int32});
  }
};

}  // namespace halftone::op

#endif
