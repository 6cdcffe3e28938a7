#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_WINDOW_HPP
#define HALFTONE_OP_WINDOW_HPP

#include <halftone/base/math.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::detail {

/// Windows of cosines: y[i] = a0 - a1 cos(t) + a2 cos(2 t) with t = 2 pi i / n.
struct CosineWindow {
  std::int64_t output_datatype = 1, periodic = 1;

  static constexpr Signature signature = "size:I -> y:T";
  using types = TypeList<TypeList<std::int32_t, std::int64_t>, NumericTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("output_datatype", output_datatype);
    visit("periodic", periodic);
  }
  constexpr Inferred infer(const Inputs& in) const {
    const auto type = static_cast<ElementType>(output_datatype);
    if (output_datatype < 0 || output_datatype > 255 || !has_type(NumericTypes{}, type)) {
      return Inferred::types("element type is not offered", ElementType::undefined,
                             static_cast<ElementType>(output_datatype));
    }
    if (in[0].elements() != dynamic && in[0].elements() != 1) {
      return Inferred::mismatch("the size is not a scalar", 1, in[0].elements());
    }
    if (!in.is_constant(0)) return TensorInfo{type, {dynamic}};
    const std::int64_t size = in.integers(0)[0];
    if (size < 0) return Inferred::mismatch("the size is negative", 0, size);
    return TensorInfo{type, {size}};
  }
  template <class T>
  [[gnu::noinline]] void fill(double a0, double a1, double a2, View<T> y) const {
    constexpr double turn = 6.28318530717958647692;
    const std::int64_t size = y.size(), n = periodic != 0 ? size : size - 1;
    for (std::int64_t i = 0; i < size; ++i) {
      const double t = n == 0 ? turn / 2 : turn * static_cast<double>(i) / static_cast<double>(n);
      // In this order the peak of all three windows is exactly 1, which integers do not cut off.
      const double v = (a2 * math::cos(2 * t) - a1 * math::cos(t)) + a0;
      y[i] = static_cast<T>(static_cast<Compute<T>>(v));
    }
  }
};

}  // namespace halftone::detail

namespace halftone::op {

/// The window (1 - cos t) / 2 with t = 2 pi i / size.
///
/// size             a scalar
/// y                [size], of type output_datatype (as a number of ONNX's); integers are cut off
/// periodic         0: t = 2 pi i / (size - 1), the window is symmetric; of one element it is 1
/// limits           while size is not known, neither is y's extent
/// source           ai.onnx HannWindow-17; Harris 1978, Proc. IEEE 66(1)
struct HannWindow : halftone::detail::CosineWindow {
  static constexpr OpId id{"ai.onnx", "HannWindow", 17};
  template <class I, class T>
  void kernel(View<const I>, View<T> y) const {
    fill(0.5, 0.5, 0, y);
  }
};

/// The window 25/46 - 21/46 cos t, see HannWindow. source  ai.onnx HammingWindow-17
struct HammingWindow : halftone::detail::CosineWindow {
  static constexpr OpId id{"ai.onnx", "HammingWindow", 17};
  template <class I, class T>
  void kernel(View<const I>, View<T> y) const {
    fill(25.0 / 46, 21.0 / 46, 0, y);
  }
};

/// The window 0.42 - 0.5 cos t + 0.08 cos 2 t, see HannWindow. source  ai.onnx BlackmanWindow-17
struct BlackmanWindow : halftone::detail::CosineWindow {
  static constexpr OpId id{"ai.onnx", "BlackmanWindow", 17};
  template <class I, class T>
  void kernel(View<const I>, View<T> y) const {
    fill(0.42, 0.5, 0.08, y);
  }
};

/// Weights that make bands of the mel scale, mel(f) = 2595 log10(1 + f / 700), of a spectrum. The
/// edges of the bands are equally far apart on that scale and rounded down to a number of the
/// spectrum, (dft_length + 1) f / sample_rate; each band is a triangle between the edges before and
/// behind its centre, where it is 1.
///
/// num_mel_bins, dft_length, sample_rate   scalars
/// lower_edge_hertz, upper_edge_hertz      scalars
/// y                                       [dft_length / 2 + 1, num_mel_bins], of type
///                                         output_datatype; integers are cut off
/// limits  what lies beyond the spectrum is left out; the distance of the edges is the range by
///         num_mel_bins + 2, as ONNX has it
/// source  ai.onnx MelWeightMatrix-17
struct MelWeightMatrix {
  std::int64_t output_datatype = 1;

  static constexpr OpId id{"ai.onnx", "MelWeightMatrix", 17};
  static constexpr Signature signature =
      "num_mel_bins:I dft_length:I sample_rate:I lower_edge_hertz:F upper_edge_hertz:F -> y:T";
  using types = TypeList<TypeList<std::int32_t, std::int64_t>, FloatTypes, NumericTypes>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) { visit("output_datatype", output_datatype); }
  constexpr Inferred infer(const Inputs& in) const {
    const auto type = static_cast<ElementType>(output_datatype);
    if (output_datatype < 0 || output_datatype > 255 || !has_type(NumericTypes{}, type)) {
      return Inferred::types("element type is not offered", ElementType::undefined,
                             static_cast<ElementType>(output_datatype));
    }
    TensorInfo y{type, {dynamic, dynamic}};
    for (std::size_t i = 0; i < 5; ++i) {
      if (in[i].elements() != dynamic && in[i].elements() != 1) {
        return Inferred::mismatch("an input is not a scalar", 1, in[i].elements());
      }
      if (i > 2 || !in.is_constant(i)) continue;
      const std::int64_t value = in.integers(i)[0];
      if (value < 1) return Inferred::mismatch("a number is not positive", 1, value);
      if (i == 0) y.shape[1] = value;
      if (i == 1) y.shape[0] = value / 2 + 1;
    }
    return y;
  }
  template <class I, class F, class T>
  void kernel(View<const I>, View<const I> dft_length, View<const I> sample_rate,
              View<const F> lower_edge_hertz, View<const F> upper_edge_hertz, View<T> y) const {
    fill<T>(static_cast<double>(dft_length[0]), static_cast<double>(sample_rate[0]),
            static_cast<double>(lower_edge_hertz[0]), static_cast<double>(upper_edge_hertz[0]), y);
  }

 private:
  template <class T>
  [[gnu::noinline]] static void fill(double dft_length, double sample_rate, double lower_hertz,
                                     double upper_hertz, View<T> y) {
    const std::int64_t rows = y.extent(0), bands = y.extent(1);
    for (T& weight : y) weight = T{};
    const double lower = mel(lower_hertz);
    const double step = (mel(upper_hertz) - lower) / static_cast<double>(bands + 2);
    const auto edge = [&](std::int64_t i) {
      const double hertz =
          700 * (math::pow(10.0, (static_cast<double>(i) * step + lower) / 2595) - 1);
      const double at = math::floor((dft_length + 1) * hertz / sample_rate);
      // Far beyond the spectrum, either way, is as good as any.
      const double most = 4 * static_cast<double>(rows) + 4;
      return static_cast<std::int64_t>(at > most ? most : at > -most ? at : -most);
    };
    for (std::int64_t band = 0; band < bands; ++band) {
      const std::int64_t left = edge(band), center = edge(band + 1), right = edge(band + 2);
      const auto put = [&](std::int64_t row, double weight) {
        if (row < 0 || row >= rows) return;
        y[row * bands + band] = static_cast<T>(static_cast<halftone::detail::Compute<T>>(weight));
      };
      if (left == center) put(center, 1);
      for (std::int64_t row = left; left != center && row <= center; ++row) {
        put(row, static_cast<double>(row - left) / static_cast<double>(center - left));
      }
      for (std::int64_t row = center; row < right; ++row) {
        put(row, static_cast<double>(right - row) / static_cast<double>(right - center));
      }
    }
  }
  static double mel(double hertz) { return 2595 * math::log(1 + hertz / 700) / math::log(10.0); }
};

}  // namespace halftone::op

#endif
