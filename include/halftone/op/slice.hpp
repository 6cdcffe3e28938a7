#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_SLICE_HPP
#define HALFTONE_OP_SLICE_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/axes.hpp>

namespace halftone::op {

/// A part of a tensor: along each dimension named, the elements start, start + step, ... before
/// end.
///
/// starts, ends  one number per dimension named; negative ones count from the end, what is outside
///               is clamped, so INT64_MAX is "to the end" (INT64_MIN with a negative step)
/// axes          the dimensions, from the end if negative; absent: the first ones
/// steps         not 0, may be negative; absent: 1
/// limits        while starts, ends, axes or steps are not known, neither are y's extents
/// source        ai.onnx Slice-13
struct Slice {
  static constexpr OpId id{"ai.onnx", "Slice", 10, 11, 13};
  static constexpr Signature signature = "x starts:I ends:I axes:I? steps:I? -> y";
  using types = TypeList<BitTypes, TypeList<std::int32_t, std::int64_t>>;

  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  static constexpr Inferred infer(const Inputs& in) {
    TensorInfo y = in[0];
    for (std::size_t i = 1; i < in.size(); ++i) {
      if (in.has(i) && !in.is_constant(i)) {
        y.shape = Dims::filled(y.rank(), dynamic);
        return y;
      }
    }
    const std::vector<std::int64_t> starts = in.integers(1), ends = in.integers(2);
    std::vector<std::int64_t> axes = in.integers(3), steps = in.integers(4);
    const std::size_t n = starts.size();
    for (std::size_t i = axes.size(); !in.has(3) && i < n; ++i) {
      axes.push_back(static_cast<std::int64_t>(i));
    }
    if (!in.has(4)) steps.resize(n, 1);
    for (const std::size_t length : {ends.size(), axes.size(), steps.size()}) {
      if (length != n) {
        return Inferred::mismatch("starts, ends, axes and steps have different lengths",
                                  static_cast<std::int64_t>(n), static_cast<std::int64_t>(length));
      }
    }
    const Axes dimensions(axes, y.rank());
    if (!dimensions.ok()) return dimensions.mismatch();
    for (std::size_t i = 0; i < n; ++i) {
      if (steps[i] == 0) return Inferred::mismatch("a step is 0");
      std::int64_t& extent = y.shape[static_cast<std::size_t>(dimensions.list[i])];
      if (extent != dynamic) extent = Range(extent, starts[i], ends[i], steps[i]).count();
    }
    return y;
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> starts, View<const I>,
              View<const I> axes, View<const I> steps, View<T> y) const {
    const Positions at = positions(x, y, starts, axes, steps);
    const Dims to = kernel::row_major_strides(y.shape());
    kernel::Box box;
    for (std::size_t i = 0; i < y.rank; ++i) box.add(y.extent(i), to[i], at.strides[i]);
    kernel::copy<T>(*call.executor, box, x.data + at.offset, y.data);
  }

  /// Where the elements of a part lie in the whole.
  struct Positions {
    Dims strides;
    std::int64_t offset;
  };
  static Positions positions(const auto& whole, const auto& part, const auto& starts,
                             const auto& axes, const auto& steps) {
    const Dims from = kernel::row_major_strides(whole.shape());
    Positions at{from, 0};
    for (std::int64_t i = 0; i < starts.size(); ++i) {
      const std::size_t axis = normalized_axis(axes ? axes[i] : i, whole.rank);
      const Range along(whole.extent(axis), starts[i], 0, steps ? steps[i] : 1);
      if (part.extent(axis) > 0) at.offset += along.start * from[axis];
      at.strides[axis] = part.extent(axis) > 1 ? along.step * from[axis] : 0;
    }
    return at;
  }
  static constexpr void gradient(auto& g);

  /// Positions along a dimension, clamped.
  struct Range {
    std::int64_t start, end, step;

    constexpr Range(std::int64_t extent, std::int64_t first, std::int64_t last, std::int64_t by)
        : step(by > extent    ? extent + 1
               : by < -extent ? -extent - 1
                              : by) {
      const std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? extent - 1 : extent;
      const auto clamped = [&](std::int64_t i, std::int64_t least) {
        if (i < 0) i += extent;
        if (i < least) i = least;
        return i > high ? high : i;
      };
      start = clamped(first, 0);
      end = clamped(last, low);
    }
    constexpr std::int64_t count() const {
      const std::int64_t distance = step < 0 ? start - end : end - start;
      const std::int64_t by = step < 0 ? -step : step;
      return distance <= 0 ? 0 : (distance + by - 1) / by;
    }
  };
};

/// The gradient of Slice: zeros of a shape with dy at the positions of the slice.
struct SliceGradient {
  Dims shape{};

  static constexpr OpId id{"halftone", "SliceGradient", 1};
  static constexpr Signature signature = "dy starts:I ends:I axes:I? steps:I? -> dx";
  using types = Slice::types;

  constexpr void attributes(auto&& visit) { visit("shape", shape); }
  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  constexpr Inferred infer(const Inputs& in) const { return TensorInfo{in[0].type, shape}; }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> dy, View<const I> starts, View<const I>,
              View<const I> axes, View<const I> steps, View<T> dx) const {
    kernel::fill<T>(*call.executor, T{}, dx.data, dx.size());
    const Slice::Positions at = Slice::positions(dx, dy, starts, axes, steps);
    const Dims from = kernel::row_major_strides(dy.shape());
    kernel::Box box;
    for (std::size_t i = 0; i < dy.rank; ++i) box.add(dy.extent(i), at.strides[i], from[i]);
    if (dy.size() != 0) kernel::copy<T>(*call.executor, box, dy.data, dx.data + at.offset);
  }
};

constexpr void Slice::gradient(auto& g) {
  const auto dx = detail::record(g.graph(), SliceGradient{.shape = g.x().info().shape},
                                 {g.dy().id, g.x(1).id, g.x(2).id, g.x(3).id, g.x(4).id}, 1);
  g.dx(0) += AnyTensor{&g.graph(), dx[0]};
}

/// Slice by attributes, with steps of 1.
struct Slice_1 {
  Dims starts{}, ends{}, axes{};

  static constexpr OpId id{"ai.onnx", "Slice", 1};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("starts", starts);
    visit("ends", ends);
    visit("axes", axes);
  }
  constexpr AnyTensor expand(auto x) const {
    Graph& graph = *x.graph;
    if (axes.empty()) return slice(x, constant(graph, starts), constant(graph, ends));
    return slice(x, constant(graph, starts), constant(graph, ends), constant(graph, axes));
  }
};

}  // namespace halftone::op

#endif
