#pragma once

#include <cstdint>

#include <halftone/graph/index.hpp>

namespace halftone {

/// The nodes that run once a step: those of updates, but for those that count micro-batches, and what
/// these read.
NodeMap<bool> nodes_of_step(const Graph& graph);

/// The nodes of the backward part that nothing outside of their stage waits for: gradients of weights.
/// `last_stage`: of the forward part.
NodeMap<bool> nodes_of_weights(const Graph& graph, std::int32_t last_stage,
                               const NodeMap<bool>& is_of_step);

}  // namespace halftone
