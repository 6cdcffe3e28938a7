// Patterns and orders: names, presets and classes are those of PopART's documentation; no set of
// patterns, and no order, changes a result.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/patterns/patterns.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "../../examples/popart_networks/networks.hpp"
#include "errors.hpp"
#include "popart/model.hpp"
#include "popart/rewrites.hpp"
#include "popart/settings.hpp"
#include "step.hpp"

using namespace popart;
using namespace popart_test;

namespace {

constexpr const char* switchable[] = {"ExpandCast",   "PreUniRepl",
                                      "PostNRepl",    "NegativeOneScale",
                                      "OpToIdentity", "TransposeToIdentityOrReshapePattern"};

struct Model {
  std::string proto;
  TensorId y, loss;
};

/// y = sum over rows of -(w x), by way of what the patterns look for.
Model model(const std::vector<std::string>& excluded = {}) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  auto aiGraphcore = builder->aiGraphcoreOpset1();
  const TensorInfo info{"FLOAT", Shape{2, 3}};
  const TensorId x = builder->addInputTensor(info, "x");
  const std::vector<float> data{1, 2, 3, 4, 5, 6};
  const TensorId w = builder->addInitializedInputTensor({data.data(), info}, "w");
  const TensorId product = aiOnnx.mul({w, x});
  const TensorId same = aiOnnx.identity({product});
  const TensorId turned = aiOnnx.transpose({same}, {1, 0});
  const TensorId back = aiOnnx.transpose({turned}, {1, 0});
  const TensorId shaped = builder->reshape_const(aiOnnx, {back}, {2, 3});
  const TensorId less = aiGraphcore.scale({shaped}, -1.f);
  const TensorId row = aiOnnx.slice({less}, {1}, {0}, {0});
  const std::vector<int64_t> extents{4, 3};
  const TensorId shape = aiOnnx.constant({extents.data(), TensorInfo{"INT64", Shape{2}}}, "shape");
  const TensorId more = aiOnnx.cast({aiOnnx.expand({row, shape})}, "FLOAT16");
  const TensorId wide = aiOnnx.cast({more}, "FLOAT");
  const TensorId y = aiOnnx.reducesum({wide}, std::vector<int64_t>{0}, 0, "y");
  const TensorId loss = aiOnnx.reducesum({less}, std::vector<int64_t>{0, 1}, 0, "l");
  if (!excluded.empty()) {
    for (const TensorId& id : {same, back, shaped, less, more})
      builder->excludePatterns(id, excluded);
  }
  return {builder->getModelProto(), y, loss};
}

detail::PatternCounts countsOf(const Model& m, const Patterns& patterns) {
  halftone::Graph graph = detail::readModel(m.proto);
  graph.outputs = {graph.find(m.y), graph.find(m.loss)};
  return detail::applyPatterns(graph, patterns, detail::nodeSettings(detail::GivenModel(m.proto)));
}

Values resultsOf(const Model& m, const Patterns& patterns, const SessionOptions& options = {}) {
  const DataFlow flow(1, {{m.y, AnchorReturnType("All")}, {m.loss, AnchorReturnType("All")}});
  auto session = TrainingSession::createFromOnnxModel(m.proto, flow, m.loss, ConstSGD(0.5f), cpu(),
                                                      {}, options, patterns);
  session->prepareDevice();
  session->weightsFromHost();
  Values values = step(*session, {{"x", {1, -2, 3, 0.5f, 2, 1}}}, {{m.y, 3}, {m.loss, 1}});
  values["w"] = weight(*session, "w");
  return values;
}

std::vector<std::string> orderOf(const std::string& tieBreaker, float priority) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(TensorInfo{"FLOAT", Shape{2}}, "x");
  const TensorId a = aiOnnx.exp({x}), b = aiOnnx.relu({x}), c = aiOnnx.neg({x});
  if (priority != 0) builder->addNodeAttribute(sSchedulePriority, priority, {b});
  const TensorId y = aiOnnx.sum({a, b, c});
  SessionOptions options;
  options.kahnTieBreaker = tieBreaker;
  if (tieBreaker != "greedy") options.swapLimitScheduler = 0;  // the order as it is found
  auto session = InferenceSession::createFromOnnxModel(
      builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}}), cpu(), {}, options);
  const auto json = nlohmann::json::parse(session->serializeIr(IrSerializationFormat::JSON));
  std::vector<std::string> types;
  for (const auto& op : json.at("maingraph")) {
    const std::string type = op.at("type");
    types.push_back(type.substr(0, type.find("Inplace")));  // whichever is the last to read x
  }
  types.resize(std::min<std::size_t>(types.size(), 3));
  return types;
}

}  // namespace

TEST_CASE("popart patterns: every one has a row, and presets differ by their classes") {
  CHECK(detail::patternTable().size() == 64);
  CHECK(Patterns().getSettings().size() == 64);
  for (const detail::SettingRow& row : detail::patternTable()) {
    CAPTURE(row.name);
    const bool canSwitch = std::find(std::begin(switchable), std::end(switchable),
                                     std::string(row.name)) != std::end(switchable);
    // The others rewrite the model; these change gradients, or what Ir shows.
    const std::string_view name = row.name;
    const bool isShown =
        name == "NlllWithSoftmaxGradDirect" || name == "SoftmaxGradDirect" || name == "InPlace";
    CHECK((row.status == detail::OptionStatus::effect) == (canSwitch || isShown));
    CHECK(std::string(row.text).size() > 8);
  }
  for (const char* late : {"SGD0Decompose", "AdamDecompose", "ViewSimplifyPattern"}) {
    CHECK(Patterns(PatternsLevel::Minimal).isPatternEnabled(late));
  }
  CHECK_FALSE(Patterns(PatternsLevel::Minimal).isPostNReplEnabled());
  CHECK(Patterns(PatternsLevel::Default).isPostNReplEnabled());
  CHECK_FALSE(Patterns(PatternsLevel::Default).isPatternEnabled("LSTMOp"));
  CHECK(Patterns(PatternsLevel::All).isPatternEnabled("LSTMOp"));
}

TEST_CASE("popart patterns: they are applied, switched off and excluded by node") {
  const Model m = model();
  const detail::PatternCounts counts = countsOf(m, Patterns());
  for (const char* name : switchable) {
    CAPTURE(name);
    Patterns one(PatternsLevel::Minimal);
    one.enablePattern(name, true);
    const detail::PatternCounts alone = countsOf(m, one);
    CHECK(alone.size() == 1);
    // Of the two conversions after one expansion, the second follows once the first is before it.
    CHECK(alone.at(name) == (std::string(name) == "ExpandCast" ? 2 : 1));
    CHECK(countsOf(model({name}), one).at(name) == 0);
    Patterns others;
    others.enablePattern(name, false);
    CHECK_FALSE(countsOf(m, others).contains(name));
    CHECK(counts.contains(name));
  }
  CHECK(countsOf(m, Patterns(PatternsLevel::Minimal)).empty());
}

TEST_CASE("law: results are equal with any set of patterns") {
  const Model m = model();
  const Values expected = resultsOf(m, Patterns(PatternsLevel::Minimal));
  // w - 0.5 * -x
  CHECK(expected.at("w") == std::vector<float>{1.5f, 1, 4.5f, 4.25f, 6, 6.5f});
  CHECK(expected.at(m.y) == std::vector<float>{-4, 16, -36});
  for (const PatternsLevel level : {PatternsLevel::Default, PatternsLevel::All}) {
    CHECK(resultsOf(m, Patterns(level)) == expected);
  }
  for (const char* name : switchable) {
    CHECK(resultsOf(m, Patterns(PatternsLevel::Minimal).enablePattern(name, true)) == expected);
    CHECK(resultsOf(m, Patterns().enablePattern(name, false)) == expected);
  }
  for (const char* order : {"fifo", "random"}) {
    SessionOptions options;
    options.kahnTieBreaker = order;
    CHECK(resultsOf(m, Patterns(), options) == expected);
  }
}

TEST_CASE("law: a network has equal results with any set of patterns") {
  NetworkBuilder encoder;
  encoder.encoder(2, 8, 1);
  const std::string proto = encoder.model();
  const halftone::Graph graph = detail::readModel(proto);
  const TensorId x(graph.name(graph.inputs[0])), y(graph.name(graph.outputs[0]));
  std::vector<float> in(static_cast<std::size_t>(graph.info(graph.inputs[0]).elements()));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 251) / 251;
  const auto size = static_cast<std::size_t>(graph.info(graph.outputs[0]).elements());
  const auto resultOf = [&](const Patterns& patterns) {
    auto session = InferenceSession::createFromOnnxModel(
        proto, DataFlow(1, {{y, AnchorReturnType("All")}}), cpu(), {}, {}, patterns);
    session->prepareDevice();
    session->weightsFromHost();
    return step(*session, {{x, in}}, {{y, size}}).at(y);
  };
  const std::vector<float> expected = resultOf(Patterns(PatternsLevel::Minimal));
  CHECK(std::isfinite(expected[0]));
  for (const PatternsLevel level : {PatternsLevel::Default, PatternsLevel::All}) {
    CHECK(resultOf(Patterns(level)) == expected);
  }
  for (const char* name : switchable) {
    CHECK(resultOf(Patterns(PatternsLevel::Minimal).enablePattern(name, true)) == expected);
  }
}

TEST_CASE("popart patterns: what is switched though it is built in, or has no subject, is said") {
  const std::string said = printed([] {
    resultsOf(model(), Patterns().enablePattern("SumToAdd", false).enablePattern("LSTMOp", true));
  });
  CHECK(contains(said, "popart:pattern"));
  CHECK(contains(said, "Switching these patterns on or off has no effect: "));
  CHECK(contains(said, "SumToAdd"));
  CHECK(contains(said, "LSTMOp"));
}

// Whoever became ready last is next (what PopART calls fifo); larger priorities go first.
TEST_CASE("popart schedule: tie breakers and priorities") {
  CHECK(orderOf("greedy", 0) == std::vector<std::string>{"Exp", "Relu", "Neg"});
  CHECK(orderOf("fifo", 0) == std::vector<std::string>{"Neg", "Relu", "Exp"});
  CHECK(orderOf("greedy", 1)[0] == "Relu");
  CHECK(orderOf("fifo", 1) == std::vector<std::string>{"Relu", "Neg", "Exp"});
  CHECK(orderOf("fifo", -1)[2] != "Exp");
  CHECK(orderOf("random", 0) == orderOf("Random", 0));
}

// The sum of bytes times steps falls with every move; in the end each big tensor is read right after
// it was made.
TEST_CASE("law: the more the scheduler moves nodes, the shorter tensors live") {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  std::vector<TensorId> big, small;
  for (int i = 0; i < 6; ++i) {
    const TensorId x = builder->addInputTensor(TensorInfo{"FLOAT", Shape{100}});
    big.push_back(aiOnnx.exp({x}));
  }
  for (const TensorId& id : big) {
    small.push_back(aiOnnx.reducesum({id}, std::vector<int64_t>{0}, 0));
  }
  const TensorId y = aiOnnx.sum(small);
  halftone::Graph graph = detail::readModel(builder->getModelProto());
  graph.outputs = {graph.find(y)};
  const auto ordered = [&](std::int64_t limit) {
    SessionOptions options;
    options.kahnTieBreaker = "random";
    options.swapLimitScheduler = limit;
    halftone::Graph g = graph;
    detail::orderNodes(g, options, {});
    return g;
  };
  const auto stepsOf = [&](const halftone::Graph& g) {
    int steps = 0;
    for (std::size_t i = 0; i < big.size(); ++i) {
      const auto placeOf = [&](const TensorId& id) {
        for (std::size_t n = 0; n < g.nodes.size(); ++n) {
          if (g.nodes[n].outputs[0] == g.find(id)) return static_cast<int>(n);
        }
        return -1;
      };
      const int here = placeOf(small[i]) - placeOf(big[i]);
      CHECK(here > 0);
      steps += here;
    }
    return steps;
  };
  int before = stepsOf(ordered(0));
  CHECK(before > 6);
  for (const std::int64_t limit : {1, 2, 1000}) {
    const int steps = stepsOf(ordered(limit));
    CHECK(steps <= before);
    before = steps;
  }
  CHECK(before == 6);
}

TEST_CASE("popart patterns: a list of names prints as a list, not as a set of patterns") {
  std::ostringstream text;
  text << std::vector<std::string>{"x", "y"} << Patterns({"OpToIdentity"});
  CHECK(text.str().starts_with("[x y]"));
}

// PopART's operators with the pattern and without it. The law: a loss falls the same way, but for rounding.
TEST_CASE(
    "popart patterns: a softmax and its loss have gradients of their own without the pattern") {
  for (const bool isLogarithm : {false, true}) {
    for (const ReductionType reduction : {ReductionType::Mean, ReductionType::Sum}) {
      auto builder = Builder::create();
      auto aiOnnx = builder->aiOnnxOpset9();
      const TensorInfo info{"FLOAT", Shape{3, 4}};
      const float start[] = {1, -2, 0.5f, 0.25f, 0, 1, 2, -1, 0.75f, 0.125f, -0.5f, 3};
      const TensorId w = builder->addInitializedInputTensor({start, info}, "w");
      const TensorId label = builder->addInputTensor("INT32", {3}, "label");
      const TensorId p = isLogarithm ? aiOnnx.logsoftmax({w}, 1) : aiOnnx.softmax({w}, 1);
      const TensorId loss =
          builder->aiGraphcoreOpset1().nllloss({p, label}, reduction, std::nullopt, isLogarithm);
      builder->addOutputTensor(loss);
      std::vector<std::vector<float>> weights;
      for (const bool isDirect : {true, false}) {
        Patterns patterns;
        patterns.enableSoftMaxGradDirect(isDirect).enableNlllWithSoftMaxGradDirect(false);
        const auto session = TrainingSession::createFromOnnxModel(
            builder->getModelProto(), DataFlow(1, {{loss, AnchorReturnType("All")}}), loss,
            ConstSGD(0.5f), cpu(), {}, {}, patterns);
        const Ir& ir = session->getIr();
        CHECK(ir.opsOfType(Onnx::CustomGradOperators::SoftmaxGradDirect).size() == isDirect);
        CHECK(ir.opsOfType(Onnx::CustomGradOperators::NllGrad).size() == !isDirect);
        const bool isWhole = !isDirect && !isLogarithm;
        CHECK(ir.opsOfType(Onnx::GradOperators::SoftmaxGrad).size() == isWhole);
        session->prepareDevice();
        session->weightsFromHost();
        std::vector<std::int32_t> labels{2, 0, 3};
        std::vector<float> value(1);
        NDArrayWrapper<std::int32_t> in(labels.data(), {3});
        NDArrayWrapper<float> out(value.data(), Shape{});
        for (int i = 0; i < 3; ++i) {
          StepIO io({{label, in}}, {{loss, out}});
          session->run(io);
        }
        session->weightsToHost();
        std::vector<float> after(12);
        WeightsIO read;
        read.insert("w", {after.data(), info});
        session->readWeights(read);
        weights.push_back(after);
      }
      for (std::size_t i = 0; i < 12; ++i) {
        CHECK(weights[0][i] == doctest::Approx(weights[1][i]).epsilon(1e-5));
      }
    }
  }
}
