#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/logging.hpp>
#include <popart/names.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/stepio.hpp>
#include <popart/tensordebuginfo.hpp>
#include <popart/tensorinfo.hpp>
#include <string>
#include <vector>

// A program for PopART's public headers, as it stands: two inputs, their sum, one step.
TEST_CASE("popart: a program that adds two tensors compiles unchanged and gives the sum") {
  auto builder = popart::Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();

  popart::TensorInfo shape{"FLOAT", std::vector<int64_t>{1}};
  auto a = builder->addInputTensor(shape);
  auto b = builder->addInputTensor(shape);
  auto o = aiOnnx.add({a, b});
  builder->addOutputTensor(o);

  auto proto = builder->getModelProto();
  auto dataFlow = popart::DataFlow(1, {{o, popart::AnchorReturnType("All")}});
  auto cpuDevice = popart::DeviceManager::createDeviceManager().createCpuDevice();
  auto session = popart::InferenceSession::createFromOnnxModel(proto, dataFlow, cpuDevice);
  session->prepareDevice();

  float rawOutput[1] = {0};
  popart::NDArrayWrapper<float> output(rawOutput, {1});
  std::map<popart::TensorId, popart::IArray&> anchors = {{o, output}};

  float rawA[1] = {2.5f}, rawB[1] = {4.f};
  popart::NDArrayWrapper<float> aData(rawA, {1});
  popart::NDArrayWrapper<float> bData(rawB, {1});
  std::map<popart::TensorId, popart::IArray&> inputs = {{a, aData}, {b, bData}};

  popart::StepIO stepio(inputs, anchors);
  session->run(stepio);

  popart::logging::ir::info("Result is {}", output);
  CHECK(rawOutput[0] == 6.5f);
  CHECK(popart::logging::format("Result is {}", output) == "Result is {6.5}");
}
