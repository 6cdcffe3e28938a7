#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_ONNX_ACTIVATION_HPP
#define HALFTONE_OP_ONNX_ACTIVATION_HPP

#include <halftone/op/activation.hpp>
#include <halftone/op/graphcore_activation.hpp>

namespace halftone {

namespace op {
/// Which formula Gelu goes by.
enum class GeluApproximation : std::uint8_t { none, by_tanh };
}  // namespace op

namespace detail {
inline constexpr std::string_view gelu_approximation_names[] = {"none", "tanh"};

/// x * sigmoid(alpha * x).
constexpr AnyTensor swish_of(tensor_handle auto x, float alpha) {
  if (alpha == 1) return op::swish(x);
  return op::mul(x, op::sigmoid(op::mul(x, alpha)));
}
}  // namespace detail

namespace op {
constexpr std::span<const std::string_view> names_of(GeluApproximation) {
  return halftone::detail::gelu_approximation_names;
}

/// ONNX's Gelu: GeluErf, or the approximation that Gelu is; recorded as one of them.
///
/// x, y         any shape, floating point
/// approximate  none: x / 2 * (1 + erf(x / sqrt(2))); tanh: with tanh in place of erf
/// source       ai.onnx Gelu-20
struct OnnxGelu {
  GeluApproximation approximate = GeluApproximation::none;

  static constexpr OpId id{"ai.onnx", "Gelu", 20};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) { visit("approximate", approximate); }
  constexpr AnyTensor expand(tensor_handle auto x) const {
    if (approximate == GeluApproximation::by_tanh) return gelu(x);
    return gelu_erf(x);
  }
};

/// ONNX's Swish: y = x * sigmoid(alpha * x), element by element; recorded as these operators.
///
/// x, y    any shape, floating point
/// source  ai.onnx Swish-24
struct OnnxSwish {
  float alpha = 1;

  static constexpr OpId id{"ai.onnx", "Swish", 24};
  static constexpr Signature signature = "x -> y";

  constexpr void attributes(auto&& visit) { visit("alpha", alpha); }
  constexpr AnyTensor expand(tensor_handle auto x) const {
    return halftone::detail::swish_of(x, alpha);
  }
};

/// y = a * sigmoid(alpha * a) * b, element by element; recorded as these operators.
///
/// a, b, y  the same shape, floating point
/// source   ai.onnx SwiGLU-28; Shazeer 2020, arXiv:2002.05202
struct SwiGLU {
  float alpha = 1;

  static constexpr OpId id{"ai.onnx", "SwiGLU", 28};
  static constexpr Signature signature = "a b -> y";

  constexpr void attributes(auto&& visit) { visit("alpha", alpha); }
  constexpr AnyTensor expand(tensor_handle auto a, tensor_handle auto b) const {
    const TensorInfo gate = a.info(), value = b.info();
    if (gate.is_known() && value.is_known()) {
      bool is_same = gate.rank() == value.rank();
      for (std::size_t i = 0; is_same && i < gate.rank(); ++i) {
        is_same = !contradict(gate.shape[i], value.shape[i]);
      }
      if (!is_same) fail(ErrorKind::model, {.what = "SwiGLU: the inputs' shapes differ"});
    }
    return mul(halftone::detail::swish_of(a, alpha), b);
  }
};

}  // namespace op
}  // namespace halftone

#endif
