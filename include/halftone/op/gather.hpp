#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_GATHER_HPP
#define HALFTONE_OP_GATHER_HPP

#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// Picks slices along a dimension: y[a..., i..., b...] = x[a..., indices[i...], b...].
///
/// x        [a..., n, b...], n the extent along `axis`
/// indices  any shape, numbers in [-n, n); negative ones count from the end, also for versions
///          below 11, which do not have them
/// limits   an index that is out of range is an InputError of the run
/// source   ai.onnx Gather-13
struct Gather {
  std::int64_t axis = 0;

  static constexpr OpId id{"ai.onnx", "Gather", 1, 11, 13};
  static constexpr Signature signature = "x indices:I -> y";
  using types = TypeList<BitTypes, TypeList<std::int32_t, std::int64_t>>;

  constexpr void attributes(auto&& visit) { visit("axis", axis); }

  static constexpr void cost(auto& machine, auto in, auto out) {
    const std::int64_t rows = in[1].elements();
    machine.gather(in[0], rows, rows > 0 ? out[0].elements() / rows : 0);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo indices) const {
    const std::size_t at = normalized_axis(axis, x.rank());
    if (at == x.rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(x.rank()), axis);
    }
    const std::size_t rank = x.rank() - 1 + indices.rank();
    if (rank > max_rank) {
      return Inferred::mismatch("too many dimensions", max_rank, static_cast<std::int64_t>(rank));
    }
    TensorInfo y{x.type, Dims(x.shape.span().first(at))};
    for (const std::int64_t extent : indices.shape) y.shape.push_back(extent);
    for (const std::int64_t extent : x.shape.span().subspan(at + 1)) y.shape.push_back(extent);
    return y;
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> indices, View<T> y) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    kernel::gather<T, I>(*call.executor, x.data, x.size(0, at), x.extent(at),
                         x.size(at + 1, x.rank), indices.data, indices.size(), y.data);
  }
  constexpr void gradient(auto& g) const;
};

/// The gradient of Gather: zeros of a shape, to whose slices those of dy are added, in order.
struct GatherGradient {
  std::int64_t axis = 0;
  Dims shape{};

  static constexpr OpId id{"halftone", "GatherGradient", 1};
  static constexpr Signature signature = "dy indices:I -> dx";
  using types = TypeList<FloatTypes, TypeList<std::int32_t, std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("shape", shape);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    const std::int64_t rows = in[1].elements();
    machine.fill(out[0]);
    machine.scatter(out[0], rows, rows > 0 ? in[0].elements() / rows : 0);
  }
  constexpr Inferred infer(const Inputs& in) const { return TensorInfo{in[0].type, shape}; }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> dy, View<const I> indices, View<T> dx) const {
    const std::size_t at = normalized_axis(axis, dx.rank);
    const std::int64_t outer = dx.size(0, at), extent = dx.extent(at);
    const std::int64_t run = dx.size(at + 1, dx.rank), count = indices.size();
    // It may run before Gather does.
    for (std::int64_t k = 0; k < count; ++k) {
      if (indices[k] < -extent || indices[k] >= extent) halftone_index_error(indices[k], extent);
    }
    kernel::fill<T>(*call.executor, T{}, dx.data, dx.size());
    for (std::int64_t o = 0; o < outer; ++o) {
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t i = indices[k] < 0 ? indices[k] + extent : indices[k];
        T* to = dx.data + (o * extent + i) * run;
        const T* from = dy.data + (o * count + k) * run;
        for (std::int64_t r = 0; r < run; ++r) to[r] = static_cast<T>(to[r] + from[r]);
      }
    }
  }
};

constexpr void Gather::gradient(auto& g) const {
  const auto dx =
      detail::record(g.graph(), GatherGradient{.axis = axis, .shape = g.x().info().shape},
                     {g.dy().id, g.x(1).id}, 1);
  g.dx(0) += AnyTensor{&g.graph(), dx[0]};
}

}  // namespace halftone::op

#endif
