#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

#include <popart/iarray.hpp>
#include <popart/names.hpp>
#include <popart/tensorinfo.hpp>

namespace popart {

/// An array around memory of the program's own, which must outlive it.
template <typename T>
class NDArrayWrapper : public IArray {
 public:
  NDArrayWrapper(T* data, const TensorInfo& info) : data_(data), info_(info) {}
  NDArrayWrapper(T* data, const std::vector<int64_t>& shape)
      : NDArrayWrapper(data, TensorInfo(getDataType<T>(), shape)) {}
  NDArrayWrapper(const NDArrayWrapper&) = default;

  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }
  T& operator[](const std::vector<int64_t>& indices) { return data_[flatten(indices)]; }
  const T& operator[](const std::vector<int64_t>& indices) const { return data_[flatten(indices)]; }

  /// The indices of element `i` of the dense array, and back.
  std::vector<int64_t> unflatten(int64_t i) const {
    std::vector<int64_t> indices(info_.shape().size());
    for (std::size_t d = indices.size(); d > 0; --d) {
      const int64_t extent = info_.shape()[d - 1];
      indices[d - 1] = i % extent;
      i /= extent;
    }
    return indices;
  }
  int64_t flatten(const std::vector<int64_t>& indices) const {
    int64_t i = 0;
    for (std::size_t d = 0; d < indices.size(); ++d) i = i * info_.shape()[d] + indices[d];
    return i;
  }

  void* data() final { return static_cast<void*>(data_); }
  DataType dataType() const final { return info_.dataType(); }
  std::size_t rank() const final { return static_cast<std::size_t>(info_.rank()); }
  int64_t dim(std::size_t index) const final { return info_.dim(static_cast<int>(index)); }
  std::size_t nelms() const final { return static_cast<std::size_t>(info_.nelms()); }
  const Shape shape() const final { return info_.shape(); }

 private:
  T* data_;
  const TensorInfo info_;
};

template <typename T>
std::ostream& operator<<(std::ostream& stream, const NDArrayWrapper<T>& array) {
  stream << "{";
  for (int64_t i = 0; i < static_cast<int64_t>(array.nelms()); ++i) {
    stream << (i == 0 ? "" : ", ") << array[i];
  }
  return stream << "}";
}

}  // namespace popart
