#include "group.hpp"

#include <algorithm>
#include <cstring>

namespace halftone {
namespace {

/// Memory for the blocks between operators, on the stack: half of a first cache.
constexpr std::size_t scratch_bytes = 64 * 1024;
constexpr std::size_t wanted_scratch = 24 * 1024;
constexpr std::int64_t max_block = 1024, min_block = 128;
/// Elements that one task does, whatever the number of threads.
constexpr std::int64_t task_elements = 32 * 1024;

}  // namespace

void Group::set_shape(const Dims& shape, std::span<const TensorInfo> inputs) {
  shape_ = shape;
  total_ = product(shape);
  for (const TensorInfo& in : inputs) {
    input_size_.push_back(static_cast<std::uint8_t>(size_in_bytes(in.type)));
    dense_ = dense_ && (!in.is_known() || in.shape == shape);
  }
  if (!dense_) {
    for (const TensorInfo& in : inputs) {
      broadcast_.emplace_back(shape_.items, shape_.size(), in.shape.items, in.rank(),
                              static_cast<std::size_t>(size_in_bytes(in.type)));
    }
  }
  // Broadcast inputs need a block of their own beside the values between the members.
  slots_ += dense_ ? 0 : inputs.size();
  std::size_t largest = 1;
  for (const std::uint8_t size : input_size_) largest = std::max<std::size_t>(largest, size);
  for (const std::uint8_t size : output_size_) largest = std::max<std::size_t>(largest, size);
  const auto fits =
      static_cast<std::int64_t>(wanted_scratch / (std::max<std::size_t>(slots_, 1) * largest));
  block_ = std::clamp(fits / 64 * 64, min_block, max_block);
  slot_bytes_ = static_cast<std::size_t>(block_) * largest;
}

Group::Group(const Graph&, const Node& node, const NodeKernel& kernel,
             std::span<const TensorInfo> inputs, const TensorInfo& output) {
  output_size_.push_back(static_cast<std::uint8_t>(size_in_bytes(output.type)));
  std::vector<TensorInfo> given(inputs.begin(), inputs.end());
  set_shape(output.shape, given);
  Member member{.block = kernel.functions().block,
                .op = kernel.op(),
                .first_input = 0,
                .input_count = 0,
                .output = {Place::Kind::output, 0}};
  const std::size_t count = std::max(inputs.size(), node.op->signature.inputs());
  for (std::size_t i = 0; i < count; ++i) {
    if (i < inputs.size() && inputs[i].is_known()) {
      places_.push_back({Place::Kind::input, static_cast<std::uint16_t>(i)});
    } else {
      places_.push_back(fill(kernel, i, output.type));
    }
    ++member.input_count;
  }
  members_.push_back(member);
}

Group::Group(const Graph& body) {
  std::vector<TensorInfo> inputs;
  std::vector<Place> place(body.tensors.size());
  std::vector<int> last(body.tensors.size(), -1);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    inputs.push_back(body.info(body.inputs[i]));
    place[static_cast<std::size_t>(body.inputs[i])] = {Place::Kind::input,
                                                       static_cast<std::uint16_t>(i)};
  }
  for (std::size_t n = 0; n < body.nodes.size(); ++n) {
    for (const TensorId id : body.nodes[n].inputs) {
      if (id != no_tensor) last[static_cast<std::size_t>(id)] = static_cast<int>(n);
    }
  }
  std::vector<bool> is_output(body.tensors.size());
  for (std::size_t i = 0; i < body.outputs.size(); ++i) {
    const auto id = static_cast<std::size_t>(body.outputs[i]);
    is_output[id] = true;
    place[id] = {Place::Kind::output, static_cast<std::uint16_t>(i)};
    output_size_.push_back(static_cast<std::uint8_t>(size_in_bytes(body.tensors[id].info.type)));
  }
  std::vector<std::uint16_t> free_slots;
  for (std::size_t n = 0; n < body.nodes.size(); ++n) {
    const Node& node = body.nodes[n];
    std::vector<TensorInfo> in;
    for (const TensorId id : node.inputs)
      in.push_back(id == no_tensor ? TensorInfo{} : body.info(id));
    const TensorInfo& out = body.info(node.outputs[0]);
    const NodeKernel& kernel = kernels_.emplace_back(body, node, in, std::span(&out, 1));
    Member member{.block = kernel.functions().block,
                  .op = kernel.op(),
                  .first_input = static_cast<std::uint32_t>(places_.size()),
                  .input_count = 0,
                  .output = {}};
    const std::size_t count = std::max(in.size(), node.op->signature.inputs());
    for (std::size_t i = 0; i < count; ++i) {
      if (i < in.size() && in[i].is_known()) {
        places_.push_back(place[static_cast<std::size_t>(node.inputs[i])]);
      } else {
        places_.push_back(fill(kernel, i, out.type));
      }
      ++member.input_count;
    }
    // Element-wise kernels may write where they read: a slot that ends here can be the output.
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      if (id == no_tensor || last[static_cast<std::size_t>(id)] != static_cast<int>(n)) continue;
      last[static_cast<std::size_t>(id)] = -1;
      const Place p = place[static_cast<std::size_t>(id)];
      const bool same_size = size_in_bytes(body.info(id).type) == size_in_bytes(out.type);
      if (p.kind == Place::Kind::slot && same_size) free_slots.push_back(p.index);
    }
    const auto y = static_cast<std::size_t>(node.outputs[0]);
    if (!is_output[y]) {
      if (free_slots.empty()) free_slots.push_back(static_cast<std::uint16_t>(slots_++));
      place[y] = {Place::Kind::slot, free_slots.back()};
      free_slots.pop_back();
    }
    member.output = place[y];
    members_.push_back(member);
  }
  const std::size_t own_slots = slots_;
  set_shape(body.info(body.outputs[0]).shape, inputs);
  // Blocks of broadcast inputs come first, the members' slots behind them.
  if (slots_ != own_slots) {
    const auto shift = static_cast<std::uint16_t>(slots_ - own_slots);
    for (Place& p : places_) p.index += p.kind == Place::Kind::slot ? shift : 0;
    for (Member& m : members_) m.output.index += m.output.kind == Place::Kind::slot ? shift : 0;
  }
}

Group::Place Group::fill(const NodeKernel& kernel, std::size_t input, ElementType type) {
  alignas(8) std::byte element[8]{};
  kernel.functions().absent(kernel.op(), input, element);
  const auto size = static_cast<std::size_t>(size_in_bytes(type));
  std::vector<std::byte>& bytes = fills_.emplace_back(static_cast<std::size_t>(max_block) * size);
  for (std::size_t at = 0; at < bytes.size(); at += size) std::memcpy(&bytes[at], element, size);
  return {Place::Kind::fill, static_cast<std::uint16_t>(fills_.size() - 1)};
}

template <bool Dense>
void Group::run_members(const KernelCall& call, std::byte* scratch, std::int64_t first,
                        std::int64_t n, [[maybe_unused]] bool is_first) const {
  const void* inputs[64];
  for (std::uint32_t i = 0; i < call.inputs; ++i) {
    const auto* data = static_cast<const std::byte*>(call.arguments[i].data);
    if constexpr (Dense) {
      inputs[i] = data + first * input_size_[i];
    } else if (data != nullptr) {
      std::byte* filled = scratch + i * slot_bytes_;
      inputs[i] = broadcast_[i].is_uniform() && !is_first
                      ? filled
                      : broadcast_[i].fetch(data, first, n, filled);
    }
  }
  const void* operands[16];
  for (const Member& m : members_) {
    const Place* places = places_.data() + m.first_input;
    auto at = [&](Place p) -> std::byte* {
      switch (p.kind) {
        case Place::Kind::slot:
          return scratch + p.index * slot_bytes_;
        case Place::Kind::output:
          return static_cast<std::byte*>(call.arguments[call.inputs + p.index].data) +
                 first * output_size_[p.index];
        case Place::Kind::fill:
          return const_cast<std::byte*>(fills_[p.index].data());
        case Place::Kind::input:
          break;
      }
      return static_cast<std::byte*>(const_cast<void*>(inputs[p.index]));
    };
    for (std::uint32_t i = 0; i < m.input_count; ++i) operands[i] = at(places[i]);
    m.block(m.op, operands, at(m.output), n);
  }
}

void Group::run_blocks(const KernelCall& call, std::int64_t first, std::int64_t last) const {
  alignas(64) std::byte scratch[scratch_bytes];
  if (dense_) {
    // Without values between members there is nothing to keep in the cache.
    const std::int64_t step =
        slots_ == 0 && fills_.empty() && members_.size() == 1 ? last - first : block_;
    for (; first < last; first += step) {
      run_members<true>(call, scratch, first, std::min(step, last - first), false);
    }
  } else {
    // A uniform input's block is filled once, with the first and longest block.
    for (bool is_first = true; first < last; first += block_, is_first = false) {
      run_members<false>(call, scratch, first, std::min(block_, last - first), is_first);
    }
  }
}

void Group::run(const KernelCall& call) {
  const Group& group = *static_cast<const Group*>(call.op);
  if (group.total_ <= task_elements) {
    if (group.total_ > 0) group.run_blocks(call, 0, group.total_);
    return;
  }
  const std::int64_t tasks = (group.total_ + task_elements - 1) / task_elements;
  kernel::parallel_for(*call.executor, tasks, [&](std::int64_t i) {
    group.run_blocks(call, i * task_elements, std::min((i + 1) * task_elements, group.total_));
  });
}

}  // namespace halftone
