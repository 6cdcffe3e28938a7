#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <popart/dataflow.hpp>
#include <popart/names.hpp>
#include <popart/op.hpp>
#include <popart/replicatedstreammode.hpp>
#include <popart/tensordata.hpp>
#include <popart/tensordebuginfo.hpp>
#include <popart/tensorinfo.hpp>
#include <popart/variablesettings.hpp>
#include <popart/vertex.hpp>

namespace popart {

std::ostream& operator<<(std::ostream& stream, const TensorType& type);

/// How a variable changes.
enum class VariableUpdateType {
  None = 0,  ///< not at all
  Gradient,  ///< by an optimizer
  Copy,      ///< it becomes another tensor
};

/// The operators that read a tensor.
class Consumers {
 public:
  /// How often an operator reads it.
  int n(Op* op) const;
  /// How often all do.
  int getTotal() const;
  const std::map<Op*, int, POpCmp>& getMap() const { return counts_; }
  /// Each of them once, in the order of ids.
  std::vector<Op*> getOps() const;
  std::set<PipelineStage> getPipelineStages() const;
  std::set<VGraphId> getVirtualGraphIds() const;
  OptionalPipelineStage findLowestPipelineStage() const;
  OptionalPipelineStage findHighestPipelineStage() const;
  OptionalVGraphId findLowestVirtualGraphID() const;

 private:
  friend class detail::ViewBuilder;
  std::map<Op*, int, POpCmp> counts_;
};

/// Where a tensor lies.
class TensorLocationInfo {
 public:
  void setRemote(bool isRemote) { remote_ = isRemote; }
  bool isRemote() const { return remote_; }
  void setSharded(bool isSharded) { sharded_ = isSharded; }
  bool isSharded() const { return sharded_; }
  void setRemoteBufferInfo(RemoteBufferId id, RemoteBufferIndex index) { buffer_ = {id, index}; }
  const std::pair<RemoteBufferId, RemoteBufferIndex> getRemoteBufferInfo() const { return buffer_; }
  bool operator==(const TensorLocationInfo&) const = default;

 private:
  bool remote_ = false, sharded_ = false;
  std::pair<RemoteBufferId, RemoteBufferIndex> buffer_{};
};

/// A tensor of what will run. A view: changing it changes no session.
class Tensor : public Vertex {
 public:
  Tensor(const TensorId& tensor, TensorType type, Graph& itsGraph);
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() override;

  TensorId id;
  TensorInfo info;
  Consumers consumers;
  TensorLocationInfo tensorLocationInfo;

  std::string str() const override { return id; }
  TensorType tensorType() const { return type_; }
  std::string tensor_type() const;
  ReplicatedStreamMode getReplicatedStreamMode() const { return streamMode_; }
  VariableUpdateType getVariableUpdateType() const { return updateType_; }

  bool hasProducer() const { return producer_ != nullptr; }
  /// Null if there is none.
  Op* getProducerUnsafe() const { return producer_; }
  /// Throws popart::error if there is none.
  Op* getProducer() const;
  std::vector<Op*> associatedOps() const;
  Graph& getGraph() { return *graph_; }
  const Graph& getGraph() const { return *graph_; }
  Ir& getIr() const;

  bool isGraphInput() const;
  InIndex getGraphInputIndex() const;
  bool isGraphOutput() const;
  OutIndex getGraphOutputIndex() const;
  bool isLossTensor() const { return isLoss_; }
  bool isAnchored() const;
  bool isRootAnchor() const { return isAnchored(); }
  /// Whether it is what an optimizer may be told between steps.
  bool isOptimizerTensor() const { return isHyperparameter_; }
  bool isOptimizerStateTensor() const { return isState_; }
  bool isAccumulatorTensor() const { return isAccumulator_; }
  /// Whether it is a variable, and no optimizer's.
  bool isWeightTensor() const;
  bool isRandomSeedTensor() const;
  bool isRemoteArgTensor() const;
  bool isHostLoadTensor() const;
  bool isUnmodifiable() const;
  bool isModified() const;
  bool isAliased() const;
  bool consumersAllPreLoss() const;
  bool idIncludesPrefix(const std::vector<std::string>& prefixes) const;

  bool hasVirtualGraphId() const { return getVirtualGraphIdUnsafe() >= 0; }
  VGraphId getVirtualGraphId() const;
  /// -1 if there is none.
  VGraphId getVirtualGraphIdUnsafe() const;
  std::set<PipelineStage> getPipelineStages() const;

  bool hasTensorData() const { return data_ != nullptr; }
  /// Throw popart::error if there are none.
  TensorData* tensorData();
  const TensorData* tensorData() const;

 private:
  friend class detail::ViewBuilder;
  TensorType type_;
  Graph* graph_;
  Op* producer_ = nullptr;
  std::unique_ptr<TensorData> data_;
  ReplicatedStreamMode streamMode_ = ReplicatedStreamMode::Replicate;
  VariableUpdateType updateType_ = VariableUpdateType::None;
  bool isLoss_ = false, isHyperparameter_ = false, isState_ = false, isAccumulator_ = false;
};

/// In the order of ids.
struct PTensorCmp {
  bool operator()(const Tensor* a, const Tensor* b) const { return a->id < b->id; }
};

}  // namespace popart
