#pragma once

#include <string_view>

#include "cli/commands.hpp"

namespace halftone::cli {

/// A Recomputation by its name. Throws UsageError, listing the names.
Recomputation parse_recomputation(std::string_view name);

/// Kinds of variables, separated by commas: none, state, accumulators, weights, all. Throws UsageError,
/// listing them.
TensorKinds parse_kinds(std::string_view names);

/// A trained graph, as it is spread.
Graph spread(Graph graph, const Spreading& spreading);

}  // namespace halftone::cli
