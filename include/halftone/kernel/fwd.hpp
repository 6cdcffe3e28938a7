#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/base/element_type.hpp>
#include <halftone/base/mx_float.hpp>
#include <halftone/base/view.hpp>
#include <halftone/base/window.hpp>
#include <halftone/kernel/box.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/kernel/padding.hpp>

/// What operators' kernels call. Declared here, so that operators can be included without the
/// kernels; halftone/kernels.hpp has the definitions.
namespace halftone {

struct KernelCall;

namespace kernel {

/// Whether groups of a convolution of bytes have so few channels and filters that packing would
/// take longer than the products.
constexpr bool adds_planes(std::int64_t groups, std::int64_t channels, std::int64_t filters,
                           std::int64_t positions) {
  // No sum leaves int32.
  return groups > 1 && channels * filters <= 4 &&
         channels * filters * positions <= std::int64_t{1} << 14;
}

/// Kinds of convolution that not every program has the code of, as bits.
enum : unsigned {
  conv_by_channel = 1,
  conv_winograd_2 = 2,
  conv_winograd_4 = 4,
  conv_winograd_5x5 = 8,
  every_conv = 15
};
/// The kinds that a convolution of so many groups is of, computed by Winograd's form with tiles of that
/// edge and a kernel of so many taps along an axis; edge 0: directly.
constexpr unsigned conv_kinds(std::int64_t groups, std::int64_t edge = 0, std::int64_t taps = 3) {
  const unsigned form = edge == 0   ? 0u
                        : taps == 5 ? conv_winograd_5x5
                        : edge == 2 ? conv_winograd_2
                                    : conv_winograd_4;
  return (groups != 1 ? conv_by_channel : 0u) | form;
}
/// Products of a tile of F(edge x edge, taps x taps), see kernel/conv_winograd.hpp.
constexpr std::int64_t winograd_positions(std::int64_t edge, std::int64_t taps) {
  const std::int64_t products = taps == 5 ? 7 : edge + 2;
  return products * products;
}
/// The kinds that the code for a type of KernelCall has to have.
template <class Call>
inline constexpr unsigned conv_kinds_of = every_conv;
template <class Call>
  requires requires { Call::conv_kinds; }
inline constexpr unsigned conv_kinds_of<Call> = Call::conv_kinds;

/// This says which activations lie in blocks of channels, see conv_shape.hpp: those that a convolution or pooling
/// reads, and those that it writes, or their gradients.
struct Blocks {
  bool input = false, output = false;
};

template <class T>
struct ConvNormalization;

/// This says which tensors of a convolution of floats are pairs of blocks in bfloat16, see Layout. Their views
/// have floats for data.
struct InPairs {
  bool x = false, residual = false, y = false;
};

// kernel/fused_conv.hpp. Op: op::FusedConv.
template <class T, class Op, class Call>
void fused_conv(const Op& op, const Call& call, View<const T> x, View<const T> w, View<const T> b,
                View<const T> residual, const ConvNormalization<T>& input, View<T> y,
                InPairs in_pairs = {});
template <class T, class Op>
constexpr std::size_t fused_conv_workspace(const Op& op, const KernelCall& call, View<const T> x,
                                           View<const T> w, bool normalizes, InPairs in_pairs = {});
template <class T, class Op>
constexpr std::size_t fused_conv_packed_bytes(const Op& op, const KernelCall& call, View<const T> x,
                                              View<const T> w, InPairs in_pairs = {});
template <class T, class Op, class Call>
void fused_conv_pack(const Op& op, const Call& call, void* packed, View<const T> x, View<const T> w,
                     InPairs in_pairs = {});

/// How the gradient of a convolution's weights is computed.
struct WeightGradientForm {
  std::int64_t groups = 1;
  std::int64_t edge = 0;  ///< of Winograd's tiles of outputs; 0: the direct sum
  Blocks blocks{};        ///< x and dy may lie in them
};

/// Kernels of more columns have no blocks.
inline constexpr std::int64_t most_kernel_columns = 256;

/// Phases of strides that a transposed convolution may have, and elements of the kernel that they share.
inline constexpr std::int64_t most_phases = 4, most_phase_area = 256;
/// Whether a transposed convolution is one convolution, of a flipped kernel, for each phase of its strides. The
/// window's extents and pads belong to the output.
constexpr bool has_phases(const Window& w) {
  std::int64_t phases = 1, area = 1;
  for (std::size_t i = 0; i < w.rank(); ++i) {
    const std::int64_t stride = w.strides[i];
    if (w.pad_begin(i) < 0 || w.output[i] < stride) return false;
    if (stride == 1 ? w.pad_begin(i) >= w.reach(i) : stride > most_phases || w.dilations[i] > 1) {
      return false;
    }
    phases *= stride;
    area *= w.kernel[i];
  }
  return phases == 1 || (phases <= most_phases && area <= most_phase_area && w.rank() <= 2);
}

/// Extents of activations in blocks.
struct BlockedExtents {
  std::int64_t batch, blocks, pixels;
  std::int64_t channels;  ///< that have parameters, others are missing

  template <class E>
  static constexpr BlockedExtents of(const View<E>& x, std::int64_t channels) {
    return {x.extent(0), x.extent(1), x.size(2, 4), channels};
  }
};

/// y in blocks of channels from x, or plain y from x in blocks.
template <class T>
void reorder_channels(const KernelCall& call, std::int64_t block, bool to_blocks, View<const T> x,
                      View<T> y);

// kernel/copy.hpp, gather.hpp, pad.hpp, cast.hpp: what moves elements, by their size.
template <class T>
void copy(const Executor& executor, const Box& box, const T* from, T* to);
template <class T>
void fill(const Executor& executor, T value, T* to, std::int64_t n);
template <class T, class I>
void gather(const Executor& executor, const T* data, std::int64_t outer, std::int64_t extent,
            std::int64_t run, const I* indices, std::int64_t count, T* y);
template <class T>
void pad(const Executor& executor, PadMode mode, const PaddedAxis* axes, T value, View<const T> x,
         View<T> y);
/// How numbers become those of an 8-bit type.
struct CastMode {
  bool saturate = true;
  ScaleRounding rounding = ScaleRounding::up;
};
template <class X>
void cast_block(const X* x, ElementType to, void* y, std::int64_t n, CastMode mode);
template <class X>
void cast(const Executor& executor, const X* x, ElementType to, void* y, std::int64_t n,
          CastMode mode);

// kernel/matmul.hpp. Op: op::Gemm, op::MatMulWithEpilogue or op::PairedMatMul.
template <class T>
void matmul(const KernelCall& call, View<const T> a, View<const T> b, View<T> y);
template <class T>
constexpr std::size_t matmul_workspace(const KernelCall& call, View<const T> a, View<const T> b,
                                       View<T> y);
template <class T>
constexpr std::size_t matmul_packed_bytes(const KernelCall& call, View<const T> a, View<const T> b,
                                          View<T> y);
template <class T>
void matmul_pack(const KernelCall& call, void* packed, View<const T> a, View<const T> b, View<T> y);
template <class T, class Op>
void gemm_with_addend(const Op& op, const KernelCall& call, View<const T> a, View<const T> b,
                      View<const T> c, View<T> y);
template <class T, class Op, class A>
constexpr std::size_t gemm_workspace(const Op& op, const KernelCall& call, View<const A> a,
                                     View<const T> b);
template <class T, class Op, class A>
constexpr std::size_t gemm_packed_bytes(const Op& op, const KernelCall& call, View<const A> a,
                                        View<const T> b);
template <class T, class Op, class A>
void gemm_pack(const Op& op, const KernelCall& call, void* packed, View<const A> a,
               View<const T> b);
template <class T, class Op>
void matmul_with_epilogue(const Op& op, const KernelCall& call, View<const T> a, View<const T> b,
                          View<const T> addend, View<T> y);
template <class F, class Op>
void paired_matmul(const Op& op, const KernelCall& call, View<const bfloat16> a, View<const F> b,
                   View<const F> addend, View<F> y);

// kernel/attention.hpp
/// A tensor [batch, heads, rows, columns] by its strides in elements.
template <class T>
struct Heads {
  T* data = nullptr;
  std::int64_t batch = 0, head = 0, row = 0, column = 1;
  constexpr Heads at(std::int64_t b, std::int64_t h, std::int64_t r) const {
    return {data + b * batch + h * head + r * row, batch, head, row, column};
  }
};
/// What op::FusedAttention computes; its bias and choice have strides 0 where they are broadcast.
template <class T>
struct AttentionTensors {
  Heads<const T> query, key, value, bias;
  Heads<const bool> chosen;
  Heads<T> output;
  const std::uint32_t* seed =
      nullptr;  ///< two words, from which weights are dropped; null: none is
};
/// What op::FusedAttentionGradient computes: `output` is the gradient that is given.
template <class T>
struct AttentionGradientTensors {
  Heads<const T> query, key, value, bias;
  Heads<const bool> chosen;
  Heads<const T> output;
  Heads<T> query_gradient, key_gradient, value_gradient;  ///< without data: not wanted
  const std::uint32_t* seed = nullptr;                    ///< that of the forward part
};
struct AttentionShape {
  std::int64_t batch = 1, heads = 1, key_heads = 1, queries = 0, keys = 0, size = 0, values = 0;
  float scale = 1, fill = 0;
  bool fills_chosen = false, bias_first = false;
  float drop_ratio = 0;  ///< of weights, as that of op::Dropout; below 1
};
template <class T>
void attention(const KernelCall& call, const AttentionShape& shape,
               const AttentionTensors<T>& tensors);
template <class T>
constexpr std::size_t attention_workspace(const AttentionShape& shape);
template <class T>
void attention_gradient(const KernelCall& call, const AttentionShape& shape,
                        const AttentionGradientTensors<T>& tensors);
template <class T>
constexpr std::size_t attention_gradient_workspace(const AttentionShape& shape);

// kernel/pool.hpp
template <class T>
void max_pool(const Executor& executor, const Window& window, bool column_major, View<const T> x,
              View<T> y, View<std::int64_t> indices);
template <class T>
void average_pool(const Executor& executor, const Window& window, bool include_padding,
                  View<const T> x, View<T> y);
template <class T>
void global_pool(const Executor& executor, bool largest, View<const T> x, View<T> y);

// kernel/convolution.hpp, for op::Conv.
template <class T, class Call>
void convolution(const Window& window, std::int64_t groups, const Call& call, View<const T> x,
                 View<const T> w, View<const T> b, View<T> y);
template <class T>
constexpr std::size_t convolution_workspace(const Window& window, std::int64_t groups,
                                            const KernelCall& call, View<const T> x,
                                            View<const T> w);
template <class T>
constexpr std::size_t convolution_packed_bytes(const Window& window, std::int64_t groups,
                                               const KernelCall& call, View<const T> x,
                                               View<const T> w);
template <class T, class Call>
void convolution_pack(const Window& window, std::int64_t groups, const Call& call, void* packed,
                      View<const T> x, View<const T> w);

/// What a reduction joins: terms by addition unless the name says otherwise.
enum class Accumulation : std::uint8_t {
  sum,
  magnitudes,    ///< |x|
  squares,       ///< x^2
  deviations,    ///< (x - a number for each output)^2
  exponentials,  ///< e^x
  product,       ///< multiplied
  largest,       ///< NaN if one is
  smallest,      ///< NaN if one is
};
/// What happens to the joined terms.
enum class Finish : std::uint8_t { none, mean, root, logarithm };

// kernel/reduce.hpp. Bit i of mask: dimension i is reduced.
template <Accumulation A, class T>
void reduce(const Executor& executor, Finish finish, std::uint32_t mask, View<const T> x, T* y,
            void* workspace);
template <class T>
constexpr std::size_t reduce_workspace(Accumulation accumulation, std::uint32_t mask,
                                       View<const T> x);

// kernel/softmax.hpp. Over the middle one of dimensions [outer, n, inner]; y may be x.
template <class T>
void softmax(const Executor& executor, bool logarithm, const T* x, T* y, std::int64_t outer,
             std::int64_t n, std::int64_t inner);
/// Which of n classes is right for one line, and what its gradient is multiplied by: 0 if the
/// label is no class.
struct Sample {
  std::int64_t label;
  double factor;
};
/// dx = factor * (p - 1 at the label), 0 where factor is; p may be logarithms, dx may be p.
/// sample(i) is the Sample of line i of outer * inner.
template <class T, class SampleOf>
void softmax_nll_gradient(const Executor& executor, bool is_logarithm, const T* p, T* dx,
                          std::int64_t outer, std::int64_t n, std::int64_t inner,
                          const SampleOf& sample);

// kernel/batch_normalization.hpp. x is [outer, channels, inner].
/// y = (x - mean) * factor + bias, one of each for a channel; y may be x.
template <class T, class S>
void normalize_channels(const Executor& executor, const T* x, T* y, std::int64_t outer,
                        std::int64_t channels, std::int64_t inner, const S* mean, const S* factor,
                        const S* bias);
/// Mean and (biased) variance of each channel; 64 numbers behind the means must be readable.
template <class T, class S>
void channel_moments(const Executor& executor, const T* x, std::int64_t outer,
                     std::int64_t channels, std::int64_t inner, S* mean, S* variance,
                     void* workspace);
/// op::BatchNormalizationGradient. dx may be x or dy, dscale and dbias null.
template <class T>
void batch_normalization_gradient(const Executor& executor, double epsilon, const T* x,
                                  const T* scale, const T* dy, std::int64_t outer,
                                  std::int64_t channels, std::int64_t inner, T* dx, T* dscale,
                                  T* dbias);
template <class T>
constexpr std::size_t channel_moments_workspace(std::int64_t outer, std::int64_t channels,
                                                std::int64_t inner);

// kernel/random.hpp. Random numbers of a seed (two words; null: 0), which depend on the seed and
// on the position alone.
template <class T>
void random_uniform(const Executor& executor, const std::uint32_t* seed, double low, double high,
                    T* y, std::int64_t n);
template <class T>
void random_normal(const Executor& executor, const std::uint32_t* seed, double mean, double scale,
                   T* y, std::int64_t n);
/// y is `one` with probability x, else 0.
template <class T, class U>
void bernoulli(const Executor& executor, const std::uint32_t* seed, const T* x, U one, U* y,
               std::int64_t n);
/// Draws from exp(x[row, :]); `sums` has room for rows * classes numbers.
template <class T, class I>
void multinomial(const Executor& executor, const std::uint32_t* seed, const T* x, std::int64_t rows,
                 std::int64_t classes, std::int64_t samples, double* sums, I* y);
/// y is x / (1 - ratio) or, with probability `ratio`, 0; `mask` (or null) says where it is not.
template <class T>
void dropout(const Executor& executor, const std::uint32_t* seed, double ratio, const T* x, T* y,
             bool* mask, std::int64_t n);
/// The element of the mask for x[i...] is number sum of i * steps.
template <class T>
void shaped_dropout(const Executor& executor, const std::uint32_t* seed, double ratio,
                    const std::int64_t* extents, const std::int64_t* steps, std::size_t rank,
                    const T* x, T* y, std::int64_t n);
template <class Word>
void derive_seed(const Word* state, std::int64_t number, bool is_fixed, std::int64_t fixed,
                 Word* seed);
template <class Word>
void advance_random(const Word* state, std::int64_t number, Word* next);

}  // namespace kernel
}  // namespace halftone
