// Updates of weights that are merged: the groups follow from PopART's documentation of mergeVarUpdate.
#include <doctest/doctest.h>

#include <algorithm>
#include <halftone/ipu/profile.hpp>
#include <map>
#include <memory>
#include <popart/adam.hpp>
#include <popart/session.hpp>
#include <string>
#include <vector>

#include "../ipu/cycles_of.hpp"
#include "ir_models.hpp"
#include "step.hpp"

using namespace popart_test;

namespace {

constexpr std::int64_t squareBytes = 16;

const SGD sgd({{"defaultLearningRate", {0.5f, true}}});
const SGD momentum({{"defaultLearningRate", {0.5f, true}}, {"defaultMomentum", {0.9f, true}}});
const Adam adam({{"defaultLearningRate", {0.5f, true}}}, AdamMode::Adam, DataType::FLOAT,
                DataType::FLOAT, DataType::FLOAT);

/// Four products by 2 x 2 weights, w0 to w3.
Prepared products() {
  auto builder = Builder::create();
  TensorId y = builder->addInputTensor(square_info, "x");
  for (int i = 0; i < 4; ++i) {
    y = builder->aiOnnxOpset9().matmul({y, weight(*builder, "w" + std::to_string(i))});
  }
  const TensorId loss = builder->aiGraphcoreOpset1().l1loss({y}, 0.1f);
  return {builder->getModelProto(), DataFlow(1), loss};
}

/// How many weights each update of that type changes.
std::vector<std::size_t> groups(const Ir& ir, const std::string& type) {
  std::vector<std::size_t> sizes;
  for (const Op* op : ir.getMainGraph().getOpSchedule()) {
    if (op->opid.type != type) continue;
    const Op* const concat = op->inTensor(0)->getProducerUnsafe();
    sizes.push_back(concat == nullptr ? 1 : concat->inTensorCount());
  }
  return sizes;
}

std::vector<std::size_t> groups(const SessionOptions& options, const Optimizer& optimizer = sgd,
                                const std::string& type = "SGD0VarUpdate") {
  Prepared prepared = products();
  prepared.options = options;
  Ir ir;
  prepared.into(ir, &optimizer);
  check_laws(ir);
  return groups(ir, type);
}

using Sizes = std::vector<std::size_t>;

}  // namespace

TEST_CASE("popart merged updates: flat weights side by side have one update") {
  Prepared prepared = products();
  prepared.options.mergeVarUpdate = MergeVarUpdateType::All;
  Ir ir;
  prepared.into(ir, &sgd);
  check_laws(ir);
  REQUIRE(count(ir, "SGD0VarUpdate") == 1);
  CHECK(count(ir, "FlattenInplace") == 8);
  CHECK(count(ir, "ConcatInplace") == 2);
  for (const Op* op : ir.getMainGraph().getOpSchedule()) {
    if (op->opid.type != "SGD0VarUpdate") continue;
    CHECK(op->inShape(0) == Shape{1, 16});
    CHECK(op->inShape(1) == Shape{1, 16});
    CHECK(op->modifiesIndex(0));
    const Op* const concat = op->inTensor(0)->getProducer();
    for (int i = 0; i < 4; ++i) {
      CHECK(concat->aliases(i, 0));
      CHECK(concat->inTensor(i)->getProducer()->inTensor(0)->tensorType() == TensorType::Variable);
    }
  }
}

TEST_CASE("popart merged updates: groups are as large as memory allows") {
  SessionOptions options;
  CHECK(groups(options) == Sizes{1, 1, 1, 1});
  options.mergeVarUpdate = MergeVarUpdateType::All;
  options.mergeVarUpdateMemThreshold = 1;
  CHECK(groups(options) == Sizes{4});
  options.mergeVarUpdate = MergeVarUpdateType::AutoLoose;
  options.mergeVarUpdateMemThreshold = 2 * squareBytes;
  CHECK(groups(options) == Sizes{2, 2});
  options.mergeVarUpdateMemThreshold = 3 * squareBytes + 1;
  CHECK(groups(options) == Sizes{3, 1});
  // Without slack nothing waits while gradients make memory largest.
  options.looseThresholdAtPeak = -(1 << 20);
  CHECK(groups(options) == Sizes{1, 1, 1, 1});
  options.mergeVarUpdate = MergeVarUpdateType::AutoTight;
  CHECK(groups(options) == Sizes{4});
  options.mergeVarUpdateMemThreshold = squareBytes + 1;
  CHECK(groups(options) == Sizes{2, 2});
}

TEST_CASE("popart merged updates: weights of other settings are updated by themselves") {
  SessionOptions options;
  options.mergeVarUpdate = MergeVarUpdateType::All;
  SGD specific = sgd;
  specific.insertSpecific("w1", {{"learningRate", {0.25f, true}}});
  const Sizes sizes = groups(options, specific);
  CHECK(sizes.size() == 2);
  CHECK(std::count(sizes.begin(), sizes.end(), 3) == 1);
  CHECK(groups(options, momentum, "SGD2VarUpdate").size() +
            groups(options, momentum, "SGD1VarUpdate").size() ==
        1);
  CHECK(groups(options, adam, "AdamVarUpdate") == Sizes{4});
}

TEST_CASE("popart merged updates: IPU models take fewer cycles for the same weights") {
  std::map<std::string, std::string> machine{{"numIPUs", "1"}, {"tilesPerIPU", "16"}};
  const auto device = DeviceManager::createDeviceManager().createIpuModelDevice(machine);
  for (const Optimizer* optimizer : std::vector<const Optimizer*>{&sgd, &momentum, &adam}) {
    std::vector<std::vector<float>> weights;
    std::vector<std::int64_t> cycles;
    for (const MergeVarUpdateType type : {MergeVarUpdateType::None, MergeVarUpdateType::All}) {
      const Prepared prepared = products();
      SessionOptions options;
      options.engineOptions["autoReport.all"] = "true";
      options.mergeVarUpdate = type;
      auto session = TrainingSession::createFromOnnxModel(
          prepared.proto, prepared.flow, prepared.loss, *optimizer, device, {}, options);
      session->prepareDevice();
      session->weightsFromHost();
      step(*session, {{"x", {1, 2, 3, 4}}}, {});
      for (int i = 0; i < 4; ++i) {
        weights.push_back(weight(*session, "w" + std::to_string(i)));
      }
      const halftone::ipu::Report& report = session->getReport();
      const std::int64_t spent = ipu_test::cycles_of(report, "Update");
      std::int64_t syncs = 0;
      for (const halftone::ipu::Step& step : report.steps) {
        const halftone::ipu::Operation* const operation = report.operation_of(step);
        syncs += operation != nullptr && operation->type == "Update" &&
                 step.kind == halftone::ipu::StepKind::sync;
      }
      cycles.push_back(spent);
      CHECK(syncs == (type == MergeVarUpdateType::All ? 1 : 4));
    }
    for (std::size_t i = 0; i < 4; ++i) CHECK(weights[i] == weights[i + 4]);
    CHECK(cycles[1] < cycles[0]);
  }
}
