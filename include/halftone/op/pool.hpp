#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_POOL_HPP
#define HALFTONE_OP_POOL_HPP

#include <halftone/base/window.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::op {

/// The window that a pooling operator's attributes describe.
template <class Pool>
constexpr Window pooling_window(const Pool& pool, std::span<const std::int64_t> input) {
  return Window::over(input, {.kernel = pool.kernel_shape,
                              .strides = pool.strides,
                              .dilations = pool.dilations,
                              .pads = pool.pads,
                              .auto_pad = pool.auto_pad,
                              .ceil_mode = pool.ceil_mode != 0});
}

/// The shape rule of pooling.
template <class Pool>
constexpr Inferred infer_pooling(const Pool& pool, const TensorInfo& x) {
  if (x.rank() < 3 || x.rank() > 5) {
    return Inferred::mismatch("the input has not one to three spatial dimensions",
                              x.rank() < 3 ? 3 : 5, static_cast<std::int64_t>(x.rank()));
  }
  if (pool.kernel_shape.empty()) {
    return Inferred::mismatch("attribute kernel_shape is missing",
                              static_cast<std::int64_t>(x.rank()) - 2, 0);
  }
  const Window window = pooling_window(pool, x.shape.span().subspan(2));
  if (!window.ok()) return Inferred::mismatch(window.reason, window.expected, window.found);
  TensorInfo y{x.type, {x.shape[0], x.shape[1]}};
  for (const std::int64_t extent : window.output) y.shape.push_back(extent);
  return y;
}

/// The shape rule of pooling over all of space.
constexpr Inferred infer_global_pooling(TensorInfo x) {
  if (x.rank() < 2) {
    return Inferred::mismatch("the input has no channels", 2, static_cast<std::int64_t>(x.rank()));
  }
  for (std::size_t i = 2; i < x.rank(); ++i) x.shape[i] = 1;
  return x;
}

/// The largest element of each window; elements of the padding do not count.
///
/// x        [batch, channels, spatial...], one to three spatial dimensions
/// y        [batch, channels, output...], see Window for the output extents
/// indices  as y, may be left out: the place of the largest element in x as one dense tensor, the
///          first of equals; with storage_order 1 the spatial dimensions count from the first one
/// limits   NaN in a window gives NaN
/// source   ai.onnx MaxPool-12
struct MaxPool {
  Dims kernel_shape{}, strides{}, dilations{};
  Pads pads{};
  AutoPad auto_pad = AutoPad::notset;
  std::int64_t ceil_mode = 0;
  std::int64_t storage_order = 0;

  static constexpr OpId id{"ai.onnx", "MaxPool", 1, 8, 10, 11, 12};
  static constexpr Signature signature = "x -> y indices:I?";
  using types =
      TypeList<Joined<FloatTypes, TypeList<std::int8_t, std::uint8_t>>, TypeList<std::int64_t>>;

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("strides", strides);
    visit("dilations", dilations);
    visit("pads", pads);
    visit("auto_pad", auto_pad);
    visit("ceil_mode", ceil_mode);
    visit("storage_order", storage_order);
  }
  constexpr Window window_over(std::span<const std::int64_t> input) const {
    return pooling_window(*this, input);
  }
  constexpr Inferred infer(const Inputs& in) const {
    if (storage_order != 0 && storage_order != 1) {
      return Inferred::mismatch("storage_order is neither 0 nor 1", 1, storage_order);
    }
    Inferred y = infer_pooling(*this, in[0]);
    if (y.ok() && in.output_count() > 1) {
      y.outputs.push_back({ElementType::int64, y.outputs[0].shape});
    }
    return y;
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<T> y, View<I> indices) const {
    kernel::max_pool<T>(*call.executor, window_over(x.shape().subspan(2)), storage_order != 0, x, y,
                        indices);
  }
};

/// The mean of each window. Elements of the padding count as zeros if count_include_pad is set,
/// else they do not count; elements that only ceil_mode adds never count.
///
/// x       [batch, channels, spatial...], one to three spatial dimensions
/// y       [batch, channels, output...], see Window for the output extents
/// limits  half and bfloat16 sum in float
/// source  ai.onnx AveragePool-19
struct AveragePool {
  Dims kernel_shape{}, strides{}, dilations{};
  Pads pads{};
  AutoPad auto_pad = AutoPad::notset;
  std::int64_t ceil_mode = 0;
  std::int64_t count_include_pad = 0;

  static constexpr OpId id{"ai.onnx", "AveragePool", 1, 7, 10, 11, 19};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("strides", strides);
    visit("dilations", dilations);
    visit("pads", pads);
    visit("auto_pad", auto_pad);
    visit("ceil_mode", ceil_mode);
    visit("count_include_pad", count_include_pad);
  }
  constexpr Window window_over(std::span<const std::int64_t> input) const {
    return pooling_window(*this, input);
  }
  constexpr Inferred infer(TensorInfo x) const { return infer_pooling(*this, x); }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::average_pool<T>(*call.executor, window_over(x.shape().subspan(2)),
                            count_include_pad != 0, x, y);
  }
};

/// The mean of each channel of each image.
///
/// x       [batch, channels, spatial...]
/// y       [batch, channels, 1...], as many dimensions as x
/// limits  half and bfloat16 sum in float
/// source  ai.onnx GlobalAveragePool-1
struct GlobalAveragePool {
  static constexpr OpId id{"ai.onnx", "GlobalAveragePool", 1};
  static constexpr Signature signature = "x -> y";

  static constexpr Inferred infer(TensorInfo x) { return infer_global_pooling(x); }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::global_pool<T>(*call.executor, false, x, y);
  }
};

/// The largest element of each channel of each image.
///
/// x       [batch, channels, spatial...]
/// y       [batch, channels, 1...], as many dimensions as x
/// limits  NaN gives NaN; without a pixel the lowest value
/// source  ai.onnx GlobalMaxPool-1
struct GlobalMaxPool {
  static constexpr OpId id{"ai.onnx", "GlobalMaxPool", 1};
  static constexpr Signature signature = "x -> y";

  static constexpr Inferred infer(TensorInfo x) { return infer_global_pooling(x); }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::global_pool<T>(*call.executor, true, x, y);
  }
};

}  // namespace halftone::op

#endif
