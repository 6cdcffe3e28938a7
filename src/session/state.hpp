#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/session/session.hpp>

#include "session/inputs.hpp"
#include "session/ipu_model.hpp"
#include "session/outputs.hpp"
#include "session/step_transfer.hpp"

namespace halftone::detail {

/// What a session owns.
struct SessionState {
  std::int64_t together = 1;  ///< micro-batches that a pipeline runs at a time
  std::unique_ptr<ipu::ArithmeticRunner> arithmetic;  ///< of ipu_model, if it is asked for
  Engine engine;
  DataFlow flow;
  SessionInputs inputs;
  SessionOutputs outputs;
  StepTransfer transfer;
  std::unique_ptr<IpuModel> model;  ///< null: there are no reports
  Vector<TensorId> model_outputs;   ///< of the graph as it came
  std::vector<TensorId> variables;  ///< those that have a name
  bool must_check_sizes = true;

  /// `executable`: the graph made ready; null: it is not.
  SessionState(Graph graph, Executable* executable, const SessionOptions& options,
               const DataFlow& data_flow, std::vector<OutputPort> ports);

  const Graph& graph() const { return engine.graph(); }

  /// Runs all micro-batches of what was bound.
  void run();
  /// Runs them with step IO.
  void run(StepIo& io, const Session& session);

  /// The variable of that name; throws InputError, listing variables, if there is none.
  TensorId variable(std::string_view name) const;

 private:
  /// Runs a micro-batch; on ipu_model shapes that are new are profiled first.
  void run_engine(std::int64_t m);
  void run_together(std::int64_t m, auto&& give);
  void deliver(StepIo& io, std::int64_t m, std::int64_t j);
  /// What step IO gets of output i from micro-batch m, number j of those that ran together.
  AnyView next_value(std::size_t i, std::int64_t m, std::int64_t j) const;
};

}  // namespace halftone::detail
