// Trains a convolutional network on Fashion-MNIST: 60,000 images of clothes, 28 x 28 pixels.
//
//   fashion [FOLDER [EPOCHS]]
//
// FOLDER holds the four files of the data set, as examples/fashion/run unpacks them.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/train.hpp>

using namespace halftone;

namespace {

constexpr std::int64_t batch_size = 64, pixels = 28 * 28, classes = 10;
constexpr const char* names[classes]{"T-shirt", "trouser", "pullover", "dress", "coat",
                                     "sandal",  "shirt",   "sneaker",  "bag",   "boot"};

/// The bytes of a file of MNIST's format behind its header of 4 + 4 * dimensions bytes.
std::vector<std::uint8_t> read_idx(const std::string& path, std::size_t header) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
  if (bytes.size() < header) throw std::runtime_error(path + " cannot be read");
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return bytes;
}

struct Samples {
  std::vector<std::uint8_t> images, labels;
  std::size_t size() const { return labels.size(); }
};

Samples read_samples(const std::string& start) {
  Samples samples{read_idx(start + "-images-idx3-ubyte", 16),
                  read_idx(start + "-labels-idx1-ubyte", 8)};
  if (samples.size() < batch_size || samples.images.size() != samples.size() * pixels) {
    throw std::runtime_error(start + ": images and labels do not belong together");
  }
  return samples;
}

constexpr op::Conv same{.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}};
constexpr op::MaxPool halved = [] {
  op::MaxPool pool;
  pool.kernel_shape = pool.strides = {2, 2};
  return pool;
}();

/// 3 x 3 convolution, batch normalization, Relu and maxima of 2 x 2.
template <int In, int Out>
auto block(Graph& g, auto x) {
  using Vector = Shape<Out>;
  const auto y = apply<same>(x, parameter<float, Shape<Out, In, 3, 3>>(g, "filters"));
  const auto z = op::batch_normalization(
      y, parameter<float, Vector>(g, "scale", ones), parameter<float, Vector>(g, "shift", zeros),
      parameter<float, Vector>(g, "mean", zeros), parameter<float, Vector>(g, "variance", ones));
  return apply<halved>(op::relu(z));
}

template <int In, int Out>
auto dense(Graph& g, auto x) {
  return op::matmul(x, parameter<float, Shape<In, Out>>(g, "weight")) +
         parameter<float, Shape<Out>>(g, "bias", zeros);
}

/// Two blocks and two dense layers, 422 thousand weights. The compiler checks all shapes.
Tensor<float, Shape<batch_size, classes>> network(Graph& g) {
  const auto image = input<float, Shape<batch_size, 1, 28, 28>>(g, "image");
  const auto x = op::flatten(block<32, 64>(g, block<1, 32>(g, image)));
  const auto logits = dense<128, classes>(g, op::relu(dense<64 * 7 * 7, 128>(g, x)));
  output(g, logits, "logits");
  return logits;
}

/// A batch of samples as the network takes it.
struct Batch {
  Array<float> images{{batch_size, 1, 28, 28}};
  Array<std::int32_t> labels{{batch_size}};

  void put(std::size_t place, const Samples& samples, std::size_t which) {
    const std::uint8_t* const from = samples.images.data() + which * pixels;
    float* const to = images.begin() + place * pixels;
    for (std::int64_t i = 0; i < pixels; ++i) to[i] = static_cast<float>(from[i]) / 255;
    labels[place] = samples.labels[which];
  }
};

/// The class that the network takes each image of a batch for.
std::vector<int> answers(std::span<const float> logits) {
  std::vector<int> all;
  for (std::int64_t i = 0; i < batch_size; ++i) {
    const auto own = logits.subspan(static_cast<std::size_t>(i * classes), classes);
    all.push_back(static_cast<int>(std::max_element(own.begin(), own.end()) - own.begin()));
  }
  return all;
}

/// How often which class was taken for which.
using Confusion = std::vector<std::vector<int>>;

double share_right(const Confusion& confusion) {
  int right = 0, all = 0;
  for (std::size_t i = 0; i < confusion.size(); ++i) {
    right += confusion[i][i];
    all += std::accumulate(confusion[i].begin(), confusion[i].end(), 0);
  }
  return static_cast<double>(right) / all;
}

Confusion test(Session& net, const Samples& samples) {
  Confusion confusion(classes, std::vector<int>(classes));
  Batch batch;
  for (std::size_t first = 0; first < samples.size(); first += batch_size) {
    const std::size_t count = std::min<std::size_t>(batch_size, samples.size() - first);
    for (std::size_t i = 0; i < batch_size; ++i) batch.put(i, samples, first + i % count);
    const auto result = net.run({{"image", batch.images}});
    const std::vector<int> found = answers(result[0].values<float>());
    for (std::size_t i = 0; i < count; ++i) {
      ++confusion[static_cast<std::size_t>(batch.labels[i])][static_cast<std::size_t>(found[i])];
    }
  }
  return confusion;
}

int train_network(const std::string& folder, int epochs) {
  const Samples known = read_samples(folder + "/train"), unknown = read_samples(folder + "/t10k");

  Graph graph;
  const auto logits = network(graph);
  Session net(graph, {.threads = 0});  // the network alone, for tests
  const auto label = input<std::int32_t, Shape<batch_size>>(graph, "label");
  const auto loss = op::nll_loss(op::softmax(logits), label);
  train(graph, loss, Adam{.learning_rate = 1e-3f});
  Session training(std::move(graph), {.outputs = {loss}, .threads = 0, .seed = 1});
  const Weights weights = training.weights();  // a view: as training leaves them

  const std::size_t steps = known.size() / batch_size;
  std::printf("training on %zu images of clothes in batches of %d, Adam\n\n", known.size(),
              static_cast<int>(batch_size));
  std::printf("epoch   step   loss   images/s   right in the test\n");
  std::vector<std::size_t> order(known.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(1);
  Batch batch;
  Confusion confusion;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), random);
    double total = 0;
    std::size_t since = 0;
    auto start = std::chrono::steady_clock::now();
    for (std::size_t step = 1; step <= steps; ++step) {
      for (std::size_t i = 0; i < batch_size; ++i) {
        batch.put(i, known, order[(step - 1) * batch_size + i]);
      }
      const auto result = training.run({{"image", batch.images}, {"label", batch.labels}});
      total += static_cast<double>(result[0].values<float>()[0]);
      ++since;
      if (step % 300 != 0 && step != steps) continue;
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      std::printf("%5d %6zu %6.3f %10.0f", epoch, step, total / static_cast<double>(since),
                  static_cast<double>(since * batch_size) / time.count());
      if (step == steps) {
        net.set_weights(weights);
        confusion = test(net, unknown);
        std::printf("             %5.2f %%", 100 * share_right(confusion));
      }
      std::printf("\n");
      std::fflush(stdout);
      total = 0;
      since = 0;
      start = std::chrono::steady_clock::now();
    }
  }
  std::printf("\nwhat it sees in 1000 of each\n\n%-9s", "");
  for (const char* name : names) std::printf("%9s", name);
  for (std::size_t i = 0; i < classes; ++i) {
    std::printf("\n%-9s", names[i]);
    for (const int count : confusion[i]) std::printf("%9d", count);
  }
  std::printf("\n");
  return share_right(confusion) >= 0.88 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int epochs = argc > 2 ? std::atoi(argv[2]) : 2;
    return train_network(argc > 1 ? argv[1] : "build/fashion", epochs < 1 ? 1 : epochs);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
