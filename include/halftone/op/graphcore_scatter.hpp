#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GRAPHCORE_SCATTER_HPP
#define HALFTONE_OP_GRAPHCORE_SCATTER_HPP

#include <string_view>

#include <halftone/base/math.hpp>
#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/gather.hpp>
#include <halftone/op/slice.hpp>

namespace halftone {

/// How ScatterReduce joins what comes to one place.
enum class ScatterReduction : std::uint8_t { sum, max, min, mul, last };

namespace detail {
inline constexpr std::string_view scatter_reduction_names[] = {"sum", "max", "min", "mul", "none"};
}
constexpr std::span<const std::string_view> names_of(ScatterReduction) {
  return detail::scatter_reduction_names;
}

namespace op {

/// Sends the elements of a tensor to places along a dimension and joins what meets there:
/// y[a..., indices[...], b...] joins x[a..., i, b...].
///
/// x            any shape
/// indices      of x's shape, or [extent along axis] for all positions of the other dimensions
///              (extents of 1 in their places may be there), [group_size, extent] if group_size > 1
/// initial      y before; absent: 0, for mul 1; what max and min leave out is 0 then
/// axis         from the end if negative
/// axis_size    y's extent along the axis, required
/// reduction    sum, max, min, mul or none, which writes the last one in row-major order
/// group_size   if greater than 1 the extent of the first dimension, which cannot be the axis
/// enable_index_broadcast  0: indices may be smaller than x along any dimension; the rest of x is
///              left out then
/// grad         of sums: dx = dy at the places where the elements went
/// limits       numbers in [-axis_size, axis_size), others are an InputError of the run; half and
///              bfloat16 are joined in float
/// source       ai.graphcore ScatterReduce-1
struct ScatterReduce {
  std::int64_t axis = -1, axis_size = required;
  ScatterReduction reduction = ScatterReduction::sum;
  std::int64_t group_size = 1, enable_index_broadcast = 1;

  static constexpr OpId id{"ai.graphcore", "ScatterReduce", 1};
  static constexpr Signature signature = "x indices:I initial? -> y";
  using types = TypeList<Joined<FloatTypes, TypeList<std::int32_t, std::uint32_t, std::int64_t>>,
                         TypeList<std::int32_t, std::uint32_t, std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("axis_size", axis_size);
    visit("reduction", reduction);
    visit("group_size", group_size);
    visit("enable_index_broadcast", enable_index_broadcast);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    const std::size_t at = normalized_axis(axis, in[0].rank());
    if (in[2].is_known()) {
      machine.move(in[2]);
    } else {
      machine.fill(out[0]);
    }
    const bool is_sum = reduction == ScatterReduction::sum;
    const bool is_row =
        enable_index_broadcast != 0 && is_vector(in[0].shape.span(), in[1].shape.span(), at);
    if (is_row && in[0].shape != in[1].shape) {
      const std::int64_t rows = in[0].shape[at] * group_size;
      machine.scatter(out[0], in[0].shape[at], rows > 0 ? in[0].elements() / rows : 0, is_sum,
                      group_size);
    } else {
      const std::int64_t rows = in[1].shape[at];
      machine.scatter(out[0], rows, 1, is_sum, rows > 0 ? in[1].elements() / rows : 0);
    }
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo &x = in[0], &indices = in[1];
    const std::size_t rank = x.rank(), at = normalized_axis(axis, rank);
    if (at == rank) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(rank), axis);
    }
    if (axis_size < 1) return Inferred::mismatch("axis_size is less than 1", 1, axis_size);
    if (group_size < 1) return Inferred::mismatch("group_size is less than 1", 1, group_size);
    if (group_size > 1 && at == 0) return Inferred::mismatch("the axis is that of the groups");
    if (group_size > 1 && contradict(x.shape[0], group_size)) {
      return Inferred::mismatch("group_size is not the first extent", x.shape[0], group_size);
    }
    TensorInfo y = x;
    y.shape[at] = axis_size;
    if (in.has(2)) {
      if (in[2].rank() != rank) {
        return Inferred::mismatch("the initial values have another number of dimensions",
                                  static_cast<std::int64_t>(rank),
                                  static_cast<std::int64_t>(in[2].rank()));
      }
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t both = agree(y.shape[i], in[2].shape[i]);
        if (both == contradictory) {
          return Inferred::mismatch("the initial values have another shape", y.shape[i],
                                    in[2].shape[i]);
        }
        y.shape[i] = both;
      }
    }
    if (!x.is_static() || !indices.is_static()) return y;
    if (enable_index_broadcast == 0) {
      if (indices.rank() != rank) {
        return Inferred::mismatch("indices have another number of dimensions",
                                  static_cast<std::int64_t>(rank),
                                  static_cast<std::int64_t>(indices.rank()));
      }
      for (std::size_t i = 0; i < rank; ++i) {
        if (indices.shape[i] > x.shape[i]) {
          return Inferred::mismatch("there are more indices than elements", x.shape[i],
                                    indices.shape[i]);
        }
      }
    } else if (indices.shape != x.shape && !is_vector(x.shape.span(), indices.shape.span(), at)) {
      return Inferred::mismatch("indices are neither of the input's shape nor one list",
                                x.shape[at], indices.elements());
    }
    return y;
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> indices, View<const T> initial,
              View<T> y) const {
    const std::int64_t count = indices.size();
    auto* const places = static_cast<std::int64_t*>(call.workspace);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<std::int64_t>(indices[i]);
      if (index < -axis_size || index >= axis_size) halftone_index_error(index, axis_size);
      places[i] = index < 0 ? index + axis_size : index;
    }
    scatter<T>(call, x, places, indices.shape(), initial, y, places + count);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<const I> indices,
                                  View<const T>, View<T> y) const {
    const auto sums = static_cast<std::size_t>(y.size());
    return static_cast<std::size_t>(indices.size()) * sizeof(std::int64_t) +
           sums * sizeof(halftone::detail::Compute<T>) + sums;
  }
  constexpr void gradient(auto& g) const {
    if (reduction != ScatterReduction::sum) {
      fail(ErrorKind::unsupported,
           {.what = "ScatterReduce has a gradient for sums only",
            .found = halftone::detail::scatter_reduction_names[static_cast<std::size_t>(reduction)],
            .hint = "ScatterElements has one for all reductions"});
    }
    const auto dy = g.dy();
    auto& graph = g.graph();
    if (g.needs(2)) g.dx(2) += dy;
    if (!g.needs(0)) return;
    const TensorInfo x = g.x().info();
    const std::size_t at = normalized_axis(axis, x.rank());
    auto indices = g.x(1);
    if (indices.info().type == ElementType::uint32) {
      indices = cast(indices, {.to = ElementType::int64});
    }
    const Dims given = indices.info().shape;
    if (given != x.shape && enable_index_broadcast != 0) {
      Dims column = Dims::filled(x.rank(), 1);
      if (group_size > 1) column[0] = group_size;
      column[at] = x.shape[at];
      indices = expand(reshape(indices, constant(graph, column)), constant(graph, x.shape));
    }
    const auto picked = gather_elements(dy, indices, {.axis = axis});
    if (given == x.shape || enable_index_broadcast != 0) {
      g.dx(0) += picked;
      return;
    }
    // What has no index is left out.
    const auto start = constant(graph, Dims::filled(x.rank(), 0)), end = constant(graph, given);
    const auto dx =
        detail::record(graph, SliceGradient{.shape = x.shape}, {picked.id, start.id, end.id}, 1);
    g.dx(0) += AnyTensor{&graph, dx[0]};
  }

 private:
  /// Whether indices serve for all positions beside the axis (and the groups).
  constexpr bool is_vector(std::span<const std::int64_t> x, std::span<const std::int64_t> indices,
                           std::size_t at) const {
    Dims wanted, given;
    if (group_size > 1) wanted.push_back(group_size);
    if (x[at] != 1) wanted.push_back(x[at]);
    for (const std::int64_t extent : indices) {
      if (extent != 1) given.push_back(extent);
    }
    return wanted == given;
  }

  template <class T>
  void scatter(const KernelCall& call, View<const T> x, const std::int64_t* places,
               std::span<const std::int64_t> extents, View<const T> initial, View<T> y,
               void* space) const {
    using S = halftone::detail::Compute<T>;
    const std::size_t at = normalized_axis(axis, x.rank);
    const std::int64_t n = y.size();
    const bool leaves_zeros =
        !initial && (reduction == ScatterReduction::max || reduction == ScatterReduction::min);
    S* const sums = static_cast<S*>(space);
    auto* const is_written = reinterpret_cast<std::uint8_t*>(sums + n);
    const S first = static_cast<S>(reduction == ScatterReduction::mul ? 1 : 0);
    for (std::int64_t i = 0; i < n; ++i) {
      sums[i] = initial ? static_cast<S>(initial[i]) : first;
      is_written[i] = !leaves_zeros;
    }
    const auto join = [&](std::int64_t to, std::int64_t from) {
      const S value = static_cast<S>(x[from]);
      S& joined = sums[to];
      if (is_written[to] == 0) {
        is_written[to] = 1;
        joined = value;
        return;
      }
      switch (reduction) {
        case ScatterReduction::sum:
          joined = math::add(joined, value);
          break;
        case ScatterReduction::max:
          joined = math::max(joined, value);
          break;
        case ScatterReduction::min:
          joined = math::min(joined, value);
          break;
        case ScatterReduction::mul:
          joined = math::multiply(joined, value);
          break;
        case ScatterReduction::last:
          joined = value;
          break;
      }
    };
    const std::int64_t along = x.extent(at), inner = x.size(at + 1, x.rank);
    const bool is_full = extents.size() == x.rank && Dims(extents) == Dims(x.shape());
    if (is_full || enable_index_broadcast != 0) {
      const std::int64_t outer = x.size(0, at);
      const std::int64_t in_group = group_size > 1 ? outer / group_size : outer;
      const std::int64_t strip = 512, strips = (inner + strip - 1) / strip;
      kernel::parallel_for(*call.executor, outer * strips, [&](std::int64_t task) {
        const std::int64_t o = task / strips, r0 = task % strips * strip;
        const std::int64_t r1 = inner - r0 < strip ? inner : r0 + strip;
        const std::int64_t* const list =
            is_full ? places + o * along * inner : places + o / in_group * along;
        for (std::int64_t i = 0; i < along; ++i) {
          for (std::int64_t r = r0; r < r1; ++r) {
            const std::int64_t place = is_full ? list[i * inner + r] : list[i];
            join((o * axis_size + place) * inner + r, (o * along + i) * inner + r);
          }
        }
      });
    } else {
      const Dims x_strides = kernel::row_major_strides(x.shape());
      const Dims y_strides = kernel::row_major_strides(y.shape());
      const std::int64_t count = product(extents);
      for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t rest = i, from = 0, to = places[i] * y_strides[at];
        for (std::size_t d = x.rank; d-- > 0;) {
          const std::int64_t position = rest % extents[d];
          rest /= extents[d];
          from += position * x_strides[d];
          if (d != at) to += position * y_strides[d];
        }
        join(to, from);
      }
    }
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(sums[i]);
  }
};

/// Gather for each position along the first dimension.
///
/// data        [groups, a..., n, b...], n the extent along `axis`
/// indices     [groups, i...], numbers in [-n, n); negative ones count from the end, which PopART
///             does not have
/// y           [groups, a..., i..., b...]
/// axis        counts the dimension of the groups, too; from the end if negative
/// group_size  the number of groups; 1: data and indices have no such dimension, it is Gather
/// grad        ddata = zeros, to whose slices those of dy are added
/// limits      an index that is out of range is an InputError of the run
/// source      ai.graphcore GroupedGather-1
struct GroupedGather {
  std::int64_t axis = 0, group_size = 1;

  static constexpr OpId id{"ai.graphcore", "GroupedGather", 1};
  static constexpr Signature signature = "data indices:I -> y";
  using types = TypeList<BitTypes, TypeList<std::int32_t, std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("group_size", group_size);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    const std::int64_t rows = in[1].elements();
    machine.gather(in[0], rows / group_size, rows > 0 ? out[0].elements() / rows : 0, group_size);
  }
  constexpr Inferred infer(TensorInfo data, TensorInfo indices) const {
    const std::size_t at = normalized_axis(axis, data.rank());
    if (at == data.rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(data.rank()),
                                axis);
    }
    if (group_size < 1) return Inferred::mismatch("group_size is less than 1", 1, group_size);
    const std::size_t groups = group_size > 1 ? 1 : 0;
    if (groups != 0) {
      if (at == 0) return Inferred::mismatch("the axis is that of the groups");
      if (indices.rank() == 0 || contradict(indices.shape[0], group_size)) {
        return Inferred::mismatch("the indices are not in groups", group_size,
                                  indices.rank() == 0 ? 0 : indices.shape[0]);
      }
      if (contradict(data.shape[0], group_size)) {
        return Inferred::mismatch("group_size is not the first extent", data.shape[0], group_size);
      }
    }
    const std::size_t rank = data.rank() - 1 + indices.rank() - groups;
    if (rank > max_rank) {
      return Inferred::mismatch("too many dimensions", max_rank, static_cast<std::int64_t>(rank));
    }
    TensorInfo y{data.type, Dims(data.shape.span().first(at))};
    for (const std::int64_t extent : indices.shape.span().subspan(groups)) {
      y.shape.push_back(extent);
    }
    for (const std::int64_t extent : data.shape.span().subspan(at + 1)) y.shape.push_back(extent);
    return y;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> data, View<const I> indices, View<T> y) const {
    const std::size_t at = normalized_axis(axis, data.rank);
    const std::int64_t groups = group_size > 1 ? group_size : 1;
    const std::int64_t outer = data.size(0, at) / groups;
    const std::int64_t count = indices.size() / groups;
    for (std::int64_t g = 0; g < groups; ++g) {
      kernel::gather<T, I>(*call.executor, data.data + g * (data.size() / groups), outer,
                           data.extent(at), data.size(at + 1, data.rank), indices.data + g * count,
                           count, y.data + g * (y.size() / groups));
    }
  }
  constexpr void gradient(auto& g) const {
    auto& graph = g.graph();
    const TensorInfo x = g.x().info();
    const Dims given = g.x(1).info().shape;
    const std::size_t at = normalized_axis(axis, x.rank());
    const std::int64_t n = x.shape[at], groups = group_size > 1 ? group_size : 1;
    if (n == 0) return;
    const auto list = [&](std::initializer_list<std::int64_t> values) {
      return constant(graph, Dims(values));
    };
    const std::int64_t outer = product(x.shape.span().first(at)) / groups;
    const std::int64_t run = product(x.shape.span().subspan(at + 1));
    const std::int64_t count = product(given) / groups;
    // The groups one behind the other are one tensor to gather from along its first dimension.
    auto places =
        GradientScope::reshape_to(cast(g.x(1), {.to = ElementType::int64}), {groups, count});
    std::vector<std::int64_t> first;
    for (std::int64_t i = 0; i < groups; ++i) first.push_back(i * n);
    const std::span<const std::int64_t> starts = first;
    const auto extent = list({n});
    places = mod(places, extent) + constant(graph, starts, {groups, 1});
    const auto dy = transpose(GradientScope::reshape_to(g.dy(), {groups, outer, count, run}),
                              {.perm = {0, 2, 1, 3}});
    const auto dx =
        detail::record(graph, GatherGradient{.axis = 0, .shape = {groups * n, outer, run}},
                       {GradientScope::reshape_to(dy, {groups * count, outer, run}).id,
                        GradientScope::reshape_to(places, {groups * count}).id},
                       1);
    const auto parts = GradientScope::reshape_to(AnyTensor{&graph, dx[0]}, {groups, n, outer, run});
    g.dx(0) += GradientScope::reshape_to(transpose(parts, {.perm = {0, 2, 1, 3}}), x.shape);
  }
};

}  // namespace op
}  // namespace halftone

#endif
