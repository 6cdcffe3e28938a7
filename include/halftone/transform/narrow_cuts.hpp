#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/transform/schedule.hpp>

namespace halftone {

/// A place between nodes of the forward part where a graph may be cut.
struct NarrowCut {
  std::size_t end = 0;     ///< nodes before it
  std::int64_t bytes = 0;  ///< that are live there
  std::int64_t kept = 0;   ///< of what nodes before it make for the backward part
};

namespace detail {

/// The first and the last one, and the best of neighbours.
inline Vector<NarrowCut> thinned(Vector<NarrowCut> cuts, std::size_t most) {
  while (cuts.size() > most) {
    Vector<NarrowCut> half{cuts.front()};
    for (std::size_t i = 1; i + 1 < cuts.size(); i += 2) {
      const bool is_pair = i + 2 < cuts.size();
      half.push_back(is_pair && cuts[i + 1].bytes < cuts[i].bytes ? cuts[i + 1] : cuts[i]);
    }
    half.push_back(cuts.back());
    cuts = std::move(half);
  }
  return cuts;
}

}  // namespace detail

/// All places whose live bytes are the least around, the best ones if there are more than `most`; with
/// the beginning and the end of the forward part.
inline Vector<NarrowCut> narrow_cuts(const Graph& graph, const Aliases& aliases, std::size_t most) {
  const auto is_forward = [](const Node& node) { return node.place.part == Part::forward; };
  const std::size_t count = graph.nodes.size();
  TensorMap<int> last_forward(graph, no_node);
  TensorMap<bool> is_needed(graph, false);
  for (std::size_t n = 0; n < count; ++n) {
    for (const TensorId id : graph.nodes[n].inputs) {
      if (id == no_tensor) continue;
      const TensorId root = aliases.root(id);
      if (is_forward(graph.nodes[n])) {
        last_forward[root] = static_cast<int>(n);
      } else {
        is_needed[root] = true;
      }
    }
  }
  Vector<NarrowCut> all{{}};
  std::int64_t live = 0, kept = 0;
  Vector<Vector<TensorId>> ends(count + 1);
  for (std::size_t n = 0; n < count; ++n) {
    const Node& node = graph.nodes[n];
    if (!is_forward(node)) continue;
    for (const TensorId id : node.outputs) {
      if (id == no_tensor || aliases.root(id) != id) continue;
      const std::int64_t bytes = detail::value_bytes(graph.tensor(id));
      if (is_needed[id]) kept += bytes;
      if (last_forward[id] == no_node) continue;
      live += bytes;
      ends[static_cast<std::size_t>(last_forward[id])].push_back(id);
    }
    for (const TensorId id : ends[n]) live -= detail::value_bytes(graph.tensor(id));
    all.push_back({n + 1, live, kept});
  }
  Vector<NarrowCut> least;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool falls = i == 0 || all[i].bytes <= all[i - 1].bytes;
    const bool rises = i + 1 == all.size() || all[i].bytes <= all[i + 1].bytes;
    if (i == 0 || i + 1 == all.size() || (falls && rises)) least.push_back(all[i]);
  }
  return detail::thinned(std::move(least), most);
}

}  // namespace halftone
