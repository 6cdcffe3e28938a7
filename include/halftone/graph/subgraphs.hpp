#pragma once

#include <cstdint>
#include <string_view>

#include <halftone/base/vector.hpp>
#include <halftone/graph/graph.hpp>
#include <halftone/graph/some_attributes.hpp>

namespace halftone {

namespace detail {

/// The indices of a node's Subgraph attributes, in their order.
class GraphIndices final : public SomeAttributes {
 public:
  Vector<std::int32_t> indices;

  constexpr void graph(std::string_view, std::int32_t& index) override { indices.push_back(index); }
};

}  // namespace detail

/// The graph attributes of a node, in the order of the operator's attributes.
constexpr Vector<std::int32_t> subgraphs_of(const Node& node) {
  detail::GraphIndices indices;
  if (!node.op->has_bodies) return {};
  Vector<Word> words = node.attributes;
  node.op->attributes(words, indices);
  return indices.indices;
}

/// Calls f(body) for each of them that the graph has.
constexpr void for_each_body(const Graph& graph, const Node& node, auto&& f) {
  if (graph.graphs.empty()) return;
  for (const std::int32_t index : subgraphs_of(node)) {
    const auto at = static_cast<std::size_t>(index);
    if (index >= 0 && at < graph.graphs.size()) f(graph.graphs[at]);
  }
}

}  // namespace halftone
