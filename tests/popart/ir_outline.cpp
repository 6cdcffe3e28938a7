#include <doctest/doctest.h>

#include <popart/op/call.hpp>
#include <popart/op/sigmoid.hpp>
#include <popart/tensornames.hpp>
#include <set>

#include "ir_models.hpp"

using namespace popart_test;

namespace {

/// y = sigmoid(x w0), sigmoid(y w1), ...; the names of the layers' outputs are y0, y1, ...
Prepared layers(int count, bool isTrained) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  TensorId y = builder->addInputTensor(square_info, "x");
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    y = aiOnnx.sigmoid({aiOnnx.matmul({y, weight(*builder, "w" + number)})}, "y" + number);
  }
  TensorId loss;
  if (isTrained) loss = builder->aiGraphcoreOpset1().identityloss({y});
  const TensorId out = isTrained ? loss : y;
  builder->addOutputTensor(out);
  return {builder->getModelProto(), DataFlow(1, {{out, AnchorReturnType("All")}}), loss};
}

/// How many operators run in a step: those of a graph once for each call.
std::size_t runs(const Graph& graph) {
  std::size_t sum = 0;
  for (const Op* op : graph.getOpSchedule()) {
    const auto* call = dynamic_cast<const CallOp*>(op);
    sum += call == nullptr ? 1 : runs(call->getCalledGraph());
  }
  return sum;
}

}  // namespace

TEST_CASE("popart ir: equal parts are calls of one graph") {
  Prepared prepared = layers(3, false);
  Ir ir;
  prepared.into(ir);
  check_laws(ir);
  const std::vector<Op*> calls = ir.opsOfType(Onnx::AiGraphcore::OpSet1::Call);
  REQUIRE(calls.size() == 3);
  CHECK(ir.getMainGraphOps().size() == 3);
  CHECK(ir.getGraphs().size() == 2);
  const Graph& body = dynamic_cast<const CallOp&>(*calls[0]).getCalledGraph();
  CHECK(body.id.str() == "_subgraph(0)");
  CHECK(&ir.getGraph(GraphId("_subgraph(0)")) == &body);
  CHECK(body.getCallSiteOps() == calls);
  CHECK(body.getInputIds().size() == 2);
  REQUIRE(body.getOutputIds().size() == 1);
  // Each operator is there once, and is listed with those of the main graph.
  CHECK(count(ir, "MatMul") == 1);
  CHECK(ir.getAllOps().size() == 3 + body.getOps().size());
  const Op* const product = body.getOpSchedule()[0];
  CHECK(product->settings.executionContext == ExecutionContext::Subgraph);
  CHECK(product->inShape(0) == Shape{2, 2});
  // A layer's output keeps its name where the calls are.
  CHECK(ir.getMainGraph().getTensor("y1")->getProducer() == calls[1]);
  CHECK(calls[1]->inId(0) == "y0");
  CHECK(calls[1]->inId(1) == "w1");
  for (const Op* call : calls) CHECK(call->getCalledGraphs() == std::vector<const Graph*>{&body});
}

// The laws: nothing is lost, and a part has to be worth more than the threshold.
TEST_CASE("popart ir: outlining moves operators and follows its options") {
  for (const bool isTrained : {false, true}) {
    CAPTURE(isTrained);
    Prepared prepared = layers(4, isTrained);
    const ConstSGD optimizer(0.1f);
    const Optimizer* const trained = isTrained ? &optimizer : nullptr;
    Ir outlined;
    prepared.into(outlined, trained);
    check_laws(outlined);
    const auto calls = [](const Ir& ir) {
      return ir.opsOfType(Onnx::AiGraphcore::OpSet1::Call).size();
    };
    CHECK(calls(outlined) >= 4);
    for (const bool isOff : {true, false}) {
      prepared.options.enableOutlining = !isOff;
      prepared.options.outlineThreshold = isOff ? 1 : 1e6f;
      Ir flat;
      prepared.into(flat, trained);
      CHECK(calls(flat) == 0);
      CHECK(flat.getGraphs().size() == 1);
      CHECK(runs(outlined.getMainGraph()) == flat.getMainGraphOps().size());
    }
  }
}

TEST_CASE("popart ir: cheap operators are outlined only if the threshold lets them") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  TensorId y = builder->addInputTensor(square_info, "x");
  for (int i = 0; i < 14; ++i) y = aiOnnx.sin({aiOnnx.cos({y})});
  builder->addOutputTensor(y);
  Prepared prepared{builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}})};
  {
    // Two halves of 14 operators are worth 0.1 each: 1.4 is above the default of 1.
    Ir ir;
    prepared.into(ir);
    CHECK(runs(ir.getMainGraph()) == 28);
    CHECK(ir.opsOfType(Onnx::AiGraphcore::OpSet1::Call).size() == 2);
  }
  {
    prepared.options.outlineThreshold = 1.5f;
    Ir ir;
    prepared.into(ir);
    CHECK(ir.opsOfType(Onnx::AiGraphcore::OpSet1::Call).empty());
  }
  {
    prepared.options.outlineThreshold = -1;
    Ir ir;
    prepared.into(ir);
    CHECK(ir.opsOfType(Onnx::AiGraphcore::OpSet1::Call).size() > 2);
    CHECK(runs(ir.getMainGraph()) == 28);
  }
}

TEST_CASE("popart ir: operators that are several of the library's are one in a called graph, too") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  TensorId y = builder->addInputTensor(square_info, "x");
  const TensorId c = weight(*builder, "c");
  for (const char* name : {"a", "b"}) {
    const TensorId product = aiOnnx.matmul({y, weight(*builder, name)});
    y = aiOnnx.sum({product, y, c});
    y = aiOnnx.relu({y});
  }
  builder->addOutputTensor(y);
  const Prepared prepared{builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}})};
  Ir ir;
  prepared.into(ir);
  check_laws(ir);
  Prepared flat = prepared;
  flat.options.enableOutlining = false;
  Ir all;
  flat.into(all);
  CHECK(all.opsOfType(Onnx::AiOnnx::OpSet9::Sum).size() == 2);
  CHECK(runs(ir.getMainGraph()) == all.getMainGraphOps().size());
  CHECK(ir.opsOfType(Onnx::AiOnnx::OpSet9::MatMul).size() == 1);
  CHECK(ir.opsOfType(Onnx::AiOnnx::OpSet9::Sum).size() == 1);
}

TEST_CASE("popart ir: an operator with several outputs is whole or not there") {
  auto builder = Builder::create();
  const TensorId x = builder->addInputTensor("FLOAT", {1, 2, 4, 4}, "x");
  const std::vector<float> ones(36, 1);
  const TensorId w = builder->addInitializedInputTensor(
      ConstVoidData{ones.data(), TensorInfo("FLOAT", Shape{2, 2, 3, 3})}, "w");
  const std::vector<TensorId> made = builder->aiGraphcoreOpset1().multiconv(
      {{x, w}, {x, w}}, {{1, 1}, {1, 1}}, {}, {{1, 1, 1, 1}, {1, 1, 1, 1}});
  const TensorId y = builder->aiOnnxOpset9().add(made);
  builder->addOutputTensor(y);
  Prepared prepared{builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}})};
  for (const bool isOutlined : {true, false}) {
    prepared.options.enableOutlining = isOutlined;
    Ir ir;
    prepared.into(ir);
    check_laws(ir);
    // Its convolutions are equal, so that outlining takes them apart.
    CHECK(count(ir, "MultiConv") == (isOutlined ? 0 : 1));
    CHECK(count(ir, "Conv") == (isOutlined ? 1 : 0));
  }
}

TEST_CASE("popart ir: an operator that runs again has another graph than one that does not") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  TensorId y = builder->addInputTensor(square_info, "x");
  for (int i = 0; i < 4; ++i) {
    y = aiOnnx.matmul({y, weight(*builder, "w" + std::to_string(i))});
    y = aiOnnx.sigmoid({y});
    if (i % 2 == 0) builder->recomputeOutputInBackwardPass(y);
  }
  const TensorId loss = builder->aiGraphcoreOpset1().identityloss({y});
  builder->addOutputTensor(loss);
  const Prepared prepared{builder->getModelProto(), DataFlow(1, {{loss, AnchorReturnType("All")}}),
                          loss};
  const ConstSGD optimizer(0.1f);
  Ir ir;
  prepared.into(ir, &optimizer);
  std::set<RecomputeType> types;
  for (const Op* op : ir.getAllOps()) {
    if (op->isConvertibleTo<SigmoidOp>() || op->isConvertibleTo<SigmoidInplaceOp>()) {
      types.insert(op->settings.recomputeType);
    }
  }
  CHECK(types.count(RecomputeType::Recompute) == 1);
  CHECK(types.size() > 1);
}

// In PopART, too, a model without an optimizer's state has its weights as the only variables.
TEST_CASE("popart ir: plain descent has no variables but the weights") {
  const Prepared prepared = layers(2, true);
  const ConstSGD optimizer(0.1f);
  Ir ir;
  prepared.into(ir, &optimizer);
  const std::vector<TensorId> ids = ir.getTensorIds(TensorType::Variable);
  CHECK(std::set<TensorId>(ids.begin(), ids.end()) == std::set<TensorId>{"w0", "w1"});
  CHECK(ir.optimizerStateTensors().empty());
}
