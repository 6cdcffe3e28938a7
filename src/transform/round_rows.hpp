#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// Products in AMX get rows that are in bfloat16 already where that saves passes over memory: what several
/// products read is rounded once, and what an elementwise operator gives to one alone is rounded where
/// it is computed. The bits stay the same. For bfloat16 on a machine with AMX.
Graph round_rows(Graph graph);

}  // namespace halftone
