#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace halftone {

/// The numbers that dense products of float graphs are computed in on the device `cpu`: MatMul, Gemm, Conv,
/// ConvTranspose, attention where it is one operator, and those of RNN, GRU and LSTM with their weights, of
/// floats where that is faster. Everything else, sums included, stays in float32, and so do the graph's inputs
/// and outputs, and variables in training.
///
/// float32   as the graph says
/// bfloat16  both factors are rounded to bfloat16 (nearest, ties to even; subnormal numbers become
///           zero), products and sums are float32: an error of up to 2^-7 of the sum of the
///           products' magnitudes. Constant weights are kept in 16 bits. Conv is a direct sum where
///           it would have been F(2x2, 3x3) or F(2x2, 5x5), with AMX also where it would have been F(4x4,
///           3x3); with AMX, activations that convolutions alone make and read are kept in 16 bits in
///           inference, which also rounds those that are added to sums, and those that depthwise
///           convolutions read. Gradients of attention and of the weights of convolutions stay in
///           float32. For processors with AMX_BF16, if Linux lets the process use it, or with
///           AVX512_BF16 alone
/// float16   constant weights of MatMul, Gemm and recurrent layers are rounded to half and kept in 16
///           bits, which pays where reading them bounds the speed; other factors stay as they are.
///           Weights from 65520 on become infinite. For processors with F16C
///
/// Results do not depend on the number of threads. Where the processor lacks the instructions, an
/// engine computes in float32 and says so in a warning of the log, see Engine::precision().
/// source  Intel 64 and IA-32 Architectures Software Developer's Manual, TDPBF16PS, VDPBF16PS, VCVTPH2PS
enum class Precision : std::uint8_t { float32, bfloat16, float16 };

/// Whether the kernels that are compiled here know more than float32. The core's do; static programs,
/// which ask for nothing else, compile faster without.
#ifdef HALFTONE_PRECISIONS
inline constexpr bool has_precisions = true;
#else
inline constexpr bool has_precisions = false;
#endif

constexpr std::string_view name(Precision precision) {
  constexpr std::string_view names[] = {"float32", "bfloat16", "float16"};
  return names[static_cast<std::size_t>(precision)];
}

}  // namespace halftone
