#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_POOL_HPP
#define HALFTONE_OP_POOL_HPP

#include <halftone/base/window.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone {

namespace kernel {

/// By how many elements a window's sum is divided: those in the input, those in the padded input,
/// or not at all.
enum class PoolCount : std::uint8_t { inside, padded, one };

// kernel/pool.hpp
template <class T>
void max_pool_gradient(const KernelCall& call, const Window& window, View<const T> x,
                       View<const T> dy, View<T> dx);
template <class T>
void average_pool_gradient(const KernelCall& call, const Window& window, PoolCount counted,
                           View<const T> dy, View<T> dx);
template <class T>
constexpr std::size_t pool_gradient_workspace(std::int64_t elements);

}  // namespace kernel

namespace detail {
inline constexpr std::string_view pool_count_names[] = {"inside", "padded", "one"};
}
namespace kernel {
constexpr std::span<const std::string_view> names_of(PoolCount) {
  return halftone::detail::pool_count_names;
}
}  // namespace kernel

namespace op {
using kernel::PoolCount;

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

/// The window of a gradient, whose attributes are resolved and whose output is dy's.
template <class Gradient>
Window window_onto(const Gradient& gradient, const auto& dy) {
  Window w;
  w.kernel = gradient.kernel_shape;
  w.strides = gradient.strides;
  w.dilations = gradient.dilations;
  w.output = Dims(dy.shape().subspan(2));
  w.pads = gradient.pads;
  return w;
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

  static constexpr OpId id{"ai.onnx", "MaxPool", 1, 8, 10, 11, 12, 22};
  static constexpr Signature signature = "x -> y indices:I?";
  static constexpr std::uint32_t by_sample = 1;
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
  constexpr void cost(auto& machine, auto, auto out) const {
    machine.pool(out[0], product(kernel_shape), true);
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
  constexpr void gradient(auto& g) const;
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

  static constexpr OpId id{"ai.onnx", "AveragePool", 1, 7, 10, 11, 19, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr std::uint32_t by_sample = 1;

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
  constexpr void cost(auto& machine, auto, auto out) const {
    machine.pool(out[0], product(kernel_shape), false);
  }
  constexpr Inferred infer(TensorInfo x) const { return infer_pooling(*this, x); }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::average_pool<T>(*call.executor, window_over(x.shape().subspan(2)),
                            count_include_pad != 0, x, y);
  }
  constexpr void gradient(auto& g) const;
};

/// The mean of each channel of each image.
///
/// x       [batch, channels, spatial...]
/// y       [batch, channels, 1...], as many dimensions as x
/// limits  half and bfloat16 sum in float
/// source  ai.onnx GlobalAveragePool-1
struct GlobalAveragePool {
  static constexpr OpId id{"ai.onnx", "GlobalAveragePool", 1, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr std::uint32_t by_sample = 1;

  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.reduce(in[0], out[0].elements());
  }
  static constexpr Inferred infer(TensorInfo x) { return infer_global_pooling(x); }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::global_pool<T>(*call.executor, false, x, y);
  }
  static constexpr void gradient(auto& g);
};

/// The largest element of each channel of each image.
///
/// x       [batch, channels, spatial...]
/// y       [batch, channels, 1...], as many dimensions as x
/// limits  NaN gives NaN; without a pixel the lowest value
/// source  ai.onnx GlobalMaxPool-1
struct GlobalMaxPool {
  static constexpr OpId id{"ai.onnx", "GlobalMaxPool", 1, 22};
  static constexpr Signature signature = "x -> y";
  static constexpr std::uint32_t by_sample = 1;

  static constexpr void cost(auto& machine, auto in, auto out) {
    machine.reduce(in[0], out[0].elements(), false);
  }
  static constexpr Inferred infer(TensorInfo x) { return infer_global_pooling(x); }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<T> y) const {
    kernel::global_pool<T>(*call.executor, true, x, y);
  }
  static constexpr void gradient(auto& g);
};

/// The gradient of MaxPool: dy goes to the first largest element of its window.
///
/// x       [batch, channels, spatial...]
/// dy      [batch, channels, output...]
/// pads    resolved; those at the end follow from the extents
/// limits  NaN is larger than any number; half and bfloat16 sum in float
struct MaxPoolGradient {
  Dims kernel_shape{}, strides{}, dilations{};
  Pads pads{};

  static constexpr OpId id{"halftone", "MaxPoolGradient", 1};
  static constexpr Signature signature = "x dy -> dx";

  MaxPoolGradient() = default;
  constexpr explicit MaxPoolGradient(const Window& window)
      : kernel_shape(window.kernel),
        strides(window.strides),
        dilations(window.dilations),
        pads(window.pads) {}

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("strides", strides);
    visit("dilations", dilations);
    visit("pads", pads);
  }
  constexpr void cost(auto& machine, auto, auto out) const {
    machine.pool(out[0], product(kernel_shape), true);
  }
  static constexpr Inferred infer(TensorInfo x, TensorInfo) { return x; }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> dy, View<T> dx) const {
    kernel::max_pool_gradient<T>(call, window_onto(*this, dy), x, dy, dx);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const T>,
                                  View<T>) const {
    return kernel::pool_gradient_workspace<T>(x.size());
  }
};

/// The gradient of AveragePool: dy by the number of elements goes to all elements of its window.
///
/// dy      [batch, channels, output...]
/// dx      [batch, channels, spatial...], of `shape`
/// pads    resolved
/// limits  half and bfloat16 sum in float
struct AveragePoolGradient {
  Dims kernel_shape{}, strides{}, dilations{}, shape{};
  Pads pads{};
  PoolCount counted = PoolCount::inside;

  static constexpr OpId id{"halftone", "AveragePoolGradient", 1};
  static constexpr Signature signature = "dy -> dx";

  AveragePoolGradient() = default;
  constexpr AveragePoolGradient(const Window& window, const Dims& dx, PoolCount counted_)
      : kernel_shape(window.kernel),
        strides(window.strides),
        dilations(window.dilations),
        shape(dx),
        pads(window.pads),
        counted(counted_) {}

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("strides", strides);
    visit("dilations", dilations);
    visit("shape", shape);
    visit("pads", pads);
    visit("counted", counted);
  }
  constexpr void cost(auto& machine, auto, auto out) const {
    machine.pool(out[0], product(kernel_shape), false);
  }
  constexpr Inferred infer(const Inputs& in) const { return TensorInfo{in[0].type, shape}; }
  template <class T>
  void kernel(const KernelCall& call, View<const T> dy, View<T> dx) const {
    kernel::average_pool_gradient<T>(call, window_onto(*this, dy), counted, dy, dx);
  }
  template <class T>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<T> dx) const {
    return kernel::pool_gradient_workspace<T>(dx.size());
  }
};

constexpr void MaxPool::gradient(auto& g) const {
  const Window window = window_over(g.x().info().shape.span().subspan(2));
  const auto dx =
      halftone::detail::record(g.graph(), MaxPoolGradient(window), {g.x().id, g.dy().id}, 1);
  g.dx(0) += AnyTensor{&g.graph(), dx[0]};
}

constexpr void AveragePool::gradient(auto& g) const {
  const Dims shape = g.x().info().shape;
  const AveragePoolGradient op(window_over(shape.span().subspan(2)), shape,
                               count_include_pad != 0 ? PoolCount::padded : PoolCount::inside);
  const auto dx = halftone::detail::record(g.graph(), op, {g.dy().id}, 1);
  g.dx(0) += AnyTensor{&g.graph(), dx[0]};
}

constexpr void GlobalAveragePool::gradient(auto& g) {
  const Dims shape = g.x().info().shape;
  const double pixels = static_cast<double>(product(shape.span().subspan(2)));
  if (pixels == 0) return;
  g.dx(0) += op::expand(g.dy() * (1 / pixels), constant(g.graph(), shape));
}

constexpr void GlobalMaxPool::gradient(auto& g) {
  // All of space as one dimension, and one window.
  const Dims shape = g.x().info().shape;
  const std::int64_t pixels = product(shape.span().subspan(2));
  if (pixels == 0) return;
  const auto x = op::reshape(g.x(), constant(g.graph(), Dims{shape[0], shape[1], pixels}));
  const auto dy = op::reshape(g.dy(), constant(g.graph(), Dims{shape[0], shape[1], 1}));
  const Window window = Window::over(std::span(&pixels, 1), {.kernel = {pixels}});
  const auto dx = halftone::detail::record(g.graph(), MaxPoolGradient(window), {x.id, dy.id}, 1);
  g.dx(0) += op::reshape(AnyTensor{&g.graph(), dx[0]}, constant(g.graph(), shape));
}

}  // namespace op
}  // namespace halftone

#endif
