#pragma once

#include <cstddef>

#include <halftone/graph/index.hpp>

namespace halftone {

namespace detail {

/// The stage of what an update reads: of the largest tensor, so that a weight's update is where its
/// gradient, or the sum of them, is, whatever else it depends on. -1: there is none. Weights say
/// nothing, since forward parts use them elsewhere, and neither does state that stays as it is.
constexpr std::int16_t stage_of_update(const Graph& graph, const Node& node,
                                       const TensorMap<std::int16_t>& made_in) {
  std::int16_t stage = -1;
  std::int64_t most = -1;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorId id = node.inputs[i];
    if (id == no_tensor || made_in[id] < 0) continue;
    const TensorRecord& t = graph.tensor(id);
    const bool says_nothing = t.state == State::none || !modifies(*node.op, node.attributes, i);
    if (is_variable(t) && says_nothing) continue;
    const TensorInfo& info = graph.info(id);
    const std::int64_t elements = info.is_static() ? info.elements() : 0;
    if (elements < most || (elements == most && made_in[id] <= stage)) continue;
    most = elements;
    stage = made_in[id];
  }
  return stage;
}

}  // namespace detail

/// Gives each node without a stage of a pipeline that of what it reads (of variables: of who used them
/// last), or else of who reads it; and each without an IPU that of its stage. Does nothing to a graph
/// whose nodes say no stages.
///
/// So a program says where its layers are and leaves the rest, such as the loss, to this.
constexpr void complete_places(Graph& graph) {
  bool has_stages = false;
  for (const Node& node : graph.nodes) has_stages = has_stages || node.place.stage >= 0;
  if (!has_stages) return;
  const auto later = [](std::int16_t a, std::int16_t b) { return a > b ? a : b; };
  TensorMap<std::int16_t> made_in(graph, std::int16_t{-1}), read_in(graph, std::int16_t{-1});
  const auto last_made = [&](const Node& node) {
    std::int16_t stage = -1;
    for (const TensorId id : node.inputs) {
      if (id != no_tensor) stage = later(stage, made_in[id]);
    }
    return stage;
  };
  for (Node& node : graph.nodes) {
    std::int16_t stage = node.place.stage;
    if (stage < 0) {
      stage = node.place.part == Part::update ? detail::stage_of_update(graph, node, made_in)
                                              : last_made(node);
    }
    node.place.stage = stage;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      if (id == no_tensor) continue;
      if (is_variable(graph.tensor(id)) || modifies(*node.op, node.attributes, i)) {
        made_in[id] = later(made_in[id], stage);
      }
    }
    for (const TensorId id : node.outputs) {
      if (id != no_tensor) made_in[id] = stage;
    }
  }
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    if (node.place.stage < 0) {
      // The first one of several readers has to find the value there.
      for (const TensorId id : node.outputs) {
        if (id == no_tensor || read_in[id] < 0) continue;
        const bool is_first = node.place.stage < 0 || read_in[id] < node.place.stage;
        if (is_first) node.place.stage = read_in[id];
      }
      if (node.place.stage < 0) node.place.stage = later(last_made(node), 0);
    }
    for (const TensorId id : node.inputs) {
      if (id == no_tensor) continue;
      const bool is_first = read_in[id] < 0 || node.place.stage < read_in[id];
      if (is_first) read_in[id] = node.place.stage;
    }
  }
  std::int16_t last = 0;
  for (const Node& node : graph.nodes) last = later(last, node.place.stage);
  Vector<std::int16_t> ipu_of(static_cast<std::size_t>(last) + 1, std::int16_t{-1});
  const auto ipu = [&](const Node& node) -> std::int16_t& {
    return ipu_of[static_cast<std::size_t>(node.place.stage)];
  };
  for (const Node& node : graph.nodes) {
    if (ipu(node) < 0) ipu(node) = node.place.ipu;
  }
  for (Node& node : graph.nodes) {
    if (node.place.ipu < 0) node.place.ipu = ipu(node);
  }
}

}  // namespace halftone
