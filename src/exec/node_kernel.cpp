#include "node_kernel.hpp"

#include <string>

#include "base/describe.hpp"

namespace halftone {

std::vector<ElementType> type_variables(const Descriptor& op, std::span<const TensorInfo> inputs,
                                        std::span<const TensorInfo> outputs) {
  std::vector<ElementType> types(op.signature.type_variables(), ElementType::undefined);
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

NodeKernel::NodeKernel(const Graph& graph, const Node& node, std::span<const TensorInfo> inputs,
                       std::span<const TensorInfo> outputs) {
  const std::vector<ElementType> types = type_variables(*node.op, inputs, outputs);
  kernel_ = find_kernel(*node.op, types);
  if (kernel_.run == nullptr && kernel_.block == nullptr) {
    std::string text;
    for (const ElementType type : types) {
      text += text.empty() ? "" : ", ";
      text += name(type);
    }
    fail(ErrorKind::unsupported, {.what = "there is no kernel for these element types",
                                  .node = detail::node_text(*node.op, graph.name(node)),
                                  .found = text});
  }
  op_.reset(new std::max_align_t[kernel_.op_size / sizeof(std::max_align_t) + 1]);
  kernel_.unpack(node.attributes, op_.get());
}

}  // namespace halftone
