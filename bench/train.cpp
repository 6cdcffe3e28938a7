// One training step (gradients and the optimizer's update) of whole networks with random weights,
// each in a process of its own, beside the better of PyTorch's eager and compiled networks where it
// is installed: bench-train [NETWORK...] in the project's root; HALFTONE_PYTHON names a Python that
// has PyTorch (python3). Times are the best of many steps, three times in turns with PyTorch's
// processes; memory is what a process takes beyond its libraries.
#include <halftone/train.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "measure.hpp"
#include "networks.hpp"

using namespace halftone;

namespace {

struct Network {
  const char* name;
  Graph (*make)();
  std::int64_t classes;
};
const Network all[]{
    {"mlp", [] { return networks::mlp(); }, 10},
    {"lenet", [] { return networks::lenet(); }, 10},
    {"resnet18", [] { return networks::resnet18(); }, 10},
    {"mobilenet", [] { return networks::mobilenet(8, 112); }, 1000},
    {"encoder", [] { return networks::classifier(); }, 2},
    {"long_encoder", [] { return networks::classifier(1, 2048, 256); }, 2},
    {"dropout_encoder", [] { return networks::classifier(2, 512, 768, 0.1f); }, 2},
    {"lstm", [] { return networks::lstm(); }, 10},
};

/// What a process found: seconds of a step, megabytes. 0: nothing.
struct Found {
  double seconds = 0, megabytes = 0;
  std::string mode{}, version{};  ///< PyTorch's
};

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Found measure(const Network& network, bool with_adam, int threads) {
  const double before = peak_megabytes();
  Graph g = network.make();
  const AnyTensor logits = g["logits"];
  const std::int64_t batch = logits.info().shape[0];
  const AnyTensor label = g.input<std::int32_t>("label", {batch});
  const AnyTensor loss = op::nll_loss(op::softmax(logits), label);
  if (with_adam) {
    train(g, loss, Adam{.learning_rate = 1e-4f});
  } else {
    train(g, loss, Sgd{.learning_rate = 1e-3f, .momentum = 0.9f});
  }
  Session session(std::move(g), {.outputs = {loss}, .threads = threads});
  Array<float> x(session.inputs()[0].info.shape);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 255) / 128 - 1;
  Array<std::int32_t> labels({batch});
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % network.classes);
  }
  const std::string name(session.inputs()[0].name);
  double least = 1e9;
  const double begin = bench::now();
  for (int i = 0; i < 20 || (bench::now() - begin < 2 && i < 1000); ++i) {
    const double start = bench::now();
    session.run({{name, x}, {"label", labels}});
    least = std::min(least, bench::now() - start);
  }
  return {least, peak_megabytes() - before};
}

Found in_child(const Network& network, bool with_adam, int threads) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  std::fflush(stdout);
  const pid_t child = fork();
  double numbers[2];
  if (child == 0) {
    const Found found = measure(network, with_adam, threads);
    numbers[0] = found.seconds;
    numbers[1] = found.megabytes;
    const bool is_written = write(ends[1], numbers, sizeof numbers) == sizeof numbers;
    _exit(is_written ? 0 : 1);
  }
  close(ends[1]);
  Found found;
  if (read(ends[0], numbers, sizeof numbers) == sizeof numbers) found = {numbers[0], numbers[1]};
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return found;
}

/// The same by PyTorch: bench/train_torch.py prints seconds, megabytes and its version.
Found of_torch(const Network& network, bool with_adam, int threads, const char* mode) {
  const char* const python = std::getenv("HALFTONE_PYTHON");
  const std::string command = std::string(python != nullptr ? python : "python3") +
                              " bench/train_torch.py " + network.name +
                              (with_adam ? " adam " : " sgd ") + std::to_string(threads) + " " +
                              mode + " 2>/dev/null";
  std::FILE* const pipe = popen(command.c_str(), "r");
  Found found;
  if (pipe == nullptr) return found;
  char version[64] = "";
  if (std::fscanf(pipe, "%lf %lf %63s", &found.seconds, &found.megabytes, version) != 3) found = {};
  pclose(pipe);
  found.mode = mode;
  found.version = version;
  return found;
}

/// The faster one of two that were found.
Found better(const Found& a, const Found& b) {
  return a.seconds == 0 || (b.seconds != 0 && b.seconds < a.seconds) ? b : a;
}

}  // namespace

int main(int count, char** arguments) {
  std::printf(
      "| network | optimizer | threads | halftone ms | PyTorch ms | as fast | halftone MB | "
      "PyTorch MB |\n|---|---|---|---|---|---|---|---|\n");
  double logarithms = 0, least = 1e9;
  int rows = 0;
  std::string version;
  for (const Network& network : all) {
    const bool is_wanted = count < 2 || std::any_of(
                                            arguments + 1, arguments + count,
                                            [&](const char* argument) {
                                              return std::strcmp(argument, network.name) == 0;
                                            });
    if (!is_wanted) continue;
    for (const bool with_adam : {false, true}) {
      for (const int threads : {1, 2}) {
        Found ours, torch;
        for (int round = 0; round < 3; ++round) {
          ours = better(ours, in_child(network, with_adam, threads));
          if (ours.seconds == 0) return 1;
          for (const char* const mode : {"eager", "compiled"}) {
            torch = better(torch, of_torch(network, with_adam, threads, mode));
          }
        }
        std::printf("| %s | %s | %d | %.2f |", network.name, with_adam ? "Adam" : "SGD", threads,
                    1e3 * ours.seconds);
        if (torch.seconds > 0) {
          const double ratio = torch.seconds / ours.seconds;
          logarithms += std::log(ratio);
          least = std::min(least, ratio);
          ++rows;
          version = torch.version;
          std::printf(" %.2f, %s | %.2f | %.0f | %.0f |\n", 1e3 * torch.seconds, torch.mode.c_str(),
                      ratio, ours.megabytes, torch.megabytes);
        } else {
          std::printf(" | | %.0f | |\n", ours.megabytes);
        }
        std::fflush(stdout);
      }
    }
  }
  if (rows == 0) return 0;
  std::printf("\nPyTorch %s; geometric mean %.3f, smallest %.2f\n", version.c_str(),
              std::exp(logarithms / rows), least);
}
