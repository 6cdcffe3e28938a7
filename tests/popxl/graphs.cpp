// Ir, Graph and contexts; graphs of callables, calls, loops, branches. Expected numbers are those of
// the formulas in the bodies.
#include <popxl/call.hpp>
#include <popxl/ops.hpp>
#include <popxl/session.hpp>
#include <popxl/streams.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "error_of.hpp"
#include "folder.hpp"
#include "popxl/evaluate.hpp"

using namespace popxl;
using test::check_near;
using test::contains;
using test::error_of;
using test::F;
using test::Number;
using test::value;

namespace {

/// A variable that the graph's passes cannot take for a constant.
template <std::int64_t... D>
F<D...> given(float v) {
  return ops::exp(variable<float, Shape<D...>>("log", halftone::filled{std::log(v)}));
}

}  // namespace

// --- 1.1 Ir ------------------------------------------------------------------------------------------

TEST_CASE("popxl Ir: id and equality") {
  const Ir a, b;
  CHECK(a.id() != b.id());
  CHECK(!(a == b));
  const Ir same = a;
  CHECK(same == a);
  CHECK(same.id() == a.id());
}

TEST_CASE("popxl Ir: main_graph is one graph, the home of variables") {
  Ir ir;
  CHECK(ir.main_graph() == ir.main_graph());
  CHECK(ir.main_graph().id() == "main");
  CHECK(ir.main_graph().name().empty());
  Main in(ir);
  const auto w = variable<float, Shape<2>>("w", ones);
  CHECK(ir.main_graph().contains(w));
}

TEST_CASE("popxl Ir: create_empty_graph, and names of graphs") {
  Ir ir;
  const Graph first = ir.create_empty_graph(), second = ir.create_empty_graph("other");
  CHECK(first.id() == "graph_subgraph(0)");
  CHECK(second.id() == "other_subgraph(1)");  // one counter for all bases
  CHECK(first.inputs().empty());
  CHECK(first.outputs().empty());
}

TEST_CASE("popxl Ir: num_host_transfers reads and is set") {
  Ir ir;
  CHECK(ir.num_host_transfers == 1);
  ir.num_host_transfers = 4;
  const Ir same = ir;
  CHECK(same.num_host_transfers == 4);
  CHECK_THROWS_AS(ir.num_host_transfers = 0, ValueError);
  CHECK(ir.num_host_transfers == 4);
}

TEST_CASE("popxl Ir: replication_factor and instance_replication_factor") {
  Ir ir(4);
  CHECK(ir.replication_factor == 4);
  CHECK(ir.instance_replication_factor() == 4);
  ir.replication_factor = 2;
  CHECK(ir.instance_replication_factor() == 2);
  CHECK_THROWS_AS(ir.replication_factor = 0, ValueError);
  CHECK_THROWS_AS(Ir(0), ValueError);
}

TEST_CASE("popxl Ir: popdist is refused until several processes are there") {
  CHECK_THROWS_AS(Ir("popdist"), NotImplementedError);
  CHECK(contains(error_of([] { Ir("popdist"); }), "Ir(n)"));
  CHECK_THROWS_AS(Ir("many"), ValueError);
}

TEST_CASE("popxl Ir: dot_checkpoint writes the checks that are selected") {
  const test::Folder folder;
  const std::string dots = folder / "made";
  const auto read = [&](const std::string& name) {
    std::stringstream text;
    text << std::ifstream(dots + "/" + name + ".dot").rdbuf();
    return text.str();
  };
  ::unsetenv("POPART_DOT_CHECKS");
  Ir ir;
  {
    Main in(ir);
    const auto inc = ir.create_graph([](Number x) { return x + 1.f; });
    static_cast<void>(ops::call(inc, variable<float, Shape<>>("w", ones)));
  }
  SUBCASE("all of them if nothing selects any") {
    ir.dot_checkpoint("one", dots);
    ir.dot_checkpoint("two");  // into the same folder
    CHECK(contains(read("one"), "digraph"));
    CHECK(contains(read("one"), "lambda_subgraph(0)"));
    CHECK(contains(read("two"), "Add"));
  }
  SUBCASE("those of the option") {
    ir.set_dot_checks({"two"});
    ir.dot_checkpoint("one", dots);
    ir.dot_checkpoint("two");
    CHECK(read("one").empty());
    CHECK(!read("two").empty());
  }
  SUBCASE("those of POPART_DOT_CHECKS") {
    ::setenv("POPART_DOT_CHECKS", "one,three", 1);
    ir.dot_checkpoint("one", dots);
    ir.dot_checkpoint("two");
    ::unsetenv("POPART_DOT_CHECKS");
    CHECK(!read("one").empty());
    CHECK(read("two").empty());
  }
  SUBCASE("a folder that cannot be made") {
    CHECK_THROWS_AS(ir.dot_checkpoint("one", "/dev/null/folder"), halftone::IoError);
  }
}

// --- 1.2 Graph ---------------------------------------------------------------------------------------

TEST_CASE("popxl Graph: inputs outputs inputs_by_name tensors variables constants get_tensor") {
  Ir ir;
  const Graph graph = ir.create_empty_graph();
  {
    const In in(graph);
    const auto x = graph_input<float, Shape<2>>("x");
    const AnyTensor y = graph_input({ElementType::float32, {2}}, "y");
    const auto one = constant(1.f, "one");
    graph_output(x + one);
    graph_output(y);
    CHECK((graph.get_tensor("x") == AnyTensor(x)));
    CHECK((graph.inputs_by_name().at("y") == y));
    CHECK((graph.constants().at(0) == AnyTensor(one)));
    CHECK(graph.contains(one));
  }
  CHECK(graph.inputs().size() == 2);
  CHECK(graph.outputs().size() == 2);
  CHECK(graph.tensors().size() == 4);
  CHECK(graph.variables().empty());
  CHECK_THROWS_AS(graph.get_tensor("z"), ValueError);
  Main in(ir);
  const auto w = variable<float, Shape<2>>("w", ones);
  CHECK((ir.main_graph().variables().at(0) == AnyTensor(w)));
  CHECK(!graph.contains(w));
}

TEST_CASE("popxl Graph: ir, main_graph, called_graphs without repeats") {
  Ir ir;
  Main in(ir);
  const auto inc = ir.create_graph([](Number x) { return x + 1.f; });
  const auto x = given(2);
  static_cast<void>(ops::call(inc, ops::call(inc, x)));
  CHECK(ir.main_graph().called_graphs().size() == 1);
  CHECK(ir.main_graph().called_graphs()[0] == inc);
  CHECK(inc.ir() == ir);
  CHECK(inc.main_graph() == ir.main_graph());
  CHECK(inc.name() == inc.id());
}

TEST_CASE("popxl Graph: hooks are told of the operators of their graph") {
  Ir ir;
  Main in(ir);
  const auto x = given(2);
  std::vector<std::string> seen;
  const int hook = gcg().register_op_created_hook(
      [&](const halftone::Node& node) { seen.emplace_back(node.op->id.name); });
  const auto y = x + 1.f;
  const auto inc = ir.create_graph([](Number v) { return v * 2.f; });  // another graph's
  static_cast<void>(ops::call(inc, y));
  CHECK(seen == std::vector<std::string>{"Add", "Call"});
  gcg().remove_op_created_hook(hook);
  static_cast<void>(x + 2.f);
  CHECK(seen.size() == 2);
  CHECK_THROWS_AS(gcg().remove_op_created_hook(hook), ValueError);
}

// --- 3 contexts --------------------------------------------------------------------------------------

TEST_CASE("popxl contexts: the current graph is restored, also by exceptions") {
  CHECK_THROWS_AS(gcg(), RuntimeError);
  CHECK_THROWS_AS(get_ir(), RuntimeError);
  CHECK_THROWS_AS(get_main_graph(), RuntimeError);
  Ir ir, other;
  Main in(ir);
  const Graph graph = ir.create_empty_graph();
  try {
    const In inner(graph);
    CHECK(gcg() == graph);
    CHECK(gmg() == ir.main_graph());
    CHECK(gir() == ir);
    CHECK_THROWS_AS(In{other.main_graph()}, RuntimeError);
    throw 1;
  } catch (int) {
  }
  CHECK(get_current_graph() == ir.main_graph());
}

// --- 1.3 what is created -----------------------------------------------------------------------------

TEST_CASE("popxl variable: in the main graph, with data, a rule, or a type known at run time") {
  Ir ir;
  const Graph graph = ir.create_empty_graph();
  Main in(ir);
  const auto typed = variable<float, Shape<2>>("w", Array<float>({2}, {1, 2}));
  const auto two = variable<float, Shape<2>>("w", halftone::filled{2});
  CHECK(two.name() == "w_1");
  const AnyTensor wide = variable(Array<double>({2}, {3, 4}), "d");
  const AnyTensor whole = variable(Array<double>({2}, {3, 4}), "e", false);
  CHECK(wide.info().type == ElementType::float32);
  CHECK(whole.info().type == ElementType::float64);
  CHECK(variable(Array<std::int64_t>({1}, {3})).info().type == ElementType::int32);
  check_near(value(typed + two + wide), {6, 8});
  const In inner(graph);
  CHECK_THROWS_AS((variable<float, Shape<2>>("w", ones)), ValueError);
  CHECK(contains(error_of([] { variable<float, Shape<2>>("w", ones); }), "main graph"));
}

TEST_CASE("popxl constant: in any graph") {
  Ir ir;
  const Graph graph = ir.create_empty_graph();
  const In in(graph);
  const auto typed = constant<float, Shape<2>>({1, 2}, "c");
  CHECK(graph.contains(typed));
  CHECK(constant(Array<std::uint64_t>({1}, {1})).info().type == ElementType::uint32);
  check_near(value(typed + constant(2.f)), {3, 4});
}

TEST_CASE("popxl graph_input and graph_output: of the current graph") {
  Ir ir;
  Main in(ir);
  const auto x = given(2);
  CHECK_THROWS_AS((graph_input<float, Shape<>>("x")), ValueError);
  const Graph graph = ir.create_empty_graph();
  const In inner(graph);
  const auto y = graph_input<float, Shape<>>("y", true);
  CHECK(graph.is_by_ref(0));
  CHECK_THROWS_AS(graph_output(x), ValueError);
  graph_output(y);
  CHECK(graph.outputs().size() == 1);
}

TEST_CASE("popxl Tensor: equality is identity") {
  Ir ir;
  Main in(ir);
  const auto x = given(2), y = given(2);
  const AnyTensor same = x;
  CHECK((same == x));
  CHECK(!(x == y));
}

// --- 4.1 create_graph --------------------------------------------------------------------------------

TEST_CASE("popxl create_graph: inputs by the callable's parameters") {
  Ir ir;
  Main in(ir);
  const auto graph = ir.create_graph([](F<2, 3> x, F<3> b) { return x + b; });
  CHECK(graph.inputs().size() == 2);
  CHECK(graph.outputs().size() == 1);
  static_assert(std::is_same_v<decltype(graph)::result, F<2, 3>>);
  check_near(value(ops::call(graph, given<2, 3>(1), given<3>(2))), {3, 3, 3, 3, 3, 3});
}

TEST_CASE("popxl create_graph: inputs by arguments, which are templates and not connected") {
  Ir ir;
  Main in(ir);
  const auto body = [](auto x0, auto x1) { return ops::sum<1>(x0 + x1); };
  const auto x = given<2, 3>(1);
  const AnyTensor any = given<4, 2>(1);
  // One function, two shapes: two graphs.
  const auto typed = ir.create_graph(body, x, x);
  const auto untyped = ir.create_graph([](AnyTensor a, AnyTensor b) { return a + b; }, any,
                                       TensorSpec{ElementType::float32, {2}});
  CHECK((untyped.inputs()[1].info().shape == Dims{2}));
  CHECK(ir.main_graph().called_graphs().empty());
  check_near(value(ops::call(typed, x, given<2, 3>(2))), {9, 9});
  check_near(value(ops::call(untyped, any, given<2>(2))), {3, 3, 3, 3, 3, 3, 3, 3});
}

TEST_CASE("popxl create_graph: order of inputs: arguments, keywords, graph_input") {
  Ir ir;
  Main in(ir);
  F<> extra;
  const auto graph = ir.create_graph(
      [&](auto a, auto b, auto c) {
        extra = graph_input<float, Shape<>>("extra");
        return a * 8.f + b * 4.f + c * 2.f + extra;
      },
      Number{}, kw("b", Number{}), kw("c", Number{}));
  REQUIRE(graph.inputs().size() == 4);
  CHECK((graph.inputs()[1].name() == "b"));
  CHECK((graph.inputs_by_name().at("c") == graph.inputs()[2]));
  CHECK((graph.inputs()[3] == AnyTensor(extra)));
  const auto one = given(1), zero = given(0.25f);
  check_near(value(ops::call(graph, {{extra, one}}, zero, one, zero)), {2 + 4 + 0.5 + 1});
}

TEST_CASE("popxl create_graph: lists and structs of tensors; other arguments are handed on") {
  Ir ir;
  Main in(ir);
  const auto x = given(3);
  const std::vector<AnyTensor> list = {x, x};
  const auto sums = ir.create_graph(
      [](const std::vector<AnyTensor>& all, std::array<Number, 2> pair, int times,
         std::string_view word) {
        return (all[0] + all[1] + pair[0] + pair[1]) * static_cast<float>(times) +
               static_cast<float>(word.size());
      },
      kw("list", list), std::array<Number, 2>{}, 2, std::string_view("abc"));
  REQUIRE(sums.inputs().size() == 4);
  CHECK((sums.inputs()[1].name() == "list.1"));
  check_near(value(ops::call(sums, list, {x, x})), {27});
  const std::vector<TensorSpec> specs = {{ElementType::float32, {}}};
  const auto one = ir.create_graph([](const std::vector<AnyTensor>& all) { return all[0]; }, specs);
  CHECK(one.inputs().size() == 1);
}

TEST_CASE("popxl create_graph: no output, several outputs, a vector of them") {
  Ir ir;
  const auto nothing = ir.create_graph([](Number) {});
  const auto two = ir.create_graph([](Number x) { return std::tuple(x + 1.f, x + 2.f); });
  const auto list = ir.create_graph([](Number x) { return std::vector<AnyTensor>{x, x + 1.f}; });
  CHECK(nothing.outputs().empty());
  CHECK(two.outputs().size() == 2);
  CHECK(list.outputs().size() == 2);
  Main in(ir);
  const auto [a, b] = ops::call(two, given(1));
  static_assert(std::is_same_v<decltype(a), const Number>);
  check_near(value(a + b), {5});
  static_cast<void>(ops::call(nothing, given(1)));
}

TEST_CASE("popxl create_graph: what fails leaves the Ir as it was") {
  Ir ir;
  Main in(ir);
  const auto x = given(1);
  CHECK_THROWS_AS(ir.create_graph([&](Number) { return x; }), ValueError);
  CHECK_THROWS_AS(ir.create_graph([](Number) { return variable<float, Shape<>>("w", ones); }),
                  ValueError);
  CHECK_THROWS_AS(ir.create_graph([&](Number y) { return x + y; }), halftone::UsageError);
  CHECK(gcg() == ir.main_graph());
  CHECK(ir.create_empty_graph().id() == "graph_subgraph(3)");  // three are gone
}

namespace {
struct Scale : Module<Scale> {
  Number factor;
  Number build(Number x) {
    factor = graph_input<float, Shape<>>("factor");
    return x * factor;
  }
};
}  // namespace

TEST_CASE("popxl Module: build is what a graph records; fields keep its inputs") {
  Ir ir;
  Main in(ir);
  Scale scale;
  const auto graph = ir.create_graph(scale);
  CHECK(graph.id() == "Scale_subgraph(0)");
  check_near(value(ops::call(graph, {{scale.factor, given(3)}}, given(2))), {6});
  const auto other = ir.create_graph(scale, given(1));  // the fields are those of the last graph
  CHECK(other.contains(scale.factor));
}

// --- 4.2 call ----------------------------------------------------------------------------------------

TEST_CASE("popxl call: one graph, several calls") {
  Ir ir;
  Main in(ir);
  const auto inc = ir.create_graph([](Number x, Number by) { return x + by; });
  const auto one = given(1);
  check_near(value(ops::call(inc, ops::call(inc, ops::call(inc, one, one), one), one)), {4});
  CHECK(ir.main_graph().native().graphs.size() == 1);
}

TEST_CASE("popxl call: without types, with numbers, by the called graph's tensors") {
  Ir ir;
  Main in(ir);
  const auto axpy = ir.create_graph([](Number a, Number x, Number y) { return a * x + y; });
  const Graph graph = axpy;
  const auto x = given(3);
  check_near(value(ops::call(graph, {2.f, x, 1})[0]), {7});
  const auto inputs = graph.inputs();
  check_near(value(ops::call(graph, {x}, {{inputs[2], 1.f}, {inputs[1], x}})[0]), {10});
}

TEST_CASE("popxl call: the same tensor may be given for several inputs") {
  Ir ir;
  Main in(ir);
  const auto product = ir.create_graph([](Number a, Number b) { return a * b; });
  const auto x = given(3);
  check_near(value(ops::call(product, x, x)), {9});
}

TEST_CASE("popxl call: wrong inputs are errors that change nothing") {
  Ir ir;
  Main in(ir);
  const Graph graph = ir.create_graph([](Number a, F<2> b) { return a + b; });
  const auto x = given(1);
  const AnyTensor w = given<2>(1);
  const auto inputs = graph.inputs();
  const std::size_t nodes = ir.main_graph().native().nodes.size();
  const std::size_t tensors = ir.main_graph().native().tensors.size();
  CHECK_THROWS_AS(ops::call(graph, {x, w, w}), ValueError);
  CHECK(contains(error_of([&] { ops::call(graph, {x}); }), "missing"));
  CHECK(contains(error_of([&] { ops::call(graph, {x}); }), "1 [2] float"));
  CHECK_THROWS_AS(ops::call(graph, {x}), ValueError);
  CHECK_THROWS_AS(ops::call(graph, {x, w}, {{inputs[1], w}}), ValueError);  // twice
  CHECK_THROWS_AS(ops::call(graph, {x}, {{x, w}}), ValueError);             // no input
  CHECK_THROWS_AS(ops::call(graph, {inputs[0], w}), ValueError);            // of another graph
  CHECK_THROWS_AS(ops::call(graph, {1.f, Array<float>({3}, {1, 2, 3})}), TypeError);
  CHECK_THROWS_AS(ops::call(graph, {w, x}), halftone::ShapeError);
  CHECK_THROWS_AS(ops::call(ir.main_graph(), {}), ValueError);  // itself
  CHECK(ir.main_graph().native().nodes.size() == nodes);
  CHECK(ir.main_graph().native().tensors.size() == tensors);
  // Without the check they may be given later.
  const auto site = ops::call_with_info(graph, {x}, {}, false);
  CHECK(site.inputs()[1].is_absent());
}

TEST_CASE("popxl call: inputs by reference are changed in the caller, others in a copy") {
  for (const bool by_reference : {true, false}) {
    CAPTURE(by_reference);
    Ir ir;
    Main in(ir);
    const auto w = variable<float, Shape<>>("w", ones);
    if (by_reference) {
      static_cast<void>(
          ops::call(ir.create_graph([](TensorByRef<Number> x) { ops::add_(*x, 1.f); }), w));
    } else {
      static_cast<void>(ops::call(ir.create_graph([](Number x) { ops::add_(x, 1.f); }), w));
    }
    check_near(value(w + 0.f), {by_reference ? 2. : 1.});
  }
}

TEST_CASE("popxl call by value: what the callee changes is its copy, run after run") {
  // By the definition: x + 1 of w = 1, and w stays.
  const auto add_one = [](Number x) {
    ops::add_(x, 1.f);
    return x + 0.f;
  };
  enum class Way { call, branch, loop };
  for (const Way way : {Way::call, Way::branch, Way::loop}) {
    CAPTURE(int(way));
    Ir ir;
    DeviceToHostStream<float, Shape<>> y, z;
    AnyTensor w;
    {
      Main in(ir);
      y = d2h_stream<float, Shape<>>("y");
      z = d2h_stream<float, Shape<>>("z");
      const auto kept = variable<float, Shape<>>("w", ones);
      w = kept;
      const auto graph = ir.create_graph(add_one);
      const auto run = [&]() -> Number {
        if (way == Way::call) return ops::call(graph, kept);
        if (way == Way::loop) return ops::repeat(graph, 3, kept);
        const auto condition = variable<bool, Shape<>>("c", ones);
        return ops::conditional(condition, ops::then(graph, kept), ops::otherwise(graph, kept));
      };
      ops::host_store(y, run());
      if (way != Way::branch) ops::host_store(z, run());
    }
    Session session(ir);
    const auto on = session.attach();
    for (int i = 0; i < 3; ++i) {
      const HostOutputs out = session.run();
      const float expected = way == Way::loop ? 4 : 2;
      CHECK(out[y].values()[0] == expected);
      if (way != Way::branch) CHECK(out[z].values()[0] == expected);
    }
    CHECK(session.get_tensor_data(w).values<float>()[0] == 1);
  }
  // A constant is given by value, too, and a callee may have it by value and by reference.
  Ir ir;
  Main in(ir);
  const auto w = variable<float, Shape<>>("w", ones);
  const auto graph = ir.create_graph(add_one);
  check_near(value(ops::call(graph, constant<float, Shape<>>({5.f}))), {6});
  const auto first = ops::call(graph, w);
  const auto site = ops::call_with_info(graph, w);
  site.set_parent_input_modified(w);
  check_near(value(first + site.out + w), {6});
}

// --- 4.3 CallSiteInfo --------------------------------------------------------------------------------

TEST_CASE("popxl CallSiteInfo: inputs, outputs and what belongs to what") {
  Ir ir;
  Main in(ir);
  const auto sum = ir.create_graph([](Number a, Number b) { return a + b; });
  const auto x = given(1), y = given(2);
  const auto site = ops::call_with_info(sum, x, y);
  CHECK(site.called_graph() == sum);
  CHECK(site.inputs().size() == 2);
  CHECK((site.parent_input(1) == AnyTensor(y)));
  CHECK((site.parent_output(0) == AnyTensor(site.out)));
  CHECK((site.graph_to_parent(sum.inputs()[0]) == AnyTensor(x)));
  CHECK((site.graph_to_parent(sum.outputs()[0]) == AnyTensor(site.out)));
  CHECK((site.parent_to_graph(y) == sum.inputs()[1]));
  CHECK(site.graph_to_parent_input_index(1) == 1);
  CHECK(site.parent_to_graph_input_index(1) == 1);
  CHECK(site.graph_to_parent_output_index(0) == 0);
  CHECK(site.parent_to_graph_output_index(0) == 0);
  CHECK_THROWS_AS(site.parent_input(2), IndexError);
  CHECK_THROWS_AS(site.parent_output(1), IndexError);
  CHECK_THROWS_AS(site.graph_to_parent(x), ValueError);
  CHECK_THROWS_AS(site.parent_to_graph(site.out), ValueError);
}

TEST_CASE("popxl CallSiteInfo: set_parent_input_modified lets changes reach the caller") {
  for (const bool modified : {true, false}) {
    CAPTURE(modified);
    Ir ir;
    Main in(ir);
    const auto w = variable<float, Shape<>>("w", ones);
    const auto site = ops::call_with_info(ir.create_graph([](Number x) { ops::add_(x, 1.f); }), w);
    if (modified) site.set_parent_input_modified(w);
    check_near(value(w + 0.f), {modified ? 2. : 1.});
  }
  Ir ir;
  Main in(ir);
  const auto w = variable<float, Shape<>>("w", ones);
  const auto site = ops::call_with_info(ir.create_graph([](Number x) { return x + 1.f; }), w);
  site.set_parent_input_modified(w, true);  // nothing changes it
  CHECK(halftone::unpack<halftone::op::Call>(site.node().attributes).modified_inputs.empty());
  CHECK_THROWS_AS(site.set_parent_input_modified(site.out), ValueError);
}

// --- 4.4 repeat --------------------------------------------------------------------------------------

TEST_CASE("popxl repeat: results go round, other inputs stay, no passes give the inputs") {
  Ir ir;
  Main in(ir);
  const auto inc = ir.create_graph([](Number x, Number by) { return x + by; });
  const auto one = given(1), three = given(3);
  check_near(value(ops::repeat(inc, 8, one, three)), {25});
  check_near(value(ops::repeat(inc, 8, one, one)), {9});  // one tensor at two inputs
  check_near(value(ops::repeat(inc, 0, one, three)), {1});
  const Graph graph = inc;
  check_near(value(ops::repeat(graph, 2, {one}, {{graph.inputs()[1], 2.f}})[0]), {5});
}

TEST_CASE("popxl repeat: by reference and by value") {
  for (const bool by_reference : {true, false}) {
    CAPTURE(by_reference);
    Ir ir;
    Main in(ir);
    const auto total = variable<float, Shape<>>("total", zeros);
    const auto body = [](Number x, auto t) {
      const Number& sum = [&]() -> const Number& {
        if constexpr (std::is_same_v<decltype(t), Number>) {
          return t;
        } else {
          return *t;
        }
      }();
      ops::add_(sum, x);
      return x + 1.f;
    };
    const auto one = given(1);
    if (by_reference) {
      static_cast<void>(
          ops::repeat(ir.create_graph(body, one, by_ref<Number>{total}), 4, one, total));
    } else {
      static_cast<void>(ops::repeat(ir.create_graph(body, one, total), 4, one, total));
    }
    check_near(value(total + 0.f), {by_reference ? 1. + 2 + 3 + 4 : 0.});
  }
}

TEST_CASE("popxl repeat: site, and errors") {
  Ir ir;
  Main in(ir);
  const auto inc = ir.create_graph([](Number x, Number by) { return x + by; });
  const auto one = given(1), three = given(3);
  const auto site = ops::repeat_with_info(inc, 8, one, three);
  CHECK((site.parent_input(2) == AnyTensor(one)));  // behind trip count and condition
  CHECK(site.graph_to_parent_input_index(1) == 3);
  CHECK((site.parent_to_graph(three) == inc.inputs()[1]));
  CHECK((site.graph_to_parent(inc.outputs()[0]) == AnyTensor(site.out)));
  CHECK_THROWS_AS(site.set_parent_input_modified(one), NotImplementedError);
  CHECK_THROWS_AS(ops::repeat(inc, -1, one, three), ValueError);
  const Graph more = ir.create_graph([](Number x) { return std::tuple(x, x + 1.f); });
  CHECK_THROWS_AS(ops::repeat(more, 2, {one}), ValueError);
  const Graph wrong = ir.create_graph([](Number) { return constant<float, Shape<2>>({1, 2}); });
  CHECK_THROWS_AS(ops::repeat(wrong, 2, {one}), halftone::ShapeError);
}

// --- 4.5 conditional ---------------------------------------------------------------------------------

TEST_CASE("popxl conditional: one of two graphs") {
  Ir ir;
  Main in(ir);
  const auto inc = ir.create_graph([](Number x) { return x + 1.f; });
  const auto product = ir.create_graph([](Number x, Number y) { return x * y; });
  const auto x = given(3), y = given(5);
  const auto choose = [&](const AnyTensor& condition) {
    return ops::conditional(condition, ops::then(inc, x), ops::otherwise(product, x, y));
  };
  static_assert(std::is_same_v<decltype(choose(AnyTensor(x))), Number>);
  check_near(value(choose(ops::greater(y, x))), {4});
  check_near(value(choose(ops::greater(x, y))), {15});
  const Graph a = inc, b = product;
  check_near(value(ops::conditional(ops::greater(x, y), ops::then(a, {x}),
                                    ops::otherwise(b, {x}, {{b.inputs()[1], 2.f}}))[0]),
             {6});
}

TEST_CASE("popxl conditional: site, and errors") {
  Ir ir;
  Main in(ir);
  const auto inc = ir.create_graph([](Number x) { return x + 1.f; });
  const auto product = ir.create_graph([](Number x, Number y) { return x * y; });
  const auto x = given(3), y = given(5);
  const auto c = ops::greater(x, y);
  const auto site = ops::conditional_with_info(c, ops::then(inc, x), ops::otherwise(product, x, y));
  CHECK(site.called_graph().first == inc);
  CHECK(site.called_graph().second == product);
  CHECK(site.inputs().size() == 4);
  CHECK(site.branch(true).graph_to_parent_input_index(0) == 1);
  CHECK(site.branch(false).graph_to_parent_input_index(1) == 3);
  CHECK((site.branch(false).parent_to_graph(y) == product.inputs()[1]));
  CHECK(site.is_parent_index_in_then_branch(1));
  CHECK(!site.is_parent_index_in_then_branch(2));
  CHECK(!site.is_parent_index_in_then_branch(0));
  CHECK_THROWS_AS(site.is_parent_index_in_then_branch(4), IndexError);
  CHECK_THROWS_AS(site.branch(true).set_parent_input_modified(x), NotImplementedError);

  const Graph two = ir.create_graph([](Number v) { return std::tuple(v, v); });
  const Graph pair = ir.create_graph([](Number) { return constant<float, Shape<2>>({1, 2}); });
  const Graph change = ir.create_graph([](TensorByRef<Number> v) {
    ops::add_(*v, 1.f);
    return *v;
  });
  const Graph plain = inc;
  const auto with = [&](const AnyTensor& condition, const Graph& other) {
    ops::conditional(condition, ops::then(plain, {x}), ops::otherwise(other, {x}));
  };
  CHECK_THROWS_AS(with(x, plain), ValueError);    // not bool
  CHECK_THROWS_AS(with(c, two), ValueError);      // other outputs
  CHECK_THROWS_AS(with(c, pair), ValueError);     // of another shape
  CHECK_THROWS_AS(with(c, product), ValueError);  // missing
  CHECK_THROWS_AS(with(c, change), NotImplementedError);
}
