#pragma once

#include <halftone/base/half.hpp>
#include <iosfwd>

namespace popart {

/// 16-bit floating point (IEEE 754 binary16).
using float16_t = halftone::half;
using Half = halftone::half;

namespace printing {
/// Prints the value as that of a float.
std::ostream& operator<<(std::ostream& stream, float16_t value);
}  // namespace printing

}  // namespace popart

// The type may be the compiler's own, which belongs to no namespace: whoever prints it inside of
// popart, or outside, finds this one function.
namespace popart {
using printing::operator<<;
}
using popart::printing::operator<<;
