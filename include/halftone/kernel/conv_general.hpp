#pragma once

#include <halftone/kernel/conv_plan.hpp>
#include <halftone/kernel/gemm_packed.hpp>

/// Convolutions of any kind on plain activations: per image and group the product of the weights
/// with patches of x, which are packed a few panels at a time.
namespace halftone::kernel::detail {

template <class T>
void pack_general(const ConvPlan& plan, const T* weights, void* packed) {
  const std::int64_t filters = plan.shape.filters_per_group();
  const std::int64_t size = filters * plan.steps;
  for (std::int64_t g = 0; g < plan.shape.groups; ++g) {
    pack_a(row_major(weights + g * size, filters, plan.steps),
           static_cast<compute_t<T>*>(packed) + g * size);
  }
}

/// Outputs of one panel that lie in the same row of y.
struct PatchRun {
  std::int64_t lane, count, d, h, w;
};

/// to[step][lane] = x at the step's tap of output pixel `first` + lane, zero in the padding and
/// from lane `count` to `width`. x holds the channels of the group.
template <class T>
void pack_patches(const ConvShape& s, const T* x, std::int64_t first, std::int64_t count,
                  std::int64_t width, compute_t<T>* to) {
  using S = compute_t<T>;
  PatchRun runs[panel_columns<S>];
  std::int64_t run_count = 0;
  const std::int64_t output_height = s.output(1), output_width = s.output(2);
  for (std::int64_t lane = 0; lane < count;) {
    const std::int64_t pixel = first + lane, w = pixel % output_width;
    const std::int64_t row = pixel / output_width;
    const std::int64_t left = output_width - w;
    const std::int64_t length = count - lane < left ? count - lane : left;
    runs[run_count++] = {lane, length, row / output_height, row % output_height, w};
    lane += length;
  }
  const std::int64_t stride = s.stride[2];
  for (std::int64_t c = 0; c < s.channels_per_group(); ++c, x += s.input_pixels()) {
    for (std::int64_t kd = 0; kd < s.kernel[0]; ++kd) {
      for (std::int64_t kh = 0; kh < s.kernel[1]; ++kh) {
        for (std::int64_t kw = 0; kw < s.kernel[2]; ++kw, to += width) {
          for (std::int64_t i = 0; i < run_count; ++i) {
            const PatchRun& run = runs[i];
            S* out = to + run.lane;
            const std::int64_t d = run.d * s.stride[0] - s.pads_begin[0] + kd * s.dilation[0];
            const std::int64_t h = run.h * s.stride[1] - s.pads_begin[1] + kh * s.dilation[1];
            const std::int64_t w = run.w * stride - s.pads_begin[2] + kw * s.dilation[2];
            // Outputs [begin, end) of the run read inside x; they are taps at distance `stride`.
            Taps inside(w, stride, run.count, s.input[2]);
            if (d < 0 || d >= s.input[0] || h < 0 || h >= s.input[1]) inside.begin = inside.end = 0;
            const T* from = x + (d * s.input[1] + h) * s.input[2] + w;
            for (std::int64_t l = 0; l < inside.begin; ++l) out[l] = 0;
            if (stride == 1) {
              for (std::int64_t l = inside.begin; l < inside.end; ++l) out[l] = S(from[l]);
            } else {
              for (std::int64_t l = inside.begin; l < inside.end; ++l) out[l] = S(from[l * stride]);
            }
            for (std::int64_t l = inside.end; l < run.count; ++l) out[l] = 0;
          }
          for (std::int64_t l = count; l < width; ++l) to[l] = 0;
        }
      }
    }
  }
}

template <class T>
void run_general(const ConvPlan& plan, const T* x, const void* packed, T* y,
                 const ConvEpilogue<T>& epilogue, void* workspace, const Executor& executor) {
  using S = compute_t<T>;
  const ConvShape& s = plan.shape;
  const std::int64_t pixels = s.output_pixels(), filters = s.filters_per_group();
  const std::int64_t panels = Parts(pixels, panel_columns<S>).parts;
  const Parts chunks(panels, plan.panels_per_task);
  const std::int64_t jobs = s.batch * s.groups * chunks.parts;
  const std::int64_t slot_size = plan.panels_per_task * plan.steps * panel_columns<S>;

  parallel_for(executor, plan.tasks, [&](std::int64_t task) {
    S* const slot = static_cast<S*>(workspace) + task * slot_size;
    const std::int64_t end = (task + 1) * jobs / plan.tasks;
    for (std::int64_t job = task * jobs / plan.tasks; job < end; ++job) {
      const std::int64_t chunk = job % chunks.parts, group = job / chunks.parts % s.groups;
      const std::int64_t image = job / chunks.parts / s.groups;
      const std::int64_t p0 = chunks.begin(chunk), p1 = chunks.begin(chunk + 1);
      const std::int64_t j0 = p0 * panel_columns<S>;
      const T* from = x + (image * s.channels + group * s.channels_per_group()) * s.input_pixels();
      for (std::int64_t p = p0; p < p1; ++p) {
        const std::int64_t j = p * panel_columns<S>;
        const std::int64_t width = vectors_of_panel<S>(j, pixels) * Vec<S>::size;
        pack_patches(s, from, j, pixels - j < width ? pixels - j : width, width,
                     slot + (j - j0) * plan.steps);
      }
      const std::int64_t row = image * s.filters + group * filters;
      Epilogue<T> e;
      if (epilogue.bias != nullptr) e.addend = epilogue.bias + group * filters;
      e.addend_row_stride = 1;
      e.addend_column_stride = 0;
      if (epilogue.residual != nullptr) e.residual = epilogue.residual + row * pixels;
      e.residual_row_stride = pixels;
      e.clamp = epilogue.clamp;
      e.lower = epilogue.lower;
      e.upper = epilogue.upper;
      Product<T> product{filters,
                         pixels,
                         plan.steps,
                         {},
                         nullptr,
                         {},
                         nullptr,
                         row_major(y + row * pixels, filters, pixels),
                         &e,
                         Parts(filters, tile_rows),
                         Pieces(plan.steps, std::is_same_v<T, S> ? k_block<S> : plan.steps + 1, 1),
                         fits_tile(e)};
      const S* weights = static_cast<const S*>(packed) + group * filters * plan.steps;
      for (std::int64_t piece = 0; piece < product.steps.parts; ++piece) {
        multiply_block(product, weights, 0, plan.steps, product.steps.begin(piece),
                       static_cast<const S*>(slot), j0, piece, 0, product.tiles.parts, p0, p1);
      }
      if (epilogue.post != nullptr) {
        const std::int64_t columns =
            (pixels < p1 * panel_columns<S> ? pixels : p1 * panel_columns<S>)-j0;
        epilogue.post(epilogue.context, y + row * pixels + j0, row, j0, filters, columns, pixels);
      }
    }
  });
}

/// Integers: plain loops, wrapping around. `weights` are as the caller gave them.
template <class T>
void run_simple(const ConvPlan& plan, const T* x, const T* weights, T* y, const ConvEpilogue<T>& e,
                const Executor& executor) {
  using U = std::conditional_t<(sizeof(T) > 4), std::uint64_t, std::uint32_t>;
  const ConvShape& s = plan.shape;
  const std::int64_t pixels = s.output_pixels(), channels = s.channels_per_group();
  const std::int64_t output_height = s.output(1), output_width = s.output(2);
  parallel_for(executor, s.batch * s.filters, [&](std::int64_t row) {
    const std::int64_t f = row % s.filters, group = f / s.filters_per_group();
    const T* const from = x + (row / s.filters * s.channels + group * channels) * s.input_pixels();
    for (std::int64_t p = 0; p < pixels; ++p) {
      const std::int64_t od = p / output_width / output_height;
      const std::int64_t oh = p / output_width % output_height, ow = p % output_width;
      const std::int64_t d0 = od * s.stride[0] - s.pads_begin[0];
      const std::int64_t h0 = oh * s.stride[1] - s.pads_begin[1];
      const std::int64_t w0 = ow * s.stride[2] - s.pads_begin[2];
      const Taps deep(d0, s.dilation[0], s.kernel[0], s.input[0]);
      const Taps down(h0, s.dilation[1], s.kernel[1], s.input[1]);
      const Taps right(w0, s.dilation[2], s.kernel[2], s.input[2]);
      U sum = e.bias == nullptr ? U(0) : U(e.bias[f]);
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t kd = deep.begin; kd < deep.end; ++kd) {
          for (std::int64_t kh = down.begin; kh < down.end; ++kh) {
            const T* line = from + ((c * s.input[0] + d0 + kd * s.dilation[0]) * s.input[1] + h0 +
                                    kh * s.dilation[1]) *
                                       s.input[2];
            const T* w = weights + f * plan.steps + c * s.kernel_size() +
                         (kd * s.kernel[1] + kh) * s.kernel[2];
            for (std::int64_t kw = right.begin; kw < right.end; ++kw) {
              sum += U(line[w0 + kw * s.dilation[2]]) * U(w[kw]);
            }
          }
        }
      }
      if (e.residual != nullptr) sum += U(e.residual[row * pixels + p]);
      T v = T(sum);
      if (e.clamp) v = v < e.lower ? e.lower : v > e.upper ? e.upper : v;
      y[row * pixels + p] = v;
    }
    if (e.post != nullptr) e.post(e.context, y + row * pixels, row, 0, 1, pixels, pixels);
  });
}

}  // namespace halftone::kernel::detail
