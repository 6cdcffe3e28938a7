#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/window.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/kernel/conv.hpp>
#include <halftone/kernel/conv_depthwise_gradient.hpp>
#include <halftone/kernel/conv_few_gradient.hpp>
#include <halftone/kernel/conv_winograd_gradient.hpp>
#include <halftone/kernel/copy.hpp>
#include <halftone/kernel/matmul.hpp>

namespace halftone::kernel {

namespace detail {

/// The gradient of a convolution's weights as products of matrices: for each group, dw[filter,
/// channel and kernel position] = dy[filter, pixel] times the patches of x that the pixels saw. So
/// many pixels at a time, of whatever images, that their patches stay in the cache; two
/// accumulators in turn, since a product may not overlap its addend.
template <class T>
struct WeightGradient {
  using S = compute_t<T>;
  static constexpr std::int64_t most_patches = 1 << 18, least_block = 128, most_tasks = 16;

  const Window& window;
  std::int64_t images, groups, channels, filters;  ///< of a group
  std::int64_t kernel = 1, input = 1, output = 1, block = 1;
  const std::int64_t* extents;

  constexpr WeightGradient(const Window& w, std::int64_t groups_, View<const T> x, View<const T> dy)
      : window(w),
        images(x.extent(0)),
        groups(groups_),
        channels(x.extent(1) / groups_),
        filters(dy.extent(1) / groups_),
        extents(x.extents + 2) {
    for (std::size_t i = 0; i < w.rank(); ++i) {
      kernel *= w.kernel[i];
      input *= extents[i];
      output *= w.output[i];
    }
    block = row() > 0 ? most_patches / row() : 1;
    if (block < least_block) block = least_block;
    if (block > images * output) block = images * output;
  }
  constexpr std::int64_t row() const { return channels * kernel; }
  constexpr std::int64_t tasks() const { return groups < most_tasks ? groups : most_tasks; }
  constexpr std::int64_t patches_bytes() const {
    return aligned(row() * block * std::int64_t(sizeof(S)));
  }
  constexpr std::int64_t dy_bytes() const {
    return aligned(filters * block * std::int64_t(sizeof(S)));
  }
  constexpr std::int64_t sums_bytes() const {
    return aligned(filters * row() * std::int64_t(sizeof(S)));
  }
  constexpr std::int64_t task_bytes() const {
    return patches_bytes() + dy_bytes() + 2 * sums_bytes() +
           aligned(gemm_workspace_bytes<S>(filters, row(), block));
  }

  /// f(image, first pixel, number of pixels, place in the block) for the images' parts of pixels
  /// [first, first + n).
  template <class F>
  void for_each_part(std::int64_t first, std::int64_t n, F&& f) const {
    for (std::int64_t done = 0; done < n;) {
      const std::int64_t pixel = (first + done) % output;
      const std::int64_t left = n - done, count = output - pixel < left ? output - pixel : left;
      f((first + done) / output, pixel, count, done);
      done += count;
    }
  }

  /// The rows of patches of one channel; x is that channel of image 0, `image_step` elements from
  /// one image to the next.
  void fill_patches(const T* x, std::int64_t image_step, std::int64_t first, std::int64_t n,
                    S* to) const {
    const std::size_t rank = window.rank(), last = rank - 1;
    const std::int64_t width = window.output[last], stride = window.strides[last];
    std::int64_t tap[max_rank] = {};
    for (std::int64_t k = 0; k < kernel; ++k, to += n) {
      for_each_part(
          first, n,
          [&](std::int64_t image, std::int64_t pixel, std::int64_t count, std::int64_t place) {
            for (std::int64_t done = 0; done < count;) {
              std::int64_t line = (pixel + done) / width, column = (pixel + done) % width;
              const std::int64_t left = count - done;
              const std::int64_t length = width - column < left ? width - column : left;
              std::int64_t offset = 0, step = extents[last];
              bool is_inside = true;
              for (std::size_t d = last; d-- > 0; step *= extents[d], line /= window.output[d]) {
                const std::int64_t at = line % window.output[d] * window.strides[d] -
                                        window.pad_begin(d) + tap[d] * window.dilations[d];
                is_inside = is_inside && at >= 0 && at < extents[d];
                offset += at * step;
              }
              const std::int64_t start =
                  column * stride - window.pad_begin(last) + tap[last] * window.dilations[last];
              const std::int64_t room = extents[last] - start;
              std::int64_t begin = start < 0 ? (-start + stride - 1) / stride : 0;
              std::int64_t end = room > 0 ? (room + stride - 1) / stride : 0;
              if (!is_inside) begin = end = 0;
              if (end > length) end = length;
              if (begin > end) begin = end;
              S* const out = to + place + done;
              for (std::int64_t i = 0; i < begin; ++i) out[i] = 0;
              if (begin < end) {
                const T* const from = x + image * image_step + offset + start;
                if (stride == 1) {
                  for (std::int64_t i = begin; i < end; ++i) out[i] = static_cast<S>(from[i]);
                } else {
                  for (std::int64_t i = begin; i < end; ++i)
                    out[i] = static_cast<S>(from[i * stride]);
                }
              }
              for (std::int64_t i = end; i < length; ++i) out[i] = 0;
              done += length;
            }
          });
      for (std::size_t i = rank; i-- > 0;) {
        if (++tap[i] < window.kernel[i]) break;
        tap[i] = 0;
      }
    }
  }

  void run(std::int64_t group, const T* x, const T* dy, T* dw, char* workspace,
           const Executor& executor) const {
    S* const patches = reinterpret_cast<S*>(workspace);
    S* const gradients = reinterpret_cast<S*>(workspace + patches_bytes());
    S* sums = reinterpret_cast<S*>(workspace + patches_bytes() + dy_bytes());
    S* before = reinterpret_cast<S*>(workspace + patches_bytes() + dy_bytes() + sums_bytes());
    void* const room = workspace + patches_bytes() + dy_bytes() + 2 * sums_bytes();
    const std::int64_t all = images * output, image_x = groups * channels * input;
    const std::int64_t image_dy = groups * filters * output;
    T* const to = dw + group * filters * row();
    if (all == 0) {
      for (std::int64_t i = 0; i < filters * row(); ++i) to[i] = T(0);
      return;
    }
    for (std::int64_t first = 0; first < all; first += block) {
      const std::int64_t n = all - first < block ? all - first : block;
      parallel_for(executor, channels, [&](std::int64_t c) {
        fill_patches(x + (group * channels + c) * input, image_x, first, n,
                     patches + c * kernel * n);
      });
      parallel_for(executor, filters, [&](std::int64_t f) {
        const T* const plane = dy + (group * filters + f) * output;
        for_each_part(
            first, n,
            [&](std::int64_t image, std::int64_t pixel, std::int64_t count, std::int64_t place) {
              const T* const from = plane + image * image_dy + pixel;
              S* const line = gradients + f * n + place;
              for (std::int64_t i = 0; i < count; ++i) line[i] = static_cast<S>(from[i]);
            });
      });
      Epilogue<S> addend;
      if (first != 0) addend.addend = before;
      addend.addend_row_stride = row();
      addend.addend_column_stride = 1;
      gemm<S>(row_major<const S>(gradients, filters, n),
              row_major<const S>(patches, row(), n).transposed(), row_major(sums, filters, row()),
              addend, room, executor);
      S* const swapped = before;
      before = sums;
      sums = swapped;
    }
    for (std::int64_t i = 0; i < filters * row(); ++i) to[i] = static_cast<T>(before[i]);
  }
};

/// The plan that brings x, which lies in blocks or is plain, into the form that gradients of weights read:
/// blocks of channels, or lines of each; false if there is none.
template <class T>
constexpr bool gradient_plan(ConvPlan& plan, ConvKind kind, const Window& w,
                             const WeightGradientForm& form, View<const T> x, View<T> dw) {
  if (w.rank() > 3 || x.size() == 0 || w.kernel[w.rank() - 1] > most_kernel_columns) return false;
  ConvShape& s = plan.shape;
  s.batch = x.extent(0);
  s.channels = dw.extent(1) * form.groups;
  s.filters = dw.extent(0);
  for (std::size_t i = 0; i < w.rank(); ++i) {
    const std::size_t to = 3 - w.rank() + i;
    if (w.output[i] == 0) return false;
    s.input[to] = x.extent(2 + i);
    s.kernel[to] = w.kernel[i];
    s.stride[to] = w.strides[i];
    s.dilation[to] = w.dilations[i];
    s.pads_begin[to] = w.pad_begin(i);
    // Such that there are as many windows as dy has elements.
    s.pads_end[to] = (w.output[i] - 1) * w.strides[i] + w.reach(i) - s.input[to] - w.pad_begin(i);
  }
  plan.kind = kind;
  plan.input = form.blocks.input ? Layout::blocked : Layout::plain;
  const bool has_form = std::is_same_v<T, float> && form.groups == 1 && has_winograd(s, form.edge);
  if (has_form) plan.edge = form.edge;
  plan_tiles<T>(plan);
  return true;
}

/// Whether DepthwiseWeightGradient computes a gradient, by this plan.
template <class T>
constexpr bool has_depthwise_gradient(ConvPlan& plan, const Window& w,
                                      const WeightGradientForm& form, View<const T> x, View<T> dw) {
  if constexpr (!is_real<T> || !std::is_same_v<T, compute_t<T>>) {
    return false;
  } else {
    return form.groups > 1 && dw.extent(1) * form.groups == dw.extent(0) && w.rank() <= 2 &&
           has_narrow_groups<T>(dw.extent(1)) &&
           gradient_plan(plan, ConvKind::blocked, w, form, x, dw);
  }
}

/// Whether FewChannelsGradient computes a gradient, by this plan.
template <class T>
constexpr bool has_few_channels_gradient(ConvPlan& plan, const Window& w,
                                         const WeightGradientForm& form, View<const T> x,
                                         View<T> dw) {
  if constexpr (!is_real<T> || !std::is_same_v<T, compute_t<T>>) {
    return false;
  } else {
    return form.groups == 1 && form.blocks.output && !form.blocks.input &&
           gradient_plan(plan, ConvKind::line, w, {}, x, dw);
  }
}

/// The gradient of a convolution's weights without patches: x lies in blocks of channels, so that a
/// vector of it belongs to neighbouring channels of the weights, and each tile of filters by
/// neighbouring taps, or blocks of channels, sums over all pixels of some images. Only some convolutions, with
/// groups of whole blocks if x and dy lie in some: is_possible.
template <class T>
struct BlockedWeightGradient {
  static constexpr std::int64_t N = channel_block<T>;
  /// Blocks of channels that a tile of one tap takes at once where dy lies in blocks, too.
  static constexpr int most_planes = 3;
  static_assert(gradient_rows(most_planes) >= (N + 1) / 2 || !is_real<T>);

  ConvPlan plan;
  Parts tiles{0, 1};   ///< of filters, or of those of a block
  Parts panels{0, 1};  ///< of planes
  std::int64_t groups = 1, images = 0, pixels = 0;
  bool in_blocks = false, is_possible = false;

  constexpr BlockedWeightGradient(const Window& w, const WeightGradientForm& form, View<const T> x,
                                  View<T> dw)
      : groups(form.groups), in_blocks(form.blocks.input) {
    if constexpr (is_real<T> && std::is_same_v<T, compute_t<T>>) {
      const bool has_blocks = in_blocks && dw.extent(1) % N == 0 && dw.extent(0) / groups % N == 0;
      is_possible = (groups == 1 || has_blocks) && (in_blocks || dw.extent(1) * 2 >= N) &&
                    gradient_plan(plan, ConvKind::blocked, w, form, x, dw);
      if (!is_possible) return;
      const ConvShape& s = plan.shape;
      pixels = s.output_pixels();
      int taps = 1;
      for_each_tap_group(plan, [&](std::int64_t, std::int64_t, std::int64_t, int count) {
        taps = count > taps ? count : taps;
      });
      const bool joins_planes = in_blocks && area() == 1;
      panels = Parts(plan.planes / groups, joins_planes ? most_planes : 1);
      tiles = Parts(in_blocks ? N : s.filters, gradient_rows(joins_planes ? most_planes : taps));
      images = images_at_once<T>(plan);
    }
  }
  constexpr std::int64_t area() const { return plan.shape.kernel_size(); }
  constexpr std::int64_t x_size() const {
    return plan.copies ? images * plan.planes * plan.plane_size() : 0;
  }
  constexpr std::int64_t dy_size() const {
    return in_blocks ? 0 : round_up(images * pixels * plan.shape.filters, N);
  }
  /// Sums stay while there are other images to come, else each share of the work has those of a tile.
  constexpr bool keeps_sums() const { return images < plan.shape.batch; }
  constexpr std::int64_t tile_count() const {
    return in_blocks ? channel_blocks<T>(group_filters()) * tiles.parts : tiles.parts;
  }
  constexpr std::int64_t group_filters() const { return plan.shape.filters / groups; }
  struct Filters {
    std::int64_t first, count;
  };
  /// The filters of a group that a tile has; the last tiles of blocks may have none.
  constexpr Filters filters(std::int64_t tile) const {
    const std::int64_t block = in_blocks ? tile / tiles.parts * N : 0, part = tile % tiles.parts;
    const std::int64_t first = block + tiles.begin(part), end = block + tiles.begin(part + 1);
    return {first, (end < group_filters() ? end : group_filters()) - first};
  }
  constexpr Parts shares() const {
    constexpr std::int64_t most = 16;
    const std::int64_t all = groups * panels.parts * tile_count();
    return Parts(all, Parts(all, most).parts);
  }
  constexpr std::int64_t tile_sums_size() const {
    const std::int64_t height = in_blocks ? N : Parts(plan.shape.filters, tiles.parts).parts;
    return height * area() * N * (in_blocks && area() == 1 ? most_planes : 1);
  }
  constexpr std::int64_t sums_size() const {
    return keeps_sums() ? plan.planes * area() * group_filters() * N
                        : shares().parts * tile_sums_size();
  }
  constexpr std::int64_t bytes() const {
    return (x_size() + dy_size() + sums_size()) * std::int64_t(sizeof(T));
  }

  void run(const T* x, const T* dy, T* dw, void* workspace, const Executor& executor) const {
    if constexpr (is_real<T> && std::is_same_v<T, compute_t<T>>) {
      const ConvShape& s = plan.shape;
      T* const blocks = static_cast<T*>(workspace);
      T* const rows = blocks + x_size();
      T* const sums = rows + dy_size();
      for (std::int64_t image = 0; image < s.batch; image += images) {
        const std::int64_t count = s.batch - image < images ? s.batch - image : images;
        copy_images(plan, x, image, count, blocks, executor);
        parallel_for(executor, in_blocks ? 0 : tiles.parts, [&](std::int64_t tile) {
          const auto [f, height] = filters(tile);
          for (std::int64_t i = 0; i < count; ++i) {
            pack_strip(dy + ((image + i) * s.filters + f) * pixels, pixels, std::int64_t{1}, height,
                       pixels, rows + (f * count + i * height) * pixels, height);
          }
        });
        const bool is_last = image + count == s.batch;
        const std::int64_t dy_image = channel_blocks<T>(s.filters) * pixels * N;
        parallel_for(executor, shares().parts, [&](std::int64_t share) {
          for (std::int64_t i = shares().begin(share); i < shares().begin(share + 1); ++i) {
            const std::int64_t panel = i / tile_count() % panels.parts;
            const std::int64_t group = i / (tile_count() * panels.parts);
            const std::int64_t first = panels.begin(panel), plane = group * panels.count + first;
            const std::int64_t planes = panels.begin(panel + 1) - first;
            const auto [f, height] = filters(i % tile_count());
            if (height <= 0) continue;
            T* const own = keeps_sums() ? sums + (plane * group_filters() + f) * area() * N
                                        : sums + share * tile_sums_size();
            const std::int64_t next = (keeps_sums() ? group_filters() : height) * area() * N;
            const std::int64_t filter = group * group_filters() + f;
            GradientTile<T> tile;
            tile.x = (plan.copies ? blocks : x) + plane * plan.plane_size();
            tile.x_image = plan.planes * plan.plane_size();
            if (in_blocks) {
              tile.dy = dy + image * dy_image + filter / N * pixels * N + filter % N;
              tile.dy_image = dy_image;
              tile.dy_column = N;
            } else {
              tile.dy = rows + f * count * pixels;
              tile.dy_image = height * pixels;
              tile.dy_column = height;
            }
            if (planes > 1) {
              add_planes(tile, count, planes, height, own, next, image != 0);
            } else {
              add_taps(tile, count, height, own, image != 0);
            }
            for (std::int64_t p = 0; is_last && p < planes; ++p) {
              unblock_weights(s.channels / groups, area(), own + p * next, first + p, filter,
                              height, dw);
            }
          }
        });
      }
    }
  }

 private:
  /// The sums of `height` filters and the channels of neighbouring planes over some images, of one tap:
  /// [plane][filter], the planes `next` apart.
  void add_planes(GradientTile<T> tile, std::int64_t count, std::int64_t planes,
                  std::int64_t height, T* sums, std::int64_t next, bool accumulate) const {
    tile.images = count;
    tile.columns = pixels;  // of one row
    tile.x_tap = plan.plane_size();
    tile.dw = sums;
    tile.dw_row = N;
    tile.dw_tap = next;
    tile.accumulate = accumulate;
    gradient_table<T>.kernels[height - 1][planes - 1](tile);
  }
  /// The sums of `height` filters and the channels of a plane over some images: [filter][tap].
  void add_taps(GradientTile<T> tile, std::int64_t count, std::int64_t height, T* sums,
                bool accumulate) const {
    const ConvShape& s = plan.shape;
    const std::int64_t line = plan.row_size();
    const T *const x = tile.x, *const dy = tile.dy;
    tile.rows = s.output(1);
    tile.columns = s.output(2);
    tile.x_row = plan.row_step * line;
    tile.dy_row = tile.columns * tile.dy_column;
    tile.dw_row = area() * N;
    // The images one after the other, or frame by frame.
    const std::int64_t depth = s.output(0), runs = depth == 1 ? 1 : count * depth;
    tile.images = depth == 1 ? count : 1;
    for (std::int64_t k = 0; k < s.kernel[0] * s.kernel[1]; ++k) {
      const std::int64_t frame = k / s.kernel[1] * s.dilation[0];
      const T* const first = x + frame * plan.frame_size() + k % s.kernel[1] * s.dilation[1] * line;
      for_each_tap_group(plan,
                         [&](std::int64_t offset, std::int64_t kw, std::int64_t step, int taps) {
                           tile.dw = sums + (k * s.kernel[2] + kw) * N;
                           tile.dw_tap = step * N;
                           for (std::int64_t run = 0; run < runs; ++run) {
                             tile.x = first + run / depth * tile.x_image +
                                      run % depth * plan.frame_step * plan.frame_size() + offset;
                             tile.dy = dy + run * tile.rows * tile.columns * height;
                             tile.accumulate = accumulate || run > 0;
                             gradient_table<T>.kernels[height - 1][taps - 1](tile);
                           }
                         });
    }
  }
};

}  // namespace detail

/// op::ConvWeightGradient; the window's output is dy's. Sums are in the compute type over blocks of
/// pixels, or of images, in their order, whatever the number of threads. By the form F(edge x edge,
/// kernel) of Winograd if there is one and T is float. x and dy may lie in blocks where there is one group,
/// or groups have whole blocks or as many channels as filters that divide a block, and the kernel has no more than
/// 256 columns; of one group, dy alone may, too.
template <class T>
constexpr std::size_t convolution_weight_gradient_workspace(const Window& window,
                                                            const WeightGradientForm& form,
                                                            View<const T> x, View<const T> dy,
                                                            View<T> dw) {
  if (dw.size() == 0) return 0;
  if (ConvPlan plan; detail::has_depthwise_gradient(plan, window, form, x, dw)) {
    return std::size_t(detail::DepthwiseWeightGradient<T>{plan, dw.extent(1)}.bytes());
  }
  if (ConvPlan plan; detail::has_few_channels_gradient(plan, window, form, x, dw)) {
    return std::size_t(detail::FewChannelsGradient<T>(plan).bytes());
  }
  const detail::BlockedWeightGradient<T> b(window, form, x, dw);
  if (!b.is_possible) {
    const detail::WeightGradient<T> c(window, form.groups, x, dy);
    return std::size_t(c.tasks() * c.task_bytes());
  }
  std::int64_t bytes = b.bytes();
  detail::with_winograd<T, every_conv>(b.plan, [&]<class F>(F) {
    bytes = detail::WinogradWeightGradient<F>(b.plan.shape, b.in_blocks).bytes();
  });
  return std::size_t(bytes);
}

template <class T>
void convolution_weight_gradient(const Window& window, const WeightGradientForm& form,
                                 const KernelCall& call, View<const T> x, View<const T> dy,
                                 View<T> dw) {
  if (dw.size() == 0) return;
  if (ConvPlan plan; detail::has_depthwise_gradient(plan, window, form, x, dw)) {
    const detail::DepthwiseWeightGradient<T> d{plan, dw.extent(1)};
    return d.run(x.data, dy.data, dw.data, call.workspace, *call.executor);
  }
  if (ConvPlan plan; detail::has_few_channels_gradient(plan, window, form, x, dw)) {
    const detail::FewChannelsGradient<T> f(plan);
    return f.run(x.data, dy.data, dw.data, call.workspace, *call.executor);
  }
  const detail::BlockedWeightGradient<T> b(window, form, x, dw);
  if (b.is_possible) {
    if (b.plan.edge == 0) return b.run(x.data, dy.data, dw.data, call.workspace, *call.executor);
    return detail::with_winograd<T, every_conv>(b.plan, [&]<class F>(F) {
      const detail::WinogradWeightGradient<F> winograd(b.plan.shape, b.in_blocks);
      winograd.run(x.data, dy.data, dw.data, call.workspace, *call.executor);
    });
  }
  const detail::WeightGradient<T> c(window, form.groups, x, dy);
  const std::int64_t tasks = c.tasks();
  const auto run = [&](std::int64_t task, const Executor& executor) {
    char* const workspace = static_cast<char*>(call.workspace) + task * c.task_bytes();
    const std::int64_t end = form.groups * (task + 1) / tasks;
    for (std::int64_t group = form.groups * task / tasks; group < end; ++group) {
      c.run(group, x.data, dy.data, dw.data, workspace, executor);
    }
  };
  if (tasks == 1) {
    run(0, *call.executor);
  } else {
    parallel_for(*call.executor, tasks, [&](std::int64_t task) { run(task, {}); });
  }
}

}  // namespace halftone::kernel
