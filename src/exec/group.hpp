#pragma once

#include <bit>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <halftone/kernel/broadcast.hpp>

#include "node_kernel.hpp"

namespace halftone {

/// Element-wise nodes of one output shape, run block by block: each block of the inputs passes
/// through all of them while it is in the first cache.
class Group {
 public:
  /// A node alone.
  Group(const Node& node, const NodeKernel& kernel, std::span<const TensorInfo> inputs,
        const TensorInfo& output);
  /// The body of a `Fused` node; its tensors have known infos.
  explicit Group(const Graph& body);

  /// For KernelCall::op pointing at a Group: arguments are the inputs, then the outputs.
  static void run(const KernelCall& call);

 private:
  /// Where a block comes from or goes to: an index into one table of addresses, which holds the
  /// inputs, the outputs, the blocks between members, and blocks for inputs that are broadcast.
  using Place = std::uint16_t;
  static constexpr std::size_t max_places = 192;
  struct Member {
    void (*block)(const void* op, const void* const* inputs, std::uint32_t uniform, void* output,
                  std::int64_t n);
    const void* op;
    std::uint32_t uniform = 0;                       ///< for block
    std::uint16_t first_input = 0, input_count = 0;  ///< in operands_
    Place output = 0;
    /// Members whose values stay in registers on their way to the next one: the first has their
    /// number, each its link and the bits of the inputs that come that way.
    std::uint16_t chain_length = 1;
    bool is_stored = true;
    std::uint32_t chained = 0;
    kernel::ChainLink link = nullptr;
  };
  /// How an input of the group moves from block to block.
  struct Input {
    std::uint8_t element_size = 0;
    bool uniform = false;
    std::int16_t broadcast = -1;   ///< in broadcast_; -1: dense or uniform
    bool repeats_element = false;  ///< within a span, not a vector
  };

  struct Draft;

  void add_input(const TensorInfo& info);
  void find_chain(Draft& draft, std::size_t n) const;
  void add_members(Draft& draft);
  Member& add_member(const Node& node, const NodeKernel& kernel, std::span<const TensorInfo> inputs,
                     std::span<const Place> places, const TensorInfo& output, Place to);
  bool is_uniform(Place place) const {
    return place < inputs_.size() ? inputs_[place].uniform
                                  : place > max_places - 1 - absent_.size();
  }
  /// Of the first member of a chain: where the value that goes through comes from.
  Place value_of(const Member& head) const {
    return operands_[head.first_input + static_cast<std::size_t>(std::countr_zero(head.chained))];
  }
  /// Whether there is one member, or one chain of all.
  bool is_one_run() const { return members_[0].chain_length == members_.size(); }
  bool is_broadcast(Place place) const {
    return place < inputs_.size() && inputs_[place].broadcast >= 0;
  }
  bool is_slot(Place place) const {
    const std::size_t first = inputs_.size() + output_size_.size();
    return place >= first && place < first + slots_;
  }
  void run_chain(const Member* members, std::byte* const* places, std::int64_t n) const;
  void finish();
  void find_span();
  void run_member(const KernelCall& call) const;
  void run_blocks(const KernelCall& call, std::int64_t first, std::int64_t last) const;

  Dims shape_;
  std::int64_t total_ = 0, block_ = 0;
  /// Of a single chain: outputs for which every input that is broadcast is one element, or one
  /// vector; they run at once. 0: blocks are filled instead.
  std::int64_t span_ = 0;
  bool is_direct_ = false;  ///< one member reads and writes the arguments as they are
  std::vector<Input> inputs_;
  std::vector<kernel::BroadcastInput> broadcast_;
  std::vector<std::uint8_t> output_size_;
  std::size_t largest_ = 1;  ///< bytes of an element
  std::size_t slots_ = 0, slot_bytes_ = 0;
  std::vector<Member> members_;
  std::vector<Place> operands_;
  std::deque<NodeKernel> kernels_;
  kernel::ChainFunctions chain_{};
  std::vector<std::uint64_t> absent_;  ///< elements that stand for absent inputs
};

}  // namespace halftone
