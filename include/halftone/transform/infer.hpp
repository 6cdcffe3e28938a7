#pragma once

#include <vector>

#include <halftone/graph/graph.hpp>

namespace halftone {

/// A node whose inputs do not fit it, or whose outputs are not what the model says.
struct Defect {
  std::size_t node = 0;
  Inferred inferred = Inferred::unknown();
  TensorId tensor = no_tensor;  ///< the output that contradicts, if one does
  int graph = -1;               ///< the subgraph that holds the node, -1: this one
};

/// Computes the outputs of a node whose inputs are constants; false if it cannot. In the core.
using Evaluate = bool (*)(void* context, Graph& graph, std::size_t node);

namespace detail {

/// The indices of a node's Subgraph attributes, in their order.
class GraphIndices final : public AttributeVisitor {
 public:
  std::vector<std::int32_t> indices;

  constexpr void integer(std::string_view, std::int64_t&, bool&) override {}
  constexpr void real(std::string_view, float&, bool&) override {}
  constexpr void integers(std::string_view, std::int64_t*, std::uint8_t&, std::size_t) override {}
  constexpr void reals(std::string_view, float*, std::uint8_t&, std::size_t) override {}
  constexpr void text(std::string_view, char*, std::size_t) override {}
  constexpr void choice(std::string_view, std::int64_t&,
                        std::span<const std::string_view>) override {}
  constexpr void graph(std::string_view, std::int32_t& index) override { indices.push_back(index); }
};

/// Adds what `inferred` knows to what is known of a tensor; false if they contradict.
constexpr bool refine(TensorInfo& known, const TensorInfo& inferred, std::int64_t& expected,
                      std::int64_t& found) {
  if (!inferred.is_known()) return true;
  if (!known.is_known()) {
    known = inferred;
    return true;
  }
  if (known.type != inferred.type || known.rank() != inferred.rank()) {
    expected = static_cast<std::int64_t>(known.rank());
    found = static_cast<std::int64_t>(inferred.rank());
    return false;
  }
  for (std::size_t i = 0; i < known.rank(); ++i) {
    const std::int64_t both = agree(known.shape[i], inferred.shape[i]);
    if (both == -2) {
      expected = known.shape[i];
      found = inferred.shape[i];
      return false;
    }
    known.shape[i] = both;
  }
  return true;
}

}  // namespace detail

/// The graph attributes of a node, in the order of the operator's attributes.
constexpr std::vector<std::int32_t> subgraphs_of(const Node& node) {
  detail::GraphIndices indices;
  std::vector<Word> words = node.attributes;
  node.op->attributes(words, indices);
  return indices.indices;
}

constexpr std::vector<Defect> infer(Graph& graph, Evaluate evaluate = nullptr,
                                    void* context = nullptr);

/// Finds the infos of one node's outputs from those of its inputs; see `infer`.
constexpr void infer_node(Graph& graph, std::size_t n, std::vector<Defect>& defects,
                          Evaluate evaluate = nullptr, void* context = nullptr) {
  Node& node = graph.nodes[n];
  if (node.op->only_expands) return;
  std::vector<InputInfo> infos;
  bool all_constant = true, all_static = true;
  for (const TensorId id : node.inputs) {
    if (id == no_tensor) {
      infos.push_back({});
      continue;
    }
    const TensorRecord& t = graph.tensor(id);
    const bool known = t.role == Role::constant;
    infos.push_back({t.info, known ? t.data.span() : std::span<const std::byte>{}, known});
    all_constant = all_constant && known;
    all_static = all_static && t.info.is_static();
  }

  std::vector<std::vector<TensorInfo>> graph_outputs;
  for (const std::int32_t index : subgraphs_of(node)) {
    Graph& body = graph.graphs[static_cast<std::size_t>(index)];
    // Captured tensors are the last inputs of node and body alike.
    for (std::size_t i = 0; i < body.inputs.size() && i < node.inputs.size(); ++i) {
      const TensorId outer = node.inputs[node.inputs.size() - 1 - i];
      TensorInfo& inner = body.tensor(body.inputs[body.inputs.size() - 1 - i]).info;
      if (outer != no_tensor && !inner.is_known()) inner = graph.info(outer);
    }
    for (Defect& defect : infer(body, evaluate, context)) {
      if (defect.graph < 0) defect.graph = index;
      defects.push_back(std::move(defect));
    }
    std::vector<TensorInfo> outputs;
    for (const TensorId id : body.outputs) outputs.push_back(body.info(id));
    graph_outputs.push_back(std::move(outputs));
  }

  Inferred inferred =
      node.op->infer(node.attributes, Inputs(infos, node.outputs.size(), graph_outputs));
  if (!inferred.ok()) {
    defects.push_back({.node = n, .inferred = std::move(inferred)});
    return;
  }
  bool outputs_static = true;
  for (std::size_t i = 0; i < node.outputs.size() && i < inferred.outputs.size(); ++i) {
    if (node.outputs[i] == no_tensor) continue;
    std::int64_t expected = 0, found = 0;
    TensorInfo& known = graph.tensor(node.outputs[i]).info;
    if (!detail::refine(known, inferred.outputs[i], expected, found)) {
      defects.push_back({.node = n,
                         .inferred = Inferred::mismatch("the model states another shape or type",
                                                        expected, found),
                         .tensor = node.outputs[i]});
    }
    outputs_static = outputs_static && known.is_static();
  }
  const bool foldable = graph_outputs.empty() && !node.op->signature.has_seed() &&
                        !node.op->has_effect && outputs_static &&
                        (all_constant || (node.op->only_infos && all_static));
  if (evaluate != nullptr && foldable) evaluate(context, graph, n);
}

/// Finds the infos of all tensors from those of inputs, constants and variables, node after node.
/// What is already known of a tensor must agree. Goes on behind defects and returns all of them.
///
/// With `evaluate`, nodes whose inputs are constants are computed, and their outputs become
/// constants (constant folding): shapes that are computed in the graph become known that way.
constexpr std::vector<Defect> infer(Graph& graph, Evaluate evaluate, void* context) {
  std::vector<Defect> defects;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    infer_node(graph, n, defects, evaluate, context);
  }
  return defects;
}

}  // namespace halftone
