#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include <popart/datatype.hpp>
#include <popart/error.hpp>
#include <popart/half.hpp>
#include <popart/names.hpp>

namespace popart {

/// One element type: number of bytes of an element, names.
class DataTypeInfo {
 public:
  DataTypeInfo(DataType type, int nbytes, bool isFixedPoint, std::string name,
               std::string lcasename);
  DataType type() const { return type_; }
  const int& nbytes() const { return nbytes_; }
  const std::string& name() const { return name_; }
  const std::string& lcasename() const { return lcasename_; }
  bool isFixedPoint() const { return isFixedPoint_; }

 private:
  DataType type_;
  int nbytes_;
  bool isFixedPoint_;
  std::string name_, lcasename_;
};

const std::map<DataType, DataTypeInfo>& getDataTypeInfoMap();
const std::map<std::string, DataType>& getStrToDataTypeMap();

/// Element type and shape of a tensor.
class TensorInfo {
 public:
  TensorInfo() = default;
  TensorInfo(DataType type, const Shape& shape);
  TensorInfo(DataType type, const Shape& shape, const Shape& metaShape);
  TensorInfo(std::string type, const Shape& shape);
  /// TensorInfo("FLOAT", "(2,3)")
  TensorInfo(std::string type, std::string shape);

  void set(DataType type);
  void set(DataType type, const Shape& shape);
  void set(DataType type, const Shape& shape, const Shape& metaShape);

  const Shape& shape() const { return shape_; }
  const Shape& metaShape() const { return metaShape_; }
  std::vector<size_t> shape_szt() const;
  Rank rank() const { return static_cast<int>(shape_.size()); }
  int64_t nelms() const;
  int64_t nbytes() const;
  int64_t dim(int i) const;
  /// The strides, in elements, of a dense tensor of this shape.
  std::vector<int> strides() const;
  DataType dataType() const;
  const std::string& data_type() const;
  const std::string& data_type_lcase() const;
  const DataTypeInfo* getDataTypeInfo() const { return info_; }
  void append(std::ostream& stream) const;
  bool isSet() const { return info_ != nullptr; }
  bool operator==(const TensorInfo& other) const;
  bool operator!=(const TensorInfo& other) const { return !(*this == other); }
  /// "(2,3)" as a shape.
  Shape shapeFromString(const std::string& text) const;

 private:
  const DataTypeInfo* info_ = nullptr;
  Shape shape_;
  Shape metaShape_;
};

std::ostream& operator<<(std::ostream& stream, const TensorInfo& info);

}  // namespace popart
