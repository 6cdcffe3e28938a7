#pragma once

#include <halftone/base/half.hpp>

namespace popart {

/// 16-bit floating point (IEEE 754 binary16).
using float16_t = halftone::half;
using Half = halftone::half;

}  // namespace popart
