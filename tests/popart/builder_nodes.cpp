#include <doctest/doctest.h>

#include <filesystem>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/stepio.hpp>
#include <string>
#include <vector>

#include "errors.hpp"
#include "onnx_checker.hpp"

using namespace popart;
using popart_test::contains;
using popart_test::error_of;

namespace {

/// Each model passes ONNX's own checker, where that is.
void check_models(const std::vector<std::string>& models) {
  const test::CheckedFolder folder;
  for (std::size_t i = 0; i < models.size(); ++i) {
    folder.write(std::to_string(i) + ".onnx", models[i]);
  }
  if (const auto complaints = folder.complaints()) CHECK(*complaints == "");
}

}  // namespace

TEST_CASE("builder: attributes of nodes are added, read and removed") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset10();
  const TensorId x = builder->addInputTensor("FLOAT", {2});
  const TensorId y = aiOnnx.relu({x});
  const TensorId z = aiOnnx.leakyrelu({y}, 0.5f);
  builder->addOutputTensor(z);
  CHECK(builder->getAllNodeAttributeNames({y}).empty());
  CHECK(builder->getAllNodeAttributeNames({z}) == std::vector<std::string>{"alpha"});
  CHECK(builder->getFloatNodeAttribute("alpha", {z}) == 0.5f);

  builder->addNodeAttribute("a", int64_t{1}, {y});
  builder->addNodeAttribute("b", std::vector<int64_t>{2, 3}, {y});
  builder->addNodeAttribute("c", 0.5f, {y});
  builder->addNodeAttribute("d", std::vector<float>{1.5f}, {y});
  builder->addNodeAttribute("e", std::string("text"), {y});
  builder->addNodeAttribute("f", "text too", {y});
  builder->addNodeAttribute("g", std::vector<std::string>{"s", "t"}, {y});
  builder->addNodeAttribute("h", true, {y});
  const float data[] = {1, 2};
  builder->addNodeAttribute("i", ConstVoidData(data, TensorInfo("FLOAT", Shape{2})), {y});
  CHECK(builder->getInt64NodeAttribute("a", {y}) == 1);
  CHECK(builder->getInt64VectorNodeAttribute("b", {y}) == std::vector<int64_t>{2, 3});
  CHECK(builder->getFloatNodeAttribute("c", {y}) == 0.5f);
  CHECK(builder->getFloatVectorNodeAttribute("d", {y}) == std::vector<float>{1.5f});
  CHECK(builder->getStringNodeAttribute("e", {y}) == "text");
  CHECK(builder->getStringNodeAttribute("f", {y}) == "text too");
  CHECK(builder->getStringVectorNodeAttribute("g", {y}) == std::vector<std::string>{"s", "t"});
  CHECK(builder->getBoolNodeAttribute("h", {y}));
  CHECK(builder->nodeHasAttribute("i", {y}));
  CHECK(builder->getAllNodeAttributeNames({y}).size() == 9);
  builder->removeNodeAttribute("b", {y});
  CHECK_FALSE(builder->nodeHasAttribute("b", {y}));

  CHECK(contains(error_of([&] { builder->addNodeAttribute("a", int64_t{2}, {y}); }),
                 "Node already has attribute a."));
  CHECK(contains(error_of([&] { builder->getInt64NodeAttribute("b", {y}); }),
                 "Node does not have an attribute b."));
  CHECK(contains(error_of([&] { builder->getInt64NodeAttribute("e", {y}); }),
                 "Attribute e is not an integer."));
  CHECK(contains(error_of([&] { builder->removeNodeAttribute("b", {y}); }),
                 "Cannot remove attribute b as it does not exist."));
  CHECK(contains(error_of([&] { builder->getAllNodeAttributeNames({x}); }),
                 "Could not find a node with outputs"));
  CHECK(contains(error_of([&] { builder->getAllNodeAttributeNames({y, z}); }),
                 "Must specify all outputs of a node"));
}

TEST_CASE("builder: where and how nodes run is written into the model, and does not change it") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset11();
  const TensorInfo info{"FLOAT", Shape{2, 2}};
  const TensorId x = builder->addInputTensor(info, InputSettings(ReplicatedStreamMode::Broadcast));
  const float data[] = {1, 2, 3, 4};
  const TensorId w = builder->addInitializedInputTensor(
      {data, info}, VariableSettings(CommGroup(CommGroupType::None, 0)), "w");
  TensorId y, relu;
  {
    const AttributeContext graph(*builder, sVirtualGraphAttribute, int64_t{1});
    const NameContext name(*builder, "layer");
    CHECK(builder->hasVirtualGraph());
    CHECK(builder->getVirtualGraph() == 1);
    y = aiOnnx.matmul({x, w});
    CHECK(y == "layer/MatMul:0");
    {
      const AttributeContext other(*builder, sVirtualGraphAttribute, int64_t{2});
      const AttributeContext stage(*builder, sPipelineStageAttribute, int64_t{3});
      CHECK(builder->getPipelineStage() == 3);
      relu = aiOnnx.relu({y});
    }
    CHECK_FALSE(builder->hasPipelineStage());
    CHECK(builder->getVirtualGraph() == 1);
  }
  CHECK_FALSE(builder->hasVirtualGraph());
  CHECK(builder->getVirtualGraph(y) == 1);
  CHECK(builder->getVirtualGraph(relu) == 2);
  CHECK(builder->getInt64NodeAttribute(sPipelineStageAttribute, {relu}) == 3);
  CHECK(contains(error_of([&] { builder->getAttribute("no_such"); }), "not found"));

  builder->executionPhase(y, 4);
  CHECK(builder->getExecutionPhase(y) == 4);
  builder->pipelineStage(y, 5);
  builder->setSerializeMatMul({y}, "input_channels", 2, true);
  CHECK(builder->getStringNodeAttribute("__serialize_matmul_mode", {y}) == "input_channels");
  builder->setSerializeMatMul({relu}, "none", 0, false);
  CHECK(contains(error_of([&] { builder->setSerializeMatMul({y}, "x", 2, true); }),
                 "Unsupported mat mul serialization mode"));
  CHECK(builder->getPartialsType(y) == "FLOAT");
  builder->setPartialsType(y, "HALF");
  CHECK(builder->getPartialsType(y) == "HALF");
  builder->setAvailableMemoryProportion(y, 0.5f);
  CHECK(error_of([&] { builder->setAvailableMemoryProportion(y, 1.5f); }) != "no error");
  // Nothing is planned for a Relu.
  CHECK(contains(error_of([&] { builder->setAvailableMemoryProportion(relu, 0.5f); }), "Relu"));
  CHECK(contains(error_of([&] { builder->setPartialsType(relu, "HALF"); }), "Relu"));
  CHECK(contains(error_of([&] { builder->setPartialsType(y, "DOUBLE"); }), "FLOAT or HALF"));
  builder->setInplacePreferences(relu, {{"ReluInplace", 10.f}});
  builder->excludePatterns(relu, {"InPlace"});
  builder->outputTensorLocation(y, TensorLocation(TensorStorage::OffChip));
  builder->recomputeOutputInBackwardPass(relu);
  CHECK(builder->getRecomputeOutputInBackwardPass(relu));
  const std::vector<TensorId> kept = builder->checkpointOutput({relu});
  CHECK(kept == std::vector<TensorId>{"Checkpoint"});
  CHECK(builder->getInt64NodeAttribute(sRecomputeOutputAttribute, {kept[0]}) ==
        static_cast<int64_t>(RecomputeType::Checkpoint));
  builder->embedReplicationFactor(2);
  builder->addOutputTensor(kept[0]);
  const std::string model = builder->getModelProto();
  check_models({model});
  for (const char* key : {"__replicated_stream_mode/input", "__variable_settings/w",
                          "__comm_group_type/w", "__replicationFactor", "__ipu_number"}) {
    CHECK(contains(builder->getModelProto(true), key));
  }

  auto device = DeviceManager::createDeviceManager().createCpuDevice();
  auto session = InferenceSession::createFromOnnxModel(model, DataFlow(1, {kept[0]}), device);
  session->prepareDevice();
  std::vector<float> in{1, 0, 0, -1}, out(4);
  NDArrayWrapper<float> a(in.data(), {2, 2}), b(out.data(), {2, 2});
  StepIO io({{x, a}}, {{kept[0], b}});
  session->run(io);
  CHECK(out == std::vector<float>{1, 2, 0, 0});
}

TEST_CASE("builder: operators of any domain") {
  auto builder = Builder::create();
  const TensorId x = builder->addInputTensor("FLOAT", {2});
  const OperatorIdentifier cube{"custom.ops", "Cube", 1, NumInputs(1, 2), 1};
  const std::vector<TensorId> y =
      builder->customOp(cube, 1, {x}, 1, {{"alpha", 0.5f}, {"n", int64_t{3}}, {"s", "text"}});
  CHECK(y == std::vector<TensorId>{"Cube:0"});
  builder->customOp(cube, 1, y, std::vector<TensorId>{"mine"}, {}, "cube");
  CHECK(builder->getFloatNodeAttribute("alpha", {y[0]}) == 0.5f);
  CHECK(builder->getStringNodeAttribute("s", {y[0]}) == "text");
  CHECK_FALSE(builder->hasValueInfo("mine"));
  CHECK(contains(error_of([&] { builder->customOp(cube, 1, {}, 1, {}); }),
                 "invalid number of inputs"));
  CHECK(contains(error_of([&] { builder->customOp(cube, 2, {x}, 1, {}); }), "Invalid opset 2"));
  CHECK(contains(error_of([&] { builder->customOp(cube, 1, {x}, {"mine"}, {}); }), "exists"));
  CHECK(contains(error_of([&] { builder->customOp(cube, 1, {x}, 1, {{"a", 'c'}}); }),
                 "Unsupported attribute value type"));

  // Known ones keep their types.
  const OperatorIdentifier relu{"ai.onnx", "Relu", 6};
  CHECK(builder->getTensorShape(builder->customOp(relu, 10, {x}, 1, {})[0]) ==
        std::vector<int64_t>{2});
  // A session refuses what it does not know.
  builder->addOutputTensor("mine");
  auto device = DeviceManager::createDeviceManager().createCpuDevice();
  CHECK(contains(error_of([&] {
                   InferenceSession::createFromOnnxModel(builder->getModelProto(),
                                                         DataFlow(1, {"mine"}), device);
                 }),
                 "Cube"));
}

TEST_CASE("builder: what the library knows of shapes follows through computed shapes") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset11();
  const TensorId x = builder->addInputTensor("FLOAT16", {2, 3, 4});
  const TensorId shape = aiOnnx.shape({x});
  const int64_t one[] = {1};
  const TensorId index = aiOnnx.constant({one, TensorInfo("INT64", Shape{1})});
  const TensorId rows = aiOnnx.gather({shape, index});
  const int64_t rest[] = {-1};
  const TensorId other = aiOnnx.constant({rest, TensorInfo("INT64", Shape{1})});
  const TensorId y = aiOnnx.reshape({x, aiOnnx.concat({rows, other}, 0)});
  CHECK(builder->getTensorShape(y) == std::vector<int64_t>{3, 8});
  CHECK(builder->getTensorDataType(y) == DataType::FLOAT16);
  CHECK(builder->getTensorDtypeString(shape) == "int64");
  builder->addOutputTensor(y);
  check_models({builder->getModelProto()});
}

TEST_CASE("builder: argument lists of PopART's programs") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset10();
  const std::vector<float> data(4 * 4 * 3 * 3, 0.1f);
  const TensorId x = builder->addInputTensor("FLOAT", {1, 4, 8, 8}, "x");
  const TensorInfo filter{"FLOAT", Shape{4, 4, 3, 3}}, channels{"FLOAT", Shape{4}};
  const TensorId w = builder->addInitializedInputTensor({data.data(), filter}, DebugContext("w"));
  const TensorId c = aiOnnx.conv({x, w}, {1, 1}, 1, {}, {1, 1, 1, 1}, {1, 1}, DebugContext("c"));
  std::vector<TensorId> parameters{c};
  for (int i = 0; i < 4; ++i) {
    parameters.push_back(builder->addInitializedInputTensor({data.data(), channels}));
  }
  const auto bn = aiOnnx.batchnormalization(parameters, 1, 1e-5f, 0.9f);
  const auto pool = aiOnnx.maxpool({aiOnnx.relu({bn[0]})}, 1, {2, 2}, 0, {}, {}, 0, {2, 2});
  const auto parts = aiOnnx.split({pool[0]}, 2, 1, {1, 3}, "parts");
  CHECK(parts == std::vector<TensorId>{"parts:0", "parts:1"});
  CHECK(builder->getTensorShape(parts[1]) == std::vector<int64_t>{1, 3, 4, 4});
  const TensorId sum = aiOnnx.reducesum({parts[0]}, std::vector<int64_t>{1, 2, 3}, 0);
  const TensorId half = aiOnnx.cast({sum}, "FLOAT16");
  const TensorId y =
      aiOnnx.gemm({aiOnnx.flatten({parts[1]}), aiOnnx.flatten({parts[1]}), sum}, 1.0f, 1.0f, 0, 1);
  CHECK(builder->getTensorShape(y) == std::vector<int64_t>{1, 1});
  builder->addOutputTensor(y);
  builder->addOutputTensor(half);
  check_models({builder->getModelProto()});
}

TEST_CASE("builder: initializers move to a file") {
  const test::CheckedFolder folder;
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{2}};
  const TensorId x = builder->addInputTensor(info);
  const float first[] = {1, 2}, second[] = {3, 4};
  const TensorId a = builder->addInitializedInputTensor({first, info}, "a");
  const TensorId b = builder->addInitializedInputTensor({second, info}, "b");
  const TensorId y = aiOnnx.add({aiOnnx.mul({x, a}), b}, "y");
  builder->addOutputTensor(y);
  CHECK(contains(error_of([&] { builder->saveInitializersExternally({"x"}, folder / "w"); }),
                 "not an initializer"));
  CHECK(contains(error_of([&] { builder->saveInitializersExternally({a}, folder / "no/w"); }),
                 "does not exist"));
  builder->saveInitializersExternally({a, b}, folder / "weights.bin");
  // A file in the model's folder has a name relative to it.
  builder->saveModelProto(folder / "model.onnx");
  CHECK(contains(error_of([&] { builder->saveInitializersExternally({a}, folder / "w"); }),
                 "already"));
  CHECK(std::filesystem::file_size(folder / "weights.bin") == 72);  // 8, up to 64, 8
  if (const auto complaints = folder.complaints()) CHECK(*complaints == "");

  // Read from the file, the model is whole again.
  auto copy = Builder::createFromOnnxModel(folder / "model.onnx");
  auto device = DeviceManager::createDeviceManager().createCpuDevice();
  auto session =
      InferenceSession::createFromOnnxModel(copy->getModelProto(), DataFlow(1, {y}), device);
  session->prepareDevice();
  std::vector<float> in{1, 1}, out(2);
  NDArrayWrapper<float> in_array(in.data(), {2}), out_array(out.data(), {2});
  StepIO io({{x, in_array}}, {{y, out_array}});
  session->run(io);
  CHECK(out == std::vector<float>{4, 6});
}

TEST_CASE("builder: subgraphs in subgraphs, calls, loops") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset11();
  const TensorId condition = builder->addInputTensor("BOOL", {}, "c");
  const TensorId x = builder->addInputTensor("FLOAT", {2}, "x");

  Builder& outer_then = builder->createSubgraphBuilder();
  CHECK(outer_then.getParent() == builder.get());
  CHECK(builder->hasParent());  // there is none: PopART's answer
  outer_then.addInputTensorFromParentGraph(condition);
  Builder& inner_then = outer_then.createSubgraphBuilder();
  // A tensor of a graph around cannot be an output itself.
  inner_then.addOutputTensor(x);
  Builder& inner_else = outer_then.createSubgraphBuilder();
  inner_else.addOutputTensor(inner_else.aiOnnxOpset11().neg({x}));
  const auto inner =
      outer_then.aiOnnxOpset11().logical_if({condition}, 1, inner_else, inner_then, "inner");
  outer_then.addOutputTensor(inner[0]);
  Builder& outer_else = builder->createSubgraphBuilder();
  outer_else.addOutputTensor(outer_else.aiOnnxOpset11().abs({x}));
  const auto y = aiOnnx.logical_if({condition}, 1, outer_else, outer_then, "outer");
  CHECK(builder->getTensorShape(y[0]) == std::vector<int64_t>{2});
  CHECK(contains(error_of([&] { outer_then.addInputTensorFromParentGraph("z"); }),
                 "Unknown tensor 'z'"));

  Builder& body = builder->createSubgraphBuilder();
  body.setGraphName("body");
  body.addInputTensor("INT64", {});
  const TensorId keep = body.addInputTensor("BOOL", {});
  const TensorId state = body.addUntypedInputTensor();
  auto bodyOnnx = body.aiOnnxOpset11();
  body.addOutputTensor(keep);
  body.addOutputTensor(bodyOnnx.add({state, x}));
  const int64_t trips[] = {3};
  const TensorId count = aiOnnx.constant({trips, TensorInfo("INT64", Shape{})});
  const auto sum = aiOnnx.loop({count, condition, x}, 1, body, "loop");

  Builder& callee = builder->createSubgraphBuilder();
  const TensorId formal = callee.addInputTensor("FLOAT", {2});
  callee.addOutputTensor(callee.aiOnnxOpset11().relu({formal}));
  const auto called = builder->aiGraphcoreOpset1().call({sum[0]}, 1, callee, "call");
  builder->addOutputTensor(y[0]);
  check_models({builder->getModelProto()});
  CHECK(called.size() == 1);
}

TEST_CASE("builder: ai.graphcore as PopART's programs call it") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset10();
  auto aiGraphcore = builder->aiGraphcoreOpset1();
  const TensorInfo image{"FLOAT", Shape{1, 2, 4, 4}}, filter{"FLOAT", Shape{2, 2, 3, 3}};
  const TensorId x = builder->addInputTensor(image, "x");
  const std::vector<float> zeros(64);
  const TensorId w = builder->addInitializedInputTensor({zeros.data(), filter}, "w");
  const auto both =
      aiGraphcore.multiconv({{x, w}, {x, w}}, {{1, 1}, {1, 1}}, {}, {{1, 1, 1, 1}, {1, 1, 1, 1}});
  CHECK(both.size() == 2);
  CHECK(builder->getInt64NodeAttribute("numConvs", {both[0], both[1]}) == 2);
  CHECK(builder->getInt64VectorNodeAttribute("pads", {both[0], both[1]}).size() == 8);
  CHECK(contains(error_of([&] { aiGraphcore.multiconv({}); }), "no input tensors"));
  CHECK(contains(error_of([&] { aiGraphcore.multiconv({{x, w}}, {{1, 1}, {1, 1}}); }),
                 "does not match the number of input sets"));
  const TensorInfo vector{"FLOAT", Shape{2}};
  const TensorId scale = builder->addInitializedInputTensor({zeros.data(), vector}, "scale");
  const TensorId bias = builder->addInitializedInputTensor({zeros.data(), vector}, "bias");
  const auto normal = aiGraphcore.groupnormalization({x, scale, bias}, 1, 0.001f, "norm");
  CHECK(normal == std::vector<TensorId>{"norm:0", "norm:1", "norm:2"});
  // ends before starts
  const TensorId part = aiGraphcore.slice({x}, {1, 1, 2, 2}, {0, 0, 0, 0}, {0, 1, 2, 3});
  CHECK(builder->getInt64VectorNodeAttribute("ends", {part}) == std::vector<int64_t>{1, 1, 2, 2});
  const TensorId activated = aiGraphcore.gelu({part}, DebugContext("gelu"));
  CHECK(activated == "gelu");
  const TensorId printed = aiGraphcore.printtensor({activated}, 0, {}, "title");
  CHECK(builder->getInt64NodeAttribute("summariseThreshold", {printed}) == 1000);
  const TensorId flat = aiGraphcore.reshape(printed, {2, 2});
  const TensorId p = aiOnnx.softmax({flat});
  const TensorId labels = builder->addInputTensor("INT32", {2}, "labels");
  const TensorId nll = aiGraphcore.nllloss({p, labels}, ReductionType::Sum, 1, true, "nll");
  CHECK(builder->getStringNodeAttribute("reduction", {nll}) == "Sum");
  CHECK(builder->getInt64NodeAttribute("ignoreIndex", {nll}) == 1);
  const TensorId l1 = aiGraphcore.l1loss({p}, 0.1f);
  CHECK(builder->getStringNodeAttribute("reduction", {l1}) == "Mean");
  aiGraphcore.identityloss({l1}, ReductionType::NoReduction);
  aiGraphcore.replicatedallreduce({p});
  aiGraphcore.replicatedallreduce({p}, CollectiveOperator::Mean,
                                  CommGroup(CommGroupType::Consecutive, 2));
  CHECK(static_cast<int>(DataType::FLOAT) == 11);  // in PopART's enumeration
  aiGraphcore.init({2, 2}, static_cast<int64_t>(DataType::FLOAT), 0);
  const TensorId index = builder->addInputTensor("INT32", {2, 2}, "index");
  aiGraphcore.scatterreduce({p, index}, 3);
  aiGraphcore.abort({});
  CHECK(contains(error_of([&] { aiGraphcore.copyvarupdate({x, scale}); }), "initializer"));
  aiGraphcore.copyvarupdate({scale, bias});
  const TensorId logs = builder->addInputTensor("FLOAT", {3, 2, 4}, "logs");
  const TensorId targets = builder->addInputTensor("UINT32", {2, 2}, "targets");
  const TensorId lengths = builder->addInputTensor("UINT32", {2}, "lengths");
  const TensorId ctc = aiGraphcore.ctcloss({logs, targets, lengths, lengths});
  CHECK(contains(error_of([&] { aiGraphcore.gelu({x, x}); }), "invalid number of inputs"));
  check_models({builder->getModelProto()});
}

TEST_CASE("builder: attributes that nothing reads are said to have no effect, once") {
  const std::string said = popart_test::printed([] {
    const auto builder = Builder::create();
    auto opset = builder->aiOnnxOpset10();
    const TensorId x = builder->addInputTensor(TensorInfo("FLOAT", Shape{2, 2}));
    const TensorId y = opset.matmul({x, x}), z = opset.matmul({y, y});
    builder->virtualGraph(y, 0);
    builder->pipelineStage(y, 0);
    builder->setEnableConvDithering(y, 1);
    builder->setEnableConvDithering(z, 1);
  });
  CHECK(std::count(said.begin(), said.end(), '\n') == 1);
  CHECK(contains(said, "popart:builder"));
  CHECK(contains(said, " W: The attribute __enable_conv_dithering has no effect: "));
}
