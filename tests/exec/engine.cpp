#include <halftone/exec/engine.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>

#include "error_of.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

std::vector<float> first_output(Engine& engine, const std::vector<AnyView>& in) {
  engine.run(in);
  const std::span<const float> y = engine.output(0).values<float>();
  return {y.begin(), y.end()};
}

/// y = x + v, which any batch goes through.
Graph shifted() {
  Graph g;
  const AnyTensor x = g.input<float>("x", {dynamic, 2});
  output(g, op::add(x, parameter<float, Shape<2>>(g, "v", std::vector<float>{1, 2})), "y");
  return g;
}

}  // namespace

TEST_CASE("engine: shapes may come and go, more of them than plans are kept") {
  Engine engine(shifted());
  CHECK(engine.program() == nullptr);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t batch = 0; batch < 7; ++batch) {
      Array<float> x({batch, 2});
      for (float& value : x) value = 5;
      const std::vector<float> y = first_output(engine, {x});
      REQUIRE(y.size() == static_cast<std::size_t>(2 * batch));
      for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == (i % 2 == 0 ? 6 : 7));
    }
  }
}

TEST_CASE("engine: a variable that is written counts from the next run on") {
  Engine engine(shifted());
  const TensorId v = engine.graph().find("v");
  const Array<float> x({1, 2}, {0, 0}), next({2}, {8, 9});
  CHECK(first_output(engine, {x}) == std::vector<float>{1, 2});
  engine.set_variable(v, next);
  CHECK(first_output(engine, {x}) == std::vector<float>{8, 9});
  CHECK(engine.variable(v).values<float>()[1] == 9);
  CHECK(contains(error_of([&] { engine.set_variable(v, x); }), "'v'"));
  CHECK(first_output(engine, {x}) == std::vector<float>{8, 9});
}

TEST_CASE("engine: a refused run leaves the engine as it was") {
  Engine engine(shifted());
  const Array<float> x({1, 2}), wrong({1, 3});
  CHECK(contains(error_of([&] { engine.run({}); }), "number of inputs"));
  CHECK(contains(error_of([&] { engine.run(std::vector<AnyView>{wrong}); }), "another shape"));
  CHECK(contains(error_of([&] { engine.executable(); }), "usage: "));
  CHECK(first_output(engine, {x}) == std::vector<float>{1, 2});
}

// The law: the partition of the work follows from its size alone.
TEST_CASE("engine: results do not depend on the number of threads") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {96, 200});
  const AnyTensor w = parameter<float, Shape<200, 150>>(g, "w");
  output(g, op::softmax(op::tanh(op::matmul(x, w))), "y");
  Array<float> values({96, 200});
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 29) / 29;
  Engine single(g, {.threads = 1});
  const std::vector<float> expected = first_output(single, {values});
  for (const int threads : {2, 3, 8}) {
    Engine engine(g, {.threads = threads});
    CHECK(first_output(engine, {values}) == expected);
  }
}

TEST_CASE("engine: a seed that is set again repeats the runs since") {
  Graph g;
  output(g, op::random_normal_like(g.input<float>("x", {16})), "y");
  Engine engine(g, {.seed = 3});
  CHECK(engine.is_random());
  const Array<float> x({16});
  const std::uint64_t seed = engine.seed();
  const std::vector<float> first = first_output(engine, {x}), second = first_output(engine, {x});
  CHECK(first != second);
  engine.set_seed(seed);
  CHECK(first_output(engine, {x}) == first);
  CHECK(first_output(engine, {x}) == second);
  CHECK_FALSE(Engine(shifted()).is_random());
}

TEST_CASE("engine: stop_at_nan names the first node whose output is not a number") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2});
  output(g, op::exp(op::relu(op::log(x))), "y");
  Engine stops(g, {.stop_at_nan = true}), goes_on(g);
  const Array<float> good({2}, {1, 1}), bad({2}, {1, -1});
  CHECK(first_output(stops, {good}) == std::vector<float>{1, 1});
  CHECK_THROWS_AS(stops.run(std::vector<AnyView>{bad}), NotANumberError);
  CHECK(contains(error_of([&] { stops.run(std::vector<AnyView>{bad}); }), "Log"));
  CHECK_NOTHROW(goes_on.run(std::vector<AnyView>{bad}));
  Graph open;
  open.add_output(AnyTensor(op::nonzero(open.input<float>("x", {2}))).id);
  CHECK_THROWS_AS(Engine(open, {.stop_at_nan = true}), UnsupportedError);
}

TEST_CASE("engine: one that only plans leaves large weights alone") {
  constexpr std::int64_t n = 1024;
  Graph g;
  const AnyTensor x = g.input<float>("x", Dims{1, n});
  // Nobody may read these bytes.
  const auto* nowhere = reinterpret_cast<const std::byte*>(std::uintptr_t{4096});
  Bytes weight(Storage::allocate(64), nowhere, sizeof(float) * n * n);
  const TensorId w = g.add_variable({ElementType::float32, {n, n}}, std::move(weight), "w");
  output(g, op::relu(op::matmul(x, AnyTensor{&g, w})), "y");
  Engine engine(std::move(g), {.only_plan = true});
  CHECK_THROWS_AS(engine.run({}), UsageError);
}
