#include <popart/ir.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <popart/adam.hpp>
#include <popart/adaptive.hpp>
#include <popart/op/call.hpp>
#include <popart/op/concat.hpp>
#include <popart/op/conv.hpp>
#include <popart/op/identity.hpp>
#include <popart/op/if.hpp>
#include <popart/op/l1.hpp>
#include <popart/op/loop.hpp>
#include <popart/op/matmul.hpp>
#include <popart/op/maxpool.hpp>
#include <popart/op/relu.hpp>
#include <popart/op/softmax.hpp>
#include <popart/op/transpose.hpp>
#include <popart/op/varupdate.hpp>
#include <popart/session.hpp>
#include <popart/tensornames.hpp>
#include <popart/topocons.hpp>
#include <set>

#include "ir_models.hpp"

using namespace popart_test;

namespace {

/// loss = l1(relu(relu(x * w) ...)), with `relus` of them.
Prepared chain(int relus) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(square_info, "x");
  TensorId y = aiOnnx.matmul({x, weight(*builder, "w")}, "product");
  for (int i = 0; i < relus; ++i) y = aiOnnx.relu({y}, "relu" + std::to_string(i));
  const TensorId loss = builder->aiGraphcoreOpset1().l1loss({y}, 0.1f);
  builder->addOutputTensor(loss);
  return {builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}}), loss};
}

}  // namespace

TEST_CASE("popart ir: operators have PopART's names, versions and classes") {
  const Prepared prepared = chain(3);
  Ir ir;
  CHECK(is(error_of([&] { ir.getMainGraph(); }), "error", "Ir::prepare must be called"));
  prepared.into(ir);
  CHECK(ir.isTesting());
  CHECK(ir.getSessionName() == "prepared");
  // ONNX's schemas: MatMul changed last in version 9, Relu in 6.
  CHECK(ir.opsOfType(Onnx::Operators::MatMul_9).size() == 1);
  CHECK(ir.opsOfType(Onnx::AiOnnx::OpSet9::MatMul).size() == 1);
  CHECK(ir.getOpSetVersionFromModel("ai.onnx") == 9);
  CHECK(ir.getOpSetVersionFromModel("") == 9);
  const Op* product = ir.getTensor("product")->getProducer();
  CHECK(product->isConvertibleTo<MatMulOp>());
  CHECK_FALSE(product->isConvertibleTo<ReluOp>());
  CHECK(product->inId(MatMulOp::getLhsInIndex()) == "x");
  CHECK(product->inId(MatMulOp::getRhsInIndex()) == "w");
  CHECK(product->outShape(MatMulOp::getOutIndex()) == Shape{2, 2});
  CHECK(product->name() == "product");
  CHECK(product->debugName() == "Op(product, inputs=[x, w], outputs=[product])");
  CHECK(product->str() == "100 (ai.onnx.MatMul:9)");
  CHECK(is(error_of([&] { product->inTensor(2); }), "error", "no tensor at index 2"));
  CHECK(is(error_of([&] { product->getPipelineStage(); }), "error", "no pipeline stage"));
  CHECK(is(error_of([&] { ir.getTensor("nothing"); }), "error",
           "No Ir::Tensor with TensorId 'nothing'"));
  // The loss is no anchor, so that nothing computes it.
  CHECK_FALSE(ir.containsTensor(prepared.loss));
  check_laws(ir);
}

TEST_CASE("popart ir: what a run writes over has an in-place form, if the pattern is on") {
  Prepared prepared = chain(3);
  {
    Ir ir;
    prepared.into(ir);
    CHECK(count(ir, "ReluInplace") == 3);
    CHECK(count(ir, "Relu") == 0);
    const Op* relu = ir.getTensor("relu1")->getProducer();
    CHECK(relu->isConvertibleTo<ReluInplaceOp>());
    CHECK(relu->modifiesIndex(0));
    CHECK(relu->aliases(0, 0));
    CHECK(ir.getTensor("relu0")->isModified());
    CHECK_FALSE(ir.getTensor("w")->isModified());
  }
  {
    prepared.patterns.enableInPlace(false);
    Ir ir;
    prepared.into(ir);
    CHECK(count(ir, "ReluInplace") == 0);
    CHECK(count(ir, "Relu") == 3);
  }
  {
    // An anchor is read at the end: nobody writes over it.
    Prepared anchored = chain(3);
    anchored.flow = DataFlow(1, std::vector<TensorId>{"relu0", "relu2"});
    Ir ir;
    anchored.into(ir);
    CHECK(count(ir, "ReluInplace") == 2);
    CHECK(ir.getTensor("relu1")->getProducer()->opid == Onnx::AiOnnx::OpSet9::Relu);
  }
}

TEST_CASE(
    "popart ir: constants are folded, weights of inference are constants if they are meant to be") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const float data[] = {1, 2, 3, 4};
  const TensorId c = aiOnnx.constant(ConstVoidData{data, square_info}, "c");
  const TensorId twice = aiOnnx.add({c, c}, "twice");
  const TensorId y = aiOnnx.add({x, twice}, "y");
  const TensorId z = aiOnnx.mul({y, weight(*builder, "w")}, "z");
  builder->addOutputTensor(z);
  Prepared prepared{builder->getModelProto(), DataFlow(1, {{z, AnchorReturnType("All")}})};
  for (const bool areConstant : {true, false}) {
    prepared.options.constantWeights = areConstant;
    Ir ir;
    prepared.into(ir);
    CHECK(ir.getMainGraphOps().size() == 2);
    const Tensor& folded = *ir.getTensor("twice");
    CHECK(folded.tensorType() == TensorType::Const);
    CHECK_FALSE(folded.hasProducer());
    REQUIRE(folded.hasTensorData());
    // 1 + 1, 2 + 2, ...
    CHECK(folded.tensorData()->copyDataAs<float>(4) == std::vector<float>{2, 4, 6, 8});
    CHECK(ir.getTensor("w")->tensorType() ==
          (areConstant ? TensorType::Const : TensorType::Variable));
    CHECK(ir.containsInitialisers());
    CHECK(ir.tensorExistsInInitialisers("w"));
    CHECK_FALSE(ir.tensorExistsInInitialisers("x"));
    const std::vector<Tensor*> streams = ir.dataStreamTensors();
    REQUIRE(streams.size() == 1);
    CHECK(streams[0]->id == "x");
    CHECK(is(error_of([&] { ir.getTensor("y")->tensorData(); }), "error", "Data not set for y"));
  }
}

TEST_CASE("popart ir: training has gradients and updates under PopART's names") {
  Prepared prepared = chain(2);
  prepared.flow = DataFlow(1, {{prepared.loss, AnchorReturnType("All")}});
  const auto types = [&](const Optimizer& optimizer) {
    Ir ir;
    prepared.into(ir, &optimizer);
    check_laws(ir);
    CHECK(ir.isTraining());
    CHECK(ir.getFinalLossId() == prepared.loss);
    const Op* loss = ir.getOp(ir.getFinalLossOpId());
    CHECK(loss->isConvertibleTo<L1Op>());
    CHECK(loss->isLossOp());
    CHECK(loss->outTensor(0)->isLossTensor());
    CHECK(loss->inId(0) == "relu1");
    CHECK(count(ir, "ReluGrad") == 2);
    CHECK(count(ir, "MatMulRhsGrad") == 1);  // x has no gradient
    CHECK(count(ir, "MatMulLhsGrad") == 0);
    CHECK(ir.getTensor("w")->toLoss == PathToLoss::Yes);
    CHECK(ir.getTensor("Gradient___w")->fromLoss == PathFromLoss::Yes);
    CHECK(ir.getTensor("product")->getProducer()->scheduledPreLoss == ScheduledPreLoss::Yes);
    const Op* update = ir.getTensor(getUpdatedVarId("w"))->getProducer();
    CHECK(update->isConvertibleTo<VarUpdateOp>());
    CHECK(update->isOptimizerOp());
    CHECK(update->modifiesIndex(VarUpdateOp::getVarToUpdateInIndex()));
    CHECK(update->scheduledPreLoss == ScheduledPreLoss::No);
    CHECK(ir.getTensor("w")->getVariableUpdateType() == VariableUpdateType::Gradient);
    CHECK(ir.getTensor("w")->isWeightTensor());
    return update->opid.type;
  };
  // The classes of optimizers' updates in PopART's patterns/*decompose.cpp.
  CHECK(types(SGD({{"defaultLearningRate", {0.1f, true}}})) == "SGD0VarUpdate");
  CHECK(types(SGD({{"defaultMomentum", {0.9f, true}}})) == "SGD1VarUpdate");
  CHECK(types(SGD({{"defaultMomentum", {0.9f, true}}}, {}, SGDAccumulatorAndMomentum::Separate)) ==
        "SGD2VarUpdate");
  CHECK(types(Adam({{"defaultLearningRate", {0.1f, true}}}, AdamMode::Adam, WeightDecayMode::Decay,
                   DataType::FLOAT, DataType::FLOAT, DataType::FLOAT)) == "AdamVarUpdate");
  CHECK(types(Adaptive({{"defaultLearningRate", {0.1f, true}}}, AdaptiveMode::RMSProp,
                       WeightDecayMode::Decay, DataType::FLOAT, DataType::FLOAT, DataType::FLOAT,
                       DataType::FLOAT)) == "ScaledVarUpdate");
}

TEST_CASE(
    "popart ir: hyperparameters that may change are streams, state belongs to the optimizer") {
  const Prepared prepared = chain(1);
  const SGD optimizer({{"defaultLearningRate", {0.1f, false}}, {"defaultMomentum", {0.9f, true}}});
  Ir ir;
  prepared.into(ir, &optimizer);
  REQUIRE(ir.optimizerTensors().size() == 1);
  CHECK(ir.optimizerTensors()[0]->tensorType() == TensorType::Stream);
  const std::vector<Tensor*> state = ir.optimizerStateTensors();
  CHECK(std::any_of(state.begin(), state.end(),
                    [](const Tensor* t) { return t->id == reservedAcclPrefix() + TensorId("w"); }));
  CHECK(ir.dataStreamTensors().size() == 1);
}

TEST_CASE(
    "popart ir: a session's and a prepared one are the same, before it is prepared and after") {
  const Prepared prepared = chain(2);
  const SGD optimizer({{"defaultLearningRate", {0.1f, true}}});
  Ir ir;
  prepared.into(ir, &optimizer);
  std::stringstream text;
  ir.serialise(Ir::SerialiseFormat::JSON, text);
  auto session = TrainingSession::createFromOnnxModel(prepared.proto, prepared.flow, prepared.loss,
                                                      optimizer, cpu());
  CHECK(session->serializeIr(IrSerializationFormat::JSON) == text.str());
  session->prepareDevice();
  CHECK(session->serializeIr(IrSerializationFormat::JSON) == text.str());
  CHECK(session->getIr().getHash() == ir.getHash());
  const auto json = nlohmann::json::parse(text.str());
  const auto& main = json.at("maingraph");
  CHECK(main.size() == ir.getMainGraphOps().size());
  for (const auto& op : main) {
    for (const auto& [key, value] : op.at("attributes").items()) CHECK(value.is_string());
  }
}

TEST_CASE("popart ir: an operator that is several of the library's is one") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const TensorId w = weight(*builder, "w");
  const TensorId y = aiOnnx.sum({x, w, x}, "y");
  const TensorId z = aiOnnx.mean({y, x}, "z");
  builder->addOutputTensor(z);
  const Prepared prepared{builder->getModelProto(), DataFlow(1, {{z, AnchorReturnType("All")}})};
  Ir ir;
  prepared.into(ir);
  CHECK(ir.opsOfType(Onnx::AiOnnx::OpSet9::Sum).size() == 1);
  CHECK(ir.opsOfType(Onnx::AiOnnx::OpSet9::Mean).size() == 1);
  CHECK(ir.getMainGraphOps().size() == 2);
  const Op* sum = ir.getTensor("y")->getProducer();
  CHECK(sum->input->getSerialised() == std::vector<TensorId>{"x", "w", "x"});
  check_laws(ir);
  // Of two summands PopART's pattern SumToAdd makes an Add.
  auto both = Builder::create();
  const TensorId a = both->addInputTensor(square_info, "a");
  both->addOutputTensor(both->aiOnnxOpset9().sum({a, weight(*both, "b")}, "c"));
  const Prepared two{both->getModelProto(), DataFlow(1, {{"c", AnchorReturnType("All")}})};
  Ir added;
  two.into(added);
  CHECK(added.getMainGraphOps().size() == 1);
  CHECK(count(added, "AddLhsInplace") == 1);
}

TEST_CASE("popart ir: graphs that operators call") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset10();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const TensorId condition = builder->addInputTensor(TensorInfo("BOOL", Shape{}), "condition");
  Builder& then = builder->createSubgraphBuilder();
  then.addInputTensorFromParentGraph(x);
  then.addOutputTensor(then.aiOnnxOpset10().add({x, x}));
  Builder& otherwise = builder->createSubgraphBuilder();
  otherwise.addInputTensorFromParentGraph(x);
  otherwise.addOutputTensor(otherwise.aiOnnxOpset10().sub({x, x}));
  const TensorId chosen = aiOnnx.logical_if({condition}, 1, otherwise, then)[0];
  Builder& body = builder->createSubgraphBuilder();
  body.setGraphName("body");
  body.addInputTensor(TensorInfo("INT64", Shape{}));
  const TensorId keep = body.addInputTensor(TensorInfo("BOOL", Shape{}));
  const TensorId state = body.addUntypedInputTensor();
  body.addOutputTensor(body.aiOnnxOpset10().identity({keep}));
  body.addOutputTensor(body.aiOnnxOpset10().matmul({state, weight(*builder, "w")}));
  const int64_t passes[] = {5};
  const bool yes[] = {true};
  const TensorId count5 =
      aiOnnx.constant(ConstVoidData{passes, TensorInfo("INT64", Shape{})}, "count");
  const TensorId start = aiOnnx.constant(ConstVoidData{yes, TensorInfo("BOOL", Shape{})}, "start");
  const TensorId y = aiOnnx.loop({count5, start, chosen}, 1, body)[0];
  builder->addOutputTensor(y);
  const Prepared prepared{builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}})};
  Ir ir;
  prepared.into(ir);
  check_laws(ir);
  CHECK(ir.getGraphs().size() == 4);
  const std::vector<Op*> ifs = ir.opsOfType(Onnx::AiOnnx::OpSet10::If);
  REQUIRE(ifs.size() == 1);
  const auto* chooser = dynamic_cast<const IfOp*>(ifs[0]);
  REQUIRE(chooser != nullptr);
  CHECK(chooser->getThenGraph().getOpSchedule()[0]->opid.type.compare(0, 3, "Add") == 0);
  CHECK(chooser->getElseGraph().getOpSchedule()[0]->opid.type == "Sub");
  CHECK(chooser->getCalledGraphs().size() == 2);
  CHECK(chooser->getThenGraph().getCallSiteOps() == ifs);
  const std::vector<Op*> loops = ir.opsOfType(Onnx::AiOnnx::OpSet10::Loop);
  REQUIRE(loops.size() == 1);
  const auto* loop = dynamic_cast<const LoopOp*>(loops[0]);
  REQUIRE(loop != nullptr);
  CHECK(loop->getTripCountValue() == 5);
  const Graph& called = loop->getCalledGraph();
  CHECK(called.id.str() == "body");
  CHECK(&ir.getGraph(GraphId("body")) == &called);
  CHECK(called.hasInputId(addScope(called.getScope(), state)));
  CHECK(called.removeScope(addScope(called.getScope(), state)) == state);
  CHECK(called.getOpSchedule()[0]->settings.executionContext == ExecutionContext::Subgraph);
  CHECK(ir.getMainGraph().getCalledGraphs().size() == 3);
  CHECK(is(error_of([&] { ir.getGraph(GraphId("nothing")); }), "error", "No graph with id"));
}

TEST_CASE("popart ir: calls of one graph share it, and dropout is nothing in inference") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  Builder& body = builder->createSubgraphBuilder();
  body.setGraphName("twice");
  const TensorId in = body.addInputTensor(square_info);
  body.addOutputTensor(body.aiOnnxOpset9().add({in, in}));
  TensorId y = builder->addInputTensor(square_info, "x");
  for (int i = 0; i < 2; ++i) y = builder->aiGraphcoreOpset1().call({y}, 1, body)[0];
  y = aiOnnx.relu({aiOnnx.dropout({y}, 1, 0.5f)[0]});
  builder->addOutputTensor(y);
  const Prepared prepared{builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}})};
  Ir ir;
  prepared.into(ir);
  CHECK(ir.getGraphs().size() == 2);
  const std::vector<Op*> calls = ir.opsOfType(Onnx::AiGraphcore::OpSet1::Call);
  REQUIRE(calls.size() == 2);
  CHECK(dynamic_cast<const CallOp&>(*calls[0]).getCalledGraph().id.str() == "twice");
  CHECK(ir.getGraph(GraphId("twice")).getCallSiteOps() == calls);
  CHECK(count(ir, "Dropout") == 0);
  check_laws(ir);
}

TEST_CASE("popart ir: operators say whether they run again for the gradients") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  TensorId y = builder->addInputTensor(square_info, "x");
  for (const char* name : {"a", "b", "c"}) {
    y = aiOnnx.matmul({y, weight(*builder, std::string("w") + name)});
    y = aiOnnx.sigmoid({y}, name);
    if (*name != 'c') builder->recomputeOutputInBackwardPass(y);
  }
  const TensorId loss = builder->aiGraphcoreOpset1().identityloss({y});
  builder->addOutputTensor(loss);
  Prepared prepared{builder->getModelProto(), DataFlow(1, {{loss, AnchorReturnType("All")}}), loss};
  const SGD optimizer({{"defaultLearningRate", {0.1f, true}}});
  const auto recomputeType = [](const Ir& ir, const char* name) {
    return ir.getTensor(name)->getProducer()->settings.recomputeType;
  };
  const auto again = [](const Ir& ir) {
    const std::vector<Op*> ops = ir.getAllOps();
    return std::count_if(ops.begin(), ops.end(), [](const Op* op) {
      return op->settings.recomputeType == RecomputeType::Recomputed;
    });
  };
  {
    Ir ir;
    prepared.into(ir, &optimizer);
    CHECK(recomputeType(ir, "a") == RecomputeType::Recompute);
    CHECK(recomputeType(ir, "b") == RecomputeType::Recompute);
    CHECK(recomputeType(ir, "c") == RecomputeType::Undefined);
    CHECK(ir.getMainGraph().hasUserRecomputeOps());
    CHECK(again(ir) == 0);
  }
  {
    prepared.options.explicitRecomputation = true;
    Ir ir;
    prepared.into(ir, &optimizer);
    CHECK(recomputeType(ir, "a") == RecomputeType::Checkpoint);
    CHECK(again(ir) == 2);
    check_laws(ir);
  }
}

TEST_CASE("popart ir: operators have the attributes of their nodes") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const TensorId y = aiOnnx.matmul({x, weight(*builder, "w")}, "y");
  const TensorId z = aiOnnx.relu({y}, "z");
  builder->addNodeAttribute(sSchedulePriority, 2.5f, {y});
  builder->excludePatterns(z, {"InPlace"});
  builder->setInplacePreferences(z, {{"ReluInplace", -1.f}});
  builder->addOutputTensor(z);
  const Prepared prepared{builder->getModelProto(), DataFlow(1, {{z, AnchorReturnType("All")}})};
  Ir ir;
  prepared.into(ir);
  const Op* product = ir.getTensor("y")->getProducer();
  CHECK(product->settings.schedulePriority == 2.5);
  CHECK(product->settings.excludePatterns.empty());
  const Op* relu = ir.getTensor("z")->getProducer();
  CHECK(relu->settings.excludePatterns.count("InPlace") == 1);
  REQUIRE(relu->settings.inplacePriorityVeto.size() == 1);
  CHECK(std::get<0>(relu->settings.inplacePriorityVeto[0]) == "ReluInplace");
  // A node that must not run in place has no in-place form.
  CHECK(relu->opid == Onnx::AiOnnx::OpSet9::Relu);
}

TEST_CASE("popart ir: classes of operators have their attributes") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(TensorInfo("FLOAT", Shape{2, 3}), "x");
  const TensorId turned = aiOnnx.transpose({x}, {1, 0}, "turned");
  const TensorId joined = aiOnnx.concat({turned, turned}, 1, "joined");
  const TensorId scaled = builder->aiGraphcoreOpset1().scale({joined}, 2.5f);
  const TensorId loss = builder->aiGraphcoreOpset1().l1loss({scaled}, 0.25f, ReductionType::Sum);
  builder->addOutputTensor(loss);
  const Prepared prepared{builder->getModelProto(), DataFlow(1, {{loss, AnchorReturnType("All")}})};
  Ir ir;
  prepared.into(ir);
  const auto makerOf = [&](const TensorId& id) { return ir.getTensor(id)->getProducer(); };
  CHECK(dynamic_cast<const TransposeBaseOp&>(*makerOf(turned)).getPerm() == Shape{1, 0});
  CHECK(dynamic_cast<const ConcatOp&>(*makerOf(joined)).getAxis() == 1);
  const auto& l1 = dynamic_cast<const L1Op&>(*makerOf(loss));
  CHECK(l1.getLambda() == 0.25f);
  CHECK(l1.getReductionType() == ReductionType::Sum);
}

TEST_CASE("popart ir: a session from an Ir runs what it shows") {
  const Prepared prepared = chain(1);
  auto ir = std::make_shared<Ir>();
  CHECK(is(error_of([&] { InferenceSession::createFromIr(ir, cpu()); }), "error",
           "needs an Ir that was prepared"));
  prepared.into(*ir);
  CHECK(is(error_of([&] { TrainingSession::createFromIr(ir, cpu()); }), "error",
           "prepared for inference"));
  auto session = InferenceSession::createFromIr(ir, cpu());
  CHECK(session->getIr().getHash() == ir->getHash());
}

TEST_CASE("popart ir: gradient operators have their inputs at PopART's indices") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  auto aiGraphcore = builder->aiGraphcoreOpset1();
  const TensorId image = builder->addInputTensor("FLOAT", {1, 2, 4, 4}, "image");
  const std::vector<float> data(36, 0.5f);
  const TensorId filter = builder->addInitializedInputTensor(
      ConstVoidData{data.data(), TensorInfo("FLOAT", Shape{2, 2, 3, 3})}, "filter");
  const TensorId once = aiOnnx.conv({image, filter}, {1, 1}, 1, {}, {1, 1, 1, 1}, {1, 1}, "once");
  const TensorId conv = aiOnnx.conv({once, filter}, {1, 1}, 1, {}, {1, 1, 1, 1}, {1, 1}, "conv");
  const TensorId pool = aiOnnx.maxpool({conv}, 1, {2, 2}, {}, 0, {2, 2}, "pool")[0];
  const TensorId rows = aiOnnx.flatten({pool}, 1, "rows");
  const TensorId w = builder->addInitializedInputTensor(
      ConstVoidData{data.data(), TensorInfo("FLOAT", Shape{8, 4})}, "w");
  const TensorId scores = aiOnnx.matmul({rows, w}, "scores");
  const TensorId probabilities = aiOnnx.softmax({scores}, 1, "probabilities");
  const TensorId label = builder->addInputTensor("INT32", {1}, "label");
  const TensorId nll = aiGraphcore.nllloss({probabilities, label}, ReductionType::Sum);
  const TensorId l1 = aiGraphcore.l1loss({scores}, 0.1f, ReductionType::Sum, "l1");
  const TensorId loss = aiOnnx.add({nll, l1}, "loss");
  builder->addOutputTensor(loss);
  const ConstSGD optimizer(0.1f);
  Prepared prepared{builder->getModelProto(), DataFlow(1, {{loss, AnchorReturnType("All")}}), loss};

  // The indices are those of PopART's op/matmul.hpp, conv.hpp, maxpool.hpp, l1.hpp and softmax.hpp.
  const auto check = [&](const OperatorIdentifier& lossGradient) {
    Ir ir;
    prepared.into(ir, &optimizer);
    check_laws(ir);
    const auto one = [&](const OperatorIdentifier& type) {
      const std::vector<Op*> ops = ir.opsOfType(type);
      CAPTURE(type.type);
      REQUIRE(!ops.empty());
      return ops[0];
    };
    CHECK(one(Onnx::GradOperators::MatMulRhsGrad)->inId(MatMulRhsGradOp::getLhsInIndex()) == rows);
    CHECK(one(Onnx::GradOperators::MatMulLhsGrad)->inId(MatMulLhsGradOp::getRhsInIndex()) == w);
    CHECK(one(Onnx::GradOperators::ConvDataGrad)->inId(ConvDataGradOp::getWeightsInIndex()) ==
          filter);
    CHECK(one(Onnx::GradOperators::ConvWeightsGrad)
              ->inId(ConvWeightsGradOp::getPreConvolvedInIndex()) == once);
    const Op* const pooled = one(Onnx::GradOperators::MaxPoolGrad);
    CHECK(pooled->inId(MaxPoolGradOp::getPrePooledInIndex()) == conv);
    CHECK(pooled->inShape(MaxPoolGradOp::getGradPooledInIndex()) == Shape{1, 2, 2, 2});
    const auto* const l1Gradient =
        dynamic_cast<const L1GradOp*>(one(Onnx::CustomGradOperators::L1Grad));
    REQUIRE(l1Gradient != nullptr);
    CHECK(l1Gradient->inId(L1GradOp::getFwdActInIndex()) == scores);
    CHECK(l1Gradient->inTensor(L1GradOp::getGradInIndex())->tensorType() == TensorType::Const);
    CHECK(count(ir, "Sign") + count(ir, "SignInplace") == 0);
    const Op* const direct = one(lossGradient);
    CHECK(direct->inId(SoftmaxGradDirectOp::getProbsInIndex()) == probabilities);
    CHECK(direct->inId(SoftmaxGradDirectOp::getLabelInIndex()) == label);
  };
  // The sum of the losses may come before the gradient; without the pattern they are never joined.
  prepared.patterns.enableNlllWithSoftMaxGradDirect(false);
  prepared.options.enableOutlining = false;  // the convolutions are equal
  check(Onnx::CustomGradOperators::SoftmaxGradDirect);
}

TEST_CASE("popart ir: a loss and its gradient are one operator with NlllWithSoftmaxGradDirect") {
  auto builder = Builder::create();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const TensorId label = builder->addInputTensor("INT32", {2}, "label");
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId p = aiOnnx.softmax({aiOnnx.matmul({x, weight(*builder, "w")})}, 1, "p");
  const TensorId loss = builder->aiGraphcoreOpset1().nllloss({p, label});
  builder->addOutputTensor(loss);
  Prepared prepared{builder->getModelProto(), DataFlow(1, {{loss, AnchorReturnType("All")}}), loss};
  const ConstSGD optimizer(0.1f);
  for (const bool isOn : {true, false}) {
    prepared.patterns.enableNlllWithSoftMaxGradDirect(isOn);
    Ir ir;
    prepared.into(ir, &optimizer);
    check_laws(ir);
    CHECK(count(ir, "NlllWithSoftmaxGradDirect") == (isOn ? 1 : 0));
    CHECK(count(ir, "SoftmaxGradDirect") == (isOn ? 0 : 1));
    CHECK(count(ir, "Nll") == (isOn ? 0 : 1));
    const Op* const maker = ir.getTensor(loss)->getProducer();
    CHECK(maker->inId(NlllWithSoftmaxGradDirectOp::getLabelInIndex()) == label);
    CHECK(ir.getFinalLossOpId() == maker->id);
  }
}

TEST_CASE("popart ir: the gradient of an L1 loss is one operator if the loss is no anchor, too") {
  Prepared prepared = chain(2);
  const ConstSGD optimizer(0.1f);
  for (const TensorId& anchor : {prepared.loss, TensorId("relu0")}) {
    prepared.flow = DataFlow(1, {{anchor, AnchorReturnType("All")}});
    Ir ir;
    prepared.into(ir, &optimizer);
    check_laws(ir);
    CHECK(ir.containsTensor(prepared.loss) == (anchor == prepared.loss));
    const std::vector<Op*> ops = ir.opsOfType(Onnx::CustomGradOperators::L1Grad);
    REQUIRE(ops.size() == 1);
    const auto& gradient = dynamic_cast<const L1GradOp&>(*ops[0]);
    CHECK(gradient.inId(L1GradOp::getFwdActInIndex()) == "relu1");
    CHECK(gradient.getLambda() == 0.1f);
    CHECK(gradient.getReductionType() == ReductionType::Mean);
  }
}

// PopART's TopoCons: what writes over a tensor comes after all that read it, and nothing else is said.
TEST_CASE("popart ir: readers of a tensor come before the operator that writes over it") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const TensorId y = aiOnnx.matmul({x, weight(*builder, "w")}, "y");
  const TensorId a = aiOnnx.relu({y}, "a"), b = aiOnnx.sigmoid({y}, "b");
  const TensorId z = aiOnnx.matmul({a, b}, "z");
  builder->addOutputTensor(z);
  Prepared prepared{builder->getModelProto(), DataFlow(1, {{z, AnchorReturnType("All")}})};
  prepared.options.enableOutlining = false;
  for (const bool isInPlace : {true, false}) {
    prepared.patterns.enableInPlace(isInPlace);
    Ir ir;
    prepared.into(ir);
    const TopoCons& order = *ir.getMainGraph().topoCons;
    Op* const relu = ir.getTensor("a")->getProducer();
    Op* const sigmoid = ir.getTensor("b")->getProducer();
    Op* const product = ir.getTensor("y")->getProducer();
    Op* const last = relu->modifies() ? relu : sigmoid;
    Op* const other = last == relu ? sigmoid : relu;
    CHECK(last->modifies() == isInPlace);
    CHECK(order.contains(other, last) == isInPlace);
    CHECK_FALSE(order.contains(last, other));
    CHECK_FALSE(order.contains(product, last));
    CHECK(order.getBefores(last) == (isInPlace ? std::vector<Op*>{other} : std::vector<Op*>{}));
    CHECK(order.getAfters(other) == (isInPlace ? std::vector<Op*>{last} : std::vector<Op*>{}));
  }
}
