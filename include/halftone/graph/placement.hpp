#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/graph/graph.hpp>

namespace halftone {

/// The most IPUs that work together.
inline constexpr std::int32_t most_ipus = 64;

/// The IPU that a node is meant for, 0 being the first; -1: any.
std::int32_t ipu_of(const Node& node);
/// Says so; PopART's attribute __ipu_number of models. It stays with the node when the graph is
/// copied or saved, goes on to the nodes of its gradient, and changes no result.
/// errors   UsageError for numbers below -1 and above 63
void set_ipu(Node& node, std::int32_t ipu);

/// Nodes that are recorded while it lives are meant for one IPU, unless an inner one says another:
///
///   const OnIpu second(graph, 1);
class OnIpu {
 public:
  OnIpu(Graph& graph, std::int32_t ipu) : graph_(graph), ipu_(ipu), first_(graph.nodes.size()) {}
  OnIpu(const OnIpu&) = delete;
  ~OnIpu() {
    for (std::size_t n = first_; n < graph_.nodes.size(); ++n) {
      if (ipu_of(graph_.nodes[n]) < 0) set_ipu(graph_.nodes[n], ipu_);
    }
  }

 private:
  Graph& graph_;
  std::int32_t ipu_;
  std::size_t first_;
};

}  // namespace halftone
