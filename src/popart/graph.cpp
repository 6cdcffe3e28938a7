#include <popart/graph.hpp>

#include <algorithm>
#include <ostream>

#include <popart/error.hpp>
#include <popart/ir.hpp>
#include <popart/topocons.hpp>

namespace popart {

const GraphId& GraphId::root() {
  static const GraphId root("");
  return root;
}
std::ostream& operator<<(std::ostream& stream, const GraphId& id) { return stream << id.str(); }

std::string Scope::str() const {
  std::string text;
  for (const std::string& name : names_) text += (text.empty() ? "" : sNameDelimiter) + name;
  return text;
}
std::ostream& operator<<(std::ostream& stream, const Scope& scope) { return stream << scope.str(); }
TensorId addScope(const Scope& scope, const TensorId& id) {
  return scope.empty() ? id : scope.str() + sNameDelimiter + id;
}

void TensorIndexMap::insert(int index, Tensor* tensor) {
  tensors_[index] = tensor;
  indices_[tensor].push_back(index);
}
Tensor* TensorIndexMap::tensor(int index) {
  const auto found = tensors_.find(index);
  if (found == tensors_.end()) {
    throw error("There is no tensor at index {} of the {} that there are", index, n());
  }
  return found->second;
}
const Tensor* TensorIndexMap::tensor(int index) const {
  return const_cast<TensorIndexMap*>(this)->tensor(index);
}
TensorId TensorIndexMap::id(int index) const { return tensor(index)->id; }
const std::vector<int>& TensorIndexMap::indices(Tensor* tensor) const {
  const auto found = indices_.find(tensor);
  if (found == indices_.end()) throw error("Tensor {} has no index", tensor->id);
  return found->second;
}
const std::vector<Tensor*> TensorIndexMap::tensors() const {
  std::vector<Tensor*> all;
  for (const auto& [tensor, indices] : indices_) all.push_back(tensor);
  return all;
}
std::map<int, TensorId> TensorIndexMap::tensorIdMap() const {
  std::map<int, TensorId> ids;
  for (const auto& [index, tensor] : tensors_) ids[index] = tensor->id;
  return ids;
}
std::map<int, Shape> TensorIndexMap::getIndexShapeMap() const {
  std::map<int, Shape> shapes;
  for (const auto& [index, tensor] : tensors_) shapes[index] = tensor->info.shape();
  return shapes;
}
std::vector<TensorId> TensorIndexMap::getSerialised() const {
  std::vector<TensorId> ids(static_cast<std::size_t>(maxIndex() + 1));
  for (const auto& [index, tensor] : tensors_) ids[static_cast<std::size_t>(index)] = tensor->id;
  return ids;
}
int TensorIndexMap::maxIdLength() const {
  std::size_t length = 0;
  for (const auto& [index, tensor] : tensors_) length = std::max(length, tensor->id.size());
  return static_cast<int>(length);
}

Tensor* Tensors::get(const TensorId& id) const {
  const auto found = tensors_.find(id);
  if (found == tensors_.end()) throw error("No Ir::Tensor with TensorId '{}'", id);
  return found->second.get();
}
TensorId Tensors::find(const TensorId& id, const Scope& scope) const {
  for (Scope level = scope;; level.pop()) {
    const TensorId scoped = addScope(level, id);
    if (contains(scoped)) return scoped;
    if (level.empty()) break;
  }
  throw error("Could not find tensor with id {} in scope {}", id, scope.str());
}
bool Tensors::contains(const TensorId& id, const Scope& scope) const {
  for (Scope level = scope;; level.pop()) {
    if (contains(addScope(level, id))) return true;
    if (level.empty()) return false;
  }
}
std::vector<Tensor*> Tensors::getAll() const {
  std::vector<Tensor*> all;
  for (const auto& [id, tensor] : tensors_) all.push_back(tensor.get());
  return all;
}
std::vector<Tensor*> Tensors::getOfType(TensorType type) const {
  return getOfType(std::vector<TensorType>{type});
}
std::vector<Tensor*> Tensors::getOfType(const std::vector<TensorType>& types) const {
  std::vector<Tensor*> found;
  for (const auto& [id, tensor] : tensors_) {
    if (std::count(types.begin(), types.end(), tensor->tensorType()) != 0) {
      found.push_back(tensor.get());
    }
  }
  return found;
}
std::vector<TensorId> Tensors::getIds(TensorType type) const {
  std::vector<TensorId> ids;
  for (const Tensor* tensor : getOfType(type)) ids.push_back(tensor->id);
  return ids;
}
std::vector<TensorId> Tensors::getAllTensorIds() const {
  std::vector<TensorId> ids;
  for (const auto& [id, tensor] : tensors_) ids.push_back(id);
  return ids;
}
std::vector<TensorId> Tensors::getNoProducerIds() const {
  std::vector<TensorId> ids;
  for (const auto& [id, tensor] : tensors_) {
    if (!tensor->hasProducer()) ids.push_back(id);
  }
  return ids;
}
void Tensors::append(std::ostream& stream) const {
  for (const auto& [id, tensor] : tensors_) {
    stream << id << ' ' << tensor->tensorType() << ' ' << tensor->info << '\n';
  }
}

TopoCons::TopoCons(const std::vector<Op*>& schedule) {
  std::map<const Tensor*, std::vector<Op*>> readers;
  for (Op* op : schedule) {
    for (Tensor* read : op->input->tensors()) {
      std::vector<Op*>& others = readers[read];
      if (!others.empty() && others.back() == op) continue;  // it reads the tensor twice
      for (Op* other : others) {
        if (!op->modifiesTensor(read) && !other->modifiesTensor(read)) continue;
        after_[other].insert(op);
        before_[op].insert(other);
      }
      others.push_back(op);
    }
  }
}
bool TopoCons::contains(Op* before, Op* after) const {
  const auto found = after_.find(before);
  return found != after_.end() && found->second.count(after) != 0;
}
std::vector<Op*> TopoCons::getAfters(Op* before) const {
  const auto found = after_.find(before);
  if (found == after_.end()) return {};
  return {found->second.begin(), found->second.end()};
}
std::vector<Op*> TopoCons::getBefores(Op* after) const {
  const auto found = before_.find(after);
  if (found == before_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

Graph::Graph(Ir& itsIr, const GraphId& name)
    : id(name), topoCons(std::make_unique<TopoCons>()), ir_(&itsIr) {}
Graph::~Graph() = default;

std::vector<OpId> Graph::getOpIds() const {
  std::vector<OpId> ids;
  for (const auto& [op, unused] : ops_) ids.push_back(op);
  return ids;
}
Op* Graph::getOpUnsafe(OpId op) const {
  const auto found = ops_.find(op);
  return found == ops_.end() ? nullptr : found->second.get();
}
Op* Graph::getOp(OpId op) const {
  if (Op* const found = getOpUnsafe(op)) return found;
  throw error("No Op `{}' in graph '{}'", op, id.str());
}
std::vector<Op*> Graph::getOpSchedule(const OpsBeforeKey& before, RequireOptimalSchedule) const {
  std::vector<const Op*> ran;
  for (const Op* op : schedule_) {
    const auto asked = before.find(const_cast<Op*>(op));
    if (asked != before.end()) {
      for (const Op* first : asked->second) {
        if (&first->getGraph() != this || std::count(ran.begin(), ran.end(), first) != 0) continue;
        throw error("Graph '{}' runs {} before {}: its order is fixed", id.str(), op->debugName(),
                    first->debugName());
      }
    }
    ran.push_back(op);
  }
  return schedule_;
}

namespace {

int positionIn(const std::vector<TensorId>& ids, const TensorId& id, const char* what) {
  const auto found = std::find(ids.begin(), ids.end(), id);
  if (found == ids.end()) throw error("Tensor {} is no {} of the graph", id, what);
  return static_cast<int>(found - ids.begin());
}

}  // namespace

InIndex Graph::getInputIndex(const TensorId& tensor) const {
  return positionIn(inputs_, tensor, "input");
}
OutIndex Graph::getOutputIndex(const TensorId& tensor) const {
  return positionIn(outputs_, tensor, "output");
}
bool Graph::hasInputId(const TensorId& tensor) const {
  return std::count(inputs_.begin(), inputs_.end(), tensor) != 0;
}
bool Graph::hasOutputId(const TensorId& tensor) const {
  return std::count(outputs_.begin(), outputs_.end(), tensor) != 0;
}

std::vector<const Graph*> Graph::getCalledGraphs() const {
  std::vector<const Graph*> called;
  for (const Op* op : schedule_) {
    for (const Graph* graph : op->getCalledGraphs()) {
      if (std::count(called.begin(), called.end(), graph) == 0) called.push_back(graph);
    }
  }
  return called;
}
std::vector<Op*> Graph::getCallSiteOps() const {
  std::vector<Op*> sites;
  for (Op* op : ir_->getOpSchedule()) {
    const std::vector<const Graph*> called = op->getCalledGraphs();
    if (std::count(called.begin(), called.end(), this) != 0) sites.push_back(op);
  }
  return sites;
}
std::vector<Op*> Graph::getCallSiteOps(std::size_t most) const {
  std::vector<Op*> sites = getCallSiteOps();
  if (most > 0 && sites.size() > most) sites.resize(most);
  return sites;
}
std::map<OpId, std::unordered_set<OpId>> Graph::getEdgeMap() const {
  std::map<OpId, std::unordered_set<OpId>> edges;
  for (const auto& [op, node] : ops_) {
    std::unordered_set<OpId>& readers = edges[op];
    for (const auto& [index, tensor] : node->output->tensorMap()) {
      for (const Op* reader : tensor->consumers.getOps()) readers.insert(reader->id);
    }
  }
  return edges;
}
const std::map<int64_t, int> Graph::getVirtualGraphCounts() const {
  std::map<int64_t, int> counts;
  for (const auto& [op, node] : ops_) {
    ++counts[node->hasVirtualGraphId() ? node->getVirtualGraphId() : NoVGraph];
  }
  return counts;
}
const std::set<int64_t> Graph::getAllVirtualGraphIds(bool includeInvalid) const {
  std::set<int64_t> ids;
  for (const auto& [ipu, count] : getVirtualGraphCounts()) {
    if (includeInvalid || ipu != NoVGraph) ids.insert(ipu);
  }
  return ids;
}
bool Graph::hasUserRecomputeOps() const {
  return !ir_->autoRecomputationEnabled() &&
         std::any_of(schedule_.begin(), schedule_.end(), [](const Op* op) {
           return op->settings.recomputeType == RecomputeType::Recompute;
         });
}

Scope Graph::getScope() const { return id.str().empty() ? Scope() : Scope() / id.str(); }
TensorId Graph::removeScope(const TensorId& scoped) const {
  const std::string prefix = addScope(getScope(), "");
  return scoped.compare(0, prefix.size(), prefix) == 0 ? scoped.substr(prefix.size()) : scoped;
}
std::string Graph::getGraphString() const {
  return id.str().empty() ? "the main graph" : "subgraph '" + id.str() + "'";
}

}  // namespace popart
