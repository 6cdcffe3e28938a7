#include "graph/subgraphs.hpp"

#include <string>

#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"

namespace halftone {

void check_subgraphs(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const std::int32_t index : subgraphs_of(node)) {
      if (index >= 0 && static_cast<std::size_t>(index) < graph.graphs.size()) continue;
      fail(ErrorKind::model, {.what = "a Subgraph names a graph that there is not",
                              .node = detail::node_text(*node.op, graph.name(node)),
                              .expected = "below " + std::to_string(graph.graphs.size()),
                              .found = std::to_string(index)});
    }
  }
  for (const Graph& body : graph.graphs) check_subgraphs(body);
}

}  // namespace halftone
