#include "popxl/dot.hpp"

#include <fmt/format.h>

#include <halftone/graph/index.hpp>

#include "base/describe.hpp"

namespace popxl::detail {

namespace {

std::string dot_text_of(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string label(const halftone::Graph& graph, halftone::TensorId id) {
  const std::string info = halftone::detail::to_text(graph.info(id));
  const std::string_view name = graph.name(id);
  return name.empty() ? info : fmt::format("{}\n{}", name, info);
}

void add_graph(std::string& text, const GraphState& state, std::size_t number) {
  const halftone::Graph& graph = state.graph;
  const halftone::Uses uses(graph);
  const auto node_name = [&](int node) { return fmt::format("g{}n{}", number, node); };
  const auto tensor_name = [&](halftone::TensorId id) { return fmt::format("g{}t{}", number, id); };
  text += fmt::format("  subgraph cluster_{} {{\n    label={};\n", number, dot_text_of(state.id));
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const halftone::Node& node = graph.nodes[n];
    const std::string_view name = graph.name(node);
    text += fmt::format("    {} [shape=box,label={}];\n", node_name(static_cast<int>(n)),
                        dot_text_of(name.empty() ? std::string(node.op->id.name)
                                                 : fmt::format("{}\n{}", node.op->id.name, name)));
    for (const halftone::TensorId id : node.inputs) {
      if (id == halftone::no_tensor) continue;
      const int producer = uses.producer[id];
      const bool is_made = producer != halftone::no_node;
      text +=
          fmt::format("    {} -> {} [label={}];\n", is_made ? node_name(producer) : tensor_name(id),
                      node_name(static_cast<int>(n)),
                      is_made ? dot_text_of(label(graph, id)) : std::string("\"\""));
    }
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<halftone::TensorId>(i);
    if (uses.producer[id] != halftone::no_node || uses.count[id] == 0) continue;
    text += fmt::format("    {} [shape=ellipse,label={}];\n", tensor_name(id),
                        dot_text_of(label(graph, id)));
  }
  text += "  }\n";
}

}  // namespace

std::string dot_text(const IrState& ir) {
  std::string text = "digraph ir {\n";
  for (std::size_t i = 0; i < ir.graphs.size(); ++i) add_graph(text, *ir.graphs[i], i);
  return text + "}\n";
}

}  // namespace popxl::detail
