// Models whose shapes are computed in the graph, from the shapes of inputs.
#include <doctest/doctest.h>

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

std::vector<float> trained(bool computes) {
  Graph g = mean_of_product(computes);
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
  CHECK(trained(true) == trained(false));
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
