#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <halftone/ipu/lowering/layout.hpp>
#include <halftone/ipu/lowering/placement.hpp>
#include <halftone/ipu/lowering/work.hpp>
#include <halftone/ipu/planner.hpp>
#include <halftone/op/list.hpp>
#include <halftone/op/repeat.hpp>
#include <halftone/transform/infer.hpp>

namespace halftone::ipu::detail {

/// Turns a program into supersteps with a mapping of every tensor. Appends to a report.
class Lowering {
 public:
  /// `placement`: the IPU of each node of the main graph; empty: all on the first. `boundary`: of the
  /// main graph, if it is a part of a program; borrowed.
  Lowering(Report& report, std::vector<std::int32_t> placement, Boundary* boundary = nullptr)
      : report_(report),
        steps_(report),
        layout_(steps_, boundary != nullptr ? boundary->layouts : 1),
        planner_(report.target),
        placement_(std::move(placement)),
        boundary_(boundary) {}
  void run(const halftone::Program& program);

 private:
  /// The IPU of the first node that reads a tensor of the main graph.
  std::int32_t first_reader(const Graph& graph, TensorId id) const;
  /// Tensors of the main graph that other parts have placed.
  void enter(Frame& frame);
  /// Says how the main graph's tensors lie in the end.
  void leave(const Frame& frame) const;
  /// x comes from the host, or goes there.
  void add_host_step(const Placed& x, const TensorInfo& info, bool is_first);
  /// Leaves of the inputs, the first steps, and the outputs, the last ones, what is waited for.
  void hide_host(std::size_t inputs, std::size_t outputs);

  /// What a node reads of other IPUs comes to this one.
  void fetch(Frame& frame, const Node& node);
  void lower_graph(Frame& frame);
  void lower_node(Frame& frame, std::size_t number);
  std::string operation_name(const Frame& frame, const Node& node, std::size_t number);
  void begin_operation(Frame& frame, std::size_t number);
  /// The group of weights whose updates are merged that a node updates one of; null: none.
  const std::vector<std::string>* update_group(const Graph& graph, const Node& node) const;
  /// The work of an operator as its struct says, with the passes that options add.
  std::vector<Work> work_of(const Node& node, std::span<const TensorInfo> in,
                            std::span<const TensorInfo> out) const;
  /// Whether no node before has the same operator, attributes and inputs on this IPU; with outlining,
  /// whether no call before has brought the node's code.
  bool is_first_of_kind(const Node& node, std::size_t number, std::span<const TensorInfo> in);

  // Nodes with bodies: see control.hpp.
  void lower_repetition(Frame& frame, std::size_t number, const op::Repeat& repeat);
  void lower_call(Frame& frame, std::size_t number, std::size_t first_input);
  /// A body's frame: its inputs lie where the tensors outside lie that they stand for; no_tensor, or
  /// another info: nowhere yet.
  Frame body_frame(Frame& outside, const halftone::Program& body, std::span<const TensorId> inputs,
                   CallCopies copies = CallCopies::none);
  /// The tensor of a body gets memory of its own, and what lies elsewhere comes there.
  void copy_to(Frame& frame, TensorId id, const Placed& from);
  /// Inputs of the body that the node is the first to read.
  void copy_arguments(Frame& body, std::span<const TensorId> inputs);
  /// Where the outputs of the body go.
  static void find_results(Frame& body, Frame& outside, const Node& call);
  /// Outputs that are copied as soon as they are made are not kept for the end of the body.
  static void end_results_early(Frame& body);
  /// What the node makes of the results of the call.
  void copy_results(Frame& body, std::span<const TensorId> outputs);
  /// The program of a node's body.
  static const halftone::Program& body_of(const Frame& frame, std::size_t node, std::size_t body);
  void lower_body(Frame& body);

  Report& report_;
  Steps steps_;
  Layout layout_;
  Planner planner_;
  std::vector<std::int32_t> placement_;
  Boundary* boundary_;
  std::set<std::pair<std::string_view, std::vector<std::int64_t>>>
      outlined_{};          // kinds of nodes that have their code already
  std::int32_t body_ = -1;  // that is called; -1: the main graph
  std::string layer_{};     // of the node before, with its slash
  /// By IPU, the group that its newest operation updates a weight of.
  std::map<std::int32_t, const std::vector<std::string>*> newest_group_{};
};

// --- a run ---------------------------------------------------------------------------------------

inline std::int32_t Lowering::first_reader(const Graph& graph, TensorId id) const {
  for (std::size_t n = 0; n < placement_.size(); ++n) {
    const std::vector<TensorId>& inputs = graph.nodes[n].inputs;
    if (std::find(inputs.begin(), inputs.end(), id) != inputs.end()) return placement_[n];
  }
  return 0;
}

inline void Lowering::enter(Frame& frame) {
  if (boundary_ == nullptr) return;
  const Graph& graph = *frame.graph;
  for (std::size_t i = 0; i < graph.inputs.size() && i < boundary_->inputs.size(); ++i) {
    const Placed& before = boundary_->inputs[i];
    if (before.is_known) layout_.place_as(frame, graph.inputs[i], before);
  }
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.inputs) {
      if (id == no_tensor || !is_variable(graph.tensor(id)) || frame.placed[id].is_known) continue;
      const auto before = boundary_->variables.find(graph.name(id));
      if (before != boundary_->variables.end()) layout_.place_as(frame, id, before->second);
    }
  }
}

inline void Lowering::leave(const Frame& frame) const {
  if (boundary_ == nullptr) return;
  const Graph& graph = *frame.graph;
  boundary_->layouts = layout_.next_layout();
  boundary_->outputs.clear();
  for (const TensorId id : graph.outputs) boundary_->outputs.push_back(frame.placed[id]);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    if (!is_variable(graph.tensor(id)) || !frame.placed[id].is_known) continue;
    boundary_->variables.emplace(graph.name(id), frame.placed[id]);
  }
}

inline void Lowering::add_host_step(const Placed& x, const TensorInfo& info, bool is_first) {
  const std::int64_t on_tile = x.mapping.largest() * element_bytes(info);
  const std::int64_t latency = is_first ? steps_.t.host_latency_cycles : 0;
  steps_.add(StepKind::host, host_cycles(steps_.t, info.bytes(), on_tile), info.bytes(),
             x.mapping.pieces);
  report_.steps.back().cycles += latency;
}

inline void Lowering::run(const halftone::Program& program) {
  const Graph& graph = program.graph;
  report_.replicas = graph.replicas;
  Frame frame = layout_.frame(program);
  enter(frame);
  // Inputs come first: one host sync, then their streams.
  for (const TensorId id : graph.inputs) {
    const TensorInfo& info = graph.info(id);
    if (info.elements() == 0) continue;
    steps_.here.ipu = first_reader(graph, id);
    add_host_step(layout_.place(frame, id), info, report_.steps.empty());
  }
  const std::size_t inputs = report_.steps.size();
  lower_graph(frame);
  const std::size_t outputs = report_.steps.size();
  steps_.here.operation = -1;
  steps_.here.node = nullptr;
  for (const TensorId& id : graph.outputs) {
    const Placed& p = layout_.place(frame, id);
    steps_.here.ipu = p.ipu;
    add_host_step(p, graph.info(id), &id == &graph.outputs.front());
  }
  leave(frame);
  layout_.end_lives(frame);
  hide_host(inputs, outputs);
  report_.products_planned = planner_.planned();
  report_.products_reused = planner_.reused();
  steps_.finish(inputs > 0 || !graph.outputs.empty());
}

inline void Lowering::hide_host(std::size_t inputs, std::size_t outputs) {
  const std::int64_t io_tiles = report_.options.io_tiles;
  const auto is_input = [&](std::size_t i) { return i < inputs; };
  const auto is_output = [&](std::size_t i) { return i >= outputs; };
  std::int64_t in = 0, out = 0, rest = 0;
  for (std::size_t i = 0; i < report_.steps.size(); ++i) {
    (is_input(i) ? in : is_output(i) ? out : rest) += report_.steps[i].total();
  }
  const HostShares shares =
      host_shares(static_cast<double>(in), static_cast<double>(out), static_cast<double>(rest),
                  report_.options.prefetch, io_tiles > 0);
  for (std::size_t i = 0; i < report_.steps.size(); ++i) {
    if (!is_input(i) && !is_output(i)) continue;
    Step& step = report_.steps[i];
    const double share = is_input(i) ? shares.inputs : shares.outputs;
    if (share == 1) continue;
    // The tiles that compute still receive their share, or what the tiles beside them pass on.
    const std::int64_t on_tile = divide_up(step.bytes, io_tiles > 0 ? io_tiles : step.tiles);
    step.cycles = std::max(exchange_cycles(steps_.t, on_tile),
                           static_cast<std::int64_t>(share * static_cast<double>(step.cycles)));
  }
}

// --- nodes ---------------------------------------------------------------------------------------

inline void Lowering::fetch(Frame& frame, const Node& node) {
  for (const TensorId id : node.inputs) {
    if (id == no_tensor || !frame.placed[id].is_known) continue;
    if (frame.graph->info(id).elements() > 0) layout_.local(frame, id);
  }
}

inline void Lowering::lower_graph(Frame& frame) {
  for (std::size_t n = 0; n < frame.graph->nodes.size(); ++n) {
    frame.now = static_cast<std::int32_t>(frame.newest.size());
    lower_node(frame, n);
    if (frame.step[n] != halftone::Program::none) frame.newest.push_back(steps_.newest());
  }
}

inline std::string Lowering::operation_name(const Frame& frame, const Node& node,
                                            std::size_t number) {
  const Graph& graph = *frame.graph;
  if (!graph.name(node).empty()) return std::string(graph.name(node));
  // Nodes without a name are called after their weights; others are in the layer of those before.
  std::string weight;
  for (const TensorId id : node.inputs) {
    if (id == no_tensor || graph.tensor(id).role != Role::variable) continue;
    if (weight.empty()) weight = graph.name(id);
  }
  if (const std::size_t slash = weight.rfind('/'); slash != weight.npos) {
    layer_ = weight.substr(0, slash + 1);
  }
  const TensorId output = node.outputs.empty() ? no_tensor : node.outputs[0];
  std::string name(output == no_tensor ? std::string_view{} : graph.name(output));
  // "t12" is what saving a tensor without a name calls it.
  const bool is_made_up =
      name.empty() || (name[0] == 't' && name.find_first_not_of("0123456789", 1) == name.npos);
  if (!is_made_up) return name;
  if (!weight.empty()) return weight;
  const TensorId changed = output == no_tensor ? no_tensor : frame.updates[output];
  if (changed != no_tensor && !graph.name(changed).empty()) {
    return std::string(graph.name(changed)) + "/gradient";
  }
  if (name.empty()) name = joined({node.op->id.name, "_", std::to_string(number)});
  return layer_ + name;
}

inline bool Lowering::is_first_of_kind(const Node& node, std::size_t number,
                                       std::span<const TensorInfo> in) {
  std::vector<std::int64_t> kind{steps_.here.ipu, static_cast<std::int64_t>(in.size())};
  if (report_.options.outline) {
    kind.push_back(body_);
    kind.push_back(static_cast<std::int64_t>(number));
  }
  for (const TensorInfo& info : in) {
    kind.push_back(static_cast<std::int64_t>(info.type));
    kind.push_back(static_cast<std::int64_t>(info.rank()));
    kind.insert(kind.end(), info.shape.begin(), info.shape.end());
  }
  kind.insert(kind.end(), node.attributes.begin(), node.attributes.end());
  return outlined_.emplace(node.op->id.name, std::move(kind)).second;
}

inline void Lowering::begin_operation(Frame& frame, std::size_t number) {
  const Node& node = frame.graph->nodes[number];
  Steps::Here& here = steps_.here;
  Operation operation{.name = operation_name(frame, node, number),
                      .type = std::string(node.op->id.name),
                      .plan = {},
                      .ipu = here.ipu,
                      .program = here.program,
                      .first_step = static_cast<std::int32_t>(report_.steps.size()),
                      .part = node.place.part};
  here.graph = frame.graph;
  here.node = &node;
  here.operation = static_cast<std::int32_t>(report_.operations.size());
  here.passes = here.repeats;
  here.times = 1;
  for (const TensorId id : node.inputs) {
    if (id != no_tensor && frame.made_by[id] >= 0) operation.inputs.push_back(frame.made_by[id]);
  }
  for (const TensorId id : node.outputs) {
    if (id != no_tensor) frame.made_by[id] = here.operation;
  }
  report_.operations.push_back(std::move(operation));
}

inline const std::vector<std::string>* Lowering::update_group(const Graph& graph,
                                                              const Node& node) const {
  if (node.op->id != op::Update::id) return nullptr;
  for (const std::vector<std::string>& group : report_.options.merged_updates) {
    const bool is_in =
        std::find(group.begin(), group.end(), graph.name(node.inputs[0])) != group.end();
    if (is_in) return &group;
  }
  return nullptr;
}

inline std::vector<Work> Lowering::work_of(const Node& node, std::span<const TensorInfo> in,
                                           std::span<const TensorInfo> out) const {
  std::vector<Work> all;
  const bool is_stable =
      report_.options.stable_norms && node.op->id.name.ends_with("Normalization");
  for (const Work& work : node.op->cost(node.attributes, in, out)) {
    const bool is_second = !all.empty() && all.back().kind == Work::Kind::reduce &&
                           work.kind == Work::Kind::reduce && all.back().x == work.x;
    if (is_stable && is_second) {
      all.push_back({.kind = Work::Kind::pass, .x = work.x, .op = op::Sub::id.name});
    }
    all.push_back(work);
  }
  return all;
}

inline void Lowering::lower_node(Frame& frame, std::size_t number) {
  const Graph& graph = *frame.graph;
  const Node& node = graph.nodes[number];
  Steps::Here& here = steps_.here;
  if (here.program == 0 && !placement_.empty()) here.ipu = placement_[number];
  if (!is_operation(graph, node)) return;

  // Trailing optional tensors may be left out; they count as absent.
  const Slots& slots = node.op->signature;
  std::vector<TensorInfo> in, out;
  for (const TensorId id : node.inputs)
    in.push_back(id == no_tensor ? TensorInfo{} : graph.info(id));
  in.resize(std::max(in.size(), slots.inputs() - (slots.has_variadic_input() ? 1 : 0)));
  for (const TensorId id : node.outputs)
    out.push_back(id == no_tensor ? TensorInfo{} : graph.info(id));
  out.resize(std::max(out.size(), slots.outputs() - (slots.has_variadic_output() ? 1 : 0)));

  here.has_code = is_first_of_kind(node, number, in);
  begin_operation(frame, number);
  const std::vector<std::string>* const group = update_group(graph, node);
  here.is_merged = group != nullptr && newest_group_[here.ipu] == group;
  newest_group_[here.ipu] = group;
  const std::int32_t operation = here.operation;
  if (here.program == 0 && !placement_.empty()) fetch(frame, node);
  copy_arguments(frame, node.inputs);

  NodeWork work{steps_, layout_, planner_, frame, node, number};
  op::Repeat repeat;
  if (describe_repeat(graph, node, repeat)) {
    lower_repetition(frame, number, repeat);
  } else if (!subgraphs_of(node).empty()) {
    lower_call(frame, number, node.op->id == op::If::id ? 1 : 0);
  } else {
    if (is_view(node)) {
      work.is_view = true;
    } else if (node.op->elementwise) {
      lower_elementwise(work);
    } else if (node.op->cost != nullptr) {
      for (const Work& w : work_of(node, in, out)) lower_work(work, w);
    } else {
      lower_unknown(work, in, out);
    }
    here.times = 1;
    work.place_outputs();
  }
  copy_results(frame, node.outputs);
  here.is_merged = false;
  steps_.drop_received();
  report_.operations[static_cast<std::size_t>(operation)].end_step =
      static_cast<std::int32_t>(report_.steps.size());
}

}  // namespace halftone::ipu::detail
