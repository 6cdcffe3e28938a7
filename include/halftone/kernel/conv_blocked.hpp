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

/// f(element of the kernel, channel of the plane, vector of filters, lanes) for the weights of one
/// panel and plane.
template <class T, class F>
HALFTONE_INLINE void for_each_weight(const ConvPlan& plan, std::int64_t area, const T* weights,
                                     WeightOrder order, std::int64_t group, std::int64_t first,
                                     std::int64_t plane, F&& f) {
  constexpr std::int64_t N = Vec<T>::size;
  const ConvShape& s = plan.shape;
  const std::int64_t channels = s.channels_per_group(), filters = s.filters_per_group();
  const std::int64_t vectors = vectors_of_panel<T>(first, filters);
  const std::int64_t c = plane * plan.channels_per_plane(), count = channels_of_plane(plan, plane);
  const auto rows_of = [&](std::int64_t v) {
    const std::int64_t left = filters - first - v * N;
    return left < N ? left : N;
  };
  if (order == WeightOrder::plain) {
    for (std::int64_t v = 0; v < vectors; ++v) {
      const T* const from = weights + ((group * filters + first + v * N) * channels + c) * area;
      std::int64_t channel = 0, tap = 0;
      for_each_transposed(from, channels * area, rows_of(v), count * area, 8 * N,
                          [&](std::int64_t, Vec<T> lanes) __attribute__((always_inline)) {
                            f(tap, channel, v, lanes);
                            if (++tap == area) {
                              tap = 0;
                              ++channel;
                            }
                          });
    }
  } else {
    for (std::int64_t channel = 0; channel < count; ++channel) {
      for (std::int64_t v = 0; v < vectors; ++v) {
        const T* const from = weights + ((c + channel) * filters + first + v * N) * area;
        for_each_transposed(from, area, rows_of(v), area, 4 * filters * area,
                            [&](std::int64_t tap, Vec<T> lanes)
                                __attribute__((always_inline)) { f(tap, channel, v, lanes); });
      }
    }
  }
}

/// Steps of a sum over one part of the kernel and one plane.
constexpr std::int64_t steps_of_plane(const ConvPlan& plan) {
  return plan.steps / (plan.planes / plan.shape.groups) / plan.kernel_parts;
}
/// This finds the weights of a tap, behind those of the first one of a panel and plane. Those of a part of the
/// kernel lie together for all planes.
struct PlaceOfTap {
  std::int64_t taps, part, size;  ///< taps of a part; weights of one, and of a tap
  bool is_whole;                  ///< there is one part

  constexpr PlaceOfTap(const ConvPlan& plan, std::int64_t width)
      : taps(steps_of_plane(plan) / plan.unit),
        part(plan.steps / plan.kernel_parts * width),
        size(plan.unit * width),
        is_whole(plan.kernel_parts == 1) {}
  constexpr std::int64_t operator()(std::int64_t tap) const {
    return is_whole ? tap * size : tap / taps * part + tap % taps * size;
  }
};

/// Where pack_plane puts the weights of one panel and plane.
template <class T>
T* place_of_weights(const ConvPlan& plan, void* packed, std::int64_t panel, std::int64_t plane) {
  const ConvShape& s = plan.shape;
  const std::int64_t filters = round_up(s.filters_per_group(), Vec<T>::size);
  const std::int64_t group = panel / plan.panels, f = panel % plan.panels * panel_columns<T>;
  return reinterpret_cast<T*>(static_cast<char*>(packed) + segment_bytes(plan)) +
         (group * filters + f) * plan.steps +
         plane * steps_of_plane(plan) * vectors_of_panel<T>(f, filters) * Vec<T>::size;
}

/// The channels that fill up a plane have weights of zero, too.
template <class T>
void clear_missing_weights(const ConvPlan& plan, std::int64_t plane, std::int64_t width, T* to) {
  const std::int64_t area = plan.shape.kernel_size();
  std::int64_t count = channels_of_plane(plan, plane);
  if (plan.pairs) count = (count + 1) / 2;
  const PlaceOfTap place(plan, width);
  for (std::int64_t tap = 0; count < plan.unit && tap < area; ++tap) {
    T* const missing = to + place(tap) + count * width;
    for (std::int64_t i = 0; i < (plan.unit - count) * width; ++i) missing[i] = 0;
  }
}

/// Rounds the first or second terms of pairs to bfloat16; `joins`: what is there has the others.
template <int N>
HALFTONE_INLINE void store_half_of_pairs(Vec<float, N> lanes, bool second, bool joins, void* to) {
  auto words = convert<std::uint32_t>(bfloat16_from_float(lanes));
  if (second) words = words << 16;
  if (joins) {
    Vec<std::uint32_t, N> others;
    __builtin_memcpy(&others.v, to, sizeof(others.v));
    words = others | words;
  }
  __builtin_memcpy(to, &words.v, sizeof(words.v));
}

/// Stores the weights of a channel of a plane; `to` is where those of the first one go. `kh`: the row
/// of the kernel.
template <class T>
HALFTONE_INLINE void store_weights(const ConvPlan& plan, Vec<T> lanes, std::int64_t channel,
                                   std::int64_t kh, std::int64_t width, T* to) {
  if constexpr (takes_pairs<T>) {
    if (plan.pairs_rows()) {
      return store_half_of_pairs(lanes, kh != plan.kernel_row(kh / 2), true, to);
    }
    if (plan.pairs) {
      const bool second = channel % 2 != 0;
      return store_half_of_pairs(lanes, second, second, to + channel / 2 * width);
    }
  }
  lanes.store(to + channel * width);
}

/// Packs the weights of one panel and plane: for each part of the kernel (see PlaceOfTap) [kernel
/// row][kernel column][channel][filters], kernel columns in the order of for_each_column.
template <class T>
void pack_plane(const ConvPlan& plan, const T* weights, WeightOrder order, std::int64_t panel,
                std::int64_t plane, T* to) {
  constexpr std::int64_t N = Vec<T>::size;
  const ConvShape& s = plan.shape;
  const std::int64_t area = s.kernel_size();
  const std::int64_t f = panel % plan.panels * panel_columns<T>;
  const std::int64_t width = vectors_of_panel<T>(f, s.filters_per_group()) * N;
  const PlaceOfTap place(plan, width);
  if (plan.phases == 1 && !plan.pairs && !place.is_whole) {
    for_each_weight(
        plan, area, weights, order, panel / plan.panels, f, plane,
        [&](std::int64_t tap, std::int64_t channel, std::int64_t v, Vec<T> lanes)
            __attribute__((always_inline)) {
              const bool flips = order == WeightOrder::transposed;
              lanes.store(to + place(flips ? area - 1 - tap : tap) + channel * width + v * N);
            });
    return clear_missing_weights(plan, plane, width, to);
  }
  if (plan.phases == 1 && !plan.pairs) {
    // Taps lie in their order, or in the other one; a call for each vector would take most of the time.
    const std::int64_t first = order == WeightOrder::transposed ? area - 1 : 0;
    const std::int64_t step = (order == WeightOrder::transposed ? -1 : 1) * plan.unit * width;
    for_each_weight(
        plan, area, weights, order, panel / plan.panels, f, plane,
        [&](std::int64_t tap, std::int64_t channel, std::int64_t v, Vec<T> lanes)
            __attribute__((always_inline)) {
              lanes.store(to + first * plan.unit * width + tap * step + channel * width + v * N);
            });
    return clear_missing_weights(plan, plane, width, to);
  }
  std::uint8_t places[most_kernel_columns], columns = 0;
  for_each_column(plan, [&](std::int64_t, std::int64_t kw, bool) { places[kw] = columns++; });
  const bool has_rows = plan.pairs_rows();
  for (std::int64_t i = 0; has_rows && i < plan.steps / plan.planes * width; ++i) to[i] = 0;
  for_each_weight(plan, area, weights, order, panel / plan.panels, f, plane,
                  [&](std::int64_t tap, std::int64_t channel, std::int64_t v, Vec<T> lanes) {
                    if (order == WeightOrder::transposed) tap = area - 1 - tap;
                    std::int64_t kh = 0;
                    if (plan.phases > 1 || has_rows) {
                      const std::int64_t kw = tap % s.kernel[2];
                      kh = tap / s.kernel[2];
                      tap = (has_rows ? kh / 2 : kh) * s.kernel[2] + places[kw];
                    }
                    store_weights(plan, lanes, channel, kh, width, to + place(tap) + v * N);
                  });
  if (!has_rows) clear_missing_weights(plan, plane, width, to);
}

/// The table in front of the packed weights: [part of the kernel][plane][kernel row][run of columns].
inline void write_segments(const ConvPlan& plan, void* packed) {
  const ConvShape& s = plan.shape;
  const std::int64_t planes = plan.planes / s.groups;
  const std::int64_t rows = s.kernel[0] * plan.kernel_rows() / plan.kernel_parts;
  Segment* segment = static_cast<Segment*>(packed);
  for (std::int64_t i = 0; i < plan.kernel_parts * planes * rows; ++i) {
    const std::int64_t plane = i / rows % planes, kernel_row = i / rows / planes * rows + i % rows;
    const std::int64_t frame = kernel_row / plan.kernel_rows() * s.dilation[0];
    const std::int64_t row = plan.kernel_row(kernel_row % plan.kernel_rows()) * s.dilation[1];
    const std::int64_t start =
        plane * plan.plane_size() + frame * plan.frame_size() + row * plan.row_size();
    for_each_column(plan, [&](std::int64_t offset, std::int64_t, bool joined) {
      if (joined) {
        segment[-1].steps += plan.unit;
      } else {
        *segment++ = {start + offset, plan.unit};
      }
    });
  }
}

/// The parts of a kernel that an output row sees.
constexpr Taps seen_parts(const ConvPlan& plan, std::int64_t row) {
  const ConvShape& s = plan.shape;
  const int axis = s.kernel[0] > 1 ? 0 : 1;
  const std::int64_t at = axis == 0 ? row / plan.frame_rows : row % plan.frame_rows;
  return Taps(at * s.stride[axis] - s.pads_begin[axis], s.dilation[axis], s.kernel[axis],
              s.input[axis]);
}

/// f(panel, plane) for all; a task reads memory that lies together: filters' rows, or channels'.
template <class F>
void for_each_panel(const ConvPlan& plan, WeightOrder order, const Executor& executor, F&& f) {
  const std::int64_t planes = plan.planes / plan.shape.groups;
  const std::int64_t panels = plan.shape.groups * plan.panels;
  if (order == WeightOrder::plain) {
    parallel_for(executor, panels, [&](std::int64_t panel) {
      for (std::int64_t plane = 0; plane < planes; ++plane) f(panel, plane);
    });
  } else {
    parallel_for(executor, planes, [&](std::int64_t plane) {
      for (std::int64_t panel = 0; panel < panels; ++panel) f(panel, plane);
    });
  }
}

/// Segments, then weights: [group][panel], each as pack_plane has it for all planes.
template <class T>
void pack_tiles(const ConvPlan& plan, const T* weights, WeightOrder order, void* packed,
                const Executor& executor) {
  write_segments(plan, packed);
  for_each_panel(plan, order, executor, [&](std::int64_t panel, std::int64_t plane) {
    pack_plane(plan, weights, order, panel, plane, place_of_weights<T>(plan, packed, panel, plane));
  });
}

/// Weights whose panels are packed when tiles need them; null: they have been packed before.
template <class T>
struct PanelWeights {
  const T* weights = nullptr;
  WeightOrder order = WeightOrder::plain;
  char* room = nullptr;  ///< of a panel, for each share
};
/// Shares that panels are divided into then, if there are as many.
inline constexpr std::int64_t most_panel_shares = 8;
constexpr Parts panel_shares(const ConvPlan& plan) {
  const std::int64_t panels = plan.panels * plan.shape.groups;
  return Parts(panels, Parts(panels, most_panel_shares).parts);
}
/// Bytes of a panel.
template <class T>
constexpr std::int64_t panel_bytes(const ConvPlan& plan) {
  return round_up(plan.steps * panel_columns<T> * std::int64_t(sizeof(T)), 64);
}
template <class T>
void pack_panel(const ConvPlan& plan, const PanelWeights<T>& from, std::int64_t panel, T* to) {
  const std::int64_t planes = plan.planes / plan.shape.groups;
  const std::int64_t filters = round_up(plan.shape.filters_per_group(), Vec<T>::size);
  const std::int64_t width =
      vectors_of_panel<T>(panel % plan.panels * panel_columns<T>, filters) * Vec<T>::size;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    pack_plane(plan, from.weights, from.order, panel, plane,
               to + plane * steps_of_plane(plan) * width);
  }
}

#if HALFTONE_AVX512
/// Makes pairs of the rows of a plane, `apart` elements in front of each other, where they lie. The
/// last ones are no first terms.
HALFTONE_BF16 inline void pair_rows(float* rows, std::int64_t size, std::int64_t apart) {
  constexpr std::int64_t N = Vec<float>::size;
  for (std::int64_t i = 0; i + apart < size; i += N) {
    const std::int64_t n = size - apart - i < N ? size - apart - i : N;
    const auto pairs = pairs_of(Vec<float>::load_partial(rows + i, n),
                                Vec<float>::load_partial(rows + i + apart, n));
    pairs.store_partial(reinterpret_cast<std::uint32_t*>(rows + i), n);
  }
}
#endif

/// Pixels that nothing is done to.
struct AsItIs {
  HALFTONE_INLINE auto operator()(auto x) const { return x; }
};

#if HALFTONE_AVX512
/// Pairs of the pixels of two neighbouring blocks, or of one and of zeros: what AMX takes at once.
template <class Even, class Odd>
HALFTONE_BF16 inline void join_blocks(const float* first, const float* second, std::int64_t step,
                                      std::int64_t count, float* to, std::int64_t to_step,
                                      const Even& even, const Odd& odd) {
  using V = Vec<float>;
  for (std::int64_t i = 0; i < count; ++i, first += step, to += to_step) {
    const V other = second == nullptr ? V(0.f) : odd(V::load(second));
    const auto pairs = rounded_pairs(even(V::load(first)), other);
    __builtin_memcpy(to, &pairs, sizeof pairs);
    if (second != nullptr) second += step;
  }
}

/// Pairs of channels, of two or of four of them, for neighbouring plain pixels. `channels`: those that there
/// are.
HALFTONE_BF16 inline void join_channels(const float* x, std::int64_t apart, std::int64_t channels,
                                        std::int64_t pixels, float* to) {
  using V = Vec<float>;
  constexpr std::int64_t N = V::size;
  for (std::int64_t i = 0; i < pixels; i += N, to += channels > 2 ? 2 * N : N) {
    const std::int64_t n = pixels - i < N ? pixels - i : N;
    const auto channel = [&](std::int64_t c) {
      return c < channels ? V::load_partial(x + c * apart + i, n) : V(0.f);
    };
    auto* const words = reinterpret_cast<std::uint32_t*>(to);
    const auto first = pairs_of(channel(0), channel(1));
    if (channels <= 2) {
      first.store_partial(words, n);
      continue;
    }
    const auto second = pairs_of(channel(2), channel(3));
    const Vec<std::uint32_t> low = __builtin_shufflevector(first.v, second.v, 0, 16, 1, 17, 2, 18,
                                                           3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const Vec<std::uint32_t> high = __builtin_shufflevector(first.v, second.v, 8, 24, 9, 25, 10, 26,
                                                            11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    low.store_partial(words, 2 * n < N ? 2 * n : N);
    if (2 * n > N) high.store_partial(words + N, 2 * n - N);
  }
}
#endif

/// The normalization of a block's channels, see ConvNormalization.
template <class T>
class NormalizedBlock {
 public:
  NormalizedBlock(const ConvNormalization<T>& all, std::int64_t channel)
      : mean_(Vec<T>::load(all.means + channel)),
        factor_(Vec<T>::load(all.factors + channel)),
        addend_(Vec<T>::load(all.addends + channel)),
        lower_(all.clears_negatives ? T(0) : -std::numeric_limits<T>::infinity()) {}
  HALFTONE_INLINE Vec<T> operator()(Vec<T> x) const {
    return max(fma(x - mean_, factor_, addend_), lower_);
  }

 private:
  Vec<T> mean_, factor_, addend_, lower_;
};

/// Whether x is normalized where it is copied; else it has to be so already.
constexpr bool normalizes_copies(const ConvPlan& plan) {
  return plan.kind == ConvKind::blocked && plan.copies && plan.input == Layout::blocked;
}

/// Normalized blocks of all channels of images.
template <class T>
void normalize_blocks(const ConvNormalization<T>& normalization, const T* x, std::int64_t images,
                      std::int64_t blocks, std::int64_t pixels, T* y, const Executor& executor) {
  constexpr std::int64_t N = channel_block<T>;
  parallel_for(executor, images * blocks, [&](std::int64_t i) {
    const NormalizedBlock<T> normalized(normalization, i % blocks * N);
    for (std::int64_t at = i * pixels * N; at < (i + 1) * pixels * N; at += N) {
      normalized(Vec<T>::load(x + at)).store(y + at);
    }
  });
}

/// Writes one pixel of a block as the plan has it.
template <class T>
HALFTONE_INLINE void store_pixel(const ConvPlan& plan, Vec<T> lanes, T* to) {
  if constexpr (takes_pairs<T>) {
    if (plan.pairs) {
      const auto bits = bfloat16_from_float(lanes);
      if (plan.unit >= 8) {
        __builtin_memcpy(to, &bits.v, sizeof(bits.v));
      } else if (plan.unit == 4) {
        __builtin_memcpy(to, &bits.v, 16);
      } else {
        __builtin_memcpy(to, &bits.v, plan.unit == 2 ? 8 : 4);
      }
      return;
    }
  }
  lanes.store(to);
}

/// The elements of one plane of a plain image in the plan's form; padding is left alone.
template <class T>
void place_pixels(const ConvPlan& plan, const T* x, std::int64_t channels, T* to) {
  const ConvShape& s = plan.shape;
  const std::int64_t pixels = s.input_pixels(), size = plan.column_size();
  const std::int64_t stride = plan.copied_step();
  const std::int64_t row_stride = s.kernel[1] == 1 ? s.stride[1] : 1;
  const std::int64_t frame_stride = s.kernel[0] == 1 ? s.stride[0] : 1;
  std::int64_t d = s.pads_begin[0], h = s.pads_begin[1], w = 0, phase = 0, column = 0;
  T* row = nullptr;  // null: nobody reads it
  const auto begin_row = [&] {
    if (h == s.pads_begin[1] + s.input[1]) {
      ++d;
      h = s.pads_begin[1];
    }
    const bool is_read = d % frame_stride == 0 && d / frame_stride < plan.frames &&
                         h % row_stride == 0 && h / row_stride < plan.rows;
    row =
        is_read ? to + (d / frame_stride * plan.rows + h / row_stride) * plan.row_size() : nullptr;
    w = 0;
    phase = s.pads_begin[2] % stride;
    column = s.pads_begin[2] / stride;
  };
  begin_row();
  for_each_transposed(x, pixels, channels, pixels, Vec<T>::size, [&](std::int64_t, Vec<T> lanes) {
    if (row != nullptr && phase < plan.phases && column < plan.columns) {
      store_pixel(plan, lanes, row + (phase * plan.columns + column) * size);
    }
    if (++phase == stride) {
      phase = 0;
      ++column;
    }
    if (++w == s.input[2]) {
      ++h;
      begin_row();
    }
  });
}

/// Brings one plane of x, of the plan's number of images, into the plan's form, with padding. Of
/// `images` there are only so many; the last one stands for those behind it. What pixels in blocks become is
/// up to `even` and `odd`, of a plane's first block and of its second one.
template <class T, class Even = AsItIs, class Odd = AsItIs>
void copy_plane(const ConvPlan& plan, const T* x, std::int64_t images, std::int64_t plane, T* to,
                const Even& even = {}, [[maybe_unused]] const Odd& odd = {}) {
  using V = Vec<T>;
  const ConvShape& s = plan.shape;
  const std::int64_t height = s.input[1], width = s.input[2], stride = plan.copied_step();
  const std::int64_t unit = plan.unit, size = plan.column_size(), run = plan.columns * size;
  const std::int64_t channel = plane * plan.channels_per_plane();
  constexpr std::int64_t block = channel_block<T>;
  const bool is_line = plan.kind == ConvKind::line;
  // Few channels are joined row by row.
  const bool is_joined =
      plan.amx && plan.input == Layout::plain && plan.images == 1 && stride == 1 && unit <= 2;
  const bool is_transposed = !is_line && plan.input == Layout::plain && !is_joined;
  const std::int64_t pixels = s.input_pixels();
  const std::int64_t image_size = activation_size<T>(plan.input, 1, s.channels, pixels);
  const T* from = x + (plan.input == Layout::pairs ? plane * block : channel) * pixels;
  T* out = to;
  for (std::int64_t row = 0; row < plan.frames * plan.rows; ++row) {
    const std::int64_t f = row / plan.rows, r = row % plan.rows;
    const std::int64_t d = (s.kernel[0] == 1 ? f * s.stride[0] : f) - s.pads_begin[0];
    const std::int64_t h = (s.kernel[1] == 1 ? r * s.stride[1] : r) - s.pads_begin[1];
    const bool is_inside = d >= 0 && d < s.input[0] && h >= 0 && h < height;
    for (std::int64_t phase = 0; phase < plan.phases; ++phase, out += run) {
      // Column c of the run is column c * stride - shift of x.
      const std::int64_t shift = s.pads_begin[2] - phase, last = width - 1 + shift;
      std::int64_t begin = shift > 0 ? (shift + stride - 1) / stride : 0;
      std::int64_t end = last < 0 ? 0 : last / stride + 1;
      if (end > plan.columns) end = plan.columns;
      if (!is_inside || begin >= end) begin = end = 0;
      for (std::int64_t i = 0; i < begin * size; ++i) out[i] = 0;
      for (std::int64_t i = end * size; i < run; ++i) out[i] = 0;
      if (is_transposed) continue;
      const std::int64_t at = (d * height + h) * width + begin * stride - shift;
      if (is_line) {
        for (std::int64_t c = begin; c < end; ++c) out[c] = from[at + (c - begin) * stride];
      } else {
        const T* pixel = from + at * block;
        if (plan.input == Layout::pairs) {
          for (std::int64_t i = 0; i < plan.images; ++i) {
            const T* p = pixel + (i < images ? i : images - 1) * image_size;
            for (std::int64_t c = begin; c < end; ++c, p += stride * block) {
              V::load(p).store(out + c * size + i * unit);
            }
          }
          continue;
        }
#if HALFTONE_AVX512
        if constexpr (takes_pairs<T>) {
          if (is_joined) {
            join_channels(from + at, pixels, s.channels, end - begin, out + begin * size);
            continue;
          }
          if (plan.amx && plan.channels_per_plane() > block) {
            const bool has_second = channel + block < s.channels;
            for (std::int64_t i = 0; i < plan.images; ++i) {
              const T* const p = pixel + (i < images ? i : images - 1) * image_size;
              join_blocks(p, has_second ? p + block * pixels : nullptr, stride * block, end - begin,
                          out + begin * size + i * unit, size, even, odd);
            }
            continue;
          }
          if (std::is_same_v<Even, AsItIs> && plan.pairs && stride == 1 &&
              plan.channels_per_plane() == block && plan.images == 1) {
            round_row(pixel, (end - begin) * block,
                      reinterpret_cast<BfloatPair*>(out + begin * unit));
            continue;
          }
        }
#endif
        for (std::int64_t i = 0; i < plan.images; ++i) {
          const T* p = pixel + (i < images ? i : images - 1) * image_size;
          for (std::int64_t c = begin; c < end; ++c, p += stride * block) {
            store_pixel(plan, even(V::load(p)), out + c * size + i * unit);
          }
        }
      }
    }
  }
#if HALFTONE_AVX512
  if constexpr (takes_pairs<T>) {
    if (plan.pairs_rows()) {
      pair_rows(to, plan.plane_size(), s.dilation[1] * plan.row_size());
    }
  }
#endif
  if (!is_transposed) return;
  const std::int64_t count = channels_of_plane(plan, plane % (plan.planes / s.groups));
  for (std::int64_t i = 0; i < plan.images; ++i) {
    const T* const image = from + (i < images ? i : images - 1) * image_size;
    place_pixels(plan, image, count < block ? count : block, to + i * unit);
    if (plan.channels_per_plane() > block) {
      place_pixels(plan, image + block * pixels, count < block ? 0 : count - block,
                   to + i * unit + block / 2);
    }
  }
}

/// The same of normalized pixels, see normalizes_copies().
template <class T>
void copy_normalized(const ConvPlan& plan, const T* x, std::int64_t images, std::int64_t plane,
                     const ConvNormalization<T>& normalization, T* to) {
  const std::int64_t channel = plane * plan.channels_per_plane(),
                     second = channel + channel_block<T>;
  const NormalizedBlock<T> even(normalization, channel);
  const bool has_second =
      plan.channels_per_plane() > channel_block<T> && second < plan.shape.channels;
  copy_plane(plan, x, images, plane, to, even,
             has_second ? NormalizedBlock<T>(normalization, second) : even);
}

/// More tiles than these compute for so long that fetching weights ahead does not show.
inline constexpr std::int64_t most_fetching_tiles = 32;

/// The plan's number of images. y is blocked, or in pairs if nothing brings it into the plan's layout behind
/// this; `bias` holds whole blocks; `residual` is blocked, in pairs or null; `row` is the hook's first row of
/// the image. W: see Tile. `packed` has the weights unless they are `unpacked`.
template <class T, Source source, class W = T>
void run_tiles(const ConvPlan& plan, const T* x, const void* packed,
               const PanelWeights<T>& unpacked, const T* bias, T* y, const ConvEpilogue<T>& e,
               const T* residual, std::int64_t row, const Executor& executor) {
  constexpr std::int64_t N = Vec<T>::size;
  const ConvShape& s = plan.shape;
  const Segment* segments = static_cast<const Segment*>(packed);
  const W* weights =
      reinterpret_cast<const W*>(static_cast<const char*>(packed) + segment_bytes(plan));
  const std::int64_t pixels = plan.output_rows * plan.output_columns;
  const Parts tiles(plan.output_columns, plan.rows_of_tile());
  const std::int64_t units = plan.output_rows > 1 ? plan.output_rows : tiles.parts;
  const Parts bands(units, plan.band);
  const std::int64_t panels = plan.panels * s.groups;
  const std::int64_t filters = round_up(s.filters_per_group(), N);
  const std::int64_t step =
      plan.row_step * plan.row_size();  // between neighbouring rows of a frame
  const bool makes_pairs = plan.output == Layout::pairs && !finishes(plan);

  const auto run = [&](std::int64_t band, std::int64_t panel, const W* own) {
    const std::int64_t group = panel / plan.panels;
    const std::int64_t f = panel % plan.panels * panel_columns<T>;
    const std::int64_t vectors = vectors_of_panel<T>(f, filters);
    const std::int64_t channel = group * filters + f;
    const T* from = x + group * (plan.planes / s.groups) * plan.plane_size();
    Tile<T, W> tile;
    const W* const first_weights = own != nullptr ? own : weights + channel * plan.steps;
    tile.w = first_weights;
    tile.y_row = tile.residual_row = N;
    tile.x_row = plan.unit * plan.column_step;
    tile.w_step = vectors * N;
    tile.y_vector = pixels * N;
    tile.segments = segments;
    tile.segment_count = plan.segments;
    tile.bias = bias == nullptr ? nullptr : bias + channel;
    tile.clamp = e.clamp;
    tile.lower = e.lower;
    tile.upper = e.upper;

    const std::int64_t first = bands.begin(band), last = bands.begin(band + 1);
    const bool rows = plan.output_rows > 1;
    // The tiles of a task share in fetching the weights of the thread's next one.
    const std::int64_t passes = (last - first) * (rows ? tiles.parts : 1);
    const std::int64_t bytes = plan.steps * vectors * N * std::int64_t(sizeof(T));
    [[maybe_unused]] const bool fetches = passes <= most_fetching_tiles;
    const std::int64_t next = executor.threads > 1 ? executor.threads : 1;
    const std::int64_t ahead = own != nullptr ? 0 : bytes * next;
    tile.ahead_step = (vectors * N * std::int64_t(sizeof(T)) + passes - 1) / passes;
    const auto kernel = [&](std::int64_t count) {
      if constexpr (source == Source::pixels && std::is_same_v<T, float>) {
        if (plan.is_narrow()) return tile_kernel<T, Source::tiles, W>(count, vectors);
        // Where sums have two chains they keep them, but for the last filters: they are summed up in
        // the order of all others, so that equal filters give equal numbers.
        const bool is_wide = count * vectors >= 8;
        const bool others_are = plan.panels > 1 && count * (panel_columns<T> / N) >= 8;
        if (is_wide ? fetches : others_are) {
          return tile_kernel<T, Source::tiles, W>(count, vectors);
        }
      }
      return tile_kernel<T, source, W>(count, vectors);
    };
    [[maybe_unused]] AmxTilesOf<W> amx(plan.amx_steps, makes_pairs, e.residual_in_pairs);
    // Two short rows fill a tile of AMX together.
    const bool joins_rows = plan.amx && rows && plan.output_columns <= amx_rows;
    for (std::int64_t r = rows ? first : 0; r < (rows ? last : 1); ++r) {
      if (plan.kernel_parts > 1) {
        const Taps seen = seen_parts(plan, r);
        const std::int64_t table = plan.segments / plan.kernel_parts;
        tile.segments = segments + seen.begin * table;
        tile.segment_count = (seen.end - seen.begin) * table;
        tile.w = first_weights + seen.begin * (plan.steps / plan.kernel_parts) * tile.w_step;
      }
      for (std::int64_t t = rows ? 0 : first; t < (rows ? tiles.parts : last); ++t) {
        const std::int64_t column = tiles.begin(t), count = tiles.begin(t + 1) - column;
        const std::int64_t pixel = (r * plan.output_columns + column) * N;
        tile.x = reinterpret_cast<const left_t<T, W>*>(from + plan.offset_of_row(r) +
                                                       column * tile.x_row);
        tile.y = y + (makes_pairs ? channel / 2 : channel) * pixels + pixel;
        tile.residual = residual;
        if (residual != nullptr) {
          tile.residual += (e.residual_in_pairs ? channel / 2 : channel) * pixels + pixel;
        }
        const std::int64_t pass = rows ? (r - first) * tiles.parts + t : t - first;
        tile.ahead = reinterpret_cast<const char*>(tile.w) + ahead + pass * bytes / passes;
        if constexpr (std::is_same_v<W, BfloatPair>) {
          if (joins_rows && r + 1 < last && (r + 1) % plan.frame_rows != 0) {
            amx.run(tile, count, count, step, vectors);
            ++r;
            continue;
          }
          if (plan.amx) {
            amx.run_rows(tile, count, vectors);
            continue;
          }
        }
        kernel(count)(tile);
      }
    }
    amx.flush();
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
  };
  if (unpacked.weights == nullptr) {
    parallel_for(executor, bands.parts * panels,
                 [&](std::int64_t task) { run(task / panels, task % panels, nullptr); });
    return;
  }
  const Parts shares = panel_shares(plan);
  parallel_for(executor, shares.parts, [&](std::int64_t share) {
    T* const own = reinterpret_cast<T*>(unpacked.room +
                                        (executor.threads > 1 ? share * panel_bytes<T>(plan) : 0));
    for (std::int64_t panel = shares.begin(share); panel < shares.begin(share + 1); ++panel) {
      pack_panel(plan, unpacked, panel, own);
      for (std::int64_t band = 0; band < bands.parts; ++band) {
        run(band, panel, reinterpret_cast<const W*>(own));
      }
    }
  });
}

}  // namespace halftone::kernel::detail
