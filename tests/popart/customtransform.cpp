#include <popart/customtransform.hpp>

#include <doctest/doctest.h>

#include <halftone/halftone.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/stepio.hpp>

#include "ir_models.hpp"

using namespace popart_test;

namespace {

/// y = relu(x * w), as [4] numbers.
std::vector<float> run(const SessionOptions& options, std::string& types) {
  auto builder = Builder::create();
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId x = builder->addInputTensor(square_info, "x");
  const TensorId y = aiOnnx.relu({aiOnnx.mul({x, weight(*builder, "w")})}, "y");
  builder->addOutputTensor(y);
  auto session = InferenceSession::createFromOnnxModel(
      builder->getModelProto(), DataFlow(1, {{y, AnchorReturnType("All")}}), cpu(), {}, options);
  for (const Op* op : session->getIr().getOpSchedule()) types += op->opid.type + " ";
  session->prepareDevice();
  float in[] = {1, -1, 1, -1};
  std::vector<float> out(4);
  NDArrayWrapper<float> given(in, {2, 2}), returned(out.data(), {2, 2});
  std::map<TensorId, IArray&> inputs{{x, given}}, anchors{{y, returned}};
  StepIO io(inputs, anchors);
  session->run(io);
  return out;
}

}  // namespace

TEST_CASE("popart transforms: a program changes the graph of a session") {
  int calls = 0;
  registerTransform("relu is abs", [&](halftone::Graph graph) {
    ++calls;
    for (halftone::Node& node : graph.nodes) {
      if (node.op->id == halftone::op::Relu::id) {
        node.op = &halftone::descriptor<halftone::op::Abs>;
      }
    }
    return graph;
  });
  CHECK(is(error_of([] { registerTransform("relu is abs", {}); }), "error", "already"));
  SessionOptions options;
  std::string types;
  CHECK(run(options, types) == std::vector<float>{1, 0, 3, 0});
  CHECK(types == "MulLhsInplace ReluInplace ");
  CHECK(calls == 0);
  for (const char* point : {"Fwd0", "Final"}) {
    options.experimentalSettings.customTransformApplierSettings = {{point, {"relu is abs"}}};
    types.clear();
    CHECK(run(options, types) == std::vector<float>{1, 2, 3, 4});  // the weights are 1, 2, 3, 4
    CHECK(types == "MulLhsInplace Abs ");
  }
  CHECK(calls == 2);
  options.experimentalSettings.customTransformApplierSettings = {{"Fwd0", {"nothing"}}};
  CHECK(is(error_of([&] { run(options, types); }), "error", "Could not find the transform"));
  options.experimentalSettings.customTransformApplierSettings = {{"Fwd7", {"relu is abs"}}};
  CHECK(is(error_of([&] { run(options, types); }), "error", "no checkpoint 'Fwd7'"));
  options.experimentalSettings = {};
  options.experimentalSettings.createHostTransferableTensorWithOffset = true;
  CHECK(is(error_of([&] { run(options, types); }), "error", "host and device have one layout"));
}
