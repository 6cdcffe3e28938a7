#pragma once

#include <halftone/kernel/conv_blocked.hpp>
#include <halftone/kernel/conv_depthwise.hpp>
#include <halftone/kernel/conv_general.hpp>
#include <halftone/kernel/conv_winograd.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::kernel {

namespace detail {

/// Calls f(Winograd<edge, taps>) for the form of a plan.
template <class T, unsigned Kinds>
HALFTONE_INLINE constexpr void with_winograd(const ConvPlan& plan, auto&& f) {
  if constexpr (std::is_same_v<T, float>) {
    const bool is_5x5 = plan.shape.kernel[2] == 5;
    if constexpr ((Kinds & conv_winograd_2) != 0) {
      if (plan.edge == 2 && !is_5x5) f(Winograd<2, 3>{});
    }
    if constexpr ((Kinds & conv_winograd_4) != 0) {
      if (plan.edge == 4) f(Winograd<4, 3>{});
    }
    if constexpr ((Kinds & conv_winograd_5x5) != 0) {
      if (plan.edge == 2 && is_5x5) f(Winograd<2, 5>{});
    }
  }
}

}  // namespace detail

/// Packs weights [filters, channels / groups, kernel...] into plan.packed_bytes bytes, 64-byte
/// aligned. What comes out belongs to this plan and the instruction set of this function. Kinds: see
/// conv_kinds. Transposed weights are only for what kinds blocked, line and winograd can do.
template <class T, unsigned Kinds = every_conv>
void conv_pack(const ConvPlan& plan, const T* weights, void* packed, const Executor& executor = {},
               detail::WeightOrder order = detail::WeightOrder::plain) {
  if (plan.packed_bytes == 0) return;
  if constexpr (!detail::is_real<T>) {
    T* to = static_cast<T*>(packed);
    for (std::int64_t i = 0; i < plan.shape.filters * plan.steps; ++i) to[i] = weights[i];
  } else if constexpr (std::is_same_v<T, compute_t<T>>) {
    if (plan.kind == ConvKind::blocked || plan.kind == ConvKind::line) {
      detail::pack_tiles(plan, weights, order, packed, executor);
    } else if (plan.kind == ConvKind::depthwise) {
      if constexpr ((Kinds & conv_by_channel) != 0) detail::pack_depthwise(plan, weights, packed);
    } else if (plan.kind == ConvKind::winograd) {
      detail::with_winograd<T, Kinds>(plan, [&]<class F>(F) {
        detail::pack_winograd<F>(plan, weights, order, packed, executor);
      });
    } else {
      detail::pack_general(plan, weights, packed);
    }
  } else {
    detail::pack_general(plan, weights, packed);
  }
}

namespace detail {

/// Plain y of images [first, first + images) from blocked sums, with what the tiles left to do.
template <class T>
void finish_plain(const ConvPlan& plan, const T* blocked, T* y, std::int64_t first,
                  std::int64_t images, const ConvEpilogue<T>& e, const Executor& executor) {
  constexpr std::int64_t N = channel_block<T>;
  const ConvShape& s = plan.shape;
  const std::int64_t pixels = s.output_pixels();
  const std::int64_t blocks = channel_blocks<T>(s.filters);
  const Parts parts(pixels, reorder_pixels);
  parallel_for(executor, images * blocks * parts.parts, [&](std::int64_t task) {
    const std::int64_t part = task % parts.parts, c = task / parts.parts % blocks * N;
    const std::int64_t image = task / parts.parts / blocks;
    const std::int64_t count = s.filters - c < N ? s.filters - c : N;
    const std::int64_t begin = parts.begin(part), end = parts.begin(part + 1);
    const std::int64_t row = (first + image) * s.filters + c;
    T* const to = y + row * pixels;
    unblock_pixels(blocked + c * pixels * plan.images + image * N, to, pixels, count, begin, end,
                   plan.images);
    if (e.residual != nullptr) {
      Epilogue<T> left;
      left.residual = e.residual;
      left.residual_row_stride = pixels;
      left.clamp = e.clamp;
      left.lower = e.lower;
      left.upper = e.upper;
      finish(to + begin, pixels, to + begin, pixels, 1, row, begin, count, end - begin, left);
    }
    if (e.post != nullptr) {
      e.post(e.context, to + begin, row, begin, count, end - begin, pixels);
    }
  });
}

/// y in blocks or pairs of images [first, first + images) from sums of the plan's number of images side by
/// side, with what the tiles left to do.
template <class T>
void finish_blocked(const ConvPlan& plan, const T* sums, T* y, std::int64_t first,
                    std::int64_t images, const ConvEpilogue<T>& e, const Executor& executor) {
  constexpr std::int64_t N = channel_block<T>;
  const ConvShape& s = plan.shape;
  const std::int64_t pixels = s.output_pixels(), blocks = channel_blocks<T>(s.filters);
  parallel_for(executor, images * blocks, [&](std::int64_t task) {
    const std::int64_t image = task / blocks, block = task % blocks;
    const std::int64_t row = (first + image) * blocks + block, count = s.filters - block * N;
    const T* const from = sums + (block * pixels * plan.images + image) * N;
    const std::int64_t pairs = ((first + image) * ((blocks + 1) / 2) + block / 2) * pixels * N;
    T* const to = y + (plan.output == Layout::pairs ? pairs : row * pixels * N);
    const Vec<T> lower(e.lower), upper(e.upper);
    for (std::int64_t p = 0; p < pixels; ++p) {
      Vec<T> v = Vec<T>::load(from + p * plan.images * N);
      if (e.residual != nullptr) {
        if (!e.residual_in_pairs) {
          v += Vec<T>::load(e.residual + (row * pixels + p) * N);
        } else if constexpr (takes_pairs<T>) {
          v += load_half_of_block<N>(e.residual + pairs + p * N, block % 2 == 1);
        }
        if (e.clamp) v = clamp(v, lower, upper);
      }
      if (plan.output != Layout::pairs) {
        v.store(to + p * N);
      } else if constexpr (takes_pairs<T>) {
        store_half_of_block(v, to + p * N, block % 2 == 1);
        if (block % 2 == 0 && block + 1 == blocks) {
          store_half_of_block(Vec<T>(0), to + p * N, true);
        }
      }
    }
    if (e.post != nullptr) e.post(e.context, to, row, 0, 1, pixels * N, pixels * N);
    if (count < N && (e.post != nullptr || e.clamp)) clear_missing(to, count, 0, pixels);
  });
}

/// Kinds blocked and line: the parts of a batch, side by side or one after the other. The tiles do
/// `inner`, what `epilogue` has beside it is done when they are brought into y; `scratch`: of each task.
template <class T>
void run_tiled(const ConvPlan& plan, const T* x, const void* packed,
               const PanelWeights<T>& unpacked, const T* bias, T* y, const ConvEpilogue<T>& inner,
               const ConvEpilogue<T>& epilogue, T* scratch, const Executor& executor) {
  const ConvShape& s = plan.shape;
  const bool plain = plan.output == Layout::plain, is_finished = finishes(plan);
  const std::int64_t blocks = channel_blocks<T>(s.filters);
  const std::int64_t x_size = activation_size<T>(plan.input, 1, s.channels, s.input_pixels());
  const Layout y_layout = is_finished ? Layout::blocked : plan.output;
  const std::int64_t y_size = activation_size<T>(y_layout, 1, s.filters, s.output_pixels());
  const Layout residual_layout = inner.residual_in_pairs ? Layout::pairs : Layout::blocked;
  const std::int64_t residual_size =
      activation_size<T>(residual_layout, 1, s.filters, s.output_pixels());
  auto run =
      plan.kind == ConvKind::line ? run_tiles<T, Source::line> : run_tiles<T, Source::pixels>;
  if constexpr (takes_pairs<T>) {
    if (plan.pairs) {
      run = plan.kind == ConvKind::line ? run_tiles<T, Source::line, BfloatPair>
                                        : run_tiles<T, Source::pixels, BfloatPair>;
    }
  }
  const Parts parts(s.batch, plan.images);
  const Parts tasks(parts.parts, Parts(parts.parts, plan.tasks).parts);
  const auto run_task = [&](std::int64_t task, const Executor& threads) {
    T* const copy = scratch + task * tiled_scratch<T>(plan);
    T* const blocked = copy + copied_size<T>(plan);
    for (std::int64_t part = tasks.begin(task); part < tasks.begin(task + 1); ++part) {
      const std::int64_t image = part * plan.images;
      const std::int64_t images = s.batch - image < plan.images ? s.batch - image : plan.images;
      const T* from = x + image * x_size;
      T* const to = is_finished ? blocked : y + image * y_size;
      if (plan.copies) {
        parallel_for(threads, plan.planes, [&](std::int64_t plane) {
          T* const own = copy + plane * plan.plane_size();
          if (epilogue.input.means == nullptr) {
            copy_plane(plan, from, images, plane, own);
          } else if constexpr (std::is_same_v<T, float>) {
            copy_normalized(plan, from, images, plane, epilogue.input, own);
          }
        });
        from = copy;
      }
      const T* residual =
          inner.residual == nullptr ? nullptr : inner.residual + image * residual_size;
      run(plan, from, packed, unpacked, bias, to, inner, residual, image * blocks, threads);
      if (!is_finished) continue;
      if (plain) {
        finish_plain(plan, to, y, image, images, epilogue, threads);
      } else {
        finish_blocked(plan, to, y, image, images, epilogue, threads);
      }
    }
  };
  if (tasks.parts == 1) {
    run_task(0, executor);
  } else {
    parallel_for(executor, tasks.parts, [&](std::int64_t task) { run_task(task, {}); });
  }
}

template <class T, unsigned Kinds>
void run_fast(const ConvPlan& plan, const T* x, const void* packed, const PanelWeights<T>& unpacked,
              T* y, const ConvEpilogue<T>& epilogue, void* workspace, const Executor& executor) {
  constexpr std::int64_t N = channel_block<T>;
  const ConvShape& s = plan.shape;
  const std::int64_t blocks = channel_blocks<T>(s.filters);
  T* scratch = static_cast<T*>(workspace);
  const T* bias = epilogue.bias;
  if (bias != nullptr && s.filters % N != 0) {
    for (std::int64_t f = 0; f < blocks * N; ++f) scratch[f] = f < s.filters ? bias[f] : T(0);
    bias = scratch;
  }
  scratch += round_up(blocks * N, 64 / std::int64_t(sizeof(T)));

  // Where tiles do not write to y they do what needs no residual; the rest is done on the way there.
  const bool plain = plan.output == Layout::plain;
  ConvEpilogue<T> inner = epilogue;
  if (finishes(plan)) {
    inner.post = nullptr;
    inner.residual = nullptr;
    if (epilogue.residual != nullptr) inner.clamp = false;
  }
  const std::int64_t x_size = activation_size<T>(plan.input, 1, s.channels, s.input_pixels());
  const std::int64_t y_size = activation_size<T>(Layout::blocked, 1, s.filters, s.output_pixels());

  if (plan.kind == ConvKind::blocked || plan.kind == ConvKind::line) {
    run_tiled(plan, x, packed, unpacked, bias, y, inner, epilogue, scratch, executor);
    return;
  }

  // The other kinds need x in blocks, or in pairs.
  T* const copy = scratch;
  if (plan.input == Layout::plain) {
    scratch += plan.reordered * channel_blocks<T>(s.channels) * N * s.input_pixels();
  }
  T* const blocked = scratch;
  if (plain) scratch += plan.reordered * y_size;
  const auto run_blocked = [&](std::int64_t images, const T* from, T* to,
                               const ConvEpilogue<T>& own, std::int64_t row) {
    if (plan.kind == ConvKind::depthwise) {
      if constexpr ((Kinds & conv_by_channel) != 0) {
        run_depthwise(plan, images, from, static_cast<const T*>(packed), bias, to, own, row,
                      executor);
      }
      return;
    }
    with_winograd<T, Kinds>(plan, [&]<class F>(F) {
      run_winograd<F>(plan, images, from, packed, bias, to, own, row, scratch, executor);
    });
  };
  if (!plain && plan.input != Layout::plain) {
    run_blocked(s.batch, x, y, inner, 0);
    return;
  }
  for (std::int64_t image = 0; image < s.batch; image += plan.reordered) {
    const std::int64_t images = s.batch - image < plan.reordered ? s.batch - image : plan.reordered;
    const T* from = x + image * x_size;
    T* const to = plain ? blocked : y + image * y_size;
    if (plan.input == Layout::plain) {
      block_channels(from, copy, images, s.channels, s.input_pixels(), executor);
      from = copy;
    }
    ConvEpilogue<T> some = inner;
    if (some.residual != nullptr) some.residual += image * y_size;
    run_blocked(images, from, to, some, image * blocks);
    for (std::int64_t i = 0; plain && i < images; ++i) {
      finish_plain(plan, to + i * y_size, y, image + i, 1, epilogue, executor);
    }
  }
}

}  // namespace detail

/// Convolution as ONNX's Conv: y = clamp(x * weights + bias + residual), then the hook, see
/// ConvEpilogue. x and y are in the plan's layouts and do not overlap; `packed` is from conv_pack.
///
/// Sums are in the compute type (float for half and bfloat16; integers wrap around), rounded once,
/// in one chain per output, or two, in an order that the plan fixes, whatever the number of
/// threads.
///
/// workspace: plan.workspace_bytes bytes, 64-byte aligned. Kinds: see conv_kinds.
template <class T, unsigned Kinds = every_conv>
void conv(const ConvPlan& plan, const T* x, const void* packed, T* y,
          const ConvEpilogue<T>& epilogue, void* workspace, const Executor& executor = {}) {
  const ConvShape& s = plan.shape;
  if (s.batch == 0 || s.filters == 0 || s.output_pixels() == 0) return;
  if constexpr (detail::is_real<T> && std::is_same_v<T, compute_t<T>>) {
    if (plan.kind != ConvKind::general) {
      detail::run_fast<T, Kinds>(plan, x, packed, {}, y, epilogue, workspace, executor);
      return;
    }
  }
  // Plain activations inside; blocked ones are reordered on the way.
  char* scratch = static_cast<char*>(workspace);
  const auto reserve = [&](std::int64_t channels, std::int64_t pixels) {
    T* const memory = reinterpret_cast<T*>(scratch);
    scratch += detail::round_up(s.batch * channels * pixels * std::int64_t(sizeof(T)), 64);
    return memory;
  };
  const T* from = x;
  T* to = y;
  ConvEpilogue<T> inner = epilogue;
  if (plan.input == Layout::blocked) {
    T* const plain = reserve(s.channels, s.input_pixels());
    unblock_channels(x, plain, s.batch, s.channels, s.input_pixels(), executor);
    from = plain;
  }
  if (plan.output == Layout::blocked) {
    to = reserve(s.filters, s.output_pixels());
    T* const residual = reserve(s.filters, s.output_pixels());
    if (epilogue.residual != nullptr) {
      unblock_channels(epilogue.residual, residual, s.batch, s.filters, s.output_pixels(),
                       executor);
      inner.residual = residual;
    }
    inner.post = nullptr;
  }
  if constexpr (detail::is_real<T>) {
    detail::run_general(plan, from, packed, to, inner, scratch, executor);
  } else {
    detail::run_simple(plan, from, static_cast<const T*>(packed), to, inner, executor);
  }
  if (plan.output == Layout::blocked) {
    block_channels<T>(to, y, s.batch, s.filters, s.output_pixels(), executor);
    if (epilogue.post == nullptr) return;
    const std::int64_t blocks = channel_blocks<T>(s.filters), N = channel_block<T>;
    parallel_for(executor, s.batch * blocks, [&](std::int64_t row) {
      T* const block = y + row * s.output_pixels() * N;
      const std::int64_t ld = s.output_pixels() * N;
      epilogue.post(epilogue.context, block, row, 0, 1, ld, ld);
      if (s.filters % N != 0 && row % blocks + 1 == blocks) {
        detail::clear_missing(block, s.filters % N, 0, s.output_pixels());
      }
    });
  }
}

namespace detail {

/// Whether the panels of weights that one call packs are used as soon as they are packed: no other images
/// need them again, and there are enough for several threads.
constexpr bool packs_panels(const ConvPlan& plan) {
  return plan.kind == ConvKind::blocked && plan.tasks == 1 && plan.shape.batch <= plan.images &&
         plan.panels * plan.shape.groups >= most_panel_shares;
}
template <class T>
constexpr std::int64_t unpacked_bytes(const ConvPlan& plan) {
  if constexpr (is_real<T> && std::is_same_v<T, compute_t<T>>) {
    if (packs_panels(plan)) {
      return segment_bytes(plan) + panel_shares(plan).parts * panel_bytes<T>(plan);
    }
  }
  return round_up(plan.packed_bytes, 64);
}

}  // namespace detail

/// conv of weights as conv_pack takes them. workspace: conv_unpacked_bytes<T>(plan) bytes.
template <class T>
constexpr std::int64_t conv_unpacked_bytes(const ConvPlan& plan) {
  return detail::unpacked_bytes<T>(plan) + plan.workspace_bytes;
}
template <class T, unsigned Kinds = every_conv>
void conv_unpacked(const ConvPlan& plan, const T* x, const T* weights, T* y,
                   const ConvEpilogue<T>& epilogue, void* workspace, const Executor& executor = {},
                   detail::WeightOrder order = detail::WeightOrder::plain) {
  char* const rest = static_cast<char*>(workspace) + detail::unpacked_bytes<T>(plan);
  if constexpr (detail::is_real<T> && std::is_same_v<T, compute_t<T>>) {
    if (detail::packs_panels(plan)) {
      const ConvShape& s = plan.shape;
      if (s.batch == 0 || s.filters == 0 || s.output_pixels() == 0) return;
      detail::write_segments(plan, workspace);
      const detail::PanelWeights<T> unpacked{
          weights, order, static_cast<char*>(workspace) + detail::segment_bytes(plan)};
      detail::run_fast<T, Kinds>(plan, x, workspace, unpacked, y, epilogue, rest, executor);
      return;
    }
  }
  conv_pack<T, Kinds>(plan, weights, workspace, executor, order);
  conv<T, Kinds>(plan, x, workspace, y, epilogue, rest, executor);
}

}  // namespace halftone::kernel
