#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <halftone/base/math.hpp>
#include <halftone/kernel/copy.hpp>
#include <halftone/op/resize.hpp>

namespace halftone::kernel {

namespace detail {

/// The place in x of element i of y, along dimension d.
inline double resize_place(const ResizeRule& r, std::size_t d, std::int64_t i, std::int64_t input,
                           std::int64_t output) {
  const auto at = static_cast<double>(i), n = static_cast<double>(input);
  const double scale = r.scale[d], length = r.length[d];
  switch (r.coordinates) {
    case Coordinates::pytorch_half_pixel:
      return length > 1 ? (at + 0.5) / scale - 0.5 : 0;
    case Coordinates::align_corners:
      return length == 1 ? 0 : at * (n - 1) / (length - 1);
    case Coordinates::asymmetric:
      return at / scale;
    case Coordinates::tf_half_pixel_for_nn:
      return (at + 0.5) / scale;
    case Coordinates::tf_crop_and_resize: {
      const double start = r.start[d] * (n - 1), span = (r.end[d] - r.start[d]) * (n - 1);
      return length == 1 ? start + span / 2 : start + at * span / (length - 1);
    }
    case Coordinates::half_pixel_symmetric: {
      const double adjustment = static_cast<double>(output) / length;
      return n / 2 * (1 - adjustment) + (at + 0.5) / scale - 0.5;
    }
    default:
      return (at + 0.5) / scale - 0.5;
  }
}

inline std::int64_t nearest_element(NearestMode mode, double scale, double place) {
  // Scales are floats: what they leave undecided is decided as if they were exact.
  const double half = math::round_even(2 * place) / 2;
  if (math::abs(place - half) <= 0x1p-22 * (1 + math::abs(half))) place = half;
  switch (mode) {
    case NearestMode::round_prefer_ceil:
      return static_cast<std::int64_t>(math::floor(place + 0.5));
    case NearestMode::floor:
      return static_cast<std::int64_t>(math::floor(place));
    case NearestMode::ceil:
      return static_cast<std::int64_t>(math::ceil(place));
    case NearestMode::simple:
      return static_cast<std::int64_t>(scale < 1 ? math::ceil(place) : math::floor(place));
    default:
      return static_cast<std::int64_t>(math::ceil(place - 0.5));
  }
}

/// The weight of an element at distance t.
inline double resize_weight(const ResizeRule& r, double t) {
  t = math::abs(t);
  if (r.mode == ResizeMode::linear) return t < 1 ? 1 - t : 0;
  const double a = r.cubic_a;
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

/// One dimension: for each element of y the `taps` elements of x that it is made of.
template <class S>
struct ResizeAxis {
  std::int64_t input = 0, output = 0, taps = 1;
  std::int64_t* index = nullptr;
  S* weight = nullptr;
  std::uint8_t* is_outside = nullptr;
  bool is_active = false, leaves_input = false;

  static constexpr std::int64_t taps_of(const ResizeRule& r, std::int64_t input,
                                        std::int64_t output) {
    if (r.mode == ResizeMode::nearest) return 1;
    const std::int64_t support = r.mode == ResizeMode::linear ? 1 : 2;
    if (!r.antialiases || output >= input || output == 0) return 2 * support;
    // y's extent was rounded, to the nearest number at best.
    const double ratio = static_cast<double>(input) / (static_cast<double>(output) - 0.5);
    const double exact = static_cast<double>(support) * ratio;
    const auto whole = static_cast<std::int64_t>(exact);
    return 2 * (whole + (static_cast<double>(whole) < exact ? 1 : 0)) + 2;
  }
  static constexpr std::int64_t bytes(std::int64_t output, std::int64_t taps) {
    return (output * taps * std::int64_t(8 + sizeof(S)) + output + 127) / 64 * 64;
  }

  ResizeAxis() = default;
  ResizeAxis(const ResizeRule& r, std::size_t d, std::int64_t input_, std::int64_t output_,
             char* memory)
      : input(input_), output(output_), taps(taps_of(r, input, output)) {
    index = reinterpret_cast<std::int64_t*>(memory);
    weight = reinterpret_cast<S*>(index + output * taps);
    is_outside = reinterpret_cast<std::uint8_t*>(weight + output * taps);
    if (r.is_kept[d] || output == 0) return;
    is_active = input != output;
    for (std::int64_t i = 0; i < output; ++i) {
      const double place = resize_place(r, d, i, input, output);
      is_outside[i] = r.coordinates == Coordinates::tf_crop_and_resize &&
                      !(place >= 0 && place <= static_cast<double>(input - 1));
      leaves_input = leaves_input || is_outside[i];
      std::int64_t* const elements = index + i * taps;
      if (is_outside[i]) {
        for (std::int64_t k = 0; k < taps; ++k) elements[k] = 0, weight[i * taps + k] = 0;
      } else if (r.mode == ResizeMode::nearest) {
        elements[0] = clamped(nearest_element(r.nearest, r.scale[d], place));
        weight[i] = 1;
        is_active = is_active || elements[0] != i;
      } else {
        weigh(r, r.antialiases && r.scale[d] < 1 ? r.scale[d] : 1, place, i);
      }
    }
    is_active = is_active || leaves_input;
  }

 private:
  std::int64_t clamped(std::int64_t i) const { return i < 0 ? 0 : i < input ? i : input - 1; }

  /// Elements and weights around a place; a kernel that is stretched by 1 / scale.
  void weigh(const ResizeRule& r, double scale, double place, std::int64_t i) {
    const double support = (r.mode == ResizeMode::linear ? 1 : 2) / scale;
    const auto first = static_cast<std::int64_t>(math::floor(place - support)) + 1;
    const auto weight_of = [&](std::int64_t k) {
      const std::int64_t at = first + k;
      if (r.excludes_outside && (at < 0 || at >= input)) return 0.0;
      return resize_weight(r, (static_cast<double>(at) - place) * scale);
    };
    double sum = 0;
    for (std::int64_t k = 0; k < taps; ++k) sum += weight_of(k);
    if (!(r.excludes_outside || scale < 1) || sum == 0) sum = 1;
    for (std::int64_t k = 0; k < taps; ++k) {
      const double w = weight_of(k) / sum;
      index[i * taps + k] = clamped(first + k);
      weight[i * taps + k] = static_cast<S>(w);
      is_active = is_active || (w != 0 && (index[i * taps + k] != i || w != 1));
    }
  }
};

/// Elements that one task makes at least.
inline constexpr std::int64_t resize_grain = 16 * 1024;

/// resize_dimension of some lines of which an element is made of two: four at once, since they share
/// indices and weights.
template <class S>
void resize_pairs(const ResizeAxis<S>& a, const S* x, S* y, std::int64_t lines) {
  const std::int64_t n = a.input, m = a.output, *const index = a.index;
  const S* const weight = a.weight;
  std::int64_t o = 0;
  for (; o + 4 <= lines; o += 4, x += 4 * n, y += 4 * m) {
    const S *const p = x, *const q = x + n, *const r = x + 2 * n, *const s = x + 3 * n;
    for (std::int64_t i = 0; i < m; ++i) {
      const std::int64_t j = index[2 * i], k = index[2 * i + 1];
      const S u = weight[2 * i], v = weight[2 * i + 1];
      y[i] = u * p[j] + v * p[k];
      y[i + m] = u * q[j] + v * q[k];
      y[i + 2 * m] = u * r[j] + v * r[k];
      y[i + 3 * m] = u * s[j] + v * s[k];
    }
  }
  for (; o < lines; ++o, x += n, y += m) {
    for (std::int64_t i = 0; i < m; ++i) {
      y[i] = weight[2 * i] * x[index[2 * i]] + weight[2 * i + 1] * x[index[2 * i + 1]];
    }
  }
}

/// y[o, i, j] = sum over k of weight[i, k] * x[o, index[i, k], j].
template <class S>
void resize_dimension(const Executor& executor, const ResizeAxis<S>& a, const S* x, S* y,
                      std::int64_t outer, std::int64_t inner) {
  const std::int64_t taps = a.taps;
  if (inner == 1) {
    const std::int64_t lines = resize_grain / (a.output * taps) + (taps == 2 ? 4 : 1);
    parallel_for(executor, (outer + lines - 1) / lines, [&](std::int64_t task) {
      const std::int64_t end = (task + 1) * lines < outer ? (task + 1) * lines : outer;
      if (taps == 2) {
        const std::int64_t first = task * lines;
        return resize_pairs(a, x + first * a.input, y + first * a.output, end - first);
      }
      for (std::int64_t o = task * lines; o < end; ++o) {
        const S* const from = x + o * a.input;
        S* const to = y + o * a.output;
        for (std::int64_t i = 0; i < a.output; ++i) {
          const std::int64_t* const at = a.index + i * taps;
          const S* const w = a.weight + i * taps;
          S sum = 0;
          if (at[taps - 1] - at[0] == taps - 1) {
            // Neighbours, as far as x goes, are read without their indices.
            const S* const p = from + at[0];
            for (std::int64_t k = 0; k < taps; ++k) sum += w[k] * p[k];
          } else {
            for (std::int64_t k = 0; k < taps; ++k) sum += w[k] * from[at[k]];
          }
          to[i] = sum;
        }
      }
    });
    return;
  }
  const std::int64_t rows = resize_grain / (inner * taps) + 1, all = outer * a.output;
  parallel_for(executor, (all + rows - 1) / rows, [&](std::int64_t task) {
    const std::int64_t end = (task + 1) * rows < all ? (task + 1) * rows : all;
    for (std::int64_t row = task * rows; row < end; ++row) {
      const std::int64_t i = row % a.output;
      const S* const from = x + row / a.output * a.input * inner;
      const S* const w = a.weight + i * taps;
      const std::int64_t* const at = a.index + i * taps;
      S* const to = y + row * inner;
      // Two or four rows at once; the sums are in the order of the rows all the same.
      std::int64_t k = 0;
      for (; k + 2 <= taps; k += 2) {
        const S *const p = from + at[k] * inner, *const q = from + at[k + 1] * inner;
        const S u = w[k], v = w[k + 1];
        if (k == 0) {
          for (std::int64_t j = 0; j < inner; ++j) to[j] = u * p[j] + v * q[j];
        } else {
          for (std::int64_t j = 0; j < inner; ++j) to[j] = to[j] + u * p[j] + v * q[j];
        }
      }
    }
  });
}

/// Elements of x that are nearest, as bits.
template <class Bits>
void resize_nearest(const Executor& executor, const ResizeAxis<float>* axes,
                    const std::int64_t* y_extents, std::size_t rank, const Bits* x, Bits* y) {
  // Rows are along the last dimension that changes, `inner` elements side by side.
  std::size_t last = rank;
  while (last > 0 && !axes[last - 1].is_active) --last;
  std::int64_t inner = 1, outer = 1, strides[max_rank];
  for (std::size_t d = last; d < rank; ++d) inner *= y_extents[d];
  if (last == 0) {
    Box box;
    box.add(inner, 1, 1);
    return copy(executor, box, x, y);
  }
  const ResizeAxis<float>& row = axes[last - 1];
  std::int64_t stride = inner * row.input;
  for (std::size_t d = last - 1; d-- > 0;) {
    strides[d] = stride;
    stride *= axes[d].input;
    outer *= y_extents[d];
  }
  const std::int64_t n = row.output * inner, rows = resize_grain / n + 1;
  parallel_for(executor, (outer + rows - 1) / rows, [&](std::int64_t task) {
    const std::int64_t end = (task + 1) * rows < outer ? (task + 1) * rows : outer;
    std::int64_t done = -1;
    for (std::int64_t o = task * rows; o < end; ++o) {
      std::int64_t offset = 0, place = o;
      for (std::size_t d = last - 1; d-- > 0;) {
        const std::int64_t i = place % y_extents[d];
        place /= y_extents[d];
        offset += (axes[d].is_active ? axes[d].index[i] : i) * strides[d];
      }
      const Bits* const from = x + offset;
      Bits* const to = y + o * n;
      if (offset == done) {
        __builtin_memcpy(to, to - n, std::size_t(n) * sizeof(Bits));
      } else if (!row.is_active) {
        __builtin_memcpy(to, from, std::size_t(n) * sizeof(Bits));
      } else if (inner == 1) {
        // A store may change what references and pointers lead to, as far as the compiler knows:
        // hence the copies, and four loads before four stores.
        const std::int64_t *const index = row.index, columns = n;
        std::int64_t i = 0;
        for (; i + 4 <= columns; i += 4) {
          const Bits a = from[index[i]], b = from[index[i + 1]];
          const Bits c = from[index[i + 2]], d = from[index[i + 3]];
          to[i] = a;
          to[i + 1] = b;
          to[i + 2] = c;
          to[i + 3] = d;
        }
        for (; i < columns; ++i) to[i] = from[index[i]];
      } else {
        for (std::int64_t i = 0; i < row.output; ++i) {
          __builtin_memcpy(to + i * inner, from + row.index[i] * inner,
                           std::size_t(inner) * sizeof(Bits));
        }
      }
      done = offset;
    }
  });
}

/// In which order dimensions change: what becomes shorter first, so that there is less to do.
struct ResizeOrder {
  std::size_t axis[max_rank];
  std::int64_t largest = 0;  ///< elements between two dimensions, at most

  constexpr ResizeOrder(const ResizeRule& r, const std::int64_t* x, const std::int64_t* y,
                        std::size_t rank) {
    const auto later = [&](std::size_t a, std::size_t b) {
      if ((x[a] == y[a]) != (x[b] == y[b])) return x[a] == y[a];
      return static_cast<double>(y[a]) * static_cast<double>(x[b]) >
             static_cast<double>(y[b]) * static_cast<double>(x[a]);
    };
    for (std::size_t i = 0; i < rank; ++i) {
      std::size_t at = i;
      for (; at > 0 && later(axis[at - 1], i); --at) axis[at] = axis[at - 1];
      axis[at] = i;
    }
    std::int64_t extents[max_rank]{}, before = 0;
    for (std::size_t i = 0; i < rank; ++i) extents[i] = x[i];
    for (std::size_t i = 0; i < rank; ++i) {
      if (r.is_kept[axis[i]]) continue;
      if (before > largest) largest = before;
      extents[axis[i]] = y[axis[i]];
      before = 1;
      for (std::size_t d = 0; d < rank; ++d) before *= extents[d];
    }
  }
};

/// What a type is interpolated in.
template <class T>
using resize_t = std::conditional_t<real<T>, compute_t<T>, double>;

template <class S>
constexpr std::int64_t resize_table_bytes(const ResizeRule& r, const std::int64_t* x,
                                          const std::int64_t* y, std::size_t rank) {
  std::int64_t bytes = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    if (!r.is_kept[d]) bytes += ResizeAxis<S>::bytes(y[d], ResizeAxis<S>::taps_of(r, x[d], y[d]));
  }
  return bytes;
}

template <class S>
bool fill_resize_tables(const ResizeRule& r, const std::int64_t* x, const std::int64_t* y,
                        std::size_t rank, char* memory, ResizeAxis<S>* axes) {
  bool leaves_input = false;
  for (std::size_t d = 0; d < rank; ++d) {
    axes[d] = ResizeAxis<S>(r, d, x[d], y[d], memory);
    if (!r.is_kept[d]) memory += ResizeAxis<S>::bytes(y[d], axes[d].taps);
    leaves_input = leaves_input || axes[d].leaves_input;
  }
  return leaves_input;
}

/// x to y through two buffers of `order.largest` elements; x itself if nothing changes.
template <class S>
const S* interpolate(const Executor& executor, const ResizeAxis<S>* axes, const ResizeOrder& order,
                     std::size_t rank, const S* x, S* y, S* buffers) {
  std::int64_t extents[max_rank];
  std::size_t active = 0, done = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    extents[d] = axes[d].input;
    active += axes[d].is_active;
  }
  const S* from = x;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t d = order.axis[i];
    if (!axes[d].is_active) continue;
    std::int64_t outer = 1, inner = 1;
    for (std::size_t k = 0; k < d; ++k) outer *= extents[k];
    for (std::size_t k = d + 1; k < rank; ++k) inner *= extents[k];
    ++done;
    S* const to = done == active ? y : buffers + (done % 2) * std::size_t(order.largest);
    resize_dimension(executor, axes[d], from, to, outer, inner);
    extents[d] = axes[d].output;
    from = to;
  }
  return from;
}

/// Sets what lies outside of the region of interest's part of x.
template <class S, class T>
void extrapolate(const ResizeAxis<S>* axes, std::size_t rank, T value, T* y) {
  std::int64_t inner = 1, outer = 1;
  for (std::size_t d = 0; d < rank; ++d) outer *= axes[d].output;
  for (std::size_t d = rank; d-- > 0; inner *= axes[d].output) {
    outer /= axes[d].output;
    if (!axes[d].leaves_input) continue;
    for (std::int64_t row = 0; row < outer * axes[d].output; ++row) {
      if (axes[d].is_outside[row % axes[d].output] == 0) continue;
      for (std::int64_t j = 0; j < inner; ++j) y[row * inner + j] = value;
    }
  }
}

/// A number as an element: integers are cut off, but what rounding left short of a whole number is
/// that number.
template <class T>
T resized_element(double v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v != 0;
  } else if constexpr (integer<T>) {
    return math::saturated<T>(v + (v < 0 ? -0x1p-20 : 0x1p-20));
  } else {
    return static_cast<T>(static_cast<compute_t<T>>(v));
  }
}

template <std::size_t Bytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = std::uint8_t;
};
template <>
struct BitsOf<2> {
  using type = std::uint16_t;
};
template <>
struct BitsOf<4> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using type = std::uint64_t;
};

}  // namespace detail

template <class T>
constexpr std::size_t resize_workspace(const ResizeRule& rule, View<const T> x, View<T> y) {
  using S = detail::resize_t<T>;
  if (y.size() == 0) return 0;
  if (rule.mode == ResizeMode::nearest) {
    return std::size_t(detail::resize_table_bytes<float>(rule, x.extents, y.extents, x.rank));
  }
  const detail::ResizeOrder order(rule, x.extents, y.extents, x.rank);
  const std::int64_t converted = std::is_same_v<T, S> ? 0 : x.size() + y.size();
  return std::size_t(detail::resize_table_bytes<S>(rule, x.extents, y.extents, x.rank) +
                     (2 * order.largest + converted) * std::int64_t(sizeof(S)));
}

/// op::Resize. Interpolates along one dimension after the other, half and bfloat16 in float,
/// integers in double.
template <class T>
void resize(const KernelCall& call, const ResizeRule& rule, View<const T> x, View<T> y) {
  using S = detail::resize_t<T>;
  if (y.size() == 0) return;
  const Executor& executor = *call.executor;
  char* const tables = static_cast<char*>(call.workspace);
  if (rule.mode == ResizeMode::nearest) {
    using Bits = typename detail::BitsOf<sizeof(T)>::type;
    detail::ResizeAxis<float> axes[max_rank];
    const bool leaves_input =
        detail::fill_resize_tables(rule, x.extents, y.extents, x.rank, tables, axes);
    auto* const to = reinterpret_cast<Bits*>(y.data);
    detail::resize_nearest(executor, axes, y.extents, x.rank, reinterpret_cast<const Bits*>(x.data),
                           to);
    if (leaves_input) {
      const T value = detail::resized_element<T>(rule.extrapolation);
      detail::extrapolate(axes, x.rank, std::bit_cast<Bits>(value), to);
    }
    return;
  }
  detail::ResizeAxis<S> axes[max_rank];
  const bool leaves_input =
      detail::fill_resize_tables(rule, x.extents, y.extents, x.rank, tables, axes);
  const detail::ResizeOrder order(rule, x.extents, y.extents, x.rank);
  S* const buffers = reinterpret_cast<S*>(
      tables + detail::resize_table_bytes<S>(rule, x.extents, y.extents, x.rank));
  // f(first, last) for parts of n elements.
  const auto each = [&](std::int64_t n, auto f) {
    const std::int64_t parts = (n + detail::resize_grain - 1) / detail::resize_grain;
    parallel_for(executor, parts, [&](std::int64_t i) { f(n * i / parts, n * (i + 1) / parts); });
  };
  if constexpr (std::is_same_v<T, S>) {
    const S* const result =
        detail::interpolate(executor, axes, order, x.rank, x.data, y.data, buffers);
    if (result == x.data) {
      each(y.size(), [&](std::int64_t i, std::int64_t end) {
        for (; i < end; ++i) y[i] = x[i];
      });
    }
  } else {
    S* const source = buffers + 2 * order.largest;
    each(x.size(), [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) source[i] = static_cast<S>(x[i]);
    });
    const S* const result = detail::interpolate(
        executor, axes, order, x.rank, static_cast<const S*>(source), source + x.size(), buffers);
    each(y.size(), [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) y[i] = detail::resized_element<T>(static_cast<double>(result[i]));
    });
  }
  if (leaves_input) {
    detail::extrapolate(axes, x.rank, detail::resized_element<T>(rule.extrapolation), y.data);
  }
}

namespace detail {

/// resize_dimension transposed: x[o, index[i, k], j] is the sum of weight[i, k] * y[o, i, j].
template <class S>
void transposed_resize_dimension(const Executor& executor, const ResizeAxis<S>& a, const S* y, S* x,
                                 std::int64_t outer, std::int64_t inner) {
  const std::int64_t lines = resize_grain / (a.output * inner * a.taps + 1) + 1;
  parallel_for(executor, (outer + lines - 1) / lines, [&](std::int64_t task) {
    const std::int64_t end = (task + 1) * lines < outer ? (task + 1) * lines : outer;
    for (std::int64_t o = task * lines; o < end; ++o) {
      S* const to = x + o * a.input * inner;
      const S* from = y + o * a.output * inner;
      for (std::int64_t i = 0; i < a.input * inner; ++i) to[i] = 0;
      for (std::int64_t i = 0; i < a.output; ++i, from += inner) {
        for (std::int64_t k = i * a.taps; k < (i + 1) * a.taps; ++k) {
          S* const line = to + a.index[k] * inner;
          const S w = a.weight[k];
          for (std::int64_t j = 0; j < inner; ++j) line[j] += w * from[j];
        }
      }
    }
  });
}

}  // namespace detail

/// op::ResizeGradient. Along one dimension after the other, from the last one that `resize`
/// changes.
template <class T>
constexpr std::size_t resize_gradient_workspace(const ResizeRule& rule, View<const T> dy,
                                                View<T> dx) {
  using S = compute_t<T>;
  if (dy.size() == 0) return 0;
  const detail::ResizeOrder order(rule, dx.extents, dy.extents, dx.rank);
  const std::int64_t converted = std::is_same_v<T, S> ? 0 : dx.size() + dy.size();
  return std::size_t(detail::resize_table_bytes<S>(rule, dx.extents, dy.extents, dx.rank) +
                     (2 * order.largest + converted) * std::int64_t(sizeof(S)));
}

template <class T>
void resize_gradient(const KernelCall& call, const ResizeRule& rule, View<const T> dy, View<T> dx) {
  using S = compute_t<T>;
  const std::int64_t n = dx.size(), m = dy.size();
  if (m == 0) {
    for (std::int64_t i = 0; i < n; ++i) dx[i] = T(0);
    return;
  }
  char* const tables = static_cast<char*>(call.workspace);
  detail::ResizeAxis<S> axes[max_rank];
  detail::fill_resize_tables(rule, dx.extents, dy.extents, dx.rank, tables, axes);
  const detail::ResizeOrder order(rule, dx.extents, dy.extents, dx.rank);
  S* const buffers = reinterpret_cast<S*>(
      tables + detail::resize_table_bytes<S>(rule, dx.extents, dy.extents, dx.rank));
  const S* from;
  S* last;
  if constexpr (std::is_same_v<T, S>) {
    from = dy.data;
    last = dx.data;
  } else {
    S* const converted = buffers + 2 * order.largest;
    for (std::int64_t i = 0; i < m; ++i) converted[i] = static_cast<S>(dy[i]);
    from = converted;
    last = converted + m;
  }
  std::int64_t extents[max_rank];
  std::size_t active = 0, done = 0;
  for (std::size_t d = 0; d < dx.rank; ++d) {
    extents[d] = dy.extent(d);
    active += axes[d].is_active;
  }
  for (std::size_t i = dx.rank; i-- > 0;) {
    const std::size_t d = order.axis[i];
    if (!axes[d].is_active) continue;
    std::int64_t outer = 1, inner = 1;
    for (std::size_t k = 0; k < d; ++k) outer *= extents[k];
    for (std::size_t k = d + 1; k < dx.rank; ++k) inner *= extents[k];
    ++done;
    S* const to = done == active ? last : buffers + (done % 2) * std::size_t(order.largest);
    detail::transposed_resize_dimension<S>(*call.executor, axes[d], from, to, outer, inner);
    extents[d] = axes[d].input;
    from = to;
  }
  if (static_cast<const void*>(from) == static_cast<const void*>(dx.data)) return;
  for (std::int64_t i = 0; i < n; ++i) dx[i] = static_cast<T>(from[i]);
}

}  // namespace halftone::kernel
