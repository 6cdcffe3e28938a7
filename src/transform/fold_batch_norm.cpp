#include "transform/fold_batch_norm.hpp"

#include <cmath>
#include <cstring>

#include <halftone/op/list.hpp>
#include <halftone/transform/fuse_convolutions.hpp>

namespace halftone {
namespace {

bool is_constant_float(const Graph& graph, TensorId id) {
  return graph.tensor(id).role == Role::constant && graph.info(id).type == ElementType::float32;
}

float element(const Graph& graph, TensorId id, std::size_t i) {
  float value;  // the bytes may lie anywhere in a file
  std::memcpy(&value, graph.tensor(id).data.span().data() + i * sizeof value, sizeof value);
  return value;
}

TensorId add_constant(Graph& graph, const Dims& shape, Storage storage) {
  const std::byte* data = storage.data();
  const std::size_t bytes = storage.size();
  return graph.add_constant({ElementType::float32, shape}, Bytes(std::move(storage), data, bytes));
}

void fold(Graph& graph, Node& conv, const Node& norm) {
  const float epsilon = unpack<op::BatchNormalization>(norm.attributes).epsilon;
  const TensorId w = conv.inputs[1];
  const Dims shape = graph.info(w).shape;
  const auto filters = static_cast<std::size_t>(shape[0]);
  const std::size_t per_filter =
      graph.tensor(w).data.size() / sizeof(float) / std::max<std::size_t>(filters, 1);
  const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2] != no_tensor;
  Storage weights = Storage::allocate(filters * per_filter * sizeof(float));
  Storage bias = Storage::allocate(filters * sizeof(float));
  auto* to = reinterpret_cast<float*>(weights.data());
  auto* to_bias = reinterpret_cast<float*>(bias.data());
  const std::byte* from = graph.tensor(w).data.span().data();
  for (std::size_t f = 0; f < filters; ++f) {
    const float scale =
        element(graph, norm.inputs[1], f) / std::sqrt(element(graph, norm.inputs[4], f) + epsilon);
    const float before = has_bias ? element(graph, conv.inputs[2], f) : 0;
    to_bias[f] =
        (before - element(graph, norm.inputs[3], f)) * scale + element(graph, norm.inputs[2], f);
    std::memcpy(to + f * per_filter, from + f * per_filter * sizeof(float),
                per_filter * sizeof(float));
    for (std::size_t i = 0; i < per_filter; ++i) to[f * per_filter + i] *= scale;
  }
  graph.tensor(w).data.unneeded();
  conv.inputs.resize(3, no_tensor);
  conv.inputs[1] = add_constant(graph, shape, std::move(weights));
  conv.inputs[2] = add_constant(graph, {shape[0]}, std::move(bias));
}

}  // namespace

Graph fold_batch_norm(Graph graph) {
  const Uses uses(graph);
  for (Node& conv : graph.nodes) {
    if (conv.op == nullptr || conv.op->id != op::Conv::id) continue;
    const int reader = uses.only_reader(conv.outputs[0]);
    if (reader == no_node) continue;
    Node& norm = graph.nodes[static_cast<std::size_t>(reader)];
    if (norm.op == nullptr || norm.op->id != op::BatchNormalization::id ||
        norm.outputs.size() != 1 ||
        unpack<op::BatchNormalization>(norm.attributes).training_mode != 0) {
      continue;
    }
    bool constant = is_constant_float(graph, conv.inputs[1]);
    for (std::size_t i = 1; i < 5; ++i)
      constant = constant && is_constant_float(graph, norm.inputs[i]);
    if (conv.inputs.size() > 2 && conv.inputs[2] != no_tensor) {
      constant = constant && is_constant_float(graph, conv.inputs[2]);
    }
    if (!constant) continue;
    fold(graph, conv, norm);
    conv.outputs[0] = norm.outputs[0];
    norm.op = nullptr;
  }
  detail::remove_empty_nodes(graph);
  return graph;
}

}  // namespace halftone
