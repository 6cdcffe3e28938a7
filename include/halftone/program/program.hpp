#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <halftone/base/error.hpp>
#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/op/list.hpp>
#include <halftone/program/buffers.hpp>
#include <halftone/program/repetition.hpp>
#include <halftone/transform/memory_plan.hpp>

namespace halftone {

/// A program is what will run, as a value: the steps of a graph in their order, and where in memory
/// their arguments lie. It knows no kernel and no device. What kernels ask for (scratch memory,
/// packed weights) is added by whoever binds them, then `place` finds the offsets.
///
/// Steps of late nodes, whose shapes follow from values, find them when they run. Their bodies are
/// programs for any shapes; whoever runs them may make others for the shapes that have come, from
/// the graphs of `graph`.
struct Program {
  static constexpr std::int32_t none = -1;

  enum class Place : std::uint8_t {
    absent,  ///< the node does not have it
    input,   ///< the caller's memory of the input of that number
    weight,  ///< a constant or variable: the bytes of the tensor of that id
    buffer,  ///< the buffer of that number
    late,    ///< the late value of that number, whose step finds its shape
  };
  struct Argument {
    TensorId tensor = no_tensor;  ///< its type and shape
    Place place = Place::absent;
    std::int32_t number = 0;
    std::int64_t offset = 0;  ///< in the buffer, in bytes
    friend constexpr bool operator==(const Argument&, const Argument&) = default;
  };
  enum class Kind : std::uint8_t {
    kernel,      ///< a node's own
    copy,        ///< the first argument to the second
    group,       ///< element-wise nodes, block by block
    branch,      ///< one of two bodies
    call,        ///< the body
    repetition,  ///< the body, pass by pass
    map,         ///< the body, item by item of a sequence
    parts,       ///< the body, part by part of a batch
  };
  struct Step {
    Kind kind = Kind::kernel;
    bool is_late = false;
    std::int32_t node = none;  ///< of the graph; none: a copy for an output
    std::uint32_t first = 0;   ///< in `arguments`: inputs, then outputs
    std::uint32_t inputs = 0, outputs = 0;
    std::uint64_t constants = 0;  ///< bit i: input i never changes
    std::int32_t scratch = none;  ///< a buffer for this step alone
    std::int32_t packed = none;   ///< constant inputs as the kernel wants them: in `packed`
    Vector<std::int32_t> bodies{};
    std::int32_t repetition = none;
    friend constexpr bool operator==(const Step&, const Step&) = default;
  };
  /// A piece of the arena, which is there for steps `first` to `last`.
  struct Buffer {
    std::int64_t bytes = 0, offset = 0;
    std::int32_t first = 0, last = 0;
    friend constexpr bool operator==(const Buffer&, const Buffer&) = default;
  };

  Graph graph{};
  Vector<Argument> arguments{};
  Vector<Step> steps{};
  Vector<Buffer> buffers{};
  Vector<std::int32_t> late{};  ///< the last step that reads each late value
  Vector<Argument> outputs{};   ///< none lies in the caller's memory
  Vector<Program> bodies{};
  Vector<Repetition> repetitions{};
  Vector<Bytes> packed{};
  bool is_bound = false;  ///< the kernels' scratch memory and packed weights have been added
  std::int64_t arena_bytes = 0;
  std::int64_t live_bytes = 0;  ///< the largest sum at one step: no arena can be smaller

  constexpr std::int32_t add_buffer(std::int64_t bytes, std::int32_t first, std::int32_t last) {
    buffers.push_back({bytes, 0, first, last});
    return static_cast<std::int32_t>(buffers.size()) - 1;
  }
  constexpr void add_scratch(std::size_t step, std::int64_t bytes) {
    const auto at = static_cast<std::int32_t>(step);
    steps[step].scratch = add_buffer(bytes, at, at);
  }
  /// Of the buffers, in steps.
  constexpr Vector<Lifetime> lifetimes() const {
    Vector<Lifetime> lives;
    for (const Buffer& b : buffers) lives.push_back({b.bytes, b.first, b.last});
    return lives;
  }
  /// Gives the buffers their offsets in the arena.
  constexpr void place() {
    const Vector<Lifetime> lives = lifetimes();
    const MemoryPlan plan = plan_memory(lives);
    for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].offset = plan.offsets[i];
    arena_bytes = plan.bytes;
    live_bytes = live_peak(lives);
  }
  /// The arguments of a step: its inputs, then its outputs.
  constexpr std::span<const Argument> of(const Step& step) const {
    return std::span(arguments).subspan(step.first, step.inputs + step.outputs);
  }
  friend constexpr bool operator==(const Program&, const Program&) = default;
};

struct ProgramOptions {
  bool in_place = true;  ///< see Buffers
  bool late = false;     ///< there may be late nodes
  bool place = true;     ///< buffers get their offsets: see Program::place()
  bool pieces = false;   ///< see Buffers, unless they would need an eighth more memory
};

/// A number that tells programs apart, of everything but the bytes of weights.
std::uint64_t hash(const Program& program);

namespace detail {

/// Throws that a graph cannot become a program because of this tensor of a node. Defined as
/// compose_error is, in refuse.hpp.
template <class = void>
[[noreturn]] void refuse_program(ErrorKind kind, std::string_view what, const Graph& graph,
                                 const Node& node, TensorId id);

/// Steps, arguments and buffers of a graph.
class ProgramBuilder {
 public:
  constexpr ProgramBuilder(Program& program, ProgramOptions options)
      : program_(program),
        graph_(program.graph),
        buffers_(buffers_of(checked(graph_, options.late), options)),
        input_number_(graph_, Program::none),
        late_number_(graph_, Program::none) {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      input_number_[graph_.inputs[i]] = static_cast<std::int32_t>(i);
    }
    for (const Lifetime& life : buffers_.lifetimes) {
      program.add_buffer(life.bytes, life.first, life.last);
    }
    Vector<std::int32_t> step_of;  // of nodes; of views, which are no steps: the next one
    const auto next_step = [&] { return static_cast<std::int32_t>(program.steps.size()); };
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      step_of.push_back(next_step());
      const Node& node = graph_.nodes[n];
      if (buffers_.is_late[n] && is_evaluated(node)) continue;
      if (!buffers_.shares(graph_, n)) add_step(n);
    }
    for (const TensorId id : graph_.outputs) add_output(id);
    step_of.push_back(next_step());
    // Lifetimes count nodes until here.
    for (Program::Buffer& buffer : program.buffers) {
      buffer.first = step_of[static_cast<std::size_t>(buffer.first)];
      buffer.last = step_of[static_cast<std::size_t>(buffer.last)];
    }
  }

 private:
  /// The graph, if every tensor is static (but for late nodes), fits into memory and is made before
  /// it is read.
  static constexpr const Graph& checked(const Graph& graph, bool with_late) {
    const Uses uses(graph);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      for (const auto* ids : {&node.inputs, &node.outputs}) {
        for (const TensorId id : *ids) {
          if (id != no_tensor) check(graph, node, id, with_late);
        }
      }
      for (const TensorId id : node.inputs) {
        if (id == no_tensor || uses.producer[id] < static_cast<int>(n)) continue;
        refuse_program(ErrorKind::model, "a node reads a tensor before it is made", graph, node,
                       id);
      }
    }
    return graph;
  }
  static constexpr Buffers buffers_of(const Graph& graph, const ProgramOptions& options) {
    Buffers apart(graph, options.in_place, options.late);
    if (!options.pieces) return apart;
    Buffers joined(graph, options.in_place, options.late, true);
    const std::int64_t least = live_peak(apart.lifetimes);
    return live_peak(joined.lifetimes) <= least + least / 8 ? joined : apart;
  }
  static constexpr void check(const Graph& graph, const Node& node, TensorId id, bool with_late) {
    const TensorInfo& info = graph.info(id);
    if (!info.is_static()) {
      if (with_late) return;
      refuse_program(ErrorKind::unsupported, "the shape of a tensor is not known before the run",
                     graph, node, id);
    }
    if (!fits_memory(info)) {
      refuse_program(ErrorKind::memory, "a tensor does not fit into memory", graph, node, id);
    }
  }

  constexpr Program::Argument argument(TensorId id) const {
    if (id == no_tensor) return {};
    const TensorId root = buffers_.root[id];
    const TensorRecord& record = graph_.tensor(root);
    if (record.role == Role::constant || is_variable(record)) {
      return {id, Program::Place::weight, root};
    }
    if (input_number_[root] != Program::none) {
      return {id, Program::Place::input, input_number_[root]};
    }
    if (late_number_[root] != Program::none) return {id, Program::Place::late, late_number_[root]};
    return {id, Program::Place::buffer, buffers_.of(id), buffers_.offset[id]};
  }
  constexpr std::int32_t add_late(std::int32_t step) {
    program_.late.push_back(step);
    return static_cast<std::int32_t>(program_.late.size()) - 1;
  }

  constexpr void add_step(std::size_t n) {
    const Node& node = graph_.nodes[n];
    const auto number = static_cast<std::int32_t>(program_.steps.size());
    Program::Step step{.kind = kind_of(node, buffers_.is_late[n]),
                       .is_late = static_cast<bool>(buffers_.is_late[n]),
                       .node = static_cast<std::int32_t>(n),
                       .first = static_cast<std::uint32_t>(program_.arguments.size()),
                       .inputs = static_cast<std::uint32_t>(node.inputs.size()),
                       .outputs = static_cast<std::uint32_t>(node.outputs.size())};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      program_.arguments.push_back(argument(id));
      if (id == no_tensor) continue;
      if (const Program::Argument& a = program_.arguments.back(); a.place == Program::Place::late) {
        program_.late[static_cast<std::size_t>(a.number)] = number;
      }
      if (i >= 64) continue;
      if (graph_.tensor(buffers_.root[id]).role == Role::constant) {
        step.constants |= std::uint64_t{1} << i;
      }
    }
    for (const TensorId id : node.outputs) {
      if (step.is_late && id != no_tensor && buffers_.root[id] == id &&
          !is_plannable(graph_.info(id))) {
        late_number_[id] = add_late(number);
      }
      program_.arguments.push_back(argument(id));
    }
    program_.steps.push_back(step);
  }

  static constexpr Program::Kind kind_of(const Node& node, bool is_late) {
    if (is_view(node) && !is_late) return Program::Kind::copy;
    if (subgraphs_of(node).empty()) return Program::Kind::kernel;
    if (node.op->id == op::Fused::id) return Program::Kind::group;
    if (node.op->id == op::If::id) return Program::Kind::branch;
    if (node.op->id == op::Call::id) return Program::Kind::call;
    if (node.op->id == op::SequenceMap::id) return Program::Kind::map;
    if (node.op->id == op::BatchParts::id) return Program::Kind::parts;
    const bool is_repeated = node.op->id == op::Loop::id || node.op->id == op::Scan::id;
    return is_repeated ? Program::Kind::repetition : Program::Kind::kernel;
  }

  /// An output that lies in the caller's memory is copied: the caller may free it after the run.
  constexpr void add_output(TensorId id) {
    Program::Argument output = argument(id);
    if (output.place == Program::Place::late) {
      program_.late[static_cast<std::size_t>(output.number)] = INT32_MAX;
    }
    const bool is_late = !is_plannable(graph_.info(id));
    if (output.place == Program::Place::input && (is_late || graph_.info(id).bytes() != 0)) {
      const auto end = static_cast<std::int32_t>(graph_.nodes.size());
      const std::int32_t copy =
          is_late ? add_late(INT32_MAX) : program_.add_buffer(graph_.info(id).bytes(), end, end);
      program_.steps.push_back({.kind = Program::Kind::copy,
                                .is_late = is_late,
                                .first = static_cast<std::uint32_t>(program_.arguments.size()),
                                .inputs = 1,
                                .outputs = 1});
      program_.arguments.push_back(output);
      output = {id, is_late ? Program::Place::late : Program::Place::buffer, copy};
      program_.arguments.push_back(output);
    }
    program_.outputs.push_back(output);
  }

  Program& program_;
  const Graph& graph_;
  Buffers buffers_;
  TensorMap<std::int32_t> input_number_, late_number_;
};

}  // namespace detail

/// Leaves graphs as they are: see make_program.
struct NoPasses {
  constexpr Graph operator()(Graph graph) const { return graph; }
  constexpr NoPasses inside(const Graph&, const Node&, std::size_t) const { return {}; }
};

/// The program of a graph that has been inferred. Its graph and each body, which have static
/// shapes, go through `passes(graph)` first; `passes.inside(graph, node, i)` is for that body of
/// that node. Bodies of late nodes stay as they are.
///
/// errors  UnsupportedError: a shape that is not known before the run, unless the options allow it;
///         MemoryError: a tensor that no memory holds; ModelError: a tensor that is read before it
///         is made, a body that does not fit its node
template <class Passes = NoPasses>
constexpr Program make_program(Graph graph, const Passes& passes = {},
                               ProgramOptions options = {}) {
  Program program;
  program.graph = passes(std::move(graph));
  detail::ProgramBuilder(program, options);
  // Calls of one body share its program; a loop's gives what that loop needs.
  Vector<std::int32_t> number(program.graph.graphs.size(), Program::none);
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const Program::Kind kind = program.steps[s].kind;
    if (kind == Program::Kind::kernel || kind == Program::Kind::copy ||
        kind == Program::Kind::group) {
      continue;
    }
    const bool is_late = program.steps[s].is_late;
    const Node& node = program.graph.nodes[static_cast<std::size_t>(program.steps[s].node)];
    const Vector<std::int32_t> indices = subgraphs_of(node);
    for (std::size_t b = 0; b < indices.size(); ++b) {
      const auto index = static_cast<std::size_t>(indices[b]);
      Graph body = program.graph.graphs[index];
      const bool is_repeated = kind == Program::Kind::repetition;
      if (is_repeated) {
        program.steps[s].repetition = static_cast<std::int32_t>(program.repetitions.size());
        program.repetitions.push_back(make_repetition(program.graph, node, body, is_late));
        if (const std::int64_t bytes = program.repetitions.back().scratch_bytes; bytes != 0) {
          program.add_scratch(s, bytes);
        }
      }
      const bool is_shared = !is_repeated && !is_late;
      std::int32_t at = is_shared ? number[index] : Program::none;
      if (at == Program::none) {
        at = static_cast<std::int32_t>(program.bodies.size());
        // Not by ?:, which g++ 12 destroys twice in constant evaluation.
        if (is_late) {
          program.bodies.push_back(make_program(std::move(body), NoPasses{}, options));
        } else {
          program.bodies.push_back(
              make_program(std::move(body), passes.inside(program.graph, node, b), options));
        }
      }
      if (is_shared) number[index] = at;
      program.steps[s].bodies.push_back(at);
    }
  }
  if (options.place) program.place();
  return program;
}

}  // namespace halftone
