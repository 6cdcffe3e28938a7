#pragma once

#include <halftone/op/list.hpp>

/// PopXL's names of operators that are called otherwise in halftone::op; the functions are the same.
///
/// source  popxl.ops
namespace popxl::ops {

inline constexpr auto& clamp = halftone::op::clip;
inline constexpr auto& geluerf = halftone::op::gelu_erf;
inline constexpr auto& groupedgather = halftone::op::grouped_gather;
inline constexpr auto& io_tile_copy = halftone::op::identity;
inline constexpr auto& negate = halftone::op::neg;
inline constexpr auto& scatter = halftone::op::scatter_elements;
inline constexpr auto& tied_gather = halftone::op::gather;

}  // namespace popxl::ops
