#pragma once

#include <cstddef>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>

namespace halftone {

namespace detail {

/// A tensor that was loaded from a remote buffer is the one that was stored there, if nothing else is
/// stored in that buffer. The function gives the stored one, and any other tensor itself.
constexpr TensorId before_remote(const Graph& graph, const Uses& uses, TensorId id) {
  const int load = uses.producer[id];
  if (load == no_node) return id;
  const Node& loading = graph.nodes[static_cast<std::size_t>(load)];
  if (loading.op->id != op::RemoteLoad::id) return id;
  const auto input = [](const Node& node, std::size_t i) {
    return i < node.inputs.size() ? node.inputs[i] : no_tensor;
  };
  const auto is_same = [&](TensorId a, TensorId b) {
    if (a == b || a == no_tensor || b == no_tensor) return a == b;
    const TensorRecord &x = graph.tensor(a), &y = graph.tensor(b);
    return x.role == Role::constant && y.role == Role::constant && x.info == y.info &&
           x.data == y.data;
  };
  const auto buffer = unpack<op::RemoteLoad>(loading.attributes).buffer_id;
  TensorId found = no_tensor;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op->id != op::RemoteStore::id) continue;
    if (input(node, 2) != input(loading, 2)) continue;
    if (unpack<op::RemoteStore>(node.attributes).buffer_id != buffer) continue;
    const bool is_row =
        is_same(input(node, 1), input(loading, 1)) && n < static_cast<std::size_t>(load);
    if (!is_row || found != no_tensor) return id;
    found = node.inputs[0];
  }
  return found == no_tensor ? id : found;
}

/// The LSTM whose gradient a node computes; no_node: it is no such node, or the layer does not keep
/// gates.
constexpr int layer_of_gradient(const Graph& graph, const Uses& uses, const Node& node) {
  if (node.op->id != op::RecurrentGradient::id) return no_node;
  const auto back = unpack<op::RecurrentGradient>(node.attributes);
  const TensorInfo& a = graph.info(node.inputs[0]);
  if (back.cell != kernel::Cell::lstm || !a.is_static()) return no_node;
  if (a.type != ElementType::float32 && a.type != ElementType::float64) return no_node;
  const TensorId y = before_remote(graph, uses, node.inputs[2]);
  const int producer = uses.producer[y];
  if (producer == no_node) return no_node;
  const Node& layer = graph.nodes[static_cast<std::size_t>(producer)];
  const bool is_layer = layer.op->id == op::LSTM::id || layer.op->id == op::TrainedLSTM::id;
  if (!is_layer || layer.outputs[0] != y) return no_node;
  const auto lstm = layer.op->id == op::LSTM::id ? unpack<op::LSTM>(layer.attributes)
                                                 : unpack<op::TrainedLSTM>(layer.attributes).layer;
  return lstm.layout == 0 ? producer : no_node;
}

}  // namespace detail

/// A layer of LSTM whose gradient is wanted keeps what it computes of all steps: the gradient computes
/// neither the products of its inputs nor those of its states again. All infos must be known. What
/// nothing reads any more is left to `dead_code`.
///
/// limits  layout 0, and of float and double: in half, the gradient has sums of more digits
constexpr Graph keep_gates(Graph graph) {
  const Uses uses(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const int producer = detail::layer_of_gradient(graph, uses, graph.nodes[n]);
    if (producer == no_node) continue;
    const auto at = static_cast<std::size_t>(producer);
    if (graph.nodes[at].op->id == op::LSTM::id) {
      const auto lstm = unpack<op::LSTM>(graph.nodes[at].attributes);
      const TensorInfo gates = graph.info(graph.nodes[n].inputs[0]);
      const TensorInfo cells = graph.info(graph.nodes[n].outputs[2]);
      const TensorId kept[] = {graph.add_tensor({.info = gates}, {}),
                               graph.add_tensor({.info = cells}, {})};
      Node& layer = graph.nodes[at];
      layer.op = &descriptor<op::TrainedLSTM>;
      layer.attributes = pack(op::TrainedLSTM{lstm});
      layer.outputs.resize(3, no_tensor);
      for (const TensorId id : kept) layer.outputs.push_back(id);
    }
    const Node& layer = graph.nodes[at];
    Node& node = graph.nodes[n];
    node.inputs[0] = layer.outputs[3];
    node.inputs.resize(descriptor<op::RecurrentGradient>.signature.inputs(), no_tensor);
    node.inputs.back() = layer.outputs[4];
  }
  return graph;
}

}  // namespace halftone
