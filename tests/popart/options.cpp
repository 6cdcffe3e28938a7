// Session options that have an effect beside results: synthetic data, buffers, caches, reports, progress
// and logs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <halftone/ipu/profile.hpp>
#include <nlohmann/json.hpp>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/logging.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <popart/stepio.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../folder.hpp"
#include "errors.hpp"
#include "step.hpp"

using namespace popart;
using namespace popart_test;

namespace {

struct Model {
  std::string proto;
  TensorId loss;
};

/// l = sum(y), y = w x + b.
Model model(int elements = 2) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{elements}};
  const TensorId x = builder->addInputTensor(info, "x");
  const std::vector<float> ones(static_cast<std::size_t>(elements), 1.f);
  const TensorId w = builder->addInitializedInputTensor({ones.data(), info}, "w");
  const TensorId b = builder->addInitializedInputTensor({ones.data(), info}, "b");
  const TensorId y = aiOnnx.add({aiOnnx.mul({w, x}), b}, "y");
  const TensorId loss = aiOnnx.reducesum({y}, std::vector<int64_t>{0}, 0, "l");
  return {builder->getModelProto(), loss};
}

std::unique_ptr<TrainingSession> training(const SessionOptions& options, int elements = 2,
                                          std::shared_ptr<DeviceInfo> device = cpu()) {
  const Model m = model(elements);
  return TrainingSession::createFromOnnxModel(m.proto, DataFlow(1), m.loss, ConstSGD(0.5f),
                                              std::move(device), {}, options);
}

std::unique_ptr<InferenceSession> inference(const SessionOptions& options) {
  return InferenceSession::createFromOnnxModel(
      model().proto, DataFlow(1, {{"y", AnchorReturnType("All")}}), cpu(), {}, options);
}

void set(Session& session, const TensorId& id, std::vector<float> values) {
  MutableVoidData data;
  data.data = values.data();
  data.info = session.getInfo(id);
  WeightsIO io;
  io.insert(id, data);
  session.writeWeights(io);
}

/// An environment variable, as long as it lives.
struct Environment {
  const char* name;
  Environment(const char* variable, const std::string& value) : name(variable) {
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { unsetenv(name); }
};

}  // namespace

// The gradient of w is x: one step of rate 1/2 moves w by -x / 2, and shows what x was.
TEST_CASE("popart options: synthetic data need no step IO") {
  constexpr int n = 4000;
  for (const SyntheticDataMode mode : {SyntheticDataMode::Zeros, SyntheticDataMode::RandomNormal,
                                       SyntheticDataMode::RandomUniform}) {
    SessionOptions options;
    options.syntheticDataMode = mode;
    options.enableLoadAndOffloadRNGState = true;
    auto session = training(options, n);
    session->prepareDevice();
    session->weightsFromHost();
    StepIO none({}, {});
    session->run(none);
    CHECK(session->getRNGState().empty());
    const std::vector<float> w = weight(*session, "w");
    double sum = 0, squares = 0, most = 0;
    for (const float value : w) {
      const double x = 2 * (1 - static_cast<double>(value));
      sum += x / n;
      squares += x * x / n;
      most = std::max(most, std::abs(x));
    }
    if (mode == SyntheticDataMode::Zeros) CHECK(most == 0);
    if (mode == SyntheticDataMode::RandomNormal) {
      // Within five standard errors.
      CHECK(std::abs(sum) < 5 / std::sqrt(n));
      CHECK(std::abs(squares - 1) < 5 * std::sqrt(2.0 / n));
    }
    if (mode == SyntheticDataMode::RandomUniform) CHECK(most > 3e38);
    // Values are made once.
    auto again = training(options, n);
    again->prepareDevice();
    again->weightsFromHost();
    again->run(none);
    CHECK(weight(*again, "w") == w);
  }
}

TEST_CASE("popart options: named buffers are copied to the device by themselves") {
  SessionOptions options;
  options.constantWeights = false;
  options.updatableNamedBuffers = {"b"};
  auto session = inference(options);
  session->prepareDevice();
  session->weightsFromHost();
  set(*session, "w", {2, 2});
  set(*session, "b", {3, 4});
  session->buffersFromHost();
  CHECK(step(*session, {{"x", {1, 1}}}, {{"y", 2}}).at("y") == std::vector<float>{4, 5});
  session->weightsFromHost();
  CHECK(step(*session, {{"x", {1, 1}}}, {{"y", 2}}).at("y") == std::vector<float>{5, 6});
  options.updatableNamedBuffers = {"x"};
  CHECK(is(error_of([&] { inference(options); }), "error", "updatableNamedBuffers has x"));
  CHECK(is(error_of([&] { inference({})->buffersFromHost(); }), "error", "updatableNamedBuffers"));
}

TEST_CASE("popart options: the environment turns on the cache, also of accumulating sessions") {
  const test::Folder folder;
  const Environment cache("POPART_CACHE_DIR", folder / "cache");
  SessionOptions options;
  options.enableGradientAccumulation = true;
  options.accumulationFactor = 2;
  for (int time = 0; time < 2; ++time) {
    auto session = training(options);
    session->prepareDevice();
    session->weightsFromHost();
    step(*session, {{"x", {1, 2, 3, 4}}}, {});
    // 1 - 0.5 (1 + 3), 1 - 0.5 (2 + 4)
    CHECK(weight(*session, "w") == std::vector<float>{-1, -2});
    const std::filesystem::directory_iterator files(folder / "cache");
    CHECK(std::distance(begin(files), end(files)) == 1);
  }
}

TEST_CASE("popart options: reports are written to autoReport.directory") {
  const test::Folder folder;
  SessionOptions options;
  options.engineOptions = {{"autoReport.all", "true"},
                           {"autoReport.directory", folder / "reports"}};
  std::map<std::string, std::string> machine;
  auto session =
      training(options, 2, DeviceManager::createDeviceManager().createIpuModelDevice(machine));
  session->prepareDevice();
  std::ifstream file(folder / "reports/training/graph.json");
  CHECK(nlohmann::json::parse(file).is_object());
  for (const char* name : {"summary.txt", "execution.json", "report.html"}) {
    CHECK(std::filesystem::file_size(folder / ("reports/training/" + std::string(name))) > 0);
  }
}

TEST_CASE("popart options: progress goes from nothing to all") {
  SessionOptions options;
  std::vector<int> seen;
  options.compilationProgressTotal = 50;
  options.compilationProgressLogger = [&](int now, int total) {
    CHECK(total == 50);
    seen.push_back(now);
  };
  inference(options)->prepareDevice();
  CHECK(seen.size() > 4);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.front() == 0);
  CHECK(seen.back() == 50);
}

TEST_CASE("popart options: every module has something to say") {
  using logging::Module;
  const std::pair<Module, const char*> modules[] = {
      {Module::builder, "popart:builder"}, {Module::session, "popart:session"},
      {Module::ir, "popart:ir"},           {Module::op, "popart:op "},
      {Module::pattern, "popart:pattern"}, {Module::transform, "popart:transform"},
      {Module::ces, "popart:ces"},         {Module::opx, "popart:opx"},
      {Module::devicex, "popart:devicex"}};
  for (const auto& [module, name] : modules) {
    CAPTURE(name);
    const logging::Level before = logging::getLogLevel(module);
    logging::setLogLevel(module, logging::Level::Trace);
    const std::string said = printed([] {
      auto session = inference({});
      session->prepareDevice();
      session->weightsFromHost();
      std::vector<float> x{1, 1}, y(2);
      NDArrayWrapper<float> in(x.data(), {2}), out(y.data(), {2});
      std::map<TensorId, IArray&> inputs{{"x", in}}, anchors{{"y", out}};
      StepIO io(inputs, anchors);
      session->run(io, "a step");
    });
    logging::setLogLevel(module, before);
    CHECK(contains(said, name));
  }
}

TEST_CASE("popart options: the IR is written to POPART_IR_DUMP") {
  const test::Folder folder;
  const Environment dump("POPART_IR_DUMP", folder / "ir.json");
  inference({});
  std::ifstream file(folder / "ir.json");
  CHECK(nlohmann::json::parse(file).contains("maingraph"));
}

// Of four channels and two groups, 0 and 2 are one group, 1 and 3 the other: of (1, 10, 3, 30) each has
// its smaller number at -1 and its larger one at 1. dy/dscale, what training sees, is the same.
TEST_CASE("popart options: groups of channels that are not neighbours") {
  auto builder = Builder::create();
  auto aiGraphcore = builder->aiGraphcoreOpset1();
  const TensorInfo info{"FLOAT", Shape{4}};
  const TensorId x = builder->addInputTensor(TensorInfo{"FLOAT", Shape{1, 4, 1}}, "x");
  const float scales[] = {1, 2, 3, 4}, zeros[] = {0, 0, 0, 0};
  const TensorId scale = builder->addInitializedInputTensor({scales, info}, "scale");
  const TensorId bias = builder->addInitializedInputTensor({zeros, info}, "bias");
  const TensorId y = aiGraphcore.groupnormalization({x, scale, bias}, 2, 1e-9f)[0];
  const TensorId loss =
      builder->aiOnnxOpset9().reducesum({y}, std::vector<int64_t>{0, 1, 2}, 0, "l");
  SessionOptions options;
  options.groupNormStridedChannelGrouping = true;
  const DataFlow flow(1, {{y, AnchorReturnType("All")}});
  auto session = TrainingSession::createFromOnnxModel(builder->getModelProto(), flow, loss,
                                                      ConstSGD(1), cpu(), {}, options);
  session->prepareDevice();
  session->weightsFromHost();
  const std::vector<float> out = step(*session, {{"x", {1, 10, 3, 30}}}, {{y, 4}}).at(y);
  const float expected[] = {-1, -2, 3, 4};
  const std::vector<float> trained = weight(*session, "scale");
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(out[i] == doctest::Approx(expected[i]));
    CHECK(trained[i] == doctest::Approx(scales[i] - (i < 2 ? -1 : 1)));
  }
}

TEST_CASE("popart options: an optimizer's state that stays on the device") {
  const test::Folder folder;
  const Model m = model();
  const SGD momentum({{"defaultLearningRate", {0.5f, true}}, {"defaultMomentum", {0.5f, true}}});
  for (const bool stays : {false, true}) {
    SessionOptions options;
    options.disableOptimizerStateTensorStreams = stays;
    auto session = TrainingSession::createFromOnnxModel(m.proto, DataFlow(1), m.loss, momentum,
                                                        cpu(), {}, options);
    session->prepareDevice();
    session->weightsFromHost();
    for (int i = 0; i < 2; ++i) {
      step(*session, {{"x", {1, 2}}}, {});
      // The weights that are written back leave the velocity alone.
      session->weightsToHost();
      session->weightsFromHost();
    }
    // 1 - 0.5 (x + 1.5 x)
    CHECK(weight(*session, "w") == std::vector<float>{-0.25f, -1.5f});
    session->modelToHost(folder / "model.onnx");
    CHECK(Builder::createFromOnnxModel(folder / "model.onnx")->isInitializer("Accl___w") != stays);
  }
}

// Equal layers on an emulated IPU: code that is not shared takes memory, and tiles that are set aside take
// the host's time from those that compute.
TEST_CASE("popart options: outlining and IO tiles move the report") {
  const auto report = [](SessionOptions options) {
    options.engineOptions["autoReport.all"] = "true";
    auto builder = Builder::create();
    auto aiOnnx = builder->aiOnnxOpset10();
    const TensorInfo info{"FLOAT", Shape{64, 64}};
    const std::vector<float> ones(64 * 64, 1.f);
    TensorId x = builder->addInputTensor(info, "x");
    for (int i = 0; i < 6; ++i) {
      x = aiOnnx.tanh(
          {aiOnnx.matmul({x, builder->addInitializedInputTensor({ones.data(), info})})});
    }
    std::map<std::string, std::string> device{{"tilesPerIPU", "64"}};
    const auto session = InferenceSession::createFromOnnxModel(
        builder->getModelProto(), DataFlow(1, {{x, AnchorReturnType("All")}}),
        DeviceManager::createDeviceManager().createOfflineIPUDevice(device), {}, options);
    session->prepareDevice(false);
    return session->getReport();
  };
  const halftone::ipu::Report usual = report({});
  SessionOptions alone, dear, io;
  alone.enableOutlining = false;
  dear.outlineThreshold = 1e9f;
  io.numIOTiles = 8;
  CHECK(report(alone).bytes() > usual.bytes());
  CHECK(report(dear).bytes() == report(alone).bytes());
  // Calls of three layers: all three weights are copied at their begin, or each before its layer.
  SessionOptions whole, late;
  whole.outlineThreshold = late.outlineThreshold = 2500;
  late.subgraphCopyingStrategy = SubgraphCopyingStrategy::JustInTime;
  const auto mostLive = [](const halftone::ipu::Report& r) {
    return *std::max_element(r.live_bytes.begin(), r.live_bytes.end());
  };
  const auto copy = halftone::ipu::StepKind::copy;
  CHECK(report(whole).cycles(copy) > usual.cycles(copy));
  CHECK(report(late).cycles(copy) == report(whole).cycles(copy));
  CHECK(mostLive(report(late)) < mostLive(report(whole)));
  const halftone::ipu::Report apart = report(io);
  const auto host = halftone::ipu::StepKind::host, compute = halftone::ipu::StepKind::compute;
  CHECK(apart.cycles(host) < usual.cycles(host));
  CHECK(apart.cycles(compute) > usual.cycles(compute));
}

TEST_CASE("popart options: patterns without effect are one warning") {
  const std::string said = printed([] {
    auto builder = Builder::create();
    const TensorId y = builder->aiOnnxOpset10().sin({builder->addInputTensor("FLOAT", Shape{2})});
    Patterns patterns(PatternsLevel::NoPatterns);
    patterns.enableRuntimeAsserts(false);
    InferenceSession::createFromOnnxModel(builder->getModelProto(),
                                          DataFlow(1, {{y, AnchorReturnType("All")}}), cpu(),
                                          InputShapeInfo(), {}, patterns);
  });
  CHECK(contains(said, "SumToAdd"));
  CHECK(std::count(said.begin(), said.end(), '\n') == 1);
}

TEST_CASE("popart options: values beside an enumeration or a range are errors") {
  const auto refused = [](void (*change)(SessionOptions&)) {
    SessionOptions options;
    change(options);
    return error_of([&] { training(options); });
  };
  CHECK(is(refused([](SessionOptions& o) { o.autoRecomputation = RecomputationType::N; }), "error",
           "SessionOptions::autoRecomputation has the value 5, expected one of 0 to 4"));
  CHECK(is(refused([](SessionOptions& o) { o.virtualGraphMode = VirtualGraphMode::N; }), "error",
           "SessionOptions::virtualGraphMode has the value 4, expected one of 0 to 3"));
  CHECK(is(refused([](SessionOptions& o) {
             o.weightTensorLocationSettings.location.storage = TensorStorage::N;
           }),
           "error", "SessionOptions::weightTensorLocationSettings has the value 2"));
  CHECK(is(refused([](SessionOptions& o) { o.numIOTiles = -1; }), "error",
           "-1 is an invalid number of IO tiles"));
  CHECK(is(refused([](SessionOptions& o) { o.executionPhaseSettings.phases = 40000; }), "error",
           "Execution phases (40000) and their stages (2) have to be from 0 to 32767"));
}
