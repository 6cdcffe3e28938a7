#include <halftone/op/graphcore_exchange.hpp>

#include <doctest/doctest.h>
#include <halftone/ipu/profile.hpp>
#include <halftone/session/session.hpp>

#include <string>
#include <vector>

#include "graphcore_model.hpp"

namespace test {

using namespace halftone;

namespace {

constexpr int float16 = 10;

/// A tensor of zeros as PopART's programs make one for HostLoad; 11 is PopART's number of float.
Message init(std::string_view name, std::initializer_list<std::int64_t> shape) {
  return graphcore("Init", {}, {name},
                   {integers("shape", shape), integer("data_type", 11), integer("init_type", 1)});
}
Message load(std::string_view from, std::string_view to, std::string_view stream) {
  return graphcore("HostLoad", {from}, {to}, {text("streamid", stream)});
}
Message store(std::string_view from, std::string_view stream) {
  return graphcore("HostStore", {from}, {}, {text("streamid", stream)});
}
Message remote_load(Names inputs, std::string_view to, std::int64_t buffer = 7) {
  return graphcore("RemoteLoad", inputs, {to}, {integer("bufferid", buffer)});
}
Message remote_store(Names inputs, std::int64_t buffer = 7) {
  return graphcore("RemoteStore", inputs, {}, {integer("bufferid", buffer)});
}
Message offset(std::string_view name, std::int32_t row) {
  return tensor<std::int32_t>(name, int32, {}, {row});
}

std::string refusal(const GraphParts& parts, ErrorKind kind) {
  const Error error = error_of(model_of(parts));
  CHECK(error.kind() == kind);
  return error.what();
}

}  // namespace

TEST_CASE("streams: a session has loads as inputs, stores as outputs") {
  // The second load of 'in' would take its second slice, and begins again with the only one.
  const std::string bytes =
      model_of({.nodes = {init("i", {2}), load("i", "x", "in"), load("i", "same", "in"),
                          load("i", "own", "own"), node("Mul", {"x", "own"}, {"y"}),
                          node("Add", {"y", "same"}, {"z"}), store("y", "out"), store("z", "z")},
                .outputs = {shapeless("z", float32)}});
  const Graph graph = loaded(bytes);
  for (const Device device : {Device::cpu, Device::ipu_model}) {
    for (const Graph& g : {graph, onnx::load(onnx::to_bytes(graph))}) {
      Session net(g, {.device = device});
      REQUIRE(net.inputs().size() == 2);
      CHECK(net.inputs()[0].name == "in");
      CHECK(net.inputs()[1].name == "own");
      CHECK(net.inputs()[0].info == TensorInfo{ElementType::float32, {2}});
      REQUIRE(net.outputs().size() == 2);
      CHECK(net.outputs()[0].name == "out");
      CHECK(net.outputs()[1].name == "z");
      const Result result =
          net.run({{"in", Array<float>({2}, {2, 3})}, {"own", Array<float>({2}, {5, 7})}});
      CHECK(floats_of(result["out"]) == Floats{10, 21});
      CHECK(floats_of(result["z"]) == Floats{12, 24});
    }
  }
  // Stores are outputs enough.
  Session net(loaded(model_of({.nodes = {node("Relu", {"x"}, {"y"}), store("y", "out")},
                               .inputs = {value("x", float32, {2})}})));
  CHECK(net.outputs().size() == 1);
  CHECK(floats_of(net.run({{"x", Array<float>({2}, {-1, 3})}})["out"]) == Floats{0, 3});
}

TEST_CASE("streams: names that are taken, and shapes that differ") {
  const Message y = shapeless("y", float32);
  const auto refusal_of_session = [](const GraphParts& parts) {
    const Graph graph = loaded(model_of(parts));
    try {
      Session{Graph(graph)};
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(contains(refusal_of_session({.nodes = {init("i", {2}), init("k", {3}), load("i", "x", "in"),
                                               load("k", "x3", "in"), node("Relu", {"x"}, {"y"})},
                                     .outputs = {y}}),
                 "loads or stores of one stream differ"));
  CHECK(contains(refusal_of_session({.nodes = {init("i", {2}), load("i", "x", "given"),
                                               node("Add", {"x", "given"}, {"y"})},
                                     .inputs = {value("given", float32, {2})},
                                     .outputs = {y}}),
                 "an input and a stream have the same name"));
  CHECK(contains(
      refusal({.nodes = {init("i", {2}), load("i", "x", "")}, .outputs = {y}}, ErrorKind::model),
      "attribute 'streamid' is missing"));
}

TEST_CASE("streams: in a body of another operator") {
  const Message branch = graph({.nodes = {node("Neg", {"x"}, {"n"}), store("n", "out")},
                                .outputs = {shapeless("n", float32)}});
  const Message other =
      graph({.nodes = {node("Relu", {"x"}, {"n"})}, .outputs = {shapeless("n", float32)}});
  Session net(
      loaded(model_of({.nodes = {node("If", {"c"}, {"y"},
                                      {.attributes = {graph_attribute("then_branch", branch),
                                                      graph_attribute("else_branch", other)}})},
                       .inputs = {value("x", float32, {2}), value("c", 9, {})},
                       .outputs = {shapeless("y", float32)}})));
  Array<bool> yes(Dims{}, {true});
  const auto result = net.run({{"x", Array<float>({2}, {1, 2})}, {"c", yes}});
  CHECK(floats_of(result["out"]) == Floats{-1, -2});
  CHECK(floats_of(result["y"]) == Floats{-1, -2});
}

TEST_CASE("remote buffers: rows come back as they were stored, in the model's order") {
  // A load before the stores, two stores, a load after them. The buffer has 1 + 3 rows: the largest
  // constant offset is 3.
  const std::string bytes = model_of(
      {.nodes = {remote_load({"x", "i"}, "before"), node("Mul", {"x", "two"}, {"twice"}),
                 remote_store({"twice", "k"}), remote_store({"x", "last"}),
                 remote_load({"x", "i"}, "after"), remote_load({"x"}, "first"),
                 remote_store({"x"}, 8), remote_load({"x"}, "other", 8)},
       .initializers = {floats("two", {}, {2}), offset("last", 3)},
       .inputs = {value("x", float32, {3}), value("i", int32, {}), value("k", uint32, {1})},
       .outputs = {shapeless("before", float32), shapeless("after", float32),
                   shapeless("first", float32), shapeless("other", float32)}});
  for (const Device device : {Device::cpu, Device::ipu_model}) {
    Session net(loaded(bytes), {.device = device});
    CHECK(net.info("RemoteBuffer_7") == TensorInfo{ElementType::float32, {4, 3}});
    CHECK(net.info("RemoteBuffer_8") == TensorInfo{ElementType::float32, {1, 3}});
    std::vector<Floats> rows(4, Floats(3, 0.f));
    for (int run = 0; run < 12; ++run) {
      // Saved and loaded, the buffers are what they were.
      if (run == 7) net = Session(onnx::load(onnx::to_bytes(net.graph())), {.device = device});
      const auto v = static_cast<float>(run);
      const Floats x = {v, v * v, -1 - v};
      const int i = run * 5 % 4, k = run * 3 % 4;
      const Result result =
          net.run({{"x", Array<float>({3}, {x[0], x[1], x[2]})},
                   {"i", Array<std::int32_t>(Dims{}, {i})},
                   {"k", Array<std::uint32_t>({1}, {static_cast<std::uint32_t>(k)})}});
      CHECK(floats_of(result["before"]) == rows[static_cast<std::size_t>(i)]);
      rows[static_cast<std::size_t>(k)] = {2 * x[0], 2 * x[1], 2 * x[2]};
      rows[3] = x;
      CHECK(floats_of(result["after"]) == rows[static_cast<std::size_t>(i)]);
      CHECK(floats_of(result["first"]) == rows[0]);
      CHECK(floats_of(result["other"]) == x);
    }
    Floats all;
    for (const Floats& row : rows) all.insert(all.end(), row.begin(), row.end());
    CHECK(floats_of(net.get("RemoteBuffer_7")) == all);
    for (const int wrong : {4, -1}) {
      CHECK_THROWS_AS(net.run({{"x", Array<float>({3})},
                               {"i", Array<std::int32_t>(Dims{}, {wrong})},
                               {"k", Array<std::uint32_t>({1})}}),
                      InputError);
    }
    if (device != Device::ipu_model) continue;
    CHECK(net.report().html().size() > 1000);
    CHECK(net.report().json().size() > 1000);
    CHECK(net.cycle_count() > 0);
  }
}

TEST_CASE("remote buffers: every element type, on the machine's arithmetic, too") {
  const auto check = [&]<class T>(T, int type) {
    const std::string bytes = model_of({.nodes = {remote_load({"x"}, "y"), remote_store({"x"})},
                                        .inputs = {value("x", type, {2})},
                                        .outputs = {shapeless("y", type)}});
    for (const bool has_arithmetic : {false, true}) {
      SessionOptions options;
      if (has_arithmetic) {
        options.device = Device::ipu_model;
        options.ipu.arithmetic.half = true;
      }
      Session net(loaded(bytes), options);
      T before[2] = {T(0), T(0)};
      for (int run = 1; run < 4; ++run) {
        const T x[2] = {static_cast<T>(static_cast<float>(run)), T(1)};
        const Result result = net.run({{"x", Array<T>({2}, {x[0], x[1]})}});
        const auto y = result["y"].values<T>();
        for (std::size_t i = 0; i < 2; ++i) {
          CHECK(static_cast<float>(y[i]) == static_cast<float>(before[i]));
          before[i] = x[i];
        }
      }
    }
  };
  check(float{}, float32);
  check(half{}, float16);
  check(std::int32_t{}, int32);
  check(std::uint8_t{}, 2);
  check(double{}, 11);
}

TEST_CASE("remote buffers: what is refused") {
  const Message y = shapeless("y", float32), x = value("x", float32, {3}),
                i = value("i", int32, {});
  const auto unsupported = ErrorKind::unsupported, wrong = ErrorKind::model;
  CHECK(
      contains(refusal({.nodes = {remote_load({"x", "i"}, "y")}, .inputs = {x, i}, .outputs = {y}},
                       unsupported),
               "the number of rows of a remote buffer is not known"));
  CHECK(contains(refusal({.nodes = {remote_load({"x"}, "y")},
                          .inputs = {value("x", float32, {"n"})},
                          .outputs = {y}},
                         unsupported),
                 "rows are not known"));
  CHECK(contains(refusal({.nodes = {remote_load({"x"}, "y"), remote_store({"z"})},
                          .inputs = {x, value("z", float32, {4})},
                          .outputs = {y}},
                         wrong),
                 "rows of two shapes"));
  CHECK(contains(refusal({.nodes = {remote_load({"x", "k"}, "y")},
                          .initializers = {offset("k", -1)},
                          .inputs = {value("x", float32, {1 << 20})},
                          .outputs = {y}},
                         unsupported),
                 "too many rows"));
  CHECK(contains(refusal({.nodes = {remote_load({"x", "z"}, "y"), remote_store({"x"})},
                          .inputs = {x, value("z", int32, {2})},
                          .outputs = {y}},
                         wrong),
                 "the offset is not one number"));
  // A buffer that the model gives: a variable of rows.
  CHECK(contains(refusal({.nodes = {remote_load({"x", "", "b"}, "y")},
                          .initializers = {floats("b", {1, 2}, {0, 0})},
                          .inputs = {x},
                          .outputs = {y}},
                         wrong),
                 "rows have another shape"));
  CHECK(contains(refusal({.nodes = {remote_store({"x", "", "b"}), node("Relu", {"x"}, {"y"})},
                          .inputs = {x, value("b", float32, {1, 3})},
                          .outputs = {y}},
                         wrong),
                 "changed that is no initializer"));
  const Message branch =
      graph({.nodes = {remote_load({"x"}, "n")}, .outputs = {shapeless("n", float32)}});
  CHECK(contains(refusal({.nodes = {node("If", {"c"}, {"y"},
                                         {.attributes = {graph_attribute("then_branch", branch),
                                                         graph_attribute("else_branch", branch)}})},
                          .inputs = {x, value("c", 9, {})},
                          .outputs = {y}},
                         unsupported),
                 "not offered in bodies"));
}

TEST_CASE("loading code: without effect, and kept") {
  const auto with = [](std::vector<Message> attributes) {
    return model_of(
        {.nodes = {graphcore("RemoteCodeLoad", {""}, {}, attributes), node("Relu", {"x"}, {"y"})},
         .inputs = {value("x", float32, {2})},
         .outputs = {shapeless("y", float32)}});
  };
  const std::string bytes =
      with({text("graphId", "layer"), integer("destinationCodeMemoryType", 1)});
  for (const Device device : {Device::cpu, Device::ipu_model}) {
    for (const Graph& g : {loaded(bytes), onnx::load(onnx::to_bytes(loaded(bytes)))}) {
      CHECK(g.nodes.size() == 2);
      Session net(g, {.device = device});
      CHECK(floats_of(net.run({{"x", Array<float>({2}, {-1, 2})}})["y"]) == Floats{0, 2});
      if (device == Device::ipu_model) CHECK(net.report().html().size() > 1000);
    }
  }
  CHECK(contains(error_of(with({integer("destinationCodeMemoryType", 1)})).what(),
                 "attribute 'graphId' is missing"));
  CHECK(contains(error_of(with({text("graphId", "layer")})).what(),
                 "attribute 'destinationCodeMemoryType' is missing"));
  CHECK(contains(
      error_of(with({text("graphId", "layer"), integer("destinationCodeMemoryType", 0)})).what(),
      "destinationCodeMemoryType is not 1"));
}

}  // namespace test
