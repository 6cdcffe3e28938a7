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
#include <popart/replicagrouping.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <popart/stepio.hpp>
#include <popart/variablesettings.hpp>
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
}

// Member i of group g is replica g / stride * stride * size + g % stride + i * stride: by formula, and
// by hand for 12 replicas, stride 2, size 3.
TEST_CASE("popart replica groups: members, transposes, settings") {
  const ReplicaGrouping twelve(12, 2, 3);
  CHECK(twelve.getNumGroups() == 4);
  CHECK(twelve.getReplicasAt(1) == std::vector<unsigned>{1, 3, 5});
  CHECK(twelve.getReplicasAt(2) == std::vector<unsigned>{6, 8, 10});
  for (unsigned replica = 0; replica < 12; ++replica) {
    CHECK(twelve.getReplicaAt(twelve.getGroupAt(replica), twelve.getIndexInGroupAt(replica)) ==
          replica);
  }
  CHECK(ReplicaGrouping(8, 2, 4).getTranspose() == ReplicaGrouping(8, 1, 2));
  CHECK(ReplicaGrouping(8, 1, 2).getTranspose() == ReplicaGrouping(8, 2, 4));
  CHECK(is(error_of([&] { twelve.getTranspose(); }), "error", "cannot be represented"));
  CHECK(is(error_of([] { ReplicaGrouping(6, 2, 2); }), "error", "must be divisible"));
  CHECK(is(error_of([&] { twelve.getGroupAt(12); }), "error", "outside the valid range"));
  const VariableSettings orthogonal(CommGroup(CommGroupType::Orthogonal, 2));
  CHECK(orthogonal.groups(4) == std::vector<std::vector<std::int64_t>>{{0, 2}, {1, 3}});
  CHECK(orthogonal == VariableSettings(orthogonal.getSharedVariableDomain()));
  CHECK(VariableSettings(2, 2).getReplicaGrouping(4) == orthogonal.getReplicaGrouping(4));
  CHECK(VariableSettings(2, 2).getGroupRepresentative(3) == 5);
  CHECK(orthogonal.shapeOnHost({5}, 4) == Shape{2, 5});
  CHECK(orthogonal.shapeOnReplica({2, 5}, 4, "w") == Shape{5});
  CHECK(is(error_of([&] { orthogonal.shapeOnReplica({3, 5}, 4, "w"); }), "internal_error",
           "outer dimension (3) of Tensor: \"w\""));
  CHECK(is(error_of([] { VariableSettings(CommGroup(CommGroupType::Consecutive, 0)); }),
           "internal_error", "1 errors"));
}

// The formula of SGD for each group: w - 0.5 times the sum of its members' gradients, which are the x
// of the replicas; with momentum 0.5 the second step adds half of the first sum. Two micro-batches that
// are accumulated are one step. With means sums are divided by all replicas and micro-batches.
TEST_CASE("popart replica groups: each group trains weights of its own") {
  for (const bool isMean : {false, true}) {
    for (const float momentum : {0.f, 0.5f, -1.f}) {  // -1: accumulates
      const bool accumulates = momentum < 0;
      for (const auto& settings :
           {VariableSettings(CommGroup(CommGroupType::Consecutive, 2)), VariableSettings(2, 2),
            VariableSettings(CommGroup(CommGroupType::None, 0)),
            VariableSettings(CommGroup(CommGroupType::Orthogonal, 2),
                             VariableRetrievalMode::AllReplicas)}) {
        const unsigned groups = settings.getGroupCount(4);
        auto builder = Builder::create();
        builder->embedReplicationFactor(4);
        auto aiOnnx = builder->aiOnnxOpset9();
        const TensorInfo one{"FLOAT", Shape{2}}, host{"FLOAT", settings.shapeOnHost({2}, 4)};
        const TensorId x = builder->addInputTensor(one, "x");
        std::vector<float> start(2 * groups);
        for (std::size_t i = 0; i < start.size(); ++i) start[i] = static_cast<float>(10 * i);
        const TensorId w = builder->addInitializedInputTensor({start.data(), host}, settings, "w");
        const TensorId l =
            aiOnnx.reducesum({aiOnnx.mul({w, x}, "y")}, std::vector<int64_t>{0}, 0, "l");
        builder->addOutputTensor(l);
        SessionOptions options = replicated(4);
        options.accumulationAndReplicationReductionType =
            isMean ? ReductionType::Mean : ReductionType::Sum;
        options.enableGradientAccumulation = accumulates;
        options.accumulationFactor = accumulates ? 2 : 1;
        const SGD sgd({{"defaultLearningRate", {0.5f, true}},
                       {"defaultMomentum", {accumulates ? 0.f : momentum, true}}});
        auto session = TrainingSession::createFromOnnxModel(
            builder->getModelProto(), DataFlow(accumulates ? 1 : 2, {{l, AnchorReturnType("All")}}),
            l, sgd, cpu(), {}, options);
        session->prepareDevice();
        session->weightsFromHost();
        std::vector<float> in = {1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 0, 1, 1, 1, 2, 0}, loss(8);
        NDArrayWrapper<float> given(in.data(), {2, 4, 2}), losses(loss.data(), {2, 4});
        std::map<TensorId, IArray&> inputs = {{"x", given}}, outputs = {{l, losses}};
        StepIO io(inputs, outputs);
        session->run(io);
        std::vector<float> expected = start;
        const ReplicaGrouping grouping = settings.getReplicaGrouping(4);
        for (unsigned g = 0; g < groups; ++g) {
          for (unsigned i = 0; i < 2; ++i) {
            float sums[2] = {0, 0};
            for (const unsigned r : grouping.getReplicasAt(g)) {
              for (unsigned step = 0; step < 2; ++step) {
                sums[step] += in[8 * step + 2 * r + i] / (isMean ? 4.f : 1.f);
              }
            }
            expected[2 * g + i] -= accumulates
                                       ? 0.5f * (sums[0] + sums[1]) / (isMean ? 2.f : 1.f)
                                       : 0.5f * sums[0] + 0.5f * (sums[1] + momentum * sums[0]);
          }
        }
        const bool isAll = settings.getRetrievalMode() == VariableRetrievalMode::AllReplicas;
        std::vector<float> got(isAll ? 8 : 2 * groups, -99.f);
        MutableVoidData data;
        data.data = got.data();
        data.info = TensorInfo{"FLOAT", Shape{static_cast<int64_t>(got.size())}};
        WeightsIO read;
        read.insert(w, data);
        session->weightsToHost();
        session->readWeights(read);
        for (unsigned r = 0; r < (isAll ? 4 : groups); ++r) {
          const unsigned group = isAll ? grouping.getGroupAt(r) : r;
          CHECK(got[2 * r] == expected[2 * group]);
          CHECK(got[2 * r + 1] == expected[2 * group + 1]);
        }
        if (isAll) continue;
        // A saved model has all groups, and goes on.
        const test::Folder folder;
        session->modelToHost(folder / "w.onnx");
        session->resetHostWeights(folder / "w.onnx");
        options.enableGradientAccumulation = false;
        options.accumulationFactor = 1;
        auto again = InferenceSession::createFromOnnxModel(
            folder / "w.onnx", DataFlow(1, {{l, AnchorReturnType("All")}}), cpu(), {}, options);
        again->prepareDevice();
        std::vector<float> ones(8, 1.f), sums(4);
        NDArrayWrapper<float> onesIn(ones.data(), {4, 2}), out(sums.data(), {4});
        std::map<TensorId, IArray&> i2 = {{"x", onesIn}}, o2 = {{l, out}};
        StepIO io2(i2, o2);
        again->run(io2);
        for (unsigned r = 0; r < 4; ++r) {
          const unsigned g = grouping.getGroupAt(r);
          CHECK(sums[r] == expected[2 * g] + expected[2 * g + 1]);
        }
      }
    }
  }
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
