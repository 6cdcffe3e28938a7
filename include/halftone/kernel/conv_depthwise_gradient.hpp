#pragma once

#include <halftone/kernel/conv_blocked.hpp>
#include <halftone/kernel/conv_depthwise.hpp>
#include <halftone/kernel/gradient_tile.hpp>

/// The gradient of the weights of convolutions whose groups are no larger than a block, such as depthwise ones:
/// channels are lanes, so that a block of them has its sums in registers, a vector for each tap and filter of a
/// group.
namespace halftone::kernel::detail {

/// Arguments of some kernel rows and filters of a block of channels; strides in elements.
template <class S>
struct DepthwiseGradientTile {
  const S* x = nullptr;   ///< of the first tap
  const S* dy = nullptr;  ///< [row, column] of an image
  S* dw = nullptr;        ///< a vector for each filter and tap; the sums are added to them
  std::int64_t rows = 0, columns = 0;
  std::int64_t x_row = 0, x_kernel_row = 0, dw_filter = 0, dw_row = 0, dw_tap = 0;
};

/// Adds the sums over an image for the filters First + I... of groups of G, R rows of the kernel and V neighbouring
/// taps of each.
template <class S, int R, int V, int G, int First, int... I>
HALFTONE_INLINE void run_depthwise_gradient(const DepthwiseGradientTile<S>& t,
                                            std::integer_sequence<int, I...>) {
  using Vector = Vec<S>;
  constexpr std::int64_t N = Vector::size;
  Vector sum[R][V][sizeof...(I)];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) ((sum[r][v][I] = S(0)), ...);
  }
  const S* dy = t.dy;
  for (std::int64_t row = 0; row < t.rows; ++row) {
    const S* x = t.x + row * t.x_row;
    for (std::int64_t q = t.columns; q > 0; --q, x += N, dy += N) {
      const Vector of_pixel = Vector::load(dy);
      const Vector factor[] = {spread<G, First + I>(of_pixel)...};
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) {
          const Vector one = Vector::load(x + r * t.x_kernel_row + v * N);
          ((sum[r][v][I] = fma(one, factor[I], sum[r][v][I])), ...);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      S* const to = t.dw + r * t.dw_row + v * t.dw_tap;
      (((Vector::load(to + I * t.dw_filter) + sum[r][v][I]).store(to + I * t.dw_filter)), ...);
    }
  }
}

/// Kernels of the filters of groups of G from First on.
template <class S, int G, int First>
struct DepthwiseGradientKernels {
  using Tile = DepthwiseGradientTile<S>;
  static constexpr int most_filters = register_bytes == 64 ? 4 : 2;
  static constexpr int filters = G < most_filters ? G : most_filters;
  /// Rows of a kernel.
  static constexpr int rows(int taps) {
    constexpr int most = 3, sums = (register_bytes == 64 ? 28 : 12) / filters;
    return sums / taps < most ? sums / taps : most;
  }
  template <int R, int V>
  static constexpr auto run = [](const Tile& tile) {
    run_depthwise_gradient<S, R, V, G, First>(tile, std::make_integer_sequence<int, filters>{});
  };
};
template <class S, int G, int First>
inline constexpr TapTable<DepthwiseGradientKernels<S, G, First>> depthwise_gradient_table{};

/// The gradient of the weights of a convolution that has_narrow_groups(). `plan` says how x and dy lie, and brings x into blocks, see gradient_plan().
template <class T>
struct DepthwiseWeightGradient {
  static constexpr std::int64_t N = channel_block<T>, most_tasks = 16;

  const ConvPlan& plan;
  std::int64_t group = 1;  ///< channels, and filters, of one

  constexpr std::int64_t pixels() const { return plan.shape.output_pixels(); }
  constexpr std::int64_t area() const { return plan.shape.kernel_size(); }
  constexpr Parts tasks() const { return Parts(plan.planes, Parts(plan.planes, most_tasks).parts); }
  constexpr bool in_blocks() const { return plan.input == Layout::blocked; }
  constexpr std::int64_t x_size() const { return plan.copies ? plan.plane_size() : 0; }
  constexpr std::int64_t dy_size() const { return in_blocks() ? 0 : pixels() * N; }
  constexpr std::int64_t sums_size() const { return group * area() * N; }
  constexpr std::int64_t task_size() const { return x_size() + dy_size() + sums_size(); }
  constexpr std::int64_t bytes() const {
    return tasks().parts * task_size() * std::int64_t(sizeof(T));
  }

  void run(const T* x, const T* dy, T* dw, void* workspace, const Executor& executor) const {
    if constexpr (is_real<T> && std::is_same_v<T, compute_t<T>>) {
      const ConvShape& s = plan.shape;
      parallel_for(executor, tasks().parts, [&](std::int64_t task) {
        T* const blocks = static_cast<T*>(workspace) + task * task_size();
        T* const rows = blocks + x_size();
        T* const sums = rows + dy_size();
        for (std::int64_t plane = tasks().begin(task); plane < tasks().begin(task + 1); ++plane) {
          const std::int64_t c = plane * N, count = s.channels - c < N ? s.channels - c : N;
          for (std::int64_t i = 0; i < sums_size(); ++i) sums[i] = 0;
          for (std::int64_t image = 0; image < s.batch; ++image) {
            const T *x_plane = blocks, *dy_plane = rows;
            const std::int64_t block = (image * plan.planes + plane) * N;
            if (plan.copies) {
              const std::int64_t size =
                  activation_size<T>(plan.input, 1, s.channels, s.input_pixels());
              copy_plane(plan, x + image * size, 1, plane, blocks);
            } else {
              x_plane = x + block * s.input_pixels();
            }
            if (in_blocks()) {
              dy_plane = dy + block * pixels();
            } else {
              block_pixels(dy + (image * s.channels + c) * pixels(), pixels(), count, 0, pixels(),
                           rows);
            }
            add_image_of(x_plane, dy_plane, sums);
          }
          for (std::int64_t i = 0; i < group * count; ++i) {
            const std::int64_t lane = i % count, filter = i / count;
            const std::int64_t f = (c + lane) / group * group + filter;
            T* const to = dw + (f * group + (c + lane) % group) * area();
            const T* const from = sums + filter * area() * N + lane;
            for (std::int64_t tap = 0; tap < area(); ++tap) to[tap] = from[tap * N];
          }
        }
      });
    }
  }

 private:
  template <int G = 1>
  void add_image_of(const T* x, const T* dy, T* sums) const {
    if (group == G) return add_image<G, 0>(x, dy, sums);
    if constexpr (has_narrow_groups<T>(2 * G)) add_image_of<2 * G>(x, dy, sums);
  }
  template <int G, int First>
  void add_image(const T* x, const T* dy, T* sums) const {
    using Kernels = DepthwiseGradientKernels<T, G, First>;
    const ConvShape& s = plan.shape;
    DepthwiseGradientTile<T> tile;
    tile.dw_filter = area() * N;
    tile.dy = dy;
    tile.rows = s.output(1);
    tile.columns = s.output(2);
    tile.x_row = plan.row_step * plan.row_size();
    tile.x_kernel_row = s.dilation[1] * plan.row_size();
    tile.dw_row = s.kernel[2] * N;
    for_each_tap_group(
        plan, [&](std::int64_t offset, std::int64_t kw, std::int64_t step, int taps) {
          const std::int64_t most = Kernels::rows(taps);
          for (std::int64_t kh = 0; kh < s.kernel[1];) {
            const std::int64_t rows = s.kernel[1] - kh < most ? s.kernel[1] - kh : most;
            tile.x = x + kh * tile.x_kernel_row + offset;
            tile.dw = sums + First * tile.dw_filter + kh * tile.dw_row + kw * N;
            tile.dw_tap = step * N;
            depthwise_gradient_table<T, G, First>.kernels[rows - 1][taps - 1](tile);
            kh += rows;
          }
        });
    if constexpr (First + Kernels::filters < G) {
      add_image<G, First + Kernels::filters>(x, dy, sums);
    }
  }
};

}  // namespace halftone::kernel::detail
