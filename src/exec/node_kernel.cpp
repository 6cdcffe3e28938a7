#include "node_kernel.hpp"

#include <string>

#include "base/describe.hpp"

namespace halftone {

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
