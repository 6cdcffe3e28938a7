#include <halftone/ipu/profile.hpp>

#include <halftone/ipu/lowering/make_report.hpp>
#include <halftone/kernel/executor.hpp>
#include <halftone/train.hpp>

#include <algorithm>

#include "exec/fold.hpp"
#include "graph/subgraphs.hpp"
#include "program/program_text.hpp"
#include "transform/pipeline.hpp"

namespace halftone::ipu {

void check_placement(const Graph& graph, std::int64_t ipus) {
  detail::check_placement(graph, ipus);
}

halftone::Program program_for(const Graph& graph, const ProfileOptions& options) {
  check_subgraphs(graph);
  kernel::Executor executor;
  Graph ordered = run_passes(ipu_passes, graph,
                             {.target = "ipu",
                              .evaluate = &evaluate_constant,
                              .evaluate_context = &executor,
                              .recompute = options.recompute,
                              .observer = options.observer});
  if (options.outline) ordered = outline(std::move(ordered), *options.outline);
  halftone::Program program = detail::planned_program(std::move(ordered));
  dump_program("ipu", [&] { return program_text(program); });
  return program;
}

Report profile(const Graph& graph, const Target& target, const ProfileOptions& options) {
  Report report = detail::make_report(graph.text(graph.graph_name), target, options,
                                      [&] { return program_for(graph, options); });
  report.accumulation = std::max<std::int64_t>(accumulation_of(graph), 1);
  return report;
}

}  // namespace halftone::ipu
