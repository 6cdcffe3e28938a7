#include <halftone/op/list.hpp>  // first: it includes all operators in their order

#ifndef HALFTONE_OP_MICROSOFT_PRODUCT_HPP
#define HALFTONE_OP_MICROSOFT_PRODUCT_HPP

#include <halftone/op/conv.hpp>
#include <halftone/op/conv_transpose.hpp>
#include <halftone/op/microsoft_activation.hpp>

namespace halftone::detail {

/// The order of dimensions, 0 to rank - 1.
constexpr Dims axes_in_order(std::size_t rank) {
  Dims axes;
  for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

/// The rank of a tensor that an expansion cannot do without.
template <class X>
constexpr std::size_t known_rank(const X& x) {
  const TensorInfo info = x.info();
  if (!info.is_known()) {
    fail(ErrorKind::unsupported, {.what = "the rank of a tensor is not known", .tensor = x.name()});
  }
  return info.rank();
}

/// The last extent of a tensor; dynamic: it is not known, or there is none.
template <class X>
constexpr std::int64_t last_extent(const X& x) {
  const TensorInfo info = x.info();
  return info.is_known() && info.rank() > 0 ? info.shape.back() : dynamic;
}

/// An operand of FusedMatMul. `moves_batch`: its first dimension is that of the rows, the batch
/// follows.
template <class X>
constexpr X product_operand(const X& x, bool is_transposed, bool moves_batch) {
  if (!is_transposed && !moves_batch) return x;
  const std::size_t rank = known_rank(x);
  if (rank < 2) return x;
  Dims perm = axes_in_order(rank);
  if (moves_batch) {
    for (std::size_t i = 0; i + 2 < rank; ++i) perm[i] = static_cast<std::int64_t>(i) + 1;
    perm[rank - 2] = 0;
  }
  if (is_transposed) std::swap(perm[rank - 2], perm[rank - 1]);
  return op::transpose(x, {.perm = perm});
}

/// From [batch, spatial..., channels] to [batch, channels, spatial...].
template <class X>
constexpr X channels_first(const X& x) {
  const std::size_t rank = known_rank(x);
  if (rank < 3) return x;
  Dims perm{0, static_cast<std::int64_t>(rank) - 1};
  for (std::size_t i = 1; i + 1 < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
  return op::transpose(x, {.perm = perm});
}

/// From [batch, channels, spatial...], of a known rank, to [batch, spatial..., channels].
template <class X>
constexpr X channels_last(const X& x, std::size_t rank) {
  if (rank < 3) return x;
  Dims perm{0};
  for (std::size_t i = 2; i < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
  perm.push_back(1);
  return op::transpose(x, {.perm = perm});
}

/// FusedMatMul and what is the same under other names.
struct FusedProduct {
  float alpha = 1;
  bool trans_a = false, trans_b = false, trans_batch_a = false, trans_batch_b = false;

  constexpr void attributes(auto&& visit) {
    visit("alpha", alpha);
    visit("transA", trans_a);
    visit("transB", trans_b);
    visit("transBatchA", trans_batch_a);
    visit("transBatchB", trans_batch_b);
  }
  template <class X>
  constexpr X product(const X& a, const X& b) const {
    const bool is_plain =
        a.info().rank() == 2 && b.info().rank() == 2 && !is_integer(a.info().type);
    if (is_plain && !trans_batch_a && !trans_batch_b) {
      return op::gemm(a, b, {.alpha = alpha, .trans_a = trans_a, .trans_b = trans_b});
    }
    const X y = op::matmul(product_operand(a, trans_a, trans_batch_a),
                           product_operand(b, trans_b, trans_batch_b));
    return alpha == 1 ? y : X(op::mul(y, alpha));
  }
};

}  // namespace halftone::detail

namespace halftone::op {

/// y = alpha * a' b', where ' may transpose: as MatMul.
///
/// trans_a, trans_b              the last two dimensions change places
/// trans_batch_a, trans_batch_b  before that, the first dimension moves behind the batch: [rows,
///                               batch..., columns]
/// source                        com.microsoft FusedMatMul-1
struct FusedMatMul {
  halftone::detail::FusedProduct with{};

  static constexpr OpId id{"com.microsoft", "FusedMatMul", 1};
  static constexpr Signature signature = "a b -> y";

  constexpr void attributes(auto&& visit) { with.attributes(visit); }
  constexpr AnyTensor expand(tensor_handle auto a, tensor_handle auto b) const {
    return with.product(a, b);
  }
};

/// FusedMatMul under its older name. source  com.microsoft TransposeMatMul-1
struct TransposeMatMul {
  float alpha = 1;
  bool trans_a = false, trans_b = false;

  static constexpr OpId id{"com.microsoft", "TransposeMatMul", 1};
  static constexpr Signature signature = "a b -> y";

  constexpr void attributes(auto&& visit) {
    visit("alpha", alpha);
    visit("transA", trans_a);
    visit("transB", trans_b);
  }
  constexpr AnyTensor expand(tensor_handle auto a, tensor_handle auto b) const {
    return halftone::detail::FusedProduct{alpha, trans_a, trans_b}.product(a, b);
  }
};

/// FusedMatMul with an activation behind it.
///
/// activation_axis  is not looked at: no activation that is offered has an axis
/// source           com.microsoft FusedMatMulActivation-1
struct FusedMatMulActivation {
  halftone::detail::FusedProduct with{};
  FusedActivation activation{};
  Optional<float> activation_alpha{}, activation_beta{}, activation_gamma{};
  Optional<std::int64_t> activation_axis{};

  static constexpr OpId id{"com.microsoft", "FusedMatMulActivation", 1};
  static constexpr Signature signature = "a b -> y";

  constexpr void attributes(auto&& visit) {
    with.attributes(visit);
    visit("activation", activation);
    visit("activation_alpha", activation_alpha);
    visit("activation_beta", activation_beta);
    visit("activation_gamma", activation_gamma);
    visit("activation_axis", activation_axis);
  }
  constexpr AnyTensor expand(tensor_handle auto a, tensor_handle auto b) const {
    return halftone::detail::activated(
        with.product(a, b), activation,
        halftone::detail::given_numbers(activation_alpha, activation_beta).span());
  }
};

/// Gemm with an activation behind it: y = activation(alpha * a' b' + beta * c).
///
/// a, b, c           as Gemm's; c may be absent
/// activation_alpha  attributes of the activation, its defaults where absent
/// source            com.microsoft FusedGemm-1
struct FusedGemm {
  Gemm gemm{};
  FusedActivation activation{};
  Optional<float> activation_alpha{}, activation_beta{}, activation_gamma{};

  static constexpr OpId id{"com.microsoft", "FusedGemm", 1};
  static constexpr Signature signature = "a b c? -> y";

  constexpr void attributes(auto&& visit) {
    gemm.attributes(visit);
    visit("activation", activation);
    visit("activation_alpha", activation_alpha);
    visit("activation_beta", activation_beta);
    visit("activation_gamma", activation_gamma);
  }
  constexpr AnyTensor expand(tensor_handle auto a, tensor_handle auto b,
                             tensor_handle auto c) const {
    return halftone::detail::activated(
        op::gemm(a, b, c, gemm), activation,
        halftone::detail::given_numbers(activation_alpha, activation_beta).span());
  }
};

/// Gelu with tanh of x w + bias.
///
/// x, w, bias  as MatMul's; bias [columns], may be absent
/// source      com.microsoft GemmFastGelu-1
struct GemmFastGelu {
  static constexpr OpId id{"com.microsoft", "GemmFastGelu", 1};
  static constexpr Signature signature = "x w bias? -> y";

  constexpr Vector<AnyTensor> expand(auto&, const auto& inputs, std::size_t) const {
    auto y = inputs[0];
    y = matmul(inputs[0], inputs[1]);
    return {gelu(halftone::detail::plus(y, inputs, 2))};
  }
};

/// y = activation(conv(x, w) + b + z).
///
/// x, w, b            as Conv's
/// z                  as y; may be absent
/// activation_params  attributes of the activation in the order of its specification; of Clip the
///                    bounds
/// source             com.microsoft FusedConv-1
struct MicrosoftFusedConv {
  Conv conv{};
  FusedActivation activation{};
  BoundedList<float, 4> activation_params{};

  static constexpr OpId id{"com.microsoft", "FusedConv", 1};
  static constexpr Signature signature = "x w b? z? -> y";

  constexpr void attributes(auto&& visit) {
    conv.attributes(visit);
    visit("activation", activation);
    visit("activation_params", activation_params);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    auto y = inputs[0];
    const bool has_bias = halftone::detail::is_given(inputs, 2);
    y.id = halftone::detail::record(
        graph, conv, {inputs[0].id, inputs[1].id, has_bias ? inputs[2].id : no_tensor}, 1)[0];
    return {halftone::detail::activated(halftone::detail::plus(y, inputs, 3), activation,
                                        activation_params.span())};
  }
};

/// Conv of images whose channels come last.
///
/// x       [batch, spatial..., channels]
/// w       [filters, kernel..., channels / group]
/// y       [batch, output..., filters]
/// source  com.microsoft NhwcConv-1
struct NhwcConv {
  Conv conv{};

  static constexpr OpId id{"com.microsoft", "NhwcConv", 1};
  static constexpr Signature signature = "x w b? -> y";

  constexpr void attributes(auto&& visit) { conv.attributes(visit); }
  constexpr AnyTensor expand(tensor_handle auto x, tensor_handle auto w,
                             tensor_handle auto b) const {
    const std::size_t rank = halftone::detail::known_rank(x);
    const auto y =
        op::conv(halftone::detail::channels_first(x), halftone::detail::channels_first(w), b, conv);
    return halftone::detail::channels_last(y, rank);
  }
};

/// FusedConv of images whose channels come last; the weight is as Conv's.
///
/// x, z, y  [batch, spatial..., channels]; z may be absent
/// w        [filters, channels / group, kernel...]
/// source   com.microsoft NhwcFusedConv-1
struct NhwcFusedConv {
  MicrosoftFusedConv fused{};

  static constexpr OpId id{"com.microsoft", "NhwcFusedConv", 1};
  static constexpr Signature signature = "x w b? z? -> y";

  constexpr void attributes(auto&& visit) { fused.attributes(visit); }
  constexpr Vector<AnyTensor> expand(auto& graph, auto inputs, std::size_t) const {
    const std::size_t rank = halftone::detail::known_rank(inputs[0]);
    inputs[0] = halftone::detail::channels_first(inputs[0]);
    if (halftone::detail::is_given(inputs, 3)) {
      inputs[3] = halftone::detail::channels_first(inputs[3]);
    }
    return {halftone::detail::channels_last(fused.expand(graph, inputs, 1)[0], rank)};
  }
};

/// ConvTranspose whose padding is an input.
///
/// x, w, b  as ConvTranspose's
/// pads     [2 * spatial dimensions]: what is taken off at the beginnings, then at the ends; absent:
///          nothing
/// source   com.microsoft ConvTransposeWithDynamicPads-1
struct ConvTransposeWithDynamicPads {
  Dims kernel_shape{}, strides{}, dilations{}, output_padding{};
  std::int64_t group = 1;
  AutoPad auto_pad = AutoPad::notset;

  static constexpr OpId id{"com.microsoft", "ConvTransposeWithDynamicPads", 1};
  static constexpr Signature signature = "x w pads:I? b? -> y";

  constexpr void attributes(auto&& visit) {
    visit("kernel_shape", kernel_shape);
    visit("strides", strides);
    visit("dilations", dilations);
    visit("output_padding", output_padding);
    visit("group", group);
    visit("auto_pad", auto_pad);
  }
  constexpr Vector<AnyTensor> expand(auto& graph, const auto& inputs, std::size_t) const {
    const std::size_t spatial = halftone::detail::known_rank(inputs[0]) - 2;
    auto y = inputs[0];
    const bool has_bias = halftone::detail::is_given(inputs, 3);
    const ConvTranspose whole{.kernel_shape = kernel_shape,
                              .strides = strides,
                              .dilations = dilations,
                              .output_padding = output_padding,
                              .group = group,
                              .auto_pad = auto_pad};
    y.id = halftone::detail::record(
        graph, whole, {inputs[0].id, inputs[1].id, has_bias ? inputs[3].id : no_tensor}, 1)[0];
    if (!halftone::detail::is_given(inputs, 2)) return {y};
    const auto n = static_cast<std::int64_t>(spatial);
    const auto part = [&](std::int64_t first) {
      return slice(inputs[2], constant(graph, Dims{first}), constant(graph, Dims{first + n}));
    };
    Dims axes;
    for (std::int64_t i = 0; i < n; ++i) axes.push_back(2 + i);
    const auto extents = OpFunction<Shape>{}(y, Shape{.start = 2});
    return {slice(y, part(0), sub(extents, part(n)), constant(graph, axes))};
  }
};

}  // namespace halftone::op

#endif
