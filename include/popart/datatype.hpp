#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include <popart/half.hpp>

namespace popart {

/// The order is PopART's: attributes of ai.graphcore.Init hold these numbers.
enum class DataType {
  // fixed point, and what is stored as such
  UINT8 = 0,
  INT8,
  FLOAT8_143,
  FLOAT8_152,
  UINT16,
  INT16,
  INT32,
  INT64,
  UINT32,
  UINT64,
  BOOL,
  // floating point
  FLOAT,
  FLOAT16,
  BFLOAT16,
  DOUBLE,
  COMPLEX64,
  COMPLEX128,
  // others
  STRING,
  UNDEFINED,
};

template <typename T>
DataType getDataType();
template <>
DataType getDataType<int8_t>();
template <>
DataType getDataType<int16_t>();
template <>
DataType getDataType<int32_t>();
template <>
DataType getDataType<int64_t>();
template <>
DataType getDataType<uint8_t>();
template <>
DataType getDataType<uint16_t>();
template <>
DataType getDataType<uint32_t>();
template <>
DataType getDataType<uint64_t>();
template <>
DataType getDataType<bool>();
template <>
DataType getDataType<float16_t>();
template <>
DataType getDataType<float>();
template <>
DataType getDataType<double>();
template <>
DataType getDataType<std::string>();

/// What an IPU computes with for a type that it does not have: INT32 for INT64, UINT32 for UINT64.
DataType getCompatibleDataType(DataType type);
/// "FLOAT", "INT32", ...; throws popart::error for other texts.
DataType dataTypeFromString(const std::string& name);
/// ONNX's number of the type.
int64_t getONNXDataTypeAsInt(DataType type);

std::ostream& operator<<(std::ostream& stream, const DataType& type);

}  // namespace popart
