#pragma once

#include <halftone/kernel/conv_blocked.hpp>

/// Winograd's convolutions of blocked activations: tiles of x are transformed so that a product for
/// each position of a tile takes the place of the sums over the kernel's taps. F(m x m, 3 x 3) has
/// (m + 2)^2 products where the direct sum has 9 m^2, F(2 x 2, 5 x 5) has 49 instead of 100.
namespace halftone::kernel::detail {

/// The transforms along one axis of F(M, R): y = A^T ((G w) * (B^T x)), with all factors of x and y
/// powers of two or 1.5, for `edge` = M outputs of `taps` = R from `inputs` numbers by `products`.
/// The points of F(M, 3) are 0, 1, -1 and infinity for M = 2, and 1/2 and -2 for M = 4. F(2, 5) is
/// F(2, 3) of the first three taps and F(2, 2), of the points 0, 1 and infinity, of the other two: it
/// has one product more than it might have, but errors like those of F(2, 3). The gradient of w from that
/// of y is G^T ((A dy) * (B^T x)).
template <int M, int R>
struct Winograd;

template <>
struct Winograd<2, 3> {
  static constexpr int edge = 2, taps = 3, inputs = 4, products = 4;
  template <class V>
  static HALFTONE_INLINE void input(const V* x, V* to) {
    to[0] = x[0] - x[2];
    to[1] = x[1] + x[2];
    to[2] = x[2] - x[1];
    to[3] = x[3] - x[1];
  }
  template <class V>
  static HALFTONE_INLINE void output(const V* x, V* to) {
    to[0] = x[0] + (x[1] + x[2]);
    to[1] = (x[1] - x[2]) + x[3];
  }
  template <class V>
  static HALFTONE_INLINE void output_gradient(const V* dy, V* to) {
    to[0] = dy[0];
    to[1] = dy[0] + dy[1];
    to[2] = dy[0] - dy[1];
    to[3] = dy[1];
  }
  static constexpr double weight[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
};

template <>
struct Winograd<2, 5> {
  static constexpr int edge = 2, taps = 5, inputs = 6, products = 7;
  template <class V>
  static HALFTONE_INLINE void input(const V* x, V* to) {
    Winograd<2, 3>::input(x, to);
    to[4] = x[3] - x[4];
    to[5] = x[4];
    to[6] = x[5] - x[4];
  }
  template <class V>
  static HALFTONE_INLINE void output(const V* x, V* to) {
    Winograd<2, 3>::output(x, to);
    to[0] += x[4] + x[5];
    to[1] += x[5] + x[6];
  }
  template <class V>
  static HALFTONE_INLINE void output_gradient(const V* dy, V* to) {
    Winograd<2, 3>::output_gradient(dy, to);
    to[4] = dy[0];
    to[5] = to[1];
    to[6] = dy[1];
  }
  static constexpr double weight[7][5] = {{1, 0, 0, 0, 0}, {.5, .5, .5, 0, 0}, {.5, -.5, .5, 0, 0},
                                          {0, 0, 1, 0, 0}, {0, 0, 0, 1, 0},    {0, 0, 0, 1, 1},
                                          {0, 0, 0, 0, 1}};
};

template <>
struct Winograd<4, 3> {
  static constexpr int edge = 4, taps = 3, inputs = 6, products = 6;
  template <class V>
  static HALFTONE_INLINE void input(const V* x, V* to) {
    const V even = x[4] - x[2], odd = x[3] - x[1];
    to[0] = fma(V(1.5f), odd, x[0] - x[2]) + even;
    to[1] = fma(V(1.5f), x[3] + x[2], even + odd);
    to[2] = fma(V(1.5f), x[3] - x[2], even - odd);
    to[3] = fma(V(2), odd, even);
    to[4] = fma(V(-.5f), odd, even);
    to[5] = fma(V(1.5f), even, x[5] - x[3]) - odd;
  }
  template <class V>
  static HALFTONE_INLINE void output(const V* x, V* to) {
    const V sum = x[1] + x[2], difference = x[1] - x[2];
    to[0] = (x[0] + sum) + (x[3] + x[4]);
    to[1] = fma(V(-2), x[4], fma(V(.5f), x[3], difference));
    to[2] = fma(V(4), x[4], fma(V(.25f), x[3], sum));
    to[3] = fma(V(-8), x[4], fma(V(.125f), x[3], difference)) + x[5];
  }
  template <class V>
  static HALFTONE_INLINE void output_gradient(const V* dy, V* to) {
    const V even = dy[0] + dy[2], odd = dy[1] + dy[3];
    to[0] = dy[0];
    to[1] = even + odd;
    to[2] = even - odd;
    to[3] = fma(V(.25f), dy[2], dy[0]) + fma(V(.125f), dy[3], V(.5f) * dy[1]);
    to[4] = fma(V(4), dy[2], dy[0]) - fma(V(8), dy[3], V(2) * dy[1]);
    to[5] = dy[3];
  }
  static constexpr double weight[6][3] = {{1, 0, 0},
                                          {1. / 3, 1. / 3, 1. / 3},
                                          {-1. / 3, 1. / 3, -1. / 3},
                                          {-16. / 15, -8. / 15, -4. / 15},
                                          {1. / 15, -2. / 15, 4. / 15},
                                          {0, 0, 1}};
};

/// Where the weights of a group of panels lie: [group][position][panel][channel][filters], in the
/// order in which they are needed.
struct WinogradGroup {
  std::int64_t first, last;  ///< panels
  std::int64_t position;     ///< elements from position to position

  WinogradGroup(const ConvPlan& plan, std::int64_t group) {
    const Parts groups(plan.panels, plan.panels_per_group);
    first = groups.begin(group);
    last = groups.begin(group + 1);
    const std::int64_t filters = round_up(plan.shape.filters, Vec<float>::size);
    const std::int64_t end = last * panel_columns<float>;
    position = ((end < filters ? end : filters) - first * panel_columns<float>)*plan.steps;
  }
  /// From the first weight of all to that of a panel, at position 0.
  std::int64_t begin(const ConvPlan& plan, std::int64_t panel) const {
    const std::int64_t positions = winograd_positions(plan.edge, plan.shape.kernel[2]);
    return (first * positions + panel - first) * panel_columns<float> * plan.steps;
  }
};

/// Row i of G times a column of taps, `step` vectors of filters apart.
template <class F, class S>
HALFTONE_INLINE void transform_weights(int i, const double (*taps)[Vec<float>::size], int step,
                                       S* to) {
  for (int l = 0; l < Vec<float>::size; ++l) {
    double sum = F::weight[i][0] * taps[0][l];
    for (int r = 1; r < F::taps; ++r) sum += F::weight[i][r] * taps[r * step][l];
    to[l] = S(sum);
  }
}

/// Packs the weights of one panel and plane. They are transformed in double and rounded once.
template <class F>
void pack_winograd_plane(const ConvPlan& plan, const float* weights, WeightOrder order,
                         std::int64_t panel, std::int64_t plane, float* packed) {
  constexpr int E = F::products, R = F::taps;
  constexpr std::int64_t N = Vec<float>::size;
  const std::int64_t f = panel * panel_columns<float>;
  const std::int64_t filters = round_up(plan.shape.filters, N);
  const std::int64_t width = vectors_of_panel<float>(f, filters) * N;
  std::int64_t number = 0;
  while (WinogradGroup(plan, number).last <= panel) ++number;
  const WinogradGroup group(plan, number);
  float* const to = packed + group.begin(plan, panel) + plane * N * width;
  double taps[R * R][N], row[R][N];
  for_each_weight<float>(
      plan, R * R, weights, order, 0, f, plane,
      [&](std::int64_t tap, std::int64_t channel, std::int64_t v, Vec<float> lanes) {
        double* const own = taps[order == WeightOrder::plain ? tap : R * R - 1 - tap];
        for (int l = 0; l < N; ++l) own[l] = lanes[l];
        if (tap < R * R - 1) return;
        float* place = to + channel * width + v * N;
        for (int i = 0; i < E; ++i) {
          for (int k = 0; k < R; ++k) transform_weights<F>(i, taps + k, R, row[k]);
          for (int j = 0; j < E; ++j, place += group.position) {
            transform_weights<F>(j, row, 1, place);
          }
        }
      });
  const std::int64_t count = channels_of_plane(plan, plane);
  for (std::int64_t p = 0; count < N && p < E * E; ++p) {
    float* const missing = to + p * group.position + count * width;
    for (std::int64_t i = 0; i < (N - count) * width; ++i) missing[i] = 0;
  }
}

/// Segments of the products, then weights.
template <class F>
void pack_winograd(const ConvPlan& plan, const float* weights, WeightOrder order, void* packed,
                   const Executor& executor) {
  Segment* const segments = static_cast<Segment*>(packed);
  for (std::int64_t i = 0; i < plan.segments; ++i) {
    segments[i] = {i * plan.tiles_per_block * Vec<float>::size, Vec<float>::size};
  }
  float* const to = reinterpret_cast<float*>(static_cast<char*>(packed) + segment_bytes(plan));
  for_each_panel(plan, order, executor, [&](std::int64_t panel, std::int64_t plane) {
    pack_winograd_plane<F>(plan, weights, order, panel, plane, to);
  });
}

/// Some tiles that are neighbours in a row of an image.
struct TileRun {
  std::int64_t image, row, column, count;
};

/// Calls f(first tile of the block, run) for the tiles [begin, end) of images of rows by columns of
/// tiles, in that order, in runs of up to `most`.
template <class F>
HALFTONE_INLINE void for_each_run(std::int64_t rows, std::int64_t columns, std::int64_t begin,
                                  std::int64_t end, std::int64_t most, F&& f) {
  for (std::int64_t t = begin; t < end;) {
    TileRun run;
    run.image = t / (rows * columns);
    run.row = t / columns % rows;
    run.column = t % columns;
    run.count = columns - run.column;
    if (run.count > end - t) run.count = end - t;
    if (run.count > most) run.count = most;
    f(t - begin, run);
    t += run.count;
  }
}

/// One block of channels of an image, cut into tiles: the first one begins `top` rows above it and `left`
/// columns beside it. Beyond it there are zeros.
struct TilePlane {
  const float* x;
  std::int64_t height, width, top, left;
};

/// Tiles of x, and of the gradient of y; numbers along an axis and their transform.
template <class F>
struct InputTiles : F {
  template <class V>
  static HALFTONE_INLINE void transform(const V* x, V* to) {
    F::input(x, to);
  }
};
template <class F>
struct OutputGradientTiles : F {
  static constexpr int inputs = F::edge;
  template <class V>
  static HALFTONE_INLINE void transform(const V* dy, V* to) {
    F::output_gradient(dy, to);
  }
};

/// Transforms a run of tiles; to: of the run's first one.
template <class Tiles>
void transform_tiles(const TilePlane& plane, const TileRun& run, float* to, std::int64_t position) {
  constexpr int M = Tiles::edge, E = Tiles::products, I = Tiles::inputs;
  constexpr std::int64_t N = Vec<float>::size, most = winograd_run;
  using V = Vec<float>;
  // Columns are transformed once for all tiles that see them.
  V down[most * M + I - M][E];
  const std::int64_t top = run.row * M - plane.top, left = run.column * M - plane.left;
  static constexpr float zeros[N] = {};
  const float* rows[I];
  std::int64_t steps[I];
  for (int i = 0; i < I; ++i) {
    const bool inside = top + i >= 0 && top + i < plane.height;
    rows[i] = inside ? plane.x + (top + i) * plane.width * N : zeros;
    steps[i] = inside ? N : 0;
  }
  for (std::int64_t c = 0; c < run.count * M + I - M; ++c) {
    const std::int64_t w = left + c;
    V column[I];
    if (w < 0 || w >= plane.width) {
      for (int i = 0; i < E; ++i) down[c][i] = 0.f;
      continue;
    }
#pragma GCC unroll 8
    for (int i = 0; i < I; ++i) column[i] = V::load(rows[i] + w * steps[i]);
    Tiles::transform(column, down[c]);
  }
  for (std::int64_t t = 0; t < run.count; ++t, to += N) {
#pragma GCC unroll 8
    for (int i = 0; i < E; ++i) {
      V row[I], result[E];
#pragma GCC unroll 8
      for (int j = 0; j < I; ++j) row[j] = down[t * M + j][i];
      Tiles::transform(row, result);
#pragma GCC unroll 8
      for (int j = 0; j < E; ++j) result[j].store(to + (i * E + j) * position);
    }
  }
}

/// Where transform_output takes a run of tiles to; all of one block of filters.
struct WinogradOutput {
  float* y;               ///< of the image
  const float* residual;  ///< as y, or null
  Vec<float> bias;
  bool clamp;
  Vec<float> lower, upper;
};

/// The outputs of a run of tiles from its products.
template <class F>
void transform_output(const ConvPlan& plan, const float* products, std::int64_t position,
                      const TileRun& run, const WinogradOutput& out) {
  constexpr int M = F::edge, E = F::products;
  constexpr std::int64_t N = Vec<float>::size;
  using V = Vec<float>;
  const std::int64_t width = plan.shape.output(2), left = run.row * M;
  const std::int64_t below = plan.shape.output(1) - left;
  const std::int64_t rows = below < M ? below : M;
  for (std::int64_t t = 0; t < run.count; ++t, products += N) {
    const std::int64_t column = (run.column + t) * M;
    const std::int64_t beside = width - column, columns = beside < M ? beside : M;
    V down[E][M];
#pragma GCC unroll 8
    for (int j = 0; j < E; ++j) {
      V x[E];
#pragma GCC unroll 8
      for (int i = 0; i < E; ++i) x[i] = V::load(products + (i * E + j) * position);
      F::output(x, down[j]);
    }
    const std::int64_t at = (left * width + column) * N;
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) {
      if (i >= rows) break;
      V x[E], result[M];
#pragma GCC unroll 8
      for (int j = 0; j < E; ++j) x[j] = down[j][i];
      F::output(x, result);
      const std::int64_t row = at + i * width * N;
#pragma GCC unroll 8
      for (int j = 0; j < M; ++j) {
        if (j >= columns) break;
        V sum = result[j] + out.bias;
        if (out.residual != nullptr) sum += V::load(out.residual + row + j * N);
        if (out.clamp) sum = clamp(sum, out.lower, out.upper);
        sum.store(out.y + row + j * N);
      }
    }
  }
}

/// Some images. x and y are blocked, `bias` holds whole blocks; `row` is the hook's first row.
template <class F>
class WinogradRun {
 public:
  WinogradRun(const ConvPlan& plan, std::int64_t images, const float* x, const void* packed,
              const float* bias, float* y, const ConvEpilogue<float>& e, std::int64_t row,
              float* workspace)
      : plan_(plan),
        tiles_(images * plan.output_rows * plan.output_columns),
        x_(x),
        segments_(static_cast<const Segment*>(packed)),
        weights_(
            reinterpret_cast<const float*>(static_cast<const char*>(packed) + segment_bytes(plan))),
        bias_(bias),
        y_(y),
        e_(e),
        row_(row),
        workspace_(workspace) {}

  void run(const Executor& executor) {
    const Parts blocks(tiles_, plan_.tiles_per_block);
    const Parts groups(plan_.panels, plan_.panels_per_group);
    if (plan_.tasks > 1) {
      const Parts tasks(blocks.parts, Parts(blocks.parts, plan_.tasks).parts);
      parallel_for(executor, tasks.parts, [&](std::int64_t task) {
        float* const input = workspace_ + task * (input_size() + product_size());
        for (std::int64_t b = tasks.begin(task); b < tasks.begin(task + 1); ++b) {
          for (std::int64_t plane = 0; plane < plan_.planes; ++plane) {
            transform(blocks.begin(b), blocks.begin(b + 1), plane, input);
          }
          for (std::int64_t g = 0; g < groups.parts; ++g) {
            multiply(blocks.begin(b), blocks.begin(b + 1), g, input, input + input_size());
          }
        }
      });
      return;
    }
    for (std::int64_t b = 0; b < blocks.parts; ++b) {
      parallel_for(executor, plan_.planes, [&](std::int64_t plane) {
        transform(blocks.begin(b), blocks.begin(b + 1), plane, workspace_);
      });
      parallel_for(executor, groups.parts, [&](std::int64_t g) {
        multiply(blocks.begin(b), blocks.begin(b + 1), g, workspace_,
                 workspace_ + input_size() + g * product_size());
      });
    }
  }

 private:
  static constexpr int M = F::edge, E = F::products;
  static constexpr std::int64_t N = Vec<float>::size;

  std::int64_t input_position() const {
    return winograd_position(plan_.tiles_per_block * plan_.steps, N);
  }
  std::int64_t product_position() const {
    return winograd_position(plan_.tiles_per_block * plan_.panels_per_group * panel_columns<float>,
                             N);
  }
  std::int64_t input_size() const { return E * E * input_position(); }
  std::int64_t product_size() const { return E * E * product_position(); }

  void transform(std::int64_t begin, std::int64_t end, std::int64_t plane, float* input) const {
    const ConvShape& s = plan_.shape;
    const std::int64_t pixels = s.input_pixels() * N;
    float* const to = input + plane * plan_.tiles_per_block * N;
    TilePlane from{nullptr, s.input[1], s.input[2], s.pads_begin[1], s.pads_begin[2]};
    for_each_run(plan_.output_rows, plan_.output_columns, begin, end, winograd_run,
                 [&](std::int64_t tile, const TileRun& run) {
                   from.x = x_ + (run.image * plan_.planes + plane) * pixels;
                   transform_tiles<InputTiles<F>>(from, run, to + tile * N, input_position());
                 });
  }

  void multiply(std::int64_t begin, std::int64_t end, std::int64_t group_number, const float* input,
                float* products) const {
    const WinogradGroup group(plan_, group_number);
    const std::int64_t first = group.first, last = group.last;
    const std::int64_t filters = round_up(plan_.shape.filters, N);
    const Parts parts(end - begin, tile_rows);
    Tile<float> tile;
    tile.y_row = N;
    tile.y_vector = plan_.tiles_per_block * N;
    tile.residual_row = N;
    const Parts chunks(plan_.segments, winograd_channels / N);
    for (std::int64_t position = 0; position < E * E; ++position) {
      for (std::int64_t panel = first; panel < last; ++panel) {
        const std::int64_t f = panel * panel_columns<float>;
        const std::int64_t vectors = vectors_of_panel<float>(f, filters);
        const float* const w = weights_ + group.begin(plan_, panel) + position * group.position;
        for (std::int64_t c = 0; c < chunks.parts; ++c) {
          const std::int64_t segment = chunks.begin(c);
          tile.segments = segments_ + segment;
          tile.segment_count = chunks.begin(c + 1) - segment;
          tile.w = w + segment * N * vectors * N;
          for (std::int64_t p = 0; p < parts.parts; ++p) {
            // The first rows fetch the weights of the next chain.
            const std::int64_t step = vectors * N;
            tile.ahead = reinterpret_cast<const char*>(tile.w + tile.segment_count * N * step);
            tile.ahead_step = p == 0 ? step * std::int64_t(sizeof(float)) : 0;
            const std::int64_t at = parts.begin(p) * N;
            tile.x = input + position * input_position() + at;
            tile.y = products + position * product_position() +
                     (panel - first) * panel_vectors * tile.y_vector + at;
            tile.residual = c == 0 ? nullptr : tile.y;
            tile_kernel<float, Source::tiles>(parts.begin(p + 1) - parts.begin(p), vectors)(tile);
          }
        }
      }
    }
    const std::int64_t block = first * panel_vectors, blocks = filters / N;
    const std::int64_t some = last * panel_vectors;
    for (std::int64_t v = block; v < (some < blocks ? some : blocks); ++v) {
      finish_block(begin, end, v, products + (v - block) * tile.y_vector);
    }
  }

  /// One block of filters.
  void finish_block(std::int64_t begin, std::int64_t end, std::int64_t block,
                    const float* products) const {
    const ConvShape& s = plan_.shape;
    const std::int64_t pixels = s.output_pixels() * N, blocks = channel_blocks<float>(s.filters);
    const std::int64_t count = s.filters - block * N;
    WinogradOutput out;
    out.bias = bias_ == nullptr ? Vec<float>(0.f) : Vec<float>::load(bias_ + block * N);
    out.clamp = e_.clamp;
    out.lower = e_.lower;
    out.upper = e_.upper;
    const bool clears = count < N && (e_.clamp || e_.post != nullptr);
    for_each_run(
        plan_.output_rows, plan_.output_columns, begin, end, tiles_,
        [&](std::int64_t tile, const TileRun& run) {
          const std::int64_t row = run.image * blocks + block;
          out.y = y_ + row * pixels;
          out.residual = e_.residual == nullptr ? nullptr : e_.residual + row * pixels;
          transform_output<F>(plan_, products + tile * N, product_position(), run, out);
          if (!clears && e_.post == nullptr) return;
          const std::int64_t width = s.output(2), first = run.column * M;
          const std::int64_t end_column =
              first + run.count * M < width ? first + run.count * M : width;
          for (std::int64_t h = run.row * M; h < (run.row + 1) * M && h < s.output(1); ++h) {
            const std::int64_t at = h * width + first, columns = end_column - first;
            if (e_.post != nullptr) {
              e_.post(e_.context, out.y + at * N, row_ + row, at * N, 1, columns * N, pixels);
            }
            if (count < N) clear_missing(out.y, count, at, at + columns);
          }
        });
  }

  const ConvPlan& plan_;
  std::int64_t tiles_;
  const float* x_;
  const Segment* segments_;
  const float* weights_;
  const float* bias_;
  float* y_;
  const ConvEpilogue<float>& e_;
  std::int64_t row_;
  float* workspace_;
};

template <class F>
void run_winograd(const ConvPlan& plan, std::int64_t images, const float* x, const void* packed,
                  const float* bias, float* y, const ConvEpilogue<float>& e, std::int64_t row,
                  float* workspace, const Executor& executor) {
  WinogradRun<F>(plan, images, x, packed, bias, y, e, row, workspace).run(executor);
}

}  // namespace halftone::kernel::detail
