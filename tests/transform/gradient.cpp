// The chain rule through a graph; tests/transform/gradients.cpp has the operators' own.
#include <halftone/graph/gradient.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <halftone/halftone.hpp>

#include "error_of.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

using Values = std::vector<double>;

/// loss = sum(x * x * w), of x = [1, 2] and w = [3, 5].
struct Model {
  Graph g;
  AnyTensor x = g.input<double>("x", {2}), w = g.input<double>("w", {2});
  AnyTensor loss = op::sum(op::mul(op::mul(x, x), w), none, {.keepdims = 0});

  std::vector<Values> run(const std::vector<TensorId>& outputs) const {
    Graph copy = g;
    copy.outputs = outputs;
    Engine engine(std::move(copy));
    const Array<double> x_values({2}, {1, 2}), w_values({2}, {3, 5});
    engine.run(std::vector<AnyView>{x_values, w_values});
    std::vector<Values> list;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const std::span<const double> y = engine.output(o).values<double>();
      list.emplace_back(y.begin(), y.end());
    }
    return list;
  }
};

}  // namespace

TEST_CASE("gradient: by the formula, in the order of what is wanted, beside the untouched model") {
  Model m;
  const Graph before = m.g;
  const TensorId wanted[]{m.w.id, m.x.id};
  const std::vector<TensorId> d = differentiate(m.g, m.loss.id, wanted);
  CHECK(m.run(d) == std::vector<Values>{{1, 4}, {6, 20}});  // x^2, and 2 x w
  for (std::size_t n = 0; n < before.nodes.size(); ++n) {
    CHECK(m.g.nodes[n].op == before.nodes[n].op);
    CHECK(m.g.nodes[n].inputs == before.nodes[n].inputs);
    CHECK(m.g.nodes[n].outputs == before.nodes[n].outputs);
  }
  // Of a gradient: d/dw of sum(2 x w) is 2 x.
  const AnyTensor again = op::sum(AnyTensor{&m.g, d[1]}, none, {.keepdims = 0});
  CHECK(m.run(differentiate(m.g, again.id, std::span(wanted, 1))) == std::vector<Values>{{2, 4}});
}

TEST_CASE("gradient: is linear in the one that it starts with") {
  Model m;
  const double three = 3;
  const AnyTensor start = constant<double>(m.g, std::span(&three, 1), {});
  CHECK(m.run(differentiate(m.g, m.loss.id, std::span(&m.x.id, 1), start.id)) ==
        std::vector<Values>{{18, 60}});
  // An output that is there twice counts twice.
  const TensorId losses[]{m.loss.id, m.loss.id}, starts[]{start.id, start.id};
  CHECK(m.run(differentiate(m.g, losses, starts, std::span(&m.x.id, 1))) ==
        std::vector<Values>{{36, 120}});
}

TEST_CASE("gradient: none where the loss does not depend on a tensor, and no nodes for it") {
  Model m;
  const AnyTensor other = m.g.input<double>("other", {2});
  const AnyTensor detached = op::sum(op::detach(op::exp(m.x)), none, {.keepdims = 0});
  const std::size_t nodes = m.g.nodes.size();
  CHECK(differentiate(m.g, m.loss.id, std::span(&other.id, 1))[0] == no_tensor);
  CHECK(m.g.nodes.size() == nodes);
  CHECK(differentiate(m.g, detached.id, std::span(&m.x.id, 1))[0] == no_tensor);
  // A loss is its own gradient's start.
  Model same;
  CHECK(same.run(differentiate(same.g, same.loss.id, std::span(&same.loss.id, 1))) ==
        std::vector<Values>{{1}});
}

TEST_CASE("gradient: nodes are named after those that they belong to") {
  Model m;
  for (Node& node : m.g.nodes) m.g.rename(node, "net/" + std::string(node.op->id.name));
  const std::size_t first = m.g.nodes.size();
  differentiate(m.g, m.loss.id, std::span(&m.x.id, 1));
  REQUIRE(m.g.nodes.size() > first);
  for (std::size_t n = first; n < m.g.nodes.size(); ++n) {
    CHECK(m.g.name(m.g.nodes[n]).starts_with("Gradient/net/"));
  }
}

TEST_CASE("gradient: a loss that is none, open shapes and operators without one are refused") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 3, 3}), open = g.input<float>("open", {dynamic});
  const auto refused = [&](const AnyTensor& loss, const AnyTensor& by) {
    return error_of([&] { differentiate(g, loss.id, std::span(&by.id, 1)); });
  };
  CHECK(contains(refused(op::exp(x), x), "model: "));
  CHECK(contains(refused(op::cast(op::sum(x), {.to = ElementType::int32}), x), "model: "));
  CHECK(contains(refused(op::exp(open), open), "unsupported: "));
  const std::string late = refused(op::sum(op::exp(open), none, {.keepdims = 0}), open);
  CHECK_MESSAGE(contains(late, "ReduceSum"), late);
  CHECK(contains(late, "sizes when the model is loaded"));
  // All of them are named, each once.
  const std::string error =
      refused(op::sum(op::det(op::mul(x, op::sum(op::det(x)))), none, {.keepdims = 0}), x);
  CHECK_MESSAGE(contains(error, "have no gradient"), error);
  CHECK(error.find("Det") == error.rfind("Det"));
}
