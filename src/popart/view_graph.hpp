#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <halftone/graph/graph.hpp>

#include "popart/ir_graph.hpp"

namespace popart::detail {

/// The library's graph that is shown at a point. Of the forward part's nodes Place::recompute says
/// which ones run again for the gradients.
struct ViewedGraph {
  halftone::Graph graph;
  std::size_t first_outlined;  ///< the graphs from this one on are bodies that outline() has made
};
ViewedGraph viewedGraph(const IrSource& source, IrPoint point);

/// Where a program would write outputs over inputs: for each node (input, output), or (-1, -1).
class InPlace {
 public:
  explicit InPlace(const halftone::Graph& graph);
  std::pair<int, int> operator[](std::size_t n) const { return over_[n]; }

 private:
  std::vector<std::pair<int, int>> over_;
};

}  // namespace popart::detail
