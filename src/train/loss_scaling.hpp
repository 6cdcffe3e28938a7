#pragma once

#include <cstddef>
#include <span>

#include <halftone/train.hpp>

namespace halftone::detail {

/// A range of nodes, by position.
struct NodeRange {
  std::size_t first = 0, end = 0;
};

/// Records what automatic loss scaling does: counts numbers in half-precision gradients that are
/// beyond the edge, and changes the factor after a step. It looks at `gradients`, and, if options
/// name no tensors, at what the nodes of a range compute. Throws UsageError if there is nothing to
/// look at.
void record_scale_adjustment(Graph& graph, const AutomaticLossScaling& options, TensorId factor,
                             std::span<const TensorId> gradients, NodeRange nodes);

}  // namespace halftone::detail
