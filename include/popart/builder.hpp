#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <popart/builder.gen.hpp>
#include <popart/dataflow.hpp>
#include <popart/debugcontext.hpp>
#include <popart/names.hpp>
#include <popart/tensorinfo.hpp>
#include <popart/voiddata.hpp>

namespace popart {

class BuilderImpl;

/// Builds ONNX models, operator by operator.
class Builder {
 public:
  static std::unique_ptr<Builder> create();
  /// A builder that starts with a model: a file's name or the model itself.
  static std::unique_ptr<Builder> createFromOnnxModel(const std::string& modelProtoOrFilename);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  /// A builder of a subgraph, which may use this one's tensors. Owned by this one.
  Builder& createSubgraphBuilder();
  void setGraphName(const std::string& name);

  /// Inputs of the model; their names are "input" unless the context has one.
  TensorId addInputTensor(const TensorInfo& tensorInfo, const DebugContext& debugContext = {});
  TensorId addInputTensor(const std::string& dataType, const Shape& shape,
                          const DebugContext& debugContext = {});
  TensorId addInputTensor(const TensorInfo& tensorInfo, const InputSettings& settings,
                          const DebugContext& debugContext = {});
  TensorId addInputTensor(const std::string& dataType, const Shape& shape,
                          const InputSettings& settings, const DebugContext& debugContext = {});
  /// An input of unknown type and shape; in subgraphs only.
  TensorId addUntypedInputTensor(const DebugContext& debugContext = {});
  void addInputTensorFromParentGraph(const TensorId& tensorId);
  /// A weight or constant with its elements, which are copied.
  TensorId addInitializedInputTensor(const ConstVoidData& initData,
                                     const DebugContext& debugContext = {});
  void addOutputTensor(const TensorId& tensorId);

  AiOnnxOpset6 aiOnnxOpset6();
  AiOnnxOpset7 aiOnnxOpset7();
  AiOnnxOpset8 aiOnnxOpset8();
  AiOnnxOpset9 aiOnnxOpset9();
  AiOnnxOpset10 aiOnnxOpset10();
  AiOnnxOpset11 aiOnnxOpset11();

  /// A reshape to a constant shape.
  TensorId reshape_const(AiOnnxOpset6& opset, const std::vector<TensorId>& args,
                         const std::vector<int64_t>& shape, const std::string& name = {});

  /// The model, serialised.
  std::string getModelProto(bool humanReadable = false) const;
  void saveModelProto(const std::string& fn);

  std::vector<TensorId> getInputTensorIds() const;
  std::vector<TensorId> getOutputTensorIds() const;
  std::vector<TensorId> getValueTensorIds() const;
  std::vector<TensorId> getTrainableTensorIds() const;
  bool hasValueInfo(const TensorId& id) const;
  std::vector<int64_t> getTensorShape(const TensorId id);
  bool isInitializer(const TensorId id) const;
  std::string getTensorDtypeString(const TensorId id);
  DataType getTensorDataType(const TensorId id);

  void pushNameScope(const std::string& name);
  void popNameScope();
  std::string getNameScope(const std::string& name = "") const;

 private:
  friend class BuilderImpl;
  Builder();
  std::unique_ptr<BuilderImpl> impl_;
};

}  // namespace popart
