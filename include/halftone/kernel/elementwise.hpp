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
constexpr Kernel make_block_kernel(void (*block)(const void*, const void* const*, std::uint32_t,
                                                 void*, std::int64_t));

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

constexpr std::size_t max_block_inputs = 4;

/// One operator for one choice of element types, as the code that serves all of them sees it.
struct Block {
  /// n elements, a multiple of the lanes; masks: of the index in each input, -1 or 0.
  void (*run)(const void* op, std::int64_t n, void* y, const void* const* x,
              const std::int64_t* masks);
  std::int64_t lanes;
  std::size_t inputs, y_size, x_size[max_block_inputs];
};

/// The element of each uniform input `count` times, a power of two and at most `most`, and where
/// inputs are then.
struct Repeated {
  static constexpr std::int64_t most = 64;
  alignas(64) unsigned char elements[max_block_inputs][most * 8];
  const void* in[max_block_inputs];
  std::int64_t masks[max_block_inputs];

  Repeated(const Block& block, const void* const* given, std::uint32_t uniform,
           std::int64_t count) {
    for (std::size_t i = 0; i < block.inputs; ++i) {
      const bool is_uniform = (uniform >> i & 1) != 0;
      masks[i] = is_uniform ? 0 : -1;
      in[i] = is_uniform ? elements[i] : given[i];
      if (!is_uniform) continue;
      std::size_t filled = block.x_size[i];
      __builtin_memcpy(elements[i], given[i], filled);
      for (const std::size_t all = filled * static_cast<std::size_t>(count); filled < all;) {
        __builtin_memcpy(elements[i] + filled, elements[i], filled);
        filled *= 2;
      }
    }
  }
};

template <class Void>
Void* moved(Void* data, std::int64_t elements, std::size_t size) {
  using Byte = std::conditional_t<std::is_const_v<Void>, const char, char>;
  return static_cast<Byte*>(data) + elements * static_cast<std::int64_t>(size);
}

/// Any n, by vectors.
[[gnu::noinline]] inline void run_vectors(const Block& block, const void* op, const void* const* in,
                                          std::uint32_t uniform, void* y, std::int64_t n) {
  const Repeated from(block, in, uniform, block.lanes);
  const std::int64_t whole = n / block.lanes * block.lanes;
  const auto rest = static_cast<std::size_t>(n - whole);
  if (whole != 0) block.run(op, whole, y, from.in, from.masks);
  if (rest == 0) return;
  // The rest, in a vector of its own: elements there are nowhere else.
  alignas(64) unsigned char last[max_block_inputs + 1][64] = {};
  const void* last_in[max_block_inputs];
  std::int64_t dense[max_block_inputs];
  for (std::size_t i = 0; i < block.inputs; ++i) {
    const std::size_t size = block.x_size[i];
    __builtin_memcpy(last[i], moved(from.in[i], whole & from.masks[i], size), rest * size);
    last_in[i] = last[i];
    dense[i] = -1;
  }
  unsigned char* const last_y = last[max_block_inputs];
  block.run(op, block.lanes, last_y, last_in, dense);
  __builtin_memcpy(moved(y, whole, block.y_size), last_y, rest * block.y_size);
}

/// Any n, by plain loops, which read uniform inputs like others.
[[gnu::noinline]] inline void run_loops(const Block& block, const void* op, const void* const* in,
                                        std::uint32_t uniform, void* y, std::int64_t n) {
  if (uniform == 0) return block.run(op, n, y, in, nullptr);
  Repeated from(block, in, uniform, Repeated::most);
  for (std::int64_t first = 0; first < n; first += Repeated::most) {
    const std::int64_t count = n - first < Repeated::most ? n - first : Repeated::most;
    block.run(op, count, moved(y, first, block.y_size), from.in, nullptr);
    for (std::size_t i = 0; i < block.inputs; ++i) {
      from.in[i] = moved(from.in[i], count & from.masks[i], block.x_size[i]);
    }
  }
}

/// The code of one operator for one choice of element types.
template <class Op, class Inputs, class... T>
struct Elementwise;

template <class Op, std::size_t... I, class... T>
struct Elementwise<Op, std::index_sequence<I...>, T...> {
  static_assert(sizeof...(I) <= max_block_inputs);
  using Types = halftone::detail::Thunk<Op, T...>;
  template <std::size_t K>
  using Input = typename Types::template Input<K>;
  using Declared = typename Types::template Output<0>;
  using Lane = typename LanesOf<void, Input<I>..., Declared>::type;
  static constexpr bool is_vector = !std::is_void_v<Lane>;
  using V = Vec<std::conditional_t<is_vector, Lane, float>>;
  static_assert(sizeof(V) <= 64);

  /// What `forward` gets for an element: its lanes or, in a plain loop, itself, halves widened.
  template <class E>
  using Number =
      std::conditional_t<is_vector,
                         std::conditional_t<std::is_same_v<E, bool>, typename V::mask, V>,
                         std::conditional_t<has_float_lanes<E>, compute_t<E>, E>>;
  using Result = decltype(std::declval<const Op&>().forward(std::declval<Number<Input<I>>>()...));
  using Output =
      std::conditional_t<std::is_same_v<Result, bool> || std::is_same_v<Result, typename V::mask>,
                         bool, Declared>;

  template <class E>
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
  static constexpr bool in_groups() {
    if constexpr (!is_vector || !has_groups<V> || sizeof...(I) != 1 ||
                  std::is_same_v<Output, bool>) {
      return false;
    } else if constexpr (requires { requires Op::is_grouped; }) {
      return true;
    } else {
      return !requires { requires Op::is_short; } && std::is_same_v<Output, float> &&
             (std::is_same_v<Input<I>, float> && ...);
    }
  }

  /// As many of n elements as whole groups have. Flattened: a group is not passed through memory.
  template <class E>
  HALFTONE_SIDE_BY_SIDE __attribute__((noinline, flatten)) static std::int64_t run_groups(
      Op op, std::int64_t n, Output* y, const Operand<E> x) {
    std::int64_t i = 0;
    for (; i + 4 * V::size <= n; i += 4 * V::size) {
      const auto at = [&](int k) { return load(x.at(i + k * V::size)); };
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

  template <class... E>
  static HALFTONE_INLINE void run_lanes(const Op op, std::int64_t n, Output* y,
                                        const Operand<E>... x) {
    std::int64_t i = 0;
    if constexpr (in_groups()) {
      i = run_groups(op, n, y, x...);
    }
    for (; i < n; i += V::size) {
      // Long computations would fill the queues with instructions that wait for the second cache.
      if constexpr (!requires { requires Op::is_short; }) {
        (__builtin_prefetch(x.at(i + 4 * V::size)), ...);
      }
      const Result lanes = op.forward(load(x.at(i))...);
      if constexpr (std::is_same_v<Output, bool>) {
        lanes.store(y + i);
      } else {
        store_compute(y + i, V(lanes));
      }
    }
  }

  template <class... E>
  static HALFTONE_INLINE void run_numbers(const Op op, std::int64_t n, Output* y, const E*... x) {
    // y is one of x, or apart from them: no element depends on another.
#ifndef __clang__  // which warns about every loop where the promise is of no use
#pragma GCC ivdep
#endif
    for (std::int64_t i = 0; i < n; ++i) {
      y[i] = static_cast<Output>(op.forward(static_cast<Number<E>>(x[i])...));
    }
  }

  /// All elements go through the same instructions, so that none depends on its position. The
  /// operator is passed by value: y may overlap it for all that the compiler knows.
  static void run(const void* op, std::int64_t n, void* y, const void* const* x,
                  [[maybe_unused]] const std::int64_t* masks) {
    if constexpr (is_vector) {
      run_lanes(*static_cast<const Op*>(op), n, static_cast<Output*>(y),
                Operand<Input<I>>{static_cast<const Input<I>*>(x[I]), masks[I]}...);
    } else {
      run_numbers(*static_cast<const Op*>(op), n, static_cast<Output*>(y),
                  static_cast<const Input<I>*>(x[I])...);
    }
  }

  static constexpr Block block{
      &run, is_vector ? V::size : 1, sizeof...(I), sizeof(Output), {sizeof(Input<I>)...}};
};

}  // namespace detail

/// forward() of n elements; the output may be one of the dense inputs. float, double,
/// half and bfloat16 are computed as vectors (of float for the halves), other types in a loop for
/// the compiler to vectorise. An element's result depends neither on its position nor on n.
template <class Op, class... T>
void vector_block(const void* op, const void* const* inputs, std::uint32_t uniform, void* output,
                  std::int64_t n) {
  using E = detail::Elementwise<Op, std::make_index_sequence<slots_of<Op>.inputs()>, T...>;
  if constexpr (E::is_vector) {
    detail::run_vectors(E::block, op, inputs, uniform, output, n);
  } else {
    detail::run_loops(E::block, op, inputs, uniform, output, n);
  }
}

/// For halftone::detail::select_kernel: the kernel of an element-wise operator, over vectors.
template <class Op, class... T>
struct VectorMaker {
  static constexpr auto make() {
    auto kernel = halftone::detail::make_block_kernel<Op, T...>(&vector_block<Op, T...>);
    if constexpr (detail::is_link<Op, T...>()) {
      kernel.link = &link_of<Op>;
      kernel.chain = &chain_functions;
    }
    return kernel;
  }
};

}  // namespace halftone::kernel
