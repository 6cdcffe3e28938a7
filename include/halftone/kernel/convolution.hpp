#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/window.hpp>
#include <halftone/graph/runner.hpp>
#include <halftone/kernel/conv.hpp>

namespace halftone::kernel {

namespace detail {

template <class T>
constexpr ConvPlan convolution_plan(const Window& window, std::int64_t groups,
                                    const KernelCall& call, View<const T> x, View<const T> w) {
  ConvShape s;
  s.batch = x.extent(0);
  s.channels = x.extent(1);
  s.filters = w.extent(0);
  s.groups = groups;
  const std::size_t skipped = 3 - window.rank();  // leading spatial axes that there are not
  for (std::size_t i = 0; i < window.rank(); ++i) {
    s.input[skipped + i] = x.extent(2 + i);
    s.kernel[skipped + i] = window.kernel[i];
    s.stride[skipped + i] = window.strides[i];
    s.dilation[skipped + i] = window.dilations[i];
    s.pads_begin[skipped + i] = window.pad_begin(i);
    s.pads_end[skipped + i] = window.pad_end(i);
  }
  return conv_plan<T>(s, Layout::plain, Layout::plain, 0, call.precision);
}

/// Packed weights lie behind the plan they were packed for.
inline constexpr std::int64_t plan_bytes = round_up(sizeof(ConvPlan), 64);

}  // namespace detail

/// op::Conv: activations as they are, a bias, one to three spatial dimensions. Weights that are not
/// constant are packed in each run.
template <class T>
constexpr std::size_t convolution_packed_bytes(const Window& window, std::int64_t groups,
                                               const KernelCall& call, View<const T> x,
                                               View<const T> w) {
  if (!call.is_constant(1)) return 0;
  const ConvPlan plan = detail::convolution_plan(window, groups, call, x, w);
  return std::size_t(detail::plan_bytes + plan.packed_bytes);
}

template <class T, class Call>
void convolution_pack(const Window& window, std::int64_t groups, const Call& call, void* packed,
                      View<const T> x, View<const T> w) {
  const ConvPlan plan = detail::convolution_plan(window, groups, call, x, w);
  __builtin_memcpy(packed, &plan, sizeof(plan));
  conv_pack<T, conv_kinds_of<Call>>(plan, w.data, static_cast<char*>(packed) + detail::plan_bytes);
}

template <class T>
constexpr std::size_t convolution_workspace(const Window& window, std::int64_t groups,
                                            const KernelCall& call, View<const T> x,
                                            View<const T> w) {
  const ConvPlan plan = detail::convolution_plan(window, groups, call, x, w);
  return std::size_t(call.is_constant(1) ? plan.workspace_bytes : conv_unpacked_bytes<T>(plan));
}

template <class T, class Call>
void convolution(const Window& window, std::int64_t groups, const Call& call, View<const T> x,
                 View<const T> w, View<const T> b, View<T> y) {
  ConvEpilogue<T> epilogue;
  epilogue.bias = b.data;
  if (call.packed != nullptr) {
    const char* const packed = static_cast<const char*>(call.packed);
    conv<T, conv_kinds_of<Call>>(*reinterpret_cast<const ConvPlan*>(packed), x.data,
                                 packed + detail::plan_bytes, y.data, epilogue, call.workspace,
                                 *call.executor);
    return;
  }
  conv_unpacked<T, conv_kinds_of<Call>>(detail::convolution_plan(window, groups, call, x, w),
                                        x.data, w.data, y.data, epilogue, call.workspace,
                                        *call.executor);
}

}  // namespace halftone::kernel
