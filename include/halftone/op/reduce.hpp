#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_REDUCE_HPP
#define HALFTONE_OP_REDUCE_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/axes.hpp>

namespace halftone::detail {

/// What the gradients of reductions need: gradient and result with the reduced dimensions kept, and
/// those dimensions.
template <class Tensor>
struct Reduced {
  Tensor x, y, dy, axes, shape;
  double count = 1;      ///< elements that go into one
  bool is_noop = false;  ///< y is x

  constexpr Reduced(auto& g, const auto& op) : x(g.x()) {
    const TensorInfo info = x.info();
    Dims list, kept = info.shape;
    if (!g.x(1).is_absent()) {
      for (const std::int64_t axis : g.integers(1)) {
        list.push_back(static_cast<std::int64_t>(normalized_axis(axis, info.rank())));
      }
    }
    if (list.empty() && op.noop_with_empty_axes == 0) {
      for (std::size_t i = 0; i < info.rank(); ++i) list.push_back(static_cast<std::int64_t>(i));
    }
    is_noop = list.empty() && op.noop_with_empty_axes != 0;
    for (const std::int64_t axis : list) {
      count *= static_cast<double>(kept[static_cast<std::size_t>(axis)]);
      kept[static_cast<std::size_t>(axis)] = 1;
    }
    axes = constant(g.graph(), list);
    shape = constant(g.graph(), info.shape);
    y = GradientScope::reshape_to(g.y(), kept);
    dy = GradientScope::reshape_to(g.dy(), kept);
  }
};

constexpr auto reduced(auto& g, const auto& op) {
  return Reduced<std::remove_cvref_t<decltype(g.x())>>(g, op);
}

}  // namespace halftone::detail

namespace halftone::op {

/// Element types that are reduced: float and the halves are summed in float and, over many terms,
/// in double; integers in 64 bits.
using ReducedTypes =
    TypeList<Joined<FloatTypes, TypeList<std::int8_t, std::int32_t, std::int64_t, std::uint8_t,
                                         std::uint32_t, std::uint64_t>>,
             TypeList<std::int64_t>>;

/// The shape rule of reductions: x, and the dimensions as a constant or absent input.
constexpr Inferred infer_reduction(const Inputs& in, bool keeps_dims, bool is_noop_without_axes) {
  const TensorInfo& x = in[0];
  const std::size_t rank = x.rank();
  Dims axes;
  bool is_all = !in.has(1);
  if (in.has(1)) {
    if (in[1].rank() != 1) {
      return Inferred::mismatch("axes are not a vector", 1,
                                static_cast<std::int64_t>(in[1].rank()));
    }
    const std::int64_t count = in[1].shape[0];
    if (!in.is_constant(1)) {
      if (keeps_dims) return TensorInfo{x.type, Dims::filled(rank, dynamic)};
      if (count <= 0 || count > static_cast<std::int64_t>(rank)) return Inferred::unknown();
      return TensorInfo{x.type, Dims::filled(rank - static_cast<std::size_t>(count), dynamic)};
    }
    const Axes given(in.integers(1), rank);
    if (!given.ok()) return given.mismatch();
    axes = given.list;
    is_all = axes.empty();
  }
  if (is_all && is_noop_without_axes) return x;
  TensorInfo y{x.type, {}};
  for (std::size_t i = 0; i < rank; ++i) {
    const bool is_kept = !is_all && !axes.contains(static_cast<std::int64_t>(i));
    if (is_kept) {
      y.shape.push_back(x.shape[i]);
    } else if (keeps_dims) {
      y.shape.push_back(1);
    }
  }
  return y;
}

/// Bit i is set if dimension i is reduced.
template <class I>
constexpr std::uint32_t reduced_dimensions(View<const I> axes, std::size_t rank,
                                           bool is_noop_without_axes) {
  std::uint32_t mask = 0;
  for (std::int64_t i = 0; axes && i < axes.size(); ++i) {
    mask |= std::uint32_t{1} << normalized_axis(axes[i], rank);
  }
  return mask == 0 && !is_noop_without_axes ? (std::uint32_t{1} << rank) - 1 : mask;
}

/// Types whose elements have a largest and a smallest one: of bool, false is less than true.
using OrderedTypes =
    TypeList<Joined<FloatTypes, TypeList<std::int8_t, std::int32_t, std::int64_t, std::uint8_t,
                                         std::uint32_t, std::uint64_t, bool>>,
             TypeList<std::int64_t>>;

/// What all reductions do. Without axes and with `noop_with_empty_axes` every element is reduced
/// alone: most reductions leave it as it is, ReduceL1 gives its magnitude.
template <kernel::Accumulation A, kernel::Finish F>
struct Reducer {
  static constexpr bool keeps_one =
      A == kernel::Accumulation::exponentials ||
      ((A == kernel::Accumulation::sum || A == kernel::Accumulation::product ||
        A == kernel::Accumulation::largest || A == kernel::Accumulation::smallest) &&
       (F == kernel::Finish::none || F == kernel::Finish::mean));

  template <class T, class Op, class I>
  static void run(const Op& op, const KernelCall& call, View<const T> x, View<const I> axes,
                  View<T> y) {
    const std::uint32_t mask = reduced_dimensions(axes, x.rank, op.noop_with_empty_axes != 0);
    if (keeps_one && mask == 0 && op.noop_with_empty_axes != 0) {
      for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[i];
    } else if constexpr (std::is_same_v<T, bool>) {
      const View<const std::uint8_t> bytes{reinterpret_cast<const std::uint8_t*>(x.data), x.extents,
                                           x.rank};
      auto* const to = reinterpret_cast<std::uint8_t*>(y.data);
      kernel::reduce<A, std::uint8_t>(*call.executor, F, mask, bytes, to, call.workspace);
      for (std::int64_t i = 0; i < y.size(); ++i) to[i] = to[i] != 0;  // of none it is 255
    } else {
      kernel::reduce<A, T>(*call.executor, F, mask, x, y.data, call.workspace);
    }
  }
  template <class T, class Op, class I>
  static constexpr std::size_t workspace(const Op& op, View<const T> x, View<const I> axes) {
    const std::uint32_t mask = reduced_dimensions(axes, x.rank, op.noop_with_empty_axes != 0);
    return kernel::reduce_workspace<T>(A, mask, x);
  }
};

/// y = sum of x over the dimensions in `axes`.
///
/// x                     any shape
/// axes                  dimensions, counted from the end if negative; absent or empty: all
/// keepdims              1: reduced dimensions stay, with extent 1; 0: they go
/// noop_with_empty_axes  1: without axes y is x
/// grad                  dx = dy, repeated over the reduced dimensions
/// source                ai.onnx ReduceSum-13
struct ReduceSum {
  std::int64_t keepdims = 1, noop_with_empty_axes = 0;

  static constexpr OpId id{"ai.onnx", "ReduceSum", 13};
  static constexpr Signature signature = "x axes:I? -> y";
  using types = ReducedTypes;
  using Run = Reducer<kernel::Accumulation::sum, kernel::Finish::none>;

  constexpr void attributes(auto&& visit) {
    visit("keepdims", keepdims);
    visit("noop_with_empty_axes", noop_with_empty_axes);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.reduce(in[0], out[0].elements());
  }
  constexpr Inferred infer(const Inputs& in) const {
    return infer_reduction(in, keepdims != 0, noop_with_empty_axes != 0);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> axes, View<T> y) const {
    Run::run(*this, call, x, axes, y);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const I> axes,
                                  View<T>) const {
    return Run::workspace(*this, x, axes);
  }
  constexpr void gradient(auto& g) const {
    const auto r = detail::reduced(g, *this);
    g.dx(0) += op::expand(r.dy, r.shape);
  }
};

/// y = mean of x over the dimensions in `axes`.
///
/// x                     any shape
/// axes                  dimensions, counted from the end if negative; absent or empty: all
/// keepdims              1: reduced dimensions stay, with extent 1; 0: they go
/// noop_with_empty_axes  1: without axes y is x
/// grad                  dx = dy / n, repeated, with n elements for each of y
/// limits                the mean of integers rounds to zero; of no elements it is NaN
/// source                ai.onnx ReduceMean-18
struct ReduceMean {
  std::int64_t keepdims = 1, noop_with_empty_axes = 0;

  static constexpr OpId id{"ai.onnx", "ReduceMean", 18};
  static constexpr Signature signature = "x axes:I? -> y";
  using types = ReducedTypes;
  using Run = Reducer<kernel::Accumulation::sum, kernel::Finish::mean>;

  constexpr void attributes(auto&& visit) {
    visit("keepdims", keepdims);
    visit("noop_with_empty_axes", noop_with_empty_axes);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.reduce(in[0], out[0].elements());
  }
  constexpr Inferred infer(const Inputs& in) const {
    return infer_reduction(in, keepdims != 0, noop_with_empty_axes != 0);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> axes, View<T> y) const {
    Run::run(*this, call, x, axes, y);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const I> axes,
                                  View<T>) const {
    return Run::workspace(*this, x, axes);
  }
  constexpr void gradient(auto& g) const {
    const auto r = detail::reduced(g, *this);
    g.dx(0) += op::expand(r.dy * (1 / r.count), r.shape);
  }
};

/// y = the largest of x over the dimensions in `axes`; NaN if one is.
///
/// x                     any shape
/// axes                  dimensions, counted from the end if negative; absent or empty: all
/// keepdims              1: reduced dimensions stay, with extent 1; 0: they go
/// noop_with_empty_axes  1: without axes y is x
/// grad                  dx = dy wherever x equals y, in full to equal ones, as PopART has it
/// limits                of no elements -inf, or the lowest number of the type
/// source                ai.onnx ReduceMax-20, before which there is no bool
struct ReduceMax {
  std::int64_t keepdims = 1, noop_with_empty_axes = 0;

  static constexpr OpId id{"ai.onnx", "ReduceMax", 18, 20};
  static constexpr Signature signature = "x axes:I? -> y";
  using types = OrderedTypes;
  using Run = Reducer<kernel::Accumulation::largest, kernel::Finish::none>;

  constexpr void attributes(auto&& visit) {
    visit("keepdims", keepdims);
    visit("noop_with_empty_axes", noop_with_empty_axes);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.reduce(in[0], out[0].elements(), false);
  }
  constexpr Inferred infer(const Inputs& in) const {
    return infer_reduction(in, keepdims != 0, noop_with_empty_axes != 0);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> axes, View<T> y) const {
    Run::run(*this, call, x, axes, y);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const I> axes,
                                  View<T>) const {
    return Run::workspace(*this, x, axes);
  }
  constexpr void gradient(auto& g) const {
    const auto r = detail::reduced(g, *this);
    g.dx(0) += select(op::equal(r.x, r.y), r.dy, 0);
  }
};

/// y = the smallest of x over the dimensions in `axes`; NaN if one is.
///
/// x                     any shape
/// axes                  dimensions, counted from the end if negative; absent or empty: all
/// keepdims              1: reduced dimensions stay, with extent 1; 0: they go
/// noop_with_empty_axes  1: without axes y is x
/// grad                  dx = dy wherever x equals y, in full to equal ones, as PopART has it
/// limits                of no elements inf, or the largest number of the type
/// source                ai.onnx ReduceMin-20, before which there is no bool
struct ReduceMin {
  std::int64_t keepdims = 1, noop_with_empty_axes = 0;

  static constexpr OpId id{"ai.onnx", "ReduceMin", 18, 20};
  static constexpr Signature signature = "x axes:I? -> y";
  using types = OrderedTypes;
  using Run = Reducer<kernel::Accumulation::smallest, kernel::Finish::none>;

  constexpr void attributes(auto&& visit) {
    visit("keepdims", keepdims);
    visit("noop_with_empty_axes", noop_with_empty_axes);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.reduce(in[0], out[0].elements(), false);
  }
  constexpr Inferred infer(const Inputs& in) const {
    return infer_reduction(in, keepdims != 0, noop_with_empty_axes != 0);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> axes, View<T> y) const {
    Run::run(*this, call, x, axes, y);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const I> axes,
                                  View<T>) const {
    return Run::workspace(*this, x, axes);
  }
  constexpr void gradient(auto& g) const {
    const auto r = detail::reduced(g, *this);
    g.dx(0) += select(op::equal(r.x, r.y), r.dy, 0);
  }
};

/// y = product of x over the dimensions in `axes`.
///
/// x                     any shape
/// axes                  dimensions, counted from the end if negative; absent or empty: all
/// keepdims              1: reduced dimensions stay, with extent 1; 0: they go
/// noop_with_empty_axes  1: without axes y is x
/// grad                  dx = dy times the product of the others
/// limits                of no elements 1
/// source                ai.onnx ReduceProd-18
struct ReduceProd {
  std::int64_t keepdims = 1, noop_with_empty_axes = 0;

  static constexpr OpId id{"ai.onnx", "ReduceProd", 18};
  static constexpr Signature signature = "x axes:I? -> y";
  using types = ReducedTypes;
  using Run = Reducer<kernel::Accumulation::product, kernel::Finish::none>;

  constexpr void attributes(auto&& visit) {
    visit("keepdims", keepdims);
    visit("noop_with_empty_axes", noop_with_empty_axes);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.reduce(in[0], out[0].elements());
  }
  constexpr Inferred infer(const Inputs& in) const {
    return infer_reduction(in, keepdims != 0, noop_with_empty_axes != 0);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> axes, View<T> y) const {
    Run::run(*this, call, x, axes, y);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const I> axes,
                                  View<T>) const {
    return Run::workspace(*this, x, axes);
  }
  constexpr void gradient(auto& g) const {
    const auto r = detail::reduced(g, *this);
    if (r.is_noop) {
      g.dx(0) += r.dy;
      return;
    }
    // By division, but where a factor is 0: it alone gets the product of the others.
    const auto zero = op::equal(r.x, 0.f);
    const auto zeros = op::sum(op::cast(zero, {.to = r.x.info().type}), r.axes);
    const auto others = op::prod(select(zero, 1.f, r.x), r.axes);
    const auto alone = select(zeros < 1.5f, others, 0.f);
    g.dx(0) += r.dy * select(zero, alone, select(zeros > 0.5f, 0.f, others / r.x));
  }
};

/// y = sum of |x| over the dimensions in `axes`.
///
/// x                     any shape
/// axes                  dimensions, counted from the end if negative; absent or empty: all
/// keepdims              1: reduced dimensions stay, with extent 1; 0: they go
/// noop_with_empty_axes  1: without axes y is |x|
/// grad                  dx = dy * sign(x)
/// source                ai.onnx ReduceL1-18
struct ReduceL1 {
  std::int64_t keepdims = 1, noop_with_empty_axes = 0;

  static constexpr OpId id{"ai.onnx", "ReduceL1", 18};
  static constexpr Signature signature = "x axes:I? -> y";
  using types = ReducedTypes;
  using Run = Reducer<kernel::Accumulation::magnitudes, kernel::Finish::none>;

  constexpr void attributes(auto&& visit) {
    visit("keepdims", keepdims);
    visit("noop_with_empty_axes", noop_with_empty_axes);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.pass("Abs", in[0]);
    machine.reduce(in[0], out[0].elements());
  }
  constexpr Inferred infer(const Inputs& in) const {
    return infer_reduction(in, keepdims != 0, noop_with_empty_axes != 0);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> axes, View<T> y) const {
    Run::run(*this, call, x, axes, y);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const I> axes,
                                  View<T>) const {
    return Run::workspace(*this, x, axes);
  }
  constexpr void gradient(auto& g) const {
    const auto r = detail::reduced(g, *this);
    g.dx(0) += r.dy * op::sign(r.x);
  }
};

/// y = square root of the sum of x^2 over the dimensions in `axes`.
///
/// x                     any shape
/// axes                  dimensions, counted from the end if negative; absent or empty: all
/// keepdims              1: reduced dimensions stay, with extent 1; 0: they go
/// noop_with_empty_axes  1: without axes y is |x|
/// grad                  dx = dy * x / y, and 0 where y is 0
/// limits                float and the halves are squared in float, where 1.9e19 is too large
/// source                ai.onnx ReduceL2-18
struct ReduceL2 {
  std::int64_t keepdims = 1, noop_with_empty_axes = 0;

  static constexpr OpId id{"ai.onnx", "ReduceL2", 18};
  static constexpr Signature signature = "x axes:I? -> y";
  using types = ReducedTypes;
  using Run = Reducer<kernel::Accumulation::squares, kernel::Finish::root>;

  constexpr void attributes(auto&& visit) {
    visit("keepdims", keepdims);
    visit("noop_with_empty_axes", noop_with_empty_axes);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.pass("Mul", in[0]);
    machine.reduce(in[0], out[0].elements());
  }
  constexpr Inferred infer(const Inputs& in) const {
    return infer_reduction(in, keepdims != 0, noop_with_empty_axes != 0);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> axes, View<T> y) const {
    Run::run(*this, call, x, axes, y);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const I> axes,
                                  View<T>) const {
    return Run::workspace(*this, x, axes);
  }
  constexpr void gradient(auto& g) const {
    const auto r = detail::reduced(g, *this);
    // The norm of zeros has no slope. 0 is its smallest subgradient, and x / 1 gives it.
    g.dx(0) += r.dy * r.x / where(equal(r.y, 0), 1, r.y);
  }
};

/// y = log of the sum of x over the dimensions in `axes`.
///
/// x                     any shape
/// axes                  dimensions, counted from the end if negative; absent or empty: all
/// keepdims              1: reduced dimensions stay, with extent 1; 0: they go
/// noop_with_empty_axes  1: without axes y is log(x)
/// grad                  dx = dy / sum
/// source                ai.onnx ReduceLogSum-18
struct ReduceLogSum {
  std::int64_t keepdims = 1, noop_with_empty_axes = 0;

  static constexpr OpId id{"ai.onnx", "ReduceLogSum", 18, 28};
  static constexpr Signature signature = "x axes:I? -> y";
  using types = ReducedTypes;
  using Run = Reducer<kernel::Accumulation::sum, kernel::Finish::logarithm>;

  constexpr void attributes(auto&& visit) {
    visit("keepdims", keepdims);
    visit("noop_with_empty_axes", noop_with_empty_axes);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.reduce(in[0], out[0].elements());
  }
  constexpr Inferred infer(const Inputs& in) const {
    return infer_reduction(in, keepdims != 0, noop_with_empty_axes != 0);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> axes, View<T> y) const {
    Run::run(*this, call, x, axes, y);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const I> axes,
                                  View<T>) const {
    return Run::workspace(*this, x, axes);
  }
  constexpr void gradient(auto& g) const {
    const auto r = detail::reduced(g, *this);
    g.dx(0) += op::expand(r.dy * op::exp(-r.y), r.shape);
  }
};

/// y = log of the sum of e^x over the dimensions in `axes`; the powers do not overflow.
///
/// x                     any shape
/// axes                  dimensions, counted from the end if negative; absent or empty: all
/// keepdims              1: reduced dimensions stay, with extent 1; 0: they go
/// noop_with_empty_axes  1: without axes y is x
/// grad                  dx = dy * e^(x - y)
/// source                ai.onnx ReduceLogSumExp-18
struct ReduceLogSumExp {
  std::int64_t keepdims = 1, noop_with_empty_axes = 0;

  static constexpr OpId id{"ai.onnx", "ReduceLogSumExp", 18, 28};
  static constexpr Signature signature = "x axes:I? -> y";
  using types = ReducedTypes;
  using Run = Reducer<kernel::Accumulation::exponentials, kernel::Finish::logarithm>;

  constexpr void attributes(auto&& visit) {
    visit("keepdims", keepdims);
    visit("noop_with_empty_axes", noop_with_empty_axes);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.pass("Exp", in[0]);
    machine.reduce(in[0], out[0].elements());
  }
  constexpr Inferred infer(const Inputs& in) const {
    return infer_reduction(in, keepdims != 0, noop_with_empty_axes != 0);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> axes, View<T> y) const {
    Run::run(*this, call, x, axes, y);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const I> axes,
                                  View<T>) const {
    return Run::workspace(*this, x, axes);
  }
  constexpr void gradient(auto& g) const {
    const auto r = detail::reduced(g, *this);
    g.dx(0) += r.dy * op::exp(r.x - r.y);
  }
};

/// y = sum of x^2 over the dimensions in `axes`.
///
/// x                     any shape
/// axes                  dimensions, counted from the end if negative; absent or empty: all
/// keepdims              1: reduced dimensions stay, with extent 1; 0: they go
/// noop_with_empty_axes  1: without axes y is x^2
/// grad                  dx = dy * 2 x
/// source                ai.onnx ReduceSumSquare-18
struct ReduceSumSquare {
  std::int64_t keepdims = 1, noop_with_empty_axes = 0;

  static constexpr OpId id{"ai.onnx", "ReduceSumSquare", 18};
  static constexpr Signature signature = "x axes:I? -> y";
  using types = ReducedTypes;
  using Run = Reducer<kernel::Accumulation::squares, kernel::Finish::none>;

  constexpr void attributes(auto&& visit) {
    visit("keepdims", keepdims);
    visit("noop_with_empty_axes", noop_with_empty_axes);
  }
  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.pass("Mul", in[0]);
    machine.reduce(in[0], out[0].elements());
  }
  constexpr Inferred infer(const Inputs& in) const {
    return infer_reduction(in, keepdims != 0, noop_with_empty_axes != 0);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> axes, View<T> y) const {
    Run::run(*this, call, x, axes, y);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const I> axes,
                                  View<T>) const {
    return Run::workspace(*this, x, axes);
  }
  constexpr void gradient(auto& g) const {
    const auto r = detail::reduced(g, *this);
    g.dx(0) += r.dy * r.x * 2;
  }
};

}  // namespace halftone::op

namespace halftone::detail {

/// Reductions whose axes are an attribute; none means all.
template <class New>
struct ReduceByAttribute {
  Dims axes{};
  std::int64_t keepdims = 1;

  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("axes", axes);
    visit("keepdims", keepdims);
  }
  constexpr AnyTensor expand(auto x) const {
    constexpr OpFunction<New> newer{};
    if (axes.empty()) return newer(x, New{.keepdims = keepdims});
    return newer(x, constant(*x.graph, axes), New{.keepdims = keepdims});
  }
};

}  // namespace halftone::detail

namespace halftone::op {

/// ReduceSum with its axes as an attribute.
struct ReduceSum_1 : detail::ReduceByAttribute<ReduceSum> {
  static constexpr OpId id{"ai.onnx", "ReduceSum", 1, 11};
};
/// ReduceMean with its axes as an attribute.
struct ReduceMean_1 : detail::ReduceByAttribute<ReduceMean> {
  static constexpr OpId id{"ai.onnx", "ReduceMean", 1, 11, 13};
};
/// ReduceMax with its axes as an attribute.
struct ReduceMax_1 : detail::ReduceByAttribute<ReduceMax> {
  static constexpr OpId id{"ai.onnx", "ReduceMax", 1, 11, 12, 13};
};
/// ReduceMin with its axes as an attribute.
struct ReduceMin_1 : detail::ReduceByAttribute<ReduceMin> {
  static constexpr OpId id{"ai.onnx", "ReduceMin", 1, 11, 12, 13};
};
/// ReduceProd with its axes as an attribute.
struct ReduceProd_1 : detail::ReduceByAttribute<ReduceProd> {
  static constexpr OpId id{"ai.onnx", "ReduceProd", 1, 11, 13};
};
/// ReduceL1 with its axes as an attribute.
struct ReduceL1_1 : detail::ReduceByAttribute<ReduceL1> {
  static constexpr OpId id{"ai.onnx", "ReduceL1", 1, 11, 13};
};
/// ReduceL2 with its axes as an attribute.
struct ReduceL2_1 : detail::ReduceByAttribute<ReduceL2> {
  static constexpr OpId id{"ai.onnx", "ReduceL2", 1, 11, 13};
};
/// ReduceLogSum with its axes as an attribute.
struct ReduceLogSum_1 : detail::ReduceByAttribute<ReduceLogSum> {
  static constexpr OpId id{"ai.onnx", "ReduceLogSum", 1, 11, 13};
};
/// ReduceLogSumExp with its axes as an attribute.
struct ReduceLogSumExp_1 : detail::ReduceByAttribute<ReduceLogSumExp> {
  static constexpr OpId id{"ai.onnx", "ReduceLogSumExp", 1, 11, 13};
};
/// ReduceSumSquare with its axes as an attribute.
struct ReduceSumSquare_1 : detail::ReduceByAttribute<ReduceSumSquare> {
  static constexpr OpId id{"ai.onnx", "ReduceSumSquare", 1, 11, 13};
};

}  // namespace halftone::op

#endif
