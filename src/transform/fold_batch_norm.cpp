#include "transform/fold_batch_norm.hpp"

#include <algorithm>
#include <cstring>

#include <halftone/transform/fold_batch_norm.hpp>

namespace halftone {
namespace {

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
  Storage weights = Storage::allocate(filters * per_filter * sizeof(float));
  Storage bias = Storage::allocate(filters * sizeof(float));
  auto* to = reinterpret_cast<float*>(weights.data());
  auto* to_bias = reinterpret_cast<float*>(bias.data());
  const std::byte* from = graph.tensor(w).data.span().data();
  for (std::size_t f = 0; f < filters; ++f) {
    const auto at = [&](TensorId id) {
      return detail::float_element(graph, id, static_cast<std::int64_t>(f));
    };
    const auto of_norm = [&](std::size_t input) { return at(norm.inputs[input]); };
    const float before = conv.inputs[2] != no_tensor ? at(conv.inputs[2]) : 0;
    const detail::FoldedFilter filter(before, of_norm(1), of_norm(2), of_norm(3), of_norm(4),
                                      epsilon);
    to_bias[f] = filter.bias;
    std::memcpy(to + f * per_filter, from + f * per_filter * sizeof(float),
                per_filter * sizeof(float));
    for (std::size_t i = 0; i < per_filter; ++i) to[f * per_filter + i] *= filter.scale;
  }
  graph.tensor(w).data.unneeded();
  conv.inputs[1] = add_constant(graph, shape, std::move(weights));
  conv.inputs[2] = add_constant(graph, {shape[0]}, std::move(bias));
}

}  // namespace

Graph fold_batch_norm(Graph graph) { return fold_batch_norm(std::move(graph), &fold); }

}  // namespace halftone
