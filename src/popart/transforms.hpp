#pragma once

#include <halftone/graph/graph.hpp>
#include <popart/sessionoptions.hpp>

namespace popart::detail {

/// Throws popart::error for transforms that are not registered, and points that there are not.
void checkTransforms(const SessionOptions& options);
/// Runs the transforms that the options ask for at a point.
void applyTransforms(halftone::Graph& graph, const SessionOptions& options, const char* point);

}  // namespace popart::detail
