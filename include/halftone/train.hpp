#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <halftone/graph/handle.hpp>

namespace halftone {

/// A hyperparameter that may change between runs: `session.set("learning_rate", 1e-4)`.
struct variable {
  float value = 0;
};

/// A number that is fixed when the session is made, or a `variable`.
struct Hyperparameter {
  float value = 0;
  bool may_change = false;

  constexpr Hyperparameter(float number) : value(number) {}
  constexpr Hyperparameter(variable v) : value(v.value), may_change(true) {}
};

/// Where weight decay enters: at the weight itself, or as a part of the gradient.
enum class WeightDecay : std::uint8_t { decay, l2 };

/// w -= learning_rate * v with v = momentum * v + (1 - dampening) * (g + weight_decay * w), v
/// starting at 0; nesterov: w -= learning_rate * (g + weight_decay * w + momentum * v).
/// source: PopART's SGD; Sutskever et al. 2013
struct Sgd {
  Hyperparameter learning_rate = 0.1f, momentum = 0.f, dampening = 0.f, weight_decay = 0.f;
  float velocity_scaling = 1, loss_scaling = 1;
  bool nesterov = false;
};

/// m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, x = m / (sqrt(v) + epsilon), w -=
/// learning_rate * x, with m and v divided by 1 - beta^step (bias_correction).
///
/// max         v = max(beta2 v, |g|), whose bias is not corrected (AdaMax)
/// lamb        the step is multiplied by min(|w|, max_weight_norm) / |x|, 2-norms of the tensor
/// source      Kingma and Ba 2014, arXiv:1412.6980; You et al. 2019, arXiv:1904.00962
struct Adam {
  Hyperparameter learning_rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-6f,
                 weight_decay = 0.f;
  float loss_scaling = 1;
  bool bias_correction = true, max = false, lamb = false;
  WeightDecay weight_decay_mode = WeightDecay::decay;
  Hyperparameter max_weight_norm = 65504.f;
};

/// v = alpha v + (1 - alpha) g^2, x = g / (sqrt(v) + epsilon), w -= learning_rate * x.
///
/// adagrad     v += g^2
/// centered    the mean of g is subtracted from v: v - (alpha m + (1 - alpha) g)^2
/// adadelta    x = g sqrt(u + epsilon) / sqrt(v + epsilon), u = alpha u + (1 - alpha) x^2
/// momentum    x is added up: p = momentum p + x
/// tf_variant  x = g / sqrt(v + epsilon), the learning rate in p; rmsprop and centered only
/// source      PopART's Adaptive; Duchi et al. 2011; Zeiler 2012, arXiv:1212.5701
struct Adaptive {
  enum class Kind : std::uint8_t { adagrad, rmsprop, centered_rmsprop, adadelta };
  Kind kind = Kind::rmsprop;
  Hyperparameter learning_rate = 0.01f, alpha = 0.99f, momentum = 0.f, epsilon = 1e-6f,
                 weight_decay = 0.f;
  float loss_scaling = 1;
  bool tf_variant = false;
  WeightDecay weight_decay_mode = WeightDecay::decay;
};

/// How the gradients of the micro-batches of one step are joined.
enum class AccumulationReduction : std::uint8_t { sum, mean };

struct TrainOptions {
  /// Names of the variables that are trained; empty: all of floating point that the loss depends
  /// on.
  std::vector<std::string> weights{};
  /// Further variables and inputs whose gradients are wanted.
  std::vector<std::string> gradients_of{};
  std::int64_t accumulation = 1;  ///< runs (micro-batches) for each step of the optimizer
  AccumulationReduction reduction = AccumulationReduction::sum;
};

/// What `train` recorded: the weights, and the gradient of each for one micro-batch, multiplied
/// by the loss scaling.
struct Training {
  std::vector<TensorId> weights, gradients;
};

/// Records the gradients of a scalar loss and the optimizer's updates: runs of the graph train it
/// from then on. Batch normalization uses the statistics of the batch and updates its running ones.
///
/// state   variables Accl1___w, Accl2___w, Accl3___w, Step___w and Accum___w, as PopART names
///         them, which start at zero
/// errors  ModelError: a loss that is no scalar, an unknown weight, one that is not floating point;
///         UnsupportedError: all operators on the way that have no gradient; UsageError:
///         hyperparameters outside their range
Training train(Graph& graph, AnyTensor loss, const Sgd& optimizer,
               const TrainOptions& options = {});
Training train(Graph& graph, AnyTensor loss, const Adam& optimizer,
               const TrainOptions& options = {});
Training train(Graph& graph, AnyTensor loss, const Adaptive& optimizer,
               const TrainOptions& options = {});
/// The gradients alone.
Training differentiate_weights(Graph& graph, AnyTensor loss, const TrainOptions& options = {});

}  // namespace halftone
