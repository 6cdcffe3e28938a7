#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <halftone/base/dims.hpp>

namespace halftone::kernel {

/// Elements to copy: for each dimension its extent and, on both sides, its stride in elements. A
/// stride of the source may be 0, which repeats, or negative. No two elements go to one place.
struct Box {
  std::size_t rank = 0;
  std::int64_t extents[max_rank]{}, to[max_rank]{}, from[max_rank]{};

  constexpr void add(std::int64_t extent, std::int64_t to_stride, std::int64_t from_stride) {
    extents[rank] = extent;
    to[rank] = to_stride;
    from[rank] = from_stride;
    ++rank;
  }
};

/// Strides of a dense tensor, in elements.
constexpr Dims row_major_strides(std::span<const std::int64_t> extents) {
  Dims strides = Dims::filled(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

}  // namespace halftone::kernel
