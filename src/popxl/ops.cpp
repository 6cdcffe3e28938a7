#include <popxl/ops.hpp>

#include <string>

#include "base/describe.hpp"
#include "popxl/state.hpp"

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
}  // namespace

AnyTensor io_tile_copy(const AnyTensor& x) {
  const bool from_io = popxl::detail::place_of(x).on_io_tiles;
  const AnyTensor y = op::identity(x);
  y.graph->nodes.back().planning.on_io_tiles = !from_io;
  if (auto* const state = popxl::detail::state_of(y); state != nullptr) {
    state->places[static_cast<std::size_t>(y.id)].on_io_tiles = !from_io;
  }
  return y;
}
AnyTensor cast(const AnyTensor& x, ElementType type) {
  if (type == ElementType::float8_e4m3fnuz || type == ElementType::float8_e5m2fnuz) {
    throw TypeError({.what = "cast does not make float8 numbers",
                     .tensor = x.name(),
                     .hint = "pow2scale_cast_to_fp8"});
  }
  return op::cast(x, {.to = type});
}

// --- shapes that are known at run time --------------------------------------------------------------

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
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      throw ValueError({.what = "a size of a split is negative",
                        .tensor = x.name(),
                        .found = std::to_string(size)});
    }
    sum += size;
  }
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

// --- float8 -----------------------------------------------------------------------------------------

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
