// Nanoseconds a run of MODEL, as a static program and in a session: the medians of rounds that
// alternate, so that both see the same machine.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <halftone/session/session.hpp>

#include "models.hpp"

namespace {

Static<MODEL> program;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
double nanoseconds(auto&& run, int count) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) run();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start)
             .count() /
         count;
}

}  // namespace

int main() {
  static float x[1 << 16];
  for (int i = 0; i < 1 << 16; ++i) x[i] = static_cast<float>(i % 17) / 16;
  const auto of = [](std::size_t input) {
    return std::span<const float>(x,
                                  static_cast<std::size_t>(program.input_info(input).elements()));
  };
  const auto run = [&] {
    if constexpr (program.inputs == 1) {
      program.run(of(0));
    } else {
      program.run(of(0), of(1));
    }
  };
  Graph graph;
  MODEL::build(graph);
  Session session(std::move(graph), {.threads = 1});
  std::vector<Input> inputs;
  for (const Port& port : session.inputs()) inputs.emplace_back(port.name, AnyView{port.info, x});
  const auto run_session = [&] { session.run(inputs); };

  run(), run_session();
  const int count = std::max(1, static_cast<int>(2e6 / nanoseconds(run_session, 20)));
  std::vector<double> own, others;
  for (int round = 0; round < 60; ++round) {
    own.push_back(nanoseconds(run, count));
    others.push_back(nanoseconds(run_session, count));
  }
  std::printf("%10.0f ns  Session %10.0f ns  %.2f times its time\n", median(own), median(others),
              median(own) / median(others));
}
