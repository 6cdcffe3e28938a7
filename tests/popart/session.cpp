#include <doctest/doctest.h>

#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/stepio.hpp>
#include <popart/stepio_generic.hpp>
#include <string>
#include <utility>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>

#include "../folder.hpp"
#include "errors.hpp"

using namespace popart;
using namespace popart_test;

namespace {

/// y = x * w with w = {2, 3}.
std::string model(float first = 2, float second = 3, const char* weight = "w") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{2}};
  const TensorId x = builder->addInputTensor(info, "x");
  const float data[] = {first, second};
  const TensorId w = builder->addInitializedInputTensor({data, info}, weight);
  builder->addOutputTensor(aiOnnx.mul({x, w}, "y"));
  return builder->getModelProto();
}

struct Program {
  explicit Program(const DataFlow& flow = DataFlow(1, {{"y", AnchorReturnType("All")}}),
                   const SessionOptions& options = {}, const std::string& proto = model())
      : session(InferenceSession::createFromOnnxModel(proto, flow, cpu(), {}, options)) {}

  std::vector<float> run(std::vector<float> x, std::size_t outputs) {
    std::vector<float> y(outputs, -1.f);
    NDArrayWrapper<float> in(x.data(), {static_cast<int64_t>(x.size())});
    NDArrayWrapper<float> out(y.data(), {static_cast<int64_t>(y.size())});
    std::map<TensorId, IArray&> inputs = {{"x", in}}, anchors = {{"y", out}};
    StepIO io(inputs, anchors);
    session->run(io);
    return y;
  }

  std::unique_ptr<InferenceSession> session;
};

MutableVoidData mutable_data(void* data, const TensorInfo& info) {
  MutableVoidData result;
  result.data = data;
  result.info = info;
  return result;
}

}  // namespace

// Orders and words are those of PopART's session.cpp and devicex.cpp.
TEST_CASE("popart session: what must come before what") {
  Program program;
  CHECK(is(error_of([&] { program.run({1, 1}, 2); }), "runtime_error", "must be called before"));
  CHECK(is(error_of([&] { program.session->weightsFromHost(); }), "runtime_error",
           "Trying to load an engine but no compiled engine"));
  CHECK(is(error_of([&] { program.session->getInfo("y"); }), "runtime_error", "prepareDevice"));
  CHECK(is(error_of([&] { program.session->getSummaryReport(); }), "runtime_error",
           "Session must have been prepared before a report can be fetched"));
  program.session->prepareDevice();
  CHECK(is(error_of([&] { program.session->getCycleCount(); }), "runtime_error",
           "Must call run before getCycleCount"));
  program.session->weightsFromHost();
  CHECK(program.run({1, 2}, 2) == std::vector<float>{2, 6});
  CHECK(is(error_of([&] { program.session->getCycleCount(); }), "runtime_error",
           "instrumentWithHardwareCycleCounter"));
  StepIO empty({}, {});
  CHECK(is(error_of([&] { program.session->run("other", empty); }), "error",
           "Program other not found"));
  CHECK(program.session->getInfo("y") == TensorInfo(DataType::FLOAT, Shape{2}));
  CHECK(program.session->hasInfo("w"));
  CHECK_FALSE(program.session->hasInfo("z"));
  CHECK(program.session->getAllTensorIds() == std::set<TensorId>{"w", "x", "y"});
}

TEST_CASE("popart session: an engine that is loaded later, or never") {
  Program later;
  later.session->prepareDevice(false);
  CHECK(later.run({1, 1}, 2) == std::vector<float>{2, 3});
  SessionOptions options;
  options.compileEngine = false;
  Program never(DataFlow(1, {{"y", AnchorReturnType("All")}}), options);
  never.session->prepareDevice();
  CHECK(is(error_of([&] { never.run({1, 1}, 2); }), "runtime_error", "must be called before"));
  CHECK(is(error_of([&] { never.session->loadEngineAndConnectStreams(); }), "runtime_error",
           "Trying to load an engine but no compiled engine"));
}

TEST_CASE("popart session: models, devices and anchors that cannot be") {
  const DataFlow flow(1, {{"y", AnchorReturnType("All")}});
  CHECK(is(error_of([&] { InferenceSession::createFromOnnxModel(model(), flow, nullptr); }),
           "error", "DeviceInfo"));
  CHECK(is(error_of([&] { InferenceSession::createFromOnnxModel(model(), DataFlow(1), cpu()); }),
           "error", "User must specify an anchor tensor when doing inference."));
  CHECK(is(error_of([&] {
             InferenceSession::createFromOnnxModel(
                 model(), DataFlow(1, {{"z", AnchorReturnType("All")}}), cpu());
           }),
           "error", "Anchor tensor `z' not in Ir Tensors."));
  CHECK(is(error_of([&] { InferenceSession::createFromOnnxModel("garbage", flow, cpu()); }),
           "error", ""));
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId in = builder->addInputTensor("FLOAT", {1}, "Gradient___x");
  const TensorId out = aiOnnx.add({in, in});
  builder->addOutputTensor(out);
  CHECK(is(error_of([&] {
             InferenceSession::createFromOnnxModel(builder->getModelProto(),
                                                   DataFlow(1, std::vector<TensorId>{out}), cpu());
           }),
           "error", "has an invalid name: clash with reserved prefix"));
}

TEST_CASE("popart session: anchors of several batches") {
  auto program = [](const AnchorReturnType& type) {
    Program made(DataFlow(4, {{"y", type}}));
    made.session->prepareDevice();
    return made;
  };
  const std::vector<float> x = {1, 1, 2, 2, 3, 3, 4, 4};
  CHECK(program(AnchorReturnType("ALL")).run(x, 8) == std::vector<float>{2, 3, 4, 6, 6, 9, 8, 12});
  CHECK(program(AnchorReturnType("EveryN", 2)).run(x, 4) == std::vector<float>{4, 6, 8, 12});
  CHECK(program(AnchorReturnType("Final")).run(x, 2) == std::vector<float>{8, 12});
  CHECK(program(AnchorReturnType("Sum")).run(x, 2) == std::vector<float>{20, 30});
  CHECK(is(error_of([&] { program(AnchorReturnType("Sum")).run(x, 8); }), "runtime_error",
           "Unexpected number of output elements for Tensor y. Expected 2, but received 8."));
  CHECK(is(error_of([&] { program(AnchorReturnType("Sum")).run({1, 1}, 2); }), "runtime_error",
           "Unexpected number of input elements for Tensor x. Expected 8, but received 2."));
}

TEST_CASE("popart session: inputs and weights as anchors") {
  Program program(DataFlow(1, std::vector<TensorId>{"x", "w", "y"}));
  program.session->prepareDevice();
  float x[] = {5, 7}, rx[2], rw[2], ry[2];
  NDArrayWrapper<float> in(x, {2}), ax(rx, {2}), aw(rw, {2}), ay(ry, {2});
  std::map<TensorId, IArray&> inputs = {{"x", in}}, anchors = {{"x", ax}, {"w", aw}, {"y", ay}};
  StepIO io(inputs, anchors);
  program.session->run(io);
  CHECK(rx[1] == 7);
  CHECK(rw[1] == 3);
  CHECK(ry[1] == 21);
}

TEST_CASE("popart session: buffers that are missing or of no use") {
  Program program;
  program.session->prepareDevice();
  float x[] = {5, 7};
  NDArrayWrapper<float> in(x, {2});
  auto run = [&](std::map<TensorId, IArray&> inputs, std::map<TensorId, IArray&> anchors) {
    StepIO io(inputs, anchors);
    return error_of([&] { program.session->run(io); });
  };
  CHECK(is(run({}, {{"y", in}}), "runtime_error", "No tensor x provided in PyStepIO's inputs"));
  CHECK(is(run({}, {{"z", in}}), "runtime_error",
           "But there is no Tensor named z in the Ir's tensors"));
  CHECK(is(run({{"y", in}}, {}), "runtime_error",
           "The tensor 'y' has been provided as one of the inputs to the stepIO, but it is not "
           "registered as one of the inputs to the model"));
  NDArrayWrapper<float> one(x, {1});
  const std::string text = run({{"x", in}}, {{"y", one}});
  CHECK(is(text, "runtime_error",
           "Unexpected number of output elements for Tensor y. Expected 2, but received 1."));
  for (const char* fact : {"Replication factor", "Accumulation factor", "Batches per step",
                           "Tensor nelms", "Anchor return type", "Return period"}) {
    CHECK(contains(text, fact));
  }
  CHECK(is(run({{"x", in}}, {}), "runtime_error", "No tensor y provided in PyStepIO's outputs"));
  CHECK(is(run({{"z", in}}, {}), "runtime_error",
           "But there is no Tensor named z in the Ir's main Graph"));
  CHECK(is(run({{"x", in}}, {{"w", in}}), "internal_error",
           "Non-anchored Tensor in CorrectnessAsserter::checkOut"));
  StepIO unchecked({{"z", in}}, {});
  unchecked.enableRuntimeAsserts(false);
  CHECK(is(error_of([&] { program.session->run(unchecked); }), "runtime_error", "No tensor x"));
}

TEST_CASE("popart session: step IO by callbacks") {
  Program program(DataFlow(2, {{"y", AnchorReturnType("All")}}));
  program.session->prepareDevice();
  std::string log;
  float next = 1, x[2], y[2];
  std::vector<float> results;
  const TensorInfo info{"FLOAT", Shape{2}};
  StepIOCallback io(
      [&](TensorId id, bool prefetch) {
        log += id + (prefetch ? "? " : "( ");
        x[0] = x[1] = next++;
        return ConstVoidData(x, info);
      },
      [&](TensorId id) { log += id + ") "; },
      [&](TensorId id) {
        log += id + "[ ";
        return mutable_data(y, info);
      },
      [&](TensorId id) {
        log += id + "] ";
        results.push_back(y[0]);
      });
  program.session->run(io);
  CHECK(results == std::vector<float>{2, 4});
  CHECK(log == "x( x) x? x) y[ y] y[ y] ");

  // Depths of buffers: of all inputs, of one, and of what nothing reads.
  for (const bool isOfOne : {false, true}) {
    SessionOptions options;
    options.bufferingDepthMap["unknown"] = 2;
    if (isOfOne) {
      options.bufferingDepthMap["x"] = 3;
    } else {
      options.defaultBufferingDepth = 3;
    }
    Program deep(DataFlow(5, {{"y", AnchorReturnType("All")}}), options);
    deep.session->prepareDevice();
    log.clear();
    deep.session->run(io);
    CHECK(log == "x( x) x? x) x? x) x? x) y[ y] x? x) y[ y] y[ y] y[ y] y[ y] ");
  }

  SessionOptions rearranged;
  rearranged.defaultBufferingDepth = 3;
  rearranged.rearrangeStreamsOnHost = true;
  Program one(DataFlow(3, {{"y", AnchorReturnType("All")}}), rearranged);
  one.session->prepareDevice();
  log.clear();
  one.session->run(io);
  CHECK(log == "x( x) x? x) y[ y] x? x) y[ y] y[ y] ");
  rearranged.bufferingDepthMap["x"] = 2;
  CHECK(is(error_of([&] { Program(DataFlow(1, std::vector<TensorId>{"y"}), rearranged); }), "error",
           "must be 1"));

  // Data without a word about what they are.
  StepIOCallback bare([&](TensorId, bool) { return ConstVoidData(x, {}); }, [](TensorId) {},
                      [&](TensorId) { return mutable_data(y, info); }, [](TensorId) {});
  CHECK(is(error_of([&] { program.session->run(bare); }), "runtime_error", "TensorInfo"));
}

TEST_CASE(
    "popart session: weights of an inference session are constant, unless it says otherwise") {
  float data[] = {0, 0};
  const TensorInfo info{"FLOAT", Shape{2}};
  WeightsIO weights;
  weights.insert("w", mutable_data(data, info));
  CHECK(is(error_of([&] { weights.insert("w", mutable_data(data, info)); }), "runtime_error", "w"));
  {
    Program program;
    program.session->prepareDevice();
    CHECK(is(error_of([&] { program.session->writeWeights(weights); }), "runtime_error",
             "Cannot call writeWeights when constantWeights is set"));
    CHECK(is(error_of([&] { program.session->resetHostWeights(model(4, 5)); }), "runtime_error",
             "Cannot call resetHostWeights when constantWeights is set"));
  }
  SessionOptions options;
  options.constantWeights = false;
  Program program(DataFlow(1, {{"y", AnchorReturnType("All")}}), options);
  program.session->prepareDevice();
  program.session->weightsFromHost();
  program.session->weightsToHost();
  program.session->readWeights(weights);
  CHECK(data[1] == 3);
  data[0] = 10;
  program.session->writeWeights(weights);
  CHECK(program.run({1, 1}, 2) == std::vector<float>{2, 3});  // on the host only
  program.session->weightsFromHost();
  CHECK(program.run({1, 1}, 2) == std::vector<float>{10, 3});

  program.session->resetHostWeights(model(4, 5));
  program.session->weightsFromHost();
  CHECK(program.run({1, 1}, 2) == std::vector<float>{4, 5});
  CHECK(is(error_of([&] { program.session->resetHostWeights(model(4, 5, "v")); }), "runtime_error",
           "no tensor 'v' in tensors"));
  program.session->resetHostWeights(model(4, 5, "v"), true);

  float three[3];
  WeightsIO wrong;
  wrong.insert("w", mutable_data(three, TensorInfo{"FLOAT", Shape{3}}));
  CHECK(is(error_of([&] { program.session->readWeights(wrong); }), "runtime_error",
           "sizes (in bytes) of src"));

  // The law: a model that was written is the model.
  const test::Folder folder;
  program.session->modelToHost(folder / "m.onnx");
  Program again(DataFlow(1, {{"y", AnchorReturnType("All")}}), {}, folder / "m.onnx");
  again.session->prepareDevice();
  CHECK(again.run({1, 1}, 2) == std::vector<float>{4, 5});
}

TEST_CASE("popart session: shapes that the model leaves open") {
  halftone::Graph graph;
  const halftone::AnyTensor x = graph.input<float>("x", {halftone::dynamic, 2});
  graph.symbols.push_back({x.id, 0, graph.store_name("batch")});
  halftone::output(graph, halftone::op::add(x, x), "y");
  const std::vector<std::byte> bytes = halftone::onnx::to_bytes(graph);
  const std::string proto(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const DataFlow flow(1, std::vector<TensorId>{"y"});
  CHECK(is(error_of([&] { InferenceSession::createFromOnnxModel(proto, flow, cpu()); }), "error",
           "must be specified in InputShapeInfo"));
  InputShapeInfo shapes;
  shapes.add("x", TensorInfo{"FLOAT", Shape{3, 2}});
  auto session = InferenceSession::createFromOnnxModel(proto, flow, cpu(), shapes);
  session->prepareDevice();
  CHECK(session->getInfo("y") == TensorInfo("FLOAT", Shape{3, 2}));
  float in[] = {1, 2, 3, 4, 5, 6}, out[6] = {};
  NDArrayWrapper<float> a(in, {3, 2}), y(out, {3, 2});
  std::map<TensorId, IArray&> inputs = {{"x", a}}, anchors = {{"y", y}};
  StepIO io(inputs, anchors);
  session->run(io);
  CHECK(out[5] == 12);
}

TEST_CASE("popart session: options that are refused, and those without effect") {
  auto create = [](auto&& change) {
    SessionOptions options;
    change(options);
    return error_of([&] { Program(DataFlow(1, std::vector<TensorId>{"y"}), options); });
  };
  CHECK(is(create([](auto& o) { o.enableGradientAccumulation = true; }), "error",
           "Gradient Accumulation only available when training."));
  CHECK(is(create([](auto& o) { o.accumulationFactor = 2; }), "error",
           "enableGradientAccumulation is false"));
  CHECK(is(create([](auto& o) {
             o.enableReplicatedGraphs = true;
             o.replicatedGraphCount = 0;
           }),
           "error", "The replicated graph count (0) is not at least 1"));
  CHECK(is(create([](auto& o) { o.autoRecomputation = RecomputationType::Pipeline; }), "error",
           "enablePipelining"));
  CHECK(is(create([](auto& o) { o.enableExplicitMainLoops = true; }), "error", "useHostCopyOps"));
  CHECK(is(create([](auto& o) { o.defaultBufferingDepth = 0; }), "error", "at least 1"));
  CHECK(create([](auto& o) { o.enableOutlining = false; }) == "no error");
  int calls = 0, last = -1;
  SessionOptions options;
  options.compilationProgressLogger = [&](int at, int total) {
    ++calls;
    last = at;
    CHECK(total == 50);
  };
  options.compilationProgressTotal = 50;
  Program program(DataFlow(1, std::vector<TensorId>{"y"}), options);
  CHECK(calls > 1);
  CHECK(last < 50);
  program.session->prepareDevice();
  CHECK(last == 50);
}

// Conditions and their order: PopART's session.cpp. The engine option autoReport.all makes reports.
TEST_CASE("popart session: an emulated IPU and its reports") {
  const auto contains = [](const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
  };
  auto& manager = DeviceManager::createDeviceManager();
  std::map<std::string, std::string> deviceOptions{{"tilesPerIPU", "64"}};
  const auto builder = Builder::create();
  const TensorId x = builder->addInputTensor(TensorInfo("FLOAT", Shape{2}), "x");
  const TensorId y = builder->aiOnnxOpset10().add({x, x}, "y");
  builder->addOutputTensor(y);
  const auto make = [&](const SessionOptions& options, const std::shared_ptr<DeviceInfo>& device) {
    return InferenceSession::createFromOnnxModel(builder->getModelProto(),
                                                 DataFlow(1, {{y, AnchorReturnType("All")}}),
                                                 device, InputShapeInfo(), options);
  };
  SessionOptions options;
  options.instrumentWithHardwareCycleCounter = true;
  options.engineOptions["autoReport.all"] = "true";
  const auto session = make(options, manager.createIpuModelDevice(deviceOptions));
  session->prepareDevice();
  float in[2] = {1, 2}, out[2] = {};
  NDArrayWrapper<float> given(in, {2}), taken(out, {2});
  std::map<TensorId, IArray&> inputs{{x, given}}, outputs{{y, taken}};
  StepIO io(inputs, outputs);
  session->run(io);
  CHECK(out[0] == 2);
  CHECK(out[1] == 4);
  CHECK(session->getCycleCount() > 0);
  CHECK(
      contains(error_of([&] { session->getCycleCount("other"); }), "Invalid id for cycle counter"));
  SessionOptions inner = options;
  inner.hardwareInstrumentations = {Instrumentation::Inner};
  const auto counts = make(inner, manager.createIpuModelDevice(deviceOptions));
  counts->prepareDevice();
  counts->run(io);
  CHECK(counts->getCycleCount("inner_ipu_0") == session->getCycleCount());
  for (const char* const id : {"", "inner_ipu_1", "inner_ipu_", "inner_ipu_0x", "inner_ipu_-1"}) {
    CAPTURE(id);
    CHECK(contains(error_of([&] { counts->getCycleCount(id); }), "Invalid id for cycle counter"));
  }
  CHECK(contains(error_of([&] { session->getCycleCount("inner_ipu_0"); }),
                 "Invalid id for cycle counter"));
  CHECK(contains(session->getSummaryReport(), "Total cycles"));
  CHECK(contains(session->getGraphReport(), "\"halftone.ipu.graph_report\""));
  CHECK(contains(session->getExecutionReport(), "\"halftone.ipu.execution_report\""));

  const auto quiet = make({}, manager.createIpuModelDevice(deviceOptions));
  quiet->prepareDevice();
  CHECK(contains(quiet->getSummaryReport(), "Execution profiling not enabled"));
  CHECK(contains(error_of([&] { quiet->getExecutionReport(); }), "autoReport"));

  // Attributes of a node and of all MatMuls reach the planner, and a device's tiles the report.
  const auto planned = [&](float proportion, const std::string& partials, const char* tiles) {
    const auto net = Builder::create();
    const TensorId a = net->addInputTensor(TensorInfo("FLOAT16", Shape{512, 512}), "a");
    const TensorId b = net->aiOnnxOpset10().matmul({a, a}, "b");
    if (proportion > 0) net->setAvailableMemoryProportion(b, proportion);
    net->addOutputTensor(b);
    std::map<std::string, std::string> few{{"tilesPerIPU", tiles}};
    SessionOptions asked = options;
    asked.partialsTypeMatMuls = partials;
    const auto made = InferenceSession::createFromOnnxModel(
        net->getModelProto(), DataFlow(1, {{b, AnchorReturnType("All")}}),
        manager.createOfflineIPUDevice(few), InputShapeInfo(), asked);
    made->prepareDevice(false);
    return made->getReport().cycles();
  };
  CHECK(planned(0.02f, "", "64") > planned(0, "", "64"));
  CHECK(planned(0, "half", "64") < planned(0, "", "64"));
  CHECK(planned(0, "", "32") > planned(0, "", "64"));
  CHECK(contains(error_of([&] { planned(0, "int", "64"); }), "half or float"));
  const std::int64_t usual = planned(0, "", "64"), halves = planned(0, "half", "64");
  options.matmulOptions = {{"partialsType", "half"}};
  CHECK(planned(0, "", "64") == halves);
  CHECK(planned(0, "float", "64") == halves);
  options.matmulOptions = {{"availableMemoryProportion", "0.02"}};
  CHECK(planned(0, "", "64") == planned(0.02f, "", "64"));
  options.matmulOptions["availableMemoryProportion"] = "2";
  CHECK(contains(error_of([&] { planned(0, "", "64"); }), "matmulOptions"));
  options.matmulOptions = {};
  options.convolutionOptions = {{"partialsType", "half"}};
  CHECK(planned(0, "", "64") == usual);

  std::map<std::string, std::string> none;
  const auto offline = make(options, manager.createOfflineIPUDevice(none));
  offline->prepareDevice(false);
  CHECK(contains(offline->getGraphReport(), "1472"));
  CHECK(contains(error_of([&] { offline->run(io); }), "not configured for execution"));
}

// The law: an IPU works, waits for others or is idle; the report has the second and third of a micro-batch.
TEST_CASE("popart session: Inner counts the work of each IPU") {
  constexpr int batches = 3;
  std::map<std::string, std::string> deviceOptions{{"numIPUs", "2"}, {"tilesPerIPU", "64"}};
  const auto builder = Builder::create();
  const TensorId x = builder->addInputTensor(TensorInfo("FLOAT", Shape{64, 64}), "x");
  const TensorId first = builder->aiOnnxOpset10().matmul({x, x}, "first");
  const TensorId second = builder->aiOnnxOpset10().relu({first}, "second");
  builder->virtualGraph(first, 0);
  builder->virtualGraph(second, 1);
  builder->addOutputTensor(second);
  SessionOptions options;
  options.virtualGraphMode = VirtualGraphMode::Manual;
  options.instrumentWithHardwareCycleCounter = true;
  options.hardwareInstrumentations = {Instrumentation::Outer, Instrumentation::Inner};
  options.engineOptions["autoReport.all"] = "true";
  const auto session = InferenceSession::createFromOnnxModel(
      builder->getModelProto(), DataFlow(batches, {{second, AnchorReturnType("Final")}}),
      DeviceManager::createDeviceManager().createIpuModelDevice(deviceOptions), InputShapeInfo(),
      options);
  session->prepareDevice();
  std::vector<float> in(batches * 64 * 64, 1), out(64 * 64);
  NDArrayWrapper<float> given(in.data(), {batches, 64, 64}), taken(out.data(), {64, 64});
  std::map<TensorId, IArray&> inputs{{x, given}}, outputs{{second, taken}};
  StepIO io(inputs, outputs);
  session->run(io);
  const halftone::ipu::Report& report = session->getReport();
  const auto run = static_cast<std::int64_t>(session->getCycleCount());
  for (const std::int64_t ipu : {0, 1}) {
    CAPTURE(ipu);
    const auto work =
        static_cast<std::int64_t>(session->getCycleCount("inner_ipu_" + std::to_string(ipu)));
    CHECK(0 < work);
    CHECK(work < run);
    CHECK(work + batches * (report.waiting_cycles(ipu) + report.idle_cycles(ipu)) == run);
  }
}

// The layout of the state, [2 (identical, differing)][tiles][workers][4]: PopART's devicex.
TEST_CASE("popart session: the machine's arithmetic on an emulated IPU") {
  auto& manager = DeviceManager::createDeviceManager();
  std::map<std::string, std::string> deviceOptions{{"tilesPerIPU", "8"}};
  const auto builder = Builder::create();
  const TensorId x = builder->addInputTensor(TensorInfo("FLOAT", Shape{2}), "x");
  const TensorId y = builder->aiOnnxOpset10().log({x}, "y");
  builder->addOutputTensor(y);
  const auto make = [&](auto&& change, bool isIpu = true) {
    SessionOptions options;
    change(options);
    std::shared_ptr<DeviceInfo> device = manager.createCpuDevice();
    if (isIpu) device = manager.createIpuModelDevice(deviceOptions);
    auto session = InferenceSession::createFromOnnxModel(
        builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}}), device,
        InputShapeInfo(), options);
    session->prepareDevice();
    return session;
  };
  const auto run = [&](InferenceSession& session) {
    float in[2] = {1, -1}, out[2] = {};
    NDArrayWrapper<float> given(in, {2}), taken(out, {2});
    std::map<TensorId, IArray&> inputs{{x, given}}, outputs{{y, taken}};
    StepIO io(inputs, outputs);
    session.run(io);
  };
  const auto checks = [](auto& o) { o.enableFloatingPointChecks = true; };
  const auto checked = make(checks);
  CHECK(is(error_of([&] { run(*checked); }), "runtime_error", "invalid operation"));
  CHECK(is(error_of([&] { run(*checked); }), "runtime_error", "Log"));
  run(*make([](auto&) {}));
  CHECK(is(error_of([&] { make(checks, false); }), "error", "is for emulated IPUs"));
  CHECK(is(error_of([&] { make([](auto& o) { o.enableStochasticRounding = true; }, false); }),
           "error", "is for emulated IPUs"));

  for (const bool rounds : {false, true}) {
    const auto session = make([&](auto& o) {
      o.enableLoadAndOffloadRNGState = true;
      o.enableStochasticRounding = rounds;
    });
    CHECK(session->getRNGState().size() == 2 * 8 * 6 * 4);
    session->setRandomSeed(7);
    const std::vector<uint32_t> state = session->getRNGState();
    session->setRandomSeed(8);
    CHECK(session->getRNGState() != state);
    session->setRNGState(state);
    CHECK(session->getRNGState() == state);
    CHECK(is(error_of([&] { session->setRNGState({1, 2}); }), "runtime_error", "size 2"));
  }
  const auto refused = [&](auto&& change, std::string_view part) {
    return is(error_of([&] { make(change); }), "error", part);
  };
  CHECK(refused([](auto& o) { o.convolutionOptions["partialsType"] = "double"; }, "half or float"));
  CHECK(refused([](auto& o) { o.matmulOptions["availableMemoryProportion"] = "2"; }, "in (0,1]"));
  CHECK(refused([](auto& o) { o.virtualGraphSplitRatios = {0.5f, 0.5f}; }, "Auto"));
}

// ai.onnx's products of float8 numbers have a third input: reference of MatMul and Conv in PopART.
TEST_CASE("popart session: products of float8 numbers") {
  const auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset11();
  const TensorId x = builder->addInputTensor(TensorInfo("FLOAT", Shape{1, 1, 2, 2}), "x");
  const std::int32_t exponents[] = {0, 3};
  const auto scalar = [&](const std::int32_t& n) {
    return aiOnnx.constant({&n, TensorInfo("INT32", Shape{})});
  };
  // 18: FLOAT8_143, as ONNX has it (FLOAT8E4M3FNUZ)
  const OperatorIdentifier cast{"ai.graphcore", "Pow2ScaleThenCast", 1, NumInputs(2, 2), 1};
  const TensorId x8 =
      builder->customOp(cast, 1, {x, scalar(exponents[0])}, 1, {{"to", int64_t{18}}})[0];
  const TensorId y = aiOnnx.matmul({x8, x8, scalar(exponents[1])}, "y");
  const TensorId z = aiOnnx.conv({x8, x8, scalar(exponents[1])});
  builder->addOutputTensor(y);
  builder->addOutputTensor(z);
  auto session = InferenceSession::createFromOnnxModel(
      builder->getModelProto(),
      DataFlow(1, {{y, AnchorReturnType("All")}, {z, AnchorReturnType("All")}}), cpu());
  session->prepareDevice();
  std::vector<float> data{1, 2, -3, 0.5f};
  std::vector<halftone::half> product(4), sum(1);
  NDArrayWrapper<float> in(data.data(), {1, 1, 2, 2});
  NDArrayWrapper<halftone::half> outY(product.data(), {1, 1, 2, 2}), outZ(sum.data(), {1, 1, 1, 1});
  std::map<TensorId, IArray&> inputs = {{"x", in}}, anchors = {{y, outY}, {z, outZ}};
  StepIO io(inputs, anchors);
  session->run(io);
  // {{1, 2}, {-3, 0.5}} squared, and the sum of its elements' squares, times 8.
  const std::vector<float> expected{-40, 24, -36, -46};
  for (std::size_t i = 0; i < 4; ++i) CHECK(static_cast<float>(product[i]) == expected[i]);
  CHECK(static_cast<float>(sum[0]) == 114);
}

// Off clears the attributes, Manual asks them: PopART's ir.cpp.
TEST_CASE("popart session: virtual graphs on emulated IPUs") {
  auto& manager = DeviceManager::createDeviceManager();
  const auto builder = Builder::create();
  const TensorId x = builder->addInputTensor(TensorInfo("FLOAT", Shape{64, 64}), "x");
  auto opset = builder->aiOnnxOpset10();
  const TensorId a = opset.matmul({x, x}, "a"), y = opset.matmul({a, a}, "y");
  builder->virtualGraph(a, 0);
  builder->virtualGraph(y, 1);
  builder->addOutputTensor(y);
  const auto report = [&](VirtualGraphMode mode, const char* ipus) {
    std::map<std::string, std::string> deviceOptions{{"numIPUs", ipus}, {"tilesPerIPU", "64"}};
    SessionOptions options;
    options.virtualGraphMode = mode;
    options.engineOptions["autoReport.all"] = "true";
    auto session = InferenceSession::createFromOnnxModel(
        builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}}),
        manager.createIpuModelDevice(deviceOptions), InputShapeInfo(), options);
    session->prepareDevice();
    std::vector<int> ipusOf;
    for (const auto& o : session->getReport().operations) ipusOf.push_back(o.ipu);
    return ipusOf;
  };
  CHECK(report(VirtualGraphMode::Manual, "2") == std::vector<int>{0, 1});
  CHECK(report(VirtualGraphMode::Off, "2") == std::vector<int>{0, 0});
  CHECK(report(VirtualGraphMode::Auto, "2").size() == 2);
  CHECK(is(error_of([&] { report(VirtualGraphMode::Manual, "1"); }), "error",
           "that the machine does not have"));
}

namespace {

/// What StepIOGeneric asks of arrays: here a program's own vectors.
struct Accessor {
  static void* getDataPointer(std::vector<float>* array) { return array->data(); }
  static std::size_t getArraySize(const std::vector<float>* array) { return array->size(); }
  static DataType getArrayDataType(std::vector<float>*) { return DataType::FLOAT; }
  static std::size_t getArrayRank(std::vector<float>*) { return 1; }
  static int64_t getArrayDim(std::vector<float>* array, std::size_t) {
    return static_cast<int64_t>(array->size());
  }
};
struct VectorIO : StepIOGeneric<std::vector<float>*, Accessor, std::vector<float>*> {
  VectorIO(std::map<TensorId, std::vector<float>*> in,
           std::map<TensorId, std::vector<float>*> out) {
    for (const auto& [id, array] : in) inputsInfo.insert({id, {array, 0}});
    for (const auto& [id, array] : out) outputsInfo.insert({id, {array, 0}});
  }
};

}  // namespace

TEST_CASE("popart step io: arrays of a program's own type") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset11();
  const TensorId x = builder->addInputTensor(TensorInfo{"FLOAT", Shape{2, 2}}, "x");
  const TensorId y = builder->reshape_const(aiOnnx, {aiOnnx.neg({x})}, {4}, "flat");
  builder->addOutputTensor(y);
  auto session = InferenceSession::createFromOnnxModel(
      builder->getModelProto(), DataFlow(3, {{y, AnchorReturnType("All")}}), cpu());
  session->prepareDevice();
  std::vector<float> in(12), out(12), few(8);
  std::iota(in.begin(), in.end(), 1.f);
  // Sizes are checked before the first step.
  VectorIO small({{x, &few}}, {{y, &out}});
  CHECK(is(error_of([&] { session->run(small); }), "runtime_error", "Expected 12, but received 8"));
  VectorIO io({{x, &in}}, {{y, &out}});
  for (int step = 0; step < 2; ++step) {  // arrays start over
    std::fill(out.begin(), out.end(), 0.f);
    session->run(io);
    for (std::size_t i = 0; i < 12; ++i) CHECK(out[i] == -in[i]);
  }
  VectorIO none({}, {{y, &out}});
  CHECK(is(error_of([&] { session->run(none); }), "error", "No tensor x provided"));
}
