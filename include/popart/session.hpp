#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <popart/dataflow.hpp>
#include <popart/devicemanager.hpp>
#include <popart/inputshapeinfo.hpp>
#include <popart/ir.hpp>
#include <popart/names.hpp>
#include <popart/optimizer.hpp>
#include <popart/patterns/patterns.hpp>
#include <popart/sessionoptions.hpp>
#include <popart/stepio.hpp>
#include <popart/tensorinfo.hpp>

namespace halftone::ipu {
class Report;
}

namespace popart {

namespace popx {
class Executablex;
}

enum class IrSerializationFormat { JSON };

/// A model, made ready to run step by step.
class Session {
 public:
  virtual ~Session() = 0;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Plans the model for its device. With `loadEngine` false, or the option compileEngine off, it
  /// cannot run yet.
  void prepareDevice(bool loadEngine = true);
  void loadEngineAndConnectStreams();
  /// Plans the model without loading it, and writes what is ready to run to a file.
  void compileAndExport(const std::string& filename);
  void compileAndExport(std::ostream& out);
  /// Writes what prepareDevice made, with the device's weights.
  void saveExecutableToFile(const std::string& filename);
  void saveExecutableToStream(std::ostream& out);
  /// The same; into the file executable.popef if `path` is a folder. There is one format, `.htx`, which
  /// always has the names of tensors and the weights: the two switches cannot be off.
  void saveExecutable(const std::string& path, bool savePopartMetadata = true,
                      bool saveVariables = true);
  /// Takes what compileAndExport wrote for this model in prepareDevice's place. Throws a
  /// runtime_error for files that are damaged, of another version or of another model.
  void loadExecutableFromFile(const std::string& filename);
  void loadExecutableFromStream(std::istream& in);
  void loadExecutableFromStream(std::shared_ptr<std::istream> in);
  /// Executables in SessionOptions::cachePath are looked up whenever a session is prepared: there is no
  /// list of them to be renewed.
  void updateEngineCache() {}
  /// Does nothing, whatever the model: operators run in one order, and memory is written over only when
  /// nobody reads it any more, so that no result can depend on which operators run in place.
  void checkInplacingAmbiguity() const {}

  /// Copies the weights to the device, and back.
  void weightsFromHost();
  void weightsToHost();
  void buffersFromHost();
  /// Copies what weightsToHost brought to memory of the program.
  void readWeights(const IWeightsIO& weightsIo);
  /// Takes weights from memory of the program; weightsFromHost takes them to the device.
  void writeWeights(const IWeightsIO& weightsIo);
  /// Takes weights from another model, a file's name or the model itself.
  void resetHostWeights(const std::string& model,
                        const bool ignoreWeightsInModelWithoutCorrespondingHostWeight = false);
  /// Writes the model with the weights of the device to a file.
  void modelToHost(const std::string& fn);

  /// Gives all processes of a distributed session the weights that one of them has on its host. Does
  /// nothing in other sessions.
  void broadcastWeights(int rootRank = 0);

  /// Calls the program for each micro-batch of an input (handle h2d_ID, to write it) or anchor
  /// (anchor_d2h_ID, to read it) instead of asking step IO. Throws a runtime_error for other
  /// handles; `index` is that of the replica.
  void connectStreamToCallback(const std::string& streamHandle, std::function<void(void*)> callback,
                               unsigned index = 0);
  /// The same with memory that is read or written for every micro-batch of the first replica.
  void connectStream(const std::string& streamHandle, void* buffer);

  /// Runs one step.
  void run(IStepIO& stepIO, std::string debugName = "");
  void run(std::string programHandle, IStepIO& stepIO, std::string debugName = "");

  TensorInfo getInfo(TensorId id) const;
  bool hasInfo(TensorId id) const;
  std::set<TensorId> getAllTensorIds() const;

  /// Cycles of the last step: of whole runs (id "", Instrumentation::Outer), or those in which an IPU
  /// works and waits for no other (id "inner_ipu_0" and so on, Instrumentation::Inner).
  uint64_t getCycleCount(std::string id = "");
  /// What random numbers follow from: two equal halves of four words for the device's one tile, the
  /// seed of the next step in the first two. Setting what was read before repeats the steps since;
  /// nodes with an attribute `seed` start over. Needs SessionOptions::enableLoadAndOffloadRNGState.
  std::vector<uint32_t> getRNGState();
  void setRNGState(const std::vector<uint32_t> state);
  void setRandomSeed(uint64_t seedValue);
  uint64_t getRandomSeed();
  /// Reports need the device ipu-model or offline-ipu, and the engine option autoReport.all.
  std::string getSummaryReport(bool resetProfile = true) const;
  std::string getGraphReport(bool useCbor = false) const;
  std::string getExecutionReport(bool useCbor = false, bool resetProfile = false) const;
  const halftone::ipu::Report& getReport() const;
  /// What saveExecutableToFile writes, in memory.
  std::string getSerializedGraph() const;
  void setDeviceInfo(std::shared_ptr<DeviceInfo> deviceInfo);
  const popx::Executablex& getExecutable() const;
  const Ir& getIr() const;
  /// {"maingraph": [operators]} and the same for each subgraph under its name; operators in their
  /// order, each with type, name, domain, version, inputs and outputs (name, shape, type, index) and
  /// attributes. All values are texts, as PopART has them.
  std::string serializeIr(IrSerializationFormat format);
  const SessionOptions& getSessionOptions() const;

 protected:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  static std::shared_ptr<const detail::IrSource> sourceOf(const Ir* ir);
  std::unique_ptr<State> state_;
};

/// Trains a model: every step runs batches forward and backward, and updates the weights.
///
/// Call createFromOnnxModel, prepareDevice, weightsFromHost, then run. Gradients are Gradient___w
/// (multiplied by the loss scaling), new weights w or UpdatedVar___w, the optimizer's state as
/// PopART names it; an anchor on a weight is its value after the micro-batch. modelToHost writes
/// the model with the weights and the optimizer's state, without what is between two steps: a
/// session that is made from it goes on bit for bit (with the same random seed). It replaces the
/// file when the new one is complete.
class TrainingSession : public Session {
 public:
  ~TrainingSession() override;

  /// `model` is a file's name or the model itself. Throws popart::error: a loss that is no scalar,
  /// operators without a gradient (all of them), variables that are not floating point.
  static std::unique_ptr<TrainingSession> createFromOnnxModel(
      const std::string& model, const DataFlow& dataFlow, const TensorId& loss,
      const Optimizer& optimizer, std::shared_ptr<DeviceInfo> deviceInfo,
      const InputShapeInfo& inputShapeInfo = InputShapeInfo(),
      const SessionOptions& userOptions = SessionOptions(), const Patterns& patterns = Patterns(),
      const std::string name = "training");

  /// Gives hyperparameters that are not constant other values, from the next step on. Throws a
  /// runtime_error for any other change; see Optimizer::validReplacement.
  void updateOptimizerFromHost(const Optimizer* optimizer);
  /// The same from an Ir that was prepared for training.
  static std::unique_ptr<TrainingSession> createFromIr(std::shared_ptr<Ir> ir,
                                                       std::shared_ptr<DeviceInfo> deviceInfo,
                                                       const std::string name = "fromIr");
  /// Copies a variable in streaming memory, as one replica has it, to or from the program's memory.
  /// `buffer` is RB_NUMBER: Tensor::tensorLocationInfo has the number and the index of each variable.
  /// Throws a runtime_error if no variable lies there.
  void copyFromRemoteBuffer(const std::string& buffer, void* to, int repeatIndex,
                            unsigned replicationIndex = 0);
  void copyToRemoteBuffer(void* from, const std::string& buffer, int repeatIndex,
                          unsigned replicationIndex = 0);
  /// Copies the file `fromLocation`, in which the model has initializers' data, to the new file
  /// `toLocation`; modelToHost writes their values there from now on. (Without it, it writes one
  /// file.) Throws a runtime_error if there is no such file or initializer, or a file already.
  void updateExternallySavedTensorLocations(const std::string& fromLocation,
                                            const std::string& toLocation);

 private:
  using Session::Session;
};

class InferenceSession : public Session {
 public:
  ~InferenceSession() override;

  /// `model` is a file's name or the model itself (Builder::getModelProto).
  static std::unique_ptr<InferenceSession> createFromOnnxModel(
      const std::string& model, const DataFlow& dataFlow, std::shared_ptr<DeviceInfo> deviceInfo,
      const InputShapeInfo& inputShapeInfo = InputShapeInfo(),
      const SessionOptions& userOptions = SessionOptions(), const Patterns& patterns = Patterns(),
      const std::string name = "inference");
  /// The same from an Ir that was prepared for inference.
  static std::unique_ptr<InferenceSession> createFromIr(std::shared_ptr<Ir> ir,
                                                        std::shared_ptr<DeviceInfo> deviceInfo,
                                                        const std::string name = "fromIr");

 private:
  using Session::Session;
};

}  // namespace popart
