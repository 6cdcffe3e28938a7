#include <popart/util.hpp>

#include <cctype>
#include <cstdlib>
#include <cstring>

#include <popart/error.hpp>

namespace popart {

char* getPopartEnvVar(std::string name) { return std::getenv(("POPART_" + name).c_str()); }

namespace {

/// Calls f with an element of the type's.
template <class F>
auto withElement(DataType type, F&& f) {
  switch (type) {
    case DataType::UINT8:
      return f(std::uint8_t{});
    case DataType::INT8:
      return f(std::int8_t{});
    case DataType::UINT16:
      return f(std::uint16_t{});
    case DataType::INT16:
      return f(std::int16_t{});
    case DataType::INT32:
      return f(std::int32_t{});
    case DataType::INT64:
      return f(std::int64_t{});
    case DataType::UINT32:
      return f(std::uint32_t{});
    case DataType::UINT64:
      return f(std::uint64_t{});
    case DataType::BOOL:
      return f(bool{});
    case DataType::FLOAT:
      return f(float{});
    case DataType::FLOAT16:
      return f(float16_t{});
    case DataType::DOUBLE:
      return f(double{});
    default:
      break;
  }
  throw error("Numbers are not converted from or to {}", getDataTypeInfoMap().at(type).name());
}

/// Half converts to and from float alone.
template <class T>
using Number = std::conditional_t<std::is_same_v<T, float16_t>, float, T>;

}  // namespace

std::vector<char> cast(DataType from, DataType to, const void* data, std::size_t bytes) {
  return withElement(from, [&](auto x) {
    return withElement(to, [&](auto y) {
      using X = decltype(x);
      using Y = decltype(y);
      const std::size_t count = bytes / sizeof(X);
      std::vector<char> result(count * sizeof(Y));
      const char* const source = static_cast<const char*>(data);
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(&x, source + i * sizeof(X), sizeof(X));
        y = Y(static_cast<Number<Y>>(static_cast<Number<X>>(x)));
        std::memcpy(result.data() + i * sizeof(Y), &y, sizeof(Y));
      }
      return result;
    });
  });
}
std::vector<char> cast(DataType from, DataType to, const std::vector<char>& data) {
  return cast(from, to, data.data(), data.size());
}
std::vector<char> convertFloatToDataType(DataType type, float number) {
  return cast(DataType::FLOAT, type, &number, sizeof(number));
}

std::vector<uint64_t> getAxes_u64(const std::vector<int64_t>& axes, uint64_t rank) {
  std::vector<uint64_t> positive;
  for (const int64_t axis : axes) {
    validateReduceAxis(axis, static_cast<int64_t>(rank), "getAxes_u64");
    positive.push_back(static_cast<uint64_t>(getReduceAxis(axis, static_cast<int64_t>(rank))));
  }
  return positive;
}
int64_t getReduceAxis(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }
void normalizeReduceAxes(std::vector<int64_t>& axes, int64_t rank) {
  for (int64_t& axis : axes) axis = getReduceAxis(axis, rank);
}
void validateReduceAxis(int64_t axis, int64_t rank, const std::string& message) {
  if (axis >= -rank && axis < rank) return;
  throw error("Axis {} is out of acceptable range [{}, {}]: {}", axis, -rank, rank - 1, message);
}
void validateReduceAxes(const std::vector<int64_t>& axes, int64_t rank,
                        const std::string& message) {
  for (const int64_t axis : axes) validateReduceAxis(axis, rank, message);
}

TensorId getBaseTensorId(const TensorId& id) {
  const std::size_t at = id.rfind("__t");
  if (at == id.npos || at + 3 == id.size()) return id;
  for (std::size_t i = at + 3; i < id.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(id[i])) == 0) return id;
  }
  return id.substr(0, at);
}
std::vector<std::string> splitString(std::string text, std::string delimiter) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; !delimiter.empty() && (end = text.find(delimiter, begin)) != text.npos;) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + delimiter.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

}  // namespace popart
