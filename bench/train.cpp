// One training step (gradients and the optimizer's update) of whole networks with random weights,
// each in a process of its own, beside PyTorch where it is installed: bench-train [NETWORK...] in
// the project's root. Times are the best of many steps, three times in turns with PyTorch's
// process; memory is what the process takes beyond its libraries.
#include <halftone/train.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
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
    {"encoder", [] { return networks::classifier(); }, 2},
    {"lstm", [] { return networks::lstm(); }, 10},
};

/// What a process found: seconds of a step, megabytes. 0: nothing.
struct Found {
  double seconds = 0, megabytes = 0;
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
  if (child == 0) {
    const Found found = measure(network, with_adam, threads);
    const bool is_written = write(ends[1], &found, sizeof found) == sizeof found;
    _exit(is_written ? 0 : 1);
  }
  close(ends[1]);
  Found found;
  if (read(ends[0], &found, sizeof found) != sizeof found) found = {};
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return found;
}

/// The same by PyTorch: bench/train_torch.py prints seconds and megabytes.
Found of_torch(const Network& network, bool with_adam, int threads) {
  const std::string command = std::string("/usr/bin/python3 bench/train_torch.py ") + network.name +
                              (with_adam ? " adam " : " sgd ") + std::to_string(threads) +
                              " 2>/dev/null";
  std::FILE* const pipe = popen(command.c_str(), "r");
  Found found;
  if (pipe == nullptr) return found;
  if (std::fscanf(pipe, "%lf %lf", &found.seconds, &found.megabytes) != 2) found = {};
  pclose(pipe);
  return found;
}

/// The faster one of two that were found.
Found better(const Found& a, const Found& b) {
  return a.seconds == 0 || (b.seconds != 0 && b.seconds < a.seconds) ? b : a;
}

}  // namespace

int main(int count, char** arguments) {
  std::printf("%-10s %-5s %7s %12s %12s %8s %12s %12s\n", "network", "", "threads", "step ms",
              "torch ms", "faster", "memory MB", "torch MB");
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
          torch = better(torch, of_torch(network, with_adam, threads));
        }
        std::printf("%-10s %-5s %7d %12.2f", network.name, with_adam ? "adam" : "sgd", threads,
                    1e3 * ours.seconds);
        if (torch.seconds > 0) {
          std::printf(" %12.2f %7.2fx %12.0f %12.0f\n", 1e3 * torch.seconds,
                      torch.seconds / ours.seconds, ours.megabytes, torch.megabytes);
        } else {
          std::printf(" %12s %8s %12.0f %12s\n", "", "", ours.megabytes, "");
        }
        std::fflush(stdout);
      }
    }
  }
}
