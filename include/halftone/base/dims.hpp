#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace halftone {

/// An extent that is not known yet.
inline constexpr std::int64_t dynamic = -1;
/// What stands for an extent that two sources say differently of; no tensor has it.
inline constexpr std::int64_t contradictory = -2;

/// The largest number of dimensions of a tensor.
inline constexpr std::size_t max_rank = 8;

/// A list of at most N numbers; a structural type, so that it can be a template argument.
template <class T, std::size_t N>
struct BoundedList {
  T items[N]{};
  std::uint8_t count = 0;

  constexpr BoundedList() = default;
  constexpr BoundedList(std::initializer_list<T> list) {
    for (const T& item : list) push_back(item);
  }
  constexpr explicit BoundedList(std::span<const T> list) {
    for (const T& item : list) push_back(item);
  }
  static constexpr BoundedList filled(std::size_t count, T value) {
    BoundedList list;
    while (list.count < count) list.push_back(value);
    return list;
  }

  static constexpr std::size_t capacity() { return N; }
  constexpr std::size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr T& operator[](std::size_t i) { return items[i]; }
  constexpr const T& operator[](std::size_t i) const { return items[i]; }
  constexpr T* begin() { return items; }
  constexpr T* end() { return items + count; }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + count; }
  constexpr const T& back() const { return items[count - 1]; }
  constexpr T& back() { return items[count - 1]; }

  /// Items beyond the capacity are dropped; who reads untrusted lists checks their length first.
  constexpr void push_back(T value) {
    if (count < N) items[count++] = value;
  }
  constexpr void pop_back() { items[--count] = T{}; }
  constexpr void insert(std::size_t at, T value) {
    if (count == N) return;
    for (std::size_t i = count++; i > at; --i) items[i] = items[i - 1];
    items[at] = value;
  }
  constexpr void erase(std::size_t at) {
    for (std::size_t i = at; i + 1 < count; ++i) items[i] = items[i + 1];
    pop_back();
  }
  constexpr bool contains(T value) const {
    for (const T& item : *this) {
      if (item == value) return true;
    }
    return false;
  }
  constexpr std::span<const T> span() const { return {items, count}; }

  friend constexpr bool operator==(const BoundedList& a, const BoundedList& b) {
    if (a.count != b.count) return false;
    for (std::size_t i = 0; i < a.count; ++i) {
      if (a.items[i] != b.items[i]) return false;
    }
    return true;
  }
};

/// Extents of a tensor, or one number per dimension (strides, permutation, axes).
using Dims = BoundedList<std::int64_t, max_rank>;

/// Begin and end values per dimension: [begin..., end...].
using Pads = BoundedList<std::int64_t, 2 * max_rank>;

/// Product of the extents, 1 for none. Unknown extents give `dynamic`; a product that does not fit
/// gives the largest std::int64_t.
constexpr std::int64_t product(const std::int64_t* dims, std::size_t rank) {
  std::int64_t total = 1;
  bool overflow = false;
  for (std::size_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) return dynamic;
    if (dims[i] == 0) total = 0;
  }
  if (total == 0) return 0;
  for (std::size_t i = 0; i < rank; ++i) {
    overflow = overflow || total > INT64_MAX / dims[i];
    total = overflow ? INT64_MAX : total * dims[i];
  }
  return total;
}
constexpr std::int64_t product(std::span<const std::int64_t> dims) {
  return product(dims.data(), dims.size());
}
constexpr std::int64_t product(const Dims& dims) { return product(dims.items, dims.count); }

}  // namespace halftone
