#pragma once

#include <string_view>

#include <halftone/graph/handle.hpp>

namespace halftone::detail {

/// What the state of a weight is called in graphs and files: this, and the weight's name. The names
/// are PopART's, so that either can go on from the other's files.
struct StateName {
  State state = State::none;
  std::string_view prefix;
};
inline constexpr StateName velocity_state{State::moment, "Accl___"};
inline constexpr StateName first_state{State::moment, "Accl1___"};
inline constexpr StateName second_state{State::moment, "Accl2___"};
inline constexpr StateName third_state{State::moment, "Accl3___"};
inline constexpr StateName step_state{State::steps, "Step___"};
inline constexpr StateName sum_state{State::partial, "Accum___"};
inline constexpr StateName kept_state{State::partial, "Kept___"};
/// State of all weights, whose whole name this is.
inline constexpr StateName previous_loss_scaling{State::loss_scaling, "PreviousLossScaling_"};
inline constexpr StateName loss_scaling_factor{State::loss_scaling, "lossScaleUpdateFactor"};
inline constexpr StateName run_count{State::partial, "AccumulationCount"};
inline constexpr StateName gradient_counts{State::partial, "LossScaleCounts"};

inline constexpr StateName weight_states[]{velocity_state, first_state, second_state,
                                           third_state,    step_state,  sum_state};
inline constexpr StateName shared_states[]{previous_loss_scaling, loss_scaling_factor, run_count,
                                           gradient_counts};

/// Gives variables and constants that no node uses, and that are called like an optimizer's state, their role and
/// weight.
void find_saved_state(Graph& graph);

/// Makes a tensor the state of a weight; of all weights for no_tensor.
constexpr void make_state(Graph& graph, TensorId id, State state, TensorId weight = no_tensor) {
  TensorRecord& t = graph.tensor(id);
  t.role = Role::state;
  t.state = state;
  t.of = weight;
}

/// Throws that state of a saved model does not fit. Defined in the core.
[[noreturn]] void refuse_state(const Graph& graph, TensorId saved, const TensorInfo& expected);

/// New state under exactly that name: programs and files find it by it. All its elements start with
/// `first`. Throws ModelError if the name is taken.
constexpr AnyTensor add_state(Graph& graph, const TensorInfo& info, std::string_view name,
                              State state, TensorId weight, float first) {
  if (graph.find(name) != no_tensor) {
    fail(ErrorKind::model, {.what = "the model has a tensor of a name that training needs",
                            .tensor = name,
                            .hint = "rename the model's tensor"});
  }
  const TensorId id = graph.add_variable(info, Initial{Initial::Rule::fill, first, 0}, name);
  make_state(graph, id, state, weight);
  // Replicas that share a weight share its state.
  const VariableSettings* const of_weight = weight == no_tensor ? nullptr : graph.settings(weight);
  if (of_weight != nullptr && of_weight->grouping.num_groups() > 1) {
    graph.set_variable(id, {.grouping = ReplicaGrouping(of_weight->grouping)});
  }
  return {&graph, id};
}

/// The state of a weight (no_tensor: of all) that the graph has from a saved model, or new state.
/// Throws ModelError if what was saved does not fit.
constexpr AnyTensor find_or_add_state(Graph& graph, const TensorInfo& info, const StateName& kind,
                                      TensorId weight, float first = 0) {
  const JoinedText name({kind.prefix, weight == no_tensor ? "" : graph.name(weight)});
  const TensorId saved = graph.find(name);
  if (saved == no_tensor || !is_variable(graph.tensor(saved))) {
    return add_state(graph, info, name, kind.state, weight, first);
  }
  if (graph.info(saved) != info) refuse_state(graph, saved, info);
  make_state(graph, saved, kind.state, weight);
  if (kind.state == State::partial) {  // a training goes on with a whole step
    graph.tensor(saved).data = {};
    graph.tensor(saved).initial = {Initial::Rule::fill, first, 0};
  }
  return {&graph, saved};
}

}  // namespace halftone::detail
