#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_RESIZE_HPP
#define HALFTONE_OP_RESIZE_HPP

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/axes.hpp>

namespace halftone {

namespace kernel {

enum class ResizeMode : std::uint8_t { nearest, linear, cubic };

/// Which place of x belongs to place i of y, along a dimension with scale s.
enum class Coordinates : std::uint8_t {
  half_pixel,            ///< (i + 0.5) / s - 0.5
  pytorch_half_pixel,    ///< the same, 0 if y has one element
  align_corners,         ///< i * (input - 1) / (input * s - 1)
  asymmetric,            ///< i / s
  tf_half_pixel_for_nn,  ///< (i + 0.5) / s
  tf_crop_and_resize,    ///< the ends of y are those of the region of interest
  half_pixel_symmetric   ///< half_pixel, but y's centre is x's where the output was rounded down
};

/// How a place becomes the number of an element. `simple`, the rule of Resize-10, is floor, or ceil
/// where s < 1.
enum class NearestMode : std::uint8_t {
  round_prefer_floor,
  round_prefer_ceil,
  floor,
  ceil,
  simple
};

/// What kernel/resize.hpp wants to know; one number per dimension of x.
struct ResizeRule {
  ResizeMode mode;
  Coordinates coordinates;
  NearestMode nearest;
  double cubic_a, extrapolation;
  bool excludes_outside, antialiases;
  double scale[max_rank];
  double length[max_rank];                ///< of y, before it was rounded
  double start[max_rank], end[max_rank];  ///< of the region of interest
  bool is_kept[max_rank];                 ///< y is sure to be x along the dimension
};

template <class T>
void resize(const KernelCall& call, const ResizeRule& rule, View<const T> x, View<T> y);
template <class T>
constexpr std::size_t resize_workspace(const ResizeRule& rule, View<const T> x, View<T> y);
template <class T>
void resize_gradient(const KernelCall& call, const ResizeRule& rule, View<const T> dy, View<T> dx);
template <class T>
constexpr std::size_t resize_gradient_workspace(const ResizeRule& rule, View<const T> dy,
                                                View<T> dx);

}  // namespace kernel

namespace op {

/// What becomes of `sizes` when only some ratio of the extents is to be had.
enum class AspectRatio : std::uint8_t { stretch, not_larger, not_smaller };

}  // namespace op

namespace detail {
inline constexpr std::string_view resize_mode_names[] = {"nearest", "linear", "cubic"};
inline constexpr std::string_view coordinates_names[] = {
    "half_pixel",           "pytorch_half_pixel", "align_corners",       "asymmetric",
    "tf_half_pixel_for_nn", "tf_crop_and_resize", "half_pixel_symmetric"};
inline constexpr std::string_view nearest_mode_names[] = {"round_prefer_floor", "round_prefer_ceil",
                                                          "floor", "ceil", "simple"};
inline constexpr std::string_view aspect_ratio_names[] = {"stretch", "not_larger", "not_smaller"};
}  // namespace detail

namespace kernel {
constexpr std::span<const std::string_view> names_of(ResizeMode) {
  return halftone::detail::resize_mode_names;
}
constexpr std::span<const std::string_view> names_of(Coordinates) {
  return halftone::detail::coordinates_names;
}
constexpr std::span<const std::string_view> names_of(NearestMode) {
  return halftone::detail::nearest_mode_names;
}
}  // namespace kernel

namespace op {

constexpr std::span<const std::string_view> names_of(AspectRatio) {
  return halftone::detail::aspect_ratio_names;
}
using kernel::Coordinates;
using kernel::NearestMode;
using kernel::ResizeMode;

/// Makes every dimension longer or shorter: an element of y is x at the place that `coordinates`
/// says, taken from the nearest element, or interpolated between two (linear) or four (cubic) along
/// each dimension. Beyond its ends x has its first and last elements.
///
/// x        any shape
/// roi      region of interest, [starts..., ends...] as shares of the extents; only
///          tf_crop_and_resize reads it, and gives extrapolation_value where it leaves x
/// scales   floats, or empty: output = floor(input * scale), in float
/// sizes    output extents, or empty. Exactly one of scales and sizes is given
/// axes     dimensions that roi, scales and sizes are about, from the end if negative; empty: all
/// antialias  1: where y is shorter, the interpolation reaches over as much of x as it stands for
/// keep_aspect_ratio_policy  not stretch: all axes get the same scale, so that no extent is larger
///          (or smaller) than in sizes
/// grad     dx = dy with the weights of the interpolation, transposed
/// limits   while scales or sizes are not known, neither are y's extents. Places are found in
///          double; closer to a half than float scales can tell is at the half. Integers are
///          interpolated in double and cut off. PopART interpolates always without
///          exclude_outside, with cubic_coeff_a = -0.75, and refuses linear and tf_crop_and_resize
/// source   ai.onnx Resize-19
struct Resize {
  ResizeMode mode = ResizeMode::nearest;
  Coordinates coordinate_transformation_mode = Coordinates::half_pixel;
  NearestMode nearest_mode = NearestMode::round_prefer_floor;
  float cubic_coeff_a = -0.75f, extrapolation_value = 0;
  std::int64_t exclude_outside = 0, antialias = 0;
  AspectRatio keep_aspect_ratio_policy = AspectRatio::stretch;
  Dims axes{};

  static constexpr OpId id{"ai.onnx", "Resize", 11, 13, 18, 19};
  static constexpr Signature signature = "x roi:R? scales:S? sizes:I? -> y";
  using types = TypeList<Joined<NumericTypes, TypeList<bool>>, TypeList<float, double, half>,
                         TypeList<float>, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("mode", mode);
    visit("coordinate_transformation_mode", coordinate_transformation_mode);
    visit("nearest_mode", nearest_mode);
    visit("cubic_coeff_a", cubic_coeff_a);
    visit("extrapolation_value", extrapolation_value);
    visit("exclude_outside", exclude_outside);
    visit("antialias", antialias);
    visit("keep_aspect_ratio_policy", keep_aspect_ratio_policy);
    visit("axes", axes);
  }

  constexpr void cost(auto& machine, auto in, auto out) const {
    if (mode == ResizeMode::nearest) {
      machine.view();
    } else {
      machine.pool(out[0], taps(in[0].shape, out[0].shape), false);
    }
  }
  /// How many elements of x an element of y is interpolated from.
  constexpr std::int64_t taps(const Dims& x, const Dims& y) const {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (x[i] == y[i]) continue;
      std::int64_t along = mode == ResizeMode::cubic ? 4 : 2;
      if (antialias != 0 && y[i] > 0 && y[i] < x[i]) along = along * x[i] / y[i];
      count *= along < x[i] ? along : x[i];
    }
    return count;
  }
  constexpr Inferred infer(const Inputs& in) const {
    TensorInfo y = in[0];
    const Axes named(axes.span(), y.rank());
    if (!named.ok()) return named.mismatch();
    const auto count = static_cast<std::int64_t>(axes.empty() ? y.rank() : axes.size());
    const auto elements = [&](std::size_t i) { return in.has(i) ? in[i].elements() : 0; };
    const std::int64_t scales = elements(2), sizes = elements(3);
    const auto open = [&] {
      for (std::int64_t i = 0; i < count; ++i) y.shape[axis(i, y.rank())] = dynamic;
      return y;
    };
    if (scales == dynamic || sizes == dynamic) return open();
    if (scales == 0 && sizes == 0 && count != 0) {
      return Inferred::mismatch("neither scales nor sizes are given");
    }
    if (scales != 0 && sizes != 0) return Inferred::mismatch("both scales and sizes are given");
    if (scales + sizes != count) {
      return Inferred::mismatch("scales or sizes need one number per dimension", count,
                                scales + sizes);
    }
    const bool is_cropped = coordinate_transformation_mode == Coordinates::tf_crop_and_resize;
    if (is_cropped && elements(1) != dynamic && elements(1) != 2 * count) {
      return Inferred::mismatch("roi needs two numbers per dimension", 2 * count, elements(1));
    }
    if (!in.is_constant(scales != 0 ? 2 : 3)) return open();
    const std::vector<std::int64_t> wanted = in.integers(3);
    const double ratio = scales != 0 ? 1 : common_scale(y.shape.span(), wanted.data());
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t& extent = y.shape[axis(i, y.rank())];
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t had = extent;
      if (scales != 0) {
        const float scale = float_at(in.data(2), at);
        if (!(scale > 0) || scale > 1e9f) {
          return Inferred::mismatch("a scale is out of range", 1, static_cast<std::int64_t>(i));
        }
        if (had != dynamic && scale != 1) {
          const float product = static_cast<float>(had) * scale;
          if (product > 1e15f) {
            return Inferred::mismatch("a scale is out of range", 1, static_cast<std::int64_t>(i));
          }
          extent = static_cast<std::int64_t>(product);
        }
      } else {
        if (wanted[at] < 0) return Inferred::mismatch("a size is negative", 0, wanted[at]);
        if (keep_aspect_ratio_policy == AspectRatio::stretch) {
          extent = wanted[at];
        } else if (ratio < 0 || had == dynamic) {
          extent = dynamic;
        } else {
          extent = static_cast<std::int64_t>(ratio * static_cast<double>(had) + 0.5);
        }
      }
      if (had == 0 && extent > 0) {
        return Inferred::mismatch("there is no element to repeat", 1, 0);
      }
    }
    return y;
  }

  template <class T, class R, class S, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const R> roi, View<const S> scales,
              View<const I> sizes, View<T> y) const {
    kernel::resize<T>(call, rule_within(x.shape(), y.shape(), roi, scales, sizes), x, y);
  }
  template <class T, class R, class S, class I>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> x, View<const R>,
                                  View<const S> scales, View<const I> sizes, View<T> y) const {
    const bool is_known = call.is_constant(scales && scales.size() != 0 ? 2 : 3);
    return kernel::resize_workspace<T>(rule(x.shape(), y.shape(), scales, sizes, is_known), x, y);
  }
  constexpr void gradient(auto& g) const;

 private:
  friend struct ResizeGradient;

  /// `rule` with the region of interest.
  [[gnu::noinline]] constexpr kernel::ResizeRule rule_within(std::span<const std::int64_t> x,
                                                             std::span<const std::int64_t> y,
                                                             const auto& roi,
                                                             View<const float> scales,
                                                             View<const std::int64_t> sizes) const {
    kernel::ResizeRule r = rule(x, y, scales, sizes, true);
    const std::int64_t n = roi ? roi.size() / 2 : 0;
    for (std::int64_t i = 0; i < n && n == count(x.size()); ++i) {
      r.start[axis(i, x.size())] = static_cast<double>(roi[i]);
      r.end[axis(i, x.size())] = static_cast<double>(roi[n + i]);
    }
    return r;
  }
  constexpr std::int64_t count(std::size_t rank) const {
    return static_cast<std::int64_t>(axes.empty() ? rank : axes.size());
  }
  /// The dimension that number i of roi, scales and sizes is about.
  constexpr std::size_t axis(std::int64_t i, std::size_t rank) const {
    const auto at = static_cast<std::size_t>(i);
    return axes.empty() ? at : normalized_axis(axes[at], rank);
  }
  /// The scale of all axes that comes closest to the sizes; negative while an extent is unknown.
  constexpr double common_scale(std::span<const std::int64_t> input,
                                const std::int64_t* sizes) const {
    double common = -1;
    for (std::int64_t i = 0; i < count(input.size()); ++i) {
      const std::int64_t extent = input[axis(i, input.size())];
      if (extent == dynamic) return -1;
      const double s = static_cast<double>(sizes[i]) / static_cast<double>(extent < 1 ? 1 : extent);
      const bool is_better =
          keep_aspect_ratio_policy == AspectRatio::not_larger ? s < common : s > common;
      if (common < 0 || is_better) common = s;
    }
    return common;
  }
  /// What the kernel wants to know; `is_known` if the values of scales and sizes are there to read.
  [[gnu::noinline]] constexpr kernel::ResizeRule rule(std::span<const std::int64_t> x,
                                                      std::span<const std::int64_t> y,
                                                      View<const float> scales,
                                                      View<const std::int64_t> sizes,
                                                      bool is_known) const {
    kernel::ResizeRule r{.mode = mode,
                         .coordinates = coordinate_transformation_mode,
                         .nearest = nearest_mode,
                         .cubic_a = static_cast<double>(cubic_coeff_a),
                         .extrapolation = static_cast<double>(extrapolation_value),
                         .excludes_outside = exclude_outside != 0,
                         .antialiases = antialias != 0,
                         .scale = {},
                         .length = {},
                         .start = {},
                         .end = {},
                         .is_kept = {}};
    const bool by_scales = scales && scales.size() != 0;
    const bool is_stretched = keep_aspect_ratio_policy == AspectRatio::stretch;
    const bool may_move = coordinate_transformation_mode == Coordinates::tf_crop_and_resize ||
                          coordinate_transformation_mode == Coordinates::tf_half_pixel_for_nn;
    const double common = by_scales || is_stretched || !is_known ? 1 : common_scale(x, sizes.data);
    for (std::size_t d = 0; d < x.size(); ++d) {
      r.scale[d] = r.end[d] = 1;
      r.length[d] = static_cast<double>(y[d]);
      r.is_kept[d] = true;
    }
    for (std::int64_t i = 0; i < count(x.size()); ++i) {
      const std::size_t d = axis(i, x.size());
      const auto extent = static_cast<double>(x[d]);
      r.scale[d] = r.length[d] / extent;
      bool is_exact = true;
      if (by_scales || !is_stretched) {
        is_exact = is_known;
        if (is_known) r.scale[d] = by_scales ? static_cast<double>(scales[i]) : common;
        r.length[d] = r.scale[d] * extent;
      }
      r.is_kept[d] = is_exact && x[d] == y[d] && r.scale[d] == 1 && !may_move;
    }
    return r;
  }
  static constexpr float float_at(std::span<const std::byte> data, std::size_t i) {
    std::uint32_t bits = 0;
    for (std::size_t b = 0; b < 4; ++b) {
      bits |= std::to_integer<std::uint32_t>(data[4 * i + b]) << (8 * b);
    }
    return std::bit_cast<float>(bits);
  }
};

/// The gradient of Resize: each element of dy, times the weights, is added to the elements of dx
/// that it was made of.
///
/// resized  the Resize; roi, scales and sizes are its inputs
/// dx       of `shape`
/// limits   half and bfloat16 are computed in float
struct ResizeGradient {
  Resize resized{};
  Dims shape{};

  static constexpr OpId id{"halftone", "ResizeGradient", 1};
  static constexpr Signature signature = "dy roi:R? scales:S? sizes:I? -> dx";
  using types =
      TypeList<FloatTypes, TypeList<float, double, half>, TypeList<float>, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    resized.attributes(visit);
    visit("shape", shape);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    // Every element of dy goes to as many of dx as its own was made of.
    const std::int64_t taps =
        resized.mode == ResizeMode::nearest ? 1 : resized.taps(out[0].shape, in[0].shape);
    const std::int64_t m = in[0].elements(), n = out[0].elements();
    machine.pool(out[0], m < n ? taps / (n / m) + 1 : taps * ((m + n - 1) / n), false);
  }
  constexpr Inferred infer(const Inputs& in) const { return TensorInfo{in[0].type, shape}; }
  template <class T, class R, class S, class I>
  void kernel(const KernelCall& call, View<const T> dy, View<const R> roi, View<const S> scales,
              View<const I> sizes, View<T> dx) const {
    kernel::resize_gradient<T>(
        call, resized.rule_within(dx.shape(), dy.shape(), roi, scales, sizes), dy, dx);
  }
  template <class T, class R, class S, class I>
  constexpr std::size_t workspace(const KernelCall& call, View<const T> dy, View<const R>,
                                  View<const S> scales, View<const I> sizes, View<T> dx) const {
    const bool is_known = call.is_constant(scales && scales.size() != 0 ? 2 : 3);
    return kernel::resize_gradient_workspace<T>(
        resized.rule(dx.shape(), dy.shape(), scales, sizes, is_known), dy, dx);
  }
};

constexpr void Resize::gradient(auto& g) const {
  ResizeGradient op;
  op.resized = *this;
  op.shape = g.x().info().shape;
  const auto dx =
      halftone::detail::record(g.graph(), op, {g.dy().id, g.x(1).id, g.x(2).id, g.x(3).id}, 1);
  g.dx(0) += AnyTensor{&g.graph(), dx[0]};
}

/// Resize as it was in opset 10: places at i / scale, the nearest element by NearestMode::simple.
/// PopART has linear and cubic with half_pixel.
struct Resize_10 {
  ResizeMode mode = ResizeMode::nearest;

  static constexpr OpId id{"ai.onnx", "Resize", 10};
  static constexpr Signature signature = "x scales:S -> y";

  constexpr void attributes(auto&& visit) { visit("mode", mode); }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto scales) const {
    return OpFunction<Resize>{}(x, none, scales,
                                Resize{.mode = mode,
                                       .coordinate_transformation_mode = Coordinates::asymmetric,
                                       .nearest_mode = NearestMode::simple});
  }
};

/// Makes every dimension longer, as Resize_10 does; later models use Resize. PopART refuses linear.
/// source  ai.onnx Upsample-9
struct Upsample {
  ResizeMode mode = ResizeMode::nearest;

  static constexpr OpId id{"ai.onnx", "Upsample", 9, 10};
  static constexpr Signature signature = "x scales:S -> y";

  constexpr void attributes(auto&& visit) { visit("mode", mode); }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto scales) const {
    return Resize_10{.mode = mode}.expand(x, scales);
  }
};

/// Upsample whose scales are an attribute.
struct Upsample_7 {
  ResizeMode mode = ResizeMode::nearest;
  BoundedList<float, max_rank> scales{};

  static constexpr OpId id{"ai.onnx", "Upsample", 7};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("mode", mode);
    visit("scales", scales);
  }
  constexpr AnyTensor expand(tensor_handle auto x) const {
    const auto n = static_cast<std::int64_t>(scales.size());
    return Resize_10{.mode = mode}.expand(x, constant(*x.graph, scales.span(), {n}));
  }
};

/// How Upsample-1 names its modes.
enum class UpsampleMode : std::uint8_t { nearest, bilinear };

}  // namespace op

namespace detail {
inline constexpr std::string_view upsample_mode_names[] = {"nearest", "bilinear"};
}

namespace op {

constexpr std::span<const std::string_view> names_of(UpsampleMode) {
  return halftone::detail::upsample_mode_names;
}

/// Upsample of [batch, channels, height, width].
struct Upsample_1 {
  UpsampleMode mode = UpsampleMode::nearest;
  float height_scale = 1, width_scale = 1;

  static constexpr OpId id{"ai.onnx", "Upsample", 1};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) {
    visit("mode", mode);
    visit("height_scale", height_scale);
    visit("width_scale", width_scale);
  }
  constexpr AnyTensor expand(tensor_handle auto x) const {
    const bool is_nearest = mode == UpsampleMode::nearest;
    return Upsample_7{.mode = is_nearest ? ResizeMode::nearest : ResizeMode::linear,
                      .scales = {1, 1, height_scale, width_scale}}
        .expand(x);
  }
};

}  // namespace op
}  // namespace halftone

#endif
