#pragma once

#include <halftone/base/dims.hpp>

namespace halftone {

/// The extents of a typed tensor, each a constant or `dynamic`: Shape<4, dynamic, 3>.
///
/// As an argument of an operator it is a constant int64 tensor with these values, known to the
/// compiler: op::reshape(x, Shape<4, 8>{}).
template <std::int64_t... Extents>
struct Shape {
  static_assert(sizeof...(Extents) <= max_rank, "halftone: a tensor has at most 8 dimensions");
  static_assert(((Extents >= -1) && ...), "halftone: an extent is not negative, or dynamic");
  static constexpr Dims dims{std::int64_t{Extents}...};
};

}  // namespace halftone
