// What the optimizers compute when their numbers change, and the types of their state. The expected
// numbers come from the formulas of PopART's documentation, written out here.
#include <doctest/doctest.h>

#include <cmath>
#include <popart/adam.hpp>
#include <popart/adaptive.hpp>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/half.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <string>
#include <vector>

#include "errors.hpp"
#include "step.hpp"

using namespace popart;
using namespace popart_test;

namespace {

/// l = sum(w x), so that the gradient of w is x.
std::unique_ptr<TrainingSession> session(const Optimizer& optimizer,
                                         const SessionOptions& options = {}) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorInfo info{"FLOAT", Shape{2}};
  const TensorId x = builder->addInputTensor(info, "x");
  const float data[] = {1, -2};
  const TensorId w = builder->addInitializedInputTensor({data, info}, "w");
  const TensorId l = aiOnnx.reducesum({aiOnnx.mul({w, x})}, std::vector<int64_t>{0}, 0, "l");
  auto made = TrainingSession::createFromOnnxModel(builder->getModelProto(), DataFlow(1), l,
                                                   optimizer, cpu(), {}, options);
  made->prepareDevice();
  made->weightsFromHost();
  return made;
}

struct Numbers {
  float lr, wd, mm, dm, vs, ls;
};

/// The learning rate and the momentum may change, weight decay as `decays` says; the others may not.
SGD sgd(const Numbers& n, bool decays, bool nesterov, SGDAccumulatorAndMomentum form) {
  return SGD({n.lr, false}, {n.wd, !decays}, {n.mm, false}, {n.dm, true}, {n.vs, true},
             {n.ls, true}, {nesterov ? 1.f : 0.f, true}, {}, form);
}

}  // namespace

// Combined, in each step: v += (1-dm) vs g, w -= lr/vs v, then v = mm v + (1-dm) wd vs w, which the
// next step starts with. Separate: v = mm v + (1-dm) (wd w + g) vs, w -= lr/vs v. With Nesterov w goes
// down by lr (g + wd w + mm v / vs), where v has the gradient.
TEST_CASE("popart optimizers: both forms of SGD when numbers change between steps") {
  using Form = SGDAccumulatorAndMomentum;
  for (const Form form : {Form::Combined, Form::Separate}) {
    for (const bool nesterov : {false, true}) {
      for (const bool decays : {false, true}) {
        for (const int accumulation : {1, 2}) {
          const float dm = nesterov ? 0.f : 0.25f;
          std::vector<Numbers> steps = {{0.5f, 0.125f, 0.5f, dm, 2, 4},
                                        {0.25f, 0.5f, 0.75f, dm, 2, 4},
                                        {0.125f, 0.25f, 0.25f, dm, 2, 4},
                                        {0.5f, 0.5f, 0.5f, dm, 2, 4}};
          if (!decays) {
            for (Numbers& n : steps) n.wd = 0.125f;
          }
          SessionOptions options;
          options.enableGradientAccumulation = accumulation > 1;
          options.accumulationFactor = accumulation;
          auto s = session(sgd(steps[0], decays, nesterov, form), options);
          double w[] = {1, -2}, v[2];
          for (int i = 0; i < 2; ++i) {
            const Numbers& n = steps[0];
            v[i] = form == Form::Combined ? (1 - n.dm) * n.wd * n.vs * w[i] : 0;
          }
          for (std::size_t t = 0; t < steps.size(); ++t) {
            const Numbers& n = steps[t];
            const SGD next = sgd(n, decays, nesterov, form);
            s->updateOptimizerFromHost(&next);
            std::vector<float> x;
            for (int k = 0; k < accumulation; ++k) {
              x.push_back(static_cast<float>(t + 1));
              x.push_back(static_cast<float>(k) - 1.5f);
            }
            step(*s, {{"x", x}}, {});
            for (int i = 0; i < 2; ++i) {
              double g = 0;
              for (int k = 0; k < accumulation; ++k) g += x[static_cast<std::size_t>(2 * k + i)];
              if (form == Form::Separate) {
                v[i] = n.mm * v[i] + (1 - n.dm) * n.wd * n.vs * w[i];
              }
              v[i] += (1 - n.dm) * n.vs * g;
              w[i] -= n.lr * (nesterov ? g + n.wd * w[i] + n.mm * v[i] / n.vs : v[i] / n.vs);
              if (form == Form::Combined) v[i] = n.mm * v[i] + (1 - n.dm) * n.wd * n.vs * w[i];
            }
            const std::vector<float> weights = weight(*s, "w");
            const std::vector<float> velocity =
                weight(*s, form == Form::Combined ? "Accl___w" : "Accl1___w");
            for (std::size_t i = 0; i < 2; ++i) {
              CHECK(weights[i] == doctest::Approx(w[i]).epsilon(1e-5));
              CHECK(velocity[i] == doctest::Approx(v[i]).epsilon(1e-5));
            }
          }
        }
      }
    }
  }
}

// The law: after each step the state is what is computed of it in float, rounded to half.
TEST_CASE("popart optimizers: state of the types that are asked for") {
  const auto half = [](float x) { return static_cast<float>(float16_t(x)); };
  const std::map<std::string, std::pair<float, bool>> params{{"defaultLearningRate", {0.5f, true}}};
  const Adam adam(params, AdamMode::AdamNoBias, DataType::FLOAT16, DataType::FLOAT16,
                  DataType::FLOAT);
  SessionOptions options;
  options.enableGradientAccumulation = true;
  options.accumulationFactor = 2;
  auto s = session(adam, options);
  CHECK(s->getInfo("Accum___w").dataType() == DataType::FLOAT16);
  CHECK(s->getInfo("Accl1___w").dataType() == DataType::FLOAT16);
  CHECK(s->getInfo("Accl2___w").dataType() == DataType::FLOAT);
  float m = 0, v = 0;
  for (int t = 0; t < 3; ++t) {
    const float first = 1.0003f, second = 0.3337f * static_cast<float>(t);
    step(*s, {{"x", {first, 1, second, 1}}}, {});
    const float g = half(half(first) + second);
    m = half(0.9f * m + 0.1f * g);
    v = 0.999f * v + 0.001f * g * g;
    std::vector<float16_t> moment(2);
    MutableVoidData data;
    data.data = moment.data();
    data.info = s->getInfo("Accl1___w");
    WeightsIO io;
    io.insert("Accl1___w", data);
    s->weightsToHost();
    s->readWeights(io);
    CHECK(static_cast<float>(moment[0]) == m);
    CHECK(weight(*s, "Accl2___w")[0] == doctest::Approx(v).epsilon(1e-5));
  }
  const SGD separate({{"defaultMomentum", {0.5f, true}}}, {}, SGDAccumulatorAndMomentum::Separate,
                     DataType::FLOAT, DataType::FLOAT16);
  CHECK(session(separate)->getInfo("Accl1___w").dataType() == DataType::FLOAT16);
  const SGD combined({{"defaultMomentum", {0.5f, true}}}, {}, SGDAccumulatorAndMomentum::Combined,
                     DataType::FLOAT16, DataType::FLOAT16);
  CHECK(session(combined)->getInfo("Accl___w").dataType() == DataType::FLOAT);
  const Adaptive adaptive({{"defaultMomentum", {0.5f, true}}}, AdaptiveMode::CenteredRMSProp,
                          WeightDecayMode::Decay, DataType::FLOAT, DataType::FLOAT16,
                          DataType::FLOAT, DataType::FLOAT16);
  auto rms = session(adaptive);
  CHECK(rms->getInfo("Accl1___w").dataType() == DataType::FLOAT16);
  CHECK(rms->getInfo("Accl2___w").dataType() == DataType::FLOAT);
  CHECK(rms->getInfo("Accl3___w").dataType() == DataType::FLOAT16);
  // Replicas join sums in FLOAT; others are refused.
  options.enableReplicatedGraphs = true;
  options.replicatedGraphCount = 2;
  CHECK(is(error_of([&] { session(adam, options); }), "error", "replicas join sums of gradients"));
  CHECK(is(error_of([&] {
             Adam(params, AdamMode::Adam, DataType::INT32, DataType::FLOAT, DataType::FLOAT);
           }),
           "error", "accumType"));
}

// The law: where the state lies changes nothing, also where it starts with a decayed weight.
TEST_CASE("popart optimizers: a velocity that replicas share") {
  const SGD optimizer({{"defaultLearningRate", {0.5f, true}},
                       {"defaultMomentum", {0.5f, true}},
                       {"defaultWeightDecay", {0.25f, true}}});
  std::vector<std::vector<float>> results;
  for (const auto sharding : {ReplicatedTensorSharding::Off, ReplicatedTensorSharding::On}) {
    SessionOptions options;
    options.enableReplicatedGraphs = true;
    options.replicatedGraphCount = 2;
    for (TensorLocationSettings* settings :
         {&options.weightTensorLocationSettings, &options.optimizerStateTensorLocationSettings}) {
      settings->location.replicatedTensorSharding = sharding;
      settings->minElementsForReplicatedTensorSharding = 1;
    }
    auto s = session(optimizer, options);
    for (int t = 0; t < 2; ++t) step(*s, {{"x", {1, 2, 3, 4}}}, {});
    results.push_back(weight(*s, "w"));
    results.push_back(weight(*s, "Accl___w"));
  }
  CHECK(results[0] == results[2]);
  CHECK(results[1] == results[3]);
  // v0 = 0.25 w; v = v + 4; w = w - 0.5 v; v = 0.5 v + 0.25 w, twice, from w = 1.
  double w = 1, v = 0.25;
  for (int t = 0; t < 2; ++t) {
    v += 4;
    w -= 0.5 * v;
    v = 0.5 * v + 0.25 * w;
  }
  CHECK(results[0][0] == doctest::Approx(w));
  CHECK(results[1][0] == doctest::Approx(v));
}

TEST_CASE("popart optimizers: weights of FLOAT16 have state of their type, or FLOAT in replicas") {
  for (const bool hasReplicas : {false, true}) {
    auto builder = Builder::create();
    auto aiOnnx = builder->aiOnnxOpset9();
    const TensorInfo info{"FLOAT16", Shape{2}};
    const TensorId x = builder->addInputTensor(info, "x");
    const float16_t data[] = {1, -2};
    const TensorId w = builder->addInitializedInputTensor({data, info}, "w");
    const TensorId l = aiOnnx.reducesum({aiOnnx.mul({w, x})}, std::vector<int64_t>{0}, 0, "l");
    SessionOptions options;
    options.enableGradientAccumulation = true;
    options.accumulationFactor = 2;
    options.enableReplicatedGraphs = hasReplicas;
    options.replicatedGraphCount = hasReplicas ? 2 : 1;
    const SGD momentum({{"defaultLearningRate", {0.5f, true}}, {"defaultMomentum", {0.5f, true}}});
    auto s = TrainingSession::createFromOnnxModel(builder->getModelProto(), DataFlow(1), l,
                                                  momentum, cpu(), {}, options);
    s->prepareDevice();
    s->weightsFromHost();
    std::vector<float16_t> in(hasReplicas ? 8 : 4, float16_t(1));
    NDArrayWrapper<float16_t> array(in.data(), {static_cast<int64_t>(in.size())});
    std::map<TensorId, IArray&> inputs{{"x", array}}, none;
    StepIO io(inputs, none);
    s->run(io);
    const DataType expected = hasReplicas ? DataType::FLOAT : DataType::FLOAT16;
    CHECK(s->getInfo("Accl___w").dataType() == expected);
    CHECK(s->getInfo("Accum___w").dataType() == expected);
    std::vector<float16_t> trained(2);
    MutableVoidData values;
    values.data = trained.data();
    values.info = info;
    WeightsIO io2;
    io2.insert(w, values);
    s->weightsToHost();
    s->readWeights(io2);
    // w - 0.5 times the number of samples
    CHECK(static_cast<float>(trained[0]) == (hasReplicas ? -1 : 0));
  }
}
