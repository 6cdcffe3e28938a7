// Whole networks with random weights: bench-networks FOLDER writes them there as ONNX files (for
// the program as well: halftone bench FOLDER/resnet50.onnx) and measures, each in a process of its
// own, the time from file to ready, one run, and the peak memory. One thread.
#include "networks.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "measure.hpp"

using namespace halftone;

namespace {

struct Network {
  const char* name;
  Graph graph;
};

/// Multiplications and additions of a run, in 10^9: what the operators say of themselves.
double gflop(const Graph& graph) {
  double sum = 0;
  const auto info = [&](TensorId id) {
    return id == no_tensor ? TensorInfo{} : graph.tensors[static_cast<std::size_t>(id)].info;
  };
  for (const Node& node : graph.nodes) {
    std::vector<TensorInfo> in, out;
    for (const TensorId id : node.inputs) in.push_back(info(id));
    for (const TensorId id : node.outputs) out.push_back(info(id));
    sum += static_cast<double>(node.op->flops(node.attributes, in, out));
  }
  return sum * 1e-9;
}

/// Kilobytes.
long peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// In a child process.
int measure(const char* name, const std::string& path, double gflop, double weights_mb) {
  const long before = peak_memory();
  const double begin = bench::now();
  Session session(onnx::load(path));
  const double ready = bench::now() - begin;
  std::vector<std::pair<std::string, AnyArray>> given;
  for (const Port& port : session.inputs()) {
    given.emplace_back(port.name, AnyArray(port.info));
    if (port.info.type != ElementType::float32) continue;
    float value = 0;
    for (float& x : given.back().second.values<float>()) {
      x = value;
      value = value < 1 ? value + 1.f / 255 : 0;
    }
  }
  std::vector<Input> inputs;
  for (const auto& [input, array] : given) inputs.push_back({input, array});
  double least = 1e9, peak = 0;
  for (int i = 0; i < 20; ++i) {
    const double start = bench::now();
    session.run(std::span<const Input>(inputs));
    const double seconds = bench::now() - start;
    least = seconds < least ? seconds : least;
    const double rate = bench::fma_rate<float>();
    peak = rate > peak ? rate : peak;
  }
  const double used = static_cast<double>(peak_memory() - before) / 1024;
  std::printf(
      "%-12s ready %6.3f s   run %7.2f ms  %6.1f GFLOP/s  %3.0f %% of peak   "
      "memory %4.0f MB, %.2f times the weights\n",
      name, ready, 1e3 * least, gflop / least, 100 * gflop / least / peak, used, used / weights_mb);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string folder = count > 1 ? arguments[1] : "/tmp";
  Network all[]{{"resnet18", networks::resnet18(1, 224)},
                {"resnet50", networks::resnet50()},
                {"vgg11", networks::vgg11()},
                {"alexnet_b4", networks::alexnet()},
                {"mobilenet", networks::mobilenet()},
                {"encoder", networks::encoder()},
                {"decoder", networks::decoder()},
                {"lstm", networks::lstm()}};
  for (Network& network : all) {
    double weights = 0;
    for (const TensorRecord& t : network.graph.tensors) {
      if (t.role == Role::variable) weights += static_cast<double>(t.info.bytes()) / (1 << 20);
    }
    const std::string path = folder + "/" + network.name + ".onnx";
    const double work = gflop(network.graph);
    // The writer gives variables the values of their rules.
    onnx::save(Session(std::move(network.graph)).graph(), path);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const int result = measure(network.name, path, work, weights);
      std::fflush(stdout);
      _exit(result);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return 1;
  }
}
