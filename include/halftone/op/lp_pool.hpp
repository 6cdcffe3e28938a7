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
std::size_t lp_pool_workspace(View<const T> x, View<T> y);
template <class T>
void global_lp_pool(const Executor& executor, double p, View<const T> x, View<T> y);

}  // namespace kernel

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

  static constexpr OpId id{"ai.onnx", "LpPool", 2, 11, 18};
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
  std::size_t workspace(const KernelCall&, View<const T> x, View<T> y) const {
    return kernel::lp_pool_workspace<T>(x, y);
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
  std::size_t workspace(const KernelCall&, View<const T> x, View<T> y) const {
    return kernel::lp_pool_workspace<T>(x, y);
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

  static constexpr OpId id{"ai.onnx", "GlobalLpPool", 2};
  static constexpr Signature signature = "x -> y";
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("p", p); }
  constexpr Inferred infer(TensorInfo x) const {
    if (p < 1) return Inferred::mismatch("p is not positive", 1, p);
    return infer_global_pooling(x);
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::global_lp_pool<T>(*call.executor, static_cast<double>(p), x, y);
  }
};

/// GlobalLpPool whose p is any positive number.
struct GlobalLpPool_1 {
  float p = 2;

  static constexpr OpId id{"ai.onnx", "GlobalLpPool", 1};
  static constexpr Signature signature = "x -> y";
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("p", p); }
  constexpr Inferred infer(TensorInfo x) const {
    if (!(p > 0)) return Inferred::mismatch("p is not positive");
    return infer_global_pooling(x);
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::global_lp_pool<T>(*call.executor, static_cast<double>(p), x, y);
  }
};

}  // namespace op
}  // namespace halftone

#endif
