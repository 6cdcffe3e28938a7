// A program for PopART's public headers: adds two numbers.
#include <cstdio>
#include <map>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/logging.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/stepio.hpp>
#include <popart/tensorinfo.hpp>
#include <vector>

int main() {
  // The model: two inputs of one float each, and their sum.
  auto builder = popart::Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  popart::TensorInfo shape{"FLOAT", std::vector<int64_t>{1}};
  auto a = builder->addInputTensor(shape);
  auto b = builder->addInputTensor(shape);
  auto o = aiOnnx.add({a, b});
  builder->addOutputTensor(o);

  // The session: one batch in a step, every value of the sum comes back.
  auto dataFlow = popart::DataFlow(1, {{o, popart::AnchorReturnType("All")}});
  auto cpuDevice = popart::DeviceManager::createDeviceManager().createCpuDevice();
  auto session =
      popart::InferenceSession::createFromOnnxModel(builder->getModelProto(), dataFlow, cpuDevice);
  session->prepareDevice();

  // One step, on memory of the program's own.
  float rawA[1] = {3}, rawB[1] = {4}, rawOut[1] = {0};
  popart::NDArrayWrapper<float> aData(rawA, shape), bData(rawB, shape), out(rawOut, shape);
  std::map<popart::TensorId, popart::IArray&> inputs = {{a, aData}, {b, bData}};
  std::map<popart::TensorId, popart::IArray&> anchors = {{o, out}};
  popart::StepIO stepio(inputs, anchors);
  session->run(stepio);

  popart::logging::ir::info("Result is {}", out);
  std::printf("%g + %g = %g\n", rawA[0], rawB[0], rawOut[0]);
}
