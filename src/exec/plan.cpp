#include "plan.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <halftone/op/list.hpp>
#include <halftone/program/buffers.hpp>

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

void check_sizes(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const auto* ids : {&node.inputs, &node.outputs}) {
      for (const TensorId id : *ids) {
        if (id != no_tensor) check_fits(graph, &node, graph.info(id));
      }
    }
  }
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

}  // namespace

/// Gives the nodes of a plan's graph their kernels and their places in the arena.
class Plan::Builder {
 public:
  Builder(Plan& plan, const EngineOptions& options, const std::string& path)
      : plan_(plan),
        graph_(plan.graph_),
        options_(options),
        path_(path),
        buffers_(graph_),
        uses_(graph_, 0),
        input_number_(graph_, no_input) {}

  void build() {
    std::size_t arguments = graph_.outputs.size() * 2;
    for (const Node& node : graph_.nodes) {
      arguments += node.inputs.size() + node.outputs.size();
      for (const TensorId id : node.inputs) {
        if (id != no_tensor) ++uses_[buffers_.root[id]];
      }
    }
    for (const TensorId id : graph_.outputs) ++uses_[buffers_.root[id]];
    plan_.arguments_.reserve(arguments);  // steps point into it
    plan_.input_arguments_.resize(graph_.inputs.size());
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      input_number_[graph_.inputs[i]] = static_cast<int>(i);
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!is_view(graph_.nodes[n]) || buffers_.is_copied[n]) add_step(n);
    }
    for (const TensorId id : graph_.outputs) add_output(id);
    place();
  }

 private:
  static constexpr int no_input = -1;

  std::uint32_t argument_count() const {
    return static_cast<std::uint32_t>(plan_.arguments_.size());
  }
  /// Pointers to arena memory follow when it is planned.
  void add_argument(TensorId id) {
    if (id == no_tensor) {
      plan_.arguments_.push_back({});
      return;
    }
    const Dims& shape = graph_.tensor(id).info.shape;
    TensorArgument argument{nowhere, shape.items, shape.size()};
    TensorRecord& r = graph_.tensor(buffers_.root[id]);
    if (r.role == Role::constant || r.role == Role::variable) {
      const bool is_left = options_.only_plan && r.info.bytes() > most_small_bytes;
      if (r.info.bytes() != 0 && !is_left) argument.data = const_cast<void*>(aligned_data(r));
    } else if (const int number = input_number_[buffers_.root[id]]; number != no_input) {
      plan_.input_arguments_[static_cast<std::size_t>(number)].push_back(argument_count());
    } else if (const int buffer = buffers_.of(id); buffer != Buffers::none) {
      pending_.push_back({argument_count(), buffer});
    }
    plan_.arguments_.push_back(argument);
  }

  void add_step(std::size_t n) {
    Node& node = graph_.nodes[n];
    const std::uint32_t first = argument_count();
    std::vector<TensorInfo> in, out;
    std::uint64_t constants = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      add_argument(id);
      in.push_back(id == no_tensor ? TensorInfo{} : graph_.info(id));
      if (id == no_tensor || i >= 64) continue;
      if (graph_.tensor(buffers_.root[id]).role == Role::constant) {
        constants |= std::uint64_t{1} << i;
      }
    }
    for (const TensorId id : node.outputs) {
      add_argument(id);
      out.push_back(id == no_tensor ? TensorInfo{} : graph_.info(id));
    }
    Step step{.run = nullptr,
              .call = {.arguments = plan_.arguments_.data() + first,
                       .inputs = static_cast<std::uint32_t>(node.inputs.size()),
                       .outputs = static_cast<std::uint32_t>(node.outputs.size()),
                       .constants = constants,
                       .executor = &plan_.executor_},
              .node = static_cast<std::uint32_t>(n)};
    if (is_view(node)) {
      step.call.op = &graph_.tensor(node.outputs[0]).info;
      step.run = &run_copy;
    } else if (!subgraphs_of(node).empty()) {
      bind_body(node, step);
    } else {
      bind_kernel(node, step, first, in, out);
    }
    plan_.steps_.push_back(step);
    add_time(node, in, out);
  }

  /// A node with graphs in it.
  void bind_body(const Node& node, Step& step) {
    const auto body = [&](std::int32_t index) -> Graph& {
      return graph_.graphs[static_cast<std::size_t>(index)];
    };
    if (node.op->id == op::Fused::id) {
      step.call.op = &plan_.groups_.emplace_back(body(subgraphs_of(node)[0]));
      step.run = &Group::run;
    } else if (is_repeated(node)) {
      const Repetition& repetition = plan_.repetitions_.emplace_back(
          graph_, node, options_, plan_.executor_, body_path(graph_, path_, node, 0));
      plan_.packed_bytes_ += repetition.bytes();
      step.call.op = &repetition;
      step.run = &Repetition::run;
    } else {  // If or Call
      Branches& branches = plan_.branches_.emplace_back();
      for (const std::int32_t index : subgraphs_of(node)) {
        branches.plans.push_back(
            std::make_unique<Plan>(body(index), options_, plan_.executor_,
                                   body_path(graph_, path_, node, branches.plans.size())));
      }
      step.call.op = &branches;
      step.run = node.op->id == op::If::id ? &Branches::run_if : &Branches::run_call;
    }
  }

  void bind_kernel(const Node& node, Step& step, std::uint32_t first,
                   std::span<const TensorInfo> in, std::span<const TensorInfo> out) {
    const NodeKernel& kernel = plan_.kernels_.emplace_back(graph_, node, in, out);
    const Kernel& f = kernel.functions();
    step.call.op = kernel.op();
    if (f.block != nullptr) {
      step.call.op = &plan_.groups_.emplace_back(node, kernel, in, out[0]);
      step.run = &Group::run;
      return;
    }
    step.run = f.run;
    const std::size_t packed_bytes = f.packed_bytes != nullptr ? f.packed_bytes(step.call) : 0;
    if (packed_bytes != 0 && !options_.only_plan) {
      Storage& packed = plan_.packed_.emplace_back(Storage::allocate(packed_bytes));
      f.pack(step.call, packed.data());
      step.call.packed = packed.data();
      plan_.packed_bytes_ += packed_bytes;
      if (f.packed_input >= 0) release(node, static_cast<std::size_t>(f.packed_input), first);
    }
    const std::size_t bytes = f.workspace != nullptr ? f.workspace(step.call) : 0;
    if (bytes == 0) return;
    const auto now = static_cast<std::int32_t>(step.node);
    workspaces_.push_back(
        {plan_.steps_.size(), buffers_.add(static_cast<std::int64_t>(bytes), now, now)});
  }

  /// Gives the memory of packed weights back.
  void release(const Node& node, std::size_t input, std::uint32_t first) {
    TensorRecord& t = graph_.tensor(node.inputs[input]);
    t.data.unneeded();
    if (uses_[node.inputs[input]] != 1) return;
    t.data = {};
    plan_.arguments_[first + input].data = nowhere;
  }

  void add_time(const Node& node, std::span<const TensorInfo> in, std::span<const TensorInfo> out) {
    const TensorId name_of = node.outputs.empty() ? no_tensor : node.outputs[0];
    const bool has_name = !graph_.name(node).empty() || name_of == no_tensor;
    NodeTime& time = plan_.times_.emplace_back();
    time.op = node.op->id.name;
    time.name = has_name ? graph_.name(node) : graph_.name(name_of);
    time.flops = flops_of(graph_, node, in, out);
    for (const TensorInfo& info : in) time.bytes += info.is_known() ? info.bytes() : 0;
    for (const TensorInfo& info : out) time.bytes += info.is_known() ? info.bytes() : 0;
  }

  /// Outputs that lie in the caller's memory are copied: the caller may free it after the run.
  void add_output(TensorId id) {
    const TensorId root = buffers_.root[id];
    TensorRecord& r = graph_.tensor(root);
    Output& output = outputs_.emplace_back();
    if (r.info.bytes() == 0) return;  // stays nowhere
    if (r.role == Role::constant || r.role == Role::variable) {
      if (!options_.only_plan) output.data = aligned_data(r);
      return;
    }
    output.buffer = buffers_.of(id);
    if (output.buffer != Buffers::none) return;
    const auto end = static_cast<std::int32_t>(graph_.nodes.size());
    output.buffer = buffers_.add(graph_.info(id).bytes(), end, end);
    const std::uint32_t first = argument_count();
    add_argument(id);
    add_argument(id);
    // The second argument is the copy.
    plan_.input_arguments_[static_cast<std::size_t>(input_number_[root])].pop_back();
    pending_.push_back({first + 1, output.buffer});
    plan_.steps_.push_back({.run = &run_copy,
                            .call = {.op = &graph_.tensor(id).info,
                                     .arguments = plan_.arguments_.data() + first,
                                     .inputs = 1,
                                     .outputs = 1,
                                     .executor = &plan_.executor_},
                            .node = 0});
    plan_.times_.push_back({.op = "Copy", .name = graph_.name(id)});
  }

  void place() {
    const MemoryPlan memory = plan_memory(buffers_.lifetimes);
    plan_.arena_bytes_ = static_cast<std::size_t>(memory.bytes);
    plan_.live_bytes_ = static_cast<std::size_t>(live_peak(buffers_.lifetimes));
    plan_.arena_ = Storage::allocate(plan_.arena_bytes_);
    const auto at = [&](int buffer) -> void* {
      return plan_.arena_.data() + memory.offsets[static_cast<std::size_t>(buffer)];
    };
    for (const Pending& p : pending_) plan_.arguments_[p.argument].data = at(p.buffer);
    for (const Workspace& w : workspaces_) plan_.steps_[w.step].call.workspace = at(w.buffer);
    for (const Output& output : outputs_) {
      plan_.outputs_.push_back(output.buffer != Buffers::none ? at(output.buffer)
                                                              : const_cast<void*>(output.data));
    }
  }

  struct Pending {
    std::uint32_t argument;
    int buffer;
  };
  struct Workspace {
    std::size_t step;
    int buffer;
  };
  struct Output {
    int buffer = Buffers::none;
    const void* data = nowhere;
  };

  Plan& plan_;
  Graph& graph_;
  const EngineOptions& options_;
  const std::string& path_;
  Buffers buffers_;
  TensorMap<int> uses_;  // of roots
  TensorMap<int> input_number_;
  std::vector<Pending> pending_;
  std::vector<Workspace> workspaces_;
  std::vector<Output> outputs_;
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
  check_sizes(graph_);
  Builder(*this, options, path).build();
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
