#pragma once

#include <cstdint>

#include <halftone/graph/graph.hpp>

namespace halftone {

/// Gives every variable without data the values of its rule. The numbers depend on the seed, the
/// variable's name and the element alone: not on the order of variables or on threads.
void initialize_variables(Graph& graph, std::uint64_t seed);

}  // namespace halftone
