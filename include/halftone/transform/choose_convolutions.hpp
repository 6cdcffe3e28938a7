#pragma once

#include <utility>

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/convolution.hpp>

namespace halftone {

namespace detail {

/// What is computed with the weights of a convolution. Constant ones are transformed beforehand, of
/// gradients the sums over all images.
enum class WeightUse : std::uint8_t { constant, trained, gradient };

/// What one image costs, in multiply-adds, by the form F(edge x edge, taps x taps); edge 0: by the
/// direct sum. Batches do not count, so that parts of a batch are computed as the whole is.
constexpr std::int64_t convolution_cost(std::int64_t edge, std::int64_t taps, std::int64_t channels,
                                        std::int64_t filters, std::int64_t height,
                                        std::int64_t width, WeightUse use) {
  constexpr std::int64_t transformed = 8;  // one number of a tile, for each channel or filter
  // A weight that is read from memory or, of a gradient, summed up once for many images.
  const std::int64_t moved = use == WeightUse::gradient ? 1 : 8;
  const std::int64_t made = use == WeightUse::trained ? 8 : 0;  // a transformed weight
  const std::int64_t weights = channels * filters;
  if (edge == 0) return taps * taps * weights * (height * width + moved);
  const std::int64_t positions = kernel::winograd_positions(edge, taps);
  const std::int64_t tiles = ((height + edge - 1) / edge) * ((width + edge - 1) / edge);
  return positions *
         (tiles * (weights + transformed * (channels + filters)) + (moved + made) * weights);
}

/// The edge of the output tiles of the form that costs least, up to `most`; 0: the direct sum, unless
/// another form costs a tenth less.
constexpr std::int64_t cheapest_edge(std::int64_t most, std::int64_t taps, std::int64_t channels,
                                     std::int64_t filters, std::int64_t height, std::int64_t width,
                                     WeightUse use = WeightUse::constant) {
  const auto cost_of = [&](std::int64_t edge) {
    return convolution_cost(edge, taps, channels, filters, height, width, use);
  };
  std::int64_t best = 0, least = cost_of(0) / 10 * 9;
  for (std::int64_t edge = 2; edge <= most; edge += 2) {
    const std::int64_t cost = cost_of(edge);
    if (cost >= least) continue;
    least = cost;
    best = edge;
  }
  return best;
}

}  // namespace detail

/// Chooses the form of every FusedConv, and of the gradients of weights, by what an image costs. After
/// block_channels: the forms are of activations in blocks.
constexpr Graph choose_convolutions(Graph graph, Convolution allowed) {
  constexpr std::int64_t fewest = 16;  // channels or filters
  if (allowed == Convolution::exact) return graph;
  const auto edge_of = [&](const auto& conv, std::int64_t channels, std::int64_t filters,
                           const Dims& kernel, const Dims& y,
                           detail::WeightUse use) -> std::int64_t {
    if (kernel.size() != 2 || kernel[0] != kernel[1] || (kernel[0] != 3 && kernel[0] != 5))
      return 0;
    const bool fits = conv.group == 1 && conv.strides == Dims{1, 1} &&
                      conv.dilations == Dims{1, 1} && filters >= fewest && channels >= fewest;
    const std::int64_t most = allowed == Convolution::fastest && kernel[0] == 3 ? 4 : 2;
    return fits ? detail::cheapest_edge(most, kernel[0], channels, filters, y[2], y[3], use) : 0;
  };
  for (Node& node : graph.nodes) {
    if (node.op->id == op::FusedConv::id) {
      auto conv = unpack<op::FusedConv>(node.attributes);
      const TensorRecord& w = graph.tensor(node.inputs[1]);
      const Dims kernel(w.info.shape.span().subspan(2));
      const Dims& y = graph.info(node.outputs[0]).shape;
      if (conv.block == 0) continue;
      conv.winograd = edge_of(
          conv, w.info.shape[conv.flipped ? 0 : 1], w.info.shape[conv.flipped ? 1 : 0], kernel, y,
          w.role == Role::constant ? detail::WeightUse::constant : detail::WeightUse::trained);
      conv.winograd_taps = conv.winograd == 0 ? 3 : kernel[0];
      node.attributes = pack(conv);
    } else if (node.op->id == op::ConvWeightGradient::id) {
      auto conv = unpack<op::ConvWeightGradient>(node.attributes);
      const Dims &x = graph.info(node.inputs[0]).shape, &dy = graph.info(node.inputs[1]).shape;
      const std::int64_t channels = conv.block == 0 ? x[1] : conv.channels;
      const std::int64_t filters = conv.block == 0 ? dy[1] : conv.filters;
      conv.winograd =
          edge_of(conv, channels, filters, conv.kernel_shape, dy, detail::WeightUse::gradient);
      node.attributes = pack(conv);
    }
  }
  return graph;
}

}  // namespace halftone
