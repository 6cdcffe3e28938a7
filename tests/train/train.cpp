#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include <halftone/halftone.hpp>

#include "../error_of.hpp"
#include "../folder.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

struct Network {
  Graph graph;
  TensorId loss = no_tensor;
};

/// Logits of x, and a loss that takes labels, as a program adds it; dropout in between.
Network network() {
  Network n;
  Graph& g = n.graph;
  const AnyTensor x = g.input<float>("x", {4, 3});
  const AnyTensor w{&g, g.add_variable({ElementType::float32, {3, 2}},
                                       Initial{Initial::Rule::uniform, -1, 1}, "w")};
  const AnyTensor logits = op::matmul(op::dropout(x, {.ratio = 0.25f}), w);
  output(g, logits, "logits");
  const AnyTensor label = g.input<std::int32_t>("label", {4});
  const AnyTensor loss = op::nll_loss(op::softmax(logits, {.axis = -1}), label);
  g.rename(loss.id, "loss");
  n.loss = loss.id;
  return n;
}

Array<float> images(int run) {
  Array<float> x({4, 3});
  for (std::size_t i = 0; i < 12; ++i) {
    x[i] = static_cast<float>((static_cast<int>(i) * 5 + run * 3) % 7 - 3);
  }
  return x;
}
void run(Session& session, int from, int to) {
  const Array<std::int32_t> label({4}, {0, 1, 1, 0});
  for (int i = from; i < to; ++i) session.run({{"x", images(i)}, {"label", label}});
}
std::vector<float> values(const AnyView& view) {
  const auto v = view.values<float>();
  return {v.begin(), v.end()};
}

}  // namespace

TEST_CASE("train: the model stays beside the graph that trains it") {
  const Network n = network();
  const Graph before = n.graph;
  const AnyTensor loss{const_cast<Graph*>(&n.graph), n.loss};
  Trained trained = train(n.graph, loss, Adam{.learning_rate = 0.125f});
  CHECK(n.graph == before);
  REQUIRE(trained.graph.model.size() == 1);
  CHECK(trained.graph.nodes.size() > before.nodes.size());
  CHECK(trained.training.weights == std::vector<TensorId>{before.find("w")});
  CHECK(trained.graph.name(n.loss) == "loss");

  // The law: recorded into a graph or into a copy, it is the same.
  Graph in_place = n.graph;
  const Training training =
      train(in_place, AnyTensor{&in_place, n.loss}, Adam{.learning_rate = 0.125f});
  CHECK(in_place == trained.graph);
  CHECK(training.gradients == trained.training.gradients);
  CHECK(contains(error_of([&] { train(std::as_const(in_place), {&in_place, n.loss}, Sgd{}); }),
                 "trained already"));
}

TEST_CASE("train: the model with the values of today is the untouched one") {
  const Network n = network();
  Graph g = n.graph;
  train(g, AnyTensor{&g, n.loss}, Adam{.learning_rate = variable{0.125f}});
  Session session(std::move(g), {.outputs = {"loss"}, .accumulation = 2});
  const Array<float> x({2, 4, 3});
  const Array<std::int32_t> label({2, 4});
  session.run({{"x", x}, {"label", label}});
  const Graph today = model_of(session.graph());
  REQUIRE(today.nodes.size() == n.graph.nodes.size());
  for (std::size_t i = 0; i < today.nodes.size(); ++i) {
    CHECK(today.nodes[i].op == n.graph.nodes[i].op);
    CHECK(today.nodes[i].inputs == n.graph.nodes[i].inputs);
    CHECK(today.nodes[i].attributes == n.graph.nodes[i].attributes);
  }
  CHECK(today.inputs == n.graph.inputs);
  CHECK(today.outputs == n.graph.outputs);
  CHECK(today.model.empty());
  std::vector<std::string> more;
  for (std::size_t i = n.graph.tensors.size(); i < today.tensors.size(); ++i) {
    more.emplace_back(today.name(static_cast<TensorId>(i)));
  }
  CHECK(more == std::vector<std::string>{"Accl1___w", "Accl2___w", "Step___w"});
  const TensorRecord& w = today.tensor(today.find("w"));
  CHECK(values({w.info, w.data.span().data()}) == values(session.get("w")));
  CHECK(model_of(n.graph) == n.graph);  // not trained: its own model
}

TEST_CASE("train: a stored model has what its outputs depend on, and goes on as if never stored") {
  const Network n = network();
  const auto trained = [&](Graph g, const char* loss) {
    train(g, AnyTensor{&g, g.find(loss)}, Adam{.learning_rate = 0.125f});
    Session session(std::move(g), {.outputs = {"logits"}});
    session.set_random_seed(7);
    return session;
  };
  Session whole = trained(n.graph, "loss");
  run(whole, 0, 3);
  const Graph kept = whole.graph();
  const test::Folder folder;
  onnx::save(kept, folder / "net.onnx");
  const std::uint64_t seed = whole.random_seed();
  run(whole, 3, 6);

  const Graph stored = onnx::load(folder / "net.onnx");
  CHECK(stored.find("label") == no_tensor);
  CHECK(stored.find("loss") == no_tensor);
  CHECK(stored.inputs.size() == 1);
  Session again = trained(model_of(kept), "loss");
  again.set_random_seed(seed);
  run(again, 3, 6);
  for (const char* name : {"w", "Accl1___w", "Accl2___w", "Step___w"}) {
    CHECK(values(again.get(name)) == values(whole.get(name)));
  }
  // Nothing drops in a session for inference.
  Session net{Graph(stored)};
  const auto logits = [&] { return values(net.run({{"x", images(1)}})["logits"]); };
  CHECK(logits() == logits());
}

TEST_CASE("train: a weight that the loss does not depend on stays, whatever its rank is") {
  for (const Dims& shape : {Dims{}, Dims{1}, Dims{2, 2}}) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {3});
    const auto used = parameter<float, Shape<3>>(g, "used", ones);
    const AnyTensor idle{&g, g.add_variable({ElementType::float32, shape},
                                            Initial{Initial::Rule::uniform, 7, 7}, "idle")};
    op::mul(idle, idle);
    const AnyTensor loss = op::sum(x * used, {.keepdims = 0});
    train(g, loss, Adam{.learning_rate = 0.1f}, {.weights = {"used", "idle"}});
    Session session(std::move(g), {.outputs = {loss}});
    for (int i = 0; i < 3; ++i) session.run({{"x", Array<float>({3}, {1, 2, 3})}});
    for (const float v : session.get("idle").values<float>()) CHECK(v == 7);
    CHECK(session.get("used").values<float>()[0] < 1);
  }
}

// How much the classes count is a setting of the loss: minimized, it would go to zero.
TEST_CASE("train: the weights of classes are trained only if a program asks for it") {
  for (const bool asks : {false, true}) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {2, 3}), label = g.input<std::int32_t>("label", {2});
    const auto w = parameter<float, Shape<3, 3>>(g, "w", ones);
    const auto counts = parameter<float, Shape<3>>(g, "counts", ones);
    const AnyTensor scores = op::log_softmax(op::matmul(x, w), {.axis = -1});
    const AnyTensor loss =
        op::negative_log_likelihood_loss(scores, label, counts, {.reduction = Reduction::sum});
    TrainOptions options;
    if (asks) options.weights = {"w", "counts"};
    train(g, loss, Sgd{.learning_rate = 0.1f}, options);
    Session session(std::move(g), {.outputs = {loss}});
    session.run({{"x", Array<float>({2, 3}, {1, 2, 3, 3, 2, 1})},
                 {"label", Array<std::int32_t>({2}, {0, 2})}});
    CHECK((session.get("counts").values<float>()[0] == 1) != asks);
    CHECK(session.get("w").values<float>()[0] != 1);
  }
}

TEST_CASE("train: losses of another graph are refused") {
  Graph one, other;
  const AnyTensor loss = op::sum(parameter<float, Shape<3>>(one, "w", ones), {.keepdims = 0});
  CHECK_THROWS_AS(train(other, loss, Sgd{}), UsageError);
  CHECK_THROWS_AS(differentiate_weights(other, loss), UsageError);
}

TEST_CASE("train: a model without outputs is saved with the tensors that its session returns") {
  const test::Folder folder;
  Graph g;
  const AnyTensor x = g.input<float>("x", {3});
  const AnyTensor loss = op::sum(x * parameter<float, Shape<3>>(g, "w", ones), {.keepdims = 0});
  train(g, loss, Sgd{.learning_rate = 0.5f});
  Session session(std::move(g), {.outputs = {loss}});
  const Array<float> given({3}, {1, 2, 3});
  session.run({{"x", given}});
  onnx::save(session.graph(), (folder / "model.onnx"));
  Session again(onnx::load(folder / "model.onnx"));
  // By the formula: w = 1 - x / 2, and the loss is x w.
  CHECK(again.run({{"x", given}})[0].values<float>()[0] == 1 * 0.5f + 2 * 0.f - 3 * 0.5f);
}
