#include "transform/defer.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/transform/late.hpp>

using namespace halftone;

namespace {

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.emplace_back(node.op->id.name);
  return names;
}
using Operators = std::vector<std::string>;

/// exp(x), the places where it is not 0, and something that depends on them.
Graph places(bool with_product) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {3, 4});
  const AnyTensor y = op::exp(op::neg(x));
  AnyTensor z = op::cast(op::nonzero(y), {.to = ElementType::float32});
  if (with_product) z = op::matmul(op::transpose(z), parameter<float, Shape<2, 5>>(g, "w"));
  output(g, op::neg(z), "z");
  output(g, y, "y");
  return g;
}

}  // namespace

TEST_CASE("defer: late nodes stay between what comes before and what depends on them") {
  const Graph g = defer(places(true));
  CHECK(operators(g) == Operators{"Call", "NonZero", "Call"});
  CHECK(g.name(g.nodes[0]) == "early");
  CHECK(g.name(g.nodes[2]) == "late");
  REQUIRE(g.graphs.size() == 2);
  CHECK(operators(g.graphs[0]) == Operators{"Neg", "Exp"});
  CHECK(operators(g.graphs[1]) == Operators{"Cast", "Transpose", "MatMul", "Neg"});
  CHECK(g.outputs == places(true).outputs);
  CHECK_FALSE(is_late(g, g.nodes[0]));
  CHECK(is_late(g, g.nodes[2]));
}

TEST_CASE("defer: without a product what depends on late nodes runs node by node") {
  CHECK(operators(defer(places(false))) == Operators{"Call", "NonZero", "Cast", "Neg"});
}

TEST_CASE("defer: static graphs, and those that change variables, stay as they are") {
  Graph plain;
  output(plain, op::exp(plain.input<float>("x", {3})), "y");
  CHECK(defer(plain) == plain);
  Graph g = places(true);
  const AnyTensor v = parameter<float, Shape<3, 4>>(g, "v");
  op::copy_var_update(v, AnyTensor{&g, g.find("x")});
  CHECK(defer(g) == g);
}
