#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// Checks that nodes run graphs that there are, in bodies, too. Throws ModelError otherwise.
void check_subgraphs(const Graph& graph);

}  // namespace halftone
