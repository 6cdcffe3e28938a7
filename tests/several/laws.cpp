#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <halftone/train.hpp>

#include "../../bench/networks.hpp"

// How a training is spread over time and machines changes no bit of it: each law compares all losses
// and variables with those of the plain training.

using namespace halftone;

namespace {

struct Network {
  const char* name;
  Graph (*make)(std::int64_t batch);
  std::int64_t classes;
  bool has_statistics = false;  ///< running ones, which replicas average
};

/// A layer of a transformer's encoder with dropout (Vaswani et al. 2017), 8 tokens of 32 numbers.
Graph encoder(std::int64_t batch) {
  constexpr std::int64_t tokens = 8, width = 32;
  Graph g;
  AnyTensor x = g.input<float>("x", {batch, tokens, width});
  const auto dropped = [&](const AnyTensor& y) { return AnyTensor(op::dropout(y)); };
  for (int layer = 0; layer < 2; ++layer) {
    const AnyTensor attended = networks::attention(g, x, width, 2);
    x = networks::layer_norm(g, x + dropped(attended), width);
    const AnyTensor hidden = op::gelu(networks::linear(g, x, width, 4 * width));
    x = networks::layer_norm(g, x + dropped(networks::linear(g, hidden, 4 * width, width)), width);
  }
  output(g, networks::dense(g, op::flatten(x), tokens * width, 4), "logits");
  return g;
}

const Network all[]{
    {"mlp", [](std::int64_t batch) { return networks::mlp(batch); }, 10},
    {"lenet", [](std::int64_t batch) { return networks::lenet(batch); }, 10},
    {"resnet18", [](std::int64_t batch) { return networks::resnet18(batch, 32); }, 10, true},
    {"lstm", [](std::int64_t batch) { return networks::lstm(batch, 6); }, 10},
    {"encoder", &encoder, 4},
};

enum class Kind { sgd, adam, lamb };

/// How a network is trained.
struct How {
  Kind optimizer = Kind::sgd;
  std::int64_t batch = 4, accumulation = 1;
  std::int32_t replicas = 1;
  AccumulationReduction reduction = AccumulationReduction::sum;
  Recomputation recompute = Recomputation::none;
  int threads = 1;
};

struct Outcome {
  std::vector<std::byte> losses;
  std::vector<std::pair<std::string, std::vector<std::byte>>> variables;
  std::size_t arena = 0;
};

std::vector<std::byte> bytes_of(const AnyView& view) {
  const auto* data = static_cast<const std::byte*>(view.data);
  return {data, data + view.bytes()};
}

Outcome trained(const Network& network, const How& how) {
  constexpr std::int64_t steps = 3;
  Graph g = network.make(how.batch);
  g.replicas = how.replicas;
  const AnyTensor label = g.input<std::int32_t>("label", {how.batch});
  const AnyTensor loss = op::nll_loss(op::softmax(g["logits"]), label);
  const TrainOptions options{.accumulation = how.accumulation, .reduction = how.reduction};
  if (how.optimizer == Kind::sgd) {
    train(g, loss, Sgd{.learning_rate = 1e-2f, .momentum = 0.9f}, options);
  } else {
    train(g, loss, Adam{.learning_rate = 1e-3f, .lamb = how.optimizer == Kind::lamb}, options);
  }
  Session session(std::move(g), {.outputs = {loss},
                                 .batches_per_step = steps,
                                 .accumulation = how.accumulation,
                                 .threads = how.threads,
                                 .seed = 5,
                                 .recompute = how.recompute});
  // The same samples in the same order, however they are shared.
  AnyArray x(TensorInfo{ElementType::float32, session.given_shape(0)});
  const auto values = x.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 7919 % 255) / 128 - 1;
  }
  AnyArray labels(TensorInfo{ElementType::int32, session.given_shape(1)});
  const auto classes = labels.values<std::int32_t>();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    classes[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % network.classes);
  }
  const Result result = session.run({{"x", x}, {"label", labels}});
  Outcome outcome{.losses = bytes_of(result[0]), .variables = {}, .arena = 0};
  for (const Port& port : session.variables()) {
    outcome.variables.emplace_back(port.name, bytes_of(session.get(port.name)));
  }
  return outcome;
}

void check_same(const Outcome& found, const Outcome& expected) {
  CHECK(found.losses == expected.losses);
  std::size_t compared = 0;
  for (const auto& [name, bytes] : found.variables) {
    for (const auto& [other, expected_bytes] : expected.variables) {
      if (other != name) continue;
      INFO(name);
      const bool same = bytes == expected_bytes;
      CHECK(same);
      ++compared;
    }
  }
  // Sums of micro-batches are there only where there are several.
  CHECK(compared == std::min(found.variables.size(), expected.variables.size()));
}

}  // namespace

TEST_CASE("law: recomputation changes no bit of a training") {
  for (const Network& network : all) {
    for (const Kind optimizer : {Kind::sgd, Kind::adam, Kind::lamb}) {
      const Outcome plain = trained(network, {.optimizer = optimizer});
      for (const Recomputation mode :
           {Recomputation::standard, Recomputation::norm_only, Recomputation::all}) {
        CAPTURE(network.name);
        CAPTURE(static_cast<int>(optimizer));
        CAPTURE(static_cast<int>(mode));
        check_same(trained(network, {.optimizer = optimizer, .recompute = mode}), plain);
      }
    }
  }
}

TEST_CASE("law: replicas are as many micro-batches of a step, with any number of threads") {
  for (const Network& network : all) {
    if (network.has_statistics) continue;
    for (const auto reduction : {AccumulationReduction::sum, AccumulationReduction::mean}) {
      const How plain{.optimizer = Kind::adam, .accumulation = 3, .reduction = reduction};
      const Outcome expected = trained(network, plain);
      for (const int threads : {1, 2, 4}) {
        CAPTURE(network.name);
        CAPTURE(threads);
        How spread = plain;
        spread.accumulation = 1;
        spread.replicas = 3;
        spread.threads = threads;
        check_same(trained(network, spread), expected);
      }
    }
  }
}

TEST_CASE("law: replicas that recompute, and accumulate, are as those that do not") {
  for (const Network& network : all) {
    const How plain{.accumulation = 2, .replicas = 2};
    How spread = plain;
    spread.recompute = Recomputation::standard;
    spread.threads = 2;
    CAPTURE(network.name);
    check_same(trained(network, spread), trained(network, plain));
  }
}
