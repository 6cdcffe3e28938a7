#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/train/update.hpp>
#include <halftone/transform/place.hpp>

namespace halftone {

/// How the gradients of the micro-batches of one step and of the replicas are joined: their sum, the
/// mean as the sum divided at the end, or the mean so far after each of them.
enum class AccumulationReduction : std::uint8_t { sum, mean, running_mean };

/// Multiplies the gradients of a group of weights by max_norm / max(norm, max_norm). The norm is
/// the 2-norm of all of them together, as the optimizer gets them: joined, without loss scaling.
/// (PopART takes other quantities: scaled gradients with SGD, velocities with momentum.)
struct ClipNorm {
  float max_norm = 0;
  Vector<std::string> weights{};  ///< empty: all that are trained
};

/// Halves the loss scaling after steps in which more than the proportion `threshold` of the numbers
/// in gradients are beyond the edge, else doubles it. The edge is bin_edge_location times the
/// largest number of the gradient's type, float or half. The factor by which the scaling differs
/// from the optimizer's loss_scaling, which has to be a `variable`, is state.
struct AutomaticLossScaling {
  bool enabled = false;
  float bin_edge_location = 0.125f, threshold = 1e-7f;
  std::int64_t update_period = 1;  ///< steps between two changes
  bool only_products = false;      ///< looks at gradients of convolutions and matrix products
  Vector<std::string> track{};     ///< looks at the gradients of these tensors instead of all
};

struct TrainOptions {
  /// Names of the variables that are trained; empty: all of floating point that the loss depends
  /// on, but for those that say how much the classes of a loss count.
  Vector<std::string> weights{};
  /// Further tensors whose gradients are wanted: variables, inputs, what nodes compute, the loss.
  Vector<std::string> gradients_of{};
  std::int64_t accumulation = 1;  ///< runs for each step of the optimizer; sessions set it, too
  AccumulationReduction reduction = AccumulationReduction::sum;
  StateTypes state_types{};
  Vector<Specific> specific{};
  Vector<ClipNorm> clip_norm{};
  AutomaticLossScaling automatic_loss_scaling{};
};

/// What `train` recorded: the weights, and the gradient of each for one micro-batch, multiplied
/// by the loss scaling.
struct Training {
  Vector<TensorId> weights, gradients;
};

namespace detail {

/// train() by a rule, or by an update of the program's own (null: none). Defined in the core.
Training train_by(Graph& graph, AnyTensor loss, const Rule& rule, OwnUpdate* own,
                  const TrainOptions& options);

}  // namespace detail

/// Records the gradients of a scalar loss and the optimizer's updates: runs of the graph train it
/// from then on. Batch normalization uses the statistics of the batch and updates its running ones,
/// in subgraphs, too (those of a loop after every pass; of nodes that share some, the last one's
/// count); Dropout without the input training_mode, and ShapedDropout, drop. The graph keeps the
/// model as it was: see model_of.
///
/// Replicas of a graph are trained as the micro-batches of a step are: their gradients are joined by
/// the same reduction, so that all replicas have the same weights; running statistics have the mean
/// of the replicas'.
///
/// names   gradients Gradient___w, new weights UpdatedVar___w, norms for clipping GlobalNorm___0
/// state   tensors of Role::state say what they are and which weight they belong to
///         (TensorRecord::state and of). State that the graph has already, from a saved model, goes
///         on; other state starts at zero
/// values  a hyperparameter that may change is state of its name
/// own     an optimizer of the program's own has no specific hyperparameters. What its updates
///         change is changed back in runs that end no step
/// errors  ModelError: a loss that is no scalar, an unknown weight, one that is not floating point,
///         saved state that does not fit, a name that is taken; UnsupportedError: all operators on
///         the way that have no gradient, and running statistics of a subgraph that it is not given
///         as they are; UsageError: hyperparameters outside their range, unknown ones, weights in
///         two groups, a graph that is trained already, an update that leaves its weight as it is
/// see     train/recorder.hpp, which has the same for constant evaluation
template <class Optimizer>
constexpr Training train(Graph& graph, AnyTensor loss, Optimizer&& optimizer,
                         const TrainOptions& options = {}) {
  return detail::with_rule(optimizer, [&](const detail::Rule& rule, detail::OwnUpdate* own) {
    // The build of a static program.
    if (graph.record_training != nullptr) {
      return graph.record_training(graph, loss.id, rule, own, options);
    }
    return detail::train_by(graph, loss, rule, own, options);
  });
}

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
Trained train(const Graph& model, AnyTensor loss, Optimizer&& optimizer,
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
