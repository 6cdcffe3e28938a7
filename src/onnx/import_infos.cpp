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
      std::vector<Defect> defects;  // infer_all() meets the others again
      halftone::infer_node(graph, target.inferred_nodes, defects);
      report_contradictions(target, defects);
      continue;
    }
    const Inferred inferred = infer_node(graph, node);
    if (!inferred.ok()) continue;
    for (std::size_t i = 0; i < node.outputs.size() && i < inferred.outputs.size(); ++i) {
      if (node.outputs[i] == no_tensor) continue;
      std::int64_t expected = 0, found = 0;
      TensorInfo& known = graph.tensor(node.outputs[i]).info;
      TensorInfo both = known;
      if (!detail::refine(both, inferred.outputs[i], expected, found)) {
        both = inferred.outputs[i];
        const std::string_view name = graph.name(node.outputs[i]);
        contradiction(is_output(target, name), describe(graph, node), name, known, both);
      }
      known = both;
    }
  }
}

void Importer::report_contradictions(const Target& target, const std::vector<Defect>& defects) {
  for (const Defect& defect : defects) {
    if (defect.tensor == no_tensor) continue;
    const Graph& holder = holder_of(target.graph, defect);
    const std::string_view name = holder.name(defect.tensor);
    contradiction(defect.path.empty() && is_output(target, name),
                  describe(holder, holder.nodes[defect.node]), name, defect.stated,
                  holder.info(defect.tensor));
  }
}

void Importer::infer_all(Target& target) {
  const std::vector<Defect> defects = halftone::infer(target.graph);
  report_contradictions(target, defects);
  for (const Defect& defect : defects) {
    if (defect.tensor != no_tensor) continue;
    const Graph& holder = holder_of(target.graph, defect);
    const Node& node = holder.nodes[defect.node];
    const std::string described = describe(holder, node);
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
