#pragma once

#include <string>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <popart/sessionoptions.hpp>

namespace popart::detail {

/// The weights whose updates are merged as mergeVarUpdate says, by name: each group has two weights or more
/// whose updates are alike, on one virtual graph, and nothing reads the updated weights in the same step.
std::vector<std::vector<std::string>> mergedUpdates(const halftone::Graph& graph,
                                                    const SessionOptions& options);

}  // namespace popart::detail
