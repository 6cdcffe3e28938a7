#pragma once

#include <cstdint>

#include <halftone/graph/graph.hpp>
#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/sessionoptions.hpp>

namespace popart::detail {

/// The IPUs of a device that each replica of this process has. Throws popart::error if they cannot be shared.
std::int64_t ipusOfReplica(const DeviceInfo& device, const SessionOptions& options);

/// Gives the nodes of a model the virtual graphs and pipeline stages that the options ask for, and takes
/// away what they do not look at. `ipus`: of a replica's machine; 0: there is none to ask. Comes before
/// gradients are recorded, which mirror the stages. Throws popart::error where stages cannot be a pipeline.
void placeNodes(halftone::Graph& graph, const SessionOptions& options, std::int64_t ipus);

/// Throws popart::error for micro-batches that are too few, and for what a pipeline does not return.
void checkPipeline(const halftone::Graph& graph, const SessionOptions& options,
                   const DataFlow& dataFlow, bool isTraining);

/// Turn by turn as PopART does; without gradient accumulation weights change while micro-batches are
/// under way.
halftone::Schedule scheduleOf(const SessionOptions& options, bool isTraining);

}  // namespace popart::detail
