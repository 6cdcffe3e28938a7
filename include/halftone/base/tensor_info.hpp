#pragma once

#include <cstdint>

#include <halftone/base/dims.hpp>
#include <halftone/base/element_type.hpp>

namespace halftone {

/// Element type and shape of a tensor. `undefined` as type: nothing is known, not even the rank.
struct TensorInfo {
  ElementType type = ElementType::undefined;
  Dims shape;

  constexpr bool is_known() const { return type != ElementType::undefined; }
  constexpr std::size_t rank() const { return shape.size(); }
  /// Whether type and every extent are known.
  constexpr bool is_static() const {
    if (!is_known()) return false;
    for (const std::int64_t d : shape) {
      if (d < 0) return false;
    }
    return true;
  }
  /// Number of elements, `dynamic` if an extent is unknown, the largest int64 if it does not fit.
  constexpr std::int64_t elements() const { return product(shape); }
  /// Bytes of the dense tensor, `dynamic` or the largest int64 as for elements().
  constexpr std::int64_t bytes() const {
    const std::int64_t n = elements();
    const auto size = static_cast<std::int64_t>(size_in_bytes(type));
    if (n < 0) return dynamic;
    return size != 0 && n > INT64_MAX / size ? INT64_MAX : n * size;
  }
  friend constexpr bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

}  // namespace halftone
