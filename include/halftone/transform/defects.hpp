#pragma once

#include <span>
#include <string>

#include <halftone/graph/describe.hpp>
#include <halftone/transform/infer.hpp>

namespace halftone {

/// Throws everything that is wrong, one error.
[[noreturn]] inline void throw_defects(const Graph& graph, std::span<const Defect> defects) {
  const Defect& first = defects[0];
  const Graph& owner = holder_of(graph, first);
  const Node& node = owner.nodes[first.node];
  const detail::InferenceText text =
      detail::describe_inference(owner, *node.op, node.inputs, first.inferred);
  std::string what = text.reason + text.inputs;
  if (defects.size() > 1) {
    what += "\nand\t" + std::to_string(defects.size() - 1) + " more nodes do not fit";
  }
  const std::string where = detail::node_text(*node.op, owner.name(node));
  const std::string_view tensor =
      first.tensor == no_tensor ? std::string_view{} : owner.name(first.tensor);
  const ErrorParts parts{.what = what,
                         .node = where,
                         .tensor = tensor,
                         .expected = text.expected,
                         .found = text.found};
  if (text.has_extents) {
    throw ShapeError(parts, -1, first.inferred.expected, first.inferred.found);
  }
  fail(text.kind, parts);
}

}  // namespace halftone
