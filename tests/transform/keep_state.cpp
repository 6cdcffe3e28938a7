// The laws: what stays on the machine is what a program would give back; in place is as not in place.
#include <halftone/transform/keep_state.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <halftone/train.hpp>

#include "error_of.hpp"
#include "results.hpp"

using namespace halftone;

namespace {

constexpr std::int64_t batch = 2, heads = 2, most = 6, size = 4, width = heads * size;

Array<float> numbers(Dims shape, int seed) {
  Array<float> values(shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto n = static_cast<int>(i) + 31 * seed;
    values[i] = static_cast<float>(n * 7919 % 255) / 256 - .5f;
  }
  return values;
}

/// A step of a decoder with one layer, whose keys and values lie in a cache.
struct Decoder {
  Graph graph;
  AnyTensor past_key, past_value, present_key, present_value;

  explicit Decoder(bool keeps) {
    const AnyTensor x = graph.input<float>("x", {batch, 1, width});
    const AnyTensor position = graph.input<std::int64_t>("position", {batch});
    past_key = graph.input<float>("key", {batch, heads, most, size});
    past_value = graph.input<float>("value", {batch, heads, most, size});
    const auto project = [&](int seed) {
      const Array<float> w = numbers({width, width}, seed);
      const AnyTensor y = op::matmul(x, constant<float>(graph, w.values(), {width, width}));
      const Dims split{batch, 1, heads, size};
      return op::transpose(op::reshape(y, constant(graph, split)), {.perm = {0, 2, 1, 3}});
    };
    present_key = op::tensor_scatter(past_key, project(2), position);
    present_value = op::tensor_scatter(past_value, project(3), position);
    const AnyTensor one = constant<std::int64_t>(graph, std::vector<std::int64_t>{1}, {1});
    const AnyTensor y = op::attention(project(1), present_key, present_value, none, none, none,
                                      op::add(position, one));
    output(graph, y, "y");
    output(graph, present_key, "new_key");
    output(graph, present_value, "new_value");
    if (!keeps) return;
    keep_state(past_key, present_key);
    keep_state(past_value, present_value);
  }
};

std::vector<Array<float>> tokens() {
  std::vector<Array<float>> list;
  for (int t = 0; t < most; ++t) list.push_back(numbers({batch, 1, width}, 7 + t));
  return list;
}

/// A node that may write over what it reads, as elements or as a cache, in one of six surroundings.
Graph counter(int variant) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  const AnyTensor old = g.input<float>("old", {4});
  const AnyTensor view = op::identity(old);
  const AnyTensor before = variant == 1 ? op::exp(old) : x;
  const AnyTensor next = variant == 5 ? op::add(old, op::sum(old)) : op::add(old, x);
  output(g, op::mul(next, before), "y");
  if (variant == 2)
    output(g, op::mul(view, next), "z");  // the old value is read when the next is there
  if (variant == 3) output(g, op::identity(next), "z");
  if (variant == 4) output(g, view, "z");
  keep_state(old, next);
  return g;
}

}  // namespace

TEST_CASE("keep state: a decoder's steps are those of one that gets back what it gave") {
  const Decoder given(false), kept(true);
  REQUIRE(kept.graph.inputs.size() == 2);
  REQUIRE(kept.graph.outputs.size() == 1);
  Session a(given.graph), b(kept.graph);
  Array<float> key({batch, heads, most, size}), value({batch, heads, most, size});
  std::int64_t t = 0;
  for (const Array<float>& x : tokens()) {
    const Array<std::int64_t> position({batch}, {t, t});
    ++t;
    const Result next = a.run({{"x", x}, {"position", position}, {"key", key}, {"value", value}});
    const Result y = b.run({{"x", x}, {"position", position}});
    const auto expected = next["y"].values<float>(), found = y["y"].values<float>();
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(expected[i] == found[i]);
    for (std::size_t i = 0; i < key.size(); ++i) {
      key[i] = next["new_key"].values<float>()[i];
      value[i] = next["new_value"].values<float>()[i];
    }
  }
  for (const auto& [name, last] :
       {std::pair<const char*, const Array<float>&>{"key", key}, {"value", value}}) {
    const auto now = b.get(name).values<float>();
    for (std::size_t i = 0; i < last.size(); ++i) CHECK(now[i] == last[i]);
  }
}

TEST_CASE("keep state: nothing of a cache is copied") {
  const Program program = make_program(Decoder(true).graph);
  int scattered = 0;
  for (const Program::Step& step : program.steps) {
    if (step.node < 0) continue;
    const OpId& id = program.graph.nodes[static_cast<std::size_t>(step.node)].op->id;
    CHECK(id != op::CopyVarUpdate::id);
    if (id != op::TensorScatter::id) continue;
    ++scattered;
    CHECK(program.of(step)[step.inputs].place == Program::Place::weight);
    CHECK(program.of(step)[step.inputs].number == program.of(step)[0].number);
  }
  CHECK(scattered == 2);
}

TEST_CASE("keep state: what is written in place is what is copied") {
  for (const int variant : {0, 1, 2, 3, 4, 5}) {
    CAPTURE(variant);
    const Graph g = counter(variant);
    const auto results = [&](bool in_place) {
      return test::results(
          make_program(test::with_own_variables(g), NoPasses{}, {.in_place = in_place}));
    };
    CHECK(results(true) == results(false));
  }
}

TEST_CASE("keep state: two variables take each other's values") {
  Graph g;
  const AnyTensor a = g.input<float>("a", {2}), b = g.input<float>("b", {2});
  const AnyTensor next_a = op::mul(b, b), next_b = op::add(a, a);
  output(g, next_a, "y");
  keep_state(a, next_a);
  keep_state(b, next_b);
  Session session(g);
  session.set("a", Array<float>({2}, {1, 2}));
  session.set("b", Array<float>({2}, {3, 4}));
  session.run({});
  CHECK(session.get("a").values<float>()[1] == 16);
  CHECK(session.get("b").values<float>()[1] == 4);
  session.run({});
  CHECK(session.get("a").values<float>()[1] == 16);
  CHECK(session.get("b").values<float>()[1] == 32);
}

TEST_CASE("keep state: what is kept is no weight, and gradients need its old value") {
  const auto made = [](bool is_late) {
    Graph g;
    const AnyTensor old = g.input<float>("old", {2});
    const AnyTensor w{&g, g.add_variable({ElementType::float32, {2}}, Initial{}, "w")};
    const AnyTensor next = op::add(op::mul(old, w), w), loss = op::sum(next * next);
    if (!is_late) keep_state(old, next);
    train(g, loss, Sgd{.learning_rate = 0.5f});
    if (is_late) keep_state(old, next);
    return g;
  };
  CHECK(
      test::contains(test::error_of([&] { made(false); }),
                     "model: a gradient needs the value of a variable that the model has changed"));
  // The loss is ((old + 1) w)^2, so that w becomes w - (old + 1)^2 w, and old (old + 1) w.
  Session session(made(true));
  session.set("w", Array<float>({2}, {1, 2}));
  session.set("old", Array<float>({2}, {1, -2}));
  session.run({});
  CHECK(session.get("w").values<float>()[0] == -3);
  CHECK(session.get("w").values<float>()[1] == 0);
  CHECK(session.get("old").values<float>()[0] == 2);
  CHECK(session.get("old").values<float>()[1] == -2);
}

TEST_CASE("keep state: what cannot be kept is an error that names it") {
  Graph g, other;
  const AnyTensor x = g.input<float>("x", {2}), w = constant<float>(g, std::vector{1.f, 2.f}, {2});
  const AnyTensor unknown = g.input<float>("unknown", {dynamic});
  const AnyTensor y = op::add(x, w), z = op::concat(x, w, {.axis = 0});
  using test::contains;
  using test::error_of;
  CHECK(contains(error_of([&] { keep_state(x, other.input<float>("x", {2})); }),
                 "usage: an input and its next value are not of one graph"));
  CHECK(contains(error_of([&] { keep_state(y, x); }), "is no input of the graph"));
  CHECK(contains(error_of([&] { keep_state(x, w); }), "is not computed by a node"));
  const std::string shape = error_of([&] { keep_state(x, z); });
  CHECK(contains(shape, "model: the next value of an input has another type or shape"));
  CHECK(contains(shape, "[4]"));
  CHECK(contains(error_of([&] { keep_state(unknown, op::add(unknown, unknown)); }),
                 "unsupported: the shape of an input"));
  g.replicas = 2;
  CHECK(contains(error_of([&] { keep_state(x, y); }), "unsupported: an input of replicas"));
  CHECK(g.inputs.size() == 2);
}
