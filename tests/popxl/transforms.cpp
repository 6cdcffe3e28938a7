// Gradients of graphs. Expected numbers come from the formulas of the gradients; seeds are ones unless
// it says something else.
#include <popxl/ops.hpp>
#include <popxl/transforms.hpp>

#include <doctest/doctest.h>

#include <algorithm>

#include "error_of.hpp"
#include "popxl/evaluate.hpp"

using namespace popxl;
using test::check_near;
using test::F;
using test::Number;
using test::value;

namespace {

template <std::int64_t... D>
F<D...> given(std::string_view name, const std::vector<float>& values) {
  return variable<float, Shape<D...>>(name, std::span<const float>(values));
}

/// y = x W + b
struct Linear : Module<Linear> {
  F<2, 3> W;
  F<3> b;
  F<2, 3> build(F<2, 2> x) {
    W = graph_input<float, Shape<2, 3>>("W");
    b = graph_input<float, Shape<3>>("b");
    return ops::matmul(x, W) + b;
  }
};
constexpr auto cube = [](Number x) { return x * x * x; };

}  // namespace

// dW = x^T 1, db = 2, dx = 1 W^T: PopXL's example autodiff, in its steps.
TEST_CASE("popxl autodiff: inputs_dict and the maps from inputs to gradients") {
  Ir ir;
  Main in(ir);
  const auto x = given<2, 2>("x", {1, 2, 3, 4});
  const auto W = given<2, 3>("W", {1, 2, 3, 4, 5, 6});
  const auto b = given<3>("b", {1, 1, 1});
  Linear linear;
  const auto graph = ir.create_graph(linear, x);
  const auto site = ops::call_with_info(graph, {{linear.W, W}, {linear.b, b}}, x);
  const GradGraphInfo grad = transforms::autodiff(graph);
  const auto seed = constant<float, Shape<2, 3>>({1, 1, 1, 1, 1, 1});
  const auto grad_site = ops::call_with_info(grad.graph(), {seed}, grad.inputs_dict(site));

  CHECK(grad.forward_graph() == graph);
  CHECK(grad.graph().id() == "Linear_subgraph(0)_bwd");
  const auto expected = grad.expected_inputs();
  REQUIRE(expected.size() == 3);
  CHECK(expected[0].connection_type == ConnectionType::FwdGrad);
  CHECK((expected[0].fwd_tensor == graph.outputs()[0]));
  CHECK(expected[1].connection_type == ConnectionType::Fwd);
  CHECK(grad.inputs().size() == 3);
  for (const ExpectedConnection& c : grad.expected_outputs()) {
    CHECK(c.connection_type == ConnectionType::FwdGrad);
  }
  CHECK((grad.outputs()[1] == AnyTensor(linear.W)));

  const auto of = [](const TensorPairs& pairs, const AnyTensor& tensor) {
    for (const auto& [key, gradient] : pairs) {
      if (key == tensor) return value(gradient);
    }
    return std::vector<double>{};
  };
  const TensorPairs inner = grad.fwd_graph_ins_to_grad_parent_outs(grad_site);
  const TensorPairs outer = grad.fwd_parent_ins_to_grad_parent_outs(site, grad_site);
  check_near(of(inner, linear.W), {4, 4, 4, 6, 6, 6});
  check_near(of(outer, W), {4, 4, 4, 6, 6, 6});
  check_near(of(outer, b), {2, 2, 2});
  check_near(of(outer, x), {6, 15, 6, 15});
}

TEST_CASE("popxl autodiff: typed, for one call") {
  Ir ir;
  Main in(ir);
  const auto layer =
      ir.create_graph([](F<2, 2> x, F<2, 3> w, F<3> b) { return ops::matmul(x, w) + b; });
  const auto x = given<2, 2>("x", {1, 2, 3, 4});
  const auto W = given<2, 3>("W", {1, 2, 3, 4, 5, 6});
  const auto b = given<3>("b", {1, 1, 1});
  const auto site = ops::call_with_info(layer, x, W, b);
  const auto other = ops::call_with_info(layer, x, W, b);
  const auto grad = transforms::autodiff(layer);
  const auto [dx, dW, db] = ops::call(grad, site, constant<float, Shape<2, 3>>({1, 1, 1, 1, 1, 1}));
  static_assert(std::is_same_v<decltype(dW), const F<2, 3>>);
  check_near(value(dW), {4, 4, 4, 6, 6, 6});
  check_near(value(db), {2, 2, 2});
  check_near(value(dx), {6, 15, 6, 15});
  CHECK(other.outputs().size() == 1);
}

// dx = dy mask / (1 - p): the dropout of dy with the same seed.
TEST_CASE("popxl autodiff: dropout and shaped_dropout") {
  Ir ir;
  Main in(ir);
  const auto seed = constant<std::uint32_t, Shape<2>>({5, 7});
  const auto x = given<3, 4>("x", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const auto dy = constant<float, Shape<3, 4>>({1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12});
  const auto check = [&](const auto& drop) {
    const auto graph = ir.create_graph([&](F<3, 4> t, halftone::op::Seed s) { return drop(t, s); });
    const auto site = ops::call_with_info(graph, x, seed);
    const GradGraphInfo grad = transforms::autodiff(graph);
    const auto back = ops::call_with_info(grad.graph(), {dy}, grad.inputs_dict(site));
    const TensorPairs dx = grad.fwd_parent_ins_to_grad_parent_outs(site, back);
    REQUIRE(dx.size() == 1);
    const std::vector<double> expected = value(drop(dy, seed));
    check_near(value(dx[0].second), expected);
    CHECK(std::count(expected.begin(), expected.end(), 0.) > 0);
  };
  check([](F<3, 4> t, const halftone::op::Seed& s) { return ops::dropout(t, s, 0.5f); });
  check([](F<3, 4> t, const halftone::op::Seed& s) {
    return ops::shaped_dropout(t, s, {3, 1}, 0.5f);
  });
}

// d(x^3) = 3 x^2 = 12, d^2 = 6 x = 12
TEST_CASE("popxl autodiff: a second time, and of a gradient, means the same") {
  Ir ir;
  Main in(ir);
  const auto graph = ir.create_graph(cube);
  const auto x = given<>("x", {2});
  const auto site = ops::call_with_info(graph, x);
  const auto one = constant(1.f);
  const auto first = ops::call(transforms::autodiff(graph), site, one);
  const auto again = ops::call(transforms::autodiff(graph), site, one);
  check_near(value(first), {12});
  check_near(value(again), {12});
  CHECK(graph.outputs().size() == 1);  // nothing is stitched onto the graph itself
  const GradGraphInfo grad = transforms::autodiff(graph);
  const GradGraphInfo second = transforms::autodiff(grad.graph());
  const auto info = ops::call_with_info(grad.graph(), {one}, grad.inputs_dict(site));
  const auto info2 = ops::call_with_info(second.graph(), {one}, second.inputs_dict(info));
  double sum = 0;  // by the forward tensors that the gradient takes: x among them, and x x
  for (const auto& [tensor, gradient] : second.fwd_parent_ins_to_grad_parent_outs(info, info2)) {
    if (tensor == AnyTensor(x)) sum += value(gradient)[0];
  }
  CHECK(sum > 0);
}

TEST_CASE("popxl autodiff: grads_provided and grads_required") {
  Ir ir;
  Main in(ir);
  const auto graph = ir.create_graph([](Number x, Number y) { return std::tuple(x * y, x + y); });
  const auto x = given<>("x", {2}), y = given<>("y", {5});
  const GradGraphInfo grad = transforms::autodiff(
      static_cast<const Graph&>(graph),
      {.grads_provided = {{graph.outputs()[0]}}, .grads_required = {{graph.inputs()[1]}}});
  CHECK(grad.expected_outputs().size() == 1);
  const auto site = ops::call_with_info(graph, x, y);
  const auto info = ops::call_with_info(grad.graph(), {1.f}, grad.inputs_dict(site));
  check_near(value(info.outputs()[0]), {2});
  const Graph any = graph;
  CHECK_THROWS_AS(transforms::autodiff(any, {.grads_required = {{graph.outputs()[0]}}}),
                  ValueError);
  CHECK_THROWS_AS(transforms::autodiff(any, {.grads_provided = {{graph.inputs()[0]}}}), ValueError);
  CHECK_THROWS_AS(transforms::autodiff(any, {.grads_required = std::vector<AnyTensor>{}}),
                  ValueError);
  CHECK_THROWS_AS(transforms::autodiff(any, {.grads_required = {{x}}}), ValueError);
}

TEST_CASE("popxl autodiff: labels that are integers have no gradient") {
  Ir ir;
  const Graph graph = ir.create_graph(
      [](F<2, 3> p, Tensor<std::int32_t, Shape<2>> label) { return ops::nll_loss(p, label); });
  CHECK(transforms::autodiff(graph).expected_outputs().size() == 1);
  CHECK_THROWS_AS(transforms::autodiff(graph, {.grads_required = {{graph.inputs()[1]}}}),
                  halftone::Error);
}

TEST_CASE("popxl autodiff: a call of another graph, or a loop, is refused") {
  Ir ir;
  Main in(ir);
  const auto graph = ir.create_graph(cube), other = ir.create_graph(cube);
  const auto x = given<>("x", {2});
  const GradGraphInfo grad = transforms::autodiff(graph);
  CHECK_THROWS_AS(grad.inputs_dict(ops::call_with_info(other, x)), TypeError);
  CHECK_THROWS_AS(grad.inputs_dict(ops::repeat_with_info(graph, 2, x)), TypeError);
}

TEST_CASE("popxl autodiff: graphs that change what they are given have no gradient") {
  Ir ir;
  const Graph graph = ir.create_graph([](TensorByRef<Number> x) {
    ops::add_(*x, 1.f);
    return *x * 2.f;
  });
  CHECK_THROWS_AS(transforms::autodiff(graph), halftone::UsageError);
}

TEST_CASE("popxl autodiff: detach stops the gradient") {
  Ir ir;
  Main in(ir);
  const auto graph = ir.create_graph([](Number x) { return x * ops::detach(x); });
  const auto x = given<>("x", {3});
  const auto dx =
      ops::call(transforms::autodiff(graph), ops::call_with_info(graph, x), constant(1.f));
  check_near(value(dx), {3});  // not 6
}

// d(cube(cube x)) = 9 x^8
TEST_CASE("popxl autodiff: called graphs are differentiated first, or their gradients are given") {
  Ir ir;
  Main in(ir);
  const auto inner = ir.create_graph(cube);
  const auto outer =
      ir.create_graph([&](Number x) { return ops::call(inner, ops::call(inner, x)); });
  const auto x = given<>("x", {2});
  const auto site = ops::call_with_info(outer, x);
  const GradGraphInfo of_inner = transforms::autodiff(inner);
  const auto dx = ops::call(transforms::autodiff(outer), site, constant(1.f));
  check_near(value(dx), {9 * 256.});
  const auto given_inner = transforms::autodiff(outer, {.called_graphs_grad_info = {of_inner}});
  check_near(value(ops::call(given_inner, ops::call_with_info(outer, x), constant(1.f))),
             {9 * 256.});
  const auto all = transforms::autodiff_all(outer);
  REQUIRE(all.size() == 2);
  CHECK(all[0].forward_graph() == inner);
  CHECK(all[1].forward_graph() == outer);
}

// The law: n gradients that are added up are n times one.
TEST_CASE("popxl autodiff_with_accumulation: gradients are added to variables") {
  Ir ir;
  Main in(ir);
  const auto graph = ir.create_graph([](Number x, Number y) { return x * y; });
  const auto x = given<>("x", {2}), y = given<>("y", {5});
  const auto dx = variable<float, Shape<>>("dx", zeros), dy = variable<float, Shape<>>("dy", zeros);
  const auto grad = transforms::autodiff_with_accumulation(graph);
  for (int i = 0; i < 3; ++i) {
    ops::accumulate(grad, ops::call_with_info(graph, x, y), constant(1.f), {dx, dy});
  }
  check_near(value(dx + 0.f), {15});
  check_near(value(dy + 0.f), {6});
  CHECK(grad.graph().is_by_ref(grad.graph().inputs().size() - 1));
}

TEST_CASE("popxl decompose_sum: sums are additions of two from the start") {
  Ir ir;
  const auto graph = ir.create_graph([](Number a, Number b, Number c) { return a + b + c; });
  CHECK(transforms::decompose_sum(graph) == graph);
  for (const halftone::Node& node : graph.native().nodes) CHECK(node.inputs.size() <= 2);
}
