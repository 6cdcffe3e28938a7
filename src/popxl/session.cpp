#include <popxl/session.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>

#include <halftone/ipu/target.hpp>
#include <popart/devicemanager.hpp>
#include <popxl/streams.hpp>

#include "base/describe.hpp"
#include "graph/inputs.hpp"
#include "popart/ipu_device.hpp"
#include "popxl/state.hpp"
#include "session/host_weights.hpp"

namespace popxl {

namespace {

using halftone::detail::list_of, halftone::detail::to_text;

/// Throws a ValueError that names the streams that are missing and those that nobody expects.
template <class Given, class Stream, class Name>
void check_streams(std::span<const Given> given, Name name_of, const std::vector<Stream>& used,
                   std::string_view what) {
  std::vector<std::string_view> missing, unexpected, twice;
  for (const Stream& stream : used) {
    const auto count = std::count_if(given.begin(), given.end(), [&](const Given& item) {
      return name_of(item) == stream.name.view();
    });
    if (count == 0) missing.push_back(stream.name.view());
    if (count > 1) twice.push_back(stream.name.view());
  }
  for (const Given& item : given) {
    const bool is_used = std::any_of(used.begin(), used.end(), [&](const auto& stream) {
      return stream.name.view() == name_of(item);
    });
    if (!is_used) unexpected.push_back(name_of(item));
  }
  if (missing.empty() && unexpected.empty() && twice.empty()) return;
  std::string found;
  const auto add = [&](const char* words, const std::vector<std::string_view>& names) {
    if (!names.empty()) found += (found.empty() ? "" : "; ") + (words + list_of(names));
  };
  add("missing: ", missing);
  add("unexpected: ", unexpected);
  add("given twice: ", twice);
  std::vector<std::string_view> expected;
  for (const Stream& stream : used) expected.push_back(stream.name.view());
  throw ValueError({.what = what,
                    .expected = expected.empty() ? "none" : list_of(expected),
                    .found = found,
                    .hint = "every stream that the program uses is given once"});
}

}  // namespace

struct Session::State {
  Ir ir;
  halftone::Graph graph;  ///< as it was taken
  std::shared_ptr<popart::DeviceInfo> device;
  bool downloads_on_exit;
  bool is_attached = false;
  std::vector<AnyHostToDevice> loads;
  std::vector<AnyDeviceToHost> stores;
  halftone::detail::HostWeights weights;
  halftone::Session session;

  State(const Ir& taken, std::shared_ptr<popart::DeviceInfo> on,
        const halftone::SessionOptions& options, bool downloads)
      : ir(taken),
        graph(taken.main_graph().native()),
        device(std::move(on)),
        downloads_on_exit(downloads),
        loads(used_h2d_streams(graph)),
        stores(used_d2h_streams(graph)),
        weights(graph),
        session(halftone::Graph(graph), options) {
    for (const detail::MappedVariable& mapped : ir.state().mapped) {
      if (mapped.file.is_read_only()) downloads_on_exit = false;
    }
    ir.state().is_taken = true;
    weights.complete(session);  // those that start by a rule
    is_attached = device != nullptr && device->isAttached();
    if (is_attached) weights.from_host(session);
  }

  /// Takes the device's values, of mapped variables into their files.
  void download() {
    for (const detail::MappedVariable& mapped : ir.state().mapped) {
      if (!mapped.file.is_read_only()) continue;
      throw RuntimeError({.what = "weights come from the device into a file that is only read",
                          .tensor = graph.name(mapped.id),
                          .hint = "Memmap(path, false) may be written"});
    }
    weights.to_host(session);
    for (const detail::MappedVariable& mapped : ir.state().mapped) write_back(mapped);
  }
  /// Has the host's copy of a mapped variable be its file again.
  void write_back(const detail::MappedVariable& mapped) {
    const std::size_t at = number(mapped.id);
    const AnyView value = weights[at];
    std::memcpy(mapped.bytes.data(), value.data, mapped.bytes.size());
    mapped.file.flush();
    weights.set(at,
                halftone::Bytes(mapped.file.storage(), mapped.bytes.data(), mapped.bytes.size()));
  }
  void must_be_attached(std::string_view what) const {
    if (is_attached) return;
    throw ValueError({.what = what,
                      .found = "the session is not attached to a device",
                      .hint = "auto on = session.attach(); keeps it attached in its block"});
  }
  Dims host_shape(const Dims& slice) const {
    const halftone::DataFlow flow{.host_transfers = ir.num_host_transfers,
                                  .replicas = ir.replication_factor};
    return flow.stream_shape(slice);
  }
  template <class Stream>
  void check_shape(const Stream& stream, const TensorSpec& found) const {
    const Dims expected = host_shape(stream.slice.shape);
    if (halftone::detail::is_same_but_for_ones(expected, found.shape)) return;
    throw ValueError({.what = "an array for a stream has another shape",
                      .tensor = stream.name.view(),
                      .expected = to_text(TensorSpec{stream.slice.type, expected}),
                      .found = to_text(found),
                      .hint = "the first dimensions are num_host_transfers, " +
                              std::to_string(ir.num_host_transfers) + ", and the replicas, " +
                              std::to_string(ir.replication_factor) + "; those of 1 are left out"});
  }
  template <class Stream>
  const Stream& stream(const std::vector<Stream>& all, std::string_view name) const {
    return *std::find_if(all.begin(), all.end(),
                         [&](const auto& s) { return s.name.view() == name; });
  }
  /// The id of a variable of this session; throws a TypeError for other tensors.
  halftone::TensorId variable(const AnyTensor& t, std::string_view what) const {
    if (ir.main_graph().contains(t) && is_variable(graph.tensor(t.id))) return t.id;
    throw TypeError({.what = what,
                     .tensor = t.is_absent() ? std::string_view() : t.name(),
                     .expected = "a variable of this session's Ir"});
  }
  std::size_t number(halftone::TensorId id) const { return weights.find(graph.name(id)); }
};

namespace {

/// How many IPUs nodes are meant for: a power of two.
std::int64_t ipus_of(const halftone::Graph& graph) {
  std::int64_t count = 1;
  for (const halftone::Node& node : graph.nodes) {
    while (node.place.ipu >= count) count *= 2;
  }
  for (const halftone::Graph& body : graph.graphs) count = std::max(count, ipus_of(body));
  return count;
}

/// The device that a word stands for: the machine of ipu_model, or the host.
halftone::SessionOptions options_of(const Ir& ir, std::string_view device_desc) {
  halftone::SessionOptions options{.host_transfers = ir.num_host_transfers};
  if (device_desc == "cpu") {
    if (ir.replication_factor > 1) {
      throw ValueError({.what = "the device \"cpu\" has no replicas",
                        .found = std::to_string(ir.replication_factor) + " replicas",
                        .hint = "\"ipu_model\" runs them"});
    }
    if (const std::int64_t ipus = ipus_of(ir.main_graph().native()); ipus > 1) {
      throw ValueError({.what = "the device \"cpu\" is one IPU",
                        .found = "operators on " + std::to_string(ipus),
                        .hint = "\"ipu_model\" has more"});
    }
    return options;
  }
  if (device_desc == "ipu_hw") {
    throw RuntimeError({.what = "no device \"ipu_hw\" could be acquired",
                        .found = "no IPU",
                        .hint = "\"ipu_model\" emulates one"});
  }
  options.device = halftone::Device::ipu_model;
  if (device_desc == "ipu_model") return options;
  options.ipu.target = halftone::ipu::find_target(device_desc);
  if (options.ipu.target != nullptr) return options;
  throw ValueError({.what = "a device of this name is not known",
                    .found = device_desc,
                    .hint = "cpu, ipu_model, ipu_hw, or a machine such as gc200"});
}

std::unique_ptr<halftone::SessionOptions> options_on(const Ir& ir,
                                                     const popart::DeviceInfo& device) {
  auto options = std::make_unique<halftone::SessionOptions>(options_of(ir, "ipu_model"));
  options->ipu.target = popart::detail::targetOf(device);
  if (options->ipu.target == nullptr) *options = options_of(ir, "cpu");
  return options;
}

/// Options whose machine has an IPU for every one that the program names.
class Fitted {
 public:
  Fitted(const Ir& ir, const halftone::SessionOptions& options) : options_(options) {
    if (options.device != halftone::Device::ipu_model) return;
    const std::int64_t ipus = ipus_of(ir.main_graph().native());
    machine_ = options.ipu.target == nullptr ? halftone::ipu::gc200 : *options.ipu.target;
    if (machine_.ipus < ipus) machine_ = machine_.with_ipus(ipus);
    options_.ipu.target = &machine_;
  }
  Fitted(const Fitted&) = delete;
  const halftone::SessionOptions& options() const { return options_; }

 private:
  halftone::SessionOptions options_;
  halftone::ipu::Target machine_ = halftone::ipu::gc200;
};

std::string_view overridden(std::string_view device_desc) {
  const char* const other = std::getenv("POPXL_OFFLINE_DEVICE");
  return other == nullptr ? device_desc : std::string_view(other);
}

}  // namespace

Session::Session(const Ir& ir, std::string_view device_desc, bool weights_to_host_on_exit) {
  ir.state().must_be_open("an Ir that a session has taken is given to another one");
  const Fitted fitted(ir, options_of(ir, overridden(device_desc)));
  state_ = halftone::Owned(new State(ir, nullptr, fitted.options(), weights_to_host_on_exit));
}
Session::Session(const Ir& ir, std::shared_ptr<popart::DeviceInfo> device,
                 bool weights_to_host_on_exit) {
  ir.state().must_be_open("an Ir that a session has taken is given to another one");
  if (device == nullptr) throw ValueError({.what = "a session is given no device"});
  const auto options = options_on(ir, *device);
  state_ = halftone::Owned(new State(ir, std::move(device), *options, weights_to_host_on_exit));
}
Session::Session(Session&&) noexcept = default;
Session::~Session() = default;

Ir Session::ir() const { return state_->ir; }
bool Session::is_attached() const { return state_->is_attached; }
bool Session::in_sync_with_ipu() const { return state_->weights.is_in_sync(); }

// --- attachment ----------------------------------------------------------------------------------------

Session::Attachment::Attachment(Session& session)
    : state_(*session.state_), is_outermost_(!session.is_attached()) {
  if (!is_outermost_) return;
  State& s = state_;
  if (s.device != nullptr && !s.device->attach()) {
    throw RuntimeError(
        {.what = "the session's device cannot be attached to", .found = s.device->toString()});
  }
  s.is_attached = true;
  try {
    s.weights.from_host(s.session);
  } catch (...) {
    s.is_attached = false;
    if (s.device != nullptr) s.device->detach();
    throw;
  }
}
Session::Attachment::~Attachment() {
  if (!is_outermost_) return;
  State& s = state_;
  if (s.downloads_on_exit && std::uncaught_exceptions() == exceptions_) {
    s.download();
  }
  s.is_attached = false;
  if (s.device != nullptr) s.device->detach();
}

// --- runs ----------------------------------------------------------------------------------------------

std::vector<AnyHostToDevice> Session::expected_inputs() const { return state_->loads; }

HostOutputs Session::create_host_outputs() const {
  HostOutputs outputs;
  for (const AnyDeviceToHost& stream : state_->stores) {
    outputs.add(stream, {stream.slice.type, state_->host_shape(stream.slice.shape)});
  }
  return outputs;
}

HostOutputs Session::run(std::span<const halftone::Input> inputs, bool downcast_inputs) {
  HostOutputs outputs = create_host_outputs();
  run_with_outputs(inputs, outputs, downcast_inputs);
  return outputs;
}

void Session::run_with_outputs(std::span<const halftone::Input> inputs,
                               const std::vector<HostBuffer>& outputs, bool downcast_inputs) {
  State& s = *state_;
  s.must_be_attached("a session runs");
  const halftone::Graph& now = s.ir.main_graph().native();
  if (s.graph.nodes.size() != now.nodes.size() || s.graph.tensors.size() != now.tensors.size()) {
    throw RuntimeError({.what = "the Ir was changed after the session took it",
                        .hint = "make the Ir complete, then the session of it"});
  }
  check_streams<halftone::Input>(
      inputs, [](const halftone::Input& input) { return input.name; }, s.loads,
      "the inputs of a run are not the streams that it loads from");
  check_streams<HostBuffer>(
      outputs, [](const HostBuffer& output) { return output.stream.name.view(); }, s.stores,
      "the outputs of a run are not the streams that it stores to");
  std::vector<halftone::Input> given;
  std::vector<AnyArray> converted;
  for (const halftone::Input& input : inputs) {
    const auto& stream = s.stream(s.loads, input.name);
    AnyView value = input.value;
    s.check_shape(stream, value.info);
    const ElementType narrow = detail::downcast_type(value.info.type);
    if (downcast_inputs && value.info.type != stream.slice.type && narrow == stream.slice.type) {
      value = converted.emplace_back(detail::converted(value, narrow));
    }
    if (value.info.type != stream.slice.type) {
      throw TypeError({.what = "an array for a stream has another element type",
                       .tensor = stream.name.view(),
                       .expected = halftone::name(stream.slice.type),
                       .found = halftone::name(value.info.type),
                       .hint = "64 bits become 32 with downcast_inputs, nothing else"});
    }
    value.info.shape = s.host_shape(stream.slice.shape);
    given.emplace_back(stream.name.view(), value);
  }
  std::vector<halftone::Session::Output> taken;
  for (const HostBuffer& output : outputs) {
    const auto& stream = s.stream(s.stores, output.stream.name.view());
    s.check_shape(stream, output.memory.info);
    if (output.memory.info.type != stream.slice.type) {
      throw TypeError({.what = "memory for a stream has another element type",
                       .tensor = stream.name.view(),
                       .expected = halftone::name(stream.slice.type),
                       .found = halftone::name(output.memory.info.type)});
    }
    halftone::AnyBuffer memory = output.memory;
    memory.info.shape = s.host_shape(stream.slice.shape);
    taken.push_back({stream.name.view(), memory});
  }
  s.weights.session_ran();
  s.session.run(given, taken);
}

// --- weights -------------------------------------------------------------------------------------------

void Session::weights_from_host() {
  state_->must_be_attached("weights go to the device");
  state_->weights.from_host(state_->session);
}
void Session::weights_to_host() {
  state_->must_be_attached("weights come from the device");
  state_->download();
}

AnyView Session::get_tensor_data(const AnyTensor& tensor) { return get_tensors_data({tensor})[0]; }
std::vector<AnyView> Session::get_tensors_data(const std::vector<AnyTensor>& tensors) {
  State& s = *state_;
  const halftone::Graph& main = s.ir.main_graph().native();
  bool is_any_variable = false;
  for (const AnyTensor& t : tensors) {
    const bool is_constant = t.graph != nullptr && t.id != halftone::no_tensor &&
                             t.graph->tensor(t.id).role == halftone::Role::constant;
    if (is_constant) continue;
    if (t.graph == &main) {
      s.variable(t, "a tensor whose data are asked for is neither a variable nor a constant");
      is_any_variable = true;
    } else {
      throw TypeError({.what = "a tensor whose data are asked for is neither a variable nor a "
                               "constant",
                       .expected = "a variable of this session's Ir"});
    }
  }
  if (is_any_variable && s.is_attached && !s.weights.is_in_sync()) s.download();
  std::vector<AnyView> views;
  for (const AnyTensor& t : tensors) {
    const halftone::TensorRecord& record = t.graph->tensor(t.id);
    if (record.role == halftone::Role::constant) {
      views.push_back({record.info, record.data.span().data()});
      continue;
    }
    views.push_back(s.weights[s.number(t.id)]);
  }
  return views;
}

void Session::write_variables_data(std::initializer_list<std::pair<AnyTensor, AnyView>> values) {
  State& s = *state_;
  for (const auto& [t, data] : values) {
    const halftone::TensorId id = s.variable(t, "data are written to a tensor that is no variable");
    const TensorSpec expected = s.weights.info(s.number(id));
    if (data.info.type != expected.type) {
      throw TypeError({.what = "data of another element type are written to a variable",
                       .tensor = t.name(),
                       .expected = halftone::name(expected.type),
                       .found = halftone::name(data.info.type)});
    }
    if (data.info.shape != expected.shape) {
      throw ValueError({.what = "data of another shape are written to a variable",
                        .tensor = t.name(),
                        .expected = to_text(expected),
                        .found = to_text(data.info)});
    }
    const VariableSettings* const settings = s.graph.settings(id);
    if (settings != nullptr && settings->retrieval == RetrievalMode::all_replicas &&
        settings->grouping.group_size() != 1) {
      throw NotImplementedError({.what = "a variable that is read from all replicas is written",
                                 .tensor = t.name(),
                                 .hint = "RetrievalMode::one_per_group"});
    }
  }
  for (const auto& [t, data] : values) {
    const std::size_t number = s.number(t.id);
    s.weights.set(number, data);
    for (const detail::MappedVariable& mapped : s.ir.state().mapped) {
      if (mapped.id == t.id && !mapped.file.is_read_only()) s.write_back(mapped);
    }
    if (s.is_attached) s.session.set(s.weights.name(number), s.weights[number]);
  }
}

const halftone::ipu::Report& Session::report() const { return state_->session.report(); }

}  // namespace popxl
