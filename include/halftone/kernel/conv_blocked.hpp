#pragma once

#include <halftone/kernel/conv_reorder.hpp>

/// Convolutions over register tiles: neighbouring pixels by two vectors of filters. A sum runs over
/// the table of segments that conv_pack puts in front of the weights.
namespace halftone::kernel::detail {

/// Where the weights of a convolution lie.
enum class WeightOrder : std::uint8_t {
  plain,       ///< [filters, channels / groups, kernel...]
  transposed,  ///< [channels, filters, kernel...], the kernel flipped: of the convolution that is
               ///< the gradient of another one's input; one group
};

/// f(column, vector) for the columns of a matrix of up to one vector of rows, `stride` apart. What
/// lies `ahead` elements further is needed next: the machine does not see that many streams.
template <class T, class F>
HALFTONE_INLINE void for_each_transposed(const T* x, std::int64_t stride, std::int64_t rows,
                                         std::int64_t columns, std::int64_t ahead, F&& f) {
  using V = Vec<T>;
  constexpr std::int64_t N = V::size;
  if (columns == 1 && stride == 1) {
    f(0, rows == N ? V::load(x) : V::load_partial(x, rows));
    return;
  }
  for (std::int64_t q = 0; q < columns; q += N) {
    const std::int64_t lanes = columns - q < N ? columns - q : N;
    V r[N];
#pragma GCC unroll 16
    for (int l = 0; l < N; ++l) {
      const T* const from = x + q + l * stride;
      __builtin_prefetch(from + ahead);
      r[l] = l >= rows ? V(T(0)) : lanes == N ? V::load(from) : V::load_partial(from, lanes);
    }
    transpose(r);
#pragma GCC unroll 16
    for (int l = 0; l < N; ++l) {
      if (l < lanes) f(q + l, r[l]);
    }
  }
}

/// Packs the weights of one panel and plane: [kernel row][kernel column][channel][filters], kernel
/// columns in the order of for_each_column.
template <class T>
void pack_plane(const ConvPlan& plan, const T* weights, WeightOrder order, std::int64_t group,
                std::int64_t f, std::int64_t plane, T* to) {
  constexpr std::int64_t N = Vec<T>::size;
  const ConvShape& s = plan.shape;
  const std::int64_t channels = s.channels_per_group(), filters = s.filters_per_group();
  const std::int64_t area = s.kernel[1] * s.kernel[2];
  const std::int64_t vectors = vectors_of_panel<T>(f, filters), width = vectors * N;
  const std::int64_t c = plane * plan.unit;
  const std::int64_t count = channels - c < plan.unit ? channels - c : plan.unit;
  std::uint8_t places[most_kernel_columns], place = 0;
  for_each_column(plan, [&](std::int64_t, std::int64_t kw, bool) { places[kw] = place++; });
  const auto put = [&](std::int64_t tap, std::int64_t channel, std::int64_t v, Vec<T> lanes) {
    if (plan.phases > 1) {
      const std::int64_t kw = tap % s.kernel[2];
      tap += places[kw] - kw;
    }
    lanes.store(to + (tap * plan.unit + channel) * width + v * N);
  };
  const auto rows_of = [&](std::int64_t v) {
    const std::int64_t left = filters - f - v * N;
    return left < N ? left : N;
  };
  if (order == WeightOrder::plain) {
    for (std::int64_t v = 0; v < vectors; ++v) {
      const T* const from = weights + ((group * filters + f + v * N) * channels + c) * area;
      std::int64_t channel = 0, tap = 0;
      for_each_transposed(from, channels * area, rows_of(v), count * area, 16 * N,
                          [&](std::int64_t, Vec<T> lanes) {
                            put(tap, channel, v, lanes);
                            if (++tap == area) {
                              tap = 0;
                              ++channel;
                            }
                          });
    }
  } else {
    for (std::int64_t channel = 0; channel < count; ++channel) {
      for (std::int64_t v = 0; v < vectors; ++v) {
        const T* const from = weights + ((c + channel) * filters + f + v * N) * area;
        for_each_transposed(
            from, area, rows_of(v), area, filters * area,
            [&](std::int64_t tap, Vec<T> lanes) { put(area - 1 - tap, channel, v, lanes); });
      }
    }
  }
  for (std::int64_t tap = 0; count < plan.unit && tap < area; ++tap) {
    T* const missing = to + (tap * plan.unit + count) * width;
    for (std::int64_t i = 0; i < (plan.unit - count) * width; ++i) missing[i] = 0;
  }
}

/// Segments, then weights: [group][panel][plane][kernel row][kernel column][channel][filters].
template <class T>
void pack_tiles(const ConvPlan& plan, const T* weights, WeightOrder order, void* packed,
                const Executor& executor) {
  const ConvShape& s = plan.shape;
  Segment* segment = static_cast<Segment*>(packed);
  const std::int64_t planes = plan.planes / s.groups;
  const std::int64_t row = plan.phases * plan.columns * plan.unit;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    for (std::int64_t kh = 0; kh < s.kernel[1]; ++kh) {
      const std::int64_t start = plane * plan.plane_size() + kh * s.dilation[1] * row;
      for_each_column(plan, [&](std::int64_t offset, std::int64_t, bool joined) {
        if (joined) {
          segment[-1].steps += plan.unit;
        } else {
          *segment++ = {start + offset, plan.unit};
        }
      });
    }
  }

  T* const to = reinterpret_cast<T*>(static_cast<char*>(packed) + segment_bytes(plan));
  const std::int64_t filters = round_up(s.filters_per_group(), Vec<T>::size);
  const std::int64_t panels = s.groups * plan.panels;
  const auto pack = [&](std::int64_t panel, std::int64_t plane) {
    const std::int64_t group = panel / plan.panels, f = panel % plan.panels * panel_columns<T>;
    const std::int64_t width = vectors_of_panel<T>(f, filters) * Vec<T>::size;
    pack_plane(plan, weights, order, group, f, plane,
               to + (group * filters + f) * plan.steps + plane * plan.steps / planes * width);
  };
  // A task reads memory that lies together: filters' rows, or channels'.
  if (order == WeightOrder::plain) {
    parallel_for(executor, panels, [&](std::int64_t panel) {
      for (std::int64_t plane = 0; plane < planes; ++plane) pack(panel, plane);
    });
  } else {
    parallel_for(executor, planes, [&](std::int64_t plane) {
      for (std::int64_t panel = 0; panel < panels; ++panel) pack(panel, plane);
    });
  }
}

/// Brings one plane of x (one image) into the plan's form, with padding.
template <class T>
void copy_plane(const ConvPlan& plan, const T* x, std::int64_t plane, T* to) {
  using V = Vec<T>;
  const ConvShape& s = plan.shape;
  const std::int64_t height = s.input[1], width = s.input[2], stride = s.stride[2];
  const std::int64_t unit = plan.unit, run = plan.columns * unit;
  const std::int64_t channel = plane * unit;
  const std::int64_t count = s.channels - channel < unit ? s.channels - channel : unit;
  const bool from_plain = plan.input == Layout::plain;
  const T* from = x + channel * height * width;
  for (std::int64_t r = 0; r < plan.rows; ++r) {
    const std::int64_t h = (s.kernel[1] == 1 ? r * s.stride[1] : r) - s.pads_begin[1];
    for (std::int64_t phase = 0; phase < plan.phases; ++phase, to += run) {
      // Column c of the run is column c * stride - shift of x.
      const std::int64_t shift = s.pads_begin[2] - phase, last = width - 1 + shift;
      std::int64_t begin = shift > 0 ? (shift + stride - 1) / stride : 0;
      std::int64_t end = last < 0 ? 0 : last / stride + 1;
      if (end > plan.columns) end = plan.columns;
      if (h < 0 || h >= height || begin >= end) begin = end = 0;
      for (std::int64_t i = 0; i < begin * unit; ++i) to[i] = 0;
      for (std::int64_t i = end * unit; i < run; ++i) to[i] = 0;
      const std::int64_t at = h * width + begin * stride - shift;
      if (unit == 1) {
        for (std::int64_t c = begin; c < end; ++c) to[c] = from[at + (c - begin) * stride];
      } else if (from_plain) {
        pack_strip(from + at, height * width, stride, count, end - begin, to + begin * unit, unit);
      } else {
        const T* pixel = from + at * unit;
        for (std::int64_t c = begin; c < end; ++c, pixel += stride * unit) {
          V::load(pixel).store(to + c * unit);
        }
      }
    }
  }
}

/// One image. y is blocked; `bias` holds whole blocks; `residual` is blocked or null; `row` is the
/// hook's first row of the image.
template <class T, Source source>
void run_tiles(const ConvPlan& plan, const T* x, const void* packed, const T* bias, T* y,
               const ConvEpilogue<T>& e, const T* residual, std::int64_t row,
               const Executor& executor) {
  constexpr std::int64_t N = Vec<T>::size;
  const ConvShape& s = plan.shape;
  const Segment* segments = static_cast<const Segment*>(packed);
  const T* weights =
      reinterpret_cast<const T*>(static_cast<const char*>(packed) + segment_bytes(plan));
  const std::int64_t pixels = plan.output_rows * plan.output_columns;
  const Parts tiles(plan.output_columns, tile_rows);
  const std::int64_t units = plan.output_rows > 1 ? plan.output_rows : tiles.parts;
  const std::int64_t bands = Parts(units, plan.band).parts;
  const std::int64_t panels = plan.panels * s.groups;
  const std::int64_t filters = round_up(s.filters_per_group(), N);
  const std::int64_t step = plan.row_step * plan.phases * plan.columns * plan.unit;

  parallel_for(executor, bands * panels, [&](std::int64_t task) {
    const std::int64_t group = task % panels / plan.panels;
    const std::int64_t f = task % plan.panels * panel_columns<T>;
    const std::int64_t vectors = vectors_of_panel<T>(f, filters);
    const std::int64_t channel = group * filters + f;
    const T* from = x + group * (plan.planes / s.groups) * plan.plane_size();
    Tile<T> tile;
    tile.w = weights + channel * plan.steps;
    tile.y_row = tile.residual_row = N;
    tile.y_vector = pixels * N;
    tile.segments = segments;
    tile.segment_count = plan.segments;
    tile.bias = bias == nullptr ? nullptr : bias + channel;
    tile.clamp = e.clamp;
    tile.lower = e.lower;
    tile.upper = e.upper;

    const std::int64_t first = task / panels * plan.band;
    const std::int64_t last = first + plan.band < units ? first + plan.band : units;
    const bool rows = plan.output_rows > 1;
    for (std::int64_t r = rows ? first : 0; r < (rows ? last : 1); ++r) {
      for (std::int64_t t = rows ? 0 : first; t < (rows ? tiles.parts : last); ++t) {
        const std::int64_t column = tiles.begin(t), count = tiles.begin(t + 1) - column;
        const std::int64_t at = channel * pixels + (r * plan.output_columns + column) * N;
        tile.x = from + r * step + column * plan.unit;
        tile.y = y + at;
        tile.residual = residual == nullptr ? nullptr : residual + at;
        tile_kernel<T, source>(count, vectors)(tile);
      }
    }
    const std::int64_t begin = rows ? first * plan.output_columns : tiles.begin(first);
    const std::int64_t end = rows ? last * plan.output_columns : tiles.begin(last);
    const std::int64_t block = channel / N;
    if (e.post != nullptr) {
      for (std::int64_t v = 0; v < vectors; ++v) {
        e.post(e.context, y + (channel + v * N) * pixels + begin * N, row + block + v, begin * N, 1,
               (end - begin) * N, pixels * N);
      }
    }
    if (s.filters % N != 0 && block + vectors == channel_blocks<T>(s.filters) &&
        (e.post != nullptr || e.clamp)) {
      clear_missing(y + (block + vectors - 1) * N * pixels, s.filters % N, begin, end);
    }
  });
}

}  // namespace halftone::kernel::detail
