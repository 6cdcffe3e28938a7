#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_FOURIER_HPP
#define HALFTONE_OP_FOURIER_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/normalization.hpp>

namespace halftone::kernel {

// kernel/fourier.hpp
template <class T>
constexpr std::size_t fourier_workspace(std::int64_t n, std::int64_t lines);
template <class T>
void dft(const KernelCall& call, std::size_t axis, std::int64_t n, bool inverse, View<const T> x,
         View<T> y);
template <class T>
void stft(const KernelCall& call, std::int64_t n, std::int64_t step, View<const T> signal,
          View<const T> window, View<T> y);

}  // namespace halftone::kernel

namespace halftone::detail {

/// 5 n log2(n) operations on n complex numbers: Cooley and Tukey's butterflies.
constexpr void fourier_cost(auto& machine, const TensorInfo& y, std::int64_t n) {
  machine.repeat((5 * doublings(n) + 3) / 4);
  machine.pass("Mul", y);
  machine.pass("Add", y);
  machine.repeat(1);
}

/// t with zeros behind it, or only its first elements, along a dimension.
constexpr AnyTensor with_extent(auto t, std::size_t axis, std::int64_t extent) {
  auto& graph = *t.graph;
  const std::int64_t had = t.info().shape[axis], at = static_cast<std::int64_t>(axis);
  if (had == extent) return t;
  if (had > extent) {
    return op::slice(t, constant(graph, Dims{0}), constant(graph, Dims{extent}),
                     constant(graph, Dims{at}));
  }
  return op::pad(t, constant(graph, Dims{0, extent - had}), none, constant(graph, Dims{at}));
}

/// The gradient of numbers whose transform of n numbers, or the first of them, has gradient dy:
/// [..., parts] with extent `extent` along `axis`.
constexpr AnyTensor transform_gradient(auto dy, std::size_t axis, std::int64_t n, bool inverse,
                                       std::int64_t extent, std::int64_t parts) {
  auto& graph = *dy.graph;
  const std::int64_t dimension[] = {static_cast<std::int64_t>(axis)};
  const auto back = op::dft(with_extent(dy, axis, n), none,
                            constant(graph, std::span<const std::int64_t>(dimension), {}),
                            {.inverse = inverse ? 0 : 1});
  const auto scale = static_cast<double>(n);
  const auto dx = with_extent(back * (inverse ? 1 / scale : scale), axis, extent);
  return with_extent(dx, dx.info().rank() - 1, parts);
}

}  // namespace halftone::detail

namespace halftone::op {

/// Discrete Fourier transform: y[k] = sum over j of x[j] e^(-2 pi i j k / n).
///
/// x           [signal..., 1] real, or [signal..., 2] with real and imaginary parts
/// dft_length  a scalar, n: longer signals are cut, shorter ones filled with zeros; absent: the
///             extent
/// axis        a scalar, from the end if negative; not the last; absent: -2
/// y           [signal..., 2], the extent along `axis` is n
/// inverse     e^(+...), and divided by n
/// onesided    only the first n / 2 + 1 numbers, of real x. Of the inverse: x has only these, of
///             what then is the transform of a real y, [signal..., 1]; without dft_length n is
///             2 * (extent - 1)
/// grad        the transform back of dy, of which only the real part counts for real x
/// limits      computed in double, O(n log n) for any n. While dft_length or axis are not known,
///             neither are y's extents
/// source      ai.onnx DFT-20; Cooley and Tukey 1965, Math. Comp. 19
struct DFT {
  std::int64_t inverse = 0, onesided = 0;

  static constexpr OpId id{"ai.onnx", "DFT", 20};
  static constexpr Signature signature = "x dft_length:I? axis:A? -> y";
  using types = TypeList<FloatTypes, TypeList<std::int32_t, std::int64_t>, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("inverse", inverse);
    visit("onesided", onesided);
  }

  constexpr void cost(auto& machine, auto in, auto out) const {
    // Which dimension it is, is not among the extents: the longest one.
    std::int64_t n = 1;
    for (std::size_t i = 0; i + 1 < in[0].rank(); ++i) {
      const std::int64_t a = in[0].shape[i], b = out[0].shape[i];
      n = a > n ? a : n;
      n = b > n ? b : n;
    }
    halftone::detail::fourier_cost(machine, out[0], n);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    if (x.rank() < 2) {
      return Inferred::mismatch("the input has no signal", 2, static_cast<std::int64_t>(x.rank()));
    }
    for (const std::size_t i : {1, 2}) {
      if (in.has(i) && in[i].elements() != dynamic && in[i].elements() != 1) {
        return Inferred::mismatch("dft_length or axis is not a scalar", 1, in[i].elements());
      }
    }
    const std::int64_t parts = x.shape.back();
    if (parts != dynamic && parts != 1 && parts != 2) {
      return Inferred::mismatch("the last dimension is neither 1 (real) nor 2 (complex)", 2, parts);
    }
    if (onesided != 0 && parts == (is_to_real() ? 1 : 2)) {
      return Inferred::mismatch(is_to_real() ? "the inverse of onesided is for complex signals"
                                             : "onesided is for real signals");
    }
    TensorInfo y = x;
    if (in.has(2) && !in.is_constant(2)) {
      y.shape = Dims::filled(x.rank(), dynamic);
      y.shape.back() = is_to_real() ? 1 : 2;
      return y;
    }
    const std::int64_t axis = in.has(2) ? in.integers(2)[0] : -2;
    const std::size_t at = normalized_axis(axis, x.rank());
    if (at + 1 >= x.rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(x.rank()) - 1,
                                axis);
    }
    std::int64_t n = x.shape[at];
    if (is_to_real() && n != dynamic) n = 2 * (n - 1);
    if (in.has(1)) n = in.is_constant(1) ? in.integers(1)[0] : dynamic;
    const bool is_open = n == dynamic && !in.is_constant(1);
    if (!is_open && (in.has(1) || is_to_real()) && (n < 1 || n > most)) {
      return Inferred::mismatch("dft_length is out of range", 1, n);
    }
    y.shape.back() = is_to_real() ? 1 : 2;
    y.shape[at] = n == dynamic || onesided == 0 || is_to_real() ? n : n / 2 + 1;
    return y;
  }

  template <class T, class I, class A>
  void kernel(const KernelCall& call, View<const T> x, View<const I> dft_length, View<const A> axis,
              View<T> y) const {
    if (y.size() == 0) return;
    const std::size_t at = axis_of(x, axis);
    kernel::dft<T>(call, at, length(x, dft_length, at), inverse != 0, x, y);
  }
  template <class T, class I, class A>
  constexpr std::size_t workspace(const KernelCall&, View<const T> x, View<const I> dft_length,
                                  View<const A> axis, View<T> y) const {
    if (y.size() == 0) return 0;
    const std::size_t at = axis_of(x, axis);
    return kernel::fourier_workspace<T>(length(x, dft_length, at),
                                        x.size(0, at) * x.size(at + 1, x.rank - 1));
  }
  constexpr void gradient(auto& g) const {
    const Dims x = g.x().info().shape;
    const std::int64_t axis = g.x(2).is_absent() ? -2 : g.integers(2)[0];
    const std::size_t at = normalized_axis(axis, x.size());
    const auto dy = g.dy();
    if (!is_to_real()) {
      const std::int64_t n = g.x(1).is_absent() ? x[at] : g.integers(1)[0];
      g.dx(0) += halftone::detail::transform_gradient(dy, at, n, inverse != 0, x[at], x.back());
      return;
    }
    // Every number of x but the first, and the last of an even length, counts twice.
    const std::int64_t n = dy.info().shape[at], half = n / 2 + 1;
    std::vector<double> weights(static_cast<std::size_t>(half), 2 / static_cast<double>(n));
    weights.front() /= 2;
    if (n % 2 == 0) weights.back() /= 2;
    Dims shape = Dims::filled(x.size(), 1);
    shape[at] = half;
    const auto factors = op::cast(constant(g.graph(), std::span<const double>(weights), shape),
                                  {.to = dy.info().type});
    const auto spectrum = op::dft(dy, none, g.x(2), {.onesided = 1});
    g.dx(0) += halftone::detail::with_extent(spectrum * factors, at, x[at]);
  }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 40;

  constexpr bool is_to_real() const { return inverse != 0 && onesided != 0; }
  template <class T, class A>
  static constexpr std::size_t axis_of(View<const T> x, View<const A> axis) {
    return normalized_axis(axis ? axis[0] : -2, x.rank);
  }
  template <class T, class I>
  constexpr std::int64_t length(View<const T> x, View<const I> dft_length, std::size_t at) const {
    if (dft_length) return static_cast<std::int64_t>(dft_length[0]);
    return is_to_real() ? 2 * (x.extent(at) - 1) : x.extent(at);
  }
};

/// DFT whose axis is an attribute. source  ai.onnx DFT-17
struct DFT_17 {
  std::int64_t axis = 1, inverse = 0, onesided = 0;

  static constexpr OpId id{"ai.onnx", "DFT", 17};
  static constexpr Signature signature = "x dft_length:I? -> y";

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("inverse", inverse);
    visit("onesided", onesided);
  }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto dft_length) const {
    const std::int64_t dimension[] = {axis};
    return OpFunction<DFT>{}(x, dft_length,
                             constant(*x.graph, std::span<const std::int64_t>(dimension), {}),
                             DFT{.inverse = inverse, .onesided = onesided});
  }
};

/// Discrete Fourier transforms of the frames of signals, frame_step apart.
///
/// signal        [batch, length, 1] or [batch, length] real, or [batch, length, 2] with real and
///               imaginary parts
/// frame_step    a scalar
/// window        [n], multiplies each frame; absent: 1
/// frame_length  a scalar, n; absent: that of the window
/// y             [batch, frames, n / 2 + 1, 2], or with onesided 0 [batch, frames, n, 2]; frames
///               that the signal has in whole
/// grad          of signal and window: the transforms back of the frames' dy, added up
/// limits        complex signals have no onesided result; computed in double
/// source        ai.onnx STFT-17
struct STFT {
  std::int64_t onesided = 1;

  static constexpr OpId id{"ai.onnx", "STFT", 17};
  static constexpr Signature signature = "signal frame_step:I window? frame_length:I? -> y";
  using types = TypeList<FloatTypes, TypeList<std::int32_t, std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("onesided", onesided); }

  constexpr void cost(auto& machine, auto in, auto out) const {
    const std::int64_t bins = out[0].shape[2];
    if (in[2].is_known()) machine.pass("Mul", out[0]);
    halftone::detail::fourier_cost(machine, out[0], onesided != 0 ? 2 * (bins - 1) : bins);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    if (x.rank() != 2 && x.rank() != 3) {
      return Inferred::mismatch("the signal has not three dimensions", 3,
                                static_cast<std::int64_t>(x.rank()));
    }
    const std::int64_t parts = x.rank() == 3 ? x.shape[2] : 1;
    if (parts != dynamic && parts != 1 && parts != 2) {
      return Inferred::mismatch("the last dimension is neither 1 (real) nor 2 (complex)", 2, parts);
    }
    if (onesided != 0 && parts == 2) return Inferred::mismatch("onesided is for real signals");
    if (!in.has(2) && !in.has(3)) {
      return Inferred::mismatch("neither window nor frame_length is given");
    }
    for (const std::size_t i : {1, 3}) {
      if (in.has(i) && in[i].elements() != dynamic && in[i].elements() != 1) {
        return Inferred::mismatch("frame_step or frame_length is not a scalar", 1,
                                  in[i].elements());
      }
    }
    std::int64_t n = dynamic;
    if (in.has(2)) {
      if (in[2].rank() != 1) {
        return Inferred::mismatch("the window is not a vector", 1,
                                  static_cast<std::int64_t>(in[2].rank()));
      }
      n = in[2].shape[0];
    }
    if (in.has(3) && in.is_constant(3)) {
      const std::int64_t wanted = in.integers(3)[0];
      if (contradict(n, wanted)) {
        return Inferred::mismatch("frame_length is not the window's", n, wanted);
      }
      n = wanted;
    }
    if (n != dynamic && n < 1) return Inferred::mismatch("frame_length is not positive", 1, n);
    std::int64_t frames = dynamic;
    if (in.is_constant(1)) {
      const std::int64_t step = in.integers(1)[0];
      if (step < 1) return Inferred::mismatch("frame_step is not positive", 1, step);
      const std::int64_t length = x.shape[1];
      if (n != dynamic && length != dynamic) frames = length < n ? 0 : (length - n) / step + 1;
    }
    const std::int64_t bins = n == dynamic || onesided == 0 ? n : n / 2 + 1;
    return TensorInfo{x.type, {x.shape[0], frames, bins, 2}};
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> signal, View<const I> frame_step,
              View<const T> window, View<const I> frame_length, View<T> y) const {
    if (y.size() == 0) return;
    kernel::stft<T>(call, length(window, frame_length), static_cast<std::int64_t>(frame_step[0]),
                    signal, window, y);
  }
  template <class T, class I>
  constexpr std::size_t workspace(const KernelCall&, View<const T>, View<const I>,
                                  View<const T> window, View<const I> frame_length,
                                  View<T> y) const {
    if (y.size() == 0) return 0;
    return kernel::fourier_workspace<T>(length(window, frame_length), y.extent(0) * y.extent(1));
  }
  constexpr void gradient(auto& g) const {
    const Dims x = g.x().info().shape, y = g.dy().info().shape;
    const std::int64_t parts = x.size() == 3 ? x[2] : 1, step = g.integers(1)[0], batch = x[0];
    const std::int64_t n = g.x(2).is_absent() ? g.integers(3)[0] : g.x(2).info().shape[0];
    if (y[1] == 0) return;
    const auto reshaped = [](auto t, const Dims& shape) {
      return halftone::detail::reshaped(t, shape);
    };
    // Frames, as blocks of the signal [batch, parts, 1, length].
    const Dims blocks{batch, parts * n, y[1]}, image{batch, parts, 1, x[1]};
    auto frames =
        reshaped(op::transpose(halftone::detail::transform_gradient(g.dy(), 2, n, false, n, parts),
                               {.perm = {0, 3, 2, 1}}),
                 {batch, parts, n, y[1]});
    if (g.needs(2)) {
      const auto signal = reshaped(
          op::transpose(reshaped(g.x(0), {batch, x[1], parts}), {.perm = {0, 2, 1}}), image);
      const auto taken = reshaped(op::im2col(signal, {.block = {1, n}, .strides = {1, step}}),
                                  frames.info().shape);
      g.dx(2) += op::sum(taken * frames, constant(g.graph(), Dims{0, 1, 3}), {.keepdims = 0});
    }
    if (!g.needs(0)) return;
    if (!g.x(2).is_absent()) frames = frames * reshaped(g.x(2), {n, 1});
    const auto added = op::col2im(reshaped(frames, blocks), constant(g.graph(), Dims{1, x[1]}),
                                  constant(g.graph(), Dims{1, n}), {.strides = {1, step}});
    g.dx(0) +=
        reshaped(op::transpose(reshaped(added, {batch, parts, x[1]}), {.perm = {0, 2, 1}}), x);
  }

 private:
  template <class T, class I>
  static std::int64_t length(View<const T> window, View<const I> frame_length) {
    return window ? window.size() : static_cast<std::int64_t>(frame_length[0]);
  }
};

}  // namespace halftone::op

#endif
