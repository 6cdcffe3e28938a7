#pragma once

#include <cstdint>

namespace halftone {

/// What a scattered element does to the one that is there.
enum class ScatterMode : std::uint8_t { replace, add, mul, max, min };

}  // namespace halftone
