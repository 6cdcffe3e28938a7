#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/transform/dead_code.hpp>

namespace halftone {

namespace detail {

/// Bytes that a tensor takes while it is live. Inputs, constants and variables do not count;
/// unknown sizes count as nothing.
constexpr std::int64_t value_bytes(const TensorRecord& t) {
  if (t.role != Role::value || !t.info.is_known()) return 0;
  const std::int64_t size = t.info.bytes();
  return size > 0 ? size : 0;
}

/// peak_bytes() of the nodes in another order; `bytes`: value_bytes() of all tensors.
constexpr std::int64_t peak_in_order(const Graph& graph, const TensorMap<std::int64_t>& bytes,
                                     std::span<const std::size_t> order) {
  const int end = static_cast<int>(order.size());
  TensorMap<int> last_read(graph, no_node);
  for (int at = 0; at < end; ++at) {
    for (const TensorId id : graph.nodes[order[static_cast<std::size_t>(at)]].inputs) {
      if (id != no_tensor) last_read[id] = at;
    }
  }
  for (const TensorId id : graph.outputs) last_read[id] = end;
  std::int64_t live = 0, peak = 0;
  for (int at = 0; at < end; ++at) {
    const Node& node = graph.nodes[order[static_cast<std::size_t>(at)]];
    for (const TensorId id : node.outputs) {
      if (id != no_tensor) live += bytes[id];
    }
    peak = live > peak ? live : peak;
    for (const TensorId id : node.outputs) {
      if (id != no_tensor && last_read[id] == no_node) live -= bytes[id];
    }
    for (const TensorId id : node.inputs) {
      if (id == no_tensor || last_read[id] != at) continue;
      live -= bytes[id];
      last_read[id] = no_node;  // a node may read it twice
    }
  }
  return peak;
}

/// For each node that computes something again the node that it has to wait for, else no_node: the
/// one before it in the given order that continues the gradients from the end of the forward part.
/// What it reads is there long before, and it would bring memory back too early. Empty if there are
/// none.
constexpr NodeMap<int> starts_of_recomputed(const Graph& graph, const Uses& uses) {
  bool any = false;
  for (const Node& node : graph.nodes) any = any || is_recomputed(node.place);
  if (!any) return {};
  int last_forward = no_node;  // of those that the backward part reads
  for (const Node& node : graph.nodes) {
    if (node.place.part != Part::backward) continue;
    for (const TensorId id : node.inputs) {
      const int maker = id == no_tensor ? no_node : uses.producer[id];
      if (maker == no_node || maker < last_forward) continue;
      if (graph.nodes[static_cast<std::size_t>(maker)].place.part == Part::forward) {
        last_forward = maker;
      }
    }
  }
  NodeMap<int> starts(graph, no_node);
  NodeMap<bool> continues(graph, false);
  int last = no_node;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.place.part != Part::backward) continue;
    if (is_recomputed(node.place)) {
      starts[n] = last;
      continue;
    }
    bool reads_values = false;
    for (const TensorId id : node.inputs) {
      const int maker = id == no_tensor ? no_node : uses.producer[id];
      if (maker == no_node) continue;
      const auto at = static_cast<std::size_t>(maker);
      const bool is_gradient =
          graph.nodes[at].place.part == Part::backward && !is_recomputed(graph.nodes[at].place);
      reads_values = reads_values || !is_gradient;
      if (maker == last_forward || (is_gradient && continues[at])) continues[n] = true;
    }
    // The first gradient may be a constant.
    if (!reads_values && last == no_node) continues[n] = true;
    if (continues[n]) last = static_cast<int>(n);
  }
  return starts;
}

}  // namespace detail

/// Largest sum of bytes of the values that are live at once if the nodes run in their order.
/// Inputs, constants and variables do not count; unknown sizes count as nothing.
constexpr std::int64_t peak_bytes(const Graph& graph) {
  TensorMap<std::int64_t> bytes(graph, 0);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    bytes[static_cast<TensorId>(i)] = detail::value_bytes(graph.tensors[i]);
  }
  Vector<std::size_t> order;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) order.push_back(n);
  return detail::peak_in_order(graph, bytes, order);
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
  NodeMap<Vector<std::size_t>> after(graph);
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
  const NodeMap<int> starts = detail::starts_of_recomputed(graph, given);
  for (std::size_t n = 0; n < starts.size(); ++n) wait(starts[n], n);
  int last_effect = no_node;
  Vector<std::size_t> placed;
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
    // Changes of variables are in order already: the updates of weights may come as gradients do.
    const Node& node = graph.nodes[n];
    if (!node.op->has_effect && !has_effect_inside(graph, node)) continue;
    wait(last_effect, n);
    last_effect = static_cast<int>(n);
  }

  TensorMap<std::int64_t> bytes(graph, 0);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    bytes[static_cast<TensorId>(i)] = detail::value_bytes(graph.tensors[i]);
  }
  int most_reads = 1;  // of one tensor by one node
  const auto growth_of = [&](std::size_t n) {
    std::int64_t change = 0;
    for (const TensorId id : graph.nodes[n].outputs) {
      if (id != no_tensor && uses[id] > 0) change += bytes[id];
    }
    const auto& in = graph.nodes[n].inputs;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i] == no_tensor || bytes[in[i]] == 0) continue;
      int mine = 0;
      bool first = true;
      for (std::size_t k = 0; k < in.size(); ++k) {
        mine += in[k] == in[i];
        first = first && !(k < i && in[k] == in[i]);
      }
      most_reads = mine > most_reads ? mine : most_reads;
      if (first && uses[in[i]] == mine) change -= bytes[in[i]];
    }
    return change;
  };
  // A node's growth changes when it is the last reader of one of its inputs.
  TensorMap<Vector<std::size_t>> readers(graph);
  Vector<std::int64_t> growth(count, 0);
  for (std::size_t n = 0; n < count; ++n) {
    for (const TensorId id : graph.nodes[n].inputs) {
      if (id != no_tensor && bytes[id] != 0 && uses[id] > 1) readers[id].push_back(n);
    }
    growth[n] = growth_of(n);
  }

  Vector<std::size_t> ready, order;  // of `ready` the part from `next` on
  std::size_t next = 0;
  for (std::size_t n = 0; n < count; ++n) {
    if (waits[n] == 0) ready.push_back(n);
  }
  // Looking at every ready node each time is quadratic in wide graphs: a window is enough.
  constexpr std::size_t window = 64;
  while (next < ready.size()) {
    // Through pointers, which constant evaluation is quick with.
    std::size_t* const first = ready.data() + next;
    const std::int64_t* const growths = growth.data();
    const std::size_t looked_at = ready.size() - next < window ? ready.size() - next : window;
    std::size_t best = 0, n = first[0];
    std::int64_t least = growths[n];
    for (std::size_t i = 1; i < looked_at; ++i) {
      const std::size_t other = first[i];
      const std::int64_t here = growths[other];
      if (here > least || (here == least && other > n)) continue;
      best = i;
      n = other;
      least = here;
    }
    for (; best > 0; --best) first[best] = first[best - 1];
    ++next;
    order.push_back(n);
    for (const TensorId id : graph.nodes[n].inputs) {
      if (id != no_tensor) --uses[id];
    }
    for (const TensorId id : graph.nodes[n].inputs) {
      if (id == no_tensor || uses[id] > most_reads) continue;
      for (const std::size_t reader : readers[id]) growth[reader] = growth_of(reader);
    }
    for (const std::size_t other : after[n]) {
      if (--waits[other] == 0) ready.push_back(other);
    }
  }
  Vector<std::size_t> given_order;
  for (std::size_t n = 0; n < count; ++n) given_order.push_back(n);
  if (detail::peak_in_order(graph, bytes, order) >=
      detail::peak_in_order(graph, bytes, given_order)) {
    return graph;
  }
  Vector<Node> nodes;
  for (const std::size_t n : order) nodes.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace halftone
