#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ROI_HPP
#define HALFTONE_OP_ROI_HPP

#include <halftone/kernel/fwd.hpp>

namespace halftone {

namespace kernel {

enum class RoiMode : std::uint8_t { avg, max };
/// Whether the centre of the first pixel is at 0.5 or at 0.
enum class RoiCoordinates : std::uint8_t { half_pixel, output_half_pixel };

// kernel/roi.hpp. Op: op::RoiAlign, op::MaxRoiPool.
template <class T, class Op>
void roi_align(const Op& op, const Executor& executor, View<const T> x, View<const T> rois,
               View<const std::int64_t> batch_indices, View<T> y);
template <class T, class Op>
void max_roi_pool(const Op& op, const Executor& executor, View<const T> x, View<const T> rois,
                  View<T> y);

}  // namespace kernel

namespace detail {
inline constexpr std::string_view roi_mode_names[] = {"avg", "max"};
inline constexpr std::string_view roi_coordinates_names[] = {"half_pixel", "output_half_pixel"};

/// x [batch, channels, height, width] and rois [count, numbers].
constexpr Inferred infer_regions(const TensorInfo& x, const TensorInfo& rois, std::int64_t numbers,
                                 std::int64_t height, std::int64_t width) {
  if (x.rank() != 4) {
    return Inferred::mismatch("the input is not [batch, channels, height, width]", 4,
                              static_cast<std::int64_t>(x.rank()));
  }
  if (rois.rank() != 2) {
    return Inferred::mismatch("the regions are not a matrix", 2,
                              static_cast<std::int64_t>(rois.rank()));
  }
  if (contradict(rois.shape[1], numbers)) {
    return Inferred::mismatch("a region has another number of coordinates", numbers, rois.shape[1]);
  }
  if (height < 1 || width < 1) {
    return Inferred::mismatch("the output extents are out of range", 1,
                              height < 1 ? height : width);
  }
  return TensorInfo{x.type, {rois.shape[0], x.shape[1], height, width}};
}
}  // namespace detail

namespace kernel {
constexpr std::span<const std::string_view> names_of(RoiMode) {
  return halftone::detail::roi_mode_names;
}
constexpr std::span<const std::string_view> names_of(RoiCoordinates) {
  return halftone::detail::roi_coordinates_names;
}
}  // namespace kernel

namespace op {

using kernel::RoiCoordinates;
using kernel::RoiMode;

/// Pictures of regions, all of the same size: each element of y stands for a part of a region, and
/// is the mean or the largest of points in it, which are interpolated between pixels.
///
/// x               [batch, channels, height, width]
/// rois            [regions, 4]: x1, y1, x2, y2, in pixels once multiplied by spatial_scale
/// batch_indices   [regions]: the image of each
/// y               [regions, channels, output_height, output_width]
/// sampling_ratio  points of a part in each direction; 0: as many as it is pixels wide, rounded up
/// coordinate_transformation_mode  output_half_pixel: regions are not moved by half a pixel, and
///                 are one pixel wide and high at least
/// limits          points beyond a pixel around x are 0. max takes the largest of the four pixels
///                 around each point, each times its weight, not their sum: so do ONNX's reference
///                 and onnxruntime. PopART knows avg only. A batch index that is out of range is an
///                 InputError of the run
/// source          ai.onnx RoiAlign-16; He et al. 2017, arXiv:1703.06870
struct RoiAlign {
  RoiMode mode = RoiMode::avg;
  RoiCoordinates coordinate_transformation_mode = RoiCoordinates::half_pixel;
  std::int64_t output_height = 1, output_width = 1, sampling_ratio = 0;
  float spatial_scale = 1;

  static constexpr OpId id{"ai.onnx", "RoiAlign", 16, 22};
  static constexpr Signature signature = "x rois batch_indices:I -> y";
  using types = TypeList<FloatTypes, TypeList<std::int64_t>>;
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("mode", mode);
    visit("coordinate_transformation_mode", coordinate_transformation_mode);
    visit("output_height", output_height);
    visit("output_width", output_width);
    visit("sampling_ratio", sampling_ratio);
    visit("spatial_scale", spatial_scale);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    // Without a sampling ratio a point for each pixel of a region as large as the image.
    const auto points = [&](std::size_t axis, std::int64_t outputs) {
      return sampling_ratio > 0 ? sampling_ratio : (in[0].shape[axis] + outputs - 1) / outputs;
    };
    halftone::detail::interpolation_cost(machine, in[0], out[0],
                                         4 * points(2, output_height) * points(3, output_width), 1);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo rois, TensorInfo batch_indices) const {
    if (sampling_ratio < 0 || sampling_ratio > 1 << 16) {
      return Inferred::mismatch("sampling_ratio is out of range", 0, sampling_ratio);
    }
    if (batch_indices.rank() != 1) {
      return Inferred::mismatch("the batch indices are not a vector", 1,
                                static_cast<std::int64_t>(batch_indices.rank()));
    }
    if (rois.rank() == 2) {
      const std::int64_t count = agree(rois.shape[0], batch_indices.shape[0]);
      if (count == contradictory) {
        return Inferred::mismatch("there is not one batch index per region", rois.shape[0],
                                  batch_indices.shape[0]);
      }
      rois.shape[0] = count;
    }
    return halftone::detail::infer_regions(x, rois, 4, output_height, output_width);
  }
  template <class T, class I>
  void kernel(const KernelCall& call, View<const T> x, View<const T> rois, View<const I> indices,
              View<T> y) const {
    kernel::roi_align<T>(*this, *call.executor, x, rois, indices, y);
  }
};

/// RoiAlign before regions were moved by half a pixel.
struct RoiAlign_10 {
  RoiMode mode = RoiMode::avg;
  std::int64_t output_height = 1, output_width = 1, sampling_ratio = 0;
  float spatial_scale = 1;

  static constexpr OpId id{"ai.onnx", "RoiAlign", 10};
  static constexpr bool differentiable = false;
  static constexpr Signature signature = "x rois batch_indices:I -> y";

  constexpr void attributes(auto&& visit) {
    visit("mode", mode);
    visit("output_height", output_height);
    visit("output_width", output_width);
    visit("sampling_ratio", sampling_ratio);
    visit("spatial_scale", spatial_scale);
  }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto rois,
                             tensor_handle auto batch_indices) const {
    return OpFunction<RoiAlign>{}(
        x, rois, batch_indices,
        RoiAlign{.mode = mode,
                 .coordinate_transformation_mode = RoiCoordinates::output_half_pixel,
                 .output_height = output_height,
                 .output_width = output_width,
                 .sampling_ratio = sampling_ratio,
                 .spatial_scale = spatial_scale});
  }
};

/// The largest elements of the parts of regions, which are rounded to whole pixels.
///
/// x       [batch, channels, height, width]
/// rois    [regions, 5]: number of the image, x1, y1, x2, y2, in pixels once multiplied by
///         spatial_scale; both ends belong to the region
/// y       [regions, channels, pooled_shape...]
/// limits  parts without a pixel are 0, NaN gives NaN. An image's number that is out of range is an
///         InputError of the run
/// source  ai.onnx MaxRoiPool-1; Girshick 2015, arXiv:1504.08083
struct MaxRoiPool {
  Dims pooled_shape{};
  float spatial_scale = 1;

  static constexpr OpId id{"ai.onnx", "MaxRoiPool", 1, 22};
  static constexpr Signature signature = "x rois -> y";
  static constexpr bool compiled_once = true;

  constexpr void attributes(auto&& visit) {
    visit("pooled_shape", pooled_shape);
    visit("spatial_scale", spatial_scale);
  }
  constexpr void cost(auto& machine, auto in, auto out) const {
    std::int64_t pixels = 1;
    for (const std::size_t i : {0u, 1u}) {
      pixels *= (in[0].shape[2 + i] + pooled_shape[i] - 1) / pooled_shape[i];
    }
    halftone::detail::interpolation_cost(machine, in[0], out[0], pixels, 1);
  }
  constexpr Inferred infer(TensorInfo x, TensorInfo rois) const {
    if (pooled_shape.size() != 2) {
      return Inferred::mismatch("pooled_shape is not height and width", 2,
                                static_cast<std::int64_t>(pooled_shape.size()));
    }
    return halftone::detail::infer_regions(x, rois, 5, pooled_shape[0], pooled_shape[1]);
  }
  template <class T>
  void kernel(const KernelCall& call, View<const T> x, View<const T> rois, View<T> y) const {
    kernel::max_roi_pool<T>(*this, *call.executor, x, rois, y);
  }
};

}  // namespace op
}  // namespace halftone

#endif
