#pragma once

#include <cstdint>

#include <halftone/base/math.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/resize.hpp>
#include <halftone/kernel/simd.hpp>
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

/// The element of x, as a broken number, that a number of the grid means.
inline double sample_at(bool aligns_corners, double extent, double place) {
  return aligns_corners ? (place + 1) / 2 * (extent - 1) : ((place + 1) * extent - 1) / 2;
}

/// The elements along one dimension of x that an element of y is made of: none outside, where there
/// are zeros.
struct SampleAxis {
  int count = 0;
  std::int64_t element[4];
  double share[4];
  double slope[4];  ///< how fast the share grows with the number of the grid

  /// A dimension of one element.
  SampleAxis() : count(1) {
    element[0] = 0;
    share[0] = 1;
    slope[0] = 0;
  }
  SampleAxis(SampleMode mode, SamplePadding padding, bool aligns_corners, std::int64_t extent,
             double place) {
    const auto n = static_cast<double>(extent);
    const double low = aligns_corners ? 0 : -0.5, high = aligns_corners ? n - 1 : n - 0.5;
    double at = sample_at(aligns_corners, n, place);
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

/// Elements of x and their weights for some elements of y: the points of an image.
struct SampleBlock {
  static constexpr std::int64_t most_taps = 512, most_points = 128, taps_of_point = 64;

  /// Between two neighbours in a row and two in another.
  struct Square {
    std::int64_t point, upper, lower;
    double weight[4];
  };
  struct Point {
    std::int64_t point, end;  ///< `end` is the number of the first tap of the next point
  };

  std::int64_t points = 0, others = 0, squares = 0, taps = 0;
  Square square[most_points];
  Point other[most_points];
  std::int64_t at[most_taps];
  double weight[most_taps];

  bool is_full() const { return points == most_points || taps + taps_of_point > most_taps; }

  /// As SamplePoint.
  void add(SampleMode mode, SamplePadding padding, bool aligns_corners, const std::int64_t* extents,
           std::size_t rank, const double* place) {
    const bool is_linear = mode == SampleMode::bilinear || mode == SampleMode::linear;
    if (is_linear && rank == 2 && add_square(aligns_corners, extents, place)) return;
    const auto axis = [&](std::size_t i) {
      if (i + rank < 3) return SampleAxis();
      const std::size_t d = i + rank - 3;
      return SampleAxis(mode, padding, aligns_corners, extents[d], place[rank - 1 - d]);
    };
    const SampleAxis axes[3] = {axis(0), axis(1), axis(2)};
    const std::int64_t last = extents[rank - 1], middle = rank > 1 ? extents[rank - 2] : 1;
    for (int i = 0; i < axes[0].count; ++i) {
      if (axes[0].share[i] == 0) continue;
      for (int j = 0; j < axes[1].count; ++j) {
        if (axes[1].share[j] == 0) continue;
        const std::int64_t row = (axes[0].element[i] * middle + axes[1].element[j]) * last;
        const double row_weight = axes[0].share[i] * axes[1].share[j];
        for (int k = 0; k < axes[2].count; ++k) {
          if (axes[2].share[k] == 0) continue;
          at[taps] = row + axes[2].element[k];
          weight[taps++] = row_weight * axes[2].share[k];
        }
      }
    }
    other[others++] = {points++, taps};
  }

  /// The points in one channel.
  template <class T>
  void sample(const T* plane, T* y) const {
    for (std::int64_t i = 0; i < squares; ++i) {
      const Square& s = square[i];
      const T *const upper = plane + s.upper, *const lower = plane + s.lower;
      double sum = 0;
      if constexpr (std::is_same_v<T, float>) {
        const Vec<double, 4> four = convert<double>(pairs(upper, lower));
        // The vectors are raw: compilers tell of an ABI where a function takes one that fills two registers.
        const raw_t<double, 4> terms = four.v * Vec<double, 4>::load(s.weight).v;
        sum = sum + terms[0] + terms[1] + terms[2] + terms[3];
      } else {
        const double a = s.weight[0] * static_cast<double>(upper[0]);
        const double b = s.weight[1] * static_cast<double>(upper[1]);
        const double c = s.weight[2] * static_cast<double>(lower[0]);
        sum = sum + a + b + c + s.weight[3] * static_cast<double>(lower[1]);
      }
      y[s.point] = resized_element<T>(sum);
    }
    std::int64_t k = 0;
    for (std::int64_t i = 0; i < others; ++i) {
      const Point p = other[i];
      if (p.end - k == 1 && weight[k] == 1) {
        y[p.point] = plane[at[k++]];
        continue;
      }
      double sum = 0;
      for (; k < p.end; ++k) sum += weight[k] * static_cast<double>(plane[at[k]]);
      y[p.point] = resized_element<T>(sum);
    }
  }

 private:
  /// Whether the point lies between four elements, where no padding matters.
  bool add_square(bool aligns_corners, const std::int64_t* extents, const double* place) {
    const auto height = static_cast<double>(extents[0]), width = static_cast<double>(extents[1]);
    const double v = sample_at(aligns_corners, height, place[1]);
    const double h = sample_at(aligns_corners, width, place[0]);
    if (!(v > 0 && v < height - 1 && h > 0 && h < width - 1)) return false;
    const auto row = static_cast<std::int64_t>(v), column = static_cast<std::int64_t>(h);
    const double f = v - static_cast<double>(row), g = h - static_cast<double>(column);
    if (f == 0 || g == 0) return false;
    const std::int64_t upper = row * extents[1] + column;
    square[squares++] = {
        points++, upper, upper + extents[1], {(1 - f) * (1 - g), (1 - f) * g, f * (1 - g), f * g}};
    return true;
  }

  static HALFTONE_INLINE Vec<float, 4> pairs(const float* a, const float* b) {
    raw_t<long long, 2> both;
    long long one, other;
    __builtin_memcpy(&one, a, sizeof(one));
    __builtin_memcpy(&other, b, sizeof(other));
    both = raw_t<long long, 2>{one, other};
    return (raw_t<float, 4>)both;
  }
};

}  // namespace detail

template <class T>
void grid_sample(const Executor& executor, SampleMode mode, SamplePadding padding,
                 bool aligns_corners, View<const T> x, const double* grid, View<T> y) {
  const std::size_t rank = x.rank - 2;
  const std::int64_t channels = x.extent(1), pixels = x.size(2, x.rank);
  const std::int64_t places = y.size(2, y.rank);
  constexpr std::int64_t grain = 256;
  const std::int64_t parts = (places + grain - 1) / grain;
  parallel_for(executor, y.extent(0) * parts, [&](std::int64_t task) {
    const std::int64_t image = task / parts, first = task % parts * grain;
    const std::int64_t end = first + grain < places ? first + grain : places;
    const double* place = grid + (image * places + first) * static_cast<std::int64_t>(rank);
    for (std::int64_t i = first; i < end;) {
      detail::SampleBlock block;
      for (; i + block.points < end && !block.is_full(); place += rank) {
        block.add(mode, padding, aligns_corners, x.extents + 2, rank, place);
      }
      // Channel by channel: the same places of all planes would push each other out of the cache.
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t plane = image * channels + c;
        block.sample(x.data + plane * pixels, y.data + plane * places + i);
      }
      i += block.points;
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
