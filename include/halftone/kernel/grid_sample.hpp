#pragma once

#include <cstdint>

#include <halftone/base/math.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/resize.hpp>
#include <halftone/op/grid_sample.hpp>

namespace halftone::kernel {

namespace detail {

/// x again and again between low and high, every other time mirrored.
inline double reflected(double x, double low, double high) {
  const double span = high - low;
  if (!(span > 0)) return low < 0 ? 0 : low;
  const double distance = x < low ? low - x : x > high ? x - high : 0;
  if (distance == 0) return x;
  const double turns = math::floor(distance / span), rest = distance - turns * span;
  const bool is_even = math::floor(turns / 2) * 2 == turns;
  return (x < low) == is_even ? low + rest : high - rest;
}

/// The elements of x that one element of y is made of.
struct SamplePoint {
  std::int64_t count = 0;
  std::int64_t at[64];
  double weight[64];

  /// extents: the spatial ones of x; place: the last dimension first.
  SamplePoint(SampleMode mode, SamplePadding padding, bool aligns_corners,
              const std::int64_t* extents, std::size_t rank, const double* place) {
    count = 1;
    at[0] = 0;
    weight[0] = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t element[4];
      double share[4];
      const std::int64_t n =
          taps(mode, padding, aligns_corners, extents[d], place[rank - 1 - d], element, share);
      std::int64_t next = 0;
      std::int64_t all_at[64];
      double all_weight[64];
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t k = 0; k < n; ++k, ++next) {
          all_at[next] = at[i] * extents[d] + element[k];
          all_weight[next] = weight[i] * share[k];
        }
      }
      count = next;
      for (std::int64_t i = 0; i < count; ++i) at[i] = all_at[i], weight[i] = all_weight[i];
    }
  }

 private:
  /// The elements along one dimension; none for zeros.
  static std::int64_t taps(SampleMode mode, SamplePadding padding, bool aligns_corners,
                           std::int64_t extent, double place, std::int64_t (&element)[4],
                           double (&share)[4]) {
    const auto n = static_cast<double>(extent);
    const double low = aligns_corners ? 0 : -0.5, high = aligns_corners ? n - 1 : n - 0.5;
    double at = aligns_corners ? (place + 1) / 2 * (n - 1) : ((place + 1) * n - 1) / 2;
    const bool is_cubic = mode == SampleMode::bicubic || mode == SampleMode::cubic;
    if (extent == 0) return 0;
    if (padding == SamplePadding::zeros) {
      if (!(at > -3 && at < n + 2)) return 0;
    } else {
      constexpr double far = 1e15;
      at = at != at ? 0 : at < -far ? -far : at > far ? far : at;
      if (padding == SamplePadding::reflection && !is_cubic) at = reflected(at, low, high);
      if (padding == SamplePadding::border && !is_cubic) at = at < 0 ? 0 : at > n - 1 ? n - 1 : at;
    }
    std::int64_t count = 0;
    const auto add = [&](double i, double w) {
      if (w == 0) return;
      if (padding == SamplePadding::zeros && (i < 0 || i > n - 1)) return;
      if (padding == SamplePadding::reflection) i = reflected(i, low, high);
      i = i < 0 ? 0 : i > n - 1 ? n - 1 : i;
      element[count] = static_cast<std::int64_t>(i);
      share[count++] = w;
    };
    if (mode == SampleMode::nearest) {
      add(math::round_even(at), 1);
      return count;
    }
    const double first = math::floor(at), f = at - first;
    if (!is_cubic) {
      add(first, 1 - f);
      add(first + 1, f);
      return count;
    }
    ResizeRule keys{};
    keys.mode = ResizeMode::cubic;
    keys.cubic_a = -0.75;
    for (int k = -1; k < 3; ++k) add(first + k, resize_weight(keys, f - k));
    return count;
  }
};

}  // namespace detail

template <class T>
void grid_sample(const Executor& executor, SampleMode mode, SamplePadding padding,
                 bool aligns_corners, View<const T> x, const double* grid, View<T> y) {
  const std::size_t rank = x.rank - 2;
  const std::int64_t channels = x.extent(1), pixels = x.size(2, x.rank);
  const std::int64_t places = y.size(2, y.rank), all = y.extent(0) * places;
  constexpr std::int64_t grain = 256;
  parallel_for(executor, (all + grain - 1) / grain, [&](std::int64_t task) {
    const std::int64_t end = (task + 1) * grain < all ? (task + 1) * grain : all;
    for (std::int64_t i = task * grain; i < end; ++i) {
      const detail::SamplePoint point(mode, padding, aligns_corners, x.extents + 2, rank,
                                      grid + i * static_cast<std::int64_t>(rank));
      const std::int64_t image = i / places;
      for (std::int64_t c = 0; c < channels; ++c) {
        const T* const plane = x.data + (image * channels + c) * pixels;
        T& to = y[(image * channels + c) * places + i % places];
        if (point.count == 1 && point.weight[0] == 1) {
          to = plane[point.at[0]];
          continue;
        }
        double sum = 0;
        for (std::int64_t k = 0; k < point.count; ++k) {
          sum += point.weight[k] * static_cast<double>(plane[point.at[k]]);
        }
        to = detail::resized_element<T>(sum);
      }
    }
  });
}

}  // namespace halftone::kernel
