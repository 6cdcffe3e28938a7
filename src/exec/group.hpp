#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/kernel/broadcast.hpp>

#include "node.hpp"

namespace halftone {

/// Element-wise nodes of one output shape, run block by block: each block of the inputs passes
/// through all of them while it is in the first cache.
class Group {
 public:
  /// A node alone.
  Group(const Graph& graph, const Node& node, const NodeKernel& kernel,
        std::span<const TensorInfo> inputs, const TensorInfo& output);
  /// The body of a `Fused` node; its tensors have known infos.
  explicit Group(const Graph& body);

  /// For KernelCall::op pointing at a Group: arguments are the inputs, then the outputs.
  static void run(const KernelCall& call);

 private:
  /// Where a block comes from or goes to.
  struct Place {
    enum class Kind : std::uint8_t { input, output, slot, fill } kind = Kind::slot;
    std::uint16_t index = 0;
  };
  struct Member {
    void (*block)(const void* op, const void* const* inputs, void* output, std::int64_t n);
    const void* op;
    std::uint32_t first_input, input_count;  ///< in places_
    Place output;
  };

  void set_shape(const Dims& shape, std::span<const TensorInfo> inputs);
  Place fill(const NodeKernel& kernel, std::size_t input, ElementType type);
  void run_blocks(const KernelCall& call, std::int64_t first, std::int64_t last) const;
  template <bool Dense>
  void run_members(const KernelCall& call, std::byte* scratch, std::int64_t first, std::int64_t n,
                   bool is_first) const;

  Dims shape_;
  std::int64_t total_ = 0, block_ = 0;
  bool dense_ = true;                              ///< every input has the shape of the outputs
  std::vector<kernel::BroadcastInput> broadcast_;  ///< unless dense
  std::vector<std::uint8_t> input_size_, output_size_;
  std::vector<Place> places_;
  std::vector<Member> members_;
  std::size_t slots_ = 0, slot_bytes_ = 0;
  std::deque<NodeKernel> kernels_;
  std::deque<std::vector<std::byte>> fills_;  ///< elements that stand for absent inputs
};

}  // namespace halftone
