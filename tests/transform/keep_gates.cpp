// The law: an LSTM that keeps its gates has the gradients of one whose gradient computes them again.
#include <halftone/transform/keep_gates.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <halftone/train.hpp>
#include <halftone/transform/off_chip.hpp>

#include "results.hpp"

using namespace halftone;

namespace {

constexpr std::int64_t batch = 3, inputs = 7;

/// These settings say what a layer has beside its weights.
struct With {
  Direction direction = Direction::forward;
  std::int64_t steps = 5, hidden = 9;
  bool lengths = false, initial = false, peepholes = false, input_forget = false, clip = false;
  std::int64_t layout = 0;
};

std::vector<float> numbers(std::int64_t n, int seed) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i + static_cast<std::size_t>(seed)) * 7919 % 255) / 256 - .5f;
  }
  return values;
}

/// A layer whose outputs, all three, have a loss; everything that has a gradient is a parameter.
Graph layer(const With& with) {
  Graph g;
  const std::int64_t directions = with.direction == Direction::bidirectional ? 2 : 1;
  const std::int64_t hidden = with.hidden;
  int seed = 0;
  const auto parameter = [&](const char* name, const Dims& shape) -> AnyTensor {
    const TensorInfo info{ElementType::float32, shape};
    std::vector<float> values = numbers(info.elements(), ++seed);
    for (float& value : values) value /= with.hidden > 16 ? 16 : 1;  // of long sums
    const TensorId id =
        g.add_variable(info, Bytes::copy_of(std::as_bytes(std::span(values))), name);
    return {&g, id};
  };
  const Dims state =
      with.layout == 0 ? Dims{directions, batch, hidden} : Dims{batch, directions, hidden};
  const AnyTensor x = parameter(
      "x", with.layout == 0 ? Dims{with.steps, batch, inputs} : Dims{batch, with.steps, inputs});
  const AnyTensor w = parameter("w", {directions, 4 * hidden, inputs});
  const AnyTensor r = parameter("r", {directions, 4 * hidden, hidden});
  const AnyTensor b = parameter("b", {directions, 8 * hidden});
  const AnyTensor none;
  const AnyTensor h = with.initial ? parameter("h", state) : none;
  const AnyTensor c = with.initial ? parameter("c", state) : none;
  const AnyTensor p = with.peepholes ? parameter("p", {directions, 3 * hidden}) : none;
  AnyTensor lengths;
  if (with.lengths) {
    const std::int32_t values[batch] = {5, 0, 3};
    lengths = {&g, g.add_constant({ElementType::int32, {batch}},
                                  Bytes::copy_of(std::as_bytes(std::span(values))))};
  }
  op::LSTM lstm{.direction = with.direction, .hidden_size = hidden, .layout = with.layout};
  if (with.clip) lstm.clip = .4f;
  lstm.input_forget = with.input_forget ? 1 : 0;
  const auto [y, y_h, y_c] = op::lstm(x, w, r, b, lengths, h, c, p, lstm);
  const auto squares = [](const AnyTensor& t) {
    return AnyTensor(op::l1_loss(AnyTensor(t * t), {.reduction = LossReduction::sum}));
  };
  const AnyTensor loss = AnyTensor(squares(y) + squares(y_h)) + squares(y_c);
  train(g, loss, Sgd{.learning_rate = 1.f / 16});
  return g;
}

/// The variables after some steps.
std::vector<float> trained(const Graph& graph, bool keeps, int threads) {
  // stop_at_nan leaves the nodes as they are.
  Session session(Graph(graph), {.threads = threads, .stop_at_nan = !keeps});
  for (int step = 0; step < 3; ++step) session.run({});
  std::vector<float> values;
  for (const Port& port : session.variables()) {
    const AnyView view = session.get(port.name);
    if (view.info.type != ElementType::float32) continue;
    const auto* const data = static_cast<const float*>(view.data);
    values.insert(values.end(), data, data + view.info.elements());
  }
  return values;
}

void check(const Graph& graph) {
  const std::vector<float> expected = trained(graph, false, 1), found = trained(graph, true, 1);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(std::abs(found[i] - expected[i]) <= 4e-6f * std::max(1.f, std::abs(expected[i])));
  }
  CHECK(trained(graph, true, 3) == found);
}

std::size_t kept(const Graph& g) { return test::count(keep_gates(Graph(g)), op::TrainedLSTM::id); }

}  // namespace

TEST_CASE("keep gates: gradients are those of gates that are computed again") {
  for (const Direction direction :
       {Direction::forward, Direction::reverse, Direction::bidirectional}) {
    for (int with = 0; with < 32; ++with) {
      CAPTURE(static_cast<int>(direction));
      CAPTURE(with);
      const Graph g = layer({.direction = direction,
                             .lengths = (with & 1) != 0,
                             .initial = (with & 2) != 0,
                             .peepholes = (with & 4) != 0,
                             .input_forget = (with & 8) != 0,
                             .clip = (with & 16) != 0});
      CHECK(kept(g) == 1);
      check(g);
    }
  }
}

TEST_CASE("keep gates: layers that are cut into portions") {
  for (const std::int64_t hidden : {192, 256}) {
    const Graph g = layer({.direction = Direction::bidirectional,
                           .hidden = hidden,
                           .lengths = true,
                           .initial = true,
                           .peepholes = true});
    CHECK(kept(g) == 1);
    check(g);
  }
}

TEST_CASE(
    "keep gates: layers whose products with the inputs are computed for some steps at a time") {
  for (const Direction direction : {Direction::forward, Direction::reverse}) {
    const Graph g = layer({.direction = direction, .steps = 100, .hidden = 256});
    CHECK(kept(g) == 1);
    check(g);
  }
}

TEST_CASE(
    "keep gates: states that lie off chip between layer and gradient have the same gradients") {
  const Graph g = layer({.lengths = true});
  const Graph apart = off_chip(g, {.activations = {.is_on = true}});
  CHECK(test::count(apart, op::RemoteLoad::id) > 0);
  CHECK(kept(apart) == 1);
  CHECK(trained(apart, true, 1) == trained(g, true, 1));
}

TEST_CASE("keep gates: other layers stay as they are") {
  CHECK(kept(layer({.layout = 1})) == 0);
  Graph g = layer({});
  for (Node& node : g.nodes) {
    if (node.op->id == op::RecurrentGradient::id) node.inputs[2] = node.inputs[8];  // no layer's y
  }
  CHECK(kept(g) == 0);
}
