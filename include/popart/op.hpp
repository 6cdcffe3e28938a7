#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include <popart/names.hpp>
#include <popart/operatoridentifier.hpp>
#include <popart/scope.hpp>
#include <popart/tensorinfo.hpp>
#include <popart/tensorlocation.hpp>
#include <popart/vendored/optional.hpp>
#include <popart/vertex.hpp>

namespace popart {

class Graph;
class Ir;
class Tensor;
class TensorIndexMap;
namespace detail {
struct OpFacts;
class ViewBuilder;
}  // namespace detail

/// Whether an operator's outputs are kept for the backward pass, or computed again.
enum class RecomputeType { Undefined = 0, Checkpoint, Recompute, Recomputed };

/// The part of the program that an operator belongs to.
enum class ExecutionContext {
  Normal = 0,
  AccumulateOuterFragment,
  WeightsFromHostFragment,
  WeightsToHostFragment,
  OptimizerFromHostFragment,
  Subgraph,
};

std::ostream& operator<<(std::ostream& stream, const RecomputeType& type);
std::ostream& operator<<(std::ostream& stream, const ExecutionContext& context);

using OptionalVGraphId = nonstd::optional<VGraphId>;
using OptionalPipelineStage = nonstd::optional<PipelineStage>;
using OptionalExecutionPhase = nonstd::optional<ExecutionPhase>;
using OptionalBatchSerializedPhase = nonstd::optional<BatchSerializedPhase>;
using OptionalTensorLocation = nonstd::optional<TensorLocation>;

/// A node of what will run. A view: changing it changes no session.
///
/// The dynamic type is the operator's class of op/*.hpp, or Op itself for operators that PopART does
/// not have.
class Op : public Vertex {
 public:
  struct Settings {
    Settings(Graph& itsGraph, const std::string& itsName) : graph(itsGraph), name(itsName) {}
    Settings(Graph& itsGraph, const std::string& itsName, const Scope& itsScope)
        : graph(itsGraph), name(itsName), scope(itsScope) {}

    std::reference_wrapper<Graph> graph;
    std::string name;
    Scope scope;
    RecomputeType recomputeType = RecomputeType::Undefined;
    OptionalTensorLocation tensorLocation;
    std::vector<std::tuple<std::string, float>> inplacePriorityVeto;
    std::unordered_set<std::string> excludePatterns;
    OptionalVGraphId vgraphId;
    OptionalPipelineStage pipelineStage;
    OptionalExecutionPhase executionPhase;
    OptionalBatchSerializedPhase batchSerializedPhase;
    double schedulePriority = 0;
    ExecutionContext executionContext = ExecutionContext::Normal;
    TileSet tileSet = TileSet::Compute;
    bool optimizerOp = false;

    Ir& getIr() const;
  };

  Op(const OperatorIdentifier& operatorId, const Settings& itsSettings);
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;
  ~Op() override;

  /// By the index of inputs and outputs; absent ones are left out.
  std::unique_ptr<TensorIndexMap> input, output;
  OpId id = -1;
  OperatorIdentifier opid;
  Settings settings;

  Settings& getSettings() { return settings; }
  const Settings& getSettings() const { return settings; }
  Graph& getGraph() { return settings.graph.get(); }
  const Graph& getGraph() const { return settings.graph.get(); }
  Ir& getIr() { return settings.getIr(); }
  const Ir& getIr() const { return settings.getIr(); }
  const Scope& getScope() const { return settings.scope; }
  const std::string& getName() const { return settings.name; }
  const std::string& name() const { return settings.name; }
  /// "100 (ai.onnx.Add:7)"
  std::string str() const override;
  /// With the names of its inputs and outputs.
  std::string debugName() const;
  void append(std::ostream& stream) const;

  const OptionalVGraphId getOptionalVGraphId() const { return settings.vgraphId; }
  bool hasVirtualGraphId() const { return settings.vgraphId.has_value(); }
  /// Throw popart::error if there is none.
  VGraphId getVirtualGraphId() const;
  const OptionalPipelineStage getOptionalPipelineStage() const { return settings.pipelineStage; }
  bool hasPipelineStage() const { return settings.pipelineStage.has_value(); }
  PipelineStage getPipelineStage() const;
  const OptionalExecutionPhase getOptionalExecutionPhase() const { return settings.executionPhase; }
  bool hasExecutionPhase() const { return settings.executionPhase.has_value(); }
  ExecutionPhase getExecutionPhase() const;
  bool hasBatchSerializedPhase() const { return settings.batchSerializedPhase.has_value(); }
  const OptionalBatchSerializedPhase getOptionalBatchSerializedPhase() const {
    return settings.batchSerializedPhase;
  }

  template <class T>
  bool isConvertibleTo() const {
    return dynamic_cast<const T*>(this) != nullptr;
  }
  bool isNorm() const;
  bool isElementWiseUnary() const;
  bool isLossOp() const;
  bool isIpuCopyOp() const;
  bool isOptimizerOp() const { return settings.optimizerOp; }
  bool copiesOptimizerTensors() const;
  bool hasSideEffect() const;
  bool canRecompute() const { return !hasSideEffect(); }

  /// Throw popart::error if the node has no such input or output.
  Tensor* inTensor(InIndex index);
  const Tensor* inTensor(InIndex index) const;
  Tensor* outTensor(OutIndex index);
  const Tensor* outTensor(OutIndex index) const;
  TensorId inId(InIndex index) const;
  TensorId outId(OutIndex index) const;
  TensorInfo& inInfo(InIndex index);
  const TensorInfo& inInfo(InIndex index) const;
  TensorInfo& outInfo(OutIndex index);
  const TensorInfo& outInfo(OutIndex index) const;
  const Shape& inShape(InIndex index) const;
  const Shape& outShape(OutIndex index) const;
  Rank inRank(InIndex index) const;
  Rank outRank(OutIndex index) const;
  bool hasInput(InIndex index) const;
  bool hasOutput(OutIndex index) const;
  size_t inTensorCount() const;
  size_t outTensorCount() const;
  /// The bytes of all outputs.
  int64_t memOfOutputs() const;

  /// Whether the node writes to its input's memory.
  bool modifiesIndex(InIndex index) const;
  bool modifies() const;
  bool modifiesTensor(Tensor* tensor) const;
  /// Whether an output lies in an input's memory.
  bool aliases(InIndex in, OutIndex out) const;

  std::vector<const Graph*> getCalledGraphs() const;
  std::vector<std::string> getCalledGraphIds() const;

  /// The node's attributes: names, and values as JSON.
  const std::vector<std::pair<std::string, std::string>>& getAttributes() const;

 protected:
  const detail::OpFacts& facts() const { return *facts_; }
  /// Attributes; what the node does not have is `otherwise`.
  bool hasAttribute(const std::string& key) const;
  int64_t integer(const std::string& key, int64_t otherwise) const;
  float number(const std::string& key, float otherwise) const;
  std::vector<int64_t> integers(const std::string& key) const;
  /// The integers of an attribute or, without it, of a constant input; none if there is neither. Throws
  /// popart::error if the input is not constant.
  std::vector<int64_t> integers(const std::string& key, InIndex index) const;
  /// The same of one number, with `otherwise` for what is not there.
  float number(const std::string& key, InIndex index, float otherwise) const;
  /// The attribute "axis", counted from the front of `rank` axes.
  int64_t axis(int64_t otherwise, int64_t rank) const;
  std::string text(const std::string& key, const std::string& otherwise) const;

 private:
  friend class detail::ViewBuilder;
  std::unique_ptr<detail::OpFacts> facts_;
};

/// In the order of ids.
struct POpCmp {
  bool operator()(const Op* a, const Op* b) const { return a->id < b->id; }
};

/// Which operators have to come before another one.
using OpsBeforeKey = std::map<Op*, std::vector<Op*>, POpCmp>;

}  // namespace popart
