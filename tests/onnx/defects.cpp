#include <doctest/doctest.h>

#include "model_bytes.hpp"

// In here its own names hide the library's.
namespace test {

using namespace halftone;

namespace {
const Message x23 = value("x", float32, {2, 3});
const Message y23 = value("y", float32, {2, 3});
}  // namespace

TEST_CASE("defects: names that nothing defines, or two things") {
  const Error dangling = error_of(model({.nodes = {node("Add", {"x", "w"}, {"y"}, {.name = "n"})},
                                         .inputs = {x23},
                                         .outputs = {y23}}));
  CHECK(dangling.kind() == ErrorKind::model);
  CHECK(dangling.tensor() == "w");
  CHECK(dangling.node() == "Add 'n'");

  auto kind = [](const GraphParts& g) { return error_of(model(g)).kind(); };
  CHECK(kind({.nodes = {node("Relu", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})},
              .inputs = {x23},
              .outputs = {y23}}) == ErrorKind::model);
  CHECK(kind({.nodes = {node("Relu", {"x"}, {"x"})}, .inputs = {x23}, .outputs = {x23}}) ==
        ErrorKind::model);
  CHECK(kind({.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {x23, x23}, .outputs = {y23}}) ==
        ErrorKind::model);
  CHECK(kind({.nodes = {node("Relu", {"w"}, {"y"})},
              .initializers = {floats("w", {1}, {1}), floats("w", {1}, {1})},
              .outputs = {value("y", float32, {1})}}) == ErrorKind::model);
  CHECK(kind({.nodes = {node("Relu", {"x"}, {"y"})},
              .inputs = {x23},
              .outputs = {value("z", float32, {2})}}) == ErrorKind::model);
  CHECK(kind({.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {x23}}) == ErrorKind::model);
  CHECK(kind({.nodes = {node("", {"x"}, {"y"})}, .inputs = {x23}, .outputs = {y23}}) ==
        ErrorKind::model);
  CHECK(kind({.nodes = {node("Relu", {"x"}, {"y"})},
              .inputs = {value("", float32, {2})},
              .outputs = {y23}}) == ErrorKind::model);
}

TEST_CASE("defects: cycles and wrong order") {
  const Error cycle =
      error_of(model({.nodes = {node("Add", {"x", "b"}, {"a"}), node("Relu", {"a"}, {"b"})},
                      .inputs = {x23},
                      .outputs = {value("b", float32, {2, 3})}}));
  CHECK(cycle.kind() == ErrorKind::model);
  CHECK(cycle.tensor() == "b");
  CHECK(contains(cycle.line(), "cycle"));
  CHECK(error_of(
            model({.nodes = {node("Add", {"x", "y"}, {"y"})}, .inputs = {x23}, .outputs = {y23}}))
            .kind() == ErrorKind::model);
  CHECK(error_of(model({.nodes = {node("Relu", {"a"}, {"y"}), node("Relu", {"x"}, {"a"})},
                        .inputs = {x23},
                        .outputs = {y23}}))
            .kind() == ErrorKind::model);
}

TEST_CASE("defects: numbers of inputs and outputs") {
  auto of = [](const Message& n) {
    return error_of(model({.nodes = {n}, .inputs = {x23}, .outputs = {y23}})).kind();
  };
  CHECK(of(node("Add", {"x"}, {"y"})) == ErrorKind::model);
  CHECK(of(node("Add", {"", "x"}, {"y"})) == ErrorKind::model);
  CHECK(of(node("Add", {"x", "x", "x"}, {"y"})) == ErrorKind::model);
  CHECK(of(node("Relu", {}, {"y"})) == ErrorKind::model);
  CHECK(of(node("Relu", {"x"}, {"y", "z"})) == ErrorKind::model);
  CHECK(of(node("Relu", {"x"}, {})) == ErrorKind::model);
  CHECK(of(node("Relu", {"x", ""}, {"y", ""})) == ErrorKind::internal);  // loaded
}

TEST_CASE("defects: shapes that do not fit") {
  try {
    loaded(model({.nodes = {node("MatMul", {"x", "w"}, {"y"}, {.name = "m"})},
                  .initializers = {floats("w", {5, 4}, std::vector<float>(20))},
                  .inputs = {x23},
                  .outputs = {value("y", float32, {2, 4})}}));
    FAIL("loaded");
  } catch (const ShapeError& error) {
    CHECK(error.expected_extent() == 3);
    CHECK(error.found_extent() == 5);
    CHECK(error.node() == "MatMul 'm'");
    CHECK(contains(error.what(), "[5, 4] float"));
  }
}

TEST_CASE("defects: what the model states of its tensors is compared") {
  auto relu = [](const Message& output, std::vector<Message> values = {}) {
    return error_of(model({.nodes = {node("Relu", {"x"}, {"a"}), node("Relu", {"a"}, {"y"})},
                           .inputs = {x23},
                           .outputs = {output},
                           .values = std::move(values)}))
        .kind();
  };
  CHECK(relu(y23) == ErrorKind::internal);
  CHECK(relu(value("y", float32, {"n", ""})) == ErrorKind::internal);
  CHECK(relu(Message().text(1, "y")) == ErrorKind::internal);
  CHECK(relu(shapeless("y", 0)) == ErrorKind::internal);
  CHECK(relu(value("y", float32, {2, 4})) == ErrorKind::model);
  CHECK(relu(value("y", float32, {2})) == ErrorKind::model);
  CHECK(relu(value("y", int64, {2, 3})) == ErrorKind::model);
  CHECK(relu(y23, {value("a", float32, {2, 3})}) == ErrorKind::internal);
  CHECK(relu(value("y", float32, {-2, 3})) == ErrorKind::model);
  CHECK(error_of(model({.nodes = {node("Relu", {"w"}, {"y"})},
                        .initializers = {floats("w", {2}, {1, 2})},
                        .inputs = {value("w", float32, {3})},
                        .outputs = {value("y", float32, {2})}}))
            .kind() == ErrorKind::model);
}

TEST_CASE("defects: all of them are in one error") {
  const Error error = error_of(
      model({.nodes = {node("Add", {"x", "nothing"}, {"a"}), node("MatMul", {"x", "x"}, {"b"}),
                       node("Relu", {"x"}, {"y"}, {.attributes = {integer("k", 1)}}),
                       node("Frobnicate", {"x"}, {"c"})},
             .inputs = {x23},
             .outputs = {y23, value("d", float32, {1})}}));
  CHECK(error.kind() == ErrorKind::model);
  CHECK(contains(error.what(), "4 defects"));
  for (const std::string_view part :
       {"'nothing'", "inner dimensions", "'k'", "'d'", "Frobnicate"}) {
    CAPTURE(part);
    CHECK(contains(error.line(), part));
  }
}

TEST_CASE("defects: a version from the future hides nothing else") {
  const GraphParts parts{
      .nodes = {node("Frobnicate", {"x"}, {"a"}), node("Frobnicate", {"a"}, {"b"}),
                node("Relu", {"b"}, {"y"}, {.attributes = {integer("k", 1)}})},
      .initializers = {tensor<char>("w", 29, {1}, {0})},
      .inputs = {x23},
      .outputs = {y23}};
  for (const ModelParts& versions : {ModelParts{.opset = 999}, ModelParts{.ir = 99}}) {
    const Error error = error_of(model(parts, versions));
    // What seems to be wrong may be right in that version.
    CHECK(error.kind() == ErrorKind::unsupported);
    for (const std::string_view part :
         {"version", "Frobnicate", "2 nodes", "'k'", "29", "an operator and 3 other things"}) {
      CAPTURE(part);
      CHECK(contains(error.line(), part));
    }
  }
}

TEST_CASE("defects: many of one kind take a few lines") {
  GraphParts parts{.inputs = {x23}, .outputs = {y23}};
  parts.nodes.push_back(node("Relu", {"x"}, {"y"}));
  const std::string far(200, 'n');
  for (int i = 0; i < 500; ++i) {
    const std::string output = far + std::to_string(i);
    parts.nodes.push_back(node("Frobnicate", {"x"}, {output}));
    parts.nodes.push_back(node("Abs", {"x"}, {"a" + output}, {.attributes = {integer("k", 1)}}));
  }
  const Error error = error_of(model(parts));
  CHECK(error.kind() == ErrorKind::model);
  CHECK(contains(error.what(), "500 defects"));
  CHECK(contains(error.what(), "500 nodes"));
  CHECK(contains(error.what(), "and 497 more like this"));
  CHECK(std::string_view(error.what()).size() < 3000);
}

TEST_CASE("defects: values that are no tensors of numbers") {
  auto of = [](const Message& type) {
    return error_of(model({.nodes = {node("Relu", {"x"}, {"y"})},
                           .inputs = {Message().text(1, "x").message(2, type)},
                           .outputs = {y23}}))
        .kind();
  };
  const Message plain = type_of(float32, {2, 3});
  CHECK(of(plain) == ErrorKind::internal);
  CHECK(of(Message().message(4, Message().message(1, plain))) ==
        ErrorKind::unsupported);  // sequence
  CHECK(of(Message().message(9, Message().message(1, plain))) ==
        ErrorKind::unsupported);  // optional
  CHECK(of(Message().message(5, Message().integer(1, 7).message(2, plain))) ==
        ErrorKind::unsupported);
  CHECK(of(Message().message(8, Message().integer(1, 1))) == ErrorKind::unsupported);  // sparse
  CHECK(of(type_of(8, {2, 3})) == ErrorKind::unsupported);                             // strings
  CHECK(of(type_of(22, {2, 3})) == ErrorKind::unsupported);                            // int4
  CHECK(of(type_of(0, {2, 3})) == ErrorKind::model);
  CHECK(of(type_of(-1, {2, 3})) == ErrorKind::model);
  CHECK(of(type_of(float32, {1, 1, 1, 1, 1, 1, 1, 1, 1})) == ErrorKind::unsupported);
  // A kernel for the type is missing, not the type: integers have no Erf.
  CHECK(error_of(model({.nodes = {node("MatMul", {"x", "x"}, {"y"})},
                        .inputs = {value("x", 9, {3, 3})},
                        .outputs = {value("y", 9, {3, 3})}}))
            .kind() == ErrorKind::unsupported);
}

TEST_CASE("defects: hostile texts stay in one line") {
  const std::string_view name("bad\n\x1b[31m\0\xff", 11);
  const Error error = error_of(model({.nodes = {node("Add", {"x", name}, {"y"}, {.name = name})},
                                      .inputs = {x23},
                                      .outputs = {y23}}));
  CHECK(error.kind() == ErrorKind::model);
  for (const char c : error.line()) CHECK(static_cast<unsigned char>(c) >= 0x20);
  CHECK(contains(error.line(), "bad\\n\\x1b[31m\\x00\\xff"));
}

// Which types came with which version says the package onnx (its schemas' type constraints).
TEST_CASE("defects: element types that an operator took up later, or that nothing takes") {
  const auto made = [](std::string_view op, int type, std::int64_t version, std::size_t inputs) {
    const std::vector<Message> given{value("x", type, {2, 3}), value("w", type, {2, 3})};
    GraphParts parts{.nodes = {node(op, {"x"}, {"y"})}, .inputs = {given[0]}, .outputs = {}};
    if (inputs == 2) {
      parts.nodes = {node(op, {"x", "w"}, {"y"})};
      parts.inputs = given;
    }
    parts.outputs = {shapeless("y", 0)};
    return model(parts, {.opset = version});
  };
  const auto error = [&](std::string_view op, int type, std::int64_t version, std::size_t inputs) {
    return error_of(made(op, type, version, inputs));
  };
  const Error relu = error("Relu", int32, 13, 1);
  CHECK(relu.kind() == ErrorKind::model);
  CHECK(contains(relu.line(), "int32"));
  CHECK(contains(relu.line(), "opset 14"));
  constexpr int uint8 = 2, complex64 = 14;
  CHECK(error("Add", uint8, 13, 2).kind() == ErrorKind::model);
  CHECK(error("Equal", uint8, 10, 2).kind() == ErrorKind::model);
  CHECK(error("Max", int32, 11, 2).kind() == ErrorKind::model);
  CHECK_NOTHROW(loaded(made("Relu", int32, 14, 1)));
  CHECK_NOTHROW(loaded(made("Relu", float32, 6, 1)));
  CHECK_NOTHROW(loaded(made("Add", int32, 7, 2)));
  CHECK_NOTHROW(loaded(made("Add", uint8, 14, 2)));
  CHECK_NOTHROW(loaded(made("Equal", uint8, 11, 2)));
  CHECK_NOTHROW(loaded(made("Max", int32, 12, 2)));
  // An operator that only moves elements takes no complex ones either.
  const Error complex = error("Identity", complex64, 14, 1);
  CHECK(complex.kind() == ErrorKind::unsupported);
  CHECK(contains(complex.line(), "complex64"));

  const Message branch =
      graph({.nodes = {node("Neg", {"x"}, {"z"})}, .outputs = {shapeless("z", 0)}});
  const Error condition =
      error_of(model({.nodes = {node("If", {"c"}, {"y"},
                                     {.attributes = {graph_attribute("then_branch", branch),
                                                     graph_attribute("else_branch", branch)}})},
                      .inputs = {x23, value("c", float32, {})},
                      .outputs = {shapeless("y", 0)}}));
  CHECK((condition.kind() == ErrorKind::model || condition.kind() == ErrorKind::unsupported));
  CHECK(contains(condition.line(), "float"));
}

}  // namespace test
