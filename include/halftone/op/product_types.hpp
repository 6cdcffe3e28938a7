#pragma once

#include <halftone/base/element_type.hpp>

namespace halftone::op {

/// Element types that matrices are multiplied in; integers wrap around.
using ProductTypes =
    Joined<FloatTypes, TypeList<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>>;

}  // namespace halftone::op
