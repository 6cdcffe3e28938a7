#pragma once

#include <memory>
#include <span>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/graph/graph.hpp>
#include <halftone/transform/infer.hpp>

#include "kernel_table.hpp"
#include "transform/infer_from_inputs.hpp"

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

/// Throws an error of a kernel again, with the node that it is about.
[[noreturn]] void throw_at(const Graph& graph, const Node& node, const Error& error);

/// Throws MemoryError if a tensor does not fit into memory, see `fits_memory`.
void check_fits(const Graph& graph, const Node* node, const TensorInfo& info);

/// What a node with constant attributes (Slot::attribute), such as trees, keeps from run to run: as
/// long as its inputs have the same shapes nothing is inferred or packed again.
struct KeptNode {
  std::vector<TensorInfo> inputs{}, outputs{};
  std::unique_ptr<NodeKernel> kernel{};
  Storage packed{};
};

/// Computes one node from complete inputs: infers, allocates, runs.
std::vector<AnyArray> run_node(const Graph& graph, const Node& node,
                               std::span<const AnyView> inputs, const kernel::Executor& executor,
                               KeptNode* kept = nullptr);

/// The infos of a node's outputs, found from complete inputs; throws what is wrong with them.
std::vector<TensorInfo> infos_of_outputs(const Graph& graph, const Node& node,
                                         std::span<const AnyView> inputs);

/// `Evaluate` for the pass `infer`: computes a node of constants and makes its outputs constants.
bool evaluate_constant(void* executor, Graph& graph, std::size_t node);

/// The bytes of a constant where every kernel can read them (elements aligned); copies if it must.
const void* aligned_data(TensorRecord& tensor);

}  // namespace halftone
