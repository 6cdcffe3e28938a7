#pragma once

#include <cstdint>

#include <halftone/halftone.hpp>

/// A step of a lattice Boltzmann program, as its users had Poplar's model run it on a GC2: a vertex
/// on each tile whose cycles the program estimates itself, and values of neighbouring cells.
/// source  the report of the University of Bristol's lattice Boltzmann programs: 100 x 100 cells in
///         float, 20 compute sets of 100 cycles. How many bytes a tile receives is not said there;
///         about 300 are assumed.
struct LatticeStep {
  static constexpr halftone::OpId id{"lattice", "Step", 1};
  static constexpr halftone::Signature signature = "x -> y";

  static constexpr void cost(auto& machine, auto in, auto) {
    machine.move({halftone::ElementType::float32, {1216 * 75}});
    machine.vertex(in[0], 100);
  }
  static constexpr halftone::Inferred infer(halftone::TensorInfo x) { return x; }
  template <class T>
  void kernel(halftone::View<const T> x, halftone::View<T> y) const {
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = x[i];
  }
};

/// 20 steps over nine numbers a cell.
inline halftone::Graph lattice_program() {
  halftone::Graph g;
  halftone::AnyTensor x = g.input<float>("x", {100, 100, 9});
  for (int step = 0; step < 20; ++step) {
    x.id = halftone::detail::record(g, LatticeStep{}, {x.id}, 1)[0];
  }
  output(g, x, "y");
  return g;
}
