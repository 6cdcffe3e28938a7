#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <halftone/graph/infer.hpp>

namespace halftone::op {

/// A list of dimensions, each counted from the front, in the order given; or why there is none.
struct Axes {
  Dims list;
  std::string_view reason{};
  std::int64_t expected = 0, found = 0;

  /// Negative numbers count from the end. Each dimension may be named once.
  constexpr Axes(std::span<const std::int64_t> given, std::size_t rank) {
    for (const std::int64_t axis : given) {
      const std::size_t normal = normalized_axis(axis, rank);
      if (normal == rank) {
        reason = "axis is out of range";
        expected = static_cast<std::int64_t>(rank);
        found = axis;
        return;
      }
      if (list.contains(static_cast<std::int64_t>(normal))) {
        reason = "a dimension is named twice";
        found = axis;
        return;
      }
      list.push_back(static_cast<std::int64_t>(normal));
    }
  }
  constexpr bool ok() const { return reason.empty(); }
  constexpr Inferred mismatch() const { return Inferred::mismatch(reason, expected, found); }
  constexpr bool contains(std::size_t axis) const {
    return list.contains(static_cast<std::int64_t>(axis));
  }
};

}  // namespace halftone::op
