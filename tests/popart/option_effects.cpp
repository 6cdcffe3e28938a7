// Session options that PopART has for its compiler: what they do to results, the Ir, reports and files.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <halftone/ipu/profile.hpp>
#include <iterator>
#include <map>
#include <memory>
#include <popart/logging.hpp>
#include <popart/session.hpp>
#include <string>
#include <vector>

#include "../folder.hpp"
#include "ir_models.hpp"
#include "popart/options.hpp"
#include "step.hpp"

using namespace popart_test;

namespace {

std::shared_ptr<DeviceInfo> ipus(int count) {
  std::map<std::string, std::string> device{{"numIPUs", std::to_string(count)},
                                            {"tilesPerIPU", "16"}};
  return DeviceManager::createDeviceManager().createIpuModelDevice(device);
}

const SGD sgd({{"defaultLearningRate", {0.5f, true}}});

/// Products, each with a sigmoid behind it; one on each virtual graph, if there are several.
Prepared layers(int count, bool isPlaced = false) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const auto place = [&](const TensorId& id, int number) {
    if (isPlaced) builder->virtualGraph(id, number);
    return id;
  };
  TensorId y = builder->addInputTensor(square_info, "x");
  for (int layer = 0; layer < count; ++layer) {
    const std::string number = std::to_string(layer);
    y = place(aiOnnx.matmul({y, weight(*builder, "w" + number)}), layer);
    y = place(aiOnnx.sigmoid({y}), layer);
  }
  const TensorId loss = place(builder->aiGraphcoreOpset1().l1loss({y}, 0.1f), count - 1);
  return {builder->getModelProto(), DataFlow(1), loss};
}

/// The inputs of the operators of a type, in the order of the schedule.
std::vector<TensorId> read_by(const Ir& ir, const std::string& type) {
  std::vector<TensorId> ids;
  for (const Op* op : ir.getMainGraph().getOpSchedule()) {
    if (op->opid.type == type) ids.push_back(op->inId(0));
  }
  return ids;
}

/// Where in the schedule the operators of a type are.
std::vector<std::ptrdiff_t> places(const Ir& ir, const std::string& type) {
  const std::vector<Op*> ops = ir.getMainGraph().getOpSchedule();
  std::vector<std::ptrdiff_t> found;
  for (auto op = ops.begin(); op != ops.end(); ++op) {
    if ((*op)->opid.type == type) found.push_back(op - ops.begin());
  }
  return found;
}

std::ptrdiff_t addsIn(const Ir& ir) {
  return count(ir, "Add") + count(ir, "AddLhsInplace") + count(ir, "AddRhsInplace");
}

std::unique_ptr<Ir> trained(const Prepared& prepared) {
  auto ir = std::make_unique<Ir>();
  prepared.into(*ir, &sgd);
  return ir;
}

}  // namespace

// e^1000 is beyond FLOAT, so that the quotient of two infinities is no number.
TEST_CASE("popart options: a softmax that takes nothing off its input") {
  auto builder = Builder::create();
  const TensorId y =
      builder->aiOnnxOpset9().softmax({builder->addInputTensor("FLOAT", Shape{1, 64}, "x")}, 1);
  std::vector<float> small(64, 0.f), large(64, 0.f);
  small[0] = std::log(64.f);
  large[0] = 1000;
  std::vector<std::uint64_t> cycles;
  for (const bool isPlain : {false, true}) {
    SessionOptions options;
    options.enableNonStableSoftmax = isPlain;
    options.instrumentWithHardwareCycleCounter = true;
    auto session = InferenceSession::createFromOnnxModel(
        builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}}), ipus(1), {},
        options);
    session->prepareDevice();
    session->weightsFromHost();
    CHECK(step(*session, {{"x", small}}, {{y, 64}}).at(y)[0] == doctest::Approx(64.f / 127));
    const std::vector<float> out = step(*session, {{"x", large}}, {{y, 64}}).at(y);
    CHECK(std::isnan(out[0]) == isPlain);
    CHECK(out[1] == 0);
    cycles.push_back(session->getCycleCount());
    // PopART's option changes what a Softmax is lowered to.
    CHECK(count(session->getIr(), "Softmax") + count(session->getIr(), "SoftmaxInplace") == 1);
  }
  CHECK(cycles[1] < cycles[0]);
}

// The mean of squares less the square of the mean is 1e8 - 1e8 in FLOAT, and no variance of 1.
TEST_CASE("popart options: statistics of norms take two passes") {
  auto builder = Builder::create();
  const TensorInfo info{"FLOAT", Shape{1}};
  const float one = 1, zero = 0;
  const TensorId scale = builder->addInitializedInputTensor({&one, info}),
                 bias = builder->addInitializedInputTensor({&zero, info});
  const TensorId x = builder->addInputTensor("FLOAT", Shape{1, 1, 4}, "x");
  const TensorId y = builder->aiGraphcoreOpset1().groupnormalization({x, scale, bias}, 1, 1e-9f)[0];
  std::vector<std::int64_t> cycles;
  for (const bool isStable : {false, true}) {
    SessionOptions options;
    options.enableStableNorm = isStable;
    options.engineOptions["autoReport.all"] = "true";
    auto session = InferenceSession::createFromOnnxModel(
        builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}}), ipus(1), {},
        options);
    session->prepareDevice();
    session->weightsFromHost();
    const std::vector<float> out =
        step(*session, {{"x", {9999, 10001, 9999, 10001}}}, {{y, 4}}).at(y);
    for (std::size_t i = 0; i < 4; ++i) CHECK(out[i] == doctest::Approx(i % 2 == 0 ? -1 : 1));
    const halftone::ipu::Report& report = session->getReport();
    for (std::size_t o = 0; o < report.operations.size(); ++o) {
      if (report.operations[o].type != "GroupNormalization") continue;
      cycles.push_back(report.operation_cycles(o));
    }
  }
  REQUIRE(cycles.size() == 2);
  CHECK(cycles[0] < cycles[1]);
}

TEST_CASE("popart options: without casts 64-bit integers are errors") {
  auto builder = Builder::create();
  const TensorId y = builder->aiOnnxOpset9().add({builder->addInputTensor("INT64", Shape{2}, "x"),
                                                  builder->addInputTensor("INT64", Shape{2}, "y")},
                                                 "sum");
  SessionOptions options;
  const auto prepare = [&] {
    InferenceSession::createFromOnnxModel(
        builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}}), cpu(), {}, options)
        ->prepareDevice();
  };
  CHECK(error_of(prepare) == "no error");
  options.enableSupportedDataTypeCasting = false;
  CHECK(is(error_of(prepare), "error", "Is there a poplar type for INT64?"));
  // The counter of an optimizer's steps is no tensor of the model.
  Prepared prepared = layers(1);
  prepared.options = options;
  CHECK(error_of([&] {
          TrainingSession::createFromOnnxModel(prepared.proto, prepared.flow, prepared.loss, sgd,
                                               cpu(), {}, options)
              ->prepareDevice();
        }) == "no error");
}

TEST_CASE("popart options: a newer operator set is an error, or the newest that is known") {
  auto builder = Builder::create();
  const TensorId y =
      builder->aiOnnxOpset9().relu({builder->addInputTensor("FLOAT", Shape{2}, "x")}, "y");
  // The version is the last byte of `opset_import {version: 9}` (fields 8 and 2, both of two bytes).
  std::string newer = builder->getModelProto();
  const std::size_t at = newer.find("\x10\x09");
  REQUIRE(at != newer.npos);
  newer[at + 1] = 99;
  SessionOptions options;
  const auto run = [&] {
    auto session = InferenceSession::createFromOnnxModel(
        newer, DataFlow(1, {{y, AnchorReturnType("All")}}), cpu(), {}, options);
    session->prepareDevice();
    session->weightsFromHost();
    CHECK(step(*session, {{"x", {-1, 2}}}, {{y, 2}}).at(y) == std::vector<float>{0, 2});
  };
  CHECK(is(error_of(run), "error", "operator set ai.onnx is not offered"));
  options.strictOpVersions = false;
  CHECK(error_of(run) == "no error");
}

TEST_CASE("popart options: cached executables hold weights if they are to") {
  const auto model = [](float value) {
    auto builder = Builder::create();
    const std::vector<float> data(4096, value);
    const TensorId w =
        builder->addInitializedInputTensor({data.data(), TensorInfo{"FLOAT", Shape{4096}}}, "w");
    const TensorId x = builder->addInputTensor("FLOAT", Shape{4096}, "x");
    builder->addOutputTensor(builder->aiOnnxOpset9().mul({x, w}, "y"));
    return builder->getModelProto();
  };
  for (const bool hasWeights : {true, false}) {
    const test::Folder folder;
    SessionOptions options;
    options.enableEngineCaching = true;
    options.cachePath = folder / "cache";
    options.enableVariablesCaching = hasWeights;
    options.constantWeights = false;
    for (const float value : {2.f, 3.f, 3.f}) {
      auto session = InferenceSession::createFromOnnxModel(
          model(value), DataFlow(1, {{"y", AnchorReturnType("All")}}), cpu(), {}, options);
      session->prepareDevice();
      session->weightsFromHost();
      const std::vector<float> y =
          step(*session, {{"x", std::vector<float>(4096, 5.f)}}, {{"y", 4096}}).at("y");
      CHECK(y == std::vector<float>(4096, 5 * value));
    }
    int files = 0, filesWithWeights = 0;
    const float values[] = {2, 2, 2, 2, 3, 3, 3, 3};
    const std::string bytes(reinterpret_cast<const char*>(values), sizeof values);
    for (const auto& entry : std::filesystem::directory_iterator(options.cachePath)) {
      std::ifstream stream(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(stream), {}};
      ++files;
      filesWithWeights += contains(text, bytes.substr(0, 16)) || contains(text, bytes.substr(16));
    }
    CHECK(files == (hasWeights ? 2 : 1));
    CHECK(filesWithWeights == (hasWeights ? 2 : 0));
  }
}

TEST_CASE("popart options: the log says what took the time") {
  const auto said = [](double leastPercent) {
    const logging::Level before = logging::getLogLevel(logging::Module::session);
    logging::setLogLevel(logging::Module::session, logging::Level::Info);
    const std::string text = printed([&] {
      const Prepared prepared = layers(1);
      SessionOptions options;
      options.developerSettings.timePartitionLoggerThresholdPercentage = leastPercent;
      TrainingSession::createFromOnnxModel(prepared.proto, prepared.flow, prepared.loss, sgd, cpu(),
                                           {}, options)
          ->prepareDevice();
    });
    logging::setLogLevel(logging::Module::session, before);
    return text;
  };
  const std::string all = said(0), none = said(101);
  for (const std::string& text : {all, none}) CHECK(contains(text, "Making the session took"));
  CHECK(contains(all, "schedule: "));
  CHECK_FALSE(contains(none, "schedule: "));
}

TEST_CASE("popart options: constants that several operators read are folded if they are to") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{2}};
  const std::vector<float> data{1, 2};
  const ConstVoidData value{data.data(), info};
  const TensorId shared = aiOnnx.constant(value), own = aiOnnx.constant(value);
  const TensorId x = builder->addInputTensor(info, "x");
  // exp reads a constant that the sum reads, too; sin reads one of its own.
  const TensorId y = aiOnnx.sum({aiOnnx.exp({shared}), aiOnnx.sin({own}), aiOnnx.add({x, shared})});
  for (const bool isFolded : {true, false}) {
    Prepared prepared{builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}})};
    prepared.options.enableConstantFoldingOfMultipleConsumers = isFolded;
    Ir ir;
    prepared.into(ir);
    CHECK(count(ir, "Exp") + count(ir, "ExpInplace") == (isFolded ? 0 : 1));
    CHECK(count(ir, "Sin") == 0);
  }
}

TEST_CASE("popart options: a pipeline without training has stashes if it is to") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const auto place = [&](const TensorId& id, int stage) {
    builder->virtualGraph(id, stage % 2);
    builder->pipelineStage(id, stage);
    return id;
  };
  // The third stage, on the first one's virtual graph, reads what the first one computes.
  const TensorId first = place(aiOnnx.exp({builder->addInputTensor("FLOAT", Shape{2}, "x")}), 0);
  const TensorId second = place(aiOnnx.sin({first}), 1);
  const TensorId y = place(aiOnnx.add({first, second}), 2);
  for (const bool hasStashes : {false, true}) {
    Prepared prepared{builder->getModelProto(), DataFlow(3, {{y, AnchorReturnType("All")}})};
    prepared.options.virtualGraphMode = VirtualGraphMode::Manual;
    prepared.options.enablePipelining = true;
    prepared.options.stashAllTensorsInferencePipeline = hasStashes;
    prepared.device = ipus(2);
    Ir ir;
    prepared.into(ir);
    CHECK(count(ir, "Stash") == (hasStashes ? 1 : 0));
    CHECK(count(ir, "RestoreInplace") == (hasStashes ? 1 : 0));
  }
}

TEST_CASE("popart options: weights are updated last, or as soon as their gradients are there") {
  for (const bool isLate : {true, false}) {
    for (const char* tieBreaker : {"greedy", "fifo"}) {
      CAPTURE(tieBreaker);
      Prepared prepared = layers(4);
      prepared.options.delayVarUpdates = isLate;
      prepared.options.enableOutlining = false;
      prepared.options.kahnTieBreaker = tieBreaker;
      const auto trained_ir = trained(prepared);
      const Ir& ir = *trained_ir;
      const auto updates = places(ir, "SGD0VarUpdate"), gradients = places(ir, "MatMulRhsGrad");
      REQUIRE(updates.size() == 4);
      REQUIRE(gradients.size() == 4);
      for (std::size_t i = 0; i < 4; ++i) {
        if (isLate) CHECK(updates[i] > gradients[3]);
        // Only the last gradient's update has no later gradient to be before.
        if (!isLate && i < 3) CHECK(updates[i] < gradients[i + 1]);
      }
    }
  }
}

// A gradient that waits for its sum would take memory.
TEST_CASE("popart options: a gradient is summed before the next one is computed") {
  for (const char* tieBreaker : {"greedy", "fifo", "random"}) {
    CAPTURE(std::string(tieBreaker));
    Prepared prepared = layers(4);
    prepared.options.enableGradientAccumulation = true;
    prepared.options.accumulationFactor = 2;
    prepared.options.scheduleNonWeightUpdateGradientConsumersEarly = true;
    prepared.options.enableOutlining = false;  // calls would hold the gradients
    prepared.options.kahnTieBreaker = tieBreaker;
    const auto trained_ir = trained(prepared);
    const Ir& ir = *trained_ir;
    const auto sums = places(ir, "Accumulate"), gradients = places(ir, "MatMulRhsGrad");
    REQUIRE(sums.size() == 4);
    for (std::size_t i = 0; i < 3; ++i) CHECK(sums[i] < gradients[i + 1]);
  }
}

TEST_CASE(
    "popart options: gradients of a weight that is read often are one sum, or added one by one") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  TensorId y = builder->addInputTensor(square_info, "x");
  const TensorId w = weight(*builder, "w");
  for (int i = 0; i < 4; ++i) y = aiOnnx.matmul({y, w});
  const TensorId loss = builder->aiGraphcoreOpset1().l1loss({y}, 0.1f);
  Prepared prepared{builder->getModelProto(), DataFlow(1), loss};
  prepared.options.enableOutlining = false;  // a call would hold the gradients
  const auto whole = trained(prepared);
  CHECK(addsIn(*whole) == 0);
  REQUIRE(count(*whole, "Sum") == 1);
  for (const Op* op : whole->getMainGraph().getOpSchedule()) {
    if (op->opid.type != "Sum") continue;
    CHECK(op->name() == "GradSum_" + op->outId(0));
    REQUIRE(op->inTensorCount() == 4);
    for (int i = 0; i < 4; ++i) {
      CHECK(op->inTensor(i)->getProducer()->opid.type == "MatMulRhsGrad");
    }
  }
  prepared.options.decomposeGradSum = true;
  const auto trained_ir = trained(prepared);
  const Ir& ir = *trained_ir;
  CHECK(count(ir, "Sum") == 0);
  CHECK(addsIn(ir) == 3);
  // Each is added before the next one is computed: two of them live at a time.
  const auto gradients = places(ir, "MatMulRhsGrad");
  std::vector<std::ptrdiff_t> sums;
  for (const char* type : {"Add", "AddLhsInplace", "AddRhsInplace"}) {
    const auto own = places(ir, type);
    sums.insert(sums.end(), own.begin(), own.end());
  }
  std::sort(sums.begin(), sums.end());
  REQUIRE(gradients.size() == 4);
  for (std::size_t i = 0; i + 2 < gradients.size(); ++i) CHECK(sums[i] < gradients[i + 2]);
}

TEST_CASE("popart options: sums of gradients stay on the device") {
  const test::Folder folder;
  Prepared prepared = layers(1);
  prepared.options.enableGradientAccumulation = true;
  prepared.options.accumulationFactor = 2;
  prepared.options.disableGradAccumulationTensorStreams = true;
  auto session = TrainingSession::createFromOnnxModel(prepared.proto, prepared.flow, prepared.loss,
                                                      sgd, cpu(), {}, prepared.options);
  session->prepareDevice();
  session->weightsFromHost();
  step(*session, {{"x", std::vector<float>(8, 1.f)}}, {});
  session->modelToHost(folder / "model.onnx");
  const auto saved = Builder::createFromOnnxModel(folder / "model.onnx");
  CHECK(saved->isInitializer("w0"));
  for (const Tensor* tensor : session->getIr().getMainGraphTensors().getAll()) {
    if (tensor->isAccumulatorTensor()) CHECK_FALSE(saved->isInitializer(tensor->id));
  }
}

TEST_CASE("popart options: the host is there at the beginning and the end") {
  Prepared prepared = layers(3);
  SessionOptions options;
  options.groupHostSync = true;
  options.engineOptions["autoReport.all"] = "true";
  const TensorId y = prepared.loss;
  auto session = InferenceSession::createFromOnnxModel(
      prepared.proto, DataFlow(1, {{y, AnchorReturnType("All")}}), ipus(1), {}, options);
  session->prepareDevice();
  const halftone::ipu::Report report = session->getReport();
  std::vector<std::size_t> host, compute;
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const auto kind = report.steps[i].kind;
    if (kind == halftone::ipu::StepKind::host) host.push_back(i);
    if (kind == halftone::ipu::StepKind::compute) compute.push_back(i);
  }
  REQUIRE(!host.empty());
  REQUIRE(!compute.empty());
  for (const std::size_t i : host) CHECK((i < compute.front() || i > compute.back()));
}

TEST_CASE("popart options: updates are in the order of virtual graphs, or take turns") {
  using Schedule = AccumulateOuterFragmentSchedule;
  // Two weights on each of two virtual graphs.
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  TensorId y = builder->addInputTensor(square_info, "x");
  for (int layer = 0; layer < 4; ++layer) {
    y = aiOnnx.matmul({y, weight(*builder, "w" + std::to_string(layer))});
    builder->virtualGraph(y, layer / 2);
  }
  const TensorId loss = builder->aiGraphcoreOpset1().l1loss({y}, 0.1f);
  builder->virtualGraph(loss, 1);
  const auto order = [&](AccumulateOuterFragmentSettings settings) {
    Prepared prepared{builder->getModelProto(), DataFlow(1), loss};
    prepared.options.enableGradientAccumulation = true;
    prepared.options.accumulationFactor = 2;
    prepared.options.virtualGraphMode = VirtualGraphMode::Manual;
    prepared.options.accumulateOuterFragmentSettings = settings;
    prepared.device = ipus(2);
    std::vector<int> graphs;
    for (const TensorId& id : read_by(*trained(prepared), "SGD0VarUpdate")) {
      graphs.push_back(id < "w2" ? 0 : 1);
    }
    return graphs;
  };
  CHECK(order({Schedule::Serial, {}}) == std::vector<int>{0, 0, 1, 1});
  CHECK(order({Schedule::OverlapCycleOptimized, {}}) == std::vector<int>{0, 1, 0, 1});
  CHECK(order({Schedule::OverlapMemoryOptimized, {0}}) == std::vector<int>{1, 1, 0, 0});
}

TEST_CASE("popart options: gradients of all weights are joined at once") {
  std::vector<std::vector<float>> weights;
  for (const bool isMerged : {false, true}) {
    Prepared prepared = layers(3);
    SessionOptions options;
    options.enableReplicatedGraphs = true;
    options.replicatedGraphCount = 2;
    options.engineOptions["autoReport.all"] = "true";
    options.replicatedCollectivesSettings.mergeAllReduceCollectives = isMerged;
    auto session = TrainingSession::createFromOnnxModel(prepared.proto, prepared.flow,
                                                        prepared.loss, sgd, ipus(2), {}, options);
    session->prepareDevice();
    session->weightsFromHost();
    CHECK(count(session->getIr(), "ReplicatedAllReduce") +
              count(session->getIr(), "ReplicatedAllReduceInplace") ==
          (isMerged ? 1 : 3));
    step(*session, {{"x", {1, 2, 3, 4, 5, 6, 7, 8}}}, {});
    for (const char* id : {"w0", "w1", "w2"}) weights.push_back(weight(*session, id));
    const auto& operations = session->getReport().operations;
    CHECK(std::count_if(operations.begin(), operations.end(), [](const auto& operation) {
            return operation.type == "ReplicatedAllReduce";
          }) == (isMerged ? 1 : 3));
  }
  for (std::size_t i = 0; i < 3; ++i) CHECK(weights[i] == weights[i + 3]);
}

// l is the mean of 2^-17 |w x|: its gradient by w is 2^-18 x, and with the loss scaling 2^17 it is x / 2 on
// its way. The loss scaling itself is larger than the largest FLOAT16, 65504.
TEST_CASE("popart options: a loss scaling that FLOAT16 does not have") {
  constexpr float scaling = 1 << 17;
  auto builder = Builder::create();
  const TensorInfo info{"FLOAT16", Shape{2}};
  const std::vector<float16_t> data{float16_t(2.f), float16_t(3.f)};
  const TensorId w = builder->addInitializedInputTensor({data.data(), info}, "w");
  const TensorId x = builder->addInputTensor(info, "x");
  const TensorId y = builder->aiOnnxOpset9().mul({w, x});
  const TensorId loss = builder->aiGraphcoreOpset1().l1loss({y}, 1 / scaling);
  for (const bool isConstant : {true, false}) {
    for (const bool isFloat : {false, true}) {
      SessionOptions options;
      options.ensureFp32LossScaleTensor = isFloat;
      const SGD scaled(
          {{"defaultLearningRate", {scaling, true}}, {"lossScaling", {scaling, isConstant}}});
      auto session = TrainingSession::createFromOnnxModel(builder->getModelProto(), DataFlow(1),
                                                          loss, scaled, cpu(), {}, options);
      session->prepareDevice();
      session->weightsFromHost();
      std::vector<float16_t> in{float16_t(1.f), float16_t(2.f)};
      NDArrayWrapper<float16_t> array(in.data(), {2});
      std::map<TensorId, IArray&> inputs{{"x", array}}, none;
      StepIO io(inputs, none);
      session->run(io);
      std::vector<float16_t> after(2);
      MutableVoidData read;
      read.data = after.data();
      read.info = info;
      WeightsIO weights;
      weights.insert("w", read);
      session->weightsToHost();
      session->readWeights(weights);
      const bool isRight =
          static_cast<float>(after[0]) == 1.5f && static_cast<float>(after[1]) == 2;
      CHECK(isRight == isFloat);
    }
  }
}

TEST_CASE("popart options: what loops, zero copies and pipelines exclude") {
  const Prepared prepared = layers(1);
  const auto refused = [&](const SessionOptions& options, const DataFlow& flow) {
    return error_of([&] {
      TrainingSession::createFromOnnxModel(prepared.proto, flow, prepared.loss, sgd, cpu(), {},
                                           options);
    });
  };
  SessionOptions loops;
  loops.enableExplicitMainLoops = true;
  CHECK(
      is(refused(loops, DataFlow(1)), "error", "enableExplicitMainLoops requires useHostCopyOps."));
  loops.useHostCopyOps = true;
  CHECK(refused(loops, DataFlow(2)) == "no error");
  const DataFlow everySecond(2, {{prepared.loss, AnchorReturnType("EveryN", 2)}});
  CHECK(is(refused(loops, everySecond), "error", "[MainLoops] AnchorReturnType::EVERYN"));
  SessionOptions zero;
  zero.aliasZeroCopy = true;
  CHECK(is(refused(zero, DataFlow(1)), "error", "not supported with implicit recomputation"));
  zero.explicitRecomputation = true;
  CHECK(refused(zero, DataFlow(1)) == "no error");
  zero.enablePipelining = true;
  CHECK(is(refused(zero, DataFlow(1)), "error", "not supported with implicit pipelining"));
}

// Two operators could write over one tensor: only the one that runs last does.
TEST_CASE("popart options: writing in place is never ambiguous") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId t =
      aiOnnx.matmul({builder->addInputTensor(square_info, "x"), weight(*builder, "w")});
  const TensorId y = aiOnnx.add({aiOnnx.exp({t}), aiOnnx.relu({t})});
  Prepared prepared{builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}})};
  prepared.options.enableInplaceAmbiguityChecking = true;
  Ir ir;
  prepared.into(ir);
  const std::vector<Op*> ops = ir.getMainGraph().getOpSchedule();
  std::vector<const Op*> readers;
  for (const Op* op : ops) {
    if (op->opid.type != "MatMul" && op->input->contains(ir.getTensor(t))) readers.push_back(op);
  }
  REQUIRE(readers.size() == 2);
  CHECK_FALSE(contains(readers[0]->opid.type, "Inplace"));
}

TEST_CASE("popart options: summaries list what report options ask for") {
  const Prepared prepared = layers(1);
  SessionOptions options;
  options.engineOptions["autoReport.all"] = "true";
  const auto summary = [&] {
    auto session = InferenceSession::createFromOnnxModel(
        prepared.proto, DataFlow(1, {{prepared.loss, AnchorReturnType("All")}}), ipus(1), {},
        options);
    session->prepareDevice();
    return session->getSummaryReport();
  };
  const std::string usual = summary();
  options.reportOptions["showExecutionSteps"] = "true";
  const std::string steps = summary();
  CHECK(contains(steps, "\n  OnTileExecute "));
  CHECK_FALSE(contains(usual, "\n  OnTileExecute "));
  options.reportOptions = {{"showVarStorage", "true"}};
  // w0 has 2 x 2 elements of 4 bytes.
  CHECK(contains(summary(), "\n  w0 (variables): 16 bytes, IPU 0\n"));
  options.reportOptions = {{"showVarStorage", "false"}};
  CHECK(summary() == usual);
  options.reportOptions = {{"showOptimizations", "true"}};
  CHECK(contains(printed(summary), "the key showOptimizations has no effect"));
}

TEST_CASE("popart options: at most 16 have no subject") {
  const auto table = popart::detail::optionTable();
  const auto without = std::count_if(table.begin(), table.end(), [](const auto& row) {
    return row.status == popart::detail::OptionStatus::nothing;
  });
  CHECK(without <= 16);
}
