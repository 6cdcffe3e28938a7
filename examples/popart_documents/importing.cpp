// "Importing graphs": sessions of a model that is in a file.
#include <cmath>
#include <cstdio>
#include <filesystem>
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

#include "documents.hpp"

using namespace popart;

namespace {

constexpr int64_t images = 4, classes = 10;

TensorId weight(Builder& builder, const Shape& shape, const std::string& name) {
  const TensorInfo info("FLOAT", shape);
  std::vector<float> data(static_cast<std::size_t>(info.nelms()));
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = std::sin(static_cast<float>(i) + 1) / static_cast<float>(shape.back() + 4);
  }
  return builder.addInitializedInputTensor(ConstVoidData{data.data(), info}, name);
}

/// A network of AlexNet's kinds of layers, for images of 3 x 32 x 32, written where torch.onnx.export
/// would write it: [images, classes] logarithms of probabilities.
void exportNetwork(const std::string& file) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId input =
      builder->addInputTensor(TensorInfo("FLOAT", Shape{images, 3, 32, 32}), "input.1");
  TensorId x =
      aiOnnx.conv({input, weight(*builder, {8, 3, 5, 5}, "conv1"), weight(*builder, {8}, "bias1")},
                  {1, 1}, 1, {5, 5}, {2, 2, 2, 2}, {2, 2});
  x = aiOnnx.maxpool({aiOnnx.relu({x})}, 1, {2, 2}, {0, 0, 0, 0}, 0, {2, 2})[0];
  x = aiOnnx.flatten({x}, 1);
  x = aiOnnx.gemm(
      {x, weight(*builder, {8 * 8 * 8, classes}, "fc"), weight(*builder, {classes}, "bias2")}, 1, 1,
      0, 0);
  x = aiOnnx.logsoftmax({x}, 1);
  builder->addOutputTensor(aiOnnx.identity({x}, "output"));
  builder->saveModelProto(file);
}

}  // namespace

void importing() {
  const std::string file =
      (std::filesystem::temp_directory_path() / "popart_documents_network.onnx").string();
  exportNetwork(file);

  // The names of the model's inputs and outputs.
  auto model = Builder::createFromOnnxModel(file);
  std::printf("  Inputs name: [%s]\n", model->getInputTensorIds().at(0).c_str());
  std::printf("  Outputs name: [%s]\n", model->getOutputTensorIds().at(0).c_str());

  // Inference: 100 executions of the model in one call of run.
  const int batches = 100;
  const TensorId output = "output";
  const DataFlow dataFlow(batches, {{output, AnchorReturnType("All")}});
  auto device = DeviceManager::createDeviceManager().createCpuDevice();
  auto session = InferenceSession::createFromOnnxModel(file, dataFlow, device);
  session->prepareDevice();
  std::vector<float> image(batches * images * 3 * 32 * 32), scores(batches * images * classes);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = std::cos(static_cast<float>(i % 997));
  NDArrayWrapper<float> in(image.data(), {batches, images, 3, 32, 32});
  NDArrayWrapper<float> out(scores.data(), {batches, images, classes});
  std::map<TensorId, IArray&> inputs{{"input.1", in}}, anchors{{output, out}};
  StepIO stepio(inputs, anchors);
  session->run(stepio);
  float sum = 0;
  for (int64_t c = 0; c < classes; ++c)
    sum += std::exp(scores[scores.size() - 1 - static_cast<std::size_t>(c)]);
  std::printf("  %zu scores; the probabilities of the last image sum to %.4f\n", scores.size(),
              static_cast<double>(sum));

  // Training: a loss is added to the model. The number of batches is that of weight updates.
  const TensorId labels = model->addInputTensor(TensorInfo("INT32", Shape{images}), "labels");
  const TensorId loss =
      model->aiGraphcoreOpset1().nllloss({output, labels}, ReductionType::Mean, {}, true);
  auto training = TrainingSession::createFromOnnxModel(
      model->getModelProto(), DataFlow(batches, {{loss, AnchorReturnType("All")}}), loss,
      ConstSGD(0.001f), device);
  training->prepareDevice();
  training->weightsFromHost();
  std::vector<int32_t> label(batches * images);
  for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<int32_t>(i % classes);
  std::vector<float> losses(batches);
  NDArrayWrapper<int32_t> given(label.data(), {batches, images});
  NDArrayWrapper<float> lossOut(losses.data(), {batches});
  std::map<TensorId, IArray&> trainInputs{{"input.1", in}, {labels, given}},
      lossAnchor{{loss, lossOut}};
  StepIO trainio(trainInputs, lossAnchor);
  training->run(trainio);
  std::printf("  %zu losses, the last one is %s the first one\n", losses.size(),
              losses.back() < losses.front() ? "below" : "not below");
  std::filesystem::remove(file);
}
