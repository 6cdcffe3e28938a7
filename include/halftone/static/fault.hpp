#pragma once

#include <cstdint>

#include <halftone/kernel/abort.hpp>
#include <halftone/kernel/fault.hpp>

// What kernels call about values that they cannot work with. The core throws errors that name the
// node; a static program alone, which has no exceptions, ends. Weak: where the core is, it is asked.
extern "C" {

[[gnu::weak]] void halftone_index_error(std::int64_t, std::int64_t) { __builtin_trap(); }
[[gnu::weak]] void halftone_category_error(std::int64_t) { __builtin_trap(); }
[[gnu::weak]] void halftone_abort() { __builtin_trap(); }

}  // extern "C"
