// "Executing graphs": step IO, anchors, weights, optimizers, options, devices, files, reports, logging, errors.
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/logging.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <popart/stepio.hpp>
#include <string>
#include <vector>

#include "documents.hpp"

using namespace popart;

namespace {

using Inputs = std::map<TensorId, IArray&>;

std::shared_ptr<DeviceInfo> cpu() { return DeviceManager::createDeviceManager().createCpuDevice(); }

/// o = a + b, one number each.
std::string sum(TensorId& o) {
  auto builder = Builder::create();
  const TensorInfo info("FLOAT", Shape{1});
  const TensorId a = builder->addInputTensor(info, "a"), b = builder->addInputTensor(info, "b");
  o = builder->aiOnnxOpset9().add({a, b}, "o");
  builder->addOutputTensor(o);
  return builder->getModelProto();
}

void buffers() {
  TensorId o;
  const std::string model = sum(o);
  auto session = InferenceSession::createFromOnnxModel(
      model, DataFlow(1, {{o, AnchorReturnType("ALL")}}), cpu());
  session->prepareDevice();
  float a[] = {0.25f}, b[] = {0.5f}, result[] = {0};
  NDArrayWrapper<float> in1(a, {1}), in2(b, {1}), out(result, {1});
  Inputs inputs{{"a", in1}, {"b", in2}}, anchors{{o, out}};
  StepIO stepio(inputs, anchors);
  session->run(stepio);
  std::printf("  StepIO: %g + %g = %g\n", static_cast<double>(a[0]), static_cast<double>(b[0]),
              static_cast<double>(result[0]));

  // The same with functions of the program's own.
  const auto data = [&](const TensorId& id, bool) {
    return ConstVoidData{id == "a" ? a : b, TensorInfo("FLOAT", Shape{1})};
  };
  result[0] = 0;
  StepIOCallback callbacks(
      data, [](const TensorId&) {},
      [&](const TensorId&) {
        MutableVoidData memory;
        memory.data = result;
        memory.info = TensorInfo("FLOAT", Shape{1});
        return memory;
      },
      [](const TensorId&) {});
  session->run(callbacks);
  std::printf("  StepIOCallback: %g\n", static_cast<double>(result[0]));
}

/// Prints what each anchor return type gives of four batches.
void anchors() {
  TensorId o;
  const std::string model = sum(o);
  float a[] = {1, 2, 3, 4}, b[] = {10, 20, 30, 40};
  for (const char* type : {"All", "EveryN", "Final", "Sum"}) {
    const AnchorReturnType art =
        std::string(type) == "EveryN" ? AnchorReturnType(type, 2) : AnchorReturnType(type);
    auto session = InferenceSession::createFromOnnxModel(model, DataFlow(4, {{o, art}}), cpu());
    session->prepareDevice();
    const int64_t count = std::string(type) == "All" ? 4 : std::string(type) == "EveryN" ? 2 : 1;
    std::vector<float> result(static_cast<std::size_t>(count));
    NDArrayWrapper<float> in1(a, {4, 1}), in2(b, {4, 1}), out(result.data(), {count});
    Inputs inputs{{"a", in1}, {"b", in2}}, anchor{{o, out}};
    StepIO stepio(inputs, anchor);
    session->run(stepio);
    std::printf("  AnchorReturnType(\"%s\"):", type);
    for (const float x : result) std::printf(" %g", static_cast<double>(x));
    std::printf("\n");
  }
}

/// loss = |w x|, which w is trained by.
struct Trained {
  TensorId loss;
  std::unique_ptr<TrainingSession> session;
};
Trained train(float lr) {
  auto builder = Builder::create();
  const TensorInfo info("FLOAT", Shape{1});
  const TensorId x = builder->addInputTensor(info, "x");
  const float start[] = {8};
  const TensorId w = builder->addInitializedInputTensor(ConstVoidData{start, info}, "w");
  auto aiOnnx = builder->aiOnnxOpset9();
  Trained trained;
  trained.loss = aiOnnx.reducesum({aiOnnx.abs({aiOnnx.mul({w, x})})}, std::vector<int64_t>{0}, 0);
  builder->addOutputTensor(trained.loss);
  trained.session = TrainingSession::createFromOnnxModel(
      builder->getModelProto(), DataFlow(1, {{trained.loss, AnchorReturnType("All")}}),
      trained.loss, SGD({{"defaultLearningRate", {lr, false}}}), cpu());
  trained.session->prepareDevice();
  trained.session->weightsFromHost();
  return trained;
}
float step(Trained& trained) {
  float x[] = {1}, loss[] = {0};
  NDArrayWrapper<float> in(x, {1}), out(loss, {1});
  Inputs inputs{{"x", in}}, anchor{{trained.loss, out}};
  StepIO stepio(inputs, anchor);
  trained.session->run(stepio);
  return loss[0];
}

/// Another learning rate between steps; a file of weights, and back to them.
void weights() {
  Trained trained = train(1);
  std::printf("  losses:");
  for (const float rate : {1.f, 2.f, 0.5f}) {
    const SGD optimizer({{"defaultLearningRate", {rate, false}}});
    trained.session->updateOptimizerFromHost(&optimizer);
    std::printf(" %g", static_cast<double>(step(trained)));
  }
  const std::string file =
      (std::filesystem::temp_directory_path() / "popart_documents_trained.onnx").string();
  trained.session->modelToHost(file);
  std::printf(" %g", static_cast<double>(step(trained)));
  trained.session->resetHostWeights(file);
  trained.session->weightsFromHost();
  std::printf(", after resetHostWeights %g\n", static_cast<double>(step(trained)));
  std::filesystem::remove(file);
}

void devices() {
  DeviceManager& manager = DeviceManager::createDeviceManager();
  std::printf("  %s\n", manager.createCpuDevice()->toString().c_str());
  std::map<std::string, std::string> options{{"numIPUs", "2"}, {"tilesPerIPU", "4"}};
  auto model = manager.createIpuModelDevice(options);
  std::printf("  an IPU model has %d IPUs of %d tiles\n", model->getNumIpus(),
              model->getTilesPerIPU());
  try {
    manager.acquireAvailableDevice(2);
  } catch (const popart::error&) {
    std::printf("  there is no IPU to acquire\n");
  }
}

void reports() {
  TensorId o;
  const std::string model = sum(o);
  std::map<std::string, std::string> options{{"numIPUs", "1"}, {"tilesPerIPU", "4"}};
  auto device = DeviceManager::createDeviceManager().createIpuModelDevice(options);
  const DataFlow dataFlow(1, {{o, AnchorReturnType("All")}});
  for (const bool isProfiled : {false, true}) {
    SessionOptions opts;
    opts.enableStochasticRounding = isProfiled;
    if (isProfiled) opts.engineOptions = {{"autoReport.all", "true"}};
    if (isProfiled) opts.reportOptions = {{"showExecutionSteps", "true"}};
    auto session = InferenceSession::createFromOnnxModel(model, dataFlow, device, {}, opts);
    session->prepareDevice();
    const std::string report = session->getSummaryReport();
    if (isProfiled) {
      std::printf("  with profiling the report has %s\n",
                  report.find("cycles") != report.npos ? "cycles" : "no cycles");
    } else {
      std::printf("  %s", report.c_str());
    }
  }
}

void logs() {
  // All modules at DEBUG; the module session says nothing.
  logging::configure({{"all", "DEBUG"}});
  logging::setLogLevel(logging::Module::session, logging::Level::Off);
  std::printf("  module ir logs at DEBUG: %s, module session: %s\n",
              logging::shouldLog(logging::Module::ir, logging::Level::Debug) ? "yes" : "no",
              logging::shouldLog(logging::Module::session, logging::Level::Err) ? "yes" : "no");
  logging::configure({{"all", "OFF"}});
}

void errors() {
  TensorId o;
  const std::string model = sum(o);
  auto session = InferenceSession::createFromOnnxModel(
      model, DataFlow(1, {{o, AnchorReturnType("All")}}), cpu());
  Inputs none;
  StepIO stepio(none, none);
  try {
    session->run(stepio);
  } catch (const popart::runtime_error& e) {
    std::printf("  runtime_error: %s\n", e.what());
  }
}

}  // namespace

void executing() {
  buffers();
  anchors();
  weights();
  devices();
  reports();
  logs();
  errors();
}
