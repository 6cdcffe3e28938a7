#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/window.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/kernel/copy.hpp>
#include <halftone/kernel/matmul.hpp>

namespace halftone::kernel {

namespace detail {

/// A transposed convolution as products of matrices: for each image and group, columns[filter and
/// kernel position, pixel of x] = transposed w times x, whose rows are then added up in y. Some
/// filters at a time, so that their columns stay in the cache.
template <class T>
struct TransposedConvolution {
  using S = compute_t<T>;
  static constexpr bool is_converted = !std::is_same_v<T, S>;
  static constexpr std::int64_t most_columns = 1 << 19, most_tasks = 16;

  const Window& window;
  std::int64_t images, groups, channels, filters;  ///< of a group
  std::int64_t kernel = 1, pixels = 1, output = 1, block = 1;
  const std::int64_t* input;

  TransposedConvolution(const Window& w, std::int64_t groups_, View<const T> x,
                        View<const T> weights)
      : window(w),
        images(x.extent(0)),
        groups(groups_),
        channels(x.extent(1) / groups_),
        filters(weights.extent(1)),
        input(x.extents + 2) {
    for (std::size_t i = 0; i < w.rank(); ++i) {
      kernel *= w.kernel[i];
      pixels *= input[i];
      output *= w.output[i];
    }
    block = pixels > 0 ? most_columns / (kernel * pixels) : 1;
    block = block < 1 ? 1 : block > filters ? filters : block;
  }
  bool is_empty() const { return images == 0 || groups == 0 || filters == 0; }
  /// Small products are shared out whole, large ones each divided.
  std::int64_t tasks() const {
    const std::int64_t count = images * groups;
    if (double(filters * kernel) * double(pixels) * double(channels) >= double(1 << 22)) return 1;
    return count < most_tasks ? count : most_tasks;
  }
  // Parts of the workspace, in bytes: what is converted to the compute type, once; columns, sums
  // of half y and gemm's own, for each task.
  std::int64_t x_bytes() const {
    return is_converted ? aligned(images * groups * channels * pixels * 4) : 0;
  }
  std::int64_t w_bytes() const {
    return is_converted ? aligned(groups * channels * filters * kernel * 4) : 0;
  }
  std::int64_t columns_bytes() const {
    return aligned(block * kernel * pixels * std::int64_t(sizeof(S)));
  }
  std::int64_t sums_bytes() const { return is_converted ? aligned(block * output * 4) : 0; }
  std::int64_t task_bytes() const {
    return columns_bytes() + sums_bytes() +
           aligned(gemm_workspace_bytes<S>(block * kernel, pixels, channels));
  }

  /// Adds the columns of one filter to its plane of y.
  void add_columns(const S* columns, S* y) const {
    const std::size_t rank = window.rank();
    const Dims from = row_major_strides({input, rank});
    const Dims to = row_major_strides(window.output.span());
    std::int64_t at[max_rank] = {};  // in the kernel
    for (std::int64_t k = 0; k < kernel; ++k, columns += pixels) {
      // The box of pixels whose element of this kernel position lies in y.
      Box box;
      std::int64_t x_offset = 0, y_offset = 0;
      bool any = true;
      for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t start = at[i] * window.dilations[i] - window.pad_begin(i);
        const std::int64_t stride = window.strides[i];
        const std::int64_t first = start < 0 ? (-start + stride - 1) / stride : 0;
        const std::int64_t room = window.output[i] - start;
        std::int64_t last = room > 0 ? (room + stride - 1) / stride : 0;
        if (last > input[i]) last = input[i];
        any = any && first < last;
        x_offset += first * from[i];
        y_offset += (start + first * stride) * to[i];
        box.add(last - first, to[i] * stride, from[i]);
      }
      if (any) add_box(box, columns + x_offset, y + y_offset);
      for (std::size_t i = rank; i-- > 0;) {
        if (++at[i] < window.kernel[i]) break;
        at[i] = 0;
      }
    }
  }
  static void add_box(Box box, const S* from, S* to) {
    const Axis row(box, --box.rank);
    for_each_offset(box, [&](std::int64_t y_row, std::int64_t x_row) {
      const S* const x = from + x_row;
      S* const y = to + y_row;
      if (row.to == 1) {
        for (std::int64_t i = 0; i < row.n; ++i) y[i] += x[i];
      } else if (row.to == 2) {
        for (std::int64_t i = 0; i < row.n; ++i) y[2 * i] += x[i];
      } else {
        for (std::int64_t i = 0; i < row.n; ++i) y[row.to * i] += x[i];
      }
    });
  }

  /// All filters of one group for one image.
  void run(const S* x, const S* w, const T* b, T* y, char* workspace,
           const Executor& executor) const {
    S* const columns = reinterpret_cast<S*>(workspace);
    S* const sums = reinterpret_cast<S*>(workspace + columns_bytes());
    void* const gemm_workspace = workspace + columns_bytes() + sums_bytes();
    const std::int64_t row = filters * kernel;
    for (std::int64_t first = 0; first < filters; first += block) {
      const std::int64_t count = filters - first < block ? filters - first : block;
      const Matrix<const S> left{w + first * kernel, count * kernel, channels, 1, row};
      gemm<S>(left, row_major(x, channels, pixels), row_major(columns, count * kernel, pixels), {},
              gemm_workspace, executor);
      parallel_for(executor, count, [&](std::int64_t f) {
        T* const plane = y + (first + f) * output;
        const S bias = b == nullptr ? S(0) : S(b[first + f]);
        if constexpr (is_converted) {
          S* const sum = sums + f * output;
          for (std::int64_t i = 0; i < output; ++i) sum[i] = bias;
          add_columns(columns + f * kernel * pixels, sum);
          for (std::int64_t i = 0; i < output; ++i) plane[i] = static_cast<T>(sum[i]);
        } else {
          for (std::int64_t i = 0; i < output; ++i) plane[i] = bias;
          add_columns(columns + f * kernel * pixels, plane);
        }
      });
    }
  }
};

/// x as it is, or in the compute type in `memory`.
template <class T>
const compute_t<T>* in_compute_type(const Executor& executor, const T* x, std::int64_t n,
                                    void* memory) {
  using S = compute_t<T>;
  if constexpr (std::is_same_v<T, S>) {
    return x;
  } else {
    S* const to = static_cast<S*>(memory);
    const std::int64_t tasks = copy_tasks(n * std::int64_t(sizeof(T)));
    parallel_for(executor, tasks, [&](std::int64_t i) {
      const std::int64_t end = n * (i + 1) / tasks;
      for (std::int64_t j = n * i / tasks; j < end; ++j) to[j] = static_cast<S>(x[j]);
    });
    return to;
  }
}

}  // namespace detail

/// op::ConvTranspose. Sums over channels are in one chain, then added over kernel positions in
/// their order, whatever the number of threads.
template <class T>
std::size_t transposed_convolution_workspace(const Window& window, std::int64_t groups,
                                             View<const T> x, View<const T> w, View<T>) {
  const detail::TransposedConvolution<T> c(window, groups, x, w);
  if (c.is_empty()) return 0;
  return std::size_t(c.x_bytes() + c.w_bytes() + c.tasks() * c.task_bytes());
}

template <class T>
void transposed_convolution(const Window& window, std::int64_t groups, const KernelCall& call,
                            View<const T> x, View<const T> w, View<const T> b, View<T> y) {
  const detail::TransposedConvolution<T> c(window, groups, x, w);
  if (c.is_empty()) return;
  char* workspace = static_cast<char*>(call.workspace);
  const auto* const from = detail::in_compute_type(*call.executor, x.data, x.size(), workspace);
  workspace += c.x_bytes();
  const auto* const weights = detail::in_compute_type(*call.executor, w.data, w.size(), workspace);
  workspace += c.w_bytes();
  const std::int64_t count = c.images * c.groups, tasks = c.tasks();
  const auto run = [&](std::int64_t task, const Executor& executor) {
    const std::int64_t end = count * (task + 1) / tasks;
    for (std::int64_t i = count * task / tasks; i < end; ++i) {
      const std::int64_t group = i % c.groups;
      c.run(from + i * c.channels * c.pixels, weights + group * c.channels * c.filters * c.kernel,
            b ? b.data + group * c.filters : nullptr, y.data + i * c.filters * c.output,
            workspace + task * c.task_bytes(), executor);
    }
  };
  if (tasks == 1) {
    run(0, *call.executor);
  } else {
    parallel_for(*call.executor, tasks, [&](std::int64_t task) { run(task, {}); });
  }
}

}  // namespace halftone::kernel
