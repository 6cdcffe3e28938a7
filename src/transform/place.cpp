#include <halftone/transform/place.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <halftone/graph/index.hpp>
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

class Divider {
 public:
  Divider(const Graph& graph, const ipu::Target& target)
      : count_(graph.nodes.size()),
        capacity_(static_cast<double>(target.bytes_per_ipu())),
        cycles_(count_ + 1, 0),
        weights_(count_ + 1, 0),
        crossing_(count_ + 1, 0),
        may_cut_(count_ + 1, true) {
    const std::vector<double> costs = costs_of(graph, target);
    for (std::size_t n = 0; n < count_; ++n) cycles_[n + 1] = cycles_[n] + costs[n];
    const double bytes_per_cycle =
        target.link_bytes_per_second * static_cast<double>(target.parallel_links) / target.clock_hz;
    find_crossing(graph, bytes_per_cycle);
    find_weights(graph);
  }

  /// The end of each of so many parts: nodes before it.
  std::vector<std::size_t> ends(std::size_t parts) const {
    std::vector<std::size_t> best = divided(parts, true);
    return best.empty() ? divided(parts, false) : best;
  }

 private:
  /// What crosses a cut costs its bytes over the links.
  void find_crossing(const Graph& graph, double bytes_per_cycle) {
    const Uses uses(graph);
    std::vector<double> change(count_ + 2, 0);
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      const int made = uses.producer[id];
      const int read = std::min(uses.last_read[id], static_cast<int>(count_) - 1);
      if (made == no_node || read <= made || !graph.info(id).is_static()) continue;
      const auto bytes = static_cast<double>(graph.info(id).bytes());
      change[static_cast<std::size_t>(made) + 1] += bytes / bytes_per_cycle;
      change[static_cast<std::size_t>(read) + 1] -= bytes / bytes_per_cycle;
    }
    double now = 0;
    for (std::size_t n = 0; n <= count_; ++n) crossing_[n] = now += change[n];
    crossing_[0] = crossing_[count_] = 0;
  }
  /// Where weights are used first; and no cut may part those who change one from those who use it.
  void find_weights(const Graph& graph) {
    const Aliases aliases(graph);
    TensorMap<int> first(graph, no_node), last(graph, no_node);
    for (std::size_t n = 0; n < count_; ++n) {
      weights_[n + 1] = weights_[n];
      for (const TensorId id : graph.nodes[n].inputs) {
        if (id == no_tensor) continue;
        const TensorId root = aliases.root(id);
        const TensorRecord& t = graph.tensor(root);
        if (!is_variable(t) && t.role != Role::constant) continue;
        if (first[root] == no_node) {
          first[root] = static_cast<int>(n);
          if (t.info.is_static()) weights_[n + 1] += static_cast<double>(t.info.bytes());
        }
        last[root] = static_cast<int>(n);
      }
    }
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      if (first[id] == no_node || !aliases.is_modified(id)) continue;
      for (int n = first[id] + 1; n <= last[id]; ++n) may_cut_[static_cast<std::size_t>(n)] = false;
    }
  }

  double cost(std::size_t begin, std::size_t end) const {
    return cycles_[end] - cycles_[begin] + crossing_[begin] + crossing_[end];
  }

  /// By dynamic programming over where a part ends; empty: there is no such division.
  std::vector<std::size_t> divided(std::size_t parts, bool must_fit) const {
    constexpr double never = std::numeric_limits<double>::infinity();
    // The best slowest part of nodes [0, end), and the sum of what crosses, which decides among equals.
    struct Best {
      double slowest = never, crossing = 0;
      std::size_t begin = 0;
    };
    const std::vector<std::size_t> cuts = candidates(parts);
    std::vector<std::vector<Best>> best(parts + 1, std::vector<Best>(cuts.size()));
    best[0][0].slowest = 0;
    for (std::size_t p = 1; p <= parts; ++p) {
      for (std::size_t e = p; e < cuts.size(); ++e) {
        for (std::size_t b = p - 1; b < e; ++b) {
          const Best& before = best[p - 1][b];
          if (before.slowest == never) continue;
          if (must_fit && weights_[cuts[e]] - weights_[cuts[b]] > capacity_) continue;
          const double slowest = std::max(before.slowest, cost(cuts[b], cuts[e]));
          const double crossing = before.crossing + crossing_[cuts[e]];
          Best& now = best[p][e];
          if (slowest > now.slowest || (slowest == now.slowest && crossing >= now.crossing))
            continue;
          now = {slowest, crossing, b};
        }
      }
    }
    if (best[parts].back().slowest == never) return {};
    std::vector<std::size_t> ends(parts);
    for (std::size_t p = parts, e = cuts.size() - 1; p > 0; --p) {
      ends[p - 1] = cuts[e];
      e = best[p][e].begin;
    }
    return ends;
  }

  /// Places for cuts, the beginning and the end: of large graphs those where little crosses.
  std::vector<std::size_t> candidates(std::size_t parts) const {
    constexpr std::size_t most = 512;
    std::vector<std::size_t> cuts;
    for (std::size_t n = 1; n < count_; ++n) {
      if (may_cut_[n]) cuts.push_back(n);
    }
    if (cuts.size() > most) {
      std::stable_sort(cuts.begin(), cuts.end(),
                       [&](std::size_t a, std::size_t b) { return crossing_[a] < crossing_[b]; });
      cuts.resize(std::max(most, 4 * parts));
      std::sort(cuts.begin(), cuts.end());
    }
    cuts.insert(cuts.begin(), 0);
    cuts.push_back(count_);
    return cuts;
  }

  std::size_t count_;
  double capacity_;
  std::vector<double> cycles_, weights_;  ///< of all nodes before
  std::vector<double> crossing_;          ///< cycles over the links, between nodes
  std::vector<char> may_cut_;
};

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
  const Divider divider(graph, options.target != nullptr ? *options.target : ipu::gc200);
  std::vector<std::size_t> ends = divider.ends(static_cast<std::size_t>(parts));
  // IPUs may be left over; there are the stages and phases that were asked for.
  while (ends.empty() && !is_counted) {
    ends = divider.ends(static_cast<std::size_t>(--parts));
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
