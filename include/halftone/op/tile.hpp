#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_TILE_HPP
#define HALFTONE_OP_TILE_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// Repeats a tensor as a whole, `repeats` times along each dimension: y[i] = x[i mod extent].
///
/// x        any shape
/// repeats  one number for each dimension, not negative; PopART wants constants of at least 1
/// grad     dx = sum of dy over the repeats
/// limits   while repeats are not known, neither are y's extents
/// source   ai.onnx Tile-13
struct Tile {
  static constexpr OpId id{"ai.onnx", "Tile", 6, 13};
  static constexpr Signature signature = "x repeats:I -> y";
  using types = TypeList<BitTypes, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  static constexpr Inferred infer(const Inputs& in) {
    TensorInfo y = in[0];
    const auto rank = static_cast<std::int64_t>(y.rank());
    if (in[1].rank() != 1) {
      return Inferred::mismatch("repeats are not a vector", 1,
                                static_cast<std::int64_t>(in[1].rank()));
    }
    if (contradict(in[1].shape[0], rank)) {
      return Inferred::mismatch("repeats need one number per dimension", rank, in[1].shape[0]);
    }
    if (!in.is_constant(1)) {
      y.shape = Dims::filled(y.rank(), dynamic);
      return y;
    }
    const std::vector<std::int64_t> repeats = in.integers(1);
    for (std::size_t i = 0; i < y.rank() && i < repeats.size(); ++i) {
      if (repeats[i] < 0)
        return Inferred::mismatch("a number of repeats is negative", 0, repeats[i]);
      if (y.shape[i] != dynamic) y.shape[i] = product(Dims{y.shape[i], repeats[i]});
    }
    return y;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> repeats, View<T> y) const {
    if (y.size() == 0) return;
    // Dimensions that are repeated together are one.
    Dims times, extents;
    for (std::size_t i = 0; i < x.rank; ++i) {
      if (!times.empty() && repeats[static_cast<std::int64_t>(i)] == 1) {
        extents.back() *= x.extent(i);
      } else if (!times.empty() && extents.back() == 1) {
        times.back() *= repeats[static_cast<std::int64_t>(i)];
        extents.back() = x.extent(i);
      } else {
        times.push_back(repeats[static_cast<std::int64_t>(i)]);
        extents.push_back(x.extent(i));
      }
    }
    const std::size_t rank = times.size();
    Dims from = Dims::filled(rank, 1), to = from;
    for (std::size_t i = rank; i-- > 1;) {
      from[i - 1] = from[i] * extents[i];
      to[i - 1] = to[i] * extents[i] * times[i];
    }
    // A box has room for four of them; the others are counted here.
    const std::size_t counted = rank > max_rank / 2 ? rank - max_rank / 2 : 0;
    kernel::Box box;
    for (std::size_t i = counted; i < rank; ++i) {
      box.add(times[i], to[i] * extents[i], 0);
      box.add(extents[i], to[i], from[i]);
    }
    std::int64_t positions = 1;
    for (std::size_t i = 0; i < counted; ++i) positions *= times[i] * extents[i];
    for (std::int64_t p = 0; p < positions; ++p) {
      std::int64_t rest = p, source = 0, place = 0;
      for (std::size_t i = counted; i-- > 0;) {
        const std::int64_t at = rest % (times[i] * extents[i]);
        rest /= times[i] * extents[i];
        source += at % extents[i] * from[i];
        place += at * to[i];
      }
      kernel::copy<T>(*call.executor, box, x.data + source, y.data + place);
    }
  }
  static constexpr void gradient(auto& g) {
    const Dims from = g.x().info().shape;
    auto dx = g.dy();
    Dims shape = dx.info().shape;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (shape[i] == from[i] || from[i] == 0) continue;
      const std::int64_t repeats = shape[i] / from[i];
      shape[i] = from[i];
      const std::int64_t outer = product(shape.span().first(i));
      const std::int64_t run = product(shape.span().subspan(i));
      dx = sum(GradientScope::reshape_to(dx, {outer, repeats, run}), constant(g.graph(), Dims{1}),
               {.keepdims = 0});
    }
    g.dx(0) += GradientScope::reshape_to(dx, from);
  }
};

}  // namespace halftone::op

#endif
