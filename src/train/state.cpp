#include "train/state.hpp"

#include <optional>
#include <string>

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

AnyTensor detail::add_state(Graph& graph, const TensorInfo& info, std::string_view name,
                            State state, TensorId weight, float first) {
  if (graph.find(name) != no_tensor) {
    fail(ErrorKind::model, {.what = "the model has a tensor of a name that training needs",
                            .tensor = name,
                            .hint = "rename the model's tensor"});
  }
  const TensorId id = graph.add_variable(info, Initial{Initial::Rule::fill, first, 0}, name);
  make_state(graph, id, state, weight);
  return {&graph, id};
}

AnyTensor detail::find_or_add_state(Graph& graph, const TensorInfo& info, const StateName& kind,
                                    TensorId weight, float first) {
  std::string name(kind.prefix);
  if (weight != no_tensor) name += graph.name(weight);
  const TensorId saved = graph.find(name);
  if (saved == no_tensor || !is_variable(graph.tensor(saved))) {
    return add_state(graph, info, name, kind.state, weight, first);
  }
  if (graph.info(saved) != info) {
    fail(ErrorKind::model, {.what = "the saved state of the optimizer does not fit",
                            .tensor = name,
                            .expected = to_text(info),
                            .found = to_text(graph.info(saved))});
  }
  make_state(graph, saved, kind.state, weight);
  if (kind.state == State::partial) {  // a training goes on with a whole step
    graph.tensor(saved).data = {};
    graph.tensor(saved).initial = {Initial::Rule::fill, first, 0};
  }
  return {&graph, saved};
}

Graph model_of(const Graph& graph) {
  if (graph.model.empty()) return graph;
  Graph model = graph.model[0];
  const std::size_t own = model.tensors.size();
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorRecord& t = graph.tensors[i];
    if (!is_variable(t)) continue;
    if (i < own) {
      TensorRecord& mine = model.tensors[i];
      const Name name = mine.name;
      mine = t;
      mine.name = name;
    } else if (is_stored(t.state)) {
      model.rename(model.add_tensor(t, {}), graph.text(t.name));
    }
  }
  // Outputs may have been chosen later; those that only training has are not the model's.
  std::vector<TensorId> outputs;
  for (const TensorId id : graph.outputs) {
    if (static_cast<std::size_t>(id) < own) outputs.push_back(id);
  }
  if (!outputs.empty()) model.outputs = std::move(outputs);
  return model;
}

}  // namespace halftone
