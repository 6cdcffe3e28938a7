#include <halftone/op/graphcore_update.hpp>

#include <doctest/doctest.h>
#include <halftone/session/session.hpp>
#include <halftone/train.hpp>

#include <vector>

#include "graphcore_model.hpp"

namespace test {

using namespace halftone;

TEST_CASE("add in place: a variable is changed, in the model's order") {
  // r joins z in one loop unless somebody sees that w is another one by then.
  const std::string bytes = model_of(
      {.nodes = {node("Mul", {"x", "x"}, {"r"}), node("Mul", {"w", "x"}, {"old"}),
                 graphcore("AddLhsInplace", {"w", "b"}, {"y"}), node("Add", {"r", "w"}, {"z"})},
       .initializers = {floats("w", {2, 2}, {1, 2, 3, 4}), floats("b", {2}, {10, 20})},
       .inputs = {value("x", float32, {2, 2})},
       .outputs = {shapeless("y", float32), shapeless("z", float32), shapeless("old", float32)}});
  for (const Device device : {Device::cpu, Device::ipu_model}) {
    Session net(loaded(bytes), {.device = device});
    const Array<float> x({2, 2}, {1, 2, 3, 4});
    Floats w = {1, 2, 3, 4};
    for (int run = 0; run < 3; ++run) {
      const Result result = net.run({{"x", x}});
      Floats z, old;
      for (std::size_t i = 0; i < 4; ++i) {
        old.push_back(w[i] * x[i]);
        w[i] += i % 2 == 0 ? 10 : 20;
        z.push_back(x[i] * x[i] + w[i]);
      }
      CHECK(floats_of(result["y"]) == w);
      CHECK(floats_of(result["z"]) == z);
      CHECK(floats_of(result["old"]) == old);
      CHECK(floats_of(net.get("w")) == w);
    }
    const Graph again = onnx::load(onnx::to_bytes(net.graph()));
    Session copy(again, {.device = device});
    copy.run({{"x", x}});
    net.run({{"x", x}});
    CHECK(floats_of(copy.get("w")) == floats_of(net.get("w")));
  }
}

TEST_CASE("add in place: a view of the variable keeps what it was, if somebody reads it later") {
  const std::string bytes = model_of(
      {.nodes = {node("Identity", {"w"}, {"a"}), node("Reshape", {"a", "shape"}, {"before"}),
                 node("Reshape", {"w", "shape"}, {"flat"}), node("Neg", {"flat"}, {"minus"}),
                 graphcore("AddLhsInplace", {"w", "x"}, {"y"}), node("Sub", {"y", "a"}, {"z"}),
                 node("Identity", {"w"}, {"after"})},
       .initializers = {floats("w", {2, 1}, {1, 2}),
                        tensor<std::int64_t>("shape", int64, {1}, {2})},
       .inputs = {value("x", float32, {2, 1})},
       .outputs = {shapeless("before", float32), shapeless("minus", float32),
                   shapeless("z", float32), shapeless("after", float32)}});
  for (const Device device : {Device::cpu, Device::ipu_model}) {
    Session net(loaded(bytes), {.device = device});
    Floats w = {1, 2};
    for (int run = 0; run < 3; ++run) {
      const Result result = net.run({{"x", Array<float>({2, 1}, {10, 20})}});
      CHECK(floats_of(result["before"]) == w);
      CHECK(floats_of(result["minus"]) == Floats{-w[0], -w[1]});
      CHECK(floats_of(result["z"]) == Floats{10, 20});
      w = {w[0] + 10, w[1] + 20};
      CHECK(floats_of(result["after"]) == w);
    }
  }
}

TEST_CASE("add in place: what is no variable stays for others who read it") {
  Session net(loaded(
      model_of({.nodes = {node("Relu", {"x"}, {"a"}), graphcore("AddLhsInplace", {"a", "x"}, {"y"}),
                          node("Mul", {"a", "a"}, {"z"})},
                .inputs = {value("x", float32, {"n"})},
                .outputs = {shapeless("y", float32), shapeless("z", float32)}})));
  const Result result = net.run({{"x", Array<float>({3}, {-1, 2, 3})}});
  CHECK(floats_of(result["y"]) == Floats{-1, 4, 6});
  CHECK(floats_of(result["z"]) == Floats{0, 4, 9});
}

TEST_CASE("add in place: the left operand's shape, and the gradient of Add") {
  const auto with = [](std::initializer_list<Extent> a, std::initializer_list<Extent> b) {
    return error_of(model_of({.nodes = {graphcore("AddLhsInplace", {"a", "b"}, {"y"})},
                              .inputs = {value("a", float32, a), value("b", float32, b)},
                              .outputs = {shapeless("y", float32)}}));
  };
  CHECK(with({2, 3}, {3}).kind() == ErrorKind::internal);  // loaded
  for (const Error& error : {with({3}, {2, 3}), with({1, 3}, {2, 3})}) {
    CHECK(error.kind() == ErrorKind::model);
    CHECK(contains(error.what(), "does not broadcast to the left one"));
  }

  // loss = sum(w x + w): its gradient is x + 1.
  Graph g;
  const AnyTensor x = g.input<float>("x", {2});
  const TensorId w =
      g.add_variable({ElementType::float32, {2}}, Initial{Initial::Rule::fill, 3, 0}, "w");
  const TensorId factors[] = {op::mul(AnyTensor{&g, w}, x).id, w};
  const auto sums = detail::expand_thunk<op::AddLhsInplace>(g, {}, factors, 1);
  const TensorId marked = detail::record(g, op::AutoLossScaleProxy{}, {sums[0]}, 1)[0];
  const AnyTensor loss = op::sum(AnyTensor{&g, marked}, {.keepdims = 0});
  train(g, loss, Sgd{.learning_rate = 1});
  Session net(std::move(g), {.outputs = {}});
  net.run({{"x", Array<float>({2}, {4, -6})}});
  CHECK(floats_of(net.get("w")) == Floats{3 - 5, 3 + 5});
}

TEST_CASE("loss scale update: half if too many are beyond the edge, else twice") {
  const auto bytes = [](float threshold, bool is_variable) {
    GraphParts parts{.nodes = {graphcore("LossScaleUpdate", {"factor", "statistics"}, {"y"},
                                         {real("thresholdUpperCountProportion", threshold)})},
                     .inputs = {value("statistics", uint32, {2})},
                     .outputs = {shapeless("y", float32)}};
    if (is_variable) {
      parts.initializers.push_back(floats("factor", {}, {8}));
    } else {
      parts.inputs.push_back(value("factor", float32, {1}));
    }
    return model_of(parts);
  };
  const std::uint32_t counts[][2] = {{10, 0}, {1, 1}, {5, 5}, {5, 6}, {0, 1}, {999999, 1}, {7, 1}};
  for (const float t : {1e-7f, 0.5f, 0.125f}) {
    CAPTURE(t);
    Session kept(loaded(bytes(t, true))), given(loaded(bytes(t, false)));
    float factor = 8;
    for (const auto& [within, beyond] : counts) {
      const Array<std::uint32_t> statistics({2}, {within, beyond});
      const Result free =
          given.run({{"statistics", statistics}, {"factor", Array<float>({1}, {factor})}});
      const Result result = kept.run({{"statistics", statistics}});
      // upper > lower t / (1 - t)
      const bool is_many = beyond * (1 - double{t}) > within * double{t};
      factor *= is_many ? 0.5f : 2.f;
      CHECK(floats_of(free["y"]) == Floats{factor});
      CHECK(floats_of(result["y"]) == Floats{factor});
      CHECK(floats_of(kept.get("factor")) == Floats{factor});
    }
  }
  CHECK(contains(error_of(bytes(1, true)).what(), "is not in [0, 1)"));
  CHECK(contains(error_of(model_of({.nodes = {graphcore("LossScaleUpdate", {"f", "s"}, {"y"})},
                                    .inputs = {value("f", float32, {2}), value("s", uint32, {2})},
                                    .outputs = {shapeless("y", float32)}}))
                     .what(),
                 "the factor is not one number"));
  CHECK(contains(error_of(model_of({.nodes = {graphcore("LossScaleUpdate", {"f", "s"}, {"y"})},
                                    .inputs = {value("f", float32, {}), value("s", uint32, {3})},
                                    .outputs = {shapeless("y", float32)}}))
                     .what(),
                 "the statistics are not two numbers"));
}

TEST_CASE("changed tensors: integer initializers are variables, others are refused") {
  const auto copy_to = [](std::string_view changed, int type) {
    return model_of({.nodes = {node("Neg", {"x"}, {"minus"}),
                               graphcore("CopyVarUpdate", {changed, "minus"}, {"y"})},
                     .initializers = {tensor<std::int32_t>("w", int32, {2}, {1, 2})},
                     .inputs = {value("x", type, {2})},
                     .outputs = {shapeless("y", type)}});
  };
  Session net(loaded(copy_to("w", int32)));
  net.run({{"x", Array<std::int32_t>({2}, {3, -4})}});
  const auto w = net.get("w").values<std::int32_t>();
  CHECK(std::vector<std::int32_t>(w.begin(), w.end()) == std::vector<std::int32_t>{-3, 4});
  const Error error = error_of(copy_to("x", int32));
  CHECK(error.kind() == ErrorKind::model);
  CHECK(contains(error.what(), "is changed that is no initializer"));
}

}  // namespace test
