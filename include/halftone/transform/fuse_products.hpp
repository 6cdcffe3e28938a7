#pragma once

#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/nodes.hpp>

namespace halftone {

namespace detail {

/// Whether a tensor holds one value for each column of another one.
constexpr bool is_bias_of(const TensorInfo& x, const TensorInfo& y) {
  return x.is_static() && x.rank() > 0 && x.elements() == y.shape.back() &&
         x.shape.back() == y.shape.back();
}

/// A product by one matrix, and the addition, Relu or Clip that alone read its values, one after the other.
/// The product is a MatMul, or a Gemm without factors that has a bias at most, of float or double: they are
/// not rounded in between.
struct ProductChain {
  op::MatMulWithEpilogue op;
  Vector<TensorId> inputs;
  Vector<std::size_t> nodes;  ///< none: the first one is no such product

  constexpr ProductChain(const Graph& graph, const Uses& uses, std::size_t first,
                         bool takes_limits) {
    if (!takes_product(graph, graph.nodes[first])) return;
    nodes.push_back(first);
    while (!op.clamp) {
      const Node& last = graph.nodes[nodes.back()];
      const TensorId y = last.outputs[0];
      const int reader = uses.only_reader(y);
      if (reader == no_node) break;
      const Node& next = graph.nodes[static_cast<std::size_t>(reader)];
      if (next.op == nullptr || next.is_tied || !may_merge(last.place, next.place) ||
          graph.info(next.outputs[0]) != graph.info(y)) {
        break;
      }
      if (!takes_addend(graph, next, y) && !(takes_limits && takes_clamp(graph, next, y))) break;
      nodes.push_back(static_cast<std::size_t>(reader));
    }
  }

 private:
  constexpr bool takes_product(const Graph& graph, const Node& node) {
    if (node.op == nullptr || node.order.block != 0) return false;
    const bool is_gemm = node.op->id == op::Gemm::id;
    const bool is_fused = node.op->id == op::MatMulWithEpilogue::id;
    if (!is_gemm && !is_fused && node.op->id != op::MatMul::id) return false;
    const TensorInfo &y = graph.info(node.outputs[0]), &b = graph.info(node.inputs[1]);
    const bool is_float = y.type == ElementType::float32 || y.type == ElementType::float64;
    const bool has_rows = y.is_static() && b.rank() == 2 && y.rank() > 1 && y.elements() > 0;
    if (!is_float || !has_rows || graph.tensor(node.inputs[0]).role == Role::constant) return false;
    inputs = {node.inputs[0], node.inputs[1]};
    if (is_fused) {
      op = unpack<op::MatMulWithEpilogue>(node.attributes);
      return !op.clamp && !has_input(node, 2);
    }
    if (!is_gemm) return true;
    const auto gemm = unpack<op::Gemm>(node.attributes);
    if (gemm.alpha != 1 || gemm.trans_a) return false;
    op.trans_b = gemm.trans_b;
    if (!has_input(node, 2)) return true;
    op.is_bias = true;
    inputs.push_back(node.inputs[2]);
    return gemm.beta == 1 && is_bias_of(graph.info(node.inputs[2]), y);
  }
  constexpr bool takes_addend(const Graph& graph, const Node& node, TensorId y) {
    if (node.op->id != op::Add::id || inputs.size() > 2) return false;
    const TensorId other = node.inputs[node.inputs[0] == y ? 1 : 0];
    const TensorInfo& x = graph.info(other);
    if (x.shape != graph.info(y).shape && !is_bias_of(x, graph.info(y))) return false;
    inputs.push_back(other);
    return true;
  }
  constexpr bool takes_clamp(const Graph& graph, const Node& node, TensorId y) {
    // Limits of doubles may be no floats.
    const bool fits = node.op->id == op::Relu::id || graph.info(y).type == ElementType::float32;
    op.clamp = fits && node.inputs[0] == y && clamp_limits(graph, node, op.lower, op.upper);
    return op.clamp;
  }
};

}  // namespace detail

/// Products by one matrix take in the addition of a bias, or of another tensor, to their sums, and with
/// `takes_limits` the Relu or Clip behind: passes over memory less, and the same bits. They are computed where
/// the last of these nodes is. All infos must be known.
constexpr Graph fuse_products(Graph graph, bool takes_limits) {
  const Uses uses(graph);
  const Aliases aliases(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    detail::ProductChain product(graph, uses, n, takes_limits);
    if (product.nodes.size() < 2) continue;
    // They are read before a node between the product and the last one changes them.
    bool is_modified = false;
    for (const TensorId id : product.inputs) is_modified = is_modified || aliases.is_modified(id);
    if (is_modified) continue;
    Node& last = graph.nodes[product.nodes.back()];
    for (const std::size_t i : product.nodes) {
      if (i != product.nodes.back()) graph.nodes[i].op = nullptr;
    }
    if (!graph.nodes[n].name.empty()) last.name = graph.nodes[n].name;
    last.op = &descriptor<op::MatMulWithEpilogue>;
    last.attributes = pack(product.op);
    last.inputs = std::move(product.inputs);
  }
  detail::remove_empty_nodes(graph);
  return graph;
}

}  // namespace halftone
