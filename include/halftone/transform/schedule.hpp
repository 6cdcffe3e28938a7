#pragma once

#include <utility>
#include <vector>

#include <halftone/graph/index.hpp>
#include <halftone/transform/dead_code.hpp>

namespace halftone {

/// Largest sum of bytes of the values that are live at once if the nodes run in their order.
/// Inputs, constants and variables do not count; unknown sizes count as nothing.
constexpr std::int64_t peak_bytes(const Graph& graph) {
  const Uses uses(graph);
  const int end = static_cast<int>(graph.nodes.size());
  std::int64_t live = 0, peak = 0;
  auto bytes = [&](TensorId id) {
    const TensorRecord& t = graph.tensor(id);
    const std::int64_t size = t.info.bytes();
    return t.role == Role::value && t.info.is_known() && size > 0 ? size : 0;
  };
  for (int n = 0; n < end; ++n) {
    const Node& node = graph.nodes[static_cast<std::size_t>(n)];
    for (const TensorId id : node.outputs) {
      if (id != no_tensor) live += bytes(id);
    }
    peak = live > peak ? live : peak;
    for (const TensorId id : node.outputs) {
      if (id != no_tensor && uses.last_read[id] == no_node) live -= bytes(id);
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      bool first = id != no_tensor;
      for (std::size_t k = 0; first && k < i; ++k) first = node.inputs[k] != id;
      if (first && uses.last_read[id] == n) live -= bytes(id);
    }
  }
  return peak;
}

/// Orders the nodes so that less memory is live at once: among those that can run, the one after
/// which the least is live runs next, the earlier one of equals. Nodes keep their order if they touch a
/// variable that is modified, or a view of it, if they have effects, and if they have places (Order).
/// The given order stays where it is not worse.
constexpr Graph schedule(Graph graph) {
  const std::size_t count = graph.nodes.size();
  const Uses given(graph);
  const Aliases aliases(graph);
  TensorMap<int> uses = given.count;
  NodeMap<std::vector<std::size_t>> after(graph);
  NodeMap<int> waits(graph, 0);
  TensorMap<int> last_touch(graph, no_node);
  auto wait = [&](int first, std::size_t second) {
    if (first < 0 || static_cast<std::size_t>(first) == second) return;
    after[static_cast<std::size_t>(first)].push_back(second);
    ++waits[second];
  };
  for (std::size_t n = 0; n < count; ++n) {
    for (const TensorId id : graph.nodes[n].inputs) {
      if (id == no_tensor) continue;
      wait(given.producer[id], n);
      if (!aliases.is_modified(id)) continue;
      int& touched = last_touch[aliases.root(id)];
      wait(touched, n);
      touched = static_cast<int>(n);
    }
  }
  int last_effect = no_node;
  std::vector<std::size_t> placed;
  for (std::size_t n = 0; n < count; ++n) {
    const Order& order = graph.nodes[n].order;
    if (order.block != 0) {
      for (const std::size_t before : placed) {
        const Order& other = graph.nodes[before].order;
        if (other.block == order.block && other.position < order.position) {
          wait(static_cast<int>(before), n);
        }
      }
      placed.push_back(n);
    }
    if (!has_effect(graph, graph.nodes[n])) continue;
    wait(last_effect, n);
    last_effect = static_cast<int>(n);
  }

  auto bytes = [&](TensorId id) {
    const TensorRecord& t = graph.tensor(id);
    const std::int64_t size = t.info.bytes();
    return t.role == Role::value && t.info.is_known() && size > 0 ? size : 0;
  };
  auto growth = [&](std::size_t n) {
    std::int64_t change = 0;
    for (const TensorId id : graph.nodes[n].outputs) {
      if (id != no_tensor && uses[id] > 0) change += bytes(id);
    }
    const auto& in = graph.nodes[n].inputs;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i] == no_tensor) continue;
      int mine = 0;
      bool first = 1;
      for (std::size_t k = 0; k < in.size(); ++k) {
        mine += in[k] == in[i];
        first = first && !(k < i && in[k] == in[i]);
      }
      if (first && uses[in[i]] == mine) change -= bytes(in[i]);
    }
    return change;
  };

  std::vector<std::size_t> ready, order;
  for (std::size_t n = 0; n < count; ++n) {
    if (waits[n] == 0) ready.push_back(n);
  }
  // Looking at every ready node each time is quadratic in wide graphs: a window is enough.
  constexpr std::size_t window = 64;
  while (!ready.empty()) {
    std::size_t best = 0;
    std::int64_t best_growth = growth(ready[0]);
    for (std::size_t i = 1; i < ready.size() && i < window; ++i) {
      const std::int64_t g = growth(ready[i]);
      if (g < best_growth || (g == best_growth && ready[i] < ready[best])) {
        best = i;
        best_growth = g;
      }
    }
    const std::size_t n = ready[best];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
    order.push_back(n);
    for (const TensorId id : graph.nodes[n].inputs) {
      if (id != no_tensor) --uses[id];
    }
    for (const std::size_t next : after[n]) {
      if (--waits[next] == 0) ready.push_back(next);
    }
  }
  Graph ordered = graph;
  for (std::size_t i = 0; i < count; ++i) ordered.nodes[i] = std::move(graph.nodes[order[i]]);
  for (std::size_t i = 0; i < count; ++i) graph.nodes[order[i]] = ordered.nodes[i];
  return peak_bytes(ordered) < peak_bytes(graph) ? ordered : graph;
}

}  // namespace halftone
