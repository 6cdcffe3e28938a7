#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/graph/subgraphs.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/infer.hpp>

namespace halftone {

namespace detail {

constexpr Vector<std::size_t> changed_inputs(const Graph& body) {
  Vector<std::size_t> list;
  const Aliases aliases(body);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    if (aliases.is_modified(body.inputs[i])) list.push_back(i);
  }
  return list;
}

/// Lets a body work on a copy of an input.
constexpr void copy_input(Graph& body, std::size_t input) {
  const TensorId given = body.inputs[input];
  const TensorInfo info = body.info(given);
  const TensorId copy = body.add_tensor({.info = info}, {});
  TensorId shape = no_tensor;
  Vector<Node> nodes = std::exchange(body.nodes, {});
  if (info.is_static()) {
    shape = constant(body, info.shape).id;
  } else {
    shape = body.add_tensor({}, {});
    body.nodes.push_back({.op = &descriptor<op::Shape>,
                          .attributes = pack(op::Shape{}),
                          .inputs = {given},
                          .outputs = {shape}});
  }
  body.nodes.push_back({.op = &descriptor<op::Expand>,
                        .attributes = pack(op::Expand{}),
                        .inputs = {given, shape},
                        .outputs = {copy}});
  for (Node& node : nodes) {
    for (TensorId& id : node.inputs) id = id == given ? copy : id;
    body.nodes.push_back(std::move(node));
  }
  for (TensorId& id : body.outputs) id = id == given ? copy : id;
}

}  // namespace detail

/// Calls, branches and loops copy what they are given by value where their bodies change it. A body that
/// several nodes run gets a variant for those.
constexpr Graph copy_given(Graph graph) {
  struct Variant {
    std::int32_t body, index;
    Vector<std::size_t> copies;
  };
  Vector<Variant> variants;
  Vector<Vector<std::size_t>> changed;  // of each body
  for (Graph& body : graph.graphs) {
    body = copy_given(std::move(body));
    changed.push_back(detail::changed_inputs(body));
  }
  const auto variant_of = [&](std::int32_t body, const Vector<std::size_t>& copies) {
    for (const Variant& v : variants) {
      if (v.body == body && v.copies == copies) return v.index;
    }
    const auto index = static_cast<std::int32_t>(graph.graphs.size());
    Graph variant = graph.graphs[static_cast<std::size_t>(body)];
    for (const std::size_t input : copies) detail::copy_input(variant, input);
    graph.graphs.push_back(std::move(variant));
    variants.push_back({body, index, copies});
    return index;
  };
  for (std::size_t n = 0; !changed.empty() && n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    Vector<std::int32_t> indices = subgraphs_of(node);
    bool has_changed = false;
    for (std::int32_t& index : indices) {
      const auto at = static_cast<std::size_t>(index);
      if (index < 0 || at >= changed.size()) continue;
      const std::size_t given = node.inputs.size(), taken = graph.graphs[at].inputs.size();
      if (taken > given) continue;
      Vector<std::size_t> copies;
      for (const std::size_t i : changed[at]) {
        // The first input of an If is its condition.
        if (!modifies(*node.op, node.attributes, given - taken + i)) copies.push_back(i);
      }
      if (copies.empty()) continue;
      index = variant_of(index, copies);
      has_changed = true;
    }
    if (!has_changed) continue;
    detail::SetGraphIndices set(indices);
    node.op->attributes(node.attributes, set);
  }
  return graph;
}

}  // namespace halftone
