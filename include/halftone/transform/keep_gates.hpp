#pragma once

#include <cstddef>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/nodes.hpp>

namespace halftone {

namespace detail {

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
