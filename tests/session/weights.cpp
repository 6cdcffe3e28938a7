#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include <halftone/halftone.hpp>

#include "../error_of.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

/// y = w x, element by element, with a weight of two elements.
Graph weighted(float first, float second) {
  Graph g;
  const float data[] = {first, second};
  const auto w = parameter<float, Shape<2>>(g, "w", std::span<const float>(data));
  output(g, op::mul(g.input<float>("x", {2}), AnyTensor(w)), "y");
  return g;
}

/// The same, trained: the loss is the sum of y, so that the gradient of w is x.
Session training(const optimizer auto& sgd) {
  const Graph model = weighted(2, 3);
  Graph g = model;
  const AnyTensor loss = op::sum(g["y"], {.keepdims = 0});
  train(g, loss, sgd);
  return Session(std::move(g), {.outputs = {loss}});
}

std::vector<float> floats(const AnyView& view) {
  const std::span<const float> values = view.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("weights: a session for inference has those of the one that trains") {
  Session trained = training(Sgd{.learning_rate = 0.5f, .momentum = 0.5f});
  Session net(weighted(0, 0));
  const Weights weights = trained.weights();
  const Array<float> x({2}, {1, 2});
  const auto y = [&] { return floats(net.run({{"x", x}})["y"]); };
  net.set_weights(weights);
  CHECK(y() == std::vector<float>{2, 6});
  trained.run({{"x", x}});
  CHECK(y() == std::vector<float>{2, 6});
  // w - 0.5 (1, 2) = (1.5, 2), as the view shows it.
  CHECK(floats(weights["w"]) == std::vector<float>{1.5f, 2});
  net.set_weights(weights);
  CHECK(y() == std::vector<float>{1.5f, 4});
  Session moved = std::move(trained);
  moved.run({{"x", x}});
  net.set_weights(weights);
  // The velocity is 0.5 (1, 2) + (1, 2).
  CHECK(y() == std::vector<float>{0.75f, 1});
}

TEST_CASE("weights: an optimizer's state goes along, hyperparameters do not") {
  const Sgd optimizer{.learning_rate = variable{0.5f}, .momentum = 0.5f};
  Session first = training(optimizer), second = training(optimizer);
  const Array<float> x({2}, {1, 2});
  first.run({{"x", x}});
  first.set("learning_rate", 0.25f);
  second.set_weights(first.weights());
  CHECK(floats(second.get("learning_rate")) == std::vector<float>{0.5f});
  first.set("learning_rate", 0.5f);
  first.run({{"x", x}});
  second.run({{"x", x}});
  for (const char* name : {"w", "Accl1___w"}) {
    CHECK(floats(first.get(name)) == floats(second.get(name)));
  }
}

TEST_CASE("weights: names, values and errors") {
  Session net(weighted(2, 3));
  const Weights weights = net.weights();
  REQUIRE(weights.size() == 1);
  CHECK(weights.name(0) == "w");
  CHECK(floats(weights[0]) == std::vector<float>{2, 3});
  CHECK(contains(error_of([&] { weights["v"]; }), "variables are 'w'"));

  Graph longer;
  const auto v = parameter<float, Shape<2>>(longer, "v", ones);
  const auto w = parameter<float, Shape<3>>(longer, "w", zeros);
  output(longer, AnyTensor(v));
  output(longer, AnyTensor(w));
  Session other(std::move(longer));
  const std::string text = error_of([&] { other.set_weights(weights); });
  CHECK(contains(text, "input: "));
  CHECK(contains(text, "[3] float"));
  CHECK(contains(text, "[2] float"));
  // Others than those of the same name stay as they are.
  Graph more = weighted(0, 0);
  output(more, AnyTensor(parameter<float, Shape<1>>(more, "bias", ones)));
  Session third(std::move(more));
  third.set_weights(weights);
  CHECK(floats(third.get("w")) == std::vector<float>{2, 3});
  CHECK(floats(third.get("bias")) == std::vector<float>{1});
}
