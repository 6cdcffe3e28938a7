#include <halftone/train.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "base/describe.hpp"
#include "exec/fold.hpp"
#include "train/loss_scaling.hpp"
#include "train/modes.hpp"
#include "train/operators.hpp"
#include "train/state.hpp"

namespace halftone {
namespace {

using Update = op::Update;

constexpr std::string_view nesterov_name = "nesterov";

std::string named(std::string_view prefix, const Graph& graph, TensorId weight) {
  return std::string(prefix) + std::string(graph.name(weight));
}

/// The weights of these names; without names: all variables of floating point but statistics.
std::vector<TensorId> weights_of(const Graph& graph, const std::vector<std::string>& names,
                                 const TensorMap<bool>& is_statistic) {
  std::vector<TensorId> ids;
  for (const std::string& name : names) {
    const TensorId id = graph.find(name);
    if (id == no_tensor || graph.tensor(id).role == Role::value ||
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
  if (!names.empty()) return ids;
  for (std::size_t i = 0; i < is_statistic.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const TensorRecord& t = graph.tensor(id);
    if (t.role == Role::variable && is_floating_point(t.info.type) && !is_statistic[id]) {
      ids.push_back(id);
    }
  }
  return ids;
}

/// The gradients of the loss, which start with `start` (absent: 1), by the weights, and by the
/// tensors of `more`.
Training gradients(Graph& graph, AnyTensor loss, const TrainOptions& options, TensorId start,
                   const TensorMap<bool>& is_statistic, std::vector<TensorId>& more) {
  Training result;
  if (options.accumulation < 1) {
    fail(ErrorKind::usage, {.what = "the accumulation is not at least one run",
                            .found = std::to_string(options.accumulation)});
  }
  std::vector<TensorId> weights = weights_of(graph, options.weights, is_statistic);
  if (!options.gradients_of.empty()) {
    for (const TensorId id : weights_of(graph, options.gradients_of, is_statistic)) {
      weights.push_back(id);
    }
  }
  std::vector<TensorId> wanted = weights;
  wanted.insert(wanted.end(), more.begin(), more.end());
  const std::vector<TensorId> found = differentiate(graph, loss.id, wanted, start);
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
  more.assign(found.begin() + static_cast<std::ptrdiff_t>(weights.size()), found.end());
  return result;
}

/// A number of Update::h.
struct Number {
  std::string name{};  ///< empty: not used by this optimizer
  Hyperparameter value = 0.f;
  float least = 0;            ///< smaller ones are errors
  bool is_exclusive = false;  ///< `least` itself is one, too
  float beyond = INFINITY;    ///< as are this one and larger ones
};

/// What the kinds differ in.
struct Rule {
  Update update{};
  bool s1 = false, s2 = false, s3 = false, step = false;
  bool s1_with_a = false, s3_with_b = false;  ///< only if that number is not fixed to 0
  detail::StateName first = detail::first_state;
  float start = 0;
  std::vector<Number> h{};
  Hyperparameter loss_scaling = 1.f;
  bool is_scaled_state = false;
};

std::string text(float number) {
  char characters[32] = {};
  std::snprintf(characters, sizeof characters, "%g", static_cast<double>(number));
  return characters;
}

void check(const Number& number) {
  const float value = number.value.value;
  if (std::isfinite(value) && value >= number.least && value < number.beyond &&
      !(number.is_exclusive && value == number.least)) {
    return;
  }
  std::string expected =
      std::string(number.is_exclusive ? "more than " : "at least ") + text(number.least);
  if (number.beyond != INFINITY) expected += " and less than " + text(number.beyond);
  fail(ErrorKind::usage, {.what = "a hyperparameter is outside its range",
                          .tensor = number.name,
                          .expected = expected,
                          .found = text(value)});
}

class Recorder {
 public:
  Recorder(Graph& graph, AnyTensor loss, const Rule& rule, const TrainOptions& options)
      : graph_(graph), loss_(loss), rule_(rule), options_(options) {}

  Training record() {
    check_options();
    Graph model = graph_;
    fold_unknown_shapes(graph_);
    const TensorMap<bool> is_statistic = detail::use_training_mode(graph_);
    const std::size_t forward = graph_.nodes.size();
    record_loss_scaling();
    std::vector<TensorId> tracked = tracked_tensors();
    Training training = gradients(graph_, loss_, options_, start_, is_statistic, tracked);
    trained_ = options_.weights.empty() ? training.weights.size()
                                        : weights_of(graph_, options_.weights, is_statistic).size();
    weights_ = {training.weights.begin(),
                training.weights.begin() + static_cast<std::ptrdiff_t>(trained_)};
    for (const TensorId w : weights_) {
      if (is_variable(graph_.tensor(w))) continue;
      fail(ErrorKind::model,
           {.what = "a tensor that is to be trained is no variable", .tensor = graph_.name(w)});
    }
    const std::vector<int> specific = specific_of_weights(), group = group_of_weights();
    const std::size_t end_of_gradients = graph_.nodes.size();
    record_clock();
    record_all_updates(training.gradients, specific, group);
    if (options_.automatic_loss_scaling.enabled) {
      detail::record_scale_adjustment(graph_, options_.automatic_loss_scaling, factor_, tracked,
                                      {forward, end_of_gradients});
    }
    keep_model(std::move(model));
    if (options_.accumulation > 1) accumulate_gradients(graph_, options_.accumulation);
    return training;
  }

 private:
  /// Values of variables are those of the graph that trains them.
  void keep_model(Graph model) {
    for (TensorRecord& t : model.tensors) {
      if (is_variable(t)) t.data = {};
    }
    graph_.model.push_back(std::move(model));
  }
  void check_options() const {
    if (!graph_.model.empty()) {
      fail(ErrorKind::usage,
           {.what = "the graph is trained already", .hint = "model_of() gives the model alone"});
    }
    for (const Number& number : rule_.h) {
      if (!number.name.empty()) check(number);
    }
    check({.name = "loss_scaling", .value = rule_.loss_scaling, .is_exclusive = true});
    for (const ClipNorm& clip : options_.clip_norm) {
      check({.name = "max_norm", .value = clip.max_norm, .is_exclusive = true});
    }
    const AutomaticLossScaling& automatic = options_.automatic_loss_scaling;
    if (!automatic.enabled) return;
    if (rule_.is_scaled_state) {
      fail(ErrorKind::unsupported,
           {.what = "automatic loss scaling and scaled optimizer state exclude each other"});
    }
    if (!rule_.loss_scaling.may_change) {
      fail(ErrorKind::usage, {.what = "automatic loss scaling needs a loss scaling that may change",
                              .hint = ".loss_scaling = variable{...}"});
    }
    const auto is_share = [](float x) { return x >= 0 && x <= 1; };
    if (!is_share(automatic.bin_edge_location) || !is_share(automatic.threshold)) {
      fail(ErrorKind::usage,
           {.what = "bin_edge_location and threshold of automatic loss scaling are not in [0, 1]"});
    }
    if (automatic.update_period < 1) {
      fail(ErrorKind::usage, {.what = "the update period is not at least one step",
                              .found = std::to_string(automatic.update_period)});
    }
  }

  AnyTensor number(const std::string& name, const Hyperparameter& h, TensorId weight = no_tensor) {
    const TensorInfo info{ElementType::float32, {1}};
    if (!h.may_change) return constant<float>(graph_, std::span(&h.value, 1), {1});
    const AnyTensor variable =
        detail::add_state(graph_, info, name, State::hyperparameter, weight, h.value);
    return {&graph_,
            detail::record(graph_, descriptor<training::Setting>, {}, {variable.id}, 1)[0]};
  }

  void record_loss_scaling() {
    loss_scaling_ = number("loss_scaling", rule_.loss_scaling).id;
    const TensorInfo info = loss_.info();
    if (!rule_.loss_scaling.may_change) {
      if (!info.is_static() || !is_floating_point(info.type)) return;  // differentiate() says so
      start_ = graph_.add_constant(info, detail::scalar_bytes(info.type, rule_.loss_scaling.value));
      return;
    }
    AnyTensor scaling{&graph_, loss_scaling_};
    if (options_.automatic_loss_scaling.enabled) {
      factor_ = detail::find_or_add_state(graph_, scaling.info(), detail::loss_scaling_factor,
                                          no_tensor, 1)
                    .id;
      scaling = op::mul(scaling, AnyTensor{&graph_, factor_});
      loss_scaling_ = scaling.id;
    }
    if (info.elements() != 1 || !is_floating_point(info.type)) return;
    if (info.type != ElementType::float32) scaling = op::cast(scaling, {.to = info.type});
    start_ = op::reshape(scaling, constant(graph_, info.shape)).id;
  }

  std::vector<TensorId> tracked_tensors() const {
    std::vector<TensorId> ids;
    for (const std::string& name : options_.automatic_loss_scaling.track) {
      ids.push_back(graph_.find(name));
      if (ids.back() == no_tensor) {
        fail(ErrorKind::model, {.what = "there is no tensor of that name whose gradient could be "
                                        "looked at",
                                .tensor = name});
      }
    }
    return ids;
  }

  std::vector<int> specific_of_weights() const {
    std::vector<int> all(trained_, -1);
    for (std::size_t s = 0; s < options_.specific.size(); ++s) {
      const Specific& specific = options_.specific[s];
      const std::size_t at = find_weight(specific.weight);
      if (all[at] >= 0) {
        fail(ErrorKind::usage,
             {.what = "a weight has specific hyperparameters twice", .tensor = specific.weight});
      }
      all[at] = static_cast<int>(s);
      for (const auto& [name, value] : specific.values) {
        if (name == nesterov_name && rule_.update.kind == op::Optimizing::sgd) {
          check_nesterov(specific.weight, value);
          continue;
        }
        const auto found = std::find_if(rule_.h.begin(), rule_.h.end(), [&](const Number& n) {
          return !n.name.empty() && n.name == name;
        });
        if (found == rule_.h.end()) {
          fail(ErrorKind::usage, {.what = "the optimizer has no such hyperparameter",
                                  .tensor = specific.weight,
                                  .found = name});
        }
        Number number = *found;
        number.value = value;
        check(number);
      }
    }
    return all;
  }
  static void check_nesterov(const std::string& weight, const Hyperparameter& h) {
    if (!h.may_change && (h.value == 0 || h.value == 1)) return;
    fail(ErrorKind::usage, {.what = "nesterov of a weight is neither 0 nor 1, or may change",
                            .tensor = weight,
                            .found = text(h.value)});
  }
  std::vector<int> group_of_weights() const {
    std::vector<int> all(trained_, -1);
    for (std::size_t c = 0; c < options_.clip_norm.size(); ++c) {
      const ClipNorm& clip = options_.clip_norm[c];
      if (clip.weights.empty()) {
        if (options_.clip_norm.size() > 1) {
          fail(ErrorKind::usage, {.what = "if the norm of all weights' gradients is clipped, there "
                                          "is no other group"});
        }
        std::fill(all.begin(), all.end(), 0);
      }
      for (const std::string& name : clip.weights) {
        const std::size_t at = find_weight(name);
        if (all[at] >= 0) {
          fail(ErrorKind::usage,
               {.what = "a weight is in two groups whose norms are clipped", .tensor = name});
        }
        all[at] = static_cast<int>(c);
      }
    }
    return all;
  }
  std::size_t find_weight(const std::string& name) const {
    for (std::size_t i = 0; i < trained_; ++i) {
      if (graph_.name(weights_[i]) == name) return i;
    }
    fail(ErrorKind::model, {.what = "there is no trained weight of that name", .tensor = name});
  }

  /// What weights with these specific values do not share with others; null if there is none.
  const Hyperparameter* own(std::string_view wanted, int specific) const {
    if (specific < 0) return nullptr;
    for (const auto& [name, h] : options_.specific[static_cast<std::size_t>(specific)].values) {
      if (name == wanted) return &h;
    }
    return nullptr;
  }
  Hyperparameter value(std::size_t number, int specific) const {
    const Hyperparameter* const h = own(rule_.h[number].name, specific);
    return h != nullptr ? *h : rule_.h[number].value;
  }
  bool is_zero(std::size_t number, int specific) const {
    const Hyperparameter h = value(number, specific);
    return !h.may_change && h.value == 0;
  }

  TensorInfo state_info(std::size_t i) const {
    TensorInfo info = graph_.info(weights_[i]);
    if (info.type != ElementType::float64) info.type = ElementType::float32;
    return info;
  }

  void record_clock() {
    const AnyTensor count =
        detail::find_or_add_state(graph_, {ElementType::int64, {}}, detail::run_count, no_tensor);
    const std::vector<TensorId> outputs =
        detail::record(graph_, descriptor<training::TrainingStep>,
                       pack(training::TrainingStep{
                           .runs = 1, .reduction = static_cast<std::int64_t>(options_.reduction)}),
                       {count.id, loss_scaling_}, 3);
    scale_ = outputs[2];
    if (!rule_.is_scaled_state || !rule_.loss_scaling.may_change) return;
    const AnyTensor previous = detail::find_or_add_state(graph_, {ElementType::float32, {1}},
                                                         detail::previous_loss_scaling, no_tensor,
                                                         rule_.loss_scaling.value);
    ratio_ = detail::record(graph_, descriptor<training::LossScalingRatio>, {},
                            {previous.id, loss_scaling_}, 1)[0];
    graph_.rename(ratio_, "LossScalingRatio_");
  }

  void record_all_updates(const std::vector<TensorId>& gradients, const std::vector<int>& specific,
                          const std::vector<int>& group) {
    for (std::size_t i = 0; i < trained_; ++i) {
      const AnyTensor g{&graph_, gradients[i]};
      const ElementType type = state_info(i).type;
      used_.push_back(g.info().type == type ? op::identity(g).id : op::cast(g, {.to = type}).id);
    }
    record_norms(group);
    std::map<std::pair<int, int>, TensorId> numbers;
    for (std::size_t i = 0; i < trained_; ++i) {
      TensorId& h = numbers.try_emplace({specific[i], group[i]}, no_tensor).first->second;
      if (h == no_tensor) h = record_numbers(specific[i], group[i]);
      record_update(i, specific[i], h);
    }
  }

  void record_norms(const std::vector<int>& group) {
    for (std::size_t c = 0; c < options_.clip_norm.size(); ++c) {
      AnyTensor total{&graph_, no_tensor};
      for (std::size_t i = 0; i < trained_; ++i) {
        if (group[i] != static_cast<int>(c)) continue;
        AnyTensor square = op::sumsquare(AnyTensor{&graph_, used_[i]}, {.keepdims = 0});
        if (square.info().type != ElementType::float32) {
          square = op::cast(square, {.to = ElementType::float32});
        }
        total = total.is_absent() ? square : op::add(total, square);
      }
      if (total.is_absent()) {
        clip_factors_.push_back(no_tensor);
        continue;
      }
      const AnyTensor norm = op::mul(op::sqrt(total), AnyTensor{&graph_, scale_});
      graph_.rename(norm.id, "GlobalNorm___" + std::to_string(c));
      const AnyTensor most =
          constant<float>(graph_, std::span(&options_.clip_norm[c].max_norm, 1), {1});
      clip_factors_.push_back(op::div(most, op::maximum(std::vector<AnyTensor>{norm, most})).id);
    }
  }

  /// Update::h for weights with these specific values and in this group.
  TensorId record_numbers(int specific, int group) {
    std::vector<AnyTensor> parts;
    for (std::size_t k = 0; k < rule_.h.size(); ++k) {
      if (k == Update::scale) {
        AnyTensor scale{&graph_, scale_};
        if (rule_.is_scaled_state) scale = scaled(scale);
        if (group >= 0) {
          scale =
              op::mul(scale, AnyTensor{&graph_, clip_factors_[static_cast<std::size_t>(group)]});
        }
        parts.push_back(scale);
        continue;
      }
      const Number& shared = rule_.h[k];
      if (const Hyperparameter* const h = own(shared.name, specific); h != nullptr) {
        const std::string& weight = options_.specific[static_cast<std::size_t>(specific)].weight;
        parts.push_back(number(shared.name + "___" + weight, *h, graph_.find(weight)));
        continue;
      }
      if (!shared_[k]) shared_[k] = number(shared.name, shared.value).id;
      parts.push_back({&graph_, *shared_[k]});
    }
    if (rule_.is_scaled_state) {
      parts[Update::epsilon] = scaled(parts[Update::epsilon]);
      if (rule_.update.l2) parts[Update::weight_decay] = scaled(parts[Update::weight_decay]);
    }
    return op::concat(parts, {.axis = 0}).id;
  }
  AnyTensor scaled(AnyTensor x) {
    if (!rule_.loss_scaling.may_change) return x * rule_.loss_scaling.value;
    return op::mul(x, AnyTensor{&graph_, loss_scaling_});
  }

  void record_update(std::size_t i, int specific, TensorId numbers) {
    const TensorId w = weights_[i];
    const TensorInfo info = state_info(i);
    const auto optional_state = [&](bool wanted, detail::StateName kind, float first = 0) {
      return wanted ? detail::find_or_add_state(graph_, info, kind, w, first).id : no_tensor;
    };
    const bool has_s1 = rule_.s1 && !(rule_.s1_with_a && is_zero(Update::a, specific));
    const bool has_s3 = rule_.s3 && !(rule_.s3_with_b && is_zero(Update::b, specific));
    const TensorId s1 = optional_state(has_s1, rule_.first, rule_.start);
    const TensorId s2 = optional_state(rule_.s2, detail::second_state);
    const TensorId s3 = optional_state(has_s3, detail::third_state);
    const TensorId step = rule_.step ? detail::find_or_add_state(graph_, {ElementType::float32, {}},
                                                                 detail::step_state, w)
                                           .id
                                     : no_tensor;
    if (ratio_ != no_tensor) {
      // m grows with the loss scaling, v, which is of squares, with its square; AdaMax's does not.
      const bool is_square = rule_.update.kind != op::Optimizing::adamax;
      rescale(s1, false);
      rescale(s2, is_square);
    }
    Update update = rule_.update;
    if (update.kind == op::Optimizing::lamb && is_zero(Update::c, specific)) {
      update.kind = op::Optimizing::adam;
    }
    if (const Hyperparameter* const h = own(nesterov_name, specific); h != nullptr) {
      update.nesterov = h->value != 0;
    }
    const TensorId next = detail::record(graph_, descriptor<Update>, pack(update),
                                         {w, used_[i], s1, s2, s3, step, numbers}, 1)[0];
    graph_.rename(next, named("UpdatedVar___", graph_, w));
  }

  void rescale(TensorId state, bool twice) {
    detail::record(graph_, descriptor<training::RescaleState>,
                   pack(training::RescaleState{.twice = twice}), {state, ratio_}, 1);
  }

  Graph& graph_;
  AnyTensor loss_;
  const Rule& rule_;
  const TrainOptions& options_;
  std::size_t trained_ = 0;
  std::vector<TensorId> weights_, used_;  ///< and their gradients as the optimizer takes them
  std::vector<TensorId> clip_factors_;
  std::optional<TensorId> shared_[Update::count];
  TensorId loss_scaling_ = no_tensor, start_ = no_tensor, scale_ = no_tensor, factor_ = no_tensor,
           ratio_ = no_tensor;
};

Training record_updates(Graph& graph, AnyTensor loss, const Rule& rule,
                        const TrainOptions& options) {
  return Recorder(graph, loss, rule, options).record();
}

}  // namespace

Training train(Graph& graph, AnyTensor loss, const Sgd& o, const TrainOptions& options) {
  Rule rule{.update = {.kind = op::Optimizing::sgd, .nesterov = o.nesterov, .l2 = true},
            .s1 = true,
            .s1_with_a = true,
            .first = o.separate ? detail::first_state : detail::velocity_state,
            .h = {{"learning_rate", o.learning_rate},
                  {"weight_decay", o.weight_decay},
                  {},
                  {"momentum", o.momentum},
                  {"dampening", o.dampening},
                  {},
                  {"velocity_scaling", o.velocity_scaling, 0, true}},
            .loss_scaling = o.loss_scaling};
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
                  {},
                  {"beta1", o.beta1, 0, false, 1},
                  {"beta2", o.beta2, 0, false, 1},
                  {"epsilon", o.epsilon},
                  {"max_weight_norm", o.max_weight_norm}},
            .loss_scaling = o.loss_scaling,
            .is_scaled_state = o.scaled_optimizer_state};
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
  return record_updates(graph, loss, rule, options);
}

Training differentiate_weights(Graph& graph, AnyTensor loss, const TrainOptions& options) {
  fold_unknown_shapes(graph);
  const TensorMap<bool> is_statistic = detail::use_training_mode(graph);
  std::vector<TensorId> none_more;
  return gradients(graph, loss, options, no_tensor, is_statistic, none_more);
}

}  // namespace halftone
