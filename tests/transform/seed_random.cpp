#include <halftone/transform/seed_random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include <halftone/halftone.hpp>

using namespace halftone;

namespace {

std::vector<std::int64_t> numbers(const Graph& g) {
  std::vector<std::int64_t> list;
  for (const Node& node : g.nodes) {
    if (node.op->id == op::DeriveSeed::id) {
      list.push_back(unpack<op::DeriveSeed>(node.attributes).number);
    } else if (node.op->id == op::AdvanceRandom::id) {
      list.push_back(unpack<op::AdvanceRandom>(node.attributes).number);
    }
  }
  return list;
}

/// Two passes of a loop whose body draws numbers: all of them are stacked.
Graph looped() {
  Graph g, body;
  body.input<std::int64_t>("pass", {});
  const AnyTensor go = body.input<bool>("go", {});
  const AnyTensor shaped = body.input<float>("s", {8});
  body.outputs = {go.id, shaped.id, AnyTensor(op::random_uniform_like(shaped)).id};
  g.graphs.push_back(std::move(body));
  const AnyTensor x = g.input<float>("x", {8});
  const AnyTensor count = constant<std::int64_t>(g, std::vector<std::int64_t>{2}, {});
  const TensorInfo infos[]{{ElementType::float32, {8}}, {ElementType::float32, {2, 8}}};
  g.add_node(descriptor<op::Loop>, pack(op::Loop{.body = {0}}), {count.id, no_tensor, x.id}, infos);
  g.add_output(g.nodes[0].outputs[1]);
  return g;
}

}  // namespace

TEST_CASE("seed random: a graph without random nodes stays") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  output(g, op::relu(x), "y");
  const Graph before = g;
  CHECK_FALSE(seed_random(g));
  CHECK(g == before);
}

TEST_CASE("seed random: a Dropout that is known not to drop is its input") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  const auto mode = [&](bool on) { return constant<bool>(g, std::span<const bool>(&on, 1), {}); };
  output(g, op::dropout(x), "absent");
  output(g, op::dropout(x, none, mode(false)), "off");
  CHECK_FALSE(seed_random(g));
  for (const Node& node : g.nodes) CHECK(node.op->id == op::Identity::id);
  CHECK(infer(g).empty());

  output(g, op::dropout(x, none, mode(true)), "on");
  CHECK(seed_random(g));
  CHECK(g.info(g.inputs.back()) == TensorInfo{ElementType::uint32, {6}});
  CHECK(numbers(g).size() == 1);
}

TEST_CASE("seed random: every node has a number of its own, and is seeded once") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {16});
  for (const char* name : {"a", "b", "c"}) {
    output(g, op::random_uniform_like(x), name);
  }
  REQUIRE(seed_random(g));
  std::vector<std::int64_t> list = numbers(g);
  CHECK(list.size() == 3);
  CHECK(std::set<std::int64_t>(list.begin(), list.end()).size() == 3);
  CHECK(infer(g).empty());
  const Graph once = g;
  CHECK_FALSE(seed_random(g));
  CHECK(g == once);
}

TEST_CASE("seed random: passes of a loop draw other numbers, runs of one seed the same") {
  Graph seeded = looped();
  REQUIRE(seed_random(seeded));
  CHECK(infer(seeded).empty());
  CHECK(seeded.outputs.size() == 1);  // the state is none of the graph's outputs
  Session session(looped(), {.seed = 5});
  const Array<float> x({8});
  const auto draw = [&] {
    const Result result = session.run({{"x", x}});
    const std::span<const float> y = result[0].values<float>();
    return std::vector<float>(y.begin(), y.end());
  };
  const std::vector<float> first = draw(), second = draw();
  CHECK_FALSE(std::equal(first.begin(), first.begin() + 8, first.begin() + 8));
  CHECK(first != second);
  for (const float u : first) CHECK((u >= 0 && u < 1));
  Session again(looped(), {.seed = 5});
  const Result result = again.run({{"x", x}});
  CHECK(std::ranges::equal(result[0].values<float>(), first));
}
