#include <halftone/program/program.hpp>

#include "base/describe.hpp"

namespace halftone::detail {

void refuse_program(ErrorKind kind, std::string_view what, const Graph& graph, const Node& node,
                    TensorId id) {
  fail(kind, {.what = what,
              .node = node_text(*node.op, graph.name(node)),
              .tensor = graph.name(id),
              .found = to_text(graph.info(id))});
}

void refuse_repetition(const Graph& graph, const Node& node) {
  fail(ErrorKind::model,
       {.what = "the body does not fit the node", .node = node_text(*node.op, graph.name(node))});
}

}  // namespace halftone::detail
