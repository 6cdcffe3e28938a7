#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <popart/dataflow.hpp>
#include <popart/names.hpp>
#include <popart/optimizer.hpp>
#include <popart/sessionoptions.hpp>

namespace popart {

/// What a session was made of.
class Ir {
 public:
  /// A node as the library has it: in training, also of gradients and updates.
  struct Operator {
    std::string domain, type, name;
    std::vector<TensorId> inputs, outputs;  ///< an empty name: absent
  };

  Ir(const DataFlow& dataFlow, const SessionOptions& options, const Optimizer* optimizer,
     std::vector<TensorId> inputs, std::set<TensorId> tensors, std::vector<Operator> operators);

  bool canTrain() const { return optimizer_ != nullptr; }
  bool canInfer() const { return !canTrain(); }
  bool isTraining() const { return canTrain(); }
  const DataFlow& getDataFlow() const { return dataFlow_; }
  const SessionOptions& getSessionOptions() const { return options_; }
  /// The optimizer that the session was made with. Throws popart::error in inference.
  const Optimizer& getOptimizer() const;
  const std::vector<TensorId>& getModelInputIds() const { return inputs_; }
  bool isAnchored(const TensorId& id) const;
  /// Whether a tensor has that name; gradients and the optimizer's state are tensors, too.
  bool containsTensor(const TensorId& id) const { return tensors_.count(id) != 0; }
  /// In their order; without those in subgraphs.
  const std::vector<Operator>& getOperators() const { return operators_; }

 private:
  DataFlow dataFlow_;
  SessionOptions options_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<TensorId> inputs_;
  std::set<TensorId> tensors_;
  std::vector<Operator> operators_;
};

}  // namespace popart
