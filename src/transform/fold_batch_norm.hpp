#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// Batch normalizations (of inference) that alone read a convolution go into its weights and bias.
/// Only float32 and constant parameters.
Graph fold_batch_norm(Graph graph);

}  // namespace halftone
