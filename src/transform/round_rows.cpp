#include "transform/round_rows.hpp"

#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/kernel/matmul.hpp>
#include <halftone/op/list.hpp>

namespace halftone {
namespace {

/// This finds the products that can have their rows in bfloat16, and gives those that gain from it such rows.
class RoundedRows {
 public:
  explicit RoundedRows(Graph graph)
      : graph_(std::move(graph)), uses_(graph_), readers_(graph_, 0), rounded_(graph_, no_tensor) {
    const Aliases aliases(graph_);
    for (const Node& node : graph_.nodes) {
      if (is_product(node) && !aliases.is_modified(node.inputs[0])) ++readers_[node.inputs[0]];
    }
  }

  Graph made() && {
    Vector<Node> nodes;
    for (const Node& given : graph_.nodes) {
      Node node = given;
      if (is_product(node) && gains(node.inputs[0])) {
        TensorId& rows = rounded_[node.inputs[0]];
        if (rows == no_tensor) {
          const TensorInfo info{ElementType::bfloat16, graph_.info(node.inputs[0]).shape};
          rows = graph_.add_tensor({.info = info}, {});
          nodes.push_back({.op = &descriptor<op::Cast>,
                           .attributes = pack(op::Cast{.to = ElementType::bfloat16}),
                           .inputs = {node.inputs[0]},
                           .outputs = {rows},
                           .place = node.place});
        }
        node.attributes = pack(paired(node));
        node.op = &descriptor<op::PairedMatMul>;
        node.inputs[0] = rows;
      }
      nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
    return std::move(graph_);
  }

 private:
  static op::PairedMatMul paired(const Node& node) {
    if (node.op->id == op::Gemm::id) {
      return {.trans_b = unpack<op::Gemm>(node.attributes).trans_b, .is_bias = true};
    }
    if (node.op->id == op::MatMul::id) return {};
    const auto fused = unpack<op::MatMulWithEpilogue>(node.attributes);
    return {.trans_b = fused.trans_b, .is_bias = fused.is_bias};
  }

  /// Whether a node multiplies rows by constant weights, of which there are so many that it rounds the rows to
  /// bfloat16 however many there are.
  bool is_product(const Node& node) const {
    const bool is_gemm = node.op->id == op::Gemm::id,
               is_fused = node.op->id == op::MatMulWithEpilogue::id;
    if (!is_gemm && !is_fused && node.op->id != op::MatMul::id) return false;
    if (is_fused && unpack<op::MatMulWithEpilogue>(node.attributes).clamp) return false;
    if (node.order.block != 0 || node.is_tied) return false;
    const TensorInfo &a = graph_.info(node.inputs[0]), &b = graph_.info(node.inputs[1]);
    if (a.type != ElementType::float32 || !a.is_static() || a.rank() < 2 || b.rank() != 2 ||
        graph_.tensor(node.inputs[0]).role == Role::constant ||
        graph_.tensor(node.inputs[1]).role != Role::constant) {
      return false;
    }
    const std::int64_t columns = b.shape[paired(node).trans_b ? 0 : 1];
    constexpr std::int64_t terms_of_register = 2 * kernel::detail::amx_steps, least_columns = 16;
    return a.elements() > a.shape.back() && a.shape.back() % terms_of_register == 0 &&
           columns >= least_columns && double(b.elements()) >= kernel::detail::many_weights &&
           (!is_gemm || is_plain_gemm(node, columns));
  }
  /// Whether a Gemm has no factors, and a bias at most.
  bool is_plain_gemm(const Node& node, std::int64_t columns) const {
    const auto gemm = unpack<op::Gemm>(node.attributes);
    if (gemm.alpha != 1 || gemm.trans_a) return false;
    if (!has_input(node, 2)) return true;
    const TensorInfo& c = graph_.info(node.inputs[2]);
    return gemm.beta == 1 && c.is_static() && c.rank() > 0 && c.shape.back() == columns &&
           c.elements() == columns;
  }

  /// Whether several products read these rows, or one alone reads what a group of elementwise operators can
  /// round.
  bool gains(TensorId rows) const {
    if (readers_[rows] != 1) return readers_[rows] > 1;
    const int producer = uses_.producer[rows];
    if (uses_.count[rows] != 1 || producer == no_node) return false;
    const Node& node = graph_.nodes[static_cast<std::size_t>(producer)];
    return node.op->in_groups && node.outputs.size() == 1;
  }

  Graph graph_;
  Uses uses_;
  TensorMap<int> readers_;       ///< products that may round it
  TensorMap<TensorId> rounded_;  ///< no_tensor: nothing has been rounded
};

}  // namespace

Graph round_rows(Graph graph) { return RoundedRows(std::move(graph)).made(); }

}  // namespace halftone
