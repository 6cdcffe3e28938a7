#include <popart/tensorinfo.hpp>

#include <cstdlib>
#include <ostream>
#include <sstream>

#include <popart/debugcontext.hpp>
#include <popart/half.hpp>
#include <popart/tensordebuginfo.hpp>
#include <popart/voiddata.hpp>

#include "popart/convert.hpp"

namespace popart {

namespace {

using halftone::ElementType;

struct DataTypeRow {
  DataType type;
  ElementType native;
  const char* name;
  const char* lower;
};

constexpr DataTypeRow data_types[] = {
    {DataType::UINT8, ElementType::uint8, "UINT8", "uint8"},
    {DataType::INT8, ElementType::int8, "INT8", "int8"},
    {DataType::UINT16, ElementType::uint16, "UINT16", "uint16"},
    {DataType::INT16, ElementType::int16, "INT16", "int16"},
    {DataType::INT32, ElementType::int32, "INT32", "int32"},
    {DataType::INT64, ElementType::int64, "INT64", "int64"},
    {DataType::UINT32, ElementType::uint32, "UINT32", "uint32"},
    {DataType::UINT64, ElementType::uint64, "UINT64", "uint64"},
    {DataType::BOOL, ElementType::boolean, "BOOL", "bool"},
    {DataType::FLOAT, ElementType::float32, "FLOAT", "float32"},
    {DataType::FLOAT16, ElementType::float16, "FLOAT16", "float16"},
    {DataType::BFLOAT16, ElementType::bfloat16, "BFLOAT16", "bfloat16"},
    {DataType::FLOAT8_143, ElementType::float8_e4m3fnuz, "FLOAT8_143", "float8_143"},
    {DataType::FLOAT8_152, ElementType::float8_e5m2fnuz, "FLOAT8_152", "float8_152"},
    {DataType::DOUBLE, ElementType::float64, "DOUBLE", "float64"},
    {DataType::COMPLEX64, ElementType::complex64, "COMPLEX64", "complex64"},
    {DataType::COMPLEX128, ElementType::complex128, "COMPLEX128", "complex128"},
    {DataType::STRING, ElementType::string, "STRING", "string"},
    {DataType::UNDEFINED, ElementType::undefined, "UNDEFINED", "undefined"},
};

const DataTypeRow& row(DataType type) {
  for (const DataTypeRow& r : data_types) {
    if (r.type == type) return r;
  }
  throw internal_error("Unknown DataType {}", static_cast<int>(type));
}

template <class T>
std::string listed(const std::vector<T>& values) {
  std::ostringstream stream;
  stream << '[' << logging::join(values.begin(), values.end(), " ") << ']';
  return stream.str();
}

}  // namespace

namespace detail {

ElementType toNative(DataType type) { return row(type).native; }

DataType fromNative(ElementType type) {
  for (const DataTypeRow& r : data_types) {
    if (r.native == type) return r.type;
  }
  throw error("Element type {} has no name among PopART's", halftone::name(type));
}

halftone::TensorInfo toNative(const TensorInfo& info) {
  if (!info.isSet()) throw error("TensorInfo is not set");
  if (info.shape().size() > halftone::max_rank) {
    throw error("Tensors have at most {} dimensions, not {}", halftone::max_rank,
                info.shape().size());
  }
  halftone::TensorInfo native;
  native.type = toNative(info.dataType());
  for (const int64_t extent : info.shape()) native.shape.push_back(extent);
  return native;
}

TensorInfo fromNative(const halftone::TensorInfo& info) {
  return TensorInfo(fromNative(info.type), Shape(info.shape.begin(), info.shape.end()));
}

}  // namespace detail

#define POPART_TYPE(T, name)  \
  template <>                 \
  DataType getDataType<T>() { \
    return DataType::name;    \
  }
POPART_TYPE(int8_t, INT8)
POPART_TYPE(int16_t, INT16)
POPART_TYPE(int32_t, INT32)
POPART_TYPE(int64_t, INT64)
POPART_TYPE(uint8_t, UINT8)
POPART_TYPE(uint16_t, UINT16)
POPART_TYPE(uint32_t, UINT32)
POPART_TYPE(uint64_t, UINT64)
POPART_TYPE(bool, BOOL)
POPART_TYPE(float16_t, FLOAT16)
POPART_TYPE(float, FLOAT)
POPART_TYPE(double, DOUBLE)
POPART_TYPE(std::string, STRING)
#undef POPART_TYPE

DataType getCompatibleDataType(DataType type) {
  if (type == DataType::INT64) return DataType::INT32;
  if (type == DataType::UINT64) return DataType::UINT32;
  return type;
}

DataType dataTypeFromString(const std::string& name) {
  const auto found = getStrToDataTypeMap().find(name);
  if (found != getStrToDataTypeMap().end()) return found->second;
  std::string all;
  for (const DataTypeRow& r : data_types) all += std::string(all.empty() ? "" : ", ") + r.name;
  throw error("No type {} found in the map of types: {}", name, all);
}

int64_t getONNXDataTypeAsInt(DataType type) { return static_cast<int64_t>(row(type).native); }

std::ostream& operator<<(std::ostream& stream, const DataType& type) {
  return stream << row(type).name;
}

DataTypeInfo::DataTypeInfo(DataType type, int nbytes, bool isFixedPoint, std::string name,
                           std::string lcasename)
    : type_(type),
      nbytes_(nbytes),
      isFixedPoint_(isFixedPoint),
      name_(std::move(name)),
      lcasename_(std::move(lcasename)) {}

const std::map<DataType, DataTypeInfo>& getDataTypeInfoMap() {
  static const std::map<DataType, DataTypeInfo> map = [] {
    std::map<DataType, DataTypeInfo> all;
    for (const DataTypeRow& r : data_types) {
      const int bytes = halftone::size_in_bytes(r.native);
      const bool fixed = halftone::is_integer(r.native) || r.type == DataType::BOOL;
      all.emplace(r.type, DataTypeInfo(r.type, bytes == 0 ? -1 : bytes, fixed, r.name, r.lower));
    }
    return all;
  }();
  return map;
}

const std::map<std::string, DataType>& getStrToDataTypeMap() {
  static const std::map<std::string, DataType> map = [] {
    std::map<std::string, DataType> all;
    for (const DataTypeRow& r : data_types) all.emplace(r.name, r.type);
    return all;
  }();
  return map;
}

TensorInfo::TensorInfo(DataType type, const Shape& shape) : TensorInfo(type, shape, {}) {}
TensorInfo::TensorInfo(DataType type, const Shape& shape, const Shape& metaShape) {
  set(type, shape, metaShape);
}
TensorInfo::TensorInfo(std::string type, const Shape& shape)
    : TensorInfo(dataTypeFromString(type), shape) {}
TensorInfo::TensorInfo(std::string type, std::string shape)
    : TensorInfo(dataTypeFromString(type), shapeFromString(shape)) {}

void TensorInfo::set(DataType type) { info_ = &getDataTypeInfoMap().at(type); }
void TensorInfo::set(DataType type, const Shape& shape) { set(type, shape, {}); }
void TensorInfo::set(DataType type, const Shape& shape, const Shape& metaShape) {
  set(type);
  shape_ = shape;
  metaShape_ = metaShape;
}

std::vector<size_t> TensorInfo::shape_szt() const { return {shape_.begin(), shape_.end()}; }

int64_t TensorInfo::nelms() const {
  int64_t product = 1;
  for (const int64_t extent : shape_) product *= extent;
  return product;
}

int64_t TensorInfo::nbytes() const {
  if (!isSet()) throw error("TensorInfo is not set");
  return nelms() * info_->nbytes();
}

int64_t TensorInfo::dim(int i) const {
  if (i < 0 || static_cast<std::size_t>(i) >= shape_.size()) {
    throw error("Invalid input dimension {}, tensor of rank {}", i, shape_.size());
  }
  return shape_[static_cast<std::size_t>(i)];
}

std::vector<int> TensorInfo::strides() const {
  std::vector<int> strides(shape_.size());
  int stride = 1;
  for (std::size_t d = shape_.size(); d > 0; --d) {
    strides[d - 1] = stride;
    stride *= static_cast<int>(shape_[d - 1]);
  }
  return strides;
}

DataType TensorInfo::dataType() const { return isSet() ? info_->type() : DataType::UNDEFINED; }
const std::string& TensorInfo::data_type() const {
  return getDataTypeInfoMap().at(dataType()).name();
}
const std::string& TensorInfo::data_type_lcase() const {
  return getDataTypeInfoMap().at(dataType()).lcasename();
}
void TensorInfo::append(std::ostream& stream) const {
  stream << data_type() << ' ' << listed(shape_);
}
bool TensorInfo::operator==(const TensorInfo& other) const {
  return info_ == other.info_ && shape_ == other.shape_ && metaShape_ == other.metaShape_;
}

Shape TensorInfo::shapeFromString(const std::string& text) const {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') {
    throw error("invalid shape string: {}", text);
  }
  Shape shape;
  std::istringstream stream(text.substr(1, text.size() - 2));
  for (std::string part; std::getline(stream, part, ',');) {
    char* end = nullptr;
    const long long extent = std::strtoll(part.c_str(), &end, 10);
    if (end == part.c_str()) throw error("invalid shape string: {}", text);
    shape.push_back(extent);
  }
  return shape;
}

std::ostream& operator<<(std::ostream& stream, const TensorInfo& info) {
  info.append(stream);
  return stream;
}

// --- void data
// -------------------------------------------------------------------------------------

void ConstVoidData::store(std::vector<char>&& elements, const TensorInfo& elementsInfo) {
  own_ = std::move(elements);
  owns_ = true;
  data = own_.data();
  info = elementsInfo;
}
ConstVoidData::ConstVoidData(const ConstVoidData& other)
    : data(other.data), info(other.info), own_(other.own_), owns_(other.owns_) {
  if (owns_) data = own_.data();
}
ConstVoidData& ConstVoidData::operator=(const ConstVoidData& other) {
  data = other.data;
  info = other.info;
  own_ = other.own_;
  owns_ = other.owns_;
  if (owns_) data = own_.data();
  return *this;
}

// --- debug information
// -----------------------------------------------------------------------------

DebugInfo::DebugInfo(const DebugContext& context, const std::string& layer)
    : path_(context.getPathName()) {
  // Ids need only differ: the same path in the same layer is the same thing.
  id_ = std::hash<std::string>()(layer + ":" + path_);
}
TensorDebugInfo::TensorDebugInfo(const DebugContext& context, const TensorId& tensor,
                                 const TensorInfo&, const TensorType& type)
    : TensorDebugInfo(context, tensor, type) {}
TensorDebugInfo::TensorDebugInfo(const DebugContext& context, const TensorId& tensor,
                                 const TensorType&)
    : DebugInfo(context, "popart"), tensor_(tensor) {}

std::ostream& printing::operator<<(std::ostream& stream, float16_t value) {
  return stream << static_cast<float>(value);
}

}  // namespace popart
