#pragma once

#include <array>
#include <cstdint>

#include <halftone/base/array.hpp>

namespace halftone {

/// Seeds of random operators, which take a tensor of two words, the more significant one first.
///
/// shape   [steps, accumulation, replicas, 2]; dimensions of one are left out
/// values  from a generator of the library's own, seeded with `seed` + `offset`: the same seeds give
///         the same values, seeds that differ give others
/// errors  UsageError: a number below 1
/// source  popxl.create_seeds
Array<std::uint32_t> create_seeds(std::uint64_t seed, std::uint64_t offset = 0,
                                  std::int64_t batches_per_step = 1,
                                  std::int64_t gradient_accumulation = 1,
                                  std::int64_t replicas = 1);

/// The two words of a number, the more significant one first, and the number of two words.
constexpr std::array<std::uint32_t, 2> uint64_to_two_uint32(std::uint64_t number) {
  return {static_cast<std::uint32_t>(number >> 32), static_cast<std::uint32_t>(number)};
}
constexpr std::uint64_t two_uint32_to_uint64(std::array<std::uint32_t, 2> words) {
  return std::uint64_t{words[0]} << 32 | words[1];
}

}  // namespace halftone
