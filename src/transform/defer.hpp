#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// Divides a graph that has late nodes, so that most of it can be planned. What depends on none of
/// them becomes the body of a Call named `early`, which is planned at once. What depends on them
/// becomes the body of a Call named `late`, which is planned when they have run, if there is a
/// product in it that is worth it. The late nodes between the two stay.
///
/// A graph whose nodes change variables or have effects keeps its order, and stays as it is.
Graph defer(Graph graph);

/// Whether a graph has products, its bodies included: planning it for the shapes that have come
/// costs less than running it.
bool has_products(const Graph& graph);

}  // namespace halftone
