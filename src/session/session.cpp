#include <halftone/session/session.hpp>

#include <cstring>
#include <string>
#include <utility>

#include <halftone/ipu/profile.hpp>
#include <halftone/train.hpp>

#include "base/describe.hpp"
#include "exec/rank_link.hpp"
#include "session/state.hpp"

namespace halftone {

using detail::SessionState;
using detail::to_text;

std::size_t Result::size() const { return state_->outputs.size(); }
std::string_view Result::name(std::size_t i) const { return state_->outputs.at(i).name; }

AnyView Result::operator[](std::size_t i) const {
  static_cast<void>(state_->outputs.at(i));
  return state_->outputs.value(i);
}
AnyView Result::operator[](std::string_view name) const {
  const std::size_t i = state_->outputs.find(name);
  if (i < size()) return state_->outputs.value(i);
  fail(ErrorKind::input, {.what = "a run returns no tensor of this name",
                          .tensor = name,
                          .hint = "it returns " + state_->outputs.names()});
}
AnyView Result::of_tensor(TensorId id) const {
  const std::size_t i = state_->outputs.find(id);
  if (i < size()) return state_->outputs.value(i);
  fail(ErrorKind::input, {.what = "a run does not return this tensor",
                          .hint = "it returns " + state_->outputs.names()});
}

Session::Session(Graph graph, const SessionOptions& options)
    : Session(std::move(graph), options, nullptr) {}

Session::Session(Executable executable, const SessionOptions& options)
    : Session(executable.graph(), options, &executable) {}

Session::Session(Graph graph, const SessionOptions& options, Executable* executable) {
  const DataFlow flow{options.batches_per_step, options.accumulation, options.host_transfers,
                      replicas_of_rank(graph, options.ranks)};
  flow.check();
  if (options.host_transfers > 1 && !graph.inputs.empty()) {
    fail(ErrorKind::usage, {.what = "host_transfers is for graphs without inputs",
                            .tensor = graph.name(graph.inputs[0]),
                            .hint = "load from a stream: h2d_stream, host_load"});
  }
  if (options.accumulation > 1 && accumulation_of(graph) != 0) {
    accumulate_gradients(graph, options.accumulation);
  }
  std::vector<detail::OutputPort> outputs = detail::find_outputs(graph, options, flow);
  Vector<TensorId> model_outputs =
      executable != nullptr ? executable->model_outputs() : graph.outputs;
  // A model whose tensors are returned though none is its output would be saved without a node.
  if (model_outputs.empty() && executable == nullptr) {
    for (const detail::OutputPort& port : outputs) model_outputs.push_back(port.id);
  }
  state_ = Owned(new SessionState(std::move(graph), executable, options, flow, std::move(outputs)));
  state_->model_outputs = std::move(model_outputs);
}

Executable Session::executable() const {
  state_->inputs.restore_variables();
  Executable executable = state_->engine.executable();
  executable.set_model_outputs(state_->model_outputs);
  return executable;
}

Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result Session::run(std::span<const Input> inputs) {
  state_->inputs.bind(inputs);
  state_->run();
  return Result(*state_);
}

void Session::run(std::span<const Input> inputs, std::span<const Output> outputs) {
  const detail::SessionOutputs& all = state_->outputs;
  std::vector<void*> memory(all.size());
  std::vector<bool> is_given(all.size());  // a tensor without elements needs no memory
  for (const Output& output : outputs) {
    const std::size_t i = all.find(output.name);
    const auto refuse = [&](std::string_view what, std::string_view expected) {
      fail(ErrorKind::input, {.what = what,
                              .tensor = output.name,
                              .expected = expected,
                              .found = to_text(output.buffer.info),
                              .hint = "a run returns " + all.names()});
    };
    if (i == all.size()) refuse("memory is given for a tensor that a run does not return", {});
    if (is_given[i]) refuse("memory is given twice for what a run returns", {});
    const TensorInfo expected{all.info(i).type, all.shape(i)};
    if (output.buffer.info != expected ||
        (output.buffer.data == nullptr && expected.bytes() != 0)) {
      refuse("memory for what a run returns has another type or shape", to_text(expected));
    }
    memory[i] = output.buffer.data;
    is_given[i] = true;
  }
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (is_given[i]) continue;
    fail(ErrorKind::input, {.what = "there is no memory for a tensor that a run returns",
                            .tensor = all[i].name,
                            .expected = to_text({all.info(i).type, all.shape(i)})});
  }
  run(inputs);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const AnyView value = all.value(i);
    if (value.bytes() != 0) std::memcpy(memory[i], value.data, value.bytes());
  }
}

void Session::run(StepIo& io) { state_->run(io, *this); }

Graph Session::graph() const {
  state_->inputs.restore_variables();
  Graph copy = state_->engine.graph_with_values();
  copy.outputs = state_->model_outputs;
  for (std::size_t i = 0; i < copy.tensors.size(); ++i) {
    TensorRecord& t = copy.tensors[i];
    if (!is_variable(t) || t.settings >= 0) continue;
    const AnyArray value = AnyArray::copy_of(state_->engine.variable(static_cast<TensorId>(i)));
    t.data = Bytes(value.storage(), value.data(), value.bytes());
  }
  return copy;
}

bool Session::is_random() const { return state_->engine.is_random(); }
std::uint64_t Session::random_seed() const { return state_->engine.seed(); }
void Session::set_random_seed(std::uint64_t seed) {
  state_->engine.set_seed(seed);
  if (state_->arithmetic != nullptr) state_->arithmetic->random().set_seed(seed);
}

namespace {

ipu::RandomState& random_state(const SessionState& state) {
  if (state.arithmetic == nullptr) {
    fail(ErrorKind::usage, {.what = "there are no generators of a machine",
                            .hint = "device = Device::ipu_model with ipu.arithmetic has them"});
  }
  return state.arithmetic->random();
}

}  // namespace

std::vector<std::uint32_t> Session::rng_state() const { return random_state(*state_).words(); }
void Session::set_rng_state(std::span<const std::uint32_t> words) {
  ipu::RandomState& random = random_state(*state_);
  if (words.size() != random.word_count()) {
    fail(ErrorKind::usage, {.what = "the state of random generators has another size",
                            .expected = std::to_string(random.word_count()) + " words",
                            .found = std::to_string(words.size()) + " words"});
  }
  random.set_words(words);
}

AnyView Session::get(std::string_view variable) const {
  state_->inputs.restore_variables();
  return state_->engine.variable(state_->variable(variable));
}

void Session::set(std::string_view variable, const AnyView& value) {
  state_->inputs.restore_variables();
  const TensorId id = state_->variable(variable);
  const TensorInfo info = state_->engine.variable_info(id);
  if (value.info != info || (value.data == nullptr && info.elements() != 0)) {
    fail(ErrorKind::input, {.what = "the new value does not fit the variable",
                            .tensor = variable,
                            .expected = to_text(info),
                            .found = value.data == nullptr ? "null" : to_text(value.info)});
  }
  state_->engine.set_variable(id, value);
}

void Session::set_number(std::string_view variable, double value) {
  const TensorInfo info = state_->engine.variable_info(state_->variable(variable));
  if (info.elements() != 1) {
    fail(ErrorKind::input, {.what = "the variable is not a single number",
                            .tensor = variable,
                            .expected = to_text(info),
                            .found = "a number"});
  }
  AnyArray number(info);
  const bool done = visit_type<AllTypes>(info.type, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      number.values<T>()[0] = value != 0;
    } else {
      number.values<T>()[0] = static_cast<T>(value);
    }
  });
  if (!done) {
    fail(ErrorKind::input, {.what = "numbers cannot be converted to the variable's type",
                            .tensor = variable,
                            .expected = to_text(info)});
  }
  set(variable, number);
}

namespace {

Port port_of(const Graph& graph, TensorId id) { return {graph.name(id), graph.info(id)}; }

std::vector<Port> ports_of(const Graph& graph, const Vector<TensorId>& ids) {
  std::vector<Port> ports;
  for (const TensorId id : ids) ports.push_back(port_of(graph, id));
  return ports;
}

}  // namespace

std::vector<Port> Session::inputs() const {
  std::vector<Port> ports;
  for (const detail::InputPort& port : state_->inputs.ports()) {
    ports.push_back({port.name, port.info});
  }
  return ports;
}
std::vector<Port> Session::optional_inputs() const {
  return ports_of(state_->graph(), state_->graph().optional_inputs);
}
std::vector<Port> Session::outputs() const {
  std::vector<Port> ports;
  for (std::size_t i = 0; i < state_->outputs.size(); ++i) {
    ports.push_back({state_->outputs[i].name, state_->outputs.info(i)});
  }
  return ports;
}
std::vector<Port> Session::variables() const {
  std::vector<Port> ports;
  for (const TensorId id : state_->variables) {
    ports.push_back({state_->graph().name(id), state_->engine.variable_info(id)});
  }
  return ports;
}

std::vector<Port> Session::tensors() const {
  std::vector<Port> ports;
  for (std::size_t i = 0; i < state_->graph().tensors.size(); ++i) {
    if (state_->graph().tensors[i].name.empty()) continue;
    ports.push_back(port_of(state_->graph(), static_cast<TensorId>(i)));
  }
  return ports;
}

namespace {

/// The slices of a stream that the graph loads from or stores to; null: there is none.
const TensorInfo* slice_of(const SessionState& state, std::string_view stream) {
  for (const detail::InputPort& port : state.inputs.ports()) {
    if (port.id == no_tensor && port.name == stream) return &port.info;
  }
  const std::size_t i = state.outputs.find(stream);
  return i < state.outputs.size() && state.outputs.is_stream(i) ? &state.outputs.info(i) : nullptr;
}

/// How often the program of a report goes in a run: a pipeline's is of several micro-batches.
std::int64_t reports_of_run(const ipu::Report& report, const DataFlow& flow) {
  const std::int64_t together = report.run_cycles > 0 ? report.accumulation : 1;
  return flow.micro_batches() / together;
}

}  // namespace

bool Session::has(std::string_view tensor) const {
  return state_->graph().find(tensor) != no_tensor || slice_of(*state_, tensor) != nullptr;
}

TensorInfo Session::info(std::string_view tensor) const {
  const TensorId id = state_->graph().find(tensor);
  if (id != no_tensor) {
    // Of what replicas hold in parts, the host has the whole.
    const VariableSettings* const settings = state_->graph().settings(id);
    const bool is_part = settings != nullptr && settings->shard_over > 1;
    return is_part ? state_->engine.variable_info(id) : state_->graph().info(id);
  }
  const TensorInfo* slice = slice_of(*state_, tensor);
  if (slice == nullptr) throw_unknown_name(state_->graph(), tensor);
  return *slice;
}

const ipu::Report& Session::report() const {
  if (state_->model == nullptr) {
    fail(ErrorKind::usage, {.what = "there are no reports of this session",
                            .hint = "device = Device::ipu_model with ipu.profiling makes them"});
  }
  if (state_->model->report() == nullptr) {
    fail(ErrorKind::usage, {.what = "the shapes are not known before the first run",
                            .hint = "run the session, or give symbolic extents a value"});
  }
  return *state_->model->report();
}
std::int64_t Session::cycle_count() const {
  const ipu::Report& r = report();
  return r.cycles() * reports_of_run(r, state_->flow);
}
std::int64_t Session::cycle_count(std::int64_t ipu) const {
  const ipu::Report& r = report();
  if (ipu < 0 || ipu >= r.target.ipus) {
    fail(ErrorKind::usage, {.what = "cycles are asked of an IPU that the machine does not have",
                            .expected = "less than " + std::to_string(r.target.ipus),
                            .found = std::to_string(ipu)});
  }
  return r.ipu_cycles(ipu) * reports_of_run(r, state_->flow);
}

const DataFlow& Session::data_flow() const { return state_->flow; }

Anchor Session::anchor(std::size_t i) const {
  const detail::OutputPort& port = state_->outputs.at(i);
  Anchor anchor(port.name, port.returns, port.period);
  anchor.id = port.id;
  return anchor;
}

Dims Session::returned_shape(std::size_t i) const {
  static_cast<void>(state_->outputs.at(i));
  return state_->outputs.shape(i);
}
Dims Session::given_shape(std::size_t i) const {
  const auto& ports = state_->inputs.ports();
  detail::check_number(i, ports.size(), "a model has fewer inputs");
  const detail::InputPort& port = ports[i];
  if (port.id == no_tensor) return state_->flow.stream_shape(port.info.shape);
  return state_->flow.shape(Return::all, 1, port.info.shape);
}

}  // namespace halftone
