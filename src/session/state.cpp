#include "session/state.hpp"

#include <algorithm>
#include <utility>

#include "base/describe.hpp"

namespace halftone::detail {
namespace {

EngineOptions engine_options(const SessionOptions& options, NodeRunner* runner) {
  return {.threads = options.threads,
          .seed = options.seed,
          .stop_at_nan = options.stop_at_nan,
          .runner = runner,
          .observer = options.observer};
}

/// The graph with outputs that are what a session returns.
Graph with_outputs(Graph graph, const std::vector<OutputPort>& ports) {
  graph.outputs.clear();
  for (const OutputPort& port : ports) graph.outputs.push_back(port.id);
  return graph;
}

Engine make_engine(Graph graph, Executable* executable, const EngineOptions& options) {
  if (executable == nullptr) return Engine(std::move(graph), options);
  executable->change(std::move(graph));
  return Engine(std::move(*executable), options);
}

}  // namespace

SessionState::SessionState(Graph own, Executable* executable, const SessionOptions& options,
                           const DataFlow& data_flow, std::vector<OutputPort> ports)
    : arithmetic(device_arithmetic(options)),
      engine(make_engine(with_outputs(std::move(own), ports), executable,
                         engine_options(options, arithmetic.get()))),
      flow(data_flow),
      inputs(engine, flow),
      outputs(engine, flow, std::move(ports)),
      prefetch(options.prefetch),
      must_check_sizes(options.check_sizes) {
  for (std::size_t i = 0; i < graph().tensors.size(); ++i) {
    const TensorRecord& t = graph().tensors[i];
    if (is_variable(t) && !t.name.empty()) variables.push_back(static_cast<TensorId>(i));
  }
  if (options.device != Device::ipu_model) return;
  if (options.ipu.placement == ipu::Placement::nodes) {
    ipu::check_placement(graph(), options.ipu.target != nullptr ? options.ipu.target->ipus : 1);
  }
  if (!options.ipu.profiling) return;
  model = std::make_unique<IpuModel>(options);
  std::vector<AnyView> given;
  for (const InputPort& port : inputs.ports()) given.push_back({port.info, nullptr});
  const bool all_static = std::all_of(given.begin(), given.end(),
                                      [](const AnyView& view) { return view.info.is_static(); });
  if (all_static) model->follow(graph(), given);
}

void SessionState::run_engine() {
  if (model != nullptr) model->follow(graph(), inputs.views);
  engine.run(inputs.views);
}

void SessionState::run() {
  const std::int64_t count = flow.micro_batches();
  for (std::int64_t m = 0; m < count; ++m) {
    inputs.use(m);
    run_engine();
    for (std::size_t i = 0; count > 1 && i < outputs.size(); ++i) outputs.collect(i, m);
  }
}

void SessionState::run(StepIo& io, const Session& session) {
  inputs.restore_variables();
  inputs.expect_declared();
  if (must_check_sizes) io.check(session);
  const std::int64_t count = flow.micro_batches();
  const std::size_t input_count = inputs.ports().size();
  transfer.begin(input_count);
  for (std::int64_t m = 0; m < count; ++m) {
    for (std::size_t i = 0; i < input_count; ++i) transfer.fetch(io, inputs, i);
    run_engine();
    if (prefetch && m + 1 < count) {
      for (std::size_t i = 0; i < input_count; ++i) transfer.fetch_ahead(io, inputs, i);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const OutputPort& port = outputs[i];
      const bool is_sum = port.returns == Return::sum && count > 1;
      if (is_sum) outputs.collect(i, m);
      if (!flow.returns(port.returns, port.period, m)) continue;
      StepTransfer::deliver(io, port, is_sum ? AnyView(port.collected) : engine.output(i));
    }
  }
  must_check_sizes = false;
}

TensorId SessionState::variable(std::string_view name) const {
  const TensorId id = graph().find(name);
  if (id != no_tensor && is_variable(graph().tensor(id))) return id;
  std::vector<std::string_view> names;
  for (const TensorId other : variables) names.push_back(graph().name(other));
  const std::string hint =
      names.empty() ? "there are no variables" : "variables are " + list_of(names);
  fail(ErrorKind::input, {.what = id == no_tensor ? "the graph has no tensor of this name"
                                                  : "the tensor of this name is not a variable",
                          .tensor = name,
                          .hint = hint});
}

}  // namespace halftone::detail
