#include <doctest/doctest.h>

#include <halftone/base/log.hpp>
#include <halftone/session/session.hpp>

#include "model_bytes.hpp"

// Models that are not quite right: read with a warning, refused when asked to be strict.
namespace test {

using namespace halftone;

namespace {

const Message x23 = value("x", float32, {2, 3});
const Message y23 = value("y", float32, {2, 3});
constexpr int float16 = 10;

/// What is warned of while a model is read; "refused" if it is not read even so.
std::string warnings_of(std::string_view model) {
  std::string said;
  set_log_sink(
      [](void* to, LogLevel level, std::string_view module, std::string_view text) {
        CHECK(level == LogLevel::warn);
        CHECK(module == "onnx");
        static_cast<std::string*>(to)->append(text).append("\n");
      },
      &said);
  const LogLevel before = log_level();
  set_log_level(LogLevel::warn);
  if (!onnx::try_load(bytes(model))) said = "refused";
  set_log_level(before);
  set_log_sink(nullptr, nullptr);
  return said;
}

ErrorKind strictly(std::string_view model) { return error_of(model, {.strict = true}).kind(); }

Message x23_named(std::string_view name) { return value(name, float32, {2, 3}); }

Message cast_to(int type, std::string_view from, std::string_view to) {
  return node("Cast", {from}, {to}, {.attributes = {integer("to", type)}});
}

}  // namespace

TEST_CASE("unusual: what a model states of intermediate tensors counts less than its nodes") {
  // As a converter to half precision leaves it: the Casts are new, the infos are old.
  const std::string casts = model(
      {.nodes = {cast_to(float16, "x", "h"), node("Relu", {"h"}, {"r"}), cast_to(1, "r", "y")},
       .inputs = {x23},
       .outputs = {y23},
       .values = {value("h", float32, {2, 3}), value("r", float32, {3, 2})}});
  const std::string said = warnings_of(casts);
  CHECK(contains(said, "Cast of 'h'"));
  CHECK(contains(said, "and 1 more like this"));
  CHECK(strictly(casts) == ErrorKind::model);
  Session session(loaded(casts));
  const Array<float> x({2, 3}, {-1, 2, -3, 4, -5, 6});
  const Result result = session.run({{"x", x}});
  const auto y = result["y"].values<float>();
  CHECK(std::vector<float>(y.begin(), y.end()) == std::vector<float>{0, 2, 0, 4, 0, 6});

  // Of a constant, of an initializer, twice of one tensor, and what no tensor can be.
  for (const std::string& m :
       {model({.nodes = {node("Relu", {"x"}, {"a"}), node("Relu", {"a"}, {"y"})},
               .inputs = {x23},
               .outputs = {y23},
               .values = {value("a", float32, {-7, 3}), value("b", 99, {2})}}),
        model({.nodes = {node("Constant", {}, {"c"},
                              {.attributes = {tensor_attribute("value",
                                                               floats("", {3}, {1, 2, 3}))}}),
                         node("Add", {"x", "c"}, {"y"})},
               .inputs = {x23},
               .outputs = {y23},
               .values = {value("c", float32, {300})}}),
        model({.nodes = {node("Add", {"x", "c"}, {"y"})},
               .initializers = {floats("c", {3}, {1, 2, 3})},
               .inputs = {x23},
               .outputs = {y23},
               .values = {value("c", float32, {300})}}),
        model({.nodes = {node("Relu", {"x"}, {"a"}), node("Relu", {"a"}, {"y"})},
               .inputs = {x23},
               .outputs = {y23},
               .values = {value("a", float32, {2, 3}), value("a", float32, {2, 4})}})}) {
    CHECK_FALSE(warnings_of(m).empty());
    CHECK(warnings_of(m) != "refused");
    CHECK(strictly(m) == ErrorKind::model);
  }
}

TEST_CASE("unusual: what a model states of its outputs is a promise") {
  CHECK(warnings_of(
            model({.nodes = {cast_to(float16, "x", "y")}, .inputs = {x23}, .outputs = {y23}})) ==
        "refused");
  CHECK(warnings_of(model({.nodes = {node("Relu", {"x"}, {"y"})},
                           .inputs = {x23},
                           .outputs = {y23},
                           .values = {value("y", float32, {7})}})) != "refused");
}

TEST_CASE("unusual: the body of a loop is read in the same way") {
  const Message body = graph(
      {.nodes = {cast_to(float16, "s", "h"), cast_to(1, "h", "t"), node("Identity", {"c"}, {"d"})},
       .inputs = {value("i", int64, {}), value("c", 9, {}), x23_named("s")},
       .outputs = {value("d", 9, {}), x23_named("t")},
       .values = {value("h", float32, {2, 3})}});
  const std::string m = model({.nodes = {node("Loop", {"n", "", "x"}, {"y"},
                                              {.attributes = {graph_attribute("body", body)}})},
                               .initializers = {tensor<std::int64_t>("n", int64, {}, {2})},
                               .inputs = {x23},
                               .outputs = {y23}});
  CHECK(contains(warnings_of(m), "Cast of 'h'"));
  CHECK(strictly(m) == ErrorKind::model);
}

TEST_CASE("unusual: names that are missing, metadata that are there twice") {
  const GraphParts parts{.nodes = {node("Relu", {"x"}, {"y"})}, .inputs = {x23}, .outputs = {y23}};
  CHECK(warnings_of(model(parts)).empty());

  Message nameless;
  nameless.message(1, parts.nodes[0]).message(11, x23).message(12, y23);
  CHECK(contains(warnings_of(model(nameless)), "no name"));
  CHECK(strictly(model(nameless)) == ErrorKind::model);

  GraphParts with = parts;
  with.initializers.push_back(floats("", {1}, {1}));
  CHECK(contains(warnings_of(model(with)), "an initializer has no name"));
  CHECK(strictly(model(with)) == ErrorKind::model);

  std::string twice = model(parts);
  for (const std::string_view text : {"me", "you"}) {
    twice += Message().message(14, Message().text(1, "author").text(2, text)).bytes();
  }
  CHECK(contains(warnings_of(twice), "'author'"));
  CHECK(strictly(twice) == ErrorKind::model);
}

TEST_CASE("unusual: sparse tensors become dense ones") {
  const auto sparse = [](std::string_view name, std::initializer_list<std::int64_t> extents,
                         const std::vector<std::int64_t>& indices) {
    Message m;
    m.message(1, floats(name, {2}, {5, 7}));
    m.message(2, tensor("", int64, extents, indices));
    return m.integer(3, 2).integer(3, 3);
  };
  const auto with = [&](const Message& initializer) {
    Message constant = attribute("sparse_value", 11).message(22, sparse("", {2, 2}, {0, 1, 1, 2}));
    Message g = graph({.nodes = {node("Constant", {}, {"k"}, {.attributes = {constant}}),
                                 node("Add", {"x", "w"}, {"t"}), node("Add", {"t", "k"}, {"y"})},
                       .inputs = {x23},
                       .outputs = {y23}});
    return model(g.message(15, initializer));
  };
  Session session(loaded(with(sparse("w", {2}, {1, 3}))));
  const Result result = session.run({{"x", Array<float>({2, 3})}});
  const auto y = result["y"].values<float>();
  CHECK(std::vector<float>(y.begin(), y.end()) == std::vector<float>{0, 10, 0, 7, 0, 7});

  const auto kind = [&](const Message& initializer) { return error_of(with(initializer)).kind(); };
  CHECK(kind(sparse("w", {2}, {1, 6})) == ErrorKind::model);
  CHECK(kind(sparse("w", {2}, {-1, 3})) == ErrorKind::model);
  CHECK(kind(sparse("w", {2, 2}, {0, 3, 1, 1})) == ErrorKind::model);
  CHECK(kind(sparse("w", {3}, {0, 1, 2})) == ErrorKind::model);
  CHECK(kind(Message()) == ErrorKind::model);
  // 12 bytes that would be 4 TiB.
  Message huge;
  huge.message(1, floats("w", {1}, {5})).message(2, tensor<std::int64_t>("", int64, {1}, {0}));
  CHECK(kind(huge.integer(3, 1 << 20).integer(3, 1 << 20)) == ErrorKind::unsupported);
}

TEST_CASE("unusual: metadata and places on several devices are written again") {
  const Message devices = Message().text(1, "two").integer(2, 2).text(3, "a").text(3, "b");
  const Message place = Message().text(1, "two").integer(3, 1);
  const auto placed = [&](std::string_view name) {
    Message n = node("Relu", {name == "r" ? "x" : "a"}, {name == "r" ? "a" : "y"},
                     {.name = name == "r" ? name : ""});
    return n.message(10, place);
  };
  std::string text = model({.nodes = {placed("r"), placed("")}, .inputs = {x23}, .outputs = {y23}},
                           {.ir = 11, .opset = 22});
  text += Message().message(26, devices).message(14, Message().text(1, "k").text(2, "v")).bytes();
  const std::vector<std::byte> written = onnx::to_bytes(loaded(text));
  const std::string_view again(reinterpret_cast<const char*>(written.data()), written.size());
  CHECK(contains(again, Message().message(26, devices).bytes()));
  CHECK(contains(again, Message().message(14, Message().text(1, "k").text(2, "v")).bytes()));
  const std::string wanted = Message().message(10, place).bytes();
  const std::size_t first = again.find(wanted);
  REQUIRE(first != again.npos);
  CHECK(again.find(wanted, first + 1) != again.npos);
  CHECK(again.substr(0, 2) == "\x08\x0b");  // IR version 11
  CHECK(onnx::to_bytes(loaded(again)) == written);
}

}  // namespace test
