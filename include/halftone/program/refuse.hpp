#pragma once

#include <halftone/graph/describe.hpp>
#include <halftone/program/program.hpp>

// The code behind program.hpp's errors: in the core, and in programs without the library.
namespace halftone::detail {

template <class>
void refuse_program(ErrorKind kind, std::string_view what, const Graph& graph, const Node& node,
                    TensorId id) {
  fail(kind, {.what = what,
              .node = node_text(*node.op, graph.name(node)),
              .tensor = graph.name(id),
              .found = to_text(graph.info(id))});
}

template <class>
void refuse_repetition(const Graph& graph, const Node& node) {
  fail(ErrorKind::model,
       {.what = "the body does not fit the node", .node = node_text(*node.op, graph.name(node))});
}

}  // namespace halftone::detail
