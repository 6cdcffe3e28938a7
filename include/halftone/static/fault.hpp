#pragma once

#include <cstdint>

#include <halftone/kernel/faults.hpp>

// What kernels call about values that they cannot work with. The core throws errors that name the
// node; a static program alone, which has no exceptions, ends. Hidden: a shared core has its own,
// which are asked if they are there.
extern "C" {

[[gnu::weak, gnu::visibility("hidden")]] void halftone_index_error(std::int64_t index,
                                                                   std::int64_t extent) {
  if (&halftone_faults != nullptr) halftone_faults.index(index, extent);
  __builtin_trap();
}
[[gnu::weak, gnu::visibility("hidden")]] void halftone_category_error(std::int64_t number) {
  if (&halftone_faults != nullptr) halftone_faults.category(number);
  __builtin_trap();
}
[[gnu::weak, gnu::visibility("hidden")]] void halftone_abort() {
  if (&halftone_faults != nullptr) halftone_faults.abort();
  __builtin_trap();
}

}  // extern "C"
