#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_MICROSOFT_ACTIVATION_HPP
#define HALFTONE_OP_MICROSOFT_ACTIVATION_HPP

#include <halftone/op/quantize_linear.hpp>

namespace halftone {

/// Activations that ONNX Runtime's fusions append to a product or a convolution.
enum class FusedActivation : std::uint8_t {
  identity,
  relu,
  leaky_relu,
  sigmoid,
  tanh,
  hard_sigmoid,
  clip,
  elu,
  selu,
  softplus,
  softsign,
  thresholded_relu,
  hard_swish,
  gelu,
  quick_gelu,
};
inline constexpr std::string_view fused_activation_names[]{
    "",          "Relu", "LeakyRelu", "Sigmoid",  "Tanh",     "HardSigmoid",
    "Clip",      "Elu",  "Selu",      "Softplus", "Softsign", "ThresholdedRelu",
    "HardSwish", "Gelu", "QuickGelu"};
constexpr std::span<const std::string_view> names_of(FusedActivation) {
  return fused_activation_names;
}

namespace detail {

/// The activation of x; `parameters` are its attributes in the order of the specification, ONNX's
/// defaults where the list is shorter.
template <class X>
constexpr X activated(const X& x, FusedActivation activation, std::span<const float> parameters) {
  const auto parameter = [&](std::size_t i, float otherwise) {
    return i < parameters.size() ? parameters[i] : otherwise;
  };
  switch (activation) {
    case FusedActivation::identity:
      return x;
    case FusedActivation::relu:
      return op::relu(x);
    case FusedActivation::leaky_relu:
      return op::leaky_relu(x, {.alpha = parameter(0, 0.01f)});
    case FusedActivation::sigmoid:
      return op::sigmoid(x);
    case FusedActivation::tanh:
      return op::tanh(x);
    case FusedActivation::hard_sigmoid:
      return op::hard_sigmoid(x, {.alpha = parameter(0, 0.2f), .beta = parameter(1, 0.5f)});
    case FusedActivation::clip:
      return op::clip(x, parameter(0, std::numeric_limits<float>::lowest()),
                      parameter(1, std::numeric_limits<float>::max()));
    case FusedActivation::elu:
      return op::elu(x, {.alpha = parameter(0, 1)});
    case FusedActivation::selu:
      return op::selu(x);
    case FusedActivation::softplus:
      return op::softplus(x);
    case FusedActivation::softsign:
      return op::softsign(x);
    case FusedActivation::thresholded_relu:
      return op::thresholded_relu(x, {.alpha = parameter(0, 1)});
    case FusedActivation::hard_swish:
      return op::hard_swish(x);
    case FusedActivation::gelu:
      return op::gelu_erf(x);
    case FusedActivation::quick_gelu:
      return op::mul(x, op::sigmoid(op::mul(x, parameter(0, 1.702f))));
  }
  return x;
}

/// The numbers that are given, in order, up to the first that is not.
constexpr BoundedList<float, 4> given_numbers(const auto&... numbers) {
  BoundedList<float, 4> list;
  bool all = true;
  (((all = all && numbers.present) ? list.push_back(numbers.value) : void()), ...);
  return list;
}

/// a + input i, or a where that is absent.
template <class X>
constexpr X plus(const X& a, const auto& inputs, std::size_t i) {
  return is_given(inputs, i) ? X(op::add(a, inputs[i])) : a;
}

}  // namespace detail

namespace op {

/// y = x / 2 * (1 + erf(x / sqrt(2))), element by element.
///
/// x, y    any shape, floating point
/// source  com.microsoft Gelu-1
struct MicrosoftGelu {
  static constexpr OpId id{"com.microsoft", "Gelu", 1};
  static constexpr Signature signature = "x -> y";

  static constexpr AnyTensor expand(tensor_handle auto x) { return gelu_erf(x); }
};

/// Gelu, see MicrosoftGelu, of a + b.
///
/// a, b    b [channels] broadcasts to a [..., channels]
/// source  com.microsoft BiasGelu-1
struct BiasGelu {
  static constexpr OpId id{"com.microsoft", "BiasGelu", 1};
  static constexpr Signature signature = "a b -> y";

  static constexpr AnyTensor expand(tensor_handle auto a, tensor_handle auto b) {
    return gelu_erf(add(a, b));
  }
};

/// Gelu with tanh, see Gelu, of x + bias.
///
/// x       any shape, floating point
/// bias    [channels], may be absent
/// source  com.microsoft FastGelu-1
struct FastGelu {
  static constexpr OpId id{"com.microsoft", "FastGelu", 1};
  static constexpr Signature signature = "x bias? -> y";

  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    return {gelu(halftone::detail::plus(inputs[0], inputs, 1))};
  }
};

/// y = x * sigmoid(alpha * x), element by element.
///
/// x, y    any shape, floating point
/// source  com.microsoft QuickGelu-1
struct QuickGelu {
  float alpha = 1.702f;

  static constexpr OpId id{"com.microsoft", "QuickGelu", 1};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) { visit("alpha", alpha); }
  constexpr AnyTensor expand(tensor_handle auto x) const { return mul(x, sigmoid(mul(x, alpha))); }
};

/// The first half of the channels of x + bias times the Gelu of the second half.
///
/// x       [batch, length, channels], channels even
/// bias    [channels]
/// y       [batch, length, channels / 2]
/// source  com.microsoft BiasSplitGelu-1
struct BiasSplitGelu {
  static constexpr OpId id{"com.microsoft", "BiasSplitGelu", 1};
  static constexpr Signature signature = "x bias -> y";

  static constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto bias) {
    const auto biased = add(x, bias);
    const auto halves = halftone::detail::record(*x.graph, Split{.axis = -1}, {biased.id}, 2);
    const AnyTensor left{x.graph, halves[0]}, right{x.graph, halves[1]};
    return mul(left, gelu_erf(right));
  }
};

/// y = x + bias + skip.
///
/// x, skip  [batch, length, channels]
/// bias     [channels]
/// source   com.microsoft BiasAdd-1
struct BiasAdd {
  static constexpr OpId id{"com.microsoft", "BiasAdd", 1};
  static constexpr Signature signature = "x bias skip -> y";

  static constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto bias,
                                    tensor_handle auto skip) {
    return add(add(x, bias), skip);
  }
};

/// Softmax of data + bias over all dimensions from `axis` on together.
///
/// bias    broadcasts to data: is_inner_broadcast says along which dimensions, which its shape does
///         too
/// source  com.microsoft BiasSoftmax-1
struct BiasSoftmax {
  std::int64_t axis = 1, is_inner_broadcast = required;

  static constexpr OpId id{"com.microsoft", "BiasSoftmax", 1};
  static constexpr Signature signature = "data bias -> y";

  constexpr void attributes(auto&& visit) {
    visit("axis", axis);
    visit("is_inner_broadcast", is_inner_broadcast);
  }
  constexpr AnyTensor expand(tensor_handle auto data, tensor_handle auto bias) const {
    return Softmax_1{{.axis = axis}}.expand(add(data, bias));
  }
};

}  // namespace op
}  // namespace halftone

#endif
