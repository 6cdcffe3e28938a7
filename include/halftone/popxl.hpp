#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <halftone/op/list.hpp>
#include <halftone/op/resize.hpp>

/// What PopXL's ops and var_updates have beside operators of one node: each function records a few
/// of these. Forms that PopXL has for work in place have no functions of their own but for changes
/// of variables: memory is shared where it can be.
///
/// errors  ModelError or ShapeError of the operator that does not take what it is given
/// source  popxl.ops, but for what says otherwise
namespace halftone {

namespace op {

/// Other names of operators.
inline constexpr auto& negate = neg;
inline constexpr auto& clamp = clip;
inline constexpr auto& geluerf = gelu_erf;
inline constexpr auto& tied_gather = gather;
inline constexpr auto& groupedgather = grouped_gather;
inline constexpr auto& scatter = scatter_elements;
inline constexpr auto& io_tile_copy = identity;

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

/// x normalized over all dimensions but the first: group_norm with one group. What is called layer
/// normalization elsewhere is op::layer_normalization.
///
/// x              [samples, channels, ...]
/// weight, bias   [channels]
AnyTensor layer_norm(AnyTensor x, AnyTensor weight, AnyTensor bias, float epsilon = 1e-5f);

/// Batch normalization by statistics that are given.
///
/// x                                    [samples, channels, ...]
/// scale, bias, input_mean, input_var   [channels]
AnyTensor batch_norm_inference(AnyTensor x, AnyTensor scale, AnyTensor bias, AnyTensor input_mean,
                               AnyTensor input_var, float epsilon = 1e-5f, float momentum = 0.9f);

/// x resized by a factor for each dimension.
AnyTensor interpolate(AnyTensor x, std::span<const float> scale_factor, const Resize& how = {});

/// gather() whose slices for indices that are out of range are zeros: PopXL's zero_OOR. Negative
/// ones are out of range.
///
/// x        of known rank, the extent along the axis known and at least 1
/// indices  int32 or int64, of known rank
AnyTensor gather_or_zero(AnyTensor x, AnyTensor indices, std::int64_t axis = 0);

/// n seeds [2] made of one, for the input `seed` of random operators. uint32.
std::vector<AnyTensor> split_random_seed(AnyTensor seed, std::size_t n = 2);

/// A loss of what a softmax made, and its gradient by what the softmax was made of.
///
/// p          [samples..., classes], probabilities
/// label      [samples...]
/// loss_grad  what the gradient is multiplied by
/// limits     the loss is Nll's: p counts as at least 1e-7, where PopXL adds that
std::pair<AnyTensor, AnyTensor> nll_loss_with_softmax_grad(AnyTensor p, AnyTensor label,
                                                           float loss_grad = 1,
                                                           const Nll& how = {});

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

}  // namespace var_updates
}  // namespace halftone
