#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <popart/builder.hpp>
#include <popart/error.hpp>

#include <popart/vendored/onnx.hpp>

namespace popart {

/// The value of an attribute that a method was called with: a number, or a pointer to what outlives
/// the call.
class BuilderArgument {
 public:
  BuilderArgument(int64_t value) : kind_('i'), i_(value) {}
  BuilderArgument(float value) : kind_('f'), f_(value) {}
  BuilderArgument(const std::string& value) : kind_('s'), p_(&value) {}
  BuilderArgument(const std::vector<int64_t>& value) : kind_('I'), p_(&value) {}
  BuilderArgument(const std::vector<float>& value) : kind_('F'), p_(&value) {}
  BuilderArgument(const std::vector<std::string>& value) : kind_('S'), p_(&value) {}
  BuilderArgument(const ConstVoidData& value) : kind_('t'), p_(&value) {}
  BuilderArgument(const Builder& value) : kind_('g'), p_(&value) {}
  /// Nothing was given.
  BuilderArgument() = default;
  template <class T>
  BuilderArgument(const nonstd::optional<T>& value) {
    if (!value) return;
    *this = BuilderArgument(*value);
    certain_ = true;
  }

  char kind() const { return kind_; }  ///< as in BuilderMethod; 0: not given
  /// Whether it was given for certain: an empty list is then a value, too.
  bool certain() const { return certain_; }
  int64_t integer() const { return i_; }
  float real() const { return f_; }
  template <class T>
  const T& as() const {
    return *static_cast<const T*>(p_);
  }

 private:
  char kind_ = 0;
  bool certain_ = false;
  int64_t i_ = 0;
  float f_ = 0;
  const void* p_ = nullptr;
};

/// ONNX's number of an element type by its name: "FLOAT", "INT32".
int64_t elementTypeNumber(const std::string& name);
void refuseSparse(bool isSparse);

/// The model that a builder makes. A subgraph's builder has a graph only.
class BuilderImpl {
 public:
  explicit BuilderImpl(Builder* parent);
  void read(const std::string& modelProtoOrFilename);

  TensorId addInput(const TensorInfo& info, const DebugContext& context);
  TensorId addUntypedInput(const DebugContext& context);
  TensorId addInitialized(const ConstVoidData& data, const Shape& shape,
                          const DebugContext& context);
  void addOutput(const TensorId& id);
  /// Throws unless the tensor is known here or in a graph around.
  void checkKnown(const TensorId& id) const;
  bool isKnown(const TensorId& id) const;
  bool isInitializer(const TensorId& id) const { return initializers_.contains(id); }

  /// Adds an operator that has a method.
  std::vector<TensorId> addOperator(const char* domain, const char* op, int opset,
                                    const std::vector<TensorId>& inputs, unsigned outputs,
                                    std::initializer_list<BuilderArgument> attributes,
                                    const DebugContext& context);
  /// Adds any node. `outputs`: their names, or empty ones that are to be made up.
  std::vector<TensorId> addNode(const std::string& domain, const std::string& op, int opset,
                                const std::vector<TensorId>& inputs, std::vector<TensorId> outputs,
                                std::vector<::onnx::AttributeProto> attributes,
                                const DebugContext& context);
  /// Node by its outputs, all of them.
  ::onnx::NodeProto& node(const std::set<TensorId>& outputs);
  ::onnx::AttributeProto& newAttribute(const std::string& name, const std::set<TensorId>& outputs);
  const ::onnx::AttributeProto& attribute(const std::string& name,
                                          const std::set<TensorId>& outputs,
                                          ::onnx::AttributeProto::AttributeType type,
                                          const char* otherwise);
  void removeAttribute(const std::string& name, const std::set<TensorId>& outputs);

  ::onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  const ::onnx::GraphProto& graph() const { return model_.graph(); }
  /// The model as it is now; files that hold data have names relative to `folder` if they are in
  /// it.
  std::string serialized(const std::string& folder = ".");
  std::string text();
  void moveOut(const std::vector<TensorId>& ids, const std::string& file);
  void setMetadata(const std::string& key, const std::string& value);
  int replicationFactor() const;
  int opset(const std::string& domain) const;

  /// Null if nothing is known of the tensor's type.
  const ::onnx::ValueInfoProto* info(const TensorId& id) const;
  const ::onnx::ValueInfoProto& knownInfo(const TensorId& id) const;

  void pushScope(const std::string& name) { scopes_.push_back(name); }
  void popScope() {
    if (!scopes_.empty()) scopes_.pop_back();
  }
  std::string scoped(const std::string& name) const;

  static const BuilderImpl& of(const Builder& builder) { return *builder.impl_; }

  Builder* parent;
  std::vector<std::unique_ptr<Builder>> children;
  std::map<std::string, popart::any> attributes;  ///< of nodes to come

 private:
  const BuilderImpl& root() const;
  const BuilderImpl* outer() const { return parent == nullptr ? nullptr : &of(*parent); }
  /// A name that no tensor has in this graph, in those around it or in those inside.
  std::string unique(const std::string& name) const;
  bool isTaken(const std::string& name) const;
  bool isTakenHereOrInside(const std::string& name) const;
  void useOpset(const std::string& domain, int opset);
  void keepInfo(const ::onnx::ValueInfoProto& info);
  /// Finds types, shapes and perhaps values of a node's outputs.
  void infer(const ::onnx::NodeProto& node);
  bool addForInference(const TensorId& id, ::onnx::GraphProto& graph) const;

  ::onnx::ModelProto model_;
  std::map<std::string, int> opsets_;  // by domain, of the outermost builder
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, ::onnx::ValueInfoProto> infos_;
  std::unordered_map<std::string, int> initializers_;            // index in the graph
  std::unordered_map<std::string, int> producers_;               // of an output: its node
  std::unordered_map<std::string, ::onnx::TensorProto> values_;  // of small constants
  std::unordered_map<std::string, std::string> files_;  // of initializers that were moved out
  std::vector<std::string> scopes_;
};

/// An attribute without a value.
::onnx::AttributeProto namedAttribute(const std::string& name);
void setValue(::onnx::AttributeProto& attribute, const BuilderArgument& value);
void setValue(::onnx::AttributeProto& attribute, const popart::any& value);

}  // namespace popart
