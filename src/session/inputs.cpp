#include "session/inputs.hpp"

#include <string>

#include "base/describe.hpp"
#include "graph/inputs.hpp"

namespace halftone::detail {
namespace {

std::vector<InputPort> input_ports(const Graph& graph, const Vector<TensorId>& ids) {
  std::vector<InputPort> ports;
  for (const TensorId id : ids) {
    InputPort& port = ports.emplace_back();
    port.name = graph.name(id);
    port.id = id;
    port.info = graph.info(id);
  }
  return ports;
}

}  // namespace

SessionInputs::SessionInputs(Engine& engine, const DataFlow& flow)
    : engine_(engine),
      flow_(flow),
      lead_{flow.batches_per_step, flow.accumulation, flow.replicas},
      inputs_(engine.graph().inputs.size()),
      streams_(engine.loads()),
      ports_(input_ports(engine.graph(), engine.graph().inputs)),
      optional_(input_ports(engine.graph(), engine.graph().optional_inputs)) {
  for (InputPort& port : ports_) port.count = flow.replicas;
  for (InputPort& port : optional_) port.info = engine.variable_info(port.id);
  for (const Engine::Stream& stream : streams_) {
    for (const InputPort& port : ports_) {
      if (port.name != stream.name.view()) continue;
      fail(ErrorKind::usage,
           {.what = "an input and a stream have the same name", .tensor = port.name});
    }
    InputPort& port = ports_.emplace_back();
    port.name = stream.name.view();
    port.info = stream.slice;
    port.count = flow.host_transfers * flow.replicas;
  }
  views.resize(ports_.size());
  given_.resize(ports_.size());
}

void SessionInputs::refuse(const InputPort& port, std::string_view what,
                           std::string_view found) const {
  if (port.id != no_tensor) throw_input(engine_.graph(), port.id, what, found, lead_);
  std::vector<std::string_view> names;
  for (const InputPort& other : ports_) names.push_back(other.name);
  const TensorInfo expected{port.info.type, flow_.stream_shape(port.info.shape)};
  fail(ErrorKind::input, {.what = what,
                          .tensor = port.name,
                          .expected = to_text(expected),
                          .found = found,
                          .hint = "inputs are " + list_of(names)});
}

/// Slices for all transfers and replicas; dimensions of one do not count.
void SessionInputs::accept_stream(std::size_t i, const TensorInfo& found) {
  const InputPort& port = ports_[i];
  if (found.type != port.info.type) {
    refuse(port, "a stream is given another element type", to_text(found));
  }
  const Dims expected = flow_.stream_shape(port.info.shape);
  if (!found.is_static() || !is_same_but_for_ones(found.shape, expected)) {
    refuse(port, "a stream is given another shape than its slices for all transfers and replicas",
           to_text(found));
  }
  views[i].info = port.info;
  ports_[i].accepted = found;
}

std::span<const AnyView> SessionInputs::hand_over() {
  for (std::size_t i = inputs_; i < ports_.size(); ++i) {
    engine_.set_load(i - inputs_, views[i].data, flow_.host_transfers);
  }
  return std::span(views).first(inputs_);
}

/// Takes an info that was not seen before.
void SessionInputs::accept(std::size_t i, const TensorInfo& found) {
  if (i >= inputs_) return accept_stream(i, found);
  views[i].info = check_input(engine_.graph(), ports_[i].id, found, lead_);
  ports_[i].accepted = found;
  symbols_agree_ = false;
}

void SessionInputs::check_symbols() {
  Vector<TensorInfo> infos;
  for (std::size_t i = 0; i < inputs_; ++i) infos.push_back(views[i].info);
  detail::check_symbols(engine_.graph(), infos);
  symbols_agree_ = true;
}

/// False if the run has this input already.
bool SessionInputs::take(InputPort& port) const {
  if (port.given_in == run_number_) return false;
  port.given_in = run_number_;
  return true;
}

void SessionInputs::check_data(const InputPort& port, const AnyView& value) const {
  if (value.data == nullptr && value.info.elements() != 0) {
    refuse(port, "input has no elements", "null");
  }
}

/// An input that is a variable of the model.
void SessionInputs::replace_variable(const Input& input) {
  for (InputPort& port : optional_) {
    if (port.name != input.name) continue;
    if (!take(port)) refuse(port, "input is given twice", to_text(input.value.info));
    if (input.value.info != port.info) {
      refuse(port, "input does not fit the variable that it replaces", to_text(input.value.info));
    }
    check_data(port, input.value);
    overrides_.push_back({port.id, AnyArray::copy_of(engine_.variable(port.id))});
    engine_.set_variable(port.id, input.value);
    return;
  }
  std::string hint = input_names(engine_.graph());
  for (const Engine::Stream& stream : streams_) hint += "; stream " + quoted(stream.name.view());
  fail(ErrorKind::input,
       {.what = "the model has no input of this name", .tensor = input.name, .hint = hint});
}

void SessionInputs::restore_variables() {
  for (; !overrides_.empty(); overrides_.pop_back()) {
    engine_.set_variable(overrides_.back().id, overrides_.back().value);
  }
}

void SessionInputs::bind(std::span<const Input> given) {
  if (!overrides_.empty()) restore_variables();
  ++run_number_;
  std::size_t count = 0;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const Input& input = given[k];
    std::size_t i = k;  // most programs give them in the order of the graph
    if (i >= ports_.size() || ports_[i].name != input.name) {
      i = 0;
      while (i < ports_.size() && ports_[i].name != input.name) ++i;
      if (i == ports_.size()) {
        replace_variable(input);
        continue;
      }
    }
    InputPort& port = ports_[i];
    if (!take(port)) refuse(port, "input is given twice", to_text(input.value.info));
    if (input.value.info != port.accepted || !port.accepted.is_known()) {
      accept(i, input.value.info);
    }
    if (input.value.data == nullptr) check_data(port, input.value);
    given_[i] = input.value.data;
    ++count;
  }
  if (count != ports_.size()) throw_missing();
  if (!symbols_agree_) check_symbols();
}

void SessionInputs::throw_missing() const {
  std::vector<std::string_view> missing;
  const InputPort* first = nullptr;
  for (const InputPort& port : ports_) {
    if (port.given_in == run_number_) continue;
    missing.push_back(port.name);
    if (first == nullptr) first = &port;
  }
  if (first == nullptr) fail(ErrorKind::internal, {.what = "inputs were miscounted"});
  if (missing.size() == 1) refuse(*first, "input is missing", "nothing");
  refuse(*first, "inputs are missing: " + list_of(missing), "nothing");
}

void SessionInputs::use(std::int64_t m) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    views[i].data = m == 0 ? given_[i]
                           : static_cast<const std::byte*>(given_[i]) +
                                 m * ports_[i].count * views[i].info.bytes();
  }
}

void SessionInputs::expect_declared() {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    InputPort& port = ports_[i];
    if (!port.info.is_static()) {
      refuse(port, "step IO needs inputs whose shapes are known before the run", "unknown");
    }
    symbols_agree_ = symbols_agree_ && views[i].info == port.info;
    views[i].info = port.info;
    port.accepted = {};  // the next run by name looks at its inputs again
  }
  if (!symbols_agree_) check_symbols();
}

}  // namespace halftone::detail
