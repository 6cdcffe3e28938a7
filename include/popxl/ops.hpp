#pragma once

#include <halftone/graph/planning.hpp>
#include <halftone/op/list.hpp>
#include <halftone/popxl.hpp>
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
using halftone::none;
using halftone::result;
using halftone::Shape;
using halftone::Tensor;
using halftone::tensor_handle;
using halftone::typed_handle;
using op::Nll;

namespace detail {

/// y by the type of x, whose type and shape it has.
template <tensor_handle X>
constexpr X like(const X&, const AnyTensor& y) {
  return {y.graph, y.id};
}
/// A list of numbers as an input of an operator.
constexpr AnyTensor list(const AnyTensor& x, const Dims& numbers) {
  return halftone::constant(*x.graph, numbers);
}
/// x, changed to y.
template <tensor_handle X>
constexpr X changed(const X& x, const AnyTensor& y) {
  return like(x, op::copy_var_update(AnyTensor(x), y));
}
/// Integers by which operators number things are int32 in PopXL.
template <class X>
constexpr auto numbers(const X& x) {
  return apply<op::Cast{.to = ElementType::int32}>(x);
}
template <class X>
constexpr bool holds_bool(const X& x) {
  if constexpr (typed_handle<X>) {
    return X::static_info.type == ElementType::boolean;
  } else {
    return x.info().type == ElementType::boolean;
  }
}
constexpr void plan(const AnyTensor& y, const halftone::Planning& how) {
  if (how != halftone::Planning{}) halftone::set_planning(y.graph->nodes.back(), how);
}

}  // namespace detail

// --- element by element ------------------------------------------------------------------------------

using op::abs, op::add, op::ceil, op::cos, op::div, op::equal, op::exp, op::floor, op::gelu,
    op::greater, op::identity, op::isfinite, op::isinf, op::isnan, op::lamb_square, op::log,
    op::log2, op::logical_and, op::logical_not, op::logical_or, op::mul, op::pow, op::relu,
    op::sign, op::sin, op::sqrt, op::sub, op::swish, op::tanh;
inline constexpr auto& clamp = op::clip;
inline constexpr auto& geluerf = op::gelu_erf;
inline constexpr auto& io_tile_copy = op::identity;
inline constexpr auto& negate = op::neg;
using op::clip, op::detach, op::ipu_copy;

#define POPXL_IN_PLACE(name)            \
  template <tensor_handle X>            \
  constexpr X name##_(const X& x) {     \
    return detail::changed(x, name(x)); \
  }
POPXL_IN_PLACE(exp)
POPXL_IN_PLACE(gelu)
POPXL_IN_PLACE(geluerf)
POPXL_IN_PLACE(relu)
POPXL_IN_PLACE(swish)
#undef POPXL_IN_PLACE
template <tensor_handle X, class Y>
constexpr X add_(const X& x, const Y& y) {
  return detail::changed(x, add(x, y));
}
/// A view of x that gradients stop at: detach, too, shares x's memory.
template <tensor_handle X>
constexpr X detach_(const X& x) {
  return detail::like(x, detach(x));
}
/// (x + increment) modulo modulus.
template <tensor_handle X>
constexpr X increment_mod(const X& x, float increment, float modulus) {
  return detail::like(x, op::increment_mod(x, {.increment = increment, .modulus = modulus}));
}
template <tensor_handle X>
constexpr X increment_mod_(const X& x, float increment, float modulus) {
  return detail::changed(x, increment_mod(x, increment, modulus));
}
/// x under another name.
template <tensor_handle X>
constexpr X rename(const X& x, std::string_view name) {
  const X y = detail::like(x, identity(x));
  y.graph->rename(y.id, name);
  return y;
}
/// The remainder with the sign of a.
template <class A, class B>
constexpr result<op::Mod{.fmod = 1}, A, B> fmod(const A& a, const B& b) {
  return apply<op::Mod{.fmod = 1}>(a, b);
}
/// The largest of tensors that are broadcast to one shape.
template <tensor_handle X>
constexpr X maximum(const X& x) {
  return x;
}
template <class A, class B, class... More>
constexpr auto maximum(const A& a, const B& b, const More&... more) {
  if constexpr (sizeof...(More) == 0) {
    return op::maximum(a, b);
  } else {
    return maximum(op::maximum(a, b), more...);
  }
}
/// a where the condition is not zero, else b.
template <tensor_handle C, class A, class B>
constexpr auto where(const C& condition, const A& a, const B& b) {
  if constexpr (!typed_handle<C>) {
    return op::where(detail::holds_bool(condition)
                         ? condition
                         : op::cast(condition, {.to = ElementType::boolean}),
                     a, b);
  } else if constexpr (detail::holds_bool(C{})) {
    return op::where(condition, a, b);
  } else {
    return op::where(apply<op::Cast{.to = ElementType::boolean}>(condition), a, b);
  }
}
/// a x + b y. x and y have one shape, the result x's type.
///
/// a, b  numbers, or tensors of one element
template <tensor_handle X, tensor_handle Y>
constexpr X scaled_add(const X& x, const Y& y, halftone::var_updates::Factor a = 1.f,
                       halftone::var_updates::Factor b = 1.f) {
  const ElementType type = x.info().type;
  const AnyTensor term = y.info().type == type ? AnyTensor(y) : op::cast(y, {.to = type});
  const AnyTensor scale = a.in(*x.graph, type), other = b.in(*x.graph, type);
  return detail::like(x, op::scaled_add(AnyTensor(x), term, scale, other));
}
template <tensor_handle X, tensor_handle Y>
constexpr X scaled_add_(const X& x, const Y& y, halftone::var_updates::Factor a = 1.f,
                        halftone::var_updates::Factor b = 1.f) {
  return detail::changed(x, scaled_add(x, y, a, b));
}
/// x in another element type: cast<half>(x), or of any type that is known at run time.
///
/// errors  TypeError: float8, which pow2scale_cast_to_fp8 makes
constexpr void check_cast(ElementType type) {
  if (type != ElementType::float8_e4m3fnuz && type != ElementType::float8_e5m2fnuz) return;
  throw TypeError({.what = "cast does not make float8 numbers", .hint = "pow2scale_cast_to_fp8"});
}
template <class T, tensor_handle X>
constexpr result<op::Cast{.to = halftone::element_type<T>}, X> cast(const X& x) {
  static_assert(
      !std::same_as<T, halftone::float8_e4m3fnuz> && !std::same_as<T, halftone::float8_e5m2fnuz>,
      "popxl: pow2scale_cast_to_fp8 makes float8 numbers, cast does not");
  return apply<op::Cast{.to = halftone::element_type<T>}>(x);
}
constexpr AnyTensor cast(const AnyTensor& x, ElementType type) {
  check_cast(type);
  return op::cast(x, {.to = type});
}
/// Prints x in every run, under its title; gives x. `how` has PopXL's further arguments.
template <tensor_handle X>
X print_tensor(const X& x, std::string_view title = {}, bool print_gradient = true,
               op::PrintTensor how = {}) {
  how.title = halftone::BoundedText<256>(title);
  how.print_gradient = print_gradient;
  return detail::like(x, op::print_tensor(x, how));
}

// --- reductions --------------------------------------------------------------------------------------

/// Has reductions keep the dimensions that they reduce, with extent 1: sum<0>(x, keepdims).
struct KeepDims {
  constexpr explicit KeepDims() = default;
};
inline constexpr KeepDims keepdims{};

// name<axes...>(x), all axes without any; name(x, {axes...}, keepdims) of axes known at run time.
#define POPXL_REDUCTION(name, Op)                                                                 \
  template <std::int64_t... Axis, tensor_handle X>                                                \
  constexpr result<op::Op{.keepdims = 0}, X, Integers<Axis...>> name(const X& x) {                \
    return apply<op::Op{.keepdims = 0}>(x, Integers<Axis...>{});                                  \
  }                                                                                               \
  template <std::int64_t... Axis, tensor_handle X>                                                \
  constexpr result<op::Op{}, X, Integers<Axis...>> name(const X& x, KeepDims) {                   \
    return apply<op::Op{}>(x, Integers<Axis...>{});                                               \
  }                                                                                               \
  constexpr AnyTensor name(const AnyTensor& x, const Dims& axis, bool keeps_dimensions = false) { \
    return op::name(x, detail::list(x, axis), op::Op{.keepdims = keeps_dimensions});              \
  }
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
constexpr result<op::ReduceMedian{.axes = {Axis...}, .keepdims = 0}, X> median(const X& x) {
  return apply<op::ReduceMedian{.axes = {Axis...}, .keepdims = 0}>(x);
}
template <std::int64_t... Axis, tensor_handle X>
constexpr result<op::ReduceMedian{.axes = {Axis...}}, X> median(const X& x, KeepDims) {
  return apply<op::ReduceMedian{.axes = {Axis...}}>(x);
}
constexpr AnyTensor median(const AnyTensor& x, const Dims& axis, bool keeps_dimensions = false) {
  return op::median(x, {.axes = axis, .keepdims = keeps_dimensions});
}
// Where the largest or smallest element is along a dimension, as int32.
#define POPXL_WHERE_EXTREME(name, Op)                                                            \
  template <std::int64_t Dim = 0, tensor_handle X>                                               \
  constexpr auto name(const X& x) {                                                              \
    return detail::numbers(apply<op::Op{.axis = Dim, .keepdims = 0}>(x));                        \
  }                                                                                              \
  template <std::int64_t Dim = 0, tensor_handle X>                                               \
  constexpr auto name(const X& x, KeepDims) {                                                    \
    return detail::numbers(apply<op::Op{.axis = Dim}>(x));                                       \
  }                                                                                              \
  constexpr AnyTensor name(const AnyTensor& x, std::int64_t dim, bool keeps_dimension = false) { \
    return detail::numbers(op::name(x, {.axis = dim, .keepdims = keeps_dimension}));             \
  }
POPXL_WHERE_EXTREME(argmax, ArgMax)
POPXL_WHERE_EXTREME(argmin, ArgMin)
#undef POPXL_WHERE_EXTREME
template <tensor_handle X>
constexpr X cumsum(const X& x, std::int64_t dim = 0) {
  return detail::like(x, op::cumsum(AnyTensor(x), detail::list(x, {dim})));
}
/// The k largest (or smallest) elements along an axis, and their places as int32.
template <std::int64_t K, std::int64_t Axis = -1, bool Largest = true, bool Sorted = true,
          tensor_handle X>
constexpr auto topk(const X& x) {
  constexpr op::TopK how{.axis = Axis, .largest = Largest, .sorted = Sorted};
  const auto [values, places] = apply<how>(x, Integers<K>{});
  return std::pair(values, detail::numbers(places));
}
constexpr std::pair<AnyTensor, AnyTensor> topk(const AnyTensor& x, std::int64_t k,
                                               std::int64_t axis, bool largest, bool sorted) {
  const op::TopK how{.axis = axis, .largest = largest, .sorted = sorted};
  const auto [values, places] = op::topk(x, detail::list(x, {k}), how);
  return {values, detail::numbers(places)};
}
/// How many elements lie below, between and above levels, as uint32.
///
/// levels  increasing
template <tensor_handle X, std::size_t N>
constexpr Tensor<std::uint32_t, Shape<N + 1>> histogram(const X& x, const float (&levels)[N],
                                                        bool absolute_of_input = false) {
  op::Histogram how{.absolute_of_input = absolute_of_input};
  for (const float level : levels) how.levels.push_back(level);
  const AnyTensor y = op::histogram(AnyTensor(x), how);
  return {y.graph, y.id};
}

// --- shapes ------------------------------------------------------------------------------------------

/// errors  ValueError: an extent of 0 or below -1 (here a message of the compiler)
template <std::int64_t... Extent, tensor_handle X>
constexpr result<op::Reshape{}, X, Integers<Extent...>> reshape(const X& x) {
  static_assert(((Extent > 0 || Extent == -1) && ...),
                "popxl: an extent of reshape is positive, or -1 for what is left over");
  return op::reshape(x, Integers<Extent...>{});
}
constexpr AnyTensor reshape(const AnyTensor& x, const Dims& shape) {
  for (const std::int64_t extent : shape) {
    if (extent > 0 || extent == -1) continue;
    throw ValueError({.what = "an extent of reshape is 0 or below -1",
                      .tensor = x.name(),
                      .hint = "-1 stands for what is left over"});
  }
  return op::reshape(x, detail::list(x, shape));
}
/// All elements in one dimension.
template <tensor_handle X>
constexpr result<op::Reshape{}, X, Integers<-1>> flatten(const X& x) {
  return op::reshape(x, Integers<-1>{});
}
/// Without axes their order is turned round.
template <std::int64_t... Axis, tensor_handle X>
constexpr result<op::Transpose{.perm = {Axis...}}, X> transpose(const X& x) {
  return apply<op::Transpose{.perm = {Axis...}}>(x);
}
constexpr AnyTensor transpose(const AnyTensor& x, const Dims& permutation) {
  return op::transpose(x, {.perm = permutation});
}
/// Without axes all dimensions of extent 1 are removed.
template <std::int64_t... Axis, tensor_handle X>
  requires(sizeof...(Axis) > 0)
constexpr result<op::Squeeze{}, X, Integers<Axis...>> squeeze(const X& x) {
  return op::squeeze(x, Integers<Axis...>{});
}
template <tensor_handle X>
constexpr result<op::Squeeze{}, X> squeeze(const X& x) {
  return op::squeeze(x);
}
/// errors  ValueError: an axis that is out of range, given twice, or not of extent 1
AnyTensor squeeze(const AnyTensor& x, const Dims& axes);
/// Elements start, start + step, ... before stop, along one axis.
template <std::int64_t Start, std::int64_t Stop = INT64_MAX, std::int64_t Step = 1,
          std::int64_t Axis = 0, tensor_handle X>
constexpr result<op::Slice{}, X, Integers<Start>, Integers<Stop>, Integers<Axis>, Integers<Step>>
slice(const X& x) {
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
constexpr result<op::Subsample{.strides = {Stride...}}, X> subsample(const X& x) {
  return apply<op::Subsample{.strides = {Stride...}}>(x);
}
constexpr AnyTensor subsample(const AnyTensor& x, const Dims& strides) {
  return op::subsample(x, {.strides = strides});
}
/// x in N equal parts along an axis: a tuple.
template <std::int64_t N, std::int64_t Axis = 0, tensor_handle X>
constexpr auto split(const X& x) {
  return apply<op::Split{.axis = Axis, .num_outputs = N}>(x);
}
/// errors  ValueError: the extent cannot be divided by n, or is not the sum of the sizes
std::vector<AnyTensor> split(const AnyTensor& x, std::int64_t n, std::int64_t axis = 0);
std::vector<AnyTensor> split(const AnyTensor& x, const Dims& sizes, std::int64_t axis = 0);
/// Joins tensors along an axis.
template <std::int64_t Axis = 0, tensor_handle... X>
constexpr result<op::Concat{.axis = Axis}, X...> concat(const X&... x) {
  return apply<op::Concat{.axis = Axis}>(x...);
}
/// errors  TypeError: element types that differ
AnyTensor concat(std::span<const AnyTensor> tensors, std::int64_t axis = 0);
/// The part of `sizes` along `axes` whose first element is at `index`.
template <class Axes, class Sizes, tensor_handle X, tensor_handle I>
constexpr auto dynamic_slice(const X& x, const I& index) {
  return []<std::int64_t... A, std::int64_t... S>(Integers<A...>, Integers<S...>, const X& from,
                                                  const I& at) {
    return apply<op::DynamicSlice{.axes = {A...}, .sizes = {S...}}>(from, at);
  }(Axes{}, Sizes{}, x, index);
}
constexpr AnyTensor dynamic_slice(const AnyTensor& x, const AnyTensor& index, const Dims& axes,
                                  const Dims& sizes, bool no_overlap) {
  return op::dynamic_slice(x, index, {.axes = axes, .sizes = sizes, .no_overlap = no_overlap});
}
/// x with such a part replaced.
template <tensor_handle X, tensor_handle I, tensor_handle U>
constexpr X dynamic_update(const X& x, const I& index, const U& update, const Dims& axes,
                           const Dims& sizes, bool no_overlap) {
  const op::DynamicUpdate how{.axes = axes, .sizes = sizes, .no_overlap = no_overlap};
  return detail::like(x,
                      op::dynamic_update(AnyTensor(x), AnyTensor(index), AnyTensor(update), how));
}
template <tensor_handle X, tensor_handle I, tensor_handle U>
constexpr X dynamic_update_(const X& x, const I& index, const U& update, const Dims& axes,
                            const Dims& sizes, bool no_overlap) {
  return detail::changed(x, dynamic_update(x, index, update, axes, sizes, no_overlap));
}

// Forms in place of what gives a part or another order of x. Reshaped tensors share x's memory anyway;
// the others are copies, so that a change of the result leaves x as it is.
#define POPXL_VIEW(name)                  \
  template <auto... How, class... X>      \
  constexpr auto name##_(const X&... x) { \
    if constexpr (sizeof...(How) == 0) {  \
      return name(x...);                  \
    } else {                              \
      return name<How...>(x...);          \
    }                                     \
  }
POPXL_VIEW(reshape)
POPXL_VIEW(flatten)
POPXL_VIEW(transpose)
POPXL_VIEW(slice)
POPXL_VIEW(concat)
#undef POPXL_VIEW

// --- by indices --------------------------------------------------------------------------------------

/// Slices of x along an axis, by their numbers.
template <std::int64_t Axis = 0, tensor_handle X, tensor_handle I>
constexpr result<op::Gather{.axis = Axis}, X, I> gather(const X& x, const I& indices) {
  return apply<op::Gather{.axis = Axis}>(x, indices);
}
/// zero_OOR: numbers that are out of range give zeros.
inline AnyTensor gather(const AnyTensor& x, const AnyTensor& indices, std::int64_t axis,
                        bool zero_OOR = false) {
  return zero_OOR ? op::gather_or_zero(x, indices, axis) : op::gather(x, indices, {.axis = axis});
}
/// gather(), for a table that a product takes, too.
template <std::int64_t Axis = 0, tensor_handle X, tensor_handle I>
constexpr result<op::Gather{.axis = Axis}, X, I> tied_gather(const X& x, const I& indices) {
  return gather<Axis>(x, indices);
}
inline AnyTensor tied_gather(const AnyTensor& x, const AnyTensor& indices, std::int64_t axis,
                             bool zero_OOR = false) {
  return gather(x, indices, axis, zero_OOR);
}
/// gather() in each of `Groups` groups, the first dimension of x and of the indices.
template <std::int64_t Axis = 0, std::int64_t Groups = 1, tensor_handle X, tensor_handle I>
constexpr result<op::GroupedGather{.axis = Axis, .group_size = Groups}, X, I> groupedgather(
    const X& x, const I& indices) {
  return apply<op::GroupedGather{.axis = Axis, .group_size = Groups}>(x, indices);
}
constexpr AnyTensor groupedgather(const AnyTensor& x, const AnyTensor& indices, std::int64_t axis,
                                  std::int64_t group_size) {
  return op::grouped_gather(x, indices, {.axis = axis, .group_size = group_size});
}
/// x with elements replaced by `values` at `indices` along an axis.
template <tensor_handle X, tensor_handle I, tensor_handle V>
constexpr X scatter(const X& x, const I& indices, const V& values, std::int64_t axis = 0) {
  return detail::like(x, op::scatter_elements(AnyTensor(x), AnyTensor(indices), AnyTensor(values),
                                              op::ScatterElements{.axis = axis}));
}
/// Elements of x that go to the same index, reduced: How says how, along which axis and how many
/// there are.
template <op::ScatterReduce How, tensor_handle X, tensor_handle I, tensor_handle... Initial>
constexpr result<How, X, I, Initial...> scatter_reduce(const X& x, const I& indices,
                                                       const Initial&... initial_values) {
  return apply<How>(x, indices, initial_values...);
}
template <tensor_handle... Initial>
constexpr AnyTensor scatter_reduce(const AnyTensor& x, const AnyTensor& indices,
                                   const op::ScatterReduce& how, const Initial&... initial_values) {
  return op::scatter_reduce(x, indices, AnyTensor(initial_values)..., how);
}
/// values[1] where the class is, values[0] elsewhere, along a new axis of N classes.
template <std::int64_t N, std::int64_t Axis = -1, tensor_handle X, tensor_handle V>
constexpr auto onehot(const X& x, const V& values) {
  return apply<op::OneHot{.axis = Axis}>(x, Integers<N>{}, values);
}
constexpr AnyTensor onehot(const AnyTensor& x, std::int64_t num_classes, const AnyTensor& values,
                           std::int64_t axis = -1) {
  return op::onehot(x, detail::list(x, {num_classes}), values, {.axis = axis});
}

// --- networks ----------------------------------------------------------------------------------------

using op::batch_norm_inference, op::interpolate, op::layer_norm, op::nll_loss_with_softmax_grad;

/// The matrix product, in another element type if one is given: matmul<half>(a, b).
///
/// how  available_memory_proportion and partials
template <tensor_handle A, tensor_handle B>
constexpr result<op::MatMul{}, A, B> matmul(const A& a, const B& b,
                                            const halftone::Planning& how = {}) {
  const auto y = op::matmul(a, b);
  detail::plan(y, how);
  return y;
}
template <class T, tensor_handle A, tensor_handle B>
constexpr auto matmul(const A& a, const B& b, const halftone::Planning& how = {}) {
  return cast<T>(matmul(a, b, how));
}
constexpr AnyTensor matmul(const AnyTensor& a, const AnyTensor& b, ElementType output_type,
                           const halftone::Planning& how = {}) {
  return cast(matmul(a, b, how), output_type);
}
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

  constexpr op::Conv conv() const {
    return {.strides = stride,
            .dilations = dilation,
            .pads = padding,
            .group = groups,
            .auto_pad = pad_type};
  }
  constexpr op::ConvTranspose conv_transpose() const {
    return {.strides = stride,
            .dilations = dilation,
            .output_padding = output_padding,
            .output_shape = output_shape,
            .pads = padding,
            .group = groups,
            .auto_pad = pad_type};
  }
  template <class Op>
  constexpr Op pool(const Dims& kernel_size) const {
    return {.kernel_shape = kernel_size,
            .strides = stride,
            .dilations = dilation,
            .pads = padding,
            .auto_pad = pad_type,
            .ceil_mode = ceil_mode};
  }
};
/// conv<Window{.padding = {1, 1, 1, 1}}>(x, w), or conv(x, w, {.padding = {1, 1, 1, 1}}).
template <Window How = Window{}, tensor_handle X, tensor_handle W>
constexpr result<How.conv(), X, W> conv(const X& x, const W& w) {
  return apply<How.conv()>(x, w);
}
constexpr AnyTensor conv(const AnyTensor& x, const AnyTensor& w, const Window& window,
                         const halftone::Planning& how = {}) {
  const AnyTensor y = op::conv(x, w, window.conv());
  detail::plan(y, how);
  return y;
}
template <Window How = Window{}, tensor_handle X, tensor_handle W>
constexpr result<How.conv_transpose(), X, W> conv_transpose(const X& x, const W& w) {
  return apply<How.conv_transpose()>(x, w);
}
constexpr AnyTensor conv_transpose(const AnyTensor& x, const AnyTensor& w, const Window& window,
                                   const halftone::Planning& how = {}) {
  const AnyTensor y = op::conv_transpose(x, w, window.conv_transpose());
  detail::plan(y, how);
  return y;
}
/// average_pool<Integers<2, 2>>(x), with a Window behind the size if it is not the default one.
template <class Size, Window How = Window{}, tensor_handle X>
constexpr auto average_pool(const X& x) {
  return []<std::int64_t... K>(Integers<K...>, const X& from) {
    return apply<How.template pool<op::AveragePool>({K...})>(from);
  }(Size{}, x);
}
constexpr AnyTensor average_pool(const AnyTensor& x, const Dims& kernel_size,
                                 const Window& how = {}) {
  return op::average_pool(x, how.pool<op::AveragePool>(kernel_size));
}
template <class Size, Window How = Window{}, tensor_handle X>
constexpr auto max_pool(const X& x) {
  return []<std::int64_t... K>(Integers<K...>, const X& from) {
    return apply<How.template pool<op::MaxPool>({K...})>(from);
  }(Size{}, x);
}
constexpr AnyTensor max_pool(const AnyTensor& x, const Dims& kernel_size, const Window& how = {}) {
  return op::max_pool(x, how.pool<op::MaxPool>(kernel_size));
}
template <tensor_handle X, tensor_handle W, tensor_handle B>
constexpr X group_norm(const X& x, const W& weight, const B& bias, std::int64_t num_groups,
                       float eps = 1e-5f) {
  const op::GroupNormalization how{.num_groups = num_groups, .epsilon = eps};
  const auto y = op::group_norm(AnyTensor(x), AnyTensor(weight), AnyTensor(bias), how);
  return detail::like(x, y);
}
template <tensor_handle X>
constexpr X softmax(const X& x, std::int64_t axis) {
  return op::softmax(x, op::Softmax{.axis = axis});
}
/// The negative logarithm of the labels' probabilities.
template <Nll How = Nll{}, tensor_handle P, tensor_handle L>
constexpr result<How, P, L> nll_loss(const P& probs, const L& labels) {
  return apply<How>(probs, labels);
}
constexpr AnyTensor nll_loss(const AnyTensor& probs, const AnyTensor& labels, const Nll& how) {
  return op::nll_loss(probs, labels, how);
}
/// Regions of x, pooled to [Height, Width]. Coordinates are those of RoiAlign-10.
///
/// rois         [regions, 4]
/// batch_index  [regions]
template <std::int64_t Height, std::int64_t Width, tensor_handle X, tensor_handle R,
          tensor_handle B>
constexpr auto roi_align(const X& x, const R& rois, const B& batch_index, float spatial_scale,
                         std::int64_t sampling_ratio) {
  using Y = result<op::RoiAlign{.output_height = Height, .output_width = Width}, X, R, B>;
  const op::RoiAlign how{
      .coordinate_transformation_mode = halftone::kernel::RoiCoordinates::output_half_pixel,
      .output_height = Height,
      .output_width = Width,
      .sampling_ratio = sampling_ratio,
      .spatial_scale = spatial_scale};
  const AnyTensor y = op::roi_align(AnyTensor(x), AnyTensor(rois), AnyTensor(batch_index), how);
  return Y{y.graph, y.id};
}

// --- float8 ------------------------------------------------------------------------------------------

/// x * 2^log2_scale as float8: E is float8_e4m3fnuz (PopXL's float8_143) or float8_e5m2fnuz (152).
///
/// log2_scale  an int32 scalar in [-32, 32)
/// errors      ValueError: it is no scalar; TypeError: it is not int32
void check_log2_scale(const AnyTensor& log2_scale);
template <class E, tensor_handle X, tensor_handle L>
constexpr result<op::Pow2ScaleThenCast{.to = halftone::element_type<E>}, X, L>
pow2scale_cast_to_fp8(const X& x, const L& log2_scale) {
  check_log2_scale(log2_scale);
  return apply<op::Pow2ScaleThenCast{.to = halftone::element_type<E>}>(x, log2_scale);
}
/// x * 2^log2_scale of float8 numbers.
template <class E = halftone::half, tensor_handle X, tensor_handle L>
constexpr result<op::CastThenPow2Scale{.to = halftone::element_type<E>}, X, L>
pow2scale_cast_from_fp8(const X& x, const L& log2_scale) {
  check_log2_scale(log2_scale);
  return apply<op::CastThenPow2Scale{.to = halftone::element_type<E>}>(x, log2_scale);
}
/// Products of float8 numbers, times 2^log2_scale, as half.
inline AnyTensor matmul_pow2scaled(const AnyTensor& a, const AnyTensor& b,
                                   const AnyTensor& log2_scale) {
  check_log2_scale(log2_scale);
  return op::matmul_pow2scaled(a, b, log2_scale);
}
inline AnyTensor conv_pow2scaled(const AnyTensor& x, const AnyTensor& w,
                                 const AnyTensor& log2_scale, const Window& how = {}) {
  check_log2_scale(log2_scale);
  return op::conv_pow2scaled(x, w, log2_scale, how.conv());
}
inline AnyTensor conv_transpose_pow2scaled(const AnyTensor& x, const AnyTensor& w,
                                           const AnyTensor& log2_scale, const Window& how = {}) {
  check_log2_scale(log2_scale);
  return op::conv_transpose_pow2scaled(x, w, log2_scale, how.conv_transpose());
}

// --- random numbers: `seed` is uint32[2] --------------------------------------------------------------

using op::split_random_seed;

template <tensor_handle X>
constexpr X dropout(const X& x, const AnyTensor& seed, float p = 0.1f) {
  constexpr bool training = true;
  const AnyTensor is_training =
      halftone::constant(*x.graph, std::span<const bool>(&training, 1), Dims{});
  const auto y = op::dropout(AnyTensor(x), none, is_training, seed, op::Dropout{.ratio = p});
  return detail::like(x, y);
}
/// Dropout whose mask has another shape, which is broadcast to x's.
template <tensor_handle X>
constexpr X shaped_dropout(const X& x, const AnyTensor& seed, const Dims& shape,
                           float ratio = 0.5f) {
  constexpr bool training = true;
  const AnyTensor is_training =
      halftone::constant(*x.graph, std::span<const bool>(&training, 1), Dims{});
  return detail::like(x, op::shaped_dropout(AnyTensor(x), is_training, seed,
                                            op::ShapedDropout{.shape = shape, .ratio = ratio}));
}
template <class T, class S>
constexpr Tensor<T, S> random_uniform(const AnyTensor& seed, float low = 0, float high = 1) {
  const op::RandomUniform how{
      .dtype = halftone::element_type<T>, .low = low, .high = high, .shape = S::dims};
  const AnyTensor y = op::random_uniform(seed, how);
  return {y.graph, y.id};
}
constexpr AnyTensor random_uniform(const AnyTensor& seed, const Dims& shape, float low = 0,
                                   float high = 1, ElementType dtype = ElementType::float32) {
  return op::random_uniform(seed, {.dtype = dtype, .low = low, .high = high, .shape = shape});
}
template <class T, class S>
constexpr Tensor<T, S> random_normal(const AnyTensor& seed, float mean = 0, float std = 1) {
  const op::RandomNormal how{
      .dtype = halftone::element_type<T>, .mean = mean, .scale = std, .shape = S::dims};
  const AnyTensor y = op::random_normal(seed, how);
  return {y.graph, y.id};
}
constexpr AnyTensor random_normal(const AnyTensor& seed, const Dims& shape, float mean = 0,
                                  float std = 1, ElementType dtype = ElementType::float32) {
  return op::random_normal(seed, {.dtype = dtype, .mean = mean, .scale = std, .shape = shape});
}

namespace var_updates = halftone::var_updates;

}  // namespace popxl::ops
