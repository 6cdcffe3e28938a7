#pragma once

#include <cstdint>
#include <string>

#include <halftone/graph/graph.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/ipu/target.hpp>

namespace halftone::cli {

/// A machine by its name. Throws UsageError, listing the names.
const ipu::Target& target_named(const std::string& name);

/// Throws UsageError unless partial sums are float or half.
ipu::ProfileOptions profile_options(double memory_proportion, const std::string& partials);

/// Whether an input's first extent is open.
bool has_open_batch(const Graph& graph);
/// Gives the inputs' open first extents a value; 0: 1. Throws InputError if there are none.
Graph with_batch(Graph graph, std::int64_t batch);

/// What a tensor is once all is inferred. Throws UnsupportedError if its shape depends on values.
TensorInfo static_info(const Graph& graph, TensorId id);

}  // namespace halftone::cli
