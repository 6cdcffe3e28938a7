#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_FLOAT8_HPP
#define HALFTONE_OP_GRAPHCORE_FLOAT8_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone {

namespace detail {

/// 2^exponent for exponents in [-32, 32), those outside count as the nearest.
constexpr float power_of_two(std::int32_t exponent) {
  const int n = exponent < -32 ? -32 : exponent > 31 ? 31 : exponent;
  const float power = static_cast<float>(std::uint64_t{1} << (n < 0 ? -n : n));
  return n < 0 ? 1 / power : power;
}

constexpr Inferred infer_scaled(TensorInfo x, TensorInfo log2_scale, ElementType to) {
  if (log2_scale.elements() != dynamic && log2_scale.elements() != 1) {
    return Inferred::mismatch("the exponent is not a scalar", 1, log2_scale.elements());
  }
  return TensorInfo{to, x.shape};
}

}  // namespace detail

namespace op {

/// y = x * 2^log2_scale of float8 numbers.
///
/// x            any shape, float8
/// log2_scale   int32, one element, in [-32, 32)
/// to           element type of y: half or float; PopART makes half whatever it says
/// source       ai.graphcore CastThenPow2Scale-1
struct CastThenPow2Scale {
  ElementType to = ElementType::float16;

  static constexpr OpId id{"ai.graphcore", "CastThenPow2Scale", 1};
  static constexpr Signature signature = "x log2_scale:I -> y:U";
  using types = TypeList<Float8Types, TypeList<std::int32_t>, TypeList<half, float>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("to", to); }
  static constexpr void cost(auto& machine, auto in, auto out) { machine.cast(in[0], out[0].type); }
  constexpr Inferred infer(TensorInfo x, TensorInfo log2_scale) const {
    if (to != ElementType::float16 && to != ElementType::float32) {
      return Inferred::mismatch("'to' is not half or float", 0, static_cast<std::int64_t>(to));
    }
    return halftone::detail::infer_scaled(x, log2_scale, to);
  }
  template <class X, class I, class U>
  void kernel(View<const X> x, View<const I> log2_scale, View<U> y) const {
    const float factor = halftone::detail::power_of_two(log2_scale[0]);
    const std::int64_t n = x.size();
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<U>(static_cast<float>(x[i]) * factor);
  }
};

/// y = x * 2^log2_scale, as float8 numbers: to nearest, the largest number for what is too large.
///
/// x            any shape, half or float
/// log2_scale   int32, one element, in [-32, 32)
/// to           element type of y, required: float8; PopART's are float8e4m3fnuz and float8e5m2fnuz
/// source       ai.graphcore Pow2ScaleThenCast-1
struct Pow2ScaleThenCast {
  ElementType to = ElementType::undefined;

  static constexpr OpId id{"ai.graphcore", "Pow2ScaleThenCast", 1};
  static constexpr Signature signature = "x log2_scale:I -> y:U";
  using types = TypeList<TypeList<half, float>, TypeList<std::int32_t>, Float8Types>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("to", to); }
  static constexpr void cost(auto& machine, auto in, auto out) { machine.cast(in[0], out[0].type); }
  constexpr Inferred infer(TensorInfo x, TensorInfo log2_scale) const {
    if (!has_type(Float8Types{}, to)) {
      return Inferred::types("'to' is no float8 type", ElementType::undefined, to);
    }
    return halftone::detail::infer_scaled(x, log2_scale, to);
  }
  template <class X, class I, class U>
  void kernel(View<const X> x, View<const I> log2_scale, View<U> y) const {
    const float factor = halftone::detail::power_of_two(log2_scale[0]);
    const std::int64_t n = x.size();
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<U>(static_cast<float>(x[i]) * factor);
  }
};

}  // namespace op

namespace detail {

/// A product of float8 numbers times a power of two, made of the product of floats, which have room
/// for the factors' exponents. The importer finds it by its name, that of the product and Pow2Scaled.
template <class Product>
struct Float8Product {
  Product product{};

  static constexpr Signature signature = "a b log2_scale -> y";
  static constexpr bool differentiable = false;

  constexpr void attributes(auto&& visit) {
    if constexpr (has_attributes<Product>) product.attributes(visit);
  }
  constexpr AnyTensor expand(tensor_handle auto a, tensor_handle auto b,
                             tensor_handle auto log2_scale) const {
    const auto zero = constant<std::int32_t>(*b.graph, std::vector<std::int32_t>{0}, Dims{});
    const auto from = [](auto x, auto log2) {
      return op::pow2scale_cast_from_fp8(x, log2, {.to = ElementType::float32});
    };
    return op::cast(OpFunction<Product>()(from(a, log2_scale), from(b, zero), product),
                    {.to = ElementType::float16});
  }
};

}  // namespace detail

namespace op {

/// y = a b 2^log2_scale, the matrix product of float8 numbers. In models it is an ai.onnx MatMul of
/// float8 numbers with that third input.
///
/// a, b         as of MatMul; float8, of one type or of two
/// log2_scale   int32, one element, in [-32, 32)
/// y            half
/// grad         none, as in PopART
/// limits       sums in float and rounds once; PopART sums in half
/// source       popxl.ops.matmul_pow2scaled
struct MatMulPow2Scaled : halftone::detail::Float8Product<MatMul> {
  static constexpr OpId id{"halftone", "MatMulPow2Scaled", 1};
};

/// y = Conv(a, b) 2^log2_scale of float8 numbers; without bias, else as MatMulPow2Scaled.
/// source  popxl.ops.conv_pow2scaled
struct ConvPow2Scaled : halftone::detail::Float8Product<Conv> {
  static constexpr OpId id{"halftone", "ConvPow2Scaled", 1};
};

/// y = ConvTranspose(a, b) 2^log2_scale of float8 numbers; without bias, else as MatMulPow2Scaled.
/// source  popxl.ops.conv_transpose_pow2scaled
struct ConvTransposePow2Scaled : halftone::detail::Float8Product<ConvTranspose> {
  static constexpr OpId id{"halftone", "ConvTransposePow2Scaled", 1};
};

/// The functions of these products; `how` is Conv's or ConvTranspose's.
constexpr AnyTensor matmul_pow2scaled(auto a, auto b, auto log2_scale) {
  return MatMulPow2Scaled().expand(a, b, log2_scale);
}
constexpr AnyTensor conv_pow2scaled(auto x, auto w, auto log2_scale, const Conv& how = {}) {
  return ConvPow2Scaled{{how}}.expand(x, w, log2_scale);
}
constexpr AnyTensor conv_transpose_pow2scaled(auto x, auto w, auto log2_scale,
                                              const ConvTranspose& how = {}) {
  return ConvTransposePow2Scaled{{how}}.expand(x, w, log2_scale);
}

}  // namespace op
}  // namespace halftone

#endif
