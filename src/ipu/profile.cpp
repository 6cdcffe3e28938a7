#include <halftone/ipu/profile.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include <halftone/kernel/executor.hpp>
#include <halftone/program/program.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"
#include "exec/fold.hpp"
#include "graph/subgraphs.hpp"
#include "ipu/lowering/lowering.hpp"
#include "ipu/lowering/memory.hpp"
#include "ipu/placement.hpp"
#include "program/program_text.hpp"
#include "transform/pipeline.hpp"

namespace halftone::ipu {
namespace {

void check_static(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const std::vector<TensorId>* ids : {&node.inputs, &node.outputs}) {
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
      check_static(graph.graphs[static_cast<std::size_t>(index)]);
    }
  }
}

}  // namespace

halftone::Program program_for(const Graph& graph, const ProfileOptions& options) {
  check_subgraphs(graph);
  kernel::Executor executor;
  Graph g = run_passes(ipu_passes, graph,
                       {.target = "ipu",
                        .evaluate = &evaluate_constant,
                        .evaluate_context = &executor,
                        .observer = options.observer});
  check_static(g);
  for (const TensorId id : g.inputs) {
    if (g.info(id).is_static()) continue;
    fail(ErrorKind::unsupported, {.what = "the shape of an input is not known before the run",
                                  .tensor = g.name(id),
                                  .found = halftone::detail::to_text(g.info(id)),
                                  .hint = "give symbolic extents a value: --size batch=1"});
  }
  halftone::Program program = make_program(std::move(g));
  dump_program("ipu", [&] { return program_text(program); });
  return program;
}

Report profile(const Graph& graph, const Target& target, const ProfileOptions& options) {
  Report report;
  report.model = graph.text(graph.graph_name);
  report.target = target;
  report.options = options;
  if (options.ipus != 0) report.target.ipus = options.ipus;
  if (options.tiles_per_ipu != 0) report.target.tiles_per_ipu = options.tiles_per_ipu;
  report.target.check();
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

  const halftone::Program program = program_for(graph, options);
  const Graph& g = program.graph;
  std::vector<std::int32_t> placement;
  if (options.placement == Placement::nodes) {
    check_placement(g, report.target.ipus);
    placement = placed_nodes(g);
  }
  if (report.target.ipus > 1 && placement.empty() && options.placement != Placement::none) {
    Report single = report;
    single.target.ipus = 1;
    Lowering(single, {}).run(program);
    placement = automatic_placement(g, single, split);
  }
  Lowering(report, std::move(placement)).run(program);
  lay_out_memory(report);
  if (!options.allow_out_of_memory && !report.fits()) throw_out_of_memory(report);
  return report;
}

// --- what follows from a report ------------------------------------------------------------------

namespace {

/// The sum of f over a list.
std::int64_t sum_of(const auto& list, auto&& f) {
  std::int64_t sum = 0;
  for (const auto& element : list) sum += f(element);
  return sum;
}

}  // namespace

std::int64_t Report::cycles() const {
  return sum_of(steps, [](const Step& s) { return s.total(); });
}
std::int64_t Report::cycles(StepKind kind) const {
  return sum_of(steps, [&](const Step& s) { return s.kind == kind ? s.total() : 0; });
}
double Report::busy_cycles() const {
  const double sum = std::accumulate(tile_cycles.begin(), tile_cycles.end(), 0.0);
  return tile_cycles.empty() ? 0.0 : sum / static_cast<double>(tile_cycles.size());
}
std::int64_t Report::flops() const {
  return sum_of(operations, [](const Operation& o) { return o.flops; });
}
double Report::share_of_peak() const {
  const double peak = target.peak_flops(ElementType::float16, ElementType::float16);
  return cycles() == 0 ? 0.0 : static_cast<double>(flops()) / seconds() / peak;
}

std::int64_t Report::tile_bytes(std::int64_t tile) const {
  return sum_of(memory.at(static_cast<std::size_t>(tile)), std::identity());
}
std::int64_t Report::always_live_bytes(std::int64_t tile) const {
  return tile_bytes(tile) -
         memory[static_cast<std::size_t>(tile)][static_cast<std::size_t>(Category::temporaries)];
}
std::int64_t Report::fullest_tile() const {
  std::int64_t fullest = 0;
  for (std::int64_t tile = 1; tile < target.tiles(); ++tile) {
    if (tile_bytes(tile) > tile_bytes(fullest)) fullest = tile;
  }
  return fullest;
}
std::int64_t Report::tiles_out_of_memory() const {
  return std::count_if(memory.begin(), memory.end(), [&](const auto& tile) {
    return sum_of(tile, std::identity()) > target.bytes_per_tile;
  });
}
std::int64_t Report::bytes() const {
  return sum_of(memory, [](const auto& tile) { return sum_of(tile, std::identity()); });
}

std::int64_t Report::ipu_cycles(std::int64_t ipu) const {
  return sum_of(steps, [&](const Step& s) { return s.ipu == ipu ? s.total() : 0; });
}
std::int64_t Report::ipu_bytes(std::int64_t ipu) const {
  std::int64_t sum = 0;
  const std::int64_t first = ipu * target.tiles_per_ipu;
  for (std::int64_t tile = first; tile < first + target.tiles_per_ipu; ++tile) {
    sum += tile_bytes(tile);
  }
  return sum;
}

std::vector<std::int32_t> Report::live_variables(std::int64_t tile, std::int32_t step) const {
  const auto ipu = static_cast<std::int32_t>(tile / target.tiles_per_ipu);
  const std::int64_t on_ipu = tile % target.tiles_per_ipu;
  std::vector<std::int32_t> list;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Variable& v = variables[i];
    if (v.ipu != ipu || v.on_tile(on_ipu) == 0) continue;
    if (v.is_always_live || (v.first_step <= step && step <= v.last_step)) {
      list.push_back(static_cast<std::int32_t>(i));
    }
  }
  std::stable_sort(list.begin(), list.end(), [&](std::int32_t a, std::int32_t b) {
    return variables[static_cast<std::size_t>(a)].on_tile(on_ipu) >
           variables[static_cast<std::size_t>(b)].on_tile(on_ipu);
  });
  return list;
}

std::int64_t Report::operation_cycles(std::size_t operation) const {
  const Operation& o = operations.at(operation);
  std::int64_t sum = 0;
  for (std::int32_t s = o.first_step; s < o.end_step; ++s) {
    sum += steps[static_cast<std::size_t>(s)].total();
  }
  return sum;
}

}  // namespace halftone::ipu
