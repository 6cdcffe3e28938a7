#pragma once

#include <cstdint>
#include <string_view>

#include <halftone/graph/model.hpp>

namespace halftone {
namespace detail {

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

/// Changes of variables, of parameters by reference, and of buffers: each gives the tensor, changed.
/// Nothing is broadcast; x is converted to the tensor's element type. What is tied to the tensor
/// follows; see views.hpp.
///
/// errors  ModelError: x has another shape; UsageError: a constant
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
