#pragma once

#include <utility>

#include <halftone/kernel/fwd.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/convolution.hpp>

namespace halftone {

namespace detail {

/// What one image costs, in multiply-adds, by the form F(edge x edge, taps x taps); edge 0: by the
/// direct sum. Batches do not count, so that parts of a batch are computed as the whole is. is_trained:
/// the weights have to be transformed, too.
constexpr std::int64_t convolution_cost(std::int64_t edge, std::int64_t taps, std::int64_t channels,
                                        std::int64_t filters, std::int64_t height,
                                        std::int64_t width, bool is_trained) {
  constexpr std::int64_t fetched = 8;            // a weight, from memory
  constexpr std::int64_t transformed = 8;        // one number of a tile, for each channel or filter
  const std::int64_t made = is_trained ? 8 : 0;  // a transformed weight
  const std::int64_t weights = channels * filters;
  if (edge == 0) return taps * taps * weights * (height * width + fetched);
  const std::int64_t positions = kernel::winograd_positions(edge, taps);
  const std::int64_t tiles = ((height + edge - 1) / edge) * ((width + edge - 1) / edge);
  return positions *
         (tiles * (weights + transformed * (channels + filters)) + (fetched + made) * weights);
}

/// The edge of the output tiles of the form that costs least, up to `most`; 0: the direct sum, unless
/// another form costs a tenth less.
constexpr std::int64_t cheapest_edge(std::int64_t most, std::int64_t taps, std::int64_t channels,
                                     std::int64_t filters, std::int64_t height, std::int64_t width,
                                     bool is_trained = false) {
  const auto cost_of = [&](std::int64_t edge) {
    return convolution_cost(edge, taps, channels, filters, height, width, is_trained);
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

/// Chooses the form of every FusedConv by what an image costs. After block_channels: the forms are of
/// activations in blocks.
constexpr Graph choose_convolutions(Graph graph, Convolution allowed) {
  constexpr std::int64_t fewest = 16;  // channels or filters
  if (allowed == Convolution::exact) return graph;
  for (Node& node : graph.nodes) {
    if (node.op->id != op::FusedConv::id) continue;
    auto conv = unpack<op::FusedConv>(node.attributes);
    const TensorRecord& w = graph.tensor(node.inputs[1]);
    const Dims& y = graph.info(node.outputs[0]).shape;
    const std::int64_t filters = w.info.shape[conv.flipped ? 1 : 0];
    const std::int64_t channels = w.info.shape[conv.flipped ? 0 : 1];
    const std::int64_t taps = w.info.shape[3];
    const bool fits = conv.group == 1 && conv.block != 0 && w.info.shape[2] == taps &&
                      (taps == 3 || taps == 5) && conv.strides == Dims{1, 1} &&
                      conv.dilations == Dims{1, 1} && filters >= fewest && channels >= fewest;
    if (!fits) continue;
    const std::int64_t most = allowed == Convolution::fastest && taps == 3 ? 4 : 2;
    conv.winograd =
        detail::cheapest_edge(most, taps, channels, filters, y[2], y[3], w.role != Role::constant);
    conv.winograd_taps = conv.winograd == 0 ? 3 : taps;
    node.attributes = pack(conv);
  }
  return graph;
}

}  // namespace halftone
