#!/usr/bin/env python3
"""Writes PopART's operator identifiers and the classes of its operators.

    /usr/bin/python3 src/popart/generate_operators.py [--check]

Needs Debian's python3-onnx and clang-format-19. The identifiers of ai.onnx follow from ONNX's
schemas, those of ai.graphcore and all classes from the tables below. With --check it only compares.
"""
import os
import subprocess
import sys

from onnx import defs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIRST, LAST = 6, 17
NOTE = '// Written by src/popart/generate_operators.py.\n'

# Identifiers of ai.graphcore: the identifier and, if it differs, '=' and the operator's type.
GRADIENTS = """
AbsGrad AddArg0Grad AddArg1Grad AsinGrad Atan2Arg0Grad Atan2Arg1Grad AtanGrad AutoLossScaleProxyGrad
AveragePoolGrad BatchNormalizationGrad CastGrad ClipGrad ConcatGrad ConvDataGrad ConvWeightsGrad
ConvFlipWeightsGrad CosGrad CumSumGrad DivArg0Grad DivArg1Grad DropoutGrad EluGrad ErfGrad
ExpandGrad ExpGrad Expm1Grad GatherGrad GeluGrad GeluErfGrad GlobalAveragePoolGrad
GlobalMaxPoolGrad GroupNormalizationGrad GRUGrad HardSigmoidGrad IdentityGrad IdentityLossGrad
InstanceNormalizationGrad LeakyReluGrad Log1pGrad LogGrad LogSoftmaxGrad LRN LRNGrad LSTMGrad
MatMulLhsGrad MatMulRhsGrad MaxArgGrad MaxPoolGrad MeanArgGrad MinArgGrad FmodArg0Grad MulArg0Grad
MulArg1Grad MultiConvDataGrad MultiConvWeightsGrad NegGrad OneHotGrad PadGrad PopartLSTMGrad
PowArg0Grad PowArg1Grad ReciprocalGrad ReduceL1Grad ReduceL2Grad ReduceLogSumExpGrad
ReduceLogSumGrad ReduceMaxGrad ReduceMeanGrad ReduceMinGrad ReduceProdGrad ReduceSumGrad
ReduceSumSquareGrad ReluGrad ReshapeGrad ResizeGrad ReverseGrad RNNGrad RoiAlignGrad Scale
ScaleGrad ScatterDataGrad ScatterUpdateGrad SeluGrad ShrinkGrad SigmoidGrad SignGrad SinGrad
SinhGrad SliceGrad SoftmaxGrad SoftPlusGrad SoftSignGrad SplitGrad SqrtGrad SubArg0Grad
SubArg1Grad SumArgGrad TanhGrad ThresholdedReluGrad TiedGatherGrad TileGrad TopKGrad TransposeGrad
WhereXGrad WhereYGrad
"""
CUSTOM = """
Abort Accumulate AccumulatorScale AccumulatorUpdate AccumulatorZero AdaDeltaUpdater AdamCombo
AdamUpdater AdamVarUpdate AdaptiveCombo AddBias AddBiasInplace AddLhsInplace AddRhsInplace
AllReduce AsinInplace Atan2_1=Atan2 Atan2Inplace AtanInplace AutoLossScaleProxy BinaryConstScalar
BitwiseAnd BitwiseNot BitwiseOr BitwiseXnor BitwiseXor Bucketize Call_1=Call CastThenPow2Scale
CeilInplace ClipInplace ConcatGradInplace ConcatInplace ConvFlipWeights CopyVarUpdate Ctc
CtcBeamSearchDecoder DepthToSpace Detach_1=Detach DetachInplace DynamicAdd_1=DynamicAdd
DynamicAddInplace DynamicSlice_1=DynamicSlice DynamicSliceInplace_1=DynamicSliceInplace
DynamicUpdate_1=DynamicUpdate DynamicUpdateInplace DynamicZero_1=DynamicZero DynamicZeroInplace
EluInplace ExpandInplace ExpInplace Expm1_1=Expm1 Expm1Inplace FlattenInplace FloorInplace Fmod
Gelu_1=Gelu GeluErf_1=GeluErf GeluErfInplace GeluInplace GetRandomSeed GradCopyFromHost
GradientAccumulation=GradientAccl GroupedGather GroupNormalization_1=GroupNormalization
HardSigmoidInplace Histogram HostLoad HostLoadInplace HostSGD0VarUpdate HostStore IdentityInplace
IdentityLoss IncrementMod_1=IncrementMod IncrementModInplace_1=IncrementModInplace Init_1=Init
IoTileCopy IpuCopy L1 LambSquare LeakyReluInplace Log1p_1=Log1p Log1pInplace LogSoftmaxInplace
LossScaleUpdate LSTM_1=LSTM ModifyRandomSeed MulLhsInplace MulRhsInplace MultiConv_1=MultiConv
MultiExchange MultiReplicatedAllReduce NearbyInt Nll Nop_1=Nop NormalizeImage PackedDataBlock
PadInplace Pow2ScaleThenCast PowLhsInplace PrintTensor_1=PrintTensor ReduceMedian ReluInplace
Remainder RemoteCodeLoad RemoteLoad RemoteLoadInplace RemoteStore ReplicatedAllGather
ReplicatedAllReduce ReplicatedAllReduceInplace ReplicatedReduceScatter RescaleAccumulate
ResetAccumulation=ResetAccl Reshape_1=Reshape ReshapeInplace Resize Restore RestoreInplace Reverse
ReverseInplace RMSPropUpdater Round_1=Round RoundInplace Scale_1=Scale ScaledAdd
ScaledAddLhsInplace ScaledAddRhsInplace ScaledVarUpdate ScaleInplace ScatterReduce SeluInplace
SequenceSlice_1=SequenceSlice SequenceSliceInplace SGD0Combo SGD0VarUpdate SGD1AcclUpdate SGD1Combo
SGD1VarUpdate SGD2AcclUpdate SGD2Combo SGD2VarUpdate ShapedDropout_1=ShapedDropout ShrinkInplace
SigmoidInplace SignInplace SinhInplace SliceInplace SoftmaxInplace SoftPlusInplace SoftSignInplace
Sort SparseAccumulate=PopartSparseAccumulate SplineBasis SplineWeighting Square SqueezeInplace Stash
Subsample_1=Subsample SubsampleInplace Swish SwishInplace Sync TensorRemap_1=TensorRemap
ThresholdedReluInplace TiedGather=PopartTiedGather TransposeInplace WhereLhsInplace WhereRhsInplace
Zeros_1=Zeros ZerosLike_1=ZerosLike
"""
CUSTOM_GRADIENTS = """
AddBiasBiasGrad AddBiasDataGrad AllReduceGrad CallGrad CtcGrad DynamicSlicePadGrad
DynamicUpdateToUpdateGrad DynamicUpdateUpdaterGrad DynamicZeroGrad IfConditionGrad IfGrad L1Grad
LoopGrad NllGrad NlllWithSoftmaxGradDirect ReduceMedianGrad ScatterReduceGradOp SoftmaxGradDirect
SubsampleGrad SwishGrad UnaryZeroGradOp=UnaryZeroGrad
"""
# Those of CUSTOM that builders have; the name there ends before '_'.
OPSET1 = """
Abort AllReduce Atan2_1 AutoLossScaleProxy BinaryConstScalar BitwiseAnd BitwiseNot BitwiseOr
BitwiseXnor BitwiseXor Bucketize Call_1 CopyVarUpdate Ctc CtcBeamSearchDecoder DepthToSpace Detach_1
DynamicAdd_1 DynamicSlice_1 DynamicSliceInplace_1 DynamicUpdate_1 DynamicZero_1 Expm1_1 Fmod Gelu_1
GeluErf_1 GroupNormalization_1 GroupedGather IdentityLoss IncrementMod_1 IncrementModInplace_1
Init_1 L1 Log1p_1 LSTM_1 MultiConv_1 NearbyInt Nll Nop_1 NormalizeImage PackedDataBlock
PrintTensor_1 ReduceMedian Remainder ReplicatedAllReduce ReplicatedReduceScatter Reshape_1 Reverse
Round_1 Scale_1 ScaledAdd ScatterReduce SequenceSlice_1 ShapedDropout_1 Sort SplineBasis
SplineWeighting Subsample_1 Swish TensorRemap_1
"""

# Classes: header in op/, class, base, the types of operators that are of the class ('-': none; it
# is only a base), then the indices of inputs and outputs by the names of PopART's functions:
# In=0 is getInIndex(). A class takes over those of its base.
CLASSES = """
elementwise      ElementWiseUnaryOp                  Op - In=0 Out=0
elementwise      ElementWiseInplaceUnaryOp           ElementWiseUnaryOp -
elementwise      ElementWiseUnaryBooleanOp           ElementWiseUnaryOp -
elementwise      ElementWiseNonLinearUnaryGradOp     Op - GradIn=0 FwdArgIn=1 Out=0
elementwise      ElementWiseBinaryBaseOp             Op - Arg0In=0 Arg1In=1 Out=0
elementwise      ElementWiseBinaryOp                 ElementWiseBinaryBaseOp -
elementwise      ElementWiseBinaryInplaceLhsOp       ElementWiseBinaryBaseOp -
elementwise      ElementWiseBinaryInplaceRhsOp       ElementWiseBinaryBaseOp -
elementwise      ElementWiseBinaryGradOp             Op - GradIn=0 Out=0
elementwise      BinaryComparisonOp                  Op - Arg0In=0 Arg1In=1 Out=0
onewayunary      OneWayUnaryOp                       ElementWiseUnaryOp -
onewayunary      OneWayUnaryInPlaceOp                ElementWiseInplaceUnaryOp -
loss             LossOp                              Op - In=0 Out=0
loss             LossGradOp                          Op -
subgraphop       SubgraphOp                          Op -
varupdate        VarUpdateOp                         Op - VarToUpdateIn=0 UpdatedVarOut=0
varupdate        VarUpdateWithUpdaterOp              VarUpdateOp - UpdaterIn=1
variadic         VariadicOp                          Op - Out=0
variadic         VariadicGradOp                      Op -
variadic         NonLinearVariadicGradOp             VariadicGradOp -
variadic         LinearVariadicGradOp                VariadicGradOp -
reduce           ReduceOp                            Op - In=0 Out=0
reduce           ReduceGradOp                        Op - In=0 Out=0
basepad          BasePadOp                           Op - In=0 Out=0
basesort         BaseSortOp                          Op - In=0
convbase         MultiConvBaseOp                     Op -
convbase         MultiConvDataGradBaseOp             Op -
convbase         MultiConvWeightsGradBaseOp          Op -
matmul           MatMulBaseOp                        Op -
matmul           MatMulBaseGradOp                    MatMulBaseOp -
receptive        HasReceptiveFieldOp                 Op - In=0 Out=0
randombase       RandomBaseOp                        Op -
randombase       RandomNormalBaseOp                  RandomBaseOp -
randombase       RandomUniformBaseOp                 RandomBaseOp -
dropoutbase      DropoutBaseOp                       RandomBaseOp - In=0 Out=0
shapeorlike      ShapeOrLikeOp                       Op - Out=0
dynamic/dynamicbase DynamicBaseOp                    Op - IndexIn=1 Out=0
dynamic/dynamicbase DynamicSliceBaseOp               DynamicBaseOp - In=0
dynamic/dynamicbase DynamicBinaryBaseOp              DynamicBaseOp - UpdateIn=0
dynamic/dynamicbase DynamicTernaryBaseOp             DynamicBinaryBaseOp - In=2
dynamic/dynamicbase DynamicBinaryBaseInplaceOp       DynamicBinaryBaseOp -
dynamic/dynamicbase DynamicTernaryBaseInplaceOp      DynamicTernaryBaseOp -
exchange/exchange ExchangeBaseOp                     Op -
exchange/hostbase HostBaseOp                         ExchangeBaseOp -
exchange/remotebase RemoteBaseOp                     ExchangeBaseOp -
collectives/collectives CollectivesBaseOp            Op - In=0 Out=0

abort            AbortOp                             Op Abort In=0
abs              AbsOp                               ElementWiseUnaryOp Abs
abs              AbsGradOp                           ElementWiseNonLinearUnaryGradOp AbsGrad
accumulate       AccumulateBaseOp                    VarUpdateWithUpdaterOp - FactorIn=2
accumulate       AccumulateOp                        AccumulateBaseOp Accumulate
accumulate       RescaleAccumulateOp                 AccumulateBaseOp RescaleAccumulate RescaleRatioIn=3
accumulate       SparseAccumulateOp                  AccumulateOp PopartSparseAccumulate
accumulatorscale AccumulatorScaleOp                  VarUpdateOp AccumulatorScale,AccumulatorUpdate FactorIn=2
accumulatorzero  AccumulatorZeroOp                   AccumulatorScaleOp AccumulatorZero
acos             AcosOp                              ElementWiseUnaryOp Acos
acosh            AcoshOp                             ElementWiseUnaryOp Acosh
adadeltaupdater  AdaDeltaUpdaterOp                   Op AdaDeltaUpdater
adamcombo        AdamComboOp                         VarUpdateWithUpdaterOp AdamCombo
adamupdater      AdamUpdaterOp                       Op AdamUpdater UpdaterOut=0
adamvarupdate    AdamVarUpdateOp                     VarUpdateWithUpdaterOp AdamVarUpdate LambR1SqIn=2 LambR2SqIn=3
adaptivecombo    AdaptiveComboOp                     VarUpdateWithUpdaterOp AdaptiveCombo
add              AddOp                               ElementWiseBinaryOp Add
add              AddLhsInplaceOp                     ElementWiseBinaryInplaceLhsOp AddLhsInplace
add              AddRhsInplaceOp                     ElementWiseBinaryInplaceRhsOp AddRhsInplace
add              AddArg0GradOp                       ReduceGradOp AddArg0Grad
add              AddArg1GradOp                       ReduceGradOp AddArg1Grad
addbias          AddBiasOp                           Op AddBias DataIn=0 BiasIn=1 Out=0
addbias          AddBiasInplaceOp                    AddBiasOp AddBiasInplace
and              AndOp                               BinaryComparisonOp And
argmax           ArgMaxOp                            ArgExtremaOp ArgMax
argmin           ArgMinOp                            ArgExtremaOp ArgMin
argextrema       ArgExtremaOp                        Op - In=0 Out=0
asin             AsinOp                              ElementWiseUnaryOp Asin
asin             AsinInplaceOp                       ElementWiseInplaceUnaryOp AsinInplace
asin             AsinGradOp                          ElementWiseNonLinearUnaryGradOp AsinGrad
asinh            AsinhOp                             ElementWiseUnaryOp Asinh
atan             AtanOp                              ElementWiseUnaryOp Atan
atan             AtanInplaceOp                       ElementWiseInplaceUnaryOp AtanInplace
atan             AtanGradOp                          ElementWiseNonLinearUnaryGradOp AtanGrad
atan2            Atan2Op                             ElementWiseBinaryOp Atan2
atan2            Atan2LhsInplaceOp                   ElementWiseBinaryInplaceLhsOp Atan2Inplace
atanh            AtanhOp                             ElementWiseUnaryOp Atanh
autolossscaleproxy AutoLossScaleProxyOp              ElementWiseUnaryOp AutoLossScaleProxy
averagepool      AveragePoolOp                       HasReceptiveFieldOp AveragePool
averagepool      AveragePoolGradOp                   Op AveragePoolGrad PrePooledIn=0 PooledIn=1 GradPooledIn=2 Out=0
batchnorm        BatchNormOp                         Op BatchNormalization XIn=0 ScaleIn=1 BIn=2 MeanIn=3 VarIn=4 YOut=0 MeanOut=1 VarOut=2 SavedMeanOut=3 SavedVarOut=4
batchnorm        BatchNormGradOp                     Op BatchNormalizationGrad XOut=0 ScaleOut=1 BOut=2
binaryconstscalar BinaryConstScalarOp                ElementWiseUnaryOp BinaryConstScalar
bitwise          BitwiseNotOp                        ElementWiseUnaryOp BitwiseNot
bitwise          BitwiseBinaryOp                     ElementWiseBinaryBaseOp BitwiseAnd,BitwiseOr,BitwiseXor,BitwiseXnor
bucketize        BucketizeOp                         Op Bucketize In=0 BoundariesIn=1 Out=0
cast             CastOp                              Op Cast In=0 Out=0
cast             CastGradOp                          CastOp CastGrad
castthenpow2scale CastThenPow2ScaleOp                Op CastThenPow2Scale In=0 log2ScaleIn=1 Out=0
ceil             CeilOp                              OneWayUnaryOp Ceil
ceil             CeilInplaceOp                       OneWayUnaryInPlaceOp CeilInplace
clip             ClipOp                              ElementWiseUnaryOp Clip
clip             ClipInplaceOp                       ElementWiseInplaceUnaryOp ClipInplace
clip             ClipGradOp                          Op ClipGrad GradClippedIn=0 ClippedIn=1 Out=0
concat           ConcatOp                            Op Concat Out=0
concat           ConcatInplaceOp                     ConcatOp ConcatInplace
concat           ConcatGradOp                        Op ConcatGrad,ConcatGradInplace In=0 Out=0
constant         ConstantOp                          Op Constant
conv             ConvOp                              MultiConvBaseOp Conv DataIn=0 WeightsIn=1 BiasIn=2 Out=0
conv             ConvDataGradOp                      MultiConvDataGradBaseOp ConvDataGrad WeightsIn=0 GradConvolvedIn=1 Out=0
conv             ConvWeightsGradOp                   MultiConvWeightsGradBaseOp ConvWeightsGrad GradConvolvedIn=0 PreConvolvedIn=1 Out=0
conv             ConvFlipWeightsOp                   Op ConvFlipWeights,ConvFlipWeightsGrad In=0 Out=0
convtranspose    ConvTransposeOp                     Op ConvTranspose In=0 WeightsIn=1 Out=0
copyvarupdate    CopyVarUpdateOp                     VarUpdateWithUpdaterOp CopyVarUpdate
cos              CosOp                               ElementWiseUnaryOp Cos
cos              CosGradOp                           ElementWiseNonLinearUnaryGradOp CosGrad
cosh             CoshOp                              ElementWiseUnaryOp Cosh
ctc              CtcOp                               LossOp Ctc LogProbsIn=0 TargetsIn=1 InputLengthsIn=2 TargetLengthsIn=3 CtcLossOut=0 LogProbsGradientWrtCtcLossOut=1
ctcbeamsearchdecode CtcBeamSearchDecoderOp           Op CtcBeamSearchDecoder
cumsum           CumSumOp                            Op CumSum XIn=0 AxisIn=1 Out=0
cumsum           CumSumGradOp                        Op CumSumGrad
depthtospace     DepthToSpaceOp                      Op DepthToSpace In=0 Out=0
detach           DetachOp                            ElementWiseUnaryOp Detach
detach           DetachInplaceOp                     DetachOp DetachInplace
div              DivOp                               ElementWiseBinaryOp Div
dropout          DropoutOp                           DropoutBaseOp Dropout MaskOut=1
dropout          DropoutGradOp                       DropoutOp DropoutGrad
dynamic/dynamicadd    DynamicAddOp                   DynamicTernaryBaseOp DynamicAdd
dynamic/dynamicadd    DynamicAddInplaceOp            DynamicTernaryBaseInplaceOp DynamicAddInplace
dynamic/dynamicslice  DynamicSliceOp                 DynamicSliceBaseOp DynamicSlice,DynamicSliceInplace
dynamic/dynamicslice  DynamicSlicePadGradOp          DynamicBaseOp DynamicSlicePadGrad
dynamic/dynamicupdate DynamicUpdateOp                DynamicTernaryBaseOp DynamicUpdate
dynamic/dynamicupdate DynamicUpdateInplaceOp         DynamicTernaryBaseInplaceOp DynamicUpdateInplace
dynamic/dynamiczero   DynamicZeroOp                  DynamicBinaryBaseOp DynamicZero
dynamic/dynamiczero   DynamicZeroInplaceOp           DynamicBinaryBaseInplaceOp DynamicZeroInplace
elu              EluOp                               ElementWiseUnaryOp Elu
elu              EluInplaceOp                        ElementWiseInplaceUnaryOp EluInplace
elu              EluGradOp                           ElementWiseNonLinearUnaryGradOp EluGrad
equal            EqualOp                             BinaryComparisonOp Equal
erf              ErfOp                               ElementWiseUnaryOp Erf
erf              ErfGradOp                           ElementWiseNonLinearUnaryGradOp ErfGrad
exp              ExpOp                               ElementWiseUnaryOp Exp
exp              ExpInplaceOp                        ElementWiseInplaceUnaryOp ExpInplace
exp              ExpGradOp                           Op ExpGrad GradIn=0 FwdOutIn=1 Out=0
expand           ExpandOp                            Op Expand InTensor=0 InShape=1 Out=0
expand           ExpandInplaceOp                     ExpandOp ExpandInplace
expand           ExpandGradOp                        Op ExpandGrad DYIn=0 Out=0
expm1            Expm1Op                             ElementWiseUnaryOp Expm1
expm1            Expm1InplaceOp                      ElementWiseInplaceUnaryOp Expm1Inplace
expm1            Expm1GradOp                         Op Expm1Grad GradIn=0 FwdOutIn=1 Out=0
floor            FloorOp                             OneWayUnaryOp Floor
floor            FloorInplaceOp                      OneWayUnaryInPlaceOp FloorInplace
flatten          FlattenBaseOp                       Op - In=0 Out=0
flatten          FlattenOp                           FlattenBaseOp Flatten
flatten          FlattenInplaceOp                    FlattenBaseOp FlattenInplace
fmod             FmodOp                              ElementWiseBinaryOp Fmod
gather           GatherOp                            Op Gather DataIn=0 IndicesIn=1 Out=0
gather           GatherGradOp                        Op GatherGrad GradIn=0 IndicesIn=1 GradOut=0
gelu             GeluOp                              ElementWiseUnaryOp Gelu
gelu             GeluInplaceOp                       ElementWiseInplaceUnaryOp GeluInplace
gelu             GeluGradOp                          ElementWiseNonLinearUnaryGradOp GeluGrad
geluerf          GeluErfOp                           ElementWiseUnaryOp GeluErf
geluerf          GeluErfInplaceOp                    ElementWiseInplaceUnaryOp GeluErfInplace
getrandomseed    GetRandomSeedOp                     Op GetRandomSeed SeedIn=0 UpdatedSeedOut=0
globalaveragepool GlobalAveragePoolOp                Op GlobalAveragePool In=0 Out=0
globalmaxpool    GlobalMaxPoolOp                     Op GlobalMaxPool In=0 Out=0
greater          GreaterOp                           BinaryComparisonOp Greater
groupnorm        GroupNormOp                         Op GroupNormalization XIn=0 ScaleIn=1 BIn=2 YOut=0 MeanOut=1 InvStdDevOut=2
groupnorm        GroupNormGradOp                     Op GroupNormalizationGrad XOut=0 ScaleOut=1 BOut=2
gru              GRUOp                               Op GRU InputIn=0 WeightsIn=1 RecurrenceIn=2 BiasIn=3 SequenceLensIn=4 InitialHIn=5 FullHiddenStateOut=0 LastHiddenStateOut=1
hardsigmoid      HardSigmoidOp                       ElementWiseUnaryOp HardSigmoid
hardsigmoid      HardSigmoidInplaceOp                ElementWiseInplaceUnaryOp HardSigmoidInplace
hardsigmoid      HardSigmoidGradOp                   ElementWiseNonLinearUnaryGradOp HardSigmoidGrad
histogram        HistogramOp                         Op Histogram In=0 Out=0
identity         IdentityOp                          ElementWiseUnaryOp Identity
identity         IdentityInplaceOp                   IdentityOp IdentityInplace
identity         IdentityGradOp                      IdentityOp IdentityGrad
identity         IdentityLossOp                      LossOp IdentityLoss
identity         IdentityLossGradOp                  LossGradOp IdentityLossGrad
if               IfOp                                SubgraphOp If,IfGrad ConditionIn=0
incrementmod     IncrementModOp                      ElementWiseUnaryOp IncrementMod
incrementmod     IncrementModInplaceOp               ElementWiseInplaceUnaryOp IncrementModInplace
init             InitOp                              Op Init,ConstantOfShape Out=0
instancenorm     InstanceNormOp                      Op InstanceNormalization InputIn=0 ScaleIn=1 BIn=2 Out=0
iotilecopy       IoTileCopyOp                        Op IoTileCopy In=0 Out=0
ipucopy          IpuCopyOp                           Op IpuCopy
isinf            IsInf                               ElementWiseUnaryBooleanOp IsInf
isnan            IsNaN                               ElementWiseUnaryBooleanOp IsNaN
l1               L1Op                                LossOp L1
l1               L1GradOp                            LossGradOp L1Grad FwdActIn=0 GradIn=1 Out=0
lamb             LambSquareOp                        Op LambSquare In=0 Out=0
leakyrelu        LeakyReluOp                         ElementWiseUnaryOp LeakyRelu
leakyrelu        LeakyReluInplaceOp                  ElementWiseInplaceUnaryOp LeakyReluInplace
leakyrelu        LeakyReluGradOp                     ElementWiseNonLinearUnaryGradOp LeakyReluGrad
less             LessOp                              BinaryComparisonOp Less
log              LogOp                               ElementWiseUnaryOp Log
log              LogGradOp                           ElementWiseNonLinearUnaryGradOp LogGrad
log1p            Log1pOp                             ElementWiseUnaryOp Log1p
log1p            Log1pInplaceOp                      ElementWiseInplaceUnaryOp Log1pInplace
logsoftmax       LogSoftmaxOp                        ElementWiseUnaryOp LogSoftmax
logsoftmax       LogSoftmaxInplaceOp                 ElementWiseInplaceUnaryOp LogSoftmaxInplace
logsoftmax       LogSoftmaxGradOp                    Op LogSoftmaxGrad
call             CallOp                              SubgraphOp Call,CallGrad
loop             LoopOp                              SubgraphOp Loop,LoopGrad MaximumTripCountIn=0 TerminationConditionIn=1 FirstInputIn=2 FirstOutputOut=0
scan             ScanOp                              SubgraphOp Scan
lossscaleupdate  LossScaleUpdateOp                   Op LossScaleUpdate
lrn              LRNOp                               Op LRN In=0 Out=0
lstm             LSTMOp                              Op LSTM InputIn=0 WeightsIn=1 RecurrenceIn=2 BiasIn=3 SequenceLensIn=4 InitialHIn=5 InitialCIn=6 PeepholeIn=7 FullHiddenStateOut=0 LastHiddenStateOut=1 LastCellStateOut=2
lstm             LSTMGradOp                          Op LSTMGrad
matmul           MatMulOp                            MatMulBaseOp MatMul LhsIn=0 RhsIn=1 Out=0
matmul           MatMulLhsGradOp                     MatMulBaseGradOp MatMulLhsGrad GradIn=0 RhsIn=1 Out=0
matmul           MatMulRhsGradOp                     MatMulBaseGradOp MatMulRhsGrad GradIn=0 LhsIn=1 Out=0
max              MaxOp                               VariadicOp Max
max              MaxArgGradOp                        NonLinearVariadicGradOp MaxArgGrad
maxpool          MaxPoolOp                           HasReceptiveFieldOp MaxPool
maxpool          MaxPoolGradOp                       Op MaxPoolGrad PrePooledIn=0 PooledIn=1 GradPooledIn=2 Out=0
mean             MeanOp                              VariadicOp Mean
min              MinOp                               VariadicOp Min
modifyrandomseed ModifyRandomSeedOp                  Op ModifyRandomSeed SeedIn=0 SeedModifierIn=1 ModifiedSeedOut=0
mul              MulOp                               ElementWiseBinaryOp Mul
mul              MulLhsInplaceOp                     ElementWiseBinaryInplaceLhsOp MulLhsInplace
mul              MulRhsInplaceOp                     ElementWiseBinaryInplaceRhsOp MulRhsInplace
multiconv        MultiConvOp                         MultiConvBaseOp MultiConv
multiconv        MultiConvDataGradOp                 MultiConvDataGradBaseOp MultiConvDataGrad
multiconv        MultiConvWeightsGradOp              MultiConvWeightsGradBaseOp MultiConvWeightsGrad
nearbyint        NearbyIntOp                         OneWayUnaryOp NearbyInt
negate           NegateOp                            ElementWiseUnaryOp Neg
nll              NllOp                               LossOp Nll ProbsIn=0 LabelIn=1 Out=0
nll              NllGradOp                           LossGradOp NllGrad ProbsIn=0 LabelIn=1 GradIn=2 Out=0
nop              NopOp                               ElementWiseUnaryOp Nop
normalizeimage   NormalizeImageOp                    Op NormalizeImage
not              NotOp                               ElementWiseUnaryOp Not
onehot           OnehotOp                            Op OneHot IndicesIn=0 DepthIn=1 ValuesIn=2 Out=0
or               OrOp                                BinaryComparisonOp Or
packedDataBlock  PackedDataBlockOp                   Op PackedDataBlock
pad              PadOp                               BasePadOp Pad
pad              PadInplaceOp                        BasePadOp PadInplace
pad              PadGradOp                           Op PadGrad In=0 Out=0
pow              PowOp                               ElementWiseBinaryOp Pow
pow              PowLhsInplaceOp                     ElementWiseBinaryInplaceLhsOp PowLhsInplace
pow2scalethencast Pow2ScaleThenCastOp                Op Pow2ScaleThenCast In=0 log2ScaleIn=1 Out=0
prelu            PReluOp                             ElementWiseBinaryOp PRelu
printtensor      PrintTensorOp                       ElementWiseUnaryOp PrintTensor
randomnormal     RandomNormalOp                      RandomNormalBaseOp RandomNormal,RandomNormalLike Out=0
randomuniform    RandomUniformOp                     RandomUniformBaseOp RandomUniform,RandomUniformLike Out=0
reciprocal       ReciprocalOp                        ElementWiseUnaryOp Reciprocal
reducel1         ReduceL1Op                          ReduceOp ReduceL1
reducel2         ReduceL2Op                          ReduceOp ReduceL2
reducelogsum     ReduceLogSumOp                      ReduceOp ReduceLogSum
reducelogsumexp  ReduceLogSumExpOp                   ReduceOp ReduceLogSumExp
reducemax        ReduceMaxOp                         ReduceOp ReduceMax
reducemean       ReduceMeanOp                        ReduceOp ReduceMean
reducemean       ReduceMeanGradOp                    ReduceGradOp ReduceMeanGrad
reducemedian     ReduceMedianOp                      ReduceOp ReduceMedian
reducemin        ReduceMinOp                         ReduceOp ReduceMin
reduceprod       ReduceProdOp                        ReduceOp ReduceProd
reducesum        ReduceSumOp                         ReduceOp ReduceSum
reducesum        ReduceSumGradOp                     ReduceGradOp ReduceSumGrad
reducesumsquare  ReduceSumSquareOp                   ReduceOp ReduceSumSquare
relu             ReluOp                              ElementWiseUnaryOp Relu
relu             ReluInplaceOp                       ElementWiseInplaceUnaryOp ReluInplace
relu             ReluGradOp                          Op ReluGrad GradReludIn=0 ReludIn=1 Out=0
reshape          ReshapeBaseOp                       Op - In=0 Out=0
reshape          ReshapeOp                           ReshapeBaseOp Reshape
reshape          ReshapeInplaceOp                    ReshapeOp ReshapeInplace
reshape          ReshapeGradOp                       ReshapeOp ReshapeGrad
resize           ResizeOp                            Op Resize In=0 Out=0
resize           ResizeGradOp                        ResizeOp ResizeGrad
restore          RestoreOp                           Op Restore ActToRestoreIn=0 StashIn=1 RestoredActOut=0
restore          RestoreInplaceOp                    RestoreOp RestoreInplace
reverse          ReverseOp                           Op Reverse In=0 Out=0
reverse          ReverseInplaceOp                    ReverseOp ReverseInplace
rmspropupdater   RMSPropUpdaterOp                    Op RMSPropUpdater
rnn              RNNOp                               Op RNN InputIn=0 WeightsIn=1 RecurrenceIn=2 BiasIn=3 SequenceLensIn=4 InitialHIn=5 FullHiddenStateOut=0 LastHiddenStateOut=1
roialign         RoiAlignOp                          Op RoiAlign
round            RoundOp                             OneWayUnaryOp Round
round            RoundInplaceOp                      OneWayUnaryInPlaceOp RoundInplace
scale            ScaleOp                             ElementWiseUnaryOp Scale
scale            ScaleInplaceOp                      ElementWiseInplaceUnaryOp ScaleInplace
scale            ScaleGradOp                         ScaleOp ScaleGrad
scaledadd        ScaledAddOp                         Op ScaledAdd Arg0In=0 Arg1In=1 Scale0In=2 Scale1In=3 Out=0
scaledadd        ScaledAddLhsInplaceOp               ScaledAddOp ScaledAddLhsInplace
scaledadd        ScaledAddRhsInplaceOp               ScaledAddOp ScaledAddRhsInplace
scaledvarupdate  ScaledVarUpdateOp                   VarUpdateWithUpdaterOp ScaledVarUpdate
scatter          ScatterOp                           Op Scatter,ScatterElements DataIn=0 IndicesIn=1 UpdatesIn=2 Out=0
scatterreduce    ScatterReduceOp                     Op ScatterReduce DataIn=0 IndicesIn=1 InitialValuesIn=2 Out=0
selu             SeluOp                              ElementWiseUnaryOp Selu
selu             SeluInplaceOp                       ElementWiseInplaceUnaryOp SeluInplace
sequenceslice    SequenceSliceOp                     Op SequenceSlice
sgd0combo        SGD0ComboOp                         VarUpdateWithUpdaterOp SGD0Combo
sgd0varupdate    SGD0VarUpdateOp                     VarUpdateWithUpdaterOp SGD0VarUpdate Slr0In=2 Wdsf0In=3
sgd1combo        SGD1ComboOp                         VarUpdateWithUpdaterOp SGD1Combo
sgd1varupdate    SGD1VarUpdateOp                     VarUpdateWithUpdaterOp SGD1VarUpdate Slr1In=2
sgd1acclupdate   SGD1AcclUpdateOp                    VarUpdateWithUpdaterOp SGD1AcclUpdate Smm1In=2 Swd1In=3
sgd2combo        SGD2ComboOp                         VarUpdateWithUpdaterOp SGD2Combo
sgd2varupdate    SGD2VarUpdateOp                     SGD1VarUpdateOp SGD2VarUpdate
sgd2acclupdate   SGD2PartialAcclUpdateOp             SGD1AcclUpdateOp SGD2AcclUpdate
shapeddropout    ShapedDropoutOp                     DropoutBaseOp ShapedDropout
shrink           ShrinkOp                            ElementWiseUnaryOp Shrink
shrink           ShrinkInplaceOp                     ElementWiseInplaceUnaryOp ShrinkInplace
sigmoid          SigmoidOp                           ElementWiseUnaryOp Sigmoid
sigmoid          SigmoidInplaceOp                    ElementWiseInplaceUnaryOp SigmoidInplace
sigmoid          SigmoidGradOp                       ElementWiseNonLinearUnaryGradOp SigmoidGrad
sign             SignOp                              OneWayUnaryOp Sign
sign             SignInplaceOp                       OneWayUnaryInPlaceOp SignInplace
sin              SinOp                               ElementWiseUnaryOp Sin
sin              SinGradOp                           ElementWiseNonLinearUnaryGradOp SinGrad
sinh             SinhOp                              ElementWiseUnaryOp Sinh
sinh             SinhInplaceOp                       ElementWiseInplaceUnaryOp SinhInplace
slice            BaseSliceOp                         Op - In=0 StartsIn=1 EndsIn=2 AxesIn=3 Out=0
slice            SliceOp                             BaseSliceOp Slice
slice            SliceInplaceOp                      BaseSliceOp SliceInplace
slice            SliceGradOp                         BasePadOp SliceGrad
softmax          SoftmaxOp                           ElementWiseUnaryOp Softmax
softmax          SoftmaxInplaceOp                    ElementWiseInplaceUnaryOp SoftmaxInplace
softmax          SoftmaxGradOp                       Op SoftmaxGrad GradProbsIn=0 ProbsIn=1 Out=0
softmax          SoftmaxGradDirectOp                 Op SoftmaxGradDirect ProbsIn=0 LabelIn=1 GradProbsIn=2 Out=0
softmax          NlllWithSoftmaxGradDirectOp         Op NlllWithSoftmaxGradDirect ProbsIn=0 LabelIn=1 GradProbsIn=2 LossOut=0 GradOut=1
softplus         SoftPlusOp                          ElementWiseUnaryOp Softplus
softplus         SoftPlusInplaceOp                   ElementWiseInplaceUnaryOp SoftPlusInplace
softsign         SoftSignOp                          ElementWiseUnaryOp Softsign
softsign         SoftSignInplaceOp                   ElementWiseInplaceUnaryOp SoftSignInplace
sort             SortOp                              BaseSortOp Sort ValuesOut=0 IndicesOut=1
split            SplitOp                             Op Split In=0
sqrt             SqrtOp                              ElementWiseUnaryOp Sqrt
square           SquareOp                            ElementWiseUnaryOp Square
squeeze          SqueezeBaseOp                       Op - In=0 Out=0
squeeze          SqueezeOp                           SqueezeBaseOp Squeeze
squeeze          SqueezeInplaceOp                    SqueezeBaseOp SqueezeInplace
stash            StashOp                             Op Stash In=0 Out=0
subsample        SubsampleBaseOp                     Op - In=0 Out=0
subsample        SubsampleOp                         SubsampleBaseOp Subsample
subsample        SubsampleInplaceOp                  SubsampleBaseOp SubsampleInplace
subsample        SubsampleGradOp                     Op SubsampleGrad
subtract         SubtractOp                          ElementWiseBinaryOp Sub
sum              SumOp                               VariadicOp Sum
swish            SwishOp                             ElementWiseUnaryOp Swish
swish            SwishInplaceOp                      ElementWiseInplaceUnaryOp SwishInplace
sync             SyncOp                              Op Sync
tan              TanOp                               ElementWiseUnaryOp Tan
tanh             TanhOp                              ElementWiseUnaryOp Tanh
tanh             TanhGradOp                          Op TanhGrad GradIn=0 FwdOutIn=1 Out=0
tensorremap      TensorRemapOp                       Op TensorRemap In=0 Out=0
thresholdedrelu  ThresholdedReluOp                   ElementWiseUnaryOp ThresholdedRelu
thresholdedrelu  ThresholdedReluInplaceOp            ElementWiseInplaceUnaryOp ThresholdedReluInplace
tile             TileOp                              Op Tile In=0 RepeatsIn=1 Out=0
topk             TopKOp                              BaseSortOp TopK KIn=1 ValuesOut=0 IndicesOut=1
topk             TopKGradOp                          Op TopKGrad GradIn=0 IndicesIn=1 GradOut=0
transpose        TransposeBaseOp                     Op - In=0 Out=0
transpose        TransposeOp                         TransposeBaseOp Transpose
transpose        TransposeInplaceOp                  TransposeBaseOp TransposeInplace
transpose        TransposeGradOp                     TransposeOp TransposeGrad
unsqueeze        UnsqueezeBaseOp                     Op - In=0 Out=0
unsqueeze        UnsqueezeOp                         UnsqueezeBaseOp Unsqueeze
unsqueeze        UnsqueezeInplaceOp                  UnsqueezeBaseOp UnsqueezeInplace
where            WhereOp                             Op Where ConditionIn=0 XIn=1 YIn=2 Out=0
where            WhereLhsInplaceOp                   WhereOp WhereLhsInplace
where            WhereRhsInplaceOp                   WhereOp WhereRhsInplace
zeros            ZerosOp                             ShapeOrLikeOp Zeros
zeroslike        ZerosLikeOp                         ShapeOrLikeOp ZerosLike
collectives/allreduce             AllReduceOp               Op AllReduce
collectives/replicatedallgather   ReplicatedAllGatherOp     CollectivesBaseOp ReplicatedAllGather
collectives/replicatedallreduce   ReplicatedAllReduceOp     CollectivesBaseOp ReplicatedAllReduce
collectives/replicatedallreduce   ReplicatedAllReduceInplaceOp ReplicatedAllReduceOp ReplicatedAllReduceInplace
collectives/replicatedreducescatter ReplicatedReduceScatterOp CollectivesBaseOp ReplicatedReduceScatter
exchange/hostcopy      HostLoadOp                    HostBaseOp HostLoad LocalTensorIn=0 LocalTensorOut=0
exchange/hostcopy      HostLoadInplaceOp             HostLoadOp HostLoadInplace
exchange/hostcopy      HostStoreOp                   HostBaseOp HostStore LocalTensorIn=0
exchange/multiexchange MultiExchangeOp               ExchangeBaseOp MultiExchange
exchange/remote        RemoteLoadOp                  RemoteBaseOp RemoteLoad LocalTensorIn=0 RemoteBufferOffsetIn=1 LocalTensorOut=0
exchange/remote        RemoteLoadInplaceOp           RemoteLoadOp RemoteLoadInplace
exchange/remote        RemoteStoreOp                 RemoteBaseOp RemoteStore LocalTensorIn=0 RemoteBufferOffsetIn=1
"""

# What classes have beyond indices; defined in operator_classes.cpp.
MEMBERS = {
    'SubgraphOp': '''
  /// The graph that is called, or the first one.
  Graph& getCalledGraph() const;
''',
    'IfOp': '''
  Graph& getThenGraph() const;
  Graph& getElseGraph() const;
''',
    'LoopOp': '''
  /// The constant number of passes. Throws popart::error if it is not known before the run.
  int getTripCountValue() const;
  int getNumExplicitInputs() const;
  int getNumImplicitInputs() const;
''',
    'MatMulBaseOp': '''
  /// How Builder::setSerializeMatMul has a product computed in parts.
  struct SerialiseSettings {
    enum class Mode { None, InputChannels, ReducingDim, OutputChannels };
    Mode mode = Mode::None;
    int64_t factor = 0;
    bool keep_precision = false;
  };
  /// The settings of a product that is one operator; its parts, once it is computed so, have none.
  SerialiseSettings getSerialiseSettings() const;
''',
    'RandomBaseOp': '''
  /// The number that tells the operator's seed from those of others, 1 or more; 0: it draws nothing.
  uint32_t getSeedModifier() const;
''',
    'IpuCopyOp': '''
  VGraphId getDestIpu() const;
  /// The virtual graph of each tensor that is copied.
  std::map<TensorId, VGraphId> getSourceIpus() const;
  VGraphId getSourceIpu(const TensorId& tensor) const;
  /// Of all tensors; throws popart::error if they come from several.
  VGraphId getSourceIpu() const;
  VGraphId getMinSourceIpu() const;
  VGraphId getMaxSourceIpu() const;
  PipelineStage getDestPipelineStage() const;
''',
    'StashOp': '''
  /// How many micro-batches are kept.
  int64_t getStashSize() const;
  TensorId getStashedTensorId() const { return outId(getOutIndex()); }
''',
    'RestoreOp': '''
  int64_t getStashSize() const;
  TensorId getRestoredTensorId() const { return outId(getRestoredActOutIndex()); }
''',
    'ConcatOp': '''
  int64_t getAxis() const { return axis(0, inRank(0)); }
''',
    'GatherOp': '''
  int64_t getAxis() const { return axis(0, inRank(getDataInIndex())); }
''',
    'ScatterOp': '''
  int64_t getAxis() const { return axis(0, inRank(getDataInIndex())); }
''',
    'ScatterReduceOp': '''
  int64_t getAxis() const { return axis(0, inRank(getDataInIndex())); }
''',
    'SplitOp': '''
  int64_t getAxis() const { return axis(0, inRank(getInIndex())); }
  /// The extents of the outputs along the axis.
  std::vector<int64_t> getSplitSizes() const;
''',
    'FlattenBaseOp': '''
  int64_t getAxis() const { return axis(1, inRank(getInIndex())); }
''',
    'SoftmaxOp': '''
  int64_t getAxis() const { return axis(opid.version < 13 ? 1 : -1, inRank(getInIndex())); }
''',
    'SoftmaxInplaceOp': '''
  int64_t getAxis() const { return axis(1, inRank(getInIndex())); }
''',
    'LogSoftmaxOp': '''
  int64_t getAxis() const { return axis(opid.version < 13 ? 1 : -1, inRank(getInIndex())); }
''',
    'LogSoftmaxInplaceOp': '''
  int64_t getAxis() const { return axis(1, inRank(getInIndex())); }
''',
    'ArgExtremaOp': '''
  int64_t getAxis() const { return axis(0, inRank(getInIndex())); }
  bool getKeepDims() const { return integer("keepdims", 1) != 0; }
''',
    'BaseSortOp': '''
  int64_t getAxis() const { return axis(-1, inRank(getInIndex())); }
''',
    'TopKOp': '''
  int64_t getK() const { return outShape(getValuesOutIndex())[static_cast<size_t>(getAxis())]; }
''',
    'CumSumOp': '''
  bool getExclusive() const { return integer("exclusive", 0) != 0; }
  bool getReverse() const { return integer("reverse", 0) != 0; }
''',
    'ReduceOp': '''
  /// The axes are in order, counted from the front.
  std::vector<int64_t> getAxes() const;
  bool getKeepDims() const { return integer("keepdims", 1) != 0; }
''',
    'BaseSliceOp': '''
  /// These are as the model says them; axes that it leaves out are the first ones. They throw popart::error
  /// if the values are not known before the run.
  std::vector<int64_t> getStarts() const { return integers("starts", getStartsInIndex()); }
  std::vector<int64_t> getEnds() const { return integers("ends", getEndsInIndex()); }
  std::vector<int64_t> getAxes() const;
''',
    'BasePadOp': '''
  /// The padding in front of each axis, then behind each. Throws popart::error if it is not known
  /// before the run.
  std::vector<int64_t> getPads() const { return integers("pads", 1); }
  int64_t getRank() const { return inRank(getInIndex()); }
  int64_t getLowerPadding(size_t dim) const { return getPads().at(dim); }
  int64_t getUpperPadding(size_t dim) const {
    return getPads().at(dim + static_cast<size_t>(getRank()));
  }
  std::string getMode() const { return text("mode", "constant"); }
  /// The elements of constant padding.
  float getPadValue() const;
  bool padSizeZero() const;
''',
    'HasReceptiveFieldOp': '''
  /// The extents of the window, its steps, and the padding before and behind each spatial axis.
  Shape getSpatialK() const { return integers("kernel_shape"); }
  Shape getStrides() const;
  Shape getLowerPads() const { return lowerPads(); }
  Shape getUpperPads() const { return upperPads(); }
  std::vector<int64_t> lowerPads() const { return padding(true); }
  std::vector<int64_t> upperPads() const { return padding(false); }
  int64_t getNOutChans() const { return outShape(getOutIndex()).at(1); }

 private:
  std::vector<int64_t> padding(bool isLower) const;
''',
    'MultiConvBaseOp': '''
  static InIndex getDataInIndex(int conv) { return 2 * conv; }
  static InIndex getWeightsInIndex(int conv) { return 2 * conv + 1; }
  static OutIndex getOutIndex(int conv) { return conv; }
  static int getConvIndexFromInIndex(InIndex index) { return index / 2; }
  /// How many convolutions there are; the functions below are those of the one with that index.
  int numConvs() const { return static_cast<int>(outTensorCount()); }
  int64_t getNSpatialDims(int conv = 0) const { return inRank(getDataInIndex(conv)) - 2; }
  Shape getSpatialD(int conv = 0) const;
  Shape getSpatialK(int conv = 0) const;
  int64_t getGroups(int conv = 0) const { return getNInChans(conv) / inShape(getWeightsInIndex(conv))[1]; }
  int64_t getNInChans(int conv = 0) const { return inShape(getDataInIndex(conv))[1]; }
  int64_t getNOutChans(int conv = 0) const { return inShape(getWeightsInIndex(conv))[0]; }
  Shape getStrides(int64_t conv = 0) const;
  Shape getDilations(int64_t conv = 0) const;
  Shape lowerPads(int conv = 0) const { return padding(conv, true); }
  Shape upperPads(int conv = 0) const { return padding(conv, false); }
  /// The padding before each spatial axis, then behind each.
  Shape getPads(int64_t conv = 0) const;
  ConvParameters getParameters(int conv = 0) const;

 private:
  /// How many spatial axes the convolutions before one have.
  std::size_t axesBefore(int conv) const;
  Shape padding(int conv, bool isLower) const;
''',
    'CastOp': '''
  DataType toDataType() const { return outInfo(getOutIndex()).dataType(); }
''',
    'ResizeOp': '''
  ResizeMode getMode() const;
  /// The extents of the output by those of the input.
  std::vector<float> getScales() const;
  ResizeNearestMode getNearestMode() const;
  ResizeCoordinateTransformationMode getCoordinateTransformationMode() const;
''',
    'RandomNormalBaseOp': '''
  float getMean() const { return number("mean", 0); }
  float getScale() const { return number("scale", 1); }
''',
    'RandomUniformBaseOp': '''
  float getHigh() const { return number("high", 1); }
  float getLow() const { return number("low", 0); }
''',
    'LRNOp': '''
  float getAlpha() const { return number("alpha", 1e-4f); }
  float getBeta() const { return number("beta", 0.75f); }
  float getBias() const { return number("bias", 1); }
  int64_t getSize() const { return integer("size", 1); }
''',
    'GroupNormOp': '''
  float getEpsilon() const { return number("epsilon", 1e-5f); }
  int64_t getNumGroups() const { return integer("num_groups", 1); }
''',
    'InstanceNormOp': '''
  float getEpsilon() const { return number("epsilon", 1e-5f); }
''',
    'LeakyReluOp': '''
  float getAlpha() const { return number("alpha", 0.01f); }
''',
    'LeakyReluInplaceOp': '''
  float getAlpha() const { return number("alpha", 0.01f); }
''',
    'EluOp': '''
  float alpha() const { return number("alpha", 1); }
''',
    'TransposeBaseOp': '''
  /// Axes in the reverse order if the model says none.
  Shape getPerm() const;
''',
    'ReshapeBaseOp': '''
  const Shape& getOutShape() const { return outShape(getOutIndex()); }
''',
    'DropoutBaseOp': '''
  /// Throws popart::error if it is not known before the run.
  float getRatio() const;
''',
    'ScaleOp': '''
  float getScaleFactor() const { return number("scale", 1); }
''',
    'LossOp': '''
  ReductionType getReductionType() const;
''',
    'L1Op': '''
  float getLambda() const { return number("lambda", 1); }
''',
    'L1GradOp': '''
  float getLambda() const { return number("lambda", 1); }
  ReductionType getReductionType() const;
''',
    'MatMulOp': '''
  const Tensor* lhsIn() const { return inTensor(getLhsInIndex()); }
  const Tensor* rhsIn() const { return inTensor(getRhsInIndex()); }
  const Tensor* out() const { return outTensor(getOutIndex()); }
''',
    'BatchNormOp': '''
  float getEpsilon() const { return number("epsilon", 1e-5f); }
  float getMomentum() const { return number("momentum", 0.9f); }
  int64_t getSpatial() const { return integer("spatial", 1); }
  /// Whether it normalizes by the mean and variance of what it is given.
  bool isTraining() const { return integer("training_mode", 0) != 0 || hasOutput(getMeanOutIndex()); }
''',
    'NllOp': '''
  bool hasIgnoreIndex() const { return hasAttribute("ignoreIndex"); }
  int getIgnoreIndex() const { return static_cast<int>(integer("ignoreIndex", 0)); }
''',
    'RemoteBaseOp': '''
  RemoteBufferId getRemoteBufferId() const { return integer("bufferid", -1); }
''',
    'HostBaseOp': '''
  /// The tensor whose stream is meant.
  TensorId getHostStreamTensorId() const;
''',
}


def identifiers(table):
    """(identifier, type)"""
    for word in table.split():
        name, _, type_ = word.partition('=')
        yield name, type_ or name


def onnx_schemas():
    """since-version and schema of each operator of ai.onnx up to LAST, by name"""
    found = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == '' and schema.since_version <= LAST:
            found.setdefault(schema.name, {})[schema.since_version] = schema
    return dict(sorted(found.items()))


def limits(schema):
    most = -1 if schema.max_input > 1000 else schema.max_input
    inputs = f'{{{schema.min_input}, {most}}}'
    outputs = -1 if schema.max_output > 1000 else schema.max_output
    return inputs, outputs


def onnx_header(schemas):
    text = f'''#pragma once

#include <popart/operatoridentifier.hpp>

{NOTE}
namespace popart::Onnx {{

/// Operators of ONNX's default domain by the version that introduced their meaning.
namespace Operators {{
'''
    for name, versions in schemas.items():
        for version in sorted(versions):
            text += f'extern const OperatorIdentifier {name}_{version};\n'
    text += '}  // namespace Operators\n\n/// The same by the version of the operator set.\nnamespace AiOnnx {\n'
    for opset in range(FIRST, LAST + 1):
        text += f'namespace OpSet{opset} {{\n'
        for name, versions in schemas.items():
            known = [v for v in versions if v <= opset]
            if not known or versions[max(known)].deprecated:
                continue
            text += (f'inline constexpr const OperatorIdentifier& {name} = '
                     f'Operators::{name}_{max(known)};\n')
        text += f'}}  // namespace OpSet{opset}\n'
    return text + '}  // namespace AiOnnx\n\n}  // namespace popart::Onnx\n'


def graphcore_header():
    text = f'''#pragma once

#include <cstdint>

#include <popart/operatoridentifier.hpp>

{NOTE}
namespace popart {{

/// The versions of operator sets that a new builder writes.
inline constexpr int64_t defaultAiOnnxOpset = 10;
inline constexpr int64_t defaultAiOnnxMlOpset = 1;
inline constexpr int64_t defaultAiGraphcoreOpset = 1;

namespace Onnx {{

'''
    for space, table, what in (
            ('GradOperators', GRADIENTS, 'Gradients of ONNX\'s operators.'),
            ('CustomOperators', CUSTOM, 'Operators that ONNX does not have, and in-place forms.'),
            ('CustomGradOperators', CUSTOM_GRADIENTS, 'Their gradients.')):
        text += f'/// {what}\nnamespace {space} {{\n'
        text += ''.join(f'extern const AiGraphcoreOpIdV1 {name};\n' for name, _ in identifiers(table))
        text += f'}}  // namespace {space}\n\n'
    text += '/// What builders have.\nnamespace AiGraphcore::OpSet1 {\n'
    for name, _ in identifiers(OPSET1):
        text += (f'inline constexpr const OperatorIdentifier& {name.removesuffix("_1")} = '
                 f'CustomOperators::{name};\n')
    return text + '}  // namespace AiGraphcore::OpSet1\n\n}  // namespace Onnx\n\n}  // namespace popart\n'


def identifier_source(schemas):
    text = f'''#include <popart/operators.hpp>

#include "popart/operator_versions.hpp"

{NOTE}
namespace popart {{

namespace Onnx {{

namespace Operators {{
'''
    for name, versions in schemas.items():
        for version, schema in sorted(versions.items()):
            inputs, outputs = limits(schema)
            text += (f'const OperatorIdentifier {name}_{version}(Domain::ai_onnx, "{name}", '
                     f'{version}, {inputs}, {outputs});\n')
    text += '}  // namespace Operators\n\n'
    for space, table in (('GradOperators', GRADIENTS), ('CustomOperators', CUSTOM),
                         ('CustomGradOperators', CUSTOM_GRADIENTS)):
        text += f'namespace {space} {{\n'
        text += ''.join(f'const AiGraphcoreOpIdV1 {name}("{type_}");\n'
                        for name, type_ in identifiers(table))
        text += f'}}  // namespace {space}\n\n'
    text += '''}  // namespace Onnx

namespace {

/// Names in order; each with the versions that changed the operator, in order.
constexpr detail::OperatorVersions versions[] = {
'''
    for name, known in schemas.items():
        text += f'{{"{name}", {{{", ".join(map(str, sorted(known)))}}}}},\n'
    text += '''};

/// In order.
constexpr std::string_view inPlaceTypes[] = {
'''
    types = sorted({t for _, t in identifiers(CUSTOM) if t.endswith('Inplace')} | {'UnsqueezeInplace'})
    text += ''.join(f'"{t}",\n' for t in types)
    return text + '''};

}  // namespace

std::span<const detail::OperatorVersions> detail::operatorVersions() { return versions; }
std::span<const std::string_view> detail::inPlaceOperators() { return inPlaceTypes; }

}  // namespace popart
'''


class Class:
    def __init__(self, line):
        self.header, self.name, self.base, types, *indices = line.split()
        self.types = [] if types == '-' else types.split(',')
        self.indices = [(name, number) for name, number in (i.split('=') for i in indices)]

    def declaration(self):
        text = f'class {self.name} : public {self.base} {{\n public:\n  using {self.base}::{self.base};\n'
        for name, number in self.indices:
            index = 'OutIndex' if name.endswith('Out') else 'InIndex'
            text += f'  static {index} get{name}Index() {{ return {number}; }}\n'
        return text + MEMBERS.get(self.name, '') + '};\n'


def classes():
    left = [Class(line) for line in CLASSES.strip().splitlines() if line]
    done = {'Op'}
    while left:  # bases first
        ready = [c for c in left if c.base in done]
        assert ready, [c.name for c in left]
        yield from ready
        done |= {c.name for c in ready}
        left = [c for c in left if c.base not in done or c.name not in done]


def class_header(every):
    text = f'''#pragma once

#include <map>
#include <string>
#include <vector>

#include <popart/op.hpp>
#include <popart/op/convparameters.hpp>
#include <popart/op/loss.hpp>
#include <popart/op/resizemode.hpp>

{NOTE}
// The classes of operators, for Op::isConvertibleTo and dynamic_cast. They are what PopART calls them;
// programs only look at them.

namespace popart {{

'''
    return text + '\n'.join(c.declaration() for c in every) + '\n}  // namespace popart\n'


def class_source(every):
    text = f'''#include <popart/op/classes.gen.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "popart/operator_classes.hpp"

{NOTE}
namespace popart {{

namespace {{

template <class T>
std::unique_ptr<Op> make(const OperatorIdentifier& opid, const Op::Settings& settings) {{
  return std::make_unique<T>(opid, settings);
}}

struct Row {{
  std::string_view type;
  std::unique_ptr<Op> (*make)(const OperatorIdentifier& opid, const Op::Settings& settings);
}};

/// By type, in order.
constexpr Row rows[] = {{
'''
    rows = sorted((t, c.name) for c in every for t in c.types)
    assert len({t for t, _ in rows}) == len(rows), rows
    text += ''.join(f'{{"{t}", &make<{name}>}},\n' for t, name in rows)
    return text + '''};

}  // namespace

std::unique_ptr<Op> detail::makeOp(const OperatorIdentifier& opid, const Op::Settings& settings) {
  const auto row = std::lower_bound(std::begin(rows), std::end(rows), std::string_view(opid.type),
                                    [](const Row& a, std::string_view type) { return a.type < type; });
  if (row == std::end(rows) || row->type != opid.type) return make<Op>(opid, settings);
  return row->make(opid, settings);
}

}  // namespace popart
'''


# These have more than classes.
KEPT = {'loss', 'init', 'tensorremap', 'scatterreduce', 'collectives/collectives', 'exchange/exchange'}


def outputs():
    schemas = onnx_schemas()
    every = list(classes())
    yield 'include/popart/onnxoperators.gen.hpp', onnx_header(schemas)
    yield 'include/popart/graphcoreoperators.hpp', graphcore_header()
    yield 'src/popart/operators.gen.cpp', identifier_source(schemas)
    yield 'include/popart/op/classes.gen.hpp', class_header(every)
    yield 'src/popart/operator_classes.gen.cpp', class_source(every)
    for name in sorted({c.header for c in every} - KEPT):
        yield f'include/popart/op/{name}.hpp', f'#pragma once\n\n#include <popart/op/classes.gen.hpp>\n'


def formatted(text, path):
    return subprocess.run(['clang-format-19', f'--assume-filename={path}'], input=text, text=True,
                          check=True, capture_output=True, cwd=ROOT).stdout


def main():
    wrong = False
    for path, text in outputs():
        text = formatted(text, path)
        whole = os.path.join(ROOT, path)
        if sys.argv[1:] == ['--check']:
            if not os.path.exists(whole) or open(whole, encoding='utf-8').read() != text:
                print(f'{path} is not what the generator writes')
                wrong = True
        else:
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, 'w', encoding='utf-8') as f:
                f.write(text)
    return int(wrong)


if __name__ == '__main__':
    sys.exit(main())
