// emulator: trains a small network on an emulated IPU of headers alone, then prints what the machine
// did: no library, no file of a model.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>

#include <halftone/ipu/emulator.hpp>

using namespace halftone;

namespace {

constexpr int batch = 32, features = 16, classes = 4;

/// Two layers, the loss, its gradients and the updates of Adam.
struct Step {
  template <int In, int Out>
  static constexpr auto dense(Graph& g, auto x) {
    const auto w = parameter<float, Shape<In, Out>>(g, "w");
    const auto b = parameter<float, Shape<Out>>(g, "b", zeros);
    return op::matmul(x, w) + b;
  }
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<batch, features>>(g, "x");
    const auto label = input<std::int32_t, Shape<batch>>(g, "label");
    const auto hidden = op::relu(dense<features, 64>(g, x));
    const auto loss = op::nll_loss(op::softmax(dense<64, classes>(g, hidden)), label);
    output(g, loss, "loss");
    train(g, loss, Adam{.learning_rate = 0.02f});
  }
};

float x[batch * features];
std::int32_t label[batch];

/// Rows of small numbers, with a large one in the quarter that the label names.
void draw(std::uint32_t& state) {
  const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 16; };
  for (int i = 0; i < batch; ++i) {
    label[i] = static_cast<std::int32_t>(next() % classes);
    for (int f = 0; f < features; ++f) {
      const bool is_marked = f / (features / classes) == label[i];
      x[i * features + f] = static_cast<float>(next() % 100) / 100 + (is_marked ? 0.5f : 0.f);
    }
  }
}

void print(const ipu::Report& report) {
  const auto line = [](const char* what, std::int64_t number) {
    std::printf("%-34s%12lld\n", what, static_cast<long long>(number));
  };
  line("cycles of a step", report.cycles());
  line("  computing", report.cycles(ipu::StepKind::compute));
  line("  exchanging", report.cycles(ipu::StepKind::exchange));
  const auto& busy = report.tile_cycles;
  line("busiest tile", std::max_element(busy.begin(), busy.end()) - busy.begin());
  const std::int64_t fullest = report.fullest_tile();
  line("fullest tile", fullest);
  for (int c = 0; c < ipu::categories; ++c) {
    const std::int64_t bytes =
        report.memory[static_cast<std::size_t>(fullest)][static_cast<std::size_t>(c)];
    if (bytes == 0) continue;
    std::printf("  bytes of %-23.*s%12lld\n", 23, ipu::name(static_cast<ipu::Category>(c)).data(),
                static_cast<long long>(bytes));
  }
  line("  bytes", report.tile_bytes(fullest));
  line("bytes of all tiles", report.bytes());
}

}  // namespace

int main() try {
  static ipu::Emulator<Step> emulator{ipu::gc200};
  std::uint32_t state = 1;
  for (int step = 0; step <= 200; ++step) {
    draw(state);
    emulator.run(x, label);
    if (step % 50 == 0) {
      std::printf("step %3d  loss %.3f\n", step, static_cast<double>(emulator.output<"loss">()[0]));
    }
  }
  print(emulator.report());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
