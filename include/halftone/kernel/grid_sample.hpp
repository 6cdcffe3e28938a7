#pragma once

#include <cstdint>

#include <halftone/base/math.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/resize.hpp>
#include <halftone/op/grid_sample.hpp>

namespace halftone::kernel {

namespace detail {

/// Whether x lies where x again and again between low and high is mirrored.
inline bool is_turned(double x, double low, double high) {
  const double span = high - low;
  if (!(span > 0)) return false;
  const double turns = math::floor((x - low) / span);
  return math::floor(turns / 2) * 2 != turns;
}

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

/// The elements along one dimension of x that an element of y is made of: none outside, where there
/// are zeros.
struct SampleAxis {
  int count = 0;
  std::int64_t element[4];
  double share[4];
  double slope[4];  ///< how fast the share grows with the number of the grid

  SampleAxis(SampleMode mode, SamplePadding padding, bool aligns_corners, std::int64_t extent,
             double place) {
    const auto n = static_cast<double>(extent);
    const double low = aligns_corners ? 0 : -0.5, high = aligns_corners ? n - 1 : n - 0.5;
    double at = aligns_corners ? (place + 1) / 2 * (n - 1) : ((place + 1) * n - 1) / 2;
    double rate = aligns_corners ? (n - 1) / 2 : n / 2;
    const bool is_cubic = mode == SampleMode::bicubic || mode == SampleMode::cubic;
    if (extent == 0) return;
    if (padding == SamplePadding::zeros) {
      if (!(at > -3 && at < n + 2)) return;
    } else {
      constexpr double far = 1e15;
      at = at != at ? 0 : at < -far ? -far : at > far ? far : at;
      if (padding == SamplePadding::reflection && !is_cubic) {
        if (is_turned(at, low, high)) rate = -rate;
        at = reflected(at, low, high);
      }
      if (padding == SamplePadding::border && !is_cubic) {
        if (at < 0 || at > n - 1) rate = 0;
        at = at < 0 ? 0 : at > n - 1 ? n - 1 : at;
      }
    }
    const auto add = [&](double i, double w, double slope_) {
      if (w == 0 && slope_ == 0) return;
      if (padding == SamplePadding::zeros && (i < 0 || i > n - 1)) return;
      if (padding == SamplePadding::reflection) i = reflected(i, low, high);
      i = i < 0 ? 0 : i > n - 1 ? n - 1 : i;
      element[count] = static_cast<std::int64_t>(i);
      share[count] = w;
      slope[count++] = slope_ * rate;
    };
    if (mode == SampleMode::nearest) {
      add(math::round_even(at), 1, 0);
      return;
    }
    const double first = math::floor(at), f = at - first;
    if (!is_cubic) {
      add(first, 1 - f, -1);
      add(first + 1, f, 1);
      return;
    }
    for (int k = -1; k < 3; ++k) {
      const double t = f - k;
      add(first + k, keys(t), t < 0 ? -keys_slope(-t) : keys_slope(t));
    }
  }

 private:
  static constexpr double a = -0.75;

  static double keys(double t) {
    ResizeRule rule{};
    rule.mode = ResizeMode::cubic;
    rule.cubic_a = a;
    return resize_weight(rule, t);
  }
  /// The derivative of Keys' polynomials, t >= 0.
  static double keys_slope(double t) {
    if (t <= 1) return (3 * (a + 2) * t - 2 * (a + 3)) * t;
    return t < 2 ? (3 * a * t - 10 * a) * t + 8 * a : 0;
  }
};

/// The elements of x that one element of y is made of.
struct SamplePoint {
  std::int64_t count = 1;
  std::int64_t at[64];
  double weight[64];

  /// extents: the spatial ones of x; place: the last dimension first.
  SamplePoint(SampleMode mode, SamplePadding padding, bool aligns_corners,
              const std::int64_t* extents, std::size_t rank, const double* place) {
    at[0] = 0;
    weight[0] = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      add({mode, padding, aligns_corners, extents[d], place[rank - 1 - d]}, extents[d], false);
    }
  }
  /// The same, weighed by how fast the weights grow with number `varied` of the place.
  SamplePoint(const SampleAxis* axes, const std::int64_t* extents, std::size_t rank,
              std::size_t varied) {
    at[0] = 0;
    weight[0] = 1;
    for (std::size_t d = 0; d < rank; ++d) add(axes[d], extents[d], rank - 1 - d == varied);
  }

 private:
  void add(const SampleAxis& axis, std::int64_t extent, bool by_slope) {
    std::int64_t next = 0, all_at[64];
    double all_weight[64];
    for (std::int64_t i = 0; i < count; ++i) {
      for (int k = 0; k < axis.count; ++k) {
        const double w = by_slope ? axis.slope[k] : axis.share[k];
        if (w == 0) continue;
        all_at[next] = at[i] * extent + axis.element[k];
        all_weight[next++] = weight[i] * w;
      }
    }
    count = next;
    for (std::int64_t i = 0; i < count; ++i) at[i] = all_at[i], weight[i] = all_weight[i];
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

/// op::GridSampleGradient: dx is the sum of dy times the weights, dgrid that of dy and x times how
/// fast the weights grow.
template <class T>
void grid_sample_gradient(const Executor& executor, SampleMode mode, SamplePadding padding,
                          bool aligns_corners, View<const T> x, View<const T> grid,
                          View<const T> dy, View<T> dx, View<T> dgrid) {
  const std::size_t rank = x.rank - 2;
  const auto numbers = static_cast<std::int64_t>(rank);
  const std::int64_t channels = x.extent(1), pixels = x.size(2, x.rank);
  const std::int64_t places = dy.size(2, dy.rank), all = dy.extent(0) * places;
  const std::int64_t* const extents = x.extents + 2;
  const auto place_of = [&](std::int64_t i, double(&place)[3]) {
    for (std::int64_t k = 0; k < numbers; ++k) {
      place[k] = static_cast<double>(grid[i * numbers + k]);
    }
  };
  // Channels of an image do not touch each other; some share the weights of a place.
  constexpr std::int64_t some = 16;
  const std::int64_t parts = (channels + some - 1) / some;
  parallel_for(executor, x.extent(0) * parts, [&](std::int64_t task) {
    const std::int64_t image = task / parts, first = task % parts * some;
    const std::int64_t last = channels - first < some ? channels : first + some;
    T* const to = dx.data + (image * channels + first) * pixels;
    for (std::int64_t i = 0; i < (last - first) * pixels; ++i) to[i] = T(0);
    for (std::int64_t p = 0; p < places; ++p) {
      double place[3];
      place_of(image * places + p, place);
      const detail::SamplePoint point(mode, padding, aligns_corners, extents, rank, place);
      for (std::int64_t c = first; c < last; ++c) {
        const auto d = static_cast<double>(dy[(image * channels + c) * places + p]);
        T* const plane = to + (c - first) * pixels;
        for (std::int64_t k = 0; k < point.count; ++k) {
          plane[point.at[k]] += static_cast<T>(point.weight[k] * d);
        }
      }
    }
  });
  constexpr std::int64_t grain = 256;
  parallel_for(executor, (all + grain - 1) / grain, [&](std::int64_t task) {
    const std::int64_t end = (task + 1) * grain < all ? (task + 1) * grain : all;
    for (std::int64_t i = task * grain; i < end; ++i) {
      double place[3];
      place_of(i, place);
      const auto axis = [&](std::size_t d) {
        const std::size_t at = d < rank ? d : 0;
        return detail::SampleAxis(mode, padding, aligns_corners, extents[at], place[rank - 1 - at]);
      };
      const detail::SampleAxis axes[3] = {axis(0), axis(1), axis(2)};
      const std::int64_t image = i / places, p = i % places;
      for (std::size_t varied = 0; varied < rank; ++varied) {
        const detail::SamplePoint point(axes, extents, rank, varied);
        double sum = 0;
        for (std::int64_t c = 0; c < channels && point.count > 0; ++c) {
          const T* const plane = x.data + (image * channels + c) * pixels;
          double value = 0;
          for (std::int64_t k = 0; k < point.count; ++k) {
            value += point.weight[k] * static_cast<double>(plane[point.at[k]]);
          }
          sum += value * static_cast<double>(dy[(image * channels + c) * places + p]);
        }
        dgrid[i * numbers + static_cast<std::int64_t>(varied)] = static_cast<T>(sum);
      }
    }
  });
}

}  // namespace halftone::kernel
