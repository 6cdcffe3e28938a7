#pragma once

#include <cstdint>

#include <halftone/base/math.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/fault.hpp>
#include <halftone/kernel/simd.hpp>
#include <halftone/op/roi.hpp>

namespace halftone::kernel {

namespace detail {

/// Channels that share the weights of a point.
inline constexpr std::int64_t roi_channels = 16;

/// f(region, first channel, last channel) for all regions.
template <class F>
void for_each_region(const Executor& executor, std::int64_t regions, std::int64_t channels, F f) {
  const std::int64_t blocks = (channels + roi_channels - 1) / roi_channels;
  parallel_for(executor, regions * blocks, [&](std::int64_t task) {
    const std::int64_t first = task % blocks * roi_channels;
    f(task / blocks, first, channels - first < roi_channels ? channels : first + roi_channels);
  });
}

/// Where a point lies between two pixels of a row or column, and its share of each.
struct RoiPoint {
  std::int64_t low = 0, high = 0;
  double low_weight = 0, high_weight = 0;

  /// Both weights are 0 more than a pixel outside.
  RoiPoint(double place, std::int64_t extent) {
    if (!(place >= -1 && place <= static_cast<double>(extent))) return;
    if (place < 0) place = 0;
    low = static_cast<std::int64_t>(place);
    if (low >= extent - 1) {
      low = high = extent - 1;
      low_weight = 1;
      return;
    }
    high = low + 1;
    high_weight = place - static_cast<double>(low);
    low_weight = 1 - high_weight;
  }
};

/// Points of a part of a region in one direction. What is not a number, or out of all proportion,
/// must not run forever.
inline std::int64_t roi_points(std::int64_t ratio, double extent) {
  constexpr double most = 1 << 16;
  if (ratio > 0) return ratio;
  const double points = math::ceil(extent);
  return points > 0 ? static_cast<std::int64_t>(points < most ? points : most) : 0;
}

}  // namespace detail

template <class T, class Op>
void roi_align(const Op& op, const Executor& executor, View<const T> x, View<const T> rois,
               View<const std::int64_t> batch_indices, View<T> y) {
  using S = compute_t<T>;
  const std::int64_t channels = x.extent(1), height = x.extent(2), width = x.extent(3);
  const std::int64_t rows = y.extent(2), columns = y.extent(3), regions = y.extent(0);
  for (std::int64_t r = 0; r < regions; ++r) {
    const std::int64_t image = batch_indices[r];
    if (image < 0 || image >= x.extent(0)) halftone_index_error(image, x.extent(0));
  }
  const bool is_moved = op.coordinate_transformation_mode == RoiCoordinates::half_pixel;
  const bool is_max = op.mode == RoiMode::max, is_empty = height == 0 || width == 0;
  const auto region = [&](std::int64_t r, std::int64_t first, std::int64_t last) {
    const T* const image = x.data + batch_indices[r] * channels * height * width;
    // Rounded as other implementations do, who find the number of points from these.
    S ends[4];
    for (int i = 0; i < 4; ++i) {
      ends[i] = static_cast<S>(rois[4 * r + i]) * static_cast<S>(op.spatial_scale);
      if (is_moved) ends[i] -= static_cast<S>(0.5);
    }
    S region_width = ends[2] - ends[0], region_height = ends[3] - ends[1];
    if (!is_moved && region_width < 1) region_width = 1;
    if (!is_moved && region_height < 1) region_height = 1;
    const S part_height = region_height / static_cast<S>(rows);
    const S part_width = region_width / static_cast<S>(columns);
    const std::int64_t down =
        is_empty ? 0 : detail::roi_points(op.sampling_ratio, static_cast<double>(part_height));
    const std::int64_t across =
        is_empty ? 0 : detail::roi_points(op.sampling_ratio, static_cast<double>(part_width));
    const double points = down * across > 0 ? static_cast<double>(down * across) : 1;
    for (std::int64_t part = 0; part < rows * columns; ++part) {
      double results[detail::roi_channels] = {};
      for (std::int64_t i = 0; i < down; ++i) {
        const detail::RoiPoint v(static_cast<double>(ends[1]) +
                                     (static_cast<double>(part / columns) +
                                      (static_cast<double>(i) + 0.5) / static_cast<double>(down)) *
                                         static_cast<double>(part_height),
                                 height);
        for (std::int64_t j = 0; j < across; ++j) {
          const detail::RoiPoint h(
              static_cast<double>(ends[0]) +
                  (static_cast<double>(part % columns) +
                   (static_cast<double>(j) + 0.5) / static_cast<double>(across)) *
                      static_cast<double>(part_width),
              width);
          const double weights[4] = {v.low_weight * h.low_weight, v.low_weight * h.high_weight,
                                     v.high_weight * h.low_weight, v.high_weight * h.high_weight};
          const std::int64_t at[4] = {v.low * width + h.low, v.low * width + h.high,
                                      v.high * width + h.low, v.high * width + h.high};
          for (std::int64_t c = first; c < last; ++c) {
            const T* const plane = image + c * height * width;
            double& result = results[c - first];
            double terms[4];
            for (int k = 0; k < 4; ++k) terms[k] = weights[k] * static_cast<double>(plane[at[k]]);
            if (is_max) {
              const double most =
                  math::max(math::max(terms[0], terms[1]), math::max(terms[2], terms[3]));
              result = i == 0 && j == 0 ? most : math::max(result, most);
            } else {
              result += terms[0] + terms[1] + terms[2] + terms[3];
            }
          }
        }
      }
      for (std::int64_t c = first; c < last; ++c) {
        const double result = is_max ? results[c - first] : results[c - first] / points;
        y[(r * channels + c) * rows * columns + part] =
            static_cast<T>(static_cast<compute_t<T>>(result));
      }
    }
  };
  detail::for_each_region(executor, regions, channels, region);
}

template <class T, class Op>
void max_roi_pool(const Op& op, const Executor& executor, View<const T> x, View<const T> rois,
                  View<T> y) {
  using S = compute_t<T>;
  const std::int64_t channels = x.extent(1), height = x.extent(2), width = x.extent(3);
  const std::int64_t rows = y.extent(2), columns = y.extent(3), regions = y.extent(0);
  for (std::int64_t r = 0; r < regions; ++r) {
    const auto image = math::saturated<std::int64_t>(static_cast<double>(rois[5 * r]));
    if (image < 0 || image >= x.extent(0)) halftone_index_error(image, x.extent(0));
  }
  const auto region = [&](std::int64_t r, std::int64_t first, std::int64_t last) {
    const auto number = static_cast<std::int64_t>(static_cast<double>(rois[5 * r]));
    // Halves are rounded away from zero.
    double ends[4];
    for (int i = 0; i < 4; ++i) {
      const double v =
          static_cast<double>(rois[5 * r + 1 + i]) * static_cast<double>(op.spatial_scale);
      ends[i] = v < 0 ? math::ceil(v - 0.5) : math::floor(v + 0.5);
    }
    // The pixels of part number i of n, from a region's start and end.
    struct Range {
      std::int64_t first, last;
    };
    const auto range = [](std::int64_t i, std::int64_t n, double start, double end,
                          std::int64_t extent) {
      const double reach = end - start + 1 > 1 ? end - start + 1 : 1;
      const double part = reach / static_cast<double>(n), limit = static_cast<double>(extent);
      const auto clamped = [&](double v) {
        return static_cast<std::int64_t>(v > 0 ? (v < limit ? v : limit) : 0);
      };
      return Range{clamped(start + math::floor(static_cast<double>(i) * part)),
                   clamped(start + math::ceil(static_cast<double>(i + 1) * part))};
    };
    for (std::int64_t c = first; c < last; ++c) {
      const T* const plane = x.data + (number * channels + c) * height * width;
      T* const to = y.data + (r * channels + c) * rows * columns;
      for (std::int64_t row = 0; row < rows; ++row) {
        const Range v = range(row, rows, ends[1], ends[3], height);
        for (std::int64_t column = 0; column < columns; ++column) {
          const Range h = range(column, columns, ends[0], ends[2], width);
          const bool is_empty = v.first >= v.last || h.first >= h.last;
          S most = is_empty ? S(0) : static_cast<S>(plane[v.first * width + h.first]);
          for (std::int64_t i = v.first; i < v.last; ++i) {
            for (std::int64_t j = h.first; j < h.last; ++j) {
              most = math::max(most, static_cast<S>(plane[i * width + j]));
            }
          }
          to[row * columns + column] = static_cast<T>(most);
        }
      }
    }
  };
  detail::for_each_region(executor, regions, channels, region);
}

}  // namespace halftone::kernel
