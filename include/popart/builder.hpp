#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <popart/attributes.hpp>
#include <popart/builder.gen.hpp>
#include <popart/dataflow.hpp>
#include <popart/debugcontext.hpp>
#include <popart/names.hpp>
#include <popart/op.hpp>
#include <popart/opidentifier.hpp>
#include <popart/tensorinfo.hpp>
#include <popart/tensorlocation.hpp>
#include <popart/variablesettings.hpp>
#include <popart/vendored/any.hpp>
#include <popart/voiddata.hpp>

namespace popart {

class BuilderImpl;

/// The operators of ai.onnx.ml: none has a method.
class AiOnnxMlOpset1 : public DomainOpSet {
 public:
  explicit AiOnnxMlOpset1(BuilderImpl& impl) : DomainOpSet(impl) {}
  int getOpsetVersion() const override { return 1; }
  const char* getDomain() const override { return "ai.onnx.ml"; }
};

/// Builds ONNX models, operator by operator. Throws popart::error.
///
/// Types and shapes follow as operators are added, as far as the library offers them; a session
/// refuses those that it does not.
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
  /// The builder of the graph around this one.
  void setParent(Builder* parent);
  Builder* getParent() const;
  /// Whether there is no parent: so PopART has it.
  bool hasParent() const { return getParent() == nullptr; }

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
  /// Checks that a graph around this one has the tensor; nodes may then use it here.
  void addInputTensorFromParentGraph(const TensorId& tensorId);
  /// A weight or constant with its elements, which are copied. It is no input of the model.
  TensorId addInitializedInputTensor(const ConstVoidData& initData,
                                     const DebugContext& debugContext = {});
  TensorId addInitializedInputTensor(const ConstVoidData& initData,
                                     const VariableSettings& variableSettings,
                                     const DebugContext& debugContext = {});
  void addOutputTensor(const TensorId& tensorId);

  AiOnnxOpset6 aiOnnxOpset6() { return AiOnnxOpset6(*impl_); }
  AiOnnxOpset7 aiOnnxOpset7() { return AiOnnxOpset7(*impl_); }
  AiOnnxOpset8 aiOnnxOpset8() { return AiOnnxOpset8(*impl_); }
  AiOnnxOpset9 aiOnnxOpset9() { return AiOnnxOpset9(*impl_); }
  AiOnnxOpset10 aiOnnxOpset10() { return AiOnnxOpset10(*impl_); }
  AiOnnxOpset11 aiOnnxOpset11() { return AiOnnxOpset11(*impl_); }
  // Not in PopART.
  AiOnnxOpset12 aiOnnxOpset12() { return AiOnnxOpset12(*impl_); }
  AiOnnxOpset13 aiOnnxOpset13() { return AiOnnxOpset13(*impl_); }
  AiOnnxOpset14 aiOnnxOpset14() { return AiOnnxOpset14(*impl_); }
  AiOnnxOpset15 aiOnnxOpset15() { return AiOnnxOpset15(*impl_); }
  AiOnnxOpset16 aiOnnxOpset16() { return AiOnnxOpset16(*impl_); }
  AiOnnxOpset17 aiOnnxOpset17() { return AiOnnxOpset17(*impl_); }
  AiOnnxMlOpset1 aiOnnxMlOpset1() { return AiOnnxMlOpset1(*impl_); }
  AiGraphcoreOpset1 aiGraphcoreOpset1() { return AiGraphcoreOpset1(*impl_); }

  /// Any operator. Attributes are int64_t, int, unsigned, bool, float, std::string, const char*,
  /// vectors of int64_t, float and std::string, ConstVoidData, and const Builder* (a subgraph).
  std::vector<TensorId> customOp(const OperatorIdentifier& opid, int opsetVersion,
                                 const std::vector<TensorId>& inputs, const unsigned numOutputs,
                                 const std::map<std::string, popart::any>& attributes,
                                 const DebugContext& debugContext = {});
  /// The same with names for the outputs.
  void customOp(const OperatorIdentifier& opid, int opsetVersion,
                const std::vector<TensorId>& inputs, const std::vector<TensorId>& outputs,
                const std::map<std::string, popart::any>& attributes,
                const DebugContext& debugContext = {});

  /// A reshape to a constant shape.
  template <class T>
  TensorId reshape_const(T& opset, const std::vector<TensorId>& args,
                         const std::vector<int64_t>& shape, const std::string& name = {}) {
    const TensorInfo info("INT64", Shape{static_cast<int64_t>(shape.size())});
    const ConstVoidData data{shape.data(), info};
    TensorId constant;
    // From opset 11 on, whether the value is sparse stands before the name.
    if constexpr (requires { opset.constant(data, false, name); }) {
      constant = opset.constant(data, false, name + "_const");
    } else {
      constant = opset.constant(data, name + "_const");
    }
    return opset.reshape({args.at(0), constant}, name);
  }

  // Where and how nodes run: attributes of the node that has these outputs.
  void virtualGraph(const TensorId& nodeOutputName, int64_t value = 0);
  void virtualGraph(const std::set<TensorId>& nodeOutputNames, int64_t value = 0);
  int64_t getVirtualGraph(const TensorId& nodeOutputName);
  int64_t getVirtualGraph(const std::set<TensorId>& nodeOutputNames);
  void executionPhase(const TensorId& nodeOutputName, int64_t value = 0);
  void executionPhase(const std::set<TensorId>& nodeOutputNames, int64_t value = 0);
  int64_t getExecutionPhase(const TensorId& nodeOutputName);
  int64_t getExecutionPhase(const std::set<TensorId>& nodeOutputNames);
  void pipelineStage(const TensorId& nodeOutputName, int64_t value);
  void pipelineStage(const std::set<TensorId>& nodeOutputNames, int64_t value);
  void outputTensorLocation(const TensorId& nodeOutputName, TensorLocation value);
  void recomputeOutput(const TensorId& nodeOutputName, RecomputeType value);
  void recomputeOutputInBackwardPass(const TensorId& nodeOutputName,
                                     RecomputeType value = RecomputeType::Recompute);
  void recomputeOutputInBackwardPass(const std::set<TensorId>& nodeOutputNames,
                                     RecomputeType value = RecomputeType::Recompute);
  bool getRecomputeOutputInBackwardPass(const TensorId& nodeOutputName);
  bool getRecomputeOutputInBackwardPass(const std::set<TensorId>& nodeOutputNames);
  /// An Identity behind each tensor, whose output is kept for the backward pass: use these.
  std::vector<TensorId> checkpointOutput(const std::vector<TensorId>& nodeOutputNames);
  void excludePatterns(const TensorId& nodeOutputName,
                       const std::vector<std::string>& patternNames);
  void excludePatterns(const std::set<TensorId>& nodeOutputNames,
                       const std::vector<std::string>& patternNames);
  /// `mode`: "input_channels", "reducing_dim", "output_channels" or "none".
  void setSerializeMatMul(const std::set<TensorId>& nodeOutputNames, std::string mode,
                          int64_t factor, bool keep_precision);
  void setPartialsType(const TensorId& nodeOutputName, const std::string partialsType);
  /// "FLOAT" if it is not set.
  std::string getPartialsType(const TensorId& nodeOutputName);
  void setEnableConvDithering(const TensorId& nodeOutputName, int64_t value);
  void setInplacePreferences(const TensorId& nodeOutputName, const std::map<OpType, float>& prefs);
  void setAvailableMemoryProportion(const TensorId& nodeOutputName,
                                    const float availableMemoryProportion);
  void setAvailableMemoryProportion(const std::set<TensorId>& nodeOutputNames,
                                    const float availableMemoryProportion);

  // Attributes of all nodes that are added from now on.
  void setAttribute(const std::string& attribute, popart::any value);
  popart::any getAttribute(const std::string& attribute) const;
  bool hasAttribute(const std::string& attribute) const;
  void clearAttribute(const std::string& attribute);
  int64_t getVirtualGraph() const;
  int64_t getExecutionPhase() const;
  int64_t getPipelineStage() const;
  bool hasVirtualGraph() const { return hasAttribute(sVirtualGraphAttribute); }
  bool hasExecutionPhase() const { return hasAttribute(sExecutionPhaseAttribute); }
  bool hasPipelineStage() const { return hasAttribute(sPipelineStageAttribute); }

  // Attributes of the node that has exactly these outputs; an error if there is no such node, or
  // if it has the attribute already.
  void addNodeAttribute(const std::string& attributeName, const int64_t& attributeValue,
                        const std::set<TensorId>& nodeOutputNames);
  void addNodeAttribute(const std::string& attributeName,
                        const std::vector<int64_t>& attributeValue,
                        const std::set<TensorId>& nodeOutputNames);
  void addNodeAttribute(const std::string& attributeName, const float& attributeValue,
                        const std::set<TensorId>& nodeOutputNames);
  void addNodeAttribute(const std::string& attributeName, const std::vector<float>& attributeValue,
                        const std::set<TensorId>& nodeOutputNames);
  void addNodeAttribute(const std::string& attributeName, const std::string& attributeValue,
                        const std::set<TensorId>& nodeOutputNames);
  void addNodeAttribute(const std::string& attributeName, const char* attributeValue,
                        const std::set<TensorId>& nodeOutputNames);
  void addNodeAttribute(const std::string& attributeName,
                        const std::vector<std::string>& attributeValue,
                        const std::set<TensorId>& nodeOutputNames);
  void addNodeAttribute(const std::string& attributeName, const bool attributeValue,
                        const std::set<TensorId>& nodeOutputNames);
  void addNodeAttribute(const std::string& attributeName, const ConstVoidData& attributeValue,
                        const std::set<TensorId>& nodeOutputNames);
  bool nodeHasAttribute(const std::string& attributeName,
                        const std::set<TensorId>& nodeOutputNames);
  int64_t getInt64NodeAttribute(const std::string& attributeName,
                                const std::set<TensorId>& nodeOutputNames);
  std::vector<int64_t> getInt64VectorNodeAttribute(const std::string& attributeName,
                                                   const std::set<TensorId>& nodeOutputNames);
  float getFloatNodeAttribute(const std::string& attributeName,
                              const std::set<TensorId>& nodeOutputNames);
  std::vector<float> getFloatVectorNodeAttribute(const std::string& attributeName,
                                                 const std::set<TensorId>& nodeOutputNames);
  std::string getStringNodeAttribute(const std::string& attributeName,
                                     const std::set<TensorId>& nodeOutputNames);
  std::vector<std::string> getStringVectorNodeAttribute(const std::string& attributeName,
                                                        const std::set<TensorId>& nodeOutputNames);
  bool getBoolNodeAttribute(const std::string& attributeName,
                            const std::set<TensorId>& nodeOutputNames);
  void removeNodeAttribute(const std::string& attributeName,
                           const std::set<TensorId>& nodeOutputNames);
  std::vector<std::string> getAllNodeAttributeNames(const std::set<TensorId>& nodeOutputNames);

  /// The model, serialised, or as protobuf's text.
  std::string getModelProto(bool humanReadable = false) const;
  void saveModelProto(const std::string& fn);
  /// Moves the elements of initialised tensors to a file: a model itself is limited to 2 GB. `fn`
  /// is absolute or relative to the working directory; programs that read a model's file look a
  /// relative name up in that file's folder.
  void saveInitializersExternally(const std::vector<TensorId>& ids, const std::string& fn);
  /// Remembers the number of replicas in the model's metadata.
  void embedReplicationFactor(int replicationFactor);

  std::vector<TensorId> getInputTensorIds() const;
  std::vector<TensorId> getOutputTensorIds() const;
  /// Outputs of nodes whose type is known.
  std::vector<TensorId> getValueTensorIds() const;
  /// Initialised tensors.
  std::vector<TensorId> getTrainableTensorIds() const;
  bool hasValueInfo(const TensorId& id) const;
  std::vector<int64_t> getTensorShape(const TensorId id);
  bool isInitializer(const TensorId id) const;
  /// In lower case: "float32".
  std::string getTensorDtypeString(const TensorId id);
  DataType getTensorDataType(const TensorId id);

  /// Names that are given from now on begin with "name/".
  void pushNameScope(const std::string& name);
  void popNameScope();
  std::string getNameScope(const std::string& name = "") const;

 private:
  friend class BuilderImpl;
  Builder();
  std::unique_ptr<BuilderImpl> impl_;
};

/// An attribute of all nodes that are added while this lives.
class AttributeContext {
 public:
  AttributeContext(Builder& builder, std::string attribute, popart::any value)
      : builder_(builder), attribute_(std::move(attribute)) {
    if (builder_.hasAttribute(attribute_)) before_ = builder_.getAttribute(attribute_);
    builder_.setAttribute(attribute_, std::move(value));
  }
  AttributeContext(const AttributeContext&) = delete;
  AttributeContext& operator=(const AttributeContext&) = delete;
  ~AttributeContext() {
    builder_.clearAttribute(attribute_);
    if (before_.has_value()) builder_.setAttribute(attribute_, before_);
  }

 private:
  Builder& builder_;
  std::string attribute_;
  popart::any before_;
};

/// A scope of names while this lives.
class NameContext {
 public:
  NameContext(Builder& builder, const std::string& name) : builder_(builder) {
    builder_.pushNameScope(name);
  }
  NameContext(const NameContext&) = delete;
  NameContext& operator=(const NameContext&) = delete;
  ~NameContext() { builder_.popNameScope(); }

 private:
  Builder& builder_;
};

}  // namespace popart
