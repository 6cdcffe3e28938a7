#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <popart/adam.hpp>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <popart/stepio.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../folder.hpp"
#include "errors.hpp"

using namespace popart;
using namespace popart_test;

// Several replicas, and what is computed again. The loss is l = sum(w x), so that the gradient of w
// is x and its values follow from the formula of SGD.
namespace {

struct Model {
  std::string proto;
  TensorId loss;
};

Model model(ReplicatedStreamMode mode = ReplicatedStreamMode::Replicate) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{2}};
  const TensorId x = builder->addInputTensor(info, InputSettings(mode), "x");
  const float data[] = {1, 2};
  const TensorId w = builder->addInitializedInputTensor({data, info}, "w");
  const TensorId l = aiOnnx.reducesum({aiOnnx.mul({w, x}, "y")}, std::vector<int64_t>{0}, 0, "l");
  builder->addOutputTensor(l);
  return {builder->getModelProto(), l};
}

SessionOptions replicated(int64_t count) {
  SessionOptions options;
  options.enableReplicatedGraphs = true;
  options.replicatedGraphCount = count;
  return options;
}

std::unique_ptr<TrainingSession> training(const Model& m, const SessionOptions& options,
                                          int batches, std::map<TensorId, AnchorReturnType> anchors,
                                          std::shared_ptr<DeviceInfo> device = cpu()) {
  const SGD sgd(
      std::map<std::string, std::pair<float, bool>>{{"defaultLearningRate", {0.5f, true}}});
  auto session = TrainingSession::createFromOnnxModel(m.proto, DataFlow(batches, anchors), m.loss,
                                                      sgd, device, {}, options);
  session->prepareDevice();
  session->weightsFromHost();
  return session;
}

std::vector<float> weights(TrainingSession& session) {
  std::vector<float> values(2, -99.f);
  MutableVoidData data;
  data.data = values.data();
  data.info = session.getInfo("w");
  WeightsIO io;
  io.insert("w", data);
  session.weightsToHost();
  session.readWeights(io);
  return values;
}

}  // namespace

TEST_CASE("popart replicas: gradients are joined, inputs and anchors have their dimension") {
  for (const bool isMean : {false, true}) {
    for (const auto strategy : {MeanReductionStrategy::Post, MeanReductionStrategy::Running}) {
      SessionOptions options = replicated(2);
      options.accumulationAndReplicationReductionType =
          isMean ? ReductionType::Mean : ReductionType::Sum;
      options.meanAccumulationAndReplicationReductionStrategy = strategy;
      const Model m = model();
      auto session = training(m, options, 2,
                              {{"w", AnchorReturnType("All")}, {m.loss, AnchorReturnType("Sum")}});
      std::vector<float> x = {1, 2, 3, 4, 1, 0, 1, 0}, w(8), loss(2);
      NDArrayWrapper<float> in(x.data(), {2, 2, 2}), last(w.data(), {2, 2, 2}),
          sum(loss.data(), {2});
      std::map<TensorId, IArray&> inputs = {{"x", in}}, outputs = {{"w", last}, {m.loss, sum}};
      StepIO io(inputs, outputs);
      session->run(io);
      // (1, 2) - 0.5 (4, 6), then - 0.5 (2, 0), or with means half of the gradients.
      const std::vector<float> expected =
          isMean ? std::vector<float>{-0.5f, 0.5f} : std::vector<float>{-2, -1};
      CHECK(weights(*session) == expected);
      for (std::size_t replica = 0; replica < 2; ++replica) {
        CHECK(w[4 + 2 * replica] == expected[0]);
        CHECK(w[5 + 2 * replica] == expected[1]);
      }
      // Replica k: its own data with the weights that all have.
      const float first = isMean ? 0.f : -1.f;
      CHECK(loss == std::vector<float>{1 * 1 + 2 * 2 + first, 1 * 3 + 2 * 4 + first});
    }
  }
}

TEST_CASE("popart replicas: callbacks are asked for one replica after the other") {
  const Model m = model();
  auto session = training(m, replicated(3), 1, {{m.loss, AnchorReturnType("All")}});
  std::vector<float> given = {1, 2, 3, 4, 5, 6}, losses;
  std::size_t next = 0;
  float loss = 0;
  int completed = 0;
  StepIOCallback io(
      [&](TensorId, bool) {
        ConstVoidData data;
        data.data = given.data() + next;
        data.info = TensorInfo("FLOAT", Shape{2});
        next += 2;
        return data;
      },
      [&](TensorId) { ++completed; },
      [&](TensorId) {
        MutableVoidData data;
        data.data = &loss;
        data.info = TensorInfo("FLOAT", Shape{});
        return data;
      },
      [&](TensorId) { losses.push_back(loss); });
  session->run(io);
  CHECK(completed == 3);
  CHECK(losses == std::vector<float>{1 + 4, 3 + 8, 5 + 12});
}

TEST_CASE("popart replicas: streams have a callback for each replica") {
  const Model m = model();
  auto session = training(m, replicated(2), 1, {{m.loss, AnchorReturnType("All")}});
  std::vector<float> losses(2);
  for (unsigned k = 0; k < 2; ++k) {
    session->connectStreamToCallback(
        "h2d_x",
        [k](void* data) {
          static_cast<float*>(data)[0] = static_cast<float>(k);
          static_cast<float*>(data)[1] = 10;
        },
        k);
    session->connectStreamToCallback(
        "anchor_d2h_" + m.loss,
        [&losses, k](void* data) { losses[k] = *static_cast<const float*>(data); }, k);
  }
  const auto none = [](TensorId) {};
  StepIOCallback io([](TensorId, bool) { return ConstVoidData(); }, none,
                    [](TensorId) { return MutableVoidData(); }, none);
  session->run(io);
  CHECK(losses == std::vector<float>{20, 21});
  CHECK(is(error_of([&] { session->connectStreamToCallback("h2d_x", [](void*) {}, 2); }),
           "runtime_error", "There is no replica 2: the session runs on 2"));
}

TEST_CASE("popart replicas: a broadcast input is given once") {
  const Model m = model(ReplicatedStreamMode::Broadcast);
  auto session = training(m, replicated(2), 1, {{m.loss, AnchorReturnType("All")}});
  std::vector<float> x = {1, 2}, loss(2);
  NDArrayWrapper<float> in(x.data(), {2}), out(loss.data(), {2});
  std::map<TensorId, IArray&> inputs = {{"x", in}}, outputs = {{m.loss, out}};
  StepIO io(inputs, outputs);
  session->run(io);
  CHECK(loss == std::vector<float>{5, 5});
  CHECK(weights(*session) == std::vector<float>{1 - 0.5f * 2, 2 - 0.5f * 4});
}

TEST_CASE("popart replicas: sizes and devices that do not fit") {
  const Model m = model();
  auto session = training(m, replicated(2), 1, {{m.loss, AnchorReturnType("All")}});
  std::vector<float> x = {1, 2}, loss(2);
  NDArrayWrapper<float> in(x.data(), {2}), out(loss.data(), {2});
  std::map<TensorId, IArray&> inputs = {{"x", in}}, outputs = {{m.loss, out}};
  StepIO io(inputs, outputs);
  const std::string error = error_of([&] { session->run(io); });
  CHECK(is(error, "runtime_error", "Expected 4, but received 2"));
  CHECK(contains(error, "Replication factor   2"));
  std::map<std::string, std::string> options{{"numIPUs", "2"}};
  auto device = DeviceManager::createDeviceManager().createIpuModelDevice(options);
  CHECK(is(error_of([&] { training(m, replicated(4), 1, {}, device); }), "error",
           "The number of IPUs of the device (2) is not a multiple of the number of replicas (4)"));
  auto builder = Builder::create();
  builder->embedReplicationFactor(2);
  const TensorInfo host{"FLOAT", Shape{2}};
  const float data[] = {1, 2};
  const TensorId w = builder->addInitializedInputTensor(
      {data, host}, VariableSettings(VariableRetrievalMode::AllReplicas), "w");
  const TensorId y = builder->aiOnnxOpset9().relu({w});
  builder->addOutputTensor(y);
  const std::string refused = error_of([&] {
    InferenceSession::createFromOnnxModel(
        builder->getModelProto(), DataFlow(1, std::vector<TensorId>{y}), cpu(), {}, replicated(2));
  });
  CHECK(is(refused, "error", "Variable w has VariableSettings"));
}

TEST_CASE("popart recomputation: every mode gives the same weights and losses") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{2, 2}};
  const TensorId x = builder->addInputTensor(info, "x");
  const float data[] = {0.1f, -0.2f, 0.3f, 0.4f};
  const TensorId w = builder->addInitializedInputTensor({data, info}, "w");
  const TensorId h = aiOnnx.tanh({aiOnnx.matmul({x, w})});
  const TensorId e = aiOnnx.exp({aiOnnx.matmul({h, w})});
  const TensorId l = aiOnnx.reducemean({e}, std::vector<int64_t>{0, 1}, 0, "l");
  builder->addOutputTensor(l);
  const auto run = [&](const std::string& proto, const SessionOptions& options) {
    const SGD sgd(
        std::map<std::string, std::pair<float, bool>>{{"defaultLearningRate", {0.5f, true}}});
    auto session = TrainingSession::createFromOnnxModel(
        proto, DataFlow(3, {{l, AnchorReturnType("All")}}), l, sgd, cpu(), {}, options);
    session->prepareDevice();
    session->weightsFromHost();
    std::vector<float> xs(12, 0.5f), losses(3);
    NDArrayWrapper<float> in(xs.data(), {3, 2, 2}), out(losses.data(), {3});
    std::map<TensorId, IArray&> inputs = {{"x", in}}, outputs = {{l, out}};
    StepIO io(inputs, outputs);
    session->run(io);
    return losses;
  };
  const std::string proto = builder->getModelProto();
  const std::vector<float> plain = run(proto, {});
  for (const auto mode : {RecomputationType::Standard, RecomputationType::NormOnly,
                          RecomputationType::RecomputeAll}) {
    SessionOptions options;
    options.autoRecomputation = mode;
    CHECK(run(proto, options) == plain);
  }
  // A node that says it itself, and both at once.
  builder->recomputeOutputInBackwardPass(h);
  const std::string marked = builder->getModelProto();
  CHECK(run(marked, {}) == plain);
  SessionOptions options;
  options.autoRecomputation = RecomputationType::Standard;
  CHECK(is(error_of([&] { run(marked, options); }), "error",
           "A mixture of auto and manual recompute annotation is not supported"));
}

TEST_CASE("popart locations: weights and state in parts, or beside the machine, train alike") {
  const Model m = model();
  const std::vector<float> x{1, 2, 3, 4};
  const auto trained = [&](const SessionOptions& options) {
    const Adam adam(
        std::map<std::string, std::pair<float, bool>>{{"defaultLearningRate", {0.1f, true}}},
        AdamMode::Adam, WeightDecayMode::Decay, DataType::FLOAT, DataType::FLOAT, DataType::FLOAT);
    auto session = TrainingSession::createFromOnnxModel(
        m.proto, DataFlow(1, {{m.loss, AnchorReturnType("All")}}), m.loss, adam, cpu(), {},
        options);
    session->prepareDevice();
    session->weightsFromHost();
    std::vector<float> data = x, losses(2);
    NDArrayWrapper<float> in(data.data(), {2, 2}), out(losses.data(), {2});
    StepIO io({{"x", in}}, {{m.loss, out}});
    for (int step = 0; step < 3; ++step) session->run(io);
    std::vector<float> values = weights(*session);
    values.insert(values.end(), losses.begin(), losses.end());
    return values;
  };
  const SessionOptions plain = replicated(2);
  const std::vector<float> expected = trained(plain);
  const TensorLocation shared(TensorStorage::OnChip, ReplicatedTensorSharding::On),
      remote(TensorStorage::OffChip), both(TensorStorage::OffChip, ReplicatedTensorSharding::On);
  for (const TensorLocation& location : {shared, remote, both}) {
    SessionOptions options = plain;
    options.optimizerStateTensorLocationSettings = {location, 1, 1};
    CHECK(trained(options) == expected);
    options.weightTensorLocationSettings = {location, 1, 1};
    CHECK(trained(options) == expected);
    options = plain;
    options.tensorLocationSettingsOverride = {{"w", location}};
    CHECK(trained(options) == expected);
  }
  SessionOptions options = plain;
  options.weightTensorLocationSettings = {shared, 1, 1};
  const auto session = [&](const TensorId& anchor) {
    training(m, options, 1, {{anchor, AnchorReturnType("Final")}});
  };
  CHECK(contains(error_of([&] { session("w"); }), "replicas hold parts of it"));
  options.tensorLocationSettingsOverride = {{m.loss, shared}};
  CHECK(contains(error_of([&] { session(m.loss); }), "is no variable"));
  options = plain;
  options.weightTensorLocationSettings.location =
      TensorLocation(TensorStorage::OnChip, ReplicatedTensorSharding::On,
                     CommGroup(CommGroupType::Consecutive, 1));
  CHECK(contains(error_of([&] { session(m.loss); }), "sharding domain"));
}

TEST_CASE(
    "popart batch serialization: a batch in parts trains alike, and the model stays as it is") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(TensorInfo{"FLOAT", Shape{4, 2}}, "x");
  const float data[] = {1, 2, 3, 4};
  const TensorId w =
      builder->addInitializedInputTensor({data, TensorInfo{"FLOAT", Shape{2, 2}}}, "w");
  const TensorId y = aiOnnx.relu({aiOnnx.matmul({x, w}, "product")}, "y");
  const TensorId l = aiOnnx.reducesum({y}, std::vector<int64_t>{0, 1}, 0, "l");
  builder->addOutputTensor(l);
  const Model m{builder->getModelProto(), l};
  using Method = BatchSerializationMethod;
  using Context = BatchSerializationTransformContext;
  const auto trained = [&](int factor, Method method = Method::UnrollDynamic,
                           Context context = Context::Bwd) {
    SessionOptions options;
    options.batchSerializationSettings.factor = factor;
    options.batchSerializationSettings.method = method;
    options.batchSerializationSettings.transformContext = context;
    auto session =
        training(m, options, 1, {{l, AnchorReturnType("All")}, {y, AnchorReturnType("All")}});
    std::vector<float> in{1, 2, 3, 4, 5, 6, 7, 8}, loss(1), rows(8);
    NDArrayWrapper<float> given(in.data(), {4, 2}), sum(loss.data(), {1}), all(rows.data(), {4, 2});
    StepIO io({{x, given}}, {{l, sum}, {y, all}});
    session->run(io);
    const test::Folder folder;
    session->modelToHost(folder / "model.onnx");
    loss.insert(loss.end(), rows.begin(), rows.end());
    std::ifstream file(folder / "model.onnx");
    return std::pair(loss, std::string(std::istreambuf_iterator<char>(file), {}));
  };
  // All numbers are small and whole: sums are exact in any order.
  CHECK(trained(2) == trained(0));
  CHECK(trained(2, Method::UnrollStatic, Context::Fwd) == trained(0));
  CHECK(trained(4, Method::Loop) == trained(0));
  CHECK(contains(error_of([&] { trained(2, Method::Loop, Context::Fwd); }),
                 "Loop batch serialization is only supported"));
  CHECK(contains(error_of([&] { trained(5); }),
                 "Batch axis: 4 is smaller than the batch serialization factor: 5 for tensor x"));
  CHECK(contains(error_of([&] { trained(3); }), "does not divide the batch"));

  const auto inferred = [&](int factor, Method method) {
    SessionOptions options;
    options.batchSerializationSettings.factor = factor;
    options.batchSerializationSettings.method = method;
    auto session = InferenceSession::createFromOnnxModel(
        m.proto, DataFlow(1, {{y, AnchorReturnType("All")}}),
        DeviceManager::createDeviceManager().createCpuDevice(), {}, options);
    session->prepareDevice();
    session->weightsFromHost();
    std::vector<float> in{1, 2, 3, 4, 5, 6, 7, 8}, rows(8);
    NDArrayWrapper<float> given(in.data(), {4, 2}), all(rows.data(), {4, 2});
    StepIO io({{x, given}}, {{y, all}});
    session->run(io);
    return rows;
  };
  const std::vector<float> whole = inferred(0, Method::UnrollDynamic);
  for (const Method method : {Method::UnrollDynamic, Method::UnrollStatic, Method::Loop}) {
    CHECK(inferred(2, method) == whole);
  }
}

// PopART's texts: willow/src/ir.cpp, verifyDistributedReplicatedGraphSettings.
TEST_CASE("popart replicas: counts of several processes that cannot be") {
  const Model m = model();
  const auto refusal = [&](int64_t local, int64_t global, int64_t offset) {
    SessionOptions options;
    options.enableDistributedReplicatedGraphs = true;
    options.enableReplicatedGraphs = local > 0;
    options.replicatedGraphCount = std::max<int64_t>(local, 1);
    options.globalReplicationFactor = global;
    options.globalReplicaOffset = offset;
    return error_of([&] { training(m, options, 1, {{m.loss, AnchorReturnType("All")}}); });
  };
  CHECK(is(refusal(0, 0, 0), "error", "Invalid globalReplicationFactor value: 0"));
  CHECK(is(refusal(0, 2, -1), "error", "Invalid globalReplicaOffset value: -1"));
  CHECK(is(refusal(0, 2, 3), "error",
           "Global replica offset: 3, is larger than global replication factor: 2"));
  CHECK(
      is(refusal(1, 2, 0), "error", "Local replicated graphs enabled but replication factor is 1"));
  CHECK(is(refusal(4, 2, 0), "error",
           "Invalid local replication factor: 4, larger than global replication factor: 2"));
  CHECK(is(refusal(2, 4, 0), "error", "have 2 replicas: start as many with mpirun"));
  CHECK(is(refusal(2, 2, 1), "error", "the first replica of this process is 0"));
  CHECK(refusal(2, 2, 0) == "no error");
}
