#include "transform/fold_transposes.hpp"

#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>

namespace halftone {
namespace {

/// A product of two matrices, or of rows by a matrix, as a Gemm without addend.
struct PlainProduct {
  op::Gemm gemm;
  bool has_matrices = false;  ///< both factors are; else the second one alone

  PlainProduct(const Graph& graph, const Node& node) {
    if (node.order.block != 0 || node.is_tied) return;
    const bool is_gemm = node.op->id == op::Gemm::id;
    if (!is_gemm && node.op->id != op::MatMul::id) return;
    const TensorInfo &a = graph.info(node.inputs[0]), &b = graph.info(node.inputs[1]);
    if (is_gemm) gemm = unpack<op::Gemm>(node.attributes);
    has_rows_ = b.rank() == 2 && a.rank() > 1;
    has_matrices = b.rank() == 2 && a.rank() == 2;
    is_float_ = a.type == ElementType::float32 || a.type == ElementType::float64;
  }
  bool may_transpose_a() const { return has_matrices; }
  bool may_transpose_b() const { return has_matrices || (has_rows_ && is_float_); }
  /// Makes the node compute this.
  void put(Node& node) const {
    if (has_matrices) {
      node.op = &descriptor<op::Gemm>;
      node.attributes = pack(gemm);
    } else {
      node.op = &descriptor<op::MatMulWithEpilogue>;
      node.attributes = pack(op::MatMulWithEpilogue{.trans_b = gemm.trans_b});
    }
  }

 private:
  bool has_rows_ = false, is_float_ = false;
};

class FoldedTransposes {
 public:
  explicit FoldedTransposes(Graph graph)
      : graph_(std::move(graph)), uses_(graph_), aliases_(graph_), modified_(graph_, no_node) {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for_each_modified(graph_.nodes[n], [&](std::size_t i) {
        int& first = modified_[aliases_.root(graph_.nodes[n].inputs[i])];
        if (first == no_node) first = static_cast<int>(n);
      });
    }
  }

  Graph made() && {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      fold_factors(n);
      fold_result(n);
    }
    return without_dead_code(std::move(graph_));
  }

 private:
  /// Whether a tensor holds the same before a node as it did when it was made.
  bool is_same_before(TensorId id, std::size_t n) const {
    const int first = modified_[aliases_.root(id)];
    return first == no_node || first >= static_cast<int>(n);
  }
  /// The matrix that a node transposes for another one; no_tensor if there is none.
  TensorId transposed(TensorId id, std::size_t reader) const {
    const int producer = uses_.producer[id];
    if (producer == no_node) return no_tensor;
    const Node& node = graph_.nodes[static_cast<std::size_t>(producer)];
    if (!is_transpose(node) || !may_merge(node.place, graph_.nodes[reader].place)) return no_tensor;
    const TensorId from = node.inputs[0];
    return is_same_before(from, reader) && is_same_before(id, reader) ? from : no_tensor;
  }
  bool is_transpose(const Node& node) const {
    return node.op->id == op::Transpose::id && node.order.block == 0 && !node.is_tied &&
           graph_.info(node.inputs[0]).rank() == 2 &&
           unpack<op::Transpose>(node.attributes).perm != Dims{0, 1};
  }

  void fold_factors(std::size_t n) {
    Node& node = graph_.nodes[n];
    PlainProduct product(graph_, node);
    bool folds = false;
    const auto fold = [&](std::size_t input, bool& is_transposed) {
      const TensorId from = transposed(node.inputs[input], n);
      if (from == no_tensor) return;
      node.inputs[input] = from;
      is_transposed = !is_transposed;
      folds = true;
    };
    if (product.may_transpose_a()) fold(0, product.gemm.trans_a);
    if (product.may_transpose_b()) fold(1, product.gemm.trans_b);
    if (folds) product.put(node);
  }
  /// The transposed product is that of the transposed factors in the other order.
  void fold_result(std::size_t n) {
    Node& node = graph_.nodes[n];
    if (!is_transpose(node)) return;
    const int producer = uses_.producer[node.inputs[0]];
    if (producer == no_node || uses_.count[node.inputs[0]] != 1) return;
    const Node& source = graph_.nodes[static_cast<std::size_t>(producer)];
    PlainProduct product(graph_, source);
    if (!product.has_matrices || has_input(source, 2) || !may_merge(source.place, node.place) ||
        !is_same_before(source.inputs[0], n) || !is_same_before(source.inputs[1], n)) {
      return;
    }
    const bool transposes_a = product.gemm.trans_a;
    product.gemm.trans_a = !product.gemm.trans_b;
    product.gemm.trans_b = !transposes_a;
    node.inputs = {source.inputs[1], source.inputs[0]};
    product.put(node);
  }

  Graph graph_;
  Uses uses_;
  Aliases aliases_;
  TensorMap<int> modified_;  ///< by which node first; no_node: by none
};

}  // namespace

Graph fold_transposes(Graph graph) { return FoldedTransposes(std::move(graph)).made(); }

}  // namespace halftone
