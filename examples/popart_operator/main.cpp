// An operator of the program's own in a PopART program: its struct is all there is to write. A builder
// adds it, and a training session differentiates and runs it.
#include <cstdio>
#include <halftone/halftone.hpp>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/registeroperators.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <popart/stepio.hpp>

namespace mine {

/// y = x, or alpha * x where x is negative, element by element.
struct LeakyRelu {
  float alpha = 0.01f;

  static constexpr halftone::OpId id{"custom.ops", "LeakyRelu", 1};
  static constexpr halftone::Signature signature = "x -> y";
  constexpr void attributes(auto&& visit) { visit("alpha", alpha); }
  constexpr auto forward(auto x) const { return halftone::select(x < 0, x * alpha, x); }
  constexpr auto backward(auto dy, auto x) const { return halftone::select(x < 0, dy * alpha, dy); }
};
using ops = halftone::builtin::with<LeakyRelu>;

}  // namespace mine

int main() {
  popart::registerOperators(mine::ops::table);

  // The loss is the sum of leaky(w * x).
  auto builder = popart::Builder::create();
  auto aiOnnx = builder->aiOnnxOpset10();
  const popart::TensorInfo info("FLOAT", popart::Shape{2});
  const popart::TensorId x = builder->addInputTensor(info, "x");
  const float start[] = {1, -2};
  const popart::TensorId w = builder->addInitializedInputTensor({start, info}, "w");
  const popart::TensorId y = builder->customOp({"custom.ops", "LeakyRelu", 1}, 1,
                                               {aiOnnx.mul({w, x})}, 1, {{"alpha", 0.25f}})[0];
  const popart::TensorId loss = aiOnnx.reducesum({y}, std::vector<int64_t>{0}, 0);

  auto session = popart::TrainingSession::createFromOnnxModel(
      builder->getModelProto(), popart::DataFlow(1, {{w, popart::AnchorReturnType("Final")}}), loss,
      popart::ConstSGD(0.5f), popart::DeviceManager::createDeviceManager().createCpuDevice());
  session->prepareDevice();
  session->weightsFromHost();

  float ones[] = {1, 1}, trained[2];
  popart::NDArrayWrapper<float> in(ones, {2}), out(trained, {2});
  std::map<popart::TensorId, popart::IArray&> inputs{{x, in}}, outputs{{w, out}};
  for (int i = 0; i < 2; ++i) {
    popart::StepIO io(inputs, outputs);
    session->run(io);
    std::printf("w = %g %g\n", trained[0], trained[1]);
  }
  // The gradient is 1 where w x is positive, else 0.25; at 0.5 and -2.125 it still is.
  return trained[0] == 0 && trained[1] == -2.25f ? 0 : 1;
}
