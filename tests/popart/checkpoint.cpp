// Session::modelToHost writes the model that came, with today's weights: PopART's documentation.
#include <doctest/doctest.h>

#include <popart/adam.hpp>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <string>
#include <vector>

#include "../folder.hpp"
#include "errors.hpp"
#include "step.hpp"

using namespace popart;
using namespace popart_test;

namespace {

struct Model {
  std::string proto;
  TensorId loss, y;
};

/// l = sum(|w x|), with operators of ai.graphcore, a name scope and attributes of PopART's and of the
/// program's own.
Model model() {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset10();
  auto aiGraphcore = builder->aiGraphcoreOpset1();
  const TensorInfo info{"FLOAT", Shape{2}};
  const TensorId x = builder->addInputTensor(info, "x");
  const float data[] = {1, 2};
  const TensorId w = builder->addInitializedInputTensor({data, info}, "w");
  builder->pushNameScope("scope");
  const TensorId y = aiOnnx.mul({w, x}, "y");
  builder->popNameScope();
  builder->pipelineStage(y, 0);
  builder->excludePatterns(y, {"PreUniRepl"});
  builder->addNodeAttribute("mine", int64_t{3}, {y});
  const TensorId l = aiGraphcore.l1loss({y}, 1.f, ReductionType::Sum, "l");
  builder->embedReplicationFactor(1);
  return {builder->getModelProto(), l, y};
}

std::string textOf(const std::string& modelOrFile) {
  return Builder::createFromOnnxModel(modelOrFile)->getModelProto(true);
}

}  // namespace

TEST_CASE("popart checkpoint: a model that was not changed is written as it came") {
  const test::Folder folder;
  const std::string file = folder / "saved.onnx";
  const Model given = model();
  auto inference = InferenceSession::createFromOnnxModel(
      given.proto, DataFlow(1, {{given.y, AnchorReturnType("All")}}), cpu());
  inference->prepareDevice();
  inference->modelToHost(file);
  CHECK(textOf(file) == textOf(given.proto));

  auto training = TrainingSession::createFromOnnxModel(given.proto, DataFlow(1), given.loss,
                                                       ConstSGD(0.5f), cpu());
  training->prepareDevice();
  training->modelToHost(file);
  CHECK(textOf(file) == textOf(given.proto));
}

// A law: from the same weights and state, steps are the same.
TEST_CASE("popart checkpoint: weightsFromHost brings back the state, too") {
  const Model given = model();
  const TensorId w = "UpdatedVar___w";
  const SGD sgd({{"defaultLearningRate", {0.5f, true}}, {"defaultMomentum", {0.5f, true}}});
  const Adam adam({{"defaultLearningRate", {0.5f, true}}}, AdamMode::AdamNoBias, DataType::FLOAT,
                  DataType::FLOAT, DataType::FLOAT);
  for (const Optimizer* optimizer :
       {static_cast<const Optimizer*>(&sgd), static_cast<const Optimizer*>(&adam)}) {
    auto session = TrainingSession::createFromOnnxModel(
        given.proto, DataFlow(1, {{w, AnchorReturnType("All")}}), given.loss, *optimizer, cpu());
    session->prepareDevice();
    const auto two_steps = [&] {
      session->weightsFromHost();
      step(*session, {{"x", {1, 3}}}, {{w, 2}});
      return step(*session, {{"x", {2, 1}}}, {{w, 2}}).at(w);
    };
    const std::vector<float> first = two_steps();
    CHECK(two_steps() == first);
  }
}

TEST_CASE("popart checkpoint: new weights and state, and a builder goes on") {
  const test::Folder folder;
  const std::string file = folder / "saved.onnx";
  const Model given = model();
  const Adam adam({{"defaultLearningRate", {0.5f, true}}, {"defaultEps", {1e-6f, true}}},
                  AdamMode::AdamNoBias, DataType::FLOAT, DataType::FLOAT, DataType::FLOAT);
  auto session =
      TrainingSession::createFromOnnxModel(given.proto, DataFlow(1), given.loss, adam, cpu());
  session->prepareDevice();
  session->weightsFromHost();
  step(*session, {{"x", {1, 1}}}, {});
  session->modelToHost(file);
  const std::vector<float> trained = weight(*session, "w");
  CHECK(trained != std::vector<float>{1, 2});

  auto builder = Builder::createFromOnnxModel(file);
  CHECK(builder->getInputTensorIds() ==
        Builder::createFromOnnxModel(given.proto)->getInputTensorIds());
  CHECK(builder->getInt64NodeAttribute(sPipelineStageAttribute, {given.y}) == 0);
  CHECK(builder->getInt64NodeAttribute("mine", {given.y}) == 3);
  CHECK(builder->getStringVectorNodeAttribute(sExcludePatternsAttribute, {given.y}) ==
        std::vector<std::string>{"PreUniRepl"});
  for (const char* id : {"w", "Accl1___w", "Accl2___w"}) CHECK(builder->isInitializer(id));
  // A further operator of the same opset: the new weight can be read through it.
  const TensorId twice = builder->aiOnnxOpset10().add({"w", "w"});
  auto next = InferenceSession::createFromOnnxModel(
      builder->getModelProto(), DataFlow(1, {{twice, AnchorReturnType("All")}}), cpu());
  next->prepareDevice();
  next->weightsFromHost();
  CHECK(step(*next, {}, {{twice, 2}}).at(twice) ==
        std::vector<float>{2 * trained[0], 2 * trained[1]});
}
