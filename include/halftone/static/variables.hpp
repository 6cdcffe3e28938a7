#pragma once

#include <cstddef>
#include <cstdint>

#include <halftone/graph/initial.hpp>
#include <halftone/static/plan.hpp>

// The first values of a static program's variables: those of a session.
namespace halftone::detail {

/// The rules and element types of the variables that start with random numbers, as bits. Programs
/// have no code for others.
struct Drawn {
  std::uint64_t rules = 0, types = 0;

  static constexpr std::uint64_t bit(auto value) {
    return std::uint64_t{1} << static_cast<unsigned>(value);
  }
  constexpr bool any() const { return rules != 0; }
  constexpr bool has(Initial::Rule rule) const { return (rules & bit(rule)) != 0; }
  constexpr bool has(ElementType type) const { return (types & bit(type)) != 0; }
  constexpr void add(const StaticPort& port) {
    const Initial::Rule rule = port.initial.rule;
    if (rule == Initial::Rule::data || rule == Initial::Rule::fill) return;
    rules |= bit(rule);
    types |= bit(port.info.type);
  }
};

/// Gives a variable its first value: `data` if there are any, or numbers by its rule.
/// Cold: it runs once, and is to be small.
template <Drawn drawn>
[[gnu::cold]] void start_variable(std::byte* to, const StaticPort& port, const void* data,
                                  std::uint64_t seed) {
  const auto bytes = static_cast<std::size_t>(port.bytes);
  if (data != nullptr) {
    __builtin_memcpy(to, data, bytes);
    return;
  }
  if constexpr (drawn.any()) {
    if (drawn.has(port.initial.rule)) {
      visit_type<NumericTypes>(port.info.type, [&]<class T>() {
        if constexpr (drawn.has(element_type<T>)) {
          const std::uint64_t own = own_seed(seed, port.name.view());
          auto* const elements = static_cast<T*>(static_cast<void*>(to));
          for (std::uint64_t i = 0; i < bytes / sizeof(T); ++i) {
            // The compiler leaves out the cases of the rule that no variable has.
            if (!drawn.has(port.initial.rule)) __builtin_unreachable();
            elements[i] = static_cast<T>(initial_value(port.initial, port.info.shape, own, i));
          }
        }
      });
      return;
    }
  }
  const std::size_t size = port.element_bytes;
  for (std::size_t at = 0; at + size <= bytes; at += size) {
    __builtin_memcpy(to + at, port.element.data(), size);
  }
}

}  // namespace halftone::detail
