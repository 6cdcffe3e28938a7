#include <halftone/transform/gradient.hpp>

#include <string>

#include "base/describe.hpp"

namespace halftone {

namespace {

constexpr std::string_view unknown_shape = "a gradient needs shapes that are known before the run",
                           size_hint = "give the sizes when the model is loaded";

}  // namespace

void detail::refuse_input(const Graph& graph, const Node& node, std::size_t input) {
  fail(ErrorKind::unsupported, {.what = "the gradient needs an input's value before the run",
                                .node = node_text(*node.op, graph.name(node)),
                                .tensor = graph.name(node.inputs[input])});
}

void detail::refuse_nodes(const Graph& graph, const std::vector<std::size_t>& nodes) {
  std::string names;
  for (const std::size_t n : nodes) {
    const std::string text = node_text(*graph.nodes[n].op, graph.name(graph.nodes[n]));
    if (names.find(text) == names.npos) names += (names.empty() ? "" : ", ") + text;
  }
  fail(ErrorKind::unsupported,
       {.what = "operators between the weights and the loss have no gradient", .found = names});
}

void detail::refuse_unknown(const Graph& graph, const Node& node, TensorId id) {
  fail(ErrorKind::unsupported, {.what = unknown_shape,
                                .node = node_text(*node.op, graph.name(node)),
                                .tensor = graph.name(id),
                                .found = to_text(graph.info(id)),
                                .hint = size_hint});
}

void detail::refuse_random(const Graph& graph, const Node& node) {
  fail(ErrorKind::unsupported,
       {.what = "the gradient would draw other random numbers in the subgraph than the node did",
        .node = node_text(*node.op, graph.name(node))});
}

void detail::refuse_passes(const Graph& graph, const Node& node) {
  fail(ErrorKind::unsupported,
       {.what = "the gradient needs a number of passes that is known before the run",
        .node = node_text(*node.op, graph.name(node)),
        .hint = "a constant M, and a condition that stays true"});
}

void detail::refuse_slices(const Graph& graph, const Node& node, std::size_t most,
                           std::size_t found) {
  fail(ErrorKind::unsupported, {.what = "a loop with so many states and slices has no gradient",
                                .node = node_text(*node.op, graph.name(node)),
                                .expected = "at most " + std::to_string(most),
                                .found = std::to_string(found)});
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

std::vector<TensorId> differentiate(Graph& graph, TensorId loss, std::span<const TensorId> wanted,
                                    TensorId d_loss) {
  return detail::differentiate_with(&gradient_of, graph, loss, wanted, d_loss);
}

std::vector<TensorId> differentiate(Graph& graph, std::span<const TensorId> outputs,
                                    std::span<const TensorId> d_outputs,
                                    std::span<const TensorId> wanted) {
  return detail::differentiate_with(&gradient_of, graph, outputs, d_outputs, wanted);
}

}  // namespace halftone
