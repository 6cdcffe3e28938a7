#include <doctest/doctest.h>

#include <map>
#include <popart/ndarraywrapper.hpp>
#include <popart/op/batchnorm.hpp>
#include <popart/op/l1.hpp>
#include <popart/op/matmul.hpp>
#include <popart/optimizer.hpp>
#include <popart/session.hpp>

#include "ir_models.hpp"

using namespace popart_test;

TEST_CASE("a model without weights is trained without weightsFromHost") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const TensorId y = aiOnnx.mul({x, x});
  const TensorId loss = builder->aiGraphcoreOpset1().identityloss({y}, ReductionType::Sum);
  const TensorId gradient = reservedGradientPrefix() + x;
  const auto session = TrainingSession::createFromOnnxModel(
      builder->getModelProto(), DataFlow(1, {{gradient, AnchorReturnType("All")}}), loss,
      ConstSGD(0.1f), cpu());
  session->prepareDevice();
  float in[] = {1, 2, 3, 4}, out[4] = {};
  NDArrayWrapper<float> input(in, square_info), output(out, square_info);
  std::map<TensorId, IArray&> inputs{{x, input}}, anchors{{gradient, output}};
  StepIO io(inputs, anchors);
  session->run(io);
  for (int i = 0; i < 4; ++i) CHECK(out[i] == doctest::Approx(2 * in[i]));  // d(x * x) / dx
}

TEST_CASE("a node whose output a pattern gives to another operator is not made up again") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset10();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const TensorId w = weight(*builder, "w");
  // PreUniRepl has the first Sum write what the second one, an identity, wrote.
  const TensorId one = aiOnnx.sum({aiOnnx.sum({x, w, x})});
  const TensorId loss = builder->aiGraphcoreOpset1().l1loss({aiOnnx.dropout({one}, 2, 0.3f)[0]},
                                                            0.25f, ReductionType::Sum);
  Prepared prepared{builder->getModelProto(), DataFlow(1, {{loss, AnchorReturnType("All")}}), loss};
  prepared.patterns = Patterns::create({"PostNRepl", "PreUniRepl"}).enableRuntimeAsserts(false);
  const ConstSGD sgd(0.1f);
  Ir ir;
  prepared.into(ir, &sgd);
  CHECK(ir.getTensor(one)->getProducer()->input->n() > 0);
  CHECK(!ir.getTensor(x)->consumers.getOps().empty());
  const std::vector<Op*> gradients = ir.opsOfType(Onnx::CustomGradOperators::L1Grad);
  REQUIRE(gradients.size() == 1);
  const auto& l1 = dynamic_cast<const L1GradOp&>(*gradients[0]);
  CHECK(l1.getLambda() == doctest::Approx(0.25));
  CHECK(l1.getReductionType() == ReductionType::Sum);
}

TEST_CASE("products and normalisations tell their operands and attributes") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor({"FLOAT", Shape{1, 2, 2, 2}}, "x");
  const TensorId w = weight(*builder, "w");
  const TensorId product = aiOnnx.matmul({x, w});
  const TensorInfo channels{"FLOAT", Shape{2}};
  const float data[] = {1, 1};
  std::vector<TensorId> args{product};
  for (int i = 0; i < 4; ++i) args.push_back(builder->addInitializedInputTensor({data, channels}));
  const TensorId y = aiOnnx.batchnormalization(args, 1, 0.5f, 0.75f)[0];
  Prepared prepared{builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}})};
  Ir ir;
  prepared.into(ir);
  const auto& matmul =
      dynamic_cast<const MatMulOp&>(*ir.opsOfType(Onnx::Operators::MatMul_9).at(0));
  CHECK(matmul.lhsIn()->id == x);
  CHECK(matmul.rhsIn()->id == w);
  CHECK(matmul.out()->id == product);
  const auto& norm =
      dynamic_cast<const BatchNormOp&>(*ir.opsOfType(Onnx::Operators::BatchNormalization_9).at(0));
  CHECK(norm.getEpsilon() == doctest::Approx(0.5));
  CHECK(norm.getMomentum() == doctest::Approx(0.75));
}
