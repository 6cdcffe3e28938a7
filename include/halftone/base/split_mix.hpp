#pragma once

#include <cstdint>

// SplitMix64, a generator of numbers that look random (Steele, Lea and Flood 2014).
namespace halftone::detail {

/// By how much its state grows from number to number.
inline constexpr std::uint64_t mix_step = 0x9e3779b97f4a7c15u;

/// Its last steps, which take no two numbers to the same.
constexpr std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
/// Its number for a state: a good hash of a counter.
constexpr std::uint64_t mixed(std::uint64_t state) { return scrambled(state + mix_step); }

}  // namespace halftone::detail
