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
  if (data != nullptr) {
    __builtin_memcpy(to, data, static_cast<std::size_t>(port.info.bytes()));
    return;
  }
  visit_type<NumericTypes>(port.info.type, [&]<class T>() {
    auto* const elements = static_cast<T*>(static_cast<void*>(to));
    const auto n = static_cast<std::uint64_t>(port.info.elements());
    const std::uint64_t own = own_seed(seed, port.name.view());
    for (std::uint64_t i = 0; i < n; ++i) {
      if constexpr (Draws) {
        elements[i] = static_cast<T>(initial_value(port.initial, port.info.shape, own, i));
      } else {
        elements[i] = static_cast<T>(port.initial.a);
      }
    }
  });
}

}  // namespace halftone::detail
