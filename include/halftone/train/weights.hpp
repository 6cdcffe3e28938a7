#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include <halftone/base/vector.hpp>
#include <halftone/train.hpp>
#include <halftone/transform/gradient.hpp>

// What is trained, and its gradients.
namespace halftone::detail {

/// Whether a shape is not known yet, or a tensor is a sequence.
constexpr bool has_unknown_shapes(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const TensorId y : node.outputs) {
      if (y == no_tensor) continue;
      if (!graph.info(y).is_static() || is_sequence(graph.info(y).type)) return true;
    }
  }
  return false;
}

/// Whether a node works in another way while a network is trained, in subgraphs, too.
constexpr bool has_modes(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const OpId& id = node.op->id;
    if (id == op::BatchNormalization::id || id == op::Dropout::id || id == op::ShapedDropout::id) {
      return true;
    }
  }
  return std::any_of(graph.graphs.begin(), graph.graphs.end(), has_modes);
}

/// use_training_mode() of a graph that it changes. Defined in the core: not for constant evaluation.
void change_to_training_mode(Graph& graph);

/// Has every shape known. Batch normalization takes the statistics of the batch, which update the
/// running ones. Dropout without the input training_mode, and ShapedDropout, drop, and keep what
/// gradients need of it.
constexpr void use_training_mode(Graph& graph) {
  if (has_unknown_shapes(graph) || has_modes(graph)) change_to_training_mode(graph);
}

/// The weights of these names; with `is_any` they may be what nodes compute, too.
constexpr Vector<TensorId> named_weights(const Graph& graph, const Vector<std::string>& names,
                                         bool is_any = false) {
  Vector<TensorId> ids;
  for (const std::string& name : names) {
    const TensorId id = graph.find(name);
    if (id == no_tensor || (!is_any && graph.tensor(id).role == Role::value) ||
        (graph.tensor(id).role == Role::constant && is_floating_point(graph.info(id).type))) {
      fail(ErrorKind::model, {.what = "there is no weight of that name", .tensor = name});
    }
    if (!is_floating_point(graph.info(id).type)) {
      fail(ErrorKind::model, {.what = "a weight that is to be trained is not floating point",
                              .tensor = name,
                              .found = halftone::name(graph.info(id).type)});
    }
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

/// All variables of floating point that no node changes so far, as it does statistics, and that do not say
/// how much the classes of a loss count.
constexpr Vector<TensorId> all_weights(const Graph& graph) {
  const Aliases aliases(graph);
  TensorMap<bool> counts_classes(graph, false);
  for (const Node& node : graph.nodes) {
    if (node.op->id == op::NegativeLogLikelihoodLoss::id && has_input(node, 2)) {
      counts_classes[node.inputs[2]] = true;
    }
  }
  Vector<TensorId> ids;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const TensorRecord& t = graph.tensor(id);
    if (t.role == Role::variable && is_floating_point(t.info.type) && !aliases.is_modified(id) &&
        !counts_classes[id]) {
      ids.push_back(id);
    }
  }
  return ids;
}

/// Throws if a node from `first` on reads a variable that one before it has given another value. Nodes
/// with subgraphs may: the statistics among their inputs are not used by their gradients.
constexpr void check_reads(const Graph& graph, std::size_t first) {
  TensorMap<bool> is_gone(graph, false);
  const Aliases aliases(graph);
  for (std::size_t n = 0; n < first; ++n) {
    const Node& node = graph.nodes[n];
    for_each_modified(node, [&](std::size_t i) {
      const TensorId id = aliases.root(node.inputs[i]);
      is_gone[id] = graph.tensor(id).role == Role::variable;
    });
  }
  for (std::size_t n = first; n < graph.nodes.size(); ++n) {
    if (!subgraphs_of(graph.nodes[n]).empty()) continue;
    for (const TensorId id : graph.nodes[n].inputs) {
      if (id == no_tensor || !is_gone[id]) continue;
      fail(ErrorKind::model,
           {.what = "a gradient needs the value of a variable that the model has changed by then",
            .tensor = graph.name(id),
            .hint = "changes of the model's own, as those of keep_state(), come after train()"});
    }
  }
}

/// Records the gradients of the loss, which start with `start` (absent: 1), by the weights that the
/// options say, and by the tensors of `more`, which become their gradients. `trained`: how many of
/// what is returned are to be trained, the first ones; the others are those of gradients_of.
constexpr Training record_gradients(Graph& graph, AnyTensor loss, const TrainOptions& options,
                                    FindGradient find, TensorId start, Vector<TensorId>& more,
                                    std::size_t& trained) {
  if (options.accumulation < 1) {
    fail(ErrorKind::usage, {.what = "the accumulation is not at least one run",
                            .found = DecimalText(options.accumulation)});
  }
  const std::size_t forward = graph.nodes.size();
  Vector<TensorId> wanted;  // no ?: of vectors: g++ 12 destroys them in constant evaluation
  if (options.weights.empty()) {
    wanted = all_weights(graph);
  } else {
    wanted = named_weights(graph, options.weights);
  }
  const std::size_t own = wanted.size();
  const Vector<TensorId> asked = named_weights(graph, options.gradients_of, true);
  for (const TensorId id : asked) {
    if (std::find(wanted.begin(), wanted.end(), id) == wanted.end()) wanted.push_back(id);
  }
  const std::size_t weights = wanted.size();
  wanted.insert(wanted.end(), more.begin(), more.end());
  const Vector<TensorId> found = differentiate_with(find, graph, loss.id, wanted, start);
  check_reads(graph, forward);
  Training result;
  trained = 0;
  const auto add = [&](std::size_t i) {
    AnyTensor gradient{&graph, found[i]};
    if (gradient.is_absent()) gradient = GradientScope::zeros(graph, graph.info(wanted[i]));
    gradient = op::identity(gradient);
    graph.rename(gradient.id, JoinedText({"Gradient___", graph.name(wanted[i])}));
    result.weights.push_back(wanted[i]);
    result.gradients.push_back(gradient.id);
  };
  // Of all weights those that the loss does not depend on are not trained.
  const auto is_idle = [&](std::size_t i) {
    return i < own && options.weights.empty() && found[i] == no_tensor;
  };
  for (std::size_t i = 0; i < weights; ++i) {
    if (is_idle(i)) continue;
    add(i);
    trained += i < own;
  }
  for (std::size_t i = 0; i < own; ++i) {
    if (is_idle(i) && std::find(asked.begin(), asked.end(), wanted[i]) != asked.end()) add(i);
  }
  more.assign(found.begin() + static_cast<std::ptrdiff_t>(weights), found.end());
  return result;
}

}  // namespace halftone::detail
