#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <halftone/base/element_type.hpp>

namespace halftone {

class AnyArray;

/// A text, a list or a map that an element refers to. An object never changes
/// once it is made. Arrays own the objects of their elements together (AnyArray::own_objects): the
/// last one deletes them. Elements in kernels are plain addresses.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

 private:
  friend class ObjectBlock;
  mutable long uses_ = 0;
};

/// An element of type `string`: UTF-8 by ONNX's rules, but any bytes are kept. Elements of zeroed
/// memory are empty.
class String {
 public:
  constexpr String() = default;
  /// A new object, which nobody owns before an array does.
  static String make(std::string_view text);

  std::string_view view() const;
  const Object* object() const { return object_; }
  friend bool operator==(String a, String b) { return a.view() == b.view(); }

 private:
  const Object* object_ = nullptr;
};

/// The one element of a sequence or an optional value, which is a sequence of at most one item.
/// Elements of zeroed memory are empty.
class Sequence {
 public:
  constexpr Sequence() = default;
  static Sequence make(std::vector<AnyArray> items);

  std::span<const AnyArray> items() const;
  std::size_t size() const;
  const Object* object() const { return object_; }

 private:
  const Object* object_ = nullptr;
};

/// The one element of a map: keys (int64 or string) and values, [n] each, in the order in which they
/// were given.
class Map {
 public:
  constexpr Map() = default;
  static Map make(AnyArray keys, AnyArray values);

  /// Not of an empty element, which has neither.
  const AnyArray& keys() const;
  const AnyArray& values() const;
  explicit operator bool() const { return object_ != nullptr; }
  const Object* object() const { return object_; }

 private:
  const Object* object_ = nullptr;
};

static_assert(sizeof(String) == 8 && sizeof(Sequence) == 8 && sizeof(Map) == 8);

template <>
inline constexpr ElementType element_type<String> = ElementType::string;

}  // namespace halftone
