#pragma once

#include <cstdint>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/ipu/profile.hpp>

namespace halftone::ipu {

/// Whether a node is an operation of a report: it makes elements, or it has no outputs and its
/// operator says what there is to do.
bool is_operation(const Graph& graph, const Node& node);

/// An IPU for each node of a graph whose placement was checked: the one it is meant for; empty if
/// no node is meant for any.
std::vector<std::int32_t> placed_nodes(const Graph& graph);

/// The IPUs' shares, of which there are `ipus`. Throws UsageError unless they add up to 1.
std::vector<double> shares(const std::vector<float>& ratios, std::int64_t ipus);

/// An IPU for each node: consecutive parts with these shares of the cycles on a single IPU; who
/// uses a variable that another node used is where that is.
std::vector<std::int32_t> automatic_placement(const Graph& graph, const Report& single,
                                              const std::vector<double>& split);

}  // namespace halftone::ipu
