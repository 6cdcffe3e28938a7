#pragma once

#include <limits>
#include <string_view>

#include <halftone/op/list.hpp>
#include <halftone/train/optimizer.hpp>
#include <halftone/train/state.hpp>

// What the optimizers differ in.
namespace halftone::detail {

/// A number of op::Update::h.
struct Number {
  std::string_view name{};  ///< empty: not used by this optimizer
  Hyperparameter value = 0.f;
  float least = 0;                                        ///< smaller ones are errors
  bool is_exclusive = false;                              ///< `least` itself is one, too
  float beyond = std::numeric_limits<float>::infinity();  ///< as are this one and larger ones
};

/// Throws that a number is outside its range. Defined in the core.
[[noreturn]] void refuse_number(const Number& number);

constexpr void check(const Number& number) {
  const float value = number.value.value;  // the range leaves out NaN and infinities
  if (!(value >= number.least && value < number.beyond) ||
      (number.is_exclusive && value == number.least)) {
    refuse_number(number);
  }
}

struct Rule {
  op::Update update{};
  bool s1 = false, s2 = false, s3 = false, step = false;
  bool s1_with_a = false, s3_with_b = false;  ///< only if that number is not fixed to 0
  StateName first = first_state;
  float start = 0;
  Number h[op::Update::count]{};
  Hyperparameter loss_scaling = 1.f;
  bool is_scaled_state = false;
};

template <class... K>
constexpr Rule rule_of(const Sgd<K...>& o) {
  return {.update = {.kind = op::Optimizing::sgd,
                     .nesterov = o.nesterov,
                     .l2 = true,
                     .combined = o.combined},
          .s1 = true,
          .s1_with_a = true,
          .first = o.combined ? velocity_state : first_state,
          .h = {{"learning_rate", o.learning_rate},
                {"weight_decay", o.weight_decay},
                {},
                {"momentum", o.momentum},
                {"dampening", o.dampening},
                {},
                {"velocity_scaling", o.velocity_scaling, 0, true}},
          .loss_scaling = o.loss_scaling};
}

template <class... K>
constexpr Rule rule_of(const Adam<K...>& o) {
  if (o.max && o.lamb) fail(ErrorKind::usage, {.what = "AdaMax and Lamb exclude each other"});
  return {.update = {.kind = o.lamb  ? op::Optimizing::lamb
                             : o.max ? op::Optimizing::adamax
                                     : op::Optimizing::adam,
                     .bias_correction = o.bias_correction,
                     .l2 = o.weight_decay_mode == WeightDecay::l2},
          .s1 = true,
          .s2 = true,
          .step = true,
          .h = {{"learning_rate", o.learning_rate},
                {"weight_decay", o.weight_decay},
                {},
                {"beta1", o.beta1, 0, false, 1},
                {"beta2", o.beta2, 0, false, 1},
                {"epsilon", o.epsilon},
                {"max_weight_norm", o.max_weight_norm}},
          .loss_scaling = o.loss_scaling,
          .is_scaled_state = o.scaled_optimizer_state};
}

template <class... K>
constexpr Rule rule_of(const Adaptive<K...>& o) {
  using Kind = AdaptiveKind;
  if (o.tf_variant && o.kind != Kind::rmsprop && o.kind != Kind::centered_rmsprop) {
    fail(ErrorKind::usage, {.what = "tf_variant is for rmsprop and centered_rmsprop only"});
  }
  return {.update = {.kind = o.kind == Kind::adagrad    ? op::Optimizing::adagrad
                             : o.kind == Kind::rmsprop  ? op::Optimizing::rmsprop
                             : o.kind == Kind::adadelta ? op::Optimizing::adadelta
                                                        : op::Optimizing::centered_rmsprop,
                     .l2 = o.weight_decay_mode == WeightDecay::l2,
                     .tf_variant = o.tf_variant},
          .s1 = true,
          .s2 = o.kind == Kind::centered_rmsprop || o.kind == Kind::adadelta,
          .s3 = true,
          .s3_with_b = true,
          .start = o.first,
          .h = {{"learning_rate", o.learning_rate},
                {"weight_decay", o.weight_decay},
                {},
                {"alpha", o.alpha},
                {"momentum", o.momentum},
                {"epsilon", o.epsilon},
                {}},
          .loss_scaling = o.loss_scaling};
}

}  // namespace halftone::detail
