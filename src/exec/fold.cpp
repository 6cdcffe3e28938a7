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

namespace {

/// Branches whose condition is known become calls of the body that is taken, whose shapes are those of
/// their results. Returns whether there were some.
bool take_branches(Graph& graph) {
  bool any = false;
  for (Node& node : graph.nodes) {
    if (node.op->id != op::If::id) continue;
    const TensorRecord& condition = graph.tensor(node.inputs[0]);
    if (condition.role != Role::constant || condition.data.size() != 1) continue;
    const auto branches = unpack<op::If>(node.attributes);
    const bool is_true = condition.data.span()[0] != std::byte{0};
    node.op = &descriptor<op::Call>;
    node.attributes =
        pack(op::Call{.callee = is_true ? branches.then_branch : branches.else_branch});
    node.inputs.erase(node.inputs.begin());
    any = true;
  }
  return any;
}

}  // namespace

void fold_shapes(Graph& graph) {
  const Graph stated = graph;
  kernel::Executor one;
  Vector<Defect> defects = infer_from_inputs(graph, &evaluate_small, &one);
  while (defects.empty() && take_branches(graph)) {
    defects = infer_from_inputs(graph, &evaluate_small, &one);
  }
  if (defects.empty()) {
    recall_statements(graph, stated);
    defects = infer(graph);
  }
  if (!defects.empty()) throw_defects(graph, defects);
}

}  // namespace halftone
