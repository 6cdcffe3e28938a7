// Products in parts: the operators that a part has follow from PopART's documentation of setSerializeMatMul; the
// numbers are those of the whole product, which are small integers and exact in any order.
#include <doctest/doctest.h>

#include <popart/op/matmul.hpp>
#include <popart/session.hpp>

#include "ir_models.hpp"
#include "step.hpp"

using namespace popart_test;

namespace {

struct Product {
  Prepared prepared;
  TensorId y;
};

/// y = x w, [4, 6] by [6, 2], in parts; empty mode: whole.
Product product(const std::string& mode, std::int64_t factor, const char* type = "FLOAT") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor("FLOAT", {4, 6}, "x");
  std::vector<float> data;
  for (int i = 0; i < 12; ++i) data.push_back(static_cast<float>(i % 5 - 2));
  const TensorId w = builder->addInitializedInputTensor(
      ConstVoidData{data.data(), TensorInfo("FLOAT", Shape{6, 2})}, "w");
  const TensorId y = aiOnnx.matmul({aiOnnx.cast({x}, type), aiOnnx.cast({w}, type)}, "y");
  if (!mode.empty()) builder->setSerializeMatMul({y}, mode, factor, true);
  const TensorId out = aiOnnx.cast({y}, "FLOAT");
  const TensorId loss = builder->aiGraphcoreOpset1().l1loss({out}, 1, ReductionType::Sum);
  builder->addOutputTensor(loss);
  return {{builder->getModelProto(), DataFlow(1, {{out, AnchorReturnType("All")}}), loss}, out};
}

struct Trained {
  std::vector<float> y, w;
};
Trained train(const Product& product) {
  const ConstSGD optimizer(1);
  const auto session = TrainingSession::createFromOnnxModel(
      product.prepared.proto, product.prepared.flow, product.prepared.loss, optimizer, cpu());
  session->prepareDevice();
  session->weightsFromHost();
  std::vector<float> x;
  for (int i = 0; i < 24; ++i) x.push_back(static_cast<float>(i % 7 - 3));
  const Values result = step(*session, {{"x", x}}, {{product.y, 8}});
  return {result.at(product.y), popart_test::weight(*session, "w")};
}

}  // namespace

TEST_CASE("popart serialized products: parts are operators of their own, and results stay") {
  const auto types = [](const Product& product) {
    Prepared prepared = product.prepared;
    prepared.options.enableOutlining = false;
    Ir ir;
    prepared.into(ir);
    return std::vector<std::ptrdiff_t>{count(ir, "MatMul"), count(ir, "Slice"),
                                       count(ir, "Concat")};
  };
  using Counts = std::vector<std::ptrdiff_t>;
  CHECK(types(product("", 0)) == Counts{1, 0, 0});
  CHECK(types(product("none", 0)) == Counts{1, 0, 0});
  Ir outlined;  // equal parts are calls of one graph
  product("input_channels", 2).prepared.into(outlined);
  CHECK(count(outlined, "MatMul") == 1);
  CHECK(types(product("input_channels", 2)) == Counts{2, 2, 1});
  // The weight is constant in inference: its slices are folded.
  CHECK(types(product("output_channels", 2)) == Counts{2, 0, 1});
  CHECK(types(product("reducing_dim", 3)) == Counts{3, 3, 0});
  Product off = product("input_channels", 2);
  off.prepared.options.enableSerializedMatmuls = false;
  CHECK(types(off) == Counts{1, 0, 0});

  for (const char* type : {"FLOAT", "FLOAT16"}) {
    const Trained whole = train(product("", 0, type));
    for (const auto& [mode, factor] :
         {std::pair("input_channels", 4), {"output_channels", 2}, {"reducing_dim", 3}}) {
      CAPTURE(mode);
      const Trained parts = train(product(mode, factor, type));
      CHECK(parts.y == whole.y);
      CHECK(parts.w == whole.w);
    }
  }
}

TEST_CASE("popart serialized products: operators say how they are to be computed") {
  using Settings = MatMulBaseOp::SerialiseSettings;
  const auto settings = [](const Product& product, bool isSerialized) {
    Prepared prepared = product.prepared;
    prepared.options.enableSerializedMatmuls = isSerialized;
    Ir ir;
    prepared.into(ir);
    std::vector<Settings> found;
    for (const Op* op : ir.getAllOps()) {
      const auto* matmul = dynamic_cast<const MatMulOp*>(op);
      if (matmul != nullptr) found.push_back(matmul->getSerialiseSettings());
    }
    return found;
  };
  for (const auto& [name, mode] : {std::pair("input_channels", Settings::Mode::InputChannels),
                                   {"output_channels", Settings::Mode::OutputChannels},
                                   {"reducing_dim", Settings::Mode::ReducingDim},
                                   {"none", Settings::Mode::None}}) {
    CAPTURE(std::string(name));
    const std::vector<Settings> whole = settings(product(name, 2, "FLOAT16"), false);
    REQUIRE(whole.size() == 1);
    CHECK(whole[0].mode == mode);
    CHECK(whole[0].factor == (mode == Settings::Mode::None ? 0 : 2));
    CHECK(whole[0].keep_precision == (mode != Settings::Mode::None));
  }
  for (const Settings& part : settings(product("reducing_dim", 3), true)) {
    CHECK(part.mode == Settings::Mode::None);
  }
  CHECK(settings(product("", 0), true)[0].mode == Settings::Mode::None);
}

TEST_CASE("popart serialized products: a factor that does not divide the extent is an error") {
  const auto error = [](const std::string& mode, std::int64_t factor) {
    return error_of([&] {
      Ir ir;
      product(mode, factor).prepared.into(ir);
    });
  };
  CHECK(is(error("input_channels", 3), "error", "the serialization factor 3 does not divide 4"));
  CHECK(is(error("reducing_dim", 4), "error", "does not divide 6 of reducing_dim"));
  CHECK(is(error("output_channels", 0), "error", "the serialization factor 0 does not divide 2"));
}
