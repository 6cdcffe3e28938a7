#pragma once

#include <halftone/ipu/profile.hpp>

namespace halftone::ipu {

/// Adds the variables of a report to its tiles' memory and follows what is live from step to step.
void lay_out_memory(Report& report);

/// Throws MemoryError with the fullest tile, its peak and its largest variables.
[[noreturn]] void throw_out_of_memory(const Report& report);

}  // namespace halftone::ipu
