#include <doctest/doctest.h>

#include "model_bytes.hpp"

namespace test {

using namespace halftone;

namespace {

const Message cond = value("c", 9, {});
const Message x2 = value("x", float32, {2});
const Message y2 = value("y", float32, {2});

Message branch(std::vector<Message> nodes, std::string_view output,
               std::vector<Message> initializers = {}) {
  return graph({.nodes = std::move(nodes),
                .initializers = std::move(initializers),
                .outputs = {shapeless(output, float32)}});
}
Message if_node(const Message& then_graph, const Message& else_graph, Names outputs = {"y"}) {
  return node("If", {"c"}, outputs,
              {.name = "if",
               .attributes = {graph_attribute("then_branch", then_graph),
                              graph_attribute("else_branch", else_graph)}});
}
std::string if_model(const Message& then_graph, const Message& else_graph) {
  return model({.nodes = {node("Neg", {"x"}, {"n"}), if_node(then_graph, else_graph)},
                .initializers = {floats("w", {2}, {1, 2})},
                .inputs = {cond, x2},
                .outputs = {y2}});
}

Message opsets(Message function, std::int64_t version = 13) {
  return function.message(9, opset(version));
}
/// A local function of the domain "f".
Message function(std::string_view name, Names inputs, Names outputs, std::vector<Message> nodes,
                 Names attributes = {}, std::vector<Message> defaults = {}) {
  Message m = Message().text(1, name).text(10, "f");
  for (const std::string_view i : inputs) m.text(4, i);
  for (const std::string_view o : outputs) m.text(5, o);
  for (const std::string_view a : attributes) m.text(6, a);
  for (const Message& n : nodes) m.message(7, n);
  for (const Message& d : defaults) m.message(11, d);
  return opsets(m);
}
Message call(std::string_view name, Names inputs, Names outputs,
             std::vector<Message> attributes = {}, std::string_view node_name = {}) {
  return node(name, inputs, outputs,
              {.name = node_name, .domain = "f", .attributes = std::move(attributes)});
}
std::string function_model(std::vector<Message> nodes, std::vector<Message> functions) {
  return model({.nodes = std::move(nodes), .inputs = {x2}, .outputs = {y2}},
               {.opsets = {opset(1, "f")}, .functions = std::move(functions)});
}

}  // namespace

TEST_CASE("subgraphs: captured tensors become inputs of node and branches, in one order") {
  const Graph g = loaded(if_model(branch({node("Add", {"x", "w"}, {"t"})}, "t"),
                                  branch({node("Mul", {"w", "n"}, {"e"})}, "e")));
  REQUIRE(g.nodes.size() == 2);
  const Node& n = g.nodes[1];
  CHECK(n.op->id.name == "If");
  CHECK(n.inputs == std::vector<TensorId>{g.find("c"), g.find("x"), g.find("w"), g.find("n")});
  REQUIRE(g.graphs.size() == 2);
  for (const Graph& body : g.graphs) {
    REQUIRE(body.inputs.size() == 3);
    for (const TensorId id : body.inputs) {
      CHECK(body.info(id) == TensorInfo{ElementType::float32, {2}});
    }
  }
  const Graph &then_graph = g.graphs[0], &else_graph = g.graphs[1];
  CHECK(then_graph.nodes[0].inputs ==
        std::vector<TensorId>{then_graph.inputs[0], then_graph.inputs[1]});
  CHECK(else_graph.nodes[0].inputs ==
        std::vector<TensorId>{else_graph.inputs[1], else_graph.inputs[2]});
  CHECK(g.info(g.find("y")) == TensorInfo{ElementType::float32, {2}});
}

TEST_CASE("subgraphs: constants of the graph around are constants inside") {
  const std::vector<std::int64_t> shape{2, 1};
  const Graph g =
      loaded(model({.nodes = {if_node(branch({node("Reshape", {"x", "s"}, {"t"})}, "t"),
                                      branch({node("Reshape", {"x", "s"}, {"e"})}, "e"))},
                    .initializers = {tensor("s", int64, {2}, shape)},
                    .inputs = {cond, x2},
                    .outputs = {value("y", float32, {2, 1})}}));
  CHECK(g.nodes[0].inputs.size() == 2);
  CHECK(g.info(g.find("y")).shape == Dims{2, 1});
}

TEST_CASE("subgraphs: in subgraphs, and a branch that only gives back an outer tensor") {
  const Message inner =
      branch({node("If", {"c"}, {"i"},
                   {.attributes = {graph_attribute("then_branch",
                                                   branch({node("Add", {"x", "n"}, {"p"})}, "p")),
                                   graph_attribute("else_branch", branch({}, "x"))}})},
             "i");
  const Graph g = loaded(if_model(inner, branch({node("Identity", {"w"}, {"e"})}, "e")));
  CHECK(g.nodes[1].inputs ==
        std::vector<TensorId>{g.find("c"), g.find("c"), g.find("x"), g.find("n"), g.find("w")});
  REQUIRE(g.graphs[0].graphs.size() == 2);
  CHECK(g.graphs[0].graphs[0].inputs.size() == 2);
  CHECK(g.graphs[0].graphs[1].outputs[0] == g.graphs[0].graphs[1].inputs[0]);
  CHECK(g.info(g.find("y")).shape == Dims{2});
}

TEST_CASE("subgraphs: defects inside are found") {
  const Message good = branch({node("Identity", {"x"}, {"e"})}, "e");
  auto kind = [&](const Message& then_graph) {
    return error_of(if_model(then_graph, good)).kind();
  };
  CHECK(kind(good) == ErrorKind::internal);  // loaded
  CHECK(kind(branch({node("Add", {"x", "nothing"}, {"t"})}, "t")) == ErrorKind::model);
  CHECK(kind(branch({node("Frobnicate", {"x"}, {"t"})}, "t")) == ErrorKind::unsupported);
  CHECK(kind(branch({node("MatMul", {"x", "v"}, {"t"})}, "t", {floats("v", {3}, {1, 2, 3})})) ==
        ErrorKind::model);
  // What the graph around computes later is not there yet.
  CHECK(kind(branch({node("Identity", {"y"}, {"t"})}, "t")) == ErrorKind::model);
  CHECK(kind(graph({.nodes = {node("Identity", {"x"}, {"t"})}})) == ErrorKind::model);  // no output
  // An If has one input: what is captured is no input of the model's.
  CHECK(error_of(model({.nodes = {node("If", {"c", "x"}, {"y"},
                                       {.attributes = {graph_attribute("then_branch", good),
                                                       graph_attribute("else_branch", good)}})},
                        .inputs = {cond, x2},
                        .outputs = {y2}}))
            .kind() == ErrorKind::model);
  CHECK(error_of(model({.nodes = {node("If", {"c"}, {"y"},
                                       {.attributes = {graph_attribute("then_branch", good)}})},
                        .inputs = {cond, x2},
                        .outputs = {y2}}))
            .kind() == ErrorKind::model);
}

TEST_CASE("functions: become their nodes, names in a scope") {
  const Graph g = loaded(
      function_model({call("Twice", {"x"}, {"a"}, {}, "first"), call("Twice", {"a"}, {"y"})},
                     {function("Twice", {"i"}, {"o"},
                               {node("Neg", {"i"}, {"m"}), node("Sub", {"i", "m"}, {"o"})})}));
  REQUIRE(g.nodes.size() == 4);
  CHECK(g.find("a") == g.nodes[1].outputs[0]);
  CHECK(g.find("y") == g.nodes[3].outputs[0]);
  CHECK(g.find("first/m") == g.nodes[0].outputs[0]);
  CHECK(g.find("Twice/m") == g.nodes[2].outputs[0]);
  CHECK(g.nodes[2].inputs[0] == g.find("a"));
  CHECK(g.info(g.find("y")) == TensorInfo{ElementType::float32, {2}});
}

TEST_CASE("functions: attributes, their defaults, and those that are not given") {
  const Message body =
      function("Turn", {"i"}, {"o"},
               {node("Transpose", {"i"}, {"o"}, {.attributes = {reference("perm", 7, "order")}})},
               {"order"});
  const Message with_default =
      function("TurnBack", {"i"}, {"o"},
               {node("Transpose", {"i"}, {"o"}, {.attributes = {reference("perm", 7, "order")}})},
               {}, {integers("order", {0, 1})});
  auto shape = [&](const Message& n) {
    const Graph g = loaded(model({.nodes = {n},
                                  .inputs = {value("x", float32, {2, 3})},
                                  .outputs = {shapeless("y", float32)}},
                                 {.opsets = {opset(1, "f")}, .functions = {body, with_default}}));
    return g.info(g.find("y")).shape;
  };
  CHECK(shape(call("Turn", {"x"}, {"y"}, {integers("order", {0, 1})})) == Dims{2, 3});
  CHECK(shape(call("Turn", {"x"}, {"y"})) == Dims{3, 2});  // Transpose's own default
  CHECK(shape(call("TurnBack", {"x"}, {"y"})) == Dims{2, 3});
  CHECK(shape(call("TurnBack", {"x"}, {"y"}, {integers("order", {1, 0})})) == Dims{3, 2});
  CHECK(error_of(model({.nodes = {call("Turn", {"x"}, {"y"}, {integers("oder", {0, 1})})},
                        .inputs = {value("x", float32, {2, 3})},
                        .outputs = {shapeless("y", float32)}},
                       {.opsets = {opset(1, "f")}, .functions = {body}}))
            .kind() == ErrorKind::model);
}

TEST_CASE("functions: an output may be an input, outputs and inputs may be left out") {
  const Message f = function("F", {"i", "j"}, {"o", "p", "q"},
                             {node("Neg", {"i"}, {"o"}), node("Abs", {"i"}, {"p"})});
  const Message same = function("Same", {"i"}, {"i"}, {});
  const Graph g =
      loaded(function_model({call("Same", {"x"}, {"a"}), call("F", {"a"}, {"", "y"})}, {f, same}));
  CHECK(g.find("y") == g.nodes.back().outputs[0]);
  CHECK(g.name(g.outputs[0]) == "y");
  CHECK(g.find("a") != g.find("x"));
  CHECK(error_of(function_model({call("F", {"x", "x", "x"}, {"y"})}, {f})).kind() ==
        ErrorKind::model);
  CHECK(error_of(function_model({call("F", {"x"}, {"y", "b", "c", "d"})}, {f})).kind() ==
        ErrorKind::model);
  CHECK(error_of(function_model({call("F", {"x"}, {"b", "c", "y"})}, {f})).kind() ==
        ErrorKind::model);
  // A body sees its own names only.
  CHECK(error_of(function_model({call("G", {"x"}, {"y"})},
                                {function("G", {"i"}, {"o"}, {node("Add", {"i", "x"}, {"o"})})}))
            .kind() == ErrorKind::model);
}

TEST_CASE("functions: that call themselves are refused, and so is a flood of nodes") {
  const Message f = function("F", {"i"}, {"o"}, {call("G", {"i"}, {"o"})});
  const Message g = function("G", {"i"}, {"o"}, {call("F", {"i"}, {"o"})});
  CHECK(error_of(function_model({call("F", {"x"}, {"y"})}, {f, g})).kind() == ErrorKind::model);

  std::vector<Message> functions;
  const std::string names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  functions.push_back(function("a", {"i"}, {"o"}, {node("Neg", {"i"}, {"o"})}));
  for (std::size_t k = 1; k < names.size(); ++k) {
    const std::string_view next(&names[k], 1), last(&names[k - 1], 1);
    functions.push_back(
        function(next, {"i"}, {"o"}, {call(last, {"i"}, {"m"}), call(last, {"m"}, {"o"})}));
  }
  const Error flood = error_of(function_model({call("Z", {"x"}, {"y"})}, functions));
  CHECK(flood.kind() == ErrorKind::unsupported);
}

TEST_CASE("functions: subgraphs in functions, functions in subgraphs") {
  const Message f = function(
      "F", {"c", "i"}, {"o"},
      {node("Neg", {"i"}, {"m"}),
       node("If", {"c"}, {"o"},
            {.attributes = {
                 graph_attribute("then_branch", branch({call("G", {"m"}, {"t"})}, "t")),
                 graph_attribute("else_branch", branch({node("Abs", {"i"}, {"e"})}, "e"))}})});
  const Message g =
      function("G", {"i"}, {"o"}, {node("Neg", {"i"}, {"k"}), node("Abs", {"k"}, {"o"})});
  const Graph loaded_graph =
      loaded(model({.nodes = {call("F", {"c", "x"}, {"y"})}, .inputs = {cond, x2}, .outputs = {y2}},
                   {.opsets = {opset(1, "f")}, .functions = {f, g}}));
  REQUIRE(loaded_graph.nodes.size() == 2);
  CHECK(loaded_graph.nodes[1].inputs == std::vector<TensorId>{loaded_graph.find("c"),
                                                              loaded_graph.nodes[0].outputs[0],
                                                              loaded_graph.find("x")});
  CHECK(loaded_graph.graphs[0].nodes.size() == 2);
}

TEST_CASE("functions: operator sets of their own") {
  // ReduceSum took axes as attribute before version 13.
  Message f = Message().text(1, "Sum").text(10, "f").text(4, "i").text(5, "o");
  f.message(7, node("Squeeze", {"i"}, {"o"}, {.attributes = {integers("axes", {0})}}));
  const std::string text =
      model({.nodes = {call("Sum", {"x"}, {"y"})},
             .inputs = {value("x", float32, {1, 2})},
             .outputs = {y2}},
            {.opset = 13, .opsets = {opset(1, "f")}, .functions = {opsets(f, 11)}});
  const Graph g = loaded(text);
  CHECK(g.info(g.find("y")).shape == Dims{2});
}

}  // namespace test
