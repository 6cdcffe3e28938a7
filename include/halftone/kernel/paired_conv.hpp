#pragma once

#include <halftone/kernel/fused_conv.hpp>
#include <halftone/op/paired_conv.hpp>

namespace halftone::kernel {

namespace detail {

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
          if (block < blocks)
            load_half_of_block<N>(from + pairs + p, i == 1).store(to + floats + p);
        } else {
          const auto lanes = block < blocks ? Vec<float>::load(from + floats + p) : Vec<float>(0.f);
          store_half_of_block(lanes, to + pairs + p, i == 1);
        }
      }
    }
  });
}

/// How a convolution of pairs runs. Where its kernel does not have them as they are, x and the residual
/// become floats before it, and y pairs behind it.
struct PairedPlan {
  ConvPlan conv;
  bool converts = false;
  std::int64_t x_bytes = 0, y_bytes = 0;  ///< in blocks, if they are converted

  template <class Op>
  PairedPlan(const Op& op, const KernelCall& call, View<const float> x, View<const float> w,
             InPairs in_pairs) {
    conv = plan_of<float>(op, call, x, w);
    const ConvShape s = conv.shape;
    converts = (in_pairs.x && !conv_takes_pairs(conv)) ||
               ((in_pairs.residual || in_pairs.y) && !conv_makes_pairs(conv));
    if (converts) {
      const auto bytes = [&](std::int64_t channels, std::int64_t pixels) {
        const std::int64_t size =
            activation_size<float>(Layout::blocked, s.batch, channels, pixels);
        return round_up(size * std::int64_t(sizeof(float)), 64);
      };
      x_bytes = bytes(s.channels, s.input_pixels());
      y_bytes = bytes(s.filters, s.output_pixels());
      return;
    }
    conv = conv_plan<float>(s, in_pairs.x ? Layout::pairs : conv.input,
                            in_pairs.y ? Layout::pairs : conv.output, op.winograd, call.precision);
  }
};

}  // namespace detail

template <class Op>
void paired_conv(const Op& op, const KernelCall& call, View<const float> x, View<const float> w,
                 View<const float> b, View<const float> residual, View<float> y, InPairs in_pairs) {
  const detail::PairedPlan plan(op, call, x, w, in_pairs);
  const ConvShape& s = plan.conv.shape;
  ConvEpilogue<float> epilogue;
  epilogue.bias = b.data;
  epilogue.residual = residual.data;
  epilogue.residual_in_pairs = in_pairs.residual && !plan.converts;
  epilogue.clamp = op.clamp;
  epilogue.lower = op.lower;
  epilogue.upper = op.upper;
  const float* from = x.data;
  float* to = y.data;
  char* workspace = static_cast<char*>(call.workspace);
  const auto take = [&](std::int64_t bytes) {
    char* const taken = workspace;
    workspace += bytes;
    return reinterpret_cast<float*>(taken);
  };
  float* const wide_x = take(plan.x_bytes);
  float* const wide_residual = take(plan.y_bytes);
  float* const wide_y = take(plan.y_bytes);
  if (plan.converts && in_pairs.x) {
    detail::convert_pairs<true>(x.data, s.batch, s.channels, s.input_pixels(), wide_x,
                                *call.executor);
    from = wide_x;
  }
  if (plan.converts && in_pairs.residual) {
    detail::convert_pairs<true>(residual.data, s.batch, s.filters, s.output_pixels(), wide_residual,
                                *call.executor);
    epilogue.residual = wide_residual;
  }
  if (plan.converts && in_pairs.y) to = wide_y;
  if (call.packed == nullptr) {
    conv_unpacked<float>(plan.conv, from, w.data, to, epilogue, workspace, *call.executor,
                         detail::weight_order(op));
  } else {
    conv<float>(plan.conv, from, call.packed, to, epilogue, workspace, *call.executor);
  }
  if (to != y.data) {
    detail::convert_pairs<false>(to, s.batch, s.filters, s.output_pixels(), y.data, *call.executor);
  }
}

template <class Op>
std::size_t paired_conv_workspace(const Op& op, const KernelCall& call, View<const float> x,
                                  View<const float> w, InPairs in_pairs) {
  const detail::PairedPlan plan(op, call, x, w, in_pairs);
  return static_cast<std::size_t>(
      plan.x_bytes + 2 * plan.y_bytes +
      (call.packed != nullptr ? plan.conv.workspace_bytes : conv_unpacked_bytes<float>(plan.conv)));
}

template <class Op>
std::size_t paired_conv_packed_bytes(const Op& op, const KernelCall& call, View<const float> x,
                                     View<const float> w, InPairs in_pairs) {
  if (!call.is_constant(1)) return 0;
  return static_cast<std::size_t>(detail::PairedPlan(op, call, x, w, in_pairs).conv.packed_bytes);
}

template <class Op>
void paired_conv_pack(const Op& op, const KernelCall& call, void* packed, View<const float> x,
                      View<const float> w, InPairs in_pairs) {
  conv_pack<float>(detail::PairedPlan(op, call, x, w, in_pairs).conv, w.data, packed, {},
                   detail::weight_order(op));
}

}  // namespace halftone::kernel
