#include <halftone/transform/dead_code.hpp>

#include <doctest/doctest.h>

#include <halftone/transform/infer.hpp>

#include "random_graph.hpp"
#include "results.hpp"

using namespace halftone;

namespace {

/// y = relu(x) + 1; a chain of two that nothing needs hangs on it.
constexpr bool drops_chains() {
  Graph g;
  const auto x = input<float, Shape<4>>(g, "x");
  const auto r = op::relu(x);
  op::tanh(op::exp(r));
  output(g, r + 1, "y");
  const Graph less = without_dead_code(g);
  return g.nodes.size() == 4 && less.nodes.size() == 2 && less.nodes[0].op->id == op::Relu::id &&
         less.tensors.size() == g.tensors.size() && less.outputs == g.outputs &&
         without_dead_code(less) == less;
}
static_assert(drops_chains());

/// A node that changes a variable lives without a reader, and so does what it reads.
constexpr bool keeps_effects() {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  const AnyTensor v = parameter<float, Shape<4>>(g, "v", zeros);
  op::copy_var_update(v, op::exp(x));
  g.add_output(op::relu(x).id);
  return has_effect(g.nodes[1]) && !has_effect(g.nodes[0]) && without_dead_code(g) == g;
}
static_assert(keeps_effects());

/// Nodes before the first one that is asked about stay, dead or not.
constexpr bool leaves_earlier_nodes() {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  op::exp(x);
  op::tanh(x);
  drop_dead_nodes(g, 1, TensorMap<bool>(g, false));
  return g.nodes.size() == 1 && g.nodes[0].op->id == op::Exp::id;
}
static_assert(leaves_earlier_nodes());

}  // namespace

TEST_CASE("dead code: results stay, bit for bit, and every node left is needed") {
  const auto check = [](const Graph& g) {
    const Graph less = without_dead_code(g);
    CHECK(less.nodes.size() <= g.nodes.size());
    CHECK(test::results(less) == test::results(g));
    const Uses uses(less);
    for (const Node& node : less.nodes) {
      bool wanted = has_effect(node);
      for (const TensorId id : node.outputs) wanted = wanted || uses.count[id] > 0;
      CHECK(wanted);
    }
  };
  test::Random random(3);
  for (int round = 0; round < 30; ++round) check(test::random_graph(random));
}
