#pragma once

#include <cstddef>

#include <halftone/base/element_type.hpp>
#include <halftone/graph/graph.hpp>

namespace halftone::detail {

/// Gives a variable its first value: `data`, or what fills it.
inline void start_variable(std::byte* to, const TensorInfo& info, const Initial& initial,
                           const void* data) {
  if (data != nullptr) {
    __builtin_memcpy(to, data, static_cast<std::size_t>(info.bytes()));
    return;
  }
  visit_type<NumericTypes>(info.type, [&]<class T>() {
    auto* const elements = static_cast<T*>(static_cast<void*>(to));
    const std::int64_t n = info.elements();
    for (std::int64_t i = 0; i < n; ++i) elements[i] = static_cast<T>(initial.a);
  });
}

}  // namespace halftone::detail
