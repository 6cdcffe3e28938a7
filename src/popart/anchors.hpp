#pragma once

#include <string>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <popart/dataflow.hpp>
#include <popart/sessionoptions.hpp>

namespace popart::detail {

/// The tensors of a graph that are returned; streams are not among them.
halftone::Vector<halftone::TensorId> anchorsIn(const halftone::Graph& graph,
                                               const DataFlow& dataFlow);

/// Throws popart::error for anchors that are no tensors of the graph.
void checkAnchors(const halftone::Graph& graph, const DataFlow& dataFlow);
/// Throws popart::error for transfers that overlap what they cannot.
void checkStrategies(const halftone::Graph& graph, const DataFlow& dataFlow,
                     const SessionOptions& options);

/// Drops nodes that no anchor and no update needs, and inputs that no node is left to read, and makes the
/// anchors the graph's outputs. Gives the inputs that are dropped. Throws popart::error if there is
/// nothing to compute.
std::vector<std::string> prune(halftone::Graph& graph, const DataFlow& dataFlow);

/// The tensors whose gradients are anchors, as far as the loss depends on them.
std::vector<std::string> anchoredGradients(const halftone::Graph& graph, halftone::TensorId loss,
                                           const DataFlow& dataFlow);

}  // namespace popart::detail
