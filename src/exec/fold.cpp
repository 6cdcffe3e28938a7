#include "fold.hpp"

#include <cstring>
#include <utility>

#include "run_node.hpp"

namespace halftone {

const void* aligned_data(TensorRecord& tensor) {
  const std::span<const std::byte> bytes = tensor.data.span();
  const auto size = static_cast<std::size_t>(size_in_bytes(tensor.info.type));
  if (size != 0 && reinterpret_cast<std::uintptr_t>(bytes.data()) % size != 0) {
    Storage copy = Storage::allocate(bytes.size());
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    tensor.data.unneeded();
    const std::byte* data = copy.data();
    tensor.data = Bytes(std::move(copy), data, bytes.size());
  }
  return tensor.data.span().data();
}

bool evaluate_constant(void* executor, Graph& graph, std::size_t n) {
  // What is larger than this is cheaper to compute in each run than to keep.
  constexpr std::int64_t most_bytes = std::int64_t{1} << 28;
  Node& node = graph.nodes[n];
  if (node.outputs.empty()) return false;
  std::int64_t bytes = 0;
  for (const TensorId id : node.outputs) {
    if (id == no_tensor) continue;
    if (!is_tensor(graph.info(id).type)) return false;  // constants are tensors
    const std::int64_t size = graph.info(id).bytes();
    bytes = size > most_bytes - bytes ? most_bytes + 1 : bytes + size;
  }
  if (bytes > most_bytes) return false;
  auto keep = [&](TensorId id, Bytes data) {
    graph.tensor(id).role = Role::constant;
    graph.tensor(id).data = std::move(data);
  };
  if (is_view(node)) {
    const auto shared = static_cast<std::size_t>(node.op->signature.output(0).shares);
    if (graph.tensor(node.inputs[shared]).role != Role::constant) return false;
    keep(node.outputs[0], graph.tensor(node.inputs[shared]).data);
    node.outputs.clear();
    return true;
  }
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
  const std::vector<AnyArray> outputs =
      run_node(graph, node, inputs, *static_cast<const kernel::Executor*>(executor));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == no_tensor) continue;
    keep(node.outputs[i], Bytes(outputs[i].storage(), outputs[i].data(), outputs[i].bytes()));
  }
  node.outputs.clear();
  return true;
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
  std::vector<Defect> defects = infer_from_inputs(graph, &evaluate_small, &one);
  if (defects.empty()) {
    recall_statements(graph, stated);
    defects = infer(graph);
  }
  if (!defects.empty()) throw_defects(graph, defects);
}

}  // namespace halftone
