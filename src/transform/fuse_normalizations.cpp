#include "transform/fuse_normalizations.hpp"

#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/nodes.hpp>

namespace halftone {
namespace {

/// This follows a convolution's input back through a Relu and a normalization, if they are there.
class Normalization {
 public:
  Normalization(const Graph& graph, const Uses& uses, const Node& conv)
      : graph_(graph), uses_(uses), conv_(conv), x_(conv.inputs[0]) {
    const int activation = passed(op::Relu::id);
    clears_negatives_ = activation != no_node;
    is_whole_ = takes(op::Add::id, 2) && takes(op::Mul::id, 1) && takes(op::Sub::id, 0);
  }
  bool is_whole() const { return is_whole_; }

  void move_into(Graph& graph, Node& conv) const {
    auto attributes = unpack<op::FusedConv>(conv.attributes);
    attributes.clears_negatives = clears_negatives_;
    conv.attributes = pack(attributes);
    conv.inputs[0] = x_;
    conv.inputs.resize(4, no_tensor);
    for (const TensorId list : lists_) conv.inputs.push_back(list);
    for (const int node : nodes_) graph.nodes[static_cast<std::size_t>(node)].op = nullptr;
  }

 private:
  /// The node of an operator that x, which nothing else reads, comes from, and x before it.
  int passed(const OpId& id) {
    const int producer = uses_.producer[x_];
    if (producer == no_node || uses_.only_reader(x_) == no_node) return no_node;
    const Node& node = graph_.nodes[static_cast<std::size_t>(producer)];
    if (node.op == nullptr || node.op->id != id || !may_merge(node.place, conv_.place)) {
      return no_node;
    }
    x_ = node.inputs[0];
    nodes_.push_back(producer);
    return producer;
  }
  bool takes(const OpId& id, std::size_t list) {
    const int at = passed(id);
    if (at == no_node) return false;
    lists_[list] = graph_.nodes[static_cast<std::size_t>(at)].inputs[1];
    const TensorRecord& numbers = graph_.tensor(lists_[list]);
    const Dims &x = graph_.info(x_).shape, &shape = numbers.info.shape;
    return numbers.role == Role::constant && numbers.info.type == ElementType::float32 &&
           x.size() == 5 && shape == Dims{x[1], 1, 1, x[4]};
  }

  const Graph& graph_;
  const Uses& uses_;
  const Node& conv_;
  TensorId x_;
  TensorId lists_[3] = {no_tensor, no_tensor, no_tensor};
  Vector<int> nodes_;
  bool clears_negatives_ = false, is_whole_ = false;
};

}  // namespace

Graph fuse_normalizations(Graph graph) {
  const Uses uses(graph);
  for (Node& conv : graph.nodes) {
    if (conv.op == nullptr || conv.op->id != op::FusedConv::id || conv.inputs.size() > 4 ||
        !unpack<op::FusedConv>(conv.attributes).blocked_input) {
      continue;
    }
    const Normalization normalization(graph, uses, conv);
    if (normalization.is_whole()) normalization.move_into(graph, conv);
  }
  detail::remove_empty_nodes(graph);
  return graph;
}

}  // namespace halftone
