#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/view.hpp>

/// What operators' kernels call. Declared here, so that operators can be included without the
/// kernels; halftone/kernels.hpp has the definitions.
namespace halftone {

struct KernelCall;

namespace kernel {

/// Layouts of activations that a convolution or pooling reads and writes, see conv_shape.hpp.
struct Blocks {
  bool input = false, output = false;
};

// kernel/fused_conv.hpp. Op: op::FusedConv.
template <class T, class Op>
void fused_conv(const Op& op, const KernelCall& call, View<const T> x, View<const T> w,
                View<const T> b, View<const T> residual, View<T> y);
template <class T, class Op>
std::size_t fused_conv_workspace(const Op& op, const KernelCall& call, View<const T> x,
                                 View<const T> w);
template <class T, class Op>
std::size_t fused_conv_packed_bytes(const Op& op, const KernelCall& call, View<const T> x,
                                    View<const T> w);
template <class T, class Op>
void fused_conv_pack(const Op& op, void* packed, View<const T> x, View<const T> w);

/// y in blocks of channels from x, or plain y from x in blocks.
template <class T>
void reorder_channels(const KernelCall& call, bool to_blocks, View<const T> x, View<T> y);

}  // namespace kernel
}  // namespace halftone
