#pragma once

#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/nodes.hpp>

namespace halftone {

namespace detail {

/// The addition that alone reads a product and gives a tensor of its shape: the node and its other
/// operand.
struct AddedToProduct {
  int node = no_node;
  TensorId addend = no_tensor;

  constexpr AddedToProduct(const Graph& graph, const Uses& uses, const Node& product) {
    if (product.op->id != op::MatMul::id || product.order.block != 0) return;
    const TensorId sums = product.outputs[0];
    const TensorInfo &y = graph.info(sums), &b = graph.info(product.inputs[1]);
    const bool is_float = y.type == ElementType::float32 || y.type == ElementType::float64;
    const bool has_rows = y.is_static() && b.rank() == 2 && y.rank() > 1 && y.elements() > 0;
    const int reader = uses.only_reader(sums);
    if (!is_float || !has_rows || reader == no_node) return;
    const Node& add = graph.nodes[static_cast<std::size_t>(reader)];
    if (add.op->id != op::Add::id || add.is_tied || !may_merge(product.place, add.place) ||
        graph.info(add.outputs[0]) != y) {
      return;
    }
    const TensorId other = add.inputs[add.inputs[0] == sums ? 1 : 0];
    const TensorInfo& x = graph.info(other);
    const bool is_bias = x.is_static() && x.rank() > 0 && x.elements() == y.shape.back() &&
                         x.shape.back() == y.shape.back();
    if (x.shape != y.shape && !is_bias) return;
    node = reader;
    addend = other;
  }
};

}  // namespace detail

/// Products by one matrix take in the addition of a bias, or of another tensor, to their sums: a pass over
/// memory less, and the same bits. Float and double, which are not rounded in between. They are computed
/// where the addition is. All infos must be known.
constexpr Graph fuse_addends(Graph graph) {
  const Uses uses(graph);
  const Aliases aliases(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const detail::AddedToProduct found(graph, uses, graph.nodes[n]);
    if (found.node == no_node) continue;
    Node& product = graph.nodes[n];
    // The product reads its factors before a node between it and the addition changes them.
    if (aliases.is_modified(product.inputs[0]) || aliases.is_modified(product.inputs[1])) continue;
    Node& add = graph.nodes[static_cast<std::size_t>(found.node)];
    add.op = &descriptor<op::MatMulWithAddend>;
    add.attributes = pack(op::MatMulWithAddend{});
    add.inputs = {product.inputs[0], product.inputs[1], found.addend};
    if (!product.name.empty()) add.name = product.name;
    product.op = nullptr;
  }
  detail::remove_empty_nodes(graph);
  return graph;
}

}  // namespace halftone
