// One of several processes with PopART's words: the loss is sum(w x), so that the gradient of w is x, and SGD's
// formula gives w after a step on all replicas' x, {k + 1, 10} for replica k of 4: (1, 2) - 0.5 (10, 40). Argument:
// the replicas of each process, then, if any, a file for the model, which is not trained then.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <popart/builder.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/ndarraywrapper.hpp>
#include <popart/session.hpp>
#include <popart/sgd.hpp>
#include <popart/stepio.hpp>
#include <string>
#include <vector>

using namespace popart;

int main(int argc, char** argv) {
  const int64_t local = std::atoi(argv[1]);
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  auto builder = Builder::create();
  const TensorInfo info{"FLOAT", Shape{2}};
  const TensorId x = builder->addInputTensor(info, "x");
  const float data[] = {1, 2};
  const TensorId w = builder->addInitializedInputTensor({data, info}, "w");
  auto aiOnnx = builder->aiOnnxOpset9();
  const TensorId l = aiOnnx.reducesum({aiOnnx.mul({w, x}, "y")}, std::vector<int64_t>{0}, 0, "l");
  builder->addOutputTensor(l);
  if (argc > 2) {
    builder->saveModelProto(argv[2]);
    return 0;
  }

  SessionOptions options;
  options.enableReplicatedGraphs = local > 1;
  options.replicatedGraphCount = local;
  options.enableDistributedReplicatedGraphs = true;
  options.globalReplicationFactor = 4;
  options.globalReplicaOffset = local * (rank != nullptr ? std::atoi(rank) : 0);
  try {
    const SGD sgd(
        std::map<std::string, std::pair<float, bool>>{{"defaultLearningRate", {0.5f, true}}});
    auto session = TrainingSession::createFromOnnxModel(
        builder->getModelProto(), DataFlow(1, {{w, AnchorReturnType("All")}}), l, sgd,
        DeviceManager::createDeviceManager().createCpuDevice(), {}, options);
    session->prepareDevice();
    session->weightsFromHost();
    std::vector<float> given, values(static_cast<std::size_t>(2 * local));
    for (int64_t k = 0; k < local; ++k) {
      given.push_back(static_cast<float>(options.globalReplicaOffset + k + 1));
      given.push_back(10);
    }
    const Shape shape = local > 1 ? Shape{local, 2} : Shape{2};
    NDArrayWrapper<float> in(given.data(), shape), out(values.data(), shape);
    std::map<TensorId, IArray&> inputs = {{x, in}}, outputs = {{w, out}};
    StepIO io(inputs, outputs);
    session->run(io);
    for (std::size_t k = 0; k < values.size(); k += 2) {
      if (values[k] == -4 && values[k + 1] == -18) continue;
      std::fprintf(stderr, "w is %g, %g\n", values[k], values[k + 1]);
      return 1;
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
