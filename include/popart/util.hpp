#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include <popart/names.hpp>
#include <popart/scope.hpp>
#include <popart/tensorinfo.hpp>

namespace popart {

template <class T>
bool isAlmostEqual(T a, T b) {
  return std::fabs(a - b) <= std::numeric_limits<T>::epsilon();
}
template <class T>
bool isOneOf(const T& x, const std::vector<T>& all) {
  for (const T& y : all) {
    if (x == y) return true;
  }
  return false;
}
template <class T>
bool isNotOneOf(const T& x, const std::vector<T>& all) {
  return !isOneOf(x, all);
}

/// The value of the environment variable POPART_NAME; null if there is none.
char* getPopartEnvVar(std::string name);

/// Elements in another type, as static_cast has them.
std::vector<char> cast(DataType from, DataType to, const void* data, std::size_t bytes);
std::vector<char> cast(DataType from, DataType to, const std::vector<char>& data);
/// One number in a type.
std::vector<char> convertFloatToDataType(DataType type, float number);

/// Text that is filled with spaces up to a size.
template <class T>
std::string padded(T value, int size) {
  std::stringstream text;
  text << value;
  std::string result = text.str();
  if (result.size() < static_cast<std::size_t>(size)) {
    result.resize(static_cast<std::size_t>(size), ' ');
  }
  return result;
}

/// [1 2 3]
template <class T>
void appendSequence(std::ostream& stream, const T& values) {
  const char* between = "[";
  for (const auto& x : values) {
    stream << between << x;
    between = " ";
  }
  if (*between == '[') stream << '[';
  stream << ']';
}
template <class T>
void appendPair(std::ostream& stream, const T& pair) {
  stream << '(' << pair.first << ", " << pair.second << ')';
}

template <class X, class Y>
std::vector<Y> vXtoY(const std::vector<X>& from) {
  std::vector<Y> to;
  to.reserve(from.size());
  for (const X& x : from) to.push_back(static_cast<Y>(x));
  return to;
}
template <class To, class From>
std::vector<To> vector_cast(const std::vector<From>& from) {
  return vXtoY<From, To>(from);
}
template <class To>
std::vector<To> vBooltoY(const std::vector<bool>& from) {
  std::vector<To> to;
  for (const bool x : from) to.push_back(static_cast<To>(x));
  return to;
}

namespace util {

/// Writes f(a, b) for each pair of two sequences, up to the end of the shorter one.
template <class A, class B, class Out, class F>
void zipWith(A a, A aEnd, B b, B bEnd, Out out, F f) {
  for (; a != aEnd && b != bEnd; ++a, ++b) *out++ = f(*a, *b);
}
/// The number of pairs that differ, and of elements that have no partner.
template <class A, class B>
std::size_t count_mismatch(A a, A aEnd, B b, B bEnd) {
  std::size_t count = 0;
  for (; a != aEnd && b != bEnd; ++a, ++b) count += *a != *b ? 1 : 0;
  return count + static_cast<std::size_t>(std::distance(a, aEnd) + std::distance(b, bEnd));
}

}  // namespace util

/// Axes without negative ones. Throws popart::error for an axis outside [-rank, rank).
std::vector<uint64_t> getAxes_u64(const std::vector<int64_t>& axes, uint64_t rank);
int64_t getReduceAxis(int64_t axis, int64_t rank);
void normalizeReduceAxes(std::vector<int64_t>& axes, int64_t rank);
void validateReduceAxis(int64_t axis, int64_t rank, const std::string& message);
void validateReduceAxes(const std::vector<int64_t>& axes, int64_t rank, const std::string& message);

/// An id without the number that made it unique: "x" of "x__t3".
TensorId getBaseTensorId(const TensorId& id);
std::vector<std::string> splitString(std::string text, std::string delimiter);

}  // namespace popart

// PopART prints containers this way: [1 2 3], (1, 2).
namespace std {
template <class T>
ostream& operator<<(ostream& stream, const vector<T>& values) {
  popart::appendSequence(stream, values);
  return stream;
}
template <class T>
ostream& operator<<(ostream& stream, const set<T>& values) {
  popart::appendSequence(stream, values);
  return stream;
}
template <class T>
ostream& operator<<(ostream& stream, const unordered_set<T>& values) {
  popart::appendSequence(stream, values);
  return stream;
}
template <class T, class U>
ostream& operator<<(ostream& stream, const pair<T, U>& values) {
  popart::appendPair(stream, values);
  return stream;
}
}  // namespace std
