#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <halftone/op/list.hpp>
#include <halftone/op/resize.hpp>

/// Functions that record a few operators each, after what PopXL's ops have beside operators of one
/// node. Memory is shared where it can be, so that PopXL's forms in place have no functions of their
/// own but for changes of variables: see var_updates.hpp. Results are typed where the tensors are.
///
/// errors  ModelError or ShapeError of the operator that does not take what it is given
/// source  popxl.ops, but for what says otherwise
namespace halftone {

namespace detail {

/// An extent that is not known, for each one that is.
template <std::int64_t>
inline constexpr std::int64_t unknown = dynamic;

template <class... X>
using LayerNorm = ConstantCall<op::GroupNormalization{.num_groups = 1}, X...>;
template <class... X>
using BatchNorm = ConstantCall<op::BatchNormalization{}, X...>;
template <std::int64_t Axis, class... X>
using GatherAlong = ConstantCall<op::Gather{.axis = Axis}, X...>;

}  // namespace detail

namespace op {

/// Logarithm to the base 2.
constexpr auto log2(const tensor_handle auto& x) { return log(x) * 1.44269504088896340736; }
/// Whether numbers are neither infinite nor NaN.
constexpr auto isfinite(const tensor_handle auto& x) {
  return logical_not(logical_or(isnan(x), isinf(x)));
}
/// The sum of squares in float, a scalar: what lamb's norms are the roots of.
constexpr auto lamb_square(const tensor_handle auto& x) {
  return sumsquare(cast(x, {.to = ElementType::float32}), {.keepdims = 0});
}
/// x, meant for another machine.
AnyTensor ipu_copy(AnyTensor x, std::int32_t destination);
template <typed_handle X>
constexpr X ipu_copy(const X& x, std::int32_t destination) {
  return {x.graph, ipu_copy(AnyTensor(x), destination).id};
}

/// x normalized over all dimensions but the first: group_norm with one group. What is called layer
/// normalization elsewhere is op::layer_normalization.
///
/// x              [samples, channels, ...]
/// weight, bias   [channels]
template <tensor_handle X, tensor_handle W, tensor_handle B>
constexpr typename detail::LayerNorm<X, W, B>::fit layer_norm(const X& x, const W& weight,
                                                              const B& bias,
                                                              float epsilon = 1e-5f) {
  return detail::LayerNorm<X, W, B>::record({.num_groups = 1, .epsilon = epsilon}, x, weight, bias);
}
template <tensor_handle X, tensor_handle W, tensor_handle B>
decltype(detail::LayerNorm<X, W, B>::misfit()) layer_norm(const X&, const W&, const B&,
                                                          float epsilon = 1e-5f);

/// Batch normalization by statistics that are given.
///
/// x                                    [samples, channels, ...]
/// scale, bias, input_mean, input_var   [channels]
template <tensor_handle X, tensor_handle S, tensor_handle B, tensor_handle M, tensor_handle V>
constexpr typename detail::BatchNorm<X, S, B, M, V>::fit batch_norm_inference(
    const X& x, const S& scale, const B& bias, const M& input_mean, const V& input_var,
    float epsilon = 1e-5f, float momentum = 0.9f) {
  return detail::BatchNorm<X, S, B, M, V>::record({.epsilon = epsilon, .momentum = momentum}, x,
                                                  scale, bias, input_mean, input_var);
}
template <tensor_handle X, tensor_handle S, tensor_handle B, tensor_handle M, tensor_handle V>
decltype(detail::BatchNorm<X, S, B, M, V>::misfit()) batch_norm_inference(
    const X&, const S&, const B&, const M&, const V&, float epsilon = 1e-5f, float momentum = 0.9f);

/// x resized by a factor for each dimension.
AnyTensor interpolate(AnyTensor x, std::span<const float> scale_factor, const Resize& how = {});
/// The same; as the factors are known at run time only, no extent of the result is known before.
template <class T, std::int64_t... D>
Tensor<T, halftone::Shape<detail::unknown<D>...>> interpolate(
    const Tensor<T, halftone::Shape<D...>>& x, std::span<const float> scale_factor,
    const Resize& how = {}) {
  return {x.graph, interpolate(AnyTensor(x), scale_factor, how).id};
}
/// By whole factors that the compiler knows: interpolate(x, Integers<1, 1, 2, 2>{}).
template <class T, std::int64_t... D, std::int64_t... F>
  requires(sizeof...(D) == sizeof...(F))
Tensor<T, halftone::Shape<(D == dynamic ? dynamic : D * F)...>> interpolate(
    const Tensor<T, halftone::Shape<D...>>& x, Integers<F...>, const Resize& how = {}) {
  static_assert(((F > 0) && ...), "halftone: a factor of interpolate is at least 1");
  const std::array<float, sizeof...(F)> factors{static_cast<float>(F)...};
  return {x.graph, interpolate(AnyTensor(x), factors, how).id};
}

/// gather() whose slices for indices that are out of range are zeros: PopXL's zero_OOR. Negative
/// ones are out of range.
///
/// x        of known rank, the extent along the axis known and at least 1
/// indices  int32 or int64, of known rank
AnyTensor gather_or_zero(AnyTensor x, AnyTensor indices, std::int64_t axis = 0);
/// The same; the axis is a template argument, because the shape of the result depends on it:
/// gather_or_zero<1>(x, indices).
template <std::int64_t Axis = 0, typed_handle X, typed_handle I>
typename detail::GatherAlong<Axis, X, I>::fit gather_or_zero(const X& x, const I& indices) {
  return {x.graph, gather_or_zero(AnyTensor(x), AnyTensor(indices), Axis).id};
}
template <std::int64_t Axis = 0, typed_handle X, typed_handle I>
decltype(detail::GatherAlong<Axis, X, I>::misfit()) gather_or_zero(const X&, const I&);

/// n seeds [2], one at least, made of one, for the input `seed` of random operators. uint32.
Vector<AnyTensor> split_random_seed(AnyTensor seed, std::int64_t n = 2);
using Seed = Tensor<std::uint32_t, halftone::Shape<2>>;
std::vector<Seed> split_random_seed(const Seed& seed, std::int64_t n = 2);

/// A loss of what a softmax made, and its gradient by what the softmax was made of.
///
/// p          [samples..., classes], probabilities
/// label      [samples...]
/// loss_grad  what the gradient is multiplied by
/// limits     the loss is Nll's: p counts as at least 1e-7, where PopXL adds that
std::pair<AnyTensor, AnyTensor> nll_loss_with_softmax_grad(AnyTensor p, AnyTensor label,
                                                           float loss_grad = 1,
                                                           const Nll& how = {});
/// The same; attributes are a template argument, because the shape of the loss depends on them:
/// nll_loss_with_softmax_grad<Nll{.reduction = LossReduction::no_reduction}>(p, label).
template <Nll How = Nll{}, typed_handle P, typed_handle L>
std::pair<typename detail::ConstantCall<How, P, L>::fit, P> nll_loss_with_softmax_grad(
    const P& p, const L& label, float loss_grad = 1) {
  const auto [loss, dp] =
      nll_loss_with_softmax_grad(AnyTensor(p), AnyTensor(label), loss_grad, How);
  return {{loss.graph, loss.id}, {dp.graph, dp.id}};
}
template <Nll How = Nll{}, typed_handle P, typed_handle L>
decltype(detail::ConstantCall<How, P, L>::misfit()) nll_loss_with_softmax_grad(const P&, const L&,
                                                                               float loss_grad = 1);

}  // namespace op

}  // namespace halftone
