#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <halftone/base/vector.hpp>
#include <halftone/train/operators.hpp>
#include <halftone/train/optimizer.hpp>
#include <halftone/train/rule.hpp>
#include <halftone/train/state.hpp>

// What optimizers record for one weight.
namespace halftone {

/// Hyperparameters of one weight, by their names in the optimizer: {"w", {{"learning_rate", 0.f}}}.
/// Those that may change are set as `learning_rate___w`; Sgd's nesterov is 0 or 1 for good.
struct Specific {
  std::string weight{};
  Vector<std::pair<std::string, Hyperparameter>> values{};
};

namespace detail {

/// Optimizers compute in float, or in double for weights of double.
template <class T>
using state_element = std::conditional_t<std::is_same_v<T, double>, double, float>;
constexpr ElementType state_element_of(ElementType weight) {
  return weight == ElementType::float64 ? weight : ElementType::float32;
}

/// The element type in which state of a weight is stored.
constexpr ElementType stored_element_of(ElementType weight, ElementType asked, bool is_as_weight) {
  if (asked != ElementType::undefined) return asked;
  return is_as_weight ? weight : state_element_of(weight);
}

/// Throws that a number is outside its range, or one of the loss scaling.
constexpr void check_numbers(const Rule& rule) {
  for (const Number& number : rule.h) {
    if (!number.name.empty()) check(number);
  }
  check({.name = "loss_scaling", .value = rule.loss_scaling, .is_exclusive = true});
}

/// A hyperparameter that may change, as nodes read it. What the graph has under that name already
/// is the same one if it starts with the same value; else this throws ModelError.
template <std::same_as<Graph> G>
constexpr AnyTensor find_or_add_number(G& graph, const TensorInfo& info, std::string_view name,
                                       float value) {
  const TensorId known = graph.find(name);
  if (known == no_tensor) {
    const AnyTensor added = add_state(graph, info, name, State::hyperparameter, no_tensor, value);
    return {&graph, record(graph, training::Setting{}, {added.id}, 1)[0]};
  }
  const TensorRecord& t = graph.tensor(known);
  if (t.state != State::hyperparameter || t.info != info || t.data.size() != 0 ||
      t.initial.a != value) {
    fail(ErrorKind::model, {.what = "the graph has something else of a hyperparameter's name",
                            .tensor = name,
                            .hint = "hyperparameters of one name start with one value"});
  }
  for (const Node& node : graph.nodes) {
    if (node.op->id == training::Setting::id && node.inputs[0] == known) {
      return {&graph, node.outputs[0]};
    }
  }
  return {&graph, record(graph, training::Setting{}, {known}, 1)[0]};
}

/// Gives the velocity of a weight the value that it has at the end of a step that leaves the weight as
/// the graph has it. Weights that start by a rule have velocities that start with zeros. Defined in
/// the core: not for constant evaluation.
void start_velocity(Graph& graph, TensorId velocity, TensorId weight, float factor);

/// A weight that is trained.
struct TrainedWeight {
  TensorId id = no_tensor;
  TensorId gradient = no_tensor;       ///< as the optimizer takes it
  const Specific* specific = nullptr;  ///< its own hyperparameters; null: it has none
  int group = -1;                      ///< whose norm is clipped; -1: none
  TensorId numbers = no_tensor;        ///< op::Update::h
};

/// What the updates of one step have in common.
struct StepTensors {
  TensorId scale = no_tensor;         ///< what gradients are multiplied by, [1]
  TensorId loss_scaling = no_tensor;  ///< [1]
  TensorId ratio = no_tensor;         ///< by what scaled state changes; no_tensor: it does not
  Vector<TensorId> clip_factors{};    ///< for each group
};

/// Records updates by a rule, for train() and for an optimizer's update().
template <std::same_as<Graph> G>
class RuleUpdates {
  using Handle = HandleIn<G>;

 public:
  /// finds_numbers  hyperparameters that may change are found if the graph has them
  constexpr RuleUpdates(G& graph, const Rule& rule, bool finds_numbers,
                        const StateTypes& types = {})
      : graph_(graph), rule_(rule), finds_numbers_(finds_numbers), types_(types) {}

  StepTensors step{};

  constexpr Handle number(std::string_view name, const Hyperparameter& h,
                          TensorId weight = no_tensor) {
    const TensorInfo info{ElementType::float32, {1}};
    if (!h.may_change) return constant<float>(graph_, std::span(&h.value, 1), {1});
    if (finds_numbers_) return find_or_add_number(graph_, info, name, h.value);
    const Handle variable = add_state(graph_, info, name, State::hyperparameter, weight, h.value);
    return tensor(detail::record(graph_, training::Setting{}, {variable.id}, 1)[0]);
  }

  /// What multiplies the gradient of a weight.
  constexpr Handle scale(const TrainedWeight& w) {
    Handle scale = tensor(step.scale);
    if (rule_.is_scaled_state) scale = scaled(scale);
    if (w.group < 0) return scale;
    return op::mul(scale, tensor(step.clip_factors[static_cast<std::size_t>(w.group)]));
  }

  /// op::Update::h for weights with the specific values and in the group of this one.
  constexpr TensorId record_numbers(const TrainedWeight& w) {
    Vector<Handle> parts;
    for (std::size_t k = 0; k < op::Update::count; ++k) parts.push_back(record_number(w, k));
    if (rule_.is_scaled_state) {
      parts[op::Update::epsilon] = scaled(parts[op::Update::epsilon]);
      if (rule_.update.l2) {
        parts[op::Update::weight_decay] = scaled(parts[op::Update::weight_decay]);
      }
    }
    return op::concat(parts, {.axis = 0}).id;
  }

  constexpr void record(const TrainedWeight& w) {
    const bool has_s1 = rule_.s1 && !(rule_.s1_with_a && is_zero(w, op::Update::a));
    const bool has_s3 = rule_.s3 && !(rule_.s3_with_b && is_zero(w, op::Update::b));
    Vector<Stored> stored;
    const auto state = [&](bool wanted, const StateName& kind, ElementType type, float first = 0) {
      return wanted ? record_state(w, kind, type, first, stored) : no_tensor;
    };
    const TensorId s1 = state(has_s1, rule_.first, types_.first, rule_.start);
    const TensorId s2 = state(rule_.s2, second_state, types_.second);
    const TensorId s3 = state(has_s3, third_state, types_.third);
    TensorId steps = no_tensor;
    if (rule_.step) {
      steps = find_or_add_state(graph_, {ElementType::float32, {}}, step_state, w.id).id;
    }
    if (step.ratio != no_tensor) {
      // m grows with the loss scaling, v, which is of squares, with its square; AdaMax's does not.
      const bool is_square = rule_.update.kind != op::Optimizing::adamax;
      node(training::RescaleState{.twice = false}, {s1, step.ratio});
      node(training::RescaleState{.twice = is_square}, {s2, step.ratio});
    }
    op::Update update = rule_.update;
    if (update.kind == op::Optimizing::lamb && is_zero(w, op::Update::c)) {
      update.kind = op::Optimizing::adam;
    }
    if (const Hyperparameter* const h = own(w, nesterov); h != nullptr) {
      update.nesterov = h->value != 0;
    }
    update.combined = update.combined && has_s1;
    const TensorId next = node(update, {w.id, w.gradient, s1, s2, s3, steps, w.numbers});
    graph_.rename(next, JoinedText({"UpdatedVar___", graph_.name(w.id)}));
    for (const Stored& s : stored) {
      const Handle rounded = op::cast(tensor(s.computed), {.to = graph_.info(s.variable).type});
      node(op::CopyVarUpdate{}, {s.variable, rounded.id});
    }
  }

  static constexpr std::string_view nesterov = "nesterov";

 private:
  /// State that is stored in another type than the update computes it in.
  struct Stored {
    TensorId variable = no_tensor, computed = no_tensor;
  };

  constexpr TensorId record_state(const TrainedWeight& w, const StateName& kind, ElementType asked,
                                  float first, Vector<Stored>& stored) {
    TensorInfo info = graph_.info(w.id);
    const ElementType computed = state_element_of(info.type);
    info.type = stored_element_of(info.type, asked, types_.as_weight);
    const bool is_new = graph_.find(JoinedText({kind.prefix, graph_.name(w.id)})) == no_tensor;
    const TensorId id = find_or_add_state(graph_, info, kind, w.id, first).id;
    const float decay = value(w, op::Update::weight_decay) * (1 - value(w, op::Update::b)) *
                        value(w, op::Update::c);
    if (rule_.update.combined && is_new && decay != 0) start_velocity(graph_, id, w.id, decay);
    if (info.type == computed) return id;
    stored.push_back({id, op::cast(tensor(id), {.to = computed}).id});
    return stored.back().computed;
  }

  constexpr Handle tensor(TensorId id) { return {&graph_, id}; }
  template <class Op>
  constexpr TensorId node(const Op& op, Vector<TensorId> inputs) {
    return detail::record(graph_, op, std::move(inputs), 1)[0];
  }

  /// What a weight does not share with others; null if there is none.
  static constexpr const Hyperparameter* own(const TrainedWeight& w, std::string_view wanted) {
    if (w.specific == nullptr) return nullptr;
    for (const auto& [name, h] : w.specific->values) {
      if (name == wanted) return &h;
    }
    return nullptr;
  }
  constexpr const Hyperparameter& hyperparameter(const TrainedWeight& w, std::size_t number) const {
    const Hyperparameter* const h = own(w, rule_.h[number].name);
    return h != nullptr ? *h : rule_.h[number].value;
  }
  /// What a number starts with.
  constexpr float value(const TrainedWeight& w, std::size_t number) const {
    return hyperparameter(w, number).value;
  }
  constexpr bool is_zero(const TrainedWeight& w, std::size_t number) const {
    return !hyperparameter(w, number).may_change && value(w, number) == 0;
  }

  constexpr Handle record_number(const TrainedWeight& w, std::size_t k) {
    if (k == op::Update::scale) return scale(w);
    const Number& shared = rule_.h[k];
    if (const Hyperparameter* const h = own(w, shared.name); h != nullptr) {
      const std::string_view weight = w.specific->weight;
      return number(JoinedText({shared.name, "___", weight}), *h, graph_.find(weight));
    }
    if (shared_[k].is_absent()) shared_[k] = number(shared.name, shared.value);
    return shared_[k];
  }
  constexpr Handle scaled(Handle x) {
    if (!rule_.loss_scaling.may_change) return x * rule_.loss_scaling.value;
    return op::mul(x, tensor(step.loss_scaling));
  }

  G& graph_;
  const Rule& rule_;
  bool finds_numbers_;
  StateTypes types_;
  Handle shared_[op::Update::count]{};
};

/// Throws ModelError unless a weight's handle is a variable of floating point.
constexpr void check_weight(AnyTensor w) {
  if (!w.is_absent() && is_variable(w.graph->tensor(w.id)) && is_floating_point(w.info().type)) {
    return;
  }
  fail(ErrorKind::model, {.what = "an optimizer's weight is no variable of floating point",
                          .tensor = w.is_absent() ? std::string_view() : w.name()});
}

/// An optimizer's update() of one weight.
template <std::same_as<Graph> G>
constexpr void record_update_by(G& graph, const Rule& rule, HandleIn<G> w, HandleIn<G> dw) {
  check_weight(w);
  if (w.graph != dw.graph || dw.is_absent()) {
    fail(ErrorKind::usage,
         {.what = "a weight has no gradient, or one in another graph", .tensor = w.name()});
  }
  check_numbers(rule);
  if (rule.is_scaled_state && rule.loss_scaling.may_change) {
    fail(ErrorKind::unsupported,
         {.what = "scaled optimizer state with a loss scaling that may change is train()'s alone"});
  }
  RuleUpdates<G> updates(graph, rule, true);
  const HandleIn<G> loss_scaling = updates.number("loss_scaling", rule.loss_scaling);
  updates.step.loss_scaling = loss_scaling.id;
  const float inverse = 1 / rule.loss_scaling.value;
  updates.step.scale = rule.loss_scaling.may_change
                           ? op::div(1, loss_scaling).id
                           : constant<float>(graph, std::span(&inverse, 1), {1}).id;
  const ElementType type = state_element_of(w.info().type);
  if (dw.info().type != type) dw = op::cast(dw, {.to = type});
  TrainedWeight weight{.id = w.id, .gradient = dw.id};
  weight.numbers = updates.record_numbers(weight);
  updates.record(weight);
}

template <class Optimizer, class W, class G>
constexpr void record_update(const Optimizer& optimizer, const W& w, const G& dw) {
  if constexpr (typed_handle<W> && typed_handle<G>) {
    static_assert(std::is_same_v<typename W::shape_type, typename G::shape_type>,
                  "halftone: a weight and its gradient have one shape");
  }
  record_update_by(*w.graph, rule_of(optimizer), w, dw);
}

/// The update of an optimizer that is not the library's, for what train() records.
class OwnUpdate {
 public:
  constexpr virtual void record(AnyTensor w, AnyTensor dw) = 0;

 protected:
  constexpr ~OwnUpdate() = default;
};

template <class Optimizer>
class UpdateOf final : public OwnUpdate {
 public:
  constexpr explicit UpdateOf(Optimizer& optimizer) : optimizer_(optimizer) {}
  constexpr void record(AnyTensor w, AnyTensor dw) override { optimizer_.update(w, dw); }

 private:
  Optimizer& optimizer_;
};

template <class O>
inline constexpr bool is_library_optimizer = false;
template <class... K>
inline constexpr bool is_library_optimizer<Sgd<K...>> = true;
template <class... K>
inline constexpr bool is_library_optimizer<Adam<K...>> = true;
template <class... K>
inline constexpr bool is_library_optimizer<Adaptive<K...>> = true;

/// Calls record(rule, update of the program's own) with what an optimizer is to train().
template <class O, class Record>
constexpr auto with_rule(O& o, const Record& record) {
  if constexpr (is_library_optimizer<std::remove_const_t<O>>) {
    return record(rule_of(o), nullptr);
  } else {
    static_assert(optimizer<O>,
                  "halftone: an optimizer has a member 'void update(auto w, auto dw)', which "
                  "records the update of a weight from its gradient");
    constexpr bool is_derived = requires { rule_of(o); };
    static_assert(!is_derived,
                  "halftone: an optimizer has one of the library's as a member, not as a base");
    Rule rule;
    if constexpr (requires { Hyperparameter(o.loss_scaling); }) rule.loss_scaling = o.loss_scaling;
    if constexpr (optimizer<O>) {
      UpdateOf<O> own(o);
      return record(rule, &own);
    } else {
      return record(rule, nullptr);
    }
  }
}

}  // namespace detail

/// State that an optimizer keeps for a weight, from update(): the variable NAME___w, of the
/// weight's shape, float, or double for weights of double. It is made by the first call, or it is
/// what the graph has under that name from a saved model.
///
/// w       a typed weight has typed state
/// first   what its elements start with
/// errors  ModelError: w is no variable, or the graph has something else of that name
template <tensor_handle W>
constexpr auto optimizer_state(const W& w, std::string_view name, float first = 0) {
  detail::check_weight(w);
  TensorInfo info = w.info();
  info.type = detail::state_element_of(info.type);
  const JoinedText prefix({name, "___"});
  const AnyTensor state =
      detail::find_or_add_state(*w.graph, info, {State::moment, prefix}, w.id, first);
  if constexpr (typed_handle<W>) {
    using T = detail::state_element<typename W::element_type>;
    return Tensor<T, typename W::shape_type>{state.graph, state.id};
  } else {
    return state;
  }
}

/// A hyperparameter to compute the update of a weight with: a float if it is a number, a scalar of
/// the state's type if it is or may be a variable, which then has the name.
///
///   w - dw * hyperparameter(w, "learning_rate", learning_rate)
template <tensor_handle W, hyperparameter_kind K>
constexpr auto hyperparameter(const W& w, std::string_view name, const K& value) {
  const Hyperparameter h = value;
  if constexpr (!std::is_same_v<K, variable> && !std::is_same_v<K, Hyperparameter>) {
    return h.value;
  } else {
    const ElementType type = detail::state_element_of(w.info().type);
    AnyTensor x{w.graph, no_tensor};
    if (h.may_change) {
      x = detail::find_or_add_number(*w.graph, {ElementType::float32, {}}, name, h.value);
      if (type != ElementType::float32) x = op::cast(x, {.to = type});
    } else {
      x.id = w.graph->add_constant({type, {}}, detail::scalar_bytes(type, h.value));
    }
    if constexpr (typed_handle<W>) {
      return Tensor<detail::state_element<typename W::element_type>, Shape<>>{x.graph, x.id};
    } else {
      return x;
    }
  }
}

}  // namespace halftone
