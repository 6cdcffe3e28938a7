#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_EXPAND_HPP
#define HALFTONE_OP_EXPAND_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// Repeats a tensor so that it has the shape of numpy's broadcasting with `shape`.
///
/// x       any shape that broadcasts with it; y may be larger than `shape` where that has 1
/// limits  while shape is not known, neither are y's extents
/// source  ai.onnx Expand-13
struct Expand {
  static constexpr OpId id{"ai.onnx", "Expand", 8, 13};
  static constexpr Signature signature = "x shape:I -> y";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;

  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  static constexpr Inferred infer(const Inputs& in) {
    const TensorInfo& x = in[0];
    if (in[1].rank() != 1) {
      return Inferred::mismatch("the shape is not a vector", 1,
                                static_cast<std::int64_t>(in[1].rank()));
    }
    const std::int64_t count = in[1].shape[0];
    if (count > static_cast<std::int64_t>(max_rank)) {
      return Inferred::mismatch("too many dimensions", max_rank, count);
    }
    if (!in.is_constant(1)) {
      if (count == dynamic) return Inferred::unknown();
      const auto rank = static_cast<std::size_t>(count);
      return TensorInfo{x.type, Dims::filled(rank > x.rank() ? rank : x.rank(), dynamic)};
    }
    Broadcast y{x.shape};
    Dims shape;
    for (const std::int64_t extent : in.integers(1)) {
      if (extent < 0) return Inferred::mismatch("an extent is negative", 0, extent);
      shape.push_back(extent);
    }
    y.add(shape);
    if (!y.ok) {
      return Inferred::mismatch("shapes do not broadcast together", y.expected, y.found);
    }
    return TensorInfo{x.type, y.shape};
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I>, View<T> y) const {
    const Dims from = kernel::row_major_strides(x.shape());
    const Dims to = kernel::row_major_strides(y.shape());
    const std::size_t first = y.rank - x.rank;
    kernel::Box box;
    for (std::size_t i = 0; i < y.rank; ++i) {
      const bool repeats = i < first || x.extent(i - first) == 1;
      box.add(y.extent(i), to[i], repeats ? 0 : from[i - first]);
    }
    kernel::copy<T>(*call.executor, box, x.data, y.data);
  }
  static constexpr void gradient(auto& g) { g.dx(0) += g.dy(); }
};

}  // namespace halftone::op

#endif
