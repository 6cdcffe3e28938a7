#include <halftone/transform/fuse.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/infer.hpp>
#include <halftone/transform/schedule.hpp>

#include "random_graph.hpp"
#include "results.hpp"

using namespace halftone;

namespace {

/// y = relu(h * h) / h with h = x w + 1.
constexpr Graph example() {
  Graph g;
  auto x = input<float, Shape<2, 4>>(g, "x");
  auto w = parameter<float, Shape<4, 5>>(g, "w");
  auto h = op::matmul(x, w) + 1;
  output(g, op::relu(h * h) / h, "y");
  return g;
}

constexpr bool fuses_what_is_element_wise() {
  Graph g = fuse_elementwise(example());
  return g.nodes.size() == 2 && g.nodes[1].op->id == op::Fused::id &&
         g.graphs[0].nodes.size() == 4 && infer(g).empty();
}
static_assert(fuses_what_is_element_wise());

/// A pass that has nothing more to do changes nothing.
constexpr bool is_idempotent() {
  const Graph fused = fuse_elementwise(example());
  return fuse_elementwise(fused) == fused && schedule(schedule(fused)) == schedule(fused);
}
static_assert(is_idempotent());

/// Groups that were apart until a node reads both become one, unless something between them is read.
constexpr bool joins_groups() {
  Graph g;
  auto x = input<float, Shape<4, 4>>(g, "x");
  auto a = op::relu(x), b = op::tanh(x) + 1;
  output(g, a * b, "y");
  Graph divided;
  auto z = input<float, Shape<4, 4>>(divided, "z");
  auto c = op::relu(z);
  output(divided, c * (op::matmul(c, z) + z), "y");
  const Graph fused = fuse_elementwise(divided);
  return fuse_elementwise(g).nodes.size() == 1 && fused.nodes.size() == 3;
}
static_assert(joins_groups());

/// A value that another node reads between the two element-wise ones keeps them apart.
constexpr bool keeps_order_around_a_reader() {
  Graph g;
  auto x = input<float, Shape<4, 4>>(g, "x");
  auto a = x + 1;
  auto m = op::matmul(a, a);
  output(g, a + m, "y");
  const Graph fused = fuse_elementwise(g);
  return fused.nodes.size() == 3;
}
static_assert(keeps_order_around_a_reader());

/// The smaller shape is made first: its node does not join those of the larger one.
constexpr bool keeps_shapes_apart() {
  Graph g;
  auto x = input<float, Shape<4>>(g, "x");
  auto z = input<float, Shape<3, 4>>(g, "z");
  output(g, op::tanh(x) + z, "y");
  return fuse_elementwise(g) == g;
}
static_assert(keeps_shapes_apart());

/// A read of a variable stays behind the update before it.
constexpr bool keeps_order_around_an_update() {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  const AnyTensor v = parameter<float, Shape<4>>(g, "v", zeros);
  const AnyTensor a = op::exp(x);
  op::copy_var_update(v, a);
  g.add_output(op::add(a, v).id);
  return fuse_elementwise(g) == g;
}
static_assert(keeps_order_around_an_update());

}  // namespace

TEST_CASE("fuse: results stay, bit for bit") {
  test::Random random(5);
  std::size_t fused = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const Graph g = without_dead_code(test::random_graph(random));
    const Graph less = fuse_elementwise(g);
    fused += g.nodes.size() - less.nodes.size();
    CHECK(test::results(less) == test::results(g));
  }
  CHECK(fused > 0);
}

TEST_CASE("fuse: a long chain becomes groups of at most as many nodes as a group may have") {
  Graph g;
  AnyTensor y = g.input<float>("x", {8});
  constexpr std::size_t count = 3 * detail::Fusion::max_nodes + 1;
  for (std::size_t i = 0; i < count; ++i) y = op::tanh(y);
  output(g, y, "y");
  const Graph fused = fuse_elementwise(g);
  CHECK(fused.nodes.size() == 4);  // three full groups and the node that is left
  for (const Graph& body : fused.graphs) CHECK(body.nodes.size() == detail::Fusion::max_nodes);
  CHECK(test::results(fused) == test::results(g));
}

TEST_CASE("fuse: an operator with three operands beside the value of its chain") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {3, 700}), d = g.input<float>("d", {3, 700});
  const auto limit = [&](float v) { return constant<float>(g, std::vector{v}, {}); };
  const AnyTensor y = op::clip(x, limit(-0.25f), limit(0.5f));
  const TensorId wanted[] = {x.id}, from[] = {y.id}, with[] = {op::mul(d, y).id};
  const Vector<TensorId> dx = differentiate(g, from, with, wanted);
  output(g, op::mul(AnyTensor{&g, dx[0]}, d), "dx");
  const Graph fused = fuse_elementwise(g);
  CHECK(fused.nodes.size() == 1);
  CHECK(test::results(fused) == test::results(g));
}

TEST_CASE("fuse: an engine runs a graph that was fused before, also groups of constants") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  const AnyTensor c = parameter<float, Shape<4>>(g, "c", std::vector<float>{1, 2, 3, 4});
  g.add_output(op::add(op::relu(x), op::tanh(op::exp(c))).id);
  g.add_output(op::sigmoid(op::cos(c)).id);
  Engine direct(g), fused(fuse_elementwise(g));
  const Array<float> values({4}, {1, -2, 3, -4});
  const AnyView inputs[] = {values};
  direct.run(inputs);
  fused.run(inputs);
  for (std::size_t o = 0; o < 2; ++o) {
    CHECK(std::memcmp(direct.output(o).data, fused.output(o).data, 16) == 0);
  }
}
