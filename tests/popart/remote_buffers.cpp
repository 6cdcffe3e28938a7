#include <doctest/doctest.h>

#include <functional>

#include <popart/ndarraywrapper.hpp>
#include <popart/op/exchange/remote.hpp>
#include <popart/session.hpp>
#include <popart/stepio.hpp>

#include "ir_models.hpp"

using namespace popart_test;

TEST_CASE("popart remote buffers: variables in streaming memory are seen and exchanged") {
  auto builder = Builder::create();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const TensorId y = builder->aiOnnxOpset9().mul({x, weight(*builder, "w")}, "y");
  const TensorId loss = builder->aiGraphcoreOpset1().l1loss({y}, 1.f, ReductionType::Sum);
  builder->addOutputTensor(loss);
  SessionOptions options;
  options.weightTensorLocationSettings = {TensorLocation(TensorStorage::OffChip), 1, 1};
  const auto session = TrainingSession::createFromOnnxModel(
      builder->getModelProto(), DataFlow(1, {{loss, AnchorReturnType("All")}}), loss,
      SGD({{"defaultLearningRate", {0.5f, true}}}), cpu(), {}, options);
  const Ir& ir = session->getIr();
  CHECK(count(ir, "RemoteLoad") >= 1);
  CHECK(count(ir, "RemoteStore") == 1);
  const TensorLocationInfo& location = ir.getTensor("w")->tensorLocationInfo;
  CHECK(location.isRemote());
  CHECK_FALSE(location.isSharded());
  const auto [number, index] = location.getRemoteBufferInfo();
  const std::string buffer = "RB_" + std::to_string(number);
  float values[4] = {};
  CHECK(is(error_of([&] { session->copyFromRemoteBuffer(buffer, values, 0); }), "runtime_error",
           "prepareDevice must be called before"));
  session->prepareDevice();
  session->weightsFromHost();
  float data[] = {1, 1, 1, 1}, sum[] = {0};
  NDArrayWrapper<float> in(data, {2, 2}), out(sum, {1});
  std::map<TensorId, IArray&> inputs{{x, in}}, anchors{{loss, out}};
  StepIO io(inputs, anchors);
  session->run(io);
  CHECK(sum[0] == 10);  // 1 + 2 + 3 + 4
  session->copyFromRemoteBuffer(buffer, values, static_cast<int>(index));
  // The gradient is 1 for each weight, the learning rate 0.5.
  CHECK(std::vector<float>(values, values + 4) == std::vector<float>{0.5f, 1.5f, 2.5f, 3.5f});
  float zeros[4] = {};
  session->copyToRemoteBuffer(zeros, buffer, static_cast<int>(index));
  session->run(io);
  CHECK(sum[0] == 0);
  CHECK(is(error_of([&] { session->copyFromRemoteBuffer("RB_77", values, 0); }), "runtime_error",
           "No variable is in entry 0 of remote buffer RB_77"));
}

TEST_CASE("popart remote buffers: activations wait for their gradients there") {
  auto builder = Builder::create();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const TensorId hidden = builder->aiOnnxOpset9().sigmoid(
      {builder->aiOnnxOpset9().mul({x, weight(*builder, "w")})}, "hidden");
  const TensorId loss = builder->aiGraphcoreOpset1().l1loss({hidden}, 1.f, ReductionType::Sum);
  builder->addOutputTensor(loss);
  const auto trained = [&](TensorStorage storage, std::size_t& stores) {
    SessionOptions options;
    options.activationTensorLocationSettings = {TensorLocation(storage), 1, 1};
    const auto session = TrainingSession::createFromOnnxModel(
        builder->getModelProto(), DataFlow(1, {{loss, AnchorReturnType("All")}}), loss,
        SGD({{"defaultLearningRate", {0.5f, true}}}), cpu(), {}, options);
    stores = count(session->getIr(), "RemoteStore");
    session->prepareDevice();
    session->weightsFromHost();
    float data[] = {1, -1, 2, 0.5f}, sum[] = {0};
    NDArrayWrapper<float> in(data, {2, 2}), out(sum, {1});
    std::map<TensorId, IArray&> inputs{{x, in}}, anchors{{loss, out}};
    std::vector<float> sums;
    for (int step = 0; step < 3; ++step) {
      StepIO io(inputs, anchors);
      session->run(io);
      sums.push_back(sum[0]);
    }
    return sums;
  };
  std::size_t here = 0, beside = 0;
  // The law: where a value waits changes no bit.
  CHECK(trained(TensorStorage::OnChip, here) == trained(TensorStorage::OffChip, beside));
  CHECK(here == 0);
  CHECK(beside >= 1);
}

TEST_CASE("popart remote buffers: nodes say themselves where their outputs wait") {
  const TensorLocation here(TensorStorage::OnChip), beside(TensorStorage::OffChip);
  const TensorId hidden = "hidden";
  const auto session = [&](const std::function<void(Builder&)>& mark,
                           const SessionOptions& options) {
    auto builder = Builder::create();
    auto aiOnnx = builder->aiOnnxOpset9();
    const TensorId x = builder->addInputTensor(square_info, "x");
    aiOnnx.sigmoid({aiOnnx.mul({x, weight(*builder, "w")})}, hidden);
    const TensorId loss = builder->aiGraphcoreOpset1().l1loss({hidden}, 1.f, ReductionType::Sum);
    builder->addOutputTensor(loss);
    mark(*builder);
    return TrainingSession::createFromOnnxModel(
        builder->getModelProto(), DataFlow(1, {{loss, AnchorReturnType("All")}}), loss,
        SGD({{"defaultLearningRate", {0.5f, true}}}), cpu(), {}, options);
  };
  const auto stores = [&](const std::function<void(Builder&)>& mark,
                          const SessionOptions& options) {
    return count(session(mark, options)->getIr(), "RemoteStore");
  };
  const auto at = [&](const TensorLocation& location) {
    return [&](Builder& builder) { builder.outputTensorLocation(hidden, location); };
  };
  const auto nowhere = [](Builder&) {};
  SessionOptions plain, all, override;
  all.activationTensorLocationSettings = {beside, 1, 1};
  override.tensorLocationSettingsOverride = {{hidden, here}};
  CHECK(stores(at(beside), plain) == 1);
  CHECK(stores(at(beside), override) == 0);
  CHECK(stores(at(here), all) == stores(nowhere, all) - 1);
  const auto marked = [&](const std::vector<int64_t>& numbers) {
    return error_of([&] {
      session(
          [&](Builder& builder) {
            builder.addNodeAttribute(sOutputTensorLocationAttribute, numbers, {hidden});
          },
          plain);
    });
  };
  CHECK(contains(marked({0, 1, 1}), "is no tensor location"));
  CHECK(contains(marked({2, 1, 1, 0}), "is no tensor location"));
  CHECK(contains(marked({0, 1, 1, 0, 0, -1}), "is no tensor location"));
  // Replicas compute values of their own: there is nothing to share.
  CHECK(contains(marked({1, 1, 1, 1}), "is no variable"));
}
