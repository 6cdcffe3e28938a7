#pragma once

#include <halftone/kernel/conv_winograd.hpp>
#include <halftone/kernel/gradient_tile.hpp>

namespace halftone::kernel::detail {

/// dw[f, c, tap], with `channels` and `area` taps, of some filters and one plane of channels from vectors of
/// channels [f, tap].
template <class T>
void unblock_weights(std::int64_t channels, std::int64_t area, const T* blocked, std::int64_t plane,
                     std::int64_t first, std::int64_t filters, T* dw) {
  constexpr std::int64_t N = channel_block<T>;
  const std::int64_t left = channels - plane * N;
  if (area == 1) {
    for (std::int64_t f = 0; f < filters; ++f) {
      T* const to = dw + (first + f) * channels + plane * N;
      const auto lanes = Vec<T>::load(blocked + f * N);
      left < N ? lanes.store_partial(to, left) : lanes.store(to);
    }
    return;
  }
  for (std::int64_t f = 0; f < filters; ++f) {
    pack_strip(blocked + f * area * N, N, std::int64_t{1}, area, left < N ? left : N,
               dw + ((first + f) * channels + plane * N) * area, area);
  }
}

/// G^T x: taps along one axis from the sums at its positions.
template <class F, class V>
HALFTONE_INLINE void transform_taps(const V* x, V* taps) {
#pragma GCC unroll 8
  for (int r = 0; r < F::taps; ++r) {
    V sum = 0.f;
#pragma GCC unroll 8
    for (int i = 0; i < F::products; ++i) {
      if (F::weight[i][r] != 0) sum = fma(V(float(F::weight[i][r])), x[i], sum);
    }
    taps[r] = sum;
  }
}

/// A vector of channels for each tap, from the sums of products at the positions of tiles and, if there are
/// any, the taps of before.
template <class F>
void transform_weight_gradient(const float* sums, std::int64_t position, const float* before,
                               float* to) {
  constexpr int E = F::products, R = F::taps;
  using V = Vec<float>;
  V down[E][R];
#pragma GCC unroll 8
  for (int j = 0; j < E; ++j) {
    V x[E];
#pragma GCC unroll 8
    for (int i = 0; i < E; ++i) x[i] = V::load(sums + (i * E + j) * position);
    transform_taps<F>(x, down[j]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    V x[E], taps[R];
#pragma GCC unroll 8
    for (int j = 0; j < E; ++j) x[j] = down[j][r];
    transform_taps<F>(x, taps);
#pragma GCC unroll 8
    for (int c = 0; c < R; ++c) {
      const std::int64_t tap = (r * R + c) * V::size;
      if (before != nullptr) taps[c] += V::load(before + tap);
      taps[c].store(to + tap);
    }
  }
}

/// The gradient of a convolution's weights by the form F: so many tiles at a time, of whole images or of
/// rows of one, are summed up at each position before their sums are transformed into taps.
template <class F>
class WinogradWeightGradient {
 public:
  /// in_blocks: x and dy lie in blocks of channels.
  constexpr explicit WinogradWeightGradient(const ConvShape& s, bool in_blocks)
      : s_(s),
        in_blocks_(in_blocks),
        planes_(channel_blocks<float>(s.channels)),
        blocks_(channel_blocks<float>(s.filters)),
        rows_(Parts(s.output(1), M).parts),
        columns_(Parts(s.output(2), M).parts) {
    const std::int64_t fitting =
        rows_ * columns_ < most_tiles ? most_tiles / (rows_ * columns_) : 1;
    images_ = Parts(s.batch, Parts(s.batch, fitting).parts).parts;
    const std::int64_t some = columns_ < most_tiles ? most_tiles / columns_ : 1;
    band_ = Parts(rows_, Parts(rows_, some).parts).parts;
    tiles_ = images_ * band_ * columns_;
    const auto least = [](std::int64_t a, std::int64_t b) { return a < b ? a : b; };
    const std::int64_t seen = least(s.input[1], band_ * M + F::inputs - M) * s.input[2];
    const std::int64_t made = least(s.output(1), band_ * M) * s.output(2);
    plane_size_ = in_blocks ? 0 : (seen > made ? seen : made) * N;
    const std::int64_t pairs = Parts(planes_, most_planes).parts * blocks_;
    tasks_ = pairs < most_tasks ? pairs : most_tasks;
  }

  constexpr std::int64_t bytes() const {
    const bool keeps_taps = images_ < s_.batch || band_ < rows_;
    return (planes_size() + E * E * (x_position() + dy_position()) + tasks_ * sums_size() +
            (keeps_taps ? planes_ * s_.filters * s_.kernel_size() * N : 0)) *
           std::int64_t(sizeof(float));
  }

  void run(const float* x, const float* dy, float* dw, void* workspace,
           const Executor& executor) const {
    float* const planes = static_cast<float*>(workspace);
    float* const x_tiles = planes + planes_size();
    float* const dy_tiles = x_tiles + E * E * x_position();
    float* const sums = dy_tiles + E * E * dy_position();
    float* const taps = sums + tasks_ * sums_size();
    const std::int64_t input = s_.input_pixels(), output = s_.output_pixels();
    const Parts bands(rows_, band_);
    for (std::int64_t first = 0; first < s_.batch; first += images_) {
      const std::int64_t images = s_.batch - first < images_ ? s_.batch - first : images_;
      for (std::int64_t b = 0; b < bands.parts; ++b) {
        const Band band{bands.begin(b), bands.begin(b + 1) - bands.begin(b)};
        parallel_for(executor, images * (planes_ + blocks_), [&](std::int64_t task) {
          const std::int64_t image = task / (planes_ + blocks_), plane = task % (planes_ + blocks_);
          const std::int64_t place = image * band.rows * columns_, block = plane - planes_;
          float* const room = planes + task * plane_size_;
          if (plane < planes_) {
            const float* const from = x + (first + image) * channels_of(s_.channels) * input;
            const TilePlane whole{from, s_.input[1], s_.input[2], s_.pads_begin[1],
                                  s_.pads_begin[2]};
            transform<InputTiles<F>>(whole, s_.channels, plane, band, room,
                                     x_tiles + (plane * tiles_ + place) * N, x_position());
          } else {
            const float* const from = dy + (first + image) * channels_of(s_.filters) * output;
            transform<OutputGradientTiles<F>>(
                {from, s_.output(1), s_.output(2), 0, 0}, s_.filters, block, band, room,
                dy_tiles + (block * tiles_ + place) * N, dy_position());
          }
        });
        const std::int64_t tiles = images * band.rows * columns_;
        const Parts panels(planes_, most_planes);
        const Parts shares(panels.parts * blocks_, Parts(panels.parts * blocks_, tasks_).parts);
        const bool is_first = first == 0 && b == 0;
        const bool is_last = first + images == s_.batch && b + 1 == bands.parts;
        parallel_for(executor, shares.parts, [&](std::int64_t share) {
          for (std::int64_t i = shares.begin(share); i < shares.begin(share + 1); ++i) {
            const std::int64_t block = i % blocks_, begin = panels.begin(i / blocks_);
            const std::int64_t end = panels.begin(i / blocks_ + 1);
            float* const own = sums + share * sums_size();
            multiply(begin, end, block, tiles, x_tiles, dy_tiles, own);
            finish(begin, end, block, own, taps, is_first, is_last ? dw : nullptr);
          }
        });
      }
    }
  }

 private:
  static constexpr int M = F::edge, E = F::products;
  static constexpr std::int64_t N = Vec<float>::size;
  /// Tiles whose products are added in one chain, unless a row has more.
  static constexpr std::int64_t most_tiles = 128;
  /// Blocks of channels that a register tile takes.
  static constexpr int most_planes = register_bytes == 64 ? 4 : 3;
  static constexpr std::int64_t most_tasks = 16;

  /// Rows of tiles.
  struct Band {
    std::int64_t first, rows;
  };

  constexpr std::int64_t planes_size() const { return images_ * (planes_ + blocks_) * plane_size_; }
  constexpr std::int64_t x_position() const { return winograd_position(planes_ * tiles_ * N, N); }
  constexpr std::int64_t dy_position() const { return winograd_position(blocks_ * tiles_ * N, N); }
  constexpr std::int64_t sums_position() const { return winograd_position(most_planes * N * N, N); }
  constexpr std::int64_t sums_size() const { return E * E * sums_position(); }

  /// Channels that an image has in memory.
  constexpr std::int64_t channels_of(std::int64_t channels) const {
    return in_blocks_ ? channel_blocks<float>(channels) * N : channels;
  }
  /// Makes tiles at `to` of a band of one block of an image's channels; plain channels come into `room` first.
  template <class Tiles>
  void transform(TilePlane plane, std::int64_t channels, std::int64_t block, const Band& band,
                 float* room, float* to, std::int64_t position) const {
    const std::int64_t above = band.first * M - plane.top;
    const std::int64_t below = above + band.rows * M + Tiles::inputs - M;
    const std::int64_t begin = above > 0 ? above : 0;
    const std::int64_t end = below < plane.height ? below : plane.height;
    const std::int64_t pixels = plane.height * plane.width, left = channels - block * N;
    plane.height = end > begin ? end - begin : 0;
    const float* const channels_of_block = plane.x + block * N * pixels;
    if (!in_blocks_ && plane.height > 0) {
      block_pixels(channels_of_block + begin * plane.width, pixels, left < N ? left : N, 0,
                   plane.height * plane.width, room);
    }
    plane.x = in_blocks_ ? channels_of_block + begin * plane.width * N : room;
    plane.top = begin - above;
    for_each_run(band.rows, columns_, 0, band.rows * columns_, winograd_run,
                 [&](std::int64_t tile, const TileRun& run) {
                   transform_tiles<Tiles>(plane, run, to + tile * N, position);
                 });
  }

  std::int64_t filters_of(std::int64_t block) const {
    const std::int64_t left = s_.filters - block * N;
    return left < N ? left : N;
  }
  /// Sums over tiles of the channels of planes [first, last) and one block of filters:
  /// [position][filter][plane].
  void multiply(std::int64_t first, std::int64_t last, std::int64_t block, std::int64_t tiles,
                const float* x, const float* dy, float* sums) const {
    const std::int64_t planes = last - first;
    GradientTile<float> tile;
    tile.columns = tiles;
    tile.x_tap = tiles_ * N;
    tile.dy_column = N;
    tile.dw_row = planes * N;
    tile.dw_tap = N;
    const Parts parts(filters_of(block), gradient_rows(int(planes)));
    for (std::int64_t position = 0; position < E * E; ++position) {
      tile.x = x + position * x_position() + first * tiles_ * N;
      for (std::int64_t i = 0; i < parts.parts; ++i) {
        const std::int64_t f = parts.begin(i), height = parts.begin(i + 1) - f;
        tile.dy = dy + position * dy_position() + block * tiles_ * N + f;
        tile.dw = sums + position * sums_position() + f * planes * N;
        gradient_table<float>.kernels[height - 1][planes - 1](tile);
      }
    }
  }
  /// Taps of those from the sums: into dw or, if it is null, into `taps`, which have those of before unless
  /// it is the first time.
  void finish(std::int64_t first, std::int64_t last, std::int64_t block, const float* sums,
              float* taps, bool is_first, float* dw) const {
    constexpr std::int64_t area = F::taps * F::taps;
    alignas(64) float own[area * N];
    for (std::int64_t plane = first; plane < last; ++plane) {
      for (std::int64_t f = 0; f < filters_of(block); ++f) {
        const std::int64_t filter = block * N + f;
        float* const kept = taps + (plane * s_.filters + filter) * area * N;
        transform_weight_gradient<F>(sums + (f * (last - first) + plane - first) * N,
                                     sums_position(), is_first ? nullptr : kept,
                                     dw != nullptr ? own : kept);
        if (dw != nullptr)
          unblock_weights(s_.channels, s_.kernel_size(), own, plane, filter, 1, dw);
      }
    }
  }

  ConvShape s_;
  bool in_blocks_;
  std::int64_t planes_, blocks_;  ///< of channels, of filters
  std::int64_t rows_, columns_;   ///< of tiles, of an image
  std::int64_t images_, band_;    ///< images, and rows of tiles of each, at a time
  std::int64_t tiles_;            ///< at a time
  std::int64_t plane_size_, tasks_;
};

}  // namespace halftone::kernel::detail
