#pragma once

#include <halftone/kernel/conv_reorder.hpp>

/// Convolutions of blocked activations whose groups are no larger than a block: every lane is a filter,
/// and its channels are lanes of the same block. Of depthwise ones they are the same lane; these also read and
/// write pairs of blocks (see Layout), whose pixels lie as far apart; rows of pairs become floats once, and
/// stay in a near cache until no row of y reads them any more.
namespace halftone::kernel::detail {

/// Weights as [block][kernel row][kernel column][channel of the group][filter].
template <class T>
void pack_depthwise(const ConvPlan& plan, const T* weights, void* packed) {
  const ConvShape& s = plan.shape;
  constexpr std::int64_t N = Vec<T>::size;
  T* to = static_cast<T*>(packed);
  const std::int64_t width = s.channels_per_group();
  if (width > 1) {
    const std::int64_t size = s.kernel_size();
    for (std::int64_t i = 0; i < plan.packed_bytes / std::int64_t(sizeof(T)); ++i) to[i] = 0;
    for (std::int64_t i = 0; i < s.filters * width * size; ++i) {
      const std::int64_t f = i / size / width, c = i / size % width, tap = i % size;
      to[((f / N * size + tap) * width + c) * N + f % N] = weights[i];
    }
    return;
  }
  for (std::int64_t c = 0; c < s.channels; c += N) {
    block_pixels(weights + c * s.kernel_size(), s.kernel_size(),
                 s.channels - c < N ? s.channels - c : N, 0, s.kernel_size(),
                 to + c * s.kernel_size());
  }
}

/// Arguments of a run of neighbouring pixels; strides in elements.
template <class T>
struct DepthwiseRun {
  const T* x;  ///< of the first tap in range
  const T* w;
  T* y;
  const T* residual;
  std::int64_t pixel, row, column;  ///< x from output to output, from tap to tap down and right
  std::int64_t rows, columns;       ///< taps in range
  std::int64_t rows_before_wrap;    ///< of those; the others go on from `wrapped`
  const T* wrapped;
  std::int64_t w_row;
  std::int64_t left, right;  ///< columns that are not in x, of those of a run with a known kernel
  Vec<T> bias;
  bool clamp;
  T lower, upper;
  bool residual_in_pairs, makes_pairs;
};

/// What follows the sums of W outputs.
template <int W, class T>
HALFTONE_INLINE void finish_run(const DepthwiseRun<T>& r, Vec<T>* sum) {
  using V = Vec<T>;
  constexpr std::int64_t N = V::size;
  if (r.residual != nullptr && !r.residual_in_pairs) {
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) sum[i] += V::load(r.residual + i * N);
  }
  if constexpr (takes_pairs<T>) {
    for (int i = 0; r.residual_in_pairs && i < W; ++i) {
      sum[i] += load_half_of_block<N>(r.residual + i * N, false);
    }
  }
  if (r.clamp) {
    const V lower = r.lower, upper = r.upper;
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) sum[i] = clamp(sum[i], lower, upper);
  }
  T* const y = r.y;
  if constexpr (takes_pairs<T>) {
    if (r.makes_pairs) {
#pragma GCC unroll 16
      for (int i = 0; i < W; ++i) store_half_of_block(sum[i], y + i * N, false);
      return;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) sum[i].store(y + i * N);
}

/// Lane i is lane C of its group of G lanes.
template <int G, int C, class T, int N, int... I>
HALFTONE_INLINE Vec<T, N> spread(Vec<T, N> x, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(x.v, x.v, (I / G * G + C)...);
}
template <int G, int C, class T, int N>
HALFTONE_INLINE Vec<T, N> spread(Vec<T, N> x) {
  if constexpr (G == 1) return x;
  return spread<G, C>(x, std::make_integer_sequence<int, N>{});
}

/// Adds the channels C + I... of one row of K taps to W outputs of groups of G, whose inputs are
/// `Pixel` pixels apart. Each x serves all its outputs; every sum gets its taps from left to right.
template <class T, int W, int Pixel, int K, int G, int C, int... I>
HALFTONE_INLINE void add_taps(const DepthwiseRun<T>& r, const T* x, const T* w, Vec<T>* sum,
                              std::integer_sequence<int, I...>) {
  using V = Vec<T>;
  constexpr int N = V::size, count = sizeof...(I), last = (W - 1) * Pixel + K - 1;
  static constexpr T zeros[N] = {};
  V weight[K][count];
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) ((weight[k][I] = V::load(w + (k * G + C + I) * N)), ...);
#pragma GCC unroll 40
  for (int j = 0; j <= last; ++j) {
    const bool is_outside = (j < K / 2 && j < r.left) || (last - j < K / 2 && last - j < r.right);
    const V one = V::load(is_outside ? zeros : x + j * N);
    const V part[count] = {spread<G, C + I>(one)...};
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) {
      if (j < k || (j - k) % Pixel != 0 || (j - k) / Pixel >= W) continue;
      V& own = sum[(j - k) / Pixel];
      ((own = fma(part[I], weight[k][I], own)), ...);
    }
  }
}

/// W outputs of groups of G, the taps of a row K neighbours.
template <class T, int W, int Pixel, int K, int G>
void depthwise_run(const DepthwiseRun<T>& r) {
  constexpr int count = G < 4 ? G : 4;
  constexpr std::make_integer_sequence<int, count> some{};
  Vec<T> sum[W];
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) sum[i] = r.bias;
  const T* x = r.x;
  const T* w = r.w;
  for (std::int64_t h = 0; h < r.rows; ++h, x += r.row, w += r.w_row) {
    if (h == r.rows_before_wrap) x = r.wrapped;
    add_taps<T, W, Pixel, K, G, 0>(r, x, w, sum, some);
    if constexpr (G > 4) add_taps<T, W, Pixel, K, G, 4>(r, x, w, sum, some);
  }
  finish_run<W>(r, sum);
}

/// W outputs with any taps, which all lie in x.
template <class T, int W, int G>
void depthwise_any(const DepthwiseRun<T>& r) {
  using V = Vec<T>;
  constexpr std::int64_t N = V::size;
  V sum[W];
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i) sum[i] = r.bias;
  const T* row = r.x;
  for (std::int64_t h = 0; h < r.rows; ++h, row += r.row) {
    if (h == r.rows_before_wrap) row = r.wrapped;
    const T* x = row;
    const T* w = r.w + h * r.w_row;
    for (std::int64_t c = 0; c < r.columns; ++c, x += r.column, w += G * N) {
#pragma GCC unroll 16
      for (int i = 0; i < W; ++i) {
        const V one = V::load(x + i * r.pixel);
        [&]<int... C>(std::integer_sequence<int, C...>) __attribute__((always_inline)) {
          ((sum[i] = fma(spread<G, C>(one), V::load(w + C * N), sum[i])), ...);
        }(std::make_integer_sequence<int, G>{});
      }
    }
  }
  finish_run<W>(r, sum);
}

template <class T>
using DepthwiseKernel = void (*)(const DepthwiseRun<T>&);

/// Outputs of a run: with fewer sums than these the latency of additions would show.
inline constexpr int depthwise_width = register_bytes == 64 ? 14 : 8;

/// Kernels by the number of outputs less one; K = 0: any taps.
template <class T, int Pixel, int K, int G>
struct DepthwiseTable {
  DepthwiseKernel<T> kernels[depthwise_width];
  constexpr DepthwiseTable() { fill<1>(); }
  template <int W>
  constexpr void fill() {
    if constexpr (K == 0) {
      kernels[W - 1] = depthwise_any<T, W, G>;
    } else {
      kernels[W - 1] = depthwise_run<T, W, Pixel, K, G>;
    }
    if constexpr (W < depthwise_width) fill<W + 1>();
  }
};

template <class T, int Pixel, int K, int G>
inline constexpr DepthwiseTable<T, Pixel, K, G> depthwise_table{};

/// How the outputs of a row are divided into runs. A usual kernel covers whole rows; else only the
/// outputs [inside, outside) whose taps all lie in the row form runs, and the others are computed
/// alone.
template <class T>
struct DepthwiseRows {
  const DepthwiseKernel<T>*runs = nullptr, *single = nullptr;
  std::int64_t inside = 0, outside = 0;

  explicit DepthwiseRows(const ConvShape& s) {
    const std::int64_t group = s.channels_per_group();
    if (group == 1) choose<1>(s);
    if constexpr (std::is_same_v<T, float>) {
      if (group == 2) choose<2>(s);
      if (group == 4) choose<4>(s);
      if (group == 8) choose<8>(s);
    }
  }

 private:
  template <int G>
  void choose(const ConvShape& s) {
    single = depthwise_table<T, 1, 0, G>.kernels;
    const std::int64_t width = s.output(2), stride = s.stride[2], left = s.pads_begin[2];
    const std::int64_t taps = s.kernel[2], room = s.input[2] - s.reach(2) + left;
    const std::int64_t right = (width - 1) * stride - room;  // columns of the last output behind x
    if (s.dilation[2] == 1 && left <= taps / 2 && right <= taps / 2) {
      if (taps == 3 && stride == 1) runs = depthwise_table<T, 1, 3, G>.kernels;
      if (taps == 3 && stride == 2) runs = depthwise_table<T, 2, 3, G>.kernels;
      if constexpr (G == 1) {
        if (taps == 5 && stride == 1) runs = depthwise_table<T, 1, 5, G>.kernels;
        if (taps == 5 && stride == 2) runs = depthwise_table<T, 2, 5, G>.kernels;
      }
    }
    outside = width;
    if (runs != nullptr) return;
    runs = single;
    inside = (left + stride - 1) / stride;
    if (inside > width) inside = width;
    outside = room < 0 ? 0 : room / stride + 1;
    if (outside > width) outside = width;
    if (outside < inside) outside = inside;
  }
};

/// The rows of one block of x in pairs that a row of y reads, as floats: row i is where row i - reach was.
template <class T>
class RowRing {
 public:
  RowRing(std::int64_t width, std::int64_t reach) : width_(width), reach_(reach) {}

  /// Converts the rows [top, end) of a plane that were not converted before; top may lie above it.
  void convert(const T* plane, std::int64_t top, std::int64_t end) {
    if (next_ < top) next_ = top;
    for (; next_ < end; ++next_) {
      const T* const from = plane + next_ * width_ * N;
      T* const to = row(next_);
      for (std::int64_t i = 0; i < width_ * N; i += N) {
        load_half_of_block<N>(from + i, false).store(to + i);
      }
    }
  }
  T* row(std::int64_t i) { return floats_ + i % reach_ * width_ * N; }
  /// How many rows from row i on, `step` apart, come before the end of the ring.
  std::int64_t rows_before_wrap(std::int64_t i, std::int64_t step) const {
    return (reach_ - i % reach_ + step - 1) / step;
  }

 private:
  static constexpr int N = Vec<T>::size;

  std::int64_t width_, reach_, next_ = 0;
  alignas(64) T floats_[takes_pairs<T> ? depthwise_ring_pixels * N : N];
};

/// Some images. x and y are blocked or, of depthwise ones, in pairs; `bias` holds whole blocks; `row` is the
/// hook's first row.
template <class T>
void run_depthwise(const ConvPlan& plan, std::int64_t images, const T* x, const T* packed,
                   const T* bias, T* y, const ConvEpilogue<T>& e, std::int64_t row,
                   const Executor& executor) {
  using V = Vec<T>;
  constexpr std::int64_t N = V::size;
  const ConvShape& s = plan.shape;
  const std::int64_t height = s.input[1], width = s.input[2];
  const std::int64_t output_height = s.output(1), output_width = s.output(2);
  const std::int64_t pixels = output_height * output_width;
  const std::int64_t blocks = channel_blocks<T>(s.channels);
  const std::int64_t sw = s.stride[2], pad = s.pads_begin[2];
  const bool takes = plan.input == Layout::pairs, makes = plan.output == Layout::pairs;
  const DepthwiseRows<T> rows(s);
  const Parts runs(rows.outside - rows.inside, depthwise_width);
  const std::int64_t group = s.channels_per_group(), reach = s.reach(1);

  const auto run_block = [&](std::int64_t image, std::int64_t block) {
    // The second block of a pair follows the first one at each pixel.
    const auto offset = [&](bool in_pairs, std::int64_t size) {
      if (!in_pairs) return (image * blocks + block) * size * N;
      return (image * ((blocks + 1) / 2) + block / 2) * size * N + block % 2 * (N / 2);
    };
    const T* plane = x + offset(takes, height * width);
    const T* weights = packed + block * s.kernel_size() * group * N;
    T* to = y + offset(makes, pixels);
    const std::int64_t residual = offset(e.residual_in_pairs, pixels);
    DepthwiseRun<T> run;
    run.residual_in_pairs = e.residual != nullptr && e.residual_in_pairs;
    run.makes_pairs = makes;
    run.pixel = sw * N;
    run.row = s.dilation[1] * width * N;
    run.column = s.dilation[2] * N;
    run.w_row = s.kernel[2] * group * N;
    run.bias = bias == nullptr ? V(T(0)) : V::load(bias + block * N);
    run.clamp = e.clamp;
    run.lower = e.lower;
    run.upper = e.upper;
    run.rows_before_wrap = -1;
    [[maybe_unused]] RowRing<T> ring(width, reach);
    for (std::int64_t oh = 0; oh < output_height; ++oh) {
      const std::int64_t top = oh * s.stride[1] - s.pads_begin[1];
      const Taps down(top, s.dilation[1], s.kernel[1], height);
      run.rows = down.end - down.begin;
      const std::int64_t above = top + down.begin * s.dilation[1];
      const T *first_row = plane + above * width * N, *wrapped_row = first_row;
      if constexpr (takes_pairs<T>) {
        if (takes) {
          ring.convert(plane, top, top + reach < height ? top + reach : height);
          run.rows_before_wrap = ring.rows_before_wrap(above, s.dilation[1]);
          first_row = ring.row(above);
          wrapped_row = ring.row(above + run.rows_before_wrap * s.dilation[1]);
        }
      }
      const auto outputs = [&](std::int64_t ow, std::int64_t count, std::int64_t first,
                               std::int64_t taps, const DepthwiseKernel<T>* kernels) {
        const std::int64_t left = ow * sw - pad, end = left + (count - 1) * sw + s.reach(2);
        run.left = -left;
        run.right = end - width;
        run.columns = taps;
        const std::int64_t across = (left + first * s.dilation[2]) * N;
        run.x = first_row + across;
        run.wrapped = wrapped_row + across;
        run.w = weights + (down.begin * s.kernel[2] + first) * group * N;
        const std::int64_t at = (oh * output_width + ow) * N;
        run.y = to + at;
        run.residual = e.residual == nullptr ? nullptr : e.residual + residual + at;
        kernels[count - 1](run);
      };
      const auto single = [&](std::int64_t ow) {
        const Taps right(ow * sw - pad, s.dilation[2], s.kernel[2], width);
        outputs(ow, 1, right.begin, right.end - right.begin, rows.single);
      };
      for (std::int64_t ow = 0; ow < rows.inside; ++ow) single(ow);
      for (std::int64_t r = 0; r < runs.parts; ++r) {
        const std::int64_t begin = runs.begin(r);
        outputs(rows.inside + begin, runs.begin(r + 1) - begin, 0, s.kernel[2], rows.runs);
      }
      for (std::int64_t ow = rows.outside; ow < output_width; ++ow) single(ow);
    }
    if constexpr (takes_pairs<T>) {
      const bool is_single = makes && block % 2 == 0 && block + 1 == blocks;
      for (std::int64_t p = 0; is_single && p < pixels; ++p) {
        store_half_of_block(V(T(0)), to + p * N, true);
      }
    }
    if (e.post != nullptr) {
      e.post(e.context, to, row + image * blocks + block, 0, 1, pixels * N, pixels * N);
    }
    if (s.channels % N != 0 && block + 1 == blocks && (e.post != nullptr || e.clamp)) {
      clear_missing(to, s.channels % N, 0, pixels);
    }
  };
  // The halves of a line belong to one thread.
  const std::int64_t at_once = takes || makes ? 2 : 1;
  const Parts parts(blocks, at_once);
  parallel_for(executor, images * parts.parts, [&](std::int64_t task) {
    const std::int64_t first = task % parts.parts * at_once;
    for (std::int64_t block = first; block < first + at_once && block < blocks; ++block) {
      run_block(task / parts.parts, block);
    }
  });
}

}  // namespace halftone::kernel::detail
