#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// The most IPUs that work together.
inline constexpr std::int32_t most_ipus = 64;

/// Asks for it; stays with the node when the graph is copied or saved.
/// errors   UsageError for values out of range, and for a proportion or partial sums of a node that
///          is no product
void set_planning(Node& node, const Planning& planning);

/// Says which IPU a node is meant for, 0 being the first; -1: any.
/// errors   UsageError for numbers below -1 and above 63
void set_ipu(Node& node, std::int32_t ipu);

/// Gives a node what was asked for the one that it comes from, as far as it concerns its operator.
void inherit_planning(Node& node, const Planning& planning);

/// Whether operators of that name, or what they expand to, are products.
bool is_planned(std::string_view op);

/// Nodes that are recorded while it lives are meant for one IPU, unless an inner one says another:
///
///   const OnIpu second(graph, 1);
class OnIpu {
 public:
  OnIpu(Graph& graph, std::int32_t ipu) : graph_(graph), ipu_(ipu), first_(graph.nodes.size()) {}
  OnIpu(const OnIpu&) = delete;
  ~OnIpu() {
    for (std::size_t n = first_; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].planning.ipu < 0) set_ipu(graph_.nodes[n], ipu_);
    }
  }

 private:
  Graph& graph_;
  std::int32_t ipu_;
  std::size_t first_;
};

}  // namespace halftone
