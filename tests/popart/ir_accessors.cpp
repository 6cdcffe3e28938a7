#include <doctest/doctest.h>

#include <popart/op/argmax.hpp>
#include <popart/op/averagepool.hpp>
#include <popart/op/batchnorm.hpp>
#include <popart/op/cast.hpp>
#include <popart/op/concat.hpp>
#include <popart/op/conv.hpp>
#include <popart/op/dropout.hpp>
#include <popart/op/gather.hpp>
#include <popart/op/maxpool.hpp>
#include <popart/op/pad.hpp>
#include <popart/op/reducesum.hpp>
#include <popart/op/resize.hpp>
#include <popart/op/slice.hpp>
#include <popart/op/softmax.hpp>
#include <popart/op/split.hpp>
#include <popart/op/topk.hpp>
#include <popart/op/transpose.hpp>
#include <popart/session.hpp>
#include <set>

#include "ir_models.hpp"

using namespace popart_test;

// Expected values are what the models' nodes say, and ONNX's formulas of padding.

namespace {

using Integers = std::vector<int64_t>;

/// A model of one operator, and its view.
struct One {
  std::unique_ptr<Builder> builder = Builder::create();
  Ir ir;

  TensorId input(const Shape& shape) { return builder->addInputTensor(TensorInfo("FLOAT", shape)); }
  TensorId integers(const Integers& values) {
    return builder->aiOnnxOpset10().constant(ConstVoidData{
        values.data(), TensorInfo("INT64", Shape{static_cast<int64_t>(values.size())})});
  }
  template <class T>
  const T& made(const TensorId& y) {
    builder->addOutputTensor(y);
    Prepared prepared{builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}})};
    prepared.patterns.enableInPlace(false);
    prepared.into(ir);
    const T* const op = dynamic_cast<const T*>(ir.getTensor(y)->getProducer());
    REQUIRE(op != nullptr);
    return *op;
  }
};

}  // namespace

TEST_CASE("popart ir: slices, pads and axes") {
  {
    One m;
    const auto& op = m.made<SliceOp>(m.builder->aiOnnxOpset10().slice(
        {m.input({4, 5}), m.integers({1, 0}), m.integers({3, 4}), m.integers({1, 0})}));
    CHECK(op.getStarts() == Integers{1, 0});
    CHECK(op.getEnds() == Integers{3, 4});
    CHECK(op.getAxes() == Integers{1, 0});
  }
  {
    One m;  // up to version 9 attributes say it
    const auto& op = m.made<SliceOp>(m.builder->aiOnnxOpset9().slice({m.input({4, 5})}, {3}, {1}));
    CHECK(op.getStarts() == Integers{1});
    CHECK(op.getEnds() == Integers{3});
    CHECK(op.getAxes() == Integers{0});
  }
  {
    One m;
    const auto& op = m.made<PadOp>(
        m.builder->aiOnnxOpset10().pad({m.input({2, 3})}, {0, 1, 2, 3}, "constant", 0.5f));
    CHECK(op.getPads() == Integers{0, 1, 2, 3});
    CHECK(op.getLowerPadding(1) == 1);
    CHECK(op.getUpperPadding(0) == 2);
    CHECK(op.getMode() == "constant");
    CHECK(op.getPadValue() == 0.5f);
    CHECK_FALSE(op.padSizeZero());
  }
  {
    One m;
    const auto& op = m.made<ReduceSumOp>(
        m.builder->aiOnnxOpset10().reducesum({m.input({2, 3, 4})}, Integers{-1, 0}, 0));
    CHECK(op.getAxes() == Integers{0, 2});
    CHECK_FALSE(op.getKeepDims());
  }
  {
    One m;
    const auto& op = m.made<ReduceSumOp>(
        m.builder->aiOnnxOpset10().reducesum({m.input({2, 3})}, nonstd::nullopt));
    CHECK(op.getAxes() == Integers{0, 1});
    CHECK(op.getKeepDims());
  }
  {
    One m;
    CHECK(m.made<TransposeOp>(m.builder->aiOnnxOpset10().transpose({m.input({2, 3, 4})}, {2, 0, 1}))
              .getPerm() == Shape{2, 0, 1});
  }
  {
    One m;
    CHECK(m.made<SoftmaxOp>(m.builder->aiOnnxOpset10().softmax({m.input({2, 3})}, 1)).getAxis() ==
          1);
  }
  {
    One m;
    const TensorId a = m.input({2, 3}), b = m.input({2, 4});
    CHECK(m.made<ConcatOp>(m.builder->aiOnnxOpset11().concat({a, b}, -1)).getAxis() == 1);
  }
  {
    One m;
    const TensorId x = m.input({2, 3});
    const TensorId at = m.builder->addInputTensor("INT32", {2});
    CHECK(m.made<GatherOp>(m.builder->aiOnnxOpset11().gather({x, at}, -1)).getAxis() == 1);
  }
  {
    One m;
    const auto& op = m.made<ArgMaxOp>(m.builder->aiOnnxOpset10().argmax({m.input({2, 3})}, 1, 0));
    CHECK(op.getAxis() == 1);
    CHECK_FALSE(op.getKeepDims());
  }
  {
    One m;
    const TensorId x = m.input({2, 6});
    const auto& op = m.made<TopKOp>(m.builder->aiOnnxOpset10().topk({x, m.integers({4})}, 1)[0]);
    CHECK(op.getAxis() == 1);
    CHECK(op.getK() == 4);
  }
  {
    One m;
    const auto& op =
        m.made<SplitOp>(m.builder->aiOnnxOpset10().split({m.input({6, 2})}, 2, 0, {2, 4})[0]);
    CHECK(op.getAxis() == 0);
    CHECK(op.getSplitSizes() == Integers{2, 4});
  }
}

TEST_CASE("popart ir: windows of convolutions and pooling") {
  {
    One m;
    const TensorId x = m.input({1, 4, 8, 9});
    const std::vector<float> data(6 * 2 * 3 * 3, 1.f);
    const TensorId w = m.builder->addInitializedInputTensor(
        ConstVoidData{data.data(), TensorInfo("FLOAT", Shape{6, 2, 3, 3})});
    const auto& op = m.made<ConvOp>(
        m.builder->aiOnnxOpset10().conv({x, w}, {2, 1}, 2, {3, 3}, {1, 2, 3, 4}, {1, 2}));
    CHECK(op.getGroups() == 2);
    CHECK(op.getNInChans() == 4);
    CHECK(op.getNOutChans() == 6);
    CHECK(op.getSpatialD() == Shape{8, 9});
    CHECK(op.getSpatialK() == Shape{3, 3});
    CHECK(op.lowerPads() == Shape{1, 2});
    CHECK(op.upperPads() == Shape{3, 4});
    const ConvParameters p = op.getParameters();
    CHECK(p.type == DataType::FLOAT);
    CHECK(p.batchSize == 1);
    CHECK(p.numInChannelsPerGroup == 2);
    CHECK(p.numOutChannelsPerGroup == 3);
    CHECK(p.inputShape == Shape{8, 9});
    CHECK(p.kernelTransformation.dilation == Integers{2, 1});
    CHECK(p.inputTransformation.lowerPadding == Integers{1, 2});
    CHECK(p.inputTransformation.upperPadding == Integers{3, 4});
    CHECK(p.outputTransformation.stride == Integers{1, 2});
    CHECK(p == op.getParameters());
  }
  {
    One m;
    const auto& op = m.made<MaxPoolOp>(m.builder->aiOnnxOpset10().maxpool(
        {m.input({1, 2, 6, 6})}, 1, {3, 2}, 0, {}, {1, 0, 1, 0}, 0, {2, 1})[0]);
    CHECK(op.getSpatialK() == Shape{3, 2});
    CHECK(op.getStrides() == Shape{2, 1});
    CHECK(op.getLowerPads() == Shape{1, 0});
    CHECK(op.getUpperPads() == Shape{1, 0});
    CHECK(op.getNOutChans() == 2);
  }
  {
    One m;
    const auto& op = m.made<AveragePoolOp>(
        m.builder->aiOnnxOpset10().averagepool({m.input({1, 2, 6, 6})}, {2, 2}));
    CHECK(op.getStrides() == Shape{1, 1});
    CHECK(op.getLowerPads() == Shape{0, 0});
  }
  // ONNX's formula: (3 - 1) 2 + 3 - 6 = 1 element is missing, the odd one of which is behind or before.
  for (const bool isUpper : {true, false}) {
    One m;
    const TensorId x = m.input({1, 2, 6, 6});
    const TensorId y =
        m.builder->customOp(Onnx::AiOnnx::OpSet10::AveragePool, 10, {x}, 1,
                            {{"kernel_shape", Shape{3, 3}},
                             {"strides", Shape{2, 2}},
                             {"auto_pad", std::string(isUpper ? "SAME_UPPER" : "SAME_LOWER")}})[0];
    const auto& op = m.made<AveragePoolOp>(y);
    CHECK(op.getLowerPads() == (isUpper ? Shape{0, 0} : Shape{1, 1}));
    CHECK(op.getUpperPads() == (isUpper ? Shape{1, 1} : Shape{0, 0}));
  }
}

TEST_CASE("popart ir: types, scales and rates") {
  {
    One m;
    CHECK(m.made<CastOp>(m.builder->aiOnnxOpset10().cast({m.input({2})}, "INT32")).toDataType() ==
          DataType::INT32);
  }
  {
    One m;
    const std::vector<float> scales{1, 1, 2, 3};
    const TensorId by = m.builder->aiOnnxOpset10().constant(
        ConstVoidData{scales.data(), TensorInfo("FLOAT", Shape{4})});
    const auto& op =
        m.made<ResizeOp>(m.builder->aiOnnxOpset10().resize({m.input({1, 1, 2, 2}), by}, "nearest"));
    CHECK(op.getMode() == ResizeMode::Nearest);
    CHECK(op.getScales() == scales);
  }
  {
    auto builder = Builder::create();
    const TensorId x = builder->addInputTensor("FLOAT", {8, 2});
    const TensorId y = builder->aiOnnxOpset10().dropout({x}, 1, 0.25f)[0];
    const TensorId loss = builder->aiGraphcoreOpset1().identityloss(
        {builder->aiOnnxOpset10().matmul({y, weight(*builder, "w")})});
    builder->addOutputTensor(loss);
    const Prepared prepared{builder->getModelProto(),
                            DataFlow(1, {{loss, AnchorReturnType("All")}}), loss};
    const ConstSGD optimizer(0.1f);
    Ir ir;
    prepared.into(ir, &optimizer);
    const auto* op = dynamic_cast<const DropoutOp*>(ir.getTensor(y)->getProducer());
    REQUIRE(op != nullptr);
    CHECK(op->getRatio() == 0.25f);
  }
}

TEST_CASE("popart ir: a batch normalization says whether it trains") {
  for (const bool isTrained : {true, false}) {
    CAPTURE(isTrained);
    auto builder = Builder::create();
    const TensorId x = builder->addInputTensor("FLOAT", {4, 2, 3, 3});
    std::vector<TensorId> inputs{x};
    const float ones[] = {1, 1};
    for (const char* name : {"scale", "bias", "mean", "var"}) {
      inputs.push_back(builder->addInitializedInputTensor(
          ConstVoidData{ones, TensorInfo("FLOAT", Shape{2})}, name));
    }
    const TensorId y =
        builder->aiOnnxOpset10().batchnormalization(inputs, isTrained ? 5 : 1, 0.01f, 0.75f)[0];
    const TensorId loss = builder->aiGraphcoreOpset1().identityloss({y});
    builder->addOutputTensor(loss);
    const Prepared prepared{builder->getModelProto(),
                            DataFlow(1, {{isTrained ? loss : y, AnchorReturnType("All")}}),
                            isTrained ? loss : TensorId()};
    const ConstSGD optimizer(0.1f);
    Ir ir;
    prepared.into(ir, isTrained ? &optimizer : nullptr);
    const auto* op = dynamic_cast<const BatchNormOp*>(ir.getTensor(y)->getProducer());
    REQUIRE(op != nullptr);
    CHECK(op->isTraining() == isTrained);
    CHECK(op->getEpsilon() == 0.01f);
    CHECK(op->getMomentum() == 0.75f);
  }
}

TEST_CASE("popart ir: every operator that draws numbers has a seed of its own") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  TensorId y = builder->addInputTensor(square_info, "x");
  for (int i = 0; i < 2; ++i) y = aiOnnx.dropout({aiOnnx.matmul({y, weight(*builder, "")})}, 1)[0];
  const TensorId loss = builder->aiGraphcoreOpset1().l1loss({y}, 0.1f);
  Prepared prepared{builder->getModelProto(), DataFlow(1), loss};
  prepared.options.enableOutlining = false;
  Ir ir;
  const ConstSGD optimizer(0.5f);
  prepared.into(ir, &optimizer);
  std::set<std::uint32_t> forward;
  for (const Op* op : ir.getAllOps()) {
    const auto* random = dynamic_cast<const RandomBaseOp*>(op);
    if (random != nullptr) {
      CHECK(random->getSeedModifier() > 0);
      CHECK(forward.insert(random->getSeedModifier()).second);
    }
  }
  CHECK(forward.size() == 2);
}
