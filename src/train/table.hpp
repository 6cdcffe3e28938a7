#pragma once

#include <halftone/graph/registry.hpp>

namespace halftone {

/// The operators that only trained graphs have, and no model file.
OperatorTable training_operators();

}  // namespace halftone
