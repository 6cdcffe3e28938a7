#pragma once

#include <string>

#include "popxl/state.hpp"

namespace popxl::detail {

/// All graphs of an Ir in Graphviz' format: a cluster for each, its operators and what they pass on.
std::string dot_text(const IrState& ir);

}  // namespace popxl::detail
