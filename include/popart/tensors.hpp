#pragma once

#include <cstddef>
#include <iosfwd>
#include <map>
#include <memory>
#include <vector>

#include <popart/names.hpp>
#include <popart/scope.hpp>
#include <popart/tensor.hpp>
#include <popart/vectorandset.hpp>

namespace popart {

/// The tensors of a graph by their ids.
class Tensors {
 public:
  /// Throws popart::error if there is none.
  Tensor* get(const TensorId& id) const;
  bool contains(const TensorId& id) const { return tensors_.count(id) != 0; }
  bool contains(const TensorId& id, const Scope& scope) const;
  /// The id in the innermost graph of the scope that has the tensor. Throws popart::error.
  TensorId find(const TensorId& id, const Scope& scope) const;
  std::size_t n() const { return tensors_.size(); }

  std::vector<Tensor*> getAll() const;
  std::vector<Tensor*> getOfType(TensorType type) const;
  std::vector<Tensor*> getOfType(const std::vector<TensorType>& types) const;
  std::vector<TensorId> getIds(TensorType type) const;
  std::vector<TensorId> getAllTensorIds() const;
  std::vector<TensorId> getNoProducerIds() const;
  const VectorAndSet& getConstIds() const { return constants_; }
  void append(std::ostream& stream) const;

 private:
  friend class detail::ViewBuilder;
  std::map<TensorId, std::unique_ptr<Tensor>> tensors_;
  VectorAndSet constants_;
};

}  // namespace popart
