#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <halftone/graph/describe.hpp>
#include <halftone/graph/graph.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/graph/planning.hpp>
#include <halftone/ipu/exchange.hpp>
#include <halftone/ipu/lowering/division.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/infer.hpp>

namespace halftone::ipu::detail {

/// Whether a node is an operation of a report: it makes elements, or it has no outputs and its
/// operator says what there is to do.
bool is_operation(const Graph& graph, const Node& node);

/// An IPU for each node of a graph whose placement was checked: the one it is meant for; empty if
/// no node is meant for any.
std::vector<std::int32_t> placed_nodes(const Graph& graph);

/// The IPUs' shares, of which there are `ipus`. Throws UsageError unless they add up to 1.
std::vector<double> shares(const std::vector<float>& ratios, std::int64_t ipus);

/// The operation of each node of the graph that a report of a single IPU is about; -1: it has none.
NodeMap<std::int32_t> node_operations(const Graph& graph, const Report& single);
/// The cycles of each node of that graph.
NodeMap<double> node_cycles(const Graph& graph, const Report& single);

/// An IPU for each node: consecutive parts with these shares of the cycles on a single IPU. Gradients
/// and updates go with the nodes whose they are, and who uses a variable that another node used is
/// where that is.
std::vector<std::int32_t> automatic_placement(const Graph& graph, const Report& single,
                                              const std::vector<double>& split);

[[noreturn]] inline void refuse_placement(const Graph& graph, const Node& node,
                                          std::string_view what, TensorId tensor,
                                          std::string_view expected, std::int32_t found,
                                          std::string_view hint) {
  const std::string where = halftone::detail::node_text(*node.op, graph.name(node));
  const std::string ipu = "IPU " + std::to_string(found);
  fail(ErrorKind::usage, {.what = what,
                          .node = where,
                          .tensor = tensor == no_tensor ? std::string_view{} : graph.name(tensor),
                          .expected = expected,
                          .found = ipu,
                          .hint = hint});
}

inline void check_bodies(const Graph& graph, const Node& node, std::int32_t outer) {
  for (const std::int32_t index : subgraphs_of(node)) {
    const Graph& body = graph.graphs[static_cast<std::size_t>(index)];
    for (const Node& inner : body.nodes) {
      const std::int32_t ipu = inner.place.ipu;
      if (ipu >= 0 && ipu != std::max(outer, 0)) {
        refuse_placement(body, inner,
                         "a node of a body is meant for another IPU than the node that holds it",
                         no_tensor, "IPU " + std::to_string(std::max(outer, 0)), ipu,
                         "place the node with the body, and nothing in it");
      }
      check_bodies(body, inner, outer);
    }
  }
}

/// Calls f for each variable that a node reads.
inline void for_each_variable(const Graph& graph, const Node& node, auto&& f) {
  for (const TensorId id : node.inputs) {
    if (id != no_tensor && is_variable(graph.tensor(id))) f(id);
  }
}
/// The last of the IPUs that a node's inputs are noted on; -1: none is.
inline std::int32_t last_ipu(const TensorMap<std::int32_t>& noted, const Node& node) {
  std::int32_t ipu = -1;
  for (const TensorId id : node.inputs) {
    if (id != no_tensor) ipu = std::max(ipu, noted[id]);
  }
  return ipu;
}
inline void note_outputs(TensorMap<std::int32_t>& noted, const Node& node, std::int32_t ipu) {
  for (const TensorId id : node.outputs) {
    if (id != no_tensor) noted[id] = ipu;
  }
}

inline bool is_operation(const Graph& graph, const Node& node) {
  if (node.outputs.empty()) return node.op->cost != nullptr;
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
    return id != no_tensor && graph.info(id).elements() != 0;
  });
}

/// Throws UsageError unless the nodes can be where they are meant to be: see ipu::check_placement.
inline void check_placement(const Graph& graph, std::int64_t ipus) {
  TensorMap<std::int32_t> changed_on(graph, -1);
  for (const Node& node : graph.nodes) {
    const std::int32_t ipu = node.place.ipu;
    check_bodies(graph, node, ipu);
    if (ipu < 0) continue;
    if (ipu >= ipus) {
      refuse_placement(graph, node, "a node is meant for an IPU that the machine does not have",
                       no_tensor, "0 to " + std::to_string(ipus - 1), ipu,
                       "as many IPUs as the model is placed on, or no placement by nodes");
    }
    for_each_modified(node, [&](std::size_t i) {
      std::int32_t& on = changed_on[node.inputs[i]];
      if (on >= 0 && on != ipu) {
        refuse_placement(graph, node, "nodes on different IPUs change one variable", node.inputs[i],
                         "IPU " + std::to_string(on), ipu, {});
      }
      on = ipu;
    });
  }
}

inline std::vector<std::int32_t> placed_nodes(const Graph& graph) {
  std::vector<std::int32_t> placement(graph.nodes.size());
  TensorMap<std::int32_t> home(graph, -1);
  bool is_any_placed = false;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    placement[n] = graph.nodes[n].place.ipu;
    if (placement[n] < 0) continue;
    is_any_placed = true;
    for_each_variable(graph, graph.nodes[n], [&](TensorId id) {
      if (home[id] < 0) home[id] = placement[n];
    });
  }
  if (!is_any_placed) return {};
  // The others go where their variables are, or what they read was computed last.
  TensorMap<std::int32_t> made_on(graph, -1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    std::int32_t& ipu = placement[n];
    if (ipu < 0) ipu = last_ipu(home, graph.nodes[n]);
    if (ipu < 0) ipu = std::max(last_ipu(made_on, graph.nodes[n]), 0);
    note_outputs(made_on, graph.nodes[n], ipu);
  }
  return placement;
}

inline std::vector<double> shares(const std::vector<float>& ratios, std::int64_t ipus) {
  if (ratios.empty()) {
    return std::vector<double>(static_cast<std::size_t>(ipus), 1.0 / static_cast<double>(ipus));
  }
  double sum = 0;
  bool is_positive = true;
  for (const float r : ratios) {
    sum += static_cast<double>(r);
    is_positive = is_positive && r >= 0;
  }
  if (static_cast<std::int64_t>(ratios.size()) != ipus || !is_positive ||
      std::abs(sum - 1) > 1e-3) {
    const std::string expected = std::to_string(ipus) + " shares that add up to 1";
    fail(ErrorKind::usage,
         {.what = "the split ratios do not share the work between the IPUs", .expected = expected});
  }
  return {ratios.begin(), ratios.end()};
}

inline NodeMap<std::int32_t> node_operations(const Graph& graph, const Report& single) {
  NodeMap<std::int32_t> operations(graph, -1);
  std::size_t operation = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    while (operation < single.operations.size() && single.operations[operation].program != 0) {
      ++operation;
    }
    if (!is_operation(graph, graph.nodes[n]) || operation >= single.operations.size()) continue;
    operations[n] = static_cast<std::int32_t>(operation++);
  }
  return operations;
}

inline NodeMap<double> node_cycles(const Graph& graph, const Report& single) {
  const NodeMap<std::int32_t> operations = node_operations(graph, single);
  NodeMap<double> cycles(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (operations[n] < 0) continue;
    cycles[n] =
        static_cast<double>(single.operation_cycles(static_cast<std::size_t>(operations[n])));
  }
  return cycles;
}

/// For each node the node of the forward part that it goes with: for gradients that whose results or
/// weights they read, for updates that whose weights they change.
inline std::vector<std::size_t> forward_nodes(const Graph& graph) {
  constexpr std::int32_t none = -1;
  const std::size_t count = graph.nodes.size();
  std::vector<std::size_t> position(count, 0);
  TensorMap<std::int32_t> home(graph, none), made(graph, none), made_behind(graph, none);
  std::int32_t last = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const Node& node = graph.nodes[n];
    const bool is_forward = node.place.part == Part::forward;
    std::int32_t of = last_ipu(home, node);
    if (of == none && is_forward) of = last = static_cast<std::int32_t>(n);
    if (of == none) of = last_ipu(made, node);
    if (of == none) {
      // A sum of gradients belongs to the earlier of the nodes that they come from.
      for (const TensorId id : node.inputs) {
        if (id == no_tensor || made_behind[id] == none) continue;
        of = of == none ? made_behind[id] : std::min(of, made_behind[id]);
      }
    }
    if (of == none) of = last;
    position[n] = static_cast<std::size_t>(of);
    for_each_variable(graph, node, [&](TensorId id) {
      if (home[id] == none) home[id] = of;
    });
    note_outputs(is_forward ? made : made_behind, node, of);
  }
  return position;
}

inline std::vector<std::int32_t> automatic_placement(const Graph& graph, const Report& single,
                                                     const std::vector<double>& split) {
  const NodeMap<double> cycles = node_cycles(graph, single);
  const std::vector<std::size_t> position = forward_nodes(graph);
  const std::size_t count = graph.nodes.size();
  const Target& t = single.target;
  Division division(count);
  division.capacity = static_cast<double>(t.bytes_per_ipu());
  // Cuts lie between nodes of the forward part, with which all others go.
  division.may_cut.assign(count + 1, false);
  for (const std::size_t p : position) division.may_cut[p] = true;
  TensorMap<bool> seen(graph, false);
  TensorMap<std::int32_t> least(graph, -1), most(graph, -1);  // positions that a tensor is at
  const auto note = [&](TensorId id, std::size_t at) {
    const auto p = static_cast<std::int32_t>(at);
    least[id] = least[id] < 0 ? p : std::min(least[id], p);
    most[id] = std::max(most[id], p);
  };
  for (std::size_t n = 0; n < count; ++n) {
    const Node& node = graph.nodes[n];
    division.cycles[position[n] + 1] += cycles[n];
    for (const TensorId id : node.outputs) {
      if (id != no_tensor) note(id, position[n]);
    }
    for (const TensorId id : node.inputs) {
      if (id == no_tensor) continue;
      const bool is_kept = is_variable(graph.tensor(id));
      if (!is_kept && least[id] >= 0) note(id, position[n]);
      // Weights and state stay; results of the forward part wait for the gradients that read them.
      const bool waits = node.place.part == Part::backward && least[id] >= 0;
      if ((!is_kept && !waits) || seen[id]) continue;
      seen[id] = true;
      division.bytes[position[n] + 1] += static_cast<double>(graph.info(id).bytes());
    }
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    if (least[id] < 0 || most[id] == least[id]) continue;
    division.cross(static_cast<std::size_t>(least[id]), static_cast<std::size_t>(most[id]),
                   static_cast<double>(link_cycles(t, graph.info(id).bytes())) +
                       static_cast<double>(global_sync_cycles(t)));
  }
  division.add_up();
  std::vector<double> shares;
  std::vector<std::int32_t> ipus;  // that have a share
  for (std::size_t i = 0; i < split.size(); ++i) {
    if (split[i] <= 0) continue;
    shares.push_back(split[i]);
    ipus.push_back(static_cast<std::int32_t>(i));
  }
  std::vector<std::size_t> ends = division.ends(shares);
  while (ends.empty() && shares.size() > 1) {
    shares.pop_back();
    ends = division.ends(shares);
  }
  std::vector<std::int32_t> placement(count, 0);
  for (std::size_t n = 0; n < count && !ends.empty(); ++n) {
    const auto part = std::upper_bound(ends.begin(), ends.end(), position[n]);
    const auto last = static_cast<std::ptrdiff_t>(ends.size()) - 1;
    placement[n] = ipus[static_cast<std::size_t>(std::min(part - ends.begin(), last))];
  }
  return placement;
}

}  // namespace halftone::ipu::detail
