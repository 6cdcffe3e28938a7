#pragma once

#include <memory>
#include <span>
#include <vector>

#include <halftone/base/array.hpp>
#include <halftone/graph/graph.hpp>

#include "machine.hpp"
#include "node_kernel.hpp"

namespace halftone {

/// Throws an error of a kernel again, with the node that it is about.
[[noreturn]] void throw_at(const Graph& graph, const Node& node, const Error& error);

/// Throws MemoryError if a tensor does not fit into memory, see `fits_memory`.
void check_fits(const Graph& graph, const Node* node, const TensorInfo& info);

/// What a node with constant attributes (Slot::attribute), such as trees, keeps from run to run: as
/// long as its inputs have the same shapes nothing is inferred or packed again.
struct KeptNode {
  Vector<TensorInfo> inputs{}, outputs{};
  std::unique_ptr<NodeKernel> kernel{};
  Storage packed{};
};

/// Computes one node from complete inputs: infers, allocates, runs.
std::vector<AnyArray> run_node(const Graph& graph, const Node& node,
                               std::span<const AnyView> inputs, const kernel::Executor& executor,
                               KeptNode* kept = nullptr, const Reach& reach = {},
                               Precision precision = Precision::float32);

/// The infos of a node's outputs, found from complete inputs; throws what is wrong with them.
Vector<TensorInfo> infos_of_outputs(const Graph& graph, const Node& node,
                                    std::span<const AnyView> inputs);

}  // namespace halftone
