#include <popart/op.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include <popart/error.hpp>
#include <popart/graph.hpp>
#include <popart/op/classes.gen.hpp>

#include "popart/operator_classes.hpp"

namespace popart {

std::ostream& operator<<(std::ostream& stream, const OperatorIdentifier& opid) {
  return stream << opid.domain << '.' << opid.type << ':' << opid.version;
}
std::ostream& operator<<(std::ostream& stream, const RecomputeType& type) {
  constexpr const char* names[] = {"Undefined", "Checkpoint", "Recompute", "Recomputed"};
  return stream << names[static_cast<int>(type)];
}
std::ostream& operator<<(std::ostream& stream, const ExecutionContext& context) {
  constexpr const char* names[] = {"Normal",
                                   "AccumulateOuterFragment",
                                   "WeightsFromHostFragment",
                                   "WeightsToHostFragment",
                                   "OptimizerFromHostFragment",
                                   "Subgraph"};
  return stream << names[static_cast<int>(context)];
}
std::ostream& operator<<(std::ostream& stream, PathToLoss path) {
  constexpr const char* names[] = {"Undefined", "Yes", "No"};
  return stream << names[static_cast<int>(path)];
}
std::ostream& operator<<(std::ostream& stream, PathFromLoss path) {
  return stream << static_cast<PathToLoss>(path);
}
std::ostream& operator<<(std::ostream& stream, ScheduledPreLoss when) {
  return stream << static_cast<PathToLoss>(when);
}

Vertex::~Vertex() = default;

Ir& Op::Settings::getIr() const { return graph.get().getIr(); }

Op::Op(const OperatorIdentifier& operatorId, const Settings& itsSettings)
    : input(std::make_unique<TensorIndexMap>()),
      output(std::make_unique<TensorIndexMap>()),
      opid(operatorId),
      settings(itsSettings),
      facts_(std::make_unique<detail::OpFacts>()) {}
Op::~Op() = default;

std::string Op::str() const {
  std::ostringstream text;
  text << id << " (" << opid << ')';
  return text.str();
}

std::string Op::debugName() const {
  std::ostringstream text;
  text << "Op(";
  if (name().empty()) {
    text << opid;
  } else {
    text << name();
  }
  const auto list = [&](const char* what, const TensorIndexMap& tensors) {
    text << ", " << what << "=[";
    const char* between = "";
    for (const auto& [index, tensor] : tensors.tensorMap()) {
      text << between << tensor->id;
      between = ", ";
    }
    text << ']';
  };
  list("inputs", *input);
  list("outputs", *output);
  text << ')';
  return text.str();
}

void Op::append(std::ostream& stream) const {
  stream << "Op ";
  if (!name().empty()) stream << '"' << name() << "\", ";
  stream << id << " of type " << opid << '\n';
  const auto list = [&](const char* what, const TensorIndexMap& tensors) {
    stream << "    " << what << '\n';
    for (const auto& [index, tensor] : tensors.tensorMap()) {
      stream << "        @" << index << ": " << tensor->id << ' ' << tensor->info << '\n';
    }
  };
  list("inputs", *input);
  list("outputs", *output);
  if (getAttributes().empty()) return;
  stream << "    attributes\n";
  for (const auto& [key, value] : getAttributes()) {
    stream << "        " << key << ": " << value << '\n';
  }
}

VGraphId Op::getVirtualGraphId() const {
  if (hasVirtualGraphId()) return *settings.vgraphId;
  throw error("{} has no virtual graph id", debugName());
}
PipelineStage Op::getPipelineStage() const {
  if (hasPipelineStage()) return *settings.pipelineStage;
  throw error("{} has no pipeline stage", debugName());
}
ExecutionPhase Op::getExecutionPhase() const {
  if (hasExecutionPhase()) return *settings.executionPhase;
  throw error("{} has no execution phase", debugName());
}

bool Op::isNorm() const {
  return isConvertibleTo<BatchNormOp>() || isConvertibleTo<GroupNormOp>() ||
         isConvertibleTo<InstanceNormOp>();
}
bool Op::isElementWiseUnary() const { return isConvertibleTo<ElementWiseUnaryOp>(); }
bool Op::isLossOp() const { return isConvertibleTo<LossOp>(); }
bool Op::isIpuCopyOp() const { return isConvertibleTo<IpuCopyOp>(); }
bool Op::copiesOptimizerTensors() const {
  return isIpuCopyOp() && std::all_of(input->tensorMap().begin(), input->tensorMap().end(),
                                      [](const auto& t) { return t.second->isOptimizerTensor(); });
}
bool Op::hasSideEffect() const { return facts_->has_effect; }

Tensor* Op::inTensor(InIndex index) { return input->tensor(index); }
const Tensor* Op::inTensor(InIndex index) const { return input->tensor(index); }
Tensor* Op::outTensor(OutIndex index) { return output->tensor(index); }
const Tensor* Op::outTensor(OutIndex index) const { return output->tensor(index); }
TensorId Op::inId(InIndex index) const { return inTensor(index)->id; }
TensorId Op::outId(OutIndex index) const { return outTensor(index)->id; }
TensorInfo& Op::inInfo(InIndex index) { return inTensor(index)->info; }
const TensorInfo& Op::inInfo(InIndex index) const { return inTensor(index)->info; }
TensorInfo& Op::outInfo(OutIndex index) { return outTensor(index)->info; }
const TensorInfo& Op::outInfo(OutIndex index) const { return outTensor(index)->info; }
const Shape& Op::inShape(InIndex index) const { return inInfo(index).shape(); }
const Shape& Op::outShape(OutIndex index) const { return outInfo(index).shape(); }
Rank Op::inRank(InIndex index) const { return inInfo(index).rank(); }
Rank Op::outRank(OutIndex index) const { return outInfo(index).rank(); }
bool Op::hasInput(InIndex index) const { return input->hasIndex(index); }
bool Op::hasOutput(OutIndex index) const { return output->hasIndex(index); }
size_t Op::inTensorCount() const { return static_cast<size_t>(input->n()); }
size_t Op::outTensorCount() const { return static_cast<size_t>(output->n()); }
int64_t Op::memOfOutputs() const {
  int64_t bytes = 0;
  for (const Tensor* t : output->tensors()) bytes += t->info.isSet() ? t->info.nbytes() : 0;
  return bytes;
}

bool Op::modifiesIndex(InIndex index) const {
  return std::count(facts_->modified.begin(), facts_->modified.end(), index) != 0;
}
bool Op::modifies() const { return !facts_->modified.empty(); }
bool Op::modifiesTensor(Tensor* tensor) const {
  return std::any_of(facts_->modified.begin(), facts_->modified.end(),
                     [&](InIndex index) { return hasInput(index) && inTensor(index) == tensor; });
}
bool Op::aliases(InIndex in, OutIndex out) const {
  return std::count(facts_->aliases.begin(), facts_->aliases.end(), std::pair(in, out)) != 0;
}

std::vector<const Graph*> Op::getCalledGraphs() const {
  return {facts_->called.begin(), facts_->called.end()};
}
std::vector<std::string> Op::getCalledGraphIds() const {
  std::vector<std::string> ids;
  for (const Graph* graph : facts_->called) ids.push_back(graph->id.str());
  return ids;
}
const std::vector<std::pair<std::string, std::string>>& Op::getAttributes() const {
  return facts_->attributes;
}

namespace {

/// The value of an attribute; null if there is none.
nlohmann::json valueOf(const Op& op, const std::string& key) {
  for (const auto& [name, value] : op.getAttributes()) {
    if (name == key) return nlohmann::json::parse(value);
  }
  return {};
}

template <class To, class From>
std::vector<To> copyAs(const TensorData& data, int64_t elements) {
  const std::vector<From> values = data.copyDataAs<From>(static_cast<int>(elements));
  std::vector<To> result;
  for (const From value : values) result.push_back(static_cast<To>(value));
  return result;
}

/// The elements of an input that is known before the run.
template <class T>
std::vector<T> constantAs(const Op& op, const std::string& what, InIndex index) {
  const Tensor& tensor = *op.inTensor(index);
  if (!tensor.hasTensorData() || tensor.tensorType() != TensorType::Const) {
    throw error("{}: '{}' is input '{}', which is not a constant", op.debugName(), what, tensor.id);
  }
  const TensorData& data = *tensor.tensorData();
  const int64_t elements = tensor.info.nelms();
  switch (tensor.info.dataType()) {
    case DataType::INT64:
      return copyAs<T, int64_t>(data, elements);
    case DataType::INT32:
      return copyAs<T, int32_t>(data, elements);
    case DataType::FLOAT:
      return copyAs<T, float>(data, elements);
    case DataType::DOUBLE:
      return copyAs<T, double>(data, elements);
    default:
      break;
  }
  throw error("{}: '{}' is input '{}' of type {}; expected int64, int32, float or double",
              op.debugName(), what, tensor.id, tensor.info.data_type());
}

}  // namespace

bool Op::hasAttribute(const std::string& key) const { return !valueOf(*this, key).is_null(); }
int64_t Op::integer(const std::string& key, int64_t otherwise) const {
  const nlohmann::json value = valueOf(*this, key);
  return value.is_number() ? value.get<int64_t>() : otherwise;
}
float Op::number(const std::string& key, float otherwise) const {
  const nlohmann::json value = valueOf(*this, key);
  return value.is_number() ? value.get<float>() : otherwise;
}
std::vector<int64_t> Op::integers(const std::string& key) const {
  const nlohmann::json value = valueOf(*this, key);
  return value.is_array() ? value.get<std::vector<int64_t>>() : std::vector<int64_t>();
}
std::vector<int64_t> Op::integers(const std::string& key, InIndex index) const {
  if (hasAttribute(key) || !hasInput(index)) return integers(key);
  return constantAs<int64_t>(*this, key, index);
}
float Op::number(const std::string& key, InIndex index, float otherwise) const {
  if (hasAttribute(key) || !hasInput(index)) return number(key, otherwise);
  const std::vector<float> values = constantAs<float>(*this, key, index);
  return values.empty() ? otherwise : values[0];
}
int64_t Op::axis(int64_t otherwise, int64_t rank) const {
  const int64_t said = integer("axis", otherwise);
  return said < 0 ? said + rank : said;
}
std::string Op::text(const std::string& key, const std::string& otherwise) const {
  const nlohmann::json value = valueOf(*this, key);
  return value.is_string() ? value.get<std::string>() : otherwise;
}

}  // namespace popart
