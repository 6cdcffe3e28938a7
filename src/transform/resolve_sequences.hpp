#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// Replaces operators on sequences of tensors whose items are known before the run (their number and
/// the positions are) by Split and Concat, and what reads an item reads the tensor itself: such
/// graphs are planned and have gradients. Nodes that nothing depends on any more are dropped. Returns
/// whether something changed; more may be found when the graph is inferred again.
bool resolve_sequences(Graph& graph);

}  // namespace halftone
