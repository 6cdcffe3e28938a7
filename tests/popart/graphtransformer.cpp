#include <popart/graphtransformer.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>

#include "ir_models.hpp"

using namespace popart_test;

namespace {

/// y = x + w, of these types.
template <class T>
std::string sum(const char* type, std::vector<T> data) {
  auto builder = Builder::create();
  const TensorInfo info{type, Shape{static_cast<int64_t>(data.size())}};
  const TensorId x = builder->addInputTensor(info, "x");
  const TensorId w = builder->addInitializedInputTensor(ConstVoidData{data.data(), info}, "w");
  builder->addInputTensor(info, "unused");
  builder->addOutputTensor(builder->aiOnnxOpset9().add({x, w}, "y"));
  return builder->getModelProto();
}
Prepared prepared(const GraphTransformer& transformer) {
  return {transformer.getModelProto(), DataFlow(1, {{"y", AnchorReturnType("All")}})};
}

}  // namespace

TEST_CASE("popart graph transformer: elements of other types") {
  const auto types = [](const std::string& model, auto convert) {
    GraphTransformer transformer(model);
    convert(transformer);
    Ir ir;
    prepared(transformer).into(ir);
    CHECK(ir.getTensor("w")->info == ir.getTensor("x")->info);
    CHECK(ir.getTensor("y")->info == ir.getTensor("x")->info);
    return ir.getTensor("w")->info.dataType();
  };
  CHECK(types(sum<float>("FLOAT", {1, 2}), [](auto& t) { t.convertFloatsToHalfs(); }) ==
        DataType::FLOAT16);
  CHECK(types(sum<double>("DOUBLE", {1, 2}), [](auto& t) { t.convertDoublesToFloats(); }) ==
        DataType::FLOAT);
  GraphTransformer clipped(sum<int64_t>("INT64", {-7, int64_t{1} << 40}));
  CHECK(is(error_of([&] { clipped.convertINT64ToINT32(); }), "error", "beyond INT32"));
  GraphTransformer nearest(sum<int64_t>("INT64", {-7, int64_t{1} << 40}));
  nearest.convertINT64ToINT32(true);
  Ir ir;
  prepared(nearest).into(ir);
  CHECK(ir.getTensor("w")->tensorData()->copyDataAs<int32_t>(2) ==
        std::vector<int32_t>{-7, INT32_MAX});
}

TEST_CASE("popart graph transformer: constants, unused inputs, files") {
  GraphTransformer transformer(sum<int32_t>("INT32", {1, 2}));
  CHECK(is(error_of([&] { transformer.convertInitializersToConstants({"x"}); }), "error",
           "Tensor 'x' is not an initializer"));
  transformer.convertAllFixedPointInitializersToConstants();
  transformer.removeUnusedInputs();
  auto changed = Builder::createFromOnnxModel(transformer.getModelProto());
  CHECK_FALSE(changed->isInitializer("w"));
  CHECK(changed->getInputTensorIds() == std::vector<TensorId>{"x"});
  {
    Prepared model = prepared(transformer);
    model.options.constantWeights = false;
    Ir ir;
    model.into(ir);
    CHECK(ir.getTensor("w")->tensorType() == TensorType::Const);
  }
  CHECK(is(error_of([] { GraphTransformer("no model"); }), "error", "Failed to parse"));
  const std::string file = "popart-transformed.bin";  // data lie beside the model
  std::remove(file.c_str());
  GraphTransformer moved(sum<float>("FLOAT", {3, 4}));
  moved.saveInitializersExternally({"w"}, file);
  {
    Ir ir;
    prepared(moved).into(ir);
    CHECK(ir.getTensor("w")->tensorData()->copyDataAs<float>(2) == std::vector<float>{3, 4});
  }
  std::remove(file.c_str());
}

TEST_CASE("popart graph transformer: batch normalization for training") {
  auto builder = Builder::create();
  const TensorInfo info{"FLOAT", Shape{2, 1, 1, 1}}, one{"FLOAT", Shape{1}};
  const float number[] = {1};
  const TensorId x = builder->addInputTensor(info, "x");
  std::vector<TensorId> args{x};
  for (const char* name : {"scale", "b", "mean", "var"}) {
    args.push_back(builder->addInitializedInputTensor(ConstVoidData{number, one}, name));
  }
  builder->addOutputTensor(builder->aiOnnxOpset9().batchnormalization(args, 1)[0]);
  GraphTransformer transformer(builder->getModelProto());
  transformer.prepareNodesForTraining();
  const std::string model = transformer.getModelProto();
  CHECK(contains(model, "__training_saved_var"));
}
