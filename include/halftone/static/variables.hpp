#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/graph/initial.hpp>
#include <halftone/static/plan.hpp>

// The first values of a static program's variables: those of a session.
namespace halftone::detail {

constexpr bool is_drawn(const Initial& initial) {
  return initial.rule != Initial::Rule::data && initial.rule != Initial::Rule::fill;
}

/// Gives a variable its first value: `data` if there are any, or numbers by its rule. `Draws`:
/// whether that may take random numbers, whose code other programs do not have.
template <bool Draws>
void start_variable(std::byte* to, const StaticPort& port, const void* data, std::uint64_t seed) {
  const auto bytes = static_cast<std::size_t>(port.info.bytes());
  if (data != nullptr) {
    __builtin_memcpy(to, data, bytes);
    return;
  }
  if constexpr (Draws) {
    const std::uint64_t own = own_seed(seed, port.name.view());
    visit_type<NumericTypes>(port.info.type, [&]<class T>() {
      auto* const elements = static_cast<T*>(static_cast<void*>(to));
      for (std::uint64_t i = 0; i < bytes / sizeof(T); ++i) {
        elements[i] = static_cast<T>(initial_value(port.initial, port.info.shape, own, i));
      }
    });
  } else {
    const auto size = static_cast<std::size_t>(size_in_bytes(port.info.type));
    for (std::size_t at = 0; at + size <= bytes; at += size) {
      __builtin_memcpy(to + at, port.element.data(), size);
    }
  }
}

}  // namespace halftone::detail
