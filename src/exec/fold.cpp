#include "fold.hpp"

#include <utility>

#include <halftone/transform/fold.hpp>

#include "run_node.hpp"

namespace halftone {

const void* aligned_data(TensorRecord& tensor) {
  const std::span<const std::byte> bytes = tensor.data.span();
  const auto size = static_cast<std::size_t>(size_in_bytes(tensor.info.type));
  if (size != 0 && reinterpret_cast<std::uintptr_t>(bytes.data()) % size != 0) {
    Bytes copy = Bytes::copy_of(bytes);
    tensor.data.unneeded();
    tensor.data = std::move(copy);
  }
  return tensor.data.span().data();
}

bool evaluate_constant(void* executor, Graph& graph, std::size_t n) {
  return fold_node(graph, n, [&](const Node& node) {
    std::vector<AnyView> inputs;
    for (const TensorId id : node.inputs) {
      if (id == no_tensor) {
        inputs.push_back({});
        continue;
      }
      TensorRecord& t = graph.tensor(id);
      // Only the infos count where the input is no constant (Shape).
      inputs.push_back({t.info, t.role == Role::constant ? aligned_data(t) : nullptr});
    }
    std::vector<Bytes> outputs;
    for (const AnyArray& y :
         run_node(graph, node, inputs, *static_cast<const kernel::Executor*>(executor))) {
      outputs.emplace_back(y.storage(), y.data(), y.bytes());
    }
    return outputs;
  });
}

bool evaluate_small(void* executor, Graph& graph, std::size_t n) {
  for (const TensorId id : graph.nodes[n].outputs) {
    if (id != no_tensor && graph.info(id).bytes() > most_small_bytes) return false;
  }
  return evaluate_constant(executor, graph, n);
}

void fold_shapes(Graph& graph) {
  const Graph stated = graph;
  kernel::Executor one;
  Vector<Defect> defects = infer_from_inputs(graph, &evaluate_small, &one);
  if (defects.empty()) {
    recall_statements(graph, stated);
    defects = infer(graph);
  }
  if (!defects.empty()) throw_defects(graph, defects);
}

}  // namespace halftone
