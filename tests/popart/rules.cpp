// Settings that make no sense are errors, in PopART's words where it has them; settings that have no
// effect are said once, as warnings on standard error.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "errors.hpp"
#include "popart/settings.hpp"
#include "step.hpp"

using namespace popart;
using namespace popart_test;

namespace {

std::shared_ptr<DeviceInfo> ipus(const std::string& count) {
  std::map<std::string, std::string> options{{"numIPUs", count}};
  return DeviceManager::createDeviceManager().createIpuModelDevice(options);
}

struct Network {
  std::unique_ptr<Builder> builder = Builder::create();
  TensorId x, y, z;
  explicit Network(const InputSettings& settings = {}) {
    auto aiOnnx = builder->aiOnnxOpset9();
    x = builder->addInputTensor(TensorInfo{"FLOAT", Shape{2}}, settings, "x");
    y = aiOnnx.exp({x}, "y");
    z = aiOnnx.exp({y}, "z");
  }
  std::unique_ptr<InferenceSession> session(const SessionOptions& options,
                                            std::shared_ptr<DeviceInfo> device = cpu(),
                                            const AnchorReturnType& type = {"All"}) const {
    return InferenceSession::createFromOnnxModel(builder->getModelProto(), DataFlow(1, {{z, type}}),
                                                 std::move(device), {}, options);
  }
};

std::string refusal(const std::function<void(SessionOptions&)>& change) {
  SessionOptions options;
  change(options);
  return error_of([&] { Network().session(options); });
}

}  // namespace

TEST_CASE("popart rules: options whose values make no sense") {
  CHECK(is(refusal([](auto& o) { o.engineOptions["autoReport.all"] = "maybe"; }), "error",
           "The engine option autoReport.all is 'maybe'"));
  CHECK(is(refusal([](auto& o) { o.engineOptions["nonsense"] = "true"; }), "error",
           "Unrecognised engine option 'nonsense'"));
  CHECK(is(refusal([](auto& o) { o.kahnTieBreaker = "nonsense"; }), "error",
           "KahnTieBreaker 'nonsense'"));
  for (const char* known : {"FIFO", "Greedy", "random"}) {
    CHECK(refusal([&](auto& o) { o.kahnTieBreaker = known; }) == "no error");
  }
  CHECK(is(refusal([](auto& o) { o.customCodelets = {"not there.cpp"}; }), "error",
           "not there.cpp does not exist"));
  CHECK(is(refusal([](auto& o) { o.autoRecomputation = RecomputationType::Pipeline; }), "error",
           "Invalid RecomputationType::Pipeline in autoAnnotate"));
  CHECK(is(refusal([](auto& o) { o.automaticLossScalingSettings.enabled = true; }), "error",
           "[AutomaticLossScale]"));
}

TEST_CASE("popart rules: transfers that overlap what they cannot") {
  for (const ExchangeStrategy strategy :
       {ExchangeStrategy::OverlapStep, ExchangeStrategy::OverlapLoops}) {
    const char* const text =
        strategy == ExchangeStrategy::OverlapStep ? "OverlapStep" : "overlapped IO needs";
    const InputSettings input(TileSet::Compute, strategy);
    CHECK(is(error_of([&] { Network(input).session({}); }), "error", text));
    const AnchorReturnType anchor("All", TileSet::Compute, strategy);
    CHECK(is(error_of([&] { Network().session({}, cpu(), anchor); }), "error", text));
  }
}

TEST_CASE("popart rules: all nodes have virtual graphs, or none") {
  Network network;
  SessionOptions options;
  options.virtualGraphMode = VirtualGraphMode::Manual;
  CHECK(error_of([&] { network.session(options, ipus("2")); }) == "no error");
  network.builder->virtualGraph(network.y, 0);
  CHECK(is(error_of([&] { network.session(options, ipus("2")); }), "error",
           "Only some ops have had their virtual graph id set"));
  network.builder->virtualGraph(network.z, 1);
  CHECK(error_of([&] { network.session(options, ipus("2")); }) == "no error");
}

TEST_CASE("popart rules: automatic and manual recomputation exclude each other") {
  Network network;
  network.builder->recomputeOutputInBackwardPass(network.y);
  SessionOptions options;
  options.autoRecomputation = RecomputationType::Standard;
  auto aiOnnx = network.builder->aiOnnxOpset9();
  const TensorId loss = aiOnnx.reducesum({network.z}, std::vector<int64_t>{0}, 0);
  CHECK(is(error_of([&] {
             TrainingSession::createFromOnnxModel(network.builder->getModelProto(), DataFlow(1),
                                                  loss, ConstSGD(1), cpu(), {}, options);
           }),
           "error", "A mixture of auto and manual recompute annotation is not supported"));
}

TEST_CASE("popart rules: what has no effect is said once, and is true of the device") {
  SessionOptions options;
  options.outlineSequenceBreakCost = 5;
  options.matmulOptions["partialsType"] = "half";
  options.engineOptions["opt.maxCopyMergeSize"] = "1";
  const auto lines = [&](std::shared_ptr<DeviceInfo> device) {
    const std::string text = printed([&] {
      Network().session(options, device);
      Network().session(options, device);
    });
    CHECK(contains(text, "popart:session"));
    CHECK(contains(text, "SessionOptions::outlineSequenceBreakCost has no effect: "));
    CHECK(contains(text, "popart:devicex"));
    CHECK(contains(text, "The engine option opt.maxCopyMergeSize has no effect: "));
    const bool isCpu = device->getType() == DeviceType::Cpu;
    CHECK(contains(text, "SessionOptions::matmulOptions has no effect on the cpu device: ") ==
          isCpu);
    return std::count(text.begin(), text.end(), '\n');
  };
  CHECK(lines(cpu()) == 3);
  CHECK(lines(ipus("1")) == 2);
  CHECK(printed([] { Network().session({}); }).empty());
}

TEST_CASE("popart rules: the documentation has the library's tables") {
  std::ifstream file("include/popart/README.md");
  std::ostringstream text;
  text << file.rdbuf();
  INFO("build/halftone ops --popart prints what belongs between the two marks in the file");
  CHECK(contains(text.str(),
                 "<!-- halftone ops --popart -->\n" + detail::settingsText() + "<!-- end -->\n"));
}
