#pragma once

#include <halftone/composed.hpp>
#include <halftone/graph/planning.hpp>
#include <halftone/op/list.hpp>
#include <halftone/var_updates.hpp>
#include <popxl/error.hpp>

/// PopXL's operators by their names, with its arguments and defaults, on Halftone's handles. What the
/// shape of a result depends on are template arguments, and the result is typed:
/// ops::transpose<1, 0>(x), ops::sum<0>(x), ops::concat<1>(x, y); or ordinary ones, of untyped
/// handles: ops::transpose(x, {1, 0}). Functions with a trailing _ change the tensor that they are
/// given; operators that read it later see the new value.
///
/// errors  ModelError or ShapeError of the operator that does not take what it is given; ValueError
///         and TypeError as said
/// source  popxl.ops
namespace popxl::ops {

namespace op = halftone::op;
using halftone::AnyTensor;
using halftone::apply;
using halftone::Dims;
using halftone::ElementType;
using halftone::Integers;
using halftone::Planning;
using halftone::result;
using halftone::Shape;
using halftone::Tensor;
using halftone::tensor_handle;
using halftone::typed_handle;
using halftone::var_updates::Factor;
using op::Nll;

namespace detail {
/// x, changed to y.
template <tensor_handle X>
X changed(const X& x, const AnyTensor& y) {
  return {x.graph, op::copy_var_update(AnyTensor(x), y).id};
}
/// The numbers by which operators find things are int32 in PopXL.
template <class X>
auto numbers(const X& x) {
  return apply<op::Cast{.to = ElementType::int32}>(x);
}
void plan(const AnyTensor& y, const Planning& how);
}  // namespace detail

// A function for typed handles: that for untyped ones, whose result has x's type and shape.
#define POPXL_LIKE_X(name)                                 \
  template <typed_handle X, class... A>                    \
  X name(const X& x, const A&... arguments) {              \
    return {x.graph, name(AnyTensor(x), arguments...).id}; \
  }

// --- element by element ------------------------------------------------------------------------------

using op::abs, op::add, op::ceil, op::clip, op::cos, op::detach, op::div, op::equal, op::exp,
    op::floor, op::gelu, op::greater, op::identity, op::ipu_copy, op::isfinite, op::isinf,
    op::isnan, op::lamb_square, op::log, op::log2, op::logical_and, op::logical_not, op::logical_or,
    op::mul, op::pow, op::relu, op::sign, op::sin, op::sqrt, op::sub, op::swish, op::tanh;
inline constexpr auto& clamp = op::clip;
inline constexpr auto& geluerf = op::gelu_erf;
inline constexpr auto& io_tile_copy = op::identity;
inline constexpr auto& negate = op::neg;

/// (x + increment) modulo modulus.
AnyTensor increment_mod(const AnyTensor& x, float increment, float modulus);
POPXL_LIKE_X(increment_mod)
/// x under another name.
AnyTensor rename(const AnyTensor& x, std::string_view name);
POPXL_LIKE_X(rename)
/// Prints x in every run, under its title; gives x. `how` has PopXL's further arguments.
AnyTensor print_tensor(const AnyTensor& x, std::string_view title = {}, bool print_gradient = true,
                       const op::PrintTensor& how = {});
POPXL_LIKE_X(print_tensor)
/// a x + b y. x and y have one shape, the result x's type.
///
/// a, b  numbers, or tensors of one element
AnyTensor scaled_add(const AnyTensor& x, const AnyTensor& y, Factor a = 1.f, Factor b = 1.f);
POPXL_LIKE_X(scaled_add)

#define POPXL_IN_PLACE(name)                          \
  template <tensor_handle X, class... A>              \
  X name##_(const X& x, const A&... arguments) {      \
    return detail::changed(x, name(x, arguments...)); \
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

/// A view of x that gradients stop at: detach, too, shares x's memory.
template <tensor_handle X>
auto detach_(const X& x) {
  return detach(x);
}
/// The remainder with the sign of a.
template <class A, class B>
result<op::Mod{.fmod = 1}, A, B> fmod(const A& a, const B& b) {
  return apply<op::Mod{.fmod = 1}>(a, b);
}
/// The largest of tensors that are broadcast to one shape.
template <class A, class... More>
auto maximum(const A& a, const More&... more) {
  if constexpr (sizeof...(More) == 0) {
    return a;
  } else {
    return op::maximum(a, maximum(more...));
  }
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
/// a where the condition is not zero, else b.
template <typed_handle C, class A, class B>
auto where(const C& condition, const A& a, const B& b) {
  if constexpr (C::static_info.type == ElementType::boolean) {
    return op::where(condition, a, b);
  } else {
    return op::where(cast<bool>(condition), a, b);
  }
}
AnyTensor where(const AnyTensor& condition, const AnyTensor& a, const AnyTensor& b);

// --- reductions --------------------------------------------------------------------------------------

/// Has reductions keep the dimensions that they reduce, with extent 1: sum<0>(x, keepdims).
struct KeepDims {
  constexpr explicit KeepDims() = default;
};
inline constexpr KeepDims keepdims{};

// name<axes...>(x), all axes without any; name(x, {axes...}, true) of axes known at run time.
#define POPXL_REDUCTION(name, Op)                                        \
  template <std::int64_t... Axis, tensor_handle X>                       \
  result<op::Op{.keepdims = 0}, X, Integers<Axis...>> name(const X& x) { \
    return apply<op::Op{.keepdims = 0}>(x, Integers<Axis...>{});         \
  }                                                                      \
  template <std::int64_t... Axis, tensor_handle X>                       \
  result<op::Op{}, X, Integers<Axis...>> name(const X& x, KeepDims) {    \
    return apply<op::Op{}>(x, Integers<Axis...>{});                      \
  }                                                                      \
  AnyTensor name(const AnyTensor& x, const Dims& axis, bool keepdims = false);
POPXL_REDUCTION(sum, ReduceSum)
POPXL_REDUCTION(mean, ReduceMean)
POPXL_REDUCTION(max, ReduceMax)
POPXL_REDUCTION(min, ReduceMin)
POPXL_REDUCTION(prod, ReduceProd)
POPXL_REDUCTION(l1, ReduceL1)
POPXL_REDUCTION(l2, ReduceL2)
POPXL_REDUCTION(logsum, ReduceLogSum)
POPXL_REDUCTION(logsumexp, ReduceLogSumExp)
POPXL_REDUCTION(sumsquare, ReduceSumSquare)
#undef POPXL_REDUCTION

template <std::int64_t... Axis, tensor_handle X>
result<op::ReduceMedian{.axes = {Axis...}, .keepdims = 0}, X> median(const X& x) {
  return apply<op::ReduceMedian{.axes = {Axis...}, .keepdims = 0}>(x);
}
template <std::int64_t... Axis, tensor_handle X>
result<op::ReduceMedian{.axes = {Axis...}}, X> median(const X& x, KeepDims) {
  return apply<op::ReduceMedian{.axes = {Axis...}}>(x);
}
AnyTensor median(const AnyTensor& x, const Dims& axis, bool keepdims = false);
// Where the largest or smallest element is along a dimension, as int32.
#define POPXL_WHERE_EXTREME(name, Op)                                     \
  template <std::int64_t Dim = 0, tensor_handle X>                        \
  auto name(const X& x) {                                                 \
    return detail::numbers(apply<op::Op{.axis = Dim, .keepdims = 0}>(x)); \
  }                                                                       \
  template <std::int64_t Dim = 0, tensor_handle X>                        \
  auto name(const X& x, KeepDims) {                                       \
    return detail::numbers(apply<op::Op{.axis = Dim}>(x));                \
  }                                                                       \
  AnyTensor name(const AnyTensor& x, std::int64_t dim, bool keepdim = false);
POPXL_WHERE_EXTREME(argmax, ArgMax)
POPXL_WHERE_EXTREME(argmin, ArgMin)
#undef POPXL_WHERE_EXTREME
AnyTensor cumsum(const AnyTensor& x, std::int64_t dim = 0);
POPXL_LIKE_X(cumsum)
/// The k largest (or smallest) elements along an axis, and their places as int32.
template <std::int64_t K, std::int64_t Axis = -1, bool Largest = true, bool Sorted = true,
          tensor_handle X>
auto topk(const X& x) {
  constexpr op::TopK how{.axis = Axis, .largest = Largest, .sorted = Sorted};
  const auto [values, places] = apply<how>(x, Integers<K>{});
  return std::pair(values, detail::numbers(places));
}
std::pair<AnyTensor, AnyTensor> topk(const AnyTensor& x, std::int64_t k, std::int64_t axis,
                                     bool largest, bool sorted);
/// How many elements lie below, between and above levels, as uint32.
///
/// levels  increasing
AnyTensor histogram(const AnyTensor& x, std::span<const float> levels, bool absolute_of_input);
template <typed_handle X, std::size_t N>
Tensor<std::uint32_t, Shape<N + 1>> histogram(const X& x, const float (&levels)[N],
                                              bool absolute_of_input = false) {
  return {x.graph, histogram(AnyTensor(x), std::span(levels), absolute_of_input).id};
}

// --- shapes ------------------------------------------------------------------------------------------

/// errors  ValueError: an extent of 0 or below -1 (typed: a message of the compiler)
template <std::int64_t... Extent, tensor_handle X>
result<op::Reshape{}, X, Integers<Extent...>> reshape(const X& x) {
  static_assert(((Extent > 0 || Extent == -1) && ...),
                "popxl: an extent of reshape is positive, or -1 for what is left over");
  return op::reshape(x, Integers<Extent...>{});
}
AnyTensor reshape(const AnyTensor& x, const Dims& shape);
/// All elements in one dimension.
template <tensor_handle X>
result<op::Reshape{}, X, Integers<-1>> flatten(const X& x) {
  return op::reshape(x, Integers<-1>{});
}
/// Without axes their order is turned round.
template <std::int64_t... Axis, tensor_handle X>
result<op::Transpose{.perm = {Axis...}}, X> transpose(const X& x) {
  return apply<op::Transpose{.perm = {Axis...}}>(x);
}
AnyTensor transpose(const AnyTensor& x, const Dims& permutation);
/// Without axes all dimensions of extent 1 are removed.
template <std::int64_t... Axis, tensor_handle X>
  requires(sizeof...(Axis) > 0)
result<op::Squeeze{}, X, Integers<Axis...>> squeeze(const X& x) {
  return op::squeeze(x, Integers<Axis...>{});
}
template <tensor_handle X>
result<op::Squeeze{}, X> squeeze(const X& x) {
  return op::squeeze(x);
}
/// errors  ValueError: an axis that is out of range, given twice, or not of extent 1
AnyTensor squeeze(const AnyTensor& x, const Dims& axes);
/// Elements start, start + step, ... before stop, along one axis.
template <std::int64_t Start, std::int64_t Stop = INT64_MAX, std::int64_t Step = 1,
          std::int64_t Axis = 0, tensor_handle X>
result<op::Slice{}, X, Integers<Start>, Integers<Stop>, Integers<Axis>, Integers<Step>> slice(
    const X& x) {
  static_assert(Step == 1 || Step == -1, "popxl: a step of slice is 1 or -1; see subsample");
  return op::slice(x, Integers<Start>{}, Integers<Stop>{}, Integers<Axis>{}, Integers<Step>{});
}
/// The same along several axes; without `axis` the first ones, without `step` steps of 1.
///
/// errors  ValueError: a step that is not 1 or -1, lists of different lengths
AnyTensor slice(const AnyTensor& x, const Dims& start, const Dims& stop, const Dims& step = {},
                const Dims& axis = {});
/// Every stride-th element along each dimension.
template <std::int64_t... Stride, tensor_handle X>
result<op::Subsample{.strides = {Stride...}}, X> subsample(const X& x) {
  return apply<op::Subsample{.strides = {Stride...}}>(x);
}
AnyTensor subsample(const AnyTensor& x, const Dims& strides);
/// x in N equal parts along an axis: a tuple.
template <std::int64_t N, std::int64_t Axis = 0, tensor_handle X>
auto split(const X& x) {
  return apply<op::Split{.axis = Axis, .num_outputs = N}>(x);
}
/// errors  ValueError: the extent cannot be divided by n, or is not the sum of the sizes
std::vector<AnyTensor> split(const AnyTensor& x, std::int64_t n, std::int64_t axis = 0);
std::vector<AnyTensor> split(const AnyTensor& x, const Dims& sizes, std::int64_t axis = 0);
/// Joins tensors along an axis.
template <std::int64_t Axis = 0, tensor_handle... X>
result<op::Concat{.axis = Axis}, X...> concat(const X&... x) {
  return apply<op::Concat{.axis = Axis}>(x...);
}
/// errors  TypeError: element types that differ
AnyTensor concat(std::span<const AnyTensor> tensors, std::int64_t axis = 0);
/// The part of `sizes` along `axes` whose first element is at `index`.
template <class Axes, class Sizes, tensor_handle X, tensor_handle I>
auto dynamic_slice(const X& x, const I& index) {
  return []<std::int64_t... A, std::int64_t... S>(Integers<A...>, Integers<S...>, const X& from,
                                                  const I& at) {
    return apply<op::DynamicSlice{.axes = {A...}, .sizes = {S...}}>(from, at);
  }(Axes{}, Sizes{}, x, index);
}
AnyTensor dynamic_slice(const AnyTensor& x, const AnyTensor& index, const Dims& axes,
                        const Dims& sizes, bool no_overlap);
/// x with such a part replaced.
AnyTensor dynamic_update(const AnyTensor& x, const AnyTensor& index, const AnyTensor& update,
                         const Dims& axes, const Dims& sizes, bool no_overlap);
template <typed_handle X>
X dynamic_update(const X& x, const AnyTensor& index, const AnyTensor& update, const Dims& axes,
                 const Dims& sizes, bool no_overlap) {
  return {x.graph, dynamic_update(AnyTensor(x), index, update, axes, sizes, no_overlap).id};
}
template <tensor_handle X>
X dynamic_update_(const X& x, const AnyTensor& index, const AnyTensor& update, const Dims& axes,
                  const Dims& sizes, bool no_overlap) {
  return detail::changed(x, dynamic_update(x, index, update, axes, sizes, no_overlap));
}

// Forms in place of what gives a part or another order of x. Reshaped tensors share x's memory anyway;
// the others are copies, so that a change of the result leaves x as it is.
#define POPXL_VIEW(name)                 \
  template <auto... How, class... X>     \
  auto name##_(const X&... x) {          \
    if constexpr (sizeof...(How) == 0) { \
      return name(x...);                 \
    } else {                             \
      return name<How...>(x...);         \
    }                                    \
  }
POPXL_VIEW(reshape)
POPXL_VIEW(flatten)
POPXL_VIEW(transpose)
POPXL_VIEW(slice)
POPXL_VIEW(concat)
#undef POPXL_VIEW

// --- by indices --------------------------------------------------------------------------------------

/// Slices of x along an axis, by their numbers. zero_OOR: numbers that are out of range give zeros.
/// tied_gather is for a table that a product takes, too.
template <std::int64_t Axis = 0, tensor_handle X, tensor_handle I>
result<op::Gather{.axis = Axis}, X, I> gather(const X& x, const I& indices) {
  return apply<op::Gather{.axis = Axis}>(x, indices);
}
AnyTensor gather(const AnyTensor& x, const AnyTensor& indices, std::int64_t axis,
                 bool zero_OOR = false);
template <std::int64_t Axis = 0, tensor_handle X, tensor_handle I>
result<op::Gather{.axis = Axis}, X, I> tied_gather(const X& x, const I& indices) {
  return gather<Axis>(x, indices);
}
AnyTensor tied_gather(const AnyTensor& x, const AnyTensor& indices, std::int64_t axis,
                      bool zero_OOR = false);
/// gather() in each of `Groups` groups, the first dimension of x and of the indices.
template <std::int64_t Axis = 0, std::int64_t Groups = 1, tensor_handle X, tensor_handle I>
result<op::GroupedGather{.axis = Axis, .group_size = Groups}, X, I> groupedgather(
    const X& x, const I& indices) {
  return apply<op::GroupedGather{.axis = Axis, .group_size = Groups}>(x, indices);
}
AnyTensor groupedgather(const AnyTensor& x, const AnyTensor& indices, std::int64_t axis,
                        std::int64_t group_size);
/// x with elements replaced by `values` at `indices` along an axis.
AnyTensor scatter(const AnyTensor& x, const AnyTensor& indices, const AnyTensor& values,
                  std::int64_t axis = 0);
POPXL_LIKE_X(scatter)
/// Elements of x that go to the same index, reduced: How says how, along which axis and how many
/// there are.
template <op::ScatterReduce How, tensor_handle X, tensor_handle I, tensor_handle... Initial>
result<How, X, I, Initial...> scatter_reduce(const X& x, const I& indices,
                                             const Initial&... initial_values) {
  return apply<How>(x, indices, initial_values...);
}
AnyTensor scatter_reduce(const AnyTensor& x, const AnyTensor& indices, const op::ScatterReduce& how,
                         const AnyTensor& initial_values = {});
/// values[1] where the class is, values[0] elsewhere, along a new axis of N classes.
template <std::int64_t N, std::int64_t Axis = -1, tensor_handle X, tensor_handle V>
auto onehot(const X& x, const V& values) {
  return apply<op::OneHot{.axis = Axis}>(x, Integers<N>{}, values);
}
AnyTensor onehot(const AnyTensor& x, std::int64_t num_classes, const AnyTensor& values,
                 std::int64_t axis = -1);

// --- networks ----------------------------------------------------------------------------------------

using op::batch_norm_inference, op::interpolate, op::layer_norm, op::nll_loss_with_softmax_grad;

/// The matrix product, in another element type if one is given: matmul<half>(a, b).
///
/// how  available_memory_proportion and partials
template <tensor_handle A, tensor_handle B>
result<op::MatMul{}, A, B> matmul(const A& a, const B& b, const Planning& how = {}) {
  const auto y = op::matmul(a, b);
  detail::plan(y, how);
  return y;
}
template <class T, tensor_handle A, tensor_handle B>
auto matmul(const A& a, const B& b, const Planning& how = {}) {
  return cast<T>(matmul(a, b, how));
}
AnyTensor matmul(const AnyTensor& a, const AnyTensor& b, ElementType output_type,
                 const Planning& how = {});
/// Attributes of convolutions and pools by PopXL's names. Empty lists: strides and dilations of 1, no
/// padding.
struct Window {
  Dims stride{};             ///< for each spatial dimension
  halftone::Pads padding{};  ///< for each: the begins, then the ends
  Dims dilation{};
  std::int64_t groups = 1;
  Dims output_padding{}, output_shape{};  ///< of conv_transpose
  halftone::AutoPad pad_type = halftone::AutoPad::notset;
  bool ceil_mode = false;  ///< of pools

  constexpr op::Conv conv() const { return {{}, stride, dilation, padding, groups, pad_type}; }
  constexpr op::ConvTranspose conv_transpose() const {
    return {{}, stride, dilation, output_padding, output_shape, padding, groups, pad_type};
  }
  template <class Op>
  constexpr Op pool(const Dims& kernel_size) const {
    return {kernel_size, stride, dilation, padding, pad_type, ceil_mode, 0};
  }
};
/// conv<Window{.padding = {1, 1, 1, 1}}>(x, w), or conv(x, w, {.padding = {1, 1, 1, 1}}).
template <Window How = Window{}, tensor_handle X, tensor_handle W>
result<How.conv(), X, W> conv(const X& x, const W& w) {
  return apply<How.conv()>(x, w);
}
AnyTensor conv(const AnyTensor& x, const AnyTensor& w, const Window& window,
               const Planning& how = {});
template <Window How = Window{}, tensor_handle X, tensor_handle W>
result<How.conv_transpose(), X, W> conv_transpose(const X& x, const W& w) {
  return apply<How.conv_transpose()>(x, w);
}
AnyTensor conv_transpose(const AnyTensor& x, const AnyTensor& w, const Window& window,
                         const Planning& how = {});
// average_pool<Integers<2, 2>>(x), with a Window behind the size if it is not the default one.
#define POPXL_POOL(name, Op)                                      \
  template <class Size, Window How = Window{}, tensor_handle X>   \
  auto name(const X& x) {                                         \
    return []<std::int64_t... K>(Integers<K...>, const X& from) { \
      return apply<How.template pool<op::Op>({K...})>(from);      \
    }(Size{}, x);                                                 \
  }                                                               \
  AnyTensor name(const AnyTensor& x, const Dims& kernel_size, const Window& how = {});
POPXL_POOL(average_pool, AveragePool)
POPXL_POOL(max_pool, MaxPool)
#undef POPXL_POOL
AnyTensor group_norm(const AnyTensor& x, const AnyTensor& weight, const AnyTensor& bias,
                     std::int64_t num_groups, float eps = 1e-5f);
POPXL_LIKE_X(group_norm)
AnyTensor softmax(const AnyTensor& x, std::int64_t axis);
POPXL_LIKE_X(softmax)
/// The negative logarithm of the labels' probabilities.
template <Nll How = Nll{}, tensor_handle P, tensor_handle L>
result<How, P, L> nll_loss(const P& probs, const L& labels) {
  return apply<How>(probs, labels);
}
AnyTensor nll_loss(const AnyTensor& probs, const AnyTensor& labels, const Nll& how);
/// Regions of x, pooled to an output_size of {height, width}. Coordinates are those of RoiAlign-10.
///
/// rois         [regions, 4]
/// batch_index  [regions]
AnyTensor roi_align(const AnyTensor& x, const AnyTensor& rois, const AnyTensor& batch_index,
                    const Dims& output_size, float spatial_scale, std::int64_t sampling_ratio);
template <std::int64_t Height, std::int64_t Width, tensor_handle X, tensor_handle R,
          tensor_handle B>
result<op::RoiAlign{.output_height = Height, .output_width = Width}, X, R, B> roi_align(
    const X& x, const R& rois, const B& batch_index, float spatial_scale,
    std::int64_t sampling_ratio) {
  const AnyTensor y =
      roi_align(x, rois, batch_index, {Height, Width}, spatial_scale, sampling_ratio);
  return {y.graph, y.id};
}

// --- float8 ------------------------------------------------------------------------------------------

/// x * 2^log2_scale as float8: E is float8_e4m3fnuz (PopXL's float8_143) or float8_e5m2fnuz (152).
///
/// log2_scale  an int32 scalar in [-32, 32)
/// errors      ValueError: it is no scalar; TypeError: it is not int32
void check_log2_scale(const AnyTensor& log2_scale);
template <class E, tensor_handle X, tensor_handle L>
result<op::Pow2ScaleThenCast{.to = halftone::element_type<E>}, X, L> pow2scale_cast_to_fp8(
    const X& x, const L& log2_scale) {
  check_log2_scale(log2_scale);
  return apply<op::Pow2ScaleThenCast{.to = halftone::element_type<E>}>(x, log2_scale);
}
/// x * 2^log2_scale of float8 numbers.
template <class E = halftone::half, tensor_handle X, tensor_handle L>
result<op::CastThenPow2Scale{.to = halftone::element_type<E>}, X, L> pow2scale_cast_from_fp8(
    const X& x, const L& log2_scale) {
  check_log2_scale(log2_scale);
  return apply<op::CastThenPow2Scale{.to = halftone::element_type<E>}>(x, log2_scale);
}
/// Products of float8 numbers, times 2^log2_scale, as half.
AnyTensor matmul_pow2scaled(const AnyTensor& a, const AnyTensor& b, const AnyTensor& log2_scale);
AnyTensor conv_pow2scaled(const AnyTensor& x, const AnyTensor& w, const AnyTensor& log2_scale,
                          const Window& how = {});
AnyTensor conv_transpose_pow2scaled(const AnyTensor& x, const AnyTensor& w,
                                    const AnyTensor& log2_scale, const Window& how = {});

// --- random numbers: `seed` is uint32[2] --------------------------------------------------------------

using op::split_random_seed;

AnyTensor dropout(const AnyTensor& x, const AnyTensor& seed, float p = 0.1f);
POPXL_LIKE_X(dropout)
/// Dropout whose mask has another shape, which is broadcast to x's.
AnyTensor shaped_dropout(const AnyTensor& x, const AnyTensor& seed, const Dims& shape,
                         float ratio = 0.5f);
template <typed_handle X>
X shaped_dropout(const X& x, const AnyTensor& seed, const Dims& shape, float ratio = 0.5f) {
  return {x.graph, shaped_dropout(AnyTensor(x), seed, shape, ratio).id};
}
AnyTensor random_uniform(const AnyTensor& seed, const Dims& shape, float low = 0, float high = 1,
                         ElementType dtype = ElementType::float32);
template <class T, class S>
Tensor<T, S> random_uniform(const AnyTensor& seed, float low = 0, float high = 1) {
  return {seed.graph, random_uniform(seed, S::dims, low, high, halftone::element_type<T>).id};
}
AnyTensor random_normal(const AnyTensor& seed, const Dims& shape, float mean = 0, float std = 1,
                        ElementType dtype = ElementType::float32);
template <class T, class S>
Tensor<T, S> random_normal(const AnyTensor& seed, float mean = 0, float std = 1) {
  return {seed.graph, random_normal(seed, S::dims, mean, std, halftone::element_type<T>).id};
}
#undef POPXL_LIKE_X

namespace var_updates = halftone::var_updates;

}  // namespace popxl::ops
