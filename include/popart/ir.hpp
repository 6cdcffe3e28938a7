#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/graphid.hpp>
#include <popart/inputshapeinfo.hpp>
#include <popart/names.hpp>
#include <popart/op.hpp>
#include <popart/operators.hpp>
#include <popart/optimizer.hpp>
#include <popart/patterns/patterns.hpp>
#include <popart/scheduler_requireoptimal.hpp>
#include <popart/sessionoptions.hpp>
#include <popart/tensordebuginfo.hpp>

namespace popart {

class Graph;
class Tensor;
class Tensors;
struct PTensorCmp;
namespace detail {
struct IrSource;
}

/// What an Ir is prepared of. Borrows all but the texts.
class IrBundle {
 public:
  /// model      the model's bytes, or a file's name
  /// loss       empty: inference, like a null optimizer
  IrBundle(const std::string& model, const InputShapeInfo& shapes, const DataFlow& flow,
           const TensorId& lossId, const Optimizer* theOptimizer, DeviceInfo& device,
           const SessionOptions& options, const Patterns& thePatterns, const std::string& name = "")
      : modelProto(model),
        inputShapeInfo(shapes),
        dataFlow(flow),
        loss(lossId),
        optimizer(theOptimizer),
        deviceInfo(device),
        userOptions(options),
        patterns(thePatterns),
        sessionName(name) {}
  /// The same of a model that protobuf has read.
  template <class ModelProto>
    requires requires(const ModelProto& model) { model.SerializeAsString(); }
  IrBundle(const ModelProto& model, const InputShapeInfo& shapes, const DataFlow& flow,
           const TensorId& lossId, const Optimizer* theOptimizer, DeviceInfo& device,
           const SessionOptions& options, const Patterns& thePatterns, const std::string& name = "")
      : IrBundle(model.SerializeAsString(), shapes, flow, lossId, theOptimizer, device, options,
                 thePatterns, name) {}

  const std::string modelProto;
  const InputShapeInfo& inputShapeInfo;
  const DataFlow& dataFlow;
  const TensorId loss;
  const Optimizer* optimizer;
  DeviceInfo& deviceInfo;
  const SessionOptions& userOptions;
  const Patterns& patterns;
  const std::string sessionName;
};

/// What a session runs, as PopART would say it: its operators in their order and its tensors.
///
/// The graphs are made when they are asked for the first time: those of the model with its gradients
/// and updates, folded and ordered as for a run but before operators are fused. Operators that
/// PopART has are under its names and versions, in-place forms where a run writes over an input;
/// others, such as `Update`, which is the whole step of an optimizer for one weight, under the
/// library's. Everything is a copy: changes do not reach the session.
class Ir {
 public:
  enum class ExecutionMode { Inference, Training };
  enum class SerialiseFormat { JSON };

  Ir();
  ~Ir();
  Ir(const Ir&) = delete;
  Ir& operator=(const Ir&) = delete;
  explicit Ir(std::shared_ptr<const detail::IrSource> source);

  /// Makes an Ir without a session. Throws what making the session would throw.
  void prepare(const IrBundle& bundle, const std::map<std::size_t, std::string>& cached = {});
  bool isPrepared() const { return source_ != nullptr; }
  uint64_t getId() const { return id_; }

  bool isTraining() const;
  bool isTesting() const { return !isTraining(); }
  ExecutionMode getExecutionMode() const {
    return isTraining() ? ExecutionMode::Training : ExecutionMode::Inference;
  }
  bool canTrain() const { return isTraining(); }
  bool canInfer() const { return isTesting(); }
  bool hasConstructedBackwards() const { return isTraining(); }
  bool hasDecomposedOptimizers() const { return isTraining(); }
  const DataFlow& getDataFlow() const;
  const SessionOptions& getSessionOptions() const;
  const Patterns& getPatterns() const;
  const InputShapeInfo& getInputShapeInfo() const;
  /// The optimizer that the session was made with. Throws popart::error in inference.
  const Optimizer& getOptimizer() const;
  const DeviceInfo* getDeviceInfo() const;
  const std::string& getSessionName() const;
  bool virtualGraphsEnabled() const;
  bool autoRecomputationEnabled() const { return getSessionOptions().autoRecomputationEnabled(); }
  SyntheticDataMode syntheticDataMode() const { return getSessionOptions().syntheticDataMode; }
  bool useSyntheticData() const { return syntheticDataMode() != SyntheticDataMode::Off; }

  bool hasOnnxModel() const { return isPrepared(); }
  const std::vector<TensorId>& getModelInputIds() const;
  bool containsInitialisers() const;
  bool tensorExistsInInitialisers(const TensorId& id) const;
  /// The version of a domain's operator set that the model asks for; without one the default.
  int getOpSetVersionFromModel(const std::string& domain) const;
  int getDefaultOpsetVersion(const std::string& domain) const;

  bool isAnchored(const TensorId& id) const;
  bool isRootAnchor(const TensorId& id) const { return isAnchored(id); }
  std::set<TensorId> getAnchors() const;
  std::set<TensorId> getRootAnchors() const { return getAnchors(); }

  const Graph& getMainGraph() const;
  Graph& getMainGraph();
  /// Throws popart::error if there is no such graph.
  Graph& getGraph(const GraphId& id) const;
  bool hasGraph(const GraphId& id) const;
  const std::map<GraphId, std::unique_ptr<Graph>>& getGraphs() const;
  std::vector<const Graph*> getAllGraphs() const;
  /// The main graph, then each that is called, depth first.
  std::vector<const Graph*> getGraphSchedule() const;

  /// Of all graphs: of the main one, then of those that are called.
  std::vector<Op*> getOpSchedule(
      const OpsBeforeKey& before = {},
      RequireOptimalSchedule optimal = RequireOptimalSchedule::Yes) const;
  bool isSchedulable(const OpsBeforeKey&) const { return true; }
  std::vector<Op*> getAllOps() const;
  std::vector<Op*> opsOfType(const OperatorIdentifier& opid) const;
  bool isConsumedByOpOfType(const TensorId& id, const OperatorIdentifier& opid) const;
  /// Throws popart::error if there is none.
  Op* getOp(OpId id) const;
  std::map<OpId, std::unique_ptr<Op>>& getMainGraphOps();
  const std::map<OpId, std::unique_ptr<Op>>& getMainGraphOps() const;
  OpId getOpsCounter() const;

  Tensors& getMainGraphTensors();
  const Tensors& getMainGraphTensors() const;
  /// In any graph. Throws popart::error if there is none.
  Tensor* getTensor(const TensorId& id) const;
  /// Whether a tensor has that name; gradients and the optimizer's state are tensors, too.
  bool containsTensor(const TensorId& id) const;
  std::set<TensorId> getAllTensorIds() const;
  std::map<TensorId, Tensor*> getAllTensors() const;
  std::vector<TensorId> getTensorIds(TensorType type) const;
  std::vector<TensorId> getGraphInputIds() const;
  std::vector<TensorId> getGraphOutputIds() const;
  /// Inputs of the model, without hyperparameters.
  std::vector<Tensor*> dataStreamTensors() const;
  /// Hyperparameters that may change.
  std::vector<Tensor*> optimizerTensors() const;
  std::vector<Tensor*> optimizerStateTensors() const;
  std::map<TensorId, std::vector<Tensor*>> getHostLoadTensors() const;
  std::map<TensorId, std::vector<Tensor*>> getHostStoreTensors() const;

  /// Empty, and -1, in inference.
  TensorId getFinalLossId() const;
  OpId getFinalLossOpId() const;
  PipelineStage getNumPipelineStages() const;
  PipelineStage getFinalLossPipelineStage() const;
  PipelineStage getMaxPipelineStage() const;
  bool getRequiresRandomSeed() const;
  unsigned getNumVirtualGraphIds() const;
  bool hasReplicatedTensorSharding() const;
  void validateAnchors() const;

  /// Each operator on a line.
  void append(std::ostream& stream) const;
  void logIr() const;
  /// {"maingraph": [operators], "NAME": [...]}: see Session::serializeIr.
  void serialise(SerialiseFormat format, std::stringstream& stream, bool useScheduler = true) const;
  /// Writes the graphs as they are at a point of the preparation, if the options or the environment
  /// ask for it: see SessionOptions::dotChecks.
  void dotCheckpoint(const Ir& ir, const std::string& check) const;
  std::size_t getHash() const;

 private:
  friend class Session;
  struct View;
  const detail::IrSource& source() const;
  const View& view() const;

  uint64_t id_;
  std::shared_ptr<const detail::IrSource> source_;
  mutable std::unique_ptr<View> view_;
};

}  // namespace popart
