#pragma once

#include <halftone/function.hpp>

namespace halftone {

namespace detail {
/// Records a RemoteCodeLoad; throws a UsageError if the body is the graph itself.
void record_code_load(Graph& graph, const Graph& body);
}  // namespace detail

/// Says that the code of a function, which is kept beside the machine, comes to its tiles here: nothing
/// that is computed depends on it. The order against calls of the function is the program's business;
/// see InSequence.
///
/// errors  UsageError: the graph that it is recorded in
/// source  popxl.ops.remote_code_load(graph, "executable")
template <class R, class... P>
void remote_code_load(Graph& graph, const Function<R(P...)>& f) {
  detail::record_code_load(graph, f.body);
}

}  // namespace halftone
