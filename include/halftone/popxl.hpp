#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <halftone/op/list.hpp>
#include <halftone/op/resize.hpp>

/// What PopXL's ops and var_updates have beside operators of one node: each function records a few
/// of these. Forms that PopXL has for work in place have no functions of their own but for changes
/// of variables: memory is shared where it can be. Results are typed where the tensors are. PopXL's
/// names of operators that have another one here are in popxl/ops.hpp.
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

/// The update of a variable by a tensor that has to have its shape: like a call, with the type `fit`
/// or the message `misfit`.
struct UpdateMismatch {
  static constexpr std::string_view words[] = {"an update has another shape than its variable"};
  std::int64_t expected = 0, found = 0;
  bool ok = true;

  constexpr UpdateMismatch(const Dims& variable, const Dims& x) {
    ok = variable.size() == x.size();
    expected = static_cast<std::int64_t>(variable.size());
    found = static_cast<std::int64_t>(x.size());
    for (std::size_t i = 0; ok && i < x.size(); ++i) {
      ok = !contradict(variable[i], x[i]);
      expected = variable[i];
      found = x[i];
    }
  }
};
template <class T, class X>
struct UpdateCall {
  using fit = T;
};
template <typed_handle T, typed_handle X>
  requires(!UpdateMismatch(T::static_info.shape, X::static_info.shape).ok)
struct UpdateCall<T, X> {
  static constexpr UpdateMismatch found{T::static_info.shape, X::static_info.shape};
  static shape_mismatch<message_of<UpdateMismatch>(), found.expected, found.found> misfit();
};

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

/// n seeds [2] made of one, for the input `seed` of random operators. uint32.
std::vector<AnyTensor> split_random_seed(AnyTensor seed, std::size_t n = 2);
using Seed = Tensor<std::uint32_t, halftone::Shape<2>>;
std::vector<Seed> split_random_seed(const Seed& seed, std::size_t n = 2);

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

/// Changes of variables: each gives the variable, changed. Nothing is broadcast; x is converted to
/// the variable's element type.
///
/// errors  ModelError if it is no variable, or if x has another shape
/// source  popxl.ops.var_updates
namespace var_updates {

/// A factor: a number, or a tensor of one element.
class Factor {
 public:
  constexpr Factor() = default;
  constexpr Factor(float number) : number_(number), is_given_(true) {}
  constexpr Factor(AnyTensor tensor) : tensor_(tensor), is_given_(true) {}
  template <typed_handle X>
  constexpr Factor(const X& tensor) : Factor(AnyTensor(tensor)) {}
  constexpr bool is_given() const { return is_given_; }
  /// As a tensor of that graph and element type.
  AnyTensor in(Graph& graph, ElementType type) const;

 private:
  AnyTensor tensor_{};
  float number_ = 0;
  bool is_given_ = false;
};

/// t + x, or t + f x.
AnyTensor accumulate_(AnyTensor t, AnyTensor x, Factor f = {});
/// t + f x^2.
AnyTensor accumulate_square_(AnyTensor t, AnyTensor x, Factor f = 1.f);
/// step / (step + 1) t + x / (step + 1).
AnyTensor accumulate_mean_(AnyTensor t, AnyTensor x, Factor step);
/// f t + (1 - f) x.
AnyTensor accumulate_moving_average_(AnyTensor t, AnyTensor x, Factor f);
/// f t + (1 - f) x^2.
AnyTensor accumulate_moving_average_square_(AnyTensor t, AnyTensor x, Factor f);
/// t, to whose slices `indices` along an axis those of x, or of f x, are added.
///
/// x        t's shape but for the axis
/// indices  [x's extent along the axis]; a slice may be there more than once
AnyTensor sparse_accumulate_(AnyTensor t, AnyTensor x, AnyTensor indices, std::int64_t axis = 0,
                             Factor f = {});
/// f t.
AnyTensor accumulator_scale_(AnyTensor t, Factor f);
/// Zeros.
AnyTensor accumulator_zero_(AnyTensor t);
/// x.
AnyTensor copy_var_update_(AnyTensor t, AnyTensor x);

/// What an updater takes beside its states; tensors with graph == nullptr are left out.
struct Updater {
  AnyTensor weight{};       ///< for weight_decay
  AnyTensor time_step{};    ///< float variable of one element, incremented: biases are corrected
  Factor weight_decay{};    ///< 0 if left out
  Factor beta1{}, beta2{};  ///< with time_step
  Factor epsilon = 1e-7f;
};

/// m / (sqrt(v) + epsilon) + weight_decay * weight, m and v divided by 1 - beta^time_step if there
/// is a time step: what adam, times the learning rate, subtracts from the weight.
///
/// m, v    first and second moment, of one shape
/// errors  UsageError: a time step without betas, weight decay without weight
AnyTensor adam_updater(AnyTensor m, AnyTensor v, const Updater& how = {});
/// The same; adam_var_update makes it lamb's.
AnyTensor lamb_updater(AnyTensor m, AnyTensor v, const Updater& how = {});
/// m / (v + epsilon) + weight_decay * weight with the bias of m alone corrected; the time step is
/// required, beta1 is 0.9 if left out.
AnyTensor adamax_updater(AnyTensor m, AnyTensor v, const Updater& how);

/// t - learning_rate * ratio * x with ratio = min(|w|, max_weight_norm) / |x|, or 1 where one of
/// these three is 0.
///
/// r1, r2  squares of |w| and |x|, see op::lamb_square
AnyTensor adam_var_update(AnyTensor t, AnyTensor x, AnyTensor r1, AnyTensor r2,
                          Factor learning_rate, Factor max_weight_norm = 0.f);

// The same functions for typed variables, whose types the results have; that x fits is checked by the
// compiler.
#define HALFTONE_TYPED_UPDATE(function)                                                          \
  template <typed_handle T, tensor_handle X, class... Rest>                                      \
  typename detail::UpdateCall<T, X>::fit function(const T& t, const X& x, const Rest&... rest) { \
    return {t.graph, function(AnyTensor(t), AnyTensor(x), rest...).id};                          \
  }                                                                                              \
  template <typed_handle T, tensor_handle X, class... Rest>                                      \
  decltype(detail::UpdateCall<T, X>::misfit()) function(const T&, const X&, const Rest&...);
HALFTONE_TYPED_UPDATE(accumulate_)
HALFTONE_TYPED_UPDATE(accumulate_square_)
HALFTONE_TYPED_UPDATE(accumulate_mean_)
HALFTONE_TYPED_UPDATE(accumulate_moving_average_)
HALFTONE_TYPED_UPDATE(accumulate_moving_average_square_)
HALFTONE_TYPED_UPDATE(copy_var_update_)
HALFTONE_TYPED_UPDATE(adam_var_update)
HALFTONE_TYPED_UPDATE(adam_updater)
HALFTONE_TYPED_UPDATE(lamb_updater)
HALFTONE_TYPED_UPDATE(adamax_updater)
#undef HALFTONE_TYPED_UPDATE

template <typed_handle T>
T sparse_accumulate_(const T& t, AnyTensor x, AnyTensor indices, std::int64_t axis = 0,
                     Factor f = {}) {
  return {t.graph, sparse_accumulate_(AnyTensor(t), x, indices, axis, f).id};
}
template <typed_handle T>
T accumulator_scale_(const T& t, Factor f) {
  return {t.graph, accumulator_scale_(AnyTensor(t), f).id};
}
template <typed_handle T>
T accumulator_zero_(const T& t) {
  return {t.graph, accumulator_zero_(AnyTensor(t)).id};
}
// With what an updater takes in braces.
template <typed_handle T, tensor_handle X>
typename detail::UpdateCall<T, X>::fit adam_updater(const T& m, const X& v, const Updater& how) {
  return {m.graph, adam_updater(AnyTensor(m), AnyTensor(v), how).id};
}
template <typed_handle T, tensor_handle X>
typename detail::UpdateCall<T, X>::fit lamb_updater(const T& m, const X& v, const Updater& how) {
  return {m.graph, lamb_updater(AnyTensor(m), AnyTensor(v), how).id};
}
template <typed_handle T, tensor_handle X>
typename detail::UpdateCall<T, X>::fit adamax_updater(const T& m, const X& v, const Updater& how) {
  return {m.graph, adamax_updater(AnyTensor(m), AnyTensor(v), how).id};
}

}  // namespace var_updates
}  // namespace halftone
