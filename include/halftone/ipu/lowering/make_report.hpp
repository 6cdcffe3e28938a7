#pragma once

#include <string>
#include <utility>
#include <vector>

#include <halftone/ipu/lowering/clocks.hpp>
#include <halftone/ipu/lowering/control.hpp>
#include <halftone/ipu/lowering/lowering.hpp>
#include <halftone/ipu/lowering/memory.hpp>
#include <halftone/ipu/lowering/movement.hpp>
#include <halftone/ipu/lowering/placement.hpp>
#include <halftone/ipu/lowering/products.hpp>
#include <halftone/program/program.hpp>

// The whole way from a graph behind the passes to a report: what ipu::profile and ipu::Emulator do.
namespace halftone::ipu::detail {

/// Throws UnsupportedError unless all tensors that nodes read or make have static shapes, and no node
/// is of the host's passes.
inline void check_nodes(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op->for_host) {
      fail(ErrorKind::unsupported,
           {.what = "an operator that was made for the host has no profile",
            .node = halftone::detail::node_text(*node.op, graph.name(node)),
            .hint = "profile the graph as it was before a session made it ready"});
    }
    for (const Vector<TensorId>* ids : {&node.inputs, &node.outputs}) {
      for (const TensorId id : *ids) {
        if (id == no_tensor || graph.info(id).is_static()) continue;
        fail(ErrorKind::unsupported,
             {.what = "the shape of a tensor is not known before the run",
              .node = halftone::detail::node_text(*node.op, graph.name(node)),
              .tensor = graph.name(id),
              .found = halftone::detail::to_text(graph.info(id)),
              .hint = "give symbolic extents a value: --size batch=1"});
      }
    }
    for (const std::int32_t index : subgraphs_of(node)) {
      check_nodes(graph.graphs[static_cast<std::size_t>(index)]);
    }
  }
}

/// The program of a graph that went through the passes. Throws UnsupportedError if a shape is not
/// known.
inline halftone::Program planned_program(Graph graph) {
  check_nodes(graph);
  for (const TensorId id : graph.inputs) {
    if (graph.info(id).is_static()) continue;
    fail(ErrorKind::unsupported, {.what = "the shape of an input is not known before the run",
                                  .tensor = graph.name(id),
                                  .found = halftone::detail::to_text(graph.info(id)),
                                  .hint = "give symbolic extents a value: --size batch=1"});
  }
  return make_program(std::move(graph));
}

/// What a program would do on the machine: `program()` makes it once the machine and the options are
/// checked. `boundary`: of a program that is a part of another one. Throws what ipu::profile does.
inline Report make_report(std::string_view model, const Target& target,
                          const ProfileOptions& options, auto&& program,
                          Boundary* boundary = nullptr) {
  Report report;
  report.model = model;
  report.target = target;
  report.options = options;
  if (options.ipus != 0) report.target.ipus = options.ipus;
  if (options.tiles_per_ipu != 0) report.target.tiles_per_ipu = options.tiles_per_ipu;
  report.target.check();
  if (options.io_tiles < 0 || options.io_tiles >= report.target.tiles_per_ipu) {
    fail(ErrorKind::usage,
         {.what = "the number of tiles for the host is out of range",
          .expected = joined({"0 to ", std::to_string(report.target.tiles_per_ipu - 1)}),
          .found = std::to_string(options.io_tiles)});
  }
  report.target.tiles_per_ipu -= options.io_tiles;
  if (!(options.available_memory_proportion >= 0 && options.available_memory_proportion <= 1)) {
    fail(ErrorKind::usage,
         {.what = "the available memory proportion is out of range", .expected = "0 to 1"});
  }
  if (options.partials != ElementType::float32 && options.partials != ElementType::float16) {
    fail(ErrorKind::usage, {.what = "the type of partial sums is neither float nor float16"});
  }
  if (!options.split_ratios.empty() && options.placement != Placement::automatic) {
    fail(ErrorKind::usage, {.what = "split ratios are those of automatic placement"});
  }
  const std::vector<double> split = shares(options.split_ratios, report.target.ipus);

  const halftone::Program made = program();
  const Graph& g = made.graph;
  std::vector<std::int32_t> placement;
  if (options.placement == Placement::nodes) {
    check_placement(g, report.target.ipus);
    placement = placed_nodes(g);
  }
  if (report.target.ipus > 1 && placement.empty() && options.placement != Placement::none) {
    Report single = report;
    single.target.ipus = 1;
    Lowering(single, {}).run(made);
    placement = automatic_placement(g, single, split);
  }
  Lowering(report, std::move(placement), boundary).run(made);
  report.micro_batch_cycles = Clocks(report, false).run();
  Clocks(report, true).run();
  lay_out_memory(report);
  if (!options.allow_out_of_memory && !report.fits()) throw_out_of_memory(report);
  return report;
}

}  // namespace halftone::ipu::detail
