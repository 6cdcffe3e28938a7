// Late nodes: their shapes, or those of their bodies, follow from values.
#include "exec/late.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <halftone/halftone.hpp>

#include "error_of.hpp"
#include "random_graph.hpp"
#include "results.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

const kernel::Executor one;

std::string bytes_of(const AnyView& view) {
  return {static_cast<const char*>(view.data), view.bytes()};
}
/// y = -x or x + x, as `yes` says.
Graph branches() {
  Graph g;
  const AnyTensor yes = g.input<bool>("yes", {}), x = g.input<float>("x", {dynamic});
  for (const bool first : {true, false}) {
    Graph body;
    const AnyTensor inner = body.input<float>("x", {dynamic});
    body.add_output(first ? AnyTensor(op::neg(inner)).id : AnyTensor(op::add(inner, inner)).id);
    g.graphs.push_back(std::move(body));
  }
  const TensorInfo y{ElementType::float32, {dynamic}};
  g.add_node(descriptor<op::If>, pack(op::If{.then_branch = {0}, .else_branch = {1}}),
             {yes.id, x.id}, {&y, 1}, "choice");
  g.add_output(g.nodes[0].outputs[0]);
  return g;
}

/// The results of a program for any shapes.
std::vector<AnyArray> run_open(const Graph& graph, const std::vector<AnyView>& inputs,
                               const EngineOptions& options = {}) {
  Program program = make_program(graph, NoPasses{}, {.late = true});
  const std::unique_ptr<Bound> bound = bind(program, options, one, {}, {}, true);
  for (std::size_t i = 0; i < inputs.size(); ++i) bound->set_input(i, inputs[i]);
  return results_of(*bound);
}

/// The same graph with inputs of which only the ranks are known.
Graph opened(Graph graph) {
  for (TensorRecord& t : graph.tensors) {
    if (t.role == Role::input || t.role == Role::value) {
      for (std::int64_t& extent : t.info.shape) extent = dynamic;
    }
  }
  return graph;
}

/// A network behind what tells which rows of x are not zero: its shapes follow from values. With
/// `twice`, rows are chosen again between two layers.
Graph chosen_rows(bool twice = false) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {6, 4});
  const auto rows = [&](AnyTensor y) {
    const AnyTensor sums = op::sum(op::abs(y), constant(g, Dims{1}), {.keepdims = 0});
    return op::gather(y, op::squeeze(op::nonzero(sums), constant(g, Dims{0})), {.axis = 0});
  };
  const auto layer = [&](AnyTensor y, std::string_view name) {
    std::vector<float> values;
    for (int i = 0; i < 16; ++i) values.push_back(static_cast<float>(i % 5) - 2);
    return op::relu(op::matmul(y, parameter<float, Shape<4, 4>>(g, name, values)));
  };
  AnyTensor y = layer(rows(op::add(x, x)), "w");
  if (twice) y = layer(rows(y), "v");
  output(g, y, "y");
  return g;
}

}  // namespace

// The law: planned before or found as it runs, a graph gives the same.
TEST_CASE("late: a program for any shapes gives what a planned one gives, bit for bit") {
  test::Random random(17);
  int checked = 0;
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    const Graph g = test::with_own_variables(test::random_graph(random));
    if (Aliases(g).any_modified()) continue;
    Program program = make_program(g);
    const std::unique_ptr<Bound> bound = bind(program, {}, one);
    std::vector<AnyArray> inputs;
    for (std::size_t i = 0; i < g.inputs.size(); ++i) {
      int k = 0;
      for (float& v : inputs.emplace_back(g.info(g.inputs[i])).values<float>()) {
        v = static_cast<float>(++k % 7) / 8;
      }
      bound->set_input(i, inputs.back().data());
    }
    run(*bound);
    const std::vector<AnyView> views(inputs.begin(), inputs.end());
    const std::vector<AnyArray> outputs = run_open(opened(g), views);
    REQUIRE(outputs.size() == g.outputs.size());
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      CHECK(outputs[o].info() == bound->output(o).info);
      CHECK(bytes_of(outputs[o]) == bytes_of(bound->output(o)));
    }
    ++checked;
  }
  CHECK(checked > 0);
}

TEST_CASE("late: shapes follow from values") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {dynamic});
  g.add_output(AnyTensor(op::nonzero(x)).id);
  g.add_output(x.id);
  for (const std::int64_t n : {0, 1, 5}) {
    Array<float> values({n});
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 2);
    const std::vector<AnyArray> y = run_open(g, {values});
    CHECK(y[0].info().shape == Dims{1, n / 2});
    for (std::size_t i = 0; i < y[0].values<std::int64_t>().size(); ++i) {
      CHECK(y[0].values<std::int64_t>()[i] == static_cast<std::int64_t>(2 * i + 1));
    }
    // An output that is an input is a copy.
    CHECK(y[1].info() == values.info());
    if (n > 0) CHECK(y[1].data() != values.data());
  }
}

TEST_CASE("late: one branch of an If runs, and a runner gets every node") {
  class Counter final : public NodeRunner {
   public:
    std::vector<std::string> ran;
    std::vector<AnyArray> run(const Graph& graph, const Node& node, std::span<const AnyView> inputs,
                              const kernel::Executor& executor) override {
      ran.emplace_back(node.op->id.name);
      return run_node(graph, node, inputs, executor);
    }
  };
  const Graph g = branches();
  const Array<float> x({2}, {3, -4});
  for (const bool yes : {true, false}) {
    Counter counter;
    const Array<bool> condition(Dims{}, {yes});
    const std::vector<AnyArray> y = run_open(g, {condition, x}, {.runner = &counter});
    CHECK(y[0].values<float>()[1] == (yes ? 4 : -8));
    CHECK(counter.ran == std::vector<std::string>{yes ? "Neg" : "Add"});
  }
  const Array<bool> two({2}, {true, false});
  const std::string error = error_of([&] { run_open(g, {two, x}); });
  CHECK_MESSAGE(contains(error, "'choice'"), error);
  CHECK_MESSAGE(contains(error, "not one boolean"), error);
}

TEST_CASE("late: a node that only writes a variable's new value changes the variable") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2});
  const AnyTensor v = parameter<float, Shape<2>>(g, "v", std::vector<float>{0, 0});
  g.add_output(op::copy_var_update(v, x).id);
  g.add_output(op::nonzero(x).id);  // its shape follows from values
  Engine engine(std::move(g));
  const Array<float> value({2}, {5, 6});
  const AnyView inputs[] = {value};
  engine.run(inputs);
  const auto floats = [](const AnyView& view) {
    const auto* first = static_cast<const float*>(view.data);
    return std::vector<float>(first, first + view.info.elements());
  };
  CHECK(floats(engine.output(0)) == std::vector<float>{5, 6});
  CHECK(floats(engine.variable(v.id)) == std::vector<float>{5, 6});
}

// What is planned when its shapes are known computes what it computes node by node. All numbers are
// small integers, which floats add up exactly in any order.
TEST_CASE("late: what follows from values is planned for the shapes that have come") {
  for (const bool twice : {false, true}) {
    CAPTURE(twice);
    Engine engine(chosen_rows(twice));
    REQUIRE(engine.program() != nullptr);
    const std::string last(engine.program()->graph.name(engine.program()->graph.nodes.back()));
    CHECK(last == "late");
    for (int round = 0; round < 2; ++round) {  // shapes come again
      for (std::int64_t rows = 0; rows <= 6; ++rows) {
        Array<float> x({6, 4});
        for (std::int64_t i = 0; i < 4 * rows; ++i) x[static_cast<std::size_t>(i)] = 1 + i % 3;
        engine.run(std::vector<AnyView>{x});
        const std::vector<AnyArray> expected = run_open(chosen_rows(twice), {x});
        CHECK(engine.output(0).info == expected[0].info());
        CHECK(bytes_of(engine.output(0)) == bytes_of(expected[0]));
      }
    }
  }
}

TEST_CASE("late: a value is given back when its last reader has run") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  g.add_output(op::shape_of(op::nonzero(x)).id);
  Program program = make_program(std::move(g), NoPasses{}, {.late = true});
  REQUIRE(program.late.size() == 1);
  CHECK(program.late[0] == 1);
  const std::unique_ptr<Bound> bound = bind(program, {}, one);
  const Array<float> values({4}, {1, 0, 1, 1});
  bound->set_input(0, values.data());
  run(*bound);
  CHECK(bound->output(0).values<std::int64_t>()[1] == 3);
  CHECK_FALSE(bound->late_values[0].info().is_known());
}
