#pragma once

#include <halftone/graph/graph.hpp>

namespace halftone {

/// What one node asks of an IPU's planner. It counts for products (MatMul, Gemm, convolutions,
/// recurrent layers) and the nodes of their gradients, and changes no result.
struct Planning {
  /// Of a tile's memory, for what is temporary: above 0, up to 1; 0: what the profile's options
  /// say.
  float available_memory_proportion = 0;
  /// Of sums of half products: float32 or float16; undefined: what the profile's options say.
  ElementType partials = ElementType::undefined;
  friend constexpr bool operator==(const Planning&, const Planning&) = default;
};

/// What was asked for the node; default values if nothing was.
Planning planning_of(const Node& node);

/// Asks for it. It stays with the node when the graph is copied or saved: behind the words of its
/// attributes, which operators do not read.
/// errors   UsageError for values out of range
void set_planning(Node& node, const Planning& planning);

/// Whether operators of that name, or what they expand to, are products.
bool is_planned(std::string_view op);

}  // namespace halftone
