#pragma once

#include <concepts>
#include <cstdint>

#include <halftone/graph/handle.hpp>

// How weights follow from their gradients: hyperparameters, the library's optimizers, and what a
// program's own one has to have.
namespace halftone {

/// A hyperparameter that may change between runs: `session.set("learning_rate", 1e-4)`.
struct variable {
  float value = 0;
};

/// A hyperparameter whose value is part of the optimizer's type: `Adam{.beta1 = fixed<0.8f>{}}`.
template <float V>
struct fixed {
  static constexpr float value = V;
};

/// A number that is fixed when the session is made, or a `variable`: whoever knows only at run time
/// which of them it is takes this.
struct Hyperparameter {
  float value = 0;
  bool may_change = false;

  constexpr Hyperparameter(float number) : value(number) {}
  constexpr Hyperparameter(variable v) : value(v.value), may_change(true) {}
  template <float V>
  constexpr Hyperparameter(fixed<V>) : value(V) {}
};

/// What a hyperparameter may be: a number, fixed<V>, variable, or a Hyperparameter.
template <class K>
concept hyperparameter_kind = std::convertible_to<K, Hyperparameter>;

namespace detail {

/// The kind of the hyperparameters that nobody mentions, beside a first one of kind K: numbers. In
/// an Sgd<Hyperparameter> each of them may be either.
template <class K>
struct OtherKind {
  using type = float;
};
template <>
struct OtherKind<Hyperparameter> {
  using type = Hyperparameter;
};
template <class K>
using Other = typename OtherKind<K>::type;

/// A hyperparameter's default value, as its kind has it.
template <class K>
constexpr K default_value(float value) {
  if constexpr (std::is_arithmetic_v<K>) {
    return static_cast<K>(value);
  } else if constexpr (std::is_empty_v<K>) {
    return {};
  } else {
    return K{value};
  }
}

/// Records the update of a weight by one of the library's optimizers. See train/update.hpp.
template <class Optimizer, class W, class G>
constexpr void record_update(const Optimizer& optimizer, const W& w, const G& dw);

}  // namespace detail

/// Element types in which an optimizer's state is stored; it is computed in float, or in double for
/// weights of double. A type that is undefined is the one that the state is computed in, or, with
/// as_weight, the weight's.
struct StateTypes {
  ElementType sum = ElementType::undefined;  ///< of the gradients of a step's runs
  ElementType first = ElementType::undefined, second = ElementType::undefined,
              third = ElementType::undefined;
  bool as_weight = false;
};

/// Where weight decay enters: at the weight itself, or as a part of the gradient.
enum class WeightDecay : std::uint8_t { decay, l2 };

/// w -= learning_rate * v with v = momentum * v + (1 - dampening) * (g + weight_decay * w), v
/// starting at 0; nesterov: w -= learning_rate * (g + weight_decay * w + momentum * v).
///
/// The kinds of its hyperparameters make its type: Sgd{.learning_rate = variable{0.1f}} is an
/// Sgd<variable>. An Sgd<Hyperparameter> is every Sgd that the program chooses at run time.
///
/// velocity_scaling  what is stored is v times this
/// combined          PopART's form with one tensor for gradients and velocity: v decays at the end of a
///                   step, v = momentum * v + (1 - dampening) * weight_decay * w, so that what momentum
///                   and weight_decay become counts one step later; it is stored as it is then, and
///                   starts as if a step had ended with the weight that the graph has
/// source            PopART's SGD; Sutskever et al. 2013
template <hyperparameter_kind Rate = float, hyperparameter_kind Momentum = detail::Other<Rate>,
          hyperparameter_kind Dampening = detail::Other<Rate>,
          hyperparameter_kind Decay = detail::Other<Rate>,
          hyperparameter_kind Velocity = detail::Other<Rate>,
          hyperparameter_kind Loss = detail::Other<Rate>>
struct Sgd {
  Rate learning_rate = detail::default_value<Rate>(0.1f);
  Momentum momentum = detail::default_value<Momentum>(0);
  Dampening dampening = detail::default_value<Dampening>(0);
  Decay weight_decay = detail::default_value<Decay>(0);
  Velocity velocity_scaling = detail::default_value<Velocity>(1);
  Loss loss_scaling = detail::default_value<Loss>(1);
  bool nesterov = false, combined = false;

  /// Records the update of one weight from its gradient: see `optimizer`.
  constexpr void update(const tensor_handle auto& w, const tensor_handle auto& dw) const {
    detail::record_update(*this, w, dw);
  }
};

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, x = m / (sqrt(v) + epsilon), w -=
/// learning_rate * x, with m and v divided by 1 - beta^step (bias_correction).
///
/// max         v = max(beta2 v, |g|), whose bias is not corrected (AdaMax)
/// lamb        the step is multiplied by min(|w|, max_weight_norm) / |x|, 2-norms of the tensor;
///             by 1 for a max_weight_norm of 0
/// scaled_optimizer_state  m and v are those of the gradient multiplied by the loss scaling; if
///             that may change, they are multiplied by its change, for which the loss scaling of
///             the run before is state, too; not with automatic loss scaling
/// source      Kingma and Ba 2014, arXiv:1412.6980; You et al. 2019, arXiv:1904.00962
template <hyperparameter_kind Rate = float, hyperparameter_kind Beta1 = detail::Other<Rate>,
          hyperparameter_kind Beta2 = detail::Other<Rate>,
          hyperparameter_kind Epsilon = detail::Other<Rate>,
          hyperparameter_kind Decay = detail::Other<Rate>,
          hyperparameter_kind Loss = detail::Other<Rate>,
          hyperparameter_kind Norm = detail::Other<Rate>>
struct Adam {
  Rate learning_rate = detail::default_value<Rate>(1e-3f);
  Beta1 beta1 = detail::default_value<Beta1>(0.9f);
  Beta2 beta2 = detail::default_value<Beta2>(0.999f);
  Epsilon epsilon = detail::default_value<Epsilon>(1e-6f);
  Decay weight_decay = detail::default_value<Decay>(0);
  Loss loss_scaling = detail::default_value<Loss>(1);
  bool bias_correction = true, max = false, lamb = false;
  WeightDecay weight_decay_mode = WeightDecay::decay;
  Norm max_weight_norm = detail::default_value<Norm>(65504);
  bool scaled_optimizer_state = false;

  constexpr void update(const tensor_handle auto& w, const tensor_handle auto& dw) const {
    detail::record_update(*this, w, dw);
  }
};

enum class AdaptiveKind : std::uint8_t { adagrad, rmsprop, centered_rmsprop, adadelta };

/// v = alpha v + (1 - alpha) g^2, x = g / (sqrt(v) + epsilon), w -= learning_rate * x.
///
/// adagrad     v += g^2
/// centered    the mean of g is subtracted from v: v - (alpha m + (1 - alpha) g)^2
/// adadelta    x = g sqrt(u + epsilon) / sqrt(v + epsilon), u = alpha u + (1 - alpha) x^2
/// momentum    x is added up: p = momentum p + x
/// tf_variant  x = g / sqrt(v + epsilon), the learning rate in p; rmsprop and centered only
/// first       what v starts with; PopART's tf_variant starts with 1
/// source      PopART's Adaptive; Duchi et al. 2011; Zeiler 2012, arXiv:1212.5701
template <hyperparameter_kind Rate = float, hyperparameter_kind Alpha = detail::Other<Rate>,
          hyperparameter_kind Momentum = detail::Other<Rate>,
          hyperparameter_kind Epsilon = detail::Other<Rate>,
          hyperparameter_kind Decay = detail::Other<Rate>,
          hyperparameter_kind Loss = detail::Other<Rate>>
struct Adaptive {
  AdaptiveKind kind = AdaptiveKind::rmsprop;
  Rate learning_rate = detail::default_value<Rate>(0.01f);
  Alpha alpha = detail::default_value<Alpha>(0.99f);
  Momentum momentum = detail::default_value<Momentum>(0);
  Epsilon epsilon = detail::default_value<Epsilon>(1e-6f);
  Decay weight_decay = detail::default_value<Decay>(0);
  Loss loss_scaling = detail::default_value<Loss>(1);
  bool tf_variant = false;
  WeightDecay weight_decay_mode = WeightDecay::decay;
  float first = 0;

  constexpr void update(const tensor_handle auto& w, const tensor_handle auto& dw) const {
    detail::record_update(*this, w, dw);
  }
};

/// Whatever records the update of a weight from its gradient, and keeps state for each weight.
/// train() takes it, and so does a program that has gradients of its own:
///
///   struct SignSgd {
///     float learning_rate = 0.01f, momentum = 0.9f;
///     void update(auto w, auto dw) const {
///       auto m = optimizer_state(w, "Momentum");            // Momentum___w, of w's shape
///       m = op::copy_var_update(m, m * momentum + dw);
///       op::copy_var_update(w, w - op::sign(m) * learning_rate);
///     }
///   };
///   train(graph, loss, SignSgd{});
///   for_pairs(weights, gradients, [&](auto w, auto dw) { adam.update(w, dw); });
///
/// w             a variable: from train() an AnyTensor, from the program whatever it has
/// dw            its gradient, of the same shape. train() gives it joined over the runs of a step,
///               clipped, without loss scaling, and in float for weights of half precision
/// loss_scaling  a member of that name, if there is one, is what train() multiplies the loss by
/// library's     Sgd, Adam and Adaptive take out their own loss_scaling in update(), too. Equal
///               hyperparameters that may change are one variable
template <class O>
concept optimizer = requires(O& o, AnyTensor w, AnyTensor dw) { o.update(w, dw); };

}  // namespace halftone
