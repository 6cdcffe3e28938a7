// The operators of ai.graphcore that the API reference has an example of.
#include <cmath>
#include <cstdio>
#include <map>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/stepio.hpp>
#include <string>
#include <vector>

#include "documents.hpp"

using namespace popart;

namespace {

ConstVoidData floats(const std::vector<float>& data, const Shape& shape) {
  return {data.data(), TensorInfo("FLOAT", shape)};
}

/// Runs a model without inputs and returns these tensors.
std::vector<std::vector<float>> values(Builder& builder, const std::vector<TensorId>& ids) {
  std::map<TensorId, AnchorReturnType> types;
  for (const TensorId& id : ids) {
    builder.addOutputTensor(id);
    types.emplace(id, AnchorReturnType("All"));
  }
  auto session =
      InferenceSession::createFromOnnxModel(builder.getModelProto(), DataFlow(1, types),
                                            DeviceManager::createDeviceManager().createCpuDevice());
  session->prepareDevice();
  std::vector<std::vector<float>> results;
  std::vector<NDArrayWrapper<float>> arrays;
  for (const TensorId& id : ids) {
    const TensorInfo info = session->getInfo(id);
    results.emplace_back(static_cast<std::size_t>(info.nelms()));
    arrays.emplace_back(results.back().data(), info.shape());
  }
  std::map<TensorId, IArray&> inputs, anchors;
  for (std::size_t i = 0; i < ids.size(); ++i) anchors.emplace(ids[i], arrays[i]);
  StepIO stepio(inputs, anchors);
  session->run(stepio);
  return results;
}

void print(const char* what, const std::vector<float>& numbers) {
  std::printf("  %s", what);
  for (const float x : numbers) std::printf(" %g", static_cast<double>(x));
  std::printf("\n");
}

void dynamic() {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  auto aiGraphcore = builder->aiGraphcoreOpset1();
  const std::vector<float> data{0, 1, 2, 3, 4}, part{10, 20};
  const uint32_t two[] = {2};
  const TensorId tensor = aiOnnx.constant(floats(data, {5}));
  const TensorId slice = aiOnnx.constant(floats(part, {2}));
  const TensorId offset = aiOnnx.constant(ConstVoidData{two, TensorInfo("UINT32", Shape{1})});
  const auto found =
      values(*builder, {aiGraphcore.dynamicslice({tensor, offset}, {0}, {2}, 0),
                        aiGraphcore.dynamicupdate({tensor, offset, slice}, {0}, {2}, 0),
                        aiGraphcore.dynamicadd({tensor, offset, slice}, {0}, {2}),
                        aiGraphcore.dynamiczero({tensor, offset}, {0}, {2})});
  print("slice = tensor[offset]:               ", found[0]);
  print("out = tensor, out[offset] = slice:    ", found[1]);
  print("out = tensor, out[offset] += slice:   ", found[2]);
  print("out = tensor, out[offset] = 0.0:      ", found[3]);
}

/// Shows that one multi-convolution does what several convolutions do.
void convolutions() {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  std::vector<float> image(16), kernel(4);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < kernel.size(); ++i) kernel[i] = static_cast<float>(i + 1);
  const std::vector<float> bias{0.5f};
  const TensorId x0 = aiOnnx.constant(floats(image, {1, 1, 4, 4}));
  const TensorId w0 = aiOnnx.constant(floats(kernel, {1, 1, 2, 2}));
  const TensorId b0 = aiOnnx.constant(floats(bias, {1}));
  const TensorId a0 = aiOnnx.conv({x0, w0, b0}), a1 = aiOnnx.conv({x0, w0});
  const std::vector<TensorId> both =
      builder->aiGraphcoreOpset1().multiconv({{x0, w0, b0}, {x0, w0}});
  const auto found = values(*builder, {a0, a1, both[0], both[1]});
  std::printf("  multiconv({{X0, W0, B0}, {X1, W1}}) is conv, conv: %s\n",
              found[0] == found[2] && found[1] == found[3] ? "yes" : "no");
}

}  // namespace

void operators() {
  dynamic();
  convolutions();
}
