#include <halftone/op/loop.hpp>

#include <doctest/doctest.h>
#include <halftone/session/session.hpp>

#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "../allocations.hpp"
#include "../onnx/model_bytes.hpp"

namespace test {

using namespace halftone;

namespace {

constexpr int boolean = 9;

const Message pass = value("i", int64, {}), going = value("go", boolean, {});
const Message yes = tensor("yes", boolean, {}, std::vector<char>{1});

Message same(std::string_view from, std::string_view to) { return node("Identity", {from}, {to}); }
Message loop(Names inputs, Names outputs, const Message& body) {
  return node("Loop", inputs, outputs, {.attributes = {graph_attribute("body", body)}});
}
std::vector<float> floats_of(const Result& result, std::string_view name) {
  const auto values = result[name].values<float>();
  return {values.begin(), values.end()};
}

/// s' = s * w + i, and the slices 2 * s: w is captured, twice for good measure.
const Message sums =
    graph({.nodes = {same("go", "next_go"),
                     node("Cast", {"i"}, {"f"}, {.attributes = {integer("to", 1)}}),
                     node("Mul", {"s", "w"}, {"sw"}), node("Add", {"sw", "f"}, {"next_s"}),
                     node("Mul", {"s", "two"}, {"slice"})},
           .inputs = {pass, going, value("s", float32, {2})},
           .outputs = {value("next_go", boolean, {}), value("next_s", float32, {2}),
                       value("slice", float32, {2})}});

struct Sums {
  std::vector<float> last, slices;
};
Sums expected_sums(std::int64_t passes) {
  float s[] = {1, -2};
  const float w[] = {0.5f, 3};
  Sums sum;
  for (std::int64_t i = 0; i < passes; ++i) {
    for (int k = 0; k < 2; ++k) {
      sum.slices.push_back(2 * s[k]);
      s[k] = s[k] * w[k] + static_cast<float>(i);
    }
  }
  sum.last = {s[0], s[1]};
  return sum;
}

/// The loop of `sums` with the number of passes as constant or as input.
std::string sums_model(std::int64_t passes, bool is_constant, Names outputs = {"y", "all"}) {
  std::vector<Message> initializers{floats("w", {2}, {0.5f, 3}), floats("two", {}, {2}), yes};
  std::vector<Message> inputs{value("x", float32, {2})};
  if (is_constant) {
    initializers.push_back(tensor("M", int64, {}, std::vector<std::int64_t>{passes}));
  } else {
    inputs.push_back(value("M", int64, {}));
  }
  std::vector<Message> infos;
  for (const std::string_view name : outputs) {
    if (!name.empty()) infos.push_back(shapeless(name, float32));
  }
  return model({.nodes = {loop({"M", "yes", "x"}, outputs, sums)},
                .initializers = initializers,
                .inputs = inputs,
                .outputs = infos});
}

}  // namespace

TEST_CASE(
    "loop: states, slices and captured tensors; planned, or with a number of passes that an "
    "input says") {
  const Array<float> x({2}, {1, -2});
  for (const std::int64_t passes : {0, 1, 2, 7, -3}) {
    CAPTURE(passes);
    const Sums sum = expected_sums(passes);
    const std::int64_t made = passes < 0 ? 0 : passes;
    Session planned(loaded(sums_model(passes, true)));
    const auto a = planned.run({{"x", x}});
    CHECK(floats_of(a, "y") == sum.last);
    CHECK(floats_of(a, "all") == sum.slices);
    CHECK(a["all"].info.shape == Dims{made, 2});

    Session open(loaded(sums_model(passes, false)));
    const auto b = open.run({{"x", x}, {"M", Array<std::int64_t>(Dims{}, {passes})}});
    CHECK(floats_of(b, "y") == sum.last);
    CHECK(floats_of(b, "all") == sum.slices);
    CHECK(b["all"].info.shape == Dims{made, 2});
  }
}

TEST_CASE("loop: outputs that nobody wants") {
  const Array<float> x({2}, {1, -2});
  Session slices(loaded(sums_model(3, true, {"", "all"})));
  CHECK(floats_of(slices.run({{"x", x}}), "all") == expected_sums(3).slices);
  Session last(loaded(sums_model(3, true, {"y"})));
  CHECK(floats_of(last.run({{"x", x}}), "y") == expected_sums(3).last);
}

TEST_CASE("loop: a planned one does not allocate") {
  Session net(loaded(sums_model(20, true)));
  const Array<float> x({2}, {1, -2});
  net.run({{"x", x}});
  net.run({{"x", x}});
  const std::size_t before = allocations();
  net.run({{"x", x}});
  CHECK(allocations() == before);
}

TEST_CASE("loop: saved and loaded again it is the same") {
  const Graph g = loaded(sums_model(4, true));
  const std::string path = "/tmp/halftone-test-loop-" + std::to_string(::getpid()) + ".onnx";
  onnx::save(g, path);
  const Graph again = onnx::load(path);
  std::remove(path.c_str());
  Session net(again);
  const auto y = net.run({{"x", Array<float>({2}, {1, -2})}});
  CHECK(floats_of(y, "y") == expected_sums(4).last);
  CHECK(floats_of(y, "all") == expected_sums(4).slices);
}

TEST_CASE("loop: while a condition holds; without one the body's does not count") {
  // x doubles while it is below 100.
  const Message doubling =
      graph({.nodes = {node("Add", {"s", "s"}, {"next_s"}),
                       node("Less", {"next_s", "limit"}, {"next_go"})},
             .inputs = {pass, going, value("s", float32, {})},
             .outputs = {value("next_go", boolean, {}), value("next_s", float32, {}),
                         value("next_s", float32, {})}});
  auto run = [&](Names inputs, float start, bool first, std::int64_t passes) {
    Session net(loaded(model(
        {.nodes = {loop(inputs, {"y", "all"}, doubling)},
         .initializers = {floats("limit", {}, {100}), tensor("M", int64, {}, std::vector{passes})},
         .inputs = {value("x", float32, {}), value("c", boolean, {})},
         .outputs = {shapeless("y", float32), shapeless("all", float32)}})));
    const auto result =
        net.run({{"x", Array<float>(Dims{}, {start})}, {"c", Array<bool>(Dims{}, {first})}});
    CHECK(result["all"].info.rank() == 1);
    return std::vector<float>{result["y"].values<float>()[0],
                              static_cast<float>(result["all"].info.elements())};
  };
  CHECK(run({"", "c", "x"}, 3, true, 0) == std::vector<float>{192, 6});
  CHECK(run({"", "c", "x"}, 300, true, 0) == std::vector<float>{600, 1});
  CHECK(run({"", "c", "x"}, 3, false, 0) == std::vector<float>{3, 0});
  CHECK(run({"M", "c", "x"}, 3, true, 2) == std::vector<float>{12, 2});
  CHECK(run({"M", "c", "x"}, 3, true, 100) == std::vector<float>{192, 6});
  CHECK(run({"M", "", "x"}, 3, false, 7) == std::vector<float>{384, 7});
}

TEST_CASE("loop: states may grow") {
  const Message growing =
      graph({.nodes = {same("go", "next_go"), node("Concat", {"s", "x"}, {"next_s"},
                                                   {.attributes = {integer("axis", 0)}})},
             .inputs = {pass, going, value("s", float32, {"n"})},
             .outputs = {value("next_go", boolean, {}), value("next_s", float32, {"m"})}});
  const std::string text =
      model({.nodes = {loop({"M", "", "x"}, {"y"}, growing), node("Neg", {"y"}, {"z"})},
             .initializers = {tensor("M", int64, {1}, std::vector<std::int64_t>{3})},
             .inputs = {value("x", float32, {2})},
             .outputs = {shapeless("z", float32)}});
  const Graph g = loaded(text);
  CHECK(g.info(g.find("y")) == TensorInfo{ElementType::float32, {dynamic}});
  Session net(g);
  const auto result = net.run({{"x", Array<float>({2}, {1, 2})}});
  CHECK(floats_of(result, "z") == std::vector<float>{-1, -2, -1, -2, -1, -2, -1, -2});
}

TEST_CASE("loop: in a loop, in a branch, in a function, with tensors of every graph around") {
  // Inner: t' = t + x * j; outer: s' = if s < 50 then inner(s) else s - i.
  const Message inner =
      graph({.nodes = {same("go2", "next_go2"),
                       node("Cast", {"j"}, {"fj"}, {.attributes = {integer("to", 1)}}),
                       node("Mul", {"x", "fj"}, {"xj"}), node("Add", {"t", "xj"}, {"next_t"})},
             .inputs = {value("j", int64, {}), value("go2", boolean, {}), value("t", float32, {})},
             .outputs = {value("next_go2", boolean, {}), value("next_t", float32, {})}});
  const Message then_branch =
      graph({.nodes = {loop({"M2", "", "s"}, {"u"}, inner)}, .outputs = {value("u", float32, {})}});
  const Message else_branch =
      graph({.nodes = {node("Sub", {"s", "fi"}, {"v"})}, .outputs = {value("v", float32, {})}});
  const Message outer =
      graph({.nodes = {same("go", "next_go"),
                       node("Cast", {"i"}, {"fi"}, {.attributes = {integer("to", 1)}}),
                       node("Less", {"s", "fifty"}, {"small"}),
                       node("If", {"small"}, {"next_s"},
                            {.attributes = {graph_attribute("then_branch", then_branch),
                                            graph_attribute("else_branch", else_branch)}})},
             .inputs = {pass, going, value("s", float32, {})},
             .outputs = {value("next_go", boolean, {}), value("next_s", float32, {}),
                         value("next_s", float32, {})}});
  const std::vector<Message> nodes{loop({"M", "yes", "x"}, {"y", "all"}, outer)};
  const std::vector<Message> constants{tensor("M", int64, {}, std::vector<std::int64_t>{8}),
                                       tensor("M2", int64, {}, std::vector<std::int64_t>{4}),
                                       floats("fifty", {}, {50}), yes};
  Message function = Message().text(1, "F").text(10, "f");
  for (const char* name : {"x", "M", "M2", "fifty", "yes"}) function.text(4, name);
  function.text(5, "y").text(5, "all").message(7, nodes[0]).message(9, opset(13));

  float s = 3;
  std::vector<float> all;
  for (int i = 0; i < 8; ++i) {
    if (s < 50) {
      for (int j = 0; j < 4; ++j) s += 3 * static_cast<float>(j);
    } else {
      s -= static_cast<float>(i);
    }
    all.push_back(s);
  }
  for (const bool in_function : {false, true}) {
    CAPTURE(in_function);
    const Message call = node("F", {"x", "M", "M2", "fifty", "yes"}, {"y", "all"}, {.domain = "f"});
    const std::string text =
        model({.nodes = in_function ? std::vector{call} : nodes,
               .initializers = constants,
               .inputs = {value("x", float32, {})},
               .outputs = {value("y", float32, {}), value("all", float32, {8})}},
              {.opsets = {opset(1, "f")}, .functions = {function}});
    for (const int threads : {1, 2}) {
      Session net(loaded(text), {.threads = threads});
      const auto result = net.run({{"x", Array<float>(Dims{}, {3})}});
      CHECK(floats_of(result, "y") == std::vector<float>{s});
      CHECK(floats_of(result, "all") == all);
    }
  }
}

TEST_CASE("loop: defects") {
  const auto kind = [&](Names inputs, const Message& body) {
    return error_of(model({.nodes = {loop(inputs, {"y"}, body)},
                           .initializers = {tensor("M", int64, {}, std::vector<std::int64_t>{3}),
                                            floats("w", {2}, {1, 2}), floats("two", {}, {2})},
                           .inputs = {value("x", float32, {2})},
                           .outputs = {shapeless("y", float32)}}));
  };
  CHECK(kind({"M", "", "x"}, sums).kind() == ErrorKind::internal);  // loaded
  CHECK(contains(kind({"", "", "x"}, sums).what(), "does not end"));
  CHECK(contains(kind({"M", "", "x", "x"}, sums).what(), "another number of inputs"));
  CHECK(contains(kind({"M"}, sums).what(), "another number of inputs"));
  const Message without_state = graph({.nodes = {same("go", "next_go")},
                                       .inputs = {pass, going, value("s", float32, {2})},
                                       .outputs = {value("next_go", boolean, {})}});
  CHECK(contains(kind({"M", "", "x"}, without_state).what(), "fewer outputs"));
  const Message other_type =
      graph({.nodes = {same("go", "next_go"),
                       node("Cast", {"s"}, {"next_s"}, {.attributes = {integer("to", 7)}})},
             .inputs = {pass, going, value("s", float32, {2})},
             .outputs = {value("next_go", boolean, {}), shapeless("next_s", int64)}});
  CHECK(kind({"M", "", "x"}, other_type).kind() == ErrorKind::model);
  CHECK(contains(kind({"x", "", "x"}, sums).what(), "Loop"));
}

TEST_CASE("loop: outputs from what the body says") {
  const TensorInfo a{ElementType::float32, {2, 3}}, b{ElementType::float32, {2, 4}};
  const TensorInfo flag{ElementType::boolean, {}};
  const InputInfo in[]{{.info = {ElementType::int64, {}}}, {}, {.info = a}};
  const auto infer = [&](Vector<TensorInfo> body, std::size_t outputs, std::int64_t passes) {
    const Vector<TensorInfo> graphs[]{std::move(body)};
    return halftone::detail::infer_checked(op::Loop{}, Inputs(in, outputs, graphs, passes));
  };
  CHECK(infer({flag, a, b}, 2, 5).outputs ==
        std::vector{a, TensorInfo{ElementType::float32, {5, 2, 4}}});
  CHECK(infer({flag, b, b}, 2, dynamic).outputs ==
        std::vector{TensorInfo{ElementType::float32, {2, dynamic}},
                    TensorInfo{ElementType::float32, {dynamic, 2, 4}}});
  CHECK(infer({flag, a}, 2, 5).reason == "the body has another number of outputs");
  CHECK(infer({flag, {ElementType::int64, {2, 3}}}, 1, 5).reason ==
        "a state changes its element type");
}

}  // namespace test
