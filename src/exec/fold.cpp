#include "fold.hpp"

#include "node.hpp"

namespace halftone {
bool evaluate_small(void* executor, Graph& graph, std::size_t n) {
  for (const TensorId id : graph.nodes[n].outputs) {
    if (id != no_tensor && graph.info(id).bytes() > most_small_bytes) return false;
  }
  return evaluate_constant(executor, graph, n);
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

}  // namespace halftone
