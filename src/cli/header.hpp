#pragma once

#include <string>
#include <string_view>

#include <halftone/graph/graph.hpp>

namespace halftone::cli {

/// A header with a model for `Static` (halftone/static.hpp): its weights as arrays, and a struct
/// `Model` whose `build` records it, in a namespace of that name.
///
/// graph   all shapes are known
/// errors  UnsupportedError for what static programs do not have
std::string static_header(const Graph& graph, std::string_view name);

}  // namespace halftone::cli
