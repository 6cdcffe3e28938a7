#pragma once

#include <string>

#include <halftone/graph/graph.hpp>

namespace halftone {

/// A graph as lines that a person can follow: tensors with their infos, nodes in their order with
/// inputs, outputs and the attributes that differ from the defaults, bodies below their nodes.
std::string graph_text(const Graph& graph);
/// A graph as a picture in DOT, the language of Graphviz: nodes as boxes, tensors as arrows.
std::string graph_dot(const Graph& graph);

}  // namespace halftone
