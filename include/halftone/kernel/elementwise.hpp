#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <halftone/kernel/broadcast.hpp>
#include <halftone/kernel/chain.hpp>
#include <halftone/kernel/math.hpp>
#include <halftone/kernel/simd.hpp>

/// Element-wise operators over vectors: the text of an operator's `forward` on Vec instead of
/// numbers.
namespace halftone {

struct Kernel;

namespace detail {

template <class Op, class... T>
struct Thunk;
template <class Op, class... T>
constexpr Kernel make_kernel();

}  // namespace detail

}  // namespace halftone

namespace halftone::kernel {

namespace detail {

template <class E>
inline constexpr bool has_float_lanes = std::is_floating_point_v<compute_t<E>>;

/// What the elements of an operator are computed in as vectors: float or double, if that is the
/// same for all that are not bool; else void, and a plain loop runs.
template <class Result, class... E>
struct LanesOf {
  using type = Result;
};
template <class Result, class First, class... Rest>
struct LanesOf<Result, First, Rest...> {
  static constexpr bool is_bool = std::is_same_v<First, bool>;
  static constexpr bool fits = std::is_void_v<Result> || std::is_same_v<Result, compute_t<First>>;
  using type = typename std::conditional_t<
      is_bool, LanesOf<Result, Rest...>,
      std::conditional_t<has_float_lanes<First> && fits, LanesOf<compute_t<First>, Rest...>,
                         LanesOf<void>>>::type;
};

/// The functions of one operator for one choice of element types.
template <class Op, class... T>
struct Elementwise {
  using Types = halftone::detail::Thunk<Op, T...>;
  static constexpr std::size_t inputs = slots_of<Op>.inputs();

  template <std::size_t I>
  using Input =
      typename Types::template Type<static_cast<std::size_t>(slots_of<Op>.input(I).type_variable)>;
  using Declared =
      typename Types::template Type<static_cast<std::size_t>(slots_of<Op>.output(0).type_variable)>;
  /// What a plain loop computes in: elements, halves widened.
  template <class E>
  using Number = std::conditional_t<has_float_lanes<E>, compute_t<E>, E>;

  template <std::size_t... I>
  static auto result_of(std::index_sequence<I...>)
      -> decltype(std::declval<const Op&>().forward(std::declval<Number<Input<I>>>()...));
  using Output = std::conditional_t<
      std::is_same_v<decltype(result_of(std::make_index_sequence<inputs>{})), bool>, bool,
      Declared>;

  template <std::size_t... I>
  static typename LanesOf<void, Input<I>..., Output>::type lanes_of(std::index_sequence<I...>);
  using Lane = decltype(lanes_of(std::make_index_sequence<inputs>{}));
  static constexpr bool is_vector = !std::is_void_v<Lane>;

  template <class E, class V>
  static HALFTONE_INLINE auto load(const E* p) {
    if constexpr (std::is_same_v<E, bool>) {
      return V::mask::load(p);
    } else {
      return load_compute<V::size>(p);
    }
  }

  /// An input of run_lanes: element i, or the first vector again and again.
  template <class E>
  struct Operand {
    const E* data;
    std::int64_t mask;  ///< of the index: -1 or 0
    const E* at(std::int64_t i) const { return data + (i & mask); }
  };

  /// Whether vectors go four at a time: one alone would leave the machine waiting for its results.
  /// Of the narrow types only where operators ask for it, as each group takes time to compile.
  template <class V, class... E>
  static constexpr bool in_groups() {
    if constexpr (!has_groups<V> || inputs != 1 || std::is_same_v<Output, bool>) {
      return false;
    } else if constexpr (requires { requires Op::is_grouped; }) {
      return true;
    } else {
      return !requires { requires Op::is_short; } && std::is_same_v<Output, float> &&
             (std::is_same_v<E, float> && ...);
    }
  }

  /// As many of n elements as whole groups have. Flattened: a group is not passed through memory.
  template <class V, class E>
  HALFTONE_SIDE_BY_SIDE __attribute__((noinline, flatten)) static std::int64_t run_groups(
      Op op, std::int64_t n, Output* y, const Operand<E> x) {
    std::int64_t i = 0;
    for (; i + 4 * V::size <= n; i += 4 * V::size) {
      const auto at = [&](int k) { return load<E, V>(x.at(i + k * V::size)); };
      const auto put = [&](int k, V lanes) { store_compute(y + i + k * V::size, lanes); };
      const Quad<V> group{at(0), at(1), at(2), at(3)};
      Quad<V> made;
      if constexpr (requires { requires Op::is_grouped; }) {
        made = op.forward(group);
      } else {
        made = {op.forward(group.a), op.forward(group.b), op.forward(group.c), op.forward(group.d)};
      }
      put(0, made.a), put(1, made.b), put(2, made.c), put(3, made.d);
    }
    return i;
  }

  /// n elements, a multiple of the lanes. Not inlined: all elements go through the same
  /// instructions, so that none depends on its position.
  template <class V, class... E>
  __attribute__((noinline)) static void run_lanes(const Op& given, std::int64_t n, Output* y,
                                                  const Operand<E>... x) {
    const Op op = given;  // y may overlap it for all that the compiler knows
    std::int64_t i = 0;
    if constexpr (in_groups<V, E...>()) {
      i = run_groups<V>(op, n, y, x...);
    }
    for (; i < n; i += V::size) {
      // Long computations would fill the queues with instructions that wait for the second cache.
      if constexpr (!requires { requires Op::is_short; }) {
        (__builtin_prefetch(x.at(i + 4 * V::size)), ...);
      }
      if constexpr (std::is_same_v<Output, bool>) {
        const typename V::mask lanes = op.forward(load<E, V>(x.at(i))...);
        lanes.store(y + i);
      } else {
        const V lanes = op.forward(load<E, V>(x.at(i))...);
        store_compute(y + i, lanes);
      }
    }
  }

  template <class... E>
  static void run_numbers(const Op& given, std::int64_t n, Output* y, const E*... x) {
    const Op op = given;
    // y is one of x, or apart from them: no element depends on another.
#ifndef __clang__  // which warns about every loop where the promise is of no use
#pragma GCC ivdep
#endif
    for (std::int64_t i = 0; i < n; ++i) {
      y[i] = static_cast<Output>(op.forward(static_cast<Number<E>>(x[i])...));
    }
  }

  /// `count` times the element of each uniform input, which is read from there then.
  template <std::size_t Count, std::size_t... I>
  struct Repeated {
    alignas(64) unsigned char elements[inputs][Count * 8];
    const void* in[inputs];

    Repeated(const void* const* given, std::uint32_t uniform) : in{given[I]...} {
      (
          [&] {
            if ((uniform >> I & 1) == 0) return;
            const auto element = *static_cast<const Input<I>*>(given[I]);
            auto* to = reinterpret_cast<Input<I>*>(elements[I]);
            for (std::size_t i = 0; i < Count; ++i) to[i] = element;
            in[I] = to;
          }(),
          ...);
    }
  };

  template <std::size_t... I>
  static void run(const Op& op, const void* const* in, std::uint32_t uniform, Output* y,
                  std::int64_t n, std::index_sequence<I...> all) {
    if constexpr (is_vector) {
      using V = Vec<Lane>;
      if (uniform == 0) {
        run_vectors<V>(op, in, 0, y, n, all);
      } else {
        const Repeated<static_cast<std::size_t>(V::size), I...> repeated(in, uniform);
        run_vectors<V>(op, repeated.in, uniform, y, n, all);
      }
    } else if (uniform == 0) {
      run_numbers(op, n, y, static_cast<const Input<I>*>(in[I])...);
    } else {
      constexpr std::int64_t piece = 64;
      const Repeated<piece, I...> repeated(in, uniform);
      for (std::int64_t first = 0; first < n; first += piece) {
        run_numbers(op, n - first < piece ? n - first : piece, y + first,
                    (static_cast<const Input<I>*>(repeated.in[I]) +
                     ((uniform >> I & 1) != 0 ? 0 : first))...);
      }
    }
  }

  template <class V, std::size_t... I>
  static void run_vectors(const Op& op, const void* const* in, std::uint32_t uniform, Output* y,
                          std::int64_t n, std::index_sequence<I...>) {
    const std::int64_t whole = n / V::size * V::size, rest = n - whole;
    const auto mask = [&](std::size_t i) -> std::int64_t {
      return (uniform >> i & 1) != 0 ? 0 : -1;
    };
    if (whole != 0) {
      run_lanes<V>(op, whole, y,
                   Operand<Input<I>>{static_cast<const Input<I>*>(in[I]), mask(I)}...);
    }
    if (rest == 0) return;
    // The rest, in a vector of its own: elements there are nowhere else.
    alignas(64) unsigned char last[inputs + 1][sizeof(V)] = {};
    (__builtin_memcpy(last[I], static_cast<const Input<I>*>(in[I]) + (whole & mask(I)),
                      static_cast<std::size_t>(rest) * sizeof(Input<I>)),
     ...);
    auto* last_y = reinterpret_cast<Output*>(last[inputs]);
    run_lanes<V>(op, V::size, last_y,
                 Operand<Input<I>>{reinterpret_cast<const Input<I>*>(last[I]), -1}...);
    __builtin_memcpy(y + whole, last_y, static_cast<std::size_t>(rest) * sizeof(Output));
  }
};

}  // namespace detail

/// forward() of n elements; the output may be one of the dense inputs. float, double,
/// half and bfloat16 are computed as vectors (of float for the halves), other types in a loop for
/// the compiler to vectorise. An element's result depends neither on its position nor on n.
template <class Op, class... T>
void vector_block(const void* op, const void* const* inputs, std::uint32_t uniform, void* output,
                  std::int64_t n) {
  using E = detail::Elementwise<Op, T...>;
  E::run(*static_cast<const Op*>(op), inputs, uniform, static_cast<typename E::Output*>(output), n,
         std::make_index_sequence<E::inputs>{});
}

/// For halftone::detail::select_kernel: the kernel of an element-wise operator, over vectors.
template <class Op, class... T>
struct VectorMaker {
  static constexpr auto make() {
    auto kernel = halftone::detail::make_kernel<Op, T...>();
    kernel.block = &vector_block<Op, T...>;
    if constexpr (detail::is_link<Op, T...>()) {
      kernel.link = &link_of<Op>;
      kernel.chain = &chain_functions;
    }
    return kernel;
  }
};

}  // namespace halftone::kernel
