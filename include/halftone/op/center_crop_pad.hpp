#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CENTER_CROP_PAD_HPP
#define HALFTONE_OP_CENTER_CROP_PAD_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/axes.hpp>

namespace halftone::op {

/// Takes the middle of a dimension that is too long, and puts one that is too short between zeros.
///
/// x       any shape
/// shape   the new extents of the dimensions `axes`
/// axes    from the end if negative; empty: all
/// y       where an odd number of elements is left out or added, the larger part is behind
/// grad    CenterCropPad of dy to the shape of x
/// limits  while shape is not known, neither are y's extents
/// source  ai.onnx CenterCropPad-18
struct CenterCropPad {
  Dims axes{};

  static constexpr OpId id{"ai.onnx", "CenterCropPad", 18};
  static constexpr Signature signature = "x shape:I -> y";
  using types = TypeList<BitTypes, TypeList<std::int32_t, std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("axes", axes); }

  static constexpr void cost(auto& machine, auto, auto) { machine.view(); }
  constexpr Inferred infer(const Inputs& in) const {
    TensorInfo y = in[0];
    const Axes named(axes.span(), y.rank());
    if (!named.ok()) return named.mismatch();
    const auto count = static_cast<std::int64_t>(axes.empty() ? y.rank() : axes.size());
    if (in[1].rank() != 1 || contradict(in[1].shape[0], count)) {
      return Inferred::mismatch("the shape has not one number per dimension", count,
                                in[1].elements());
    }
    const std::vector<std::int64_t> extents = in.integers(1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      std::int64_t& extent = y.shape[axes.empty() ? i : static_cast<std::size_t>(named.list[i])];
      extent = in.is_constant(1) ? extents[i] : dynamic;
      if (in.is_constant(1) && extent < 0) {
        return Inferred::mismatch("an extent is negative", 0, extent);
      }
    }
    return y;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I>, View<T> y) const {
    kernel::PaddedAxis padded[max_rank];
    for (std::size_t i = 0; i < x.rank; ++i) {
      const std::int64_t more = y.extent(i) - x.extent(i);  // rounded to zero, then the rest
      padded[i] = {x.extent(i), more / 2, more - more / 2};
    }
    kernel::pad<T>(*call.executor, PadMode::constant, padded, T(0), x, y);
  }
  constexpr void gradient(auto& g) const {
    const Dims x = g.x().info().shape;
    Dims extents;
    for (const std::int64_t axis : axes) extents.push_back(x[normalized_axis(axis, x.size())]);
    g.dx(0) += op::center_crop_pad(g.dy(), constant(g.graph(), axes.empty() ? x : extents),
                                   {.axes = axes});
  }
};

}  // namespace halftone::op

#endif
