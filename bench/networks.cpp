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
  double gflop;  ///< multiplications and additions of the convolutions and products
};

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
  const Port port = session.inputs()[0];
  Array<float> image(port.info.shape);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 255) / 255;
  double least = 1e9, peak = 0;
  for (int i = 0; i < 20; ++i) {
    const double start = bench::now();
    session.run({{port.name, image}});
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
  Network all[]{{"resnet50", networks::resnet50(), 8.18},
                {"alexnet_b4", networks::alexnet(), 5.71}};
  for (Network& network : all) {
    double weights = 0;
    for (const TensorRecord& t : network.graph.tensors) {
      if (t.role == Role::variable) weights += static_cast<double>(t.info.bytes()) / (1 << 20);
    }
    const std::string path = folder + "/" + network.name + ".onnx";
    // The writer gives variables the values of their rules.
    onnx::save(Session(std::move(network.graph)).graph(), path);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const int result = measure(network.name, path, network.gflop, weights);
      std::fflush(stdout);
      _exit(result);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return 1;
  }
}
