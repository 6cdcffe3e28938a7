#include <doctest/doctest.h>

#include <chrono>

#include "model_bytes.hpp"

namespace test {

using namespace halftone;

namespace {

/// A model with one of everything.
std::string rich_model() {
  const std::vector<std::int64_t> shape{2, 1};
  auto branch = [](std::string_view op, std::string_view output) {
    return graph({.nodes = {node(op, {"t"}, {output})}, .outputs = {shapeless(output, float32)}});
  };
  Message function = Message().text(1, "F").text(10, "f").text(4, "i").text(5, "o");
  function.message(7, node("Neg", {"i"}, {"o"})).message(9, opset(13));
  return model(
      {.nodes = {node("Add", {"x", "w"}, {"a"}, {.name = "add"}),
                 node("Constant", {}, {"k"}, {.attributes = {real("value_float", 2)}}),
                 node("Mul", {"a", "k"}, {"b"}), node("Reshape", {"b", "s"}, {"r"}),
                 node("Transpose", {"r"}, {"t"}, {.attributes = {integers("perm", {1, 0})}}),
                 node("If", {"c"}, {"d"},
                      {.attributes = {graph_attribute("then_branch", branch("Neg", "p")),
                                      graph_attribute("else_branch", branch("Abs", "q"))}}),
                 node("F", {"d"}, {"y"}, {.domain = "f"})},
       .initializers = {floats("w", {2}, {1, 2}), tensor("s", int64, {2}, shape)},
       .inputs = {value("x", float32, {"n"}), value("c", 9, {}), value("w", float32, {2})},
       .outputs = {value("y", float32, {1, 2})},
       .values = {value("a", float32, {2})}},
      {.opsets = {opset(1, "f")}, .functions = {function}});
}

/// Loads; the only things that may happen are a graph and an error about the model.
void check_harmless(std::string_view text) {
  const auto result = onnx::try_load(bytes(text));
  if (result) return;
  const ErrorKind kind = result.error().kind();
  CHECK((kind == ErrorKind::model || kind == ErrorKind::unsupported));
  CHECK_FALSE(result.error().line().empty());
  for (const char c : result.error().line()) {
    if (static_cast<unsigned char>(c) < 0x20) FAIL("a control character in an error");
  }
}

}  // namespace

TEST_CASE("hostile: the model that is broken below loads") {
  const Graph g = loaded(rich_model());
  CHECK(g.nodes.size() == 6);
  CHECK(g.graphs.size() == 2);
}

TEST_CASE("hostile: cut anywhere") {
  const std::string text = rich_model();
  int errors = 0;
  for (std::size_t size = 0; size < text.size(); ++size) {
    CAPTURE(size);
    check_harmless(std::string_view(text).substr(0, size));
    errors += !onnx::try_load(bytes(std::string_view(text).substr(0, size)));
  }
  // Its functions come last: without one of them a node has no operator.
  CHECK(errors == static_cast<int>(text.size()));
}

TEST_CASE("hostile: any byte changed, any bit flipped, any byte left out or twice") {
  const std::string text = rich_model();
  for (std::size_t at = 0; at < text.size(); ++at) {
    CAPTURE(at);
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      check_harmless(changed);
    }
    for (const char c : {'\0', '\x7f', '\x80', '\xff'}) {
      std::string changed = text;
      changed[at] = c;
      check_harmless(changed);
    }
    std::string shorter = text, longer = text;
    shorter.erase(at, 1);
    longer.insert(at, 1, longer[at]);
    check_harmless(shorter);
    check_harmless(longer);
  }
}

TEST_CASE("hostile: numbers and groups without an end") {
  check_harmless(std::string(1000, '\xff'));
  check_harmless(std::string(1000, '\x80'));
  check_harmless(std::string(100000, '\x0b'));  // groups in groups
  check_harmless(std::string(100000, '\x0c'));
  check_harmless("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
  check_harmless("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  check_harmless("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
  check_harmless("\x08\x08\x3a\x80");
}

TEST_CASE("hostile: graphs in graphs in graphs") {
  for (const int depth : {10, 100, 2000}) {
    Message body = graph({.nodes = {node("Neg", {"x"}, {"t"})}, .outputs = {shapeless("t", 0)}});
    for (int i = 0; i < depth; ++i) {
      body = graph({.nodes = {node("If", {"c"}, {"t"},
                                   {.attributes = {graph_attribute("then_branch", body),
                                                   graph_attribute("else_branch", graph({}))}})},
                    .outputs = {shapeless("t", 0)}});
    }
    const Error error =
        error_of(model({.nodes = {node("If", {"c"}, {"y"},
                                       {.attributes = {graph_attribute("then_branch", body),
                                                       graph_attribute("else_branch", body)}})},
                        .inputs = {value("c", 9, {}), value("x", float32, {2})},
                        .outputs = {value("y", float32, {2})}}));
    CAPTURE(depth);
    CHECK(error.kind() == (depth < 50 ? ErrorKind::model : ErrorKind::unsupported));
  }
}

TEST_CASE("hostile: many defects are reported quickly and not at length") {
  GraphParts parts{.inputs = {value("x", float32, {2})}, .outputs = {value("y", float32, {2})}};
  std::vector<std::string> names;
  for (int i = 0; i < 20000; ++i) names.push_back("nothing" + std::to_string(i));
  for (const std::string& name : names) parts.nodes.push_back(node("Relu", {name}, {name + "y"}));
  const Error defects = error_of(model(parts));
  CHECK(defects.kind() == ErrorKind::model);
  CHECK(defects.line().size() < 100'000);

  parts.nodes.clear();
  for (const std::string& name : names) parts.nodes.push_back(node(name, {"x"}, {name}));
  const Error operators = error_of(model(parts));
  CHECK(operators.kind() == ErrorKind::unsupported);
  CHECK(operators.line().size() < 200'000);
}

TEST_CASE("hostile: large models take time in proportion") {
  auto seconds = [](int count) {
    GraphParts parts{.inputs = {value("x", float32, {2})}, .outputs = {}};
    std::vector<std::string> names{"x"};
    for (int i = 0; i < count; ++i) names.push_back("a/long/name/of/a/tensor/" + std::to_string(i));
    for (int i = 0; i < count; ++i) {
      parts.nodes.push_back(node("Relu", {names[static_cast<std::size_t>(i)]},
                                 {names[static_cast<std::size_t>(i) + 1]}));
    }
    parts.outputs = {value(names.back(), float32, {2})};
    const std::string text = model(parts);
    const auto start = std::chrono::steady_clock::now();
    CHECK(loaded(text).nodes.size() == static_cast<std::size_t>(count));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double small = seconds(2'000), large = seconds(40'000);
  CHECK(large < 200 * small);
  CHECK(large < 10);
}

TEST_CASE("hostile: one name for everything") {
  check_harmless(model({.nodes = {node("x", {"x", "x"}, {"x", "x"}, {.name = "x", .domain = "x"})},
                        .initializers = {floats("x", {1}, {1})},
                        .inputs = {value("x", float32, {"x", "x"})},
                        .outputs = {value("x", float32, {"x", "x"})},
                        .values = {value("x", float32, {"x", "x"})}},
                       {.opsets = {opset(1, "x")}}));
}

}  // namespace test
