#pragma once

#include <cstddef>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/nodes.hpp>

namespace halftone {

namespace detail {

/// Finds the nodes that exporters write for GeluErf: x, 0.5 and 1 + erf(x / sqrt(2)) multiplied in any
/// order.
class GeluFusion {
 public:
  struct Found {
    int last = no_node;  ///< the node that gives the result; no_node: there is none
    TensorId x = no_tensor;
  };

  constexpr explicit GeluFusion(const Graph& graph)
      : graph_(graph), uses_(graph), aliases_(graph) {}

  constexpr Found find(std::size_t erf) const {
    const TensorId argument = graph_.nodes[erf].inputs[0];
    const TensorInfo& info = graph_.info(argument);
    if (info.type != ElementType::float32 || !info.is_static()) return {};
    const auto [x, scale] = scaled(uses_.producer[argument]);
    const float error = scale - 0.70710678f;
    if (x == no_tensor || error < -0x1p-23f || error > 0x1p-23f) return {};
    if (graph_.info(x) != info || aliases_.is_modified(x)) return {};

    const int sum = reader(graph_.nodes[erf].outputs[0], info);
    if (sum == no_node || node(sum).op->id != op::Add::id) return {};
    float one = 0;
    const std::size_t number = scalar_value(graph_, node(sum).inputs[1], one) ? 1 : 0;
    if (!scalar_value(graph_, node(sum).inputs[number], one) || one != 1) return {};

    bool has_half = false, has_x = false;
    int last = sum;
    while (!has_half || !has_x) {
      const TensorId product = node(last).outputs[0];
      last = reader(product, info);
      if (last == no_node) return {};
      const auto [whole, factor] = scaled(last);
      if (whole == product && factor == 0.5f && !has_half) {
        has_half = true;
        continue;
      }
      if (node(last).op->id != op::Mul::id) return {};
      const TensorId other = node(last).inputs[node(last).inputs[0] == product ? 1 : 0];
      const auto [of_other, half] = scaled(uses_.producer[other]);
      if (other == x && !has_x) {
        has_x = true;
      } else if (of_other == x && half == 0.5f && !has_half && !has_x) {
        has_half = has_x = true;
      } else {
        return {};
      }
    }
    return {last, x};
  }

 private:
  struct Scaled {
    TensorId x = no_tensor;
    float factor = 1;
  };

  constexpr const Node& node(int n) const { return graph_.nodes[static_cast<std::size_t>(n)]; }
  /// The function finds the tensor that a node multiplies or divides by a number, and the factor. It
  /// gives no tensor for other nodes.
  constexpr Scaled scaled(int n) const {
    if (n == no_node) return {};
    const Node& product = node(n);
    const bool divides = product.op->id == op::Div::id;
    float value = 0;
    if (divides || product.op->id == op::Mul::id) {
      if (scalar_value(graph_, product.inputs[1], value)) {
        return {product.inputs[0], divides ? 1 / value : value};
      }
      if (!divides && scalar_value(graph_, product.inputs[0], value)) {
        return {product.inputs[1], value};
      }
    }
    return {};
  }
  /// The node that alone reads a tensor and gives one of its shape.
  constexpr int reader(TensorId id, const TensorInfo& info) const {
    const int n = uses_.only_reader(id);
    const bool fits =
        n != no_node && node(n).outputs.size() == 1 && graph_.info(node(n).outputs[0]) == info;
    return fits ? n : no_node;
  }

  const Graph& graph_;
  Uses uses_;
  Aliases aliases_;
};

}  // namespace detail

/// x / 2 (1 + erf(x / sqrt(2))), written with single operators, becomes GeluErf, where nothing else
/// reads the values between. Float only. All infos must be known. What nothing reads any more is left
/// to `dead_code`.
///
/// The nodes may be on several IPUs: results must not depend on that. A graph that is trained keeps its
/// single operators, see `fuse_attention`.
constexpr Graph fuse_gelu(Graph graph) {
  if (detail::is_trained(graph)) return graph;
  Vector<detail::GeluFusion::Found> matches;
  const detail::GeluFusion fusion(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op->id != op::Erf::id) continue;
    const auto found = fusion.find(n);
    if (found.last != no_node) matches.push_back(found);
  }
  for (const auto& match : matches) {
    Node& node = graph.nodes[static_cast<std::size_t>(match.last)];
    node.op = &descriptor<op::GeluErf>;
    node.attributes = pack(op::GeluErf{});
    node.inputs = {match.x};
  }
  return graph;
}

}  // namespace halftone
