#pragma once

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/conv.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::kernel {

namespace detail {

template <class T, class Op>
constexpr ConvPlan plan_of(const Op& op, const KernelCall& call, View<const T> x, View<const T> w,
                           InPairs in_pairs = {}) {
  ConvShape s;
  s.batch = x.extent(0);
  s.groups = op.group;
  s.filters = w.extent(op.flipped ? 1 : 0);
  s.channels = w.extent(op.flipped ? 0 : 1) * op.group;
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    s.input[1 + i] = x.extent(2 + at);
    s.kernel[1 + i] = w.extent(2 + at);
    s.stride[1 + i] = op.strides[at];
    s.dilation[1 + i] = op.dilations[at];
    s.pads_begin[1 + i] = op.pads[at];
    s.pads_end[1 + i] = op.pads[2 + at];
  }
  const auto layout = [](bool is_pairs, bool is_blocked) {
    return is_pairs ? Layout::pairs : is_blocked ? Layout::blocked : Layout::plain;
  };
  return conv_plan<T>(s, layout(in_pairs.x, op.blocked_input),
                      layout(in_pairs.y, op.blocked_output), op.winograd, call.precision);
}

/// How an operator's convolution runs. Where its kernel does not have pairs as they are, x and the residual
/// become floats before it, and y pairs behind it; and where it does not normalize x, that comes before it.
template <class T>
struct FusedPlan {
  ConvPlan conv;
  InPairs converted;
  bool normalizes_before = false;
  std::int64_t x_bytes = 0, y_bytes = 0;  ///< of x, and of the residual or y, in blocks

  template <class Op>
  constexpr FusedPlan(const Op& op, const KernelCall& call, View<const T> x, View<const T> w,
                      bool normalizes, InPairs in_pairs)
      : conv(plan_of<T>(op, call, x, w)) {
    const bool takes = !in_pairs.x || conv_takes_pairs(conv);
    const bool makes = !(in_pairs.residual || in_pairs.y) || conv_makes_pairs(conv);
    if (!takes || !makes) {
      converted = in_pairs;
    } else if (in_pairs.x || in_pairs.y) {
      conv = plan_of<T>(op, call, x, w, in_pairs);
    }
    normalizes_before = normalizes && !normalizes_copies(conv);
    const ConvShape& s = conv.shape;
    const auto bytes = [&](std::int64_t channels, std::int64_t pixels) {
      const std::int64_t size = activation_size<T>(Layout::blocked, s.batch, channels, pixels);
      return round_up(size * std::int64_t(sizeof(T)), 64);
    };
    x_bytes = bytes(s.channels, s.input_pixels());
    y_bytes = bytes(s.filters, s.output_pixels());
  }
  /// Bytes of scratch memory beside the convolution's.
  constexpr std::int64_t bytes() const {
    return (converted.x + normalizes_before) * x_bytes +
           (converted.residual + converted.y) * y_bytes;
  }
};

/// Blocks from pairs, or pairs from blocks, of all channels of images.
template <bool widens>
void convert_pairs(const float* from, std::int64_t images, std::int64_t channels,
                   std::int64_t pixels, float* to, const Executor& executor) {
  constexpr std::int64_t N = channel_block<float>;
  const std::int64_t blocks = channel_blocks<float>(channels), lines = (blocks + 1) / 2;
  parallel_for(executor, images * lines, [&](std::int64_t task) {
    const std::int64_t pairs = task * pixels * N;
    for (std::int64_t i = 0; i < 2; ++i) {
      const std::int64_t block = task % lines * 2 + i;
      const std::int64_t floats = (task / lines * blocks + block) * pixels * N;
      for (std::int64_t p = 0; p < pixels * N; p += N) {
        if constexpr (widens) {
          if (block == blocks) break;
          load_half_of_block<N>(from + pairs + p, i == 1).store(to + floats + p);
        } else {
          const auto lanes = block < blocks ? Vec<float>::load(from + floats + p) : Vec<float>(0.f);
          store_half_of_block(lanes, to + pairs + p, i == 1);
        }
      }
    }
  });
}

template <class Op>
constexpr WeightOrder weight_order(const Op& op) {
  return op.flipped ? WeightOrder::transposed : WeightOrder::plain;
}

}  // namespace detail

template <class T, class Op, class Call>
void fused_conv(const Op& op, const Call& call, View<const T> x, View<const T> w, View<const T> b,
                View<const T> residual, const ConvNormalization<T>& input, View<T> y,
                InPairs in_pairs) {
  const detail::FusedPlan<T> plan(op, call, x, w, input.means != nullptr, in_pairs);
  const ConvShape& s = plan.conv.shape;
  ConvEpilogue<T> epilogue;
  epilogue.bias = b.data;
  epilogue.residual = residual.data;
  epilogue.residual_in_pairs = in_pairs.residual && !plan.converted.residual;
  epilogue.clamp = op.clamp;
  epilogue.lower = static_cast<compute_t<T>>(op.lower);
  epilogue.upper = static_cast<compute_t<T>>(op.upper);
  const T* from = x.data;
  T* to = y.data;
  char* workspace = static_cast<char*>(call.workspace);
  constexpr bool may_convert = std::is_same_v<T, float> && has_precisions;
  if constexpr (std::is_same_v<T, float>) {
    const auto take = [&](std::int64_t bytes) {
      char* const taken = workspace;
      workspace += bytes;
      return reinterpret_cast<T*>(taken);
    };
    if constexpr (may_convert) {
      if (plan.converted.x) {
        T* const wide = take(plan.x_bytes);
        detail::convert_pairs<true>(from, s.batch, s.channels, s.input_pixels(), wide,
                                    *call.executor);
        from = wide;
      }
      if (plan.converted.residual) {
        T* const wide = take(plan.y_bytes);
        detail::convert_pairs<true>(residual.data, s.batch, s.filters, s.output_pixels(), wide,
                                    *call.executor);
        epilogue.residual = wide;
      }
      if (plan.converted.y) to = take(plan.y_bytes);
    }
    if (plan.normalizes_before) {
      T* const normalized = take(plan.x_bytes);
      const std::int64_t blocks = channel_blocks<T>(s.channels);
      detail::normalize_blocks(input, from, s.batch, blocks, s.input_pixels(), normalized,
                               *call.executor);
      from = normalized;
    } else {
      epilogue.input = input;
    }
  }
  if (call.packed == nullptr) {
    conv_unpacked<T, conv_kinds_of<Call>>(plan.conv, from, w.data, to, epilogue, workspace,
                                          *call.executor, detail::weight_order(op));
  } else {
    conv<T, conv_kinds_of<Call>>(plan.conv, from, call.packed, to, epilogue, workspace,
                                 *call.executor);
  }
  if constexpr (may_convert) {
    if (plan.converted.y) {
      detail::convert_pairs<false>(to, s.batch, s.filters, s.output_pixels(), y.data,
                                   *call.executor);
    }
  }
}

template <class T, class Op>
constexpr std::size_t fused_conv_workspace(const Op& op, const KernelCall& call, View<const T> x,
                                           View<const T> w, bool normalizes, InPairs in_pairs) {
  const detail::FusedPlan<T> plan(op, call, x, w, normalizes, in_pairs);
  return static_cast<std::size_t>(plan.bytes() + (call.packed != nullptr
                                                      ? plan.conv.workspace_bytes
                                                      : conv_unpacked_bytes<T>(plan.conv)));
}

template <class T, class Op>
constexpr std::size_t fused_conv_packed_bytes(const Op& op, const KernelCall& call, View<const T> x,
                                              View<const T> w, InPairs in_pairs) {
  if (!call.is_constant(1)) return 0;
  const detail::FusedPlan<T> plan(op, call, x, w, false, in_pairs);
  return static_cast<std::size_t>(plan.conv.packed_bytes);
}

template <class T, class Op, class Call>
void fused_conv_pack(const Op& op, const Call& call, void* packed, View<const T> x, View<const T> w,
                     InPairs in_pairs) {
  const detail::FusedPlan<T> plan(op, call, x, w, false, in_pairs);
  conv_pack<T, conv_kinds_of<Call>>(plan.conv, w.data, packed, {}, detail::weight_order(op));
}

template <class T>
void reorder_channels(const KernelCall& call, std::int64_t block, bool to_blocks, View<const T> x,
                      View<T> y) {
  const View<const T>& plain = to_blocks ? x : View<const T>{y.data, y.extents, y.rank};
  const std::int64_t pixels = plain.size(2, plain.rank);
  if constexpr (std::is_same_v<T, bool>) {
    return detail::reorder_masks(*call.executor, to_blocks, plain, block, x.data, y.data);
  }
  bool is_last = true;
  if constexpr (detail::is_real<T>) is_last = block != channel_block<T>;
  if (is_last) {
    return detail::reorder_last(*call.executor, to_blocks, plain.extent(0), plain.extent(1), pixels,
                                x.data, y.data);
  }
  if constexpr (detail::is_real<T>) {
    if (to_blocks) {
      block_channels<T>(x.data, y.data, plain.extent(0), plain.extent(1), pixels, *call.executor);
    } else {
      unblock_channels<T>(x.data, y.data, plain.extent(0), plain.extent(1), pixels, *call.executor);
    }
  }
}

}  // namespace halftone::kernel
