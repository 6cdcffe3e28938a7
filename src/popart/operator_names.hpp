#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <popart/operatoridentifier.hpp>

#include "popart/ir_graph.hpp"

// What PopART calls the library's operators.
namespace popart::detail {

/// A node's attributes: values as JSON, and the graphs among them.
struct NodeAttributes {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::int32_t> graphs;
  /// Empty if there is none of that name.
  std::string operator[](std::string_view name) const;
};
NodeAttributes attributesOf(const halftone::Node& node);

/// What PopART calls a node, in the version of the model's operator sets.
OperatorIdentifier identifierOf(const halftone::Graph& graph, const halftone::Node& node,
                                const NodeAttributes& attributes, const IrSource& source);
/// The same of an operator of the model.
OperatorIdentifier identifierOf(const ModelNode& node, const IrSource& source);

/// Whether the library reads an operator of the model as others, which mean the same.
bool isReadAsOthers(const ModelNode& node);

/// The index that an operator of PopART's has for an input of the library's node: gradient operators take the
/// same tensors in another order.
InIndex inputIndex(const std::string& type, std::size_t input);

/// The in-place form of an operator that writes over its input of that number; empty if PopART has none.
std::string inPlaceType(const std::string& type, InIndex over, std::size_t inputs);

}  // namespace popart::detail
