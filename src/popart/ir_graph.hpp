#pragma once

#include <memory>
#include <string>

#include <halftone/graph/graph.hpp>
#include <popart/ir.hpp>

namespace popart::detail {

/// What a session's Ir shows of its graph.
std::unique_ptr<Ir> describe(const halftone::Graph& graph, const DataFlow& dataFlow,
                             const SessionOptions& options, const Optimizer* optimizer);

/// The operators of a graph and its subgraphs as JSON; see Session::serializeIr.
std::string serialized(const halftone::Graph& graph);

}  // namespace popart::detail
