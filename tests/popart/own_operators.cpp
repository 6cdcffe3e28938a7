// Operators of the program's own in builders and sessions: y = x^3, whose gradient is 3 x^2.
#include <doctest/doctest.h>

#include <halftone/halftone.hpp>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/registeroperators.hpp>
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

struct Cube {
  static constexpr halftone::OpId id{"popart_test", "Cube", 1};
  static constexpr halftone::Signature signature = "x -> y";
  static constexpr auto forward(auto x) { return x * x * x; }
  static constexpr auto backward(auto dy, auto x) { return dy * 3 * x * x; }
};
using cube_ops = halftone::builtin::with<Cube>;

struct Model {
  std::string proto;
  TensorId y, loss;
  Shape shape;
};

Model model() {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{2}};
  const TensorId x = builder->addInputTensor(info, "x");
  const float data[] = {1, 2};
  const TensorId w = builder->addInitializedInputTensor({data, info}, "w");
  const TensorId y =
      builder->customOp({"popart_test", "Cube", 1}, 1, {aiOnnx.mul({w, x})}, 1, {}, "y")[0];
  const Shape shape = builder->hasValueInfo(y) ? builder->getTensorShape(y) : Shape{};
  const TensorId loss = aiOnnx.reducesum({y}, std::vector<int64_t>{0}, 0, "l");
  return {builder->getModelProto(), y, loss, shape};
}

std::shared_ptr<DeviceInfo> ipu() {
  std::map<std::string, std::string> options;
  return DeviceManager::createDeviceManager().createIpuModelDevice(options);
}

}  // namespace

TEST_CASE("popart own operators: builders and both sessions know what is registered") {
  registerOperators(cube_ops::table);
  registerOperators(cube_ops::table);  // once more changes nothing
  const Model m = model();
  CHECK(m.shape == Shape{2});
  const DataFlow flow(1, {{m.y, AnchorReturnType("All")}});
  for (const auto& device : {cpu(), ipu()}) {
    auto inference = InferenceSession::createFromOnnxModel(m.proto, flow, device);
    inference->prepareDevice();
    inference->weightsFromHost();
    CHECK(step(*inference, {{"x", {2, 1}}}, {{m.y, 2}}).at(m.y) == std::vector<float>{8, 8});
    auto training =
        TrainingSession::createFromOnnxModel(m.proto, flow, m.loss, ConstSGD(0.5f), device);
    training->prepareDevice();
    training->weightsFromHost();
    step(*training, {{"x", {1, 1}}}, {{m.y, 2}});
    // w - 0.5 * 3 w^2
    CHECK(weight(*training, "w") == std::vector<float>{-0.5f, -4});
  }
  CHECK(Builder::createFromOnnxModel(m.proto)->hasValueInfo(m.y));
}

TEST_CASE("popart own operators: executables that have them are loaded") {
  registerOperators(cube_ops::table);
  const Model m = model();
  const test::Folder folder;
  const DataFlow flow(1, {{m.y, AnchorReturnType("All")}});
  InferenceSession::createFromOnnxModel(m.proto, flow, cpu())->compileAndExport(folder / "cube");
  auto loaded = InferenceSession::createFromOnnxModel(m.proto, flow, cpu());
  loaded->loadExecutableFromFile(folder / "cube");
  loaded->weightsFromHost();
  CHECK(step(*loaded, {{"x", {2, 1}}}, {{m.y, 2}}).at(m.y) == std::vector<float>{8, 8});
}
