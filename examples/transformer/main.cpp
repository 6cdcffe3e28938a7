// Trains a small transformer to continue a text, character by character, and lets it write.
//
//   transformer [TEXT [STEPS]]

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/train.hpp>

using namespace halftone;

namespace {

constexpr std::int64_t batch_size = 16, context = 64, width = 128, heads = 4, layers = 2;

/// The characters of a text as numbers from 0, in the order of their codes.
struct Alphabet {
  std::string characters;
  std::vector<std::int32_t> codes;  // of the text

  explicit Alphabet(const std::string& text) : characters(text) {
    std::sort(characters.begin(), characters.end());
    characters.erase(std::unique(characters.begin(), characters.end()), characters.end());
    for (const char c : text) codes.push_back(code(c));
  }
  std::int32_t code(char c) const {
    return static_cast<std::int32_t>(characters.find(c) % characters.size());
  }
};

AnyTensor weight(Graph& g, const Dims& shape, float deviation = 0.02f) {
  return {&g, g.add_variable({ElementType::float32, shape},
                             Initial{Initial::Rule::normal, 0, deviation}, "w")};
}
AnyTensor dense(Graph& g, AnyTensor x, std::int64_t in, std::int64_t out) {
  const AnyTensor bias{
      &g, g.add_variable({ElementType::float32, {out}}, Initial{Initial::Rule::fill, 0, 0}, "b")};
  return op::matmul(x, weight(g, {in, out})) + bias;
}
AnyTensor normalized(Graph& g, AnyTensor x) {
  return op::layer_normalization(x, parameter<float, Shape<width>>(g, "scale", ones),
                                 parameter<float, Shape<width>>(g, "shift", zeros));
}

/// Attention of each place to itself and those before it; x is [batch, context, width].
AnyTensor attention(Graph& g, AnyTensor x, AnyTensor mask, std::int64_t batch) {
  constexpr std::int64_t depth = width / heads;
  const AnyTensor split = constant(g, Dims{batch, context, heads, depth});
  const auto head = [&](const Dims& order) {
    return op::transpose(op::reshape(dense(g, x, width, width), split), {.perm = order});
  };
  const AnyTensor query = head({0, 2, 1, 3}), key = head({0, 2, 3, 1}), value = head({0, 2, 1, 3});
  const AnyTensor scores = op::matmul(query, key) * (1 / std::sqrt(float{depth})) + mask;
  const AnyTensor mixed = op::matmul(op::softmax(scores, {.axis = -1}), value);
  const AnyTensor joined = op::reshape(op::transpose(mixed, {.perm = {0, 2, 1, 3}}),
                                       constant(g, Dims{batch, context, width}));
  return dense(g, joined, width, width);
}

/// Logits [batch, context, characters] of the character that follows each one of `text`.
AnyTensor decoder(Graph& g, std::int64_t batch, std::int64_t characters) {
  const AnyTensor text = g.input<std::int32_t>("text", {batch, context});
  std::vector<float> future(static_cast<std::size_t>(context * context));
  for (std::int64_t i = 0; i < context; ++i) {
    for (std::int64_t j = i + 1; j < context; ++j) {
      future[static_cast<std::size_t>(i * context + j)] = -1e9f;
    }
  }
  const AnyTensor mask = constant<float>(g, future, {context, context});
  AnyTensor x =
      op::gather(weight(g, {characters, width}), text, {.axis = 0}) + weight(g, {context, width});
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    g.push_scope("layer" + std::to_string(layer));
    x = x + attention(g, normalized(g, x), mask, batch);
    x = x + dense(g, op::gelu(dense(g, normalized(g, x), width, 4 * width)), 4 * width, width);
    g.pop_scope();
  }
  x = dense(g, normalized(g, x), width, characters);
  output(g, x, "logits");
  return x;
}

/// What the network writes after a beginning: each character is drawn by its probability, the
/// likely ones a little more often (temperature 0.8).
std::string written(Session& net, const Alphabet& alphabet, const std::string& beginning,
                    std::size_t length) {
  std::mt19937 random(1);
  std::string text = beginning;
  Array<std::int32_t> window({1, context});
  while (text.size() < beginning.size() + length) {
    const std::size_t known = std::min<std::size_t>(text.size(), context);
    for (std::size_t i = 0; i < known; ++i) {
      window[i] = alphabet.code(text[text.size() - known + i]);
    }
    const auto result = net.run({{"text", window}});
    const std::size_t count = alphabet.characters.size();
    const auto logits = result[0].values<float>().subspan((known - 1) * count, count);
    const float largest = *std::max_element(logits.begin(), logits.end());
    std::vector<double> weights;
    for (const float x : logits) weights.push_back(std::exp((x - largest) / 0.8));
    std::discrete_distribution<std::size_t> next(weights.begin(), weights.end());
    text += alphabet.characters[next(random)];
  }
  return text;
}

int train_network(const std::string& path, int steps) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.size() < 2 * context) throw std::runtime_error(path + ": no text of some length");
  const Alphabet alphabet(text);
  const auto characters = static_cast<std::int64_t>(alphabet.characters.size());

  Graph plain;
  decoder(plain, 1, characters);
  Session net(std::move(plain), {.threads = 0});

  Graph graph;
  const AnyTensor logits = decoder(graph, batch_size, characters);
  const AnyTensor next = graph.input<std::int32_t>("next", {batch_size, context});
  const AnyTensor loss = op::nll_loss(op::softmax(logits, {.axis = -1}), next);
  train(graph, loss, Adam{.learning_rate = 2e-3f, .weight_decay = 0.01f});
  Session training(std::move(graph), {.outputs = {loss}, .threads = 0, .seed = 1});

  std::printf("%zu characters, %d different ones; %d layers, %d wide; %d steps of %d x %d\n",
              text.size(), static_cast<int>(characters), static_cast<int>(layers),
              static_cast<int>(width), steps, static_cast<int>(batch_size),
              static_cast<int>(context));
  std::printf("knowing nothing costs log(%d) = %.3f\n\n step   loss   characters/s\n",
              static_cast<int>(characters), std::log(static_cast<double>(characters)));
  std::mt19937 random(1);
  Array<std::int32_t> batch({batch_size, context}), following({batch_size, context});
  double first = 0, total = 0;
  int since = 0;
  auto start = std::chrono::steady_clock::now();
  for (int step = 1; step <= steps; ++step) {
    for (std::size_t b = 0; b < batch_size; ++b) {
      const std::size_t at = random() % (alphabet.codes.size() - context);
      const auto from = alphabet.codes.begin() + static_cast<std::ptrdiff_t>(at);
      std::copy_n(from, context, batch.begin() + b * context);
      std::copy_n(from + 1, context, following.begin() + b * context);
    }
    const auto result = training.run({{"text", batch}, {"next", following}});
    total += static_cast<double>(result[0].values<float>()[0]);
    ++since;
    if (step % 100 != 0 && step != steps && step != 1) continue;
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (step == 1) first = total;
    total /= since;
    std::printf("%5d %6.3f %14.0f\n", step, total,
                static_cast<double>(since * batch_size * context) / time.count());
    std::fflush(stdout);
    if (step == steps) break;
    total = 0;
    since = 0;
    start = std::chrono::steady_clock::now();
  }
  net.set_weights(training.weights());
  std::printf("\n%s\n", written(net, alphabet, "Alice ", 400).c_str());
  return total < 0.75 * first ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int steps = argc > 2 ? std::atoi(argv[2]) : 1000;
    return train_network(argc > 1 ? argv[1] : "examples/transformer/alice.txt",
                         steps < 1 ? 1 : steps);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.kind());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
