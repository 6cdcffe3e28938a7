#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_HARDMAX_HPP
#define HALFTONE_OP_HARDMAX_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/arg_max.hpp>
#include <halftone/op/softmax.hpp>

namespace halftone::op {

/// 1 where the first of the largest elements along a dimension is, 0 elsewhere.
///
/// x, y    any shape with at least one dimension, floating point
/// axis    the dimension, counted from the end if negative
/// limits  the first NaN counts as the largest element
/// source  ai.onnx Hardmax-13
struct Hardmax {
  std::int64_t axis = -1;

  static constexpr OpId id{"ai.onnx", "Hardmax", 13};
  static constexpr Signature signature = "x -> y";
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("axis", axis); }
  constexpr void cost(auto& machine, auto in, auto) const {
    const std::int64_t n = in[0].shape[normalized_axis(axis, in[0].rank())];
    machine.reduce(in[0], in[0].elements() / n, false);
    machine.pass("Equal", in[0]);
  }
  /// The shape does not depend on the axis, only whether there is one.
  static constexpr Inferred infer(TensorInfo x) { return x; }
  constexpr Inferred infer(const Inputs& in) const {
    if (normalized_axis(axis, in[0].rank()) == in[0].rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(in[0].rank()),
                                axis);
    }
    return in[0];
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    const std::int64_t outer = x.size(0, at), n = x.extent(at), inner = x.size(at + 1, x.rank);
    if (x.size() == 0) return;
    auto* const places = static_cast<std::int64_t*>(call.workspace);
    kernel::arg_extreme<T>(*call.executor, true, false, x.data, outer, n, inner, places);
    kernel::fill<T>(*call.executor, T(0), y.data, x.size());
    for (std::int64_t i = 0; i < outer * inner; ++i) {
      y[(i / inner * n + places[i]) * inner + i % inner] = T(1);
    }
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<T>) const {
    const std::size_t at = normalized_axis(axis, x.rank);
    return static_cast<std::size_t>(x.size(0, at) * x.size(at + 1, x.rank)) * sizeof(std::int64_t);
  }
};

/// Hardmax over all dimensions from `axis` on together. source  ai.onnx Hardmax-1
struct Hardmax_1 : halftone::detail::SoftmaxFromAxis<Hardmax> {
  static constexpr OpId id{"ai.onnx", "Hardmax", 1, 11};
  static constexpr bool differentiable = false;
};

}  // namespace halftone::op

#endif
