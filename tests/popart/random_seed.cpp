#include <doctest/doctest.h>

#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/error.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/stepio.hpp>
#include <vector>

using namespace popart;

namespace {

/// Two steps of y = normal numbers like x, twice in each step.
struct Program {
  Program() {
    auto builder = Builder::create();
    const TensorId x = builder->addInputTensor(TensorInfo{"FLOAT", Shape{4}}, "x");
    const TensorId y = builder->aiOnnxOpset9().randomnormallike({x});
    builder->addOutputTensor(y);
    name = y;
    session = InferenceSession::createFromOnnxModel(
        builder->getModelProto(), DataFlow(2, {{y, AnchorReturnType("All")}}),
        DeviceManager::createDeviceManager().createCpuDevice());
  }
  std::vector<float> run() {
    std::vector<float> x(8), y(8);
    NDArrayWrapper<float> in(x.data(), {2, 4}), out(y.data(), {2, 4});
    std::map<TensorId, IArray&> inputs = {{"x", in}}, anchors = {{name, out}};
    StepIO io(inputs, anchors);
    session->run(io);
    return y;
  }
  TensorId name;
  std::unique_ptr<InferenceSession> session;
};

}  // namespace

TEST_CASE("popart session: the random seed") {
  Program p;
  CHECK_THROWS_AS(p.session->setRandomSeed(1), runtime_error);
  p.session->prepareDevice();
  p.session->setRandomSeed(42);
  CHECK(p.session->getRandomSeed() == 42);
  const std::vector<float> first = p.run();
  const uint64_t seed = p.session->getRandomSeed();
  const std::vector<float> second = p.run();
  CHECK(first != second);
  // Each batch of a step has its own numbers.
  CHECK(std::vector<float>(first.begin(), first.begin() + 4) !=
        std::vector<float>(first.begin() + 4, first.end()));
  p.session->setRandomSeed(seed);
  CHECK(p.run() == second);
  p.session->setRandomSeed(42);
  CHECK(p.run() == first);
}
