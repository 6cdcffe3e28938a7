#pragma once

#include <cstddef>

#include <halftone/graph/index.hpp>

namespace halftone {

/// Gives each node without a stage of a pipeline that of what it reads (of variables: of who used them
/// last), or else of who reads it; and each without an IPU that of its stage. Does nothing to a graph whose nodes say no stages.
///
/// So a program says where its layers are and leaves the rest, such as the loss, to this.
constexpr void complete_places(Graph& graph) {
  bool has_stages = false;
  for (const Node& node : graph.nodes) has_stages = has_stages || node.place.stage >= 0;
  if (!has_stages) return;
  const auto later = [](std::int16_t a, std::int16_t b) { return a > b ? a : b; };
  TensorMap<std::int16_t> made_in(graph, std::int16_t{-1}), read_in(graph, std::int16_t{-1});
  for (Node& node : graph.nodes) {
    std::int16_t stage = node.place.stage;
    if (stage < 0) {
      for (const TensorId id : node.inputs) {
        if (id != no_tensor) stage = later(stage, made_in[id]);
      }
    }
    node.place.stage = stage;
    for (const TensorId id : node.inputs) {
      if (id == no_tensor || !is_variable(graph.tensor(id))) continue;
      made_in[id] = later(made_in[id], stage);
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
      if (node.place.stage < 0) node.place.stage = 0;
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
