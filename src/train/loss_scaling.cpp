#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

#include <halftone/train/recorder.hpp>

namespace halftone::detail {
namespace {

/// The largest number of a tensor's type, or 0 if its type is none that is looked at.
float largest_number(const Graph& graph, TensorId id) {
  if (id == no_tensor) return 0;
  switch (graph.info(id).type) {
    case ElementType::float16:
      return 65504;
    case ElementType::float32:
      return std::numeric_limits<float>::max();
    default:
      return 0;
  }
}

/// Whether automatic loss scaling looks at what a node of the gradients computes.
bool is_tracked(const Graph& graph, const Node& node, bool only_products) {
  if (node.outputs.empty() || largest_number(graph, node.outputs[0]) == 0) return false;
  const std::string_view name = node.op->id.name;
  if (only_products) {
    constexpr std::string_view products[] = {"Conv", "MatMul", "Gemm"};
    return std::any_of(std::begin(products), std::end(products),
                       [&](std::string_view product) { return name.find(product) != name.npos; });
  }
  if (node.op->signature.output_slot(0).shares >= 0) return false;
  constexpr std::string_view movers[] = {"Transpose", "Expand",       "Concat", "Slice",
                                         "Split",     "Pad",          "Cast",   "Gather",
                                         "Tile",      "DepthToSpace", "Flatten"};
  return std::find(std::begin(movers), std::end(movers), name) == std::end(movers);
}

/// How many numbers of a tensor are beyond the edge, or none at all.
AnyTensor count_beyond(AnyTensor g, float edge) {
  const ElementType type = g.info().type;
  const AnyTensor limit{g.graph, g.graph->add_constant({type, {}}, scalar_bytes(type, edge))};
  // Not the other way round: what is not a number is beyond the edge, too.
  const AnyTensor within = op::less_or_equal(op::abs(g), limit);
  return op::sum(op::cast(op::logical_not(within), {.to = ElementType::float32}), {.keepdims = 0});
}

}  // namespace

void record_scale_adjustment(Graph& graph, const AutomaticLossScaling& options, TensorId factor,
                             std::span<const TensorId> gradients, NodeRange nodes) {
  Vector<TensorId> tracked;
  for (std::size_t n = nodes.first; options.track.empty() && n < nodes.end; ++n) {
    const Node& node = graph.nodes[n];
    if (is_tracked(graph, node, options.only_products)) tracked.push_back(node.outputs[0]);
  }
  for (const TensorId id : gradients) {
    if (largest_number(graph, id) != 0) tracked.push_back(id);
  }
  if (tracked.empty()) {
    fail(ErrorKind::usage, {.what = "automatic loss scaling finds no gradients to look at",
                            .expected = "gradients of type float or float16"});
  }
  std::int64_t all = 0;
  AnyTensor beyond{&graph, no_tensor};
  for (const TensorId id : tracked) {
    all += graph.info(id).elements();
    const float edge = largest_number(graph, id) * options.bin_edge_location;
    const AnyTensor count = count_beyond(AnyTensor{&graph, id}, edge);
    beyond = beyond.is_absent() ? count : op::add(beyond, count);
  }
  const AnyTensor counts =
      find_or_add_state(graph, {ElementType::float32, {3}}, gradient_counts, no_tensor);
  record(graph,
         training::AdjustLossScaling{
             .threshold = options.threshold, .all = all, .period = options.update_period},
         {factor, counts.id, beyond.id}, 1);
}

}  // namespace halftone::detail
