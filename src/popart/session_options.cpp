#include <popart/sessionoptions.hpp>

#include <ostream>

#include "popart/convert.hpp"
#include "popart/options.hpp"

namespace popart {

namespace {

using detail::OptionRow;
using detail::OptionStatus;

template <class T>
bool differs(const T& value, const T& otherwise) {
  return !(value == otherwise);
}
bool differs(const std::function<void(int, int)>& value, const std::function<void(int, int)>&) {
  return static_cast<bool>(value);
}

constexpr const char* dot = "graphs are not exported to DOT files";
constexpr const char* schedule = "the schedule is found without a search that could be bounded";
constexpr const char* poplar = "there is no Poplar below that it could be passed to";
constexpr const char* codelets = "kernels are C++ operators, compiled with the program";
constexpr const char* training =
    "only training on several devices, or with less memory, has a use for it";
constexpr const char* placement = "the cpu device is one tile: nothing is placed";
constexpr const char* streams = "the cpu device reads and writes the program's memory directly";
constexpr const char* products =
    "partialsType and availableMemoryProportion of products that ask for none themselves";
constexpr const char* locations =
    "only training has a use for it: storage and replicated tensor sharding, but no tile sets";
constexpr const char* several = "sessions run on one device";

// clang-format off
const OptionRow option_rows[] = {
#define POPART_OPTION(name, status, text)                              \
  {#name, OptionStatus::status, text, [](const SessionOptions& options) { \
     return differs(options.name, SessionOptions().name);              \
   }},
    // --- diagnostics, planning, caching ---
    POPART_OPTION(logDir, nothing, dot)
    POPART_OPTION(dotChecks, refused, dot)
    POPART_OPTION(firstDotOp, nothing, dot)
    POPART_OPTION(finalDotOp, nothing, dot)
    POPART_OPTION(dotOpNames, nothing, dot)
    POPART_OPTION(exportPoplarComputationGraph, nothing, poplar)
    POPART_OPTION(exportPoplarVertexGraph, nothing, poplar)
    POPART_OPTION(separateCallOpPdfs, nothing, dot)
    POPART_OPTION(compileEngine, effect, "without it the session cannot run")
    POPART_OPTION(instrumentWithHardwareCycleCounter, effect, "getCycleCount works on IPU models")
    POPART_OPTION(hardwareInstrumentations, refused, "only whole runs are counted, Instrumentation::Outer")
    POPART_OPTION(timeLimitScheduler, nothing, schedule)
    POPART_OPTION(swapLimitScheduler, nothing, schedule)
    POPART_OPTION(kahnTieBreaker, nothing, schedule)
    POPART_OPTION(transitiveClosureOptimizationThreshold, nothing, schedule)
    POPART_OPTION(serializedPoprithmsShiftGraphsDir, refused, "no schedule graphs are written")
    POPART_OPTION(enableEngineCaching, effect, "what was compiled is kept in the folder cachePath, without accumulation")
    POPART_OPTION(cachePath, effect, "with enableEngineCaching")
    POPART_OPTION(enableVariablesCaching, nothing, "variables always have a copy on the host")
    POPART_OPTION(compilationProgressLogger, effect, "called with 0 and compilationProgressTotal")
    POPART_OPTION(compilationProgressTotal, effect, "the last number that the logger is called with")
    POPART_OPTION(developerSettings, nothing, "no summary of compile times is logged")
    POPART_OPTION(engineOptions, effect, "autoReport.* and debug.allowOutOfMemory of IPU models")
    POPART_OPTION(reportOptions, nothing, poplar)
    POPART_OPTION(gclOptions, nothing, poplar)
    POPART_OPTION(convolutionOptions, modelled, products)
    POPART_OPTION(matmulOptions, modelled, products)
    POPART_OPTION(lstmOptions, modelled, products)
    POPART_OPTION(customCodelets, nothing, codelets)
    POPART_OPTION(customCodeletCompileFlags, nothing, codelets)
    POPART_OPTION(opxAliasChecking, nothing, "there is no lowering of its own to compare with")
    POPART_OPTION(opxModifyChecking, nothing, "there is no lowering of its own to compare with")
    POPART_OPTION(enableInplaceAmbiguityChecking, nothing, "memory is reused only where nobody can tell")
    POPART_OPTION(strictOpVersions, nothing, "operators of unknown versions are always errors")
    POPART_OPTION(updatableNamedBuffers, refused, "single buffers cannot be updated; write all weights")
    POPART_OPTION(experimentalSettings, refused, "transforms of the program's own are not applied")
    // --- graph and numerics ---
    POPART_OPTION(autodiffSettings, nothing, training)
    POPART_OPTION(enableNonStableSoftmax, nothing, "softmax always subtracts the maximum")
    POPART_OPTION(enableStableNorm, nothing, "statistics are always taken in two passes")
    POPART_OPTION(groupNormStridedChannelGrouping, refused, "group normalization is not offered")
    POPART_OPTION(enableFloatingPointChecks, machine, "runs end at the first exception; slow")
    POPART_OPTION(enableStochasticRounding, machine, "half is the machine's; slow")
    POPART_OPTION(_enableRngStateManagement, refused, "there is one replica: its states need no management")
    POPART_OPTION(enableLoadAndOffloadRNGState, effect, "allows getRNGState and setRNGState")
    POPART_OPTION(partialsTypeMatMuls, modelled, "the partialsType of matmulOptions, if they have none")
    POPART_OPTION(enableFullyConnectedPass, nothing, placement)
    POPART_OPTION(enableSerializedMatmuls, nothing, placement)
    POPART_OPTION(enableConstantFoldingOfMultipleConsumers, nothing, "constants are folded wherever they are used")
    POPART_OPTION(enableSupportedDataTypeCasting, nothing, "64-bit integers stay what they are")
    POPART_OPTION(throwIfLog2ScaleTensorNotInRange, machine, "checked with stochastic rounding or floating-point checks")
    POPART_OPTION(ensureFp32LossScaleTensor, nothing, training)
    POPART_OPTION(constantWeights, effect, "weights of an inference session cannot be changed")
    POPART_OPTION(useLoopCandidateCreator, nothing, placement)
    POPART_OPTION(syntheticDataMode, refused, "steps take the program's data")
    POPART_OPTION(aliasZeroCopy, nothing, placement)
    POPART_OPTION(decomposeGradSum, nothing, training)
    POPART_OPTION(delayVarUpdates, nothing, training)
    POPART_OPTION(scheduleNonWeightUpdateGradientConsumersEarly, nothing, training)
    POPART_OPTION(mergeVarUpdate, nothing, training)
    POPART_OPTION(mergeVarUpdateMemThreshold, nothing, training)
    POPART_OPTION(looseThresholdAtPeak, nothing, training)
    // --- streams ---
    POPART_OPTION(rearrangeAnchorsOnHost, nothing, streams)
    POPART_OPTION(rearrangeStreamsOnHost, nothing, streams)
    POPART_OPTION(enablePrefetchDatastreams, effect, "step IO is asked for the next micro-batch ahead of time")
    POPART_OPTION(defaultBufferingDepth, nothing, "one micro-batch is asked for ahead of time")
    POPART_OPTION(bufferingDepthMap, nothing, "one micro-batch is asked for ahead of time")
    POPART_OPTION(defaultPrefetchBufferingDepth, nothing, "one micro-batch is asked for ahead of time")
    POPART_OPTION(prefetchBufferingDepthMap, nothing, "one micro-batch is asked for ahead of time")
    POPART_OPTION(disableGradAccumulationTensorStreams, nothing, training)
    POPART_OPTION(disableOptimizerStateTensorStreams, nothing, training)
    POPART_OPTION(useHostCopyOps, nothing, streams)
    POPART_OPTION(groupHostSync, nothing, streams)
    POPART_OPTION(enableMergeExchange, nothing, streams)
    POPART_OPTION(numIOTiles, nothing, placement)
    POPART_OPTION(enableEfficientOverlapIOTopoCons, nothing, streams)
    // --- several devices, memory ---
    POPART_OPTION(enableReplicatedGraphs, effect, "replicatedGraphCount copies, each with memory of its own")
    POPART_OPTION(replicatedGraphCount, effect, "with enableReplicatedGraphs")
    POPART_OPTION(enableDistributedReplicatedGraphs, effect, "the replicas of all ranks that mpirun has started")
    POPART_OPTION(globalReplicationFactor, effect, "has to be the replicas of all ranks")
    POPART_OPTION(globalReplicaOffset, effect, "has to be those of the ranks before this one")
    POPART_OPTION(enableGradientAccumulation, effect, "refused in inference")
    POPART_OPTION(accumulationFactor, effect, "refused in inference")
    POPART_OPTION(accumulationAndReplicationReductionType, nothing, training)
    POPART_OPTION(meanAccumulationAndReplicationReductionStrategy, nothing, training)
    POPART_OPTION(replicatedCollectivesSettings, nothing, several)
    POPART_OPTION(virtualGraphMode, effect, "Off, Manual or Auto: which IPU computes a node; no result changes")
    POPART_OPTION(virtualGraphSplitRatios, modelled, "the IPUs' shares, of virtualGraphMode Auto")
    POPART_OPTION(enablePipelining, effect, "stages run side by side on different micro-batches, wants virtualGraphMode")
    POPART_OPTION(createImplicitPipeliningFwdOnlyProgram, refused, several)
    POPART_OPTION(stashAllTensorsInferencePipeline, nothing, "values wait where they were made, for all stages that read them")
    POPART_OPTION(autoRecomputation, effect, "less memory, more time, the same results; Pipeline wants enablePipelining")
    POPART_OPTION(explicitRecomputation, effect, "what is computed again is always nodes of the graph")
    POPART_OPTION(enableExplicitMainLoops, nothing, "steps are loops of the session, not of the graph")
    POPART_OPTION(executionPhaseSettings, effect, "phases and stages; what lies off the chip is loaded for each phase, in time for it")
    POPART_OPTION(accumulateOuterFragmentSettings, nothing, training)
    POPART_OPTION(batchSerializationSettings, nothing, "only training has a use for it: the factor; parts are always unrolled, in their order")
    POPART_OPTION(activationTensorLocationSettings, nothing, placement)
    POPART_OPTION(weightTensorLocationSettings, nothing, locations)
    POPART_OPTION(optimizerStateTensorLocationSettings, nothing, locations)
    POPART_OPTION(accumulatorTensorLocationSettings, nothing, locations)
    POPART_OPTION(tensorLocationSettingsOverride, nothing, locations)
    POPART_OPTION(enableOutlining, nothing, placement)
    POPART_OPTION(outlineThreshold, nothing, placement)
    POPART_OPTION(outlineSequenceBreakCost, nothing, placement)
    POPART_OPTION(enableOutliningCopyCostPruning, nothing, placement)
    POPART_OPTION(subgraphCopyingStrategy, nothing, placement)
    POPART_OPTION(automaticLossScalingSettings, nothing, training)
#undef POPART_OPTION
};
// clang-format on

}  // namespace

std::span<const OptionRow> detail::optionTable() { return option_rows; }

namespace {

/// Options that training has a use for.
bool isOfTraining(std::string_view name) {
  return name == "accumulationAndReplicationReductionType" ||
         name == "meanAccumulationAndReplicationReductionStrategy" ||
         name == "automaticLossScalingSettings" || name == "weightTensorLocationSettings" ||
         name == "optimizerStateTensorLocationSettings" ||
         name == "accumulatorTensorLocationSettings" || name == "tensorLocationSettingsOverride" ||
         name == "batchSerializationSettings";
}

void checkDistribution(const SessionOptions& options) {
  const std::int64_t global = options.globalReplicationFactor;
  const std::int64_t offset = options.globalReplicaOffset;
  if (!options.enableDistributedReplicatedGraphs) {
    if (global == 1 && offset == 0) return;
    throw error(
        "globalReplicationFactor and globalReplicaOffset are for sessions with "
        "enableDistributedReplicatedGraphs");
  }
  if (global < 1) {
    throw error("Invalid globalReplicationFactor value: {}, must be greater or equal than 1",
                global);
  }
  if (offset < 0) {
    throw error("Invalid globalReplicaOffset value: {}, must be greater or equal than 0", offset);
  }
  if (offset > global) {
    throw error("Global replica offset: {}, is larger than global replication factor: {}", offset,
                global);
  }
  if (options.enableReplicatedGraphs && options.replicatedGraphCount == 1) {
    throw error("Local replicated graphs enabled but replication factor is 1");
  }
  const std::int64_t local = detail::localReplicas(options);
  if (local > global) {
    throw error("Invalid local replication factor: {}, larger than global replication factor: {}",
                local, global);
  }
  const halftone::Ranks* const ranks = detail::ranksOf(options);
  const std::int64_t all = local * (ranks != nullptr ? ranks->ranks : 1);
  if (all != global) {
    throw error(
        "The global replication factor is {}, but the processes that mpirun has started have {} "
        "replicas: start as many with mpirun -n as it needs",
        global, all);
  }
  if (const std::int64_t first = ranks != nullptr ? local * ranks->rank : 0; offset != first) {
    throw error("The global replica offset is {}, but the first replica of this process is {}",
                offset, first);
  }
}

void checkOptions(const SessionOptions& options, bool isTraining, bool isIpu) {
  options.getAccumulationFactor();
  options.getBufferingDepth({}, options.rearrangeStreamsOnHost);
  if (options.enableReplicatedGraphs && options.replicatedGraphCount < 1) {
    throw error("The replicated graph count ({}) is not at least 1", options.replicatedGraphCount);
  }
  checkDistribution(options);
  if (options.aliasZeroCopy &&
      (!options.explicitRecomputation || options.implicitPipeliningEnabled())) {
    throw error(
        "aliasZeroCopy needs explicitRecomputation, and cannot be combined with implicit "
        "pipelining");
  }
  if (options.enableExplicitMainLoops && !options.useHostCopyOps) {
    throw error("enableExplicitMainLoops needs useHostCopyOps");
  }
  if (options.executionPhaseSettings.phases > 1 &&
      options.virtualGraphMode != VirtualGraphMode::ExecutionPhases) {
    throw error("More than one execution phase needs virtualGraphMode ExecutionPhases");
  }
  if (options.autoRecomputation == RecomputationType::Pipeline && !options.enablePipelining) {
    throw error("autoRecomputation Pipeline is for sessions with enablePipelining");
  }
  if (isIpu) {
    if (!options.virtualGraphSplitRatios.empty() &&
        options.virtualGraphMode != VirtualGraphMode::Auto) {
      throw error("virtualGraphSplitRatios are for virtualGraphMode Auto");
    }
  }
  for (const OptionRow& row : option_rows) {
    if (row.status == OptionStatus::effect || !row.isSet(options)) continue;
    const bool isOfIpu =
        row.status == OptionStatus::machine || row.status == OptionStatus::modelled;
    if (isIpu && isOfIpu) continue;
    if (row.status == OptionStatus::machine) {
      throw error("SessionOptions::{} is for emulated IPUs: {}", row.name, row.text);
    }
    if (isTraining && isOfTraining(row.name)) continue;
    if (row.status == OptionStatus::refused) {
      throw error("SessionOptions::{} is not supported: {}", row.name, row.text);
    }
    detail::say(logging::Module::session, logging::Level::Warn,
                logging::format("SessionOptions::{} has no effect: {}", row.name, row.text));
  }
}

}  // namespace

void detail::checkInferenceOptions(const SessionOptions& options, bool isIpu) {
  options.getAccumulationFactor();
  if (options.enableGradientAccumulation) {
    throw error("Gradient Accumulation only available when training.");
  }
  checkOptions(options, false, isIpu);
}

void detail::checkTrainingOptions(const SessionOptions& options, bool isIpu) {
  if (options.accumulationFactor < 1) {
    throw error("The accumulation factor ({}) is not at least 1", options.accumulationFactor);
  }
  if (options.disableOptimizerStateTensorStreams) {
    throw error(
        "SessionOptions::disableOptimizerStateTensorStreams is not supported: the optimizer's "
        "state "
        "is always exchanged");
  }
  checkOptions(options, true, isIpu);
}

std::int64_t detail::localReplicas(const SessionOptions& options) {
  return options.enableReplicatedGraphs ? options.replicatedGraphCount : 1;
}

const halftone::Ranks* detail::ranksOf(const SessionOptions& options) {
  if (!options.enableDistributedReplicatedGraphs) return nullptr;
  return translated<error>([] { return halftone::launched_ranks(); });
}

int64_t SessionOptions::getGlobalReplicationFactor() const {
  if (enableDistributedReplicatedGraphs) return globalReplicationFactor;
  return enableReplicatedGraphs ? replicatedGraphCount : 1;
}

int64_t SessionOptions::getAccumulationFactor() const {
  if (!enableGradientAccumulation && accumulationFactor > 1) {
    throw error(
        "enableGradientAccumulation is false, but accumulationFactor > 1 ({}). Either enable "
        "gradient accumulation, or set the accumulation factor to 1",
        accumulationFactor);
  }
  return enableGradientAccumulation ? accumulationFactor : 1;
}

unsigned SessionOptions::getBufferingDepth(const TensorId& id, bool rearrangedOnHost) const {
  constexpr unsigned unset = 111122;
  const bool old = defaultPrefetchBufferingDepth != unset;
  unsigned depth = old ? defaultPrefetchBufferingDepth : defaultBufferingDepth;
  // Memory that is rearranged is in use until it is done: the default does not count.
  if (rearrangedOnHost) depth = 1;
  for (const auto* map : {&prefetchBufferingDepthMap, &bufferingDepthMap}) {
    if (const auto found = map->find(id); found != map->end()) depth = found->second;
  }
  if (old || !prefetchBufferingDepthMap.empty()) {
    detail::say(logging::Module::session, logging::Level::Warn,
                "defaultPrefetchBufferingDepth and prefetchBufferingDepthMap are called "
                "defaultBufferingDepth and bufferingDepthMap now");
  }
  if (depth < 1) throw error("Buffering depth of tensor {} must be at least 1, not {}", id, depth);
  if (rearrangedOnHost && depth > 1) {
    throw error("Buffering depth of tensor {}, which is rearranged on the host, must be 1, not {}",
                id, depth);
  }
  return depth;
}

bool SessionOptions::shouldDelayVarUpdates() const {
  return delayVarUpdates && executionPhaseSettings.phases < 2 &&
         batchSerializationSettings.factor < 2 && !explicitRecomputation &&
         !enableExplicitMainLoops;
}

std::ostream& operator<<(std::ostream& stream, const ReductionType& type) {
  constexpr const char* names[] = {"Sum", "Mean", "NoReduction"};
  return stream << names[static_cast<int>(type)];
}

}  // namespace popart
