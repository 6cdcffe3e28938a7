#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/window.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/kernel/conv.hpp>
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

/// A transposed convolution as a convolution with stride 1 and the kernel flipped, of x with zeros
/// between its elements where there is a stride. Only some can: is_possible.
template <class T>
struct FlippedConvolution {
  const Window& window;
  std::int64_t input[3] = {1, 1, 1}, strides[3] = {1, 1, 1};
  ConvPlan plan;
  bool is_possible = false, has_zeros = false;

  FlippedConvolution(const Window& w, std::int64_t groups, View<const T> x, View<const T> weights)
      : window(w) {
    if constexpr (is_real<T> && std::is_same_v<T, compute_t<T>>) {
      if (groups != 1 || w.rank() > 2) return;
      ConvShape s;
      s.batch = x.extent(0);
      s.channels = x.extent(1);
      s.filters = weights.extent(1);
      const std::size_t skipped = 3 - w.rank();
      std::int64_t zeros = 1;
      is_possible = true;
      for (std::size_t i = 0; i < w.rank(); ++i) {
        const std::size_t to = skipped + i;
        input[to] = x.extent(2 + i);
        strides[to] = w.strides[i];
        zeros *= w.strides[i];
        s.input[to] = (input[to] - 1) * strides[to] + 1;
        s.kernel[to] = w.kernel[i];
        s.dilation[to] = w.dilations[i];
        s.pads_begin[to] = w.reach(i) - 1 - w.pad_begin(i);
        s.pads_end[to] = w.output[i] + w.pad_begin(i) - s.input[to];
        is_possible = is_possible && input[to] > 0 && s.pads_begin[to] >= 0 && s.pads_end[to] >= 0;
      }
      // Work grows with the zeros.
      is_possible = is_possible && zeros <= 4;
      if (!is_possible) return;
      has_zeros = zeros > 1;
      plan = conv_plan<T>(s, Layout::plain, Layout::plain);
      is_possible = plan.kind == ConvKind::blocked || plan.kind == ConvKind::line;
    }
  }
  std::int64_t packed_bytes() const { return round_up(plan.packed_bytes, 64); }
  std::int64_t x_bytes() const {
    const ConvShape& s = plan.shape;
    return has_zeros
               ? round_up(s.batch * s.channels * s.input_pixels() * std::int64_t(sizeof(T)), 64)
               : 0;
  }
  std::int64_t bytes() const { return packed_bytes() + x_bytes() + plan.workspace_bytes; }

  void run(const T* x, const T* w, const T* b, T* y, char* workspace,
           const Executor& executor) const {
    if constexpr (is_real<T> && std::is_same_v<T, compute_t<T>>) {
      const ConvShape& s = plan.shape;
      char* const packed = workspace;
      pack_tiles(plan, w, WeightOrder::transposed, packed, executor);
      workspace += packed_bytes();
      if (has_zeros) {
        T* const wide = reinterpret_cast<T*>(workspace);
        workspace += x_bytes();
        const std::int64_t from_rows = input[1], from_columns = input[2];
        const std::int64_t rows = s.input[1], columns = s.input[2];
        parallel_for(executor, s.batch * s.channels, [&](std::int64_t plane) {
          const T* from = x + plane * from_rows * from_columns;
          T* const to = wide + plane * rows * columns;
          for (std::int64_t i = 0; i < rows * columns; ++i) to[i] = T(0);
          for (std::int64_t i = 0; i < from_rows; ++i) {
            for (std::int64_t j = 0; j < from_columns; ++j) {
              to[i * strides[1] * columns + j * strides[2]] = *from++;
            }
          }
        });
        x = wide;
      }
      ConvEpilogue<T> epilogue;
      epilogue.bias = b;
      conv(plan, x, packed, y, epilogue, workspace, executor);
    }
  }
};

}  // namespace detail

/// op::ConvTranspose. Sums over channels are in one chain, then added over kernel positions in
/// their order, or all in one chain; the order follows from the shape, whatever the number of
/// threads.
template <class T>
std::size_t transposed_convolution_workspace(const Window& window, std::int64_t groups,
                                             View<const T> x, View<const T> w, View<T>) {
  const detail::TransposedConvolution<T> c(window, groups, x, w);
  if (c.is_empty()) return 0;
  if (const detail::FlippedConvolution<T> f(window, groups, x, w); f.is_possible) {
    return std::size_t(f.bytes());
  }
  return std::size_t(c.x_bytes() + c.w_bytes() + c.tasks() * c.task_bytes());
}

template <class T>
void transposed_convolution(const Window& window, std::int64_t groups, const KernelCall& call,
                            View<const T> x, View<const T> w, View<const T> b, View<T> y) {
  const detail::TransposedConvolution<T> c(window, groups, x, w);
  if (c.is_empty()) return;
  char* workspace = static_cast<char*>(call.workspace);
  if (const detail::FlippedConvolution<T> f(window, groups, x, w); f.is_possible) {
    f.run(x.data, w.data, b.data, y.data, workspace, *call.executor);
    return;
  }
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
