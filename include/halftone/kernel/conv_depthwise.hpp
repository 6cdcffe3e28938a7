#pragma once

#include <halftone/kernel/conv_reorder.hpp>

/// Depthwise convolutions of blocked activations: every lane is a channel of its own.
namespace halftone::kernel::detail {

/// Weights as [block][kernel row][kernel column][channel].
template <class T>
void pack_depthwise(const ConvPlan& plan, const T* weights, void* packed) {
  const ConvShape& s = plan.shape;
  constexpr std::int64_t N = Vec<T>::size;
  T* to = static_cast<T*>(packed);
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
  std::int64_t w_row;
  Vec<T> bias;
  bool clamp;
  T lower, upper;
};

/// Adds one row of K neighbouring taps to W outputs that are `Pixel` pixels apart. The first output
/// has no taps in x for its first `Left`, the last one none for its last `Right`. Each x serves all
/// its outputs; every sum still gets its taps from left to right.
template <class T, int W, int Pixel, int K, int Left, int Right>
HALFTONE_INLINE void add_taps(const T* x, const T* w, Vec<T>* sum) {
  using V = Vec<T>;
  constexpr int last = (W - 1) * Pixel + K - 1;
  V weight[K];
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) weight[k] = V::load(w + k * V::size);
#pragma GCC unroll 32
  for (int j = Left; j <= last - Right; ++j) {
    const V one = V::load(x + j * V::size);
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) {
      if (j >= k && (j - k) % Pixel == 0 && (j - k) / Pixel < W) {
        sum[(j - k) / Pixel] = fma(one, weight[k], sum[(j - k) / Pixel]);
      }
    }
  }
}

/// W outputs. With K the taps of a row are K neighbours and the outputs' inputs are `Pixel` pixels
/// apart, see add_taps; K = 0 takes any.
template <class T, int W, int Pixel, int K, int Left, int Right>
void depthwise_run(const DepthwiseRun<T>& r) {
  using V = Vec<T>;
  constexpr std::int64_t N = V::size;
  V sum[W];
#pragma GCC unroll 8
  for (int i = 0; i < W; ++i) sum[i] = r.bias;
  for (std::int64_t h = 0; h < r.rows; ++h) {
    const T* x = r.x + h * r.row;
    const T* w = r.w + h * r.w_row;
    if constexpr (K > 0) {
      add_taps<T, W, Pixel, K, Left, Right>(x, w, sum);
    } else {
      for (std::int64_t c = 0; c < r.columns; ++c, x += r.column, w += N) {
        const V weight = V::load(w);
#pragma GCC unroll 8
        for (int i = 0; i < W; ++i) sum[i] = fma(V::load(x + i * r.pixel), weight, sum[i]);
      }
    }
  }
  if (r.residual != nullptr) {
#pragma GCC unroll 8
    for (int i = 0; i < W; ++i) sum[i] += V::load(r.residual + i * N);
  }
  if (r.clamp) {
    const V lower = r.lower, upper = r.upper;
#pragma GCC unroll 8
    for (int i = 0; i < W; ++i) sum[i] = min(max(sum[i], lower), upper);
  }
#pragma GCC unroll 8
  for (int i = 0; i < W; ++i) sum[i].store(r.y + i * N);
}

template <class T>
using DepthwiseKernel = void (*)(const DepthwiseRun<T>&);

inline constexpr int depthwise_width = register_bytes == 64 ? 8 : 6;

/// Kernels by the number of outputs less one.
template <class T, int Pixel, int K, int Left, int Right>
struct DepthwiseTable {
  DepthwiseKernel<T> kernels[depthwise_width];
  constexpr DepthwiseTable() { fill<1>(); }
  template <int W>
  constexpr void fill() {
    kernels[W - 1] = depthwise_run<T, W, Pixel, K, Left, Right>;
    if constexpr (W < depthwise_width) fill<W + 1>();
  }
};

template <class T, int Pixel, int K, int Left, int Right>
inline constexpr DepthwiseTable<T, Pixel, K, Left, Right> depthwise_table{};

/// Kernels for rows whose first output lacks `left` taps (0 or half a kernel) and whose last lacks
/// `right` of them.
template <class T, int Pixel, int K>
const DepthwiseKernel<T>* edge_kernels(std::int64_t left, std::int64_t right) {
  constexpr int half = K / 2;
  if (left == 0) {
    return right == 0   ? depthwise_table<T, Pixel, K, 0, 0>.kernels
           : right == 1 ? depthwise_table<T, Pixel, K, 0, 1>.kernels
                        : depthwise_table<T, Pixel, K, 0, half>.kernels;
  }
  return right == 0   ? depthwise_table<T, Pixel, K, half, 0>.kernels
         : right == 1 ? depthwise_table<T, Pixel, K, half, 1>.kernels
                      : depthwise_table<T, Pixel, K, half, half>.kernels;
}

/// The same for any of the usual kernels, null for others.
template <class T>
const DepthwiseKernel<T>* depthwise_kernels(const ConvShape& s, std::int64_t left,
                                            std::int64_t right) {
  if (s.dilation[2] != 1 || (left != 0 && left != s.kernel[2] / 2) || right > s.kernel[2] / 2) {
    return nullptr;
  }
  if (s.stride[2] == 1) {
    if (s.kernel[2] == 3) return edge_kernels<T, 1, 3>(left, right);
    if (s.kernel[2] == 5) return edge_kernels<T, 1, 5>(left, right);
  }
  if (s.stride[2] == 2) {
    if (s.kernel[2] == 3) return edge_kernels<T, 2, 3>(left, right);
    if (s.kernel[2] == 5) return edge_kernels<T, 2, 5>(left, right);
  }
  return nullptr;
}

/// How the outputs of a row are divided into runs. `first`, `middle`, `last` and `only` are the
/// kernels of the runs when the usual ones cover whole rows; else only the outputs [inside,
/// outside) whose taps all lie in the row form runs, and the others are computed alone.
template <class T>
struct DepthwiseRows {
  const DepthwiseKernel<T>*first, *middle, *last, *only;
  std::int64_t inside = 0, outside = 0;

  explicit DepthwiseRows(const ConvShape& s) {
    const std::int64_t width = s.output(2), stride = s.stride[2], left = s.pads_begin[2];
    const std::int64_t over = (width - 1) * stride - left + s.reach(2) - s.input[2];
    const std::int64_t right = over > 0 ? over : 0;
    middle = depthwise_kernels<T>(s, 0, 0);
    first = depthwise_kernels<T>(s, left, 0);
    last = depthwise_kernels<T>(s, 0, right);
    only = depthwise_kernels<T>(s, left, right);
    outside = width;
    if (middle != nullptr && only != nullptr) return;
    if (middle == nullptr) middle = depthwise_table<T, 1, 0, 0, 0>.kernels;
    first = last = only = middle;
    inside = (left + stride - 1) / stride;
    if (inside > width) inside = width;
    const std::int64_t room = s.input[2] - s.reach(2) + left;
    outside = room < 0 ? 0 : room / stride + 1;
    if (outside > width) outside = width;
    if (outside < inside) outside = inside;
  }
};

/// Some images. x and y are blocked, `bias` holds whole blocks; `row` is the hook's first row.
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
  const DepthwiseRows<T> row_of_runs(s);
  const std::int64_t inside = row_of_runs.inside, outside = row_of_runs.outside;
  const Parts runs(outside - inside, depthwise_width);
  const DepthwiseKernel<T>* const any = depthwise_table<T, 1, 0, 0, 0>.kernels;

  parallel_for(executor, images * blocks, [&](std::int64_t task) {
    const std::int64_t block = task % blocks;
    const T* plane = x + task * height * width * N;
    const T* weights = packed + block * s.kernel_size() * N;
    T* to = y + task * pixels * N;
    DepthwiseRun<T> run;
    run.pixel = sw * N;
    run.row = s.dilation[1] * width * N;
    run.column = s.dilation[2] * N;
    run.w_row = s.kernel[2] * N;
    run.bias = bias == nullptr ? V(T(0)) : V::load(bias + block * N);
    run.clamp = e.clamp;
    run.lower = e.lower;
    run.upper = e.upper;
    for (std::int64_t oh = 0; oh < output_height; ++oh) {
      const std::int64_t top = oh * s.stride[1] - s.pads_begin[1];
      const Taps down(top, s.dilation[1], s.kernel[1], height);
      run.rows = down.end - down.begin;
      const auto outputs = [&](std::int64_t ow, std::int64_t count, std::int64_t first,
                               std::int64_t taps, const DepthwiseKernel<T>* kernels) {
        run.columns = taps;
        run.x = plane + ((top + down.begin * s.dilation[1]) * width + ow * sw - pad +
                         first * s.dilation[2]) *
                            N;
        run.w = weights + (down.begin * s.kernel[2] + first) * N;
        const std::int64_t at = (oh * output_width + ow) * N;
        run.y = to + at;
        run.residual = e.residual == nullptr ? nullptr : e.residual + task * pixels * N + at;
        kernels[count - 1](run);
      };
      const auto single = [&](std::int64_t ow) {
        const Taps right(ow * sw - pad, s.dilation[2], s.kernel[2], width);
        outputs(ow, 1, right.begin, right.end - right.begin, any);
      };
      for (std::int64_t ow = 0; ow < inside; ++ow) single(ow);
      for (std::int64_t r = 0; r < runs.parts; ++r) {
        const DepthwiseKernel<T>* const kernels = runs.parts == 1      ? row_of_runs.only
                                                  : r == 0             ? row_of_runs.first
                                                  : r + 1 < runs.parts ? row_of_runs.middle
                                                                       : row_of_runs.last;
        outputs(inside + runs.begin(r), runs.begin(r + 1) - runs.begin(r), 0, s.kernel[2], kernels);
      }
      for (std::int64_t ow = outside; ow < output_width; ++ow) single(ow);
    }
    if (e.post != nullptr) e.post(e.context, to, row + task, 0, 1, pixels * N, pixels * N);
    if (s.channels % N != 0 && block + 1 == blocks && (e.post != nullptr || e.clamp)) {
      clear_missing(to, s.channels % N, 0, pixels);
    }
  });
}

}  // namespace halftone::kernel::detail
