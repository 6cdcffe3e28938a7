#pragma once

#include <string_view>

#include "cli/commands.hpp"

namespace halftone::cli {

/// A Recomputation by its name. Throws UsageError, listing the names.
Recomputation parse_recomputation(std::string_view name);
/// The same for a Schedule.
Schedule parse_schedule(std::string_view name);

/// Gives the nodes of a model the IPUs and stages that were asked for. Comes before train().
void place(Graph& graph, const Spreading& spreading);
/// The schedule of what was placed so.
Schedule schedule_of(const Spreading& spreading);

/// Kinds of variables, separated by commas: none, state, accumulators, weights, all. Throws UsageError,
/// listing them.
TensorKinds parse_kinds(std::string_view names);

/// PARTS or PARTS:METHOD, into `spreading`. Throws UsageError, listing the methods.
void parse_batch_parts(std::string_view text, Spreading& spreading);
/// A model that computes its batch in these parts. Comes before train().
Graph in_parts(Graph graph, const Spreading& spreading);

/// A trained graph, as it is spread.
Graph spread(Graph graph, const Spreading& spreading);

}  // namespace halftone::cli
