#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/graph/type_variables.hpp>

#include "kernel_table.hpp"

namespace halftone {

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
