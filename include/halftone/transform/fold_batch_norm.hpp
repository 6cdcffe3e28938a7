#pragma once

#include <cmath>
#include <cstring>
#include <utility>

#include <halftone/op/list.hpp>
#include <halftone/transform/nodes.hpp>

namespace halftone {

namespace detail {

/// An element of a constant of floats; its bytes may lie anywhere in a file.
inline float float_element(const Graph& graph, TensorId id, std::int64_t i) {
  float value;
  std::memcpy(&value, graph.tensor(id).data.span().data() + i * std::int64_t{sizeof value},
              sizeof value);
  return value;
}

/// What one filter of a convolution becomes with the normalization behind it: its weights times
/// `scale`, and a bias.
struct FoldedFilter {
  float scale, bias;

  FoldedFilter(float old_bias, float gamma, float beta, float mean, float variance, float epsilon) {
    scale = gamma / std::sqrt(variance + epsilon);
    float product = (old_bias - mean) * scale;
    // Rounded here: one rounding of product and sum would make results depend on the flags.
#if defined(__GNUC__) && defined(__x86_64__)
    asm("" : "+x"(product));
#endif
    bias = product + beta;
  }
};

/// What a normalization of constants does to each channel, as its kernel computes it: x less a mean,
/// times a factor, and an addend.
struct ChannelNumbers {
  Vector<float> means, factors, addends;

  ChannelNumbers(const Graph& graph, const Node& norm, double epsilon) {
    for (std::int64_t c = 0; c < graph.info(norm.inputs[1]).shape[0]; ++c) {
      const auto at = [&](std::size_t i) { return float_element(graph, norm.inputs[i], c); };
      means.push_back(at(3));
      factors.push_back(static_cast<float>(at(1) / std::sqrt(at(4) + epsilon)));
      addends.push_back(at(2));
    }
  }
};

/// The normalization that a convolution takes in, no_node if there is none: nothing else reads what
/// is between them, and the parameters of both are constants of float32.
constexpr int foldable_norm(const Graph& graph, const Uses& uses, const Node& conv) {
  if (conv.op == nullptr || conv.op->id != op::Conv::id) return no_node;
  const int reader = uses.only_reader(conv.outputs[0]);
  if (reader == no_node) return no_node;
  const Node& norm = graph.nodes[static_cast<std::size_t>(reader)];
  if (norm.op == nullptr || norm.op->id != op::BatchNormalization::id || norm.outputs.size() != 1 ||
      unpack<op::BatchNormalization>(norm.attributes).training_mode != 0) {
    return no_node;
  }
  const auto is_constant = [&](TensorId id) {
    return graph.tensor(id).role == Role::constant && graph.info(id).type == ElementType::float32;
  };
  bool constant = is_constant(conv.inputs[1]);
  for (std::size_t i = 1; i < 5; ++i) constant = constant && is_constant(norm.inputs[i]);
  if (conv.inputs.size() > 2 && conv.inputs[2] != no_tensor) {
    constant = constant && is_constant(conv.inputs[2]);
  }
  return constant ? reader : no_node;
}

}  // namespace detail

/// Takes batch normalizations into the constant weights and biases of the convolutions before them.
/// `fold(graph, conv, norm)` gives the convolution those, as inputs 1 and 2.
template <class Fold>
constexpr Graph fold_batch_norm(Graph graph, Fold fold) {
  const Uses uses(graph);
  for (Node& conv : graph.nodes) {
    const int reader = detail::foldable_norm(graph, uses, conv);
    if (reader == no_node) continue;
    Node& norm = graph.nodes[static_cast<std::size_t>(reader)];
    conv.inputs.resize(3, no_tensor);
    fold(graph, conv, norm);
    conv.outputs[0] = norm.outputs[0];
    norm.op = nullptr;
  }
  detail::remove_empty_nodes(graph);
  return graph;
}

}  // namespace halftone
