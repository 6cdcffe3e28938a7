#include "ipu/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <halftone/ipu/slice.hpp>
#include <halftone/op/list.hpp>
#include <halftone/transform/infer.hpp>

#include "base/describe.hpp"
#include "exec/node.hpp"

namespace halftone::ipu {
namespace {

constexpr std::int64_t stack_bytes = 3168;
constexpr std::int64_t control_bytes = 700, control_bytes_per_step = 8;
constexpr std::int64_t host_exchange_bytes = 289;
constexpr std::int64_t call_cycles = 12, repeat_cycles = 10, branch_cycles = 20;
constexpr std::int64_t most_bytes = std::int64_t{1} << 46;
constexpr std::int64_t most_repeats = std::int64_t{1} << 32;
constexpr double most_flops = 1e16, most_cycles = 4e18;

std::int64_t element_bytes(const TensorInfo& info) { return std::max(size_in_bytes(info.type), 1); }

/// Distinct elements of an operand that `count` consecutive elements of y read.
std::int64_t distinct(const Dims& x, const Dims& y, std::int64_t count) {
  std::int64_t read = 1;
  for (std::size_t i = 0; i < y.size() && count > 0; ++i) {
    const std::size_t axis = y.size() - 1 - i;
    const std::int64_t extent = y[axis], covered = std::min(extent, count);
    if (i < x.size() && x[x.size() - 1 - i] != 1) read *= covered;
    count = extent > 0 ? divide_up(count, extent) : 0;
    if (count <= 1) break;
  }
  return read;
}

/// Code of a vertex type: families that assemble many loops are larger.
std::int64_t code_bytes(std::string_view vertex) {
  return vertex.starts_with("poplin::") || vertex.find("Reduc") != vertex.npos ? 1024 : 256;
}

}  // namespace

Lowering::Lowering(Report& report, std::vector<std::int32_t> placement)
    : report_(report),
      t_(report.target),
      planner_(report.target),
      placement_(std::move(placement)) {
  report_.memory.assign(static_cast<std::size_t>(t_.tiles()), {});
  report_.tile_cycles.assign(static_cast<std::size_t>(t_.tiles()), 0.0);
  report_.programs.push_back({.name = "main"});
}

std::int32_t Lowering::first_reader(const Graph& graph, TensorId id) const {
  for (std::size_t n = 0; n < placement_.size(); ++n) {
    const std::vector<TensorId>& inputs = graph.nodes[n].inputs;
    if (std::find(inputs.begin(), inputs.end(), id) != inputs.end()) return placement_[n];
  }
  return 0;
}

void Lowering::run(const Graph& graph) {
  Frame frame{&graph, std::vector<Placed>(graph.tensors.size())};
  // Inputs come first: one host sync, then their streams.
  ipu_ = 0;
  std::int64_t streams = 0;
  for (const TensorId id : graph.inputs) {
    const TensorInfo& info = graph.info(id);
    if (info.elements() == 0) continue;
    ipu_ = first_reader(graph, id);
    Placed& p = place(frame, id);
    Step& step = add_step(StepKind::host,
                          host_cycles(t_, info.bytes(), p.mapping.largest() * element_bytes(info)));
    if (streams++ == 0) step.cycles += t_.host_latency_cycles;
    step.bytes = info.bytes();
    step.tiles = p.mapping.pieces;
  }
  const std::size_t inputs_end = report_.steps.size();
  lower_graph(frame);
  std::int64_t results = 0;
  operation_ = -1;
  const std::int32_t before = program_;
  for (const TensorId id : graph.outputs) {
    Placed& p = place(frame, id);
    ipu_ = p.ipu;
    const TensorInfo& info = graph.info(id);
    Step& step = add_step(StepKind::host,
                          host_cycles(t_, info.bytes(), p.mapping.largest() * element_bytes(info)));
    if (results++ == 0) step.cycles += t_.host_latency_cycles;
    step.bytes = info.bytes();
    step.tiles = p.mapping.pieces;
    touch(p);
  }
  program_ = before;
  if (report_.options.prefetch) {
    // Ready on the host since the run before: only what that takes longer is waited for.
    std::int64_t rest = 0, host = 0;
    for (std::size_t i = 0; i < report_.steps.size(); ++i) {
      (i < inputs_end ? host : rest) += report_.steps[i].total();
    }
    for (std::size_t i = 0; i < inputs_end; ++i) {
      Step& step = report_.steps[i];
      const Variable& v = report_.variables[i];
      const std::int64_t on_tile = exchange_cycles(t_, v.mapping.largest() * v.element_bytes);
      const double waits =
          host > rest ? static_cast<double>(host - rest) / static_cast<double>(host) : 0.0;
      step.cycles =
          std::max(on_tile, static_cast<std::int64_t>(waits * static_cast<double>(step.cycles)));
    }
  }

  report_.products_planned = planner_.planned();
  report_.products_reused = planner_.reused();
  for (std::int64_t tile = 0; tile < t_.tiles(); ++tile) {
    auto& memory = report_.memory[static_cast<std::size_t>(tile)];
    const auto add = [&](Category category, std::int64_t bytes) {
      memory[static_cast<std::size_t>(category)] += bytes;
    };
    add(Category::stack, stack_bytes);
    add(Category::control_code, control_bytes);
    if (streams + results > 0) add(Category::host_exchange_code, host_exchange_bytes);
  }
}

// --- steps ---------------------------------------------------------------------------------------

Step& Lowering::add_step(StepKind kind, std::int64_t cycles) {
  cycles_ += static_cast<double>(cycles) * static_cast<double>(repeats_ * times_);
  check_countable("a run takes more cycles than a profile counts", cycles_, most_cycles);
  Step step;
  step.kind = kind;
  step.operation = operation_;
  step.ipu = ipu_;
  step.program = program_;
  step.repeats = repeats_ * times_;
  step.cycles = cycles;
  step.tiles = t_.tiles_per_ipu;
  report_.steps.push_back(step);
  if (has_code_) {
    const auto first = static_cast<std::size_t>(ipu_ * t_.tiles_per_ipu);
    for (std::size_t i = 0; i < static_cast<std::size_t>(t_.tiles_per_ipu); ++i) {
      report_.memory[first + i][static_cast<std::size_t>(Category::control_code)] +=
          control_bytes_per_step;
    }
  }
  return report_.steps.back();
}

void Lowering::check_countable(std::string_view what, double number, double most) const {
  if (number <= most) return;
  const std::string node =
      node_ == nullptr ? "" : halftone::detail::node_text(*node_->op, frame_->graph->name(*node_));
  fail(ErrorKind::unsupported, {.what = what,
                                .node = node,
                                .expected = fmt::format("at most {:g}", most),
                                .found = fmt::format("{:g}", number)});
}

std::int64_t Lowering::flops_of(std::int64_t elements, std::int64_t each) const {
  check_countable(
      "an operator computes more than a profile counts",
      static_cast<double>(elements) * static_cast<double>(each) * static_cast<double>(times_),
      most_flops);
  return elements * each * times_;
}

std::int16_t Lowering::vertex_number(std::string_view name) {
  const auto known = vertex_numbers_.find(name);
  if (known != vertex_numbers_.end()) return known->second;
  const auto number = static_cast<std::int16_t>(report_.vertices.size());
  report_.vertices.emplace_back(name);
  vertex_numbers_.emplace(std::string(name), number);
  return number;
}

void Lowering::compute(std::string_view vertex_name, const Mapping& over, std::int64_t cycles,
                       double balance, std::int64_t flops) {
  if (over.pieces == 0 || cycles <= 0) return;
  const std::int16_t number = vertex_number(vertex_name);
  const std::int64_t launch = report_.options.has_launch ? t_.launch_cycles : 0;
  std::vector<bool>& present = has_vertex_[{number, ipu_}];
  present.resize(static_cast<std::size_t>(t_.tiles_per_ipu));
  const auto first = static_cast<std::size_t>(ipu_ * t_.tiles_per_ipu);
  const auto largest = static_cast<double>(std::max<std::int64_t>(over.largest(), 1));
  const double times = static_cast<double>(repeats_ * times_);
  double sum = 0;
  for (std::int64_t piece = 0; piece < over.pieces; ++piece) {
    const auto tile = static_cast<std::size_t>((over.first_tile + piece) % over.tiles);
    const double own =
        static_cast<double>(cycles) * static_cast<double>(over.on_piece(piece)) / largest * balance;
    sum += own;
    report_.tile_cycles[first + tile] += own * times;
    auto& memory = report_.memory[first + tile];
    if (!present[tile]) {
      present[tile] = true;
      memory[static_cast<std::size_t>(Category::vertex_code)] += code_bytes(vertex_name);
    }
    if (has_code_) memory[static_cast<std::size_t>(Category::vertex_state)] += 4 + 3 * 8;
  }
  Step& step = add_step(StepKind::compute, cycles + launch);
  step.vertex = number;
  step.mean_cycles = sum / static_cast<double>(t_.tiles_per_ipu);
  step.tiles = over.pieces;
  if (operation_ >= 0) {
    // A product's own passes share its operations; loops around a node repeat them.
    Operation& operation = report_.operations[static_cast<std::size_t>(operation_)];
    const std::int64_t passes = passes_of(operation.program);
    check_countable("an operator computes more than a profile counts",
                    static_cast<double>(flops) * static_cast<double>(passes), most_flops);
    step.flops = flops * passes;
    operation.flops += step.flops;
  }
  const auto now = static_cast<std::int32_t>(report_.steps.size()) - 1;
  for (const std::int32_t v : receive_) {
    report_.variables[static_cast<std::size_t>(v)].last_step = now;
  }
  receive_.clear();
}

void Lowering::exchange(std::int64_t bytes_on_tile, std::int64_t tiles, std::int64_t cycles) {
  if (bytes_on_tile <= 0 || tiles <= 0) return;
  tiles = std::min(tiles, t_.tiles_per_ipu);
  add_step(StepKind::sync, t_.sync_cycles);
  Step& step = add_step(StepKind::exchange, cycles + t_.exchange_setup_cycles);
  step.bytes = bytes_on_tile * tiles;
  step.tiles = tiles;
  step.mean_cycles = static_cast<double>(cycles * tiles) / static_cast<double>(t_.tiles_per_ipu);
  if (has_code_) {
    // A message for each run: 256 bytes, twice what linear mappings keep together at least.
    const std::int64_t messages = std::clamp<std::int64_t>(bytes_on_tile / 256, 1, tiles);
    const auto first = static_cast<std::size_t>(ipu_ * t_.tiles_per_ipu);
    for (std::int64_t i = 0; i < tiles; ++i) {
      report_.memory[first + static_cast<std::size_t>(i)]
                    [static_cast<std::size_t>(Category::internal_exchange_code)] +=
          16 + 2 * 4 * messages;
    }
  }
  Mapping buffer = spread_mapping(t_, bytes_on_tile * tiles, tiles);
  const std::string of =
      operation_ >= 0 ? report_.operations[static_cast<std::size_t>(operation_)].name : "main";
  receive_.push_back(add_variable(of + "/received", buffer, 1, Category::temporaries));
}

void Lowering::rearrange(const Placed& from, const Mapping& to, std::int64_t bytes) {
  exchange(to.largest() * bytes, to.pieces);
  touch(from);
}

std::int32_t Lowering::open_program(std::string name, std::int64_t repeats) {
  const std::int32_t before = program_;
  report_.programs.push_back(
      {.name = std::move(name), .parent = program_, .repeats = repeats, .operation = operation_});
  program_ = static_cast<std::int32_t>(report_.programs.size()) - 1;
  if (repeats_ > most_repeats / std::max<std::int64_t>(repeats, 1)) {
    fail(ErrorKind::unsupported,
         {.what = "loops within loops go round more often than a profile counts",
          .node = halftone::detail::node_text(*node_->op, frame_->graph->name(*node_)),
          .expected = fmt::format("at most {} passes", most_repeats)});
  }
  repeats_ *= repeats;
  return before;
}

void Lowering::close_program(std::int32_t before) {
  program_ = before;
  repeats_ = passes_of(before);
}

std::int64_t Lowering::passes_of(std::int32_t program) const {
  std::int64_t passes = 1;
  for (; program > 0; program = report_.programs[static_cast<std::size_t>(program)].parent) {
    passes *= report_.programs[static_cast<std::size_t>(program)].repeats;
  }
  return passes;
}

// --- tensors -------------------------------------------------------------------------------------

std::int32_t Lowering::add_variable(std::string name, const Mapping& mapping, std::int64_t bytes,
                                    Category category) {
  Variable v;
  v.name = std::move(name);
  v.element_bytes = bytes;
  v.mapping = mapping;
  v.ipu = ipu_;
  v.first_step = v.last_step = std::max(0, static_cast<std::int32_t>(report_.steps.size()) - 1);
  v.category = category;
  v.is_always_live = category != Category::temporaries;
  v.operation = operation_;
  report_.variables.push_back(std::move(v));
  return static_cast<std::int32_t>(report_.variables.size()) - 1;
}

Mapping Lowering::next_linear(std::int64_t elements, ElementType type) {
  std::int64_t& next = next_tile_[ipu_];
  const Mapping m = linear_mapping(t_, elements, type, next);
  next = m.end_tile();
  return m;
}

Lowering::Placed Lowering::linear(const TensorInfo& info) {
  Placed p;
  p.is_known = true;
  p.ipu = ipu_;
  p.mapping = next_linear(info.elements(), info.type);
  p.layout = layouts_++;
  return p;
}

void Lowering::check_size(const Frame& frame, TensorId id) const {
  const TensorInfo& info = frame.graph->info(id);
  const std::int64_t bytes = info.bytes();
  if (bytes >= 0 && bytes <= most_bytes) return;
  fail(ErrorKind::memory, {.what = "a tensor is larger than all memory",
                           .tensor = frame.graph->name(id),
                           .expected = halftone::detail::bytes_text(
                               static_cast<std::uint64_t>(t_.ipus * t_.bytes_per_ipu())),
                           .found = halftone::detail::to_text(info)});
}

Lowering::Placed& Lowering::place(Frame& frame, TensorId id, const Placed* wanted) {
  Placed& p = frame.placed[static_cast<std::size_t>(id)];
  if (p.is_known) return p;
  check_size(frame, id);
  const TensorRecord& record = frame.graph->tensor(id);
  if (wanted != nullptr && wanted->mapping.pieces > 0) {
    p = *wanted;
    p.mapping.elements = record.info.elements();
    p.mapping.grain = 1;
    p.mapping.pieces = std::min(wanted->mapping.pieces, p.mapping.elements);
    p.variables.clear();
  } else {
    p = linear(record.info);
  }
  p.ipu = ipu_;
  const Category category = record.role == Role::variable   ? Category::variables
                            : record.role == Role::constant ? Category::constants
                                                            : Category::temporaries;
  std::string name(frame.graph->name(id));
  if (name.empty()) name = fmt::format("#{}", id);
  p.variables = {add_variable(std::move(name), p.mapping, element_bytes(record.info), category)};
  return p;
}

Lowering::Placed& Lowering::local(Frame& frame, TensorId id, const Placed* wanted) {
  Placed& p = place(frame, id, wanted);
  if (p.ipu == ipu_) return p;
  Placed& copy = frame.copies[{id, ipu_}];
  if (copy.is_known) return copy;
  touch(p);
  const TensorInfo& info = frame.graph->info(id);
  Step& sync = add_step(StepKind::sync, global_sync_cycles(t_));
  sync.tiles = t_.tiles_per_ipu;
  Step& link = add_step(StepKind::link, link_cycles(t_, info.bytes()));
  link.bytes = info.bytes();
  for (const std::int32_t ipu : {p.ipu, ipu_}) {
    for (std::int64_t i = 0; i < t_.tiles_per_ipu; ++i) {
      report_.memory[static_cast<std::size_t>(ipu * t_.tiles_per_ipu + i)]
                    [static_cast<std::size_t>(Category::global_exchange_code)] += 24;
    }
  }
  copy = p;
  copy.ipu = ipu_;
  copy.variables = {add_variable(std::string(frame.graph->name(id)) + "/copy", copy.mapping,
                                 element_bytes(info), Category::temporaries)};
  return copy;
}

void Lowering::touch(const Placed& placed) {
  const auto now = std::max(0, static_cast<std::int32_t>(report_.steps.size()) - 1);
  for (const std::int32_t v : placed.variables) {
    std::int32_t& last = report_.variables[static_cast<std::size_t>(v)].last_step;
    last = std::max(last, now);
  }
}

void Lowering::place_output(Frame& frame, TensorId id, const Placed& like) {
  Placed& p = frame.placed[static_cast<std::size_t>(id)];
  const TensorInfo& info = frame.graph->info(id);
  if (info.elements() == 0) return;
  if (like.mapping.elements == info.elements()) {
    p = like;
  } else {
    p = linear(info);
  }
  p.is_known = true;
  p.ipu = ipu_;
  std::string name(frame.graph->name(id));
  if (name.empty() && operation_ >= 0) {
    name = report_.operations[static_cast<std::size_t>(operation_)].name + ":0";
  }
  p.variables = {
      add_variable(std::move(name), p.mapping, element_bytes(info), Category::temporaries)};
  if (operation_ >= 0) {
    report_.operations[static_cast<std::size_t>(operation_)].output_bytes += info.bytes();
  }
}

// --- nodes ---------------------------------------------------------------------------------------

void Lowering::lower_graph(Frame& frame) {
  const Graph& graph = *frame.graph;
  frame.last_use.assign(graph.tensors.size(), -1);
  frame.made_by.assign(graph.tensors.size(), -1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const TensorId id : graph.nodes[n].inputs) {
      if (id != no_tensor) {
        frame.last_use[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(n);
      }
    }
  }
  for (const TensorId id : graph.outputs) {
    frame.last_use[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(graph.nodes.size());
  }
  // What an update reads belongs to its variable, and what that is another form of.
  frame.updates.assign(graph.tensors.size(), no_tensor);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    TensorId changed = no_tensor;
    for (std::size_t i = 0; i < node.inputs.size() && changed == no_tensor; ++i) {
      if (node.inputs[i] != no_tensor && node.op->signature.input_slot(i).modified) {
        changed = node.inputs[i];
      }
    }
    const TensorId output = node.outputs.empty() ? no_tensor : node.outputs[0];
    if (changed == no_tensor && node.inputs.size() == 1 && output != no_tensor) {
      changed = frame.updates[static_cast<std::size_t>(output)];
    }
    for (const TensorId id : node.inputs) {
      if (id == no_tensor || graph.tensor(id).role != Role::value) continue;
      if (changed != no_tensor) frame.updates[static_cast<std::size_t>(id)] = changed;
    }
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) lower_node(frame, n);
}

std::string Lowering::operation_name(const Frame& frame, const Node& node, std::size_t number) {
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
  const TensorId changed =
      output == no_tensor ? no_tensor : frame.updates[static_cast<std::size_t>(output)];
  if (changed != no_tensor && !graph.name(changed).empty()) {
    return std::string(graph.name(changed)) + "/gradient";
  }
  if (name.empty()) name = fmt::format("{}_{}", node.op->id.name, number);
  return layer_ + name;
}

void Lowering::lower_node(Frame& frame, std::size_t number) {
  const Graph& graph = *frame.graph;
  const Node& node = graph.nodes[number];
  if (program_ == 0 && !placement_.empty()) ipu_ = placement_[number];

  std::vector<TensorInfo> in, out;
  bool is_empty = true;
  std::string signature(node.op->id.name);
  for (const TensorId id : node.inputs) {
    in.push_back(id == no_tensor ? TensorInfo{} : graph.info(id));
    signature += id == no_tensor ? "-" : halftone::detail::to_text(in.back());
  }
  for (const TensorId id : node.outputs) {
    out.push_back(id == no_tensor ? TensorInfo{} : graph.info(id));
    is_empty = is_empty && (id == no_tensor || out.back().elements() == 0);
  }
  // What is left out at the end is as unknown as what is left out before.
  const Slots& slots = node.op->signature;
  in.resize(std::max(in.size(), slots.inputs() - (slots.has_variadic_input() ? 1 : 0)));
  out.resize(std::max(out.size(), slots.outputs() - (slots.has_variadic_output() ? 1 : 0)));
  for (const TensorId id : node.outputs) {
    if (id != no_tensor) check_size(frame, id);
  }
  // Without outputs there is something to do for those alone that say what.
  if (is_empty && (!node.outputs.empty() || node.op->cost == nullptr)) return;
  for (const Word word : node.attributes) signature += fmt::format(",{}", word);
  has_code_ = outlined_.insert(fmt::format("{}@{}", signature, ipu_)).second;

  std::string name = operation_name(frame, node, number);
  const std::int32_t outer = operation_;
  operation_ = static_cast<std::int32_t>(report_.operations.size());
  Operation operation;
  operation.name = std::move(name);
  operation.type = std::string(node.op->id.name);
  operation.ipu = ipu_;
  operation.program = program_;
  operation.first_step = static_cast<std::int32_t>(report_.steps.size());
  for (const TensorId id : node.inputs) {
    const std::int32_t made_by = id == no_tensor ? -1 : frame.made_by[static_cast<std::size_t>(id)];
    if (made_by >= 0) operation.inputs.push_back(made_by);
  }
  for (const TensorId id : node.outputs) {
    if (id != no_tensor) frame.made_by[static_cast<std::size_t>(id)] = operation_;
  }
  report_.operations.push_back(std::move(operation));

  frame_ = &frame;
  node_ = &node;
  is_view_ = has_home_ = false;
  home_ = {};
  broadcast_bytes_ = 0;
  times_ = 1;

  op::Repeat repeat;
  const bool shares = is_view(node);
  if (describe_repeat(graph, node, repeat)) {
    lower_repetition(frame, node, repeat);
  } else if (!subgraphs_of(node).empty()) {
    lower_call(frame, node, node.op->id == op::If::id ? 1 : 0);
  } else if (shares) {
    is_view_ = true;
    place_outputs(frame, node, number);
  } else if (node.op->elementwise) {
    lower_elementwise(frame, node);
    place_outputs(frame, node, number);
  } else {
    if (node.op->cost != nullptr) {
      for (const Work& work : node.op->cost(node.attributes, in, out)) lower_work(work);
    } else {
      lower_other(node, in, out);
    }
    times_ = 1;
    place_outputs(frame, node, number);
  }
  if (!is_view_) {
    for (const TensorId id : node.inputs) {
      if (id != no_tensor) touch(frame.placed[static_cast<std::size_t>(id)]);
      const auto copy = frame.copies.find({id, ipu_});
      if (copy != frame.copies.end()) touch(copy->second);
    }
  }
  receive_.clear();
  report_.operations[static_cast<std::size_t>(operation_)].end_step =
      static_cast<std::int32_t>(report_.steps.size());
  operation_ = outer;
}

void Lowering::place_outputs(Frame& frame, const Node& node, std::size_t number) {
  const Graph& graph = *frame.graph;
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    const TensorId id = node.outputs[o];
    if (id == no_tensor) continue;
    Placed& p = frame.placed[static_cast<std::size_t>(id)];
    const int shares = node.op->signature.output_slot(o).shares;
    if (shares >= 0 || is_view_) {
      // A view of one input, or of several side by side.
      bool found = false;
      const std::size_t count = is_view_ && shares < 0 ? node.inputs.size() : 1;
      for (std::size_t i = 0; i < count; ++i) {
        const TensorId base = node.inputs[shares >= 0 ? static_cast<std::size_t>(shares) : i];
        if (base == no_tensor || graph.info(base).elements() == 0) continue;
        const bool is_part = graph.info(base).type == graph.info(id).type &&
                             (i == 0 || node.op->id == op::Concat::id);
        if (!is_part) continue;
        const Placed& from = local(frame, base);
        if (!found) {
          p = from;
          if (shares < 0) {
            p.layout = layouts_++;
            p.is_grouped = false;
          }
        } else {
          p.variables.insert(p.variables.end(), from.variables.begin(), from.variables.end());
        }
        found = true;
      }
      if (found) {
        p.mapping.elements = graph.info(id).elements();
        p.mapping.grain = 1;
        p.mapping.pieces = std::min(std::max<std::int64_t>(p.mapping.pieces, 1),
                                    std::max<std::int64_t>(p.mapping.elements, 1));
        continue;
      }
    }
    if (o == 0 && overwrites_input(frame, node, number)) {
      p = frame.placed[static_cast<std::size_t>(node.inputs[0])];
      touch(p);
      continue;
    }
    place_output(frame, id, has_home_ ? home_ : Placed{});
  }
}

bool Lowering::overwrites_input(const Frame& frame, const Node& node, std::size_t number) const {
  const Graph& graph = *frame.graph;
  const TensorId input = node.inputs.empty() ? no_tensor : node.inputs[0];
  if (input == no_tensor || !(node.op->elementwise || node.op->in_place)) return false;
  const Placed& x = frame.placed[static_cast<std::size_t>(input)];
  const TensorRecord& record = graph.tensor(input);
  if (record.role != Role::value || !x.is_known || x.ipu != ipu_ || x.variables.size() != 1 ||
      record.info.bytes() != graph.info(node.outputs[0]).bytes() ||
      frame.last_use[static_cast<std::size_t>(input)] != static_cast<std::int32_t>(number) ||
      report_.variables[static_cast<std::size_t>(x.variables[0])].is_always_live) {
    return false;
  }
  for (std::size_t t = 0; t < frame.placed.size(); ++t) {
    const Placed& other = frame.placed[t];
    const bool is_shared = static_cast<TensorId>(t) != input && other.is_known &&
                           frame.last_use[t] > static_cast<std::int32_t>(number) &&
                           std::find(other.variables.begin(), other.variables.end(),
                                     x.variables[0]) != other.variables.end();
    if (is_shared) return false;
  }
  return true;
}

void Lowering::fetch_inputs(Frame& frame, const Node& node) {
  for (const TensorId id : node.inputs) {
    if (id != no_tensor && frame.graph->info(id).elements() > 0) local(frame, id);
  }
}

void Lowering::lower_elementwise(Frame& frame, const Node& node) {
  const Graph& graph = *frame.graph;
  const TensorInfo& y = graph.info(node.outputs[0]);
  const std::int64_t elements = y.elements();
  // The largest operand keeps its place; one that was computed before one that lies still.
  TensorId chosen = no_tensor;
  for (const TensorId id : node.inputs) {
    if (id == no_tensor || graph.info(id).elements() != elements) continue;
    const bool is_placed = frame.placed[static_cast<std::size_t>(id)].is_known;
    if (chosen == no_tensor ||
        (is_placed && !frame.placed[static_cast<std::size_t>(chosen)].is_known)) {
      chosen = id;
    }
  }
  home_ = chosen != no_tensor ? local(frame, chosen) : linear(y);
  home_.ipu = ipu_;
  has_home_ = true;
  const std::int64_t on_tile = home_.mapping.largest();
  bool has_scalar = false, has_vector = false;
  std::int64_t columns = 1, received = 0;
  for (const TensorId id : node.inputs) {
    if (id == no_tensor || id == chosen) continue;
    const TensorInfo& info = graph.info(id);
    const std::int64_t count = info.elements();
    if (count == elements) {
      const Placed& p = local(frame, id, &home_);
      if (p.layout != home_.layout || p.mapping != home_.mapping) {
        received += on_tile * element_bytes(info);
      }
      continue;
    }
    local(frame, id);
    received += distinct(info.shape, y.shape, on_tile) * element_bytes(info);
    if (count == 1) {
      has_scalar = true;
    } else {
      has_vector = true;
      columns = info.shape.empty() ? 1 : info.shape.back();
    }
  }
  exchange(received, home_.mapping.pieces);

  const std::string_view op = node.op->id.name;
  constexpr ElementwiseCost unlisted{"", {10, 1}, {10, 1}, {10, 1}};
  const ElementwiseCost* row = find_elementwise(op);
  const ElementwiseCost& cost = row != nullptr ? *row : unlisted;
  const ElementType type = graph.info(chosen != no_tensor ? chosen : node.outputs[0]).type;
  std::size_t operands = 0;
  for (const TensorId id : node.inputs) operands += id != no_tensor ? 1 : 0;
  std::int64_t cycles = 0;
  if (operands <= 1) {
    cycles = unary_cycles(t_, cost, on_tile, type);
  } else if (has_vector && columns > 1 && cost.loop(type, false).cycles <= 4) {
    const std::int64_t wide = std::min(columns, on_tile);
    cycles = vector_broadcast_cycles(t_, divide_up(on_tile, wide), wide, type);
  } else if (has_scalar && operands == 2) {
    cycles = scalar_broadcast_cycles(t_, cost, on_tile, type);
  } else {
    cycles = binary_cycles(t_, cost, on_tile, type);
  }
  compute(fmt::format("popops::{}<{}>", op, halftone::name(type)), home_.mapping, cycles, 1,
          elements);
}

void Lowering::lower_other(const Node& node, std::span<const TensorInfo> in,
                           std::span<const TensorInfo> out) {
  // What is not changed comes to linear layout, a float operation a cycle and worker turn, 8 bytes
  // of results a cycle.
  fetch_inputs(*frame_, node);
  std::int64_t bytes = 0, received = 0;
  const TensorInfo* largest = nullptr;
  for (const TensorInfo& info : out) {
    if (!info.is_known()) continue;
    bytes += info.bytes();
    if (largest == nullptr || info.elements() > largest->elements()) largest = &info;
  }
  if (largest == nullptr) return;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].is_known() && !node.op->signature.input_slot(i).modified) received += in[i].bytes();
  }
  home_ = linear(*largest);
  has_home_ = true;
  const std::int64_t tiles = std::max<std::int64_t>(home_.mapping.pieces, 1);
  exchange(divide_up(received, tiles), tiles);
  std::int64_t flops = node.op->flops(node.attributes, in, out);
  flops = std::max(flops, largest->elements());
  compute(fmt::format("halftone::{}", node.op->id.name), home_.mapping,
          30 + divide_up(flops, tiles) + copy_cycles(t_, divide_up(bytes, tiles)), 1, flops);
}

// --- what operators say --------------------------------------------------------------------------

void Lowering::transfer(const TensorInfo& x) {
  if (x.elements() == 0) return;
  const TensorId id = node_->outputs.empty() ? node_->inputs[0] : node_->outputs[0];
  home_ = node_->outputs.empty() ? local(*frame_, id) : linear(x);
  has_home_ = true;
  const std::int64_t on_tile = home_.mapping.largest() * element_bytes(x);
  Step& step = add_step(StepKind::streaming,
                        std::max(streaming_cycles(t_, x.bytes()), exchange_cycles(t_, on_tile)));
  step.bytes = x.bytes();
  step.tiles = home_.mapping.pieces;
}

void Lowering::lower_work(const Work& w) {
  check_countable("an operator goes round more often than a profile counts",
                  static_cast<double>(repeats_) * static_cast<double>(w.times),
                  static_cast<double>(most_repeats));
  times_ = w.times;
  switch (w.kind) {
    case Work::Kind::product:
      return product(w.product);
    case Work::Kind::pass:
      return pass(w.op, w.x);
    case Work::Kind::reduce:
      return reduce(w.x, w.count, w.is_sum);
    case Work::Kind::cast:
      return cast(w.x, w.to);
    case Work::Kind::view:
      is_view_ = true;
      return;
    case Work::Kind::gather:
      return gather(w.x, w.count, w.each, w.groups);
    case Work::Kind::scatter:
      return scatter(w.x, w.count, w.each, w.is_sum, w.groups);
    case Work::Kind::dynamic_slice:
      return dynamic_slice(w.x, w.count);
    case Work::Kind::keep:
      return keep(w.x);
    case Work::Kind::move:
      return move(w.x);
    case Work::Kind::fill:
      return fill(w.x);
    case Work::Kind::pool:
      return pool(w.x, w.count, !w.is_sum);
    case Work::Kind::random:
      return random(w.x, w.count);
    case Work::Kind::top_k:
      return top_k(w.x, w.count, w.each);
    case Work::Kind::vertex:
      return vertex(w.x, w.count);
    case Work::Kind::transfer:
      return transfer(w.x);
  }
}

void Lowering::product(const ProductExtents& e) {
  Frame& frame = *frame_;
  const Graph& graph = *frame.graph;
  if (e.groups < 1 || e.rows < 1 || e.inner < 1 || e.columns < 1) return;
  const TensorInfo& x = graph.info(node_->inputs[0]);
  const TensorInfo& y = graph.info(node_->outputs[0]);
  Product p{e.groups,         e.rows,       e.inner, e.columns, e.kernel_rows,
            e.kernel_columns, e.input_rows, e.width, x.type,    y.type};
  if (!is_floating_point(x.type) || size_in_bytes(x.type) > 4) {
    p.input = p.output = ElementType::float32;
  }
  check_countable("an operator computes more than a profile counts",
                  2 * p.macs() * static_cast<double>(times_), most_flops);
  const ProductOptions asked =
      ProductOptions{.available_memory_proportion = report_.options.available_memory_proportion,
                     .partials = report_.options.partials}
          .with(node_->planning);
  const ProductPlan plan = planner_.plan(p, asked);
  const std::int64_t tiles = plan.tiles();
  Operation& operation = report_.operations[static_cast<std::size_t>(operation_)];
  operation.plan = fmt::format("groups {} x rows {} x columns {} x inner {}{}{}", plan.split_groups,
                               plan.split_rows, plan.split_columns, plan.split_inner,
                               plan.serial() > 1 ? fmt::format(", serial {}", plan.serial()) : "",
                               plan.is_swapped ? ", swapped" : "");
  if (!plan.fits) operation.plan += ", over the memory proportion";

  // Operands: what lies still lies as the plan wants it, what was computed may have to be
  // regrouped first.
  Placed wanted;
  wanted.is_known = wanted.is_grouped = true;
  wanted.ipu = ipu_;
  std::int64_t regrouped = 0;
  for (std::size_t i = 0; i < 2 && i < node_->inputs.size(); ++i) {
    const TensorId id = node_->inputs[i];
    if (id == no_tensor) continue;
    const TensorInfo& info = graph.info(id);
    wanted.layout = layouts_++;
    wanted.mapping = spread_mapping(t_, info.elements(), tiles);
    const bool was_placed = frame.placed[static_cast<std::size_t>(id)].is_known;
    const Placed& operand = local(frame, id, &wanted);
    if (was_placed && !operand.is_grouped && graph.tensor(id).role != Role::variable &&
        graph.tensor(id).role != Role::constant) {
      const std::int64_t bytes = divide_up(info.bytes(), tiles);
      exchange(bytes, tiles);
      if (plan.vertex == Vertex::dot) continue;  // reads rows as they are
      regrouped += rearrange_cycles(t_, bytes, p.input, e.inner % 4 == 0);
    }
  }
  const Mapping over = spread_mapping(t_, std::max(y.elements(), tiles), tiles);
  const auto type = halftone::name(p.input);
  if (regrouped > 0) compute(fmt::format("poplin::Transpose<{}>", type), over, regrouped);

  const double padded = static_cast<double>(plan.compute) * static_cast<double>(plan.serial()) *
                        static_cast<double>(tiles);
  const double rate = static_cast<double>(t_.macs_per_cycle(
      p.input, size_in_bytes(p.input) == 4 ? ElementType::float32 : asked.partials));
  const double balance = std::clamp(2 * p.macs() / rate / padded, 0.5, 1.0);
  const auto flops = static_cast<std::int64_t>(2 * p.macs()) * times_;
  const std::int32_t before = plan.serial() > 1 ? open_program("Repeat", plan.serial()) : program_;
  const std::int64_t sync = t_.sync_cycles + t_.exchange_setup_cycles;
  const std::int64_t moved = plan.exchange - sync;
  exchange(std::max<std::int64_t>(plan.input_bytes + plan.weight_bytes, 1), tiles, moved);
  const Mapping sums = spread_mapping(t_, plan.partials_bytes * tiles, tiles);
  const std::int32_t partials =
      add_variable(operation.name + "/partials", sums, 1, Category::temporaries);
  compute(fmt::format("{}<{}>", name(plan.vertex), type), over, plan.compute, balance, flops);
  if (plan.split_inner > 1) {
    const std::int64_t reduced = plan.reduce_exchange - sync;
    exchange(reduced * t_.exchange_bytes_per_cycle, tiles, reduced);
    compute("poplin::ConvPartialReduce", over, plan.reduce);
  } else if (plan.reduce > 0) {
    compute("popops::Cast", over, plan.reduce);
  }
  if (plan.update > 0) copy_on_tiles(plan.update, tiles);
  report_.variables[static_cast<std::size_t>(partials)].last_step =
      static_cast<std::int32_t>(report_.steps.size()) - 1;
  if (plan.serial() > 1) {
    Step& control = add_step(StepKind::control, repeat_cycles);
    control.tiles = t_.tiles_per_ipu;
    close_program(before);
  }
  home_ = wanted;
  home_.mapping = spread_mapping(t_, y.elements(), tiles);
  home_.layout = layouts_++;
  has_home_ = true;
}

Mapping Lowering::work_on(const TensorInfo& x) {
  const std::int64_t elements = x.elements();
  if (!has_home_ || home_.mapping.elements != elements) {
    fetch_inputs(*frame_, *node_);
    const TensorId id = node_->inputs.empty() ? no_tensor : node_->inputs[0];
    const bool is_operand = id != no_tensor && frame_->graph->info(id).elements() == elements;
    Placed next = is_operand ? local(*frame_, id) : linear(x);
    if (!has_home_ || is_operand || elements > home_.mapping.elements) home_ = next;
    has_home_ = true;
  }
  return home_.mapping.elements == elements ? home_.mapping : linear_mapping(t_, elements, x.type);
}

void Lowering::copy_on_tiles(std::int64_t cycles, std::int64_t tiles) {
  Step& step = add_step(StepKind::copy, cycles);
  step.tiles = tiles;
  step.mean_cycles = static_cast<double>(cycles * tiles) / static_cast<double>(t_.tiles_per_ipu);
}

void Lowering::keep(const TensorInfo& x) {
  if (x.elements() == 0) return;
  fetch_inputs(*frame_, *node_);
  home_ = local(*frame_, node_->inputs[0]);
  has_home_ = true;
  const auto number = static_cast<std::size_t>(node_ - frame_->graph->nodes.data());
  if (overwrites_input(*frame_, *node_, number)) return;
  copy_on_tiles(copy_cycles(t_, home_.mapping.largest() * element_bytes(x)), home_.mapping.pieces);
}

void Lowering::move(const TensorInfo& x) {
  if (x.elements() == 0) return;
  const Mapping over = work_on(x);
  exchange(over.largest() * element_bytes(x), over.pieces);
}

void Lowering::fill(const TensorInfo& y) {
  if (y.elements() == 0) return;
  const Mapping over = work_on(y);
  const std::int64_t on_worker = divide_up(over.largest(), t_.worker_contexts);
  compute(fmt::format("popops::Fill<{}>", halftone::name(y.type)), over,
          fill_cycles(t_, on_worker, y.type));
}

void Lowering::vertex(const TensorInfo& x, std::int64_t worker_cycles) {
  if (x.elements() == 0) return;
  const Mapping over = work_on(x);
  check_countable("an operator takes more cycles than a profile counts",
                  static_cast<double>(worker_cycles), static_cast<double>(most_repeats));
  compute(fmt::format("{}::{}", node_->op->id.domain, node_->op->id.name), over,
          t_.worker_contexts * worker_cycles);
}

void Lowering::dynamic_slice(const TensorInfo& part, std::int64_t slices) {
  const std::int64_t elements = part.elements();
  if (elements == 0 || slices < 1) return;
  fetch_inputs(*frame_, *node_);
  // Every tile has its share of all slices: nothing is exchanged.
  const Mapping over = linear_mapping(t_, elements / slices, part.type);
  compute("popops::DynamicSlice", over,
          dynamic_slice_cycles(t_, over.largest(), slices, part.type));
  if (has_home_) return;
  home_.is_known = has_home_ = true;
  home_.mapping = spread_mapping(t_, elements, over.pieces);
  home_.layout = layouts_++;
}

void Lowering::pass(std::string_view op, const TensorInfo& x) {
  const std::int64_t elements = x.elements();
  if (elements == 0) return;
  const Mapping over = work_on(x);
  const ElementwiseCost* row = find_elementwise(op);
  constexpr ElementwiseCost unlisted{"", {10, 1}, {10, 1}, {10, 1}};
  const ElementwiseCost& cost = row != nullptr ? *row : unlisted;
  exchange(std::min(broadcast_bytes_, over.largest() * 4), over.pieces);
  const std::int64_t cycles = cost.inputs == 1 ? unary_cycles(t_, cost, over.largest(), x.type)
                                               : binary_cycles(t_, cost, over.largest(), x.type);
  broadcast_bytes_ = 0;
  compute(fmt::format("popops::{}<{}>", op, halftone::name(x.type)), over, cycles, 1,
          flops_of(elements));
}

void Lowering::reduce(const TensorInfo& x, std::int64_t outputs, bool is_sum) {
  const std::int64_t elements = x.elements();
  if (elements == 0 || outputs < 1) return;
  fetch_inputs(*frame_, *node_);
  if (!has_home_) {
    home_ = local(*frame_, node_->inputs[0]);
    has_home_ = true;
  }
  const Mapping over =
      home_.mapping.elements == elements ? home_.mapping : linear_mapping(t_, elements, x.type);
  const std::int64_t on_tile = over.largest(), each = std::max<std::int64_t>(elements / outputs, 1);
  const std::int64_t on_tile_outputs = std::min(divide_up(on_tile, each), outputs);
  const std::string vertex_name =
      fmt::format("popops::Reduce{}<{}>", is_sum ? "Add" : "Max", halftone::name(x.type));
  compute(vertex_name, over,
          reduce_on_tile_cycles(t_, on_tile_outputs, std::min(each, on_tile), x.type, is_sum), 1,
          flops_of(std::max<std::int64_t>(elements - outputs, 0)));
  // Rows that end within a tile, or span several of them.
  const std::int64_t spread = std::min(divide_up(each, std::max<std::int64_t>(on_tile, 1)) +
                                           (each % std::max<std::int64_t>(on_tile, 1) != 0 ? 1 : 0),
                                       over.pieces);
  const TileReduction rest =
      plan_tile_reduction(t_, outputs, spread, t_.tiles_per_ipu, ElementType::float32);
  const Mapping at = spread_mapping(t_, std::max(outputs, rest.tiles), rest.tiles);
  if (rest.first_exchange > 0) {
    exchange(rest.first_exchange, rest.tiles);
    compute(vertex_name, at, rest.first_compute);
  }
  if (rest.second_exchange > 0) {
    exchange(rest.second_exchange, rest.tiles);
    compute(vertex_name, at, rest.second_compute);
  }
  broadcast_bytes_ = outputs * 4;
}

void Lowering::cast(const TensorInfo& x, ElementType to) {
  fetch_inputs(*frame_, *node_);
  home_ = local(*frame_, node_->inputs[0]);
  has_home_ = true;
  compute(fmt::format("popops::Cast<{},{}>", halftone::name(x.type), halftone::name(to)),
          home_.mapping, cast_cycles(t_, home_.mapping.largest(), x.type, to), 1, x.elements());
}

Lowering::RowSplit Lowering::split_rows(const TensorInfo& tables, std::int64_t row_elements,
                                        std::int64_t groups) const {
  const std::int64_t grain = std::max<std::int64_t>(8 / element_bytes(tables), 1);
  const std::int64_t entries = tables.elements() / groups / row_elements;
  const std::int64_t at_once = std::min(groups, t_.tiles_per_ipu);
  const std::int64_t each = t_.tiles_per_ipu / at_once;
  const std::int64_t parts = std::min(divide_up(row_elements, grain), each);
  const std::int64_t dictionary =
      std::clamp<std::int64_t>(each / parts, 1, std::max<std::int64_t>(entries / 2, 1));
  return {at_once * parts * dictionary, dictionary, divide_up(row_elements, parts),
          divide_up(groups, at_once)};
}

void Lowering::gather(const TensorInfo& tables, std::int64_t rows, std::int64_t row_elements,
                      std::int64_t groups) {
  fetch_inputs(*frame_, *node_);
  if (rows < 1 || row_elements < 1 || groups < 1) return;
  // Each tile looks all lookups of its tables up in its part of them.
  const auto [tiles, dictionary, elements, serial] = split_rows(tables, row_elements, groups);
  const Mapping over = spread_mapping(t_, tiles, tiles);
  exchange(rows * serial * 4, tiles);
  const std::int64_t offsets = divide_up(rows * serial, t_.worker_contexts);
  const std::int64_t here = divide_up(offsets, dictionary);
  compute("popops::MultiSlice", over,
          gather_cycles(t_, here, elements, tables.type, offsets - here));
  if (dictionary > 1) {
    const std::int64_t shared = divide_up(rows, dictionary);
    exchange(rows * elements * element_bytes(tables) / dictionary *
                 std::min<std::int64_t>(dictionary, 8),
             tiles);
    compute("popops::MultiSlice", over,
            gather_cycles(t_, divide_up(shared, t_.worker_contexts), elements, tables.type));
  }
  home_ = {};
  home_.is_known = has_home_ = true;
  home_.mapping = spread_mapping(t_, groups * rows * row_elements, tiles);
  home_.layout = layouts_++;
}

void Lowering::scatter(const TensorInfo& tables, std::int64_t rows, std::int64_t row_elements,
                       bool is_sum, std::int64_t groups) {
  fetch_inputs(*frame_, *node_);
  if (rows < 1 || row_elements < 1 || groups < 1) return;
  const auto [tiles, dictionary, elements, serial] = split_rows(tables, row_elements, groups);
  const Mapping over = spread_mapping(t_, tiles, tiles);
  exchange(rows * serial * (4 + elements * element_bytes(tables)), tiles);
  if (is_sum) {
    const std::int64_t here = divide_up(rows * serial, dictionary);
    compute("popops::MultiUpdateAdd", over,
            scatter_add_cycles(t_, here, elements, tables.type, rows * serial - here), 1,
            flops_of(groups * rows * row_elements));
  } else {
    const std::int64_t offsets = divide_up(rows * serial, t_.worker_contexts);
    const std::int64_t here = divide_up(offsets, dictionary);
    compute("popops::MultiUpdate", over,
            scatter_cycles(t_, here, elements, tables.type, offsets - here));
  }
}

void Lowering::pool(const TensorInfo& y, std::int64_t taps, bool is_max) {
  fetch_inputs(*frame_, *node_);
  const Mapping over = linear_mapping(t_, y.elements(), y.type);
  const TensorInfo& x = frame_->graph->info(node_->inputs[0]);
  taps = std::max<std::int64_t>(taps, 1);
  const std::int64_t flops = flops_of(y.elements(), taps);
  exchange(divide_up(x.bytes(), std::max<std::int64_t>(over.pieces, 1)), over.pieces);
  compute(is_max ? "popnn::MaxPooling" : "popnn::SumPooling", over,
          pool_cycles(t_, over.largest(), taps, y.type, is_max), 1, flops);
  home_ = {};
  home_.is_known = home_.is_grouped = has_home_ = true;
  home_.mapping = over;
  home_.layout = layouts_++;
}

void Lowering::random(const TensorInfo& y, std::int64_t cycles_per_vector) {
  fetch_inputs(*frame_, *node_);
  const TensorId id = node_->inputs.empty() ? no_tensor : node_->inputs[0];
  const bool has_operand = id != no_tensor && frame_->graph->info(id).elements() == y.elements();
  home_ = has_operand ? local(*frame_, id) : linear(y);
  has_home_ = true;
  compute("poprand::Random", home_.mapping,
          random_cycles(t_, home_.mapping.largest(), y.type, cycles_per_vector));
}

void Lowering::top_k(const TensorInfo& x, std::int64_t n, std::int64_t k) {
  fetch_inputs(*frame_, *node_);
  const Mapping over = linear_mapping(t_, x.elements(), x.type);
  const std::int64_t stages = top_k_stages(n, k);
  if (stages == 0) return;
  const std::int32_t before = open_program("Repeat", stages);
  exchange(over.largest() * 8, over.pieces);
  compute("popops::CompareAndSwap", over,
          compare_and_swap_cycles(t_, divide_up(over.largest(), 2)));
  close_program(before);
}

// --- subgraphs -----------------------------------------------------------------------------------

void Lowering::lower_body(Frame& frame, const Node& node, const Graph& body,
                          std::size_t first_input) {
  Frame inner{&body, std::vector<Placed>(body.tensors.size())};
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const TensorInfo& info = body.info(body.inputs[i]);
    if (info.elements() == 0) continue;
    const std::size_t outer = first_input + i;
    const TensorId id = outer < node.inputs.size() ? node.inputs[outer] : no_tensor;
    if (id != no_tensor && frame.graph->info(id) == info) {
      inner.placed[static_cast<std::size_t>(body.inputs[i])] = local(frame, id);
    } else {
      place(inner, body.inputs[i]);
    }
  }
  lower_inside(frame, node, inner);
  for (const TensorId id : body.outputs) {
    if (body.info(id).elements() > 0) touch(place(inner, id));
  }
}

void Lowering::lower_inside(Frame& frame, const Node& node, Frame& inner) {
  const std::int32_t operation = operation_;
  lower_graph(inner);
  operation_ = operation;
  frame_ = &frame;
  node_ = &node;
}

void Lowering::lower_repetition(Frame& frame, const Node& node, const op::Repeat& repeat) {
  const Graph& graph = *frame.graph;
  const Graph& body = graph.graphs[static_cast<std::size_t>(subgraphs_of(node)[0])];
  // "As often as it likes" is said with the largest number there is.
  std::int64_t passes = pass_count(graph, node, repeat);
  if (passes > most_repeats) passes = dynamic;
  fetch_inputs(frame, node);
  const std::string kind = passes == dynamic ? "RepeatWhile" : std::string(node.op->id.name);
  const std::int32_t before = open_program(kind, passes == dynamic ? 1 : passes);
  if (repeat.is_loop && passes == dynamic) {
    exchange(4, t_.tiles_per_ipu);
    add_step(StepKind::control, branch_cycles);
  }
  for (std::size_t i = 0; i < repeat.scanned; ++i) {
    const TensorId id = node.inputs[repeat.first_state + repeat.states + i];
    if (id == no_tensor) continue;
    const Placed& p = local(frame, id);
    const std::int64_t slice = divide_up(p.mapping.largest(), std::max<std::int64_t>(passes, 1));
    compute("popops::DynamicSlice", p.mapping,
            dynamic_slice_cycles(t_, slice, 1, graph.info(id).type));
  }
  // States are the body's inputs behind its own counters, in the node's order.
  Frame inner{&body, std::vector<Placed>(body.tensors.size())};
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    if (body.info(body.inputs[i]).elements() == 0) continue;
    const std::size_t state = i - repeat.body_state;
    const bool is_state = i >= repeat.body_state && state < repeat.states;
    const TensorId id = is_state ? node.inputs[repeat.first_state + state] : no_tensor;
    if (id != no_tensor && graph.info(id) == body.info(body.inputs[i])) {
      inner.placed[static_cast<std::size_t>(body.inputs[i])] = local(frame, id);
    } else {
      place(inner, body.inputs[i]);
    }
  }
  lower_inside(frame, node, inner);
  for (std::size_t i = 0; i < body.outputs.size(); ++i) {
    const TensorInfo& info = body.info(body.outputs[i]);
    if (info.elements() == 0) continue;
    const Placed& p = place(inner, body.outputs[i]);
    const std::size_t state = i - repeat.body_result;
    const bool is_kept =
        i >= repeat.body_result && state < repeat.states && repeat.is_kept(body, state);
    if (!is_kept) {
      add_step(StepKind::copy, copy_cycles(t_, p.mapping.largest() * element_bytes(info)));
    }
    touch(p);
  }
  add_step(StepKind::control, repeat_cycles);
  close_program(before);
  is_view_ = has_home_ = false;
  for (const TensorId id : node.outputs) {
    if (id != no_tensor) place_output(frame, id, Placed{});
  }
}

void Lowering::lower_call(Frame& frame, const Node& node, std::size_t first_input) {
  const Graph& graph = *frame.graph;
  fetch_inputs(frame, node);
  const std::vector<std::int32_t> arms = subgraphs_of(node);
  if (arms.size() > 1) {
    exchange(4, t_.tiles_per_ipu);  // the predicate, from its tile to all
    add_step(StepKind::control, branch_cycles);
  } else {
    add_step(StepKind::control, call_cycles);
  }
  // The dearest arm is the one that counts; memory is the larger of both.
  struct Arm {
    std::size_t first_step, end_step, first_operation, end_operation;
  };
  std::size_t dearest = 0;
  std::int64_t most = -1;
  std::vector<Arm> ranges;
  const std::vector<double> tile_cycles = report_.tile_cycles;
  std::vector<double> with_dearest;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    report_.tile_cycles = tile_cycles;
    const std::int32_t before =
        open_program(arms.size() > 1 ? fmt::format("If arm {}", a) : "Call", 1);
    Arm arm{report_.steps.size(), 0, report_.operations.size(), 0};
    lower_body(frame, node, graph.graphs[static_cast<std::size_t>(arms[a])], first_input);
    close_program(before);
    arm.end_step = report_.steps.size();
    arm.end_operation = report_.operations.size();
    ranges.push_back(arm);
    std::int64_t cycles = 0;
    for (std::size_t s = arm.first_step; s < arm.end_step; ++s) cycles += report_.steps[s].total();
    if (cycles <= most) continue;
    most = cycles;
    dearest = a;
    with_dearest = report_.tile_cycles;
  }
  report_.tile_cycles = std::move(with_dearest);
  for (std::size_t a = 0; a < ranges.size(); ++a) {
    if (a == dearest) continue;
    for (std::size_t s = ranges[a].first_step; s < ranges[a].end_step; ++s) {
      report_.steps[s].repeats = report_.steps[s].flops = 0;
    }
    for (std::size_t o = ranges[a].first_operation; o < ranges[a].end_operation; ++o) {
      report_.operations[o].flops = 0;
    }
  }
  is_view_ = has_home_ = false;
  for (const TensorId id : node.outputs) {
    if (id != no_tensor) place_output(frame, id, Placed{});
  }
}

}  // namespace halftone::ipu
