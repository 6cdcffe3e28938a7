#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <halftone/kernel/broadcast.hpp>
#include <halftone/kernel/math.hpp>
#include <halftone/kernel/simd.hpp>
#include <halftone/static/plan.hpp>
#include <halftone/static/step.hpp>

// Groups of element-wise nodes as one loop: a vector passes through all members in registers.
namespace halftone::detail {

inline constexpr std::size_t most_group_inputs = Fusion::max_inputs,
                             most_group_outputs = Fusion::max_nodes;

/// A group as the code that serves all of them sees it.
struct GroupCode {
  /// n elements, a multiple of the lanes; masks: of the index in each input, -1 or 0.
  void (*run)(const void* const* x, const std::int64_t* masks, void* const* y, std::int64_t n);
  std::size_t inputs, outputs, lanes;
  std::uint8_t lane_bytes;
  std::uint32_t bool_inputs, bool_outputs;  ///< bit i

  std::size_t input_size(std::size_t i) const {
    return (bool_inputs >> i & 1) != 0 ? 1 : lane_bytes;
  }
  std::size_t output_size(std::size_t o) const {
    return (bool_outputs >> o & 1) != 0 ? 1 : lane_bytes;
  }
};

/// Any number of elements from `first` on.
[[gnu::noinline]] inline void run_group_block(const GroupCode& code, const void* const* x,
                                              const std::int64_t* masks, void* const* y,
                                              std::int64_t n) {
  const auto lanes = static_cast<std::int64_t>(code.lanes);
  const std::int64_t whole = n / lanes * lanes;
  if (whole != 0) code.run(x, masks, y, whole);
  if (whole == n) return;
  // The rest, in vectors of its own: elements there are nowhere else.
  const auto rest = static_cast<std::size_t>(n - whole), at = static_cast<std::size_t>(whole);
  alignas(64) unsigned char last[most_group_inputs + most_group_outputs][64] = {};
  const void* last_x[most_group_inputs];
  void* last_y[most_group_outputs];
  for (std::size_t i = 0; i < code.inputs; ++i) {
    const std::size_t size = code.input_size(i);
    last_x[i] = x[i];
    if (masks[i] == 0) continue;
    last_x[i] = last[i];
    __builtin_memcpy(last[i], static_cast<const unsigned char*>(x[i]) + at * size, rest * size);
  }
  for (std::size_t o = 0; o < code.outputs; ++o) last_y[o] = last[code.inputs + o];
  code.run(last_x, masks, last_y, lanes);
  for (std::size_t o = 0; o < code.outputs; ++o) {
    const std::size_t size = code.output_size(o);
    __builtin_memcpy(static_cast<unsigned char*>(y[o]) + at * size, last_y[o], rest * size);
  }
}

/// A step of a group, of any extents.
[[gnu::noinline]] inline void run_group(const GroupCode& code, const StepCall& call) {
  constexpr std::int64_t most = 256;
  alignas(64) unsigned char repeated[most_group_inputs][64];
  alignas(64) unsigned char room[most_group_inputs][most * 8];
  const void* x[most_group_inputs];
  void* y[most_group_outputs];
  std::int64_t masks[most_group_inputs];
  for (std::size_t i = 0; i < code.inputs; ++i) {
    const bool is_uniform = (call.step.uniform >> i & 1) != 0;
    x[i] = call.arguments[i].data;
    masks[i] = is_uniform ? 0 : -1;
    if (!is_uniform) continue;
    const std::size_t size = code.input_size(i);
    for (std::size_t l = 0; l < code.lanes; ++l) {
      __builtin_memcpy(repeated[i] + l * size, x[i], size);
    }
    x[i] = repeated[i];
  }
  for (std::size_t o = 0; o < code.outputs; ++o) y[o] = call.arguments[code.inputs + o].data;
  const std::int64_t all = call.step.elements;
  if (call.step.broadcast < 0) return run_group_block(code, x, masks, y, all);
  const kernel::BroadcastInput* const broadcasts = call.broadcasts + call.step.broadcast;
  for (std::int64_t first = 0; first < all; first += most) {
    const std::int64_t n = all - first < most ? all - first : most;
    for (std::size_t i = 0; i < code.inputs; ++i) {
      if (masks[i] != 0) x[i] = broadcasts[i].fetch(call.arguments[i].data, first, n, room[i]);
    }
    run_group_block(code, x, masks, y, n);
    for (std::size_t o = 0; o < code.outputs; ++o) {
      y[o] = static_cast<unsigned char*>(y[o]) + static_cast<std::size_t>(n) * code.output_size(o);
    }
  }
}

/// The kernel number K of a plan, which is a group.
template <class Plan, class List, std::size_t K>
struct StaticGroupKernel {
  static constexpr const StaticSignature& signature = Plan::tables.signatures[K];
  static constexpr const StaticGroup& group =
      Plan::tables.groups[static_cast<std::size_t>(signature.group)];
  using Lane = std::conditional_t<group.type == ElementType::float64, double, float>;
  using V = kernel::Vec<Lane>;
  using M = typename V::mask;
  static constexpr std::int64_t lanes = V::size;
  using Inputs = std::make_index_sequence<group.inputs>;
  using Members = std::make_index_sequence<group.members>;

  static void run(const StepCall& call) {
    if constexpr (signature.extents_of >= 0) {
      run_small(call, Inputs{}, Members{});
    } else {
      static constexpr GroupCode code{&run_lanes,   group.inputs,      group.outputs,     lanes,
                                      sizeof(Lane), group.bool_inputs, group.bool_outputs};
      run_group(code, call);
    }
  }

 private:
  template <std::size_t N>
  struct Member {
    static constexpr const StaticMember& node = Plan::tables.members[group.first_member + N];
    using Op = typename List::template at<static_cast<std::size_t>(node.op)>;
    static constexpr Op op = unpack<Op>(std::span(node.words).first(node.word_count));
  };
  /// The values of a group.
  struct Values {
    V numbers[group.inputs + group.members];
    M flags[group.inputs + group.members];
  };
  static constexpr bool is_bool_input(std::size_t i) { return (group.bool_inputs >> i & 1) != 0; }

  template <std::size_t N, std::size_t I>
  static HALFTONE_INLINE auto operand(const Values& values) {
    constexpr int at = Member<N>::node.inputs[I];
    if constexpr (at < 0) {
      return V(Member<N>::op.template absent<Lane>(I));
    } else if constexpr (is_flag<static_cast<std::size_t>(at)>()) {
      return values.flags[at];
    } else {
      return values.numbers[at];
    }
  }
  template <std::size_t N>
  static HALFTONE_INLINE auto result(const Values& values) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      constexpr auto op = Member<N>::op;
      return op.forward(operand<N, I>(values)...);
    }(std::make_index_sequence<slots_of<typename Member<N>::Op>.inputs()>{});
  }
  /// Whether a value is of bool.
  template <std::size_t At>
  static constexpr bool is_flag() {
    if constexpr (At < group.inputs) {
      return is_bool_input(At);
    } else {
      return std::is_same_v<decltype(result<At - group.inputs>(std::declval<const Values&>())), M>;
    }
  }
  template <std::size_t N>
  static HALFTONE_INLINE void compute(Values& values) {
    constexpr std::size_t at = group.inputs + N;
    if constexpr (is_flag<at>()) {
      values.flags[at] = result<N>(values);
    } else {
      values.numbers[at] = apart(V(result<N>(values)));
    }
  }
  template <std::size_t I>
  static HALFTONE_INLINE void load(Values& values, const void* x, std::int64_t i) {
    if constexpr (is_bool_input(I)) {
      values.flags[I] = M::load(static_cast<const bool*>(x) + i);
    } else {
      values.numbers[I] = V::load(static_cast<const Lane*>(x) + i);
    }
  }
  template <std::size_t N>
  static HALFTONE_INLINE void store(const Values& values, void* const* y, std::int64_t i) {
    constexpr int output = Member<N>::node.output;
    if constexpr (output >= 0) {
      if constexpr (is_flag<group.inputs + N>()) {
        values.flags[group.inputs + N].store(static_cast<bool*>(y[output]) + i);
      } else {
        values.numbers[group.inputs + N].store(static_cast<Lane*>(y[output]) + i);
      }
    }
  }

  static void run_lanes(const void* const* x, const std::int64_t* masks, void* const* y,
                        std::int64_t n) {
    [&]<std::size_t... I, std::size_t... N>(std::index_sequence<I...>, std::index_sequence<N...>) {
      const void* const from[] = {x[I]...};
      const std::int64_t mask[] = {masks[I]...};
      void* to[group.outputs];
      for (std::size_t o = 0; o < group.outputs; ++o) to[o] = y[o];
      for (std::int64_t i = 0; i < n; i += lanes) {
        Values values;
        (load<I>(values, from[I], i & mask[I]), ...);
        (compute<N>(values), ...);
        (store<N>(values, to, i), ...);
      }
    }(Inputs{}, Members{});
  }

  /// The step whose extents are constants here.
  static constexpr const StaticStep& example =
      Plan::steps[signature.extents_of >= 0 ? static_cast<std::size_t>(signature.extents_of) : 0];
  static constexpr bool is_uniform(std::size_t i) { return (example.uniform >> i & 1) != 0; }

  template <std::size_t... I, std::size_t... N>
  static void run_small(const StepCall& call, std::index_sequence<I...>,
                        std::index_sequence<N...>) {
    constexpr std::int64_t n = example.elements, whole = n / lanes * lanes, rest = n - whole;
    const TensorArgument* const x = call.arguments;
    void* y[group.outputs];
    for (std::size_t o = 0; o < group.outputs; ++o) y[o] = x[group.inputs + o].data;
    Values values;
    (load_uniform<I>(values, x[I].data), ...);
    for (std::int64_t i = 0; i < whole; i += lanes) {
      (load_part<I, lanes>(values, x[I].data, i), ...);
      (compute<N>(values), ...);
      (store<N>(values, y, i), ...);
    }
    if constexpr (rest != 0) {
      (load_part<I, rest>(values, x[I].data, whole), ...);
      (compute<N>(values), ...);
      (store_part<N, rest>(values, y, whole), ...);
    }
  }
  template <std::size_t I>
  static HALFTONE_INLINE void load_uniform(Values& values, const void* x) {
    if constexpr (is_uniform(I) && is_bool_input(I)) {
      values.flags[I] = M(*static_cast<const bool*>(x));
    } else if constexpr (is_uniform(I)) {
      values.numbers[I] = V(*static_cast<const Lane*>(x));
    }
  }
  template <std::size_t I, std::int64_t Count>
  static HALFTONE_INLINE void load_part(Values& values, const void* x, std::int64_t i) {
    if constexpr (!is_uniform(I)) {
      if constexpr (Count == lanes) {
        load<I>(values, x, i);
      } else {
        using E = std::conditional_t<is_bool_input(I), bool, Lane>;
        alignas(64) E part[lanes]{};
        __builtin_memcpy(part, static_cast<const E*>(x) + i, Count * sizeof(E));
        load<I>(values, part, 0);
      }
    }
  }
  template <std::size_t N, std::int64_t Count>
  static HALFTONE_INLINE void store_part(const Values& values, void* const* y, std::int64_t i) {
    constexpr int output = Member<N>::node.output;
    if constexpr (output >= 0) {
      using E = std::conditional_t<is_flag<group.inputs + N>(), bool, Lane>;
      alignas(64) E part[lanes];
      void* to[group.outputs];
      to[output] = part;
      store<N>(values, to, 0);
      __builtin_memcpy(static_cast<E*>(y[output]) + i, part, Count * sizeof(E));
    }
  }
};

}  // namespace halftone::detail
