#pragma once

#include <functional>
#include <string>
#include <vector>

#include <halftone/graph/attribute.hpp>
#include <halftone/graph/descriptor.hpp>

#include "onnx/proto.hpp"

namespace halftone::onnx {

/// Something wrong with one attribute of a node.
struct AttributeDefect {
  std::string what, expected, found;
};

/// What is called for a graph attribute: imports it and gives its index.
using GraphReader = std::function<std::int32_t(const AttributeMessage&)>;

/// The packed attributes of a node. Attributes that are taken are recorded in `taken` (one flag
/// each); what is wrong goes to `defects`.
Vector<Word> read_attributes(const Descriptor& op, std::span<const AttributeMessage> attributes,
                             const GraphReader& read_graph, std::vector<bool>& taken,
                             std::vector<AttributeDefect>& defects);

}  // namespace halftone::onnx
