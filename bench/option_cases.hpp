#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <popart/adam.hpp>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <popart/stepio.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// Random session options on small networks, and what a session with them has to compute.
namespace option_cases {

using namespace popart;

enum class Network { dense, convolution, lstm, dropout, half, inference, count };

/// SplitMix64 (Steele et al. 2014): the same numbers with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t count) {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % count;
  }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  /// Draws a value of an enumeration, from 0 to `last`.
  template <class E>
  E any(E last) {
    return static_cast<E>(below(static_cast<std::uint64_t>(last) + 1));
  }

 private:
  std::uint64_t state_;
};

struct Case {
  Network network = Network::dense;
  SessionOptions options;
  Patterns patterns;
  std::vector<std::pair<std::string, bool>> switched;  ///< Patterns that are turned on or off.
  int ipus = 0;                                        ///< 0: the cpu device
  int batches_per_step = 1;
  float momentum = 0, loss_scaling = 1;
  SGDAccumulatorAndMomentum form = SGDAccumulatorAndMomentum::Combined;
  bool is_adam = false;    ///< The optimizer is Adam, not SGD.
  bool is_placed = false;  ///< Layers have a virtual graph, a pipeline stage and a phase.
  bool is_misuse = false;  ///< Some option has no value of its type: the case has to be refused.
  std::vector<const char*> changed;

  std::size_t accumulation() const {
    return options.enableGradientAccumulation ? static_cast<std::size_t>(options.accumulationFactor)
                                              : 1;
  }
  std::size_t replicas() const {
    return options.enableReplicatedGraphs ? static_cast<std::size_t>(options.replicatedGraphCount)
                                          : 1;
  }
  bool is_training() const { return network != Network::inference; }
  /// Training goes on during updates, with older weights.
  bool is_continuous() const {
    return is_training() && options.enablePipelining && !options.enableGradientAccumulation;
  }
  bool is_mean() const {
    return options.accumulationAndReplicationReductionType == ReductionType::Mean;
  }
};

struct Draw {
  const char* option;
  void (*set)(Case& c, Random& random);
};

inline TensorLocationSettings any_location(Random& random) {
  const TensorStorage storage = random.any(TensorStorage::OnChip);
  const ReplicatedTensorSharding sharding = random.any(ReplicatedTensorSharding::On);
  const TileSet load = random.any(TileSet::Compute), store = random.any(TileSet::Compute);
  const int off_chip = random.pick({0, 2, 64});
  return {TensorLocation(storage, load, store, sharding), off_chip, random.pick({0, 2, 8192})};
}

// clang-format off
/// Every option whose value is a switch, a choice or a small number.
inline const std::vector<Draw>& draws() {
#define DRAW(name, ...) \
  {#name, [](Case& c, [[maybe_unused]] Random& r) { c.options.name = __VA_ARGS__; }},
#define FLIP(name) DRAW(name, !c.options.name)
  static const std::vector<Draw> all{
      FLIP(dotOpNames) FLIP(exportPoplarComputationGraph) FLIP(exportPoplarVertexGraph)
      FLIP(separateCallOpPdfs) FLIP(instrumentWithHardwareCycleCounter)
      DRAW(firstDotOp, r.pick({0, 3})) DRAW(finalDotOp, r.pick({0, 7}))
      DRAW(timeLimitScheduler, r.pick({0., 0.001, 1e9}))
      DRAW(swapLimitScheduler, r.pick<std::int64_t>({0, 1, 100}))
      DRAW(kahnTieBreaker, r.pick({"greedy", "fifo", "random", "Fifo"}))
      DRAW(transitiveClosureOptimizationThreshold, r.pick<std::size_t>({0, 10}))
      FLIP(enableVariablesCaching) FLIP(opxAliasChecking) FLIP(opxModifyChecking)
      FLIP(enableInplaceAmbiguityChecking) FLIP(strictOpVersions)
      DRAW(compilationProgressTotal, r.pick({1, 7}))
      DRAW(developerSettings, DeveloperSettings{r.pick({0., 50.})})
      DRAW(autodiffSettings, AutodiffSettings{r.any(AutodiffStitchStrategy::SafeAddFwdOutputs)})
      FLIP(enableNonStableSoftmax) FLIP(enableStableNorm) FLIP(groupNormStridedChannelGrouping)
      DRAW(enableFloatingPointChecks, c.ipus > 0 || r.one_in(4))
      DRAW(enableStochasticRounding, c.ipus > 0 || r.one_in(4))
      DRAW(_enableRngStateManagement, r.one_in(8))
      FLIP(enableLoadAndOffloadRNGState) FLIP(enableFullyConnectedPass)
      FLIP(enableSerializedMatmuls)
      DRAW(partialsTypeMatMuls, r.pick({"half", "float", "HALF"}))
      FLIP(enableConstantFoldingOfMultipleConsumers) FLIP(enableSupportedDataTypeCasting)
      FLIP(throwIfLog2ScaleTensorNotInRange) FLIP(ensureFp32LossScaleTensor) FLIP(constantWeights)
      FLIP(useLoopCandidateCreator)
      DRAW(aliasZeroCopy, true; c.options.explicitRecomputation = !r.one_in(4))
      FLIP(decomposeGradSum) FLIP(delayVarUpdates)
      DRAW(syntheticDataMode, r.any(SyntheticDataMode::RandomUniform))
      FLIP(scheduleNonWeightUpdateGradientConsumersEarly)
      DRAW(mergeVarUpdate, r.any(MergeVarUpdateType::AutoTight))
      DRAW(mergeVarUpdateMemThreshold, r.pick<std::int64_t>({0, 100}))
      DRAW(looseThresholdAtPeak, r.pick<std::int64_t>({0, 100}))
      FLIP(rearrangeAnchorsOnHost) FLIP(rearrangeStreamsOnHost) FLIP(enablePrefetchDatastreams)
      DRAW(defaultBufferingDepth, r.pick({0u, 1u, 2u, 3u, 4u}))
      DRAW(defaultPrefetchBufferingDepth, r.pick({0u, 1u, 2u, 3u, 4u}))
      FLIP(disableGradAccumulationTensorStreams) FLIP(disableOptimizerStateTensorStreams)
      FLIP(useHostCopyOps) FLIP(groupHostSync) FLIP(enableMergeExchange)
      DRAW(numIOTiles, r.pick({1, 16, 32, 64, 192}))
      FLIP(enableEfficientOverlapIOTopoCons)
      FLIP(enableReplicatedGraphs)
      DRAW(replicatedGraphCount, r.one_in(16) ? -1 : r.pick<std::int64_t>({0, 1, 2, 2, 2, 3, 4, 4});
           c.options.enableReplicatedGraphs = !r.one_in(8))
      DRAW(enableDistributedReplicatedGraphs, r.one_in(4))
      DRAW(globalReplicationFactor, r.pick<std::int64_t>({0, 1, 1, 1, 1, 2}))
      DRAW(globalReplicaOffset, r.pick<std::int64_t>({-1, 0, 0, 0, 0, 1}))
      FLIP(enableGradientAccumulation)
      DRAW(accumulationFactor, r.one_in(16) ? -1 : r.pick<std::int64_t>({0, 1, 2, 2, 2, 3, 4, 4});
           c.options.enableGradientAccumulation = c.is_training() != r.one_in(8))
      DRAW(accumulationAndReplicationReductionType, r.any(ReductionType::Mean))
      DRAW(meanAccumulationAndReplicationReductionStrategy, r.any(MeanReductionStrategy::Post))
      DRAW(replicatedCollectivesSettings, {true, r.one_in(2), r.one_in(2), r.one_in(2)})
      DRAW(virtualGraphMode, r.any(VirtualGraphMode::ExecutionPhases))
      DRAW(virtualGraphSplitRatios,
           r.pick<std::vector<float>>({{1, 1}, {0.25f, 0.75f}, {0, 0}, {-1, 2}, {1, 1, 1, 1}});
           c.options.virtualGraphMode = VirtualGraphMode::Auto)
      // A pipeline needs stages and several micro-batches: it mostly gets them.
      DRAW(enablePipelining, true; if (!r.one_in(4)) {
        c.options.virtualGraphMode = r.pick({VirtualGraphMode::Manual, VirtualGraphMode::Auto});
        c.options.enableGradientAccumulation = c.is_training();
        c.options.accumulationFactor = c.is_training() ? r.pick<std::int64_t>({3, 4, 6}) : 1;
        c.batches_per_step = c.is_training() ? 1 : 4;
        c.is_placed = true;
      })
      DRAW(createImplicitPipeliningFwdOnlyProgram, r.one_in(8))
      FLIP(stashAllTensorsInferencePipeline)
      DRAW(autoRecomputation, r.any(RecomputationType::RecomputeAll))
      FLIP(explicitRecomputation)
      DRAW(enableExplicitMainLoops, true; c.options.useHostCopyOps = !r.one_in(4))
      DRAW(executionPhaseSettings,
           {r.pick({0, 1, 2, 2, 4}), r.pick({0, 1, 2, 2}),
            r.any(ExecutionPhaseIOSchedule::OnDemand), r.any(ExecutionPhaseIOSchedule::OnDemand),
            r.any(ExecutionPhaseIOSchedule::OnDemand), r.any(ExecutionPhaseIOSchedule::OnDemand),
            r.any(ExecutionPhaseSchedule::BatchClusteredIO)};
           if (!r.one_in(4)) {
             c.options.virtualGraphMode = VirtualGraphMode::ExecutionPhases;
             c.is_placed = true;
           })
      DRAW(accumulateOuterFragmentSettings,
           {r.any(AccumulateOuterFragmentSchedule::OverlapMemoryOptimized), {}})
      DRAW(batchSerializationSettings,
           {r.pick({-1, 0, 1, 2, 2, 3, 4}), r.one_in(2), r.one_in(2), r.one_in(2),
            r.any(BatchSerializationTransformContext::Bwd), r.any(BatchSerializationMethod::Loop),
            r.any(BatchSerializationBatchSchedule::OverlapOnCompute)})
      DRAW(activationTensorLocationSettings, any_location(r))
      DRAW(weightTensorLocationSettings, any_location(r))
      DRAW(optimizerStateTensorLocationSettings, any_location(r))
      DRAW(accumulatorTensorLocationSettings, any_location(r))
      DRAW(tensorLocationSettingsOverride, {}; c.options.tensorLocationSettingsOverride.emplace(
               r.pick({"w0", "x", "nobody"}), any_location(r).location))
      FLIP(enableOutlining) DRAW(outlineThreshold, r.pick({-1.f, 0.f, 1000.f}))
      DRAW(outlineSequenceBreakCost, r.pick({0.f, 100.f})) FLIP(enableOutliningCopyCostPruning)
      DRAW(subgraphCopyingStrategy, r.any(SubgraphCopyingStrategy::JustInTime))
      // Loss scaling is meant for gradients of halves.
      DRAW(automaticLossScalingSettings,
           {true, r.pick({0.125f, 0.25f, 0.5f, 1000.f}), r.pick({1e-7f, 0.f, 0.5f}), {},
            r.pick({0, 1, 1, 2}),
            r.one_in(8) ? GradientTensorTrackingMethod::GradientsOfUserSpecifiedTensors
                        : GradientTensorTrackingMethod::AllNonViewChangingGradientTensors};
           if (!r.one_in(4)) c.network = Network::half)
      DRAW(matmulOptions, {}; c.options.matmulOptions.emplace(
               "availableMemoryProportion",
               r.pick({"0.1", "0.2", "0.3", "0.6", "1", "2", "-1", "text"})))
      DRAW(convolutionOptions, {}; c.options.convolutionOptions.emplace(
               "partialsType", r.pick({"half", "float", "text"})))
      DRAW(lstmOptions, {}; c.options.lstmOptions.emplace(
               "availableMemoryProportion", r.pick({"0.1", "0.6"})))
  };
#undef FLIP
#undef DRAW
  return all;
}
// clang-format on

/// Gives one option a value that is none of its enumeration or range.
inline void misuse(Case& c, Random& random) {
  SessionOptions& o = c.options;
  constexpr int behind = 5;
  switch (random.below(8)) {
    case 0:
      o.autoRecomputation = static_cast<RecomputationType>(behind);
      break;
    case 1:
      o.virtualGraphMode = static_cast<VirtualGraphMode>(behind);
      break;
    case 2:
      o.syntheticDataMode = static_cast<SyntheticDataMode>(-1);
      break;
    case 3:
      o.mergeVarUpdate = static_cast<MergeVarUpdateType>(behind);
      break;
    case 4:
      o.weightTensorLocationSettings.location.storage = TensorStorage::N;
      break;
    case 5:
      o.accumulationAndReplicationReductionType = static_cast<ReductionType>(behind);
      break;
    case 6:
      o.executionPhaseSettings.phases = 1 << 20;
      break;
    default:
      o.numIOTiles = -1;
  }
  c.is_misuse = true;
}

/// Options that no case changes, since they write files, hold functions, or name things that the
/// cases do not have.
inline const std::vector<const char*>& left_out() {
  static const std::vector<const char*> names{"logDir",
                                              "dotChecks",
                                              "compileEngine",
                                              "hardwareInstrumentations",
                                              "serializedPoprithmsShiftGraphsDir",
                                              "enableEngineCaching",
                                              "cachePath",
                                              "compilationProgressLogger",
                                              "engineOptions",
                                              "reportOptions",
                                              "gclOptions",
                                              "customCodelets",
                                              "customCodeletCompileFlags",
                                              "updatableNamedBuffers",
                                              "experimentalSettings",
                                              "bufferingDepthMap",
                                              "prefetchBufferingDepthMap"};
  return names;
}

inline Case draw_case(std::uint64_t seed) {
  Random random(seed);
  Case c;
  c.network = static_cast<Network>(random.below(static_cast<std::uint64_t>(Network::count)));
  c.ipus = random.pick({0, 0, 1, 2, 4});
  c.batches_per_step = random.pick({1, 2, 3});
  c.momentum = random.pick({0.f, 0.f, 0.5f});
  c.loss_scaling = random.pick({1.f, 1.f, 8.f});
  c.form = random.pick({SGDAccumulatorAndMomentum::Combined, SGDAccumulatorAndMomentum::Separate});
  c.is_adam = random.one_in(4);
  c.is_placed = random.one_in(4);
  // Many options at once are mostly refused, few at once never meet.
  const std::uint64_t rarity = random.pick<std::uint64_t>({8, 16, 32, 64});
  for (const Draw& draw : draws()) {
    if (!random.one_in(rarity)) continue;
    draw.set(c, random);
    c.changed.push_back(draw.option);
  }
  if (random.one_in(32)) misuse(c, random);
  c.patterns =
      Patterns(random.pick({PatternsLevel::Default, PatternsLevel::Default, PatternsLevel::All,
                            PatternsLevel::Minimal, PatternsLevel::NoPatterns}));
  if (!random.one_in(16)) c.patterns.enableRuntimeAsserts(false);
  if (random.one_in(4)) {
    for (const auto& [name, is_on] : c.patterns.getSettings()) {
      if (random.one_in(8)) c.switched.emplace_back(name, !is_on);
    }
  }
  return c;
}

inline constexpr std::int64_t rows = 4;  ///< in a micro-batch

struct Model {
  std::string proto;
  TensorId output;
  std::vector<TensorId> weights;
  std::vector<std::int64_t> shape;  ///< of x, without the batch
};

/// The network for so many rows; its loss is a sum over them, times `scale`.
inline Model model(Network network, std::int64_t batch, float scale, bool is_placed) {
  auto builder = Builder::create();
  auto opset = builder->aiOnnxOpset10();
  Model m;
  Random random(static_cast<std::uint64_t>(network) + 1);
  const auto weight = [&](Shape shape, std::optional<float> fill = {}) {
    const TensorInfo info("FLOAT", shape);
    std::vector<float> values(static_cast<std::size_t>(info.nelms()));
    for (float& value : values) {
      value = fill ? *fill : static_cast<float>(random.below(1000)) / 1000 - 0.5f;
    }
    m.weights.push_back(builder->addInitializedInputTensor({values.data(), info},
                                                           "w" + std::to_string(m.weights.size())));
    return m.weights.back();
  };
  const auto place_all = [&](const std::vector<TensorId>& ids, int layer) {
    if (!is_placed) return;
    const std::set<TensorId> outputs(ids.begin(), ids.end());
    builder->virtualGraph(outputs, layer);
    builder->pipelineStage(outputs, layer);
    builder->executionPhase(outputs, layer);
  };
  const auto place = [&](const TensorId& id, int layer) {
    place_all({id}, layer);
    return id;
  };
  const auto dense = [&](const TensorId& x, std::int64_t in, std::int64_t out, int layer) {
    const TensorId w = weight({in, out}), b = weight({out});
    return place(opset.add({place(opset.matmul({x, w}), layer), b}), layer);
  };
  const auto input = [&](std::vector<std::int64_t> shape) {
    m.shape = shape;
    shape.insert(shape.begin(), batch);
    return builder->addInputTensor(TensorInfo("FLOAT", shape), "x");
  };
  TensorId y;
  if (network == Network::convolution) {
    const TensorId x = input({2, 6, 6}), filter = weight({4, 2, 3, 3});
    y = place(opset.conv({x, filter}, {1, 1}, 1, {}, {1, 1, 1, 1}, {1, 1}), 0);
    const TensorId gain = weight({4}, 1), shift = weight({4}, 0), mean = weight({4}, 0);
    const auto normal = opset.batchnormalization({y, gain, shift, mean, weight({4}, 1)}, 5);
    place_all(normal, 0);
    y = place(opset.relu({normal[0]}), 0);
    y = place(opset.flatten({place(opset.globalaveragepool({y}), 1)}), 1);
    y = dense(y, 4, 3, 1);
  } else if (network == Network::lstm) {
    y = place(opset.transpose({input({5, 3})}, {1, 0, 2}), 0);
    const TensorId w = weight({1, 16, 3}), r = weight({1, 16, 4});
    const auto outputs = opset.lstm({y, w, r, weight({1, 32})}, 3, {}, {}, {}, {}, "forward", 4);
    place_all(outputs, 0);
    y = place(opset.squeeze({outputs[1]}, {0}), 1);
    y = dense(y, 4, 3, 1);
  } else {
    y = dense(input({6}), 6, 8, 0);
    if (network == Network::half) y = place(opset.cast({y}, "FLOAT16"), 0);
    y = place(opset.tanh({y}), 0);
    if (network == Network::half) y = place(opset.cast({y}, "FLOAT"), 0);
    if (network == Network::dropout) y = place(opset.dropout({y}, 1, 0.5f)[0], 0);
    y = dense(y, 8, 3, 1);
    if (network == Network::inference) y = place(opset.softmax({y}), 1);
  }
  if (network != Network::inference) {
    y = place(opset.reducesum({place(opset.mul({y, y}), 1)}, std::vector<int64_t>{0, 1}, 0), 1);
    y = place(builder->aiGraphcoreOpset1().scale({y}, scale), 1);
  }
  builder->addOutputTensor(y);
  m.output = y;
  m.proto = builder->getModelProto();
  return m;
}

using Values = std::vector<std::vector<float>>;

/// Two steps: the outputs, one list for all batches of a step, then the weights.
inline Values run(const Case& c, const Model& m, std::int64_t batch) {
  const auto device = [&]() -> std::shared_ptr<DeviceInfo> {
    DeviceManager& manager = DeviceManager::createDeviceManager();
    if (c.ipus == 0) return manager.createCpuDevice();
    std::map<std::string, std::string> flags{{"numIPUs", std::to_string(c.ipus)},
                                             {"tilesPerIPU", "64"}};
    return manager.createIpuModelDevice(flags);
  }();
  const DataFlow flow(c.batches_per_step, {{m.output, AnchorReturnType("All")}});
  Patterns patterns = c.patterns;
  for (const auto& [name, is_on] : c.switched) patterns.enablePattern(name, is_on);
  std::unique_ptr<Session> session;
  if (c.is_training()) {
    const std::pair<float, bool> rate{0.03125f, true};
    const std::pair<float, bool> scaling{c.loss_scaling,
                                         !c.options.automaticLossScalingSettings.enabled};
    const SGD sgd({{"defaultLearningRate", rate},
                   {"defaultMomentum", {c.momentum, true}},
                   {"lossScaling", scaling}},
                  {}, c.form);
    // The eps is large, so that rounding in small gradients is no update of its own.
    const Adam adam(
        {{"defaultLearningRate", rate}, {"defaultEps", {0.125f, true}}, {"lossScaling", scaling}},
        AdamMode::Adam, DataType::FLOAT, DataType::FLOAT, DataType::FLOAT);
    const Optimizer& optimizer = c.is_adam ? static_cast<const Optimizer&>(adam) : sgd;
    session = TrainingSession::createFromOnnxModel(m.proto, flow, m.output, optimizer, device, {},
                                                   c.options, patterns);
  } else {
    session = InferenceSession::createFromOnnxModel(m.proto, flow, device, {}, c.options, patterns);
  }
  session->prepareDevice();
  session->setRandomSeed(7);
  session->weightsFromHost();

  Shape shape = m.shape;
  shape.insert(shape.begin(), batch);
  const std::size_t micro_batches =
      static_cast<std::size_t>(c.batches_per_step) * c.accumulation() * c.replicas();
  const auto elements = static_cast<std::size_t>(TensorInfo("FLOAT", shape).nelms());
  std::vector<float> x(micro_batches * elements);
  std::vector<float> y(micro_batches * (c.is_training() ? 1 : static_cast<std::size_t>(3 * batch)));
  Values values;
  Random random(3);
  for (int step = 0; step < 2; ++step) {
    for (float& value : x) value = static_cast<float>(random.below(1000)) / 500 - 1;
    NDArrayWrapper<float> in(x.data(), {static_cast<std::int64_t>(x.size())});
    NDArrayWrapper<float> out(y.data(), {static_cast<std::int64_t>(y.size())});
    std::map<TensorId, IArray&> inputs{{"x", in}}, outputs{{m.output, out}};
    StepIO io(inputs, outputs);
    session->run(io);
    values.push_back(y);
  }
  if (!c.is_training()) return values;
  session->weightsToHost();
  for (const TensorId& id : m.weights) {
    const TensorInfo info = session->getInfo(id);
    MutableVoidData data;
    data.data = values.emplace_back(static_cast<std::size_t>(info.nelms())).data();
    data.info = info;
    WeightsIO weights;
    weights.insert(id, data);
    session->readWeights(weights);
  }
  return values;
}

/// What the case computes without its options. Sums of gradients are those of one batch with the
/// rows of all, except where a row's result depends on its batch: Dropout and BatchNormalization
/// keep accumulation and replicas.
inline Values plain(const Case& c) {
  static std::map<std::vector<std::int64_t>, Values> known;
  const auto count = static_cast<std::int64_t>(c.accumulation() * c.replicas());
  const bool by_batch = c.network == Network::convolution || c.network == Network::dropout;
  Case p;
  p.network = c.network;
  p.batches_per_step = c.batches_per_step;
  p.momentum = c.momentum;
  p.form = c.form;
  p.is_adam = c.is_adam;
  std::int64_t batch = rows;
  float scale = 1;
  if (by_batch) {
    p.options.enableGradientAccumulation = c.options.enableGradientAccumulation;
    p.options.accumulationFactor = c.options.accumulationFactor;
    p.options.enableReplicatedGraphs = c.options.enableReplicatedGraphs;
    p.options.replicatedGraphCount = c.options.replicatedGraphCount;
    p.options.accumulationAndReplicationReductionType =
        c.options.accumulationAndReplicationReductionType;
  } else if (c.is_training()) {
    batch *= count;
    if (c.is_mean()) scale /= static_cast<float>(count);
  } else {
    p.batches_per_step *= static_cast<int>(count);
  }
  const std::vector<std::int64_t> key{static_cast<std::int64_t>(p.network),
                                      static_cast<std::int64_t>(c.accumulation()),
                                      static_cast<std::int64_t>(c.replicas()),
                                      c.batches_per_step,
                                      static_cast<std::int64_t>(2 * c.momentum),
                                      static_cast<std::int64_t>(c.form),
                                      c.is_adam,
                                      c.is_mean()};
  const auto [place, is_new] = known.try_emplace(key);
  if (is_new) place->second = run(p, model(p.network, batch, scale, false), batch);
  return place->second;
}

/// Outputs of the micro-batches, in the form of one batch with all their rows.
inline void join(std::vector<float>& losses, std::size_t count, float scale) {
  for (std::size_t i = 0; i < losses.size() / count; ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += losses[i * count + k];
    losses[i] = sum * scale;
  }
  losses.resize(losses.size() / count);
}

/// The largest difference that the options allow, relative to the largest element of a tensor.
inline double tolerance(const Case& c) {
  const auto half = [](const std::map<std::string, std::string>& options) {
    const auto found = options.find("partialsType");
    return found != options.end() && found->second == "half";
  };
  const SessionOptions& o = c.options;
  if (c.ipus > 0 && (half(o.convolutionOptions) || half(o.matmulOptions) ||
                     o.partialsTypeMatMuls == "half" || o.partialsTypeMatMuls == "HALF")) {
    return 0.05;
  }
  const bool sums_in_another_order = (c.is_training() && c.accumulation() * c.replicas() > 1) ||
                                     o.batchSerializationSettings.factor > 1;
  const bool is_scaled = c.loss_scaling != 1 || o.automaticLossScalingSettings.enabled;
  // Halves of 11 bits are rounded in other places once they are scaled, or at random.
  if (c.network == Network::half) {
    return sums_in_another_order || is_scaled || o.enableStochasticRounding ? 0.01 : 0;
  }
  // A quotient of other powers has other rounding.
  const bool is_other_quotient = c.network == Network::inference && o.enableNonStableSoftmax;
  return sums_in_another_order || is_scaled || is_other_quotient ? 1e-4 : 0;
}

struct Outcome {
  enum class Kind { equal, refused, wrong } kind = Kind::equal;
  std::string text;  ///< why it was refused, or what is wrong
};

inline Outcome outcome(const Case& c) {
  using Kind = Outcome::Kind;
  Values found;
  try {
    found = run(c, model(c.network, rows, 1, c.is_placed), rows);
  } catch (const internal_error& e) {
    return {Kind::wrong, std::string("internal_error: ") + e.what()};
  } catch (const error& e) {
    return {Kind::refused, e.what()};
  } catch (const std::exception& e) {
    return {Kind::wrong, std::string("an error of another kind: ") + e.what()};
  }
  if (c.is_misuse) return {Kind::wrong, "a value that an option cannot have was taken"};
  // Made-up data and older weights have no counterpart; such a step only has to end.
  if (c.options.syntheticDataMode != SyntheticDataMode::Off || c.is_continuous()) return {};
  const Values expected = plain(c);
  const bool joined =
      c.is_training() && c.network != Network::convolution && c.network != Network::dropout;
  const std::size_t count = c.accumulation() * c.replicas();
  const float scale = c.is_mean() ? 1 / static_cast<float>(count) : 1;
  const double allowed = tolerance(c);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (joined && i < 2) join(found[i], count, scale);
    if (found[i].size() != expected[i].size()) return {Kind::wrong, "another number of elements"};
    double largest = 0, difference = 0;
    bool is_finite = true;
    for (std::size_t k = 0; k < expected[i].size(); ++k) {
      largest = std::max(largest, std::abs(static_cast<double>(expected[i][k])));
      difference = std::max(difference, std::abs(static_cast<double>(found[i][k]) -
                                                 static_cast<double>(expected[i][k])));
      is_finite = is_finite && std::isfinite(found[i][k]);
    }
    if (!is_finite || difference > allowed * largest) {
      return {Kind::wrong,
              (i < 2 ? "output of step " + std::to_string(i) : "w" + std::to_string(i - 2)) +
                  " differs by " + std::to_string(difference) + " of " + std::to_string(largest) +
                  ", allowed " + std::to_string(allowed * largest)};
    }
  }
  return {};
}

/// The case in words.
inline std::string description(const Case& c) {
  constexpr const char* names[] = {"dense", "convolution", "lstm", "dropout", "half", "inference"};
  std::string text = names[static_cast<std::size_t>(c.network)];
  text += ", " + (c.ipus == 0 ? std::string("cpu") : std::to_string(c.ipus) + " IPUs");
  text += ", accumulation " + std::to_string(c.options.accumulationFactor) + ", replicas " +
          std::to_string(c.options.replicatedGraphCount) + (c.is_placed ? ", placed:" : ":");
  for (const char* option : c.changed) text += std::string(" ") + option;
  return text;
}

}  // namespace option_cases
