#pragma once

#include <span>

#include <halftone/base/vector.hpp>
#include <halftone/graph/descriptor.hpp>

namespace halftone {

/// One element type for each type variable of an operator, from the infos of a node's tensors.
inline Vector<ElementType> type_variables(const Descriptor& op, std::span<const TensorInfo> inputs,
                                          std::span<const TensorInfo> outputs) {
  Vector<ElementType> types(op.signature.type_variables(), ElementType::undefined);
  auto take = [&](const Slot& slot, const TensorInfo& info) {
    ElementType& type = types[static_cast<std::size_t>(slot.type_variable)];
    if (type == ElementType::undefined) type = info.type;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) take(op.signature.input_slot(i), inputs[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i) take(op.signature.output_slot(i), outputs[i]);
  // A variable of absent tensors alone: any type that the operator takes will do.
  for (std::size_t v = 0; v < types.size(); ++v) {
    for (int t = 1; types[v] == ElementType::undefined && t < detail::element_type_count; ++t) {
      const auto type = static_cast<ElementType>(t);
      if (op.allows(static_cast<int>(v), type)) types[v] = type;
    }
  }
  return types;
}

}  // namespace halftone
