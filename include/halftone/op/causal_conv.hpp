#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_CAUSAL_CONV_HPP
#define HALFTONE_OP_CAUSAL_CONV_HPP

#include <cstdint>

#include <halftone/op/concat.hpp>
#include <halftone/op/conv.hpp>
#include <halftone/op/onnx_activation.hpp>
#include <halftone/op/pad.hpp>
#include <halftone/op/slice.hpp>

namespace halftone {

namespace op {
/// What CausalConvWithState does to its sums.
enum class CausalActivation : std::uint8_t { none, by_silu, by_swish };
}  // namespace op

namespace detail {
inline constexpr std::string_view causal_activation_names[] = {"none", "silu", "swish"};
}

namespace op {
constexpr std::span<const std::string_view> names_of(CausalActivation) {
  return halftone::detail::causal_activation_names;
}

/// Convolution along time in which each channel has a kernel of its own and no output sees later
/// inputs; recorded as Concat, Conv and Slice.
///
/// x, y           [batch, channels, steps]
/// w              [channels, 1, k]
/// b              [channels], absent: zeros
/// past, present  [batch, channels, k - 1], the inputs in front of x, absent: zeros; and the last
///                ones of both together
/// activation     none, or y = s * sigmoid(s) of the sums s under one of its two names
/// source         ai.onnx CausalConvWithState-27
struct CausalConvWithState {
  CausalActivation activation = CausalActivation::none;

  static constexpr OpId id{"ai.onnx", "CausalConvWithState", 27};
  static constexpr Signature signature = "x w b? past? -> y present?";

  constexpr void attributes(auto&& visit) { visit("activation", activation); }

  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t outputs) const {
    const auto input = [&](std::size_t i) {
      return i < inputs.size() ? AnyTensor(inputs[i]) : AnyTensor{&graph, no_tensor};
    };
    const TensorInfo x = input(0).info(), w = input(1).info();
    if (!x.is_known() || !w.is_known() || w.rank() != 3 || x.rank() != 3) {
      fail(ErrorKind::model,
           {.what = "CausalConvWithState: input and weight have three dimensions"});
    }
    const std::int64_t channels = w.shape[0], k = w.shape[2];
    if (channels == dynamic || k == dynamic) {
      fail(ErrorKind::unsupported,
           {.what = "CausalConvWithState: the weight's shape is not known"});
    }
    if (contradict(x.shape[1], channels) || contradict(w.shape[1], 1) || k < 1) {
      fail(ErrorKind::model,
           {.what = "CausalConvWithState: the weight is not one kernel for each channel"});
    }
    AnyTensor whole = input(0);
    if (input(3).is_absent()) {
      whole = pad(whole, constant(graph, {k - 1, 0}), none, constant(graph, {2}));
    } else {
      const TensorInfo past = input(3).info();
      if (past.is_known() && (past.rank() != 3 || contradict(past.shape[2], k - 1))) {
        fail(ErrorKind::model, {.what = "CausalConvWithState: the past has not k - 1 steps"});
      }
      whole = concat(Vector<AnyTensor>{input(3), whole}, {.axis = 2});
    }
    AnyTensor y = conv(whole, input(1), input(2), {.group = channels});
    if (activation != CausalActivation::none) y = swish(y);
    if (outputs < 2) return {y};
    const std::int64_t start = k > 1 ? 1 - k : INT64_MAX;  // the end, if no steps are kept
    return {y, slice(whole, constant(graph, {start}), constant(graph, {INT64_MAX}),
                     constant(graph, {2}))};
  }
};

}  // namespace op
}  // namespace halftone

#endif
