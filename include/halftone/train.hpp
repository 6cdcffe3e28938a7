#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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
///
/// velocity_scaling  what is stored is v times this
/// separate          v has the name of a first moment, as beside a separate sum of gradients; without
///                   momentum there is no v
/// source            PopART's SGD; Sutskever et al. 2013
struct Sgd {
  Hyperparameter learning_rate = 0.1f, momentum = 0.f, dampening = 0.f, weight_decay = 0.f;
  Hyperparameter velocity_scaling = 1.f, loss_scaling = 1.f;
  bool nesterov = false, separate = false;
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
struct Adam {
  Hyperparameter learning_rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-6f,
                 weight_decay = 0.f;
  Hyperparameter loss_scaling = 1.f;
  bool bias_correction = true, max = false, lamb = false;
  WeightDecay weight_decay_mode = WeightDecay::decay;
  Hyperparameter max_weight_norm = 65504.f;
  bool scaled_optimizer_state = false;
};

/// v = alpha v + (1 - alpha) g^2, x = g / (sqrt(v) + epsilon), w -= learning_rate * x.
///
/// adagrad     v += g^2
/// centered    the mean of g is subtracted from v: v - (alpha m + (1 - alpha) g)^2
/// adadelta    x = g sqrt(u + epsilon) / sqrt(v + epsilon), u = alpha u + (1 - alpha) x^2
/// momentum    x is added up: p = momentum p + x
/// tf_variant  x = g / sqrt(v + epsilon), the learning rate in p; rmsprop and centered only
/// first       what v starts with; PopART's tf_variant starts with 1
/// source      PopART's Adaptive; Duchi et al. 2011; Zeiler 2012, arXiv:1212.5701
struct Adaptive {
  enum class Kind : std::uint8_t { adagrad, rmsprop, centered_rmsprop, adadelta };
  Kind kind = Kind::rmsprop;
  Hyperparameter learning_rate = 0.01f, alpha = 0.99f, momentum = 0.f, epsilon = 1e-6f,
                 weight_decay = 0.f;
  Hyperparameter loss_scaling = 1.f;
  bool tf_variant = false;
  WeightDecay weight_decay_mode = WeightDecay::decay;
  float first = 0;
};

/// How the gradients of the micro-batches of one step are joined: their sum, the mean as the sum
/// divided at the end, or the mean so far after each of them.
enum class AccumulationReduction : std::uint8_t { sum, mean, running_mean };

/// Hyperparameters of one weight, by their names in the optimizer: {"w", {{"learning_rate", 0.f}}}.
/// Those that may change are set as `learning_rate___w`; Sgd's nesterov is 0 or 1 for good.
struct Specific {
  std::string weight{};
  std::vector<std::pair<std::string, Hyperparameter>> values{};
};

/// Multiplies the gradients of a group of weights by max_norm / max(norm, max_norm). The norm is
/// the 2-norm of all of them together, as the optimizer gets them: joined, without loss scaling.
/// (PopART takes other quantities: scaled gradients with SGD, velocities with momentum.)
struct ClipNorm {
  float max_norm = 0;
  std::vector<std::string> weights{};  ///< empty: all that are trained
};

/// Halves the loss scaling after steps in which more than the proportion `threshold` of the numbers
/// in half-precision gradients are beyond the edge 65504 * bin_edge_location, else doubles it. The
/// factor by which it differs from the optimizer's loss_scaling, which has to be a `variable`, is
/// state.
struct AutomaticLossScaling {
  bool enabled = false;
  float bin_edge_location = 0.125f, threshold = 1e-7f;
  std::int64_t update_period = 1;    ///< steps between two changes
  bool only_products = false;        ///< looks at gradients of convolutions and matrix products
  std::vector<std::string> track{};  ///< looks at the gradients of these tensors instead of all
};

struct TrainOptions {
  /// Names of the variables that are trained; empty: all of floating point that the loss depends
  /// on.
  std::vector<std::string> weights{};
  /// Further variables and inputs whose gradients are wanted.
  std::vector<std::string> gradients_of{};
  std::int64_t accumulation = 1;  ///< runs for each step of the optimizer; sessions set it, too
  AccumulationReduction reduction = AccumulationReduction::sum;
  std::vector<Specific> specific{};
  std::vector<ClipNorm> clip_norm{};
  AutomaticLossScaling automatic_loss_scaling{};
};

/// What `train` recorded: the weights, and the gradient of each for one micro-batch, multiplied
/// by the loss scaling.
struct Training {
  std::vector<TensorId> weights, gradients;
};

/// Records the gradients of a scalar loss and the optimizer's updates: runs of the graph train it
/// from then on. Batch normalization uses the statistics of the batch and updates its running ones,
/// in subgraphs, too (those of a loop after every pass; of nodes that share some, the last one's
/// count); Dropout without the input training_mode, and ShapedDropout, drop. The graph keeps the
/// model as it was: see model_of.
///
/// names   gradients Gradient___w, new weights UpdatedVar___w, norms for clipping GlobalNorm___0
/// state   tensors of Role::state say what they are and which weight they belong to
///         (TensorRecord::state and of). State that the graph has already, from a saved model, goes
///         on; other state starts at zero
/// values  a hyperparameter that may change is state of its name
/// errors  ModelError: a loss that is no scalar, an unknown weight, one that is not floating point,
///         saved state that does not fit, a name that is taken; UnsupportedError: all operators on
///         the way that have no gradient, and running statistics of a subgraph that it is not given
///         as they are; UsageError: hyperparameters outside their range, unknown ones, weights in
///         two groups, a graph that is trained already
/// see     train/recorder.hpp, which has the same for constant evaluation
Training train(Graph& graph, AnyTensor loss, const Sgd& optimizer,
               const TrainOptions& options = {});
Training train(Graph& graph, AnyTensor loss, const Adam& optimizer,
               const TrainOptions& options = {});
Training train(Graph& graph, AnyTensor loss, const Adaptive& optimizer,
               const TrainOptions& options = {});

/// A graph whose runs train a model, beside the model.
struct Trained {
  Graph graph;
  Training training;
};
/// The same in a copy: the model stays as it is. Tensors of the model, such as the loss, have the
/// same ids and names in the graph that trains it.
///   Trained trained = train(std::as_const(model), loss, Adam{});
///   Session session(std::move(trained.graph), {.outputs = {loss}});
template <class Optimizer>
Trained train(const Graph& model, AnyTensor loss, const Optimizer& optimizer,
              const TrainOptions& options = {}) {
  Trained trained{model, {}};
  trained.training = train(trained.graph, AnyTensor{&trained.graph, loss.id}, optimizer, options);
  return trained;
}

/// The gradients alone.
Training differentiate_weights(Graph& graph, AnyTensor loss, const TrainOptions& options = {});

/// How many runs of the graph make one step of the optimizer; 0 if the graph is not trained.
std::int64_t accumulation_of(const Graph& graph);
/// Makes a trained graph, of which every run is a step so far, take that many runs for a step. A
/// session does it for its option `accumulation`.
void accumulate_gradients(Graph& graph, std::int64_t runs);
/// The model that a graph trains, as it was before, with the values that the graph has now and the
/// optimizer's state, but for hyperparameters and what lies between two steps. `train` goes on from
/// there bit for bit; onnx::save() stores what the model's outputs depend on, and the state. A graph
/// that is not trained is its own model.
Graph model_of(const Graph& graph);

}  // namespace halftone
