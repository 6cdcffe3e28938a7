#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// The most IPUs that work together.
inline constexpr std::int32_t most_ipus = 64;
/// The most stages or phases of a graph.
inline constexpr std::int32_t most_places = 32767;

namespace detail {
/// A number of a place. Throws UsageError below -1 and from `most` on.
std::int16_t checked_place(std::string_view what, std::int32_t number, std::int32_t most);
}  // namespace detail

/// Asks for it; stays with the node when the graph is copied or saved.
/// errors   UsageError for values out of range, and for a proportion or partial sums of a node that
///          is no product
void set_planning(Node& node, const Planning& planning);

/// Says which IPU a node is meant for, 0 being the first; -1: any.
/// errors   UsageError for numbers below -1 and above 63
void set_ipu(Node& node, std::int32_t ipu);

/// Gives a product what was asked for the one that it comes from.
void inherit_planning(Node& node, const Planning& planning);

/// Whether operators of that name, or what they expand to, are products.
bool is_planned(std::string_view op);

}  // namespace halftone
