#pragma once

#include <halftone/forms.hpp>
#include <halftone/views.hpp>
#include <popxl/error.hpp>

/// PopXL's operators by their names, with its arguments and defaults, on Halftone's handles. What the
/// shape of a result depends on are template arguments, and the result is typed:
/// ops::transpose<1, 0>(x), ops::sum<0>(x), ops::concat<1>(x, y); or ordinary ones, of untyped
/// handles: ops::transpose(x, {1, 0}). Functions with a trailing _ change the tensor that they are
/// given, or give a view of it; operators that read it later see the new value.
///
/// errors  ModelError or ShapeError of the operator that does not take what it is given; ValueError
///         and TypeError as said
/// source  popxl.ops
namespace popxl::ops {

namespace op = halftone::op;
namespace var_updates = halftone::var_updates;
using halftone::AnyTensor, halftone::Dims, halftone::ElementType, halftone::Tensor,
    halftone::tensor_handle, halftone::typed_handle, halftone::apply, halftone::result;

// Operators that the library has in PopXL's form.
using namespace halftone::forms;
using halftone::forms::concat, halftone::forms::reshape, halftone::forms::slice,
    halftone::forms::split, halftone::forms::squeeze;
using op::abs, op::add, op::batch_norm_inference, op::ceil, op::clip, op::cos, op::detach, op::div,
    op::equal, op::exp, op::floor, op::gelu, op::greater, op::identity, op::interpolate,
    op::ipu_copy, op::isfinite, op::isinf, op::isnan, op::lamb_square, op::layer_norm, op::log,
    op::log2, op::logical_and, op::logical_not, op::logical_or, op::mul,
    op::nll_loss_with_softmax_grad, op::pow, op::relu, op::sign, op::sin, op::split_random_seed,
    op::sqrt, op::sub, op::swish, op::tanh;
inline constexpr auto& clamp = op::clip;
inline constexpr auto& geluerf = op::gelu_erf;
inline constexpr auto& negate = op::neg;

/// x on the other tiles of its IPU: those for compute if it is on those for IO, or the other way round.
AnyTensor io_tile_copy(const AnyTensor& x);
template <typed_handle X>
X io_tile_copy(const X& x) {
  return {x.graph, io_tile_copy(AnyTensor(x)).id};
}
/// x in another element type: cast<half>(x), or of any type that is known at run time.
///
/// errors  TypeError: float8, which pow2scale_cast_to_fp8 makes
template <class T, tensor_handle X>
result<op::Cast{.to = halftone::element_type<T>}, X> cast(const X& x) {
  static_assert(
      !std::same_as<T, halftone::float8_e4m3fnuz> && !std::same_as<T, halftone::float8_e5m2fnuz>,
      "popxl: pow2scale_cast_to_fp8 makes float8 numbers, cast does not");
  return apply<op::Cast{.to = halftone::element_type<T>}>(x);
}
AnyTensor cast(const AnyTensor& x, ElementType type);

// --- shapes that are known at run time ---------------------------------------------------------------

/// errors  ValueError: an extent of 0 or below -1 (typed: a message of the compiler)
AnyTensor reshape(const AnyTensor& x, const Dims& shape);
/// errors  ValueError: an axis that is out of range, given twice, or not of extent 1
AnyTensor squeeze(const AnyTensor& x, const Dims& axes);
/// Along several axes; without `axis` the first ones, without `step` steps of 1.
///
/// errors  ValueError: a step that is not 1 or -1, lists of different lengths
AnyTensor slice(const AnyTensor& x, const Dims& start, const Dims& stop, const Dims& step = {},
                const Dims& axis = {});
/// errors  ValueError: the extent cannot be divided by n, or is not the sum of the sizes
std::vector<AnyTensor> split(const AnyTensor& x, std::int64_t n, std::int64_t axis = 0);
std::vector<AnyTensor> split(const AnyTensor& x, const Dims& sizes, std::int64_t axis = 0);
/// errors  TypeError: element types that differ
AnyTensor concat(std::span<const AnyTensor> tensors, std::int64_t axis = 0);

// --- in place ----------------------------------------------------------------------------------------

// name_(x, arguments...) changes x to name(x, arguments...).
#define POPXL_IN_PLACE(name)                                                    \
  template <tensor_handle X, class... A>                                        \
  X name##_(const X& x, const A&... arguments) {                                \
    return {x.graph, halftone::change(AnyTensor(x), name(x, arguments...)).id}; \
  }
POPXL_IN_PLACE(add)
POPXL_IN_PLACE(exp)
POPXL_IN_PLACE(gelu)
POPXL_IN_PLACE(geluerf)
POPXL_IN_PLACE(increment_mod)
POPXL_IN_PLACE(relu)
POPXL_IN_PLACE(scaled_add)
POPXL_IN_PLACE(swish)
#undef POPXL_IN_PLACE
template <tensor_handle X>
X dynamic_update_(const X& x, const AnyTensor& index, const AnyTensor& update, const Dims& axes,
                  const Dims& sizes, bool no_overlap) {
  const AnyTensor y = dynamic_update(AnyTensor(x), index, update, axes, sizes, no_overlap);
  return {x.graph, halftone::change(AnyTensor(x), y).id};
}

// name_<how...>(x...), or name_(x, how...), gives a view: a change of it is a change of x, and the other
// way round. Shapes share memory; for parts and another order of the elements changes are copied, see
// halftone/views.hpp.
#define POPXL_VIEW(name)                         \
  template <auto... How, class... X>             \
  auto name##_(const X&... x) {                  \
    if constexpr (sizeof...(How) == 0) {         \
      return halftone::tied(name(x...));         \
    } else {                                     \
      return halftone::tied(name<How...>(x...)); \
    }                                            \
  }
POPXL_VIEW(concat)
POPXL_VIEW(flatten)
POPXL_VIEW(reshape)
POPXL_VIEW(slice)
POPXL_VIEW(transpose)
#undef POPXL_VIEW
template <tensor_handle X>
auto detach_(const X& x) {
  return halftone::tied(detach(x));
}

// --- float8 ------------------------------------------------------------------------------------------

/// x * 2^log2_scale as float8: E is float8_e4m3fnuz (PopXL's float8_143) or float8_e5m2fnuz (152).
///
/// log2_scale  an int32 scalar in [-32, 32)
/// errors      ValueError: it is no scalar; TypeError: it is not int32
void check_log2_scale(const AnyTensor& log2_scale);
template <class E, tensor_handle X, tensor_handle L>
auto pow2scale_cast_to_fp8(const X& x, const L& log2_scale) {
  check_log2_scale(log2_scale);
  return apply<op::Pow2ScaleThenCast{.to = halftone::element_type<E>}>(x, log2_scale);
}
/// x * 2^log2_scale of float8 numbers.
template <class E = halftone::half, tensor_handle X, tensor_handle L>
auto pow2scale_cast_from_fp8(const X& x, const L& log2_scale) {
  check_log2_scale(log2_scale);
  return apply<op::CastThenPow2Scale{.to = halftone::element_type<E>}>(x, log2_scale);
}
/// Products of float8 numbers, times 2^log2_scale, as half.
AnyTensor matmul_pow2scaled(const AnyTensor& a, const AnyTensor& b, const AnyTensor& log2_scale);
AnyTensor conv_pow2scaled(const AnyTensor& x, const AnyTensor& w, const AnyTensor& log2_scale,
                          const Window& how = {});
AnyTensor conv_transpose_pow2scaled(const AnyTensor& x, const AnyTensor& w,
                                    const AnyTensor& log2_scale, const Window& how = {});

}  // namespace popxl::ops
