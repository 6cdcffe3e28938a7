#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_FOURIER_HPP
#define HALFTONE_OP_FOURIER_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone::kernel {

// kernel/fourier.hpp
template <class T>
std::size_t fourier_workspace(std::int64_t n, std::int64_t lines);
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

}  // namespace halftone::detail

namespace halftone::op {

/// Discrete Fourier transform: y[k] = sum over j of x[j] e^(-2 pi i j k / n).
///
/// x           [batch, signal..., 1] real, or [batch, signal..., 2] with real and imaginary parts
/// dft_length  a scalar, n: longer signals are cut, shorter ones filled with zeros; absent: the
///             extent
/// y           [batch, signal..., 2], the extent along `axis` is n
/// axis        from the end if negative; not the last
/// inverse     e^(+...), and divided by n
/// onesided    only the first n / 2 + 1 numbers; of real x and not inverse
/// limits      computed in double, O(n log n) for any n
/// source      ai.onnx DFT-17; Cooley and Tukey 1965, Math. Comp. 19
struct DFT {
  std::int64_t axis = 1, inverse = 0, onesided = 0;

  static constexpr OpId id{"ai.onnx", "DFT", 17};
  static constexpr Signature signature = "x dft_length:I? -> y";
  using types = TypeList<FloatTypes, TypeList<std::int32_t, std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("inverse", inverse);
    visit("onesided", onesided);
  }

  constexpr void cost(auto& machine, auto in, auto out) const {
    const std::size_t at = normalized_axis(axis, in[0].rank());
    halftone::detail::fourier_cost(machine, out[0],
                                   onesided != 0 ? in[0].shape[at] : out[0].shape[at]);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const TensorInfo& x = in[0];
    if (x.rank() < 2) {
      return Inferred::mismatch("the input has no signal", 2, static_cast<std::int64_t>(x.rank()));
    }
    const std::size_t at = normalized_axis(axis, x.rank());
    if (at + 1 >= x.rank()) {
      return Inferred::mismatch("axis is out of range", static_cast<std::int64_t>(x.rank()) - 1,
                                axis);
    }
    const std::int64_t parts = x.shape.back();
    if (parts != dynamic && parts != 1 && parts != 2) {
      return Inferred::mismatch("the last dimension is neither 1 (real) nor 2 (complex)", 2, parts);
    }
    if (onesided != 0 && (parts == 2 || inverse != 0)) {
      return Inferred::mismatch("onesided is for real signals and not for the inverse");
    }
    std::int64_t n = x.shape[at];
    if (in.has(1)) {
      if (in[1].elements() != dynamic && in[1].elements() != 1) {
        return Inferred::mismatch("dft_length is not a scalar", 1, in[1].elements());
      }
      n = in.is_constant(1) ? in.integers(1)[0] : dynamic;
      if (in.is_constant(1) && n < 1) {
        return Inferred::mismatch("dft_length is not positive", 1, n);
      }
    }
    TensorInfo y = x;
    y.shape.back() = 2;
    y.shape[at] = n == dynamic || onesided == 0 ? n : n / 2 + 1;
    return y;
  }

  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const I> dft_length, View<T> y) const {
    if (y.size() == 0) return;
    kernel::dft<T>(call, normalized_axis(axis, x.rank), length(x, dft_length), inverse != 0, x, y);
  }
  template <class T, class I>
  std::size_t workspace(const KernelCall&, View<const T> x, View<const I> dft_length,
                        View<T> y) const {
    if (y.size() == 0) return 0;
    const std::size_t at = normalized_axis(axis, x.rank);
    return kernel::fourier_workspace<T>(length(x, dft_length),
                                        x.size(0, at) * x.size(at + 1, x.rank - 1));
  }

 private:
  template <class T, class I>
  std::int64_t length(View<const T> x, View<const I> dft_length) const {
    return dft_length ? static_cast<std::int64_t>(dft_length[0])
                      : x.extent(normalized_axis(axis, x.rank));
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
      if (agree(n, wanted) == -2) {
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
  std::size_t workspace(const KernelCall&, View<const T>, View<const I>, View<const T> window,
                        View<const I> frame_length, View<T> y) const {
    if (y.size() == 0) return 0;
    return kernel::fourier_workspace<T>(length(window, frame_length), y.extent(0) * y.extent(1));
  }

 private:
  template <class T, class I>
  static std::int64_t length(View<const T> window, View<const I> frame_length) {
    return window ? window.size() : static_cast<std::int64_t>(frame_length[0]);
  }
};

}  // namespace halftone::op

#endif
