#pragma once

#include <halftone/kernel/gradient_tile.hpp>

namespace halftone::kernel::detail {

/// The gradient of the weights of a convolution of few channels, as first layers have: filters are lanes, since
/// dy lies in blocks of them, and neighbouring elements of a row of plain x are factors of several taps. Bands of
/// output rows stay in the cache while all taps sum them up. `plan` brings x into rows, see gradient_plan().
template <class T>
struct FewChannelsGradient {
  static constexpr std::int64_t N = channel_block<T>, most_parts = 16;
  /// Blocks of filters that a tile takes at once.
  static constexpr std::int64_t most_planes = register_bytes == 64 ? 4 : 2;
  static_assert(gradient_rows(most_planes) >= most_taps || !is_real<T>);
  /// Bytes of a band of dy, and of the sums of all parts.
  static constexpr std::int64_t dy_bytes = 1 << 17, sums_bytes = 1 << 22;

  ConvPlan plan;
  Parts panels{0, 1};  ///< of blocks of filters
  Parts bands{0, 1};   ///< of the output rows of a frame
  std::int64_t images = 1, parts = 1;

  constexpr explicit FewChannelsGradient(const ConvPlan& of_lines)
      : plan(of_lines), panels(channel_blocks<T>(plan.shape.filters), most_planes) {
    const ConvShape& s = plan.shape;
    if (plan.phases > 1) {  // all taps of a row are neighbours, whatever the stride
      plan.phases = 1;
      plan.column_step = s.stride[2];
      plan.columns = (s.output(2) - 1) * s.stride[2] + s.reach(2);
    }
    images = images_at_once<T>(plan);
    const std::int64_t row = panels.count * N * s.output(2) * std::int64_t(sizeof(T));
    bands = Parts(s.output(1), at_least_one(dy_bytes / row));
    const std::int64_t units = images * s.output(0) * bands.parts;
    parts = at_least_one(sums_bytes / (sums_size() * std::int64_t(sizeof(T))));
    parts = parts < most_parts ? parts : most_parts;
    parts = parts < units ? parts : units;
  }
  constexpr std::int64_t taps() const { return plan.shape.channels * plan.shape.kernel_size(); }
  /// Sums of a part are [block of filters][channel][tap][filter].
  constexpr std::int64_t sums_size() const { return panels.count * taps() * N; }
  constexpr std::int64_t x_size() const {
    return plan.copies ? images * plan.planes * plan.plane_size() : 0;
  }
  constexpr std::int64_t bytes() const {
    return (parts * sums_size() + x_size()) * std::int64_t(sizeof(T));
  }

  void run(const T* x, const T* dy, T* dw, void* workspace, const Executor& executor) const {
    if constexpr (is_real<T> && std::is_same_v<T, compute_t<T>>) {
      const ConvShape& s = plan.shape;
      T* const sums = static_cast<T*>(workspace);
      T* const rows = sums + parts * sums_size();
      const std::int64_t x_image = s.channels * s.input_pixels();
      const std::int64_t dy_image = panels.count * s.output_pixels() * N;
      for (std::int64_t image = 0; image < s.batch; image += images) {
        const std::int64_t count = s.batch - image < images ? s.batch - image : images;
        copy_images(plan, x, image, count, rows, executor);
        const T* const first = plan.copies ? rows : x + image * x_image;
        const std::int64_t frames = s.output(0), units = count * frames * bands.parts;
        parallel_for(executor, parts, [&](std::int64_t part) {
          T* const own = sums + part * sums_size();
          for (std::int64_t i = 0; image == 0 && i < sums_size(); ++i) own[i] = 0;
          for (std::int64_t u = units * part / parts; u < units * (part + 1) / parts; ++u) {
            const std::int64_t at = u / (frames * bands.parts), frame = u / bands.parts % frames;
            add_band(first + at * plan.planes * plan.plane_size(), dy + (image + at) * dy_image,
                     frame, u % bands.parts, own);
          }
        });
      }
      parallel_for(executor, panels.count, [&](std::int64_t plane) {
        T* const all = sums + plane * taps() * N;
        for (std::int64_t part = 1; part < parts; ++part) {
          const T* const other = all + part * sums_size();
          for (std::int64_t i = 0; i < taps() * N; ++i) all[i] += other[i];
        }
        const std::int64_t f = plane * N, left = s.filters - f;
        unblock_pixels(all, dw + f * taps(), taps(), left < N ? left : N, 0, taps());
      });
    }
  }

 private:
  static constexpr std::int64_t at_least_one(std::int64_t n) { return n < 1 ? 1 : n; }
  /// Adds the sums over a band of a frame of an image.
  void add_band(const T* x, const T* dy, std::int64_t frame, std::int64_t band, T* sums) const {
    const ConvShape& s = plan.shape;
    const std::int64_t row = bands.begin(band), line = plan.row_size();
    const std::int64_t next_plane = s.output_pixels() * N;
    GradientTile<T> tile;
    tile.rows = bands.begin(band + 1) - row;
    tile.columns = s.output(2);
    tile.x_row = tile.columns * N;
    tile.x_tap = next_plane;
    tile.dy_row = plan.row_step * line;
    tile.dy_column = plan.column_step;
    tile.dw_tap = taps() * N;
    tile.accumulate = true;
    const T* const rows = x + frame * plan.frame_step * plan.frame_size() + row * tile.dy_row;
    for (std::int64_t panel = 0; panel < panels.parts; ++panel) {
      const std::int64_t plane = panels.begin(panel), planes = panels.begin(panel + 1) - plane;
      tile.x = dy + plane * next_plane + (frame * s.output(1) + row) * tile.x_row;
      T* of_row = sums + plane * tile.dw_tap;
      for (std::int64_t i = 0; i < s.channels * s.kernel[0] * s.kernel[1]; ++i) {
        const std::int64_t kh = i % s.kernel[1], kd = i / s.kernel[1] % s.kernel[0];
        const T* const from = rows + i / (s.kernel[0] * s.kernel[1]) * plan.plane_size() +
                              kd * s.dilation[0] * plan.frame_size() + kh * s.dilation[1] * line;
        for_each_tap_group(plan,
                           [&](std::int64_t offset, std::int64_t kw, std::int64_t step, int count) {
                             tile.dy = from + offset;
                             tile.dw = of_row + kw * N;
                             tile.dw_row = step * N;
                             gradient_table<T>.kernels[count - 1][planes - 1](tile);
                           });
        of_row += s.kernel[2] * N;
      }
    }
  }
};

}  // namespace halftone::kernel::detail
