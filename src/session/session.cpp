#include <halftone/session/session.hpp>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <halftone/base/log.hpp>
#include <halftone/exec/engine.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/train.hpp>

#include "base/describe.hpp"
#include "ipu/arithmetic.hpp"

namespace halftone {

using detail::quoted;
using detail::to_text;

namespace {

struct InputPort {
  std::string_view name;
  TensorId id = no_tensor;
  TensorInfo info;             // of one micro-batch, as the model says
  TensorInfo accepted;         // of what was given last and fits
  std::uint64_t given_in = 0;  // the run in which it was given last
};

struct OutputPort {
  std::string_view name;
  TensorId id = no_tensor;
  Return returns = Return::all;
  std::int64_t period = 1;
  AnyArray collected{};  // of runs with several micro-batches
};

/// An extent of an input that has a symbol, and the symbol's number.
struct SymbolUse {
  std::size_t input = 0, axis = 0, symbol = 0;
};

/// A variable that has another value for one run.
struct Override {
  TensorId id = no_tensor;
  AnyArray value;  // its own
};

Bytes bytes_of(const AnyView& view) {
  const Storage storage = Storage::allocate(view.bytes());
  if (view.bytes() > 0) std::memcpy(storage.data(), view.data, view.bytes());
  return Bytes(storage, storage.data(), view.bytes());
}

std::string list(const std::vector<Port>& ports) {
  constexpr std::size_t most = 24;
  std::string text;
  for (std::size_t i = 0; i < ports.size() && i < most; ++i) {
    text += (i == 0 ? "" : ", ") + quoted(ports[i].name);
  }
  if (ports.size() > most) text += ", ...";
  return text;
}

template <class From, class To>
void convert(const void* from, void* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    static_cast<To*>(to)[i] = static_cast<To>(static_cast<const From*>(from)[i]);
  }
}

/// Copies elements, from int64 to int32 and back if need be; false if the types do not fit.
bool copy_elements(const void* from, ElementType from_type, void* to, ElementType to_type,
                   std::int64_t count) {
  if (from_type == to_type) {
    if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count * size_in_bytes(to_type)));
  } else if (from_type == ElementType::int64 && to_type == ElementType::int32) {
    convert<std::int64_t, std::int32_t>(from, to, count);
  } else if (from_type == ElementType::int32 && to_type == ElementType::int64) {
    convert<std::int32_t, std::int64_t>(from, to, count);
  } else {
    return false;
  }
  return true;
}

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

}  // namespace

namespace detail {

struct SessionState {
  std::unique_ptr<ipu::ArithmeticRunner> arithmetic;  ///< of ipu_model, if it is asked for
  Engine engine;
  bool is_modelled = false;  ///< on ipu_model with reports
  ipu::Target target;
  ipu::ProfileOptions profile_options;
  std::unique_ptr<ipu::Report> report;
  std::vector<TensorInfo> profiled;  ///< the inputs that the report is about
  DataFlow flow;
  bool prefetch = false;
  bool must_check_sizes = true;

  std::vector<InputPort> inputs, optional;
  std::vector<OutputPort> outputs;
  std::vector<SymbolUse> symbol_uses;
  std::vector<std::pair<std::int64_t, std::size_t>>
      symbol_values;  // extent, and the input it is of
  bool symbols_agree = false;

  std::vector<AnyView> views;      // one micro-batch, in the order of the graph's inputs
  std::vector<const void*> given;  // the elements of all micro-batches
  std::vector<AnyArray> staged;    // copies of what step IO gave
  std::vector<bool> prefetched;
  bool warned_about_int64 = false;
  std::uint64_t run_number = 0;
  std::vector<Override> overrides;

  std::vector<TensorId> model_outputs;  // of the graph as it came

  SessionState(Graph graph, EngineOptions options,
               std::unique_ptr<ipu::ArithmeticRunner> device_arithmetic)
      : arithmetic(std::move(device_arithmetic)),
        engine(std::move(graph), with_runner(options, arithmetic.get())) {}

  static EngineOptions with_runner(EngineOptions options, NodeRunner* runner) {
    options.runner = runner;
    return options;
  }

  const Graph& graph() const { return engine.graph(); }

  // --- inputs
  // --------------------------------------------------------------------------------------

  /// "[batch, 3] float", behind what leads in a run of several micro-batches.
  std::string expected_text(const InputPort& port) const {
    if (!port.info.is_known()) return "a tensor";
    std::string text = "[";
    for (const std::int64_t lead : {flow.batches_per_step, flow.accumulation}) {
      if (lead != 1) text += (text.size() > 1 ? ", " : "") + std::to_string(lead);
    }
    for (std::size_t axis = 0; axis < port.info.rank(); ++axis) {
      if (text.size() > 1) text += ", ";
      text += extent_text(port, axis);
    }
    return text + "] " + std::string(name(port.info.type));
  }
  std::string extent_text(const InputPort& port, std::size_t axis) const {
    if (port.info.shape[axis] >= 0) return std::to_string(port.info.shape[axis]);
    for (const Symbol& symbol : graph().symbols) {
      if (symbol.tensor == port.id && symbol.axis == axis) {
        return escaped(graph().text(symbol.name));
      }
    }
    return "?";
  }
  std::vector<Port> ports(const std::vector<InputPort>& of) const {
    std::vector<Port> list;
    for (const InputPort& port : of) list.push_back({port.name, port.info});
    return list;
  }
  std::string input_names() const {
    if (inputs.empty()) return "the model has no inputs";
    std::string text = "inputs are " + list(ports(inputs));
    if (!optional.empty()) text += "; may be given: " + list(ports(optional));
    return text;
  }
  [[noreturn]] void throw_input(std::string_view what, const InputPort& port,
                                std::string_view found) const {
    fail(ErrorKind::input, {.what = what,
                            .tensor = port.name,
                            .expected = expected_text(port),
                            .found = found,
                            .hint = input_names()});
  }

  /// Takes an info that was not seen before, or throws; finds that of one micro-batch.
  void accept(std::size_t i, const TensorInfo& found) {
    InputPort& port = inputs[i];
    if (!found.is_static()) {
      throw_input("an input needs a type and a shape in which every extent is known", port,
                  to_text(found));
    }
    std::size_t lead = 0;
    if (port.info.is_known()) {
      if (found.type != port.info.type) {
        throw_input("input has another element type", port, to_text(found));
      }
      lead = found.rank() - port.info.rank();
      if (found.rank() < port.info.rank()) {
        throw_input("input has too few dimensions", port, to_text(found));
      }
    } else {
      lead = (flow.batches_per_step != 1) + (flow.accumulation != 1);
      if (found.rank() < lead) {
        throw_input("input has no dimension for the micro-batches of a run", port, to_text(found));
      }
    }
    std::int64_t micro_batches = 1;
    TensorInfo own{found.type, {}};
    for (std::size_t axis = 0; axis < found.rank(); ++axis) {
      if (axis < lead) {
        micro_batches *= found.shape[axis];
        continue;
      }
      if (port.info.is_known() && contradict(port.info.shape[axis - lead], found.shape[axis])) {
        throw_input("input has another shape", port, to_text(found));
      }
      own.shape.push_back(found.shape[axis]);
    }
    if (micro_batches != flow.micro_batches() || (lead > 0 && flow.micro_batches() == 1)) {
      throw_input(flow.micro_batches() == 1 ? "input has too many dimensions"
                                            : "input holds another number of micro-batches than "
                                              "a run computes",
                  port, to_text(found));
    }
    port.accepted = found;
    views[i].info = own;
    symbols_agree = false;
  }

  void check_symbols() {
    for (auto& value : symbol_values) value.first = dynamic;
    for (const SymbolUse& use : symbol_uses) {
      const std::int64_t extent = views[use.input].info.shape[use.axis];
      auto& [value, first] = symbol_values[use.symbol];
      if (value == dynamic) {
        value = extent;
        first = use.input;
      } else if (value != extent) {
        const InputPort& port = inputs[use.input];
        const std::string symbol = extent_text(port, use.axis);
        const std::string expected = expected_text(port) + ", " + symbol + " = " +
                                     std::to_string(value) + " as in " + quoted(inputs[first].name);
        const std::string found =
            to_text(port.accepted) + ", " + symbol + " = " + std::to_string(extent);
        fail(ErrorKind::input, {.what = "extents of one name differ in a run",
                                .tensor = port.name,
                                .expected = expected,
                                .found = found});
      }
    }
    symbols_agree = true;
  }

  [[noreturn]] void throw_unknown_input(std::string_view name) const {
    fail(ErrorKind::input,
         {.what = "the model has no input of this name", .tensor = name, .hint = input_names()});
  }

  static bool take(InputPort& port, std::uint64_t run) {
    if (port.given_in == run) return false;
    port.given_in = run;
    return true;
  }

  /// An input that is a variable of the model.
  void override_variable(const Input& input) {
    for (InputPort& port : optional) {
      if (port.name != input.name) continue;
      if (!take(port, run_number)) {
        throw_input("input is given twice", port, to_text(input.value.info));
      }
      if (input.value.info != port.info) {
        throw_input("input does not fit the variable that it replaces", port,
                    to_text(input.value.info));
      }
      check_data(port, input.value);
      overrides.push_back({port.id, AnyArray::copy_of(engine.variable(port.id))});
      engine.set_variable(port.id, input.value);
      return;
    }
    throw_unknown_input(input.name);
  }
  void restore_variables() {
    for (; !overrides.empty(); overrides.pop_back()) {
      engine.set_variable(overrides.back().id, overrides.back().value);
    }
  }

  void check_data(const InputPort& port, const AnyView& value) const {
    if (value.data == nullptr && value.info.elements() != 0) {
      throw_input("input has no elements", port, "null");
    }
  }

  /// inputs.size() if there is none of this name.
  std::size_t find_input(std::string_view name) const {
    std::size_t i = 0;
    while (i < inputs.size() && inputs[i].name != name) ++i;
    return i;
  }

  void bind(std::span<const Input> all) {
    if (!overrides.empty()) restore_variables();
    ++run_number;
    std::size_t count = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const Input& input = all[k];
      std::size_t i = k;  // most programs give them in the order of the graph
      if (i >= inputs.size() || inputs[i].name != input.name) {
        i = find_input(input.name);
        if (i == inputs.size()) {
          override_variable(input);
          continue;
        }
      }
      InputPort& port = inputs[i];
      if (!take(port, run_number)) {
        throw_input("input is given twice", port, to_text(input.value.info));
      }
      if (input.value.info != port.accepted || !port.accepted.is_known()) {
        accept(i, input.value.info);
      }
      if (input.value.data == nullptr) check_data(port, input.value);
      given[i] = input.value.data;
      ++count;
    }
    if (count != inputs.size()) throw_missing();
    if (!symbols_agree) check_symbols();
  }
  [[noreturn]] void throw_missing() const {
    std::vector<Port> missing;
    for (const InputPort& port : inputs) {
      if (port.given_in != run_number) missing.push_back({port.name, port.info});
    }
    for (const InputPort& port : inputs) {
      if (port.given_in == run_number) continue;
      if (missing.size() == 1) throw_input("input is missing", port, "nothing");
      throw_input("inputs are missing: " + list(missing), port, "nothing");
    }
    fail(ErrorKind::internal, {.what = "inputs were miscounted"});
  }

  // --- outputs
  // -------------------------------------------------------------------------------------

  AnyView output(std::size_t i) const {
    return flow.micro_batches() == 1 ? engine.output(i) : AnyView(outputs[i].collected);
  }
  std::vector<Port> output_ports() const {
    std::vector<Port> list;
    for (const OutputPort& port : outputs) list.push_back({port.name, graph().info(port.id)});
    return list;
  }

  /// Makes room for what is returned of a tensor, if there is none yet.
  void reserve(OutputPort& port, const TensorInfo& own, const Dims& shape) {
    const TensorInfo info{own.type, shape};
    if (port.collected.info() != info) port.collected = AnyArray(info);
  }
  void check_same(const OutputPort& port, const TensorInfo& own, std::int64_t bytes) const {
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
  /// Puts the value of micro-batch m where runs return it.
  void collect(std::size_t i, std::int64_t m) {
    OutputPort& port = outputs[i];
    const AnyView value = engine.output(i);
    const std::int64_t size = value.info.bytes();
    if (port.returns == Return::sum) {
      if (m == 0) {
        reserve(port, value.info, value.info.shape);
        if (size > 0) std::memcpy(port.collected.data(), value.data, value.bytes());
        return;
      }
      check_same(port, value.info, size);
      if (!add_to(port.collected, value)) {
        fail(ErrorKind::usage, {.what = "values of this type cannot be summed up",
                                .tensor = port.name,
                                .found = name(value.info.type)});
      }
      return;
    }
    if (!flow.returns(port.returns, port.period, m)) return;
    const std::int64_t slots = flow.returned(port.returns, port.period);
    std::int64_t slot = 0;
    if (port.returns == Return::all) slot = m;
    if (port.returns == Return::every_n) {
      slot = m / flow.accumulation / port.period * flow.accumulation + m % flow.accumulation;
    }
    if (slot == 0) {
      reserve(port, value.info, flow.shape(port.returns, port.period, value.info.shape));
    } else {
      check_same(port, value.info, slots * size);
    }
    if (size > 0) std::memcpy(port.collected.data() + slot * size, value.data, value.bytes());
  }

  void run_micro_batches() {
    const std::int64_t count = flow.micro_batches();
    for (std::int64_t m = 0; m < count; ++m) {
      for (std::size_t i = 0; i < views.size(); ++i) {
        views[i].data = static_cast<const std::byte*>(given[i]) + m * views[i].info.bytes();
      }
      run_engine();
      for (std::size_t i = 0; i < outputs.size(); ++i) collect(i, m);
    }
  }

  /// Runs a micro-batch; on ipu_model shapes that are new are profiled first.
  void run_engine() {
    if (is_modelled) {
      bool same = report != nullptr && profiled.size() == views.size();
      for (std::size_t i = 0; same && i < views.size(); ++i) same = views[i].info == profiled[i];
      if (!same) {
        std::vector<TensorInfo> infos;
        for (const AnyView& view : views) infos.push_back(view.info);
        profile(infos);
      }
    }
    engine.run(views);
  }
  void profile(const std::vector<TensorInfo>& infos) {
    Graph graph = engine.graph();
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      graph.tensor(graph.inputs[i]).info = infos[i];
    }
    report = std::make_unique<ipu::Report>(ipu::profile(graph, target, profile_options));
    profiled = infos;
  }

  // --- step IO
  // -------------------------------------------------------------------------------------

  void prepare_step(const StepIo& io, const Session& session) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      InputPort& port = inputs[i];
      if (!port.info.is_static()) {
        throw_input("step IO needs inputs whose shapes are known before the run", port, "unknown");
      }
      views[i].info = port.info;
      port.accepted = {};  // the next run by name looks at its inputs again
    }
    if (must_check_sizes) io.check(session);
    staged.resize(inputs.size());
    prefetched.assign(inputs.size(), false);
  }

  [[noreturn]] void throw_type(std::string_view name, ElementType expected,
                               ElementType found) const {
    fail(ErrorKind::input,
         {.what = "Type discrepancy between the elements of a tensor and those of its buffer",
          .tensor = name,
          .expected = halftone::name(expected),
          .found = halftone::name(found)});
  }

  /// Gets the next micro-batch of an input; false if it is asked for early and not there.
  bool fetch(StepIo& io, std::size_t i, bool early) {
    const InputPort& port = inputs[i];
    const std::int64_t elements = port.info.elements();
    const AnyView data = io.in(port.name, elements, early);
    if (data.data == nullptr && elements != 0) {
      if (early) return false;
      throw_input("step IO gives no data for an input", port, "null");
    }
    const ElementType found = data.info.type;
    if (found == port.info.type && io.keeps_data()) {
      views[i].data = data.data;
    } else {
      if (staged[i].info() != port.info) staged[i] = AnyArray(port.info);
      if (found == ElementType::int64 && port.info.type == ElementType::int32 &&
          !warned_about_int64) {
        warned_about_int64 = true;
        log_message(LogLevel::warn, "session",
                    "elements of input " + quoted(port.name) + " are cast from int64 to int32");
      }
      const bool is_float8 = size_in_bytes(port.info.type) == 1 &&
                             is_floating_point(port.info.type) && found == ElementType::uint8;
      if (!copy_elements(data.data, is_float8 && !early ? port.info.type : found, staged[i].data(),
                         port.info.type, elements)) {
        throw_type(port.name, port.info.type, found);
      }
      views[i].data = staged[i].data();
    }
    io.in_complete(port.name, elements);
    return true;
  }

  void deliver(StepIo& io, const OutputPort& port, const AnyView& value) {
    const std::int64_t elements = value.info.elements();
    const AnyBuffer buffer = io.out(port.name, elements);
    if (buffer.data == nullptr && elements != 0) {
      fail(ErrorKind::input,
           {.what = "step IO gives no memory for a returned tensor", .tensor = port.name});
    }
    // Bits are bits: a program may keep halves as uint16.
    const ElementType wanted = buffer.info.type;
    const bool same_size = size_in_bytes(wanted) == size_in_bytes(value.info.type);
    if (!copy_elements(value.data, value.info.type, buffer.data,
                       same_size ? value.info.type : wanted, elements)) {
      throw_type(port.name, value.info.type, wanted);
    }
    io.out_complete(port.name);
  }

  void run_step(StepIo& io) {
    const std::int64_t count = flow.micro_batches();
    for (std::int64_t m = 0; m < count; ++m) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!prefetched[i]) fetch(io, i, false);
        prefetched[i] = false;
      }
      if (m == 0) check_symbols();
      run_engine();
      for (std::size_t i = 0; prefetch && m + 1 < count && i < inputs.size(); ++i) {
        prefetched[i] = fetch(io, i, true);
      }
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const OutputPort& port = outputs[i];
        const bool is_sum = port.returns == Return::sum && count > 1;
        if (is_sum) collect(i, m);
        if (!flow.returns(port.returns, port.period, m)) continue;
        deliver(io, port, is_sum ? AnyView(port.collected) : engine.output(i));
      }
    }
  }

  TensorId variable(std::string_view name) const {
    const TensorId id = graph().find(name);
    if (id != no_tensor && is_variable(graph().tensor(id))) return id;
    std::vector<Port> there;
    for (const TensorRecord& t : graph().tensors) {
      if (is_variable(t) && !t.name.empty()) {
        there.push_back({graph().text(t.name), t.info});
      }
    }
    fail(ErrorKind::input,
         {.what = id == no_tensor ? "the graph has no tensor of this name"
                                  : "the tensor of this name is not a variable",
          .tensor = name,
          .hint = there.empty() ? "there are no variables" : "variables are " + list(there)});
  }
};

}  // namespace detail

using detail::SessionState;

// --- results
// ---------------------------------------------------------------------------------------

std::size_t Result::size() const { return state_->outputs.size(); }
std::string_view Result::name(std::size_t i) const { return state_->outputs.at(i).name; }

AnyView Result::operator[](std::size_t i) const {
  if (i >= size()) {
    fail(ErrorKind::input, {.what = "a run returns fewer tensors",
                            .expected = "a number below " + std::to_string(size()),
                            .found = std::to_string(i)});
  }
  return state_->output(i);
}
AnyView Result::operator[](std::string_view name) const {
  for (std::size_t i = 0; i < state_->outputs.size(); ++i) {
    if (state_->outputs[i].name == name) return state_->output(i);
  }
  fail(ErrorKind::input, {.what = "a run returns no tensor of this name",
                          .tensor = name,
                          .hint = "it returns " + list(state_->output_ports())});
}
AnyView Result::of_tensor(TensorId id) const {
  for (std::size_t i = 0; i < state_->outputs.size(); ++i) {
    if (state_->outputs[i].id == id) return state_->output(i);
  }
  fail(ErrorKind::input, {.what = "a run does not return this tensor",
                          .hint = "it returns " + list(state_->output_ports())});
}

// --- session
// ---------------------------------------------------------------------------------------

namespace {

/// The anchors with their ids; the graph's outputs if there are none.
std::vector<OutputPort> find_outputs(const Graph& graph, const SessionOptions& options,
                                     const DataFlow& flow) {
  std::vector<OutputPort> ports;
  auto add = [&](TensorId id, Return returns, std::int64_t period) {
    for (const OutputPort& port : ports) {
      if (port.id == id) {
        fail(ErrorKind::usage, {.what = "a tensor is returned twice", .tensor = graph.name(id)});
      }
    }
    flow.check(returns, period);
    ports.push_back({.name = {}, .id = id, .returns = returns, .period = period});
  };
  for (const Anchor& anchor : options.outputs) {
    TensorId id = anchor.id;
    if (id == no_tensor) {
      id = graph.find(anchor.name);
      if (id == no_tensor) throw_unknown_name(graph, anchor.name);
    } else if (id < 0 || static_cast<std::size_t>(id) >= graph.tensors.size()) {
      fail(ErrorKind::usage, {.what = "a tensor to be returned is not of this graph"});
    }
    add(id, anchor.returns, anchor.period);
  }
  if (options.outputs.empty()) {
    for (const TensorId id : graph.outputs) {
      bool there = false;
      for (const OutputPort& port : ports) there = there || port.id == id;
      if (!there) add(id, Return::all, 1);
    }
  }
  return ports;
}

}  // namespace

namespace {

/// What runs the nodes with the machine's arithmetic; null if nobody asks for it.
std::unique_ptr<ipu::ArithmeticRunner> device_arithmetic(const SessionOptions& options) {
  const ipu::Arithmetic& arithmetic = options.ipu.arithmetic;
  if (!arithmetic.any()) return nullptr;
  if (options.device != Device::ipu_model) {
    fail(ErrorKind::usage, {.what = "the machine's arithmetic is that of ipu_model",
                            .hint = "device = Device::ipu_model"});
  }
  if (options.stop_at_nan) {
    fail(ErrorKind::usage,
         {.what = "stop_at_nan does not go with the machine's arithmetic",
          .hint = "ipu.arithmetic.floating_point_checks stops at exceptions, too"});
  }
  const ipu::Target& target = options.ipu.target != nullptr ? *options.ipu.target : ipu::gc200;
  target.check();
  auto runner = std::make_unique<ipu::ArithmeticRunner>(
      arithmetic, target,
      ipu::ProductOptions{
          .available_memory_proportion = options.ipu.available_memory_proportion,
          .partials = options.ipu.half_partials ? ElementType::float16 : ElementType::float32});
  runner->random().set_seed(options.seed);
  return runner;
}

}  // namespace

Session::Session(Graph graph, const SessionOptions& options) {
  const DataFlow flow{options.batches_per_step, options.accumulation};
  flow.check();
  if (options.accumulation > 1 && accumulation_of(graph) != 0) {
    accumulate_gradients(graph, options.accumulation);
  }
  std::vector<OutputPort> outputs = find_outputs(graph, options, flow);

  std::vector<TensorId> model_outputs = std::move(graph.outputs);
  graph.outputs.clear();
  for (const OutputPort& port : outputs) graph.outputs.push_back(port.id);

  state_ = Owned(new SessionState(std::move(graph),
                                  EngineOptions{.threads = options.threads,
                                                .seed = options.seed,
                                                .stop_at_nan = options.stop_at_nan,
                                                .observer = options.observer},
                                  device_arithmetic(options)));
  SessionState& s = *state_;
  s.flow = flow;
  s.prefetch = options.prefetch;
  s.must_check_sizes = options.check_sizes;
  s.model_outputs = std::move(model_outputs);
  s.outputs = std::move(outputs);

  const Graph& g = s.graph();
  auto port_of = [&](TensorId id) {
    InputPort port;
    port.name = g.name(id);
    port.id = id;
    port.info = g.info(id);
    return port;
  };
  bool all_static = true;
  std::vector<TensorInfo> input_infos;
  for (const TensorId id : g.inputs) {
    s.inputs.push_back(port_of(id));
    input_infos.push_back(g.info(id));
    all_static = all_static && g.info(id).is_static();
  }
  for (const TensorId id : g.optional_inputs) s.optional.push_back(port_of(id));
  for (OutputPort& port : s.outputs) port.name = g.name(port.id);
  s.views.resize(s.inputs.size());
  s.given.resize(s.inputs.size());

  std::vector<std::string_view> symbols;
  for (const Symbol& symbol : g.symbols) {
    const std::string_view name = g.text(symbol.name);
    for (std::size_t i = 0; i < s.inputs.size(); ++i) {
      if (s.inputs[i].id != symbol.tensor || symbol.axis >= s.inputs[i].info.rank()) continue;
      std::size_t number = 0;
      while (number < symbols.size() && symbols[number] != name) ++number;
      if (number == symbols.size()) symbols.push_back(name);
      s.symbol_uses.push_back({i, symbol.axis, number});
    }
  }
  s.symbol_values.resize(symbols.size());

  if (all_static) s.engine.prepare(input_infos);

  s.is_modelled = options.device == Device::ipu_model && options.ipu.profiling;
  if (options.device == Device::ipu_model && options.ipu.placement == ipu::Placement::nodes) {
    ipu::check_placement(s.graph(), options.ipu.target != nullptr ? options.ipu.target->ipus : 1);
  }
  if (!s.is_modelled) return;
  s.target = options.ipu.target != nullptr ? *options.ipu.target : ipu::gc200;
  s.profile_options.available_memory_proportion = options.ipu.available_memory_proportion;
  if (options.ipu.half_partials) s.profile_options.partials = ElementType::float16;
  s.profile_options.placement = options.ipu.placement;
  s.profile_options.observer = options.observer;
  s.profile_options.split_ratios = options.ipu.split_ratios;
  s.profile_options.allow_out_of_memory = options.ipu.allow_out_of_memory;
  s.target.check();
  if (all_static) s.profile(input_infos);
}

Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result Session::run(std::span<const Input> inputs) {
  SessionState& s = *state_;
  s.bind(inputs);
  if (s.flow.micro_batches() == 1) {
    for (std::size_t i = 0; i < s.views.size(); ++i) s.views[i].data = s.given[i];
    s.run_engine();
  } else {
    s.run_micro_batches();
  }
  return Result(s);
}

void Session::run(StepIo& io) {
  SessionState& s = *state_;
  s.restore_variables();
  s.prepare_step(io, *this);
  s.run_step(io);
  s.must_check_sizes = false;
}

Graph Session::graph() const {
  state_->restore_variables();
  Graph copy = state_->graph();
  copy.outputs = state_->model_outputs;
  for (std::size_t i = 0; i < copy.tensors.size(); ++i) {
    TensorRecord& t = copy.tensors[i];
    if (is_variable(t)) {
      t.data = bytes_of(state_->engine.variable(static_cast<TensorId>(i)));
    }
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
  state_->restore_variables();
  return state_->engine.variable(state_->variable(variable));
}

void Session::set(std::string_view variable, const AnyView& value) {
  state_->restore_variables();
  const TensorId id = state_->variable(variable);
  const TensorInfo& info = state_->graph().info(id);
  if (value.info != info || (value.data == nullptr && info.elements() != 0)) {
    fail(ErrorKind::input, {.what = "the new value does not fit the variable",
                            .tensor = variable,
                            .expected = to_text(info),
                            .found = value.data == nullptr ? "null" : to_text(value.info)});
  }
  state_->engine.set_variable(id, value);
}

void Session::set_number(std::string_view variable, double value) {
  const TensorInfo info = state_->graph().info(state_->variable(variable));
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

std::vector<Port> Session::inputs() const { return state_->ports(state_->inputs); }
std::vector<Port> Session::optional_inputs() const { return state_->ports(state_->optional); }
std::vector<Port> Session::outputs() const { return state_->output_ports(); }

std::vector<Port> Session::variables() const {
  std::vector<Port> ports;
  for (const TensorRecord& t : state_->graph().tensors) {
    if (is_variable(t) && !t.name.empty()) {
      ports.push_back({state_->graph().text(t.name), t.info});
    }
  }
  return ports;
}

std::vector<Port> Session::tensors() const {
  std::vector<Port> ports;
  for (const TensorRecord& t : state_->graph().tensors) {
    if (!t.name.empty()) ports.push_back({state_->graph().text(t.name), t.info});
  }
  return ports;
}

bool Session::has(std::string_view tensor) const {
  return state_->graph().find(tensor) != no_tensor;
}

TensorInfo Session::info(std::string_view tensor) const {
  const TensorId id = state_->graph().find(tensor);
  if (id == no_tensor) throw_unknown_name(state_->graph(), tensor);
  return state_->graph().info(id);
}

const ipu::Report& Session::report() const {
  if (!state_->is_modelled) {
    fail(ErrorKind::usage, {.what = "there are no reports of this session",
                            .hint = "device = Device::ipu_model with ipu.profiling makes them"});
  }
  if (state_->report == nullptr) {
    fail(ErrorKind::usage, {.what = "the shapes are not known before the first run",
                            .hint = "run the session, or give symbolic extents a value"});
  }
  return *state_->report;
}
std::int64_t Session::cycle_count() const {
  return report().cycles() * state_->flow.micro_batches();
}

const DataFlow& Session::data_flow() const { return state_->flow; }

Anchor Session::anchor(std::size_t i) const {
  const OutputPort& port = state_->outputs.at(i);
  Anchor anchor(port.name, port.returns, port.period);
  anchor.id = port.id;
  return anchor;
}

Dims Session::returned_shape(std::size_t i) const {
  const OutputPort& port = state_->outputs.at(i);
  return state_->flow.shape(port.returns, port.period, state_->graph().info(port.id).shape);
}

namespace {

[[noreturn]] void throw_size(std::string_view direction, std::string_view name,
                             const DataFlow& flow, std::int64_t own, std::int64_t expected,
                             std::int64_t found, std::string_view more) {
  const std::string what = "Unexpected number of " + std::string(direction) +
                           " elements for Tensor " + std::string(name) + ". Expected " +
                           std::to_string(expected) + ", but received " + std::to_string(found) +
                           ".\nReplication factor\t1\nAccumulation factor\t" +
                           std::to_string(flow.accumulation) + "\nBatches per step\t" +
                           std::to_string(flow.batches_per_step) + "\nTensor nelms\t" +
                           std::to_string(own) + std::string(more);
  fail(ErrorKind::input, {.what = what});
}

}  // namespace

void Session::check_input(std::string_view name, std::int64_t elements) const {
  const SessionState& s = *state_;
  const TensorId id = s.graph().find(name);
  const std::string said =
      "The tensor '" + std::string(name) + "' has been provided as one of the inputs to the stepIO";
  if (id == no_tensor) {
    fail(ErrorKind::input, {.what = said + ". But there is no Tensor named " + std::string(name) +
                                    " in the Ir's main Graph",
                            .hint = s.input_names()});
  }
  const std::int64_t own = s.graph().info(id).elements();
  const std::int64_t expected = own < 0 ? elements : own * s.flow.micro_batches();
  if (elements != expected) throw_size("input", name, s.flow, own, expected, elements, {});
  for (const InputPort& port : s.inputs) {
    if (port.id == id) return;
  }
  fail(ErrorKind::input,
       {.what = said + ", but it is not registered as one of the inputs to the model",
        .hint = s.input_names()});
}

void Session::check_output(std::string_view name, std::int64_t elements) const {
  const SessionState& s = *state_;
  const TensorId id = s.graph().find(name);
  if (id == no_tensor) {
    fail(ErrorKind::input,
         {.what = "The tensor '" + std::string(name) +
                  "' has been provided as one of the outputs to the stepIO. But there is no Tensor "
                  "named " +
                  std::string(name) + " in the Ir's tensors",
          .hint = "a run returns " + list(s.output_ports())});
  }
  for (const OutputPort& port : s.outputs) {
    if (port.id != id) continue;
    const std::int64_t own = s.graph().info(id).elements();
    const std::int64_t expected =
        own < 0 ? elements : own * s.flow.returned(port.returns, port.period);
    if (elements == expected) return;
    constexpr std::string_view names[] = {"All", "EveryN", "Final", "Sum"};
    throw_size("output", name, s.flow, own, expected, elements,
               "\nAnchor return type\t" + std::string(names[static_cast<int>(port.returns)]) +
                   "\nReturn period\t" + std::to_string(port.period));
  }
  fail(ErrorKind::internal, {.what = "Non-anchored Tensor in CorrectnessAsserter::checkOut",
                             .tensor = name,
                             .hint = "a run returns " + list(s.output_ports())});
}

}  // namespace halftone
