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

/// New state under exactly that name: programs and files find it by it. All its elements start with
/// `first`. Throws ModelError if the name is taken.
AnyTensor add_state(Graph& graph, const TensorInfo& info, std::string_view name, State state,
                    TensorId weight, float first);
/// The state of a weight (no_tensor: of all) that the graph has from a saved model, or new state.
/// Throws ModelError if what was saved does not fit.
AnyTensor find_or_add_state(Graph& graph, const TensorInfo& info, const StateName& kind,
                            TensorId weight, float first = 0);

}  // namespace halftone::detail
