#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/graph/index.hpp>
#include <halftone/train/update.hpp>
#include <halftone/train/weights.hpp>
#include <halftone/transform/complete_places.hpp>

// What train() records, for the core and for constant evaluation.
namespace halftone {

namespace detail {

// Defined in the core: not for constant evaluation.
[[noreturn]] void refuse_nesterov(const std::string& weight, const Hyperparameter& h);

/// A range of nodes, by position.
struct NodeRange {
  std::size_t first = 0, end = 0;
};

/// Records what automatic loss scaling does: counts numbers in float and half gradients that are
/// beyond the edge, and changes the factor after a step. It looks at `gradients`, and, if options
/// name no tensors, at what the nodes of a range compute. Throws UsageError if there is nothing to
/// look at. Defined in the core: not for constant evaluation.
void record_scale_adjustment(Graph& graph, const AutomaticLossScaling& options, TensorId factor,
                             std::span<const TensorId> gradients, NodeRange nodes);

/// Throws what is wrong about options and an optimizer's numbers.
constexpr void check_options(const Rule& rule, const TrainOptions& options) {
  check_numbers(rule);
  for (const ElementType type : {options.state_types.sum, options.state_types.first,
                                 options.state_types.second, options.state_types.third}) {
    if (type == ElementType::undefined || is_floating_point(type)) continue;
    fail(ErrorKind::usage, {.what = "an optimizer's state is stored in a floating-point type",
                            .found = halftone::name(type)});
  }
  for (const ClipNorm& clip : options.clip_norm) {
    check({.name = "max_norm", .value = clip.max_norm, .is_exclusive = true});
  }
  if (options.clip_norm.size() > 1) {
    for (const ClipNorm& clip : options.clip_norm) {
      if (!clip.weights.empty()) continue;
      fail(ErrorKind::usage, {.what = "if the norm of all weights' gradients is clipped, there "
                                      "is no other group"});
    }
  }
  const AutomaticLossScaling& automatic = options.automatic_loss_scaling;
  if (!automatic.enabled) return;
  if (rule.is_scaled_state) {
    fail(ErrorKind::unsupported,
         {.what = "automatic loss scaling and scaled optimizer state exclude each other"});
  }
  if (!rule.loss_scaling.may_change) {
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
                            .found = DecimalText(automatic.update_period)});
  }
}

/// Records the gradients of a loss and the updates of an optimizer.
class Recorder {
 public:
  /// own  the update of an optimizer that is not the library's, of which the rule has the loss
  ///      scaling alone; null: all is in the rule
  constexpr Recorder(Graph& graph, AnyTensor loss, const Rule& rule, OwnUpdate* own,
                     const TrainOptions& options, FindGradient find)
      : graph_(graph),
        loss_(loss),
        rule_(rule),
        own_(own),
        options_(options),
        find_(find),
        updates_(graph, rule, false, options.state_types) {}

  constexpr Training run() {
    if (!graph_.model.empty()) {
      fail(ErrorKind::usage,
           {.what = "the graph is trained already", .hint = "model_of() gives the model alone"});
    }
    check_options(rule_, options_);
    if (graph_.replicas > 1 && options_.automatic_loss_scaling.enabled) {
      fail(ErrorKind::unsupported,
           {.what = "automatic loss scaling looks at the gradients of one replica: those of others "
                    "would go on with another scale"});
    }
    Graph model = graph_;
    // Gradients have the stages that mirror those of their nodes, which the loss has to be in.
    complete_places(graph_);
    use_training_mode(graph_);
    Vector<TensorId> tracked = tracked_tensors();
    std::size_t trained = 0, first_gradient = 0;
    const Training training = [&] {
      const InPart backward(graph_, Part::backward);
      record_loss_scaling();
      first_gradient = graph_.nodes.size();
      return record_gradients(graph_, loss_, options_, find_, start_, tracked, trained);
    }();
    take_weights(training, trained);
    take_specific();
    take_groups();
    const std::size_t end_of_gradients = graph_.nodes.size();
    const InPart update(graph_, Part::update);
    record_clock();
    record_all_updates();
    if (options_.automatic_loss_scaling.enabled) {
      record_scale_adjustment(graph_, options_.automatic_loss_scaling, factor_, tracked,
                              {first_gradient, end_of_gradients});
    }
    // Values of variables are those of the graph that trains them.
    for (TensorRecord& t : model.tensors) {
      if (is_variable(t)) t.data = {};
    }
    graph_.model.push_back(std::move(model));
    if (options_.accumulation > 1) accumulate_gradients(graph_, options_.accumulation);
    return training;
  }

 private:
  using Weight = TrainedWeight;

  constexpr AnyTensor tensor(TensorId id) { return {&graph_, id}; }

  constexpr void record_loss_scaling() {
    updates_.step.loss_scaling = updates_.number("loss_scaling", rule_.loss_scaling).id;
    const TensorInfo info = loss_.info();
    // differentiate() says what is wrong about the loss.
    const bool is_scalar = info.is_static() && info.elements() == 1 && is_floating_point(info.type);
    if (!rule_.loss_scaling.may_change) {
      if (!is_scalar) return;
      start_ = graph_.add_constant(info, scalar_bytes(info.type, rule_.loss_scaling.value));
      return;
    }
    AnyTensor scaling = tensor(updates_.step.loss_scaling);
    if (options_.automatic_loss_scaling.enabled) {
      factor_ = find_or_add_state(graph_, scaling.info(), loss_scaling_factor, no_tensor, 1).id;
      scaling = op::mul(scaling, tensor(factor_));
      updates_.step.loss_scaling = scaling.id;
    }
    if (!is_scalar) return;
    if (info.type != ElementType::float32) scaling = op::cast(scaling, {.to = info.type});
    start_ = op::reshape(scaling, constant(graph_, info.shape)).id;
  }

  constexpr Vector<TensorId> tracked_tensors() const {
    Vector<TensorId> ids;
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

  /// Gradients of weights come first; those that are only asked for are not trained.
  constexpr void take_weights(const Training& training, std::size_t trained) {
    for (std::size_t i = 0; i < trained; ++i) {
      const TensorId id = training.weights[i];
      if (!is_variable(graph_.tensor(id))) {
        fail(ErrorKind::model,
             {.what = "a tensor that is to be trained is no variable", .tensor = graph_.name(id)});
      }
      weights_.push_back({.id = id, .gradient = training.gradients[i]});
    }
  }
  constexpr Weight& find_weight(std::string_view name) {
    for (Weight& w : weights_) {
      if (graph_.name(w.id) == name) return w;
    }
    fail(ErrorKind::model, {.what = "there is no trained weight of that name", .tensor = name});
  }

  constexpr void take_specific() {
    for (const Specific& specific : options_.specific) {
      Weight& w = find_weight(specific.weight);
      if (w.specific != nullptr) {
        fail(ErrorKind::usage,
             {.what = "a weight has specific hyperparameters twice", .tensor = specific.weight});
      }
      w.specific = &specific;
      for (const auto& [name, value] : specific.values) check_specific(specific, name, value);
    }
  }
  constexpr void check_specific(const Specific& specific, std::string_view name,
                                const Hyperparameter& value) const {
    if (own_ == nullptr && name == RuleUpdates<Graph>::nesterov &&
        rule_.update.kind == op::Optimizing::sgd) {
      if (value.may_change || (value.value != 0 && value.value != 1)) {
        refuse_nesterov(specific.weight, value);
      }
      return;
    }
    const Number* const found =
        std::find_if(std::begin(rule_.h), std::end(rule_.h),
                     [&](const Number& n) { return !n.name.empty() && n.name == name; });
    if (found == std::end(rule_.h)) {
      fail(ErrorKind::usage, {.what = "the optimizer has no such hyperparameter",
                              .tensor = specific.weight,
                              .found = name});
    }
    Number number = *found;
    number.value = value;
    check(number);
  }
  constexpr void take_groups() {
    for (std::size_t c = 0; c < options_.clip_norm.size(); ++c) {
      const ClipNorm& clip = options_.clip_norm[c];
      if (clip.weights.empty()) {
        for (Weight& w : weights_) w.group = 0;
      }
      for (const std::string& name : clip.weights) {
        Weight& w = find_weight(name);
        if (w.group >= 0) {
          fail(ErrorKind::usage,
               {.what = "a weight is in two groups whose norms are clipped", .tensor = name});
        }
        w.group = static_cast<int>(c);
      }
    }
  }

  constexpr void record_clock() {
    const AnyTensor count =
        find_or_add_state(graph_, {ElementType::int64, {}}, run_count, no_tensor);
    StepTensors& step = updates_.step;
    step.scale = record(
        graph_,
        training::TrainingStep{.reduction = static_cast<std::int64_t>(options_.reduction),
                               .replicas = graph_.replicas,
                               .sum_type = static_cast<std::int64_t>(options_.state_types.sum),
                               .sum_as_weight = options_.state_types.as_weight},
        {count.id, step.loss_scaling}, 3)[2];
    if (!rule_.is_scaled_state || !rule_.loss_scaling.may_change) return;
    const AnyTensor previous =
        find_or_add_state(graph_, {ElementType::float32, {1}}, previous_loss_scaling, no_tensor,
                          rule_.loss_scaling.value);
    step.ratio =
        record(graph_, training::LossScalingRatio{}, {previous.id, step.loss_scaling}, 1)[0];
    graph_.rename(step.ratio, "LossScalingRatio_");
  }

  constexpr void record_all_updates() {
    for (Weight& w : weights_) {
      const AnyTensor g = tensor(w.gradient);
      const ElementType type = state_element_of(graph_.info(w.id).type);
      w.gradient = g.info().type == type ? op::identity(g).id : op::cast(g, {.to = type}).id;
      if (graph_.replicas == 1) continue;
      // Replicas go on alike: each has the gradients of all, as if it had run them one after the
      // other. The mean of sums is the clock's work.
      const bool is_running = options_.reduction == AccumulationReduction::running_mean;
      op::Collective joined{.collective_operator =
                                is_running ? CollectiveOperator::mean : CollectiveOperator::add};
      // Or those of its group, if each group has a weight of its own.
      const VariableSettings* const settings = graph_.settings(w.id);
      if (settings != nullptr && settings->grouping.num_groups() > 1) {
        const ReplicaGrouping& groups = settings->grouping;
        if (is_running) {
          fail(ErrorKind::unsupported,
               {.what = "a running mean over replicas is not offered for weights of groups of them",
                .tensor = graph_.name(w.id),
                .hint = "AccumulationReduction::mean or sum"});
        }
        joined.grouping = {groups.replicas(), groups.stride(), groups.group_size()};
      }
      w.gradient =
          record(graph_, op::ReplicatedAllReduce{.collective = joined}, {w.gradient}, 1)[0];
    }
    for (std::size_t c = 0; c < options_.clip_norm.size(); ++c) record_norm(c);
    for (auto w = weights_.begin(); w != weights_.end(); ++w) {
      if (own_ != nullptr) {
        record_own_update(*w);
        continue;
      }
      const auto alike = std::find_if(weights_.begin(), w, [&](const Weight& before) {
        return before.specific == w->specific && before.group == w->group;
      });
      w->numbers = alike != w ? alike->numbers : updates_.record_numbers(*w);
      updates_.record(*w);
    }
  }

  constexpr void record_norm(std::size_t group) {
    AnyTensor total = tensor(no_tensor);
    for (const Weight& w : weights_) {
      if (w.group != static_cast<int>(group)) continue;
      AnyTensor square = op::sumsquare(tensor(w.gradient), {.keepdims = 0});
      if (square.info().type != ElementType::float32) {
        square = op::cast(square, {.to = ElementType::float32});
      }
      total = total.is_absent() ? square : op::add(total, square);
    }
    updates_.step.clip_factors.push_back(no_tensor);
    if (total.is_absent()) return;
    const AnyTensor norm = op::mul(op::sqrt(total), tensor(updates_.step.scale));
    graph_.rename(norm.id,
                  JoinedText({"GlobalNorm___", DecimalText(static_cast<std::int64_t>(group))}));
    const AnyTensor most =
        constant<float>(graph_, std::span(&options_.clip_norm[group].max_norm, 1), {1});
    updates_.step.clip_factors.back() =
        op::div(most, op::maximum(Vector<AnyTensor>{norm, most})).id;
  }

  constexpr void record_own_update(const Weight& w) {
    const std::size_t first = graph_.nodes.size();
    const AnyTensor g = tensor(record(graph_, training::StepGradient{}, {w.gradient, w.id}, 1)[0]);
    AnyTensor scale = updates_.scale(w);
    if (g.info().type != ElementType::float32) scale = op::cast(scale, {.to = g.info().type});
    if (g.info().rank() == 0) scale = op::reshape(scale, constant(graph_, Dims{}));
    own_->record(tensor(w.id), op::mul(g, scale));
    TensorId next = w.id;
    bool is_changed = false;
    for (std::size_t n = first; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      for_each_modified(node, [&](std::size_t changed) {
        const TensorId before = node.inputs[changed];
        if (before != w.id && before != next) return;
        is_changed = true;
        for_each_view(node, [&](std::size_t output, std::size_t input) {
          if (input == changed) next = node.outputs[output];
        });
      });
    }
    if (!is_changed) {
      fail(ErrorKind::usage, {.what = "the optimizer's update does not change the weight",
                              .tensor = graph_.name(w.id),
                              .hint = "op::copy_var_update(w, ...)"});
    }
    if (next != w.id) graph_.rename(next, JoinedText({"UpdatedVar___", graph_.name(w.id)}));
  }

  Graph& graph_;
  AnyTensor loss_;
  const Rule& rule_;
  OwnUpdate* own_;
  const TrainOptions& options_;
  FindGradient find_;
  RuleUpdates<Graph> updates_;
  Vector<Weight> weights_;
  TensorId start_ = no_tensor, factor_ = no_tensor;
};

}  // namespace detail

/// train() in constant evaluation, too, for graphs whose nodes between the weights and the loss are
/// of the operators in a list:
///
///   train<op::MatMul, op::Relu, op::ReduceMean>(graph, loss, Adam{});
///
/// limits  in constant evaluation no normalization of batches and no Dropout, no accumulation and
///         no automatic loss scaling
template <class... Op, class Optimizer>
  requires(sizeof...(Op) > 0)
constexpr Training train(Graph& graph, AnyTensor loss, Optimizer&& optimizer,
                         const TrainOptions& options = {}) {
  return detail::with_rule(optimizer, [&](const detail::Rule& rule, detail::OwnUpdate* own) {
    return detail::Recorder(graph, loss, rule, own, options, &gradient_in_list<Op...>).run();
  });
}

}  // namespace halftone
