#pragma once

#include <vector>

#include <popart/tensorinfo.hpp>

namespace popart {

/// Elements to read, and their info.
class ConstVoidData {
 public:
  ConstVoidData() = default;
  ConstVoidData(const void* elements, const TensorInfo& elementsInfo)
      : data(elements), info(elementsInfo) {}

  const void* data = nullptr;
  TensorInfo info;

  /// Whether it owns the elements.
  bool storesData() const { return owns_; }
  void store(std::vector<char>&& elements, const TensorInfo& elementsInfo);

  ConstVoidData(const ConstVoidData& other);
  ConstVoidData& operator=(const ConstVoidData& other);

 private:
  std::vector<char> own_;
  bool owns_ = false;
};

/// Memory to write, and the info of what belongs there.
class MutableVoidData {
 public:
  void* data = nullptr;
  TensorInfo info;
};

}  // namespace popart
