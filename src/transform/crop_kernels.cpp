#include "transform/crop_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <halftone/op/list.hpp>

namespace halftone {
namespace {

/// The taps [begin, end) of a kernel along an axis that are needed, and the pads that they have then.
struct NeededTaps {
  std::int64_t begin = 0, end = 0, pad_begin = 0, pad_end = 0;

  NeededTaps(const Window& window, std::size_t axis, std::int64_t input) {
    const std::int64_t taps = window.kernel[axis], dilation = window.dilations[axis];
    const std::int64_t stride = window.strides[axis], pad = window.pad_begin(axis);
    const std::int64_t last = (window.output[axis] - 1) * stride;
    // Tap t sees elements from t * dilation - pad on, and up to `last` behind that. Pads stay what a
    // convolution may have.
    begin = std::min(pad > last ? (pad - last + dilation - 1) / dilation : 0, pad / dilation);
    end = std::min(taps, (input - 1 + pad) / dilation + 1);
    if (begin >= end) begin = 0, end = taps;
    pad_begin = pad - begin * dilation;
    while (end < taps && has_room(last + stride, input, dilation)) ++end;
    pad_end = std::max<std::int64_t>(0, end_of(last, dilation) - input - pad_begin);
  }

 private:
  /// Elements, pads among them, up to the last one that the output whose taps begin at `first` sees.
  std::int64_t end_of(std::int64_t first, std::int64_t dilation) const {
    return first + (end - begin - 1) * dilation + 1;
  }
  bool has_room(std::int64_t first, std::int64_t input, std::int64_t dilation) const {
    return end_of(first, dilation) <= pad_begin + input;
  }
};

TensorId cropped_weights(Graph& graph, TensorId weights, const std::vector<NeededTaps>& needed) {
  const TensorInfo from = graph.info(weights);
  TensorInfo to = from;
  std::vector<std::int64_t> taps{0};  // where those that stay lie in a kernel
  for (std::size_t axis = 0; axis < needed.size(); ++axis) {
    std::vector<std::int64_t> inner;
    for (const std::int64_t outer : taps) {
      for (std::int64_t t = needed[axis].begin; t < needed[axis].end; ++t) {
        inner.push_back(outer * from.shape[2 + axis] + t);
      }
    }
    taps = std::move(inner);
    to.shape[2 + axis] = needed[axis].end - needed[axis].begin;
  }
  const std::span<const std::byte> given = graph.tensor(weights).data.span();
  const std::size_t element = given.size() / static_cast<std::size_t>(from.elements());
  const auto count = static_cast<std::size_t>(to.elements());
  Storage storage = Storage::allocate(count * element);
  const std::byte* const data = storage.data();
  const auto area = static_cast<std::int64_t>(product(Dims(from.shape.span().subspan(2))));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t kernel = i / taps.size(), tap = i % taps.size();
    const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(kernel) * area + taps[tap]);
    std::memcpy(storage.data() + i * element, given.data() + at * element, element);
  }
  return graph.add_constant(to, Bytes(std::move(storage), data, count * element));
}

void crop(Graph& graph, Node& node) {
  const TensorInfo x = graph.info(node.inputs[0]), w = graph.info(node.inputs[1]);
  const TensorRecord& weights = graph.tensor(node.inputs[1]);
  if (weights.role != Role::constant || weights.data.size() == 0 || x.elements() <= 0) return;
  auto conv = unpack<op::Conv>(node.attributes);
  const std::span<const std::int64_t> input = x.shape.span().subspan(2);
  const Window window = conv.window_over(input, Dims(w.shape.span().subspan(2)));
  if (!window.ok()) return;
  std::vector<NeededTaps> needed;
  conv.kernel_shape = {};
  conv.auto_pad = AutoPad::notset;
  conv.pads = {};
  bool loses = false;
  for (std::size_t axis = 0; axis < window.rank(); ++axis) {
    const NeededTaps& taps = needed.emplace_back(window, axis, input[axis]);
    conv.pads.push_back(taps.pad_begin);
    loses = loses || taps.end - taps.begin < window.kernel[axis];
  }
  if (!loses) return;
  for (const NeededTaps& taps : needed) conv.pads.push_back(taps.pad_end);
  node.attributes = pack(conv);
  node.inputs[1] = cropped_weights(graph, node.inputs[1], needed);
}

}  // namespace

Graph crop_kernels(Graph graph) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op->id == op::Conv::id) crop(graph, graph.nodes[n]);
  }
  return graph;
}

}  // namespace halftone
