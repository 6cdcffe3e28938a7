#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_SOFTMAX_HPP
#define HALFTONE_OP_SOFTMAX_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/softmax_nll_gradient.hpp>

namespace halftone::detail {

/// The largest of each row taken off, exponentials, their sum, and the pass that it goes into.
constexpr void softmax_cost(auto& machine, const TensorInfo& x, std::int64_t axis,
                            std::string_view last) {
  const std::size_t dimension = normalized_axis(axis, x.rank());
  const std::int64_t n = dimension < x.rank() ? x.shape[dimension] : 1;
  const std::int64_t rows = n > 0 ? x.elements() / n : 0;
  machine.reduce(x, rows, false);
  machine.pass("Sub", x);
  machine.pass("Exp", x);
  machine.reduce(x, rows);
  machine.pass(last, x);
}

}  // namespace halftone::detail

namespace halftone::op {

/// y = e^x / sum of e^x along one dimension, so that y sums to 1 there.
///
/// x, y    any shape with at least one dimension, floating point
/// axis    the dimension, counted from the end if negative
/// grad    dx = y * (dy - sum of dy * y along the axis); with a loss behind it SoftmaxNllGradient
/// limits  the largest x is subtracted first, so powers do not overflow; a line with an infinity or
///         of -inf alone gives NaN
/// source  ai.onnx Softmax-13
struct Softmax {
  std::int64_t axis = -1;

  static constexpr OpId id{"ai.onnx", "Softmax", 13};
  static constexpr Signature signature = "x -> y";
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) { visit("axis", axis); }
  constexpr void cost(auto& machine, auto in, auto) const {
    halftone::detail::softmax_cost(machine, in[0], axis, "Mul");
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
    kernel::softmax<T>(*call.executor, false, x.data, y.data, x.size(0, at), x.extent(at),
                       x.size(at + 1, x.rank));
  }
  constexpr void gradient(auto& g) const {
    if (halftone::detail::record_softmax_nll_gradient(g, axis, false)) return;
    const auto product = g.dy() * g.y();
    g.dx(0) += product - g.y() * op::sum(product, constant(g.graph(), {axis}));
  }
};

/// y = log(e^x / sum of e^x) along one dimension, without the detour: x - log(sum of e^x).
///
/// x, y    any shape with at least one dimension, floating point
/// axis    the dimension, counted from the end if negative
/// grad    dx = dy - e^y * sum of dy along the axis; with a loss behind it SoftmaxNllGradient
/// limits  as Softmax
/// source  ai.onnx LogSoftmax-13
struct LogSoftmax {
  std::int64_t axis = -1;

  static constexpr OpId id{"ai.onnx", "LogSoftmax", 13};
  static constexpr Signature signature = "x -> y";
  static constexpr bool in_place = true;

  constexpr void attributes(auto&& visit) { visit("axis", axis); }
  constexpr void cost(auto& machine, auto in, auto) const {
    halftone::detail::softmax_cost(machine, in[0], axis, "Sub");
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
    kernel::softmax<T>(*call.executor, true, x.data, y.data, x.size(0, at), x.extent(at),
                       x.size(at + 1, x.rank));
  }
  constexpr void gradient(auto& g) const {
    if (halftone::detail::record_softmax_nll_gradient(g, axis, true)) return;
    g.dx(0) += g.dy() - op::exp(g.y()) * op::sum(g.dy(), constant(g.graph(), {axis}));
  }
};

}  // namespace halftone::op

namespace halftone::detail {

/// Softmax as it was before opset 13: over all dimensions from `axis` on together.
template <class New>
struct SoftmaxFromAxis {
  std::int64_t axis = 1;

  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) { visit("axis", axis); }

  constexpr AnyTensor expand(auto x) const {
    constexpr OpFunction<New> newer{};
    const TensorInfo info = x.info();
    const std::size_t rank = info.rank(), first = normalized_axis(axis, rank);
    if (first < rank) {
      bool is_single = true;
      for (std::size_t i = first + 1; i < rank; ++i) is_single = is_single && info.shape[i] == 1;
      if (is_single) return newer(x, New{.axis = static_cast<std::int64_t>(first)});
    }
    const auto y = newer(op::flatten(x, {.axis = axis}), New{});
    if (info.is_static())
      return op::reshape(y, constant(*x.graph, info.shape), {.allowzero = true});
    return op::reshape(y, OpFunction<op::Shape>{}(x), {.allowzero = true});
  }
};

}  // namespace halftone::detail

namespace halftone::op {

/// Softmax over all dimensions from `axis` on. source  ai.onnx Softmax-1
struct Softmax_1 : detail::SoftmaxFromAxis<Softmax> {
  static constexpr OpId id{"ai.onnx", "Softmax", 1, 11};
};
/// LogSoftmax over all dimensions from `axis` on. source  ai.onnx LogSoftmax-1
struct LogSoftmax_1 : detail::SoftmaxFromAxis<LogSoftmax> {
  static constexpr OpId id{"ai.onnx", "LogSoftmax", 1, 11};
};

}  // namespace halftone::op

#endif
