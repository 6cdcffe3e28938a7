#include <popart/tensor.hpp>

#include <algorithm>
#include <cstring>
#include <ostream>

#include <popart/error.hpp>
#include <popart/graph.hpp>
#include <popart/ir.hpp>
#include <popart/op/classes.gen.hpp>
#include <popart/tensornames.hpp>

namespace popart {

namespace {
constexpr const char* typeNames[] = {"ActGrad", "Const", "Stream", "Unknown", "Variable", "N"};
}  // namespace

std::ostream& operator<<(std::ostream& stream, const TensorType& type) {
  return stream << typeNames[static_cast<int>(type)];
}

TensorData::TensorData(const TensorInfo& info, const void* elements)
    : shared_(elements), bytes_(static_cast<std::size_t>(info.nbytes())) {
  own();
  shared_ = nullptr;
}
void TensorData::own() const {
  if (!own_.empty() || bytes_ == 0) return;
  own_.resize((bytes_ + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  std::memcpy(own_.data(), shared_, bytes_);
}
const void* TensorData::data() const {
  own();
  return own_.data();
}
void* TensorData::data() {
  own();
  return own_.data();
}

int Consumers::n(Op* op) const {
  const auto found = counts_.find(op);
  return found == counts_.end() ? 0 : found->second;
}
int Consumers::getTotal() const {
  int total = 0;
  for (const auto& [op, count] : counts_) total += count;
  return total;
}
std::vector<Op*> Consumers::getOps() const {
  std::vector<Op*> ops;
  for (const auto& [op, count] : counts_) ops.push_back(op);
  return ops;
}
std::set<PipelineStage> Consumers::getPipelineStages() const {
  std::set<PipelineStage> stages;
  for (const auto& [op, count] : counts_) {
    if (op->hasPipelineStage()) stages.insert(op->getPipelineStage());
  }
  return stages;
}
std::set<VGraphId> Consumers::getVirtualGraphIds() const {
  std::set<VGraphId> ids;
  for (const auto& [op, count] : counts_) {
    if (op->hasVirtualGraphId()) ids.insert(op->getVirtualGraphId());
  }
  return ids;
}
OptionalPipelineStage Consumers::findLowestPipelineStage() const {
  const std::set<PipelineStage> stages = getPipelineStages();
  if (stages.empty()) return {};
  return *stages.begin();
}
OptionalPipelineStage Consumers::findHighestPipelineStage() const {
  const std::set<PipelineStage> stages = getPipelineStages();
  if (stages.empty()) return {};
  return *stages.rbegin();
}
OptionalVGraphId Consumers::findLowestVirtualGraphID() const {
  const std::set<VGraphId> ids = getVirtualGraphIds();
  if (ids.empty()) return {};
  return *ids.begin();
}

Tensor::Tensor(const TensorId& tensor, TensorType type, Graph& itsGraph)
    : id(tensor), type_(type), graph_(&itsGraph) {}
Tensor::~Tensor() = default;

std::string Tensor::tensor_type() const { return typeNames[static_cast<int>(type_)]; }
Op* Tensor::getProducer() const {
  if (producer_ == nullptr) throw error("No producer for tensor {} to return", id);
  return producer_;
}
std::vector<Op*> Tensor::associatedOps() const {
  std::vector<Op*> ops = consumers.getOps();
  if (producer_ != nullptr) ops.push_back(producer_);
  return ops;
}
Ir& Tensor::getIr() const { return graph_->getIr(); }

bool Tensor::isGraphInput() const { return graph_->hasInputId(id); }
InIndex Tensor::getGraphInputIndex() const { return graph_->getInputIndex(id); }
bool Tensor::isGraphOutput() const { return graph_->hasOutputId(id); }
OutIndex Tensor::getGraphOutputIndex() const { return graph_->getOutputIndex(id); }
bool Tensor::isAnchored() const { return getIr().isAnchored(id); }
bool Tensor::isWeightTensor() const {
  return type_ == TensorType::Variable && !isState_ && !isAccumulator_ && !isHyperparameter_;
}
bool Tensor::isRandomSeedTensor() const { return id.find(reservedRandomSeedPrefix()) == 0; }
bool Tensor::isRemoteArgTensor() const { return id.find(reservedRemoteArgPrefix()) == 0; }
bool Tensor::isHostLoadTensor() const {
  return producer_ != nullptr && producer_->isConvertibleTo<HostLoadOp>();
}
bool Tensor::isUnmodifiable() const {
  return type_ == TensorType::Const || type_ == TensorType::Variable;
}
bool Tensor::isModified() const {
  const std::vector<Op*> ops = consumers.getOps();
  return std::any_of(ops.begin(), ops.end(),
                     [&](const Op* op) { return op->modifiesTensor(const_cast<Tensor*>(this)); });
}
bool Tensor::isAliased() const {
  for (const auto& [op, count] : consumers.getMap()) {
    for (const auto& [in, tensor] : op->input->tensorMap()) {
      if (tensor != this) continue;
      for (const auto& [out, unused] : op->output->tensorMap()) {
        if (op->aliases(in, out)) return true;
      }
    }
  }
  return false;
}
bool Tensor::consumersAllPreLoss() const {
  const std::vector<Op*> ops = consumers.getOps();
  return std::all_of(ops.begin(), ops.end(),
                     [](const Op* op) { return op->scheduledPreLoss != ScheduledPreLoss::No; });
}
bool Tensor::idIncludesPrefix(const std::vector<std::string>& prefixes) const {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return id.find(prefix) != id.npos; });
}

VGraphId Tensor::getVirtualGraphId() const {
  const VGraphId ipu = getVirtualGraphIdUnsafe();
  if (ipu < 0) throw error("Tensor {} has no virtual graph id", id);
  return ipu;
}
VGraphId Tensor::getVirtualGraphIdUnsafe() const {
  if (producer_ != nullptr) {
    if (const auto* copy = dynamic_cast<const IpuCopyOp*>(producer_)) return copy->getDestIpu();
    return producer_->hasVirtualGraphId() ? producer_->getVirtualGraphId() : -1;
  }
  for (const auto& [op, count] : consumers.getMap()) {
    if (const auto* copy = dynamic_cast<const IpuCopyOp*>(op)) return copy->getSourceIpu(id);
  }
  const OptionalVGraphId least = consumers.findLowestVirtualGraphID();
  return least ? *least : -1;
}
std::set<PipelineStage> Tensor::getPipelineStages() const {
  std::set<PipelineStage> stages = consumers.getPipelineStages();
  if (producer_ != nullptr && producer_->hasPipelineStage()) {
    stages.insert(producer_->getPipelineStage());
  }
  return stages;
}

TensorData* Tensor::tensorData() {
  if (data_ == nullptr) throw error("Data not set for {}", id);
  return data_.get();
}
const TensorData* Tensor::tensorData() const { return const_cast<Tensor*>(this)->tensorData(); }

}  // namespace popart
