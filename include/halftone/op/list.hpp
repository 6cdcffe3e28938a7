#pragma once

#include <halftone/graph/gradient.hpp>
#include <halftone/graph/model.hpp>
#include <halftone/graph/registry.hpp>

// Every operator of the library: its struct, and the function that users call. An older meaning of
// an operator has a struct only, like what has the name of another function. One line here, one header beside this one (included at the end).
// clang-format off
#define HALFTONE_OPERATORS(OP, OLD)                              \
  OP(Add, add)                                                   \
  OP(Sub, sub)                                                   \
  OP(Mul, mul)                                                   \
  OP(Div, div)                                                   \
  OP(Neg, neg)                                                   \
  OP(Exp, exp)                                                   \
  OP(Sigmoid, sigmoid)                                           \
  OP(Relu, relu)                                                 \
  OP(Greater, greater)                                           \
  OP(Where, where)                                               \
  OP(Mod, mod)                                                   \
  OP(Max, maximum)                                               \
  OP(Min, minimum)                                               \
  OP(Log, log)                                                   \
  OP(Sqrt, sqrt)                                                 \
  OP(Reciprocal, reciprocal)                                     \
  OP(Erf, erf)                                                   \
  OP(Abs, abs)                                                   \
  OP(Sign, sign)                                                 \
  OP(Floor, floor)                                               \
  OP(Ceil, ceil)                                                 \
  OP(Round, round)                                               \
  OP(Sin, sin)                                                   \
  OP(Cos, cos)                                                   \
  OP(Tan, tan)                                                   \
  OP(Asin, asin)                                                 \
  OP(Acos, acos)                                                 \
  OP(Atan, atan)                                                 \
  OP(Sinh, sinh)                                                 \
  OP(Cosh, cosh)                                                 \
  OP(Tanh, tanh)                                                 \
  OP(Asinh, asinh)                                               \
  OP(Acosh, acosh)                                               \
  OP(Atanh, atanh)                                               \
  OP(Pow, pow)                                                   \
  OP(IsNaN, isnan)                                               \
  OP(IsInf, isinf)                                               \
  OP(LeakyRelu, leaky_relu)                                      \
  OP(PRelu, prelu)                                               \
  OP(Elu, elu)                                                   \
  OP(Selu, selu)                                                 \
  OP(Celu, celu)                                                 \
  OP(Softplus, softplus)                                         \
  OP(Softsign, softsign)                                         \
  OP(HardSigmoid, hard_sigmoid)                                  \
  OP(HardSwish, hard_swish)                                      \
  OP(ThresholdedRelu, thresholded_relu)                          \
  OP(Shrink, shrink)                                             \
  OP(Mish, mish)                                                 \
  OP(Less, less)                                                 \
  OP(Equal, equal)                                               \
  OP(GreaterOrEqual, greater_or_equal)                           \
  OP(LessOrEqual, less_or_equal)                                 \
  OP(And, logical_and)                                           \
  OP(Or, logical_or)                                             \
  OP(Xor, logical_xor)                                           \
  OP(Not, logical_not)                                           \
  OP(Clip, clip)                                                 \
  OLD(Sum)                                                       \
  OLD(Mean)                                                      \
  OLD(Add_1)                                                     \
  OLD(Sub_1)                                                     \
  OLD(Mul_1)                                                     \
  OLD(Div_1)                                                     \
  OLD(Pow_1)                                                     \
  OLD(PRelu_1)                                                   \
  OLD(Clip_1)                                                    \
  OLD(Greater_1)                                                 \
  OLD(Less_1)                                                    \
  OLD(Equal_1)                                                   \
  OLD(And_1)                                                     \
  OLD(Or_1)                                                      \
  OLD(Xor_1)                                                     \
  OP(ReduceSum, sum)                                             \
  OP(ReduceMean, mean)                                           \
  OP(ReduceMax, max)                                             \
  OP(ReduceMin, min)                                             \
  OP(ReduceProd, prod)                                           \
  OP(ReduceL1, l1)                                               \
  OP(ReduceL2, l2)                                               \
  OP(ReduceLogSum, logsum)                                       \
  OP(ReduceLogSumExp, logsumexp)                                 \
  OP(ReduceSumSquare, sumsquare)                                 \
  OLD(ReduceSum_1)                                               \
  OLD(ReduceMean_1)                                              \
  OLD(ReduceMax_1)                                               \
  OLD(ReduceMin_1)                                               \
  OLD(ReduceProd_1)                                              \
  OLD(ReduceL1_1)                                                \
  OLD(ReduceL2_1)                                                \
  OLD(ReduceLogSum_1)                                            \
  OLD(ReduceLogSumExp_1)                                         \
  OLD(ReduceSumSquare_1)                                         \
  OP(Softmax, softmax)                                           \
  OP(LogSoftmax, log_softmax)                                    \
  OLD(Softmax_1)                                                 \
  OLD(LogSoftmax_1)                                              \
  OP(BatchNormalization, batch_normalization)                    \
  OLD(BatchNormalization_7)                                      \
  OLD(BatchNormalization_1)                                      \
  OP(MatMul, matmul)                                             \
  OP(Gemm, gemm)                                                 \
  OLD(Gemm_6)                                                    \
  OP(Conv, conv)                                                 \
  OP(Reshape, reshape)                                           \
  OP(Flatten, flatten)                                           \
  OP(Squeeze, squeeze)                                           \
  OLD(Squeeze_1)                                                 \
  OP(Unsqueeze, unsqueeze)                                       \
  OLD(Unsqueeze_1)                                               \
  OP(Identity, identity)                                         \
  OP(Transpose, transpose)                                       \
  OP(Concat, concat)                                             \
  OLD(Concat_1)                                                  \
  OP(Slice, slice)                                               \
  OLD(Slice_1)                                                   \
  OP(Split, split)                                               \
  OLD(Split_2)                                                   \
  OP(Pad, pad)                                                   \
  OLD(Pad_2)                                                     \
  OP(CenterCropPad, center_crop_pad)                             \
  OP(Expand, expand)                                             \
  OP(Gather, gather)                                             \
  OP(Cast, cast)                                                 \
  OLD(CastLike)                                                  \
  OP(BitCast, bit_cast)                                          \
  OP(Shape, shape_of)                                            \
  OP(Size, size_of)                                              \
  OP(ConstantOfShape, constant_of_shape)                         \
  OP(Dropout, dropout)                                           \
  OLD(Dropout_1)                                                 \
  OP(MaxPool, max_pool)                                          \
  OP(AveragePool, average_pool)                                  \
  OP(GlobalAveragePool, global_average_pool)                     \
  OP(GlobalMaxPool, global_max_pool)                             \
  OP(ArgMax, argmax)                                             \
  OP(ArgMin, argmin)                                             \
  OP(ConvTranspose, conv_transpose)                              \
  OP(DepthToSpace, depth_to_space)                               \
  OP(SpaceToDepth, space_to_depth)                               \
  OP(DFT, dft)                                                   \
  OLD(DFT_17)                                                    \
  OP(STFT, stft)                                                 \
  OP(GatherElements, gather_elements)                            \
  OP(GatherND, gather_nd)                                        \
  OP(Gelu, gelu)                                                 \
  OP(GeluErf, gelu_erf)                                          \
  OP(Swish, swish)                                               \
  OP(ReplicatedAllReduce, replicated_all_reduce)                 \
  OP(ReplicatedReduceScatter, replicated_reduce_scatter)         \
  OP(ReplicatedAllGather, replicated_all_gather)                 \
  OP(AllReduce, all_reduce)                                      \
  OP(MultiConv, multi_conv)                                      \
  OLD(Init)                                                      \
  OLD(Zeros)                                                     \
  OP(ZerosLike, zeros_like)                                      \
  OP(Ctc, ctc_loss)                                              \
  OP(CtcBeamSearchDecoder, ctc_beam_search_decoder)              \
  OP(DynamicSlice, dynamic_slice)                                \
  OP(DynamicUpdate, dynamic_update)                              \
  OP(DynamicZero, dynamic_zero)                                  \
  OP(DynamicAdd, dynamic_add)                                    \
  OP(SequenceSlice, sequence_slice)                              \
  OP(CastThenPow2Scale, pow2scale_cast_from_fp8)                 \
  OP(Pow2ScaleThenCast, pow2scale_cast_to_fp8)                   \
  OLD(MatMulPow2Scaled)                                          \
  OLD(ConvPow2Scaled)                                            \
  OLD(ConvTransposePow2Scaled)                                   \
  OP(NormalizeImage, normalize_image)                            \
  OP(Nll, nll_loss)                                              \
  OP(L1, l1_loss)                                                \
  OP(IdentityLoss, identity_loss)                                \
  OP(Scale, scale_by)                                            \
  OP(ScaledAdd, scaled_add)                                      \
  OP(Expm1, expm1)                                               \
  OP(Log1p, log1p)                                               \
  OP(Atan2, atan2)                                               \
  OP(GraphcoreRound, round_away)                                 \
  OLD(NearbyInt)                                                 \
  OP(Fmod, fmod)                                                 \
  OLD(Remainder)                                                 \
  OP(Square, square)                                             \
  OP(IncrementMod, increment_mod)                                \
  OLD(BinaryConstScalar)                                         \
  OP(BitwiseAnd, bitwise_and)                                    \
  OP(BitwiseOr, bitwise_or)                                      \
  OP(BitwiseXor, bitwise_xor)                                    \
  OP(BitwiseXnor, bitwise_xnor)                                  \
  OP(BitwiseNot, bitwise_not)                                    \
  OLD(GraphcoreBitwiseAnd)                                       \
  OLD(GraphcoreBitwiseOr)                                        \
  OLD(GraphcoreBitwiseXor)                                       \
  OLD(GraphcoreBitwiseNot)                                       \
  OLD(Nop)                                                       \
  OP(Detach, detach)                                             \
  OLD(TensorRemap)                                               \
  OP(CopyVarUpdate, copy_var_update)                             \
  OP(Subsample, subsample)                                       \
  OP(Reverse, reverse)                                           \
  OLD(GraphcoreReshape)                                          \
  OLD(GraphcoreSlice)                                            \
  OLD(GraphcoreDepthToSpace)                                     \
  OP(ConvFlipWeights, conv_flip_weights)                         \
  OP(GroupNormalization, group_norm)                             \
  OLD(GraphcoreBatchNormalization)                               \
  OP(PrintTensor, print_tensor)                                  \
  OP(Abort, abort)                                               \
  OLD(AddLhsInplace)                                             \
  OLD(AutoLossScaleProxy)                                        \
  OLD(LossScaleUpdate)                                           \
  OLD(HostLoad)                                                  \
  OLD(HostStore)                                                 \
  OP(RemoteLoad, remote_load)                                    \
  OP(RemoteStore, remote_store)                                  \
  OLD(RemoteCodeLoad)                                            \
  OLD(PackedDataBlock)                                           \
  OP(ScatterReduce, scatter_reduce)                              \
  OP(GroupedGather, grouped_gather)                              \
  OP(SplineBasis, spline_basis)                                  \
  OP(SplineWeighting, spline_weighting)                          \
  OP(Bucketize, bucketize)                                       \
  OP(Histogram, histogram)                                       \
  OP(Sort, sort)                                                 \
  OP(ReduceMedian, median)                                       \
  OP(GridSample, grid_sample)                                    \
  OP(Hardmax, hardmax)                                           \
  OLD(Hardmax_1)                                                 \
  OP(InstanceNormalization, instance_normalization)              \
  OLD(InstanceNormalization_1)                                   \
  OP(MatMulInteger, matmul_integer)                              \
  OP(ConvInteger, conv_integer)                                  \
  OP(QLinearMatMul, qlinear_matmul)                              \
  OP(QLinearConv, qlinear_conv)                                  \
  OP(LayerNormalization, layer_normalization)                    \
  OP(LpPool, lp_pool)                                            \
  OLD(LpPool_1)                                                  \
  OP(GlobalLpPool, global_lp_pool)                               \
  OLD(GlobalLpPool_1)                                            \
  OP(LRN, lrn)                                                   \
  OP(MaxUnpool, max_unpool)                                      \
  OP(MeanVarianceNormalization, mean_variance_normalization)     \
  OP(LpNormalization, lp_normalization)                          \
  OP(NegativeLogLikelihoodLoss, negative_log_likelihood_loss)    \
  OP(QuantizeLinear, quantize_linear)                            \
  OP(DequantizeLinear, dequantize_linear)                        \
  OP(DynamicQuantizeLinear, dynamic_quantize_linear)             \
  OP(LSTM, lstm)                                                 \
  OP(GRU, gru)                                                   \
  OP(RNN, rnn)                                                   \
  OLD(LSTM_1)                                                    \
  OLD(GRU_1)                                                     \
  OLD(RNN_1)                                                     \
  OP(Resize, resize)                                             \
  OLD(Resize_10)                                                 \
  OLD(Upsample)                                                  \
  OLD(Upsample_7)                                                \
  OLD(Upsample_1)                                                \
  OP(RoiAlign, roi_align)                                        \
  OLD(RoiAlign_10)                                               \
  OP(MaxRoiPool, max_roi_pool)                                   \
  OP(AffineGrid, affine_grid)                                    \
  OP(Col2Im, col2im)                                             \
  OLD(DeformConv)                                                \
  OP(ScatterElements, scatter_elements)                          \
  OLD(Scatter)                                                   \
  OP(ScatterND, scatter_nd)                                      \
  OP(SoftmaxCrossEntropyLoss, softmax_cross_entropy_loss)        \
  OP(Tile, tile)                                                 \
  OP(HannWindow, hann_window)                                    \
  OP(HammingWindow, hamming_window)                              \
  OP(BlackmanWindow, blackman_window)                            \
  OP(MelWeightMatrix, mel_weight_matrix)                         \
  OP(BitShift, bit_shift)                                        \
  OP(CumSum, cumsum)                                             \
  OP(CumProd, cumprod)                                           \
  OLD(GraphcoreLSTM)                                             \
  OP(NonZero, nonzero)                                           \
  OP(Compress, compress)                                         \
  OP(OneHot, onehot)                                             \
  OP(Range, range)                                               \
  OP(ReverseSequence, reverse_sequence)                          \
  OP(TopK, topk)                                                 \
  OLD(TopK_1)                                                    \
  OP(Trilu, trilu)                                               \
  OP(EyeLike, eye_like)                                          \
  OP(Det, det)                                                   \
  OP(Einsum, einsum)                                             \
  OP(NonMaxSuppression, non_max_suppression)                     \
  OP(TfIdfVectorizer, tfidf_vectorizer)                          \
  OP(Unique, unique)                                             \
  OLD(OnnxGelu)                                                  \
  OLD(OnnxSwish)                                                 \
  OP(SwiGLU, swiglu)                                             \
  OLD(OnnxGroupNormalization)                                    \
  OLD(OnnxGroupNormalization_18)                                 \
  OP(RMSNormalization, rms_normalization)                        \
  OP(RotaryEmbedding, rotary_embedding)                          \
  OP(Attention, attention)                                       \
  OLD(FlexAttention)                                             \
  OP(TensorScatter, tensor_scatter)                              \
  OLD(CumProdGradient)                                           \
  OP(CausalConvWithState, causal_conv)                           \
  OP(LinearAttention, linear_attention)                          \
  OLD(Accumulate)                                                \
  OLD(EveryN)                                                    \
  OLD(Update)                                                    \
  OLD(SliceGradient)                                             \
  OLD(NllGradient)                                               \
  OLD(NegativeLogLikelihoodLossGradient)                         \
  OLD(SoftmaxNllGradient)                                        \
  OLD(ConvWeightGradient)                                        \
  OLD(PadGradient)                                               \
  OLD(BatchNormalizationGradient)                                \
  OLD(MaxPoolGradient)                                           \
  OLD(AveragePoolGradient)                                       \
  OLD(TrainedLSTM)                                               \
  OLD(RecurrentGradient)                                         \
  OLD(ResizeGradient)                                            \
  OLD(GridSampleGradient)                                        \
  OLD(DeformColumns)                                             \
  OLD(DeformColumnsGradient)                                     \
  OP(Im2Col, im2col)                                             \
  OLD(GatherGradient)                                            \
  OLD(If)                                                        \
  OLD(Loop)                                                      \
  OLD(Scan)                                                      \
  OLD(Scan_8)                                                    \
  OLD(Call)                                                      \
  OLD(Constant)                                                  \
  OLD(PreviewAdagrad)                                            \
  OLD(PreviewAdam)                                               \
  OLD(PreviewMomentum)                                           \
  OLD(SequenceEmpty)                                             \
  OLD(SequenceConstruct)                                         \
  OLD(SequenceAt)                                                \
  OLD(SequenceInsert)                                            \
  OLD(SequenceErase)                                             \
  OLD(SequenceLength)                                            \
  OLD(SplitToSequence)                                           \
  OLD(ConcatFromSequence)                                        \
  OLD(SequenceMap)                                               \
  OLD(MakeOptional)                                              \
  OLD(OptionalGetElement)                                        \
  OLD(OptionalHasElement)                                        \
  OP(StringConcat, string_concat)                                \
  OP(Tokenizer, tokenizer)                                       \
  OP(StringSplit, string_split)                                  \
  OP(RegexFullMatch, regex_full_match)                           \
  OP(StringNormalizer, string_normalizer)                        \
  OLD(Scaler)                                                    \
  OLD(Normalizer)                                                \
  OLD(Binarizer)                                                 \
  OLD(Imputer)                                                   \
  OLD(LinearRegressor)                                           \
  OLD(LinearClassifier)                                          \
  OLD(ArrayFeatureExtractor)                                     \
  OLD(FeatureVectorizer)                                         \
  OLD(TreeEnsembleClassifier)                                    \
  OLD(TreeEnsembleRegressor)                                     \
  OLD(TreeEnsemble)                                              \
  OLD(OneHotEncoder)                                             \
  OLD(LabelEncoder)                                              \
  OLD(LabelEncoder_1)                                            \
  OLD(CategoryMapper)                                            \
  OLD(ZipMap)                                                    \
  OLD(DictVectorizer)                                            \
  OLD(CastMap)                                                   \
  OLD(SVMClassifier)                                             \
  OLD(SVMRegressor)                                              \
  OP(RandomNormal, random_normal)                                \
  OP(RandomUniform, random_uniform)                              \
  OP(RandomNormalLike, random_normal_like)                       \
  OP(RandomUniformLike, random_uniform_like)                     \
  OP(Bernoulli, bernoulli)                                       \
  OP(Multinomial, multinomial)                                   \
  OP(ShapedDropout, shaped_dropout)                              \
  OLD(DeriveSeed)                                                \
  OLD(AdvanceRandom)                                             \
  OLD(MicrosoftGelu)                                             \
  OLD(BiasGelu)                                                  \
  OLD(FastGelu)                                                  \
  OLD(QuickGelu)                                                 \
  OLD(BiasSplitGelu)                                             \
  OLD(BiasAdd)                                                   \
  OLD(BiasSoftmax)                                               \
  OLD(FusedMatMul)                                               \
  OLD(TransposeMatMul)                                           \
  OLD(FusedMatMulActivation)                                     \
  OLD(FusedGemm)                                                 \
  OLD(GemmFastGelu)                                              \
  OLD(MicrosoftFusedConv)                                        \
  OLD(NhwcConv)                                                  \
  OLD(NhwcFusedConv)                                             \
  OLD(ConvTransposeWithDynamicPads)                              \
  OLD(LayerNormalization_1)                                      \
  OLD(SimplifiedLayerNormalization)                              \
  OLD(SkipLayerNormalization)                                    \
  OLD(SkipSimplifiedLayerNormalization)                          \
  OLD(EmbedLayerNormalization)                                   \
  OLD(GroupNorm)                                                 \
  OLD(SkipGroupNorm)                                             \
  OLD(MicrosoftAttention)                                        \
  OLD(QAttention)                                                \
  OLD(MultiHeadAttention)                                        \
  OLD(MicrosoftRotaryEmbedding)                                  \
  OLD(GroupQueryAttention)                                       \
  OLD(RelativePositionBias)                                      \
  OLD(MicrosoftQuantizeLinear)                                   \
  OLD(MicrosoftDequantizeLinear)                                 \
  OLD(MatMulIntegerToFloat)                                      \
  OLD(DynamicQuantizeMatMul)                                     \
  OLD(DynamicQuantizeLSTM)                                       \
  OLD(QLinearAdd)                                                \
  OLD(QLinearMul)                                                \
  OLD(QLinearWhere)                                              \
  OLD(QLinearSigmoid)                                            \
  OLD(QLinearLeakyRelu)                                          \
  OLD(QLinearSoftmax)                                            \
  OLD(QLinearAveragePool)                                        \
  OLD(QLinearGlobalAveragePool)                                  \
  OLD(QLinearReduceMean)                                         \
  OLD(QLinearConcat)                                             \
  OLD(MicrosoftQLinearConv)                                      \
  OLD(QGemm)                                                     \
  OLD(MulInteger)                                                \
  OLD(ReduceSumInteger)                                          \
  OLD(MatMulInteger16)                                           \
  OP(MatMulNBits, matmul_nbits)                                  \
  OLD(GatherBlockQuantized)                                      \
  OP(Inverse, matrix_inverse)                                    \
  OLD(MicrosoftTrilu)                                            \
  OLD(MicrosoftUnique)                                           \
  OLD(CDist)                                                     \
  OLD(ExpandDims)                                                \
  OLD(MicrosoftGatherND)                                         \
  OLD(MicrosoftRange)                                            \
  OLD(SampleOp)                                                  \
  OLD(MicrosoftPad)                                              \
  OLD(ComplexMul)                                                \
  OLD(ComplexMulConj)                                            \
  OLD(Rfft)                                                      \
  OLD(Irfft)                                                     \
  OLD(IsAllFinite)                                               \
  OLD(FusedConv)                                                 \
  OLD(PairedConv)                                                \
  OLD(MatMulWithEpilogue)                                        \
  OLD(PairedMatMul)                                              \
  OLD(QuantizedConv)                                             \
  OLD(QuantizedMatMul)                                           \
  OLD(ByteTable)                                                 \
  OLD(JoinedUpdate)                                              \
  OLD(FusedAttention)                                            \
  OLD(FusedAttentionGradient)                                    \
  OLD(ReorderChannels)                                           \
  OLD(ChannelMoments)                                            \
  OLD(BlockedBatchNormalization)                                 \
  OLD(BlockedBatchNormalizationGradient)                         \
  OLD(BlockedConvTranspose)                                      \
  OLD(Fused)                                                     \
  OLD(BatchParts)                                                \
  OLD(ReluGradient)                                              \
  OLD(ClipGradient)
// clang-format on

namespace halftone {

namespace op {
#define HALFTONE_DECLARE(Struct, function) \
  struct Struct;                           \
  inline constexpr OpFunction<Struct> function{};
#define HALFTONE_DECLARE_OLD(Struct) struct Struct;
HALFTONE_OPERATORS(HALFTONE_DECLARE, HALFTONE_DECLARE_OLD)
#undef HALFTONE_DECLARE
#undef HALFTONE_DECLARE_OLD
std::true_type is_of_library(const auto*);
}  // namespace op

namespace detail {
template <class None, class... Op>
Registry<Op...> registry_of();
#define HALFTONE_NAME(Struct, function) , op::Struct
#define HALFTONE_NAME_OLD(Struct) , op::Struct
using Builtins = decltype(registry_of<void HALFTONE_OPERATORS(HALFTONE_NAME, HALFTONE_NAME_OLD)>());
#undef HALFTONE_NAME
#undef HALFTONE_NAME_OLD
}  // namespace detail

/// The operators of the library.
using builtin = detail::Builtins;

/// c ? a : b, element by element; for tensors, numbers and vectors of numbers.
inline constexpr auto select = [](const auto& c, const auto& a, const auto& b) {
  return op::where(c, a, b);
};

}  // namespace halftone

#include <halftone/op/handle_operators.hpp>

// Operators that others are composed of come first.
// clang-format off
#include <halftone/op/activation.hpp>
#include <halftone/op/arithmetic.hpp>
#include <halftone/op/batch_normalization.hpp>
#include <halftone/op/blocked_normalization.hpp>
#include <halftone/op/batch_parts.hpp>
#include <halftone/op/cast.hpp>
#include <halftone/op/cast_like.hpp>
#include <halftone/op/clip.hpp>
#include <halftone/op/compare.hpp>
#include <halftone/op/concat.hpp>
#include <halftone/op/constant_of_shape.hpp>
#include <halftone/op/conv.hpp>
#include <halftone/op/dropout.hpp>
#include <halftone/op/expand.hpp>
#include <halftone/op/flatten.hpp>
#include <halftone/op/fused.hpp>
#include <halftone/op/fused_conv.hpp>
#include <halftone/op/paired_conv.hpp>
#include <halftone/op/fused_attention.hpp>
#include <halftone/op/gather.hpp>
#include <halftone/op/gemm.hpp>
#include <halftone/op/identity.hpp>
#include <halftone/op/if.hpp>
#include <halftone/op/math.hpp>
#include <halftone/op/matmul.hpp>
#include <halftone/op/matmul_with_epilogue.hpp>
#include <halftone/op/paired_matmul.hpp>
#include <halftone/op/pad.hpp>
#include <halftone/op/pool.hpp>
#include <halftone/op/reduce.hpp>
#include <halftone/op/reshape.hpp>
#include <halftone/op/shape.hpp>
#include <halftone/op/slice.hpp>
#include <halftone/op/softmax.hpp>
#include <halftone/op/split.hpp>
#include <halftone/op/squeeze.hpp>
#include <halftone/op/transpose.hpp>
#include <halftone/op/update.hpp>
#include <halftone/op/arg_max.hpp>
#include <halftone/op/conv_transpose.hpp>
#include <halftone/op/depth_to_space.hpp>
#include <halftone/op/fourier.hpp>
#include <halftone/op/gather_elements.hpp>
#include <halftone/op/graphcore_activation.hpp>
#include <halftone/op/graphcore_collectives.hpp>
#include <halftone/op/graphcore_conv.hpp>
#include <halftone/op/graphcore_create.hpp>
#include <halftone/op/graphcore_ctc.hpp>
#include <halftone/op/graphcore_dynamic.hpp>
#include <halftone/op/graphcore_exchange.hpp>
#include <halftone/op/graphcore_float8.hpp>
#include <halftone/op/graphcore_image.hpp>
#include <halftone/op/graphcore_loss.hpp>
#include <halftone/op/graphcore_math.hpp>
#include <halftone/op/graphcore_movement.hpp>
#include <halftone/op/graphcore_normalization.hpp>
#include <halftone/op/graphcore_print.hpp>
#include <halftone/op/graphcore_scatter.hpp>
#include <halftone/op/graphcore_spline.hpp>
#include <halftone/op/graphcore_statistics.hpp>
#include <halftone/op/graphcore_update.hpp>
#include <halftone/op/grid_sample.hpp>
#include <halftone/op/hardmax.hpp>
#include <halftone/op/instance_normalization.hpp>
#include <halftone/op/integer_product.hpp>
#include <halftone/op/quantized_product.hpp>
#include <halftone/op/byte_table.hpp>
#include <halftone/op/joined_update.hpp>
#include <halftone/op/layer_normalization.hpp>
#include <halftone/op/lp_pool.hpp>
#include <halftone/op/lrn.hpp>
#include <halftone/op/max_unpool.hpp>
#include <halftone/op/mean_variance_normalization.hpp>
#include <halftone/op/negative_log_likelihood_loss.hpp>
#include <halftone/op/quantize_linear.hpp>
#include <halftone/op/recurrent.hpp>
#include <halftone/op/resize.hpp>
#include <halftone/op/roi.hpp>
#include <halftone/op/scatter_elements.hpp>
#include <halftone/op/softmax_cross_entropy_loss.hpp>
#include <halftone/op/tile.hpp>
#include <halftone/op/window.hpp>
#include <halftone/op/bit_shift.hpp>
#include <halftone/op/bitwise.hpp>
#include <halftone/op/cumsum.hpp>
#include <halftone/op/cumprod.hpp>
#include <halftone/op/graphcore_lstm.hpp>
#include <halftone/op/nonzero.hpp>
#include <halftone/op/onehot.hpp>
#include <halftone/op/range.hpp>
#include <halftone/op/reverse_sequence.hpp>
#include <halftone/op/top_k.hpp>
#include <halftone/op/trilu.hpp>
#include <halftone/op/det.hpp>
#include <halftone/op/einsum.hpp>
#include <halftone/op/non_max_suppression.hpp>
#include <halftone/op/tfidf_vectorizer.hpp>
#include <halftone/op/unique.hpp>
#include <halftone/op/affine_grid.hpp>
#include <halftone/op/center_crop_pad.hpp>
#include <halftone/op/col2im.hpp>
#include <halftone/op/deform_conv.hpp>
#include <halftone/op/onnx_activation.hpp>
#include <halftone/op/group_normalization.hpp>
#include <halftone/op/rms_normalization.hpp>
#include <halftone/op/rotary_embedding.hpp>
#include <halftone/op/attention.hpp>
#include <halftone/op/tensor_scatter.hpp>
#include <halftone/op/bit_cast.hpp>
#include <halftone/op/causal_conv.hpp>
#include <halftone/op/linear_attention.hpp>
#include <halftone/op/call.hpp>
#include <halftone/op/flex_attention.hpp>
#include <halftone/op/constant.hpp>
#include <halftone/op/loop.hpp>
#include <halftone/op/random.hpp>
#include <halftone/op/repeat.hpp>
#include <halftone/op/scan.hpp>
#include <halftone/op/optional.hpp>
#include <halftone/op/preview_training.hpp>
#include <halftone/op/sequence.hpp>
#include <halftone/op/text.hpp>
#include <halftone/op/graphcore_packed.hpp>
#include <halftone/op/normalization.hpp>
#include <halftone/op/ml_categories.hpp>
#include <halftone/op/ml_features.hpp>
#include <halftone/op/ml_linear.hpp>
#include <halftone/op/ml_maps.hpp>
#include <halftone/op/ml_scaling.hpp>
#include <halftone/op/ml_svm.hpp>
#include <halftone/op/ml_tree_ensemble.hpp>
#include <halftone/op/microsoft_activation.hpp>
#include <halftone/op/microsoft_product.hpp>
#include <halftone/op/microsoft_normalization.hpp>
#include <halftone/op/microsoft_attention.hpp>
#include <halftone/op/microsoft_bits.hpp>
#include <halftone/op/microsoft_quantized.hpp>
#include <halftone/op/microsoft_tensor.hpp>
#include <halftone/op/gradient.hpp>
#include <halftone/op/handle_parts.hpp>
// clang-format on

namespace halftone {

// Instantiated once, in the core.
#define HALFTONE_EXTERN(Struct, function) extern template const Descriptor descriptor<op::Struct>;
#define HALFTONE_EXTERN_OLD(Struct) extern template const Descriptor descriptor<op::Struct>;
HALFTONE_OPERATORS(HALFTONE_EXTERN, HALFTONE_EXTERN_OLD)
#undef HALFTONE_EXTERN
#undef HALFTONE_EXTERN_OLD

}  // namespace halftone
