#pragma once

#include <vector>

#include "node.hpp"

namespace halftone {

/// Runs a graph node by node, finding shapes as it goes: for graphs whose shapes depend on values.
/// Returns the outputs.
std::vector<AnyArray> interpret(const Graph& graph, std::span<const AnyView> inputs,
                                const kernel::Executor& executor);
/// The same for other outputs than the graph's own; no_tensor: none in this place.
std::vector<AnyArray> interpret(const Graph& graph, std::span<const AnyView> inputs,
                                const kernel::Executor& executor,
                                std::span<const TensorId> outputs);

}  // namespace halftone
