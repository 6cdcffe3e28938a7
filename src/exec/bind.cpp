#include "bind.hpp"

#include <algorithm>
#include <utility>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"
#include "fold.hpp"
#include "kernel_table.hpp"
#include "late.hpp"
#include "passes.hpp"
#include "run.hpp"
#include "transform/pipeline.hpp"

namespace halftone {
namespace {

/// Stands for data that are not placed yet, and for those of empty tensors: given, but not read.
alignas(64) std::byte nowhere[64];

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

/// Late bodies that are nested more deeply than this are not divided any further.
constexpr int deepest_division = 8;

/// The passes for `cpu`. Graphs with late nodes are divided, and so planned in parts.
struct CpuPasses {
  const EngineOptions& options;
  Nesting nesting;
  bool has_late = false;
  bool is_piece = false;  ///< kernels are chosen already

  Graph operator()(Graph graph) const {
    if (has_late && nesting.depth > deepest_division) return graph;
    if (has_late) return run(cpu_late_passes, std::move(graph));
    if (!is_piece) graph = run(cpu_choice_passes, std::move(graph));
    return run(cpu_piece_passes, std::move(graph));
  }
  Graph run(std::span<const Pass> passes, Graph graph) const {
    const bool fuse = may_fuse(options);
    kernel::Executor one_thread;
    return run_passes(
        passes, std::move(graph),
        {.evaluate = &evaluate_constant,
         .evaluate_context = &one_thread,
         .fuse = fuse,
         .change_weights = fuse && !options.only_plan,
         .reorder = !options.stop_at_nan,
         .convolution = options.convolution,
         .precision = options.precision,
         .float_lanes = float_lanes(),
         .multiplies_bytes = multiplies_bytes(),
         .takes_pairs = options.precision == Precision::bfloat16 && multiplies_in_amx(),
         .observer = options.observer,
         .path = nesting.path});
  }
  CpuPasses inside(const Graph& graph, const Node& node, std::size_t body) const {
    return {.options = options,
            .nesting = {nesting.depth, nesting.path_of(graph, node, body)},
            .is_piece = node.op->id == op::BatchParts::id};
  }
};

/// Whether the nodes of a step's body stand for it where times are measured.
bool is_call(const Program::Step& step) {
  return step.kind == Program::Kind::call || step.kind == Program::Kind::parts;
}

/// Calls f for the bodies of calls, each once; for a late one's, as far as they were made.
void for_each_called(Bound& bound, auto&& f) {
  std::vector<const Bound*> seen;
  for (std::size_t s = 0; s < bound.steps.size(); ++s) {
    const Program::Step& step = bound.program.steps[s];
    if (!is_call(step)) continue;
    const void* const op = bound.steps[s].call.op;
    if (step.is_late) {
      for (const LateBody& body : static_cast<const Late*>(op)->bodies) body.for_each_bound(f);
      continue;
    }
    Bound* const body = static_cast<const Bound::Control*>(op)->bodies[0];
    if (std::find(seen.begin(), seen.end(), body) != seen.end()) continue;
    seen.push_back(body);
    f(*body);
  }
}

class Binder {
 public:
  explicit Binder(Bound& bound)
      : bound_(bound),
        program_(bound.program),
        graph_(program_.graph),
        options_(bound.options),
        executor_(bound.executor),
        uses_(graph_, 0) {}

  void bind() {
    for (const Program::Argument& a : program_.arguments) {
      if (a.place == Program::Place::weight) ++uses_[a.number];
    }
    for (const Program::Argument& a : program_.outputs) {
      if (a.place == Program::Place::weight) ++uses_[a.number];
    }
    bound_.input_arguments.resize(graph_.inputs.size());
    bound_.inputs.resize(graph_.inputs.size());
    bound_.late_values.resize(program_.late.size());
    for (const Program::Argument& a : program_.arguments) add_argument(a);
    bound_.bodies.resize(program_.bodies.size());
    for (std::size_t s = 0; s < program_.steps.size(); ++s) bind_step(s);
    free_late_values();
    if (!program_.is_bound) program_.place();
    // A program that was bound stays so: its packed weights have given theirs back.
    if (options_.runner == nullptr && !options_.only_plan) program_.is_bound = true;
    find_outputs();
  }

 private:
  void add_argument(const Program::Argument& a) {
    if (a.place == Program::Place::input) {
      bound_.input_arguments[static_cast<std::size_t>(a.number)].push_back(
          static_cast<std::uint32_t>(bound_.arguments.size()));
    }
    if (a.place == Program::Place::absent || a.place == Program::Place::late) {
      bound_.arguments.push_back({});
      return;
    }
    const Dims& shape = graph_.tensor(a.tensor).info.shape;
    TensorArgument argument{nowhere, shape.items, shape.size()};
    if (a.place == Program::Place::weight) argument.data = weight(a.number);
    bound_.arguments.push_back(argument);
  }
  void* weight(TensorId id) {
    TensorRecord& r = graph_.tensor(id);
    const bool is_left = options_.only_plan && r.info.bytes() > most_small_bytes;
    if (r.data.size() == 0 || is_left) return nowhere;
    return const_cast<void*>(aligned_data(r));
  }

  Vector<TensorInfo> infos(std::span<const Program::Argument> arguments) const {
    Vector<TensorInfo> list;
    for (const Program::Argument& a : arguments) {
      list.push_back(a.tensor == no_tensor ? TensorInfo{} : graph_.info(a.tensor));
    }
    return list;
  }

  void bind_step(std::size_t number) {
    const Program::Step& step = program_.steps[number];
    const std::span<const Program::Argument> arguments = program_.of(step);
    Bound::Step bound{.run = &run_copy,
                      .call = {.arguments = bound_.arguments.data() + step.first,
                               .inputs = step.inputs,
                               .outputs = step.outputs,
                               .constants = step.constants,
                               .executor = &executor_,
                               .communicator = bound_.reach.communicator,
                               .host = bound_.reach.host,
                               .precision = options_.precision}};
    const Vector<TensorInfo> in = infos(arguments.first(step.inputs)),
                             out = infos(arguments.subspan(step.inputs));
    if (step.is_late) {
      bind_late(number, bound);
      bound_.steps.push_back(bound);
      return add_time(step, {}, {});
    }
    switch (step.kind) {
      case Program::Kind::copy:
        bound.call.op = &graph_.info(arguments[step.inputs].tensor);
        break;
      case Program::Kind::kernel:
        if (bound_.reach.steps != nullptr) bound.call.number = ++*bound_.reach.steps;
        if (options_.runner != nullptr && !reaches_out(node_of(step))) {
          bound.call.op = &bound_.foreign.emplace_back(options_.runner, &program_, &step);
          bound.run = &run_foreign;
        } else {
          bind_kernel(number, bound, in, out);
        }
        break;
      case Program::Kind::group:
        bound.call.op = &bound_.groups.emplace_back(
            graph_.graphs[static_cast<std::size_t>(subgraphs_of(node_of(step))[0])]);
        bound.run = &Group::run;
        break;
      case Program::Kind::parts:
        bind_parts(number, bound);
        break;
      default:
        bind_bodies(step, bound);
    }
    bound_.steps.push_back(bound);
    add_time(step, in, out);
  }
  const Node& node_of(const Program::Step& step) const {
    return graph_.nodes[static_cast<std::size_t>(step.node)];
  }

  void bind_late(std::size_t number, Bound::Step& bound) {
    const Program::Step& step = program_.steps[number];
    bound_.late_steps.push_back(std::make_unique<Late>(Late{bound_, step}));
    Late& late = *bound_.late_steps.back();
    if (!step.bodies.empty()) {
      const std::vector<std::int32_t> indices = subgraphs_of(node_of(step));
      for (std::size_t b = 0; b < step.bodies.size(); ++b) {
        late.bodies.emplace_back(program_.bodies[static_cast<std::size_t>(step.bodies[b])],
                                 graph_.graphs[static_cast<std::size_t>(indices[b])], bound_,
                                 bound_.nesting.path_of(graph_, node_of(step), b));
      }
    }
    bound.call.op = &late;
    bound.run = &run_late;
  }

  /// Has the last step that reads a late value give its memory back.
  void free_late_values() {
    for (std::size_t i = 0; i < program_.late.size(); ++i) {
      const auto last = static_cast<std::size_t>(program_.late[i]);
      if (last >= program_.steps.size() || !program_.steps[last].is_late) continue;
      const void* const late = bound_.steps[last].call.op;
      static_cast<Late*>(const_cast<void*>(late))->freed.push_back(static_cast<std::int32_t>(i));
    }
  }

  void bind_bodies(const Program::Step& step, Bound::Step& bound) {
    Bound::Control& control = bound_.controls.emplace_back();
    for (const std::int32_t number : step.bodies) {
      std::unique_ptr<Bound>& body = bound_.bodies[static_cast<std::size_t>(number)];
      if (body == nullptr) {
        body = halftone::bind(program_.bodies[static_cast<std::size_t>(number)], options_,
                              executor_, bound_.reach, bound_.nesting, bound_.is_open);
      }
      control.bodies.push_back(body.get());
    }
    bound.call.op = &control;
    if (step.kind == Program::Kind::repetition) {
      control.repetition = &program_.repetitions[static_cast<std::size_t>(step.repetition)];
      bound.run = &run_repetition;
    } else {
      bound.run = step.kind == Program::Kind::branch ? &run_branch : &run_call;
    }
  }

  /// The body writes its outputs where the node's lie, and its values into scratch memory of the step.
  void bind_parts(std::size_t step_number, Bound::Step& bound) {
    const Program::Step& step = program_.steps[step_number];
    Bound::Control& control = bound_.controls.emplace_back();
    const auto number = static_cast<std::size_t>(step.bodies[0]);
    Program& program = program_.bodies[number];
    give_outputs_away(program);
    bound_.bodies[number] = bind_piece(program, options_, executor_, bound_.reach);
    Bound& body = *bound_.bodies[number];
    // The program of the body has its weights, or what was made of them.
    Graph& given = graph_.graphs[static_cast<std::size_t>(subgraphs_of(node_of(step))[0])];
    for (TensorRecord& t : given.tensors) {
      if (!options_.only_plan) t.data = {};
    }
    if (!program_.is_bound) program_.add_scratch(step_number, program.arena_bytes);
    control.bodies.push_back(&body);
    control.parts = unpack<op::BatchParts>(node_of(step).attributes).parts;
    const std::span<const Program::Argument> arguments = program_.of(step);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const TensorId inner =
          i < step.inputs ? program.graph.inputs[i] : program.graph.outputs[i - step.inputs];
      const TensorInfo &part = program.graph.info(inner), &whole = graph_.info(arguments[i].tensor);
      control.part_bytes.push_back(part.shape == whole.shape ? 0 : part.bytes());
    }
    for (NodeTime& time : body.times) {
      time.flops *= control.parts;
      time.bytes *= control.parts;
    }
    bound.call.op = &control;
    bound.run = &run_parts;
  }

  void bind_kernel(std::size_t number, Bound::Step& bound, std::span<const TensorInfo> in,
                   std::span<const TensorInfo> out) {
    const Program::Step& step = program_.steps[number];
    const Node& node = node_of(step);
    check_reach(graph_, node, bound_.reach);
    const NodeKernel& kernel = bound_.kernels.emplace_back(graph_, node, in, out);
    const Kernel& f = kernel.functions();
    bound.call.op = kernel.op();
    if (f.run == nullptr) {
      bound.call.op = &bound_.groups.emplace_back(node, kernel, in, out[0]);
      bound.run = &Group::run;
      return;
    }
    bound.run = f.run;
    if (!program_.is_bound) add_needs(number, bound.call, f);
    if (step.packed != Program::none) {
      bound.call.packed = program_.packed[static_cast<std::size_t>(step.packed)].span().data();
    }
  }

  /// Adds what the kernel of a step needs to the program.
  void add_needs(std::size_t number, KernelCall& call, const Kernel& f) {
    Program::Step& step = program_.steps[number];
    const std::size_t packed_bytes = f.packed_bytes != nullptr ? f.packed_bytes(call) : 0;
    if (packed_bytes != 0 && !options_.only_plan) {
      step.packed = static_cast<std::int32_t>(program_.packed.size());
      Storage packed = Storage::allocate(packed_bytes);
      f.pack(call, packed.data());
      call.packed = packed.data();
      const std::byte* data = packed.data();
      program_.packed.emplace_back(std::move(packed), data, packed_bytes);
      if (f.packed_input >= 0) release(step, static_cast<std::size_t>(f.packed_input));
    }
    const std::size_t bytes = f.workspace != nullptr ? f.workspace(call) : 0;
    if (bytes != 0) program_.add_scratch(number, static_cast<std::int64_t>(bytes));
  }

  /// Gives the memory of packed weights back.
  void release(const Program::Step& step, std::size_t input) {
    const Program::Argument& a = program_.of(step)[input];
    TensorRecord& t = graph_.tensor(a.tensor);
    t.data.unneeded();
    if (uses_[a.tensor] != 1) return;
    t.data = {};
    bound_.arguments[step.first + input].data = nowhere;
  }

  void add_time(const Program::Step& step, std::span<const TensorInfo> in,
                std::span<const TensorInfo> out) {
    NodeTime& time = bound_.times.emplace_back();
    if (step.node == Program::none) {
      time = {.op = "Copy", .name = graph_.name(program_.of(step)[0].tensor)};
      return;
    }
    const Node& node = node_of(step);
    const TensorId name_of = node.outputs.empty() ? no_tensor : node.outputs[0];
    const bool has_name = !graph_.name(node).empty() || name_of == no_tensor;
    time.op = node.op->id.name;
    time.name = has_name ? graph_.name(node) : graph_.name(name_of);
    if (step.is_late) return;
    time.flops = flops_of(graph_, node, in, out);
    for (const TensorInfo& info : in) time.bytes += info.is_known() ? info.bytes() : 0;
    for (const TensorInfo& info : out) time.bytes += info.is_known() ? info.bytes() : 0;
  }

  /// The memory of outputs that lie in weights; others get theirs with the arena.
  void find_outputs() {
    for (const Program::Argument& a : program_.outputs) {
      void* data = a.place == Program::Place::late ? nullptr : nowhere;
      const bool is_weight = a.place == Program::Place::weight && !options_.only_plan;
      if (is_weight && graph_.info(a.tensor).bytes() != 0) data = weight(a.number);
      bound_.outputs.push_back(data);
    }
  }

  Bound& bound_;
  Program& program_;
  Graph& graph_;
  const EngineOptions& options_;
  const kernel::Executor& executor_;
  TensorMap<int> uses_;  // of weights
};

}  // namespace

std::size_t Bound::bytes() const {
  auto sum = arena ? static_cast<std::size_t>(program.arena_bytes) : 0;
  for (const Bytes& packed : program.packed) sum += packed.size();
  for (const std::unique_ptr<Bound>& body : bodies) sum += body != nullptr ? body->bytes() : 0;
  for (const std::unique_ptr<Late>& late : late_steps) {
    for (const LateBody& body : late->bodies) {
      body.for_each_bound([&](const Bound& bound) { sum += bound.bytes(); });
    }
  }
  return sum;
}

void Bound::place(Storage memory) {
  arena = std::move(memory);
  place(arena ? arena.data() : nullptr);
}

void Bound::place(std::byte* memory) {
  const auto at = [&](std::int32_t buffer) {
    return memory + program.buffers[static_cast<std::size_t>(buffer)].offset;
  };
  for (std::size_t i = 0; i < program.arguments.size(); ++i) {
    const Program::Argument& a = program.arguments[i];
    if (a.place == Program::Place::buffer) arguments[i].data = at(a.number) + a.offset;
  }
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const std::int32_t scratch = program.steps[s].scratch;
    if (scratch == Program::none) continue;
    steps[s].call.workspace = at(scratch);
    if (program.steps[s].kind != Program::Kind::parts) continue;
    static_cast<const Control*>(steps[s].call.op)->bodies[0]->place(at(scratch));
  }
  for (std::size_t o = 0; o < program.outputs.size(); ++o) {
    const Program::Argument& a = program.outputs[o];
    if (a.place != Program::Place::buffer || program.graph.info(a.tensor).bytes() == 0) continue;
    outputs[o] = at(a.number);
  }
}

void Bound::give_output(std::size_t i, void* data) const {
  const void* const from = outputs[same_output[i]];
  if (from != data) copy_bytes(data, from, output(i).info.bytes());
}

void Bound::measure(MeasuredExecutor* with) {
  measured = with;
  for_each_called(*this, [&](Bound& body) { body.measure(with); });
}

void Bound::add_times(std::vector<NodeTime*>& all) {
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (!is_call(program.steps[s])) all.push_back(&times[s]);
  }
  for_each_called(*this, [&](Bound& body) { body.add_times(all); });
}

Bound::Bound(Program& p, const EngineOptions& o, const kernel::Executor& e, const Reach& r)
    : program(p), options(o), executor(e), reach(r) {}
Bound::~Bound() = default;

AnyView Bound::view(std::size_t argument) const {
  const Program::Argument& a = program.arguments[argument];
  const auto number = static_cast<std::size_t>(a.number);
  if (a.place == Program::Place::absent) return {};
  if (a.place == Program::Place::late) return late_values[number];
  if (a.place == Program::Place::input && inputs[number].info.is_known() &&
      program.graph.inputs[number] == a.tensor) {
    return inputs[number];
  }
  return {program.graph.info(a.tensor), arguments[argument].data};
}

std::string Nesting::path_of(const Graph& graph, const Node& node, std::size_t body) const {
  std::string_view name = graph.name(node);
  if (name.empty() && !node.outputs.empty() && node.outputs[0] != no_tensor) {
    name = graph.name(node.outputs[0]);
  }
  if (name.empty()) name = node.op->id.name;
  return (path.empty() ? "" : path + "/") + std::string(name) + "/" + std::to_string(body);
}

Program program_for(Graph graph, const EngineOptions& options, const Nesting& nesting) {
  const bool has_late = !is_static(graph);
  if (has_late && options.stop_at_nan) {
    fail(ErrorKind::unsupported,
         {.what = "stop_at_nan is for models whose shapes do not depend on values"});
  }
  ProgramOptions with{.late = has_late};
  if (options.runner != nullptr) return make_program(std::move(graph), NoPasses{}, with);
  with.pieces = true;
  return make_program(std::move(graph), CpuPasses{options, nesting, has_late}, with);
}

Graph with_chosen_kernels(Graph graph, const EngineOptions& options) {
  if (options.runner != nullptr) return graph;
  return CpuPasses{.options = options, .nesting = {}}.run(cpu_choice_passes, std::move(graph));
}
Program piece_program(Graph graph, const EngineOptions& options) {
  if (options.runner != nullptr) return make_program(std::move(graph));
  return make_program(std::move(graph),
                      CpuPasses{.options = options, .nesting = {}, .is_piece = true},
                      {.pieces = true});
}

std::unique_ptr<Bound> bind(Program& program, const EngineOptions& options,
                            const kernel::Executor& executor, const Reach& reach,
                            const Nesting& nesting, bool is_open) {
  auto bound = std::make_unique<Bound>(program, options, executor, reach);
  bound->nesting = nesting;
  bound->is_open = is_open;
  Binder(*bound).bind();
  bound->place(Storage::allocate(static_cast<std::size_t>(program.arena_bytes)));
  return bound;
}

namespace {

/// The first output that lies where one does.
std::size_t first_there(const Program& program, std::size_t output) {
  const Program::Argument& a = program.outputs[output];
  std::size_t first = 0;
  while (program.outputs[first].place != a.place || program.outputs[first].number != a.number) {
    ++first;
  }
  return first;
}
/// The buffer that an output alone has; null: it has none.
Program::Buffer* own_buffer(Program& program, std::size_t output) {
  const Program::Argument& a = program.outputs[output];
  const bool has = a.place == Program::Place::buffer && first_there(program, output) == output;
  return has ? &program.buffers[static_cast<std::size_t>(a.number)] : nullptr;
}

}  // namespace

void give_outputs_away(Program& program) {
  for (std::size_t o = 0; o < program.outputs.size(); ++o) {
    Program::Buffer* const buffer = own_buffer(program, o);
    // What lay there before may have been larger.
    const std::int64_t bytes = program.graph.info(program.outputs[o].tensor).bytes();
    if (buffer != nullptr && buffer->bytes == bytes) buffer->bytes = 0;
  }
  program.place();
}

std::unique_ptr<Bound> bind_piece(Program& program, const EngineOptions& options,
                                  const kernel::Executor& executor, const Reach& reach) {
  auto bound = std::make_unique<Bound>(program, options, executor, reach);
  Binder(*bound).bind();
  bound->output_arguments.resize(program.outputs.size());
  for (std::size_t o = 0; o < program.outputs.size(); ++o) {
    bound->same_output.push_back(first_there(program, o));
    const Program::Buffer* const buffer = own_buffer(program, o);
    if (buffer == nullptr || buffer->bytes != 0) continue;
    for (std::size_t i = 0; i < program.arguments.size(); ++i) {
      const Program::Argument& a = program.arguments[i];
      if (a.place != Program::Place::buffer || a.number != program.outputs[o].number) continue;
      bound->output_arguments[o].push_back(static_cast<std::uint32_t>(i));
    }
  }
  return bound;
}

}  // namespace halftone
