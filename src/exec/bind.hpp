#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/program/program.hpp>

#include "group.hpp"
#include "machine.hpp"
#include "measured_executor.hpp"
#include "node_kernel.hpp"

namespace halftone {

struct Late;

/// Where a late body is in the model.
struct Nesting {
  int depth = 0;       ///< late bodies around it
  std::string path{};  ///< see PassEvent::path

  /// The same for a body of a node.
  std::string path_of(const Graph& graph, const Node& node, std::size_t body) const;
};

/// A program with the kernels of its steps and its memory: ready to run, see run.hpp. Running it
/// allocates nothing, but for late steps.
struct Bound {
  Bound(Program& p, const EngineOptions& o, const kernel::Executor& e, const Reach& r);
  ~Bound();

  struct Step {
    void (*run)(const KernelCall& call);
    KernelCall call;
  };
  /// What a step with bodies runs.
  struct Control {
    std::vector<Bound*> bodies;
    const Repetition* repetition = nullptr;
    std::int64_t parts = 1;                ///< of a batch
    std::vector<std::int64_t> part_bytes;  ///< of each argument; 0: it is the same for all
  };

  /// A node that a NodeRunner computes.
  struct Foreign {
    NodeRunner* runner;
    const Program* program;
    const Program::Step* step;
  };

  Program& program;
  const EngineOptions options;
  const kernel::Executor& executor;
  const Reach reach;
  Nesting nesting{};
  bool is_open = false;  ///< for any shapes: its bodies are not made ready for those that come
  MeasuredExecutor* measured = nullptr;  ///< if a run adds to `times`
  std::vector<Step> steps;
  std::vector<NodeTime> times;  ///< of the steps
  std::vector<TensorArgument> arguments;
  std::vector<std::vector<std::uint32_t>> input_arguments;  ///< of each input
  std::vector<void*> outputs;
  /// Those of each output that is written where the caller wants it: see `set_output`.
  std::vector<std::vector<std::uint32_t>> output_arguments;
  std::vector<std::size_t> same_output;  ///< the first one that lies where each output does
  std::deque<NodeKernel> kernels;
  std::deque<Group> groups;
  std::deque<Control> controls;
  std::deque<Foreign> foreign;
  std::vector<std::unique_ptr<Late>> late_steps;
  std::vector<std::unique_ptr<Bound>> bodies;  ///< null: those of late steps, which have their own
  std::vector<AnyView> inputs;                 ///< unknown: those of the program's own infos
  std::vector<AnyArray> late_values;           ///< values that late steps have computed
  Storage arena;

  /// Input number i for the next run; null only for empty tensors.
  void set_input(std::size_t i, const void* data) {
    for (const std::uint32_t a : input_arguments[i]) arguments[a].data = const_cast<void*>(data);
  }
  /// The same for inputs whose shapes the program leaves open.
  void set_input(std::size_t i, const AnyView& value) {
    inputs[i] = value;
    set_input(i, value.data);
  }
  /// Where output number i of the next run goes. Outputs that lie in memory that stays, or in that of
  /// another one, are not written there: `give_output` copies them.
  void set_output(std::size_t i, void* data) {
    for (const std::uint32_t a : output_arguments[i]) {
      arguments[a].data = static_cast<std::byte*>(data) + program.arguments[a].offset;
    }
    if (!output_arguments[i].empty()) outputs[i] = data;
  }
  /// Copies output number i of the last run to where it was wanted, if it is not there.
  void give_output(std::size_t i, void* data) const;
  /// Gives the values memory: an arena of as many bytes as the program has, or more.
  void place(Storage memory);
  /// The same in memory of others, which stays.
  void place(std::byte* memory);
  AnyView output(std::size_t i) const {
    const Program::Argument& a = program.outputs[i];
    if (a.place == Program::Place::late) return late_values[static_cast<std::size_t>(a.number)];
    return {program.graph.info(program.graph.outputs[i]), outputs[i]};
  }
  /// An argument of a late step.
  AnyView view(std::size_t argument) const;
  void set_late(std::int32_t number, AnyArray value) {
    late_values[static_cast<std::size_t>(number)] = std::move(value);
  }
  /// Of the arena and packed weights, bodies included.
  std::size_t bytes() const;
  /// Has runs measure the steps, and those of the bodies of calls, by `with`; null: no more.
  void measure(MeasuredExecutor* with);
  /// The times of the steps; those of a call are its body's.
  void add_times(std::vector<NodeTime*>& all);
};

/// Whether passes may make one node of several: not where the values between them are looked at, or a
/// NodeRunner computes them.
inline bool may_fuse(const EngineOptions& options) {
  return options.fuse && !options.stop_at_nan && options.runner == nullptr;
}

/// The program of a graph that has been inferred, through the passes for `cpu` that come before it
/// is planned, or none if a NodeRunner computes its nodes.
Program program_for(Graph graph, const EngineOptions& options, const Nesting& nesting = {});

/// The two halves of that for a graph that is cut in between.
Graph with_chosen_kernels(Graph graph, const EngineOptions& options);
Program piece_program(Graph graph, const EngineOptions& options);

/// Has callers give the memory of the outputs: they get no place in the arena.
void give_outputs_away(Program& program);

/// Gives the steps of a program their kernels, its constants the form that these want, and its
/// values memory. The program, to which scratch memory and packed weights are added, and the
/// executor are borrowed. `is_open`: see Bound.
std::unique_ptr<Bound> bind(Program& program, const EngineOptions& options,
                            const kernel::Executor& executor, const Reach& reach = {},
                            const Nesting& nesting = {}, bool is_open = false);
/// The same for a program whose outputs were given away; Bound::place is still to be called.
std::unique_ptr<Bound> bind_piece(Program& program, const EngineOptions& options,
                                  const kernel::Executor& executor, const Reach& reach);

}  // namespace halftone
