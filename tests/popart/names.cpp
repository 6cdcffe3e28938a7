#include <doctest/doctest.h>

#include <popart/defaulttilecount.hpp>
#include <popart/filereader.hpp>
#include <popart/numerics.hpp>
#include <popart/opidentifier.hpp>
#include <popart/scope.hpp>
#include <popart/tensornames.hpp>
#include <popart/util.hpp>
#include <popart/vectorandset.hpp>
#include <set>
#include <sstream>

#include "../folder.hpp"
#include "ir_models.hpp"

using namespace popart_test;

TEST_CASE(
    "popart names: identifiers of operators are those of ONNX's schemas and of ai.graphcore") {
  // since-versions of ONNX's operators.
  CHECK(Onnx::AiOnnx::OpSet9::Relu == Onnx::Operators::Relu_6);
  CHECK(Onnx::AiOnnx::OpSet6::Add == Onnx::Operators::Add_6);
  CHECK(Onnx::AiOnnx::OpSet10::Add == Onnx::Operators::Add_7);
  CHECK(Onnx::AiOnnx::OpSet11::Gemm == Onnx::Operators::Gemm_11);
  CHECK(Onnx::AiOnnx::OpSet11::Loop.version == 11);
  CHECK(Onnx::Operators::Concat_4.numInputs.max == -1);
  CHECK(Onnx::CustomOperators::Gelu_1.type == "Gelu");
  CHECK(Onnx::AiGraphcore::OpSet1::Gelu == Onnx::CustomOperators::Gelu_1);
  CHECK(Onnx::GradOperators::ReluGrad.domain == Domain::ai_graphcore);
  std::ostringstream text;
  text << Onnx::Operators::MatMul_9;
  CHECK(text.str() == "ai.onnx.MatMul:9");
  const std::set<OperatorIdentifier> some{Onnx::Operators::Relu_6, Onnx::CustomOperators::Gelu_1,
                                          Onnx::AiOnnx::OpSet7::Relu};
  CHECK(some.size() == 2);
}

TEST_CASE("popart names: prefixes of tensors") {
  CHECK(getGradId("x") == "Gradient___x");
  CHECK(getNonGradId(getGradId("x")) == "x");
  CHECK(isGradId("Gradient___x"));
  CHECK_FALSE(isGradId("x"));
  CHECK(getEdgeGradId(101, 2) == "Gradient___101_2");
  CHECK(getUpdatedVarId("w") == "UpdatedVar___w");
  CHECK(getNonRemoteArgTensorId(getRemoteArgTensorId("w")) == "w");
  CHECK(stripAllReservedPrefixes("UpdatedVar___Gradient___x") == "x");
  CHECK(reservedDefaultScaledLearningRate0Prefix() ==
        std::string("scaledLearningRate0___default___"));
  CHECK(is(error_of([] { getNonGradId("x"); }), "error", "does not begin with Gradient___"));
  const std::vector<std::string> all = reservedPrefixes();
  CHECK(std::count(all.begin(), all.end(), reservedAccl1Prefix()) == 1);
}

TEST_CASE("popart names: scopes") {
  const Scope scope = Scope() / "outer" / "inner";
  CHECK(scope.str() == "outer/inner");
  CHECK(addScope(scope, "x") == "outer/inner/x");
  CHECK(addScope(Scope(), "x") == "x");
}

TEST_CASE("popart util: helpers that programs use") {
  std::ostringstream text;
  text << std::vector<int>{1, 2, 3} << std::pair(1, 2) << std::set<int>{};
  CHECK(text.str() == "[1 2 3](1, 2)[]");
  CHECK(padded("ab", 4) == "ab  ");
  CHECK(vector_cast<int>(std::vector<float>{1.5f, 2}) == std::vector<int>{1, 2});
  CHECK(splitString("a::b::", "::") == std::vector<std::string>{"a", "b", ""});
  CHECK(getBaseTensorId("x__t3") == "x");
  CHECK(getBaseTensorId("x__there") == "x__there");
  CHECK(getAxes_u64({-1, 0}, 3) == std::vector<uint64_t>{2, 0});
  CHECK(is(error_of([] { validateReduceAxis(3, 3, "here"); }), "error", "out of acceptable range"));
  const float halves[] = {0.5f, -2};
  const std::vector<char> bytes = cast(DataType::FLOAT, DataType::FLOAT16, halves, sizeof halves);
  CHECK(bytes.size() == 4);
  // 0.5 is 0x3800 in IEEE 754's binary16.
  CHECK(static_cast<unsigned char>(bytes[1]) == 0x38);
  CHECK(cast(DataType::FLOAT16, DataType::FLOAT, bytes) ==
        std::vector<char>(reinterpret_cast<const char*>(halves),
                          reinterpret_cast<const char*>(halves) + sizeof halves));
  const int32_t integers[] = {-1, 300};
  CHECK(cast(DataType::INT32, DataType::INT8, integers, sizeof integers) ==
        std::vector<char>{-1, 44});  // 300 modulo 256
  CHECK(is(error_of([&] { cast(DataType::INT32, DataType::STRING, integers, 4); }), "error",
           "not converted"));
  VectorAndSet texts({"b", "a", "b"});
  CHECK(texts.v() == std::vector<std::string>{"b", "a"});
  CHECK(texts.contains("a"));
  int zipped[2] = {};
  const int left[] = {1, 2}, right[] = {10, 20, 30};
  util::zipWith(left, left + 2, right, right + 3, zipped, [](int a, int b) { return a + b; });
  CHECK(zipped[1] == 22);
  CHECK(util::count_mismatch(left, left + 2, right, right + 3) == 3);
}

TEST_CASE("popart files: models, folders and their errors") {
  const test::Folder folder;
  auto builder = Builder::create();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const TensorId y = builder->aiOnnxOpset9().add({x, weight(*builder, "w")}, "y");
  builder->addOutputTensor(y);
  const auto model = io::getModelFromString(builder->getModelProto());
  CHECK(model.graph().output(0).name() == "y");
  io::writeModel(model, folder / "model.onnx");
  CHECK(io::getModelFromFile(folder / "model.onnx").SerializeAsString() ==
        model.SerializeAsString());
  CHECK(io::getMatchFns(folder.path.string(), "model").size() == 1);
  CHECK(io::getDirns(folder.path.string()).empty());
  CHECK(io::isRegularFile(folder / "model.onnx"));
  CHECK(is(error_of([&] { io::getModelFromFile(folder / "none.onnx"); }), "error",
           "is not a regular file"));
  CHECK(is(error_of([&] { io::getModelFromString("no model"); }), "error", "Failed to parse"));
  CHECK(
      is(error_of([&] { io::assertDirectoryExists(folder / "none"); }), "error", "does not exist"));
  // A model that protobuf has read makes an Ir, too.
  const DataFlow flow(1, {{y, AnchorReturnType("All")}});
  const SessionOptions options;
  auto device = cpu();
  Ir ir;
  ir.prepare({model, InputShapeInfo(), flow, {}, nullptr, *device, options, Patterns()});
  CHECK(ir.getMainGraphOps().size() == 1);
}

TEST_CASE("popart numerics: how far the updates of two models are apart") {
  const auto model = [](float first) {
    auto builder = Builder::create();
    const TensorInfo info{"FLOAT", Shape{2}};
    const float data[] = {first, 1};
    const TensorId w = builder->addInitializedInputTensor(ConstVoidData{data, info}, "w");
    const TensorId x = builder->addInputTensor(info, "x");
    builder->addOutputTensor(builder->aiOnnxOpset9().add({x, w}, "y"));
    return builder->getModelProto();
  };
  const numerics::NumericsReport alike(model(0), model(3), model(0), model(3));
  CHECK(alike.getRelativeErrors().at("w") == 0);
  // (3 - 2)^2 / (3 * 2)
  const numerics::NumericsReport apart(model(0), model(3), model(0), model(2));
  CHECK(apart.getRelativeErrors().at("w") == doctest::Approx(1. / 6));
  CHECK(contains(apart.fullReport(), "w :"));
  CHECK(is(error_of([&] { apart.report("v"); }), "error", "no report of tensor v"));
}
