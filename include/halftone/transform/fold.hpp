#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>

namespace halftone {

/// Makes the outputs of a node whose inputs are constants constants: a view those of its input,
/// other nodes those of compute(node), which gives the bytes of each output. The node has no outputs
/// then. Returns false, and leaves the node, if an output is larger than all that is worth keeping.
bool fold_node(Graph& graph, std::size_t n, auto&& compute) {
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
  } else {
    Vector<Bytes> outputs = compute(std::as_const(node));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != no_tensor) keep(node.outputs[i], std::move(outputs[i]));
    }
  }
  node.outputs.clear();
  return true;
}

}  // namespace halftone
