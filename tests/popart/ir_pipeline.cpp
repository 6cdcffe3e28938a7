#include <doctest/doctest.h>

#include <map>
#include <popart/op/exchange/hostcopy.hpp>
#include <popart/op/ipucopy.hpp>
#include <popart/op/restore.hpp>
#include <popart/op/stash.hpp>
#include <popart/tensornames.hpp>

#include "ir_models.hpp"

using namespace popart_test;

namespace {

/// Three products, each on a virtual graph and in a stage of its own.
Prepared layers(bool isPipelined) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const auto place = [&](const TensorId& id, int number) {
    builder->virtualGraph(id, number);
    if (isPipelined) builder->pipelineStage(id, number);
    return id;
  };
  TensorId y = builder->addInputTensor(square_info, "x");
  for (int layer = 0; layer < 3; ++layer) {
    const std::string number = std::to_string(layer);
    y = place(aiOnnx.matmul({y, weight(*builder, "w" + number)}, "product" + number), layer);
    y = place(aiOnnx.sigmoid({y}, "y" + number), layer);
  }
  const TensorId loss = place(builder->aiGraphcoreOpset1().l1loss({y}, 0.1f), 2);
  builder->addOutputTensor(loss);
  Prepared prepared{builder->getModelProto(), DataFlow(1, {{loss, AnchorReturnType("Sum")}}), loss};
  prepared.options.virtualGraphMode = VirtualGraphMode::Manual;
  prepared.options.enablePipelining = isPipelined;
  if (isPipelined) {
    prepared.options.enableGradientAccumulation = true;
    prepared.options.accumulationFactor = 8;
  }
  std::map<std::string, std::string> device{{"numIPUs", "4"}, {"tilesPerIPU", "4"}};
  prepared.device = DeviceManager::createDeviceManager().createIpuModelDevice(device);
  return prepared;
}

const SGD optimizer({{"defaultLearningRate", {0.1f, true}}});

/// Whatever an operator reads is on its virtual graph, and in a pipeline of its stage.
void check_places(const Ir& ir) {
  for (const Op* op : ir.getMainGraph().getOpSchedule()) {
    if (!op->hasVirtualGraphId()) continue;
    for (const auto& [index, tensor] : op->input->tensorMap()) {
      if (tensor->tensorType() == TensorType::Const) continue;
      const VGraphId there = tensor->getVirtualGraphIdUnsafe();
      if (there >= 0) CHECK(there == op->getVirtualGraphId());
    }
  }
}

}  // namespace

TEST_CASE("popart ir: tensors are copied once to each virtual graph that reads them") {
  const Prepared prepared = layers(false);
  Ir ir;
  prepared.into(ir, &optimizer);
  check_places(ir);
  std::map<std::pair<TensorId, VGraphId>, int> copies;
  for (const auto& [id, op] : ir.getMainGraphOps()) {
    if (!op->isIpuCopyOp()) continue;
    const auto& copy = dynamic_cast<const IpuCopyOp&>(*op);
    ++copies[{copy.inId(0), copy.getDestIpu()}];
    CHECK(copy.getSourceIpu() != copy.getDestIpu());
    // PopART's transforms/interipucopy.cpp names copies.
    CHECK(copy.outId(0) == copy.inId(0) + "_c" + std::to_string(copy.getDestIpu()));
  }
  for (const auto& [copy, number] : copies) CHECK(number == 1);
  CHECK(copies.count({"y0", 1}) == 1);
  CHECK(copies.count({"y1", 2}) == 1);
  // Two values go forward and two gradients back.
  CHECK(copies.size() == 4);
  CHECK(count(ir, "Stash") == 0);
}

TEST_CASE("popart ir: a pipeline stashes what later stages of a virtual graph read") {
  const Prepared prepared = layers(true);
  Ir ir;
  prepared.into(ir, &optimizer);
  check_places(ir);
  // Stages: 0, 1, 2 (which computes the loss and its gradients), and back 3, 4.
  CHECK(ir.getNumPipelineStages() == 5);
  CHECK(ir.getFinalLossPipelineStage() == 2);
  std::map<PipelineStage, int> stashes;
  for (const auto& [id, op] : ir.getMainGraphOps()) {
    if (const auto* stash = dynamic_cast<const StashOp*>(op.get())) {
      ++stashes[stash->getPipelineStage()];
      // PopART's table: twice the number of stages to the last one, and one.
      CHECK(stash->getStashSize() == 2 * (2 - stash->getPipelineStage()) + 1);
      CHECK(stash->getStashedTensorId() == reservedStashedPrefix() + stash->inId(0));
      CHECK(stash->outShape(0)[0] == stash->getStashSize());
    }
    if (const auto* restore = dynamic_cast<const RestoreOp*>(op.get())) {
      CHECK(restore->getPipelineStage() == 4 - restore->inTensor(0)->getVirtualGraphId());
      CHECK(restore->isConvertibleTo<RestoreInplaceOp>());
    }
    if (op->isOptimizerOp() && op->opid.type == "SGD0VarUpdate") {
      CHECK(op->settings.executionContext == ExecutionContext::AccumulateOuterFragment);
      CHECK(op->hasVirtualGraphId());
    }
  }
  CHECK(stashes[0] >= 1);
  CHECK(stashes[1] >= 1);
  CHECK(stashes.count(2) == 0);  // the last stage runs both ways at once
  CHECK(count(ir, "Stash") == count(ir, "RestoreInplace"));
  CHECK(ir.getMainGraph().getAllVirtualGraphIds(false) == std::set<int64_t>{0, 1, 2});
}

TEST_CASE("popart ir: host copies are operators if they are asked for") {
  Prepared prepared = layers(false);
  prepared.options.virtualGraphMode = VirtualGraphMode::Off;
  {
    Ir ir;
    prepared.into(ir);
    CHECK(count(ir, "HostLoad") == 0);
    CHECK(count(ir, "IpuCopy") == 0);
  }
  prepared.options.useHostCopyOps = true;
  Ir ir;
  prepared.into(ir);
  CHECK(count(ir, "HostLoad") == 1);
  CHECK(count(ir, "HostStore") == 1);
  CHECK(ir.getHostLoadTensors().count("x") == 1);
  CHECK(ir.getHostStoreTensors().count(prepared.loss) == 1);
  CHECK(ir.getHostLoadTensors().at("x")[0]->isHostLoadTensor());
}
