#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <halftone/graph/graph.hpp>

// What a run is given is checked against its graph here, and nowhere else.
namespace halftone::detail {

/// How many values of an input a run is given at once, by leading dimensions: {batches, micro-batches
/// of each}. Dimensions of one are left out.
using LeadingExtents = std::span<const std::int64_t>;

/// The info of one value of an input that is given in a run. Throws InputError if type or shape are
/// not those of the graph behind the leading dimensions; given leading dimensions may be others that
/// have as many values in all.
TensorInfo check_input(const Graph& graph, TensorId input, const TensorInfo& given,
                       LeadingExtents lead = {});

/// Whether shapes are equal when dimensions of one are left out.
bool is_same_but_for_ones(const Dims& a, const Dims& b);

/// Throws InputError unless extents of one symbol are equal; `infos` are those of graph.inputs.
void check_symbols(const Graph& graph, std::span<const TensorInfo> infos);

/// "inputs are 'a', 'b'; may be given: 'w'", for hints.
std::string input_names(const Graph& graph);

/// Throws InputError with what the graph expects of an input.
[[noreturn]] void throw_input(const Graph& graph, TensorId input, std::string_view what,
                              std::string_view found, LeadingExtents lead = {});

}  // namespace halftone::detail
