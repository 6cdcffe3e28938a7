#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include <popart/graphid.hpp>
#include <popart/names.hpp>
#include <popart/op.hpp>
#include <popart/scheduler_requireoptimal.hpp>
#include <popart/tensor.hpp>
#include <popart/tensorindex.hpp>
#include <popart/tensors.hpp>

namespace popart {

class TopoCons;

/// A graph of what will run: the main one, or one that an operator calls. A view: changing it changes
/// no session.
class Graph {
 public:
  Graph(Ir& itsIr, const GraphId& name);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  const GraphId id;
  /// It says which operators come before others because those write to what they read.
  std::unique_ptr<TopoCons> topoCons;
  static constexpr int64_t NoVGraph = -1;

  const std::map<OpId, std::unique_ptr<Op>>& getOps() const { return ops_; }
  std::map<OpId, std::unique_ptr<Op>>& getOps() { return ops_; }
  std::vector<OpId> getOpIds() const;
  /// Throws popart::error if the graph has no such operator.
  Op* getOp(OpId op) const;
  Op* getOpUnsafe(OpId op) const;
  /// The order in which the operators run; there is one.
  std::vector<Op*> getOpSchedule(
      const OpsBeforeKey& before = {},
      RequireOptimalSchedule optimal = RequireOptimalSchedule::Yes) const;
  bool isSchedulable(const OpsBeforeKey&, bool = false) const { return true; }

  const Tensors& getTensors() const { return tensors_; }
  Tensors& getTensors() { return tensors_; }
  Tensor* getTensor(const TensorId& tensor) const { return tensors_.get(tensor); }

  const std::vector<TensorId>& getInputIds() const { return inputs_; }
  TensorId getInputId(InIndex index) const { return inputs_.at(static_cast<std::size_t>(index)); }
  InIndex getInputIndex(const TensorId& tensor) const;
  Tensor* getInputTensor(InIndex index) const { return tensors_.get(getInputId(index)); }
  bool hasInputId(const TensorId& tensor) const;
  const std::vector<TensorId>& getOutputIds() const { return outputs_; }
  TensorId getOutputId(OutIndex index) const {
    return outputs_.at(static_cast<std::size_t>(index));
  }
  OutIndex getOutputIndex(const TensorId& tensor) const;
  Tensor* getOutputTensor(OutIndex index) const { return tensors_.get(getOutputId(index)); }
  bool hasOutputId(const TensorId& tensor) const;
  const TensorId& getLoss() const { return loss_; }

  /// Each graph that an operator calls, once.
  std::vector<const Graph*> getCalledGraphs() const;
  /// The operators that call this graph.
  std::vector<Op*> getCallSiteOps() const;
  std::vector<Op*> getCallSiteOps(std::size_t most) const;
  /// The operators that read what each operator makes.
  std::map<OpId, std::unordered_set<OpId>> getEdgeMap() const;
  const std::set<int64_t> getAllVirtualGraphIds(bool includeInvalid) const;
  const std::map<int64_t, int> getVirtualGraphCounts() const;
  bool hasUserRecomputeOps() const;

  Scope getScope() const;
  TensorId removeScope(const TensorId& scoped) const;
  const std::string& getGraphId() const { return id.str(); }
  std::string getGraphString() const;
  Ir& getIr() { return *ir_; }
  const Ir& getIr() const { return *ir_; }

 private:
  friend class detail::ViewBuilder;
  Ir* ir_;
  Tensors tensors_;
  std::map<OpId, std::unique_ptr<Op>> ops_;
  std::vector<Op*> schedule_;
  std::vector<TensorId> inputs_, outputs_;
  TensorId loss_;
};

}  // namespace popart
