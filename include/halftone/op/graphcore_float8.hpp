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
    if (!visit_type<Float8Types>(to, []<class>() {})) {
      return Inferred::mismatch("'to' is no float8 type", 0, static_cast<std::int64_t>(to));
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
}  // namespace halftone

#endif
