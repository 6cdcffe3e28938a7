#pragma once

#include <vector>

#include <halftone/exec/engine.hpp>

#include "node.hpp"

namespace halftone {

struct Interpretation;

/// Runs a Loop or Scan node by node: shapes may change from pass to pass. Returns the outputs.
std::vector<AnyArray> repeat_node(const Graph& graph, const Node& node,
                                  std::span<const AnyView> inputs, const Interpretation& how);

}  // namespace halftone
