#pragma once

#include <cstdint>

#include <halftone/base/vector.hpp>
#include <halftone/graph/graph.hpp>
#include <halftone/op/repeat.hpp>
#include <halftone/transform/infer.hpp>

namespace halftone {

/// A Loop or Scan: what becomes of the results of its body, and the memory between passes. Of late
/// ones numbers of bytes and passes are unknown.
struct Repetition {
  static constexpr std::int32_t none = -1;

  /// A tensor that goes from pass to pass.
  struct State {
    std::int32_t result = none;  ///< its next value among the body's outputs; none: it is kept
    std::int64_t bytes = 0;
    std::int64_t memory = none;  ///< offset in the scratch memory; none: the node's output
    friend constexpr bool operator==(const State&, const State&) = default;
  };
  /// A tensor that has a slice for each pass: elements before and behind the axis.
  struct Stack {
    std::int32_t result = none;  ///< its slice among the body's outputs; none: nobody wants it
    std::int64_t axis = 0;
    std::int64_t outer = 1, length = 0, inner_bytes = 0;
    bool is_reversed = false;
    std::int64_t memory = none;  ///< offset in the scratch memory, for slices that lie apart
    friend constexpr bool operator==(const Stack&, const Stack&) = default;

    constexpr std::int64_t slice_bytes() const { return outer * inner_bytes; }
    /// The position along the axis of the slice that a pass has.
    constexpr std::int64_t at(std::int64_t pass) const {
      return is_reversed ? length - 1 - pass : pass;
    }
  };

  bool is_loop = false;
  ElementType count_type = ElementType::undefined;  ///< of a Loop's number of passes, if it has one
  std::int32_t first_state = 0, body_state = 0;     ///< among the node's inputs, the body's inputs
  Vector<State> states{};
  Vector<Stack> scanned{}, stacked{};  ///< inputs behind the states, outputs behind them
  std::int64_t scratch_bytes = 0;
  friend constexpr bool operator==(const Repetition&, const Repetition&) = default;
};

namespace detail {

constexpr Repetition::Stack stack_of(const TensorInfo& whole, std::int64_t axis, bool is_reversed) {
  const std::size_t at = normalized_axis(axis, whole.rank());
  Repetition::Stack stack{.axis = axis,
                          .length = whole.shape[at],
                          .inner_bytes = size_in_bytes(whole.type),
                          .is_reversed = is_reversed};
  for (std::size_t d = 0; d < whole.rank(); ++d) {
    if (d < at) stack.outer *= whole.shape[d];
    if (d > at) stack.inner_bytes *= whole.shape[d];
  }
  return stack;
}

/// Throws that the body does not fit the node. Defined in refuse.hpp.
template <class = void>
[[noreturn]] void refuse_repetition(const Graph& graph, const Node& node);

}  // namespace detail

/// Describes a node, and leaves of its body's outputs what the node needs.
constexpr Repetition make_repetition(const Graph& graph, const Node& node, Graph& body,
                                     bool is_late = false) {
  op::Repeat repeat;
  if (!describe_repeat(graph, node, repeat)) detail::refuse_repetition(graph, node);
  Repetition result{.is_loop = repeat.is_loop,
                    .first_state = static_cast<std::int32_t>(repeat.first_state),
                    .body_state = static_cast<std::int32_t>(repeat.body_state)};
  Vector<TensorId> wanted;
  const auto want = [&](std::size_t output) {
    wanted.push_back(body.outputs[output]);
    return static_cast<std::int32_t>(wanted.size()) - 1;
  };
  const auto is_wanted = [&](std::size_t output) {
    return output < node.outputs.size() && node.outputs[output] != no_tensor;
  };
  const auto allocate = [&](std::int64_t bytes) {
    const std::int64_t at = result.scratch_bytes;
    result.scratch_bytes += (bytes + 63) / 64 * 64;
    return at;
  };
  if (repeat.is_loop) {
    want(0);
    const TensorId count = node.inputs.empty() ? no_tensor : node.inputs[0];
    if (count != no_tensor) result.count_type = graph.info(count).type;
  }
  for (std::size_t i = 0; i < repeat.states; ++i) {
    Repetition::State state;
    if (!is_late) state.bytes = graph.info(node.inputs[repeat.first_state + i]).bytes();
    if (!repeat.is_kept(body, i)) {
      state.result = want(repeat.body_result + i);
      if (!is_late && !is_wanted(i)) state.memory = allocate(state.bytes);
    }
    result.states.push_back(state);
  }
  for (std::size_t i = 0; i < repeat.scanned; ++i) {
    if (is_late) {
      result.scanned.push_back(
          {.axis = repeat.input_axis(i), .is_reversed = repeat.input_is_reversed(i)});
      continue;
    }
    const TensorInfo& x = graph.info(node.inputs[repeat.first_state + repeat.states + i]);
    Repetition::Stack stack =
        detail::stack_of(x, repeat.input_axis(i), repeat.input_is_reversed(i));
    if (stack.outer != 1 && stack.length > 1) stack.memory = allocate(stack.slice_bytes());
    result.scanned.push_back(stack);
  }
  for (std::size_t i = 0; i < repeat.stacked; ++i) {
    const std::size_t output = repeat.states + i;
    if (!is_wanted(output)) {
      result.stacked.emplace_back();
      continue;
    }
    const std::int64_t axis = repeat.output_axis(i);
    const bool is_reversed = repeat.output_is_reversed(i);
    result.stacked.push_back(
        is_late ? Repetition::Stack{.axis = axis, .is_reversed = is_reversed}
                : detail::stack_of(graph.info(node.outputs[output]), axis, is_reversed));
    result.stacked.back().result = want(repeat.body_result + output);
  }
  body.outputs = std::move(wanted);
  return result;
}

}  // namespace halftone
