// Operators on texts, by ONNX's definitions.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include <halftone/session/session.hpp>

#include "../onnx/model_bytes.hpp"

namespace test {

using namespace halftone;

namespace {

constexpr int text_type = 8;

AnyArray texts(const Dims& shape, std::initializer_list<std::string_view> list) {
  return AnyArray(shape, std::span(list.begin(), list.size()));
}

std::vector<std::string_view> list(const AnyView& view) {
  std::vector<std::string_view> all;
  for (const String text : view.values<String>()) all.push_back(text.view());
  return all;
}
using List = std::vector<std::string_view>;

/// One operator on texts of any shape.
Session session_of(const Message& n, int output_type, std::int64_t opset = 28) {
  std::vector<Message> inputs{
      Message().text(1, "x").message(2, Message().message(1, Message().integer(1, text_type)))};
  return Session(loaded(model({.nodes = {n},
                               .inputs = {value("x", text_type, {"n"})},
                               .outputs = {shapeless("y", output_type)}},
                              {.ir = 10, .opset = opset})));
}

}  // namespace

TEST_CASE("text: casts from and to numbers") {
  Session to_text(loaded(
      model({.nodes = {node("Cast", {"x"}, {"y"}, {.attributes = {integer("to", text_type)}})},
             .inputs = {value("x", float32, {"n"})},
             .outputs = {shapeless("y", text_type)}})));
  const float infinity = std::numeric_limits<float>::infinity();
  const Array<float> numbers({7},
                             {0.1f, -2, 314.15926f, 1e20f, infinity, -infinity, std::nanf("")});
  // The shortest decimals that give the floats again, and ONNX's names of what is no number.
  CHECK(list(to_text.run({{"x", numbers}})[0]) ==
        List{"0.1", "-2.0", "314.15927", "1e+20", "INF", "-INF", "NaN"});

  Session to_float =
      session_of(node("Cast", {"x"}, {"y"}, {.attributes = {integer("to", float32)}}), float32, 13);
  const AnyArray words = texts({6}, {"3.14", "1E8", " -1e-5 ", "+INF", "inf", "NaN"});
  const Result result = to_float.run({{"x", words}});
  const auto y = result[0].values<float>();
  CHECK(y[0] == 3.14f);
  CHECK(y[1] == 1e8f);
  CHECK(y[2] == -1e-5f);
  CHECK(y[3] == infinity);
  CHECK(y[4] == infinity);
  CHECK(std::isnan(y[5]));
  Session to_int =
      session_of(node("Cast", {"x"}, {"y"}, {.attributes = {integer("to", int64)}}), int64, 13);
  const AnyArray whole = texts({2}, {"9223372036854775807", "100.5"});
  const Result integers = to_int.run({{"x", whole}});
  CHECK(integers[0].values<std::int64_t>()[0] == INT64_MAX);
  CHECK(integers[0].values<std::int64_t>()[1] == 100);
  const AnyArray word = texts({1}, {"word"});
  CHECK_THROWS_AS(to_float.run({{"x", word}}), InputError);
}

TEST_CASE("text: concatenation and comparison broadcast") {
  Session session(loaded(
      model({.nodes = {node("StringConcat", {"a", "b"}, {"c"}), node("Equal", {"a", "b"}, {"e"})},
             .inputs = {value("a", text_type, {2, 1}), value("b", text_type, {2})},
             .outputs = {value("c", text_type, {2, 2}), value("e", 9, {2, 2})}},
            {.ir = 10, .opset = 20})));
  const AnyArray a = texts({2, 1}, {"x", ""}), b = texts({2}, {"x", "yz"});
  const Result result = session.run({{"a", a}, {"b", b}});
  CHECK(list(result[0]) == List{"xx", "xyz", "x", "yz"});
  const auto equal = result[1].values<bool>();
  CHECK((equal[0] && !equal[1] && !equal[2] && !equal[3]));
}

TEST_CASE("text: kernels that move elements move texts") {
  Session session(loaded(
      model({.nodes = {node("Transpose", {"x"}, {"t"}),
                       node("Concat", {"t", "t"}, {"c"}, {.attributes = {integer("axis", 0)}}),
                       node("Gather", {"c", "i"}, {"y"})},
             .initializers = {tensor("i", int64, {2}, std::vector<std::int64_t>{4, 0})},
             .inputs = {value("x", text_type, {1, 3})},
             .outputs = {value("y", text_type, {2, 1})}})));
  std::optional<Result> result;
  {
    const AnyArray x = texts({1, 3}, {"a", "b", "c"});
    result.emplace(session.run({{"x", x}}));
  }
  CHECK(list((*result)[0]) == List{"b", "a"});
}

TEST_CASE("text: scattered texts replace others") {
  // y = x, then y[i, indices[i, j]] = updates[i, j]: the definition of ScatterElements in ONNX.
  const auto scatter = [](std::string_view op, std::vector<Message> attributes, int opset,
                          std::initializer_list<Extent> shape,
                          std::initializer_list<Extent> updated) {
    return loaded(
        model({.nodes = {node(op, {"x", "i", "u"}, {"y"}, {.attributes = std::move(attributes)})},
               .inputs = {value("x", text_type, {2, 3}), value("i", int64, shape),
                          value("u", text_type, updated)},
               .outputs = {value("y", text_type, {2, 3})}},
              {.ir = 8, .opset = opset}));
  };
  const AnyArray x = texts({2, 3}, {"a", "b", "c", "d", "e", "f"});
  const Array<std::int64_t> columns({2, 2}, {2, 0, -2, -2});
  const AnyArray four = texts({2, 2}, {"p", "", "r", "s"});
  for (const auto& [op, opset] : {std::pair("ScatterElements", 18), std::pair("Scatter", 10)}) {
    CAPTURE(op);
    Session session(scatter(op, {integer("axis", 1)}, opset, {2, 2}, {2, 2}));
    const Result result = session.run({{"x", x}, {"i", columns}, {"u", four}});
    CHECK(list(result[0]) == List{"", "b", "p", "d", "s", "f"});
    const Array<std::int64_t> outside({2, 2}, {0, 0, 3, 0});
    CHECK_THROWS_AS(session.run({{"x", x}, {"i", outside}, {"u", four}}), InputError);
  }
  // ScatterND: y[indices[i]...] = updates[i].
  Session rows(scatter("ScatterND", {}, 18, {1, 1}, {1, 3}));
  const Array<std::int64_t> last({1, 1}, {-1});
  const AnyArray row = texts({1, 3}, {"u", "v", "w"});
  CHECK(list(rows.run({{"x", x}, {"i", last}, {"u", row}})[0]) ==
        List{"a", "b", "c", "u", "v", "w"});
  Session places(scatter("ScatterND", {}, 18, {2, 2}, {2}));
  const Array<std::int64_t> pairs({2, 2}, {0, 1, 1, 2});
  const AnyArray two = texts({2}, {"u", "v"});
  CHECK(list(places.run({{"x", x}, {"i", pairs}, {"u", two}})[0]) ==
        List{"a", "u", "c", "d", "e", "v"});
  CHECK_THROWS_AS(scatter("ScatterND", {text("reduction", "add")}, 18, {2, 2}, {2}), ModelError);
}

TEST_CASE("text: split at delimiters and at blanks") {
  auto split = [](std::vector<Message> attributes, std::initializer_list<std::string_view> input) {
    Session session(loaded(model(
        {.nodes = {node("StringSplit", {"x"}, {"y", "z"}, {.attributes = std::move(attributes)})},
         .inputs = {value("x", text_type, {"n"})},
         .outputs = {shapeless("y", text_type), shapeless("z", int64)}},
        {.ir = 10, .opset = 20})));
    const AnyArray x = texts({static_cast<std::int64_t>(input.size())}, input);
    const Result result = session.run({{"x", x}});
    std::vector<std::string> all;
    for (const std::string_view part : list(result[0])) all.emplace_back(part);
    for (const std::int64_t n : result[1].values<std::int64_t>()) all.push_back(std::to_string(n));
    return all;
  };
  using Parts = std::vector<std::string>;
  CHECK(split({text("delimiter", ",")}, {"a,b", "c,,d"}) ==
        Parts{"a", "b", "", "c", "", "d", "2", "3"});
  CHECK(split({text("delimiter", ","), integer("maxsplit", 1)}, {"a,b,c"}) ==
        Parts{"a", "b,c", "2"});
  CHECK(split({}, {"  a b  c ", ""}) == Parts{"a", "b", "c", "", "", "", "3", "0"});
}

TEST_CASE("text: stop words and case") {
  auto normalize = [](std::vector<Message> attributes) {
    Session session = session_of(
        node("StringNormalizer", {"x"}, {"y"}, {.attributes = std::move(attributes)}), text_type);
    const AnyArray x = texts({3}, {"Monday", "ÄRA", "friday"});
    const Result result = session.run({{"x", x}});
    std::vector<std::string> all;
    for (const std::string_view part : list(result[0])) all.emplace_back(part);
    return all;
  };
  const Message stopwords = attribute("stopwords", 8).text(9, "monday").text(9, "FRIDAY");
  CHECK(normalize({stopwords, text("case_change_action", "LOWER")}) ==
        std::vector<std::string>{"ära"});
  CHECK(normalize(
            {stopwords, integer("is_case_sensitive", 1), text("case_change_action", "UPPER")}) ==
        std::vector<std::string>{"MONDAY", "ÄRA", "FRIDAY"});
  CHECK(normalize({attribute("stopwords", 8).text(9, "monday").text(9, "friday").text(9, "ära")}) ==
        std::vector<std::string>{""});
}

TEST_CASE("text: regular expressions match whole texts") {
  Session session = session_of(
      node("RegexFullMatch", {"x"}, {"y"},
           {.attributes = {text("pattern", R"((\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$))")}}),
      9);
  const AnyArray x = texts({3}, {"account@gmail.com", "account@hotmail.com", "not email"});
  try {
    const Result result = session.run({{"x", x}});
    CHECK(result[0].values<bool>()[0]);
    CHECK_FALSE(result[0].values<bool>()[1]);
    CHECK_FALSE(result[0].values<bool>()[2]);
  } catch (const UnsupportedError& error) {
    CHECK(contains(error.line(), "RE2"));  // built without
  }
}

TEST_CASE("text: constants, saved models and files") {
  const Message words =
      Message().integer(1, 2).integer(2, text_type).text(6, "one").text(6, "zwei").text(8, "w");
  const Graph g = loaded(
      model({.nodes = {node("Concat", {"x", "w"}, {"y"}, {.attributes = {integer("axis", 0)}})},
             .initializers = {words},
             .inputs = {value("x", text_type, {"n"})},
             .outputs = {shapeless("y", text_type)}}));
  for (const Graph& graph : {g, onnx::load(onnx::to_bytes(g))}) {
    Session session(graph);
    const AnyArray x = texts({1}, {"null"});
    CHECK(list(session.run({{"x", x}})[0]) == List{"null", "one", "zwei"});
  }
  const AnyArray x = texts({2}, {"a", std::string_view("b\0c", 3)});
  CHECK(list(onnx::load_tensor(onnx::tensor_to_bytes("x", x))) ==
        List{"a", std::string_view("b\0c", 3)});
  const Message few = Message().integer(1, 3).integer(2, text_type).text(6, "one").text(8, "w");
  CHECK(error_of(model({.nodes = {node("Identity", {"w"}, {"y"})},
                        .initializers = {few},
                        .outputs = {shapeless("y", text_type)}}))
            .kind() == ErrorKind::model);
}

}  // namespace test
