#pragma once

#include <cstdint>

#include <halftone/ipu/target.hpp>

/// Cycles of fused non-linearities and their gradients on one tile. n: elements on the tile.
/// source: poplibs' popnn estimators.
namespace halftone::ipu {

enum class Nonlinearity : std::uint8_t { relu, sigmoid, tanh, gelu, gelu_erf, swish };

namespace detail {

/// What a function takes, or its gradient: a vector by itself, and one of many.
struct NonlinearityCost {
  std::int64_t f32, f16, f32_loop, f16_loop;
};
/// By Nonlinearity.
inline constexpr NonlinearityCost nonlinearity_costs[] = {
    {1, 1, 1, 1}, {5, 2, 10, 4}, {5, 1, 10, 2}, {10, 5, 10, 5}, {30, 15, 30, 15}, {6, 3, 11, 5}};
inline constexpr NonlinearityCost nonlinearity_gradient_costs[] = {
    {3, 3, 3, 3}, {3, 3, 3, 3}, {3, 3, 3, 3}, {10, 5, 10, 5}, {30, 15, 30, 15}, {10, 7, 15, 9}};

constexpr std::int64_t rest_cycles(std::int64_t elements, std::int64_t v, std::int64_t pair,
                                   std::int64_t one) {
  const std::int64_t rest = elements % v;
  return ((rest & 2) != 0 ? pair : 0) + ((rest & 1) != 0 ? one : 0);
}

}  // namespace detail

/// A function of the tile's elements in one region.
constexpr std::int64_t nonlinearity_cycles(const Target& t, Nonlinearity f, std::int64_t n,
                                           ElementType type, bool is_in_place = false) {
  const detail::NonlinearityCost& cost = detail::nonlinearity_costs[static_cast<int>(f)];
  const std::int64_t w = t.worker_contexts, v = t.vector_width(type), vectors = divide_up(n / v, w);
  const std::int64_t each = v == 2 ? cost.f32 : cost.f16;
  const std::int64_t loop = v == 2 ? cost.f32_loop : cost.f16_loop;
  std::int64_t worker = 20 + (f == Nonlinearity::swish && is_in_place ? 1 : 0);
  if (vectors > 0) worker += 3 + 2 * each + (vectors - 1) * loop;
  worker += v == 2 ? 3 + detail::rest_cycles(n, v, 0, 2 + each)
                   : 4 + detail::rest_cycles(n, v, 2 + each, 3 + each);
  return 9 + w * worker;
}

/// Its gradient, of the gradient that arrives and the function's result.
constexpr std::int64_t nonlinearity_gradient_cycles(const Target& t, Nonlinearity f, std::int64_t n,
                                                    ElementType type) {
  const detail::NonlinearityCost& cost = detail::nonlinearity_gradient_costs[static_cast<int>(f)];
  const std::int64_t w = t.worker_contexts, v = t.vector_width(type), vectors = divide_up(n / v, w);
  const std::int64_t each = v == 2 ? cost.f32 : cost.f16;
  const std::int64_t loop = v == 2 ? cost.f32_loop : cost.f16_loop;
  std::int64_t worker = 20 + (vectors > 0 ? 5 + (vectors - 1) * loop : 0);
  worker += v == 2 ? 4 + detail::rest_cycles(n, v, 0, each + 1)
                   : 6 + detail::rest_cycles(n, v, each + 2, each + 4);
  return 9 + w * worker;
}

}  // namespace halftone::ipu
