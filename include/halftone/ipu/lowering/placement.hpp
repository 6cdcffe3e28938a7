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

/// An IPU for each node: consecutive parts with these shares of the cycles on a single IPU; who
/// uses a variable that another node used is where that is.
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

inline std::vector<std::int32_t> automatic_placement(const Graph& graph, const Report& single,
                                                     const std::vector<double>& split) {
  const NodeMap<double> cycles = node_cycles(graph, single);
  // Nodes that bring in variables lead; the time of all that follow them is theirs.
  TensorMap<std::int32_t> home(graph, -1), of_tensor(graph, -1);
  std::vector<std::int32_t> placement(graph.nodes.size());
  double leading = 0;
  NodeMap<bool> leads(graph, false);
  TensorMap<bool> seen(graph, false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for_each_variable(graph, graph.nodes[n], [&](TensorId id) {
      leads[n] = leads[n] || !seen[id];
      seen[id] = true;
    });
    if (leads[n]) leading += cycles[n];
  }
  double sum = 0;
  std::int32_t last = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    std::int32_t ipu = last_ipu(home, node);
    if (ipu < 0 && leads[n] && leading > 0) {
      ipu = 0;
      double end = split[0];
      while (static_cast<std::size_t>(ipu) + 1 < split.size() && sum / leading >= end - 1e-9) {
        end += split[static_cast<std::size_t>(++ipu)];
      }
      last = std::max(last, ipu);
    }
    if (ipu < 0) ipu = last_ipu(of_tensor, node);
    if (ipu < 0) ipu = last;
    if (leads[n]) sum += cycles[n];
    placement[n] = ipu;
    for_each_variable(graph, node, [&](TensorId id) { home[id] = ipu; });
    note_outputs(of_tensor, node, ipu);
  }
  return placement;
}

}  // namespace halftone::ipu::detail
