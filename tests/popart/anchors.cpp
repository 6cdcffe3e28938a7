// Which tensors a session returns: PopART's documentation of anchors, and the chain rule.
#include <doctest/doctest.h>

#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <string>
#include <vector>

#include "errors.hpp"
#include "step.hpp"

using namespace popart;
using namespace popart_test;

namespace {

struct Model {
  std::string proto;
  TensorId loss;
};

/// l = sum(w h) with h = x^2; no tensor is an output of the model.
Model squares() {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{2}};
  const TensorId x = builder->addInputTensor(info, "x");
  const float data[] = {3, 5};
  const TensorId w = builder->addInitializedInputTensor({data, info}, "w");
  const float unusedData[] = {1, 1};
  const TensorId unused = builder->addInitializedInputTensor({unusedData, info}, "v");
  aiOnnx.mul({unused, x}, "aside");
  const TensorId h = aiOnnx.mul({x, x}, "h");
  const TensorId l = aiOnnx.reducesum({aiOnnx.mul({w, h}, "y")}, std::vector<int64_t>{0}, 0, "l");
  return {builder->getModelProto(), l};
}

std::shared_ptr<DeviceInfo> ipu() {
  std::map<std::string, std::string> options;
  return DeviceManager::createDeviceManager().createIpuModelDevice(options);
}

}  // namespace

TEST_CASE("popart anchors: they are what a model without outputs returns") {
  auto session = InferenceSession::createFromOnnxModel(
      squares().proto, DataFlow(1, {{"h", AnchorReturnType("All")}}), cpu());
  session->prepareDevice();
  session->weightsFromHost();
  CHECK(step(*session, {{"x", {2, 3}}}, {{"h", 2}}).at("h") == std::vector<float>{4, 9});
}

TEST_CASE("popart anchors: a session that has nothing to compute") {
  for (const char* anchor : {"x", "w"}) {
    const std::string text = error_of([&] {
      InferenceSession::createFromOnnxModel(
          squares().proto, DataFlow(1, {{anchor, AnchorReturnType("All")}}), cpu());
    });
    CHECK(is(text, "error", "All operations in the main graph were pruned, nothing to compute"));
  }
}

// PopART warns of an input that is given though nothing reads it.
TEST_CASE("popart anchors: inputs that no anchor needs may be given or left out") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{2}};
  const TensorId x = builder->addInputTensor(info, "x"), z = builder->addInputTensor(info, "z");
  const TensorId y = aiOnnx.add({x, x});
  builder->addOutputTensor(aiOnnx.mul({y, z}));
  auto session = InferenceSession::createFromOnnxModel(
      builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}}), cpu());
  session->prepareDevice();
  CHECK(step(*session, {{"x", {2, 3}}, {"z", {1, 1}}}, {{y, 2}}).at(y) == std::vector<float>{4, 6});
  CHECK(step(*session, {{"x", {1, 3}}}, {{y, 2}}).at(y) == std::vector<float>{2, 6});
}

// dl/dl = s, dl/dy = s, dl/dh = s w, dl/dx = 2 s w x, dl/dw = s x^2 for a loss scaling s.
TEST_CASE("popart anchors: gradients of all tensors on the way to the loss") {
  const Model model = squares();
  const TensorId loss = model.loss;
  for (const auto& device : {cpu(), ipu()}) {
    for (const int accumulation : {1, 2}) {
      SessionOptions options;
      options.enableGradientAccumulation = accumulation > 1;
      options.accumulationFactor = accumulation;
      std::map<TensorId, AnchorReturnType> anchors;
      for (const TensorId& id :
           {loss, TensorId("y"), TensorId("h"), TensorId("x"), TensorId("w")}) {
        anchors["Gradient___" + id] = AnchorReturnType("All");
      }
      const SGD sgd({{"defaultLearningRate", {0.5f, true}}, {"lossScaling", {4, true}}});
      auto session = TrainingSession::createFromOnnxModel(model.proto, DataFlow(1, anchors), loss,
                                                          sgd, device, {}, options);
      session->prepareDevice();
      session->weightsFromHost();
      const auto both = [&](std::vector<float> first, const std::vector<float>& second) {
        if (accumulation > 1) first.insert(first.end(), second.begin(), second.end());
        return first;
      };
      const std::size_t n = static_cast<std::size_t>(accumulation);
      const Values out = step(*session, {{"x", both({1, 2}, {3, 4})}},
                              {{"Gradient___" + loss, n},
                               {"Gradient___y", 2 * n},
                               {"Gradient___h", 2 * n},
                               {"Gradient___x", 2 * n},
                               {"Gradient___w", 2 * n}});
      CHECK(out.at("Gradient___" + loss) == both({4}, {4}));
      CHECK(out.at("Gradient___y") == both({4, 4}, {4, 4}));
      CHECK(out.at("Gradient___h") == both({12, 20}, {12, 20}));
      CHECK(out.at("Gradient___x") == both({24, 80}, {72, 160}));
      CHECK(out.at("Gradient___w") == both({4, 16}, {36, 64}));
      // w - 0.5 (sum of x^2); the weight beside the way to the loss is not trained.
      CHECK(weight(*session, "w") ==
            (accumulation == 1 ? std::vector<float>{2.5f, 3} : std::vector<float>{-2, -5}));
      CHECK(weight(*session, "v") == std::vector<float>{1, 1});
    }
  }
}

TEST_CASE("popart anchors: there are no gradients beside the way to the loss") {
  const Model model = squares();
  for (const char* anchor : {"Gradient___aside", "Gradient___v", "Gradient___none"}) {
    const std::string text = error_of([&] {
      TrainingSession::createFromOnnxModel(model.proto,
                                           DataFlow(1, {{anchor, AnchorReturnType("All")}}),
                                           model.loss, ConstSGD(0.5f), cpu());
    });
    CHECK(is(text, "error", "not in Ir Tensors"));
  }
}

// The law: how a session runs changes no gradient.
TEST_CASE("popart anchors: gradients of pipelines, replicas and what is computed again") {
  const auto modelOf = [](bool hasStages) {
    auto builder = Builder::create();
    auto aiOnnx = builder->aiOnnxOpset9();
    const TensorInfo info{"FLOAT", Shape{2}};
    const TensorId x = builder->addInputTensor(info, "x");
    const float data[] = {3, 5};
    const TensorId w = builder->addInitializedInputTensor({data, info}, "w");
    const TensorId h = aiOnnx.tanh({aiOnnx.mul({w, x})}, "h");
    const TensorId y = aiOnnx.mul({h, h}, "y");
    const TensorId l = aiOnnx.reducesum({y}, std::vector<int64_t>{0}, 0, "l");
    if (hasStages) {
      const TensorId inner = builder->getValueTensorIds().front();
      for (const TensorId& id : {inner, h}) {
        builder->virtualGraph(id, 0);
        builder->pipelineStage(id, 0);
      }
      for (const TensorId& id : {y, l}) {
        builder->virtualGraph(id, 1);
        builder->pipelineStage(id, 1);
      }
    }
    return Model{builder->getModelProto(), l};
  };
  const auto gradientsOf = [&](const SessionOptions& options, std::size_t samples,
                               const std::string& ipus) {
    const Model model = modelOf(options.enablePipelining);
    std::map<TensorId, AnchorReturnType> anchors;
    std::map<TensorId, std::size_t> sizes;
    for (const char* id : {"Gradient___h", "Gradient___x"}) {
      anchors[id] = AnchorReturnType("All");
      sizes[id] = 2 * samples;
    }
    std::map<std::string, std::string> machine{{"numIPUs", ipus}};
    auto session = TrainingSession::createFromOnnxModel(
        model.proto, DataFlow(1, anchors), model.loss, ConstSGD(0.5f),
        DeviceManager::createDeviceManager().createIpuModelDevice(machine), {}, options);
    session->prepareDevice();
    session->weightsFromHost();
    std::vector<float> x;
    for (std::size_t i = 0; i < 2 * samples; ++i) x.push_back(0.125f * static_cast<float>(i % 7));
    return step(*session, {{"x", x}}, sizes);
  };
  SessionOptions plain;
  plain.enableGradientAccumulation = true;
  plain.accumulationFactor = 4;
  const Values expected = gradientsOf(plain, 4, "1");
  SessionOptions again = plain;
  again.autoRecomputation = RecomputationType::RecomputeAll;
  CHECK(gradientsOf(again, 4, "1") == expected);
  SessionOptions pipeline = plain;
  pipeline.virtualGraphMode = VirtualGraphMode::Manual;
  pipeline.enablePipelining = true;
  CHECK(gradientsOf(pipeline, 4, "2") == expected);
  SessionOptions replicas = plain;
  replicas.accumulationFactor = 2;
  replicas.enableReplicatedGraphs = true;
  replicas.replicatedGraphCount = 2;
  CHECK(gradientsOf(replicas, 4, "2") == expected);
}
