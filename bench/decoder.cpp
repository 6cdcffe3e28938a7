// A step of a decoder of 2 layers, GPT-2's width, by the tokens before it: whose keys and values a run is
// given and gives back with one more, and whose keys and values stay on the machine. Beside each the
// time in which the machine reads the weights and the cache. One thread.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <halftone/halftone.hpp>

#include "measure.hpp"
#include "networks.hpp"

using namespace halftone;

namespace {

/// Seconds of a step, the best of many, with inputs of zeros but for the positions.
struct Step {
  Session session;
  std::vector<std::pair<std::string, AnyArray>> given{};
  std::int64_t calls = 1;
  double best = 1e9;

  Step(std::int64_t batch, std::int64_t past, bool keeps_cache)
      : session(networks::decoder(batch, past, keeps_cache)) {
    for (const Port& port : session.inputs()) {
      given.emplace_back(port.name, AnyArray(port.info));
      if (port.name != "positions") continue;
      for (std::int64_t& p : given.back().second.values<std::int64_t>()) p = past;
    }
  }
  void run() {
    std::vector<Input> inputs;
    for (const auto& [name, array] : given) inputs.push_back({name, array});
    const auto once = [&] { session.run(std::span<const Input>(inputs)); };
    best = std::min(best, bench::time_once(once, calls));
  }
};

}  // namespace

int main() {
  std::printf("%6s %7s %12s %12s %7s %12s %9s\n", "batch", "tokens", "given, ms", "kept, ms",
              "ratio", "reading, ms", "of kept");
  for (const std::int64_t batch : {1, 8}) {
    for (const std::int64_t past : {127, 511, 2047}) {
      Step back(batch, past, false), kept(batch, past, true);
      double bytes = 0;
      for (const TensorRecord& t : networks::decoder(batch, past, true).tensors) {
        if (is_variable(t)) bytes += static_cast<double>(t.info.bytes());
      }
      const bench::Buffer<float> memory(static_cast<std::int64_t>(bytes / sizeof(float)), 1);
      double rate = 0;
      for (int round = 0; round < 20; ++round) {
        back.run();
        kept.run();
        rate = std::max(rate, bench::read_rate(memory));
      }
      const double reading = bytes / rate * 1e-9;
      std::printf("%6d %7d %12.3f %12.3f %7.2f %12.3f %9.2f\n", static_cast<int>(batch),
                  static_cast<int>(past + 1), 1e3 * back.best, 1e3 * kept.best,
                  back.best / kept.best, 1e3 * reading, reading / kept.best);
    }
  }
}
