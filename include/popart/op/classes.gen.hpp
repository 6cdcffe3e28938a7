#pragma once

#include <map>
#include <string>
#include <vector>

#include <popart/op.hpp>
#include <popart/op/convparameters.hpp>
#include <popart/op/loss.hpp>
#include <popart/op/resizemode.hpp>

// Written by src/popart/generate_operators.py.

// The classes of operators, for Op::isConvertibleTo and dynamic_cast. They are what PopART calls them;
// programs only look at them.

namespace popart {

class ElementWiseUnaryOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class ElementWiseNonLinearUnaryGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getGradInIndex() { return 0; }
  static InIndex getFwdArgInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class ElementWiseBinaryBaseOp : public Op {
 public:
  using Op::Op;
  static InIndex getArg0InIndex() { return 0; }
  static InIndex getArg1InIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class ElementWiseBinaryGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getGradInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class BinaryComparisonOp : public Op {
 public:
  using Op::Op;
  static InIndex getArg0InIndex() { return 0; }
  static InIndex getArg1InIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class LossOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

  ReductionType getReductionType() const;
};

class LossGradOp : public Op {
 public:
  using Op::Op;
};

class SubgraphOp : public Op {
 public:
  using Op::Op;

  /// The graph that is called, or the first one.
  Graph& getCalledGraph() const;
};

class VarUpdateOp : public Op {
 public:
  using Op::Op;
  static InIndex getVarToUpdateInIndex() { return 0; }
  static OutIndex getUpdatedVarOutIndex() { return 0; }
};

class VariadicOp : public Op {
 public:
  using Op::Op;
  static OutIndex getOutIndex() { return 0; }
};

class VariadicGradOp : public Op {
 public:
  using Op::Op;
};

class ReduceOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

  /// The axes are in order, counted from the front.
  std::vector<int64_t> getAxes() const;
  bool getKeepDims() const { return integer("keepdims", 1) != 0; }
};

class ReduceGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class BasePadOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

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
};

class BaseSortOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }

  int64_t getAxis() const { return axis(-1, inRank(getInIndex())); }
};

class MultiConvBaseOp : public Op {
 public:
  using Op::Op;

  static InIndex getDataInIndex(int conv) { return 2 * conv; }
  static InIndex getWeightsInIndex(int conv) { return 2 * conv + 1; }
  static OutIndex getOutIndex(int conv) { return conv; }
  static int getConvIndexFromInIndex(InIndex index) { return index / 2; }
  /// How many convolutions there are; the functions below are those of the one with that index.
  int numConvs() const { return static_cast<int>(outTensorCount()); }
  int64_t getNSpatialDims(int conv = 0) const { return inRank(getDataInIndex(conv)) - 2; }
  Shape getSpatialD(int conv = 0) const;
  Shape getSpatialK(int conv = 0) const;
  int64_t getGroups(int conv = 0) const {
    return getNInChans(conv) / inShape(getWeightsInIndex(conv))[1];
  }
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
};

class MultiConvDataGradBaseOp : public Op {
 public:
  using Op::Op;
};

class MultiConvWeightsGradBaseOp : public Op {
 public:
  using Op::Op;
};

class MatMulBaseOp : public Op {
 public:
  using Op::Op;

  /// How Builder::setSerializeMatMul has a product computed in parts.
  struct SerialiseSettings {
    enum class Mode { None, InputChannels, ReducingDim, OutputChannels };
    Mode mode = Mode::None;
    int64_t factor = 0;
    bool keep_precision = false;
  };
  /// The settings of a product that is one operator; its parts, once it is computed so, have none.
  SerialiseSettings getSerialiseSettings() const;
};

class HasReceptiveFieldOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

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
};

class RandomBaseOp : public Op {
 public:
  using Op::Op;

  /// The number that tells the operator's seed from those of others, 1 or more; 0: it draws nothing.
  uint32_t getSeedModifier() const;
};

class ShapeOrLikeOp : public Op {
 public:
  using Op::Op;
  static OutIndex getOutIndex() { return 0; }
};

class DynamicBaseOp : public Op {
 public:
  using Op::Op;
  static InIndex getIndexInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class ExchangeBaseOp : public Op {
 public:
  using Op::Op;
};

class CollectivesBaseOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class AbortOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
};

class AdaDeltaUpdaterOp : public Op {
 public:
  using Op::Op;
};

class AdamUpdaterOp : public Op {
 public:
  using Op::Op;
  static OutIndex getUpdaterOutIndex() { return 0; }
};

class AddBiasOp : public Op {
 public:
  using Op::Op;
  static InIndex getDataInIndex() { return 0; }
  static InIndex getBiasInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class ArgExtremaOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

  int64_t getAxis() const { return axis(0, inRank(getInIndex())); }
  bool getKeepDims() const { return integer("keepdims", 1) != 0; }
};

class AveragePoolGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getPrePooledInIndex() { return 0; }
  static InIndex getPooledInIndex() { return 1; }
  static InIndex getGradPooledInIndex() { return 2; }
  static OutIndex getOutIndex() { return 0; }
};

class BatchNormOp : public Op {
 public:
  using Op::Op;
  static InIndex getXInIndex() { return 0; }
  static InIndex getScaleInIndex() { return 1; }
  static InIndex getBInIndex() { return 2; }
  static InIndex getMeanInIndex() { return 3; }
  static InIndex getVarInIndex() { return 4; }
  static OutIndex getYOutIndex() { return 0; }
  static OutIndex getMeanOutIndex() { return 1; }
  static OutIndex getVarOutIndex() { return 2; }
  static OutIndex getSavedMeanOutIndex() { return 3; }
  static OutIndex getSavedVarOutIndex() { return 4; }

  float getEpsilon() const { return number("epsilon", 1e-5f); }
  float getMomentum() const { return number("momentum", 0.9f); }
  int64_t getSpatial() const { return integer("spatial", 1); }
  /// Whether it normalizes by the mean and variance of what it is given.
  bool isTraining() const {
    return integer("training_mode", 0) != 0 || hasOutput(getMeanOutIndex());
  }
};

class BatchNormGradOp : public Op {
 public:
  using Op::Op;
  static OutIndex getXOutIndex() { return 0; }
  static OutIndex getScaleOutIndex() { return 1; }
  static OutIndex getBOutIndex() { return 2; }
};

class BucketizeOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static InIndex getBoundariesInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class CastOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

  DataType toDataType() const { return outInfo(getOutIndex()).dataType(); }
};

class CastThenPow2ScaleOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static InIndex getlog2ScaleInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class ClipGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getGradClippedInIndex() { return 0; }
  static InIndex getClippedInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class ConcatOp : public Op {
 public:
  using Op::Op;
  static OutIndex getOutIndex() { return 0; }

  int64_t getAxis() const { return axis(0, inRank(0)); }
};

class ConcatGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class ConstantOp : public Op {
 public:
  using Op::Op;
};

class ConvFlipWeightsOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class ConvTransposeOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static InIndex getWeightsInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class CtcBeamSearchDecoderOp : public Op {
 public:
  using Op::Op;
};

class CumSumOp : public Op {
 public:
  using Op::Op;
  static InIndex getXInIndex() { return 0; }
  static InIndex getAxisInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }

  bool getExclusive() const { return integer("exclusive", 0) != 0; }
  bool getReverse() const { return integer("reverse", 0) != 0; }
};

class CumSumGradOp : public Op {
 public:
  using Op::Op;
};

class DepthToSpaceOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class ExpGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getGradInIndex() { return 0; }
  static InIndex getFwdOutInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class ExpandOp : public Op {
 public:
  using Op::Op;
  static InIndex getInTensorIndex() { return 0; }
  static InIndex getInShapeIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class ExpandGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getDYInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class Expm1GradOp : public Op {
 public:
  using Op::Op;
  static InIndex getGradInIndex() { return 0; }
  static InIndex getFwdOutInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class FlattenBaseOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

  int64_t getAxis() const { return axis(1, inRank(getInIndex())); }
};

class GatherOp : public Op {
 public:
  using Op::Op;
  static InIndex getDataInIndex() { return 0; }
  static InIndex getIndicesInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }

  int64_t getAxis() const { return axis(0, inRank(getDataInIndex())); }
};

class GatherGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getGradInIndex() { return 0; }
  static InIndex getIndicesInIndex() { return 1; }
  static OutIndex getGradOutIndex() { return 0; }
};

class GetRandomSeedOp : public Op {
 public:
  using Op::Op;
  static InIndex getSeedInIndex() { return 0; }
  static OutIndex getUpdatedSeedOutIndex() { return 0; }
};

class GlobalAveragePoolOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class GlobalMaxPoolOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class GroupNormOp : public Op {
 public:
  using Op::Op;
  static InIndex getXInIndex() { return 0; }
  static InIndex getScaleInIndex() { return 1; }
  static InIndex getBInIndex() { return 2; }
  static OutIndex getYOutIndex() { return 0; }
  static OutIndex getMeanOutIndex() { return 1; }
  static OutIndex getInvStdDevOutIndex() { return 2; }

  float getEpsilon() const { return number("epsilon", 1e-5f); }
  int64_t getNumGroups() const { return integer("num_groups", 1); }
};

class GroupNormGradOp : public Op {
 public:
  using Op::Op;
  static OutIndex getXOutIndex() { return 0; }
  static OutIndex getScaleOutIndex() { return 1; }
  static OutIndex getBOutIndex() { return 2; }
};

class GRUOp : public Op {
 public:
  using Op::Op;
  static InIndex getInputInIndex() { return 0; }
  static InIndex getWeightsInIndex() { return 1; }
  static InIndex getRecurrenceInIndex() { return 2; }
  static InIndex getBiasInIndex() { return 3; }
  static InIndex getSequenceLensInIndex() { return 4; }
  static InIndex getInitialHInIndex() { return 5; }
  static OutIndex getFullHiddenStateOutIndex() { return 0; }
  static OutIndex getLastHiddenStateOutIndex() { return 1; }
};

class HistogramOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class InitOp : public Op {
 public:
  using Op::Op;
  static OutIndex getOutIndex() { return 0; }
};

class InstanceNormOp : public Op {
 public:
  using Op::Op;
  static InIndex getInputInIndex() { return 0; }
  static InIndex getScaleInIndex() { return 1; }
  static InIndex getBInIndex() { return 2; }
  static OutIndex getOutIndex() { return 0; }

  float getEpsilon() const { return number("epsilon", 1e-5f); }
};

class IoTileCopyOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class IpuCopyOp : public Op {
 public:
  using Op::Op;

  VGraphId getDestIpu() const;
  /// The virtual graph of each tensor that is copied.
  std::map<TensorId, VGraphId> getSourceIpus() const;
  VGraphId getSourceIpu(const TensorId& tensor) const;
  /// Of all tensors; throws popart::error if they come from several.
  VGraphId getSourceIpu() const;
  VGraphId getMinSourceIpu() const;
  VGraphId getMaxSourceIpu() const;
  PipelineStage getDestPipelineStage() const;
};

class LambSquareOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class LogSoftmaxGradOp : public Op {
 public:
  using Op::Op;
};

class LossScaleUpdateOp : public Op {
 public:
  using Op::Op;
};

class LRNOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

  float getAlpha() const { return number("alpha", 1e-4f); }
  float getBeta() const { return number("beta", 0.75f); }
  float getBias() const { return number("bias", 1); }
  int64_t getSize() const { return integer("size", 1); }
};

class LSTMOp : public Op {
 public:
  using Op::Op;
  static InIndex getInputInIndex() { return 0; }
  static InIndex getWeightsInIndex() { return 1; }
  static InIndex getRecurrenceInIndex() { return 2; }
  static InIndex getBiasInIndex() { return 3; }
  static InIndex getSequenceLensInIndex() { return 4; }
  static InIndex getInitialHInIndex() { return 5; }
  static InIndex getInitialCInIndex() { return 6; }
  static InIndex getPeepholeInIndex() { return 7; }
  static OutIndex getFullHiddenStateOutIndex() { return 0; }
  static OutIndex getLastHiddenStateOutIndex() { return 1; }
  static OutIndex getLastCellStateOutIndex() { return 2; }
};

class LSTMGradOp : public Op {
 public:
  using Op::Op;
};

class MaxPoolGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getPrePooledInIndex() { return 0; }
  static InIndex getPooledInIndex() { return 1; }
  static InIndex getGradPooledInIndex() { return 2; }
  static OutIndex getOutIndex() { return 0; }
};

class ModifyRandomSeedOp : public Op {
 public:
  using Op::Op;
  static InIndex getSeedInIndex() { return 0; }
  static InIndex getSeedModifierInIndex() { return 1; }
  static OutIndex getModifiedSeedOutIndex() { return 0; }
};

class NormalizeImageOp : public Op {
 public:
  using Op::Op;
};

class OnehotOp : public Op {
 public:
  using Op::Op;
  static InIndex getIndicesInIndex() { return 0; }
  static InIndex getDepthInIndex() { return 1; }
  static InIndex getValuesInIndex() { return 2; }
  static OutIndex getOutIndex() { return 0; }
};

class PackedDataBlockOp : public Op {
 public:
  using Op::Op;
};

class PadGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class Pow2ScaleThenCastOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static InIndex getlog2ScaleInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class ReluGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getGradReludInIndex() { return 0; }
  static InIndex getReludInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class ReshapeBaseOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

  const Shape& getOutShape() const { return outShape(getOutIndex()); }
};

class ResizeOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

  ResizeMode getMode() const;
  /// The extents of the output by those of the input.
  std::vector<float> getScales() const;
  ResizeNearestMode getNearestMode() const;
  ResizeCoordinateTransformationMode getCoordinateTransformationMode() const;
};

class RestoreOp : public Op {
 public:
  using Op::Op;
  static InIndex getActToRestoreInIndex() { return 0; }
  static InIndex getStashInIndex() { return 1; }
  static OutIndex getRestoredActOutIndex() { return 0; }

  int64_t getStashSize() const;
  TensorId getRestoredTensorId() const { return outId(getRestoredActOutIndex()); }
};

class ReverseOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class RMSPropUpdaterOp : public Op {
 public:
  using Op::Op;
};

class RNNOp : public Op {
 public:
  using Op::Op;
  static InIndex getInputInIndex() { return 0; }
  static InIndex getWeightsInIndex() { return 1; }
  static InIndex getRecurrenceInIndex() { return 2; }
  static InIndex getBiasInIndex() { return 3; }
  static InIndex getSequenceLensInIndex() { return 4; }
  static InIndex getInitialHInIndex() { return 5; }
  static OutIndex getFullHiddenStateOutIndex() { return 0; }
  static OutIndex getLastHiddenStateOutIndex() { return 1; }
};

class RoiAlignOp : public Op {
 public:
  using Op::Op;
};

class ScaledAddOp : public Op {
 public:
  using Op::Op;
  static InIndex getArg0InIndex() { return 0; }
  static InIndex getArg1InIndex() { return 1; }
  static InIndex getScale0InIndex() { return 2; }
  static InIndex getScale1InIndex() { return 3; }
  static OutIndex getOutIndex() { return 0; }
};

class ScatterOp : public Op {
 public:
  using Op::Op;
  static InIndex getDataInIndex() { return 0; }
  static InIndex getIndicesInIndex() { return 1; }
  static InIndex getUpdatesInIndex() { return 2; }
  static OutIndex getOutIndex() { return 0; }

  int64_t getAxis() const { return axis(0, inRank(getDataInIndex())); }
};

class ScatterReduceOp : public Op {
 public:
  using Op::Op;
  static InIndex getDataInIndex() { return 0; }
  static InIndex getIndicesInIndex() { return 1; }
  static InIndex getInitialValuesInIndex() { return 2; }
  static OutIndex getOutIndex() { return 0; }

  int64_t getAxis() const { return axis(0, inRank(getDataInIndex())); }
};

class SequenceSliceOp : public Op {
 public:
  using Op::Op;
};

class BaseSliceOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static InIndex getStartsInIndex() { return 1; }
  static InIndex getEndsInIndex() { return 2; }
  static InIndex getAxesInIndex() { return 3; }
  static OutIndex getOutIndex() { return 0; }

  /// These are as the model says them; axes that it leaves out are the first ones. They throw popart::error
  /// if the values are not known before the run.
  std::vector<int64_t> getStarts() const { return integers("starts", getStartsInIndex()); }
  std::vector<int64_t> getEnds() const { return integers("ends", getEndsInIndex()); }
  std::vector<int64_t> getAxes() const;
};

class SoftmaxGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getGradProbsInIndex() { return 0; }
  static InIndex getProbsInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class SoftmaxGradDirectOp : public Op {
 public:
  using Op::Op;
  static InIndex getProbsInIndex() { return 0; }
  static InIndex getLabelInIndex() { return 1; }
  static InIndex getGradProbsInIndex() { return 2; }
  static OutIndex getOutIndex() { return 0; }
};

class NlllWithSoftmaxGradDirectOp : public Op {
 public:
  using Op::Op;
  static InIndex getProbsInIndex() { return 0; }
  static InIndex getLabelInIndex() { return 1; }
  static InIndex getGradProbsInIndex() { return 2; }
  static OutIndex getLossOutIndex() { return 0; }
  static OutIndex getGradOutIndex() { return 1; }
};

class SplitOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }

  int64_t getAxis() const { return axis(0, inRank(getInIndex())); }
  /// The extents of the outputs along the axis.
  std::vector<int64_t> getSplitSizes() const;
};

class SqueezeBaseOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class StashOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

  /// How many micro-batches are kept.
  int64_t getStashSize() const;
  TensorId getStashedTensorId() const { return outId(getOutIndex()); }
};

class SubsampleBaseOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class SubsampleGradOp : public Op {
 public:
  using Op::Op;
};

class SyncOp : public Op {
 public:
  using Op::Op;
};

class TanhGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getGradInIndex() { return 0; }
  static InIndex getFwdOutInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class TensorRemapOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class TileOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static InIndex getRepeatsInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class TopKGradOp : public Op {
 public:
  using Op::Op;
  static InIndex getGradInIndex() { return 0; }
  static InIndex getIndicesInIndex() { return 1; }
  static OutIndex getGradOutIndex() { return 0; }
};

class TransposeBaseOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

  /// Axes in the reverse order if the model says none.
  Shape getPerm() const;
};

class UnsqueezeBaseOp : public Op {
 public:
  using Op::Op;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }
};

class WhereOp : public Op {
 public:
  using Op::Op;
  static InIndex getConditionInIndex() { return 0; }
  static InIndex getXInIndex() { return 1; }
  static InIndex getYInIndex() { return 2; }
  static OutIndex getOutIndex() { return 0; }
};

class AllReduceOp : public Op {
 public:
  using Op::Op;
};

class ElementWiseInplaceUnaryOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class ElementWiseUnaryBooleanOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class ElementWiseBinaryOp : public ElementWiseBinaryBaseOp {
 public:
  using ElementWiseBinaryBaseOp::ElementWiseBinaryBaseOp;
};

class ElementWiseBinaryInplaceLhsOp : public ElementWiseBinaryBaseOp {
 public:
  using ElementWiseBinaryBaseOp::ElementWiseBinaryBaseOp;
};

class ElementWiseBinaryInplaceRhsOp : public ElementWiseBinaryBaseOp {
 public:
  using ElementWiseBinaryBaseOp::ElementWiseBinaryBaseOp;
};

class OneWayUnaryOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class VarUpdateWithUpdaterOp : public VarUpdateOp {
 public:
  using VarUpdateOp::VarUpdateOp;
  static InIndex getUpdaterInIndex() { return 1; }
};

class NonLinearVariadicGradOp : public VariadicGradOp {
 public:
  using VariadicGradOp::VariadicGradOp;
};

class LinearVariadicGradOp : public VariadicGradOp {
 public:
  using VariadicGradOp::VariadicGradOp;
};

class MatMulBaseGradOp : public MatMulBaseOp {
 public:
  using MatMulBaseOp::MatMulBaseOp;
};

class RandomNormalBaseOp : public RandomBaseOp {
 public:
  using RandomBaseOp::RandomBaseOp;

  float getMean() const { return number("mean", 0); }
  float getScale() const { return number("scale", 1); }
};

class RandomUniformBaseOp : public RandomBaseOp {
 public:
  using RandomBaseOp::RandomBaseOp;

  float getHigh() const { return number("high", 1); }
  float getLow() const { return number("low", 0); }
};

class DropoutBaseOp : public RandomBaseOp {
 public:
  using RandomBaseOp::RandomBaseOp;
  static InIndex getInIndex() { return 0; }
  static OutIndex getOutIndex() { return 0; }

  /// Throws popart::error if it is not known before the run.
  float getRatio() const;
};

class DynamicSliceBaseOp : public DynamicBaseOp {
 public:
  using DynamicBaseOp::DynamicBaseOp;
  static InIndex getInIndex() { return 0; }
};

class DynamicBinaryBaseOp : public DynamicBaseOp {
 public:
  using DynamicBaseOp::DynamicBaseOp;
  static InIndex getUpdateInIndex() { return 0; }
};

class HostBaseOp : public ExchangeBaseOp {
 public:
  using ExchangeBaseOp::ExchangeBaseOp;

  /// The tensor whose stream is meant.
  TensorId getHostStreamTensorId() const;
};

class RemoteBaseOp : public ExchangeBaseOp {
 public:
  using ExchangeBaseOp::ExchangeBaseOp;

  RemoteBufferId getRemoteBufferId() const { return integer("bufferid", -1); }
};

class AbsOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class AbsGradOp : public ElementWiseNonLinearUnaryGradOp {
 public:
  using ElementWiseNonLinearUnaryGradOp::ElementWiseNonLinearUnaryGradOp;
};

class AccumulatorScaleOp : public VarUpdateOp {
 public:
  using VarUpdateOp::VarUpdateOp;
  static InIndex getFactorInIndex() { return 2; }
};

class AcosOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class AcoshOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class AddArg0GradOp : public ReduceGradOp {
 public:
  using ReduceGradOp::ReduceGradOp;
};

class AddArg1GradOp : public ReduceGradOp {
 public:
  using ReduceGradOp::ReduceGradOp;
};

class AddBiasInplaceOp : public AddBiasOp {
 public:
  using AddBiasOp::AddBiasOp;
};

class AndOp : public BinaryComparisonOp {
 public:
  using BinaryComparisonOp::BinaryComparisonOp;
};

class ArgMaxOp : public ArgExtremaOp {
 public:
  using ArgExtremaOp::ArgExtremaOp;
};

class ArgMinOp : public ArgExtremaOp {
 public:
  using ArgExtremaOp::ArgExtremaOp;
};

class AsinOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class AsinGradOp : public ElementWiseNonLinearUnaryGradOp {
 public:
  using ElementWiseNonLinearUnaryGradOp::ElementWiseNonLinearUnaryGradOp;
};

class AsinhOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class AtanOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class AtanGradOp : public ElementWiseNonLinearUnaryGradOp {
 public:
  using ElementWiseNonLinearUnaryGradOp::ElementWiseNonLinearUnaryGradOp;
};

class AtanhOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class AutoLossScaleProxyOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class AveragePoolOp : public HasReceptiveFieldOp {
 public:
  using HasReceptiveFieldOp::HasReceptiveFieldOp;
};

class BinaryConstScalarOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class BitwiseNotOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class BitwiseBinaryOp : public ElementWiseBinaryBaseOp {
 public:
  using ElementWiseBinaryBaseOp::ElementWiseBinaryBaseOp;
};

class CastGradOp : public CastOp {
 public:
  using CastOp::CastOp;
};

class ClipOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class ConcatInplaceOp : public ConcatOp {
 public:
  using ConcatOp::ConcatOp;
};

class ConvOp : public MultiConvBaseOp {
 public:
  using MultiConvBaseOp::MultiConvBaseOp;
  static InIndex getDataInIndex() { return 0; }
  static InIndex getWeightsInIndex() { return 1; }
  static InIndex getBiasInIndex() { return 2; }
  static OutIndex getOutIndex() { return 0; }
};

class ConvDataGradOp : public MultiConvDataGradBaseOp {
 public:
  using MultiConvDataGradBaseOp::MultiConvDataGradBaseOp;
  static InIndex getWeightsInIndex() { return 0; }
  static InIndex getGradConvolvedInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class ConvWeightsGradOp : public MultiConvWeightsGradBaseOp {
 public:
  using MultiConvWeightsGradBaseOp::MultiConvWeightsGradBaseOp;
  static InIndex getGradConvolvedInIndex() { return 0; }
  static InIndex getPreConvolvedInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class CosOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class CosGradOp : public ElementWiseNonLinearUnaryGradOp {
 public:
  using ElementWiseNonLinearUnaryGradOp::ElementWiseNonLinearUnaryGradOp;
};

class CoshOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class CtcOp : public LossOp {
 public:
  using LossOp::LossOp;
  static InIndex getLogProbsInIndex() { return 0; }
  static InIndex getTargetsInIndex() { return 1; }
  static InIndex getInputLengthsInIndex() { return 2; }
  static InIndex getTargetLengthsInIndex() { return 3; }
  static OutIndex getCtcLossOutIndex() { return 0; }
  static OutIndex getLogProbsGradientWrtCtcLossOutIndex() { return 1; }
};

class DetachOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class DynamicSlicePadGradOp : public DynamicBaseOp {
 public:
  using DynamicBaseOp::DynamicBaseOp;
};

class EluOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;

  float alpha() const { return number("alpha", 1); }
};

class EluGradOp : public ElementWiseNonLinearUnaryGradOp {
 public:
  using ElementWiseNonLinearUnaryGradOp::ElementWiseNonLinearUnaryGradOp;
};

class EqualOp : public BinaryComparisonOp {
 public:
  using BinaryComparisonOp::BinaryComparisonOp;
};

class ErfOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class ErfGradOp : public ElementWiseNonLinearUnaryGradOp {
 public:
  using ElementWiseNonLinearUnaryGradOp::ElementWiseNonLinearUnaryGradOp;
};

class ExpOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class ExpandInplaceOp : public ExpandOp {
 public:
  using ExpandOp::ExpandOp;
};

class Expm1Op : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class FlattenOp : public FlattenBaseOp {
 public:
  using FlattenBaseOp::FlattenBaseOp;
};

class FlattenInplaceOp : public FlattenBaseOp {
 public:
  using FlattenBaseOp::FlattenBaseOp;
};

class GeluOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class GeluGradOp : public ElementWiseNonLinearUnaryGradOp {
 public:
  using ElementWiseNonLinearUnaryGradOp::ElementWiseNonLinearUnaryGradOp;
};

class GeluErfOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class GreaterOp : public BinaryComparisonOp {
 public:
  using BinaryComparisonOp::BinaryComparisonOp;
};

class HardSigmoidOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class HardSigmoidGradOp : public ElementWiseNonLinearUnaryGradOp {
 public:
  using ElementWiseNonLinearUnaryGradOp::ElementWiseNonLinearUnaryGradOp;
};

class IdentityOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class IdentityLossOp : public LossOp {
 public:
  using LossOp::LossOp;
};

class IdentityLossGradOp : public LossGradOp {
 public:
  using LossGradOp::LossGradOp;
};

class IfOp : public SubgraphOp {
 public:
  using SubgraphOp::SubgraphOp;
  static InIndex getConditionInIndex() { return 0; }

  Graph& getThenGraph() const;
  Graph& getElseGraph() const;
};

class IncrementModOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class L1Op : public LossOp {
 public:
  using LossOp::LossOp;

  float getLambda() const { return number("lambda", 1); }
};

class L1GradOp : public LossGradOp {
 public:
  using LossGradOp::LossGradOp;
  static InIndex getFwdActInIndex() { return 0; }
  static InIndex getGradInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }

  float getLambda() const { return number("lambda", 1); }
  ReductionType getReductionType() const;
};

class LeakyReluOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;

  float getAlpha() const { return number("alpha", 0.01f); }
};

class LeakyReluGradOp : public ElementWiseNonLinearUnaryGradOp {
 public:
  using ElementWiseNonLinearUnaryGradOp::ElementWiseNonLinearUnaryGradOp;
};

class LessOp : public BinaryComparisonOp {
 public:
  using BinaryComparisonOp::BinaryComparisonOp;
};

class LogOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class LogGradOp : public ElementWiseNonLinearUnaryGradOp {
 public:
  using ElementWiseNonLinearUnaryGradOp::ElementWiseNonLinearUnaryGradOp;
};

class Log1pOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class LogSoftmaxOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;

  int64_t getAxis() const { return axis(opid.version < 13 ? 1 : -1, inRank(getInIndex())); }
};

class CallOp : public SubgraphOp {
 public:
  using SubgraphOp::SubgraphOp;
};

class LoopOp : public SubgraphOp {
 public:
  using SubgraphOp::SubgraphOp;
  static InIndex getMaximumTripCountInIndex() { return 0; }
  static InIndex getTerminationConditionInIndex() { return 1; }
  static InIndex getFirstInputInIndex() { return 2; }
  static OutIndex getFirstOutputOutIndex() { return 0; }

  /// The constant number of passes. Throws popart::error if it is not known before the run.
  int getTripCountValue() const;
  int getNumExplicitInputs() const;
  int getNumImplicitInputs() const;
};

class ScanOp : public SubgraphOp {
 public:
  using SubgraphOp::SubgraphOp;
};

class MatMulOp : public MatMulBaseOp {
 public:
  using MatMulBaseOp::MatMulBaseOp;
  static InIndex getLhsInIndex() { return 0; }
  static InIndex getRhsInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }

  const Tensor* lhsIn() const { return inTensor(getLhsInIndex()); }
  const Tensor* rhsIn() const { return inTensor(getRhsInIndex()); }
  const Tensor* out() const { return outTensor(getOutIndex()); }
};

class MaxOp : public VariadicOp {
 public:
  using VariadicOp::VariadicOp;
};

class MaxPoolOp : public HasReceptiveFieldOp {
 public:
  using HasReceptiveFieldOp::HasReceptiveFieldOp;
};

class MeanOp : public VariadicOp {
 public:
  using VariadicOp::VariadicOp;
};

class MinOp : public VariadicOp {
 public:
  using VariadicOp::VariadicOp;
};

class MultiConvOp : public MultiConvBaseOp {
 public:
  using MultiConvBaseOp::MultiConvBaseOp;
};

class MultiConvDataGradOp : public MultiConvDataGradBaseOp {
 public:
  using MultiConvDataGradBaseOp::MultiConvDataGradBaseOp;
};

class MultiConvWeightsGradOp : public MultiConvWeightsGradBaseOp {
 public:
  using MultiConvWeightsGradBaseOp::MultiConvWeightsGradBaseOp;
};

class NegateOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class NllOp : public LossOp {
 public:
  using LossOp::LossOp;
  static InIndex getProbsInIndex() { return 0; }
  static InIndex getLabelInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }

  bool hasIgnoreIndex() const { return hasAttribute("ignoreIndex"); }
  int getIgnoreIndex() const { return static_cast<int>(integer("ignoreIndex", 0)); }
};

class NllGradOp : public LossGradOp {
 public:
  using LossGradOp::LossGradOp;
  static InIndex getProbsInIndex() { return 0; }
  static InIndex getLabelInIndex() { return 1; }
  static InIndex getGradInIndex() { return 2; }
  static OutIndex getOutIndex() { return 0; }
};

class NopOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class NotOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class OrOp : public BinaryComparisonOp {
 public:
  using BinaryComparisonOp::BinaryComparisonOp;
};

class PadOp : public BasePadOp {
 public:
  using BasePadOp::BasePadOp;
};

class PadInplaceOp : public BasePadOp {
 public:
  using BasePadOp::BasePadOp;
};

class PrintTensorOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class ReciprocalOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class ReduceL1Op : public ReduceOp {
 public:
  using ReduceOp::ReduceOp;
};

class ReduceL2Op : public ReduceOp {
 public:
  using ReduceOp::ReduceOp;
};

class ReduceLogSumOp : public ReduceOp {
 public:
  using ReduceOp::ReduceOp;
};

class ReduceLogSumExpOp : public ReduceOp {
 public:
  using ReduceOp::ReduceOp;
};

class ReduceMaxOp : public ReduceOp {
 public:
  using ReduceOp::ReduceOp;
};

class ReduceMeanOp : public ReduceOp {
 public:
  using ReduceOp::ReduceOp;
};

class ReduceMeanGradOp : public ReduceGradOp {
 public:
  using ReduceGradOp::ReduceGradOp;
};

class ReduceMedianOp : public ReduceOp {
 public:
  using ReduceOp::ReduceOp;
};

class ReduceMinOp : public ReduceOp {
 public:
  using ReduceOp::ReduceOp;
};

class ReduceProdOp : public ReduceOp {
 public:
  using ReduceOp::ReduceOp;
};

class ReduceSumOp : public ReduceOp {
 public:
  using ReduceOp::ReduceOp;
};

class ReduceSumGradOp : public ReduceGradOp {
 public:
  using ReduceGradOp::ReduceGradOp;
};

class ReduceSumSquareOp : public ReduceOp {
 public:
  using ReduceOp::ReduceOp;
};

class ReluOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class ReshapeOp : public ReshapeBaseOp {
 public:
  using ReshapeBaseOp::ReshapeBaseOp;
};

class ResizeGradOp : public ResizeOp {
 public:
  using ResizeOp::ResizeOp;
};

class RestoreInplaceOp : public RestoreOp {
 public:
  using RestoreOp::RestoreOp;
};

class ReverseInplaceOp : public ReverseOp {
 public:
  using ReverseOp::ReverseOp;
};

class ScaleOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;

  float getScaleFactor() const { return number("scale", 1); }
};

class ScaledAddLhsInplaceOp : public ScaledAddOp {
 public:
  using ScaledAddOp::ScaledAddOp;
};

class ScaledAddRhsInplaceOp : public ScaledAddOp {
 public:
  using ScaledAddOp::ScaledAddOp;
};

class SeluOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class ShrinkOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class SigmoidOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class SigmoidGradOp : public ElementWiseNonLinearUnaryGradOp {
 public:
  using ElementWiseNonLinearUnaryGradOp::ElementWiseNonLinearUnaryGradOp;
};

class SinOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class SinGradOp : public ElementWiseNonLinearUnaryGradOp {
 public:
  using ElementWiseNonLinearUnaryGradOp::ElementWiseNonLinearUnaryGradOp;
};

class SinhOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class SliceOp : public BaseSliceOp {
 public:
  using BaseSliceOp::BaseSliceOp;
};

class SliceInplaceOp : public BaseSliceOp {
 public:
  using BaseSliceOp::BaseSliceOp;
};

class SliceGradOp : public BasePadOp {
 public:
  using BasePadOp::BasePadOp;
};

class SoftmaxOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;

  int64_t getAxis() const { return axis(opid.version < 13 ? 1 : -1, inRank(getInIndex())); }
};

class SoftPlusOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class SoftSignOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class SortOp : public BaseSortOp {
 public:
  using BaseSortOp::BaseSortOp;
  static OutIndex getValuesOutIndex() { return 0; }
  static OutIndex getIndicesOutIndex() { return 1; }
};

class SqrtOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class SquareOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class SqueezeOp : public SqueezeBaseOp {
 public:
  using SqueezeBaseOp::SqueezeBaseOp;
};

class SqueezeInplaceOp : public SqueezeBaseOp {
 public:
  using SqueezeBaseOp::SqueezeBaseOp;
};

class SubsampleOp : public SubsampleBaseOp {
 public:
  using SubsampleBaseOp::SubsampleBaseOp;
};

class SubsampleInplaceOp : public SubsampleBaseOp {
 public:
  using SubsampleBaseOp::SubsampleBaseOp;
};

class SumOp : public VariadicOp {
 public:
  using VariadicOp::VariadicOp;
};

class SwishOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class TanOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class TanhOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class ThresholdedReluOp : public ElementWiseUnaryOp {
 public:
  using ElementWiseUnaryOp::ElementWiseUnaryOp;
};

class TopKOp : public BaseSortOp {
 public:
  using BaseSortOp::BaseSortOp;
  static InIndex getKInIndex() { return 1; }
  static OutIndex getValuesOutIndex() { return 0; }
  static OutIndex getIndicesOutIndex() { return 1; }

  int64_t getK() const { return outShape(getValuesOutIndex())[static_cast<size_t>(getAxis())]; }
};

class TransposeOp : public TransposeBaseOp {
 public:
  using TransposeBaseOp::TransposeBaseOp;
};

class TransposeInplaceOp : public TransposeBaseOp {
 public:
  using TransposeBaseOp::TransposeBaseOp;
};

class UnsqueezeOp : public UnsqueezeBaseOp {
 public:
  using UnsqueezeBaseOp::UnsqueezeBaseOp;
};

class UnsqueezeInplaceOp : public UnsqueezeBaseOp {
 public:
  using UnsqueezeBaseOp::UnsqueezeBaseOp;
};

class WhereLhsInplaceOp : public WhereOp {
 public:
  using WhereOp::WhereOp;
};

class WhereRhsInplaceOp : public WhereOp {
 public:
  using WhereOp::WhereOp;
};

class ZerosOp : public ShapeOrLikeOp {
 public:
  using ShapeOrLikeOp::ShapeOrLikeOp;
};

class ZerosLikeOp : public ShapeOrLikeOp {
 public:
  using ShapeOrLikeOp::ShapeOrLikeOp;
};

class ReplicatedAllGatherOp : public CollectivesBaseOp {
 public:
  using CollectivesBaseOp::CollectivesBaseOp;
};

class ReplicatedAllReduceOp : public CollectivesBaseOp {
 public:
  using CollectivesBaseOp::CollectivesBaseOp;
};

class ReplicatedReduceScatterOp : public CollectivesBaseOp {
 public:
  using CollectivesBaseOp::CollectivesBaseOp;
};

class MultiExchangeOp : public ExchangeBaseOp {
 public:
  using ExchangeBaseOp::ExchangeBaseOp;
};

class OneWayUnaryInPlaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class DynamicTernaryBaseOp : public DynamicBinaryBaseOp {
 public:
  using DynamicBinaryBaseOp::DynamicBinaryBaseOp;
  static InIndex getInIndex() { return 2; }
};

class DynamicBinaryBaseInplaceOp : public DynamicBinaryBaseOp {
 public:
  using DynamicBinaryBaseOp::DynamicBinaryBaseOp;
};

class AccumulateBaseOp : public VarUpdateWithUpdaterOp {
 public:
  using VarUpdateWithUpdaterOp::VarUpdateWithUpdaterOp;
  static InIndex getFactorInIndex() { return 2; }
};

class AccumulatorZeroOp : public AccumulatorScaleOp {
 public:
  using AccumulatorScaleOp::AccumulatorScaleOp;
};

class AdamComboOp : public VarUpdateWithUpdaterOp {
 public:
  using VarUpdateWithUpdaterOp::VarUpdateWithUpdaterOp;
};

class AdamVarUpdateOp : public VarUpdateWithUpdaterOp {
 public:
  using VarUpdateWithUpdaterOp::VarUpdateWithUpdaterOp;
  static InIndex getLambR1SqInIndex() { return 2; }
  static InIndex getLambR2SqInIndex() { return 3; }
};

class AdaptiveComboOp : public VarUpdateWithUpdaterOp {
 public:
  using VarUpdateWithUpdaterOp::VarUpdateWithUpdaterOp;
};

class AddOp : public ElementWiseBinaryOp {
 public:
  using ElementWiseBinaryOp::ElementWiseBinaryOp;
};

class AddLhsInplaceOp : public ElementWiseBinaryInplaceLhsOp {
 public:
  using ElementWiseBinaryInplaceLhsOp::ElementWiseBinaryInplaceLhsOp;
};

class AddRhsInplaceOp : public ElementWiseBinaryInplaceRhsOp {
 public:
  using ElementWiseBinaryInplaceRhsOp::ElementWiseBinaryInplaceRhsOp;
};

class AsinInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class AtanInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class Atan2Op : public ElementWiseBinaryOp {
 public:
  using ElementWiseBinaryOp::ElementWiseBinaryOp;
};

class Atan2LhsInplaceOp : public ElementWiseBinaryInplaceLhsOp {
 public:
  using ElementWiseBinaryInplaceLhsOp::ElementWiseBinaryInplaceLhsOp;
};

class CeilOp : public OneWayUnaryOp {
 public:
  using OneWayUnaryOp::OneWayUnaryOp;
};

class ClipInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class CopyVarUpdateOp : public VarUpdateWithUpdaterOp {
 public:
  using VarUpdateWithUpdaterOp::VarUpdateWithUpdaterOp;
};

class DetachInplaceOp : public DetachOp {
 public:
  using DetachOp::DetachOp;
};

class DivOp : public ElementWiseBinaryOp {
 public:
  using ElementWiseBinaryOp::ElementWiseBinaryOp;
};

class DropoutOp : public DropoutBaseOp {
 public:
  using DropoutBaseOp::DropoutBaseOp;
  static OutIndex getMaskOutIndex() { return 1; }
};

class DynamicSliceOp : public DynamicSliceBaseOp {
 public:
  using DynamicSliceBaseOp::DynamicSliceBaseOp;
};

class DynamicZeroOp : public DynamicBinaryBaseOp {
 public:
  using DynamicBinaryBaseOp::DynamicBinaryBaseOp;
};

class EluInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class ExpInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class Expm1InplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class FloorOp : public OneWayUnaryOp {
 public:
  using OneWayUnaryOp::OneWayUnaryOp;
};

class FmodOp : public ElementWiseBinaryOp {
 public:
  using ElementWiseBinaryOp::ElementWiseBinaryOp;
};

class GeluInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class GeluErfInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class HardSigmoidInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class IdentityInplaceOp : public IdentityOp {
 public:
  using IdentityOp::IdentityOp;
};

class IdentityGradOp : public IdentityOp {
 public:
  using IdentityOp::IdentityOp;
};

class IncrementModInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class IsInf : public ElementWiseUnaryBooleanOp {
 public:
  using ElementWiseUnaryBooleanOp::ElementWiseUnaryBooleanOp;
};

class IsNaN : public ElementWiseUnaryBooleanOp {
 public:
  using ElementWiseUnaryBooleanOp::ElementWiseUnaryBooleanOp;
};

class LeakyReluInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;

  float getAlpha() const { return number("alpha", 0.01f); }
};

class Log1pInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class LogSoftmaxInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;

  int64_t getAxis() const { return axis(1, inRank(getInIndex())); }
};

class MatMulLhsGradOp : public MatMulBaseGradOp {
 public:
  using MatMulBaseGradOp::MatMulBaseGradOp;
  static InIndex getGradInIndex() { return 0; }
  static InIndex getRhsInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class MatMulRhsGradOp : public MatMulBaseGradOp {
 public:
  using MatMulBaseGradOp::MatMulBaseGradOp;
  static InIndex getGradInIndex() { return 0; }
  static InIndex getLhsInIndex() { return 1; }
  static OutIndex getOutIndex() { return 0; }
};

class MaxArgGradOp : public NonLinearVariadicGradOp {
 public:
  using NonLinearVariadicGradOp::NonLinearVariadicGradOp;
};

class MulOp : public ElementWiseBinaryOp {
 public:
  using ElementWiseBinaryOp::ElementWiseBinaryOp;
};

class MulLhsInplaceOp : public ElementWiseBinaryInplaceLhsOp {
 public:
  using ElementWiseBinaryInplaceLhsOp::ElementWiseBinaryInplaceLhsOp;
};

class MulRhsInplaceOp : public ElementWiseBinaryInplaceRhsOp {
 public:
  using ElementWiseBinaryInplaceRhsOp::ElementWiseBinaryInplaceRhsOp;
};

class NearbyIntOp : public OneWayUnaryOp {
 public:
  using OneWayUnaryOp::OneWayUnaryOp;
};

class PowOp : public ElementWiseBinaryOp {
 public:
  using ElementWiseBinaryOp::ElementWiseBinaryOp;
};

class PowLhsInplaceOp : public ElementWiseBinaryInplaceLhsOp {
 public:
  using ElementWiseBinaryInplaceLhsOp::ElementWiseBinaryInplaceLhsOp;
};

class PReluOp : public ElementWiseBinaryOp {
 public:
  using ElementWiseBinaryOp::ElementWiseBinaryOp;
};

class RandomNormalOp : public RandomNormalBaseOp {
 public:
  using RandomNormalBaseOp::RandomNormalBaseOp;
  static OutIndex getOutIndex() { return 0; }
};

class RandomUniformOp : public RandomUniformBaseOp {
 public:
  using RandomUniformBaseOp::RandomUniformBaseOp;
  static OutIndex getOutIndex() { return 0; }
};

class ReluInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class ReshapeInplaceOp : public ReshapeOp {
 public:
  using ReshapeOp::ReshapeOp;
};

class ReshapeGradOp : public ReshapeOp {
 public:
  using ReshapeOp::ReshapeOp;
};

class RoundOp : public OneWayUnaryOp {
 public:
  using OneWayUnaryOp::OneWayUnaryOp;
};

class ScaleInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class ScaleGradOp : public ScaleOp {
 public:
  using ScaleOp::ScaleOp;
};

class ScaledVarUpdateOp : public VarUpdateWithUpdaterOp {
 public:
  using VarUpdateWithUpdaterOp::VarUpdateWithUpdaterOp;
};

class SeluInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class SGD0ComboOp : public VarUpdateWithUpdaterOp {
 public:
  using VarUpdateWithUpdaterOp::VarUpdateWithUpdaterOp;
};

class SGD0VarUpdateOp : public VarUpdateWithUpdaterOp {
 public:
  using VarUpdateWithUpdaterOp::VarUpdateWithUpdaterOp;
  static InIndex getSlr0InIndex() { return 2; }
  static InIndex getWdsf0InIndex() { return 3; }
};

class SGD1ComboOp : public VarUpdateWithUpdaterOp {
 public:
  using VarUpdateWithUpdaterOp::VarUpdateWithUpdaterOp;
};

class SGD1VarUpdateOp : public VarUpdateWithUpdaterOp {
 public:
  using VarUpdateWithUpdaterOp::VarUpdateWithUpdaterOp;
  static InIndex getSlr1InIndex() { return 2; }
};

class SGD1AcclUpdateOp : public VarUpdateWithUpdaterOp {
 public:
  using VarUpdateWithUpdaterOp::VarUpdateWithUpdaterOp;
  static InIndex getSmm1InIndex() { return 2; }
  static InIndex getSwd1InIndex() { return 3; }
};

class SGD2ComboOp : public VarUpdateWithUpdaterOp {
 public:
  using VarUpdateWithUpdaterOp::VarUpdateWithUpdaterOp;
};

class ShapedDropoutOp : public DropoutBaseOp {
 public:
  using DropoutBaseOp::DropoutBaseOp;
};

class ShrinkInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class SigmoidInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class SignOp : public OneWayUnaryOp {
 public:
  using OneWayUnaryOp::OneWayUnaryOp;
};

class SinhInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class SoftmaxInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;

  int64_t getAxis() const { return axis(1, inRank(getInIndex())); }
};

class SoftPlusInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class SoftSignInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class SubtractOp : public ElementWiseBinaryOp {
 public:
  using ElementWiseBinaryOp::ElementWiseBinaryOp;
};

class SwishInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class ThresholdedReluInplaceOp : public ElementWiseInplaceUnaryOp {
 public:
  using ElementWiseInplaceUnaryOp::ElementWiseInplaceUnaryOp;
};

class TransposeGradOp : public TransposeOp {
 public:
  using TransposeOp::TransposeOp;
};

class ReplicatedAllReduceInplaceOp : public ReplicatedAllReduceOp {
 public:
  using ReplicatedAllReduceOp::ReplicatedAllReduceOp;
};

class HostLoadOp : public HostBaseOp {
 public:
  using HostBaseOp::HostBaseOp;
  static InIndex getLocalTensorInIndex() { return 0; }
  static OutIndex getLocalTensorOutIndex() { return 0; }
};

class HostStoreOp : public HostBaseOp {
 public:
  using HostBaseOp::HostBaseOp;
  static InIndex getLocalTensorInIndex() { return 0; }
};

class RemoteLoadOp : public RemoteBaseOp {
 public:
  using RemoteBaseOp::RemoteBaseOp;
  static InIndex getLocalTensorInIndex() { return 0; }
  static InIndex getRemoteBufferOffsetInIndex() { return 1; }
  static OutIndex getLocalTensorOutIndex() { return 0; }
};

class RemoteStoreOp : public RemoteBaseOp {
 public:
  using RemoteBaseOp::RemoteBaseOp;
  static InIndex getLocalTensorInIndex() { return 0; }
  static InIndex getRemoteBufferOffsetInIndex() { return 1; }
};

class DynamicTernaryBaseInplaceOp : public DynamicTernaryBaseOp {
 public:
  using DynamicTernaryBaseOp::DynamicTernaryBaseOp;
};

class AccumulateOp : public AccumulateBaseOp {
 public:
  using AccumulateBaseOp::AccumulateBaseOp;
};

class RescaleAccumulateOp : public AccumulateBaseOp {
 public:
  using AccumulateBaseOp::AccumulateBaseOp;
  static InIndex getRescaleRatioInIndex() { return 3; }
};

class CeilInplaceOp : public OneWayUnaryInPlaceOp {
 public:
  using OneWayUnaryInPlaceOp::OneWayUnaryInPlaceOp;
};

class DropoutGradOp : public DropoutOp {
 public:
  using DropoutOp::DropoutOp;
};

class DynamicAddOp : public DynamicTernaryBaseOp {
 public:
  using DynamicTernaryBaseOp::DynamicTernaryBaseOp;
};

class DynamicUpdateOp : public DynamicTernaryBaseOp {
 public:
  using DynamicTernaryBaseOp::DynamicTernaryBaseOp;
};

class DynamicZeroInplaceOp : public DynamicBinaryBaseInplaceOp {
 public:
  using DynamicBinaryBaseInplaceOp::DynamicBinaryBaseInplaceOp;
};

class FloorInplaceOp : public OneWayUnaryInPlaceOp {
 public:
  using OneWayUnaryInPlaceOp::OneWayUnaryInPlaceOp;
};

class RoundInplaceOp : public OneWayUnaryInPlaceOp {
 public:
  using OneWayUnaryInPlaceOp::OneWayUnaryInPlaceOp;
};

class SGD2VarUpdateOp : public SGD1VarUpdateOp {
 public:
  using SGD1VarUpdateOp::SGD1VarUpdateOp;
};

class SGD2PartialAcclUpdateOp : public SGD1AcclUpdateOp {
 public:
  using SGD1AcclUpdateOp::SGD1AcclUpdateOp;
};

class SignInplaceOp : public OneWayUnaryInPlaceOp {
 public:
  using OneWayUnaryInPlaceOp::OneWayUnaryInPlaceOp;
};

class HostLoadInplaceOp : public HostLoadOp {
 public:
  using HostLoadOp::HostLoadOp;
};

class RemoteLoadInplaceOp : public RemoteLoadOp {
 public:
  using RemoteLoadOp::RemoteLoadOp;
};

class SparseAccumulateOp : public AccumulateOp {
 public:
  using AccumulateOp::AccumulateOp;
};

class DynamicAddInplaceOp : public DynamicTernaryBaseInplaceOp {
 public:
  using DynamicTernaryBaseInplaceOp::DynamicTernaryBaseInplaceOp;
};

class DynamicUpdateInplaceOp : public DynamicTernaryBaseInplaceOp {
 public:
  using DynamicTernaryBaseInplaceOp::DynamicTernaryBaseInplaceOp;
};

}  // namespace popart
