#pragma once

#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/fuse_convolutions.hpp>

namespace halftone {

namespace detail {

/// Finds what exporters write for attention: softmax(mask(scale (q k'))) v and the transposes around.
class AttentionFusion {
 public:
  constexpr explicit AttentionFusion(Graph& graph) : graph_(graph), uses_(graph), aliases_(graph) {}

  /// Fuses what is around a softmax; leaves the graph alone where that is no attention.
  constexpr void fuse(std::size_t softmax) {
    attention_ = {};
    chosen_ = bias_ = no_tensor;
    merged_.clear();
    place_ = graph_.nodes[softmax].place;
    const TensorId scores = graph_.nodes[softmax].inputs[0];
    const TensorInfo info = graph_.info(scores);
    if (info.type != ElementType::float32 || !info.is_static()) return;
    rank_ = info.rank();
    if (rank_ != 3 && rank_ != 4) return;
    const auto axis = unpack<op::Softmax>(graph_.nodes[softmax].attributes).axis;
    if (normalized_axis(axis, rank_) != rank_ - 1 || info.elements() == 0) return;
    if (!take(static_cast<int>(softmax))) return;

    const int first = find_products(scores);
    if (first == no_node) return;
    TensorId weights = graph_.nodes[softmax].outputs[0];
    const int regrouped = uses_.only_reader(weights);
    if (is_grouped_ && (regrouped == no_node || !take_as(op::Reshape::id, regrouped))) return;
    if (is_grouped_) weights = graph_.nodes[index(regrouped)].outputs[0];
    const int last = uses_.only_reader(weights);
    if (last == no_node || !take_as(op::MatMul::id, last)) return;
    if (graph_.nodes[index(last)].inputs[0] != weights) return;

    TensorId query = graph_.nodes[index(first)].inputs[0];
    TensorId key = graph_.nodes[index(first)].inputs[1];
    TensorId value = graph_.nodes[index(last)].inputs[1];
    const int grouped = is_grouped_ ? uses_.producer[query] : no_node;
    if (is_grouped_) {
      if (grouped == no_node || !is_a(op::Reshape::id, grouped)) return;
      query = graph_.nodes[index(grouped)].inputs[0];
    }
    if (!fits(query, key, value, info)) return;
    attention_.query_perm = absorbed(query);
    attention_.key_perm = absorbed(key);
    std::swap(attention_.key_perm[rank_ - 1], attention_.key_perm[rank_ - 2]);
    attention_.value_perm = absorbed(value);
    for (const TensorId id : {query, key, value, chosen_, bias_}) {
      // They are read later than before.
      if (id != no_tensor && aliases_.is_modified(id)) return;
    }

    int end = last;
    TensorId y = graph_.nodes[index(last)].outputs[0];
    if (is_grouped_) {
      end = uses_.only_reader(y);
      if (end == no_node || !take_as(op::Reshape::id, end)) return;
      y = graph_.nodes[index(end)].outputs[0];
      const Dims& shape = graph_.info(y).shape;
      Dims expected = info.shape;
      expected[rank_ - 1] = graph_.info(graph_.nodes[index(last)].inputs[1]).shape[rank_ - 1];
      if (shape != expected) return;
    }
    attention_.output_perm = identity();
    const int transpose = uses_.only_reader(y);
    if (transpose != no_node && is_a(op::Transpose::id, transpose) &&
        may_share_kernel(graph_.nodes[index(transpose)].place, place_)) {
      const Dims perm = perm_of(transpose);
      if (perm[rank_ - 1] == last_dimension()) {
        attention_.output_perm = perm;
        merged_.push_back(transpose);
        end = transpose;
      }
    }
    replace(index(end), query, key, value);
  }

 private:
  static constexpr std::size_t index(int node) { return static_cast<std::size_t>(node); }
  constexpr std::int64_t last_dimension() const { return static_cast<std::int64_t>(rank_) - 1; }

  constexpr bool is_a(const OpId& id, int node) const {
    return graph_.nodes[index(node)].op != nullptr && graph_.nodes[index(node)].op->id == id;
  }
  constexpr bool take(int node) {
    if (!may_share_kernel(graph_.nodes[index(node)].place, place_)) return false;
    merged_.push_back(node);
    return true;
  }
  constexpr bool take_as(const OpId& id, int node) { return is_a(id, node) && take(node); }

  /// From the softmax back to the product of queries and keys: masks, then factors.
  constexpr int find_products(TensorId t) {
    bool has_factor = false;
    is_grouped_ = false;
    const TensorInfo info = graph_.info(t);
    for (;;) {
      const int at = uses_.producer[t];
      if (at == no_node || uses_.only_reader(t) == no_node || !take(at)) return no_node;
      const Node& node = graph_.nodes[index(at)];
      if (node.op == nullptr) return no_node;
      if (node.op->id == op::MatMul::id) return at;
      if (is_grouped_) return no_node;
      float value = 0;
      if (node.op->id == op::Reshape::id) {
        is_grouped_ = true;
        t = node.inputs[0];
      } else if (node.op->id == op::Mul::id || node.op->id == op::Div::id) {
        const bool is_div = node.op->id == op::Div::id;
        const std::size_t scores = scalar_value(graph_, node.inputs[1], value) ? 0 : 1;
        if (scores == 1 && (is_div || !scalar_value(graph_, node.inputs[0], value))) return no_node;
        attention_.scale *= is_div ? 1 / value : value;
        has_factor = true;
        t = node.inputs[scores];
      } else if (node.op->id == op::Add::id && !has_factor && bias_ == no_tensor) {
        const auto computes = [&](TensorId id) { return graph_.info(id) == info && leads(id); };
        const std::size_t scores = computes(node.inputs[0]) ? 0 : 1;
        if (!computes(node.inputs[scores])) return no_node;
        bias_ = node.inputs[1 - scores];
        attention_.bias_first = chosen_ != no_tensor;
        t = node.inputs[scores];
      } else if (node.op->id == op::Where::id && !has_factor && chosen_ == no_tensor) {
        attention_.fills_chosen = scalar_value(graph_, node.inputs[1], attention_.fill);
        if (!attention_.fills_chosen && !scalar_value(graph_, node.inputs[2], attention_.fill)) {
          return no_node;
        }
        chosen_ = node.inputs[0];
        t = node.inputs[attention_.fills_chosen ? 2 : 1];
      } else {
        return no_node;
      }
      if (graph_.info(t) != info && !is_grouped_) return no_node;
    }
  }
  /// Whether a tensor comes, through masks and factors, from a product.
  constexpr bool leads(TensorId t) const {
    for (int steps = 0; steps < 8; ++steps) {
      const int at = uses_.producer[t];
      if (at == no_node || uses_.only_reader(t) == no_node) return false;
      const Node& node = graph_.nodes[index(at)];
      if (node.op == nullptr) return false;
      float value = 0;
      if (node.op->id == op::MatMul::id) return true;
      if (node.op->id == op::Reshape::id || node.op->id == op::Div::id) {
        t = node.inputs[0];
      } else if (node.op->id == op::Mul::id) {
        t = node.inputs[scalar_value(graph_, node.inputs[1], value) ? 0 : 1];
      } else if (node.op->id == op::Where::id) {
        t = node.inputs[scalar_value(graph_, node.inputs[1], value) ? 2 : 1];
      } else {
        return false;
      }
    }
    return false;
  }

  /// Whether shapes are those of the operator: batches alike, one head of keys for some of queries.
  constexpr bool fits(TensorId query, TensorId key, TensorId value,
                      const TensorInfo& scores) const {
    const TensorInfo q = graph_.info(query), k = graph_.info(key), v = graph_.info(value);
    for (const TensorInfo& t : {q, k, v}) {
      if (t.rank() != rank_ || !t.is_static() || t.elements() == 0) return false;
    }
    const std::size_t heads = rank_ - 3;
    if (rank_ == 4 && (q.shape[0] != k.shape[0] || q.shape[0] != v.shape[0])) return false;
    const std::int64_t shared = q.shape[heads] / k.shape[heads];
    const bool divide = q.shape[heads] == shared * k.shape[heads] && (is_grouped_ || shared == 1);
    if (!divide || k.shape[heads] != v.shape[heads]) return false;
    Dims expected = q.shape;
    expected[rank_ - 1] = k.shape[rank_ - 1];
    if (expected != scores.shape || v.shape[rank_ - 2] != k.shape[rank_ - 1]) return false;
    if (is_grouped_ && rank_ != 4) return false;
    if (chosen_ != no_tensor && graph_.info(chosen_).rank() > rank_) return false;
    return bias_ == no_tensor || graph_.info(bias_).rank() <= rank_;
  }

  constexpr Dims identity() const {
    Dims perm;
    for (std::size_t i = 0; i < rank_; ++i) perm.push_back(static_cast<std::int64_t>(i));
    return perm;
  }
  constexpr Dims perm_of(int node) const {
    const auto transpose = unpack<op::Transpose>(graph_.nodes[index(node)].attributes);
    if (!transpose.perm.empty()) return transpose.perm;
    Dims perm = identity();
    for (std::size_t i = 0; i < rank_; ++i)
      perm[i] = last_dimension() - static_cast<std::int64_t>(i);
    return perm;
  }
  /// The permutation by which an operand is read; a transpose in front of it is skipped.
  constexpr Dims absorbed(TensorId& t) const {
    const int at = uses_.producer[t];
    if (at == no_node || !is_a(op::Transpose::id, at)) return identity();
    t = graph_.nodes[index(at)].inputs[0];
    return perm_of(at);
  }

  constexpr void replace(std::size_t at, TensorId query, TensorId key, TensorId value) {
    Node& node = graph_.nodes[at];
    for (const int n : merged_) {
      if (node.name.empty()) node.name = graph_.nodes[index(n)].name;
    }
    for (const int n : merged_) {
      if (index(n) != at) graph_.nodes[index(n)].op = nullptr;
    }
    node.op = &descriptor<op::FusedAttention>;
    node.attributes = pack(attention_);
    node.inputs = {query, key, value, chosen_, bias_};
    while (node.inputs.back() == no_tensor) node.inputs.pop_back();
  }

  Graph& graph_;
  Uses uses_;
  Aliases aliases_;
  std::size_t rank_ = 0;
  bool is_grouped_ = false;  ///< query heads that share a key's head are queries of one head
  op::FusedAttention attention_{};
  TensorId chosen_ = no_tensor, bias_ = no_tensor;
  Vector<int> merged_;
  Place place_{};
};

}  // namespace detail

/// Softmax over products of queries and keys, and the product with the values behind it, become one
/// FusedAttention with the scale, the masks and the transposes around, where nothing else reads the
/// values between. Float only. All infos must be known.
///
/// A graph that is trained keeps its single operators: gradients read them, unless they are computed
/// again or loaded, which must not change a bit.
constexpr Graph fuse_attention(Graph graph) {
  if (detail::is_trained(graph)) return graph;
  bool may_have_one = false;
  for (const Node& node : graph.nodes) {
    if (node.op->id != op::Softmax::id) continue;
    may_have_one = may_have_one || graph.info(node.inputs[0]).rank() > 2;
  }
  if (!may_have_one) return graph;
  detail::AttentionFusion fusion(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op != nullptr && graph.nodes[n].op->id == op::Softmax::id) fusion.fuse(n);
  }
  detail::remove_empty_nodes(graph);
  return without_dead_code(std::move(graph));
}

}  // namespace halftone
