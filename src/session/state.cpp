#include "session/state.hpp"

#include <algorithm>
#include <utility>

#include <halftone/program/spread.hpp>
#include <halftone/train.hpp>

#include "base/describe.hpp"

namespace halftone::detail {
namespace {

EngineOptions engine_options(const SessionOptions& options, NodeRunner* runner) {
  return {.threads = options.threads,
          .seed = options.seed,
          .stop_at_nan = options.stop_at_nan,
          .recompute = options.recompute,
          .schedule = options.schedule,
          .convolution = options.convolution,
          .precision = options.precision,
          .runner = runner,
          .observer = options.observer,
          .ranks = options.ranks};
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

/// How many micro-batches run at a time. Throws UsageError if some stages of a pipeline would never run
/// side by side.
std::int64_t pipelined_micro_batches(const Graph& graph, const SessionOptions& options,
                                     const DataFlow& flow) {
  if (options.schedule == Schedule::none || !has_stages(graph)) return 1;
  const bool has_steps = accumulation_of(graph) != 0;
  const bool is_continuous = options.schedule == Schedule::continuous;
  if (is_continuous && has_steps && flow.accumulation > 1) {
    fail(ErrorKind::usage, {.what = "a continuous pipeline updates weights after every micro-batch",
                            .expected = "accumulation 1",
                            .found = "accumulation " + std::to_string(flow.accumulation),
                            .hint = "batches_per_step, or another schedule"});
  }
  const bool is_step = has_steps && !is_continuous;
  const std::int64_t depth = is_step ? flow.accumulation : flow.micro_batches();
  check_depth(graph, depth, is_step);
  return depth;
}

/// How many micro-batches each input is asked for ahead of time.
std::vector<std::size_t> prefetch_depths(const SessionInputs& inputs,
                                         const SessionOptions& options) {
  std::vector<std::string_view> names;
  for (const InputPort& port : inputs.ports()) names.push_back(port.name);
  const auto checked = [](std::string_view input, int depth) {
    if (depth >= 0) return static_cast<std::size_t>(depth);
    fail(ErrorKind::usage, {.what = "fewer than no micro-batches are to be asked for ahead of time",
                            .tensor = input,
                            .expected = "0 or more",
                            .found = std::to_string(depth)});
  };
  std::vector<std::size_t> depths(names.size(), checked({}, options.prefetch));
  for (const auto& [name, depth] : options.prefetch_of) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      fail(ErrorKind::usage, {.what = "what is to be asked for ahead of time is not an input",
                              .tensor = name,
                              .hint = "inputs are " + list_of(names)});
    }
    depths[static_cast<std::size_t>(found - names.begin())] = checked(name, depth);
  }
  return depths;
}

}  // namespace

SessionState::SessionState(Graph own, Executable* executable, const SessionOptions& options,
                           const DataFlow& data_flow, std::vector<OutputPort> ports)
    : together(pipelined_micro_batches(own, options, data_flow)),
      arithmetic(device_arithmetic(options)),
      engine(make_engine(with_outputs(std::move(own), ports), executable,
                         engine_options(options, arithmetic.get()))),
      flow(data_flow),
      inputs(engine, flow),
      outputs(engine, flow, std::move(ports)),
      transfer(prefetch_depths(inputs, options)),
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
  for (const TensorId id : graph().inputs) given.push_back({graph().info(id), nullptr});
  const bool all_static = std::all_of(given.begin(), given.end(),
                                      [](const AnyView& view) { return view.info.is_static(); });
  if (all_static) model->follow(graph(), given);
}

void SessionState::run_engine(std::int64_t m) {
  const std::span<const AnyView> views = inputs.hand_over();
  outputs.hand_over(m);
  if (model != nullptr) model->follow(graph(), views);
  engine.run(views);
}

/// Runs the micro-batches of a pipeline from number m on; `give(j)` makes the views those of the j-th
/// one, whose data stay until all have run.
void SessionState::run_together(std::int64_t m, auto&& give) {
  std::vector<AnyView> all;
  for (std::int64_t j = 0; j < together; ++j) {
    give(m + j);
    const std::span<const AnyView> views = inputs.hand_over();
    if (j == 0 && model != nullptr) model->follow(graph(), views);
    all.insert(all.end(), views.begin(), views.end());
  }
  engine.run_together(together, all);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (together == 1 || outputs.is_stream(i) || !engine.is_of_step(i)) continue;
    if (outputs[i].returns == Return::final) continue;
    fail(ErrorKind::usage, {.what = "a tensor that a pipeline computes once a step is returned for "
                                    "each micro-batch",
                            .tensor = outputs[i].name,
                            .expected = "Return::final"});
  }
}

void SessionState::run() {
  const std::int64_t count = flow.micro_batches();
  const bool is_pipelined = engine.is_pipelined();
  for (std::int64_t m = 0; is_pipelined && m < count; m += together) {
    run_together(m, [&](std::int64_t now) { inputs.use(now); });
    for (std::int64_t j = 0; outputs.collects() && j < together; ++j) {
      for (std::size_t i = 0; i < outputs.size(); ++i) outputs.collect(i, m + j, j);
    }
  }
  if (is_pipelined) return;
  for (std::int64_t m = 0; m < count; ++m) {
    inputs.use(m);
    run_engine(m);
    for (std::size_t i = 0; outputs.collects() && i < outputs.size(); ++i) outputs.collect(i, m);
  }
}

void SessionState::run(StepIo& io, const Session& session) {
  inputs.restore_variables();
  inputs.expect_declared();
  if (must_check_sizes) io.check(session);
  const std::int64_t count = flow.micro_batches();
  const std::size_t input_count = inputs.ports().size();
  transfer.begin();
  std::vector<AnyArray> kept;
  const bool is_pipelined = engine.is_pipelined();
  for (std::int64_t m = 0; is_pipelined && m < count; m += together) {
    kept.clear();
    run_together(m, [&](std::int64_t) {
      for (std::size_t i = 0; i < input_count; ++i) {
        transfer.fetch(io, inputs, i);
        // The memory of step IO is good for one micro-batch.
        AnyView& view = inputs.views[i];
        const std::int64_t elements = view.info.elements() * inputs.ports()[i].count;
        kept.push_back(AnyArray::copy_of({{view.info.type, {elements}}, view.data}));
        view.data = kept.back().data();
      }
    });
    for (std::int64_t j = 0; j < together; ++j) deliver(io, m + j, j);
  }
  for (std::int64_t m = 0; !is_pipelined && m < count; ++m) {
    for (std::size_t i = 0; i < input_count; ++i) transfer.fetch(io, inputs, i);
    run_engine(m);
    for (std::size_t i = 0; i < input_count; ++i) {
      transfer.fetch_ahead(io, inputs, i, count - 1 - m);
    }
    deliver(io, m, 0);
  }
  must_check_sizes = false;
}

/// Gives step IO what micro-batch m returns, which was number j of those that ran together.
void SessionState::deliver(StepIo& io, std::int64_t m, std::int64_t j) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputPort& port = outputs[i];
    const bool is_sum = port.returns == Return::sum && flow.micro_batches() > 1;
    if (is_sum || flow.replicas > 1) outputs.collect(i, m, j);
    if (!flow.returns(port.returns, port.period, m)) continue;
    StepTransfer::deliver(io, port, next_value(i, m, j));
  }
}

AnyView SessionState::next_value(std::size_t i, std::int64_t m, std::int64_t j) const {
  const OutputPort& port = outputs[i];
  if (outputs.is_stream(i)) return outputs.of_micro_batch(i, m);
  if (port.returns == Return::sum && flow.micro_batches() > 1) return port.collected;
  if (flow.replicas == 1) return engine.output(i, 0, j);
  // The last value that was collected, of all replicas.
  const std::int64_t elements = graph().info(port.id).elements() * flow.replicas;
  const std::int64_t bytes = graph().info(port.id).bytes() * flow.replicas;
  const std::int64_t slot = flow.slot(port.returns, port.period, m);
  return {{graph().info(port.id).type, {elements}}, port.collected.data() + slot * bytes};
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
