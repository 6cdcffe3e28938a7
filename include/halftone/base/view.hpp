#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <halftone/base/dims.hpp>

namespace halftone {

namespace detail {

/// A call, since thousands of kernels would each have the loop, made of vectors.
[[gnu::noinline, gnu::pure]] constexpr std::int64_t plain_product(const std::int64_t* first,
                                                                  const std::int64_t* last) {
  std::int64_t n = 1;
  for (; first != last; ++first) n *= *first;
  return n;
}

}  // namespace detail

/// Dense row-major elements that belong to somebody else, as kernels see them. The extents are
/// borrowed as well.
template <class T>
struct View {
  T* data = nullptr;
  const std::int64_t* extents = nullptr;
  std::size_t rank = 0;

  constexpr std::int64_t extent(std::size_t axis) const { return extents[axis]; }
  constexpr std::span<const std::int64_t> shape() const { return {extents, rank}; }
  constexpr std::int64_t size() const { return size(0, rank); }
  /// Elements of the dimensions [first, last).
  constexpr std::int64_t size(std::size_t first, std::size_t last) const {
    return detail::plain_product(extents + first, extents + last);
  }
  /// Whether the tensor was given at all (optional inputs may be absent).
  constexpr explicit operator bool() const { return data != nullptr; }
  constexpr T& operator[](std::int64_t i) const { return data[i]; }
  constexpr T* begin() const { return data; }
  constexpr T* end() const { return data + size(); }
};

}  // namespace halftone
