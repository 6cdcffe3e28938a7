#include <halftone/remote_code.hpp>

namespace halftone {

void detail::record_code_load(Graph& graph, const Graph& body) {
  if (&graph == &body) {
    fail(ErrorKind::usage, {.what = "the code of a graph is loaded in the graph itself",
                            .hint = "record the load in the graph that calls the function"});
  }
  const std::string_view name = body.text(body.graph_name);
  record(
      graph,
      op::RemoteCodeLoad{.graph = StreamName(name.empty() ? "function" : name), .destination = 1},
      {}, 0);
}

}  // namespace halftone
