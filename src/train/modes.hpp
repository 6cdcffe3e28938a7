#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone::detail {

/// Batch normalization takes the statistics of the batch, which update the running ones. Dropout
/// without the input training_mode, and ShapedDropout, drop, and keep what gradients need of it.
void use_training_mode(Graph& graph);
/// Takes that back.
void use_inference_mode(Graph& graph);
/// Whether a node brings the running statistics of a batch normalization up to date.
bool updates_statistic(const Graph& graph, const Node& node);

}  // namespace halftone::detail
