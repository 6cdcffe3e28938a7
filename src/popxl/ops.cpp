#include <popxl/ops.hpp>

#include <string>

#include "base/describe.hpp"

namespace popxl::ops {

namespace {

/// The place of an axis that may count from the end.
std::size_t place(const AnyTensor& x, std::int64_t axis, std::string_view what) {
  const std::size_t rank = x.info().rank(), at = halftone::normalized_axis(axis, rank);
  if (at < rank) return at;
  throw ValueError({.what = what,
                    .tensor = x.name(),
                    .expected = "from " + std::to_string(-static_cast<std::int64_t>(rank)) +
                                " to " + std::to_string(static_cast<std::int64_t>(rank) - 1),
                    .found = std::to_string(axis)});
}

/// A list of numbers as an input of an operator.
AnyTensor list(const AnyTensor& x, const Dims& numbers) {
  return halftone::constant(*x.graph, numbers);
}

/// A bool constant that says that dropout drops.
AnyTensor training(const AnyTensor& x) {
  constexpr bool is_training = true;
  return halftone::constant(*x.graph, std::span<const bool>(&is_training, 1), Dims{});
}

}  // namespace

void detail::plan(const AnyTensor& y, const Planning& how) {
  if (how != Planning{}) halftone::set_planning(y.graph->nodes.back(), how);
}

// --- element by element ------------------------------------------------------------------------------

AnyTensor increment_mod(const AnyTensor& x, float increment, float modulus) {
  return op::increment_mod(x, {.increment = increment, .modulus = modulus});
}
AnyTensor rename(const AnyTensor& x, std::string_view name) {
  const AnyTensor y = op::identity(x);
  y.graph->rename(y.id, name);
  return y;
}
AnyTensor print_tensor(const AnyTensor& x, std::string_view title, bool print_gradient,
                       const op::PrintTensor& how) {
  op::PrintTensor named = how;
  named.title = halftone::BoundedText<256>(title);
  named.print_gradient = print_gradient;
  return op::print_tensor(x, named);
}
AnyTensor scaled_add(const AnyTensor& x, const AnyTensor& y, Factor a, Factor b) {
  const ElementType type = x.info().type;
  const AnyTensor term = y.info().type == type ? y : op::cast(y, {.to = type});
  const AnyTensor scale = a.in(*x.graph, type), other = b.in(*x.graph, type);
  return op::scaled_add(x, term, scale, other);
}
AnyTensor cast(const AnyTensor& x, ElementType type) {
  if (type == ElementType::float8_e4m3fnuz || type == ElementType::float8_e5m2fnuz) {
    throw TypeError({.what = "cast does not make float8 numbers",
                     .tensor = x.name(),
                     .hint = "pow2scale_cast_to_fp8"});
  }
  return op::cast(x, {.to = type});
}
AnyTensor where(const AnyTensor& condition, const AnyTensor& a, const AnyTensor& b) {
  const bool is_bool = condition.info().type == ElementType::boolean;
  return op::where(is_bool ? condition : op::cast(condition, {.to = ElementType::boolean}), a, b);
}

// --- reductions --------------------------------------------------------------------------------------

#define POPXL_REDUCTION(name, Op)                                      \
  AnyTensor name(const AnyTensor& x, const Dims& axis, bool is_kept) { \
    return op::name(x, list(x, axis), op::Op{.keepdims = is_kept});    \
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
AnyTensor median(const AnyTensor& x, const Dims& axis, bool is_kept) {
  return op::median(x, {.axes = axis, .keepdims = is_kept});
}
AnyTensor argmax(const AnyTensor& x, std::int64_t dim, bool is_kept) {
  return detail::numbers(op::argmax(x, {.axis = dim, .keepdims = is_kept}));
}
AnyTensor argmin(const AnyTensor& x, std::int64_t dim, bool is_kept) {
  return detail::numbers(op::argmin(x, {.axis = dim, .keepdims = is_kept}));
}
AnyTensor cumsum(const AnyTensor& x, std::int64_t dim) { return op::cumsum(x, list(x, {dim})); }
std::pair<AnyTensor, AnyTensor> topk(const AnyTensor& x, std::int64_t k, std::int64_t axis,
                                     bool largest, bool sorted) {
  const op::TopK how{.axis = axis, .largest = largest, .sorted = sorted};
  const auto [values, places] = op::topk(x, list(x, {k}), how);
  return {values, detail::numbers(places)};
}
AnyTensor histogram(const AnyTensor& x, std::span<const float> levels, bool absolute_of_input) {
  op::Histogram how{.absolute_of_input = absolute_of_input};
  if (levels.size() > how.levels.capacity()) {
    throw ValueError({.what = "a histogram has too many levels",
                      .tensor = x.name(),
                      .expected = "at most " + std::to_string(how.levels.capacity()),
                      .found = std::to_string(levels.size())});
  }
  for (const float level : levels) how.levels.push_back(level);
  return op::histogram(x, how);
}

// --- shapes ------------------------------------------------------------------------------------------

AnyTensor reshape(const AnyTensor& x, const Dims& shape) {
  for (const std::int64_t extent : shape) {
    if (extent > 0 || extent == -1) continue;
    throw ValueError({.what = "an extent of reshape is 0 or below -1",
                      .tensor = x.name(),
                      .found = std::to_string(extent),
                      .hint = "-1 stands for what is left over"});
  }
  return op::reshape(x, list(x, shape));
}
AnyTensor transpose(const AnyTensor& x, const Dims& permutation) {
  return op::transpose(x, {.perm = permutation});
}
AnyTensor subsample(const AnyTensor& x, const Dims& strides) {
  return op::subsample(x, {.strides = strides});
}
AnyTensor dynamic_slice(const AnyTensor& x, const AnyTensor& index, const Dims& axes,
                        const Dims& sizes, bool no_overlap) {
  return op::dynamic_slice(x, index, {.axes = axes, .sizes = sizes, .no_overlap = no_overlap});
}
AnyTensor dynamic_update(const AnyTensor& x, const AnyTensor& index, const AnyTensor& update,
                         const Dims& axes, const Dims& sizes, bool no_overlap) {
  return op::dynamic_update(x, index, update,
                            {.axes = axes, .sizes = sizes, .no_overlap = no_overlap});
}

AnyTensor squeeze(const AnyTensor& x, const Dims& axes) {
  Dims places;
  for (const std::int64_t axis : axes) {
    const std::size_t at = place(x, axis, "an axis of squeeze is out of range");
    if (places.contains(static_cast<std::int64_t>(at))) {
      throw ValueError({.what = "an axis of squeeze is given twice",
                        .tensor = x.name(),
                        .found = std::to_string(axis)});
    }
    const std::int64_t extent = x.info().shape[at];
    if (extent != 1 && extent != halftone::dynamic) {
      throw ValueError({.what = "an axis of squeeze has more than one element",
                        .tensor = x.name(),
                        .expected = "1 element along axis " + std::to_string(axis),
                        .found = std::to_string(extent)});
    }
    places.push_back(static_cast<std::int64_t>(at));
  }
  return op::squeeze(x, list(x, places));
}

AnyTensor slice(const AnyTensor& x, const Dims& start, const Dims& stop, const Dims& step,
                const Dims& axis) {
  Dims steps = step, axes = axis;
  if (step.empty()) steps = Dims::filled(start.size(), 1);
  for (std::size_t i = 0; axis.empty() && i < start.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  if (stop.size() != start.size() || steps.size() != start.size() || axes.size() != start.size()) {
    throw ValueError({.what = "the lists of a slice have different lengths",
                      .tensor = x.name(),
                      .expected = std::to_string(start.size()) + " numbers in each"});
  }
  for (const std::int64_t by : steps) {
    if (by == 1 || by == -1) continue;
    throw ValueError({.what = "a step of slice is not 1 or -1",
                      .tensor = x.name(),
                      .found = std::to_string(by),
                      .hint = "subsample takes every n-th element"});
  }
  return op::slice(x, list(x, start), list(x, stop), list(x, axes), list(x, steps));
}

std::vector<AnyTensor> split(const AnyTensor& x, std::int64_t n, std::int64_t axis) {
  const std::int64_t extent = x.info().shape[place(x, axis, "the axis of split is out of range")];
  if (n < 1 || extent % n != 0) {
    throw ValueError({.what = "split cannot make so many equal parts",
                      .tensor = x.name(),
                      .expected = "a divisor of " + std::to_string(extent),
                      .found = std::to_string(n),
                      .hint = "give the sizes of the parts"});
  }
  return split(x, Dims::filled(static_cast<std::size_t>(n), extent / n), axis);
}

std::vector<AnyTensor> split(const AnyTensor& x, const Dims& sizes, std::int64_t axis) {
  const std::int64_t extent = x.info().shape[place(x, axis, "the axis of split is out of range")];
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) sum += size;
  if (sum != extent) {
    throw ValueError({.what = "the sizes of a split are not the extent of its axis",
                      .tensor = x.name(),
                      .expected = std::to_string(extent),
                      .found = std::to_string(sum)});
  }
  std::vector<AnyTensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(op::slice(x, list(x, {begin}), list(x, {begin + size}), list(x, {axis})));
    begin += size;
  }
  return parts;
}

AnyTensor concat(std::span<const AnyTensor> tensors, std::int64_t axis) {
  for (const AnyTensor& t : tensors) {
    const ElementType first = tensors[0].info().type, type = t.info().type;
    if (type == first) continue;
    throw TypeError({.what = "the tensors of a concat have different element types",
                     .tensor = t.name(),
                     .expected = halftone::name(first),
                     .found = halftone::name(type)});
  }
  return op::concat(tensors, {.axis = axis});
}

// --- by indices --------------------------------------------------------------------------------------

AnyTensor gather(const AnyTensor& x, const AnyTensor& indices, std::int64_t axis, bool zero_OOR) {
  return zero_OOR ? op::gather_or_zero(x, indices, axis) : op::gather(x, indices, {.axis = axis});
}
AnyTensor tied_gather(const AnyTensor& x, const AnyTensor& indices, std::int64_t axis,
                      bool zero_OOR) {
  return gather(x, indices, axis, zero_OOR);
}
AnyTensor groupedgather(const AnyTensor& x, const AnyTensor& indices, std::int64_t axis,
                        std::int64_t group_size) {
  return op::grouped_gather(x, indices, {.axis = axis, .group_size = group_size});
}
AnyTensor scatter(const AnyTensor& x, const AnyTensor& indices, const AnyTensor& values,
                  std::int64_t axis) {
  return op::scatter_elements(x, indices, values, {.axis = axis});
}
AnyTensor scatter_reduce(const AnyTensor& x, const AnyTensor& indices, const op::ScatterReduce& how,
                         const AnyTensor& initial_values) {
  return op::scatter_reduce(x, indices, initial_values, how);
}
AnyTensor onehot(const AnyTensor& x, std::int64_t num_classes, const AnyTensor& values,
                 std::int64_t axis) {
  return op::onehot(x, list(x, {num_classes}), values, {.axis = axis});
}

// --- networks ----------------------------------------------------------------------------------------

AnyTensor matmul(const AnyTensor& a, const AnyTensor& b, ElementType output_type,
                 const Planning& how) {
  return cast(matmul(a, b, how), output_type);
}
AnyTensor conv(const AnyTensor& x, const AnyTensor& w, const Window& window, const Planning& how) {
  const AnyTensor y = op::conv(x, w, window.conv());
  detail::plan(y, how);
  return y;
}
AnyTensor conv_transpose(const AnyTensor& x, const AnyTensor& w, const Window& window,
                         const Planning& how) {
  const AnyTensor y = op::conv_transpose(x, w, window.conv_transpose());
  detail::plan(y, how);
  return y;
}
AnyTensor average_pool(const AnyTensor& x, const Dims& kernel_size, const Window& how) {
  return op::average_pool(x, how.pool<op::AveragePool>(kernel_size));
}
AnyTensor max_pool(const AnyTensor& x, const Dims& kernel_size, const Window& how) {
  return op::max_pool(x, how.pool<op::MaxPool>(kernel_size));
}
AnyTensor group_norm(const AnyTensor& x, const AnyTensor& weight, const AnyTensor& bias,
                     std::int64_t num_groups, float eps) {
  return op::group_norm(x, weight, bias,
                        op::GroupNormalization{.num_groups = num_groups, .epsilon = eps});
}
AnyTensor softmax(const AnyTensor& x, std::int64_t axis) { return op::softmax(x, {.axis = axis}); }
AnyTensor nll_loss(const AnyTensor& probs, const AnyTensor& labels, const Nll& how) {
  return op::nll_loss(probs, labels, how);
}
AnyTensor roi_align(const AnyTensor& x, const AnyTensor& rois, const AnyTensor& batch_index,
                    const Dims& output_size, float spatial_scale, std::int64_t sampling_ratio) {
  if (output_size.size() != 2) {
    throw ValueError({.what = "the output_size of roi_align is not height and width",
                      .tensor = x.name(),
                      .found = std::to_string(output_size.size()) + " numbers"});
  }
  return op::roi_align(x, rois, batch_index,
                       op::RoiAlign{.coordinate_transformation_mode =
                                        halftone::kernel::RoiCoordinates::output_half_pixel,
                                    .output_height = output_size[0],
                                    .output_width = output_size[1],
                                    .sampling_ratio = sampling_ratio,
                                    .spatial_scale = spatial_scale});
}

// --- random numbers ----------------------------------------------------------------------------------

AnyTensor dropout(const AnyTensor& x, const AnyTensor& seed, float p) {
  return op::dropout(x, halftone::none, training(x), seed, op::Dropout{.ratio = p});
}
AnyTensor shaped_dropout(const AnyTensor& x, const AnyTensor& seed, const Dims& shape,
                         float ratio) {
  return op::shaped_dropout(x, training(x), seed,
                            op::ShapedDropout{.shape = shape, .ratio = ratio});
}
AnyTensor random_uniform(const AnyTensor& seed, const Dims& shape, float low, float high,
                         ElementType dtype) {
  return op::random_uniform(seed, {.dtype = dtype, .low = low, .high = high, .shape = shape});
}
AnyTensor random_normal(const AnyTensor& seed, const Dims& shape, float mean, float std,
                        ElementType dtype) {
  return op::random_normal(seed, {.dtype = dtype, .mean = mean, .scale = std, .shape = shape});
}

// --- float8 ------------------------------------------------------------------------------------------

AnyTensor matmul_pow2scaled(const AnyTensor& a, const AnyTensor& b, const AnyTensor& log2_scale) {
  check_log2_scale(log2_scale);
  return op::matmul_pow2scaled(a, b, log2_scale);
}
AnyTensor conv_pow2scaled(const AnyTensor& x, const AnyTensor& w, const AnyTensor& log2_scale,
                          const Window& how) {
  check_log2_scale(log2_scale);
  return op::conv_pow2scaled(x, w, log2_scale, how.conv());
}
AnyTensor conv_transpose_pow2scaled(const AnyTensor& x, const AnyTensor& w,
                                    const AnyTensor& log2_scale, const Window& how) {
  check_log2_scale(log2_scale);
  return op::conv_transpose_pow2scaled(x, w, log2_scale, how.conv_transpose());
}

void check_log2_scale(const AnyTensor& log2_scale) {
  const halftone::TensorInfo info = log2_scale.info();
  if (info.rank() != 0) {
    throw ValueError({.what = "log2_scale is not a scalar",
                      .tensor = log2_scale.name(),
                      .found = halftone::detail::to_text(info)});
  }
  if (info.type != ElementType::int32) {
    throw TypeError({.what = "log2_scale is not int32",
                     .tensor = log2_scale.name(),
                     .found = halftone::name(info.type)});
  }
}

}  // namespace popxl::ops
