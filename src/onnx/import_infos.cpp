#include <halftone/graph/infer.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"
#include "onnx/importer.hpp"

namespace halftone::onnx {

using detail::quoted;

namespace {

Inferred infer_node(const Graph& graph, const Node& node) {
  std::vector<InputInfo> infos;
  for (const TensorId id : node.inputs) {
    if (id == no_tensor) {
      infos.push_back({});
      continue;
    }
    const TensorRecord& t = graph.tensor(id);
    const bool known = t.role == Role::constant;
    infos.push_back({t.info, known ? t.data.span() : std::span<const std::byte>{}, known});
  }
  return node.op->infer(node.attributes, Inputs(infos, node.outputs.size()));
}

}  // namespace

void Importer::infer_pending(Target& target) {
  Graph& graph = target.graph;
  for (; target.inferred_nodes < graph.nodes.size(); ++target.inferred_nodes) {
    const Node& node = graph.nodes[target.inferred_nodes];
    if (node.op->only_expands) continue;
    if (!subgraphs_of(node).empty()) {
      std::vector<Defect> later;  // reported by infer_all()
      halftone::infer_node(graph, target.inferred_nodes, later);
      continue;
    }
    const Inferred inferred = infer_node(graph, node);
    if (!inferred.ok()) continue;
    for (std::size_t i = 0; i < node.outputs.size() && i < inferred.outputs.size(); ++i) {
      if (node.outputs[i] == no_tensor) continue;
      std::int64_t expected = 0, found = 0;
      TensorInfo& known = graph.tensor(node.outputs[i]).info;
      TensorInfo both = known;
      if (detail::refine(both, inferred.outputs[i], expected, found)) known = both;
    }
  }
}

void Importer::infer_all(Graph& graph) {
  for (const Defect& defect : halftone::infer(graph)) {
    const Graph& holder = holder_of(graph, defect);
    const Node& node = holder.nodes[defect.node];
    std::string described = detail::node_text(*node.op, holder.name(node));
    if (node.name.empty()) {
      for (const TensorId id : node.outputs) {
        if (id == no_tensor || holder.name(id).empty()) continue;
        described += " of " + quoted(holder.name(id));
        break;
      }
    }
    if (defect.tensor != no_tensor) {
      const Inferred again = infer_node(holder, node);
      std::string found;
      for (std::size_t i = 0; i < node.outputs.size() && i < again.outputs.size(); ++i) {
        if (node.outputs[i] == defect.tensor) found = detail::to_text(again.outputs[i]);
      }
      report_.add_shape({.what = "the model states another shape or type than the node gives",
                         .node = described,
                         .tensor = holder.name(defect.tensor),
                         .expected = detail::to_text(holder.info(defect.tensor)),
                         .found = found},
                        defect.inferred.expected, defect.inferred.found);
      continue;
    }
    const detail::InferenceText text =
        detail::describe_inference(holder, *node.op, node.inputs, defect.inferred);
    const std::string what = text.reason + text.inputs;
    const ErrorParts parts{
        .what = what, .node = described, .expected = text.expected, .found = text.found};
    if (text.has_extents) {
      report_.add_shape(parts, defect.inferred.expected, defect.inferred.found);
    } else {
      report_.add(text.kind, parts);
    }
  }
}

}  // namespace halftone::onnx
