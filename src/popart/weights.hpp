#pragma once

#include <halftone/session/session.hpp>
#include <popart/stepio.hpp>

#include "session/host_weights.hpp"

namespace popart::detail {

using halftone::detail::HostWeights;

// What programs exchange with the host's copy of the weights. These throw the library's errors, in
// PopART's words.

/// Copies the host's values to the program's memory, of those that it has.
void readWeights(const HostWeights& weights, const IWeightsIO& io);
/// Takes values from the program's memory, of those that it has.
void writeWeights(HostWeights& weights, const IWeightsIO& io);
/// Takes the values of another graph's variables; one that is not here is an error, or ignored.
void resetWeights(HostWeights& weights, const halftone::Graph& graph, bool ignoreUnknown);

}  // namespace popart::detail
