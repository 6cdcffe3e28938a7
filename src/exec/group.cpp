#include "group.hpp"

#include <algorithm>

#include <halftone/base/error.hpp>

namespace halftone {
namespace {

/// Memory for the blocks between operators, on the stack: half of a first cache.
constexpr std::size_t scratch_bytes = 64 * 1024;
constexpr std::size_t wanted_scratch = 24 * 1024;
constexpr std::int64_t max_block = 1024, min_block = 128;
/// Elements that one task does, whatever the number of threads.
constexpr std::int64_t task_elements = 32 * 1024;

}  // namespace

void Group::add_input(const TensorInfo& info) {
  Input& input = inputs_.emplace_back();
  if (!info.is_known()) return;
  const auto size = static_cast<std::size_t>(size_in_bytes(info.type));
  input.element_size = static_cast<std::uint8_t>(size);
  largest_ = std::max(largest_, size);
  if (info.shape == shape_) return;
  const kernel::BroadcastInput broadcast(shape_.items, shape_.size(), info.shape.items, info.rank(),
                                         size);
  input.uniform = broadcast.is_uniform();
  if (input.uniform || broadcast.is_dense()) return;
  input.broadcast = static_cast<std::int16_t>(broadcast_.size());
  broadcast_.push_back(broadcast);
}

/// `places` of the node's inputs, in the final table; what stands for absent ones lies behind it.
void Group::add_member(const Node& node, const NodeKernel& kernel,
                       std::span<const TensorInfo> inputs, std::span<const Place> places,
                       const TensorInfo& output, Place to) {
  Member member{.block = kernel.functions().block,
                .op = kernel.op(),
                .first_input = static_cast<std::uint16_t>(operands_.size()),
                .output = to};
  const std::size_t count = std::max(inputs.size(), node.op->signature.inputs());
  for (std::size_t i = 0; i < count; ++i) {
    if (i < inputs.size() && inputs[i].is_known()) {
      operands_.push_back(places[i]);
      if (places[i] < inputs_.size() && inputs_[places[i]].uniform) member.uniform |= 1u << i;
    } else {
      kernel.functions().absent(kernel.op(), i, &absent_.emplace_back());
      operands_.push_back(static_cast<Place>(max_places - absent_.size()));
      member.uniform |= 1u << i;
    }
    ++member.input_count;
  }
  largest_ = std::max(largest_, static_cast<std::size_t>(size_in_bytes(output.type)));
  members_.push_back(member);
}

void Group::finish() {
  total_ = product(shape_);
  const std::size_t blocks = slots_ + broadcast_.size();
  if (inputs_.size() + output_size_.size() + blocks + absent_.size() > max_places) {
    fail(ErrorKind::internal, {.what = "a group of element-wise operators is too large"});
  }
  const auto fits =
      static_cast<std::int64_t>(wanted_scratch / (std::max<std::size_t>(blocks, 1) * largest_));
  block_ = std::clamp(fits / 64 * 64, min_block, max_block);
  slot_bytes_ = static_cast<std::size_t>(block_) * largest_;
}

Group::Group(const Node& node, const NodeKernel& kernel, std::span<const TensorInfo> inputs,
             const TensorInfo& output)
    : shape_(output.shape) {
  std::vector<Place> places;
  for (const TensorInfo& info : inputs) {
    places.push_back(static_cast<Place>(places.size()));
    add_input(info);
  }
  output_size_.push_back(static_cast<std::uint8_t>(size_in_bytes(output.type)));
  add_member(node, kernel, inputs, places, output, static_cast<Place>(inputs.size()));
  finish();
}

Group::Group(const Graph& body) : shape_(body.info(body.outputs[0]).shape) {
  std::vector<Place> place(body.tensors.size());
  std::vector<int> last(body.tensors.size(), -1);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    add_input(body.info(body.inputs[i]));
    place[static_cast<std::size_t>(body.inputs[i])] = static_cast<Place>(i);
  }
  for (std::size_t n = 0; n < body.nodes.size(); ++n) {
    for (const TensorId id : body.nodes[n].inputs) {
      if (id != no_tensor) last[static_cast<std::size_t>(id)] = static_cast<int>(n);
    }
  }
  std::vector<bool> is_output(body.tensors.size());
  for (const TensorId id : body.outputs) {
    is_output[static_cast<std::size_t>(id)] = true;
    place[static_cast<std::size_t>(id)] = static_cast<Place>(inputs_.size() + output_size_.size());
    output_size_.push_back(static_cast<std::uint8_t>(size_in_bytes(body.info(id).type)));
  }
  const std::size_t first_slot = inputs_.size() + output_size_.size();
  std::vector<Place> free_slots;
  for (std::size_t n = 0; n < body.nodes.size(); ++n) {
    const Node& node = body.nodes[n];
    std::vector<TensorInfo> in;
    std::vector<Place> places;
    for (const TensorId id : node.inputs) {
      in.push_back(id == no_tensor ? TensorInfo{} : body.info(id));
      places.push_back(id == no_tensor ? Place{0} : place[static_cast<std::size_t>(id)]);
    }
    const TensorInfo& out = body.info(node.outputs[0]);
    const NodeKernel& kernel = kernels_.emplace_back(body, node, in, std::span(&out, 1));
    // Element-wise kernels may write where they read: a slot that ends here can be the output.
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      if (id == no_tensor || last[static_cast<std::size_t>(id)] != static_cast<int>(n)) continue;
      last[static_cast<std::size_t>(id)] = -1;
      const bool same_size = size_in_bytes(body.info(id).type) == size_in_bytes(out.type);
      if (places[i] >= first_slot && same_size) free_slots.push_back(places[i]);
    }
    const auto y = static_cast<std::size_t>(node.outputs[0]);
    if (!is_output[y]) {
      if (free_slots.empty()) free_slots.push_back(static_cast<Place>(first_slot + slots_++));
      place[y] = free_slots.back();
      free_slots.pop_back();
    }
    add_member(node, kernel, in, places, out, place[y]);
  }
  finish();
}

void Group::run_blocks(const KernelCall& call, std::int64_t first, std::int64_t last) const {
  alignas(64) std::byte scratch[scratch_bytes];
  std::byte* places[max_places];
  std::byte* block = scratch;
  const std::size_t outputs = inputs_.size(), slots = outputs + output_size_.size();
  for (std::size_t i = 0; i < slots_; ++i, block += slot_bytes_) places[slots + i] = block;
  for (std::size_t i = 0; i < absent_.size(); ++i) {
    places[max_places - 1 - i] =
        reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(&absent_[i]));
  }
  for (std::size_t i = 0; i < slots; ++i) {
    const bool moves = i >= outputs || !inputs_[i].uniform;
    const std::size_t size = i < outputs ? inputs_[i].element_size : output_size_[i - outputs];
    places[i] = static_cast<std::byte*>(call.arguments[i].data);
    if (moves && places[i] != nullptr) places[i] += static_cast<std::size_t>(first) * size;
  }
  // Without values between members there is nothing to keep in the cache.
  const std::int64_t step = broadcast_.empty() && members_.size() == 1 ? last - first : block_;
  for (; first < last; first += step) {
    const std::int64_t n = std::min(step, last - first);
    if (!broadcast_.empty()) {
      for (std::size_t i = 0; i < outputs; ++i) {
        const int b = inputs_[i].broadcast;
        if (b < 0) continue;
        std::byte* own = block + static_cast<std::size_t>(b) * slot_bytes_;
        places[i] = static_cast<std::byte*>(const_cast<void*>(
            broadcast_[static_cast<std::size_t>(b)].fetch(call.arguments[i].data, first, n, own)));
      }
    }
    for (const Member& m : members_) {
      const void* operands[16];
      const Place* from = operands_.data() + m.first_input;
      for (std::uint32_t i = 0; i < m.input_count; ++i) operands[i] = places[from[i]];
      m.block(m.op, operands, m.uniform, places[m.output], n);
    }
    for (std::size_t i = 0; i < slots; ++i) {
      const bool moves = i >= outputs || (!inputs_[i].uniform && inputs_[i].broadcast < 0);
      const std::size_t size = i < outputs ? inputs_[i].element_size : output_size_[i - outputs];
      if (moves && places[i] != nullptr) places[i] += static_cast<std::size_t>(step) * size;
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
