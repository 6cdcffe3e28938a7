#include <halftone/train/state.hpp>

#include <optional>
#include <utility>

#include <halftone/graph/index.hpp>
#include <halftone/train.hpp>

#include "base/describe.hpp"

namespace halftone {

void detail::find_saved_state(Graph& graph) {
  std::optional<Uses> uses;  // most models have no state
  const auto take = [&](TensorId id, State state, TensorId weight) {
    if (!uses) uses.emplace(graph);
    if (uses->count[id] == 0) make_state(graph, id, state, weight);
  };
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Role role = graph.tensors[i].role;
    if (role != Role::variable && role != Role::constant) continue;
    const auto id = static_cast<TensorId>(i);
    const std::string_view name = graph.name(id);
    for (const StateName& known : shared_states) {
      if (name == known.prefix) take(id, known.state, no_tensor);
    }
    for (const StateName& known : weight_states) {
      if (!name.starts_with(known.prefix)) continue;
      const TensorId weight = graph.find(name.substr(known.prefix.size()));
      if (weight != no_tensor && is_variable(graph.tensor(weight))) take(id, known.state, weight);
    }
  }
}

void detail::refuse_state(const Graph& graph, TensorId saved, const TensorInfo& expected) {
  fail(ErrorKind::model, {.what = "the saved state of the optimizer does not fit",
                          .tensor = graph.name(saved),
                          .expected = to_text(expected),
                          .found = to_text(graph.info(saved))});
}

void detail::start_velocity(Graph& graph, TensorId velocity, TensorId weight, float factor) {
  const TensorRecord& w = graph.tensor(weight);
  if (w.data.size() == 0) return;
  const TensorInfo& info = graph.info(velocity);
  AnyArray start(info);
  visit_type<FloatTypes>(w.info.type, [&]<class W>() {
    const W* const from = reinterpret_cast<const W*>(w.data.span().data());
    visit_type<FloatTypes>(info.type, [&]<class S>() {
      using C = std::conditional_t<std::is_same_v<S, double>, double, float>;
      const std::span<S> to = start.values<S>();
      for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] = static_cast<S>(static_cast<C>(from[i]) * static_cast<C>(factor));
      }
    });
  });
  TensorRecord& t = graph.tensor(velocity);
  t.data = Bytes(start.storage(), start.data(), start.bytes());
  t.initial = {};
}

Graph model_of(const Graph& graph) {
  if (graph.model.empty()) return graph;
  Graph model = graph.model[0];
  const std::size_t own = model.tensors.size();
  model.variable_settings.clear();
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorRecord& t = graph.tensors[i];
    if (!is_variable(t)) continue;
    TensorRecord whole = t;
    const VariableSettings* const settings = graph.settings(static_cast<TensorId>(i));
    if (settings != nullptr && settings->grouping.num_groups() == 1) {
      // How replicas and remote buffers hold the training's variables is no matter of the model.
      if (settings->shard_over > 1) whole.info.shape = settings->host_shape;
      whole.settings = -1;
    } else if (settings != nullptr) {
      whole.settings = static_cast<std::int32_t>(model.variable_settings.size());
      model.variable_settings.push_back(*settings);
    }
    if (i < own) {
      TensorRecord& mine = model.tensors[i];
      whole.name = mine.name;
      mine = std::move(whole);
    } else if (is_stored(t.state)) {
      model.rename(model.add_tensor(std::move(whole), {}), graph.text(t.name));
    }
  }
  // Outputs may have been chosen later; those that only training has are not the model's.
  Vector<TensorId> outputs;
  for (const TensorId id : graph.outputs) {
    if (static_cast<std::size_t>(id) < own) outputs.push_back(id);
  }
  if (!outputs.empty()) model.outputs = std::move(outputs);
  return model;
}

}  // namespace halftone
