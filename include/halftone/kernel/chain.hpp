#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <halftone/graph/runner.hpp>
#include <halftone/kernel/simd.hpp>

/// Chains of small element-wise operators whose values stay in registers: each operator is a link,
/// a function that gets eight vectors as arguments and ends by calling the next one with what it
/// made of them. Compilers make jumps of these calls; where they don't, a chain is as deep as long.
namespace halftone::kernel {

namespace detail {

using ChainVector = Vec<float>::raw;
using LinkFunction = void (*)(const ChainStep* step, std::int64_t i, ChainVector, ChainVector,
                              ChainVector, ChainVector, ChainVector, ChainVector, ChainVector,
                              ChainVector);
constexpr std::int64_t chain_lanes = Vec<float>::size, chain_tile = 8 * chain_lanes;

HALFTONE_INLINE LinkFunction function_of(const ChainStep& step) {
  return reinterpret_cast<LinkFunction>(step.link);
}
/// One operator; bit k of Chained: the value that goes through the chain is its input k. The other
/// inputs are counted among themselves.
template <class Op, std::uint32_t Chained>
struct Link {
  static constexpr std::size_t inputs = slots_of<Op>.inputs();
  static constexpr auto others = inputs - static_cast<std::size_t>(__builtin_popcount(Chained));
  static_assert(others <= ChainStep::most_others,
                "halftone: an operator of a chain has too many inputs");

  template <std::size_t K>
  static HALFTONE_INLINE Vec<float> input(ChainVector value, auto other) {
    if constexpr ((Chained >> K & 1) != 0) {
      return value;
    } else {
      return other(static_cast<std::size_t>(__builtin_popcount(~Chained & ((1u << K) - 1))));
    }
  }
  static HALFTONE_INLINE ChainVector apply(const Op& op, ChainVector value, auto other) {
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return Vec<float>(op.forward(input<K>(value, other)...)).v;
    }(std::make_index_sequence<inputs>{});
  }

  __attribute__((flatten)) static void run(const ChainStep* step, std::int64_t i, ChainVector a,
                                           ChainVector b, ChainVector c, ChainVector d,
                                           ChainVector e, ChainVector f, ChainVector g,
                                           ChainVector h) {
    const Op& op = *static_cast<const Op*>(step->op);
    const auto from = [&](std::size_t operand, std::int64_t at) {
      const ChainStep::Operand& o = step->others[operand];
      return Vec<float>::load(static_cast<const float*>(o.data) + at);
    };
    const auto all = [&](auto other) {
      a = apply(op, a, other(0));
      b = apply(op, b, other(1));
      c = apply(op, c, other(2));
      d = apply(op, d, other(3));
      e = apply(op, e, other(4));
      f = apply(op, f, other(5));
      g = apply(op, g, other(6));
      h = apply(op, h, other(7));
    };
    // What is one element for all stays in a register, too.
    bool uniform = true;
    for (std::size_t k = 0; k < others; ++k) uniform = uniform && step->others[k].mask == 0;
    if (uniform) {
      Vec<float> values[others + 1];
      for (std::size_t k = 0; k < others; ++k) values[k] = from(k, 0);
      all([&](std::int64_t) { return [&](std::size_t k) { return values[k]; }; });
    } else if constexpr (others == 1) {
      all([&](std::int64_t n) {
        return [&, n](std::size_t k) { return from(k, i + n * chain_lanes); };
      });
    } else if constexpr (others > 1) {
      all([&](std::int64_t n) {
        return
            [&, n](std::size_t k) { return from(k, (i + n * chain_lanes) & step->others[k].mask); };
      });
    }
    function_of(step[1])(step + 1, i, a, b, c, d, e, f, g, h);
  }
};

/// Stores the value, and goes on if there is a next step.
template <bool Last>
void store_link(const ChainStep* step, std::int64_t i, ChainVector a, ChainVector b, ChainVector c,
                ChainVector d, ChainVector e, ChainVector f, ChainVector g, ChainVector h) {
  float* y = static_cast<float*>(const_cast<void*>(step->others[0].data)) + i;
  const ChainVector all[] = {a, b, c, d, e, f, g, h};
  for (int k = 0; k < 8; ++k) Vec<float>(all[k]).store(y + k * chain_lanes);
  if constexpr (!Last) function_of(step[1])(step + 1, i, a, b, c, d, e, f, g, h);
}

inline void run_chain(const ChainStep* steps, const float* x, std::int64_t n) {
  const LinkFunction first = function_of(*steps);
  for (std::int64_t i = 0; i < n; i += chain_tile) {
    const auto at = [&](int k) { return Vec<float>::load(x + i + k * chain_lanes).v; };
    first(steps, i, at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7));
  }
}

/// Whether an operator can be a link: it asks for it, and all it touches is float.
template <class Op, class... T>
constexpr bool is_link() {
  if constexpr (requires { requires Op::is_short; }) {
    return (std::is_same_v<T, float> && ...) && sizeof...(T) == 1;
  } else {
    return false;
  }
}

}  // namespace detail

/// The link of an operator for a set of chained inputs; null: there is none.
template <class Op>
ChainLink link_of(std::uint32_t chained) {
  ChainLink found = nullptr;
  [&]<std::uint32_t... C>(std::integer_sequence<std::uint32_t, C...>) {
    ((chained == C + 1 ? void(found = reinterpret_cast<ChainLink>(&detail::Link<Op, C + 1>::run))
                       : void()),
     ...);
  }(std::make_integer_sequence < std::uint32_t, slots_of<Op>.inputs() == 2 ? 3 : 1 > {});
  return found;
}

inline ChainFunctions chain_functions() {
  return {&detail::run_chain, reinterpret_cast<ChainLink>(&detail::store_link<false>),
          reinterpret_cast<ChainLink>(&detail::store_link<true>), detail::chain_tile,
          detail::chain_lanes};
}

}  // namespace halftone::kernel
