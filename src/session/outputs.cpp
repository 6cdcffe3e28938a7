#include "session/outputs.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/describe.hpp"

namespace halftone::detail {
namespace {

/// total += value, element by element, rounded to the type as a device does; false if values of
/// this type cannot be added.
bool add_to(AnyArray& total, const AnyView& value) {
  return visit_type<NumericTypes>(value.info.type, [&]<class T>() {
    using C = std::conditional_t<sizeof(T) == 2 && is_floating_point(element_type<T>), float, T>;
    T* sum = total.values<T>().data();
    const T* x = static_cast<const T*>(value.data);
    for (std::int64_t i = 0, n = value.info.elements(); i < n; ++i) {
      sum[i] = static_cast<T>(static_cast<C>(sum[i]) + static_cast<C>(x[i]));
    }
  });
}

TensorId anchored(const Graph& graph, const Anchor& anchor) {
  if (anchor.id == no_tensor) {
    const TensorId id = graph.find(anchor.name);
    if (id == no_tensor) throw_unknown_name(graph, anchor.name);
    return id;
  }
  if (anchor.id < 0 || static_cast<std::size_t>(anchor.id) >= graph.tensors.size()) {
    fail(ErrorKind::usage, {.what = "a tensor to be returned is not of this graph"});
  }
  return anchor.id;
}

}  // namespace

std::vector<OutputPort> find_outputs(const Graph& graph, const SessionOptions& options,
                                     const DataFlow& flow) {
  std::vector<OutputPort> ports;
  const auto has = [&](TensorId id) {
    return std::any_of(ports.begin(), ports.end(),
                       [&](const OutputPort& port) { return port.id == id; });
  };
  for (const Anchor& anchor : options.outputs) {
    const TensorId id = anchored(graph, anchor);
    if (has(id)) {
      fail(ErrorKind::usage, {.what = "a tensor is returned twice", .tensor = graph.name(id)});
    }
    flow.check(anchor.returns, anchor.period);
    ports.push_back({.name = {}, .id = id, .returns = anchor.returns, .period = anchor.period});
  }
  if (!options.outputs.empty()) return ports;
  for (const TensorId id : graph.outputs) {
    if (!has(id)) ports.push_back({.name = {}, .id = id});
  }
  return ports;
}

SessionOutputs::SessionOutputs(const Engine& engine, const DataFlow& flow,
                               std::vector<OutputPort> ports)
    : engine_(engine), flow_(flow), ports_(std::move(ports)) {
  for (OutputPort& port : ports_) port.name = engine.graph().name(port.id);
}

AnyView SessionOutputs::value(std::size_t i) const {
  return flow_.micro_batches() == 1 ? engine_.output(i) : AnyView(ports_[i].collected);
}

std::size_t SessionOutputs::find(std::string_view name) const {
  std::size_t i = 0;
  while (i < ports_.size() && ports_[i].name != name) ++i;
  return i;
}
std::size_t SessionOutputs::find(TensorId id) const {
  std::size_t i = 0;
  while (i < ports_.size() && ports_[i].id != id) ++i;
  return i;
}

std::string SessionOutputs::names() const {
  std::vector<std::string_view> names;
  for (const OutputPort& port : ports_) names.push_back(port.name);
  return list_of(names);
}

/// Makes room for what is returned of a tensor, if there is none yet.
void SessionOutputs::reserve(OutputPort& port, const TensorInfo& own, const Dims& shape) {
  const TensorInfo info{own.type, shape};
  if (port.collected.info() != info) port.collected = AnyArray(info);
}

void SessionOutputs::check_same(const OutputPort& port, const TensorInfo& own,
                                std::int64_t bytes) const {
  if (port.collected.info().type == own.type &&
      static_cast<std::int64_t>(port.collected.bytes()) == bytes) {
    return;
  }
  fail(ErrorKind::input,
       {.what = "a returned tensor has another shape in each micro-batch, so that the values of "
                "a run do not fit together",
        .tensor = port.name,
        .found = to_text(own),
        .hint = "return the final value, or run one micro-batch at a time"});
}

void SessionOutputs::add(OutputPort& port, const AnyView& value, std::int64_t m) {
  if (m == 0) {
    reserve(port, value.info, value.info.shape);
    if (value.bytes() > 0) std::memcpy(port.collected.data(), value.data, value.bytes());
    return;
  }
  check_same(port, value.info, value.info.bytes());
  if (!add_to(port.collected, value)) {
    fail(ErrorKind::usage, {.what = "values of this type cannot be summed up",
                            .tensor = port.name,
                            .found = name(value.info.type)});
  }
}

void SessionOutputs::collect(std::size_t i, std::int64_t m) {
  OutputPort& port = ports_[i];
  const AnyView value = engine_.output(i);
  if (port.returns == Return::sum) return add(port, value, m);
  if (!flow_.returns(port.returns, port.period, m)) return;
  const std::int64_t size = value.info.bytes();
  std::int64_t slot = 0;
  if (port.returns == Return::all) slot = m;
  if (port.returns == Return::every_n) {
    slot = m / flow_.accumulation / port.period * flow_.accumulation + m % flow_.accumulation;
  }
  if (slot == 0) {
    reserve(port, value.info, flow_.shape(port.returns, port.period, value.info.shape));
  } else {
    check_same(port, value.info, flow_.returned(port.returns, port.period) * size);
  }
  if (size > 0) std::memcpy(port.collected.data() + slot * size, value.data, value.bytes());
}

}  // namespace halftone::detail
