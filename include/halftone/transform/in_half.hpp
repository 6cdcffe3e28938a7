#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// A model that computes in half what it computed in float: inputs, weights and all that is made of
/// them. Numbers are rounded to the nearest half.
Graph in_half(Graph graph);

}  // namespace halftone
