#include <popart/ir.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>

#include <popart/error.hpp>
#include <popart/graph.hpp>
#include <popart/op/classes.gen.hpp>
#include <popart/session.hpp>

#include <popart/vendored/onnx.hpp>
#include "base/describe.hpp"
#include "popart/convert.hpp"
#include "popart/external.hpp"
#include "popart/ir_graph.hpp"

namespace popart {

struct Ir::View {
  detail::Graphs graphs;
};

namespace {

using Json = nlohmann::ordered_json;

uint64_t nextIrId() {
  static std::atomic<uint64_t> next = 0;
  return next++;
}

/// "[2 3]"
std::string shapeText(const Shape& shape) {
  std::string text = "[";
  for (const int64_t extent : shape) {
    text += (text.size() > 1 ? " " : "") + std::to_string(extent);
  }
  return text + "]";
}

Json tensorsOf(const TensorIndexMap& tensors) {
  Json list = Json::array();
  for (const auto& [index, tensor] : tensors.tensorMap()) {
    Json entry{{"name", tensor->id}};
    if (tensor->info.isSet()) {
      entry["shape"] = shapeText(tensor->info.shape());
      entry["type"] = tensor->info.data_type();
    }
    entry["index"] = std::to_string(index);
    list.push_back(std::move(entry));
  }
  return list;
}

Json operatorOf(const Op& op) {
  Json attributes = Json::object();
  for (const auto& [key, value] : op.getAttributes()) {
    const Json parsed = Json::parse(value);
    attributes[key] = parsed.is_string() ? parsed.get<std::string>() : value;
  }
  if (op.hasVirtualGraphId()) {
    attributes[sVirtualGraphAttribute] = std::to_string(op.getVirtualGraphId());
  }
  if (op.hasPipelineStage()) {
    attributes[sPipelineStageAttribute] = std::to_string(op.getPipelineStage());
  }
  if (op.hasExecutionPhase()) {
    attributes[sExecutionPhaseAttribute] = std::to_string(op.getExecutionPhase());
  }
  return {{"type", op.opid.type},
          {"name", op.name()},
          {"domain", op.opid.domain},
          {"version", std::to_string(op.opid.version)},
          {"inputs", tensorsOf(*op.input)},
          {"outputs", tensorsOf(*op.output)},
          {"attributes", std::move(attributes)}};
}

::onnx::ModelProto messageOf(const std::string& model) {
  ::onnx::ModelProto proto;
  if (detail::isPath(model)) {
    std::ifstream file(model, std::ios::binary);
    proto.ParseFromIstream(&file);
  } else {
    proto.ParseFromString(model);
  }
  return proto;
}

std::string domainOf(const std::string& domain) {
  return domain.empty() ? std::string(Domain::ai_onnx) : domain;
}

detail::ModelNode nodeOf(const ::onnx::NodeProto& node) {
  detail::ModelNode result{.domain = domainOf(node.domain()),
                           .type = node.op_type(),
                           .name = node.name(),
                           .inputs = {node.input().begin(), node.input().end()},
                           .outputs = {node.output().begin(), node.output().end()},
                           .attributes = {}};
  for (const ::onnx::AttributeProto& a : node.attribute()) {
    Json value;
    if (a.type() == ::onnx::AttributeProto::INT) value = a.i();
    if (a.type() == ::onnx::AttributeProto::FLOAT) value = a.f();
    if (a.type() == ::onnx::AttributeProto::STRING) value = halftone::detail::escaped(a.s());
    if (a.type() == ::onnx::AttributeProto::INTS) {
      value = std::vector<int64_t>(a.ints().begin(), a.ints().end());
    }
    if (a.type() == ::onnx::AttributeProto::FLOATS) {
      value = std::vector<float>(a.floats().begin(), a.floats().end());
    }
    if (a.type() == ::onnx::AttributeProto::STRINGS) {
      value = std::vector<std::string>(a.strings().begin(), a.strings().end());
    }
    if (value.is_null()) continue;
    result.attributes.emplace_back(a.name(),
                                   value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return result;
}

}  // namespace

const detail::ModelFile& detail::IrSource::file() const {
  if (read_file == nullptr) {
    auto file = std::make_unique<ModelFile>();
    const ::onnx::ModelProto proto = messageOf(bytes);
    for (const auto& entry : proto.opset_import()) {
      file->opsets[domainOf(entry.domain())] = static_cast<int>(entry.version());
    }
    for (const ::onnx::NodeProto& node : proto.graph().node()) file->nodes.push_back(nodeOf(node));
    read_file = std::move(file);
  }
  return *read_file;
}

std::shared_ptr<Ir> detail::makeIr(IrSource source) {
  for (const halftone::TensorId id : source.model.inputs) {
    source.inputs.emplace_back(source.model.name(id));
  }
  auto shared = std::make_shared<const IrSource>(std::move(source));
  writeDots(*shared,
            shared->isTraining()
                ? std::initializer_list<IrPoint>{IrPoint::Fwd0, IrPoint::Fwd1, IrPoint::Bwd0,
                                                 IrPoint::PreAlias, IrPoint::Final}
                : std::initializer_list<IrPoint>{IrPoint::Fwd0, IrPoint::Fwd1, IrPoint::PreAlias,
                                                 IrPoint::Final});
  return std::make_shared<Ir>(std::move(shared));
}

Ir::Ir() : id_(nextIrId()) {}
Ir::Ir(std::shared_ptr<const detail::IrSource> source)
    : id_(nextIrId()), source_(std::move(source)) {}
Ir::~Ir() = default;

void Ir::prepare(const IrBundle& bundle, const std::map<std::size_t, std::string>&) {
  // The device is the caller's.
  const std::shared_ptr<DeviceInfo> device(std::shared_ptr<void>(), &bundle.deviceInfo);
  std::unique_ptr<Session> session;
  if (bundle.optimizer != nullptr && !bundle.loss.empty()) {
    session = TrainingSession::createFromOnnxModel(
        bundle.modelProto, bundle.dataFlow, bundle.loss, *bundle.optimizer, device,
        bundle.inputShapeInfo, bundle.userOptions, bundle.patterns, bundle.sessionName);
  } else {
    session = InferenceSession::createFromOnnxModel(bundle.modelProto, bundle.dataFlow, device,
                                                    bundle.inputShapeInfo, bundle.userOptions,
                                                    bundle.patterns, bundle.sessionName);
  }
  source_ = session->getIr().source_;
  view_.reset();
}

const detail::IrSource& Ir::source() const {
  if (source_ == nullptr) throw error("Ir::prepare must be called before an Ir is looked at");
  return *source_;
}
const Ir::View& Ir::view() const {
  if (view_ == nullptr) {
    auto view = std::make_unique<View>();
    view->graphs = detail::viewOf(const_cast<Ir&>(*this), source(), detail::IrPoint::Final);
    view_ = std::move(view);
  }
  return *view_;
}

bool Ir::isTraining() const { return source().isTraining(); }
const DataFlow& Ir::getDataFlow() const { return source().dataFlow; }
const SessionOptions& Ir::getSessionOptions() const { return source().options; }
const Patterns& Ir::getPatterns() const { return source().patterns; }
const InputShapeInfo& Ir::getInputShapeInfo() const { return source().inputShapeInfo; }
const Optimizer& Ir::getOptimizer() const {
  if (source().optimizer == nullptr) throw error("An Ir of inference has no optimizer");
  return *source().optimizer;
}
const DeviceInfo* Ir::getDeviceInfo() const { return source().device.get(); }
const std::string& Ir::getSessionName() const { return source().name; }
bool Ir::virtualGraphsEnabled() const {
  return getSessionOptions().virtualGraphMode != VirtualGraphMode::Off;
}

const std::vector<TensorId>& Ir::getModelInputIds() const { return source().inputs; }
bool Ir::containsInitialisers() const {
  const auto& tensors = source().model.tensors;
  return std::any_of(tensors.begin(), tensors.end(), [](const halftone::TensorRecord& t) {
    return t.role == halftone::Role::variable || t.role == halftone::Role::state;
  });
}
bool Ir::tensorExistsInInitialisers(const TensorId& id) const {
  const halftone::Graph& model = source().model;
  const halftone::TensorId tensor = model.find(id);
  return tensor != halftone::no_tensor && halftone::is_variable(model.tensor(tensor));
}
int Ir::getDefaultOpsetVersion(const std::string& domain) const {
  if (domain.empty() || domain == Domain::ai_onnx) return static_cast<int>(defaultAiOnnxOpset);
  if (domain == Domain::ai_onnx_ml) return static_cast<int>(defaultAiOnnxMlOpset);
  if (domain == Domain::ai_graphcore) return static_cast<int>(defaultAiGraphcoreOpset);
  throw error("No default opset version defined for domain '{}'", domain);
}
int Ir::getOpSetVersionFromModel(const std::string& domain) const {
  const std::string named = domain.empty() ? Domain::ai_onnx : domain;
  const auto found = source().file().opsets.find(named);
  return found == source().file().opsets.end() ? getDefaultOpsetVersion(named) : found->second;
}

bool Ir::isAnchored(const TensorId& id) const { return getAnchors().count(id) != 0; }
std::set<TensorId> Ir::getAnchors() const {
  const std::vector<TensorId>& anchors = getDataFlow().anchors();
  return {anchors.begin(), anchors.end()};
}

const Graph& Ir::getMainGraph() const { return *view().graphs.at(GraphId::root()); }
Graph& Ir::getMainGraph() { return *view().graphs.at(GraphId::root()); }
Graph& Ir::getGraph(const GraphId& id) const {
  const auto found = view().graphs.find(id);
  if (found == view().graphs.end()) throw error("No graph with id '{}'", id.str());
  return *found->second;
}
bool Ir::hasGraph(const GraphId& id) const { return view().graphs.count(id) != 0; }
const std::map<GraphId, std::unique_ptr<Graph>>& Ir::getGraphs() const { return view().graphs; }
std::vector<const Graph*> Ir::getAllGraphs() const {
  std::vector<const Graph*> all;
  for (const auto& [id, graph] : view().graphs) all.push_back(graph.get());
  return all;
}
std::vector<const Graph*> Ir::getGraphSchedule() const {
  std::vector<const Graph*> order;
  const auto visit = [&](auto& self, const Graph& graph) -> void {
    if (std::count(order.begin(), order.end(), &graph) != 0) return;
    order.push_back(&graph);
    for (const Graph* called : graph.getCalledGraphs()) self(self, *called);
  };
  visit(visit, getMainGraph());
  return order;
}

std::vector<Op*> Ir::getOpSchedule(const OpsBeforeKey& before,
                                   RequireOptimalSchedule optimal) const {
  std::vector<Op*> schedule;
  for (const Graph* graph : getGraphSchedule()) {
    const std::vector<Op*> own = graph->getOpSchedule(before, optimal);
    schedule.insert(schedule.end(), own.begin(), own.end());
  }
  return schedule;
}
std::vector<Op*> Ir::getAllOps() const { return getOpSchedule(); }
std::vector<Op*> Ir::opsOfType(const OperatorIdentifier& opid) const {
  std::vector<Op*> found = getOpSchedule();
  std::erase_if(found, [&](const Op* op) { return op->opid != opid; });
  return found;
}
bool Ir::isConsumedByOpOfType(const TensorId& id, const OperatorIdentifier& opid) const {
  const std::vector<Op*> readers = getTensor(id)->consumers.getOps();
  return std::any_of(readers.begin(), readers.end(),
                     [&](const Op* op) { return op->opid == opid; });
}
Op* Ir::getOp(OpId id) const {
  for (const auto& [name, graph] : view().graphs) {
    if (Op* const found = graph->getOpUnsafe(id)) return found;
  }
  throw error("No Op with id {}", id);
}
std::map<OpId, std::unique_ptr<Op>>& Ir::getMainGraphOps() { return getMainGraph().getOps(); }
const std::map<OpId, std::unique_ptr<Op>>& Ir::getMainGraphOps() const {
  return getMainGraph().getOps();
}
OpId Ir::getOpsCounter() const {
  OpId next = 100;
  for (const Op* op : getAllOps()) next = std::max(next, op->id + 1);
  return next;
}

Tensors& Ir::getMainGraphTensors() { return getMainGraph().getTensors(); }
const Tensors& Ir::getMainGraphTensors() const { return getMainGraph().getTensors(); }
Tensor* Ir::getTensor(const TensorId& id) const {
  for (const auto& [name, graph] : view().graphs) {
    if (graph->getTensors().contains(id)) return graph->getTensor(id);
  }
  throw error("No Ir::Tensor with TensorId '{}'", id);
}
bool Ir::containsTensor(const TensorId& id) const {
  return std::any_of(view().graphs.begin(), view().graphs.end(),
                     [&](const auto& graph) { return graph.second->getTensors().contains(id); });
}
std::map<TensorId, Tensor*> Ir::getAllTensors() const {
  std::map<TensorId, Tensor*> all;
  for (const auto& [name, graph] : view().graphs) {
    for (Tensor* tensor : graph->getTensors().getAll()) all[tensor->id] = tensor;
  }
  return all;
}
std::set<TensorId> Ir::getAllTensorIds() const {
  std::set<TensorId> ids;
  for (const auto& [id, tensor] : getAllTensors()) ids.insert(id);
  return ids;
}
std::vector<TensorId> Ir::getTensorIds(TensorType type) const {
  return getMainGraphTensors().getIds(type);
}
std::vector<TensorId> Ir::getGraphInputIds() const { return getMainGraph().getInputIds(); }
std::vector<TensorId> Ir::getGraphOutputIds() const { return getMainGraph().getOutputIds(); }

namespace {

template <class Wanted>
std::vector<Tensor*> tensorsThat(const Tensors& tensors, Wanted wanted) {
  std::vector<Tensor*> found = tensors.getAll();
  std::erase_if(found, [&](const Tensor* tensor) { return !wanted(*tensor); });
  return found;
}

}  // namespace

std::vector<Tensor*> Ir::dataStreamTensors() const {
  return tensorsThat(getMainGraphTensors(), [](const Tensor& t) {
    return t.tensorType() == TensorType::Stream && !t.isOptimizerTensor() &&
           !t.isRandomSeedTensor();
  });
}
std::vector<Tensor*> Ir::optimizerTensors() const {
  return tensorsThat(getMainGraphTensors(), [](const Tensor& t) { return t.isOptimizerTensor(); });
}
std::vector<Tensor*> Ir::optimizerStateTensors() const {
  return tensorsThat(getMainGraphTensors(),
                     [](const Tensor& t) { return t.isOptimizerStateTensor(); });
}
std::map<TensorId, std::vector<Tensor*>> Ir::getHostLoadTensors() const {
  std::map<TensorId, std::vector<Tensor*>> loaded;
  for (Op* op : getAllOps()) {
    if (const auto* load = dynamic_cast<const HostLoadOp*>(op)) {
      loaded[load->getHostStreamTensorId()].push_back(
          op->outTensor(HostLoadOp::getLocalTensorOutIndex()));
    }
  }
  return loaded;
}
std::map<TensorId, std::vector<Tensor*>> Ir::getHostStoreTensors() const {
  std::map<TensorId, std::vector<Tensor*>> stored;
  for (Op* op : getAllOps()) {
    if (const auto* store = dynamic_cast<const HostStoreOp*>(op)) {
      stored[store->getHostStreamTensorId()].push_back(
          op->inTensor(HostStoreOp::getLocalTensorInIndex()));
    }
  }
  return stored;
}

TensorId Ir::getFinalLossId() const { return source().loss; }
OpId Ir::getFinalLossOpId() const {
  const Tensors& tensors = getMainGraphTensors();
  if (!tensors.contains(getFinalLossId())) return -1;
  const Op* const maker = tensors.get(getFinalLossId())->getProducerUnsafe();
  return maker == nullptr ? -1 : maker->id;
}
PipelineStage Ir::getMaxPipelineStage() const {
  PipelineStage most = -1;
  for (const Op* op : getAllOps()) {
    if (op->hasPipelineStage()) most = std::max(most, op->getPipelineStage());
  }
  return most;
}
PipelineStage Ir::getNumPipelineStages() const { return getMaxPipelineStage() + 1; }
PipelineStage Ir::getFinalLossPipelineStage() const {
  const OpId loss = getFinalLossOpId();
  if (loss < 0) throw error("The Ir has no loss, and no pipeline stage of it");
  return getOp(loss)->getPipelineStage();
}
bool Ir::getRequiresRandomSeed() const {
  const std::vector<Op*> ops = getAllOps();
  return std::any_of(ops.begin(), ops.end(), [](const Op* op) {
    return op->isConvertibleTo<GetRandomSeedOp>() || op->isConvertibleTo<ModifyRandomSeedOp>();
  });
}
unsigned Ir::getNumVirtualGraphIds() const {
  const auto replicas = static_cast<unsigned>(
      getSessionOptions().enableReplicatedGraphs ? getSessionOptions().replicatedGraphCount : 1);
  const auto ipus = static_cast<unsigned>(source().device->getNumIpus());
  if (ipus % replicas == 0) return ipus / replicas;
  throw error("The number of IPUs ({}) is not a multiple of the number of replicas ({})", ipus,
              replicas);
}
bool Ir::hasReplicatedTensorSharding() const {
  const std::map<TensorId, Tensor*> all = getAllTensors();
  return std::any_of(all.begin(), all.end(),
                     [](const auto& t) { return t.second->tensorLocationInfo.isSharded(); });
}
void Ir::validateAnchors() const {
  for (const TensorId& id : getAnchors()) {
    if (!containsTensor(id)) throw error("Anchor tensor `{}' not in Ir Tensors.", id);
  }
}

void Ir::append(std::ostream& stream) const {
  for (const Op* op : getOpSchedule()) op->append(stream);
}
void Ir::logIr() const {
  std::ostringstream text;
  append(text);
  detail::say(logging::Module::ir, logging::Level::Info, text.str());
}
void Ir::serialise(SerialiseFormat, std::stringstream& stream, bool) const {
  Json json = Json::object();
  for (const Graph* graph : getGraphSchedule()) {
    Json ops = Json::array();
    for (const Op* op : graph->getOpSchedule()) ops.push_back(operatorOf(*op));
    json[graph->id == GraphId::root() ? "maingraph" : graph->id.str()] = std::move(ops);
  }
  stream << json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
std::size_t Ir::getHash() const {
  std::stringstream text;
  serialise(SerialiseFormat::JSON, text);
  return std::hash<std::string>()(text.str());
}

}  // namespace popart
