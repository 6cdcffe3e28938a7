// Handwritten digits:
//
//   digits classify [FOLDER]     with a trained network
//   digits train [FOLDER]        trains one from random weights
//
// FOLDER holds digits.csv, cnn_trained.onnx and cnn_untrained.onnx.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/onnx.hpp>
#include <halftone/train.hpp>

#include "images.hpp"

using namespace halftone;
using namespace digits;

namespace {

using Clock = std::chrono::steady_clock;

int classify(const std::string& folder) {
  constexpr int expected_right = 358;
  const std::vector<Image> all = read_images(folder);
  const auto images = std::span(all).last(test_images);

  Session net(onnx::load(folder + "/cnn_trained.onnx"));

  // All images in one batch.
  const Array<float> batch = batch_of(images);
  const auto result = net.run({{"image", batch}});
  const std::span<const float> logits = result["logits"].values<float>();
  show(images.first(4), logits);
  const int right = report(images, logits);

  // One by one, as they would come from a camera.
  Array<float> image({1, 1, 8, 8});
  std::vector<double> microseconds;
  for (int repetition = 0; repetition < 10; ++repetition) {
    for (const Image& next : images) {
      image.assign(next.values);
      const auto start = Clock::now();
      net.run({{"image", image}});
      const std::chrono::duration<double, std::micro> time = Clock::now() - start;
      microseconds.push_back(time.count());
    }
  }
  std::nth_element(microseconds.begin(), microseconds.begin() + microseconds.size() / 2,
                   microseconds.end());
  std::printf("one image takes %.1f us (median of %zu runs, one thread)\n",
              microseconds[microseconds.size() / 2], microseconds.size());
  return right >= expected_right ? 0 : 1;
}

int train_network(const std::string& folder) {
  constexpr std::size_t batch_size = 32, epochs = 15;
  constexpr double share_right = 0.97, seconds_allowed = 30;
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const std::vector<Image> all = read_images(folder);
  const auto test = std::span(all).last(test_images);
  const auto known = std::span(all).first(all.size() - test_images);

  // The network with a loss, its gradients and an optimizer; and as it is, for tests.
  const std::string path = folder + "/cnn_untrained.onnx";
  Graph graph = onnx::load(path, {.sizes = {{"batch", batch_size}}});
  const AnyTensor label = graph.input<std::int32_t>("label", {batch_size});
  const AnyTensor loss = op::nll_loss(op::softmax(graph["logits"]), label);
  train(graph, loss, Adam{.learning_rate = 2e-3f});
  Session training(std::move(graph), {.outputs = {"logits", loss}, .threads = 0});
  Session net(onnx::load(path));
  const Weights weights = training.weights();  // a view: as training leaves them

  std::printf("training from random weights: %zu images in batches of %zu, Adam\n\n", known.size(),
              batch_size);
  std::printf("epoch   loss   right in training   right in the test\n");
  std::vector<std::size_t> order(known.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(1);
  std::vector<Image> images(batch_size);
  Array<std::int32_t> labels({batch_size});
  const Array<float> test_batch = batch_of(test);
  for (std::size_t epoch = 1; epoch <= epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), random);
    double total = 0;
    int right = 0;
    const std::size_t batches = known.size() / batch_size;
    for (std::size_t b = 0; b < batches; ++b) {
      for (std::size_t i = 0; i < batch_size; ++i) {
        images[i] = known[order[b * batch_size + i]];
        labels[i] = images[i].label;
      }
      const auto step = training.run({{"image", batch_of(images)}, {"label", labels}});
      total += static_cast<double>(step[1].values<float>()[0]);
      right += count_right(images, step["logits"].values<float>());
    }
    net.set_weights(weights);
    const auto result = net.run({{"image", test_batch}});
    std::printf("%5zu %6.3f            %5.1f %%             %5.1f %%\n", epoch,
                total / static_cast<double>(batches),
                100.0 * right / static_cast<double>(batches * batch_size),
                100.0 * count_right(test, result["logits"].values<float>()) / test_images);
    std::fflush(stdout);
  }
  std::printf("\nin %.1f s; ", seconds());
  const auto result = net.run({{"image", test_batch}});
  const int right = report(test, result["logits"].values<float>());
  return right >= share_right * test_images && seconds() < seconds_allowed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const std::string folder = argc > 2 ? argv[2] : "examples/digits";
  try {
    if (what == "classify") return classify(folder);
    if (what == "train") return train_network(folder);
    std::fprintf(stderr, "digits classify|train [FOLDER]\n");
    return 2;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
