#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <popart/names.hpp>
#include <popart/op/loss.hpp>
#include <popart/tensorlocation.hpp>
#include <popart/vendored/optional.hpp>

// What each option does here is listed in one table: src/popart/session_options.cpp.

namespace popart {

enum class Instrumentation { Outer = 0, Inner, N };
enum class VirtualGraphMode { Off = 0, Manual, Auto, ExecutionPhases, N };
enum class RecomputationType { None = 0, Standard, NormOnly, Pipeline, RecomputeAll, N };
enum class MergeVarUpdateType { None = 0, All, AutoLoose, AutoTight, N };
enum class SyntheticDataMode { Off = 0, Zeros, RandomNormal, RandomUniform, N };
enum class SubgraphCopyingStrategy { OnEnterAndExit = 0, JustInTime, N };
enum class MeanReductionStrategy { Running = 0, Post, N };
enum class BatchSerializationBatchSchedule {
  Scheduler = 0,
  Isomorphic,
  OverlapOnIo,
  OverlapOnCompute,
  N
};
enum class BatchSerializationTransformContext { Fwd = 0, Bwd, N };
enum class BatchSerializationMethod { UnrollDynamic = 0, UnrollStatic, Loop, N };
enum class ExecutionPhaseIOSchedule { Preload = 0, OnDemand, N };
enum class ExecutionPhaseSchedule { Interleaving = 0, Batch, BatchClusteredIO, N };
enum class AccumulateOuterFragmentSchedule {
  Scheduler = 0,
  Serial,
  OverlapCycleOptimized,
  OverlapMemoryOptimized
};
enum class AutodiffStitchStrategy {
  RecomputeMinimal = 0,
  RecomputeAllNonInputs,
  AddFwdOutputs,
  SafeAddFwdOutputs,
  N
};
enum class GradientTensorTrackingMethod {
  AllNonViewChangingGradientTensors = 0,
  ConvAndMatmulGradients,
  GradientsOfUserSpecifiedTensors,
  N
};

struct TensorLocationSettings {
  TensorLocationSettings() = default;
  TensorLocationSettings(TensorLocation where, int offChip = 2, int sharding = 8192)
      : location(where),
        minElementsForOffChip(offChip),
        minElementsForReplicatedTensorSharding(sharding) {}
  TensorLocationSettings(TensorStorage storage, int offChip = 2, int sharding = 8192)
      : TensorLocationSettings(TensorLocation(storage), offChip, sharding) {}
  bool operator==(const TensorLocationSettings&) const = default;

  TensorLocation location{};
  int minElementsForOffChip = 2;
  int minElementsForReplicatedTensorSharding = 8192;
};

struct AutodiffSettings {
  bool operator==(const AutodiffSettings&) const = default;
  AutodiffStitchStrategy stitchStrategy = AutodiffStitchStrategy::RecomputeAllNonInputs;
};

struct DeveloperSettings {
  bool operator==(const DeveloperSettings&) const = default;
  double timePartitionLoggerThresholdPercentage = 1.0;
};

struct ExperimentalSettings {
  bool operator==(const ExperimentalSettings&) const = default;
  std::map<std::string, std::vector<std::string>> customTransformApplierSettings{};
  bool createHostTransferableTensorWithOffset = false;
};

struct ReplicatedCollectivesSettings {
  bool operator==(const ReplicatedCollectivesSettings&) const = default;
  bool prepareScheduleForMergingCollectives = false;
  bool mergeAllReduceCollectives = false;
  bool mergeReduceScatterCollectives = false;
  bool mergeAllGatherCollectives = false;
};

struct ExecutionPhaseSettings {
  bool operator==(const ExecutionPhaseSettings&) const = default;
  int phases = 0;
  int stages = 2;
  ExecutionPhaseIOSchedule weightIOSchedule = ExecutionPhaseIOSchedule::Preload;
  ExecutionPhaseIOSchedule activationIOSchedule = ExecutionPhaseIOSchedule::Preload;
  ExecutionPhaseIOSchedule optimizerStateIOSchedule = ExecutionPhaseIOSchedule::OnDemand;
  ExecutionPhaseIOSchedule accumulatorIOSchedule = ExecutionPhaseIOSchedule::Preload;
  ExecutionPhaseSchedule schedule = ExecutionPhaseSchedule::Interleaving;
};

struct AccumulateOuterFragmentSettings {
  bool operator==(const AccumulateOuterFragmentSettings&) const = default;
  AccumulateOuterFragmentSchedule schedule = AccumulateOuterFragmentSchedule::Serial;
  std::vector<int> excludedVirtualGraphs{};
};

struct BatchSerializationSettings {
  bool operator==(const BatchSerializationSettings&) const = default;
  int factor = 0;
  bool concatOnVirtualGraphChange = true;
  bool concatOnExecutionPhaseChange = true;
  bool concatOnPipelineStageChange = true;
  BatchSerializationTransformContext transformContext = BatchSerializationTransformContext::Fwd;
  BatchSerializationMethod method = BatchSerializationMethod::UnrollDynamic;
  BatchSerializationBatchSchedule batchSchedule = BatchSerializationBatchSchedule::Isomorphic;
};

struct AutomaticLossScalingSettings {
  bool operator==(const AutomaticLossScalingSettings&) const = default;
  bool enabled = false;
  float binEdgeLocation = 0.125f;
  float thresholdUpperCountProportion = 1e-7f;
  nonstd::optional<std::vector<TensorId>> toTrackTensors{};
  int updatePeriod = 1;
  GradientTensorTrackingMethod gradientTensorTrackingMethod =
      GradientTensorTrackingMethod::AllNonViewChangingGradientTensors;
};

/// Tiles of an IPU that only move data.
class NumIOTiles {
 public:
  NumIOTiles() = default;
  NumIOTiles(int count) : count_(count) {}
  operator int() const { return count_; }
  NumIOTiles& operator=(const int& count) {
    count_ = count;
    return *this;
  }
  bool operator==(const NumIOTiles&) const = default;

 private:
  int count_ = 0;
};

/// Options of a session, with PopART's names and defaults.
struct SessionOptions {
  // --- diagnostics, planning, caching ---
  std::string logDir;
  std::set<std::string> dotChecks;
  int firstDotOp = 0;
  int finalDotOp = 10000;
  bool dotOpNames = false;
  bool exportPoplarComputationGraph = false;
  bool exportPoplarVertexGraph = false;
  bool separateCallOpPdfs = true;
  bool compileEngine = true;
  bool instrumentWithHardwareCycleCounter = false;
  std::set<Instrumentation> hardwareInstrumentations = {Instrumentation::Outer};
  double timeLimitScheduler = 1e9;
  int64_t swapLimitScheduler = static_cast<int64_t>(1e9);
  std::string kahnTieBreaker = "greedy";
  size_t transitiveClosureOptimizationThreshold = 100000;
  std::string serializedPoprithmsShiftGraphsDir;
  bool enableEngineCaching = false;
  std::string cachePath = "session_cache";
  bool enableVariablesCaching = true;
  std::function<void(int, int)> compilationProgressLogger;
  int compilationProgressTotal = 100;
  DeveloperSettings developerSettings;
  std::map<std::string, std::string> engineOptions;
  std::map<std::string, std::string> reportOptions;
  std::map<std::string, std::string> gclOptions;
  std::map<std::string, std::string> convolutionOptions;
  std::map<std::string, std::string> matmulOptions;
  std::map<std::string, std::string> lstmOptions;
  std::vector<std::string> customCodelets;
  std::string customCodeletCompileFlags;
  bool opxAliasChecking = false;
  bool opxModifyChecking = false;
  bool enableInplaceAmbiguityChecking = false;
  bool strictOpVersions = true;
  std::vector<TensorId> updatableNamedBuffers;
  ExperimentalSettings experimentalSettings;

  // --- graph and numerics ---
  AutodiffSettings autodiffSettings;
  bool enableNonStableSoftmax = false;
  bool enableStableNorm = false;
  bool groupNormStridedChannelGrouping = false;
  bool enableFloatingPointChecks = false;
  bool enableStochasticRounding = false;
  bool _enableRngStateManagement = false;
  bool enableLoadAndOffloadRNGState = false;
  std::string partialsTypeMatMuls;
  bool enableFullyConnectedPass = true;
  bool enableSerializedMatmuls = true;
  bool enableConstantFoldingOfMultipleConsumers = true;
  bool enableSupportedDataTypeCasting = true;
  bool throwIfLog2ScaleTensorNotInRange = true;
  bool ensureFp32LossScaleTensor = false;
  bool constantWeights = true;
  bool useLoopCandidateCreator = false;
  SyntheticDataMode syntheticDataMode = SyntheticDataMode::Off;
  bool aliasZeroCopy = false;
  bool decomposeGradSum = false;
  bool delayVarUpdates = true;
  bool scheduleNonWeightUpdateGradientConsumersEarly = false;
  MergeVarUpdateType mergeVarUpdate = MergeVarUpdateType::None;
  int64_t mergeVarUpdateMemThreshold = 1000000;
  int64_t looseThresholdAtPeak = 8000;

  // --- streams ---
  bool rearrangeAnchorsOnHost = true;
  bool rearrangeStreamsOnHost = false;
  bool enablePrefetchDatastreams = true;
  unsigned defaultBufferingDepth = 1;
  std::map<TensorId, unsigned> bufferingDepthMap;
  unsigned defaultPrefetchBufferingDepth = 111122;  // nobody's choice: it was not set
  std::map<TensorId, unsigned> prefetchBufferingDepthMap;
  bool disableGradAccumulationTensorStreams = false;
  bool disableOptimizerStateTensorStreams = false;
  bool useHostCopyOps = false;
  bool groupHostSync = false;
  bool enableMergeExchange = true;
  NumIOTiles numIOTiles;
  bool enableEfficientOverlapIOTopoCons = false;

  // --- several devices, memory ---
  bool enableReplicatedGraphs = false;
  int64_t replicatedGraphCount = 1;
  bool enableDistributedReplicatedGraphs = false;
  int64_t globalReplicationFactor = 1;
  int64_t globalReplicaOffset = 0;
  bool enableGradientAccumulation = false;
  int64_t accumulationFactor = 1;
  ReductionType accumulationAndReplicationReductionType = ReductionType::Sum;
  MeanReductionStrategy meanAccumulationAndReplicationReductionStrategy =
      MeanReductionStrategy::Post;
  ReplicatedCollectivesSettings replicatedCollectivesSettings;
  VirtualGraphMode virtualGraphMode = VirtualGraphMode::Off;
  std::vector<float> virtualGraphSplitRatios;
  bool enablePipelining = false;
  bool createImplicitPipeliningFwdOnlyProgram = false;
  bool stashAllTensorsInferencePipeline = false;
  RecomputationType autoRecomputation = RecomputationType::None;
  bool explicitRecomputation = false;
  bool enableExplicitMainLoops = false;
  ExecutionPhaseSettings executionPhaseSettings;
  AccumulateOuterFragmentSettings accumulateOuterFragmentSettings;
  BatchSerializationSettings batchSerializationSettings;
  TensorLocationSettings activationTensorLocationSettings;
  TensorLocationSettings weightTensorLocationSettings;
  TensorLocationSettings optimizerStateTensorLocationSettings;
  TensorLocationSettings accumulatorTensorLocationSettings;
  std::map<TensorId, TensorLocation> tensorLocationSettingsOverride;
  bool enableOutlining = true;
  float outlineThreshold = 1.0f;
  float outlineSequenceBreakCost = 10000.0f;
  bool enableOutliningCopyCostPruning = true;
  SubgraphCopyingStrategy subgraphCopyingStrategy = SubgraphCopyingStrategy::OnEnterAndExit;
  AutomaticLossScalingSettings automaticLossScalingSettings;

  bool explicitPipeliningEnabled() const {
    return enablePipelining && useHostCopyOps && enableExplicitMainLoops;
  }
  bool implicitPipeliningEnabled() const {
    return enablePipelining && !explicitPipeliningEnabled();
  }
  void enableExplicitIR(bool enable) {
    useHostCopyOps = enableExplicitMainLoops = explicitRecomputation = enable;
  }
  bool autoRecomputationEnabled() const { return autoRecomputation != RecomputationType::None; }
  int64_t getGlobalReplicationFactor() const;
  /// Throws if there is a factor without accumulation.
  int64_t getAccumulationFactor() const;
  /// How many prefetches a stream has; throws for depths that cannot be.
  unsigned getBufferingDepth(const TensorId& id, bool rearrangedOnHost) const;
  void setDefaultBufferingDepth(unsigned depth) { defaultBufferingDepth = depth; }
  bool shouldDelayVarUpdates() const;
};

}  // namespace popart
