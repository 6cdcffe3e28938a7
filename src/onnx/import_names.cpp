#include "onnx/importer.hpp"

#include <algorithm>

#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"

namespace halftone::onnx {

using detail::quoted;

/// "Conv 'conv1'"; nodes without a name are known by their output.
std::string describe(const NodeMessage& node) {
  std::string text = detail::escaped(node.op.substr(0, 80));
  if (!node.name.empty()) return text + " " + quoted(node.name);
  for (const std::string_view output : node.outputs) {
    if (!output.empty()) return text + " of " + quoted(output);
  }
  return text;
}

/// The same without the operator.
std::string describe_name(const NodeMessage& node) {
  if (!node.name.empty()) return quoted(node.name);
  for (const std::string_view output : node.outputs) {
    if (!output.empty()) return "of " + quoted(output);
  }
  return "a node without a name";
}

std::string describe(const Graph& graph, const Node& node) {
  std::string text = detail::node_text(*node.op, graph.name(node));
  if (!node.name.empty()) return text;
  for (const TensorId id : node.outputs) {
    if (id != no_tensor && !graph.name(id).empty()) return text + " of " + quoted(graph.name(id));
  }
  return text;
}

TensorId Importer::find(Scope& scope, std::string_view name, bool& found) {
  if (const auto known = scope.ids.find(name); known != scope.ids.end()) {
    found = true;
    return known->second;
  }
  if (scope.outer == nullptr) {
    found = false;
    return no_tensor;
  }
  const TensorId outer = find(*scope.outer, name, found);
  if (!found || outer == no_tensor) return no_tensor;
  const TensorRecord& record = scope.outer->target.graph.tensor(outer);
  Graph& graph = scope.target.graph;
  TensorId inner = no_tensor;
  if (record.role == Role::constant) {
    // Inference sees the values, and the node has one input less.
    inner = graph.add_constant(record.info, record.data, name);
  } else if (const auto known = scope.captured.find(outer); known != scope.captured.end()) {
    inner = known->second;
  } else {
    inner = graph.add_tensor({.info = record.info, .role = Role::input}, name);
    scope.captured.emplace(outer, inner);
    if (std::find(scope.captures->begin(), scope.captures->end(), outer) == scope.captures->end()) {
      scope.captures->push_back(outer);
    }
  }
  name_characters_ += name.size();
  scope.ids.emplace(name, inner);
  return inner;
}

Vector<TensorId> Importer::resolve_inputs(Scope& scope, const NodeMessage& node) {
  Vector<TensorId> ids;
  for (const std::string_view name : node.inputs) {
    if (name.empty()) {
      ids.push_back(no_tensor);
      continue;
    }
    bool found = false;
    TensorId id = find(scope, name, found);
    if (!found) {
      // Known as undefined from now on: one complaint is enough.
      id = scope.target.graph.add_tensor({}, {});
      if (scope.complained.insert(name).second) {
        const bool later = scope.producers.contains(name);
        defect(describe(node),
               later ? "an input is computed by a later node: the nodes are not in topological "
                       "order, or in a cycle"
                     : "an input is not defined",
               name);
      }
      if (!scope.producers.contains(name)) scope.ids.emplace(name, id);
    }
    ids.push_back(id);
  }
  while (!ids.empty() && ids.back() == no_tensor) ids.pop_back();
  return ids;
}

std::string Importer::public_name(const Scope& scope, std::string_view name) {
  if (const auto known = scope.public_names.find(name); known != scope.public_names.end()) {
    return known->second;
  }
  if (scope.bindings == nullptr || scope.outer != nullptr) return std::string(name);
  std::string whole = scope.prefix + std::string(name);
  if (whole.size() > longest_inlined_name) whole.resize(longest_inlined_name);
  while (scope.target.reserved.contains(whole)) whole += '_';
  return whole;
}

void Importer::bind(Scope& scope, const NodeMessage& node, std::string_view name, TensorId id) {
  Graph& graph = scope.target.graph;
  const std::string whole = public_name(scope, name);
  const TensorRecord& record = graph.tensor(id);
  if (graph.name(id) != whole) {
    if (record.role != Role::value || !graph.name(id).empty()) {
      // The tensor has a name of its own: this one needs another tensor.
      if (const Descriptor* identity = operators_.newest("Identity")) {
        const TensorInfo infos[] = {record.info};
        const std::size_t n =
            graph.add_node(*identity, identity->defaults(), {id}, infos, node.name);
        id = graph.nodes[n].outputs[0];
        graph.rename(id, whole);
      }
    } else {
      graph.rename(id, whole);
    }
  }
  if (const auto declared = scope.declared.find(name); declared != scope.declared.end()) {
    TensorInfo& info = graph.tensor(id).info;
    TensorInfo both = declared->second;
    std::int64_t expected = 0, found = 0;
    if (detail::refine(both, info, expected, found)) {
      info = both;
    } else {
      contradiction(is_output(scope.target, whole), describe(node), whole, declared->second, info);
    }
  }
  if (!scope.ids.emplace(name, id).second && !scope.complained.contains(name)) {
    defect(describe(node), "a tensor is defined twice", name);
  }
}

void Importer::leave_undefined(Scope& scope, const NodeMessage& node) {
  for (const std::string_view output : node.outputs) {
    if (!output.empty()) bind(scope, node, output, scope.target.graph.add_tensor({}, {}));
  }
}

std::string Importer::public_node_name(const Scope& scope, std::string_view name) const {
  std::string whole = scope.prefix + std::string(name);
  if (!scope.prefix.empty() && whole.size() > longest_inlined_name) {
    whole.resize(longest_inlined_name);
  }
  return name.empty() ? std::string() : whole;
}

}  // namespace halftone::onnx
