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

/// Inputs of a body that it changes while the node does not say so: they are given by value.
constexpr Vector<std::size_t> changed_copies(const Graph& body, const Node& node) {
  Vector<std::size_t> list;
  if (body.inputs.size() > node.inputs.size()) return list;
  const std::size_t first =
      node.inputs.size() - body.inputs.size();  // an If's condition is not one
  const Aliases aliases(body);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const bool is_changed = aliases.is_modified(body.inputs[i]);
    if (is_changed && !modifies(*node.op, node.attributes, first + i)) list.push_back(i);
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
  for (Graph& body : graph.graphs) body = copy_given(std::move(body));
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Vector<std::int32_t> indices = subgraphs_of(graph.nodes[n]);
    bool has_changed = false;
    for (std::int32_t& index : indices) {
      const auto at = static_cast<std::size_t>(index);
      if (index < 0 || at >= graph.graphs.size()) continue;
      const Vector<std::size_t> copies = detail::changed_copies(graph.graphs[at], graph.nodes[n]);
      if (copies.empty()) continue;
      has_changed = true;
      const Variant* known = nullptr;
      for (const Variant& v : variants) {
        if (v.body == index && v.copies == copies) known = &v;
      }
      if (known != nullptr) {
        index = known->index;
        continue;
      }
      Graph body = graph.graphs[at];
      for (const std::size_t input : copies) detail::copy_input(body, input);
      variants.push_back({index, static_cast<std::int32_t>(graph.graphs.size()), copies});
      index = variants.back().index;
      graph.graphs.push_back(std::move(body));
    }
    if (!has_changed) continue;
    detail::SetGraphIndices set(indices);
    graph.nodes[n].op->attributes(graph.nodes[n].attributes, set);
  }
  return graph;
}

}  // namespace halftone
