// What the emulated IPU says beside what was published: each figure, ours, the ratio, and how good
// the source is. Prints the table of include/halftone/ipu/README.md, and behind it what modelling
// costs on this machine.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include <halftone/halftone.hpp>
#include <halftone/ipu/elementwise.hpp>
#include <halftone/ipu/planner.hpp>
#include <halftone/ipu/profile.hpp>

#include "lattice.hpp"
#include "networks.hpp"
#include "training_rate.hpp"

using namespace halftone;
using namespace halftone::ipu;
using namespace training_rates;

namespace {

constexpr ElementType f32 = ElementType::float32, f16 = ElementType::float16;

void row(const char* what, double published, double ours, const char* unit, const char* source) {
  std::printf("| %s | %.6g %s | %.6g | %.3f | %s |\n", what, published, unit, ours,
              ours / published, source);
}

double teraflops(const Target& t, std::int64_t n, ElementType type, ElementType partials) {
  const Product p{.groups = 1, .rows = n, .inner = n, .columns = n, .input = type, .output = type};
  return 2 * p.macs() / t.seconds(plan_product(t, p, {.partials = partials}).cycles) * 1e-12;
}
double best_teraflops(const Target& t, ElementType type, ElementType partials) {
  double best = 0;
  for (std::int64_t n = 512; n <= 4096; n += 256) {
    best = std::max(best, teraflops(t, n, type, partials));
  }
  return best;
}

/// A matrix of 10000 x 1000 floats times a vector, both from the host.
Graph matrix_vector() {
  Graph g;
  const AnyTensor a = g.input<float>("a", {10'000, 1000}), x = g.input<float>("x", {1000, 1});
  output(g, op::matmul(a, x), "y");
  return g;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void cost_of_planning(const char* what, const Graph& g) {
  const auto start = std::chrono::steady_clock::now();
  const Report r = profile(g, gc200, half_sums);
  const double seconds = seconds_since(start);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%-40s %6.2f s, %ld MB, %zu products planned, %zu reused\n", what, seconds,
              usage.ru_maxrss / 1024, r.products_planned, r.products_reused);
}

/// Runs on cpu and on ipu_model in turn; the medians.
void cost_of_runs(const char* what, const Graph& g, const Dims& shape) {
  Session cpu(g), model(g, {.device = Device::ipu_model, .ipu = {.allow_out_of_memory = true}});
  const Array<float> x(shape);
  const std::string_view name = g.name(g.inputs[0]);
  std::vector<double> seconds[2];
  for (int i = 0; i < 42; ++i) {
    for (int k = 0; k < 2; ++k) {
      const auto start = std::chrono::steady_clock::now();
      (k == 0 ? cpu : model).run({{name, x}});
      if (i > 1) seconds[k].push_back(seconds_since(start));
    }
  }
  for (auto& list : seconds) std::nth_element(list.begin(), list.begin() + 20, list.end());
  std::printf("%-40s %6.3f ms on cpu, %+.1f %% on ipu_model\n", what, seconds[0][20] * 1e3,
              (seconds[1][20] / seconds[0][20] - 1) * 100);
}

}  // namespace

int main() {
  std::printf("| figure | published | ours | ours / published | source |\n|---|---|---|---|---|\n");
  row("peak, GC2, half", 124.5, gc2.peak_flops(f16, f16) * 1e-12, "TFLOP/s", "data sheet");
  row("peak, GC200, half", 250, gc200.peak_flops(f16, f16) * 1e-12, "TFLOP/s", "data sheet");
  row("peak, GC200, float", 62.5, gc200.peak_flops(f32, f32) * 1e-12, "TFLOP/s", "data sheet");
  row("peak, Bow, half", 350, bow.peak_flops(f16, f16) * 1e-12, "TFLOP/s", "data sheet");

  Target fast = bow;
  fast.coefficient_bytes_per_cycle = 16;
  constexpr double measured[][2] = {{16, 402},   {32, 461},   {64, 584},    {128, 845},
                                    {256, 1352}, {512, 2381}, {1024, 4424}, {2048, 8525}};
  for (const auto& [rows, cycles] : measured) {
    const std::string what =
        "matrix units, half, " + std::to_string(static_cast<int>(rows)) + " rows a tile, Bow";
    const std::int64_t ours =
        matrix_cycles(fast, matrix_vertex(fast, f16, f16), static_cast<std::int64_t>(rows), 1, 1);
    row(what.c_str(), cycles, static_cast<double>(ours + fast.launch_cycles), "cycles",
        "hardware, one notebook");
  }
  row("add, float, 1024 elements a tile, Bow", 1815,
      static_cast<double>(binary_cycles(bow, *find_elementwise("Add"), 1024, f32) +
                          bow.launch_cycles),
      "cycles", "hardware, one notebook");

  const Report lattice = profile(lattice_program(), gc2, {.has_launch = false});
  row("lattice program, compute with idle threads, GC2", 12'000,
      static_cast<double>(lattice.cycles(StepKind::compute)), "cycles", "Poplar's model, a report");
  row("lattice program, sync", 3328, static_cast<double>(lattice.cycles(StepKind::sync)), "cycles",
      "Poplar's model, a report");
  row("lattice program, exchange (about 300 bytes assumed)", 5682,
      static_cast<double>(lattice.cycles(StepKind::exchange)), "cycles",
      "Poplar's model, a report");

  Target tutorial = gc200;
  tutorial.clock_hz = 1.33e9;
  const Report vector = profile(matrix_vector(), tutorial, {.prefetch = false});
  row("matrix times vector 10000 x 1000, on-chip exchange", 8743,
      static_cast<double>(vector.cycles(StepKind::exchange)), "cycles", "hardware, a report");
  row("matrix times vector, host exchange", 6'663'551,
      static_cast<double>(vector.cycles(StepKind::host)), "cycles", "Poplar's model, a report");
  row("matrix times vector, compute", 3802, static_cast<double>(vector.cycles(StepKind::compute)),
      "cycles", "Poplar's model, a report");
  row("matrix times vector, sync", 1134.8, static_cast<double>(vector.cycles(StepKind::sync)),
      "cycles", "Poplar's model, a report");

  row("square product, best, GC200, float", 44, best_teraflops(gc200, f32, f32), "TFLOP/s",
      "arXiv 2310.00256, weak");
  row("square product, best, GC2, float", 18.9, best_teraflops(gc2, f32, f32), "TFLOP/s",
      "arXiv 1912.03413 through summaries, weak");
  row("square product, best, GC2, half with float sums", 58.9, best_teraflops(gc2, f16, f32),
      "TFLOP/s", "arXiv 1912.03413 through summaries, weak");
  row("Bow to GC200, half product 4096", 1.396,
      teraflops(bow, 4096, f16, f16) / teraflops(gc200, 4096, f16, f16), "", "clocks");
  const Graph network = networks::resnet50(8);
  row("Bow to GC200, a network (published: Conformer)", 1.36,
      profile(network, gc200).seconds() / profile(network, bow).seconds(), "",
      "Graphcore's tables, another network");

  const Graph images = networks::in_half(networks::resnet50(16));
  row("ResNet-50 training, Bow Pod16, 16 images an IPU", 44'059,
      training_rate(images, bow, 16, 16, false, half_sums), "images/s", "Graphcore's tables");
  row("ResNet-50 training, GC200 Pod16", 30'000,
      training_rate(images, gc200, 16, 16, false, half_sums), "images/s",
      "Graphcore's tables, about");
  row("BERT-Large training, 128 tokens, Bow Pod16", 5179, bert_rate(bow, 8, 128, half_sums),
      "sequences/s", "Graphcore's tables");
  row("BERT-Large training, 384 tokens, Bow Pod16", 1470, bert_rate(bow, 2, 384, half_sums),
      "sequences/s", "Graphcore's tables");
  const double pod16 = planned_bert_rate(bow, 16, 128), pod64 = planned_bert_rate(bow, 64, 128);
  row("BERT-Large training, 128 tokens, Bow Pod16, planned", 5179, pod16, "sequences/s",
      "Graphcore's tables");
  row("BERT-Large training, 384 tokens, Bow Pod16, planned", 1470, planned_bert_rate(bow, 16, 384),
      "sequences/s", "Graphcore's tables");
  row("BERT-Large training, 128 tokens, Bow Pod64, planned", 19'353, pod64, "sequences/s",
      "Graphcore's tables");
  row("BERT-Large, 16 to 64 IPUs: faster", 3.74, pod64 / pod16, "", "Graphcore's tables");
  const double images16 = planned_image_rate(bow, 16, 2048),
               images64 = planned_image_rate(bow, 64, 2048);
  row("ResNet-50 training, Bow Pod16, planned, steps of 2048", 44'059, images16, "images/s",
      "Graphcore's tables");
  row("ResNet-50 training, Bow Pod64, planned, steps of 2048", 153'205, images64, "images/s",
      "Graphcore's tables");
  row("ResNet-50, 16 to 64 IPUs: faster", 3.48, images64 / images16, "", "Graphcore's tables");
  // arXiv 2107.02027: packing makes Wikipedia's sequences of up to 512 tokens twice as fast.
  row("BERT-Large training, packed: 2 sequences in 512 tokens, Bow Pod16", 2126,
      2 * bert_rate(bow, 2, 512, half_sums), "sequences/s", "Graphcore's tables");
  row("packed to unpacked, 512 tokens to 384: faster", 2126.0 / 1470,
      2 * bert_rate(bow, 2, 512, half_sums) / bert_rate(bow, 2, 384, half_sums), "",
      "the order of variants");
  row("384 tokens with float sums: slower", 1470, bert_rate(bow, 2, 384, float_sums), "sequences/s",
      "the order of variants");
  const Graph gpt = networks::in_half(networks::small_gpt());
  row("nanoGPT, an attention matrix", 50.33, tensor_bytes(gpt, 1024, 1024) * 1e-6, "MB",
      "Graphcore research's notebook");
  row("nanoGPT, a hidden layer", 12.58, tensor_bytes(gpt, 1024, 1536) * 1e-6, "MB",
      "Graphcore research's notebook");
  const Report trained = profile(networks::training(gpt), gc200, half_sums);
  row("nanoGPT training, more than one GC200 has", 1,
      static_cast<double>(trained.tile_bytes(trained.fullest_tile())) /
          static_cast<double>(gc200.bytes_per_tile),
      "fullest tile", "Graphcore research's notebook: above 1");

  std::puts("");
  cost_of_planning("planning ResNet-50 training, half", networks::training(images));
  cost_of_planning("planning ResNet-50 training, float",
                   networks::training(networks::resnet50(16)));
  cost_of_planning("planning a 12-layer encoder's training",
                   networks::training(networks::encoder(8)));
  cost_of_runs("runs of three dense layers", networks::mlp(), {64, 784});
  cost_of_runs("runs of LeNet", networks::lenet(), {64, 1, 28, 28});
  cost_of_runs("runs of one digit", networks::mlp(1), {1, 784});
  return 0;
}
