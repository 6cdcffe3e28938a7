#include "session/outputs.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <halftone/streams.hpp>

#include "base/describe.hpp"

namespace halftone::detail {
namespace {

/// total += value, element by element, rounded to the type as a device does; false if values of
/// this type cannot be added.
bool add_to(std::byte* total, const AnyView& value) {
  return visit_type<NumericTypes>(value.info.type, [&]<class T>() {
    using C = std::conditional_t<sizeof(T) == 2 && is_floating_point(element_type<T>), float, T>;
    T* sum = reinterpret_cast<T*>(total);
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
  // A session returns what nodes store to streams in any case.
  const std::vector<AnyDeviceToHost> streams = used_d2h_streams(graph);
  const auto is_stored = [&](std::string_view name) {
    return std::any_of(streams.begin(), streams.end(),
                       [&](const AnyDeviceToHost& stream) { return stream.name.view() == name; });
  };
  const auto has = [&](TensorId id) {
    return std::any_of(ports.begin(), ports.end(),
                       [&](const OutputPort& port) { return port.id == id; });
  };
  for (const Anchor& anchor : options.outputs) {
    if (anchor.id == no_tensor && is_stored(anchor.name)) continue;
    const TensorId id = anchored(graph, anchor);
    if (has(id)) {
      fail(ErrorKind::usage, {.what = "a tensor is returned twice", .tensor = graph.name(id)});
    }
    flow.check(anchor.returns, anchor.period);
    ports.push_back({.name = {}, .id = id, .returns = anchor.returns, .period = anchor.period});
  }
  if (!options.outputs.empty()) return ports;
  for (const TensorId id : graph.outputs) {
    if (is_stored(graph.name(id))) continue;
    ports.push_back({.name = {}, .id = id});
  }
  return ports;
}

SessionOutputs::SessionOutputs(Engine& engine, const DataFlow& flow, std::vector<OutputPort> ports)
    : engine_(engine),
      flow_(flow),
      outputs_(ports.size()),
      streams_(engine.stores()),
      ports_(std::move(ports)) {
  for (OutputPort& port : ports_) {
    port.name = engine.graph().name(port.id);
    port.count = flow.replicas;
  }
  for (const Engine::Stream& stream : streams_) {
    if (find(stream.name.view()) < ports_.size()) {
      fail(ErrorKind::usage,
           {.what = "an output and a stream have the same name", .tensor = stream.name.view()});
    }
    OutputPort& port = ports_.emplace_back();
    port.name = stream.name.view();
    port.count = flow.host_transfers * flow.replicas;
    port.collected = AnyArray({stream.slice.type, flow.stream_shape(stream.slice.shape)});
  }
}

const TensorInfo& SessionOutputs::info(std::size_t i) const {
  return is_stream(i) ? streams_[i - outputs_].slice : engine_.graph().info(ports_[i].id);
}
Dims SessionOutputs::shape(std::size_t i) const {
  if (is_stream(i)) return flow_.stream_shape(info(i).shape);
  return flow_.shape(ports_[i].returns, ports_[i].period, info(i).shape);
}

AnyView SessionOutputs::value(std::size_t i) const {
  return collects() || is_stream(i) ? AnyView(ports_[i].collected) : engine_.output(i);
}

AnyView SessionOutputs::of_micro_batch(std::size_t i, std::int64_t m) const {
  const std::int64_t bytes = ports_[i].count * info(i).bytes();
  return {{info(i).type, {ports_[i].count * info(i).elements()}},
          ports_[i].collected.data() + m * bytes};
}

void SessionOutputs::hand_over(std::int64_t m) {
  for (std::size_t i = outputs_; i < ports_.size(); ++i) {
    std::byte* const memory = ports_[i].collected.data() + m * ports_[i].count * info(i).bytes();
    engine_.set_store(i - outputs_, memory, flow_.host_transfers);
  }
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

void SessionOutputs::add(OutputPort& port, const AnyView& value, std::int64_t m, int replica) {
  const std::int64_t bytes = value.info.bytes();
  if (m == 0 && replica == 0) {
    reserve(port, value.info, flow_.shape(port.returns, port.period, value.info.shape));
  } else {
    check_same(port, value.info, flow_.replicas * bytes);
  }
  std::byte* const total = port.collected.data() + replica * bytes;
  if (m == 0) {
    if (bytes > 0) std::memcpy(total, value.data, value.bytes());
    return;
  }
  if (!add_to(total, value)) {
    fail(ErrorKind::usage, {.what = "values of this type cannot be summed up",
                            .tensor = port.name,
                            .found = name(value.info.type)});
  }
}

void SessionOutputs::collect(std::size_t i, std::int64_t m, std::int64_t j) {
  if (is_stream(i)) return;
  OutputPort& port = ports_[i];
  if (port.returns != Return::sum && !flow_.returns(port.returns, port.period, m)) return;
  const std::int64_t slot = flow_.slot(port.returns, port.period, m);
  for (int k = 0; k < flow_.replicas; ++k) {
    const AnyView value = engine_.output(i, k, j);
    if (port.returns == Return::sum) {
      add(port, value, m, k);
      continue;
    }
    const std::int64_t size = value.info.bytes();
    if (slot == 0 && k == 0) {
      reserve(port, value.info, flow_.shape(port.returns, port.period, value.info.shape));
    } else {
      const std::int64_t count = flow_.returned(port.returns, port.period) * flow_.replicas;
      check_same(port, value.info, count * size);
    }
    if (size == 0) continue;
    std::memcpy(port.collected.data() + (slot * flow_.replicas + k) * size, value.data,
                value.bytes());
  }
}

}  // namespace halftone::detail
