#include <halftone/transform/gradient.hpp>

#include <string>

#include "base/describe.hpp"

namespace halftone {

namespace {

constexpr std::string_view unknown_shape = "a gradient needs shapes that are known before the run",
                           size_hint = "give the sizes when the model is loaded";

}  // namespace

void detail::refuse_gradient(const Graph& graph, const Node& node, ErrorParts parts) {
  const std::string text = node_text(*node.op, graph.name(node));
  parts.node = text;
  fail(ErrorKind::unsupported, parts);
}

void detail::refuse_nodes(const Graph& graph, const Vector<std::size_t>& nodes) {
  std::string names;
  for (const std::size_t n : nodes) {
    const std::string text = node_text(*graph.nodes[n].op, graph.name(graph.nodes[n]));
    if (names.find(text) == names.npos) names += (names.empty() ? "" : ", ") + text;
  }
  fail(ErrorKind::unsupported,
       {.what = "operators between the weights and the loss have no gradient", .found = names});
}

void detail::refuse_unknown(const Graph& graph, const Node& node, TensorId id) {
  refuse_gradient(graph, node,
                  {.what = unknown_shape,
                   .tensor = graph.name(id),
                   .found = to_text(graph.info(id)),
                   .hint = size_hint});
}

void detail::refuse_loss(const Graph& graph, TensorId loss) {
  const TensorInfo& info = graph.info(loss);
  if (!info.is_static()) {
    fail(ErrorKind::unsupported, {.what = unknown_shape,
                                  .tensor = graph.name(loss),
                                  .found = to_text(info),
                                  .hint = size_hint});
  }
  fail(ErrorKind::model, {.what = "the loss is not one floating-point number",
                          .tensor = graph.name(loss),
                          .expected = "one element",
                          .found = to_text(info),
                          .hint = "reduce it to its sum or mean"});
}

Vector<TensorId> differentiate(Graph& graph, TensorId loss, std::span<const TensorId> wanted,
                               TensorId d_loss) {
  return detail::differentiate_with(&gradient_of, graph, loss, wanted, d_loss);
}

Vector<TensorId> differentiate(Graph& graph, std::span<const TensorId> outputs,
                               std::span<const TensorId> d_outputs,
                               std::span<const TensorId> wanted) {
  return detail::differentiate_with(&gradient_of, graph, outputs, d_outputs, wanted);
}

}  // namespace halftone
