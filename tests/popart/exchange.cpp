#include <doctest/doctest.h>

#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/stepio.hpp>
#include <string>
#include <vector>

#include "errors.hpp"

using namespace popart;
using namespace popart_test;

TEST_CASE("popart session: explicit streams are inputs and anchors") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset11();
  auto aiGraphcore = builder->aiGraphcoreOpset1();
  const OperatorIdentifier load("ai.graphcore", "HostLoad", 1),
      store("ai.graphcore", "HostStore", 1);
  const TensorId init = aiGraphcore.init({2}, static_cast<int64_t>(DataType::FLOAT), 0);
  const TensorId x =
      builder->customOp(load, 1, {init}, 1, {{"streamid", std::string("in")}}).front();
  const TensorId y = aiOnnx.mul({x, x});
  builder->customOp(store, 1, {y}, 0, {{"streamid", std::string("out")}});
  auto session = InferenceSession::createFromOnnxModel(
      builder->getModelProto(), DataFlow(1, {{"out", AnchorReturnType("All")}}), cpu());
  session->prepareDevice();
  std::vector<float> in{3, -5}, out(2);
  NDArrayWrapper<float> in_array(in.data(), {2}), out_array(out.data(), {2});
  StepIO io({{"in", in_array}}, {{"out", out_array}});
  session->run(io);
  CHECK(out == std::vector<float>{9, 25});
}

// Sums of sequences of one number a row, of lengths 2, 1, 3 and 1, in batches of two.
TEST_CASE("popart session: packed data block") {
  auto builder = Builder::create();
  auto aiGraphcore = builder->aiGraphcoreOpset1();
  const TensorId data = builder->addInputTensor("FLOAT", {7, 1}, "data");
  const auto list = [&](std::vector<uint32_t> numbers, const char* name) {
    const TensorInfo info{"UINT32", Shape{static_cast<int64_t>(numbers.size())}};
    return builder->addInitializedInputTensor({numbers.data(), info}, name);
  };
  const TensorId offsets = list({0, 2, 3, 6}, "offsets"), lengths = list({2, 1, 3, 1}, "lengths");
  const TensorId to = list({0, 1, 2, 3}, "to"), ones = list({1, 1, 1, 1}, "ones");
  Builder& callback = builder->createSubgraphBuilder();
  callback.setGraphName("callback");
  const TensorId x = callback.addInputTensor("FLOAT", {2, 3, 1});
  callback.addOutputTensor(
      callback.aiOnnxOpset11().reducesum({x}, std::vector<int64_t>{1}, int64_t{1}));
  const TensorId y =
      aiGraphcore.packedDataBlock({data, offsets, lengths, to, ones}, {3}, 5, 2, callback);
  builder->addOutputTensor(y);
  auto session = InferenceSession::createFromOnnxModel(
      builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}}), cpu());
  session->prepareDevice();
  std::vector<float> in{1, 2, 4, 8, 16, 32, 64}, out(5);
  NDArrayWrapper<float> in_array(in.data(), {7, 1}), out_array(out.data(), {5, 1});
  StepIO io({{"data", in_array}}, {{y, out_array}});
  session->run(io);
  CHECK(out == std::vector<float>{3, 4, 56, 64, 0});
}
