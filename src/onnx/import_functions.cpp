#include "onnx/importer.hpp"

#include <algorithm>

#include "base/describe.hpp"

namespace halftone::onnx {

using detail::quoted;

void Importer::call_function(Scope& scope, const NodeMessage& node, const FunctionMessage& function,
                             const Vector<TensorId>& inputs) {
  const std::string described = describe(node);
  auto leave = [&](std::string_view what, std::string_view expected, std::string_view found) {
    defect(described, what, {}, expected, found);
    leave_undefined(scope, node);
  };
  if (std::find(calls_.begin(), calls_.end(), &function) != calls_.end()) {
    return leave("a function calls itself", {}, {});
  }
  if (inputs.size() > function.inputs.size()) {
    return leave("too many inputs", std::to_string(function.inputs.size()),
                 std::to_string(inputs.size()));
  }
  if (node.outputs.size() > function.outputs.size()) {
    return leave("too many outputs", std::to_string(function.outputs.size()),
                 std::to_string(node.outputs.size()));
  }
  if (depth_ >= deepest_nesting) {
    fail(ErrorKind::unsupported, {.what = "graphs and functions are nested too deeply",
                                  .expected = "at most " + std::to_string(deepest_nesting)});
  }
  inlined_nodes_ += function.nodes.size() + 1;
  if (inlined_nodes_ > most_inlined_nodes_) {
    fail(ErrorKind::unsupported, {.what = "the model's functions become too many nodes",
                                  .node = described,
                                  .expected = "at most " + std::to_string(most_inlined_nodes_)});
  }

  Bindings bindings;
  for (const AttributeMessage& a : node.attributes) {
    const bool has_default =
        std::any_of(function.attribute_defaults.begin(), function.attribute_defaults.end(),
                    [&](const AttributeMessage& d) { return d.name == a.name; });
    const bool is_named = std::find(function.attributes.begin(), function.attributes.end(),
                                    a.name) != function.attributes.end();
    if (has_default || is_named) {
      bindings.push_back(a);
    } else if (!is_ignored(a.name, described)) {
      defect(described, "a node has an unknown attribute", {}, {}, quoted(a.name));
    }
  }
  for (const AttributeMessage& d : function.attribute_defaults) {
    if (node.find(d.name) == nullptr) bindings.push_back(d);
  }

  Scope body{.target = scope.target, .opsets = &function.opsets, .bindings = &bindings};
  body.prefix = scope.prefix + std::string(node.name.empty() ? function.name : node.name) + "/";
  if (body.prefix.size() > longest_inlined_name / 2) body.prefix = scope.prefix;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    if (!body.ids.emplace(function.inputs[i], i < inputs.size() ? inputs[i] : no_tensor).second) {
      defect(described, "two inputs of a function have one name", function.inputs[i]);
    }
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    body.public_names.emplace(function.outputs[i], public_name(scope, node.outputs[i]));
  }

  calls_.push_back(&function);
  ++depth_;
  for (const Message& m : function.nodes) read_node_into(body, read_node(m));
  --depth_;
  calls_.pop_back();

  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const auto known = body.ids.find(function.outputs[i]);
    TensorId id = known == body.ids.end() ? no_tensor : known->second;
    if (id == no_tensor) {
      defect(described, "nothing computes an output of a function", function.outputs[i]);
      id = scope.target.graph.add_tensor({}, {});
    }
    bind(scope, node, node.outputs[i], id);
  }
}

}  // namespace halftone::onnx
