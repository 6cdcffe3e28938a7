#pragma once

#include <halftone/graph/index.hpp>

namespace halftone::detail {

/// Batch normalization takes the statistics of the batch, which update the running ones. Dropout
/// without the input training_mode, and ShapedDropout, drop, and keep what gradients need of it.
/// Returns which variables hold running statistics.
TensorMap<bool> use_training_mode(Graph& graph);

}  // namespace halftone::detail
