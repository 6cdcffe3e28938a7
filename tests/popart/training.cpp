#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <popart/adam.hpp>
#include <popart/adaptive.hpp>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/graph.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <popart/stepio.hpp>
#include <span>
#include <string>
#include <vector>

#include "errors.hpp"

using namespace popart;
using namespace popart_test;

// The loss is l = sum(w * x), so that the gradient of w is x: numbers follow from the formulas of
// the optimizers (PopART's documentation; halftone/train.hpp has them).
namespace {

std::string model(TensorId* loss = nullptr) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{2}};
  const TensorId x = builder->addInputTensor(info, "x");
  const float data[] = {1, 2};
  const TensorId w = builder->addInitializedInputTensor({data, info}, "w");
  const TensorId l = aiOnnx.reducesum({aiOnnx.mul({w, x}, "y")}, std::vector<int64_t>{0}, 0, "l");
  builder->addOutputTensor(l);
  if (loss != nullptr) *loss = l;
  return builder->getModelProto();
}
const TensorId lossName = [] {
  TensorId loss;  // the builder may number the names that it is given
  model(&loss);
  return loss;
}();

struct Program {
  explicit Program(const Optimizer& optimizer, const SessionOptions& options = {}, int batches = 1,
                   std::map<TensorId, AnchorReturnType> anchors = {},
                   const std::string& proto = model())
      : session(TrainingSession::createFromOnnxModel(proto, DataFlow(batches, anchors), lossName,
                                                     optimizer, cpu(), {}, options)) {}
  void prepare() {
    session->prepareDevice();
    session->weightsFromHost();
  }
  void run(std::vector<float> x) {
    NDArrayWrapper<float> in(x.data(), {static_cast<int64_t>(x.size())});
    std::map<TensorId, IArray&> inputs = {{"x", in}}, outputs;
    StepIO io(inputs, outputs);
    session->run(io);
  }
  std::vector<float> read(const TensorId& id, std::size_t size = 2) {
    std::vector<float> values(size, -99.f);
    WeightsIO io;
    MutableVoidData data;
    data.data = values.data();
    data.info = session->getInfo(id);
    io.insert(id, data);
    session->weightsToHost();
    session->readWeights(io);
    return values;
  }
  std::unique_ptr<TrainingSession> session;
};

SGD sgd(float learningRate, bool isConst = true) {
  return SGD(std::map<std::string, std::pair<float, bool>>{
      {"defaultLearningRate", {learningRate, isConst}}});
}

}  // namespace

TEST_CASE("popart training: what must come before what") {
  Program p(sgd(0.5f));
  CHECK(is(error_of([&] { p.run({1, 1}); }), "runtime_error", "must be called before"));
  p.session->prepareDevice();
  CHECK(is(error_of([&] { p.run({1, 1}); }), "runtime_error", "Must call weightsFromHost before"));
  p.session->weightsFromHost();
  p.run({1, 2});
  CHECK(p.read("w") == std::vector<float>{0.5f, 1});
}

TEST_CASE("popart training: accumulation, anchors and return types") {
  for (const bool isMean : {false, true}) {
    for (const auto strategy : {MeanReductionStrategy::Post, MeanReductionStrategy::Running}) {
      SessionOptions options;
      options.enableGradientAccumulation = true;
      options.accumulationFactor = 2;
      options.accumulationAndReplicationReductionType =
          isMean ? ReductionType::Mean : ReductionType::Sum;
      options.meanAccumulationAndReplicationReductionStrategy = strategy;
      Program p(sgd(0.5f), options, 2,
                {{"Gradient___w", AnchorReturnType("All")},
                 {"w", AnchorReturnType("Final")},
                 {lossName, AnchorReturnType("Sum")}});
      p.prepare();
      std::vector<float> x = {1, 2, 3, 4, 1, 0, 1, 0}, gradient(8), w(2), loss(1);
      NDArrayWrapper<float> in(x.data(), {2, 2, 2}), g(gradient.data(), {2, 2, 2}),
          last(w.data(), {2}), sum(loss.data(), {1});
      std::map<TensorId, IArray&> inputs = {{"x", in}},
                                  outputs = {{"Gradient___w", g}, {"w", last}, {lossName, sum}};
      StepIO io(inputs, outputs);
      p.session->run(io);
      CHECK(gradient == x);
      // (1, 2) - 0.5 (4, 6) - 0.5 (2, 0), or means: half of that.
      CHECK(w == (isMean ? std::vector<float>{-0.5f, 0.5f} : std::vector<float>{-2, -1}));
      CHECK(p.read("w") == w);
    }
  }
}

TEST_CASE("popart training: hyperparameters that change, and those that may not") {
  SGD first(std::map<std::string, std::pair<float, bool>>{{"defaultLearningRate", {0.5f, false}},
                                                          {"lossScaling", {4, false}}});
  Program p(first);
  p.prepare();
  p.run({1, 2});
  CHECK(p.read("w") == std::vector<float>{0.5f, 1});
  SGD second(std::map<std::string, std::pair<float, bool>>{{"defaultLearningRate", {0.25f, false}},
                                                           {"lossScaling", {8, false}}});
  p.session->updateOptimizerFromHost(&second);
  p.run({1, 2});
  CHECK(p.read("w") == std::vector<float>{0.25f, 0.5f});
  // Copying weights leaves hyperparameters alone.
  p.session->weightsFromHost();
  p.run({1, 2});
  CHECK(p.read("w") == std::vector<float>{0, 0});

  const auto refused = [&](const Optimizer& other, std::string_view part) {
    const std::string text = error_of([&] { p.session->updateOptimizerFromHost(&other); });
    CHECK(is(text, "runtime_error", "New optimizer is not a valid replacement"));
    CHECK(is(text, "runtime_error", part));
  };
  refused(sgd(0.5f), "loss scaling");
  SGD momentum(second.learningRates().getDefault(), 0.f, 0.9f, 0.f, 1.f, second.lossScaling());
  refused(momentum, "momentum");
  SGD dampening(second.learningRates().getDefault(), 0.f, 0.f, 0.5f, 1.f, second.lossScaling());
  refused(dampening, "dampening");
  SGD specific = second;
  specific.insertSpecific("w", {{"learningRate", {1.f, false}}});
  refused(specific, "Other weights have specific values");
  SGD clipped(second.learningRates().getDefault(), 0.f, 0.f, 0.f, 1.f, second.lossScaling(),
              {ClipNormSettings::clipAllWeights(1)});
  refused(clipped, "clip norm");
  refused(SGD(std::map<std::string, std::pair<float, bool>>{{"defaultLearningRate", {0.25f, true}},
                                                            {"lossScaling", {8, false}}}),
          "learningRate");
  // What was refused changed nothing: the rate is still 0.25.
  p.run({1, 2});
  CHECK(p.read("w") == std::vector<float>{-0.25f, -0.5f});
  Program constant(sgd(0.5f));
  CHECK(is(error_of([&] {
             const SGD variable = sgd(0.5f, false);
             constant.session->updateOptimizerFromHost(&variable);
           }),
           "runtime_error", "learningRate"));
  refused(Adam({}, AdamMode::Adam, DataType::FLOAT, DataType::FLOAT, DataType::FLOAT), "types");
}

TEST_CASE("popart training: values of one weight, clipping") {
  SGD optimizer = sgd(0.5f);
  optimizer.insertSpecific("w", {{"momentum", {0.5f, true}}});
  CHECK(optimizer.learningRates().get("w").val() == 0.5f);
  CHECK(is(error_of([&] { optimizer.insertSpecific("w", {}); }), "error", "already"));
  CHECK(is(error_of([&] { optimizer.insertSpecific("v", {{"beta1", {0, true}}}); }), "error",
           "Invalid key"));
  SGD unknown = sgd(0.5f);
  unknown.insertSpecific("no weight", {{"momentum", {0.5f, true}}});
  CHECK(is(error_of([&] { Program p(unknown); }), "error", "no weight"));
  Program p(optimizer);
  p.prepare();
  p.run({1, 2});
  p.run({1, 2});
  // v = (1, 2), then 1.5 times that.
  CHECK(p.read("w") == std::vector<float>{-0.25f, -0.5f});
  // It has decayed for the next step.
  CHECK(p.read("Accl___w") == std::vector<float>{0.75f, 1.5f});

  // Nesterov: steps of 1 + 0.5 v instead of v, which is 1, then 1.5.
  for (const bool isGeneral : {false, true}) {
    const std::map<std::string, std::pair<float, bool>> params{
        {"defaultLearningRate", {0.5f, true}},
        {"defaultMomentum", {0.5f, true}},
        {"nesterov", {isGeneral ? 1.f : 0.f, false}}};
    SGD mixed(params), other(params);
    mixed.insertSpecific("w", {{"nesterov", {isGeneral ? 0.f : 1.f, false}}});
    other.insertSpecific("w", {{"nesterov", {isGeneral ? 1.f : 0.f, false}}});
    Program some(mixed);
    some.prepare();
    some.run({1, 2});
    some.run({1, 2});
    const float steps = isGeneral ? 1 + 1.5f : 1.5f + 1.75f;
    CHECK(some.read("w") == std::vector<float>{1 - 0.5f * steps, 2 - 0.5f * steps * 2});
    CHECK(is(error_of([&] { some.session->updateOptimizerFromHost(&other); }), "runtime_error",
             "Problem with nesterov"));
  }

  Program clipped(SGD(1.f, 0.f, 0.f, 0.f, 1.f, 2.f, {ClipNormSettings::clipWeights({"w"}, 5)}));
  clipped.prepare();
  clipped.run({6, 8});
  CHECK(clipped.read("w")[0] == doctest::Approx(1 - 3));
  CHECK(clipped.read("w")[1] == doctest::Approx(2 - 4));
  CHECK(is(error_of([] {
             SGD(1.f, 0.f, 0.f, 0.f, 1.f, 1.f,
                 {ClipNormSettings::clipAllWeights(1), ClipNormSettings::clipWeights({"w"}, 1)});
           }),
           "error", "Clipping all weights"));
}

TEST_CASE("popart training: a checkpoint goes on bit for bit") {
  const Adam adam({{"defaultLearningRate", {0.05f, false}}, {"defaultWeightDecay", {0.01f, true}}},
                  AdamMode::Adam, DataType::FLOAT, DataType::FLOAT, DataType::FLOAT);
  const auto batch = [](int i) {
    return std::vector<float>{std::sin(1.f + static_cast<float>(i)),
                              std::cos(static_cast<float>(i))};
  };
  Program whole(adam);
  whole.prepare();
  for (int i = 0; i < 3; ++i) whole.run(batch(i));
  const std::string path = "popart_checkpoint_test.onnx";
  whole.session->modelToHost(path);
  for (int i = 3; i < 6; ++i) whole.run(batch(i));

  Program again(adam, {}, 1, {}, path);
  again.prepare();
  for (int i = 3; i < 6; ++i) again.run(batch(i));
  for (const char* id : {"w", "Accl1___w", "Accl2___w"}) CHECK(again.read(id) == whole.read(id));
  CHECK(again.read("Step___w", 1) == std::vector<float>{6});

  // The weights of another model, without the optimizer's state.
  again.session->resetHostWeights(model());
  CHECK(is(error_of([&] { again.run({1, 1}); }), "runtime_error", "Must call weightsFromHost"));
  again.session->weightsFromHost();
  CHECK(again.read("w") == std::vector<float>{1, 2});
  std::remove(path.c_str());
}

TEST_CASE("popart training: what cannot be") {
  CHECK(is(error_of([] { sgd(0); }), "error", "zero learningRate"));
  CHECK(is(error_of([] { sgd(-1); }), "error", "learningRate"));
  CHECK(is(error_of([] { SGD(0.1f, 0.f, 0.9f, 0.5f, 1.f, 1.f, 1.f); }), "error", "Nesterov"));
  CHECK(is(error_of([] { ConstSGD(0.1f, 0, 0); }), "error", "loss scaling"));
  CHECK(is(error_of([] {
             Adaptive({}, AdaptiveMode::AdaDelta, WeightDecayMode::Decay, DataType::FLOAT,
                      DataType::FLOAT, DataType::FLOAT, DataType::FLOAT, true);
           }),
           "error", "rmspropTFVariant"));
  CHECK(is(error_of([] {
             TrainingSession::createFromOnnxModel(model(), DataFlow(1), "y", sgd(1), cpu());
           }),
           "error", "must be a scalar"));
  CHECK(is(error_of([] {
             TrainingSession::createFromOnnxModel(model(), DataFlow(1), "z", sgd(1), cpu());
           }),
           "error", "Loss tensor z"));
  CHECK(is(error_of([] { Program p(sgd(1), {}, 1, {{"Gradient___v", AnchorReturnType()}}); }),
           "error", "not in Ir Tensors"));
  SessionOptions options;
  options.enableLoadAndOffloadRNGState = true;
  Program p(sgd(1), options);
  CHECK(is(error_of([&] { p.session->setRNGState({1, 2}); }), "runtime_error",
           "received rngState of size 2"));
  p.prepare();
  const std::vector<uint32_t> state = p.session->getRNGState();
  p.session->setRNGState({5, 6, 0, 0, 5, 6, 0, 0});
  CHECK(p.session->getRNGState()[1] == 6);
  p.session->setRNGState(state);
  CHECK(p.session->getRNGState() == state);
}

TEST_CASE("popart training: callbacks instead of step IO, and what a session was made of") {
  const std::map<TensorId, AnchorReturnType> anchors{{"w", AnchorReturnType("All")},
                                                     {lossName, AnchorReturnType("All")}};
  Program p(sgd(0.5f), {}, 1, anchors);
  std::vector<float> seen;
  p.session->connectStreamToCallback("h2d_x", [](void* data) {
    static_cast<float*>(data)[0] = 1;
    static_cast<float*>(data)[1] = 2;
  });
  p.session->connectStreamToCallback("anchor_d2h_w", [&](void* data) {
    const float* w = static_cast<const float*>(data);
    seen.insert(seen.end(), w, w + 2);
  });
  p.session->connectStreamToCallback("anchor_d2h_" + lossName, [](void*) {});
  CHECK(is(error_of([&] { p.session->connectStreamToCallback("h2d_y", [](void*) {}); }),
           "runtime_error", "There is no stream"));
  p.prepare();
  std::map<TensorId, IArray&> none;
  StepIO io(none, none);
  p.session->run(io);
  p.session->run(io);
  CHECK(seen == std::vector<float>{0.5f, 1, 0, 0});

  const Ir& ir = p.session->getIr();
  CHECK(ir.isTraining());
  CHECK(ir.isAnchored("w"));
  CHECK(ir.containsTensor("Gradient___w"));
  CHECK(ir.getOptimizer().type_s() == "SGD");
  CHECK(ir.getModelInputIds() == std::vector<TensorId>{"x"});
  CHECK(ir.getOpSchedule().back()->outId(0) == "UpdatedVar___w");
  CHECK(is(error_of([&] {
             p.session->updateExternallySavedTensorLocations("not there", "not there either");
           }),
           "runtime_error", "does not exist"));
}

TEST_CASE("popart training: initializers in a file of their own move to another") {
  const std::string from = "popart-from.bin", to = "popart-to.bin", file = "popart-moved.onnx";
  for (const std::string& name : {from, to, file}) std::remove(name.c_str());
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{2}};
  const TensorId x = builder->addInputTensor(info, "x");
  const float data[] = {1, 2};
  const TensorId w = builder->addInitializedInputTensor({data, info}, "w");
  const TensorId v = builder->addInitializedInputTensor({data, info}, "v");
  const TensorId y = aiOnnx.add({aiOnnx.mul({w, x}), aiOnnx.mul({v, x})});
  const TensorId l = aiOnnx.reducesum({y}, std::vector<int64_t>{0}, 0, lossName);
  builder->addOutputTensor(l);
  CHECK(l == lossName);
  builder->saveInitializersExternally({w}, from);
  Program p(sgd(0.5f), {}, 1, {}, builder->getModelProto());
  const auto update = [&](const std::string& a, const std::string& b) {
    return error_of([&] { p.session->updateExternallySavedTensorLocations(a, b); });
  };
  CHECK(is(update(from, from), "runtime_error", "already exists"));
  CHECK(is(update(to, file), "runtime_error", "does not exist"));
  CHECK(is(update("README.md", to), "runtime_error", "No ONNX model initializers"));
  CHECK(update(from, to) == "no error");
  const auto bytes_of = [](const std::string& name) {
    std::ifstream stream(name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  CHECK(bytes_of(to) == bytes_of(from));
  p.prepare();
  p.run({1, 2});
  p.session->modelToHost(file);
  // w - 0.5 x, beside the model; the file that it came from is as it was.
  const std::vector<float> expected{0.5f, 1};
  const auto bytes = std::as_bytes(std::span(expected));
  CHECK(bytes_of(to) == std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const auto old = std::as_bytes(std::span(data));
  CHECK(bytes_of(from) == std::string(reinterpret_cast<const char*>(old.data()), old.size()));
  Program next(sgd(0.5f), {}, 1, {}, file);
  next.prepare();
  CHECK(next.read("w") == expected);
  CHECK(next.read("v") == expected);
  CHECK(is(error_of([&] { next.session->updateExternallySavedTensorLocations(to, to); }),
           "runtime_error", "already exists"));
  for (const std::string& name : {from, to, file}) std::remove(name.c_str());
}

TEST_CASE("popart training: weights go to the program and back") {
  Program p(sgd(0.5f));
  p.prepare();
  p.run({1, 2});
  std::vector<float> w = {8, 16};
  WeightsIO io;
  MutableVoidData data;
  data.data = w.data();
  data.info = p.session->getInfo("w");
  io.insert("w", data);
  p.session->writeWeights(io);
  p.session->weightsFromHost();
  p.run({1, 2});
  CHECK(p.read("w") == std::vector<float>{7.5f, 15});
  WeightsIO wrong;
  data.info = TensorInfo{"FLOAT", Shape{1}};
  wrong.insert("w", data);
  CHECK(is(error_of([&] { p.session->readWeights(wrong); }), "runtime_error",
           "sizes (in bytes) of src"));
  CHECK(is(error_of([&] { p.session->writeWeights(wrong); }), "runtime_error",
           "non matching tensor info"));
}

TEST_CASE("popart training: a step needs a batch") {
  auto session =
      TrainingSession::createFromOnnxModel(model(), DataFlow(0), lossName, sgd(1), cpu());
  CHECK(is(error_of([&] { session->prepareDevice(); }), "error",
           "'Batches per step' must be greater than zero"));
}

// The loss is the sum of dropout(w * x), so that a weight that is trained at rate 1 with x = 1 goes
// down by the mask / (1 - ratio).
TEST_CASE("popart training: a state of random numbers that is set again drops the same elements") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{64}};
  const TensorId x = builder->addInputTensor(info, "x");
  const std::vector<float> zeros(64);
  const TensorId w = builder->addInitializedInputTensor({zeros.data(), info}, "w");
  const TensorId y = aiOnnx.dropout({aiOnnx.mul({w, x})}, 1, 0.5f)[0];
  const TensorId l = aiOnnx.reducesum({y}, std::vector<int64_t>{0}, 0, lossName);
  builder->addOutputTensor(l);
  SessionOptions options;
  options.enableLoadAndOffloadRNGState = true;
  Program p(sgd(1), options, 1, {}, builder->getModelProto());
  p.prepare();
  const std::vector<float> ones(64, 1.f);
  const auto step = [&] {
    p.session->weightsFromHost();  // zeros again
    p.run(ones);
    std::vector<float> trained(64);
    WeightsIO io;
    MutableVoidData data;
    data.data = trained.data();
    data.info = info;
    io.insert("w", data);
    p.session->weightsToHost();
    p.session->readWeights(io);
    data.data = const_cast<float*>(zeros.data());
    WeightsIO back;
    back.insert("w", data);
    p.session->writeWeights(back);
    return trained;
  };
  p.session->setRandomSeed(5);
  const std::vector<float> first = step();
  const std::vector<uint32_t> state = p.session->getRNGState();
  const std::vector<float> second = step(), third = step();
  CHECK(first != second);
  CHECK(second != third);
  for (const float v : first) CHECK((v == 0 || v == -2));
  p.session->setRNGState(state);
  CHECK(step() == second);
  CHECK(step() == third);
}
