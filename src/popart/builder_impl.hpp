#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <halftone/graph/graph.hpp>
#include <popart/builder.hpp>

namespace popart {

/// Records nodes, each by the struct that has its meaning in the version of the operator set that
/// the program uses, and knows what follows from them.
class BuilderImpl {
 public:
  explicit BuilderImpl(BuilderImpl* parent) : parent_(parent) {}

  TensorId addInput(const halftone::TensorInfo& info, const DebugContext& context);
  TensorId addUntypedInput(const DebugContext& context);
  /// The tensor of this graph that stands for a tensor of an outer one.
  halftone::TensorId capture(const TensorId& id);
  TensorId addInitialized(const ConstVoidData& data, halftone::Role role, const char* name,
                          const DebugContext& context);
  void addOutput(const TensorId& id);
  std::vector<TensorId> addNode(const std::string& type, int opset,
                                const std::vector<TensorId>& inputs, unsigned outputs,
                                const std::vector<BuilderAttribute>& attributes,
                                const DebugContext& context);

  /// Throws popart::error if there is none.
  halftone::TensorId find(const TensorId& id) const;
  halftone::Graph& graph() { return graph_; }
  const halftone::Graph& graph() const { return graph_; }
  static const BuilderImpl& of(const Builder& builder) { return *builder.impl_; }

  void pushScope(const std::string& name) { scopes_.push_back(name); }
  void popScope() {
    if (!scopes_.empty()) scopes_.pop_back();
  }
  std::string scoped(const std::string& name) const;

  std::vector<std::unique_ptr<Builder>> children;

 private:
  /// A name that no tensor has in this graph, in those around it or in those inside.
  std::string unique(const std::string& name) const;
  bool isTaken(const std::string& name) const;
  bool isTakenHereOrInside(const std::string& name) const;
  halftone::TensorId resolve(const TensorId& id);
  void useOpset(int opset);
  std::vector<halftone::TensorInfo> infer(const halftone::Descriptor& op,
                                          const std::vector<halftone::Word>& words,
                                          const std::vector<halftone::TensorId>& inputs,
                                          std::size_t outputs);
  /// Takes the graphs of subgraph attributes; captured tensors become inputs of node and graphs.
  std::map<std::string, std::int32_t> addGraphs(const std::vector<BuilderAttribute>& attributes,
                                                std::vector<halftone::TensorId>& inputs);

  BuilderImpl* parent_;
  halftone::Graph graph_;
  std::vector<std::string> scopes_;
  std::vector<std::string> captured_;  // names, here and in the graph around
  int opset_ = 0;                      // 0: none used yet
};

}  // namespace popart
