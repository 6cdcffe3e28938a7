#include "fold.hpp"

#include <utility>

#include <halftone/op/list.hpp>

#include "node.hpp"
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

bool evaluate_small(void* executor, Graph& graph, std::size_t n) {
  for (const TensorId id : graph.nodes[n].outputs) {
    if (id != no_tensor && graph.info(id).bytes() > most_small_bytes) return false;
  }
  return evaluate_constant(executor, graph, n);
}

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

void fold_shapes(Graph& graph) {
  const Graph stated = graph;
  kernel::Executor one;
  std::vector<Defect> defects = infer_from_inputs(graph, &evaluate_small, &one);
  if (defects.empty()) {
    recall_statements(graph, stated);
    defects = infer(graph);
  }
  if (!defects.empty()) throw_defects(graph, defects);
}

void fold_unknown_shapes(Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.outputs) {
      if (id == no_tensor) continue;
      const TensorInfo& info = graph.info(id);
      if (!info.is_static() || is_sequence(info.type)) return fold_shapes(graph);
    }
  }
}

}  // namespace halftone
