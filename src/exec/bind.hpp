#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/program/program.hpp>

#include "group.hpp"
#include "node.hpp"

namespace halftone {

/// A program with the kernels of its steps and its memory: ready to run, see run.hpp. Running it
/// allocates nothing.
struct Bound {
  explicit Bound(Program& p) : program(p) {}
  struct Step {
    void (*run)(const KernelCall& call);
    KernelCall call;
  };
  /// What a step with bodies runs.
  struct Control {
    std::vector<Bound*> bodies;
    const Repetition* repetition = nullptr;
  };

  /// A node that a NodeRunner computes.
  struct Foreign {
    NodeRunner* runner;
    const Program* program;
    const Program::Step* step;
  };

  Program& program;
  std::vector<Step> steps;
  std::vector<NodeTime> times;  ///< of the steps
  std::vector<TensorArgument> arguments;
  std::vector<std::vector<std::uint32_t>> input_arguments;  ///< of each input
  std::vector<void*> outputs;
  std::deque<NodeKernel> kernels;
  std::deque<Group> groups;
  std::deque<Control> controls;
  std::deque<Foreign> foreign;
  std::vector<std::unique_ptr<Bound>> bodies;
  Storage arena;
  bool stops_at_nan = false;

  /// Input number i for the next run; null only for empty tensors.
  void set_input(std::size_t i, const void* data) {
    for (const std::uint32_t a : input_arguments[i]) arguments[a].data = const_cast<void*>(data);
  }
  AnyView output(std::size_t i) const {
    return {program.graph.info(program.graph.outputs[i]), outputs[i]};
  }
  /// Of the arena and packed weights, bodies included.
  std::size_t bytes() const;
};

/// The program of a graph that has been inferred, through the passes for `cpu` that come before it
/// is planned, or none if a NodeRunner computes its nodes.
Program program_for(Graph graph, const EngineOptions& options);

/// Gives the steps of a program their kernels, its constants the form that these want, and its
/// values memory. The program, to which scratch memory and packed weights are added, is borrowed.
std::unique_ptr<Bound> bind(Program& program, const EngineOptions& options,
                            const kernel::Executor& executor);

}  // namespace halftone
