#include <doctest/doctest.h>

#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/onnx.hpp>

#include "acme/ops.hpp"

using namespace halftone;

// Expected numbers: y = step(cube(x), factor 2, distance 1) by hand.
namespace {

const std::vector<float> x_values{1, 2, 3, -1, 0, 2};
const std::vector<float> y_values{2, 14, 38, -2, 2, 16};

std::vector<float> run(Graph g) {
  Session session(std::move(g));
  const Array<float> x({2, 3}, x_values);
  const auto y = session.run({{"x", x}})["y"].values<float>();
  return {y.begin(), y.end()};
}

constexpr Graph typed() {
  Graph g;
  const auto x = input<float, Shape<2, 3>>(g, "x");
  output(g, apply<acme::Step{.factor = 2}>(acme::cube(x)), "y");
  return g;
}

Graph untyped() {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, dynamic});
  output(g, acme::step(acme::cube(x), {.factor = 2}), "y");
  return g;
}

}  // namespace

static_assert(acme::cube(2.f) == 8);
static_assert(typed().nodes.size() == 2);

TEST_CASE("operators of an extension run in a typed model") { CHECK(run(typed()) == y_values); }

TEST_CASE("operators of an extension run in an untyped model") {
  CHECK(run(untyped()) == y_values);
}

TEST_CASE("operators of an extension run in an imported model") {
  const std::vector<std::byte> model = onnx::to_bytes(untyped());
  CHECK(run(onnx::load(model, {.operators = acme::ops::table})) == y_values);
  CHECK_THROWS_AS(onnx::load(model), UnsupportedError);
}

TEST_CASE("integers go through an extension's element-wise operator") {
  Graph g;
  output(g, acme::cube(g.input<std::int32_t>("x", {3})), "y");
  Session session(std::move(g));
  const Array<std::int32_t> x({3}, {-2, 0, 5});
  const auto result = session.run({{"x", x}});
  const auto y = result["y"].values<std::int32_t>();
  CHECK(std::vector<std::int32_t>(y.begin(), y.end()) == std::vector<std::int32_t>{-8, 0, 125});
}

TEST_CASE("an extension's shape rule speaks in errors") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 3});
  CHECK_THROWS_AS(acme::step(x, {.distance = -1}), ModelError);
}
