#include <halftone/graph/infer.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"
#include "onnx/importer.hpp"

namespace halftone::onnx {

void Importer::infer_pending(Target& target) {
  for (; target.inferred_nodes < target.graph.nodes.size(); ++target.inferred_nodes) {
    const std::size_t known = target.defects.size();
    infer_node(target.graph, target.inferred_nodes, target.defects);
    report_contradictions(target, std::span(target.defects).subspan(known));
  }
}

void Importer::report_contradictions(const Target& target, std::span<const Defect> defects) {
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
  infer_pending(target);
  for (const Defect& defect : target.defects) {
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
