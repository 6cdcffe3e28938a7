#include <popart/session.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>

#include <halftone/graph/planning.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/session/cache.hpp>
#include <halftone/streams.hpp>
#include <halftone/train/state.hpp>
#include <halftone/transform/off_chip.hpp>
#include <halftone/transform/serialize_batch.hpp>
#include <halftone/transform/shard.hpp>

#include "base/describe.hpp"
#include "base/file.hpp"
#include "popart/anchors.hpp"
#include "popart/convert.hpp"
#include "popart/executable.hpp"
#include "popart/external.hpp"
#include "popart/ipu_device.hpp"
#include "popart/ir_graph.hpp"
#include "popart/merged_updates.hpp"
#include "popart/model.hpp"
#include "popart/options.hpp"
#include "popart/placement.hpp"
#include "popart/progress.hpp"
#include "popart/rewrites.hpp"
#include "popart/settings.hpp"
#include "popart/synthetic.hpp"
#include "popart/training.hpp"
#include "popart/transforms.hpp"
#include "popart/weights.hpp"

namespace popart {

namespace {

using detail::translated;

/// Step IO of a program as the library sees it. Programs give and take the data of one replica after
/// the other; the library those of all.
class Adapter final : public halftone::StepIo {
 public:
  /// By stream and replica.
  using Callbacks = std::map<std::pair<std::string, unsigned>, std::function<void(void*)>>;

  Adapter(IStepIO& io, const popx::Executablex& executable, const Callbacks& callbacks)
      : io_(io),
        executable_(executable),
        callbacks_(callbacks),
        replicas_(static_cast<unsigned>(executable.session().data_flow().replicas)),
        keeps_(dynamic_cast<StepIO*>(&io) != nullptr && callbacks.empty() && replicas_ == 1) {}

  halftone::AnyView in(std::string_view name, std::int64_t elements, bool prefetch) override {
    if (replicas_ == 1) return in_one(name, elements, prefetch, 0, false);
    const std::int64_t own = elements / replicas_;
    const bool isBroadcast = executable_.isBroadcast(name);
    halftone::AnyArray& all = staged_[std::string(name)];
    for (unsigned k = 0; k < replicas_; ++k) {
      if (isBroadcast && k > 0) {
        std::memcpy(all.data() + k * all.bytes() / replicas_, all.data(), all.bytes() / replicas_);
        continue;
      }
      const halftone::AnyView one = in_one(name, own, prefetch && k == 0, k, isBroadcast);
      if (one.data == nullptr && own != 0) return {};
      const halftone::TensorInfo info{one.info.type, {elements}};
      if (k == 0 && all.info() != info) all = halftone::AnyArray(info);
      if (own != 0) std::memcpy(all.data() + k * one.bytes(), one.data, one.bytes());
      complete_one(name, own, k, isBroadcast);
    }
    return all;
  }
  void in_complete(std::string_view name, std::int64_t elements) override {
    if (replicas_ == 1) complete_one(name, elements, 0, false);
  }
  halftone::AnyBuffer out(std::string_view name, std::int64_t elements) override {
    if (replicas_ == 1) return out_one(name, elements, 0);
    halftone::AnyArray& all = staged_["out:" + std::string(name)];
    const halftone::TensorInfo info{executable_.session().info(name).type, {elements}};
    if (all.info() != info) all = halftone::AnyArray(info);
    return {info, all.data()};
  }
  void out_complete(std::string_view name) override {
    if (replicas_ == 1) return out_completed_one(name, 0);
    const halftone::AnyArray& all = staged_.at("out:" + std::string(name));
    const std::size_t bytes = all.bytes() / replicas_;
    for (unsigned k = 0; k < replicas_; ++k) {
      const halftone::AnyBuffer one = out_one(name, all.info().elements() / replicas_, k);
      if (halftone::size_in_bytes(one.info.type) != halftone::size_in_bytes(all.info().type)) {
        throw runtime_error("The elements of anchor {} are of another type than its buffer", name);
      }
      if (bytes != 0) std::memcpy(one.data, all.data() + k * bytes, bytes);
      out_completed_one(name, k);
    }
  }
  void check(const halftone::Session&) const override {
    if (io_.runtimeAssertsEnabled()) io_.assertNumElements(executable_);
  }
  bool keeps_data() const override { return keeps_; }

 private:
  const std::function<void(void*)>* callback(std::string_view prefix, std::string_view name,
                                             unsigned replica) const {
    const auto found = callbacks_.find({std::string(prefix) + std::string(name), replica});
    return found == callbacks_.end() ? nullptr : &found->second;
  }
  halftone::AnyView in_one(std::string_view name, std::int64_t elements, bool prefetch,
                           unsigned replica, bool isBroadcast) {
    if (const auto* call = callback("h2d_", name, replica); call != nullptr) {
      halftone::AnyArray& buffer = buffer_of(name);
      (*call)(buffer.data());
      return {{buffer.info().type, {elements}}, buffer.data()};
    }
    given_ = io_.in(TensorId(name), elements, prefetch, isBroadcast);
    return {info(name, given_.info, given_.data, elements), given_.data};
  }
  void complete_one(std::string_view name, std::int64_t elements, unsigned replica,
                    bool isBroadcast) {
    if (callback("h2d_", name, replica) == nullptr) {
      io_.inComplete(TensorId(name), elements, isBroadcast);
    }
  }
  halftone::AnyBuffer out_one(std::string_view name, std::int64_t elements, unsigned replica) {
    if (callback("anchor_d2h_", name, replica) != nullptr) {
      halftone::AnyArray& buffer = buffer_of(name);
      return {{buffer.info().type, {elements}}, buffer.data()};
    }
    const MutableVoidData buffer = io_.out(TensorId(name), elements);
    return {info(name, buffer.info, buffer.data, elements), buffer.data};
  }
  void out_completed_one(std::string_view name, unsigned replica) {
    if (const auto* call = callback("anchor_d2h_", name, replica); call != nullptr) {
      (*call)(buffers_.at(std::string(name)).data());
    } else {
      io_.outComplete(TensorId(name));
    }
  }

  static halftone::TensorInfo info(std::string_view name, const TensorInfo& given, const void* data,
                                   std::int64_t elements) {
    if (given.isSet()) return {detail::toNative(given.dataType()), {elements}};
    if (data == nullptr) return {};
    throw runtime_error("The data of tensor {} come without a TensorInfo", name);
  }

  halftone::AnyArray& buffer_of(std::string_view name) {
    halftone::AnyArray& buffer = buffers_[std::string(name)];
    const halftone::TensorInfo info = executable_.session().info(name);
    if (buffer.info() != info) buffer = halftone::AnyArray(info);
    return buffer;
  }

  IStepIO& io_;
  const popx::Executablex& executable_;
  const Callbacks& callbacks_;
  unsigned replicas_;
  std::map<std::string, halftone::AnyArray> buffers_;  ///< of streams with callbacks
  std::map<std::string, halftone::AnyArray> staged_;   ///< of all replicas
  bool keeps_;
  ConstVoidData given_;  // may own what it points to
};

/// The model does not fit into memory.
class OutOfMemory final : public memory_allocation_err {
 public:
  using memory_allocation_err::memory_allocation_err;
  std::unique_ptr<memory_allocation_err> clone() const override {
    return std::make_unique<OutOfMemory>(what());
  }
  std::string getSummaryReport() const override { return what(); }
  std::string getProfilePath() const override { return {}; }
};

/// Names that tensors of the machinery have: models must not use them for inputs and outputs.
void checkName(std::string_view name) {
  constexpr std::string_view prefixes[] = {"Gradient___",
                                           "UpdatedVar___",
                                           "FinalReducedGradient___",
                                           "AdamUpdater___",
                                           "AdaptiveUpdater___",
                                           "LambR1Sq___",
                                           "LambR2Sq___",
                                           "Restored___",
                                           "Stashed___",
                                           "RemoteArg___",
                                           "Init___",
                                           "Index___",
                                           "Iterator___",
                                           "LoopCond___",
                                           "ConstValue___",
                                           "ConcatInit___",
                                           "randomSeed___",
                                           "Counter___",
                                           "LossScalingRatio_"};
  const auto check = [&](std::string_view prefix) {
    if (name.find(prefix) == name.npos) return;
    throw error("Tensor {} has an invalid name: clash with reserved prefix {}", name, prefix);
  };
  for (const std::string_view prefix : prefixes) check(prefix);
  for (const auto& state : halftone::detail::weight_states) check(state.prefix);
  check(halftone::detail::previous_loss_scaling.prefix);
}

halftone::Return toNative(AnchorReturnTypeId id) {
  switch (id) {
    case AnchorReturnTypeId::Final:
      return halftone::Return::final;
    case AnchorReturnTypeId::EveryN:
      return halftone::Return::every_n;
    case AnchorReturnTypeId::All:
      return halftone::Return::all;
    case AnchorReturnTypeId::Sum:
      break;
  }
  return halftone::Return::sum;
}

}  // namespace

namespace {

/// The model that a graph trains or runs, with the values of those variables that the host has a copy of.
halftone::Graph hostModel(const halftone::Graph& graph, const SessionOptions& options) {
  halftone::Graph model = model_of(graph);
  if (!options.disableOptimizerStateTensorStreams) return model;
  for (halftone::TensorRecord& t : model.tensors) {
    if (!is_stored(t.state)) continue;
    t.role = halftone::Role::constant;
    t.state = halftone::State::none;
  }
  return model;
}

}  // namespace

struct Session::State {
  std::string name;
  detail::GivenModel model;
  halftone::Graph graph;                  // until it is prepared
  std::vector<std::string> unusedInputs;  // of the model, which nothing reads
  // Where the model has its initializers' data, and where modelToHost writes them.
  detail::ExternalFiles files, newFiles;
  detail::HostWeights weights;
  std::unique_ptr<Optimizer> optimizer;  // of training
  bool hasWeights = false;               // they were copied to the device
  Adapter::Callbacks callbacks;          // of streams
  std::shared_ptr<Ir> ir;
  DataFlow dataFlow;
  SessionOptions options;
  std::shared_ptr<DeviceInfo> device;
  std::unique_ptr<popx::Executablex> executable;
  std::unique_ptr<detail::SyntheticIo> synthetic;  // null: the program has data
  std::unique_ptr<detail::Progress> progress;
  bool loaded = false;
  bool ran = false;
  std::optional<halftone::ipu::RandomState> generators;  // if nothing draws from them

  State(std::string sessionName, detail::GivenModel given, halftone::Graph planned,
        const DataFlow& flow, const SessionOptions& userOptions,
        std::shared_ptr<DeviceInfo> deviceInfo)
      : name(std::move(sessionName)),
        model(std::move(given)),
        graph(std::move(planned)),
        weights(hostModel(graph, userOptions)),
        dataFlow(flow),
        options(userOptions),
        device(std::move(deviceInfo)) {}

  /// The last step of creating a session: `source.graph` is what it runs.
  static std::unique_ptr<State> of(detail::IrSource source, detail::GivenModel given,
                                   std::vector<std::string> unused,
                                   std::unique_ptr<detail::Progress> reached) {
    auto state = std::make_unique<State>(source.name, std::move(given), source.graph,
                                         source.dataFlow, source.options, source.device);
    state->unusedInputs = std::move(unused);
    state->ir = detail::makeIr(std::move(source));
    // The Ir shows the Softmax that PopART has either way.
    if (state->options.enableNonStableSoftmax) detail::expandSoftmaxes(state->graph);
    state->progress = std::move(reached);
    state->progress->reach(20);
    state->tell();
    return state;
  }

  halftone::Session makeSession(std::optional<halftone::Executable> ready);
  /// Takes what was made ready before, or makes the model ready.
  void prepare(std::optional<halftone::Executable> ready);
  /// The model with what the session returns as its outputs.
  halftone::Graph withAnchors() const;
  /// Whether a graph is the session's, with the same anchors; values of weights may differ.
  bool isOf(const halftone::Graph& other) const {
    const halftone::Graph own = withAnchors();
    bool isSame = own.inputs == other.inputs && own.outputs == other.outputs &&
                  own.nodes.size() == other.nodes.size() &&
                  own.tensors.size() == other.tensors.size();
    for (std::size_t i = 0; isSame && i < own.nodes.size(); ++i) {
      const halftone::Node &x = own.nodes[i], &y = other.nodes[i];
      isSame = x.op->id == y.op->id && x.attributes == y.attributes && x.inputs == y.inputs &&
               x.outputs == y.outputs;
    }
    return isSame;
  }
  /// Without casts to 32 bits there is no type for 64-bit integers on a device.
  void checkTypes() const {
    if (options.enableSupportedDataTypeCasting) return;
    for (const auto& [id, tensor] : ir->getAllTensors()) {
      if (tensor->tensorType() == TensorType::Const || !tensor->info.isSet() ||
          tensor->isOptimizerTensor() || tensor->isOptimizerStateTensor()) {
        continue;
      }
      const DataType type = tensor->info.dataType();
      if (type != DataType::INT64 && type != DataType::UINT64) continue;
      throw error("Is there a poplar type for {}? Tensor {} needs enableSupportedDataTypeCasting",
                  tensor->info.data_type(), id);
    }
  }
  bool isTraining() const { return optimizer != nullptr; }
  bool areWeightsConstant() const { return options.constantWeights && !isTraining(); }
  const halftone::ipu::Target* target() const { return detail::targetOf(*device); }
  /// The IPUs of one replica.
  std::optional<halftone::ipu::Target> replicaTarget() const {
    if (target() == nullptr) return {};
    return target()->with_ipus(detail::ipusOfReplica(*device, options));
  }
  /// Whether an engine option starting with autoReport. asks for reports.
  bool isProfiled() const {
    for (const auto& [key, value] : options.engineOptions) {
      if (key.starts_with("autoReport.") && value == "true") return true;
    }
    return false;
  }
  const halftone::ipu::Report& report() const {
    if (!isPrepared()) {
      throw runtime_error("Session must have been prepared before a report can be fetched");
    }
    if (target() == nullptr) {
      throw runtime_error("There are no reports of the device {}", device->getType());
    }
    if (!isProfiled()) {
      throw runtime_error("Profiling not enabled: set the engine option autoReport.all to true");
    }
    return *translated<runtime_error>([&] { return &executable->session().report(); });
  }
  /// Writes the reports of a machine to the folder that an engine option names.
  void writeReports() const {
    const auto folder = options.engineOptions.find("autoReport.directory");
    if (folder == options.engineOptions.end() || !isPrepared() || target() == nullptr) return;
    if (!isProfiled()) return;
    const std::filesystem::path path = std::filesystem::path(folder->second) / name;
    translated<runtime_error>([&] {
      std::filesystem::create_directories(path);
      const auto write = [&](const char* file, const std::string& text) {
        halftone::detail::OutputFile out((path / file).string());
        out.write(std::as_bytes(std::span(text)));
        out.commit();
      };
      write("summary.txt", report().summary());
      write("graph.json", report().graph_json());
      write("execution.json", report().execution_json());
      report().write_html((path / "report.html").string());
    });
  }
  /// Says what the session is made of.
  void tell() const {
    const halftone::Graph& g = graph;
    detail::say(logging::Module::ir, logging::Level::Debug,
                logging::format("The IR of session '{}' has {} operators", name, g.nodes.size()));
    if (!logging::shouldLog(logging::Module::op, logging::Level::Trace)) return;
    for (const halftone::Node& node : g.nodes) {
      std::string outputs;
      for (const halftone::TensorId id : node.outputs) {
        if (id == halftone::no_tensor) continue;
        outputs += " " + std::string(g.name(id)) + " " + halftone::detail::to_text(g.info(id));
      }
      detail::say(logging::Module::op, logging::Level::Trace,
                  halftone::detail::node_text(*node.op, g.name(node)) + " computes" + outputs);
    }
  }
  bool isPrepared() const { return executable != nullptr && options.compileEngine; }
  /// Whether results depend on the state of the machine's generators.
  bool drawsFromGenerators() const {
    return options.enableStochasticRounding || options.enableFloatingPointChecks;
  }
  void seedGenerators(std::uint64_t seed) {
    if (!options.enableLoadAndOffloadRNGState || target() == nullptr || drawsFromGenerators())
      return;
    if (!generators) generators.emplace(target()->tiles(), target()->worker_contexts);
    generators->set_seed(seed);
  }
  void requirePrepared(const char* method) const {
    if (executable == nullptr) {
      throw runtime_error("Session::prepareDevice must be called before Session::{}", method);
    }
  }
  void load() {
    if (device->getConnectionType() == DeviceConnectionType::Never) {
      throw runtime_error("Trying to load an engine on an offline device");
    }
    if (!isPrepared()) {
      throw runtime_error(
          "Trying to load an engine but no compiled engine. Did you forget to call "
          "prepareDevice()?");
    }
    if (loaded) return;
    if (!device->isAttached() && !device->tryAttachUntilTimeout()) {
      throw runtime_error("Failed to attach to device");
    }
    loaded = true;
  }
};

namespace {

halftone::IpuModelOptions ipuOptions(const halftone::Graph& graph, const SessionOptions& options,
                                     const halftone::ipu::Target* target, bool allowOutOfMemory,
                                     bool isModelled) {
  halftone::IpuModelOptions native;
  if (target == nullptr) return native;
  native.target = target;
  native.allow_out_of_memory = allowOutOfMemory;
  native.profiling = isModelled;
  native.placement =
      options.virtualGraphMode == VirtualGraphMode::Manual || options.enablePipelining ||
              options.virtualGraphMode == VirtualGraphMode::ExecutionPhases
          ? halftone::ipu::Placement::nodes
      : options.virtualGraphMode == VirtualGraphMode::Auto ? halftone::ipu::Placement::automatic
                                                           : halftone::ipu::Placement::none;
  native.split_ratios = options.virtualGraphSplitRatios;
  native.io_tiles = options.numIOTiles;
  // The default shares all that outlining could, and counts no calls.
  const bool isJustInTime = options.subgraphCopyingStrategy == SubgraphCopyingStrategy::JustInTime;
  if (!options.enableOutlining) {
    native.outline = {.threshold = std::numeric_limits<double>::infinity()};
  } else if (isJustInTime || options.outlineThreshold != SessionOptions().outlineThreshold) {
    native.outline = {.threshold = static_cast<double>(options.outlineThreshold)};
  }
  if (native.outline) {
    native.call_copies = isJustInTime ? halftone::ipu::CallCopies::just_in_time
                                      : halftone::ipu::CallCopies::on_enter_and_exit;
  }
  native.merged_updates = detail::mergedUpdates(graph, options);
  native.stable_norms = options.enableStableNorm;
  native.arithmetic.stochastic_rounding = options.enableStochasticRounding;
  native.arithmetic.floating_point_checks = options.enableFloatingPointChecks;
  native.arithmetic.check_float8_scale = options.throwIfLog2ScaleTensorNotInRange;
  return native;
}

/// What the report options ask for beside a report's summary.
std::string reportDetails(const halftone::ipu::Report& report, const SessionOptions& options) {
  const auto isAsked = [&](const char* key) {
    const auto found = options.reportOptions.find(key);
    return found != options.reportOptions.end() && found->second == "true";
  };
  std::string text;
  if (isAsked("showExecutionSteps")) {
    text += "\nExecution steps:\n";
    for (const halftone::ipu::Step& step : report.steps) {
      const halftone::ipu::Operation* const operation = report.operation_of(step);
      text += logging::format("  {} {}: {} cycles, {} times, IPU {}\n", name(step.kind),
                              operation == nullptr ? std::string() : operation->name, step.cycles,
                              step.repeats, step.ipu);
    }
  }
  if (isAsked("showVarStorage")) {
    text += "\nVariables:\n";
    for (const halftone::ipu::Variable& variable : report.variables) {
      text += logging::format("  {} ({}): {} bytes, IPU {}\n", variable.name,
                              name(variable.category), variable.bytes(), variable.ipu);
    }
  }
  return text;
}

/// Takes the values that the host has a copy of, too, out of a graph.
void dropValues(halftone::Graph& graph, const detail::HostWeights& weights) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    halftone::TensorRecord& t = graph.tensors[i];
    if (!halftone::is_variable(t) || t.name.empty()) continue;
    if (graph.settings(static_cast<halftone::TensorId>(i)) != nullptr) continue;
    const std::size_t known = weights.find(graph.text(t.name));
    if (known < weights.size() && weights[known].data != nullptr) t.data = {};
  }
}

/// One replica: [2][tiles of all IPUs][workers][4] words.
std::size_t generatorWords(const halftone::ipu::Target* target) {
  if (target == nullptr) return 8;
  return static_cast<std::size_t>(2 * target->tiles() * target->worker_contexts * 4);
}

}  // namespace

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

/// The native session of a model, or of what was made ready of it before.
halftone::Session Session::State::makeSession(std::optional<halftone::Executable> ready) {
  std::vector<halftone::Anchor> anchors;
  for (const TensorId& id : dataFlow.anchors()) {
    const AnchorReturnType art = dataFlow.art(id);
    anchors.emplace_back(std::string_view(id), toNative(art.id()),
                         art.id() == AnchorReturnTypeId::EveryN ? art.rp() : 1);
  }
  const auto memory = options.engineOptions.find("debug.allowOutOfMemory");
  const bool allowOutOfMemory = memory == options.engineOptions.end() || memory->second != "false";
  const bool isModelled = target() != nullptr && (isProfiled() || !allowOutOfMemory ||
                                                  options.instrumentWithHardwareCycleCounter);
  const std::optional<halftone::ipu::Target> ownTarget = replicaTarget();
  const auto depthOf = [&](const TensorId& id) {
    return static_cast<int>(options.getBufferingDepth(id, options.rearrangeStreamsOnHost));
  };
  std::vector<std::pair<std::string, int>> depths;
  for (const auto* map : {&options.bufferingDepthMap, &options.prefetchBufferingDepthMap}) {
    for (const auto& [id, depth] : *map) {
      const halftone::TensorId input = graph.find(id);
      const auto& inputs = graph.inputs;
      // Those of anchors say how long they may wait, which nobody sees here.
      const bool isInput = std::find(inputs.begin(), inputs.end(), input) != inputs.end();
      if (isInput && options.enablePrefetchDatastreams) depths.emplace_back(id, depthOf(id));
    }
  }
  const halftone::SessionOptions native{
      .outputs = anchors,
      .batches_per_step = dataFlow.batchesPerStep(),
      .accumulation = options.getAccumulationFactor(),
      .device = target() != nullptr ? halftone::Device::ipu_model : halftone::Device::cpu,
      .prefetch = options.enablePrefetchDatastreams ? depthOf({}) : 0,
      .prefetch_of = depths,
      .recompute = detail::recomputationOf(options),
      .schedule = detail::scheduleOf(options, isTraining()),
      .observer = progress.get(),
      .ranks = detail::ranksOf(options),
      .ipu = ipuOptions(graph, options, ownTarget ? &*ownTarget : nullptr, allowOutOfMemory,
                        isModelled)};
  if (ready.has_value()) return halftone::Session(std::move(*ready), native);
  if (options.enableEngineCaching && !options.cachePath.empty() &&
      native.recompute == halftone::Recomputation::none &&
      native.schedule == halftone::Schedule::none) {
    halftone::Graph returned = withAnchors();
    if (native.accumulation > 1) accumulate_gradients(returned, native.accumulation);
    const bool isStatic =
        std::all_of(returned.inputs.begin(), returned.inputs.end(),
                    [&](halftone::TensorId id) { return returned.info(id).is_static(); });
    if (isStatic) {
      const bool hasVariables = options.enableVariablesCaching || areWeightsConstant();
      if (!hasVariables) dropValues(returned, weights);
      halftone::Executable cached =
          halftone::compile_cached(std::move(returned), options.cachePath, detail::operators());
      cached.set_model_outputs(graph.outputs);
      halftone::Session session(std::move(cached), native);
      if (!hasVariables) weights.from_host(session);
      return session;
    }
  }
  // The model's graph stays whole if the session cannot be made.
  halftone::Graph whole = graph;
  // Without anchors the library would return what the model lists as outputs.
  if (anchors.empty()) whole.outputs.clear();
  return halftone::Session(std::move(whole), native);
}

halftone::Graph Session::State::withAnchors() const {
  halftone::Graph returned = graph;
  returned.outputs = detail::anchorsIn(graph, dataFlow);
  return returned;
}

void Session::State::prepare(std::optional<halftone::Executable> ready) {
  try {
    detail::checkBatches(dataFlow.batchesPerStep());
    checkTypes();
    halftone::Session session = makeSession(std::move(ready));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto seed = static_cast<std::uint64_t>(now.count());
    session.set_random_seed(seed);
    seedGenerators(seed);
    if (isTraining()) detail::setHyperparameters(session, *optimizer);
    std::vector<std::string> broadcast;
    for (const halftone::Port& input : session.inputs()) {
      const auto mode = static_cast<int>(ReplicatedStreamMode::Broadcast);
      if (detail::settingOf(graph, sReplicatedStreamMode, input.name, 0) == mode) {
        broadcast.emplace_back(input.name);
      }
    }
    executable =
        std::make_unique<popx::Executablex>(std::move(session), std::move(broadcast), unusedInputs);
    if (options.syntheticDataMode != SyntheticDataMode::Off) {
      synthetic =
          std::make_unique<detail::SyntheticIo>(options.syntheticDataMode, executable->session());
    }
    graph = {};
  } catch (const halftone::MemoryError& e) {
    throw OutOfMemory(e.what());
  } catch (const halftone::Error& e) {
    throw error("{}", e.what());
  }
}

void Session::prepareDevice(bool loadEngine) {
  State& s = *state_;
  if (s.executable == nullptr) s.prepare({});
  s.writeReports();
  s.progress->reach(100);
  s.progress->tellTimes();
  detail::say(logging::Module::devicex, logging::Level::Debug,
              logging::format("Session '{}' is prepared for {}", s.name, s.device->toString()));
  if (loadEngine && s.options.compileEngine) s.load();
}

void Session::compileAndExport(const std::string& filename) {
  prepareDevice(false);
  saveExecutableToFile(filename);
}

void Session::compileAndExport(std::ostream& out) {
  prepareDevice(false);
  saveExecutableToStream(out);
}

void Session::saveExecutableToStream(std::ostream& out) {
  state_->requirePrepared("saveExecutableToStream");
  translated<runtime_error>([&] {
    const std::vector<std::byte> bytes =
        halftone::executable_bytes(state_->executable->session().executable());
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  });
  if (!out) throw runtime_error("The executable could not be written");
}

void Session::saveExecutableToFile(const std::string& filename) {
  state_->requirePrepared("saveExecutableToFile");
  translated<runtime_error>(
      [&] { halftone::save_executable(state_->executable->session().executable(), filename); });
}

void Session::loadExecutableFromFile(const std::string& filename) {
  State& s = *state_;
  if (s.executable != nullptr) {
    throw runtime_error("An executable is loaded before or instead of Session::prepareDevice");
  }
  translated<runtime_error>([&] {
    halftone::Executable ready = halftone::load_executable(filename, detail::operators());
    if (!s.isOf(ready.graph())) {
      throw runtime_error("The executable {} is of another model or returns other tensors",
                          filename);
    }
    ready.set_model_outputs(s.graph.outputs);
    s.prepare(std::move(ready));
    // Constant weights are this model's, not those of the file.
    s.weights.from_host(s.executable->session());
  });
}

void Session::loadEngineAndConnectStreams() { state_->load(); }

void Session::weightsFromHost() {
  state_->load();
  // Constant weights, and those that are used with synthetic data, are the device's from the start.
  if (state_->areWeightsConstant()) return;
  if (state_->synthetic != nullptr) {
    state_->hasWeights = true;
    return;
  }
  translated<runtime_error>([&] {
    halftone::Session& session = state_->executable->session();
    state_->weights.complete(session);  // optimizer state has a value from the start, too
    state_->weights.from_host(session);
  });
  state_->hasWeights = true;
}

void Session::weightsToHost() {
  state_->requirePrepared("weightsToHost");
  translated<runtime_error>([&] { state_->weights.to_host(state_->executable->session()); });
}

void Session::buffersFromHost() {
  State& s = *state_;
  if (s.options.updatableNamedBuffers.empty()) {
    throw error("Session::buffersFromHost needs SessionOptions::updatableNamedBuffers");
  }
  s.load();
  translated<runtime_error>([&] {
    for (const TensorId& id : s.options.updatableNamedBuffers) {
      const halftone::AnyView value = s.weights[s.weights.find(id)];
      if (value.data != nullptr) s.executable->session().set(id, value);
    }
  });
}

void Session::readWeights(const IWeightsIO& weightsIo) {
  translated<runtime_error>([&] { detail::readWeights(state_->weights, weightsIo); });
}

void Session::writeWeights(const IWeightsIO& weightsIo) {
  if (state_->areWeightsConstant()) {
    throw runtime_error("Cannot call writeWeights when constantWeights is set");
  }
  translated<runtime_error>([&] { detail::writeWeights(state_->weights, weightsIo); });
}

void Session::resetHostWeights(const std::string& model,
                               const bool ignoreWeightsInModelWithoutCorrespondingHostWeight) {
  if (state_->areWeightsConstant()) {
    throw runtime_error("Cannot call resetHostWeights when constantWeights is set");
  }
  translated<runtime_error>([&] {
    detail::resetWeights(state_->weights, detail::readModel(model),
                         ignoreWeightsInModelWithoutCorrespondingHostWeight);
  });
  state_->hasWeights = false;
}

void Session::modelToHost(const std::string& fn) {
  state_->requirePrepared("modelToHost");
  translated<runtime_error>([&] {
    const halftone::Session& session = state_->executable->session();
    state_->weights.to_host(session);
    detail::saveModel(state_->model, hostModel(session.graph(), state_->options), fn,
                      state_->newFiles);
  });
}

void Session::run(IStepIO& stepIO, std::string debugName) {
  State& s = *state_;
  if (s.device->getConnectionType() == DeviceConnectionType::Never) {
    throw runtime_error("Offline IPU device is not configured for execution");
  }
  if (!s.isPrepared()) {
    throw runtime_error("Session::prepareDevice must be called before Session::run");
  }
  s.load();
  if (s.isTraining() && !s.hasWeights) {
    if (s.ir->containsInitialisers()) {
      throw runtime_error(
          "Must call weightsFromHost before run as the model has initializers "
          "and the session has been created in training mode");
    }
    weightsFromHost();  // The optimizer has state of its own.
  }
  if (!debugName.empty()) {
    detail::say(logging::Module::session, logging::Level::Debug,
                "Session '" + s.name + "' runs step '" + debugName + "'");
  }
  if (s.synthetic != nullptr) {
    translated<runtime_error>([&] { s.executable->session().run(*s.synthetic); });
  } else {
    Adapter adapter(stepIO, *s.executable, s.callbacks);
    translated<runtime_error>([&] { s.executable->session().run(adapter); });
  }
  s.ran = true;
}

void Session::run(std::string programHandle, IStepIO&, std::string) {
  if (!state_->isPrepared()) {
    throw runtime_error("Session::prepareDevice must be called before Session::run");
  }
  throw error("[Devicex::run] Program {} not found.", programHandle);
}

TensorInfo Session::getInfo(TensorId id) const {
  state_->requirePrepared("getInfo");
  const halftone::TensorInfo info = translated<runtime_error>(
      [&] { return state_->executable->session().info(std::string_view(id)); });
  if (!info.is_static()) throw runtime_error("TensorInfo for `{}' not set", id);
  return detail::fromNative(info);
}

bool Session::hasInfo(TensorId id) const {
  state_->requirePrepared("hasInfo");
  const halftone::Session& session = state_->executable->session();
  return session.has(id) && session.info(id).is_static();
}

std::set<TensorId> Session::getAllTensorIds() const {
  state_->requirePrepared("getAllTensorIds");
  std::set<TensorId> ids;
  for (const halftone::Port& port : state_->executable->session().tensors()) {
    ids.emplace(port.name);
  }
  return ids;
}

/// The IPU whose inner cycle counter has that id; none: there is no such counter.
static std::optional<std::int64_t> innerIpu(std::string_view id, std::int64_t ipus) {
  constexpr std::string_view prefix = "inner_ipu_";
  if (!id.starts_with(prefix)) return {};
  id.remove_prefix(prefix.size());
  std::int64_t ipu = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), ipu);
  if (error != std::errc() || end != id.data() + id.size()) return {};
  return ipu >= 0 && ipu < ipus ? std::optional(ipu) : std::nullopt;
}

uint64_t Session::getCycleCount(std::string id) {
  const State& s = *state_;
  if (!s.ran) throw runtime_error("Must call run before getCycleCount.");
  if (!s.options.instrumentWithHardwareCycleCounter) {
    throw runtime_error(
        "SessionOptions::instrumentWithHardwareCycleCounter must be set to measure cycles");
  }
  const std::set<Instrumentation>& counted = s.options.hardwareInstrumentations;
  const std::optional<halftone::ipu::Target> target = s.replicaTarget();
  const std::optional<std::int64_t> ipu = counted.count(Instrumentation::Inner) != 0
                                              ? innerIpu(id, target ? target->ipus : 1)
                                              : std::nullopt;
  if (!ipu && !(id.empty() && counted.count(Instrumentation::Outer) != 0)) {
    throw runtime_error("Invalid id for cycle counter: {}", id);
  }
  if (!target) {
    throw runtime_error("There is no cycle counter on the device {}", s.device->getType());
  }
  return translated<runtime_error>([&] {
    const halftone::Session& session = s.executable->session();
    return static_cast<uint64_t>(ipu ? session.cycle_count(*ipu) : session.cycle_count());
  });
}

std::vector<uint32_t> Session::getRNGState() {
  if (!state_->options.enableLoadAndOffloadRNGState) {
    throw runtime_error("Session::getRNGState needs SessionOptions::enableLoadAndOffloadRNGState");
  }
  state_->requirePrepared("getRNGState");
  if (state_->synthetic != nullptr) return {};
  if (state_->generators) return state_->generators->words();
  if (state_->target() != nullptr) {
    return translated<runtime_error>([&] { return state_->executable->session().rng_state(); });
  }
  const std::uint64_t seed = state_->executable->session().random_seed();
  const auto low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
  return {low, high, 0, 0, low, high, 0, 0};
}
void Session::setRNGState(const std::vector<uint32_t> rngState) {
  if (!state_->options.enableLoadAndOffloadRNGState) {
    throw runtime_error("Session::setRNGState needs SessionOptions::enableLoadAndOffloadRNGState");
  }
  if (const std::size_t size = generatorWords(state_->target()); rngState.size() != size) {
    throw runtime_error(
        "Devicex::setRngStateValue received rngState of size {}; was expecting size {}",
        rngState.size(), size);
  }
  state_->requirePrepared("setRNGState");
  if (state_->generators) return state_->generators->set_words(rngState);
  if (state_->target() != nullptr) {
    return translated<runtime_error>(
        [&] { state_->executable->session().set_rng_state(rngState); });
  }
  state_->executable->session().set_random_seed(std::uint64_t{rngState[1]} << 32 | rngState[0]);
}

void Session::setRandomSeed(uint64_t seedValue) {
  state_->requirePrepared("setRandomSeed");
  const bool isRandom =
      state_->executable->session().is_random() || state_->options.enableStochasticRounding;
  state_->seedGenerators(seedValue);
  if (isRandom) {
    state_->executable->session().set_random_seed(seedValue);
    return;
  }
  if (state_->generators) return;
  detail::say(logging::Module::session, logging::Level::Warn,
              "Session::setRandomSeed has no effect: the model has no random operators");
}
uint64_t Session::getRandomSeed() {
  state_->requirePrepared("getRandomSeed");
  if (state_->executable->session().is_random()) {
    return state_->executable->session().random_seed();
  }
  detail::say(logging::Module::session, logging::Level::Warn,
              "Session::getRandomSeed is 0: the model has no random operators");
  return 0;
}

std::string Session::getSummaryReport(bool) const {
  const State& s = *state_;
  if (s.isPrepared() && s.target() != nullptr && !s.isProfiled()) {
    return "Execution profiling not enabled\n";
  }
  return s.report().summary() + reportDetails(s.report(), s.options);
}
std::string Session::getGraphReport(bool useCbor) const {
  if (useCbor) throw runtime_error("Reports are JSON; CBOR is not offered");
  return state_->report().graph_json();
}
std::string Session::getExecutionReport(bool useCbor, bool) const {
  if (useCbor) throw runtime_error("Reports are JSON; CBOR is not offered");
  return state_->report().execution_json();
}
const halftone::ipu::Report& Session::getReport() const { return state_->report(); }
std::string Session::getSerializedGraph() const {
  if (!state_->isPrepared()) {
    throw runtime_error("Session must have been prepared before a report can be fetched");
  }
  const std::vector<std::byte> bytes = translated<runtime_error>(
      [&] { return halftone::executable_bytes(state_->executable->session().executable()); });
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Session::setDeviceInfo(std::shared_ptr<DeviceInfo> deviceInfo) {
  if (deviceInfo == nullptr) throw error("Must pass a valid DeviceInfo to Session::setDeviceInfo");
  state_->device = std::move(deviceInfo);
}
const popx::Executablex& Session::getExecutable() const {
  state_->requirePrepared("getExecutable");
  return *state_->executable;
}
const Ir& Session::getIr() const { return *state_->ir; }
std::string Session::serializeIr(IrSerializationFormat) {
  std::stringstream text;
  getIr().serialise(Ir::SerialiseFormat::JSON, text);
  return text.str();
}
const SessionOptions& Session::getSessionOptions() const { return state_->options; }

namespace {

using PlanningOptions = std::map<std::string, std::string>;

/// What options of products ask of the planner. Keys of Poplar's that nothing here reads are
/// logged.
halftone::Planning planningOf(const PlanningOptions& options, const char* name) {
  halftone::Planning planning;
  for (const auto& [key, value] : options) {
    if (key == "availableMemoryProportion") {
      const char* const end = value.data() + value.size();
      float& proportion = planning.available_memory_proportion;
      const auto [stop, problem] = std::from_chars(value.data(), end, proportion);
      if (problem != std::errc() || stop != end || !(proportion > 0 && proportion <= 1)) {
        throw error("SessionOptions::{}: {} must be in (0,1], not '{}'", name, key, value);
      }
    } else if (key == "partialsType") {
      if (value != "half" && value != "float") {
        throw error("SessionOptions::{}: {} is half or float, not '{}'", name, key, value);
      }
      planning.partials =
          value == "half" ? halftone::ElementType::float16 : halftone::ElementType::float32;
    } else {
      detail::say(logging::Module::session, logging::Level::Warn,
                  std::string("SessionOptions::") + name + ": the key " + key + " has no effect");
    }
  }
  return planning;
}

/// Gives products what the options say, as far as they say nothing themselves.
void planProducts(halftone::Graph& graph, const SessionOptions& options) {
  PlanningOptions matmulOptions = options.matmulOptions;
  if (!options.partialsTypeMatMuls.empty()) {
    matmulOptions.try_emplace("partialsType", options.partialsTypeMatMuls);
  }
  const halftone::Planning convolution =
      planningOf(options.convolutionOptions, "convolutionOptions");
  const halftone::Planning matmul = planningOf(matmulOptions, "matmulOptions");
  const halftone::Planning recurrent = planningOf(options.lstmOptions, "lstmOptions");
  const auto apply = [&](auto& self, halftone::Graph& to) -> void {
    for (halftone::Node& node : to.nodes) {
      const std::string_view op = node.op->id.name;
      if (!halftone::is_planned(op)) continue;
      const halftone::Planning& asked = op == "MatMul" || op == "Gemm" ? matmul
                                        : op.starts_with("Conv")       ? convolution
                                                                       : recurrent;
      halftone::Planning own = node.planning;
      if (own.available_memory_proportion == 0) {
        own.available_memory_proportion = asked.available_memory_proportion;
      }
      if (own.partials == halftone::ElementType::undefined) own.partials = asked.partials;
      set_planning(node, own);
    }
    for (halftone::Graph& body : to.graphs) self(self, body);
  };
  apply(apply, graph);
}

/// The options, with what the environment says of the cache.
SessionOptions withEnvironment(SessionOptions options) {
  // POPXL_CACHE_DIR counts if both are set.
  for (const char* name : {"POPART_CACHE_DIR", "POPXL_CACHE_DIR"}) {
    const char* const folder = std::getenv(name);
    if (folder == nullptr || *folder == '\0') continue;
    options.enableEngineCaching = true;
    options.cachePath = folder;
  }
  return options;
}

/// Writes a session's IR to the file that the environment names.
void dumpIr(Session& session) {
  const char* const file = std::getenv("POPART_IR_DUMP");
  if (file == nullptr || *file == '\0') return;
  std::ofstream stream(file);
  stream << session.serializeIr(IrSerializationFormat::JSON);
  if (stream) return;
  detail::say(logging::Module::ir, logging::Level::Err,
              logging::format("The IR could not be written to {}", file));
}

void checkNamedBuffers(const halftone::Graph& graph, const SessionOptions& options) {
  for (const TensorId& id : options.updatableNamedBuffers) {
    const halftone::TensorId native = graph.find(id);
    if (native != halftone::no_tensor && halftone::is_variable(graph.tensor(native))) continue;
    throw error("SessionOptions::updatableNamedBuffers has {}, which is no variable", id);
  }
}

/// Warns of patterns that are switched on or off though they have no rewrite here, all in one line.
void checkPatterns(const Patterns& patterns) {
  const Patterns usual;
  std::string names;
  for (const auto& [name, isOn] : patterns.getSettings()) {
    if (isOn == usual.isPatternEnabled(name)) continue;
    const detail::SettingRow& row = *detail::findSetting(detail::patternTable(), name);
    const bool isAlways = row.status == detail::OptionStatus::built_in;
    if (row.status != detail::OptionStatus::nothing && !isAlways) continue;
    names += (names.empty() ? "" : ", ") + name;
    detail::say(logging::Module::pattern, logging::Level::Debug,
                logging::format("Pattern {} {}: {}", name,
                                isAlways ? "is always on" : "has no effect", row.text));
  }
  if (names.empty()) return;
  detail::say(logging::Module::pattern, logging::Level::Warn,
              "Switching these patterns on or off has no effect: " + names);
}

/// Serializes products of the model and applies patterns; `loss`: empty in inference.
void applyPatterns(halftone::Graph& graph, const Patterns& patterns, detail::NodeSettings& settings,
                   const DataFlow& dataFlow, const TensorId& loss, const SessionOptions& options) {
  constexpr std::string_view gradient = "Gradient___";
  for (const TensorId& id : dataFlow.anchors()) {
    settings.kept.insert(id);
    if (id.starts_with(gradient)) settings.kept.insert(id.substr(gradient.size()));
  }
  settings.kept.insert(loss);
  if (const auto& tracked = options.automaticLossScalingSettings.toTrackTensors) {
    settings.kept.insert(tracked->begin(), tracked->end());
  }
  // Patterns may have another node compute an output, by whose name settings are known.
  if (options.enableSerializedMatmuls) {
    translated<error>([&] { detail::serializeMatMuls(graph, settings); });
  }
  for (const auto& [name, count] : detail::applyPatterns(graph, patterns, settings)) {
    detail::say(logging::Module::pattern, logging::Level::Debug,
                logging::format("Pattern {} was applied {} times", name, count));
  }
}

/// The model, with known inputs and names that sessions leave alone.
halftone::Graph checkedModel(const std::string& model, const InputShapeInfo& inputShapeInfo,
                             const SessionOptions& userOptions, const Patterns& patterns) {
  detail::checkTransforms(userOptions);
  patterns.ensureAllMandatoryPatternsAreEnabled();
  checkPatterns(patterns);
  detail::checkEnvironment();
  halftone::onnx::LoadOptions options;
  for (const auto& [id, info] : inputShapeInfo.getInfos()) {
    options.inputs.push_back({id, detail::toNative(info)});
  }
  halftone::Graph graph = translated<error>(
      [&] { return detail::readModel(model, options, userOptions.strictOpVersions); });
  // A builder lists initialised tensors among the inputs; steps give no values for them.
  graph.optional_inputs.clear();
  checkNamedBuffers(graph, userOptions);
  if (userOptions.groupNormStridedChannelGrouping) {
    translated<error>([&] { detail::strideGroups(graph); });
  }
  for (const halftone::TensorId id : graph.inputs) {
    checkName(graph.name(id));
    if (!graph.info(id).is_static()) {
      throw error("The shape of input {} is not known: it must be specified in InputShapeInfo",
                  graph.name(id));
    }
  }
  for (const halftone::TensorId id : graph.outputs) checkName(graph.name(id));
  planProducts(graph, userOptions);
  graph.replicas = static_cast<std::int32_t>(userOptions.getGlobalReplicationFactor());
  for (halftone::TensorRecord& t : graph.tensors) {
    // One replica is one group, if the model has one value.
    const bool isOne = static_cast<std::int64_t>(t.data.size()) == t.info.bytes();
    if (graph.replicas == 1 && isOne) t.settings = -1;
  }
  return graph;
}

/// What the creation of a session starts with.
struct Opened {
  SessionOptions options;
  std::unique_ptr<detail::Progress> progress;
  halftone::Graph graph;
  detail::GivenModel given;
  detail::NodeSettings settings;
};
Opened opened(const std::string& model, const InputShapeInfo& inputShapeInfo,
              const SessionOptions& userOptions, const Patterns& patterns) {
  const SessionOptions options = withEnvironment(userOptions);
  auto progress = std::make_unique<detail::Progress>(options);
  progress->reach(0);
  halftone::Graph graph = checkedModel(model, inputShapeInfo, options, patterns);
  progress->reach(10);
  detail::GivenModel given = translated<error>([&] { return detail::GivenModel(model); });
  detail::NodeSettings settings = translated<error>([&] { return detail::nodeSettings(given); });
  return {options, std::move(progress), std::move(graph), std::move(given), std::move(settings)};
}

/// What follows when all nodes are there: stages are checked, or nodes are put in order.
void order(halftone::Graph& graph, const SessionOptions& options,
           const detail::NodeSettings& settings, const DataFlow& dataFlow, bool isTraining) {
  detail::checkPipeline(graph, options, dataFlow, isTraining);
  if (!options.enablePipelining) detail::orderNodes(graph, options, settings);
}

void checkRecomputation(const halftone::Graph& graph, const SessionOptions& options) {
  if (options.autoRecomputation == RecomputationType::None ||
      options.executionPhaseSettings.phases >= 2) {
    return;
  }
  for (const halftone::Node& node : graph.nodes) {
    if (node.place.recompute == halftone::Recompute::undefined) continue;
    throw error(
        "A mixture of auto and manual recompute annotation is not supported: node '{}' says "
        "itself whether it is computed again",
        graph.name(node));
  }
}

void placeNodes(halftone::Graph& graph, const SessionOptions& options, const DeviceInfo& device) {
  const bool isIpu = detail::targetOf(device) != nullptr;
  const std::int64_t ipus = isIpu ? detail::ipusOfReplica(device, options) : 0;
  translated<error>([&] { detail::placeNodes(graph, options, ipus); });
}

/// A loop over micro-batches keeps all values of an anchor or one of them.
void checkMainLoops(const DataFlow& dataFlow, const SessionOptions& options) {
  if (!options.enableExplicitMainLoops) return;
  for (const TensorId& id : dataFlow.anchors()) {
    if (dataFlow.art(id).id() != AnchorReturnTypeId::EveryN) continue;
    throw error("[MainLoops] AnchorReturnType::EVERYN for anchor {} is unsupported", id);
  }
}

void checkPipelinedOptimizer(const Optimizer& optimizer, const SessionOptions& options) {
  if (!optimizer.getClipNormSettings().empty() &&
      options.accumulateOuterFragmentSettings.schedule == AccumulateOuterFragmentSchedule::Serial) {
    throw error(
        "Incompatible accumulateOuterFragmentSchedule: Serial, with pipelining and gradients "
        "whose norms are clipped");
  }
  if (options.automaticLossScalingSettings.enabled && !options.enableGradientAccumulation) {
    throw error(
        "[AutomaticLossScale] With pipelining automatic loss scaling needs gradient accumulation");
  }
}

halftone::TrainOptions trainOptions(const SessionOptions& options) {
  using halftone::AccumulationReduction;
  halftone::TrainOptions native;
  native.accumulation = options.getAccumulationFactor();
  const bool isRunning =
      options.meanAccumulationAndReplicationReductionStrategy == MeanReductionStrategy::Running;
  if (options.accumulationAndReplicationReductionType == ReductionType::Mean) {
    native.reduction =
        isRunning ? AccumulationReduction::running_mean : AccumulationReduction::mean;
  } else if (options.accumulationAndReplicationReductionType != ReductionType::Sum) {
    throw error("Gradients of micro-batches are reduced by Sum or Mean only");
  }
  const AutomaticLossScalingSettings& automatic = options.automaticLossScalingSettings;
  if (!automatic.enabled) return native;
  native.automatic_loss_scaling = {
      .enabled = true,
      .bin_edge_location = automatic.binEdgeLocation,
      .threshold = automatic.thresholdUpperCountProportion,
      .update_period = automatic.updatePeriod,
      .only_products = automatic.gradientTensorTrackingMethod ==
                       GradientTensorTrackingMethod::ConvAndMatmulGradients};
  const bool isNamed = automatic.gradientTensorTrackingMethod ==
                       GradientTensorTrackingMethod::GradientsOfUserSpecifiedTensors;
  const bool hasNames = automatic.toTrackTensors.has_value();
  if (isNamed != hasNames || (hasNames && automatic.toTrackTensors->empty())) {
    throw error(
        "[AutomaticLossScale] toTrackTensors is for the gradient tensor tracking method "
        "GradientsOfUserSpecifiedTensors, which needs it");
  }
  if (hasNames) native.automatic_loss_scaling.track = *automatic.toTrackTensors;
  return native;
}

/// Computes the batch in parts, if it is to be.
void serializeBatch(halftone::Graph& graph, const BatchSerializationSettings& settings) {
  const std::int64_t factor = settings.factor;
  if (factor < 2) return;
  for (const halftone::TensorId id : graph.inputs) {
    const halftone::TensorInfo& info = graph.info(id);
    if (info.rank() == 0) continue;
    if (info.shape[0] < factor) {
      throw error("Batch axis: {} is smaller than the batch serialization factor: {} for tensor {}",
                  info.shape[0], factor, graph.name(id));
    }
    break;
  }
  constexpr halftone::BatchMethod methods[] = {halftone::BatchMethod::unroll_dynamic,
                                               halftone::BatchMethod::unroll_static,
                                               halftone::BatchMethod::loop};
  graph = halftone::serialize_batch(std::move(graph), factor,
                                    methods[static_cast<std::size_t>(settings.method)]);
}

using TensorLocations = std::map<TensorId, TensorLocation>;

/// The tensors whose location is said by name: in the options, or else by the nodes that compute them,
/// as far as the graph still has these tensors.
TensorLocations namedLocations(const halftone::Graph& graph, const SessionOptions& options,
                               const detail::NodeSettings& settings) {
  TensorLocations locations(options.tensorLocationSettingsOverride.begin(),
                            options.tensorLocationSettingsOverride.end());
  for (const auto& [id, location] : settings.locations) {
    if (graph.find(id) != halftone::no_tensor) locations.emplace(id, location);
  }
  return locations;
}

/// What the options say of variables: whether `isMeant` is true of their location.
halftone::TensorKinds tensorKinds(const halftone::Graph& graph, const SessionOptions& options,
                                  const TensorLocations& named, int TensorLocationSettings::* least,
                                  bool (*isMeant)(const TensorLocation&)) {
  const auto kind = [&](const TensorLocationSettings& settings) {
    return halftone::TensorKind{.is_on = isMeant(settings.location),
                                .least_elements = settings.*least};
  };
  halftone::TensorKinds kinds{.state = kind(options.optimizerStateTensorLocationSettings),
                              .accumulators = kind(options.accumulatorTensorLocationSettings),
                              .weights = kind(options.weightTensorLocationSettings)};
  for (const auto& [id, location] : named) {
    const halftone::TensorId native = graph.find(id);
    const bool isVariable =
        native != halftone::no_tensor && halftone::is_variable(graph.tensor(native));
    if (isVariable || isMeant(location)) kinds.named.push_back({id, isMeant(location)});
  }
  return kinds;
}

void checkShardingDomain(const TensorLocation& location, std::int64_t replicas) {
  if (location.replicatedTensorSharding == ReplicatedTensorSharding::Off) return;
  const CommGroup& domain = location.shardingDomain;
  const bool isAll = domain.type == CommGroupType::All ||
                     (domain.type == CommGroupType::Consecutive &&
                      static_cast<std::int64_t>(domain.replicaGroupSize) == replicas);
  if (isAll) return;
  throw error("A sharding domain of some of the replicas is not supported: all {} share a tensor",
              replicas);
}

/// A trained graph whose variables are where the options say.
halftone::Graph located(halftone::Graph graph, const DataFlow& dataFlow,
                        const SessionOptions& options, const detail::NodeSettings& nodes) {
  const std::int64_t replicas = graph.replicas;
  const TensorLocations named = namedLocations(graph, options, nodes);
  for (const auto* settings :
       {&options.weightTensorLocationSettings, &options.optimizerStateTensorLocationSettings,
        &options.accumulatorTensorLocationSettings}) {
    checkShardingDomain(settings->location, replicas);
  }
  for (const auto& [id, location] : named) checkShardingDomain(location, replicas);
  const halftone::TensorKinds shared = tensorKinds(
      graph, options, named, &TensorLocationSettings::minElementsForReplicatedTensorSharding,
      [](const TensorLocation& location) {
        return location.replicatedTensorSharding == ReplicatedTensorSharding::On;
      });
  halftone::TensorKinds remote = tensorKinds(
      graph, options, named, &TensorLocationSettings::minElementsForOffChip,
      [](const TensorLocation& location) { return location.storage == TensorStorage::OffChip; });
  const TensorLocationSettings& activations = options.activationTensorLocationSettings;
  remote.activations = {.is_on = activations.location.storage == TensorStorage::OffChip,
                        .least_elements = activations.minElementsForOffChip};
  for (const auto& [id, location] : nodes.locations) {
    // Activations that stay, whatever the others do.
    if (named.contains(id) && named.at(id).storage == TensorStorage::OnChip) {
      remote.named.push_back({id, false});
    }
  }
  std::vector<halftone::TensorInfo> infos;
  for (const TensorId& id : dataFlow.anchors()) {
    const halftone::TensorId native = graph.find(id);
    infos.push_back(native == halftone::no_tensor ? halftone::TensorInfo{} : graph.info(native));
  }
  graph = halftone::off_chip(halftone::shard(std::move(graph), shared), remote);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const TensorId& id = dataFlow.anchors()[i];
    const halftone::TensorId native = graph.find(id);
    if (native == halftone::no_tensor || graph.info(native) == infos[i]) continue;
    throw error(
        "Anchor {}: replicas hold parts of it, since its location has replicated tensor sharding; "
        "weightsToHost gives whole tensors",
        id);
  }
  return graph;
}

}  // namespace

TrainingSession::~TrainingSession() = default;

std::unique_ptr<TrainingSession> TrainingSession::createFromOnnxModel(
    const std::string& model, const DataFlow& dataFlow, const TensorId& loss,
    const Optimizer& optimizer, std::shared_ptr<DeviceInfo> deviceInfo,
    const InputShapeInfo& inputShapeInfo, const SessionOptions& userOptions,
    const Patterns& patterns, const std::string name) {
  if (deviceInfo == nullptr) {
    throw error("Must pass a valid DeviceInfo to TrainingSession::createFromOnnxModel");
  }
  detail::checkTrainingOptions(userOptions, detail::targetOf(*deviceInfo) != nullptr);
  checkMainLoops(dataFlow, userOptions);
  auto [options, progress, graph, given, settings] =
      opened(model, inputShapeInfo, userOptions, patterns);
  checkRecomputation(graph, options);
  placeNodes(graph, options, *deviceInfo);
  if (options.enablePipelining) checkPipelinedOptimizer(optimizer, options);
  detail::applyTransforms(graph, options, "Fwd0");
  const halftone::TensorId id = graph.find(loss);
  if (id == halftone::no_tensor) throw error("Loss tensor {} is not in the model", loss);
  if (graph.info(id).elements() != 1) {
    throw error("Loss tensor, {}, must be a scalar, not {}", loss,
                detail::fromNative(graph.info(id)).shape().size());
  }
  halftone::Graph untrained = graph;
  graph.outputs = detail::anchorsIn(graph, dataFlow);
  graph.add_output(id);
  applyPatterns(graph, patterns, settings, dataFlow, loss, options);
  detail::applyTransforms(graph, options, "Fwd1");
  halftone::Graph rewritten = graph;
  translated<error>([&] {
    std::optional<halftone::Graph> whole;
    if (options.batchSerializationSettings.factor > 1) whole = graph;
    serializeBatch(graph, options.batchSerializationSettings);
    halftone::TrainOptions recorded = trainOptions(options);
    // A transform may have given tensors other ids.
    halftone::TensorId start = graph.find(loss);
    if (start == halftone::no_tensor) throw error("A transform has removed the loss {}", loss);
    if (options.ensureFp32LossScaleTensor) start = detail::scaleAsFloat(graph, start);
    recorded.gradients_of = detail::anchoredGradients(graph, start, dataFlow);
    detail::recordTraining(graph, halftone::AnyTensor{&graph, start}, optimizer, recorded);
    if (!patterns.isSoftMaxGradDirectEnabled()) detail::separateSoftmaxGradients(graph);
    if (!whole) return;
    // The host's model stays as it was; values are those of the graph that trains it.
    for (halftone::TensorRecord& t : whole->tensors) {
      if (halftone::is_variable(t)) t.data = {};
    }
    graph.model[0] = std::move(*whole);
  });
  detail::applyTransforms(graph, options, "Bwd0");
  detail::checkAnchors(graph, dataFlow);
  detail::checkStrategies(graph, dataFlow, options);
  std::vector<std::string> unused = detail::prune(graph, dataFlow);
  order(graph, options, settings, dataFlow, true);
  graph = translated<error>([&] { return located(std::move(graph), dataFlow, options, settings); });
  if (options.replicatedCollectivesSettings.mergeAllReduceCollectives) {
    translated<error>([&] { detail::mergeAllReduces(graph); });
  }
  detail::applyTransforms(graph, options, "PreAlias");
  detail::applyTransforms(graph, options, "Final");
  auto state = State::of({.model = std::move(untrained),
                          .rewritten = std::move(rewritten),
                          .graph = std::move(graph),
                          .bytes = model,
                          .dataFlow = dataFlow,
                          .options = options,
                          .patterns = patterns,
                          .inputShapeInfo = inputShapeInfo,
                          .device = std::move(deviceInfo),
                          .optimizer = optimizer.clone(),
                          .loss = loss,
                          .name = name},
                         std::move(given), std::move(unused), std::move(progress));
  state->files = translated<error>([&] { return detail::externalFiles(state->model); });
  state->optimizer = optimizer.clone();
  std::unique_ptr<TrainingSession> session(new TrainingSession(std::move(state)));
  dumpIr(*session);
  return session;
}

void TrainingSession::updateOptimizerFromHost(const Optimizer* optimizer) {
  if (optimizer == nullptr) throw error("Must pass a valid optimizer to updateOptimizerFromHost");
  State& s = *state_;
  s.optimizer->validReplacement(*optimizer);
  s.optimizer = optimizer->clone();
  if (s.executable == nullptr) return;  // prepareDevice takes it
  translated<runtime_error>(
      [&] { detail::setHyperparameters(s.executable->session(), *s.optimizer); });
}

void Session::connectStreamToCallback(const std::string& streamHandle,
                                      std::function<void(void*)> callback, unsigned index) {
  const std::int64_t replicas = detail::localReplicas(state_->options);
  if (index >= replicas) {
    throw runtime_error("There is no replica {}: the session runs on {}", index, replicas);
  }
  const auto names = [&](std::string_view prefix) {
    return streamHandle.starts_with(prefix) ? streamHandle.substr(prefix.size()) : TensorId();
  };
  const std::vector<TensorId>& inputs = state_->ir->getModelInputIds();
  const TensorId input = names("h2d_"), anchor = names("anchor_d2h_");
  if (std::find(inputs.begin(), inputs.end(), input) == inputs.end() &&
      !state_->ir->isAnchored(anchor)) {
    throw runtime_error("There is no stream {}: inputs have h2d_ID, anchors anchor_d2h_ID",
                        streamHandle);
  }
  state_->callbacks[{streamHandle, index}] = std::move(callback);
}

void Session::connectStream(const std::string& streamHandle, void* buffer) {
  if (buffer == nullptr) throw runtime_error("Stream {} is connected to no memory", streamHandle);
  const bool isInput = streamHandle.starts_with("h2d_");
  const TensorId id = streamHandle.substr(
      std::min(streamHandle.size(), std::string_view(isInput ? "h2d_" : "anchor_d2h_").size()));
  connectStreamToCallback(streamHandle, [=, this](void* data) {
    const auto bytes = static_cast<std::size_t>(getInfo(id).nbytes());
    if (isInput) {
      std::memcpy(data, buffer, bytes);
    } else {
      std::memcpy(buffer, data, bytes);
    }
  });
}

void TrainingSession::updateExternallySavedTensorLocations(const std::string& fromLocation,
                                                           const std::string& toLocation) {
  struct stat status{};
  if (::stat(toLocation.c_str(), &status) == 0)
    throw runtime_error("{} already exists", toLocation);
  if (::stat(fromLocation.c_str(), &status) != 0) {
    throw runtime_error("{} does not exist", fromLocation);
  }
  const auto absolute = [](const std::string& file) {
    return std::filesystem::absolute(file).lexically_normal().string();
  };
  State& s = *state_;
  detail::ExternalFiles moved;
  for (const auto& [id, file] : s.files) {
    if (file == absolute(fromLocation)) moved[id] = absolute(toLocation);
  }
  if (moved.empty()) {
    throw runtime_error("No ONNX model initializers have external location {}", fromLocation);
  }
  translated<runtime_error>([&] {
    const halftone::Storage from = halftone::detail::map_file(fromLocation);
    halftone::detail::OutputFile to(toLocation);
    to.write({from.data(), from.size()});
    to.commit();
  });
  for (const auto& [id, file] : moved) s.files[id] = s.newFiles[id] = file;
}

InferenceSession::~InferenceSession() = default;

std::unique_ptr<InferenceSession> InferenceSession::createFromOnnxModel(
    const std::string& model, const DataFlow& dataFlow, std::shared_ptr<DeviceInfo> deviceInfo,
    const InputShapeInfo& inputShapeInfo, const SessionOptions& userOptions,
    const Patterns& patterns, const std::string name) {
  if (deviceInfo == nullptr) {
    throw error("Must pass a valid DeviceInfo to InferenceSession::createFromOnnxModel");
  }
  detail::checkInferenceOptions(userOptions, detail::targetOf(*deviceInfo) != nullptr);
  checkMainLoops(dataFlow, userOptions);
  if (dataFlow.nAnchors() == 0) {
    throw error("User must specify an anchor tensor when doing inference.");
  }
  auto [options, progress, graph, given, settings] =
      opened(model, inputShapeInfo, userOptions, patterns);
  placeNodes(graph, options, *deviceInfo);
  detail::applyTransforms(graph, options, "Fwd0");
  detail::checkAnchors(graph, dataFlow);
  detail::checkStrategies(graph, dataFlow, options);
  std::vector<std::string> unused = detail::prune(graph, dataFlow);
  halftone::Graph unchanged = graph;
  applyPatterns(graph, patterns, settings, dataFlow, {}, options);
  detail::applyTransforms(graph, options, "Fwd1");
  halftone::Graph rewritten = graph;
  translated<error>([&] { serializeBatch(graph, options.batchSerializationSettings); });
  order(graph, options, settings, dataFlow, false);
  detail::applyTransforms(graph, options, "PreAlias");
  detail::applyTransforms(graph, options, "Final");
  auto state = State::of({.model = std::move(unchanged),
                          .rewritten = std::move(rewritten),
                          .graph = std::move(graph),
                          .bytes = model,
                          .dataFlow = dataFlow,
                          .options = options,
                          .patterns = patterns,
                          .inputShapeInfo = inputShapeInfo,
                          .device = std::move(deviceInfo),
                          .name = name},
                         std::move(given), std::move(unused), std::move(progress));
  std::unique_ptr<InferenceSession> session(new InferenceSession(std::move(state)));
  dumpIr(*session);
  return session;
}

void Session::broadcastWeights(int rootRank) {
  const halftone::Ranks* ranks = detail::ranksOf(state_->options);
  if (ranks == nullptr) return;
  if (rootRank < 0 || rootRank >= ranks->ranks) {
    throw runtime_error("There is no rank {} among the {} of this session", rootRank, ranks->ranks);
  }
  detail::HostWeights& weights = state_->weights;
  translated<runtime_error>([&] {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const halftone::AnyView own = weights[i];
      if (own.data == nullptr) continue;
      const auto bytes = static_cast<std::size_t>(own.info.bytes());
      std::vector<std::byte> all(bytes * static_cast<std::size_t>(ranks->ranks));
      ranks->all_gather(ranks->self, own.data, bytes, all.data());
      weights.set(i, {own.info, all.data() + bytes * static_cast<std::size_t>(rootRank)});
    }
  });
}

namespace {

/// A variable in streaming memory, and the part of it that a replica has.
struct RemotePart {
  std::string variable;
  std::size_t first = 0, count = 0;  ///< bytes of the whole value
};

RemotePart remotePart(const halftone::Graph& graph, const std::string& buffer, int repeatIndex,
                      unsigned replica) {
  constexpr std::string_view prefix = "RB_";
  int number = -1;
  if (buffer.starts_with(prefix)) {
    std::from_chars(buffer.data() + prefix.size(), buffer.data() + buffer.size(), number);
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<halftone::TensorId>(i);
    const halftone::VariableSettings* settings = graph.settings(id);
    if (settings == nullptr || number < 0 || settings->remote_buffer != number ||
        settings->remote_entry != repeatIndex) {
      continue;
    }
    const halftone::TensorInfo& info = graph.info(id);
    const auto own = static_cast<std::size_t>(info.bytes());
    std::size_t whole = own;
    if (settings->shard_over > 1) {
      whole =
          static_cast<std::size_t>(halftone::TensorInfo{info.type, settings->host_shape}.bytes());
    }
    const std::size_t part = replica % static_cast<unsigned>(settings->shard_over);
    const std::size_t first = std::min(whole, part * own);
    return {std::string(graph.name(id)), first, std::min(own, whole - first)};
  }
  throw runtime_error("No variable is in entry {} of remote buffer {}", repeatIndex, buffer);
}

}  // namespace

void TrainingSession::copyFromRemoteBuffer(const std::string& buffer, void* to, int repeatIndex,
                                           unsigned replicationIndex) {
  state_->requirePrepared("copyFromRemoteBuffer");
  translated<runtime_error>([&] {
    const halftone::Session& session = state_->executable->session();
    const RemotePart part = remotePart(session.graph(), buffer, repeatIndex, replicationIndex);
    const halftone::AnyView value = session.get(part.variable);
    std::memcpy(to, static_cast<const std::byte*>(value.data) + part.first, part.count);
  });
}

void TrainingSession::copyToRemoteBuffer(void* from, const std::string& buffer, int repeatIndex,
                                         unsigned replicationIndex) {
  state_->requirePrepared("copyToRemoteBuffer");
  translated<runtime_error>([&] {
    halftone::Session& session = state_->executable->session();
    const RemotePart part = remotePart(session.graph(), buffer, repeatIndex, replicationIndex);
    halftone::AnyArray value = halftone::AnyArray::copy_of(session.get(part.variable));
    std::memcpy(value.data() + part.first, from, part.count);
    session.set(part.variable, value);
  });
}

}  // namespace popart
