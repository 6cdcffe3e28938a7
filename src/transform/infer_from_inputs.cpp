#include "transform/infer_from_inputs.hpp"

#include <string>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "transform/resolve_sequences.hpp"

namespace halftone {
namespace {

void forget_statements(Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.outputs) {
      if (id != no_tensor) graph.tensor(id).info = {};
    }
    const bool is_loop = node.op->id == op::Loop::id;
    for (const std::int32_t index : subgraphs_of(node)) {
      Graph& body = graph.graphs[static_cast<std::size_t>(index)];
      // The number of a pass and the condition follow from no tensor.
      for (std::size_t i = is_loop ? 2 : 0; i < body.inputs.size(); ++i) {
        body.tensor(body.inputs[i]).info = {};
      }
      forget_statements(body);
    }
  }
}

}  // namespace

std::vector<Defect> infer_from_inputs(Graph& graph, Evaluate evaluate, void* context) {
  forget_statements(graph);
  std::vector<Defect> defects = infer(graph, evaluate, context);
  while (defects.empty() && resolve_sequences(graph)) defects = infer(graph, evaluate, context);
  return defects;
}

void recall_statements(Graph& graph, const Graph& stated) {
  for (std::size_t i = 0; i < stated.tensors.size(); ++i) {
    TensorInfo both = graph.tensors[i].info;
    std::int64_t expected = 0, found = 0;
    if (detail::refine(both, stated.tensors[i].info, expected, found)) graph.tensors[i].info = both;
  }
  for (std::size_t i = 0; i < stated.graphs.size(); ++i) {
    recall_statements(graph.graphs[i], stated.graphs[i]);
  }
}

void throw_defects(const Graph& graph, std::span<const Defect> defects) {
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
