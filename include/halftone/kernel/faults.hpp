#pragma once

#include <cstdint>

#include <halftone/kernel/abort.hpp>
#include <halftone/kernel/fault.hpp>

namespace halftone::kernel {

/// What kernels call about values that they cannot work with, as the core has it: see
/// static/fault.hpp.
struct Faults {
  void (*index)(std::int64_t index, std::int64_t extent);
  void (*category)(std::int64_t number);
  void (*abort)();
};

}  // namespace halftone::kernel

extern "C" {
[[gnu::weak]] extern const halftone::kernel::Faults halftone_faults;
}
