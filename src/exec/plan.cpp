#include "plan.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <halftone/op/list.hpp>
#include <halftone/transform/memory_plan.hpp>

#include "base/describe.hpp"
#include "fold.hpp"
#include "kernel_table.hpp"
#include "transform/pipeline.hpp"

namespace halftone {
namespace {

/// Stands for data that are not placed yet, and for those of empty tensors: given, but not read.
alignas(64) std::byte nowhere[64];

bool is_repeated(const Node& node) {
  return node.op->id == op::Loop::id || node.op->id == op::Scan::id;
}

std::int64_t flops_of(const Graph& graph, const Node& node, std::span<const TensorInfo> in,
                      std::span<const TensorInfo> out) {
  if (node.op->id != op::Fused::id) return node.op->flops(node.attributes, in, out);
  std::int64_t flops = 0;
  const Graph& body = graph.graphs[static_cast<std::size_t>(subgraphs_of(node)[0])];
  for (const Node& member : body.nodes) {
    flops += member.op->flops(member.attributes, {}, {&body.info(member.outputs[0]), 1});
  }
  return flops;
}

bool has_nan(const TensorInfo& info, const void* data) {
  bool found = false;
  visit_type<FloatTypes>(info.type, [&]<class T>() {
    const T* values = static_cast<const T*>(data);
    for (std::int64_t i = 0, n = info.elements(); i < n && !found; ++i) {
      const auto x = static_cast<double>(values[i]);
      found = x != x;
    }
  });
  return found;
}

/// See PassEvent::path.
std::string body_path(const Graph& graph, const std::string& path, const Node& node,
                      std::size_t body) {
  std::string_view name = graph.name(node);
  if (name.empty() && !node.outputs.empty() && node.outputs[0] != no_tensor) {
    name = graph.name(node.outputs[0]);
  }
  const std::string inner = std::string(name.empty() ? node.op->id.name : name);
  return (path.empty() ? "" : path + "/") + inner + "/" + std::to_string(body);
}

/// Views, by node, that are read after a change of the variable whose memory they would share: they
/// keep what it was.
std::vector<bool> views_to_copy(const Graph& graph) {
  const std::size_t steps = graph.nodes.size();
  const Aliases aliases(graph);
  TensorMap<std::size_t> last_read(graph, 0);
  auto read = [&](TensorId id, std::size_t step) { last_read[id] = std::max(last_read[id], step); };
  for (const TensorId id : graph.outputs) read(id, steps);
  for (std::size_t n = steps; n-- > 0;) {
    const Node& node = graph.nodes[n];
    for (const TensorId id : node.inputs) {
      if (id == no_tensor) continue;
      read(id, is_view(node) ? last_read[node.outputs[0]] : n);
    }
  }
  TensorMap<std::vector<std::size_t>> changes(graph);
  for (std::size_t n = 0; n < steps; ++n) {
    const Node& node = graph.nodes[n];
    for_each_modified(node,
                      [&](std::size_t i) { changes[aliases.root(node.inputs[i])].push_back(n); });
  }
  std::vector<bool> copied(steps);
  for (std::size_t n = 0; n < steps; ++n) {
    if (!is_view(graph.nodes[n])) continue;
    const TensorId y = graph.nodes[n].outputs[0];
    for (const std::size_t change : changes[aliases.root(y)]) {
      copied[n] = copied[n] || (n < change && change < last_read[y]);
    }
  }
  return copied;
}

}  // namespace

/// Which memory each tensor lies in.
struct Plan::Buffers {
  static constexpr int none = -1;
  std::vector<TensorId> root;  ///< the tensor whose memory it shares
  std::vector<int> buffer;     ///< number in `lifetimes`, of roots
  std::vector<Lifetime> lifetimes;
};

Plan::Plan(Graph graph, const EngineOptions& options, const kernel::Executor& executor,
           const std::string& path)
    : executor_(executor), stops_at_nan_(options.stop_at_nan) {
  const bool fuse = options.fuse && !options.stop_at_nan;
  graph_ = run_passes(cpu_plan_passes, std::move(graph),
                      {.fuse = fuse,
                       .change_weights = fuse && !options.only_plan,
                       .reorder = !options.stop_at_nan,
                       .float_lanes = float_lanes(),
                       .observer = options.observer,
                       .path = path});
  build(options, path);
}

/// Whether a node may write output number `output` over input number `input`.
bool Plan::overwrites(const Node& node, std::size_t output, std::size_t input) const {
  const TensorInfo& x = graph_.info(node.inputs[input]);
  const TensorInfo& y = graph_.info(node.outputs[output]);
  if (x.shape != y.shape || size_in_bytes(x.type) != size_in_bytes(y.type)) return false;
  if (node.op->elementwise) return true;
  if (node.op->id != op::Fused::id) return node.op->in_place && output == 0 && input == 0;
  // In a group nobody may read the input's block once the output's is written.
  const Graph& body = graph_.graphs[static_cast<std::size_t>(subgraphs_of(node)[0])];
  std::size_t written = body.nodes.size(), last_read = 0;
  for (std::size_t n = 0; n < body.nodes.size(); ++n) {
    if (body.nodes[n].outputs[0] == body.outputs[output]) written = n;
    for (const TensorId id : body.nodes[n].inputs) {
      if (id == body.inputs[input]) last_read = n;
    }
  }
  return last_read <= written;
}

void Plan::build(const EngineOptions& options, const std::string& path) {
  for (const Node& node : graph_.nodes) {
    for (const auto* ids : {&node.inputs, &node.outputs}) {
      for (const TensorId id : *ids) {
        if (id != no_tensor) check_fits(graph_, &node, graph_.info(id));
      }
    }
  }
  const std::size_t tensor_count = graph_.tensors.size();
  const auto steps = static_cast<std::int32_t>(graph_.nodes.size());
  Buffers buffers{.root = std::vector<TensorId>(tensor_count),
                  .buffer = std::vector<int>(tensor_count, Buffers::none),
                  .lifetimes = {}};
  for (std::size_t i = 0; i < tensor_count; ++i) buffers.root[i] = static_cast<TensorId>(i);
  auto root_of = [&](TensorId id) { return buffers.root[static_cast<std::size_t>(id)]; };
  auto buffer_of = [&](TensorId id) -> int& {
    return buffers.buffer[static_cast<std::size_t>(root_of(id))];
  };

  // Views first: a tensor lives as long as any that shares its memory.
  const std::vector<bool> is_copied = views_to_copy(graph_);
  for (const Node& node : graph_.nodes) {
    if (is_copied[static_cast<std::size_t>(&node - graph_.nodes.data())]) continue;
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const int shares = node.op->signature.output_slot(o).shares;
      if (shares < 0 || node.outputs[o] == no_tensor) continue;
      buffers.root[static_cast<std::size_t>(node.outputs[o])] =
          root_of(node.inputs[static_cast<std::size_t>(shares)]);
    }
  }
  std::vector<std::int32_t> last(tensor_count, -1);
  auto touch = [&](TensorId id, std::int32_t step) {
    std::int32_t& l = last[static_cast<std::size_t>(root_of(id))];
    l = std::max(l, step);
  };
  for (std::int32_t n = 0; n < steps; ++n) {
    for (const TensorId id : graph_.nodes[static_cast<std::size_t>(n)].inputs) {
      if (id != no_tensor) touch(id, n);
    }
  }
  for (const TensorId id : graph_.outputs) touch(id, steps);

  // Arguments of all steps; pointers to arena memory follow when it is planned.
  struct Pending {
    std::uint32_t argument;
    int buffer;
  };
  std::vector<Pending> pending;
  input_arguments_.resize(graph_.inputs.size());
  std::vector<int> input_number(tensor_count, -1);
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    input_number[static_cast<std::size_t>(graph_.inputs[i])] = static_cast<int>(i);
  }
  auto add_argument = [&](TensorId id) {
    if (id == no_tensor) {
      arguments_.push_back({});
      return;
    }
    const Dims& shape = graph_.tensors[static_cast<std::size_t>(id)].info.shape;
    TensorArgument argument{nowhere, shape.items, shape.size()};
    const TensorId root = root_of(id);
    TensorRecord& r = graph_.tensor(root);
    if (r.role == Role::constant || r.role == Role::variable) {
      const bool is_left = options.only_plan && r.info.bytes() > most_small_bytes;
      if (r.info.bytes() != 0 && !is_left) argument.data = const_cast<void*>(aligned_data(r));
    } else if (const int number = input_number[static_cast<std::size_t>(root)]; number >= 0) {
      input_arguments_[static_cast<std::size_t>(number)].push_back(
          static_cast<std::uint32_t>(arguments_.size()));
    } else if (const int buffer = buffer_of(id); buffer != Buffers::none) {
      pending.push_back({static_cast<std::uint32_t>(arguments_.size()), buffer});
    }
    arguments_.push_back(argument);
  };
  std::int64_t all_bytes = 0;  // as if nothing shared memory
  auto add_buffer = [&](std::int64_t bytes, std::int32_t first, std::int32_t end) {
    if (bytes > INT64_MAX / 2 - all_bytes) {
      fail(ErrorKind::memory, {.what = "the tensors of the graph do not fit into memory"});
    }
    all_bytes += bytes;
    buffers.lifetimes.push_back({bytes, first, end});
    return static_cast<int>(buffers.lifetimes.size()) - 1;
  };

  constant_readers_.assign(tensor_count, 0);
  for (const Node& node : graph_.nodes) {
    for (const TensorId id : node.inputs) {
      if (id != no_tensor) ++constant_readers_[static_cast<std::size_t>(root_of(id))];
    }
  }
  for (const TensorId id : graph_.outputs) {
    ++constant_readers_[static_cast<std::size_t>(root_of(id))];
  }

  std::size_t argument_count = graph_.outputs.size() * 2;
  for (const Node& node : graph_.nodes) argument_count += node.inputs.size() + node.outputs.size();
  arguments_.reserve(argument_count);  // steps point into it
  struct Workspace {
    std::size_t step;
    int buffer;
  };
  std::vector<Workspace> workspaces;

  for (std::int32_t n = 0; n < steps; ++n) {
    const auto index = static_cast<std::size_t>(n);
    Node& node = graph_.nodes[index];
    if (is_view(node) && !is_copied[index]) continue;

    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const TensorId id = node.outputs[o];
      if (id == no_tensor || root_of(id) != id) continue;
      const std::int64_t bytes = graph_.info(id).bytes();
      const std::int32_t end = std::max(last[static_cast<std::size_t>(id)], n);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const TensorId in = node.inputs[i];
        if (in == no_tensor || buffer_of(in) == Buffers::none) continue;
        Lifetime& life = buffers.lifetimes[static_cast<std::size_t>(buffer_of(in))];
        if (life.last != n || last[static_cast<std::size_t>(root_of(in))] != n) continue;
        if (!overwrites(node, o, i)) continue;
        buffer_of(id) = buffer_of(in);
        life.last = end;
        life.bytes = std::max(life.bytes, bytes);
        break;
      }
      if (buffer_of(id) == Buffers::none) buffer_of(id) = add_buffer(bytes, n, end);
    }

    const auto first = static_cast<std::uint32_t>(arguments_.size());
    std::vector<TensorInfo> in, out;
    std::uint64_t constants = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      add_argument(id);
      in.push_back(id == no_tensor ? TensorInfo{} : graph_.info(id));
      if (id != no_tensor && i < 64 && graph_.tensor(root_of(id)).role == Role::constant) {
        constants |= std::uint64_t{1} << i;
      }
    }
    for (const TensorId id : node.outputs) {
      add_argument(id);
      out.push_back(id == no_tensor ? TensorInfo{} : graph_.info(id));
    }
    Step step{.run = nullptr,
              .call = {.arguments = arguments_.data() + first,
                       .inputs = static_cast<std::uint32_t>(node.inputs.size()),
                       .outputs = static_cast<std::uint32_t>(node.outputs.size()),
                       .constants = constants,
                       .executor = &executor_},
              .node = static_cast<std::uint32_t>(n)};
    if (is_view(node)) {
      step.call.op = &graph_.tensors[static_cast<std::size_t>(node.outputs[0])].info;
      step.run = &run_copy;
    } else if (node.op->id == op::Fused::id) {
      Graph& body = graph_.graphs[static_cast<std::size_t>(subgraphs_of(node)[0])];
      step.call.op = &groups_.emplace_back(body);
      step.run = &Group::run;
    } else if (is_repeated(node)) {
      const Repetition& repetition = repetitions_.emplace_back(graph_, node, options, executor_,
                                                               body_path(graph_, path, node, 0));
      packed_bytes_ += repetition.bytes();
      step.call.op = &repetition;
      step.run = &Repetition::run;
    } else if (const bool is_if = node.op->id == op::If::id; is_if || node.op->id == op::Call::id) {
      Branches& branches = branches_.emplace_back();
      for (const std::int32_t g : subgraphs_of(node)) {
        branches.plans.push_back(
            std::make_unique<Plan>(graph_.graphs[static_cast<std::size_t>(g)], options, executor_,
                                   body_path(graph_, path, node, branches.plans.size())));
      }
      step.call.op = &branches;
      step.run = is_if ? &Branches::run_if : &Branches::run_call;
    } else {
      const NodeKernel& kernel = kernels_.emplace_back(graph_, node, in, out);
      const Kernel& f = kernel.functions();
      step.call.op = kernel.op();
      if (f.block != nullptr) {
        step.call.op = &groups_.emplace_back(node, kernel, in, out[0]);
        step.run = &Group::run;
      } else {
        step.run = f.run;
        const std::size_t packed_bytes = f.packed_bytes != nullptr ? f.packed_bytes(step.call) : 0;
        if (packed_bytes != 0 && !options.only_plan) {
          Storage& packed = packed_.emplace_back(Storage::allocate(packed_bytes));
          f.pack(step.call, packed.data());
          step.call.packed = packed.data();
          packed_bytes_ += packed_bytes;
          if (f.packed_input >= 0) release(node, static_cast<std::size_t>(f.packed_input), first);
        }
        const std::size_t bytes = f.workspace != nullptr ? f.workspace(step.call) : 0;
        if (bytes != 0) {
          workspaces.push_back({steps_.size(), add_buffer(static_cast<std::int64_t>(bytes), n, n)});
        }
      }
    }
    steps_.push_back(step);
    const TensorId name_of = node.outputs.empty() ? no_tensor : node.outputs[0];
    times_.push_back({.op = node.op->id.name,
                      .name = graph_.name(node).empty() && name_of != no_tensor
                                  ? graph_.name(name_of)
                                  : graph_.name(node)});
    times_.back().flops = flops_of(graph_, node, in, out);
    for (const TensorInfo& info : in) times_.back().bytes += info.is_known() ? info.bytes() : 0;
    for (const TensorInfo& info : out) times_.back().bytes += info.is_known() ? info.bytes() : 0;
  }

  // Outputs that lie in the caller's memory are copied: the caller may free it after the run.
  struct Output {
    int buffer = Buffers::none;
    const void* data = nowhere;
  };
  std::vector<Output> outputs;
  for (const TensorId id : graph_.outputs) {
    TensorRecord& r = graph_.tensor(root_of(id));
    Output output;
    if (r.info.bytes() == 0) {
      // stays nowhere
    } else if (r.role == Role::constant || r.role == Role::variable) {
      if (!options.only_plan) output.data = aligned_data(r);
    } else if (buffer_of(id) != Buffers::none) {
      output.buffer = buffer_of(id);
    } else {
      output.buffer = add_buffer(graph_.info(id).bytes(), steps, steps);
      const auto first = static_cast<std::uint32_t>(arguments_.size());
      add_argument(id);
      add_argument(id);
      input_arguments_[static_cast<std::size_t>(
                           input_number[static_cast<std::size_t>(root_of(id))])]
          .pop_back();  // the second argument is the copy
      pending.push_back({first + 1, output.buffer});
      steps_.push_back({.run = &run_copy,
                        .call = {.op = &graph_.tensors[static_cast<std::size_t>(id)].info,
                                 .arguments = arguments_.data() + first,
                                 .inputs = 1,
                                 .outputs = 1,
                                 .executor = &executor_},
                        .node = 0});
      times_.push_back({.op = "Copy", .name = graph_.name(id)});
    }
    outputs.push_back(output);
  }

  const MemoryPlan plan = plan_memory(buffers.lifetimes);
  arena_bytes_ = static_cast<std::size_t>(plan.bytes);
  live_bytes_ = static_cast<std::size_t>(live_peak(buffers.lifetimes));
  arena_ = Storage::allocate(arena_bytes_);
  auto place = [&](int buffer) -> void* {
    return arena_.data() + plan.offsets[static_cast<std::size_t>(buffer)];
  };
  for (const Pending& p : pending) arguments_[p.argument].data = place(p.buffer);
  for (const Workspace& w : workspaces) steps_[w.step].call.workspace = place(w.buffer);
  for (const Output& output : outputs) {
    outputs_.push_back(output.buffer != Buffers::none ? place(output.buffer)
                                                      : const_cast<void*>(output.data));
  }
}

/// Gives the memory of packed weights back.
void Plan::release(const Node& node, std::size_t input, std::uint32_t first) {
  TensorRecord& t = graph_.tensor(node.inputs[input]);
  t.data.unneeded();
  if (constant_readers_[static_cast<std::size_t>(node.inputs[input])] == 1) {
    t.data = {};
    arguments_[first + input].data = nowhere;
  }
}

void Plan::Branches::run_if(const KernelCall& call) {
  const Branches& branches = *static_cast<const Branches*>(call.op);
  branches.run(*static_cast<const bool*>(call.arguments[0].data) ? 0 : 1, call, 1);
}

void Plan::Branches::run_call(const KernelCall& call) {
  static_cast<const Branches*>(call.op)->run(0, call, 0);
}

void Plan::Branches::run(std::size_t branch, const KernelCall& call, std::uint32_t first) const {
  Plan& plan = *plans[branch];
  for (std::uint32_t i = first; i < call.inputs; ++i) {
    plan.set_input(i - first, call.arguments[i].data);
  }
  plan.run(false);
  for (std::uint32_t o = 0; o < call.outputs; ++o) {
    const AnyView result = plan.output(o);
    if (result.bytes() != 0 && call.arguments[call.inputs + o].data != nullptr) {
      std::memcpy(call.arguments[call.inputs + o].data, result.data, result.bytes());
    }
  }
}

void Plan::run_copy(const KernelCall& call) {
  const auto bytes = static_cast<std::size_t>(static_cast<const TensorInfo*>(call.op)->bytes());
  std::memcpy(call.arguments[call.inputs].data, call.arguments[0].data, bytes);
}

/// Throws if a step has put something that is not a number into one of its outputs.
void Plan::check_numbers(const Step& step) const {
  if (step.run == &run_copy) return;
  const Node& node = graph_.nodes[step.node];
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    const TensorId id = node.outputs[o];
    if (id == no_tensor ||
        !has_nan(graph_.info(id), step.call.arguments[step.call.inputs + o].data))
      continue;
    // What came with it into the run is to blame.
    TensorId first = id;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId x = node.inputs[i];
      if (x != no_tensor && graph_.tensor(x).role != Role::value &&
          has_nan(graph_.info(x), step.call.arguments[i].data)) {
        first = x;
        break;
      }
    }
    const std::string where = detail::node_text(*node.op, graph_.name(node));
    throw NotANumberError({.what = "a tensor holds something that is not a number",
                           .node = where,
                           .tensor = graph_.name(first),
                           .hint = "it is the first one of the run"});
  }
}

void Plan::run(bool measure) {
  std::size_t at = 0;
  try {
    if (stops_at_nan_) {
      for (; at < steps_.size(); ++at) {
        steps_[at].run(steps_[at].call);
        check_numbers(steps_[at]);
      }
      return;
    }
    if (!measure) {
      for (; at < steps_.size(); ++at) steps_[at].run(steps_[at].call);
      return;
    }
    for (; at < steps_.size(); ++at) {
      const auto start = std::chrono::steady_clock::now();
      steps_[at].run(steps_[at].call);
      times_[at].seconds +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  } catch (const Error& error) {
    if (!error.node().empty()) throw;
    const Node& node = graph_.nodes[steps_[at].node];
    fail(error.kind(), {.what = error.reason(),
                        .node = detail::node_text(*node.op, graph_.name(node)),
                        .tensor = error.tensor(),
                        .expected = error.expected(),
                        .found = error.found(),
                        .hint = error.hint()});
  }
}

AnyView Plan::output(std::size_t i) const { return {graph_.info(graph_.outputs[i]), outputs_[i]}; }

void Plan::reset_times() {
  for (NodeTime& time : times_) time.seconds = 0;
}

}  // namespace halftone
