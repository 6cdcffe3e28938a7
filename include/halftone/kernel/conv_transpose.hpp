#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/window.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/kernel/columns.hpp>
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

  constexpr TransposedConvolution(const Window& w, std::int64_t groups_, View<const T> x,
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
  constexpr bool is_empty() const { return images == 0 || groups == 0 || filters == 0; }
  /// Small products are shared out whole, large ones each divided.
  constexpr std::int64_t tasks() const {
    const std::int64_t count = images * groups;
    if (double(filters * kernel) * double(pixels) * double(channels) >= double(1 << 22)) return 1;
    return count < most_tasks ? count : most_tasks;
  }
  // Parts of the workspace, in bytes: what is converted to the compute type, once; columns, sums
  // of half y and gemm's own, for each task.
  constexpr std::int64_t x_bytes() const {
    return is_converted ? aligned(images * groups * channels * pixels * 4) : 0;
  }
  constexpr std::int64_t w_bytes() const {
    return is_converted ? aligned(groups * channels * filters * kernel * 4) : 0;
  }
  constexpr std::int64_t columns_bytes() const {
    return aligned(block * kernel * pixels * std::int64_t(sizeof(S)));
  }
  constexpr std::int64_t sums_bytes() const {
    return is_converted ? aligned(block * output * 4) : 0;
  }
  constexpr std::int64_t task_bytes() const {
    return columns_bytes() + sums_bytes() +
           aligned(gemm_workspace_bytes<S>(block * kernel, pixels, channels));
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
          add_columns(window, window.output.begin(), input, columns + f * kernel * pixels, sum);
          for (std::int64_t i = 0; i < output; ++i) plane[i] = static_cast<T>(sum[i]);
        } else {
          for (std::int64_t i = 0; i < output; ++i) plane[i] = bias;
          add_columns(window, window.output.begin(), input, columns + f * kernel * pixels, plane);
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

/// A transposed convolution as convolutions with stride 1 and flipped kernels: one for each phase,
/// the outputs that are equal modulo the strides, with the kernel elements that those see. Only
/// some can: is_possible. Of several groups, those of plans that divide channels.
template <class T>
struct FlippedConvolution {
  static constexpr std::int64_t N = channel_block<T>;
  struct Phase {
    ConvPlan plan;
    bool is_seen = true;         ///< by any element of the kernel
    std::int64_t first[3] = {};  ///< output in front of the plan's first one; may be outside
  };

  std::int64_t output[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, strides[3] = {1, 1, 1};
  std::int64_t count = 1, groups = 1;
  Layout layout;  ///< of x and y
  Phase phases[most_phases];
  bool is_possible = false;

  constexpr FlippedConvolution(const Window& w, std::int64_t groups_, Precision precision,
                               View<const T> x, View<const T> weights,
                               Layout layout_ = Layout::plain)
      : groups(groups_), layout(layout_) {
    if constexpr (is_real<T> && std::is_same_v<T, compute_t<T>>) {
      if (w.rank() > 3 || x.size() == 0 || !has_phases(w)) return;
      const std::size_t skipped = 3 - w.rank();
      std::int64_t input[3] = {1, 1, 1}, dilations[3] = {1, 1, 1}, pads[3] = {};
      for (std::size_t i = 0; i < w.rank(); ++i) {
        const std::size_t to = skipped + i;
        input[to] = x.extent(2 + i);
        output[to] = w.output[i];
        kernel[to] = w.kernel[i];
        strides[to] = w.strides[i];
        dilations[to] = w.dilations[i];
        pads[to] = w.pad_begin(i);
      }
      count = strides[0] * strides[1] * strides[2];
      for (std::int64_t p = 0; p < count; ++p) {
        Phase& phase = phases[p];
        ConvShape s;
        s.batch = x.extent(0);
        s.channels = weights.extent(0);
        s.filters = groups * weights.extent(1);
        s.groups = groups;
        for (int i = 0; i < 3; ++i) {
          // Output u * stride + at - pad sees x[u - t] through kernel element at + t * stride.
          const std::int64_t stride = strides[i], at = i == 2   ? p % strides[2]
                                                       : i == 1 ? p / strides[2]
                                                                : 0;
          const std::int64_t taps = at < kernel[i] ? (kernel[i] - at + stride - 1) / stride : 0;
          phase.is_seen = phase.is_seen && taps > 0;
          const std::int64_t reach = taps > 0 ? (taps - 1) * dilations[i] : 0;
          const std::int64_t inside = pads[i] > at ? (pads[i] - at + stride - 1) / stride : 0;
          const std::int64_t first = inside < reach ? inside : reach;
          const std::int64_t outputs = (output[i] - 1 + pads[i] - at) / stride - first + 1;
          phase.first[i] = first * stride + at - pads[i];
          s.input[i] = input[i];
          s.kernel[i] = taps > 0 ? taps : 1;
          s.dilation[i] = dilations[i];
          s.pads_begin[i] = reach - first;
          s.pads_end[i] = outputs + reach - input[i] - s.pads_begin[i];
        }
        phase.plan = conv_plan<T>(s, layout, layout, 0, precision);
        // Phases share the kernel's rows, which are no neighbours there.
        if (count > 1 && phase.plan.kind == ConvKind::line) {
          phase.plan = conv_plan<T>(s, layout, layout);
        }
        const ConvPlan& plan = phase.plan;
        const bool has_kind = plan.kind == ConvKind::blocked ||
                              plan.kind == (groups > 1 ? ConvKind::depthwise : ConvKind::line);
        if (!has_kind || plan.kind != phases[0].plan.kind) return;
      }
      is_possible = true;
    }
  }
  /// Bytes of the packed weights of the phases before p.
  constexpr std::int64_t packed_bytes(std::int64_t p) const {
    std::int64_t bytes = 0;
    for (std::int64_t i = 0; i < p; ++i) bytes += round_up(phases[i].plan.packed_bytes, 64);
    return bytes;
  }
  /// Bytes of one phase's outputs.
  constexpr std::int64_t output_bytes() const {
    std::int64_t most = 0;
    for (std::int64_t p = 0; count > 1 && p < count; ++p) {
      const ConvShape& s = phases[p].plan.shape;
      const std::int64_t size = activation_size<T>(layout, s.batch, s.filters, s.output_pixels());
      most = size > most ? size : most;
    }
    return round_up(most * std::int64_t(sizeof(T)), 64);
  }
  constexpr std::int64_t bytes() const {
    std::int64_t most = 0;
    for (std::int64_t p = 0; p < count; ++p) {
      const std::int64_t needed = phases[p].plan.workspace_bytes;
      most = needed > most ? needed : most;
    }
    return packed_bytes(count) + output_bytes() + flipped_bytes() + most;
  }
  /// Bytes of the weights of a phase, of several groups, as a convolution takes them.
  constexpr std::int64_t flipped_bytes() const {
    const ConvShape& s = phases[0].plan.shape;
    if (groups == 1) return 0;
    const std::int64_t area = kernel[0] * kernel[1] * kernel[2];
    return round_up(s.filters * s.channels_per_group() * area * std::int64_t(sizeof(T)), 64);
  }

  void run(const T* x, const T* w, const T* b, T* y, char* workspace,
           const Executor& executor) const {
    if constexpr (is_real<T> && std::is_same_v<T, compute_t<T>>) {
      char* const packed = workspace;
      T* const part = reinterpret_cast<T*>(packed + packed_bytes(count));
      workspace += packed_bytes(count) + output_bytes();
      T* const flipped = reinterpret_cast<T*>(workspace);
      workspace += flipped_bytes();
      ConvEpilogue<T> epilogue;
      epilogue.bias = b;
      for (std::int64_t p = 0; groups > 1 && p < count; ++p) {
        if (!phases[p].is_seen) continue;
        flip_groups(p, w, flipped);
        conv_pack(phases[p].plan, flipped, packed + packed_bytes(p), executor);
      }
      if (count == 1 && groups > 1) {
        conv(phases[0].plan, x, packed, y, epilogue, workspace, executor);
        return;
      }
      if (count == 1) {
        pack_tiles(phases[0].plan, w, WeightOrder::transposed, packed, executor);
        conv(phases[0].plan, x, packed, y, epilogue, workspace, executor);
        return;
      }
      if (groups == 1) pack_phases(w, packed, executor);
      for (std::int64_t p = 0; p < count; ++p) {
        const Phase& phase = phases[p];
        if (phase.is_seen) {
          conv(phase.plan, x, packed + packed_bytes(p), part, epilogue, workspace, executor);
        }
        if (layout == Layout::plain) {
          scatter(phase, phase.is_seen ? part : nullptr, b, y, executor);
        } else {
          scatter_blocks(phase, phase.is_seen ? part : nullptr, y, executor);
        }
      }
    }
  }

 private:
  /// The weights of a phase, [filters, channels of a group, kernel], of w [channels, filters of a group, kernel].
  void flip_groups(std::int64_t p, const T* w, T* to) const {
    const ConvShape& s = phases[p].plan.shape;
    const std::int64_t channels = s.channels_per_group(), filters = s.filters_per_group();
    const std::int64_t area = kernel[0] * kernel[1] * kernel[2];
    for (std::int64_t i = 0; i < s.filters * channels; ++i) {
      const std::int64_t f = i / channels, channel = f / filters * channels + i % channels;
      const T* const from = w + (channel * filters + f % filters) * area;
      for (std::int64_t d = s.kernel[0]; d-- > 0;) {
        for (std::int64_t h = s.kernel[1]; h-- > 0;) {
          const std::int64_t row = d * kernel[1] + h * strides[1] + p / strides[2];
          for (std::int64_t v = s.kernel[2]; v-- > 0;) {
            *to++ = from[row * kernel[2] + v * strides[2] + p % strides[2]];
          }
        }
      }
    }
  }
  /// The weights of all phases, read once.
  void pack_phases(const T* w, char* packed, const Executor& executor) const {
    struct {
      std::uint8_t phase, tap;
    } places[most_phase_area];
    const std::int64_t area = kernel[1] * kernel[2];
    for (std::int64_t tap = 0; tap < area; ++tap) {
      const std::int64_t h = tap / kernel[2], v = tap % kernel[2];
      const std::int64_t p = h % strides[1] * strides[2] + v % strides[2];
      const ConvShape& s = phases[p].plan.shape;
      const std::int64_t row = s.kernel[1] - 1 - h / strides[1];
      const std::int64_t column = s.kernel[2] - 1 - v / strides[2];
      places[tap] = {std::uint8_t(p), std::uint8_t(row * s.kernel[2] + column)};
    }
    for (std::int64_t p = 0; p < count; ++p) {
      write_segments(phases[p].plan, packed + packed_bytes(p));
    }
    const ConvPlan& any = phases[0].plan;
    const auto order = WeightOrder::transposed;
    for_each_panel(any, order, executor, [&](std::int64_t panel, std::int64_t plane) {
      const std::int64_t f = panel * panel_columns<T>;
      const std::int64_t width = vectors_of_panel<T>(f, any.shape.filters) * N;
      T* to[most_phases] = {};
      for (std::int64_t p = 0; p < count; ++p) {
        to[p] = place_of_weights<T>(phases[p].plan, packed + packed_bytes(p), panel, plane);
        clear_missing_weights(phases[p].plan, plane, width, to[p]);
      }
      for_each_weight(any, area, w, order, 0, f, plane,
                      [&](std::int64_t tap, std::int64_t channel, std::int64_t v, Vec<T> lanes) {
                        const auto at = places[tap];
                        store_weights(any, lanes, channel, 0, width,
                                      to[at.phase] + at.tap * any.unit * width + v * N);
                      });
    });
  }

  /// f(plane of y, output of a phase, its place in y) for all outputs of a phase that are in y; `planes` are those
  /// of an image.
  template <class F>
  void for_each_output(const Phase& phase, std::int64_t planes, const Executor& executor,
                       F&& f) const {
    const ConvShape& s = phase.plan.shape;
    const std::int64_t rows = s.output(1), columns = s.output(2), step = strides[2];
    const std::int64_t skipped = phase.first[2] < 0 ? (-phase.first[2] + step - 1) / step : 0;
    parallel_for(executor, s.batch * planes, [&](std::int64_t plane) {
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t h = phase.first[1] + i * strides[1];
        if (h < 0) continue;
        const std::int64_t row = (plane * output[1] + h) * output[2] + phase.first[2];
        const std::int64_t from = (plane * rows + i) * columns;
        for (std::int64_t j = skipped; j < columns; ++j) f(plane, from + j, row + j * step);
      }
    });
  }
  /// One phase's outputs in blocks to their places in y; without any, zero.
  void scatter_blocks(const Phase& phase, const T* part, T* y, const Executor& executor) const {
    const std::int64_t blocks = channel_blocks<T>(phase.plan.shape.filters);
    for_each_output(phase, blocks, executor, [&](std::int64_t, std::int64_t from, std::int64_t to) {
      const Vec<T> v = part == nullptr ? Vec<T>(T(0)) : Vec<T>::load(part + from * N);
      v.store(y + to * N);
    });
  }
  /// One phase's outputs to their places in y; without any, the bias.
  void scatter(const Phase& phase, const T* part, const T* b, T* y,
               const Executor& executor) const {
    const std::int64_t filters = phase.plan.shape.filters;
    for_each_output(phase, filters, executor,
                    [&](std::int64_t plane, std::int64_t from, std::int64_t to) {
                      const T bias = b == nullptr ? T(0) : b[plane % filters];
                      y[to] = part == nullptr ? bias : part[from];
                    });
  }
};

}  // namespace detail

/// op::BlockedConvTranspose, of a window that has_phases().
template <class T>
constexpr std::size_t blocked_transposed_convolution_workspace(const Window& window,
                                                               std::int64_t groups,
                                                               const KernelCall& call,
                                                               View<const T> x, View<const T> w) {
  return std::size_t(
      detail::FlippedConvolution<T>(window, groups, call.precision, x, w, Layout::blocked).bytes());
}
template <class T>
void blocked_transposed_convolution(const Window& window, std::int64_t groups,
                                    const KernelCall& call, View<const T> x, View<const T> w,
                                    View<T> y) {
  detail::FlippedConvolution<T>(window, groups, call.precision, x, w, Layout::blocked)
      .run(x.data, w.data, nullptr, y.data, static_cast<char*>(call.workspace), *call.executor);
}

/// op::ConvTranspose. Sums over channels are in one chain, then added over kernel positions in
/// their order, or all in one chain; the order follows from the shape, whatever the number of
/// threads.
template <class T>
constexpr std::size_t transposed_convolution_workspace(const Window& window, std::int64_t groups,
                                                       const KernelCall& call, View<const T> x,
                                                       View<const T> w) {
  const detail::TransposedConvolution<T> c(window, groups, x, w);
  if (c.is_empty()) return 0;
  if (const detail::FlippedConvolution<T> f(window, groups, call.precision, x, w); f.is_possible) {
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
  if (const detail::FlippedConvolution<T> f(window, groups, call.precision, x, w); f.is_possible) {
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
