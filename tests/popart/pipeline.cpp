#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <memory>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <popart/stepio.hpp>
#include <string>
#include <vector>

#include "errors.hpp"

using namespace popart;
using namespace popart_test;

// A pipeline computes what the same session computes without one; texts are those of PopART's
// ir.cpp and transforms/pipeline.cpp.
namespace {

/// Three layers and a loss, each layer in a stage, as `place` says.
struct Model {
  std::string proto;
  TensorId loss;
};

using Place = std::function<void(Builder& builder, const TensorId& id, int layer)>;

void in_stages(Builder& builder, const TensorId& id, int layer) {
  builder.virtualGraph(id, layer);
  builder.pipelineStage(id, layer);
}

Model model(const Place& place = in_stages) {
  auto builder = Builder::create();
  auto opset = builder->aiOnnxOpset10();
  TensorId x = builder->addInputTensor(TensorInfo("FLOAT", Shape{2, 2}), "x");
  for (int layer = 0; layer < 3; ++layer) {
    const float data[] = {0.5f, -0.25f, 0.75f, 1.f};
    const TensorId w = builder->addInitializedInputTensor({data, TensorInfo("FLOAT", Shape{2, 2})},
                                                          "w" + std::to_string(layer));
    const TensorId product = opset.matmul({x, w});
    x = opset.tanh({product});
    if (place) place(*builder, product, layer);
    if (place) place(*builder, x, layer);
  }
  const TensorId loss = opset.reducesum({x}, std::vector<int64_t>{0, 1}, 0, "loss");
  if (place) place(*builder, loss, 2);
  builder->addOutputTensor(loss);
  return {builder->getModelProto(), loss};
}

SessionOptions pipelined(int64_t accumulation) {
  SessionOptions options;
  options.virtualGraphMode = VirtualGraphMode::Manual;
  options.enablePipelining = true;
  options.enableGradientAccumulation = accumulation > 1;
  options.accumulationFactor = accumulation;
  return options;
}

std::shared_ptr<DeviceInfo> machine(const char* ipus) {
  std::map<std::string, std::string> options{{"numIPUs", ipus}, {"tilesPerIPU", "64"}};
  return DeviceManager::createDeviceManager().createIpuModelDevice(options);
}

std::unique_ptr<TrainingSession> training(const Model& m, const SessionOptions& options,
                                          int batches, std::shared_ptr<DeviceInfo> device,
                                          const std::string& returns = "All") {
  const ConstSGD sgd(0.25f);
  const AnchorReturnType anchor =
      returns == "EveryN" ? AnchorReturnType(returns, 2) : AnchorReturnType(returns);
  return TrainingSession::createFromOnnxModel(m.proto, DataFlow(batches, {{m.loss, anchor}}),
                                              m.loss, sgd, device, {}, options);
}

/// All losses, then the weights.
std::vector<float> trained(const Model& m, const SessionOptions& options,
                           std::shared_ptr<DeviceInfo> device = cpu()) {
  const auto accumulation = static_cast<std::size_t>(options.accumulationFactor);
  auto session = training(m, options, 2, device);
  session->prepareDevice();
  session->weightsFromHost();
  const std::size_t count = 2 * accumulation;
  std::vector<float> x(count * 4), losses(count);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) / 4 - 0.5f;
  const auto n = static_cast<int64_t>(accumulation);
  NDArrayWrapper<float> in(x.data(), {2, n, 2, 2}), out(losses.data(), {2, n});
  std::map<TensorId, IArray&> inputs = {{"x", in}}, outputs = {{m.loss, out}};
  StepIO io(inputs, outputs);
  for (int step = 0; step < 2; ++step) session->run(io);
  session->weightsToHost();
  for (const char* w : {"w0", "w1", "w2"}) {
    std::vector<float> values(4);
    MutableVoidData data;
    data.data = values.data();
    data.info = session->getInfo(w);
    WeightsIO weights;
    weights.insert(w, data);
    session->readWeights(weights);
    losses.insert(losses.end(), values.begin(), values.end());
  }
  return losses;
}

}  // namespace

TEST_CASE("popart pipeline: training has the results of gradient accumulation") {
  SessionOptions plain;
  plain.enableGradientAccumulation = true;
  plain.accumulationFactor = 6;
  const std::vector<float> expected = trained(model(), plain);
  CHECK(trained(model(), pipelined(6)) == expected);
  CHECK(trained(model(), pipelined(6), machine("4")) == expected);
  // Stages are those of the virtual graphs if there are no others.
  const Place on_ipus = [](Builder& builder, const TensorId& id, int layer) {
    builder.virtualGraph(id, layer);
  };
  CHECK(trained(model(on_ipus), pipelined(6)) == expected);
  SessionOptions automatic = pipelined(6);
  automatic.virtualGraphMode = VirtualGraphMode::Auto;
  CHECK(trained(model(nullptr), automatic, machine("2")) == expected);
  SessionOptions recomputed = pipelined(6);
  recomputed.autoRecomputation = RecomputationType::Pipeline;
  CHECK(trained(model(), recomputed) == expected);
}

TEST_CASE("popart pipeline: inference runs all batches of a step together") {
  const Model m = model();
  const auto run = [&](const SessionOptions& options) {
    auto session = InferenceSession::createFromOnnxModel(
        m.proto, DataFlow(4, {{m.loss, AnchorReturnType("All")}}), cpu(), {}, options);
    session->prepareDevice();
    std::vector<float> x(16), y(4);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5) - 2;
    NDArrayWrapper<float> in(x.data(), {4, 2, 2}), out(y.data(), {4});
    std::map<TensorId, IArray&> inputs = {{"x", in}}, outputs = {{m.loss, out}};
    StepIO io(inputs, outputs);
    session->run(io);
    return y;
  };
  CHECK(run(pipelined(1)) == run({}));
}

TEST_CASE("popart pipeline: what cannot be one") {
  const auto create = [](const SessionOptions& options, const Place& place = in_stages,
                         std::shared_ptr<DeviceInfo> device = cpu(), int batches = 1,
                         const std::string& returns = "All") {
    return error_of(
        [&] { training(model(place), options, batches, device, returns)->prepareDevice(); });
  };
  CHECK(is(create(pipelined(4)), "error",
           "For pipelining, depth (gradient accumulation factor) must equal at least the number of "
           "pipeline stages (5)"));
  CHECK(
      is(create(pipelined(1)), "error",
         "For pipelining, depth (batchesPerStep) must equal at least the number of pipeline stages "
         "(5)"));
  CHECK(create(pipelined(1), in_stages, cpu(), 5) == "no error");
  SessionOptions off = pipelined(6);
  off.virtualGraphMode = VirtualGraphMode::Off;
  CHECK(is(create(off), "error", "Pipelining requires"));
  CHECK(is(create(pipelined(6), in_stages, machine("1")), "error", "more than 1 IPU"));
  CHECK(is(create(pipelined(6), in_stages, cpu(), 2, "EveryN"), "error",
           "AnchorReturnType::EVERYN is not valid for pipelined models"));
  const auto placed = [](int v0, int s0, int v1, int s1, int v2, int s2) {
    return [=](Builder& builder, const TensorId& id, int layer) {
      builder.virtualGraph(id, layer == 0 ? v0 : layer == 1 ? v1 : v2);
      builder.pipelineStage(id, layer == 0 ? s0 : layer == 1 ? s1 : s2);
    };
  };
  CHECK(is(create(pipelined(6), placed(0, 0, 1, 1, 2, 3)), "error",
           "The set of pipeline stages for all Ops contains 3 stages, but stage 2 is missing"));
  CHECK(is(create(pipelined(6), placed(0, 0, 1, 1, 2, 1)), "error",
           "Ops in the same pipeline stage must have the same virtual graph id"));
  CHECK(is(create(pipelined(6), placed(2, 2, 1, 1, 0, 0)), "error",
           "reads what a later stage computes"));
  // Backwards is no matter of the machine: stage 0 may be on IPU 2.
  CHECK(create(pipelined(6), placed(2, 0, 1, 1, 0, 2)) == "no error");
  CHECK(is(create(pipelined(6),
                  [](Builder& builder, const TensorId& id, int layer) {
                    builder.virtualGraph(id, layer);
                    if (layer == 0) builder.pipelineStage(id, layer);
                  }),
           "error", "Only some ops have had their pipeline stage set"));
  CHECK(is(create(pipelined(6),
                  [](Builder& builder, const TensorId& id, int layer) {
                    if (layer == 0) builder.virtualGraph(id, layer);
                  }),
           "error", "Only some ops have had their virtual graph id set"));
}

TEST_CASE("popart pipeline: stages are not looked at without pipelining") {
  SessionOptions plain;
  plain.enableGradientAccumulation = true;
  plain.accumulationFactor = 2;
  CHECK(trained(model(), plain) == trained(model(nullptr), plain));
}

TEST_CASE("popart phases: each has its weights alone on the machine, and results stay") {
  const auto phased = [](int layer_of_loss) {
    return [=](Builder& builder, const TensorId& id, int layer) {
      builder.executionPhase(id, layer < 2 ? layer : layer_of_loss);
    };
  };
  SessionOptions plain;
  const std::vector<float> expected = trained(model(nullptr), plain);
  SessionOptions options;
  options.virtualGraphMode = VirtualGraphMode::ExecutionPhases;
  options.executionPhaseSettings.phases = 3;
  options.weightTensorLocationSettings = {TensorLocation(TensorStorage::OffChip), 1, 1};
  CHECK(trained(model(nullptr), options) == expected);
  CHECK(trained(model(phased(2)), options) == expected);
  CHECK(trained(model(phased(2)), options, machine("2")) == expected);
  const auto refused = [&](const Place& place, const SessionOptions& with) {
    return error_of([&] { training(model(place), with, 1, cpu()); });
  };
  CHECK(is(refused(phased(3), options), "error", "has execution phase 3, and there are 3"));
  CHECK(is(refused(
               [](Builder& builder, const TensorId& id, int layer) {
                 builder.executionPhase(id, layer);
                 builder.virtualGraph(id, 1);
               },
               options),
           "error", "of execution phase 0 has virtual graph id 1, which should be 0"));
  options.enablePipelining = true;
  CHECK(is(refused(phased(2), options), "error", "exclude each other"));
}
