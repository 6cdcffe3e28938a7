#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_QUANTIZE_LINEAR_HPP
#define HALFTONE_OP_QUANTIZE_LINEAR_HPP

namespace halftone::detail {

/// Elements of 8-bit integer products.
using QuantizedTypes = TypeList<std::int8_t, std::uint8_t>;

/// Whether a node of these inputs has the i-th one.
constexpr bool is_given(const auto& inputs, std::size_t i) {
  return i < inputs.size() && !inputs[i].is_absent();
}

/// The numbers of a vector along dimension `axis` of a tensor of `rank` dimensions: [n, 1...].
/// Anything but a vector stays as it is.
template <class X>
constexpr X along(X numbers, std::size_t axis, std::size_t rank) {
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
constexpr std::size_t quantized_axis(const X& x, const X& numbers, std::int64_t axis) {
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
constexpr X as_type(const X& x, ElementType type) {
  return x.info().type == type ? x : X(op::cast(x, op::Cast{.to = type}));
}

/// x (in floating point) by `scale`, rounded, plus `zero_point` (in float or absent), as `type`.
template <class X>
constexpr X quantized(const X& x, const X& scale, const X& zero_point, ElementType type,
                      bool saturate) {
  X y = op::div(x, scale);
  if (is_integer(type)) y = op::round(y);
  if (!zero_point.is_absent()) y = op::add(as_type(y, ElementType::float32), zero_point);
  if (is_integer(type) && size_in_bits(type) < 8) {
    // Cast keeps the low bits of what is out of range here.
    const auto range = static_cast<float>(1 << size_in_bits(type));
    const float lowest = is_signed(type) ? -range / 2 : 0;
    y = op::clip(y, lowest, lowest + range - 1);
  }
  return op::cast(y, op::Cast{.to = type, .saturate = saturate});
}

/// Which numbers of a scale or zero point belong to which elements of x.
template <class X>
class QuantizedParts {
 public:
  constexpr QuantizedParts(const X& x, const X& scale, std::int64_t axis, std::int64_t block_size)
      : x_(x), block_(block_size) {
    // A scale of x's rank has numbers for blocks, unless it has one number.
    const TensorInfo info = scale.info();
    if (block_size < 0) fail(ErrorKind::model, {.what = "quantised: block_size is negative"});
    is_blocked_ = block_size > 0 && info.rank() > 0 && info.elements() != 1;
    if (!is_blocked_) {
      axis_ = quantized_axis(x, scale, axis);
      return;
    }
    if (!x.info().is_known() || !info.is_known()) {
      fail(ErrorKind::unsupported, {.what = "quantised: the rank of a tensor is not known"});
    }
    axis_ = normalized_axis(axis, x.info().rank());
    if (axis_ == x.info().rank()) {
      fail(ErrorKind::model, {.what = "quantised: axis is out of range"});
    }
    if (info.rank() != x.info().rank()) {
      fail(ErrorKind::model, {.what = "quantised: the scales of blocks have another rank than x"});
    }
    for (std::size_t i = 0; i < info.rank(); ++i) {
      std::int64_t extent = x.info().shape[i];
      if (i == axis_ && extent != dynamic) extent = (extent + block_size - 1) / block_size;
      if (contradict(extent, info.shape[i])) {
        fail(ErrorKind::model, {.what = "quantised: block_size does not fit the scales"});
      }
    }
  }

  /// The numbers in a shape that broadcasts to that of x.
  constexpr X operator()(const X& numbers) const {
    // One number of more dimensions than x would give the result dimensions that x does not have.
    if (numbers.info().elements() == 1 && x_.info().is_known() &&
        numbers.info().rank() > x_.info().rank()) {
      return op::reshape(numbers, constant(*numbers.graph, Dims{}));
    }
    if (!is_blocked_) return along(numbers, axis_, x_.info().rank());
    if (numbers.info().rank() != x_.info().rank()) {
      fail(ErrorKind::model, {.what = "quantised: a zero point has another rank than the scale"});
    }
    Graph& graph = *numbers.graph;
    const std::int64_t extent = x_.info().shape[axis_], blocks = numbers.info().shape[axis_];
    const auto axis = static_cast<std::int64_t>(axis_);
    if (extent == dynamic && blocks == dynamic) {
      fail(ErrorKind::unsupported, {.what = "quantised: the number of blocks is not known"});
    }
    if (extent != dynamic && block_ >= extent) return numbers;  // one block
    std::vector<std::int64_t> block_of;
    const std::int64_t count = extent != dynamic ? extent : product(Dims{blocks, block_});
    if (count > most) fail(ErrorKind::unsupported, {.what = "quantised: too many blocks"});
    for (std::int64_t i = 0; i < count; ++i) block_of.push_back(i / block_);
    const std::span<const std::int64_t> indices = block_of;
    const X repeated = op::gather(numbers, constant(graph, indices, {count}), {.axis = axis});
    if (extent != dynamic) return repeated;
    return op::slice(repeated, constant(graph, Dims{0}),
                     op::shape_of(x_, {.start = axis, .end = axis + 1}),
                     constant(graph, Dims{axis}));
  }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 28;

  X x_;
  std::int64_t block_;
  std::size_t axis_ = 0;
  bool is_blocked_ = false;
};

}  // namespace halftone::detail

namespace halftone::op {

/// What numbers are quantised to.
using QuantizedElements =
    Joined<Joined<TypeList<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t>, Float8Types>,
           TypeList<int4, uint4, int2, uint2, float4_e2m1, float6_e2m3, float6_e3m2>>;

/// y = x / scale, to nearest, ties to even, plus the zero point; what is out of range becomes the
/// nearest number of y's type, NaN 0. Recorded as these operators.
///
/// x                  any shape
/// scale, zero_point  one number, a vector with one for each index of dimension `axis`, or, with a
///                    block_size, a tensor with one for each block of so many indices
/// output_dtype       element type of y; undefined: zero_point's, without it uint8. Only integers
///                    are rounded to whole numbers
/// precision          type in which x is divided; undefined: half or bfloat16 if x and scale both
///                    are, else float
/// saturate           see Cast, for float8
/// limits             vectors need an x of known rank, blocks one with a known number of blocks
/// source             ai.onnx QuantizeLinear-28
struct QuantizeLinear {
  std::int64_t axis = 1, block_size = 0;
  ElementType output_dtype = ElementType::undefined, precision = ElementType::undefined;
  bool saturate = true;

  static constexpr OpId id{"ai.onnx", "QuantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x:X scale:S zero_point? -> y";
  using types = TypeList<QuantizedElements, TypeList<float, half, bfloat16, std::int32_t>,
                         TypeList<float, half, bfloat16, std::int32_t, float8_e8m0>>;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("block_size", block_size);
    visit("output_dtype", output_dtype);
    visit("precision", precision);
    visit("saturate", saturate);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    const auto x = inputs[0], scale = inputs[1];
    const halftone::detail::QuantizedParts parts(x, scale, axis, block_size);
    auto zero_point = x;
    zero_point = {&graph, no_tensor};
    ElementType type = output_dtype;
    if (halftone::detail::is_given(inputs, 2)) {
      const ElementType given = inputs[2].info().type;
      if (type != ElementType::undefined && given != ElementType::undefined && type != given) {
        fail(ErrorKind::model, {.what = "quantised: output_dtype is not the zero point's type"});
      }
      type = given;
      zero_point = parts(halftone::detail::as_type(inputs[2], ElementType::float32));
    }
    if (type == ElementType::undefined) type = ElementType::uint8;
    if (!is_quantized(type)) {
      fail(ErrorKind::unsupported, {.what = "quantised: element type is not offered"});
    }
    const ElementType divided = division(x.info().type, scale.info().type);
    return {halftone::detail::quantized(halftone::detail::as_type(x, divided),
                                        parts(halftone::detail::as_type(scale, divided)),
                                        zero_point, type, saturate)};
  }

 private:
  static constexpr bool is_quantized(ElementType type) { return has_type(types_of(types{}), type); }
  template <class First, class... Rest>
  static constexpr First types_of(TypeList<First, Rest...>) {
    return {};
  }
  /// The type in which x is divided.
  constexpr ElementType division(ElementType x, ElementType scale) const {
    if (precision != ElementType::undefined) {
      if (!has_type(FloatTypes{}, precision)) {
        fail(ErrorKind::unsupported, {.what = "quantised: precision is not offered"});
      }
      return precision;
    }
    const bool is_half = scale == ElementType::float16 || scale == ElementType::bfloat16;
    return is_half && x == scale ? scale : ElementType::float32;
  }
};

/// y = (x - zero_point) * scale, recorded as these operators.
///
/// x                  any shape
/// scale, zero_point  one number, a vector with one for each index of dimension `axis`, or, with a
///                    block_size, a tensor with one for each block of so many indices; the zero
///                    point may be absent
/// output_dtype       element type of y; undefined: that of scale. It is computed in float;
///                    x - zero_point of int32 wraps around
/// limits             vectors need an x of known rank, blocks one with a known number of blocks
/// source             ai.onnx DequantizeLinear-28
struct DequantizeLinear {
  std::int64_t axis = 1, block_size = 0;
  ElementType output_dtype = ElementType::undefined;

  static constexpr OpId id{"ai.onnx", "DequantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x:X scale zero_point:X? -> y";
  using types = TypeList<TypeList<float, half, bfloat16, float8_e8m0>,
                         Joined<QuantizedElements, TypeList<std::int32_t>>>;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("block_size", block_size);
    visit("output_dtype", output_dtype);
  }
  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    const auto x = inputs[0], scale = inputs[1];
    const halftone::detail::QuantizedParts parts(x, scale, axis, block_size);
    const ElementType to =
        output_dtype == ElementType::undefined ? scale.info().type : output_dtype;
    if (!has_type(TypeList<float, half, bfloat16>{}, to)) {
      fail(ErrorKind::unsupported, {.what = "dequantised: output_dtype is not offered"});
    }
    const ElementType type =
        x.info().type == ElementType::int32 ? ElementType::int32 : ElementType::float32;
    auto y = halftone::detail::as_type(x, type);
    if (halftone::detail::is_given(inputs, 2)) {
      y = sub(y, parts(halftone::detail::as_type(inputs[2], type)));
    }
    y = mul(halftone::detail::as_type(y, ElementType::float32),
            parts(halftone::detail::as_type(scale, ElementType::float32)));
    return {halftone::detail::as_type(y, to)};
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

  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t outputs) const {
    auto x = inputs[0], low = x, high = x, scale = x, zero_point = x, y = x;
    low = minimum(min(x, ReduceMin{.keepdims = 0}), 0.f);
    high = maximum(max(x, ReduceMax{.keepdims = 0}), 0.f);
    scale = div(sub(high, low), 255.f);
    zero_point = round(clip(div(neg(low), scale), 0.f, 255.f));
    const auto target = halftone::detail::as_type(zero_point, ElementType::uint8);
    y = halftone::detail::quantized(x, scale,
                                    halftone::detail::as_type(target, ElementType::float32),
                                    ElementType::uint8, true);
    Vector<AnyTensor> all{y, scale, target};
    if (outputs < all.size()) all.resize(outputs);
    return all;
  }
};

}  // namespace halftone::op

#endif
