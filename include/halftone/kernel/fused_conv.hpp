#pragma once

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/conv.hpp>
#include <halftone/kernel/fwd.hpp>

namespace halftone::kernel {

namespace detail {

template <class T, class Op>
constexpr ConvPlan plan_of(const Op& op, const KernelCall& call, View<const T> x, View<const T> w) {
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
  return conv_plan<T>(s, op.blocked_input ? Layout::blocked : Layout::plain,
                      op.blocked_output ? Layout::blocked : Layout::plain, op.winograd,
                      call.precision);
}

/// Bytes of x that is normalized before the convolution reads it.
template <class T>
constexpr std::int64_t normalized_bytes(const ConvPlan& plan) {
  const ConvShape& s = plan.shape;
  const std::int64_t size =
      activation_size<T>(Layout::blocked, s.batch, s.channels, s.input_pixels());
  return normalizes_copies(plan) ? 0 : round_up(size * std::int64_t(sizeof(T)), 64);
}

template <class Op>
constexpr WeightOrder weight_order(const Op& op) {
  return op.flipped ? WeightOrder::transposed : WeightOrder::plain;
}

}  // namespace detail

template <class T, class Op, class Call>
void fused_conv(const Op& op, const Call& call, View<const T> x, View<const T> w, View<const T> b,
                View<const T> residual, const ConvNormalization<T>& input, View<T> y) {
  const ConvPlan plan = detail::plan_of<T>(op, call, x, w);
  ConvEpilogue<T> epilogue;
  const T* from = x.data;
  char* workspace = static_cast<char*>(call.workspace);
  if constexpr (std::is_same_v<T, float>) {
    if (detail::normalizes_copies(plan)) {
      epilogue.input = input;
    } else if (input.means != nullptr) {
      T* const normalized = reinterpret_cast<T*>(workspace);
      detail::normalize_blocks(input, x.data, x.extent(0), x.extent(1), plan.shape.input_pixels(),
                               normalized, *call.executor);
      from = normalized;
      workspace += detail::normalized_bytes<T>(plan);
    }
  }
  epilogue.bias = b.data;
  epilogue.residual = residual.data;
  epilogue.clamp = op.clamp;
  epilogue.lower = static_cast<compute_t<T>>(op.lower);
  epilogue.upper = static_cast<compute_t<T>>(op.upper);
  if (call.packed == nullptr) {
    conv_unpacked<T, conv_kinds_of<Call>>(plan, from, w.data, y.data, epilogue, workspace,
                                          *call.executor, detail::weight_order(op));
  } else {
    conv<T, conv_kinds_of<Call>>(plan, from, call.packed, y.data, epilogue, workspace,
                                 *call.executor);
  }
}

template <class T, class Op>
constexpr std::size_t fused_conv_workspace(const Op& op, const KernelCall& call, View<const T> x,
                                           View<const T> w, bool normalizes) {
  const ConvPlan plan = detail::plan_of<T>(op, call, x, w);
  return static_cast<std::size_t>(
      (normalizes ? detail::normalized_bytes<T>(plan) : 0) +
      (call.packed != nullptr ? plan.workspace_bytes : conv_unpacked_bytes<T>(plan)));
}

template <class T, class Op>
constexpr std::size_t fused_conv_packed_bytes(const Op& op, const KernelCall& call, View<const T> x,
                                              View<const T> w) {
  if (!call.is_constant(1)) return 0;
  return static_cast<std::size_t>(detail::plan_of<T>(op, call, x, w).packed_bytes);
}

template <class T, class Op, class Call>
void fused_conv_pack(const Op& op, const Call& call, void* packed, View<const T> x,
                     View<const T> w) {
  conv_pack<T, conv_kinds_of<Call>>(detail::plan_of<T>(op, call, x, w), w.data, packed, {},
                                    detail::weight_order(op));
}

template <class T>
void reorder_channels(const KernelCall& call, std::int64_t block, bool to_blocks, View<const T> x,
                      View<T> y) {
  const View<const T>& plain = to_blocks ? x : View<const T>{y.data, y.extents, y.rank};
  const std::int64_t pixels = plain.size(2, plain.rank);
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
