#pragma once

#include <cstdint>

#include <halftone/ipu/target.hpp>

/// Cycles of random numbers on one tile. source: poplibs' poprand estimators.
namespace halftone::ipu {

enum class RandomVertex : std::uint8_t { uniform, normal, truncated_normal, bernoulli, dropout };

/// n random numbers, `at_once` of them a turn of the loop; 0: a vector, as the loops have it.
/// (poplibs' estimators of uniform and bernoulli count eight vectors.) `iterations` are those of
/// truncated_normal.
constexpr std::int64_t random_cycles(const Target& t, RandomVertex vertex, std::int64_t n,
                                     ElementType type, std::int64_t iterations = 1,
                                     std::int64_t at_once = 0) {
  const std::int64_t w = t.worker_contexts;
  const bool is_half = size_in_bytes(type) == 2;
  const std::int64_t v = at_once > 0 ? at_once : is_half ? 4 : 2;
  const bool has_rest = n % v != 0;
  // What a worker begins with, a vector takes, and an incomplete vector takes besides.
  std::int64_t worker = is_half ? 24 : 22, each = 4, rest = is_half ? 12 : 4, supervisor = 4;
  switch (vertex) {
    case RandomVertex::uniform:
      break;
    case RandomVertex::normal:
      rest = is_half ? 12 : 3;
      break;
    case RandomVertex::truncated_normal:
      worker = is_half ? 28 : 26;
      each = (is_half ? 12 : 11) * iterations + 5;
      rest = is_half ? 12 * iterations + 10 : 13 * iterations + 2;
      break;
    case RandomVertex::bernoulli:
      worker = is_half ? 21 : 23;
      each = 1;
      rest = is_half ? 9 : 1;
      break;
    case RandomVertex::dropout:
      supervisor = 6;
      worker = 24;
      each = 2;
      rest = is_half ? 9 : 1;
      break;
  }
  return supervisor + w * worker + each * (n + v - 1) / v + (has_rest ? rest : 0);
}

}  // namespace halftone::ipu
