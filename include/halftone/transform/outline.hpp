#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// What is worth a subgraph.
struct OutlineOptions {
  /// The value of a subgraph's nodes has to be above this: 1000 for each product, convolution or
  /// recurrent layer (and what gradients have of them), 0.1 for any other node.
  double threshold = 1;
};

/// Replaces sequences of equal nodes that pass values on in the same way by calls of one body: a machine
/// has their code once. Nodes keep their order, and no result changes by more than rounding (the cpu
/// computes attention by one kernel only where its nodes stand together); forward and backward parts,
/// stages and IPUs have bodies of their own. Nodes that change variables, draw numbers or reach the host stay
/// where they are. All infos must be known.
///
/// source  PopART's SubgraphOutline
Graph outline(Graph graph, const OutlineOptions& options = {});

}  // namespace halftone
