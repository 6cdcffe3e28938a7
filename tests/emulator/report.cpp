// Prints the numbers of MODEL's report: by the emulator of headers or, with LIBRARY, by the library.
#include <cstdio>

#include "models.hpp"

#ifdef LIBRARY
#include <halftone/ipu/profile.hpp>
#else
#include <halftone/ipu/emulator.hpp>
#endif

namespace {

void print(const char* what, auto... numbers) {
  std::printf("%s", what);
  (std::printf(" %.17g", static_cast<double>(numbers)), ...);
  std::printf("\n");
}

void print(const ipu::Report& r) {
  print("cycles", r.cycles(), r.flops(), r.busy_cycles(), r.products_planned, r.products_reused);
  for (const ipu::Step& s : r.steps) {
    print("step", static_cast<int>(s.kind), s.vertex, s.operation, s.ipu, s.program, s.repeats,
          s.cycles, s.mean_cycles, s.tiles, s.bytes, s.flops);
  }
  for (const ipu::Operation& o : r.operations) {
    std::printf("%s %s %s: ", o.name.c_str(), o.type.c_str(), o.plan.c_str());
    print("operation", o.ipu, o.program, o.first_step, o.end_step, o.flops, o.output_bytes);
  }
  for (const ipu::Variable& v : r.variables) {
    std::printf("%s: ", v.name.c_str());
    print("variable", v.element_bytes, v.ipu, v.first_step, v.last_step, v.is_always_live,
          static_cast<int>(v.category), v.mapping.elements, v.mapping.pieces, v.mapping.first_tile);
  }
  for (std::size_t tile = 0; tile < r.memory.size(); ++tile) {
    print("tile", r.tile_bytes(static_cast<std::int64_t>(tile)), r.peak_step[tile],
          r.tile_cycles[tile]);
    for (const std::int64_t bytes : r.memory[tile]) print("bytes", bytes);
  }
}

}  // namespace

int main() {
  const ipu::ProfileOptions options{.tiles_per_ipu = 24};
#ifdef LIBRARY
  Graph graph;
  MODEL::build(graph);
  print(ipu::profile(graph, ipu::gc2, options));
#else
  static ipu::Emulator<MODEL> emulator(ipu::gc2, options);
  print(emulator.report());
#endif
}
