#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/window.hpp>
#include <halftone/graph/runner.hpp>
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

  WeightGradient(const Window& w, std::int64_t groups_, View<const T> x, View<const T> dy)
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
  std::int64_t row() const { return channels * kernel; }
  bool is_empty() const { return groups == 0 || filters == 0 || row() == 0; }
  std::int64_t tasks() const { return groups < most_tasks ? groups : most_tasks; }
  std::int64_t patches_bytes() const { return aligned(row() * block * std::int64_t(sizeof(S))); }
  std::int64_t dy_bytes() const { return aligned(filters * block * std::int64_t(sizeof(S))); }
  std::int64_t sums_bytes() const { return aligned(filters * row() * std::int64_t(sizeof(S))); }
  std::int64_t task_bytes() const {
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

}  // namespace detail

/// op::ConvWeightGradient; the window's output is dy's. Sums are in the compute type over blocks of
/// pixels in their order, whatever the number of threads.
template <class T>
std::size_t convolution_weight_gradient_workspace(const Window& window, std::int64_t groups,
                                                  View<const T> x, View<const T> dy) {
  const detail::WeightGradient<T> c(window, groups, x, dy);
  if (c.is_empty()) return 0;
  return std::size_t(c.tasks() * c.task_bytes());
}

template <class T>
void convolution_weight_gradient(const Window& window, std::int64_t groups, const KernelCall& call,
                                 View<const T> x, View<const T> dy, View<T> dw) {
  const detail::WeightGradient<T> c(window, groups, x, dy);
  if (c.is_empty()) return;
  const std::int64_t tasks = c.tasks();
  const auto run = [&](std::int64_t task, const Executor& executor) {
    char* const workspace = static_cast<char*>(call.workspace) + task * c.task_bytes();
    const std::int64_t end = groups * (task + 1) / tasks;
    for (std::int64_t group = groups * task / tasks; group < end; ++group) {
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
