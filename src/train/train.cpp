#include <halftone/train.hpp>

#include <cmath>
#include <string>

#include <halftone/op/list.hpp>

#include "base/describe.hpp"

namespace halftone {
namespace {

using Update = op::Update;

std::string named(std::string_view prefix, const Graph& graph, TensorId weight) {
  return std::string(prefix) + std::string(graph.name(weight));
}

AnyTensor state(Graph& graph, const TensorInfo& info, const std::string& name) {
  return {&graph, graph.add_variable(info, Initial{Initial::Rule::fill, 0, 0}, name)};
}

/// Batch normalization with the statistics of the batch, which update the running ones.
void use_batch_statistics(Graph& graph) {
  const std::size_t count = graph.nodes.size();
  for (std::size_t n = 0; n < count; ++n) {
    if (graph.nodes[n].op->id != op::BatchNormalization::id) continue;
    auto batch = unpack<op::BatchNormalization>(graph.nodes[n].attributes);
    batch.training_mode = 1;
    graph.nodes[n].attributes = pack(batch);
    for (std::size_t i = 1; i < 3; ++i) {
      const TensorId given = graph.nodes[n].inputs[2 + i];
      if (graph.nodes[n].outputs.size() <= i) graph.nodes[n].outputs.resize(i + 1, no_tensor);
      if (graph.nodes[n].outputs[i] == no_tensor) {
        const TensorId running = graph.add_tensor({.info = graph.info(given)}, {});
        graph.nodes[n].outputs[i] = running;
      }
      if (graph.tensor(given).role != Role::variable) continue;
      detail::record(graph, descriptor<op::CopyVarUpdate>, {}, {given, graph.nodes[n].outputs[i]},
                     1);
    }
  }
}

std::vector<TensorId> weights_of(Graph& graph, const std::vector<std::string>& names) {
  std::vector<TensorId> ids;
  for (const std::string& name : names) {
    const TensorId id = graph.find(name);
    if (id == no_tensor || graph.tensor(id).role == Role::value ||
        graph.tensor(id).role == Role::constant) {
      fail(ErrorKind::model, {.what = "there is no weight of that name", .tensor = name});
    }
    if (!is_floating_point(graph.info(id).type)) {
      fail(ErrorKind::model, {.what = "a weight that is to be trained is not floating point",
                              .tensor = name,
                              .found = halftone::name(graph.info(id).type)});
    }
    ids.push_back(id);
  }
  if (!names.empty()) return ids;
  std::vector<char> is_statistic(graph.tensors.size());
  for (const Node& node : graph.nodes) {
    if (node.op->id != op::BatchNormalization::id) continue;
    for (std::size_t i = 3; i < 5; ++i) is_statistic[static_cast<std::size_t>(node.inputs[i])] = 1;
  }
  for (std::size_t i = 0; i < is_statistic.size(); ++i) {
    const TensorRecord& t = graph.tensors[i];
    if (t.role == Role::variable && is_floating_point(t.info.type) && is_statistic[i] == 0) {
      ids.push_back(static_cast<TensorId>(i));
    }
  }
  return ids;
}

Training gradients(Graph& graph, AnyTensor loss, const TrainOptions& options, float scaling) {
  Training result;
  if (options.accumulation < 1) {
    fail(ErrorKind::usage, {.what = "the accumulation is not at least one run",
                            .found = std::to_string(options.accumulation)});
  }
  if (!std::isfinite(scaling) || scaling <= 0) {
    fail(ErrorKind::usage,
         {.what = "the loss scaling is not a positive number", .found = std::to_string(scaling)});
  }
  std::vector<TensorId> weights = weights_of(graph, options.weights);
  if (!options.gradients_of.empty()) {
    for (const TensorId id : weights_of(graph, options.gradients_of)) weights.push_back(id);
  }
  use_batch_statistics(graph);
  const TensorInfo info = loss.info();
  const TensorId start =
      graph.add_constant({info.type, info.shape}, detail::scalar_bytes(info.type, scaling));
  const std::vector<TensorId> found = differentiate(graph, loss.id, weights, start);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    TensorId gradient = found[i];
    if (gradient == no_tensor) {
      // Asked for by name: the loss does not depend on it.
      if (options.weights.empty() && options.gradients_of.empty()) continue;
      gradient = GradientScope::zeros(graph, graph.info(weights[i])).id;
    }
    gradient = op::identity(AnyTensor{&graph, gradient}).id;
    graph.rename(gradient, named("Gradient___", graph, weights[i]));
    result.weights.push_back(weights[i]);
    result.gradients.push_back(gradient);
  }
  return result;
}

/// The numbers of Update::h.
AnyTensor hyperparameters(Graph& graph,
                          const std::vector<std::pair<std::string, Hyperparameter>>& all) {
  bool may_change = false;
  std::vector<float> values;
  for (const auto& [name, h] : all) {
    if (!std::isfinite(h.value)) {
      fail(ErrorKind::usage, {.what = "a hyperparameter is not a number", .tensor = name});
    }
    may_change = may_change || h.may_change;
    values.push_back(h.value);
  }
  if (!may_change) {
    return constant<float>(graph, values, {static_cast<std::int64_t>(values.size())});
  }
  std::vector<AnyTensor> parts;
  for (const auto& [name, h] : all) {
    const TensorInfo info{ElementType::float32, {1}};
    parts.push_back(
        h.may_change ? AnyTensor{&graph, graph.add_variable(
                                             info, Initial{Initial::Rule::fill, h.value, 0}, name)}
                     : constant<float>(graph, std::span(&h.value, 1), {1}));
  }
  return op::concat(parts, {.axis = 0});
}

/// What the kinds differ in.
struct Rule {
  Update update;
  bool s1 = false, s2 = false, s3 = false, step = false;
  const char* first = "Accl1___";
  std::vector<std::pair<std::string, Hyperparameter>> h;
  float scaling = 1;
};

Training record_updates(Graph& graph, AnyTensor loss, const Rule& rule,
                        const TrainOptions& options) {
  Training training = gradients(graph, loss, options, rule.scaling);
  std::vector<std::pair<std::string, Hyperparameter>> h = rule.h;
  float scale = 1 / rule.scaling;
  if (options.reduction == AccumulationReduction::mean) {
    scale /= static_cast<float>(options.accumulation);
  }
  h[Update::scale].second = scale;
  const AnyTensor numbers = hyperparameters(graph, h);
  TensorId apply = no_tensor;
  if (options.accumulation > 1) {
    const AnyTensor runs = state(graph, {ElementType::int64, {}}, "AccumulationCount");
    apply = detail::record(graph, descriptor<op::EveryN>, pack(op::EveryN{options.accumulation}),
                           {runs.id}, 1)[0];
  }
  const std::size_t trained =
      options.weights.empty() ? training.weights.size() : options.weights.size();
  for (std::size_t i = 0; i < trained; ++i) {
    const TensorId w = training.weights[i];
    if (graph.tensor(w).role != Role::variable) {
      fail(ErrorKind::model,
           {.what = "a tensor that is to be trained is no variable", .tensor = graph.name(w)});
    }
    TensorInfo info = graph.info(w);
    if (info.type != ElementType::float64) info.type = ElementType::float32;
    TensorId g = training.gradients[i];
    Update update = rule.update;
    if (apply != no_tensor) {
      const AnyTensor sum = state(graph, info, named("Accum___", graph, w));
      detail::record(graph, descriptor<op::Accumulate>, {}, {sum.id, g}, 1);
      g = sum.id;
      update.clear = true;
    } else if (graph.info(g).type != info.type) {
      g = op::cast(AnyTensor{&graph, g}, {.to = info.type}).id;
    }
    const auto optional_state = [&](bool wanted, std::string_view prefix) {
      return wanted ? state(graph, info, named(prefix, graph, w)).id : no_tensor;
    };
    const TensorId s1 = optional_state(rule.s1, rule.first);
    const TensorId s2 = optional_state(rule.s2, "Accl2___");
    const TensorId s3 = optional_state(rule.s3, "Accl3___");
    const TensorId step =
        rule.step ? state(graph, {ElementType::float32, {}}, named("Step___", graph, w)).id
                  : no_tensor;
    detail::record(graph, descriptor<Update>, pack(update),
                   {w, g, s1, s2, s3, step, numbers.id, apply}, 1);
  }
  return training;
}

}  // namespace

Training train(Graph& graph, AnyTensor loss, const Sgd& o, const TrainOptions& options) {
  Rule rule{.update = {.kind = op::Optimizing::sgd, .nesterov = o.nesterov, .l2 = true},
            .s1 = o.momentum.may_change || o.momentum.value != 0,
            .first = "Accl___",
            .h = {{"learning_rate", o.learning_rate},
                  {"weight_decay", o.weight_decay},
                  {"scale", 1.f},
                  {"momentum", o.momentum},
                  {"dampening", o.dampening},
                  {"epsilon", 0.f},
                  {"velocity_scaling", o.velocity_scaling}},
            .scaling = o.loss_scaling};
  return record_updates(graph, loss, rule, options);
}

Training train(Graph& graph, AnyTensor loss, const Adam& o, const TrainOptions& options) {
  if (o.max && o.lamb) fail(ErrorKind::usage, {.what = "AdaMax and Lamb exclude each other"});
  Rule rule{.update = {.kind = o.lamb  ? op::Optimizing::lamb
                               : o.max ? op::Optimizing::adamax
                                       : op::Optimizing::adam,
                       .bias_correction = o.bias_correction,
                       .l2 = o.weight_decay_mode == WeightDecay::l2},
            .s1 = true,
            .s2 = true,
            .step = true,
            .h = {{"learning_rate", o.learning_rate},
                  {"weight_decay", o.weight_decay},
                  {"scale", 1.f},
                  {"beta1", o.beta1},
                  {"beta2", o.beta2},
                  {"epsilon", o.epsilon},
                  {"max_weight_norm", o.max_weight_norm}},
            .scaling = o.loss_scaling};
  return record_updates(graph, loss, rule, options);
}

Training train(Graph& graph, AnyTensor loss, const Adaptive& o, const TrainOptions& options) {
  using Kind = Adaptive::Kind;
  if (o.tf_variant && o.kind != Kind::rmsprop && o.kind != Kind::centered_rmsprop) {
    fail(ErrorKind::usage, {.what = "tf_variant is for rmsprop and centered_rmsprop only"});
  }
  const op::Optimizing kind = o.kind == Kind::adagrad    ? op::Optimizing::adagrad
                              : o.kind == Kind::rmsprop  ? op::Optimizing::rmsprop
                              : o.kind == Kind::adadelta ? op::Optimizing::adadelta
                                                         : op::Optimizing::centered_rmsprop;
  Rule rule{.update = {.kind = kind,
                       .l2 = o.weight_decay_mode == WeightDecay::l2,
                       .tf_variant = o.tf_variant},
            .s1 = true,
            .s2 = o.kind == Kind::centered_rmsprop || o.kind == Kind::adadelta,
            .s3 = o.momentum.may_change || o.momentum.value != 0,
            .h = {{"learning_rate", o.learning_rate},
                  {"weight_decay", o.weight_decay},
                  {"scale", 1.f},
                  {"alpha", o.alpha},
                  {"momentum", o.momentum},
                  {"epsilon", o.epsilon},
                  {"unused", 0.f}},
            .scaling = o.loss_scaling};
  return record_updates(graph, loss, rule, options);
}

Training differentiate_weights(Graph& graph, AnyTensor loss, const TrainOptions& options) {
  return gradients(graph, loss, options, 1);
}

}  // namespace halftone
