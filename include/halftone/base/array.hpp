#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <utility>

#include <halftone/base/error.hpp>
#include <halftone/base/object.hpp>
#include <halftone/base/storage.hpp>
#include <halftone/base/tensor_info.hpp>

namespace halftone {

/// Throws InputError: values are asked for as a type that they do not have.
[[noreturn]] void throw_element_type(ElementType expected, ElementType found);

/// Dense elements of any type that belong to somebody else: info and bytes, row-major.
struct AnyView {
  TensorInfo info;
  const void* data = nullptr;

  std::size_t bytes() const { return static_cast<std::size_t>(info.bytes()); }
  /// The elements; throws InputError if T is not their type.
  template <element T>
  std::span<const T> values() const {
    if (info.type != element_type<T>) throw_element_type(element_type<T>, info.type);
    return {static_cast<const T*>(data), static_cast<std::size_t>(info.elements())};
  }
  /// The value of a sequence or an optional value; throws InputError if it is neither.
  Sequence sequence() const;
  /// The value of a map; throws InputError if it is none.
  Map map() const;
};

/// Dense elements of any type; owns (and shares, when copied) its memory.
class AnyArray {
 public:
  AnyArray() = default;
  /// Zeroed memory; throws MemoryError if the size does not fit.
  explicit AnyArray(const TensorInfo& info);
  /// A copy, with memory of its own.
  static AnyArray copy_of(const AnyView& view);
  /// Texts in row-major order; throws InputError if their number does not fit the shape.
  AnyArray(const Dims& shape, std::span<const std::string_view> texts);
  /// A scalar of that type, which is a sequence's or an optional value's.
  AnyArray(ElementType type, Sequence sequence);
  AnyArray(ElementType type, Map map);
  AnyArray(const TensorInfo& info, Storage storage) : info_(info), storage_(std::move(storage)) {}

  const TensorInfo& info() const { return info_; }
  std::byte* data() { return storage_ ? storage_.data() : nullptr; }
  const std::byte* data() const { return storage_ ? storage_.data() : nullptr; }
  std::size_t bytes() const { return static_cast<std::size_t>(info_.bytes()); }
  const Storage& storage() const { return storage_; }
  /// To be called once all elements are written that refer to objects: they live as long as the
  /// array and its copies. For other types it does nothing.
  void own_objects() {
    if (storage_ && has_objects(info_.type)) storage_.own_objects();
  }
  operator AnyView() const { return {info_, data()}; }
  template <element T>
  std::span<T> values() {
    if (info_.type != element_type<T>) throw_element_type(element_type<T>, info_.type);
    return {reinterpret_cast<T*>(data()), static_cast<std::size_t>(info_.elements())};
  }
  template <element T>
  std::span<const T> values() const {
    return AnyView(*this).values<T>();
  }

 private:
  TensorInfo info_;
  Storage storage_;
};

/// Dense elements of type T; owns its memory. Array<float> image({1, 1, 8, 8});
template <element T>
class Array : public AnyArray {
 public:
  Array() = default;
  explicit Array(const Dims& shape) : AnyArray(TensorInfo{element_type<T>, shape}) {}
  Array(const Dims& shape, std::span<const T> values) : Array(shape) { assign(values); }
  Array(const Dims& shape, std::initializer_list<T> values)
      : Array(shape, std::span<const T>(values.begin(), values.size())) {}

  /// Throws InputError if the number of values differs.
  void assign(std::span<const T> values) {
    if (values.size() != size()) {
      throw_extent("an array gets another number of values than its shape has", {}, -1,
                   static_cast<std::int64_t>(size()), static_cast<std::int64_t>(values.size()));
    }
    for (std::size_t i = 0; i < values.size(); ++i) (*this)[i] = values[i];
  }
  std::size_t size() const { return static_cast<std::size_t>(info().elements()); }
  T* begin() { return reinterpret_cast<T*>(data()); }
  T* end() { return begin() + size(); }
  const T* begin() const { return reinterpret_cast<const T*>(data()); }
  const T* end() const { return begin() + size(); }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }
  std::span<T> values() { return {begin(), size()}; }
  std::span<const T> values() const { return {begin(), size()}; }
};

}  // namespace halftone
