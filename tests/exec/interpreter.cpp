#include "exec/interpreter.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <halftone/halftone.hpp>

#include "error_of.hpp"
#include "random_graph.hpp"
#include "results.hpp"

using namespace halftone;

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

}  // namespace

// The law: node by node or planned, a graph gives the same.
TEST_CASE("interpreter: gives what a program gives, bit for bit") {
  test::Random random(17);
  int checked = 0;
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    const Graph g = test::with_own_variables(test::random_graph(random));
    if (Aliases(g).any_modified()) continue;
    Program program = make_program(g, NoPasses{});
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
    const std::vector<AnyArray> outputs = interpret(g, views, {one});
    REQUIRE(outputs.size() == g.outputs.size());
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      CHECK(bytes_of(outputs[o]) == bytes_of(bound->output(o)));
    }
    ++checked;
  }
  CHECK(checked > 0);
}

TEST_CASE("interpreter: shapes follow from values") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {dynamic});
  g.add_output(AnyTensor(op::nonzero(x)).id);
  g.add_output(x.id);
  for (const std::int64_t n : {0, 1, 5}) {
    Array<float> values({n});
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 2);
    const std::vector<AnyView> in{values};
    const std::vector<AnyArray> y = interpret(g, in, {one});
    CHECK(y[0].info().shape == Dims{1, n / 2});
    for (std::size_t i = 0; i < y[0].values<std::int64_t>().size(); ++i) {
      CHECK(y[0].values<std::int64_t>()[i] == static_cast<std::int64_t>(2 * i + 1));
    }
    // An output that is an input is a copy.
    CHECK(y[1].info() == values.info());
    if (n > 0) CHECK(y[1].data() != values.data());
  }
}

TEST_CASE("interpreter: one branch of an If runs, and a runner gets every node") {
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
    const std::vector<AnyView> in{condition, x};
    const std::vector<AnyArray> y = interpret(g, in, {one, &counter});
    CHECK(y[0].values<float>()[1] == (yes ? 4 : -8));
    CHECK(counter.ran == std::vector<std::string>{yes ? "Neg" : "Add"});
  }
  const Array<bool> two({2}, {true, false});
  const std::vector<AnyView> in{two, x};
  const std::string error = test::error_of([&] { interpret(g, in, {one}); });
  CHECK_MESSAGE(test::contains(error, "'choice'"), error);
  CHECK_MESSAGE(test::contains(error, "not one boolean"), error);
}

TEST_CASE("interpreter: a node that only writes a variable's new value changes the variable") {
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
