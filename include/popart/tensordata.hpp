#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <popart/istepio.hpp>
#include <popart/tensorinfo.hpp>

namespace popart {

/// The elements of a constant, or those that a variable starts with: row-major, little-endian.
class TensorData {
 public:
  /// Copies as many bytes as the info says.
  TensorData(const TensorInfo& info, const void* elements);
  /// Shares them until somebody looks.
  TensorData(std::shared_ptr<const void> owner, const void* elements, std::size_t bytes)
      : owner_(std::move(owner)), shared_(elements), bytes_(bytes) {}

  void* data();
  const void* data() const;
  std::size_t size() const { return bytes_; }
  template <class T>
  std::vector<T> copyDataAs(int elements) const {
    const T* const first = static_cast<const T*>(data());
    return std::vector<T>(first, first + elements);
  }

 private:
  void own() const;
  std::shared_ptr<const void> owner_;
  const void* shared_ = nullptr;
  std::size_t bytes_ = 0;
  mutable std::vector<std::max_align_t> own_;
};

}  // namespace popart
