#include <halftone/transform/infer.hpp>

#include <doctest/doctest.h>

#include <halftone/halftone.hpp>

#include "networks.hpp"
#include "random_graph.hpp"

using namespace halftone;

namespace {

/// y = relu(h * h) / h with h = x w + 1.
constexpr Graph example(std::int64_t batch, std::int64_t inner = 4) {
  Graph g;
  auto x = input<float, Shape<dynamic, 4>>(g, "x");
  auto w = parameter<float, Shape<4, 5>>(g, "w");
  auto h = op::matmul(x, w) + 1;
  output(g, op::relu(h * h) / h, "y");
  g.tensor(g.inputs[0]).info.shape = {batch, inner};
  return g;
}

constexpr bool infers() {
  Graph g = example(3);
  return infer(g).empty() && g.info(g.outputs[0]) == TensorInfo{ElementType::float32, {3, 5}};
}
static_assert(infers());

constexpr bool leaves_open_what_is_open() {
  Graph g = example(dynamic);
  return infer(g).empty() && g.info(g.outputs[0]) == TensorInfo{ElementType::float32, {dynamic, 5}};
}
static_assert(leaves_open_what_is_open());

constexpr bool finds_the_defect() {
  Graph g = example(dynamic, 9);
  const auto defects = infer(g);
  return defects.size() == 1 && defects[0].node == 0 &&
         defects[0].inferred.reason == "inner dimensions differ" &&
         defects[0].inferred.expected == 9 && defects[0].inferred.found == 4;
}
static_assert(finds_the_defect());

/// What the model states and what is inferred contradict: the latter counts.
constexpr bool finds_wrong_statements() {
  Graph g = example(3);
  g.tensor(g.outputs[0]).info = {ElementType::float32, {4, 5}};
  const auto defects = infer(g);
  return defects.size() == 1 && defects[0].tensor == g.outputs[0] &&
         defects[0].stated.shape == Dims{4, 5} && defects[0].inferred.expected == 4 &&
         defects[0].inferred.found == 3 && g.info(g.outputs[0]).shape == Dims{3, 5};
}
static_assert(finds_wrong_statements());

/// Goes on behind a defect, and returns all of them.
constexpr bool finds_all_defects() {
  Graph g = example(dynamic, 9);
  const AnyTensor z = g.input<float>("z", {2, 3}), v = g.input<float>("v", {3, 2});
  g.add_output(op::matmul(z, v).id);
  g.tensor(z.id).info.shape = {2, 7};
  const auto defects = infer(g);
  return defects.size() == 2 && defects[0].node == 0 && defects[1].node == g.nodes.size() - 1;
}
static_assert(finds_all_defects());

/// Both branches of an If are inferred; a defect in one has the way to it.
constexpr bool finds_defects_in_bodies() {
  Graph g;
  const AnyTensor yes = g.input<bool>("yes", {});
  const AnyTensor x = g.input<float>("x", {2, 3});
  for (const std::int64_t rows : {3, 4}) {
    Graph body;
    const AnyTensor inner{&body, body.add_input({ElementType::float32, {2, rows}}, {})};
    const AnyTensor w = body.input<float>("w", {rows, 2});
    body.add_output(op::matmul(inner, w).id);
    g.graphs.push_back(std::move(body));
  }
  const AnyTensor w = g.input<float>("w", {3, 2});
  const TensorInfo y{ElementType::float32, {2, 2}};
  g.add_node(descriptor<op::If>, pack(op::If{.then_branch = {0}, .else_branch = {1}}),
             {yes.id, x.id, w.id}, {&y, 1});
  // What the node gives a body counts, not what the body states.
  Graph good = g;
  if (!infer(good).empty() || good.graphs[1].info(good.graphs[1].inputs[0]).shape != Dims{2, 3}) {
    return false;
  }
  g.tensor(w.id).info.shape = {5, 2};
  const auto defects = infer(g);
  return defects.size() >= 2 && defects[0].path == std::vector<std::int32_t>{0} &&
         defects[1].path == std::vector<std::int32_t>{1} &&
         &holder_of(g, defects[1]) == &g.graphs[1];
}
static_assert(finds_defects_in_bodies());

}  // namespace

// The laws: inference that is done again finds the same, and what it finds does not depend on what
// is known beforehand.
TEST_CASE("infer: is idempotent, and finds what was forgotten") {
  std::vector<Graph> graphs{test::lenet(), test::encoder_layer()};
  test::Random random(7);
  for (int round = 0; round < 30; ++round) graphs.push_back(test::random_graph(random));
  for (Graph& once : graphs) {
    REQUIRE(infer(once).empty());
    Graph twice = once;
    CHECK(infer(twice).empty());
    CHECK(twice == once);
    Graph forgotten = once;
    for (const Node& node : once.nodes) {
      for (const TensorId id : node.outputs) forgotten.tensor(id).info = {};
    }
    CHECK(infer(forgotten).empty());
    CHECK(forgotten == once);
  }
}

TEST_CASE("infer: of one node") {
  Graph g = example(3);
  g.tensor(g.nodes[0].outputs[0]).info = {};
  Vector<Defect> defects;
  infer_node(g, 0, defects);
  CHECK(defects.empty());
  CHECK(g.info(g.nodes[0].outputs[0]).shape == Dims{3, 5});
}

TEST_CASE("infer: a body that several nodes run is inferred for what each of them gives it") {
  Graph g, body;
  const AnyTensor inner = body.input<float>("x", {dynamic});
  body.add_output(AnyTensor(op::add(inner, body.input<float>("w", {}))).id);
  g.graphs.push_back(std::move(body));
  const auto one = [&](float value) { return constant<float>(g, std::span(&value, 1), Dims{}); };
  const auto call = [&](std::int64_t size, float value) {
    const AnyTensor x = g.input<float>(std::to_string(size), {size});
    g.add_node(descriptor<op::Call>, pack(op::Call{.callee = {0}}), {x.id, one(value).id},
               std::vector<TensorInfo>(1));
    g.add_output(g.nodes.back().outputs[0]);
  };
  call(2, 10);
  call(3, 20);
  g.nodes.push_back(g.nodes[0]);  // and another one for the first shape
  g.nodes.back().inputs[1] = one(30).id;
  g.nodes.back().outputs = {g.add_tensor({}, {})};
  g.add_output(g.nodes.back().outputs[0]);
  CHECK(infer(g).empty());
  CHECK(g.graphs.size() == 2);
  CHECK(g.info(g.outputs[0]).shape == Dims{2});
  CHECK(g.info(g.outputs[1]).shape == Dims{3});
  CHECK(subgraphs_of(g.nodes[1]) == std::vector<std::int32_t>{1});
  CHECK(subgraphs_of(g.nodes[2]) == std::vector<std::int32_t>{0});
  Session session(g);
  const Result result = session.run({{"2", Array<float>({2})}, {"3", Array<float>({3})}});
  CHECK(result[0].values<float>()[1] == 10);
  CHECK(result[1].values<float>()[2] == 20);
  CHECK(result[2].values<float>()[0] == 30);
}
