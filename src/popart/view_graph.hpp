#pragma once

#include <set>
#include <utility>
#include <vector>

#include <halftone/graph/graph.hpp>

#include "popart/ir_graph.hpp"

namespace popart::detail {

/// The library's graph that is shown at a point, and the tensors in it that are computed again for the
/// gradients.
halftone::Graph viewedGraph(const IrSource& source, IrPoint point,
                            std::set<halftone::TensorId>& recomputed);

/// Where a program would write outputs over inputs: for each node (input, output), or (-1, -1).
class InPlace {
 public:
  explicit InPlace(const halftone::Graph& graph);
  std::pair<int, int> operator[](std::size_t n) const { return over_[n]; }

 private:
  std::vector<std::pair<int, int>> over_;
};

}  // namespace popart::detail
