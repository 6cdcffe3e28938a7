// Models whose shapes are computed in the graph, from the shapes of inputs.
#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/train.hpp>

using namespace halftone;

namespace {

/// The mean of x w. With `computes`, the product goes through Reshape to the shape that Shape and
/// Concat give, as exporters write a flattening, and nothing is stated of its shape.
Graph mean_of_product(bool computes) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {5, 2, 4});
  const AnyTensor w{&g, g.add_variable({ElementType::float32, {4, 3}},
                                       Initial{Initial::Rule::normal, 0, 1}, "w")};
  AnyTensor y = op::matmul(x, w);
  if (computes) {
    const AnyTensor to =
        op::concat(std::vector<AnyTensor>{op::gather(op::shape_of(y), constant(g, Dims{0})),
                                          constant(g, Dims{-1})},
                   {.axis = 0});
    const TensorInfo unknown[]{{}};
    y = {&g, g.nodes[add_node(g, op::Reshape{}, {y.id, to.id}, unknown)].outputs[0]};
  }
  const TensorInfo unknown[]{{}};
  const TensorId loss =
      g.nodes[add_node(g, op::ReduceMean{.keepdims = 0}, {y.id}, unknown)].outputs[0];
  g.rename(loss, "loss");
  g.add_output(loss);
  return g;
}

/// The mean of the rows 4, 0, 0, 1 of x w, taken out of a sequence of its rows, or by Gather.
Graph mean_of_rows(bool is_sequence) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {5, 2, 4});
  const AnyTensor w{&g, g.add_variable({ElementType::float32, {4, 3}},
                                       Initial{Initial::Rule::normal, 0, 1}, "w")};
  AnyTensor y = op::matmul(x, w);
  if (is_sequence) {
    const TensorInfo unknown[]{{}};
    auto record = [&](const auto& op, std::vector<TensorId> inputs) {
      return g.nodes[add_node(g, op, std::move(inputs), unknown)].outputs[0];
    };
    const auto at = [&](std::int64_t position) {
      const std::int64_t data[]{position};
      return constant(g, std::span<const std::int64_t>(data), Dims{}).id;
    };
    TensorId rows = record(op::SplitToSequence{.keepdims = false}, {y.id});
    const TensorId first = record(op::SequenceAt{}, {rows, at(0)});
    rows = record(op::SequenceErase{}, {rows, at(2)});
    rows = record(op::SequenceErase{}, {rows, at(-2)});         // 0, 1, 4
    rows = record(op::SequenceInsert{}, {rows, first, at(1)});  // 0, 0, 1, 4
    const TensorId length = record(op::SequenceLength{}, {rows});
    const TensorId last =
        record(op::SequenceAt{}, {rows, op::sub(AnyTensor{&g, length}, AnyTensor{&g, at(1)}).id});
    rows = record(op::SequenceErase{}, {rows});
    rows = record(op::SequenceInsert{}, {rows, last, at(0)});
    y = {&g, record(op::ConcatFromSequence{.axis = 0, .new_axis = true}, {rows})};
  } else {
    y = op::gather(y, constant(g, Dims{4, 0, 0, 1}));
  }
  const TensorInfo number[]{{ElementType::float32, {}}};
  const TensorId loss =
      g.nodes[add_node(g, op::ReduceMean{.keepdims = 0}, {y.id}, number)].outputs[0];
  g.rename(loss, "loss");
  g.add_output(loss);
  return g;
}

std::vector<float> trained(Graph g) {
  train(g, g["loss"], Sgd{.learning_rate = 0.5f});
  Session session(std::move(g), {.seed = 3});
  Array<float> x({5, 2, 4});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
  for (int step = 0; step < 3; ++step) session.run({{"x", x}});
  const auto w = session.get("w").values<float>();
  return {w.begin(), w.end()};
}

}  // namespace

TEST_CASE("a model whose shapes are computed trains as one whose shapes are stated") {
  CHECK(trained(mean_of_product(true)) == trained(mean_of_product(false)));
}

TEST_CASE("sequences that only regroup have gradients") {
  const std::vector<float> regrouped = trained(mean_of_rows(true)),
                           gathered = trained(mean_of_rows(false));
  REQUIRE(regrouped.size() == gathered.size());
  // The two add rows in another order.
  for (std::size_t i = 0; i < gathered.size(); ++i) {
    CHECK(regrouped[i] == doctest::Approx(gathered[i]).epsilon(1e-5));
  }
}

namespace {

/// x [1, 2, 3] without its first dimension, or as it is, as exporters write squeeze(0).
AnyTensor squeezed_if(const AnyTensor& condition, const AnyTensor& x, const TensorInfo& stated) {
  Graph& g = *x.graph;
  for (const bool squeezes : {true, false}) {
    Graph body;
    const AnyTensor whole{&body, body.add_input(x.info(), "whole")};
    body.add_output(squeezes ? op::reshape(whole, constant(body, Dims{2, 3})).id
                             : op::identity(whole).id);
    g.graphs.push_back(std::move(body));
  }
  const TensorInfo infos[]{stated};
  const op::If taken{.then_branch = {0}, .else_branch = {1}};
  return {&g, g.nodes[add_node(g, taken, {condition.id, x.id}, infos)].outputs[0]};
}

/// The sum of squares of x w behind a branch. Its condition is known, or x decides.
Graph squares_of_branch(bool is_known) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {1, 2, 3});
  const AnyTensor w{&g, g.add_variable({ElementType::float32, {1, 2, 3}},
                                       Initial{Initial::Rule::normal, 0, 1}, "w")};
  const AnyTensor y = x * w;
  const AnyTensor size = op::gather(op::shape_of(x), constant(g, Dims{0}));
  const AnyTensor condition =
      is_known ? op::equal(size, 1) : op::greater(op::sum(x, {.keepdims = 0}), 0);
  const TensorInfo unknown[]{{}}, number[]{{ElementType::float32, {}}};
  const TensorId q = squeezed_if(condition, y, {}).id;
  const TensorId squares = g.nodes[add_node(g, op::Mul{}, {q, q}, unknown)].outputs[0];
  const TensorId loss =
      g.nodes[add_node(g, op::ReduceSum{.keepdims = 0}, {squares}, number)].outputs[0];
  g.rename(loss, "loss");
  g.add_output(loss);
  return g;
}

}  // namespace

// The gradient of the sum of (x w)^2 is 2 x^2 w: a step of 0.125 makes 0 of each w if x is 2.
TEST_CASE("a branch whose condition follows from shapes has a gradient, others are refused") {
  Graph g = squares_of_branch(true);
  train(g, g["loss"], Sgd{.learning_rate = 0.125f});
  Session session(std::move(g), {.seed = 3});
  session.run({{"x", Array<float>({1, 2, 3}, std::vector<float>(6, 2.f))}});
  for (const float w : session.get("w").values<float>()) CHECK(std::fabs(w) < 1e-6f);

  Graph other = squares_of_branch(false);
  CHECK_THROWS_AS(train(other, other["loss"], Sgd{}), UnsupportedError);
}

// The gradient of the sum of x w is the sum of x's rows: 4. A step of 0.5 makes -1 of 1.
TEST_CASE("a weight behind a branch is trained if the model states the branch's shape") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {1, 2, 3});
  const AnyTensor w{
      &g, g.add_variable({ElementType::float32, {3, 2}}, Initial{Initial::Rule::fill, 1, 0}, "w")};
  const AnyTensor condition = op::greater(op::sum(x, {.keepdims = 0}), 0);
  const AnyTensor q = squeezed_if(condition, x, {ElementType::float32, {2, 3}});
  const AnyTensor loss = op::sum(op::matmul(q, w), {.keepdims = 0});
  output(g, loss, "loss");
  train(g, g["loss"], Sgd{.learning_rate = 0.5f});
  Session session(std::move(g));
  session.run({{"x", Array<float>({1, 2, 3}, std::vector<float>(6, 2.f))}});
  for (const float value : session.get("w").values<float>()) CHECK(value == -1);
}

TEST_CASE("gradients of shapes that values decide are not offered") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  const AnyTensor end = g.input<std::int64_t>("end", {1});
  const AnyTensor w{
      &g, g.add_variable({ElementType::float32, {4}}, Initial{Initial::Rule::fill, 1, 0}, "w")};
  const TensorInfo unknown[]{{}};
  const TensorId part =
      g.nodes[add_node(g, op::Slice{}, {(x * w).id, constant(g, Dims{0}).id, end.id}, unknown)]
          .outputs[0];
  const TensorInfo number[]{{ElementType::float32, {}}};
  const TensorId loss =
      g.nodes[add_node(g, op::ReduceMean{.keepdims = 0}, {part}, number)].outputs[0];
  CHECK_THROWS_AS(train(g, AnyTensor{&g, loss}, Sgd{}), UnsupportedError);
  // Nor is the loss itself known.
  CHECK_THROWS_AS(train(g, AnyTensor{&g, part}, Sgd{}), UnsupportedError);
}
