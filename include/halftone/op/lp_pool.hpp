#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_LP_POOL_HPP
#define HALFTONE_OP_LP_POOL_HPP

#include <halftone/base/window.hpp>
#include <halftone/kernel/fwd.hpp>
#include <halftone/op/pool.hpp>

namespace halftone {

namespace kernel {

// kernel/lp_pool.hpp
template <class T>
void lp_pool(const KernelCall& call, const Window& window, double p, View<const T> x, View<T> y);
template <class T>
constexpr std::size_t lp_pool_workspace(View<const T> x, View<T> y);
template <class T>
void global_lp_pool(const Executor& executor, double p, View<const T> x, View<T> y);

}  // namespace kernel

namespace detail {

/// Of y = (sum of |x|^p)^(1/p), dx = sign(x) * |x|^(p-1) * the sum of dy * y^(1-p) over all sums
/// that x is in, which `spread` makes of one number for each sum. Where y is 0, so is dx.
constexpr void lp_gradient(auto& g, double p, auto&& spread) {
  const auto narrow = g.x();
  const bool is_wide =
      narrow.info().type == ElementType::float32 || narrow.info().type == ElementType::float64;
  const auto wide = [&](auto t) {
    return is_wide ? AnyTensor(t) : AnyTensor(op::cast(t, {.to = ElementType::float32}));
  };
  const auto x = wide(narrow), y = wide(g.y()), dy = wide(g.dy());
  const auto sums = op::where(op::equal(y, 0), 0, dy * op::pow(y, 1 - p));
  const auto size = p == 1 ? op::sign(x) : op::sign(x) * op::pow(op::abs(x), p - 1);
  // |0|^(p-1) is no number for p below 1.
  g.dx(0) += op::where(op::equal(x, 0), 0, size * spread(sums));
}

/// Over windows of `kernel`, or without one over all pixels.
constexpr void lp_pool_cost(auto& machine, const TensorInfo& x, const TensorInfo& y,
                            const Dims& kernel) {
  machine.pass("Abs", x);
  machine.pass("Pow", x);
  if (kernel.empty()) {
    machine.reduce(x, y.elements());
  } else {
    machine.pool(y, product(kernel), false);
  }
  machine.pass("Pow", y);
}

/// The same of pooling with windows.
constexpr void lp_pool_gradient(auto& g, double p, const auto& pool) {
  const Dims shape = g.x().info().shape;
  const op::AveragePoolGradient op(pooling_window(pool, shape.span().subspan(2)), shape,
                                   kernel::PoolCount::one);
  lp_gradient(g, p, [&](auto sums) {
    const auto dx = record(*sums.graph, op, {sums.id}, 1);
    return AnyTensor{sums.graph, dx[0]};
  });
}

}  // namespace detail

namespace op {

/// y = (sum of |x|^p)^(1/p) over each window; elements of the padding are zeros.
///
/// x       [batch, channels, spatial...], one to three spatial dimensions
/// y       [batch, channels, output...], see Window for the output extents
/// limits  half and bfloat16 sum in float
/// source  ai.onnx LpPool-18
struct LpPool {
  Dims kernel_shape{}, strides{}, dilations{};
  Pads pads{};
  AutoPad auto_pad = AutoPad::notset;
  std::int64_t ceil_mode = 0;
  std::int64_t p = 2;

  static constexpr OpId id{"ai.onnx", "LpPool", 2, 11, 18, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("strides", strides);
    visit("dilations", dilations);
    visit("pads", pads);
    visit("auto_pad", auto_pad);
    visit("ceil_mode", ceil_mode);
    visit("p", p);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    halftone::detail::lp_pool_cost(machine, in[0], out[0], kernel_shape);
  }
  constexpr Inferred infer(TensorInfo x) const {
    if (p < 1) return Inferred::mismatch("p is not positive", 1, p);
    return infer_pooling(*this, x);
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::lp_pool<T>(call, pooling_window(*this, x.shape().subspan(2)), static_cast<double>(p), x,
                       y);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<T> y) const {
    return kernel::lp_pool_workspace<T>(x, y);
  }
  constexpr void gradient(auto& g) const {
    halftone::detail::lp_pool_gradient(g, static_cast<double>(p), *this);
  }
};

/// LpPool whose p is any positive number.
struct LpPool_1 {
  Dims kernel_shape{}, strides{};
  Pads pads{};
  AutoPad auto_pad = AutoPad::notset;
  float p = 2;

  static constexpr OpId id{"ai.onnx", "LpPool", 1};
  static constexpr Signature signature = "x -> y";
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("strides", strides);
    visit("pads", pads);
    visit("auto_pad", auto_pad);
    visit("p", p);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    halftone::detail::lp_pool_cost(machine, in[0], out[0], kernel_shape);
  }
  constexpr Inferred infer(TensorInfo x) const {
    if (!(p > 0)) return Inferred::mismatch("p is not positive");
    return infer_pooling(newer(), x);
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::lp_pool<T>(call, pooling_window(newer(), x.shape().subspan(2)), static_cast<double>(p),
                       x, y);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<T> y) const {
    return kernel::lp_pool_workspace<T>(x, y);
  }
  constexpr void gradient(auto& g) const {
    halftone::detail::lp_pool_gradient(g, static_cast<double>(p), newer());
  }

 private:
  constexpr LpPool newer() const {
    return {.kernel_shape = kernel_shape, .strides = strides, .pads = pads, .auto_pad = auto_pad};
  }
};

/// y = (sum of |x|^p)^(1/p) over each channel of each image.
///
/// x       [batch, channels, spatial...]
/// y       [batch, channels, 1...], as many dimensions as x
/// limits  sums in double
/// source  ai.onnx GlobalLpPool-2
struct GlobalLpPool {
  std::int64_t p = 2;

  static constexpr OpId id{"ai.onnx", "GlobalLpPool", 2, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("p", p); }
  static constexpr void cost(auto& machine, auto in, auto out) {
    halftone::detail::lp_pool_cost(machine, in[0], out[0], {});
  }
  constexpr Inferred infer(TensorInfo x) const {
    if (p < 1) return Inferred::mismatch("p is not positive", 1, p);
    return infer_global_pooling(x);
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::global_lp_pool<T>(*call.executor, static_cast<double>(p), x, y);
  }
  constexpr void gradient(auto& g) const {
    halftone::detail::lp_gradient(g, static_cast<double>(p), [](auto sums) { return sums; });
  }
};

/// GlobalLpPool whose p is any positive number.
struct GlobalLpPool_1 {
  float p = 2;

  static constexpr OpId id{"ai.onnx", "GlobalLpPool", 1};
  static constexpr Signature signature = "x -> y";
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("p", p); }
  static constexpr void cost(auto& machine, auto in, auto out) {
    halftone::detail::lp_pool_cost(machine, in[0], out[0], {});
  }
  constexpr Inferred infer(TensorInfo x) const {
    if (!(p > 0)) return Inferred::mismatch("p is not positive");
    return infer_global_pooling(x);
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::global_lp_pool<T>(*call.executor, static_cast<double>(p), x, y);
  }
  constexpr void gradient(auto& g) const {
    halftone::detail::lp_gradient(g, static_cast<double>(p), [](auto sums) { return sums; });
  }
};

}  // namespace op
}  // namespace halftone

#endif
