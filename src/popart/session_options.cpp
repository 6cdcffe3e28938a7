#include <popart/sessionoptions.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "popart/convert.hpp"
#include "popart/options.hpp"
#include "popart/settings.hpp"

namespace popart {

namespace {

using detail::OptionRow;
using detail::OptionStatus;
using detail::SettingRow;

template <class T>
bool differs(const T& value, const T& otherwise) {
  return !(value == otherwise);
}
bool differs(const std::function<void(int, int)>& value, const std::function<void(int, int)>&) {
  return static_cast<bool>(value);
}

constexpr const char* poplar = "there is no Poplar below that it could be passed to";
constexpr const char* codelets = "kernels are C++ operators, compiled with the program";
constexpr const char* layout = "layouts follow from the shapes alone";
constexpr const char* outlining = "a subgraph is worth its nodes, whatever its calls copy";
constexpr const char* hostCopies = "transfers are steps of the session, not operators of the graph";
constexpr const char* hostLayout = "host and device have one layout";
constexpr const char* ahead =
    "micro-batches that step IO is asked for ahead of time; pipelines ask for a batch at once";
constexpr const char* products =
    "partialsType and availableMemoryProportion of products that ask for none themselves";
constexpr const char* locations = "storage and replicated tensor sharding, but no tile sets";

constexpr const char* reports = "reports are written whole";
constexpr const char* code = "no code of a machine is made";
constexpr const char* sync = "there is no hardware to wait for";

// clang-format off
// Engine options of Poplar's documentation.
const SettingRow engine_rows[] = {
    {"autoReport.all", OptionStatus::modelled, "reports are made"},
    {"autoReport.directory", OptionStatus::modelled, "reports are written there when a session is prepared"},
    {"autoReport.outputGraphProfile", OptionStatus::modelled, "reports are made"},
    {"autoReport.outputExecutionProfile", OptionStatus::modelled, "reports are made"},
    {"autoReport.outputLoweredVars", OptionStatus::nothing, reports},
    {"autoReport.outputSerializedGraph", OptionStatus::nothing, reports},
    {"autoReport.outputArchive", OptionStatus::nothing, reports},
    {"autoReport.outputDebugInfo", OptionStatus::nothing, reports},
    {"autoReport.outputDependencyGraph", OptionStatus::nothing, reports},
    {"autoReport.streamAtEachRun", OptionStatus::nothing, reports},
    {"autoReport.executionProfileProgramRunCount", OptionStatus::nothing, reports},
    {"debug.allowOutOfMemory", OptionStatus::modelled, "false: a model that does not fit is an error"},
    {"debug.branchRecordTile", OptionStatus::nothing, code},
    {"debug.checkpoint", OptionStatus::nothing, code},
    {"debug.computeInstrumentationLevel", OptionStatus::nothing, code},
    {"debug.cpuMultiThreadExecution", OptionStatus::nothing, code},
    {"debug.exceptOnSOCError", OptionStatus::nothing, code},
    {"debug.externalExchangeInstrumentationLevel", OptionStatus::nothing, code},
    {"debug.floatPointOpException", OptionStatus::nothing, code},
    {"debug.instrument", OptionStatus::nothing, code},
    {"debug.instrumentCompute", OptionStatus::nothing, code},
    {"debug.instrumentControlFlow", OptionStatus::nothing, code},
    {"debug.instrumentExternalExchange", OptionStatus::nothing, code},
    {"debug.instrumentCycleCounters", OptionStatus::nothing, code},
    {"debug.loweredVarDumpFile", OptionStatus::nothing, code},
    {"debug.nanOverflowException", OptionStatus::nothing, code},
    {"debug.outputAllSymbols", OptionStatus::nothing, code},
    {"debug.profilingTile", OptionStatus::nothing, code},
    {"debug.retainDebugInformation", OptionStatus::nothing, code},
    {"debug.runtimeVerify", OptionStatus::nothing, code},
    {"debug.supervisorStackSizeInBytes", OptionStatus::nothing, code},
    {"debug.trace", OptionStatus::nothing, code},
    {"debug.traceFile", OptionStatus::nothing, code},
    {"debug.verify", OptionStatus::nothing, code},
    {"debug.verboseRegisterDump", OptionStatus::nothing, code},
    {"debug.workerStackSizeInBytes", OptionStatus::nothing, code},
    {"exchange.enablePrefetch", OptionStatus::nothing, code},
    {"exchange.multicastPolicy", OptionStatus::nothing, code},
    {"exchange.multicastNanoTileStrategy", OptionStatus::nothing, code},
    {"exchange.streamBufferOverlap", OptionStatus::nothing, code},
    {"opt.enableInlining", OptionStatus::nothing, code},
    {"opt.enableMultiAccessCopies", OptionStatus::nothing, code},
    {"opt.enableRegisterFailureSpilling", OptionStatus::nothing, code},
    {"opt.enableSkipSyncs", OptionStatus::nothing, code},
    {"opt.enableSwSyncs", OptionStatus::nothing, code},
    {"opt.enableSwSyncsAroundCodeCopying", OptionStatus::nothing, code},
    {"opt.internalExchangeOptimisationTarget", OptionStatus::nothing, code},
    {"opt.limitVertexStateToLower256K", OptionStatus::nothing, code},
    {"opt.maxCompilationThreads", OptionStatus::nothing, code},
    {"opt.maxComputeSetsPerLoopInit", OptionStatus::nothing, code},
    {"opt.maxCopyMergeSize", OptionStatus::nothing, code},
    {"opt.maxLinkerThreads", OptionStatus::nothing, code},
    {"opt.maxInterIPUMessageWords", OptionStatus::nothing, code},
    {"opt.useAutoloader", OptionStatus::nothing, code},
    {"prng.enable", OptionStatus::nothing, code},
    {"profiler.blocks.filter", OptionStatus::nothing, code},
    {"profiler.includeCycleEstimates", OptionStatus::nothing, code},
    {"profiler.includeFlopEstimates", OptionStatus::nothing, code},
    {"profiler.includeCostEstimates", OptionStatus::nothing, code},
    {"profiler.perExecutionStreamCopyCycles", OptionStatus::nothing, code},
    {"profiler.programs.filter", OptionStatus::nothing, code},
    {"profiler.replicaToProfile", OptionStatus::nothing, code},
    {"profiler.useCompressedReport", OptionStatus::nothing, code},
    {"profiling.perExecutionStreamCopyCycles", OptionStatus::nothing, code},
    {"streamCallbacks.maxLookahead", OptionStatus::nothing, sync},
    {"streamCallbacks.multiThreadMode", OptionStatus::nothing, sync},
    {"streamCallbacks.numaAware", OptionStatus::nothing, sync},
    {"streamCallbacks.numWorkerThreads", OptionStatus::nothing, sync},
    {"target.deterministicWorkers", OptionStatus::nothing, sync},
    {"target.exceptionPollPeriodUs", OptionStatus::nothing, sync},
    {"target.extendedMemory", OptionStatus::nothing, sync},
    {"target.gatewayMode", OptionStatus::nothing, sync},
    {"target.gatewayWriteCombining", OptionStatus::nothing, sync},
    {"target.hostSyncTimeout", OptionStatus::nothing, sync},
    {"target.ipuLinkDomainSize", OptionStatus::nothing, sync},
    {"target.ipuLinkTopology", OptionStatus::nothing, sync},
    {"target.maxStreamCallbackThreadsPerNumaNode", OptionStatus::nothing, sync},
    {"target.saveArchive", OptionStatus::nothing, sync},
    {"target.supervisorStackSizeInBytes", OptionStatus::nothing, sync},
    {"target.syncConfiguration", OptionStatus::nothing, sync},
    {"target.syncMethod", OptionStatus::nothing, sync},
    {"target.syncPollPeriodUs", OptionStatus::nothing, sync},
    {"target.syncReplicasIndependently", OptionStatus::nothing, sync},
    {"target.useBufferedCompletions", OptionStatus::nothing, sync},
    {"target.workerStackSizeInBytes", OptionStatus::nothing, sync},
};
const OptionRow option_rows[] = {
#define POPART_OPTION(name, status, text)                              \
  {{#name, OptionStatus::status, text}, [](const SessionOptions& options) { \
     return differs(options.name, SessionOptions().name);              \
   }},
    // --- diagnostics, planning, caching ---
    POPART_OPTION(logDir, effect, "where DOT files are written")
    POPART_OPTION(dotChecks, effect, "the points at which graphs are written as DOT files")
    POPART_OPTION(firstDotOp, effect, "the first operator in DOT files")
    POPART_OPTION(finalDotOp, effect, "the end of the operators in DOT files")
    POPART_OPTION(dotOpNames, effect, "names of operators in DOT files")
    POPART_OPTION(exportPoplarComputationGraph, nothing, poplar)
    POPART_OPTION(exportPoplarVertexGraph, nothing, poplar)
    POPART_OPTION(separateCallOpPdfs, effect, "a DOT file for each graph")
    POPART_OPTION(compileEngine, effect, "without it the session cannot run")
    POPART_OPTION(instrumentWithHardwareCycleCounter, effect, "getCycleCount works on IPU models")
    POPART_OPTION(hardwareInstrumentations, modelled, "whole runs (id \"\"), and the cycles in which each IPU works (Inner, \"inner_ipu_0\")")
    POPART_OPTION(timeLimitScheduler, effect, "seconds that nodes are moved to where memory is free earlier")
    POPART_OPTION(swapLimitScheduler, effect, "how often nodes are moved to where memory is free earlier")
    POPART_OPTION(kahnTieBreaker, effect, "which of several nodes that could run is next: greedy (the one that frees most memory), fifo (the one that could run last) or random")
    POPART_OPTION(transitiveClosureOptimizationThreshold, nothing, "the order is found without the closure of the graph")
    POPART_OPTION(serializedPoprithmsShiftGraphsDir, refused, "no schedule graphs are written")
    POPART_OPTION(enableEngineCaching, effect, "what was compiled is kept in the folder cachePath, without pipelining and recomputation")
    POPART_OPTION(cachePath, effect, "with enableEngineCaching")
    POPART_OPTION(enableVariablesCaching, effect, "false: files of enableEngineCaching hold no values of weights that may change, and models that differ in these alone share one")
    POPART_OPTION(compilationProgressLogger, effect, "called from 0 to compilationProgressTotal")
    POPART_OPTION(compilationProgressTotal, effect, "the last number that the logger is called with")
    POPART_OPTION(developerSettings, effect, "the log of module session at level INFO says which passes took more than timePartitionLoggerThresholdPercentage of the time")
    POPART_OPTION(engineOptions, effect, "see the engine options")
    POPART_OPTION(reportOptions, modelled, "getSummaryReport also lists steps with showExecutionSteps, and variables with showVarStorage")
    POPART_OPTION(gclOptions, nothing, "collectives have one algorithm")
    POPART_OPTION(convolutionOptions, modelled, products)
    POPART_OPTION(matmulOptions, modelled, products)
    POPART_OPTION(lstmOptions, modelled, products)
    POPART_OPTION(customCodelets, nothing, codelets)
    POPART_OPTION(customCodeletCompileFlags, nothing, codelets)
    POPART_OPTION(opxAliasChecking, nothing, "there is no lowering of its own to compare with")
    POPART_OPTION(opxModifyChecking, nothing, "there is no lowering of its own to compare with")
    POPART_OPTION(enableInplaceAmbiguityChecking, built_in, "nodes that write over a tensor keep their order with all that read it")
    POPART_OPTION(strictOpVersions, effect, "false: a model of a newer operator set than there is is read as one of the newest")
    POPART_OPTION(updatableNamedBuffers, effect, "buffersFromHost copies these variables")
    POPART_OPTION(experimentalSettings, effect, "transforms of the program's own: see customtransform.hpp; no tensors with offsets")
    // --- graph and numerics ---
    POPART_OPTION(autodiffSettings, nothing, "gradients of subgraphs read what their forward part has kept")
    POPART_OPTION(enableNonStableSoftmax, effect, "Softmax is e^x over the sum of e^x: it overflows where x is large, and takes fewer cycles")
    POPART_OPTION(enableStableNorm, modelled, "true: a pass that takes off the mean before squares are summed; results always have it")
    POPART_OPTION(groupNormStridedChannelGrouping, effect, "a group has every num_groups-th channel, not neighbours")
    POPART_OPTION(enableFloatingPointChecks, machine, "runs end at the first exception; slow")
    POPART_OPTION(enableStochasticRounding, machine, "half is the machine's; slow")
    POPART_OPTION(_enableRngStateManagement, refused, "which replicas share states of generators is not analysed")
    POPART_OPTION(enableLoadAndOffloadRNGState, effect, "allows getRNGState and setRNGState")
    POPART_OPTION(partialsTypeMatMuls, modelled, "the partialsType of matmulOptions, if they have none")
    POPART_OPTION(enableFullyConnectedPass, nothing, layout)
    POPART_OPTION(enableSerializedMatmuls, effect, "products are computed in the parts that setSerializeMatMul asks for")
    POPART_OPTION(enableConstantFoldingOfMultipleConsumers, effect, "false: Ir shows nodes of floating-point constants that another node reads as well")
    POPART_OPTION(enableSupportedDataTypeCasting, effect, "true: 64-bit integers stay what they are; false: they are errors")
    POPART_OPTION(throwIfLog2ScaleTensorNotInRange, machine, "checked with stochastic rounding or floating-point checks")
    POPART_OPTION(ensureFp32LossScaleTensor, training, "losses of half, and softmaxes and reductions before them, run in float: the loss scaling may be larger than a half")
    POPART_OPTION(constantWeights, effect, "weights of an inference session cannot be changed")
    POPART_OPTION(useLoopCandidateCreator, nothing, layout)
    POPART_OPTION(syntheticDataMode, effect, "steps take numbers that the session makes up, integers 0, and return nothing")
    POPART_OPTION(aliasZeroCopy, built_in, "arguments of subgraphs are copied only where a body writes over them; needs explicitRecomputation")
    POPART_OPTION(decomposeGradSum, training, "false: Ir shows the sum of three gradients or more as one Sum; they are added one after the other as they arrive")
    POPART_OPTION(delayVarUpdates, training, "false: weights are updated as soon as their gradients are there; pipelines update at the end")
    POPART_OPTION(scheduleNonWeightUpdateGradientConsumersEarly, training, "a gradient is summed before the next one is computed; false: where the order of nodes has it")
    POPART_OPTION(mergeVarUpdate, training, "Ir has one update for weights of equal settings, which share compute sets on IPU models; AutoTight leaves weights whole, too")
    POPART_OPTION(mergeVarUpdateMemThreshold, training, "bytes of weights that AutoTight fills, and AutoLoose stays below")
    POPART_OPTION(looseThresholdAtPeak, training, "bytes that merging with AutoLoose may add to the largest live memory")
    // --- streams ---
    POPART_OPTION(rearrangeAnchorsOnHost, nothing, hostLayout)
    POPART_OPTION(rearrangeStreamsOnHost, effect, "inputs are asked for one micro-batch ahead, whatever the default depth; deeper single ones are errors")
    POPART_OPTION(enablePrefetchDatastreams, effect, "step IO is asked for micro-batches ahead of time")
    POPART_OPTION(defaultBufferingDepth, effect, ahead)
    POPART_OPTION(bufferingDepthMap, effect, ahead)
    POPART_OPTION(defaultPrefetchBufferingDepth, effect, ahead)
    POPART_OPTION(prefetchBufferingDepthMap, effect, ahead)
    POPART_OPTION(disableGradAccumulationTensorStreams, built_in, "sums of gradients stay on the device")
    POPART_OPTION(disableOptimizerStateTensorStreams, training, "the optimizer's state stays on the device: it is not exchanged, and not saved")
    POPART_OPTION(useHostCopyOps, effect, "Ir has operators that load inputs and store anchors")
    POPART_OPTION(groupHostSync, built_in, "inputs come before the first node of a micro-batch, anchors leave behind the last one")
    POPART_OPTION(enableMergeExchange, nothing, hostCopies)
    POPART_OPTION(numIOTiles, modelled, "so many tiles of each IPU exchange data with the host while the others compute")
    POPART_OPTION(enableEfficientOverlapIOTopoCons, nothing, hostCopies)
    // --- several devices, memory ---
    POPART_OPTION(enableReplicatedGraphs, effect, "replicatedGraphCount copies, each with memory of its own")
    POPART_OPTION(replicatedGraphCount, effect, "with enableReplicatedGraphs")
    POPART_OPTION(enableDistributedReplicatedGraphs, effect, "the replicas of all ranks that mpirun has started")
    POPART_OPTION(globalReplicationFactor, effect, "has to be the replicas of all ranks")
    POPART_OPTION(globalReplicaOffset, effect, "has to be those of the ranks before this one")
    POPART_OPTION(enableGradientAccumulation, effect, "refused in inference")
    POPART_OPTION(accumulationFactor, effect, "refused in inference")
    POPART_OPTION(accumulationAndReplicationReductionType, training, "Sum or Mean")
    POPART_OPTION(meanAccumulationAndReplicationReductionStrategy, training, "Post or Running")
    POPART_OPTION(replicatedCollectivesSettings, training, "mergeAllReduceCollectives: one collective for the gradients of all weights, without gradient accumulation")
    POPART_OPTION(virtualGraphMode, effect, "Off, Manual or Auto: which IPU computes a node; no result changes")
    POPART_OPTION(virtualGraphSplitRatios, modelled, "the IPUs' shares, of virtualGraphMode Auto")
    POPART_OPTION(enablePipelining, effect, "stages run side by side on different micro-batches, wants virtualGraphMode")
    POPART_OPTION(createImplicitPipeliningFwdOnlyProgram, refused, "a training session has one program")
    POPART_OPTION(stashAllTensorsInferencePipeline, effect, "Ir shows the stashes of pipelines without training, too")
    POPART_OPTION(autoRecomputation, effect, "less memory, more time, the same results; Pipeline wants enablePipelining")
    POPART_OPTION(explicitRecomputation, effect, "what is computed again is always nodes of the graph")
    POPART_OPTION(enableExplicitMainLoops, effect, "needs useHostCopyOps and refuses anchors of EveryN; loops over micro-batches are the session's")
    POPART_OPTION(executionPhaseSettings, effect, "phases and stages; what lies off the chip is loaded for each phase, in time for it")
    POPART_OPTION(accumulateOuterFragmentSettings, training, "the order of updates by virtual graph, with gradient accumulation and without pipelining")
    POPART_OPTION(batchSerializationSettings, effect, "factor and method; gradients are computed in parts, too, which run in their order")
    POPART_OPTION(activationTensorLocationSettings, training, "storage; a pipeline's activations have to stay on the chip")
    POPART_OPTION(weightTensorLocationSettings, training, locations)
    POPART_OPTION(optimizerStateTensorLocationSettings, training, locations)
    POPART_OPTION(accumulatorTensorLocationSettings, training, locations)
    POPART_OPTION(tensorLocationSettingsOverride, training, locations)
    POPART_OPTION(enableOutlining, effect, "equal parts are calls of one graph in Ir; IPU models have their code once")
    POPART_OPTION(outlineThreshold, effect, "the value that an outlined subgraph is above")
    POPART_OPTION(outlineSequenceBreakCost, nothing, "no nodes that would be outlined exchange data beside others that compute")
    POPART_OPTION(enableOutliningCopyCostPruning, nothing, outlining)
    POPART_OPTION(subgraphCopyingStrategy, modelled, "when calls copy arguments and results: their memory; set, or with an outlineThreshold of one's own, reports count the copies")
    POPART_OPTION(automaticLossScalingSettings, training, "halves and doubles the loss scaling; an error in inference")
#undef POPART_OPTION
};
// clang-format on

}  // namespace

std::span<const OptionRow> detail::optionTable() { return option_rows; }
std::span<const SettingRow> detail::engineOptionTable() { return engine_rows; }

namespace {

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

bool isOneOf(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}
void checkEngineOptions(const SessionOptions& options, bool isIpu) {
  for (const auto& [key, value] : options.engineOptions) {
    const SettingRow* const row = detail::findSetting(engine_rows, key);
    if (row == nullptr) {
      throw error("Unrecognised engine option '{}': Poplar has none of this name", key);
    }
    const bool isNothing = row->status == OptionStatus::nothing;
    if (!isNothing && key != "autoReport.directory" && !isOneOf(value, {"true", "false"})) {
      throw error("The engine option {} is '{}', expected true or false", key, value);
    }
    if ((!isNothing && isIpu) || value == "false") continue;
    detail::say(logging::Module::devicex, logging::Level::Warn,
                logging::format("The engine option {} has no effect{}: {}", key,
                                isNothing ? "" : " on the cpu device", row->text));
  }
}

/// An enumeration counts from 0 to `last`; what lies beside that came from a cast.
template <class E>
void checkChoice(const char* name, E value, E last) {
  if (const auto number = static_cast<int>(value); number < 0 || value > last) {
    throw error("SessionOptions::{} has the value {}, expected one of 0 to {}", name, number,
                static_cast<int>(last));
  }
}
void checkLocation(const char* name, const TensorLocation& location) {
  checkChoice(name, location.storage, TensorStorage::OnChip);
  checkChoice(name, location.loadTileSet, TileSet::Undefined);
  checkChoice(name, location.storageTileSet, TileSet::Undefined);
  checkChoice(name, location.replicatedTensorSharding, ReplicatedTensorSharding::On);
}
void checkChoices(const SessionOptions& options) {
#define POPART_CHOICE(name, last) checkChoice(#name, options.name, last);
  POPART_CHOICE(autodiffSettings.stitchStrategy, AutodiffStitchStrategy::SafeAddFwdOutputs)
  POPART_CHOICE(syntheticDataMode, SyntheticDataMode::RandomUniform)
  POPART_CHOICE(mergeVarUpdate, MergeVarUpdateType::AutoTight)
  POPART_CHOICE(accumulationAndReplicationReductionType, ReductionType::NoReduction)
  POPART_CHOICE(meanAccumulationAndReplicationReductionStrategy, MeanReductionStrategy::Post)
  POPART_CHOICE(virtualGraphMode, VirtualGraphMode::ExecutionPhases)
  POPART_CHOICE(autoRecomputation, RecomputationType::RecomputeAll)
  POPART_CHOICE(executionPhaseSettings.weightIOSchedule, ExecutionPhaseIOSchedule::OnDemand)
  POPART_CHOICE(executionPhaseSettings.activationIOSchedule, ExecutionPhaseIOSchedule::OnDemand)
  POPART_CHOICE(executionPhaseSettings.optimizerStateIOSchedule, ExecutionPhaseIOSchedule::OnDemand)
  POPART_CHOICE(executionPhaseSettings.accumulatorIOSchedule, ExecutionPhaseIOSchedule::OnDemand)
  POPART_CHOICE(executionPhaseSettings.schedule, ExecutionPhaseSchedule::BatchClusteredIO)
  POPART_CHOICE(accumulateOuterFragmentSettings.schedule,
                AccumulateOuterFragmentSchedule::OverlapMemoryOptimized)
  POPART_CHOICE(batchSerializationSettings.transformContext,
                BatchSerializationTransformContext::Bwd)
  POPART_CHOICE(batchSerializationSettings.method, BatchSerializationMethod::Loop)
  POPART_CHOICE(batchSerializationSettings.batchSchedule,
                BatchSerializationBatchSchedule::OverlapOnCompute)
  POPART_CHOICE(subgraphCopyingStrategy, SubgraphCopyingStrategy::JustInTime)
  POPART_CHOICE(automaticLossScalingSettings.gradientTensorTrackingMethod,
                GradientTensorTrackingMethod::GradientsOfUserSpecifiedTensors)
#undef POPART_CHOICE
  checkLocation("activationTensorLocationSettings",
                options.activationTensorLocationSettings.location);
  checkLocation("weightTensorLocationSettings", options.weightTensorLocationSettings.location);
  checkLocation("optimizerStateTensorLocationSettings",
                options.optimizerStateTensorLocationSettings.location);
  checkLocation("accumulatorTensorLocationSettings",
                options.accumulatorTensorLocationSettings.location);
  for (const auto& [id, location] : options.tensorLocationSettingsOverride) {
    checkLocation("tensorLocationSettingsOverride", location);
  }
}

void checkOptions(const SessionOptions& options, bool isTraining, bool isIpu) {
  checkChoices(options);
  if (options.numIOTiles < 0) {
    throw error("{} is an invalid number of IO tiles", static_cast<int>(options.numIOTiles));
  }
  // Places of nodes hold phases and IPUs in 16 bits.
  constexpr int most = std::numeric_limits<std::int16_t>::max();
  if (const auto& [phases, stages] =
          std::pair(options.executionPhaseSettings.phases, options.executionPhaseSettings.stages);
      phases < 0 || phases > most || stages < 0 || stages > most) {
    throw error("Execution phases ({}) and their stages ({}) have to be from 0 to {}", phases,
                stages, most);
  }
  options.getAccumulationFactor();
  options.getBufferingDepth({}, options.rearrangeStreamsOnHost);
  for (const auto* map : {&options.bufferingDepthMap, &options.prefetchBufferingDepthMap}) {
    for (const auto& [id, depth] : *map) {
      options.getBufferingDepth(id, options.rearrangeStreamsOnHost);
    }
  }
  if (options.enableReplicatedGraphs && options.replicatedGraphCount < 1) {
    throw error("The replicated graph count ({}) is not at least 1", options.replicatedGraphCount);
  }
  checkDistribution(options);
  if (options.aliasZeroCopy && options.implicitPipeliningEnabled()) {
    throw error("Alias zero copy is currently not supported with implicit pipelining.");
  }
  if (options.aliasZeroCopy && !options.explicitRecomputation) {
    throw error(
        "Alias zero copy is currently not supported with implicit recomputation: set "
        "explicitRecomputation.");
  }
  if (options.enableExplicitMainLoops && !options.useHostCopyOps) {
    throw error("enableExplicitMainLoops requires useHostCopyOps.");
  }
  if (options.executionPhaseSettings.phases > 1 &&
      options.virtualGraphMode != VirtualGraphMode::ExecutionPhases) {
    throw error("More than one execution phase needs virtualGraphMode ExecutionPhases");
  }
  if (options.autoRecomputation == RecomputationType::Pipeline && !options.enablePipelining) {
    throw error(
        "Invalid RecomputationType::Pipeline in autoAnnotate: it is for sessions with "
        "enablePipelining");
  }
  if (isIpu) {
    if (!options.virtualGraphSplitRatios.empty() &&
        options.virtualGraphMode != VirtualGraphMode::Auto) {
      throw error("virtualGraphSplitRatios are for virtualGraphMode Auto");
    }
  }
  if (const std::string& kahn = options.kahnTieBreaker;
      !isOneOf(detail::lowered(kahn), {"fifo", "greedy", "random"})) {
    throw error("Unrecognised KahnTieBreaker '{}', expected one of fifo, greedy, random", kahn);
  }
  for (const std::string& codelet : options.customCodelets) {
    if (!std::filesystem::exists(codelet)) throw error("Custom codelet {} does not exist", codelet);
  }
  checkEngineOptions(options, isIpu);
  for (const auto& [key, value] : options.reportOptions) {
    if (isOneOf(key, {"showExecutionSteps", "showVarStorage"})) continue;
    detail::say(logging::Module::session, logging::Level::Warn,
                logging::format("SessionOptions::reportOptions: the key {} has no effect", key));
  }
  const auto warn = [](const char* name, std::string_view where, const char* text) {
    detail::say(logging::Module::session, logging::Level::Warn,
                logging::format("SessionOptions::{} has no effect{}: {}", name, where, text));
  };
  for (const OptionRow& row : option_rows) {
    if (!row.isSet(options)) continue;
    switch (row.status) {
      case OptionStatus::effect:
      case OptionStatus::built_in:
        break;
      case OptionStatus::training:
        if (!isTraining) warn(row.name, " in inference", row.text);
        break;
      case OptionStatus::modelled:
        if (!isIpu) warn(row.name, " on the cpu device", row.text);
        break;
      case OptionStatus::nothing:
        warn(row.name, "", row.text);
        break;
      case OptionStatus::machine:
        if (isIpu) break;
        throw error("SessionOptions::{} is for emulated IPUs: {}", row.name, row.text);
      case OptionStatus::refused:
        throw error("SessionOptions::{} is not supported: {}", row.name, row.text);
    }
  }
}

}  // namespace

void detail::checkInferenceOptions(const SessionOptions& options, bool isIpu) {
  options.getAccumulationFactor();
  if (options.enableGradientAccumulation) {
    throw error("Gradient Accumulation only available when training.");
  }
  if (options.automaticLossScalingSettings.enabled) {
    throw error("[AutomaticLossScale] Automatic loss scaling is for training: there is no loss");
  }
  checkOptions(options, false, isIpu);
}

void detail::checkTrainingOptions(const SessionOptions& options, bool isIpu) {
  if (options.accumulationFactor < 1) {
    throw error("The accumulation factor ({}) is not at least 1", options.accumulationFactor);
  }
  const BatchSerializationSettings& batch = options.batchSerializationSettings;
  if (batch.method == BatchSerializationMethod::Loop &&
      batch.transformContext == BatchSerializationTransformContext::Fwd) {
    throw error(
        "Loop batch serialization is only supported in BatchSerializationTransformContext::Bwd due "
        "to LoopGradOp missing.");
  }
  checkOptions(options, true, isIpu);
}

std::string detail::lowered(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
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

halftone::Recomputation detail::recomputationOf(const SessionOptions& options) {
  constexpr halftone::Recomputation native[] = {
      halftone::Recomputation::none, halftone::Recomputation::standard,
      halftone::Recomputation::norm_only, halftone::Recomputation::pipeline,
      halftone::Recomputation::all};
  return native[static_cast<std::size_t>(options.autoRecomputation)];
}

}  // namespace popart
