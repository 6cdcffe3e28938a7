#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <halftone/graph/graph.hpp>

#include "kernel_table.hpp"

namespace halftone {

/// One element type for each type variable of an operator, from the infos of a node's tensors.
std::vector<ElementType> type_variables(const Descriptor& op, std::span<const TensorInfo> inputs,
                                        std::span<const TensorInfo> outputs);

/// The kernel of a node and its operator's struct.
class NodeKernel {
 public:
  /// Throws UnsupportedError if there is no kernel for these element types.
  NodeKernel(const Graph& graph, const Node& node, std::span<const TensorInfo> inputs,
             std::span<const TensorInfo> outputs);
  const Kernel& functions() const { return kernel_; }
  const void* op() const { return op_.get(); }

 private:
  Kernel kernel_;
  std::unique_ptr<std::max_align_t[]> op_;
};

}  // namespace halftone
