#include <doctest/doctest.h>

#include <popart/builder.hpp>
#include <popart/error.hpp>
#include <string>
#include <vector>

#include <halftone/onnx.hpp>

#include "errors.hpp"

using popart::Builder;
using popart::DataType;
using popart::Shape;
using popart::TensorId;
using popart::TensorInfo;
using popart_test::contains;
using popart_test::error_of;

namespace {

halftone::Graph graph_of(const Builder& builder) {
  const std::string proto = builder.getModelProto();
  return halftone::onnx::load(std::as_bytes(std::span(proto.data(), proto.size())));
}

}  // namespace

// Names are PopART's: builder_impl.cpp.
TEST_CASE("builder: names of tensors") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{2}};
  const TensorId a = builder->addInputTensor(info);
  CHECK(a == "input");
  CHECK(builder->addInputTensor(info) == "input/1");
  CHECK(builder->addInputTensor("FLOAT", {2}, "images") == "images");
  const TensorId sum = aiOnnx.add({a, a});
  CHECK(sum == "Add:0");
  CHECK(aiOnnx.add({a, sum}) == "Add:0/1");
  CHECK(aiOnnx.relu({sum}, "activation") == "activation");
  builder->pushNameScope("layer");
  CHECK(aiOnnx.relu({sum}) == "layer/Relu:0");
  CHECK(builder->addInputTensor(info) == "layer/input");
  CHECK(builder->getNameScope("x") == "layer/x");
  builder->popNameScope();
  CHECK(aiOnnx.relu({sum}) == "Relu:0");
  const float data[] = {1, 2};
  CHECK(builder->addInitializedInputTensor({data, info}) == "init_input");
  CHECK(builder->addInitializedInputTensor({data, info}, "w") == "w");
}

TEST_CASE("builder: shapes follow, and can be asked for") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(TensorInfo{DataType::FLOAT, Shape{1, 3, 8, 8}});
  const std::vector<float> weights(4 * 3 * 3 * 3, .5f);
  const TensorId w = builder->addInitializedInputTensor(
      {weights.data(), TensorInfo{DataType::FLOAT, Shape{4, 3, 3, 3}}});
  const TensorId y = aiOnnx.conv({x, w}, {1, 1}, 1, {}, {1, 1, 1, 1}, {2, 2}, "convolution");
  CHECK(builder->getTensorShape(y) == std::vector<int64_t>{1, 4, 4, 4});
  CHECK(builder->getTensorDataType(y) == DataType::FLOAT);
  CHECK(builder->getTensorDtypeString(y) == "float32");
  CHECK(builder->hasValueInfo(y));
  CHECK(builder->isInitializer(w));
  CHECK_FALSE(builder->isInitializer(y));
  CHECK(builder->getTrainableTensorIds() == std::vector<TensorId>{w});
  CHECK(builder->getInputTensorIds() == std::vector<TensorId>{x, w});
  const TensorId flat = builder->reshape_const(aiOnnx, {y}, {1, -1});
  CHECK(builder->getTensorShape(flat) == std::vector<int64_t>{1, 64});
  builder->addOutputTensor(flat);
  CHECK(builder->getOutputTensorIds() == std::vector<TensorId>{flat});

  const halftone::Graph graph = graph_of(*builder);
  CHECK(graph.info(graph.find(flat)).shape == halftone::Dims{1, 64});
  CHECK(graph.find("convolution") != halftone::no_tensor);
  CHECK(graph.outputs == std::vector<halftone::TensorId>{graph.find(flat)});
}

TEST_CASE("builder: operators have the meaning of the program's version") {
  const TensorInfo info{DataType::FLOAT, Shape{2, 3, 4}};
  {
    auto builder = Builder::create();
    auto aiOnnx = builder->aiOnnxOpset9();
    const TensorId x = builder->addInputTensor(info);
    // Slice-1 has its limits as attributes; only its first version has.
    const TensorId y = aiOnnx.slice({x}, {2, 3}, {0, 1}, {1, 2});
    CHECK(builder->getTensorShape(y) == std::vector<int64_t>{2, 2, 2});
    const TensorId z = aiOnnx.unsqueeze({y}, {0});
    CHECK(builder->getTensorShape(z) == std::vector<int64_t>{1, 2, 2, 2});
    builder->addOutputTensor(z);
    const halftone::Graph graph = graph_of(*builder);
    CHECK(graph.info(graph.find(z)).shape == halftone::Dims{1, 2, 2, 2});
  }
  {
    auto builder = Builder::create();
    auto aiOnnx = builder->aiOnnxOpset11();
    const TensorId x = builder->addInputTensor(info);
    auto constant = [&](std::vector<int64_t> values) {
      const TensorInfo ints{DataType::INT64, Shape{static_cast<int64_t>(values.size())}};
      return aiOnnx.constant({values.data(), ints});
    };
    const TensorId y = aiOnnx.slice({x, constant({0, 1}), constant({2, 3}), constant({1, 2})});
    CHECK(builder->getTensorShape(y) == std::vector<int64_t>{2, 2, 2});
  }
  {
    // Softmax flattens to two dimensions up to version 12: axis 1 is the usual one there.
    auto builder = Builder::create();
    auto aiOnnx = builder->aiOnnxOpset10();
    const TensorId y = aiOnnx.softmax({builder->addInputTensor(info)});
    CHECK(builder->getTensorShape(y) == std::vector<int64_t>{2, 3, 4});
    builder->addOutputTensor(y);
    CHECK(graph_of(*builder).outputs.size() == 1);
  }
}

TEST_CASE("builder: several outputs, attributes as texts and lists") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset10();
  const TensorId x = builder->addInputTensor("FLOAT", {1, 2, 4, 4});
  const std::vector<TensorId> y = aiOnnx.maxpool({x}, 1, {2, 2}, 0, {}, {}, 0, {2, 2});
  REQUIRE(y.size() == 1);
  CHECK(builder->getTensorShape(y[0]) == std::vector<int64_t>{1, 2, 2, 2});
  const TensorId cast = aiOnnx.cast({x}, "FLOAT16");
  CHECK(builder->getTensorDataType(cast) == DataType::FLOAT16);
  const TensorId sum = aiOnnx.reducesum({x}, std::vector<int64_t>{1, 2}, 0);
  CHECK(builder->getTensorShape(sum) == std::vector<int64_t>{1, 4});
  CHECK(builder->getTensorShape(aiOnnx.transpose({x}, {3, 2, 1, 0})) ==
        std::vector<int64_t>{4, 4, 2, 1});
}

TEST_CASE("builder: a subgraph may use tensors of the graph around it") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId condition = builder->addInputTensor("BOOL", {});
  const TensorId x = builder->addInputTensor("FLOAT", {2}, "x");
  const TensorId y = builder->addInputTensor("FLOAT", {2}, "y");

  Builder& then_branch = builder->createSubgraphBuilder();
  then_branch.addInputTensorFromParentGraph(x);
  auto thenOnnx = then_branch.aiOnnxOpset9();
  then_branch.addOutputTensor(thenOnnx.add({x, x}));
  Builder& else_branch = builder->createSubgraphBuilder();
  auto elseOnnx = else_branch.aiOnnxOpset9();
  else_branch.addOutputTensor(elseOnnx.mul({x, y}));

  const std::vector<TensorId> out =
      aiOnnx.logical_if({condition}, 1, else_branch, then_branch, "choice");
  CHECK(out == std::vector<TensorId>{"choice"});
  CHECK(builder->getTensorShape(out[0]) == std::vector<int64_t>{2});
  builder->addOutputTensor(out[0]);
  const halftone::Graph graph = graph_of(*builder);
  CHECK(graph.graphs.size() == 2);
  CHECK(graph.info(graph.find("choice")).shape == halftone::Dims{2});
}

TEST_CASE("builder: a model that was read goes on") {
  auto first = Builder::create();
  auto aiOnnx = first->aiOnnxOpset9();
  const TensorId a = first->addInputTensor("FLOAT", {2}, "a");
  first->addOutputTensor(aiOnnx.relu({a}, "b"));
  auto second = Builder::createFromOnnxModel(first->getModelProto());
  auto more = second->aiOnnxOpset9();
  const TensorId c = more.add({"a", "b"}, "c");
  CHECK(second->getTensorShape(c) == std::vector<int64_t>{2});
  second->addOutputTensor(c);
  CHECK(graph_of(*second).outputs.size() == 2);
}

TEST_CASE("builder: errors") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId a = builder->addInputTensor("FLOAT", {2, 3});
  const TensorId b = builder->addInputTensor("FLOAT", {2, 3});
  CHECK(contains(error_of([&] { aiOnnx.add({a, "x"}); }), "Unknown tensor 'x'"));
  CHECK(contains(error_of([&] { aiOnnx.add({a}); }), "has invalid number of inputs"));
  CHECK(contains(error_of([&] { aiOnnx.matmul({a, b}); }), "MatMul"));
  CHECK(contains(error_of([&] { builder->addOutputTensor("x"); }), "Unknown tensor 'x'"));
  CHECK(contains(error_of([&] { aiOnnx.transpose({a}, std::vector<int64_t>(20)); }),
                 "too many values"));
  CHECK(contains(error_of([&] { builder->addUntypedInputTensor(); }), "subgraph"));
  auto other = builder->aiOnnxOpset10();
  aiOnnx.relu({a});
  CHECK(contains(error_of([&] { other.relu({a}); }),
                 "Invalid opset 10 used to add an operation. Opset for domain"));
  CHECK(contains(error_of([&] { TensorInfo("FLOATS", Shape{1}); }), "FLOATS"));
  CHECK(contains(builder->getModelProto(true), "op_type: \"Relu\""));
  CHECK(contains(error_of([&] { Builder::createFromOnnxModel("no_such_file.onnx"); }),
                 "no_such_file.onnx"));
}
