#include "transform/infer_from_inputs.hpp"

#include <halftone/op/list.hpp>

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

Vector<Defect> infer_from_inputs(Graph& graph, Evaluate evaluate, void* context) {
  forget_statements(graph);
  Vector<Defect> defects = infer(graph, evaluate, context);
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

}  // namespace halftone
