#pragma once

#include <map>
#include <string>
#include <vector>

#include <popart/tensor.hpp>

namespace popart {

/// The inputs or outputs of an operator by their index.
class TensorIndexMap {
 public:
  struct TensorPtrComparator {
    bool operator()(const Tensor* a, const Tensor* b) const {
      if (a == nullptr || b == nullptr) return a == nullptr && b != nullptr;
      return a->id < b->id;
    }
  };

  void insert(int index, Tensor* tensor);
  bool contains(Tensor* tensor) const { return indices_.count(tensor) != 0; }
  bool hasIndex(int index) const { return tensors_.count(index) != 0; }
  /// Throw popart::error for an index that has no tensor, or a tensor that has no index.
  Tensor* tensor(int index);
  const Tensor* tensor(int index) const;
  TensorId id(int index) const;
  const std::vector<int>& indices(Tensor* tensor) const;

  const std::map<Tensor*, std::vector<int>, TensorPtrComparator>& indicesMap() const {
    return indices_;
  }
  const std::map<int, Tensor*>& tensorMap() const { return tensors_; }
  /// Each once.
  const std::vector<Tensor*> tensors() const;
  std::map<int, TensorId> tensorIdMap() const;
  std::map<int, Shape> getIndexShapeMap() const;
  /// How many indices there are, and the largest one (-1: there are none).
  int n() const { return static_cast<int>(tensors_.size()); }
  int maxIndex() const { return tensors_.empty() ? -1 : tensors_.rbegin()->first; }
  /// Ids up to the largest index; empty ones where there is no tensor.
  std::vector<TensorId> getSerialised() const;
  int maxIdLength() const;

 private:
  std::map<int, Tensor*> tensors_;
  std::map<Tensor*, std::vector<int>, TensorPtrComparator> indices_;
};

}  // namespace popart
