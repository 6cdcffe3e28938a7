#include <halftone/transform/place.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/ipu/lowering/division.hpp>
#include <halftone/ipu/lowering/placement.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/ipu/target.hpp>
#include <halftone/program/program.hpp>

namespace halftone {
namespace {

/// What nodes cost, in cycles. Those that the emulator does not price cost what they move.
std::vector<double> costs_of(const Graph& graph, const ipu::Target& target) {
  std::vector<double> costs(graph.nodes.size(), 0);
  ipu::Target single = target;
  single.ipus = 1;
  try {
    const Program program = ipu::program_for(graph);
    const ipu::Report report = ipu::profile(graph, single, {.placement = ipu::Placement::none});
    const NodeMap<double> cycles = ipu::detail::node_cycles(program.graph, report);
    // Passes leave the ids of tensors as they are.
    TensorMap<double> made_for(graph, 0);
    for (std::size_t n = 0; n < program.graph.nodes.size(); ++n) {
      const Node& node = program.graph.nodes[n];
      if (node.outputs.empty() || node.outputs[0] == no_tensor) continue;
      if (made_for.has(node.outputs[0])) made_for[node.outputs[0]] = cycles[n];
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (!node.outputs.empty() && node.outputs[0] != no_tensor) {
        costs[n] = made_for[node.outputs[0]];
      }
    }
  } catch (const Error&) {
    // Shapes that are not known, or a machine that is too small.
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const Vector<TensorId>* ids : {&graph.nodes[n].inputs, &graph.nodes[n].outputs}) {
        for (const TensorId id : *ids) {
          if (id == no_tensor || !graph.info(id).is_static()) continue;
          costs[n] += static_cast<double>(graph.info(id).bytes());
        }
      }
    }
  }
  return costs;
}

/// The nodes in their order, with what a cut between two costs.
ipu::detail::Division division_of(const Graph& graph, const ipu::Target& target) {
  const std::size_t count = graph.nodes.size();
  ipu::detail::Division division(count);
  division.capacity = static_cast<double>(target.bytes_per_ipu());
  const std::vector<double> costs = costs_of(graph, target);
  for (std::size_t n = 0; n < count; ++n) division.cycles[n + 1] = costs[n];
  const double bytes_per_cycle =
      target.link_bytes_per_second * static_cast<double>(target.parallel_links) / target.clock_hz;
  const Uses uses(graph);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const int made = uses.producer[id];
    const int read = std::min(uses.last_read[id], static_cast<int>(count) - 1);
    if (made == no_node || read <= made || !graph.info(id).is_static()) continue;
    division.cross(static_cast<std::size_t>(made), static_cast<std::size_t>(read),
                   static_cast<double>(graph.info(id).bytes()) / bytes_per_cycle);
  }
  // Weights count where they are used first; and no cut may part those who change one from those who
  // use it.
  const Aliases aliases(graph);
  TensorMap<int> first(graph, no_node), last(graph, no_node);
  for (std::size_t n = 0; n < count; ++n) {
    for (const TensorId id : graph.nodes[n].inputs) {
      if (id == no_tensor) continue;
      const TensorId root = aliases.root(id);
      const TensorRecord& t = graph.tensor(root);
      if (!is_variable(t) && t.role != Role::constant) continue;
      if (first[root] == no_node) {
        first[root] = static_cast<int>(n);
        if (t.info.is_static()) division.bytes[n + 1] += static_cast<double>(t.info.bytes());
      }
      last[root] = static_cast<int>(n);
    }
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    if (first[id] == no_node || !aliases.is_modified(id)) continue;
    for (int n = first[id] + 1; n <= last[id]; ++n) {
      division.may_cut[static_cast<std::size_t>(n)] = false;
    }
  }
  division.add_up();
  return division;
}

void check(const Graph& graph, const PlaceOptions& options) {
  constexpr std::int32_t most_ipus = 64, most_stages = 1024;
  const auto refuse = [](std::string_view what, std::int32_t most, std::int32_t found) {
    fail(
        ErrorKind::usage,
        {.what = what, .expected = "0 to " + std::to_string(most), .found = std::to_string(found)});
  };
  if (options.ipus < 0 || options.ipus > most_ipus) {
    refuse("the number of IPUs is out of range", most_ipus, options.ipus);
  }
  if (options.stages < 0 || options.stages > most_stages) {
    refuse("the number of stages is out of range", most_stages, options.stages);
  }
  if (options.phases < 0 || options.phases > most_stages) {
    refuse("the number of phases is out of range", most_stages, options.phases);
  }
  if (options.stages > 0 && options.phases > 0) {
    fail(ErrorKind::usage,
         {.what = "a pipeline has no phases of execution", .hint = "give stages or phases"});
  }
  if (options.stages > 0 && options.ipus > options.stages) {
    fail(ErrorKind::usage, {.what = "there are more IPUs than stages of the pipeline",
                            .expected = "at most " + std::to_string(options.stages),
                            .found = std::to_string(options.ipus)});
  }
  if (!graph.model.empty()) {
    fail(ErrorKind::usage, {.what = "a graph that is trained already is placed",
                            .hint = "call place() before train()"});
  }
  const bool is_asked = options.ipus > 0 || options.stages > 0 || options.phases > 0;
  for (const Node& node : graph.nodes) {
    if (!is_asked) break;
    if (node.place.ipu < 0 && node.place.stage < 0 && node.place.phase < 0) continue;
    fail(ErrorKind::usage, {.what = "nodes have places already",
                            .node = detail::node_text(*node.op, graph.name(node)),
                            .hint = "place all of them or none"});
  }
}

}  // namespace

void place(Graph& graph, const PlaceOptions& options) {
  check(graph, options);
  const bool is_counted = options.stages > 0 || options.phases > 0;
  std::int32_t parts = is_counted ? std::max(options.stages, options.phases) : options.ipus;
  if (parts == 0 || graph.nodes.empty()) return;
  const ipu::detail::Division division =
      division_of(graph, options.target != nullptr ? *options.target : ipu::gc200);
  const auto equal = [](std::int32_t n) {
    return std::vector<double>(static_cast<std::size_t>(n), 1.0 / n);
  };
  std::vector<std::size_t> ends = division.ends(equal(parts));
  // IPUs may be left over; there are the stages and phases that were asked for.
  while (ends.empty() && !is_counted) {
    ends = division.ends(equal(--parts));
  }
  if (ends.empty()) {
    fail(ErrorKind::usage, {.what = "the graph cannot be divided into so many parts",
                            .expected = "at most " + std::to_string(graph.nodes.size()),
                            .found = std::to_string(parts)});
  }
  std::size_t n = 0;
  const std::int32_t ipus = options.ipus > 0 ? options.ipus : parts;
  for (std::int32_t p = 0; p < parts; ++p) {
    for (; n < ends[static_cast<std::size_t>(p)]; ++n) {
      Place& place = graph.nodes[n].place;
      place.ipu = static_cast<std::int16_t>(p * ipus / parts);
      if (options.stages > 0) place.stage = static_cast<std::int16_t>(p);
      if (options.phases == 0) continue;
      place.phase = static_cast<std::int16_t>(p);
      place.ipu = static_cast<std::int16_t>(options.ipus > 0 ? p % options.ipus : 0);
    }
  }
}

}  // namespace halftone
