#pragma once

#include <cstdint>

#include <halftone/kernel/conv_blocked.hpp>
#include <halftone/kernel/tile.hpp>

namespace halftone::kernel::detail {

/// Images of a batch that are brought into a plan's form at once, about a megabyte of them; all, if none has to be.
template <class T>
constexpr std::int64_t images_at_once(const ConvPlan& plan) {
  constexpr std::int64_t most_bytes = 1 << 20;
  if (!plan.copies) return plan.shape.batch;
  const std::int64_t bytes = plan.planes * plan.plane_size() * std::int64_t(sizeof(T));
  const std::int64_t some = bytes < most_bytes ? most_bytes / bytes : 1;
  return Parts(plan.shape.batch, Parts(plan.shape.batch, some).parts).parts;
}
/// Brings the images [image, image + count) of x into the plan's form, if they are not.
template <class T>
void copy_images(const ConvPlan& plan, const T* x, std::int64_t image, std::int64_t count, T* to,
                 const Executor& executor) {
  const ConvShape& s = plan.shape;
  const std::int64_t size = activation_size<T>(plan.input, 1, s.channels, s.input_pixels());
  parallel_for(executor, plan.copies ? count * plan.planes : 0, [&](std::int64_t i) {
    copy_plane(plan, x + (image + i / plan.planes) * size, 1, i % plan.planes,
               to + i * plan.plane_size());
  });
}

/// Neighbouring kernel columns whose sums one tile holds, and filters of such a tile.
inline constexpr int most_taps = 5;
constexpr int gradient_rows(int taps) {
  const int rows = ((register_bytes == 64 ? 31 : 15) - taps) / taps;
  return rows < tile_rows ? rows : tile_rows;
}

/// f(offset in a row of x, kernel column, columns of the kernel to the next tap, taps) for the
/// neighbouring taps of a kernel row that tiles take at once; x is in blocks as the plan has it.
template <class F>
constexpr void for_each_tap_group(const ConvPlan& plan, F&& f) {
  const std::int64_t block = plan.column_size();
  std::int64_t first = 0, column = 0, step = 0, next = -1;
  int count = 0;
  const auto flush = [&] {
    const Parts parts(count, most_taps);
    for (std::int64_t i = 0; i < parts.parts; ++i) {
      const std::int64_t begin = parts.begin(i);
      f(first + begin * block, column + begin * step, step, int(parts.begin(i + 1) - begin));
    }
  };
  for_each_column(plan, [&](std::int64_t offset, std::int64_t kw, bool) {
    if (count == 0 || offset != next || (count > 1 && kw != column + count * step)) {
      flush();
      first = offset;
      column = kw;
      step = count = 0;
    } else {
      step = count == 1 ? kw - column : step;
    }
    ++count;
    next = offset + block;
  });
  flush();
}

/// Arguments of a tile of a weight gradient; strides in elements. Taps may also be blocks of channels that
/// lie apart. Or filters are lanes: `x` is dy in blocks of them then, and `dy` has x, a tap for each row of the tile.
template <class S>
struct GradientTile {
  const S* x = nullptr;   ///< blocks of channels; the next column is the next vector
  const S* dy = nullptr;  ///< [image][row, column][filters]
  S* dw = nullptr;        ///< a vector of channels for each filter and tap
  std::int64_t images = 1, rows = 1, columns = 0;
  std::int64_t x_image = 0, x_row = 0, x_tap = Vec<S>::size;
  std::int64_t dy_image = 0, dy_row = 0, dy_column = 0, dw_row = 0, dw_tap = 0;
  bool accumulate = false;
};

/// dw(filter, tap) = sum over pixels of dy(pixel, filter) * x(pixel + tap).
template <class S, int H, int V>
void run_gradient_tile(const GradientTile<S>& t) {
  using Vector = Vec<S>;
  constexpr std::int64_t N = Vector::size;
  Vector sum[H][V];
#pragma GCC unroll 16
  for (int i = 0; i < H; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[i][v] = S(0);
  }
  for (std::int64_t image = 0; image < t.images; ++image) {
    for (std::int64_t row = 0; row < t.rows; ++row) {
      const S* x = t.x + image * t.x_image + row * t.x_row;
      const S* dy = t.dy + image * t.dy_image + row * t.dy_row;
      for (std::int64_t q = t.columns; q > 0; --q) {
        Vector wide[V];
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) wide[v] = Vector::load(x + v * t.x_tap);
#pragma GCC unroll 16
        for (int i = 0; i < H; ++i) {
          const Vector one = dy[i];
#pragma GCC unroll 8
          for (int v = 0; v < V; ++v) sum[i][v] = fma(one, wide[v], sum[i][v]);
        }
        x += N;
        dy += t.dy_column;
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < H; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      S* const to = t.dw + i * t.dw_row + v * t.dw_tap;
      if (t.accumulate) sum[i][v] += Vector::load(to);
      sum[i][v].store(to);
    }
  }
}

/// Kernels by their rows and neighbouring taps. Kernels::rows(taps) says how many rows have room in registers.
template <class Kernels>
struct TapTable {
  void (*kernels[Kernels::rows(1)][most_taps])(const typename Kernels::Tile&) = {};
  constexpr TapTable() { fill<1, 1>(); }

 private:
  template <int H, int V>
  constexpr void fill() {
    kernels[H - 1][V - 1] = Kernels::template run<H, V>;
    if constexpr (H < Kernels::rows(V)) {
      fill<H + 1, V>();
    } else if constexpr (V < most_taps) {
      fill<1, V + 1>();
    }
  }
};

template <class S>
struct GradientKernels {
  using Tile = GradientTile<S>;
  static constexpr int rows(int taps) { return gradient_rows(taps); }
  template <int H, int V>
  static constexpr auto run = run_gradient_tile<S, H, V>;
};
template <class S>
inline constexpr TapTable<GradientKernels<S>> gradient_table{};

}  // namespace halftone::kernel::detail
