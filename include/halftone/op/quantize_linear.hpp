#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_QUANTIZE_LINEAR_HPP
#define HALFTONE_OP_QUANTIZE_LINEAR_HPP

namespace halftone::detail {

/// Whether a node of these inputs has the i-th one.
constexpr bool is_given(const auto& inputs, std::size_t i) {
  return i < inputs.size() && !inputs[i].is_absent();
}

/// The numbers of a vector along dimension `axis` of a tensor of `rank` dimensions: [n, 1...].
/// Anything but a vector stays as it is.
template <class X>
X along(X numbers, std::size_t axis, std::size_t rank) {
  if (numbers.info().rank() != 1 || rank == 0 || axis + 1 >= rank) return numbers;
  Dims behind;
  for (std::size_t i = axis + 1; i < rank; ++i) {
    behind.push_back(static_cast<std::int64_t>(behind.size()) + 1);
  }
  return op::unsqueeze(numbers, constant(*numbers.graph, behind));
}

/// The dimension that numbers of a quantised tensor belong to. One for each index needs a tensor of
/// known rank.
template <class X>
std::size_t quantized_axis(const X& x, const X& numbers, std::int64_t axis) {
  const bool is_vector = numbers.info().rank() == 1 && numbers.info().shape[0] != 1;
  if (!numbers.info().is_known() || (is_vector && !x.info().is_known())) {
    fail(ErrorKind::unsupported, {.what = "quantised: the rank of a tensor is not known"});
  }
  const std::size_t rank = x.info().rank(), at = normalized_axis(axis, rank);
  if (is_vector && at == rank) {
    fail(ErrorKind::model, {.what = "quantised: axis is out of range"});
  }
  return at;
}

template <class X>
X as_type(const X& x, ElementType type) {
  return x.info().type == type ? x : X(op::cast(x, op::Cast{.to = type}));
}

/// x (in float) by `scale`, rounded, plus `zero_point` (in float or absent), as `type`.
template <class X>
X quantized(const X& x, const X& scale, const X& zero_point, ElementType type, bool saturate) {
  X y = op::div(x, scale);
  if (is_integer(type)) y = op::round(y);
  if (!zero_point.is_absent()) y = op::add(y, zero_point);
  return op::cast(y, op::Cast{.to = type, .saturate = saturate});
}

}  // namespace halftone::detail

namespace halftone::op {

/// y = x / scale, to nearest, ties to even, plus the zero point; what is out of range becomes the
/// nearest number of y's type, NaN 0. Recorded as these operators.
///
/// x                  any shape; half, bfloat16 and int32 become float
/// scale, zero_point  one number, or a vector with one for each index of dimension `axis`
/// y                  of zero_point's type; without it uint8. float8 is not rounded to whole
///                    numbers
/// saturate           see Cast, for float8
/// limits             vectors need an x of known rank
/// source             ai.onnx QuantizeLinear-19, without blocks
struct QuantizeLinear {
  std::int64_t axis = 1;
  bool saturate = true;

  static constexpr OpId id{"ai.onnx", "QuantizeLinear", 10, 13, 19};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x:X scale:S zero_point? -> y";
  using types = TypeList<
      Joined<TypeList<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t>, Float8Types>,
      TypeList<float, half, bfloat16, std::int32_t>, TypeList<float, half, bfloat16, std::int32_t>>;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("saturate", saturate);
  }
  std::vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    const auto x = inputs[0], scale = inputs[1];
    const std::size_t rank = x.info().rank();
    const std::size_t at = halftone::detail::quantized_axis(x, scale, axis);
    auto zero_point = x;
    zero_point = {&graph, no_tensor};
    ElementType type = ElementType::uint8;
    const auto parameter = [&](const auto& numbers) {
      return halftone::detail::along(halftone::detail::as_type(numbers, ElementType::float32), at,
                                     rank);
    };
    if (halftone::detail::is_given(inputs, 2)) {
      type = inputs[2].info().type;
      zero_point = parameter(inputs[2]);
    }
    return {halftone::detail::quantized(halftone::detail::as_type(x, ElementType::float32),
                                        parameter(scale), zero_point, type, saturate)};
  }
};

/// y = (x - zero_point) * scale, recorded as these operators.
///
/// x                  any shape
/// scale, zero_point  one number, or a vector with one for each index of dimension `axis`; the zero
///                    point may be absent
/// y                  of scale's type, computed in float; x - zero_point of int32 wraps around
/// limits             vectors need an x of known rank
/// source             ai.onnx DequantizeLinear-19, without blocks
struct DequantizeLinear {
  std::int64_t axis = 1;

  static constexpr OpId id{"ai.onnx", "DequantizeLinear", 10, 13, 19};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x:X scale zero_point:X? -> y";
  using types = TypeList<
      TypeList<float, half, bfloat16>,
      Joined<TypeList<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t>,
             Float8Types>>;

  constexpr void attributes(auto&& visit) { visit("axis", axis); }
  std::vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    const auto x = inputs[0], scale = inputs[1];
    const std::size_t rank = x.info().rank();
    const std::size_t at = halftone::detail::quantized_axis(x, scale, axis);
    const ElementType type =
        x.info().type == ElementType::int32 ? ElementType::int32 : ElementType::float32;
    auto y = halftone::detail::as_type(x, type);
    if (halftone::detail::is_given(inputs, 2)) {
      y = sub(y, halftone::detail::along(halftone::detail::as_type(inputs[2], type), at, rank));
    }
    y = mul(
        halftone::detail::as_type(y, ElementType::float32),
        halftone::detail::along(halftone::detail::as_type(scale, ElementType::float32), at, rank));
    return {halftone::detail::as_type(y, scale.info().type)};
  }
};

/// QuantizeLinear to uint8 with the scale and zero point that fit x and have 0 in their range.
///
/// x                  any shape
/// scale, zero_point  scalars: the range of x and 0 divided by 255, and what 0 becomes
/// limits             without a number but 0 the scale is 0, and so are y and zero_point
/// source             ai.onnx DynamicQuantizeLinear-11
struct DynamicQuantizeLinear {
  static constexpr OpId id{"ai.onnx", "DynamicQuantizeLinear", 11};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x -> y:Y scale zero_point:Y";
  using types = TypeList<TypeList<float>, TypeList<std::uint8_t>>;

  std::vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t outputs) const {
    auto x = inputs[0], low = x, high = x, scale = x, zero_point = x, y = x;
    low = minimum(min(x, ReduceMin{.keepdims = 0}), 0.f);
    high = maximum(max(x, ReduceMax{.keepdims = 0}), 0.f);
    scale = div(sub(high, low), 255.f);
    zero_point = round(clip(div(neg(low), scale), 0.f, 255.f));
    const auto target = halftone::detail::as_type(zero_point, ElementType::uint8);
    y = halftone::detail::quantized(x, scale,
                                    halftone::detail::as_type(target, ElementType::float32),
                                    ElementType::uint8, true);
    std::vector<AnyTensor> all{y, scale, target};
    if (outputs < all.size()) all.resize(outputs);
    return all;
  }
};

}  // namespace halftone::op

#endif
