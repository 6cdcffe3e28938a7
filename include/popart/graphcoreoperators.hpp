#pragma once

#include <cstdint>

#include <popart/operatoridentifier.hpp>

// Written by src/popart/generate_operators.py.

namespace popart {

/// The versions of operator sets that a new builder writes.
inline constexpr int64_t defaultAiOnnxOpset = 10;
inline constexpr int64_t defaultAiOnnxMlOpset = 1;
inline constexpr int64_t defaultAiGraphcoreOpset = 1;

namespace Onnx {

/// Gradients of ONNX's operators.
namespace GradOperators {
extern const AiGraphcoreOpIdV1 AbsGrad;
extern const AiGraphcoreOpIdV1 AddArg0Grad;
extern const AiGraphcoreOpIdV1 AddArg1Grad;
extern const AiGraphcoreOpIdV1 AsinGrad;
extern const AiGraphcoreOpIdV1 Atan2Arg0Grad;
extern const AiGraphcoreOpIdV1 Atan2Arg1Grad;
extern const AiGraphcoreOpIdV1 AtanGrad;
extern const AiGraphcoreOpIdV1 AutoLossScaleProxyGrad;
extern const AiGraphcoreOpIdV1 AveragePoolGrad;
extern const AiGraphcoreOpIdV1 BatchNormalizationGrad;
extern const AiGraphcoreOpIdV1 CastGrad;
extern const AiGraphcoreOpIdV1 ClipGrad;
extern const AiGraphcoreOpIdV1 ConcatGrad;
extern const AiGraphcoreOpIdV1 ConvDataGrad;
extern const AiGraphcoreOpIdV1 ConvWeightsGrad;
extern const AiGraphcoreOpIdV1 ConvFlipWeightsGrad;
extern const AiGraphcoreOpIdV1 CosGrad;
extern const AiGraphcoreOpIdV1 CumSumGrad;
extern const AiGraphcoreOpIdV1 DivArg0Grad;
extern const AiGraphcoreOpIdV1 DivArg1Grad;
extern const AiGraphcoreOpIdV1 DropoutGrad;
extern const AiGraphcoreOpIdV1 EluGrad;
extern const AiGraphcoreOpIdV1 ErfGrad;
extern const AiGraphcoreOpIdV1 ExpandGrad;
extern const AiGraphcoreOpIdV1 ExpGrad;
extern const AiGraphcoreOpIdV1 Expm1Grad;
extern const AiGraphcoreOpIdV1 GatherGrad;
extern const AiGraphcoreOpIdV1 GeluGrad;
extern const AiGraphcoreOpIdV1 GeluErfGrad;
extern const AiGraphcoreOpIdV1 GlobalAveragePoolGrad;
extern const AiGraphcoreOpIdV1 GlobalMaxPoolGrad;
extern const AiGraphcoreOpIdV1 GroupNormalizationGrad;
extern const AiGraphcoreOpIdV1 GRUGrad;
extern const AiGraphcoreOpIdV1 HardSigmoidGrad;
extern const AiGraphcoreOpIdV1 IdentityGrad;
extern const AiGraphcoreOpIdV1 IdentityLossGrad;
extern const AiGraphcoreOpIdV1 InstanceNormalizationGrad;
extern const AiGraphcoreOpIdV1 LeakyReluGrad;
extern const AiGraphcoreOpIdV1 Log1pGrad;
extern const AiGraphcoreOpIdV1 LogGrad;
extern const AiGraphcoreOpIdV1 LogSoftmaxGrad;
extern const AiGraphcoreOpIdV1 LRN;
extern const AiGraphcoreOpIdV1 LRNGrad;
extern const AiGraphcoreOpIdV1 LSTMGrad;
extern const AiGraphcoreOpIdV1 MatMulLhsGrad;
extern const AiGraphcoreOpIdV1 MatMulRhsGrad;
extern const AiGraphcoreOpIdV1 MaxArgGrad;
extern const AiGraphcoreOpIdV1 MaxPoolGrad;
extern const AiGraphcoreOpIdV1 MeanArgGrad;
extern const AiGraphcoreOpIdV1 MinArgGrad;
extern const AiGraphcoreOpIdV1 FmodArg0Grad;
extern const AiGraphcoreOpIdV1 MulArg0Grad;
extern const AiGraphcoreOpIdV1 MulArg1Grad;
extern const AiGraphcoreOpIdV1 MultiConvDataGrad;
extern const AiGraphcoreOpIdV1 MultiConvWeightsGrad;
extern const AiGraphcoreOpIdV1 NegGrad;
extern const AiGraphcoreOpIdV1 OneHotGrad;
extern const AiGraphcoreOpIdV1 PadGrad;
extern const AiGraphcoreOpIdV1 PopartLSTMGrad;
extern const AiGraphcoreOpIdV1 PowArg0Grad;
extern const AiGraphcoreOpIdV1 PowArg1Grad;
extern const AiGraphcoreOpIdV1 ReciprocalGrad;
extern const AiGraphcoreOpIdV1 ReduceL1Grad;
extern const AiGraphcoreOpIdV1 ReduceL2Grad;
extern const AiGraphcoreOpIdV1 ReduceLogSumExpGrad;
extern const AiGraphcoreOpIdV1 ReduceLogSumGrad;
extern const AiGraphcoreOpIdV1 ReduceMaxGrad;
extern const AiGraphcoreOpIdV1 ReduceMeanGrad;
extern const AiGraphcoreOpIdV1 ReduceMinGrad;
extern const AiGraphcoreOpIdV1 ReduceProdGrad;
extern const AiGraphcoreOpIdV1 ReduceSumGrad;
extern const AiGraphcoreOpIdV1 ReduceSumSquareGrad;
extern const AiGraphcoreOpIdV1 ReluGrad;
extern const AiGraphcoreOpIdV1 ReshapeGrad;
extern const AiGraphcoreOpIdV1 ResizeGrad;
extern const AiGraphcoreOpIdV1 ReverseGrad;
extern const AiGraphcoreOpIdV1 RNNGrad;
extern const AiGraphcoreOpIdV1 RoiAlignGrad;
extern const AiGraphcoreOpIdV1 Scale;
extern const AiGraphcoreOpIdV1 ScaleGrad;
extern const AiGraphcoreOpIdV1 ScatterDataGrad;
extern const AiGraphcoreOpIdV1 ScatterUpdateGrad;
extern const AiGraphcoreOpIdV1 SeluGrad;
extern const AiGraphcoreOpIdV1 ShrinkGrad;
extern const AiGraphcoreOpIdV1 SigmoidGrad;
extern const AiGraphcoreOpIdV1 SignGrad;
extern const AiGraphcoreOpIdV1 SinGrad;
extern const AiGraphcoreOpIdV1 SinhGrad;
extern const AiGraphcoreOpIdV1 SliceGrad;
extern const AiGraphcoreOpIdV1 SoftmaxGrad;
extern const AiGraphcoreOpIdV1 SoftPlusGrad;
extern const AiGraphcoreOpIdV1 SoftSignGrad;
extern const AiGraphcoreOpIdV1 SplitGrad;
extern const AiGraphcoreOpIdV1 SqrtGrad;
extern const AiGraphcoreOpIdV1 SubArg0Grad;
extern const AiGraphcoreOpIdV1 SubArg1Grad;
extern const AiGraphcoreOpIdV1 SumArgGrad;
extern const AiGraphcoreOpIdV1 TanhGrad;
extern const AiGraphcoreOpIdV1 ThresholdedReluGrad;
extern const AiGraphcoreOpIdV1 TiedGatherGrad;
extern const AiGraphcoreOpIdV1 TileGrad;
extern const AiGraphcoreOpIdV1 TopKGrad;
extern const AiGraphcoreOpIdV1 TransposeGrad;
extern const AiGraphcoreOpIdV1 WhereXGrad;
extern const AiGraphcoreOpIdV1 WhereYGrad;
}  // namespace GradOperators

/// Operators that ONNX does not have, and in-place forms.
namespace CustomOperators {
extern const AiGraphcoreOpIdV1 Abort;
extern const AiGraphcoreOpIdV1 Accumulate;
extern const AiGraphcoreOpIdV1 AccumulatorScale;
extern const AiGraphcoreOpIdV1 AccumulatorUpdate;
extern const AiGraphcoreOpIdV1 AccumulatorZero;
extern const AiGraphcoreOpIdV1 AdaDeltaUpdater;
extern const AiGraphcoreOpIdV1 AdamCombo;
extern const AiGraphcoreOpIdV1 AdamUpdater;
extern const AiGraphcoreOpIdV1 AdamVarUpdate;
extern const AiGraphcoreOpIdV1 AdaptiveCombo;
extern const AiGraphcoreOpIdV1 AddBias;
extern const AiGraphcoreOpIdV1 AddBiasInplace;
extern const AiGraphcoreOpIdV1 AddLhsInplace;
extern const AiGraphcoreOpIdV1 AddRhsInplace;
extern const AiGraphcoreOpIdV1 AllReduce;
extern const AiGraphcoreOpIdV1 AsinInplace;
extern const AiGraphcoreOpIdV1 Atan2_1;
extern const AiGraphcoreOpIdV1 Atan2Inplace;
extern const AiGraphcoreOpIdV1 AtanInplace;
extern const AiGraphcoreOpIdV1 AutoLossScaleProxy;
extern const AiGraphcoreOpIdV1 BinaryConstScalar;
extern const AiGraphcoreOpIdV1 BitwiseAnd;
extern const AiGraphcoreOpIdV1 BitwiseNot;
extern const AiGraphcoreOpIdV1 BitwiseOr;
extern const AiGraphcoreOpIdV1 BitwiseXnor;
extern const AiGraphcoreOpIdV1 BitwiseXor;
extern const AiGraphcoreOpIdV1 Bucketize;
extern const AiGraphcoreOpIdV1 Call_1;
extern const AiGraphcoreOpIdV1 CastThenPow2Scale;
extern const AiGraphcoreOpIdV1 CeilInplace;
extern const AiGraphcoreOpIdV1 ClipInplace;
extern const AiGraphcoreOpIdV1 ConcatGradInplace;
extern const AiGraphcoreOpIdV1 ConcatInplace;
extern const AiGraphcoreOpIdV1 ConvFlipWeights;
extern const AiGraphcoreOpIdV1 CopyVarUpdate;
extern const AiGraphcoreOpIdV1 Ctc;
extern const AiGraphcoreOpIdV1 CtcBeamSearchDecoder;
extern const AiGraphcoreOpIdV1 DepthToSpace;
extern const AiGraphcoreOpIdV1 Detach_1;
extern const AiGraphcoreOpIdV1 DetachInplace;
extern const AiGraphcoreOpIdV1 DynamicAdd_1;
extern const AiGraphcoreOpIdV1 DynamicAddInplace;
extern const AiGraphcoreOpIdV1 DynamicSlice_1;
extern const AiGraphcoreOpIdV1 DynamicSliceInplace_1;
extern const AiGraphcoreOpIdV1 DynamicUpdate_1;
extern const AiGraphcoreOpIdV1 DynamicUpdateInplace;
extern const AiGraphcoreOpIdV1 DynamicZero_1;
extern const AiGraphcoreOpIdV1 DynamicZeroInplace;
extern const AiGraphcoreOpIdV1 EluInplace;
extern const AiGraphcoreOpIdV1 ExpandInplace;
extern const AiGraphcoreOpIdV1 ExpInplace;
extern const AiGraphcoreOpIdV1 Expm1_1;
extern const AiGraphcoreOpIdV1 Expm1Inplace;
extern const AiGraphcoreOpIdV1 FlattenInplace;
extern const AiGraphcoreOpIdV1 FloorInplace;
extern const AiGraphcoreOpIdV1 Fmod;
extern const AiGraphcoreOpIdV1 Gelu_1;
extern const AiGraphcoreOpIdV1 GeluErf_1;
extern const AiGraphcoreOpIdV1 GeluErfInplace;
extern const AiGraphcoreOpIdV1 GeluInplace;
extern const AiGraphcoreOpIdV1 GetRandomSeed;
extern const AiGraphcoreOpIdV1 GradCopyFromHost;
extern const AiGraphcoreOpIdV1 GradientAccumulation;
extern const AiGraphcoreOpIdV1 GroupedGather;
extern const AiGraphcoreOpIdV1 GroupNormalization_1;
extern const AiGraphcoreOpIdV1 HardSigmoidInplace;
extern const AiGraphcoreOpIdV1 Histogram;
extern const AiGraphcoreOpIdV1 HostLoad;
extern const AiGraphcoreOpIdV1 HostLoadInplace;
extern const AiGraphcoreOpIdV1 HostSGD0VarUpdate;
extern const AiGraphcoreOpIdV1 HostStore;
extern const AiGraphcoreOpIdV1 IdentityInplace;
extern const AiGraphcoreOpIdV1 IdentityLoss;
extern const AiGraphcoreOpIdV1 IncrementMod_1;
extern const AiGraphcoreOpIdV1 IncrementModInplace_1;
extern const AiGraphcoreOpIdV1 Init_1;
extern const AiGraphcoreOpIdV1 IoTileCopy;
extern const AiGraphcoreOpIdV1 IpuCopy;
extern const AiGraphcoreOpIdV1 L1;
extern const AiGraphcoreOpIdV1 LambSquare;
extern const AiGraphcoreOpIdV1 LeakyReluInplace;
extern const AiGraphcoreOpIdV1 Log1p_1;
extern const AiGraphcoreOpIdV1 Log1pInplace;
extern const AiGraphcoreOpIdV1 LogSoftmaxInplace;
extern const AiGraphcoreOpIdV1 LossScaleUpdate;
extern const AiGraphcoreOpIdV1 LSTM_1;
extern const AiGraphcoreOpIdV1 ModifyRandomSeed;
extern const AiGraphcoreOpIdV1 MulLhsInplace;
extern const AiGraphcoreOpIdV1 MulRhsInplace;
extern const AiGraphcoreOpIdV1 MultiConv_1;
extern const AiGraphcoreOpIdV1 MultiExchange;
extern const AiGraphcoreOpIdV1 MultiReplicatedAllReduce;
extern const AiGraphcoreOpIdV1 NearbyInt;
extern const AiGraphcoreOpIdV1 Nll;
extern const AiGraphcoreOpIdV1 Nop_1;
extern const AiGraphcoreOpIdV1 NormalizeImage;
extern const AiGraphcoreOpIdV1 PackedDataBlock;
extern const AiGraphcoreOpIdV1 PadInplace;
extern const AiGraphcoreOpIdV1 Pow2ScaleThenCast;
extern const AiGraphcoreOpIdV1 PowLhsInplace;
extern const AiGraphcoreOpIdV1 PrintTensor_1;
extern const AiGraphcoreOpIdV1 ReduceMedian;
extern const AiGraphcoreOpIdV1 ReluInplace;
extern const AiGraphcoreOpIdV1 Remainder;
extern const AiGraphcoreOpIdV1 RemoteCodeLoad;
extern const AiGraphcoreOpIdV1 RemoteLoad;
extern const AiGraphcoreOpIdV1 RemoteLoadInplace;
extern const AiGraphcoreOpIdV1 RemoteStore;
extern const AiGraphcoreOpIdV1 ReplicatedAllGather;
extern const AiGraphcoreOpIdV1 ReplicatedAllReduce;
extern const AiGraphcoreOpIdV1 ReplicatedAllReduceInplace;
extern const AiGraphcoreOpIdV1 ReplicatedReduceScatter;
extern const AiGraphcoreOpIdV1 RescaleAccumulate;
extern const AiGraphcoreOpIdV1 ResetAccumulation;
extern const AiGraphcoreOpIdV1 Reshape_1;
extern const AiGraphcoreOpIdV1 ReshapeInplace;
extern const AiGraphcoreOpIdV1 Resize;
extern const AiGraphcoreOpIdV1 Restore;
extern const AiGraphcoreOpIdV1 RestoreInplace;
extern const AiGraphcoreOpIdV1 Reverse;
extern const AiGraphcoreOpIdV1 ReverseInplace;
extern const AiGraphcoreOpIdV1 RMSPropUpdater;
extern const AiGraphcoreOpIdV1 Round_1;
extern const AiGraphcoreOpIdV1 RoundInplace;
extern const AiGraphcoreOpIdV1 Scale_1;
extern const AiGraphcoreOpIdV1 ScaledAdd;
extern const AiGraphcoreOpIdV1 ScaledAddLhsInplace;
extern const AiGraphcoreOpIdV1 ScaledAddRhsInplace;
extern const AiGraphcoreOpIdV1 ScaledVarUpdate;
extern const AiGraphcoreOpIdV1 ScaleInplace;
extern const AiGraphcoreOpIdV1 ScatterReduce;
extern const AiGraphcoreOpIdV1 SeluInplace;
extern const AiGraphcoreOpIdV1 SequenceSlice_1;
extern const AiGraphcoreOpIdV1 SequenceSliceInplace;
extern const AiGraphcoreOpIdV1 SGD0Combo;
extern const AiGraphcoreOpIdV1 SGD0VarUpdate;
extern const AiGraphcoreOpIdV1 SGD1AcclUpdate;
extern const AiGraphcoreOpIdV1 SGD1Combo;
extern const AiGraphcoreOpIdV1 SGD1VarUpdate;
extern const AiGraphcoreOpIdV1 SGD2AcclUpdate;
extern const AiGraphcoreOpIdV1 SGD2Combo;
extern const AiGraphcoreOpIdV1 SGD2VarUpdate;
extern const AiGraphcoreOpIdV1 ShapedDropout_1;
extern const AiGraphcoreOpIdV1 ShrinkInplace;
extern const AiGraphcoreOpIdV1 SigmoidInplace;
extern const AiGraphcoreOpIdV1 SignInplace;
extern const AiGraphcoreOpIdV1 SinhInplace;
extern const AiGraphcoreOpIdV1 SliceInplace;
extern const AiGraphcoreOpIdV1 SoftmaxInplace;
extern const AiGraphcoreOpIdV1 SoftPlusInplace;
extern const AiGraphcoreOpIdV1 SoftSignInplace;
extern const AiGraphcoreOpIdV1 Sort;
extern const AiGraphcoreOpIdV1 SparseAccumulate;
extern const AiGraphcoreOpIdV1 SplineBasis;
extern const AiGraphcoreOpIdV1 SplineWeighting;
extern const AiGraphcoreOpIdV1 Square;
extern const AiGraphcoreOpIdV1 SqueezeInplace;
extern const AiGraphcoreOpIdV1 Stash;
extern const AiGraphcoreOpIdV1 Subsample_1;
extern const AiGraphcoreOpIdV1 SubsampleInplace;
extern const AiGraphcoreOpIdV1 Swish;
extern const AiGraphcoreOpIdV1 SwishInplace;
extern const AiGraphcoreOpIdV1 Sync;
extern const AiGraphcoreOpIdV1 TensorRemap_1;
extern const AiGraphcoreOpIdV1 ThresholdedReluInplace;
extern const AiGraphcoreOpIdV1 TiedGather;
extern const AiGraphcoreOpIdV1 TransposeInplace;
extern const AiGraphcoreOpIdV1 WhereLhsInplace;
extern const AiGraphcoreOpIdV1 WhereRhsInplace;
extern const AiGraphcoreOpIdV1 Zeros_1;
extern const AiGraphcoreOpIdV1 ZerosLike_1;
}  // namespace CustomOperators

/// Their gradients.
namespace CustomGradOperators {
extern const AiGraphcoreOpIdV1 AddBiasBiasGrad;
extern const AiGraphcoreOpIdV1 AddBiasDataGrad;
extern const AiGraphcoreOpIdV1 AllReduceGrad;
extern const AiGraphcoreOpIdV1 CallGrad;
extern const AiGraphcoreOpIdV1 CtcGrad;
extern const AiGraphcoreOpIdV1 DynamicSlicePadGrad;
extern const AiGraphcoreOpIdV1 DynamicUpdateToUpdateGrad;
extern const AiGraphcoreOpIdV1 DynamicUpdateUpdaterGrad;
extern const AiGraphcoreOpIdV1 DynamicZeroGrad;
extern const AiGraphcoreOpIdV1 IfConditionGrad;
extern const AiGraphcoreOpIdV1 IfGrad;
extern const AiGraphcoreOpIdV1 L1Grad;
extern const AiGraphcoreOpIdV1 LoopGrad;
extern const AiGraphcoreOpIdV1 NllGrad;
extern const AiGraphcoreOpIdV1 NlllWithSoftmaxGradDirect;
extern const AiGraphcoreOpIdV1 ReduceMedianGrad;
extern const AiGraphcoreOpIdV1 ScatterReduceGradOp;
extern const AiGraphcoreOpIdV1 SoftmaxGradDirect;
extern const AiGraphcoreOpIdV1 SubsampleGrad;
extern const AiGraphcoreOpIdV1 SwishGrad;
extern const AiGraphcoreOpIdV1 UnaryZeroGradOp;
}  // namespace CustomGradOperators

/// What builders have.
namespace AiGraphcore::OpSet1 {
inline constexpr const OperatorIdentifier& Abort = CustomOperators::Abort;
inline constexpr const OperatorIdentifier& AllReduce = CustomOperators::AllReduce;
inline constexpr const OperatorIdentifier& Atan2 = CustomOperators::Atan2_1;
inline constexpr const OperatorIdentifier& AutoLossScaleProxy = CustomOperators::AutoLossScaleProxy;
inline constexpr const OperatorIdentifier& BinaryConstScalar = CustomOperators::BinaryConstScalar;
inline constexpr const OperatorIdentifier& BitwiseAnd = CustomOperators::BitwiseAnd;
inline constexpr const OperatorIdentifier& BitwiseNot = CustomOperators::BitwiseNot;
inline constexpr const OperatorIdentifier& BitwiseOr = CustomOperators::BitwiseOr;
inline constexpr const OperatorIdentifier& BitwiseXnor = CustomOperators::BitwiseXnor;
inline constexpr const OperatorIdentifier& BitwiseXor = CustomOperators::BitwiseXor;
inline constexpr const OperatorIdentifier& Bucketize = CustomOperators::Bucketize;
inline constexpr const OperatorIdentifier& Call = CustomOperators::Call_1;
inline constexpr const OperatorIdentifier& CopyVarUpdate = CustomOperators::CopyVarUpdate;
inline constexpr const OperatorIdentifier& Ctc = CustomOperators::Ctc;
inline constexpr const OperatorIdentifier& CtcBeamSearchDecoder =
    CustomOperators::CtcBeamSearchDecoder;
inline constexpr const OperatorIdentifier& DepthToSpace = CustomOperators::DepthToSpace;
inline constexpr const OperatorIdentifier& Detach = CustomOperators::Detach_1;
inline constexpr const OperatorIdentifier& DynamicAdd = CustomOperators::DynamicAdd_1;
inline constexpr const OperatorIdentifier& DynamicSlice = CustomOperators::DynamicSlice_1;
inline constexpr const OperatorIdentifier& DynamicSliceInplace =
    CustomOperators::DynamicSliceInplace_1;
inline constexpr const OperatorIdentifier& DynamicUpdate = CustomOperators::DynamicUpdate_1;
inline constexpr const OperatorIdentifier& DynamicZero = CustomOperators::DynamicZero_1;
inline constexpr const OperatorIdentifier& Expm1 = CustomOperators::Expm1_1;
inline constexpr const OperatorIdentifier& Fmod = CustomOperators::Fmod;
inline constexpr const OperatorIdentifier& Gelu = CustomOperators::Gelu_1;
inline constexpr const OperatorIdentifier& GeluErf = CustomOperators::GeluErf_1;
inline constexpr const OperatorIdentifier& GroupNormalization =
    CustomOperators::GroupNormalization_1;
inline constexpr const OperatorIdentifier& GroupedGather = CustomOperators::GroupedGather;
inline constexpr const OperatorIdentifier& IdentityLoss = CustomOperators::IdentityLoss;
inline constexpr const OperatorIdentifier& IncrementMod = CustomOperators::IncrementMod_1;
inline constexpr const OperatorIdentifier& IncrementModInplace =
    CustomOperators::IncrementModInplace_1;
inline constexpr const OperatorIdentifier& Init = CustomOperators::Init_1;
inline constexpr const OperatorIdentifier& L1 = CustomOperators::L1;
inline constexpr const OperatorIdentifier& Log1p = CustomOperators::Log1p_1;
inline constexpr const OperatorIdentifier& LSTM = CustomOperators::LSTM_1;
inline constexpr const OperatorIdentifier& MultiConv = CustomOperators::MultiConv_1;
inline constexpr const OperatorIdentifier& NearbyInt = CustomOperators::NearbyInt;
inline constexpr const OperatorIdentifier& Nll = CustomOperators::Nll;
inline constexpr const OperatorIdentifier& Nop = CustomOperators::Nop_1;
inline constexpr const OperatorIdentifier& NormalizeImage = CustomOperators::NormalizeImage;
inline constexpr const OperatorIdentifier& PackedDataBlock = CustomOperators::PackedDataBlock;
inline constexpr const OperatorIdentifier& PrintTensor = CustomOperators::PrintTensor_1;
inline constexpr const OperatorIdentifier& ReduceMedian = CustomOperators::ReduceMedian;
inline constexpr const OperatorIdentifier& Remainder = CustomOperators::Remainder;
inline constexpr const OperatorIdentifier& ReplicatedAllReduce =
    CustomOperators::ReplicatedAllReduce;
inline constexpr const OperatorIdentifier& ReplicatedReduceScatter =
    CustomOperators::ReplicatedReduceScatter;
inline constexpr const OperatorIdentifier& Reshape = CustomOperators::Reshape_1;
inline constexpr const OperatorIdentifier& Reverse = CustomOperators::Reverse;
inline constexpr const OperatorIdentifier& Round = CustomOperators::Round_1;
inline constexpr const OperatorIdentifier& Scale = CustomOperators::Scale_1;
inline constexpr const OperatorIdentifier& ScaledAdd = CustomOperators::ScaledAdd;
inline constexpr const OperatorIdentifier& ScatterReduce = CustomOperators::ScatterReduce;
inline constexpr const OperatorIdentifier& SequenceSlice = CustomOperators::SequenceSlice_1;
inline constexpr const OperatorIdentifier& ShapedDropout = CustomOperators::ShapedDropout_1;
inline constexpr const OperatorIdentifier& Sort = CustomOperators::Sort;
inline constexpr const OperatorIdentifier& SplineBasis = CustomOperators::SplineBasis;
inline constexpr const OperatorIdentifier& SplineWeighting = CustomOperators::SplineWeighting;
inline constexpr const OperatorIdentifier& Subsample = CustomOperators::Subsample_1;
inline constexpr const OperatorIdentifier& Swish = CustomOperators::Swish;
inline constexpr const OperatorIdentifier& TensorRemap = CustomOperators::TensorRemap_1;
}  // namespace AiGraphcore::OpSet1

}  // namespace Onnx

}  // namespace popart
