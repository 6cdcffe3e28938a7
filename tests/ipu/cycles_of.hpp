#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <halftone/ipu/profile.hpp>

namespace ipu_test {

/// Cycles of the operators of a type.
inline std::int64_t cycles_of(const halftone::ipu::Report& r, std::string_view type) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < r.operations.size(); ++i) {
    if (r.operations[i].type == type) sum += r.operation_cycles(i);
  }
  return sum;
}

}  // namespace ipu_test
