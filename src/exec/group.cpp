#include "group.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <halftone/base/error.hpp>
#include <halftone/graph/index.hpp>

namespace halftone {
namespace {

/// Memory for the blocks between operators, on the stack: half of a first cache.
constexpr std::size_t scratch_bytes = 64 * 1024;
constexpr std::size_t wanted_scratch = 24 * 1024;
constexpr std::int64_t max_block = 1024, min_block = 128;  // multiples of a chain's tile
/// Outputs of a span, of members that are no chain, for which a block of its own pays.
constexpr std::int64_t min_span = 256;
constexpr std::size_t max_members = 32, max_inputs = 24;  // as fuse_elementwise has them
constexpr std::size_t max_operands = 16;                  // of a member
constexpr std::size_t vector_floats = 16;
/// Elements that one task does, whatever the number of threads.
constexpr std::int64_t task_elements = 32 * 1024;

/// Bit i: the node's input i is this tensor.
std::uint32_t bits_of(const Node& node, TensorId id) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) bits |= node.inputs[i] == id ? 1u << i : 0;
  return bits;
}

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
Group::Member& Group::add_member(const Node& node, const NodeKernel& kernel,
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
  return members_.emplace_back(member);
}

/// Weights and biases of channels reach members without being copied for every pixel.
void Group::find_span() {
  if (broadcast_.empty()) return;
  const bool is_chain = members_[0].link != nullptr && is_one_run();
  const std::int64_t lanes = chain_.lanes;
  std::int64_t span = 0;
  for (const kernel::BroadcastInput& input : broadcast_) {
    const std::int64_t own = input.repeats(is_chain ? lanes : 1);
    if (own == 0 || (span != 0 && own != span)) return;
    span = own;
  }
  if (is_chain) {
    // What fills no tile costs as much as a tile.
    if (span % lanes != 0 || (span % chain_.tile != 0 && span < 16 * chain_.tile)) return;
  } else if (span < min_span) {
    return;
  }
  for (std::size_t n = 0; n < members_.size(); n += members_[n].chain_length) {
    if (members_[n].chained != 0 && is_broadcast(value_of(members_[n]))) return;
  }
  for (Input& input : inputs_) {
    if (input.broadcast < 0) continue;
    const auto& broadcast = broadcast_[static_cast<std::size_t>(input.broadcast)];
    input.repeats_element = broadcast.repeats(1) == span;
  }
  if (!is_chain) {
    for (Member& m : members_) {
      if (m.chained != 0) continue;  // those have them in registers
      for (std::uint32_t i = 0; i < m.input_count; ++i) {
        if (is_broadcast(operands_[m.first_input + i])) m.uniform |= 1u << i;
      }
    }
  }
  span_ = span;
}

void Group::finish() {
  total_ = product(shape_);
  find_span();
  const std::size_t blocks = slots_ + broadcast_.size();
  if (inputs_.size() + output_size_.size() + blocks + absent_.size() > max_places) {
    fail(ErrorKind::internal, {.what = "a group of element-wise operators is too large"});
  }
  const auto fits =
      static_cast<std::int64_t>(wanted_scratch / (std::max<std::size_t>(blocks, 1) * largest_));
  block_ = std::clamp(fits / min_block * min_block, min_block, max_block);
  slot_bytes_ = static_cast<std::size_t>(block_) * largest_;
  is_direct_ = members_.size() == 1 && blocks == 0 && absent_.empty();
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
  Member& member =
      add_member(node, kernel, inputs, places, output, static_cast<Place>(inputs.size()));
  // A chain of one serves inputs that are broadcast.
  for (std::size_t i = 0; i < inputs.size() && kernel.functions().link != nullptr; ++i) {
    if (!inputs[i].is_known() || is_uniform(places[i]) || is_broadcast(places[i])) continue;
    member.chained = 1u << i;
    member.link = kernel.functions().link(member.chained);
    chain_ = kernel.functions().chain();
  }
  finish();
}

/// What is known of the body's tensors and nodes while the members are made.
struct Group::Draft {
  const Graph& body;
  TensorMap<Place> place;
  TensorMap<int> last, readers;  ///< the last node that reads a tensor, and how many do
  TensorMap<bool> is_output;
  /// Which inputs of a node come from the node before through registers, as bits.
  NodeMap<std::uint32_t> chained;
  NodeMap<bool> is_linked, is_stored;

  explicit Draft(const Graph& graph)
      : body(graph),
        place(graph),
        last(graph, no_node),
        readers(graph, 0),
        is_output(graph, false),
        chained(graph, 0),
        is_linked(graph, false),
        is_stored(graph, true) {
    for (std::size_t n = 0; n < body.nodes.size(); ++n) {
      for (const TensorId id : body.nodes[n].inputs) {
        if (id == no_tensor) continue;
        readers[id] += last[id] != static_cast<int>(n) ? 1 : 0;
        last[id] = static_cast<int>(n);
      }
    }
  }
  Vector<TensorInfo> inputs_of(std::size_t n) const {
    Vector<TensorInfo> infos;
    for (const TensorId id : body.nodes[n].inputs) {
      infos.push_back(id == no_tensor ? TensorInfo{} : body.info(id));
    }
    return infos;
  }
};

Group::Group(const Graph& body) : shape_(body.info(body.outputs[0]).shape) {
  Draft draft(body);
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    add_input(body.info(body.inputs[i]));
    draft.place[body.inputs[i]] = static_cast<Place>(i);
  }
  for (const TensorId id : body.outputs) {
    draft.is_output[id] = true;
    draft.place[id] = static_cast<Place>(inputs_.size() + output_size_.size());
    output_size_.push_back(static_cast<std::uint8_t>(size_in_bytes(body.info(id).type)));
  }
  for (std::size_t n = 0; n < body.nodes.size(); ++n) {
    const TensorInfo& output = body.info(body.nodes[n].outputs[0]);
    kernels_.emplace_back(body, body.nodes[n], draft.inputs_of(n), std::span(&output, 1));
    if (n > 0) find_chain(draft, n);
  }
  add_members(draft);
  finish();
}

/// Finds out whether node n gets the result of the one before through registers.
void Group::find_chain(Draft& draft, std::size_t n) const {
  const auto link_of = [&](std::size_t node, std::uint32_t bits) {
    const Kernel& f = kernels_[node].functions();
    return f.link != nullptr && bits != 0 ? f.link(bits) : nullptr;
  };
  const Node &node = draft.body.nodes[n], &before = draft.body.nodes[n - 1];
  const TensorId value = before.outputs[0];
  const std::uint32_t bits = bits_of(node, value);
  if (link_of(n, bits) == nullptr) return;
  if (draft.chained[n - 1] == 0) {  // the first member of a chain reads its value from memory
    for (const TensorId id : before.inputs) {
      if (id == no_tensor || is_uniform(draft.place[id])) continue;
      const std::uint32_t own = bits_of(before, id);
      // One that is broadcast only if there is no other.
      if (draft.chained[n - 1] != 0 && is_broadcast(draft.place[id])) continue;
      if (link_of(n - 1, own) != nullptr) draft.chained[n - 1] = own;
    }
    if (draft.chained[n - 1] == 0) return;
  }
  draft.chained[n] = bits;
  draft.is_linked[n] = true;
  draft.is_stored[n - 1] = draft.is_output[value] || draft.last[value] != static_cast<int>(n) ||
                           draft.readers[value] > 1;
}

void Group::add_members(Draft& draft) {
  const std::size_t first_slot = inputs_.size() + output_size_.size();
  std::vector<Place> free_slots;
  for (std::size_t n = 0; n < draft.body.nodes.size(); ++n) {
    const Node& node = draft.body.nodes[n];
    std::vector<Place> places;
    for (const TensorId id : node.inputs) {
      places.push_back(id == no_tensor ? Place{0} : draft.place[id]);
    }
    const TensorId y = node.outputs[0];
    const TensorInfo& out = draft.body.info(y);
    // Kernels of groups may write where they read: a slot that ends here can be the output.
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      if (id == no_tensor || draft.last[id] != static_cast<int>(n)) continue;
      draft.last[id] = no_node;
      const bool same_size = size_in_bytes(draft.body.info(id).type) == size_in_bytes(out.type);
      if (is_slot(places[i]) && same_size) free_slots.push_back(places[i]);
    }
    if (!draft.is_output[y] && draft.is_stored[n]) {
      if (free_slots.empty()) free_slots.push_back(static_cast<Place>(first_slot + slots_++));
      draft.place[y] = free_slots.back();
      free_slots.pop_back();
    }
    Member& member = add_member(node, kernels_[n], draft.inputs_of(n), places, out, draft.place[y]);
    member.chained = draft.chained[n];
    member.is_stored = draft.is_stored[n];
    if (draft.chained[n] == 0) continue;
    member.link = kernels_[n].functions().link(draft.chained[n]);
    chain_ = kernels_[n].functions().chain();
    if (!draft.is_linked[n]) continue;
    std::size_t head = n;
    while (draft.is_linked[head]) --head;
    ++members_[head].chain_length;
  }
}

/// Members whose values go from one to the next in registers.
void Group::run_chain(const Member* members, std::byte* const* places, std::int64_t n) const {
  const std::size_t length = members->chain_length;
  kernel::ChainStep steps[2 * max_members];
  constexpr std::size_t most_others = kernel::ChainStep::most_others;
  Place at[2 * max_members][most_others];  // where the operands of a step lie, for the rest
  alignas(64) float repeated[most_others * max_members][vector_floats];
  std::size_t count = 0, values = 0;
  for (const Member* m = members; m != members + length; ++m) {
    const Place* operands = operands_.data() + m->first_input;
    kernel::ChainStep& step = steps[count] = {.link = m->link, .op = m->op, .others = {}};
    std::size_t other = 0;
    for (std::uint32_t i = 0; i < m->input_count; ++i) {
      if ((m->chained >> i & 1) != 0) continue;
      const Place p = operands[i];
      at[count][other] = p;
      if (span_ != 0 && is_broadcast(p) && !inputs_[p].repeats_element) {
        step.others[other++] = {.data = places[p], .mask = 0};
      } else if (is_uniform(p) || (span_ != 0 && is_broadcast(p))) {
        float* all = repeated[values++];
        std::fill_n(all, vector_floats, *reinterpret_cast<const float*>(places[p]));
        step.others[other++] = {.data = all, .mask = 0};
      } else {
        step.others[other++] = {.data = places[p], .mask = -1};
      }
    }
    ++count;
    const bool is_last = m + 1 == members + length;
    if (!is_last && !m->is_stored) continue;
    at[count][0] = m->output;
    steps[count++] = {.link = is_last ? chain_.store_last : chain_.store,
                      .op = nullptr,
                      .others = {{.data = places[m->output], .mask = -1}}};
  }
  const Place x = value_of(*members);
  const auto* from = reinterpret_cast<const float*>(places[x]);
  const std::int64_t whole = n / chain_.tile * chain_.tile, rest = n - whole;
  if (whole != 0) chain_.run(steps, from, whole);
  if (rest == 0) return;

  // The rest lies in tiles of its own, filled up with zeros; slots are long enough as they are.
  struct Pad {
    alignas(64) float values[min_block];
  };
  Pad pads[max_members + max_inputs];
  Place pad_place[max_members + max_inputs];
  std::size_t pad_count = 0;
  const std::size_t bytes = static_cast<std::size_t>(rest) * sizeof(float);
  const std::size_t tile_bytes = static_cast<std::size_t>(chain_.tile) * sizeof(float);
  const auto pad = [&](Place p, bool is_read) -> float* {
    float* own = reinterpret_cast<float*>(places[p]) + whole;
    if (is_slot(p)) return own;
    for (std::size_t i = 0; i < pad_count; ++i) {
      if (pad_place[i] == p) return pads[i].values;
    }
    pad_place[pad_count] = p;
    float* to = pads[pad_count++].values;
    std::memset(to, 0, tile_bytes);
    if (is_read) std::memcpy(to, own, bytes);
    return to;
  };
  from = pad(x, true);
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t k = 0; k < most_others; ++k) {
      kernel::ChainStep::Operand& o = steps[s].others[k];
      if (o.data != nullptr && o.mask != 0) o.data = pad(at[s][k], steps[s].op != nullptr);
    }
  }
  chain_.run(steps, from, chain_.tile);
  for (std::size_t s = 0; s < count; ++s) {
    if (steps[s].op != nullptr || is_slot(at[s][0])) continue;
    std::memcpy(reinterpret_cast<float*>(places[at[s][0]]) + whole, steps[s].others[0].data, bytes);
  }
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
  const bool whole = is_one_run() && (broadcast_.empty() || span_ != 0);
  const std::int64_t step = whole && slots_ == 0 ? last - first : block_;
  const std::int64_t lanes = std::max<std::int64_t>(chain_.lanes, 1);  // 0 without a chain
  std::int64_t n;
  for (; first < last; first += n) {
    n = std::min(step, last - first);
    if (span_ != 0) n = std::min(n, span_ - first % span_);
    if (!broadcast_.empty()) {
      for (std::size_t i = 0; i < outputs; ++i) {
        const int b = inputs_[i].broadcast;
        if (b < 0) continue;
        std::byte* own = block + static_cast<std::size_t>(b) * slot_bytes_;
        places[i] =
            static_cast<std::byte*>(const_cast<void*>(broadcast_[static_cast<std::size_t>(b)].fetch(
                call.arguments[i].data, first, span_ != 0 ? lanes : n, own)));
      }
    }
    for (const Member *next = members_.data(), *end = next + members_.size(); next != end;) {
      const Member& m = *next;
      next += m.chain_length;
      if (m.chain_length > 1 || (span_ != 0 && m.link != nullptr)) {
        run_chain(&m, places, n);
        continue;
      }
      const void* operands[max_operands];
      const Place* from = operands_.data() + m.first_input;
      for (std::uint32_t i = 0; i < m.input_count; ++i) operands[i] = places[from[i]];
      m.block(m.op, operands, m.uniform, places[m.output], n);
    }
    for (std::size_t i = 0; i < slots; ++i) {
      const bool moves = i >= outputs || (!inputs_[i].uniform && inputs_[i].broadcast < 0);
      const std::size_t size = i < outputs ? inputs_[i].element_size : output_size_[i - outputs];
      if (moves && places[i] != nullptr) places[i] += static_cast<std::size_t>(n) * size;
    }
  }
}

/// The only member, whose operands are the arguments.
void Group::run_member(const KernelCall& call) const {
  const Member& m = members_[0];
  const void* operands[max_operands];
  for (std::uint32_t i = 0; i < m.input_count; ++i) {
    operands[i] = call.arguments[operands_[m.first_input + i]].data;
  }
  m.block(m.op, operands, m.uniform, call.arguments[m.output].data, total_);
}

void Group::run(const KernelCall& call) {
  const Group& group = *static_cast<const Group*>(call.op);
  if (group.total_ == 0) return;
  if (group.total_ <= task_elements) {
    if (group.is_direct_) {
      group.run_member(call);
    } else {
      group.run_blocks(call, 0, group.total_);
    }
    return;
  }
  const std::int64_t tasks = (group.total_ + task_elements - 1) / task_elements;
  kernel::parallel_for(*call.executor, tasks, [&](std::int64_t i) {
    group.run_blocks(call, i * task_elements, std::min((i + 1) * task_elements, group.total_));
  });
}

}  // namespace halftone
