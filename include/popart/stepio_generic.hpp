#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include <popart/error.hpp>
#include <popart/istepio.hpp>
#include <popart/stepio_size_assertion.hpp>
#include <popart/tensorinfo.hpp>

namespace popart {

/// Step IO by arrays of a program's own type, which ACCESSOR_TYPE knows: static functions
/// getDataPointer, getArraySize, getArrayDataType, getArrayRank and getArrayDim of an ARRAY_TYPE. A
/// class derived from this one fills the two maps. Each request takes the next elements of an array
/// and starts over at its end.
template <class ARRAY_TYPE, class ACCESSOR_TYPE, class ArrayInfoT>
class StepIOGeneric : public IStepIO {
  struct ArrayInfo {
    ArrayInfoT array;
    int64_t offset;  ///< bytes
  };

 public:
  void assertNumElements(const popx::Executablex& executable) const final {
    const auto elementsOf = [](const ArrayInfo& own) {
      return static_cast<int64_t>(ACCESSOR_TYPE::getArraySize(own.array));
    };
    iosizecheck::assertInCorrect(executable, inputsInfo, elementsOf);
    iosizecheck::assertOutCorrect(executable, outputsInfo, elementsOf);
  }

  TensorInfo getTensorInfo(ARRAY_TYPE& array) const {
    Shape shape;
    for (std::size_t i = 0; i < ACCESSOR_TYPE::getArrayRank(array); ++i) {
      shape.push_back(ACCESSOR_TYPE::getArrayDim(array, i));
    }
    return TensorInfo(ACCESSOR_TYPE::getArrayDataType(array), shape);
  }
  /// The elements at an array's place; with `advance` the next request gets those behind them.
  template <class T>
  T get(TensorId id, std::map<TensorId, ArrayInfo>& arrays, int64_t numElements, bool advance,
        std::string mapName) {
    ArrayInfo& own = find(id, arrays, mapName);
    T data;
    data.info = getTensorInfo(own.array);
    if (own.offset + bytesOf(data.info, numElements) > data.info.nbytes()) {
      throw error("Tensor {} of {} has {} elements, which are no whole number of requests for {}",
                  id, mapName, data.info.nelms(), numElements);
    }
    data.data = static_cast<std::uint8_t*>(ACCESSOR_TYPE::getDataPointer(own.array)) + own.offset;
    if (advance) move(own, data.info, numElements);
    return data;
  }
  template <class T>
  void advance(TensorId id, std::map<TensorId, ArrayInfo>& arrays, int64_t numElements,
               std::string mapName) {
    ArrayInfo& own = find(id, arrays, mapName);
    move(own, getTensorInfo(own.array), numElements);
  }

  ConstVoidData in(TensorId id, int64_t numElements, bool, bool) final {
    return get<ConstVoidData>(id, inputsInfo, numElements, false, "inputs");
  }
  void inComplete(TensorId id, int64_t numElements, bool) final {
    advance<ConstVoidData>(id, inputsInfo, numElements, "inputs");
  }
  MutableVoidData out(TensorId id, int64_t numElements) final {
    return get<MutableVoidData>(id, outputsInfo, numElements, true, "outputs");
  }

 protected:
  StepIOGeneric() = default;
  std::map<TensorId, ArrayInfo> outputsInfo, inputsInfo;

 private:
  static int64_t bytesOf(const TensorInfo& info, int64_t numElements) {
    return static_cast<int64_t>(info.getDataTypeInfo()->nbytes()) * numElements;
  }
  static void move(ArrayInfo& own, const TensorInfo& info, int64_t numElements) {
    own.offset += bytesOf(info, numElements);
    if (own.offset == info.nbytes()) own.offset = 0;
  }
  ArrayInfo& find(const TensorId& id, std::map<TensorId, ArrayInfo>& arrays,
                  const std::string& mapName) const {
    const auto found = arrays.find(id);
    if (found == arrays.end()) throw error("No tensor {} provided in StepIO's {}", id, mapName);
    return found->second;
  }
};

}  // namespace popart
