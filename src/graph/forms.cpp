#include <halftone/forms.hpp>

#include <string>

namespace halftone::forms {

namespace {

/// A list of numbers as an input of an operator.
AnyTensor list(const AnyTensor& x, const Dims& numbers) { return constant(*x.graph, numbers); }

/// A bool constant that says that dropout drops.
AnyTensor training(const AnyTensor& x) {
  constexpr bool is_training = true;
  return constant(*x.graph, std::span<const bool>(&is_training, 1), Dims{});
}

}  // namespace

void detail::plan(const AnyTensor& y, const Planning& how) {
  if (how != Planning{}) set_planning(y.graph->nodes.back(), how);
}

// --- element by element -----------------------------------------------------------------------------

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
  named.title = BoundedText<256>(title);
  named.print_gradient = print_gradient;
  return op::print_tensor(x, named);
}
AnyTensor scaled_add(const AnyTensor& x, const AnyTensor& y, Factor a, Factor b) {
  const ElementType type = x.info().type;
  const AnyTensor term = y.info().type == type ? y : op::cast(y, {.to = type});
  const AnyTensor scale = a.in(*x.graph, type), other = b.in(*x.graph, type);
  return op::scaled_add(x, term, scale, other);
}
AnyTensor where(const AnyTensor& condition, const AnyTensor& a, const AnyTensor& b) {
  const bool is_bool = condition.info().type == ElementType::boolean;
  return op::where(is_bool ? condition : op::cast(condition, {.to = ElementType::boolean}), a, b);
}

// --- reductions -------------------------------------------------------------------------------------

#define HALFTONE_REDUCTION(name, Op)                                   \
  AnyTensor name(const AnyTensor& x, const Dims& axis, bool is_kept) { \
    return op::name(x, list(x, axis), op::Op{.keepdims = is_kept});    \
  }
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
    fail(ErrorKind::usage, {.what = "a histogram has too many levels",
                            .tensor = x.name(),
                            .expected = "at most " + std::to_string(how.levels.capacity()),
                            .found = std::to_string(levels.size())});
  }
  for (const float level : levels) how.levels.push_back(level);
  return op::histogram(x, how);
}

// --- shapes -----------------------------------------------------------------------------------------

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

// --- by indices -------------------------------------------------------------------------------------

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

// --- networks ---------------------------------------------------------------------------------------

AnyTensor matmul(const AnyTensor& a, const AnyTensor& b, ElementType output_type,
                 const Planning& how) {
  return op::cast(matmul(a, b, how), {.to = output_type});
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
AnyTensor softmax(const AnyTensor& x, std::int64_t axis) {
  const Dims shape = x.info().shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t first = axis < 0 ? axis + rank : axis;
  if (first < 0 || first + 1 >= rank) return op::softmax(x, {.axis = axis});
  const AnyTensor rows = op::softmax(op::flatten(x, {.axis = first}), {.axis = 1});
  return op::reshape(rows, constant(*x.graph, shape));
}
AnyTensor nll_loss(const AnyTensor& probs, const AnyTensor& labels, const Nll& how) {
  return op::nll_loss(probs, labels, how);
}
AnyTensor roi_align(const AnyTensor& x, const AnyTensor& rois, const AnyTensor& batch_index,
                    const Dims& output_size, float spatial_scale, std::int64_t sampling_ratio) {
  if (output_size.size() != 2) {
    fail(ErrorKind::usage, {.what = "the output_size of roi_align is not height and width",
                            .tensor = x.name(),
                            .found = std::to_string(output_size.size()) + " numbers"});
  }
  return op::roi_align(
      x, rois, batch_index,
      op::RoiAlign{.coordinate_transformation_mode = kernel::RoiCoordinates::output_half_pixel,
                   .output_height = output_size[0],
                   .output_width = output_size[1],
                   .sampling_ratio = sampling_ratio,
                   .spatial_scale = spatial_scale});
}

// --- random numbers ---------------------------------------------------------------------------------

AnyTensor dropout(const AnyTensor& x, const AnyTensor& seed, float p) {
  return op::dropout(x, none, training(x), seed, op::Dropout{.ratio = p});
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

}  // namespace halftone::forms
