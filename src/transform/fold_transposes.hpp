#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// Products of matrices read what a Transpose made of a factor, and write what one makes of them, in that
/// order themselves: exporters write linear layers with a Transpose of their weights, which a training would
/// run in each step, and another one of their gradients. All infos must be known.
Graph fold_transposes(Graph graph);

}  // namespace halftone
