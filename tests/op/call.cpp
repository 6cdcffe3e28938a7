#include <halftone/op/call.hpp>

#include <doctest/doctest.h>
#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/transform/infer.hpp>

#include <set>
#include <vector>

#include "../onnx/model_bytes.hpp"

namespace test {

using namespace halftone;

namespace {

/// d = a - b * w with a captured w.
const Message callee =
    graph({.nodes = {node("Mul", {"b", "w"}, {"bw"}), node("Sub", {"a", "bw"}, {"d"})},
           .inputs = {value("a", float32, {"n"}), value("b", float32, {"n"})},
           .outputs = {value("d", float32, {"n"}), value("bw", float32, {"n"})}});

std::string call_model(const Extent& n, std::vector<Message> attributes = {},
                       Names inputs = {"x", "z"}) {
  attributes.push_back(graph_attribute("callee", callee));
  return model(
      {.nodes = {node("Call", inputs, {"y"}, {.domain = "ai.graphcore", .attributes = attributes})},
       .initializers = {floats("w", {}, {3})},
       .inputs = {value("x", float32, {n}), value("z", float32, {n})},
       .outputs = {shapeless("y", float32)}},
      {.opsets = {opset(1, "ai.graphcore")}});
}

}  // namespace

TEST_CASE("call: runs a graph once, with captured tensors") {
  for (const Extent& n : {Extent(2), Extent("n")}) {
    Session net(loaded(call_model(n)));
    const auto result =
        net.run({{"x", Array<float>({2}, {1, 2})}, {"z", Array<float>({2}, {10, 20})}});
    const auto y = result["y"].values<float>();
    CHECK(std::vector<float>(y.begin(), y.end()) == std::vector<float>{-29, -58});
  }
}

TEST_CASE("call: random numbers in branches of what is called") {
  const auto branch = [](std::string_view out) {
    return graph(
        {.nodes = {node("RandomUniformLike", {"a"}, {out})}, .outputs = {shapeless(out, float32)}});
  };
  const Message choice =
      graph({.nodes = {node("If", {"c"}, {"d"},
                            {.attributes = {graph_attribute("then_branch", branch("t")),
                                            graph_attribute("else_branch", branch("e"))}})},
             .inputs = {value("a", float32, {3})},
             .outputs = {value("d", float32, {3})}});
  const auto call = [&](std::string_view out) {
    return node("Call", {"x"}, {out},
                {.domain = "ai.graphcore", .attributes = {graph_attribute("callee", choice)}});
  };
  Session net(loaded(model({.nodes = {call("y"), call("z")},
                            .inputs = {value("x", float32, {3}), value("c", 9, {})},
                            .outputs = {value("y", float32, {3}), value("z", float32, {3})}},
                           {.opsets = {opset(1, "ai.graphcore")}})));
  std::set<float> different;
  for (const bool c : {false, true}) {
    net.set_random_seed(1);
    const Result result = net.run({{"x", Array<float>({3})}, {"c", Array<bool>(Dims{}, {c})}});
    for (const char* name : {"y", "z"}) {
      for (const float v : result[name].values<float>()) different.insert(v);
    }
  }
  CHECK(different.size() == 12);
}

TEST_CASE("call: defects") {
  CHECK(error_of(call_model(2)).kind() == ErrorKind::internal);  // loaded
  CHECK(contains(error_of(call_model(2, {integers("modifiedInputs", {7})})).what(),
                 "modifiedInputs names an input that there is not"));
  CHECK(contains(error_of(call_model(2, {integers("modifiedInputs", {0})})).what(),
                 "changed that is no initializer"));
  CHECK(contains(error_of(call_model(2, {}, {"x"})).what(), "another number of inputs"));
}

TEST_CASE("call: a graph that there is not") {
  for (const std::int32_t index : {7, -1}) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {2});
    const TensorInfo y{ElementType::float32, {2}};
    g.add_node(descriptor<op::Call>, pack(op::Call{.callee = {index}}), {x.id}, {&y, 1}, "nowhere");
    g.add_output(g.nodes[0].outputs[0]);
    CHECK_THROWS_AS(Session(Graph(g)), ModelError);
    CHECK_THROWS_AS(onnx::to_bytes(g), ModelError);
    CHECK_THROWS_AS(ipu::profile(g, ipu::gc200), ModelError);
    CHECK_FALSE(infer(g).empty());
  }
}

TEST_CASE("call: too few inputs are told the right way round") {
  const std::string error = error_of(call_model(2, {}, {"x"})).what();
  CHECK_MESSAGE(contains(error, "expected  3"), error);  // a, b and the captured w
  CHECK_MESSAGE(contains(error, "found     2"), error);
}

}  // namespace test
