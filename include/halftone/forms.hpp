#pragma once

#include <halftone/composed.hpp>
#include <halftone/graph/planning.hpp>
#include <halftone/op/list.hpp>
#include <halftone/var_updates.hpp>

/// Short forms of operators whose shapes depend on attributes or on lists of numbers. As template
/// arguments these give typed results, forms::transpose<1, 0>(x) or forms::sum<0>(x); as ordinary ones
/// they may be known at run time only, and results are untyped: forms::transpose(x, {1, 0}).
/// Dimensions that are reduced are removed, unless they are to be kept. Random operators take their
/// seed.
///
/// errors  ModelError or ShapeError of the operator that does not take what it is given; UsageError as
///         said
/// source  popxl.ops
namespace halftone::forms {

using op::Nll;
using var_updates::Factor;

namespace detail {
/// Numbers by which operators find things, as int32.
template <class X>
auto numbers(const X& x) {
  return apply<op::Cast{.to = ElementType::int32}>(x);
}
void plan(const AnyTensor& y, const Planning& how);
}  // namespace detail

// A function for typed handles: that for untyped ones, whose result has x's type and shape.
#define HALFTONE_LIKE_X(name)                              \
  template <typed_handle X, class... A>                    \
  X name(const X& x, const A&... arguments) {              \
    return {x.graph, name(AnyTensor(x), arguments...).id}; \
  }

// --- element by element ------------------------------------------------------------------------------

/// (x + increment) modulo modulus.
AnyTensor increment_mod(const AnyTensor& x, float increment, float modulus);
HALFTONE_LIKE_X(increment_mod)
/// x under another name.
AnyTensor rename(const AnyTensor& x, std::string_view name);
HALFTONE_LIKE_X(rename)
/// Prints x in every run, under its title; gives x. `how` has further arguments.
AnyTensor print_tensor(const AnyTensor& x, std::string_view title = {}, bool print_gradient = true,
                       const op::PrintTensor& how = {});
HALFTONE_LIKE_X(print_tensor)
/// a x + b y. x and y have one shape, the result x's type.
///
/// a, b  numbers, or tensors of one element
AnyTensor scaled_add(const AnyTensor& x, const AnyTensor& y, Factor a = 1.f, Factor b = 1.f);
HALFTONE_LIKE_X(scaled_add)
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
/// a where the condition is not zero, else b.
template <typed_handle C, class A, class B>
auto where(const C& condition, const A& a, const B& b) {
  if constexpr (C::static_info.type == ElementType::boolean) {
    return op::where(condition, a, b);
  } else {
    return op::where(apply<op::Cast{.to = ElementType::boolean}>(condition), a, b);
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
#define HALFTONE_REDUCTION(name, Op)                                     \
  template <std::int64_t... Axis, tensor_handle X>                       \
  result<op::Op{.keepdims = 0}, X, Integers<Axis...>> name(const X& x) { \
    return apply<op::Op{.keepdims = 0}>(x, Integers<Axis...>{});         \
  }                                                                      \
  template <std::int64_t... Axis, tensor_handle X>                       \
  result<op::Op{}, X, Integers<Axis...>> name(const X& x, KeepDims) {    \
    return apply<op::Op{}>(x, Integers<Axis...>{});                      \
  }                                                                      \
  AnyTensor name(const AnyTensor& x, const Dims& axis, bool keepdims = false);
HALFTONE_REDUCTION(sum, ReduceSum)
HALFTONE_REDUCTION(mean, ReduceMean)
HALFTONE_REDUCTION(max, ReduceMax)
HALFTONE_REDUCTION(min, ReduceMin)
HALFTONE_REDUCTION(prod, ReduceProd)
HALFTONE_REDUCTION(l1, ReduceL1)
HALFTONE_REDUCTION(l2, ReduceL2)
HALFTONE_REDUCTION(logsum, ReduceLogSum)
HALFTONE_REDUCTION(logsumexp, ReduceLogSumExp)
HALFTONE_REDUCTION(sumsquare, ReduceSumSquare)
#undef HALFTONE_REDUCTION

template <std::int64_t... Axis, tensor_handle X>
result<op::ReduceMedian{.axes = {Axis...}, .keepdims = 0}, X> median(const X& x) {
  return apply<op::ReduceMedian{.axes = {Axis...}, .keepdims = 0}>(x);
}
template <std::int64_t... Axis, tensor_handle X>
result<op::ReduceMedian{.axes = {Axis...}}, X> median(const X& x, KeepDims) {
  return apply<op::ReduceMedian{.axes = {Axis...}}>(x);
}
AnyTensor median(const AnyTensor& x, const Dims& axis, bool keepdims = false);
// They give the place of the largest or smallest element along a dimension, as int32.
#define HALFTONE_WHERE_EXTREME(name, Op)                                  \
  template <std::int64_t Dim = 0, tensor_handle X>                        \
  auto name(const X& x) {                                                 \
    return detail::numbers(apply<op::Op{.axis = Dim, .keepdims = 0}>(x)); \
  }                                                                       \
  template <std::int64_t Dim = 0, tensor_handle X>                        \
  auto name(const X& x, KeepDims) {                                       \
    return detail::numbers(apply<op::Op{.axis = Dim}>(x));                \
  }                                                                       \
  AnyTensor name(const AnyTensor& x, std::int64_t dim, bool keepdim = false);
HALFTONE_WHERE_EXTREME(argmax, ArgMax)
HALFTONE_WHERE_EXTREME(argmin, ArgMin)
#undef HALFTONE_WHERE_EXTREME
AnyTensor cumsum(const AnyTensor& x, std::int64_t dim = 0);
HALFTONE_LIKE_X(cumsum)
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

template <std::int64_t... Extent, tensor_handle X>
result<op::Reshape{}, X, Integers<Extent...>> reshape(const X& x) {
  static_assert(((Extent > 0 || Extent == -1) && ...),
                "halftone: an extent of reshape is positive, or -1 for what is left over");
  return op::reshape(x, Integers<Extent...>{});
}
/// All elements in one dimension.
template <tensor_handle X>
result<op::Reshape{}, X, Integers<-1>> flatten(const X& x) {
  return op::reshape(x, Integers<-1>{});
}
/// The order of all axes is turned round if none are given.
template <std::int64_t... Axis, tensor_handle X>
result<op::Transpose{.perm = {Axis...}}, X> transpose(const X& x) {
  return apply<op::Transpose{.perm = {Axis...}}>(x);
}
AnyTensor transpose(const AnyTensor& x, const Dims& permutation);
/// All dimensions of extent 1 are removed if no axes are given.
template <std::int64_t... Axis, tensor_handle X>
  requires(sizeof...(Axis) > 0)
result<op::Squeeze{}, X, Integers<Axis...>> squeeze(const X& x) {
  return op::squeeze(x, Integers<Axis...>{});
}
template <tensor_handle X>
result<op::Squeeze{}, X> squeeze(const X& x) {
  return op::squeeze(x);
}
/// Elements start, start + step, ... before stop, along one axis.
template <std::int64_t Start, std::int64_t Stop = INT64_MAX, std::int64_t Step = 1,
          std::int64_t Axis = 0, tensor_handle X>
result<op::Slice{}, X, Integers<Start>, Integers<Stop>, Integers<Axis>, Integers<Step>> slice(
    const X& x) {
  static_assert(Step == 1 || Step == -1, "halftone: a step of slice is 1 or -1; see subsample");
  return op::slice(x, Integers<Start>{}, Integers<Stop>{}, Integers<Axis>{}, Integers<Step>{});
}
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
/// Joins tensors along an axis.
template <std::int64_t Axis = 0, tensor_handle... X>
result<op::Concat{.axis = Axis}, X...> concat(const X&... x) {
  return apply<op::Concat{.axis = Axis}>(x...);
}

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
HALFTONE_LIKE_X(scatter)
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
  return apply<op::Cast{.to = element_type<T>}>(matmul(a, b, how));
}
AnyTensor matmul(const AnyTensor& a, const AnyTensor& b, ElementType output_type,
                 const Planning& how = {});
/// Attributes of convolutions and pools. Empty lists: strides and dilations of 1, no
/// padding.
struct Window {
  Dims stride{};   ///< for each spatial dimension
  Pads padding{};  ///< for each: the begins, then the ends
  Dims dilation{};
  std::int64_t groups = 1;
  Dims output_padding{}, output_shape{};  ///< of conv_transpose
  AutoPad pad_type = AutoPad::notset;
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
#define HALFTONE_POOL(name, Op)                                   \
  template <class Size, Window How = Window{}, tensor_handle X>   \
  auto name(const X& x) {                                         \
    return []<std::int64_t... K>(Integers<K...>, const X& from) { \
      return apply<How.template pool<op::Op>({K...})>(from);      \
    }(Size{}, x);                                                 \
  }                                                               \
  AnyTensor name(const AnyTensor& x, const Dims& kernel_size, const Window& how = {});
HALFTONE_POOL(average_pool, AveragePool)
HALFTONE_POOL(max_pool, MaxPool)
#undef HALFTONE_POOL
AnyTensor group_norm(const AnyTensor& x, const AnyTensor& weight, const AnyTensor& bias,
                     std::int64_t num_groups, float eps = 1e-5f);
HALFTONE_LIKE_X(group_norm)
/// The dimensions from `axis` on are normalized together, as PopART's Softmax does.
AnyTensor softmax(const AnyTensor& x, std::int64_t axis);
HALFTONE_LIKE_X(softmax)
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

// --- random numbers: `seed` is uint32[2] --------------------------------------------------------------

AnyTensor dropout(const AnyTensor& x, const AnyTensor& seed, float p = 0.1f);
HALFTONE_LIKE_X(dropout)
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
  return {seed.graph, random_uniform(seed, S::dims, low, high, element_type<T>).id};
}
AnyTensor random_normal(const AnyTensor& seed, const Dims& shape, float mean = 0, float std = 1,
                        ElementType dtype = ElementType::float32);
template <class T, class S>
Tensor<T, S> random_normal(const AnyTensor& seed, float mean = 0, float std = 1) {
  return {seed.graph, random_normal(seed, S::dims, mean, std, element_type<T>).id};
}
#undef HALFTONE_LIKE_X

}  // namespace halftone::forms
