#pragma once

#include <halftone/graph/registry.hpp>

namespace halftone {

/// The operators of the library.
OperatorTable builtin_operators();

}  // namespace halftone
