// What the emulated IPU says beside what was published: each figure, ours, the ratio, and how good
// the source is. Prints the table of include/halftone/ipu/README.md.
#include <cstdio>
#include <string>

#include <halftone/halftone.hpp>
#include <halftone/ipu/elementwise.hpp>
#include <halftone/ipu/profile.hpp>

#include "networks.hpp"

using namespace halftone;
using namespace halftone::ipu;

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

  // 20 compute sets of one 100-cycle vertex a tile, which exchange about 300 bytes a tile each.
  row("lattice program, compute with idle threads, GC2", 12'000, 20.0 * 6 * 100, "cycles",
      "Poplar's model, a report");
  row("lattice program, sync", 3328, static_cast<double>(20 * gc2.sync_cycles), "cycles",
      "Poplar's model, a report");
  row("lattice program, exchange (300 bytes assumed)", 5682,
      static_cast<double>(20 * (exchange_cycles(gc2, 300) + gc2.exchange_setup_cycles)), "cycles",
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
  return 0;
}
