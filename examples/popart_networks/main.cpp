// AlexNet and an encoder of 12 layers, made with PopART's builder and run with random weights.
#include <chrono>
#include <cstdio>
#include <map>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/stepio.hpp>
#include <vector>

#include "networks.hpp"

namespace {

using Extents = std::vector<int64_t>;

std::size_t elements_of(const Extents& shape) {
  std::size_t elements = 1;
  for (const int64_t extent : shape) elements *= static_cast<std::size_t>(extent);
  return elements;
}

void show(const char* name, const NetworkBuilder& network, const popart::TensorId& in,
          const Extents& in_shape, const popart::TensorId& out, const Extents& out_shape) {
  auto session = popart::InferenceSession::createFromOnnxModel(
      network.model(), popart::DataFlow(1, {{out, popart::AnchorReturnType("All")}}),
      popart::DeviceManager::createDeviceManager().createCpuDevice());
  session->prepareDevice();

  std::vector<float> x(elements_of(in_shape)), y(elements_of(out_shape));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 255) / 255;
  popart::NDArrayWrapper<float> given(x.data(), in_shape), taken(y.data(), out_shape);
  std::map<popart::TensorId, popart::IArray&> inputs{{in, given}}, anchors{{out, taken}};
  popart::StepIO io(inputs, anchors);
  session->run(io);
  const auto begin = std::chrono::steady_clock::now();
  session->run(io);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;

  double sum = 0;
  for (const float value : y) sum += static_cast<double>(value);
  std::printf("%-8s %5.1f M parameters  %7.1f ms a step  mean of the results %g\n", name,
              static_cast<double>(network.parameters()) * 1e-6, time.count(),
              sum / static_cast<double>(y.size()));
}

}  // namespace

int main() {
  {
    NetworkBuilder network;
    const popart::TensorId logits = network.alexnet(1);
    show("alexnet", network, "image", {1, 3, 224, 224}, logits, {1, 1000});
  }
  NetworkBuilder network;
  const popart::TensorId y = network.encoder(1, 128);
  show("encoder", network, "x", {1, 128, 768}, y, {1, 128, 768});
}
