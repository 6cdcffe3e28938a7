#include <halftone/session/weights.hpp>

#include <utility>
#include <vector>

#include "base/describe.hpp"
#include "session/state.hpp"

namespace halftone {

std::size_t Weights::size() const { return state_->variables.size(); }
std::string_view Weights::name(std::size_t i) const {
  detail::check_number(i, size(), "a model has fewer weights");
  return state_->graph().name(state_->variables[i]);
}
AnyView Weights::operator[](std::size_t i) const {
  detail::check_number(i, size(), "a model has fewer weights");
  state_->inputs.restore_variables();
  return state_->engine.variable(state_->variables[i]);
}
AnyView Weights::operator[](std::string_view name) const {
  state_->inputs.restore_variables();
  return state_->engine.variable(state_->variable(name));
}

Weights Session::weights() const { return Weights(*state_); }

void Session::set_weights(const Weights& weights) {
  if (weights.state_ == &*state_) return;
  state_->inputs.restore_variables();
  weights.state_->inputs.restore_variables();
  const Graph& mine = state_->graph();
  const Graph& theirs = weights.state_->graph();
  std::vector<std::pair<TensorId, TensorId>> pairs;
  for (const TensorId id : state_->variables) {
    const TensorRecord& t = mine.tensor(id);
    const TensorId other = theirs.find(mine.name(id));
    if (other == no_tensor || !is_variable(theirs.tensor(other))) continue;
    if (t.role == Role::state && !is_stored(t.state)) continue;
    const TensorInfo expected = state_->engine.variable_info(id);
    const TensorInfo found = weights.state_->engine.variable_info(other);
    if (found != expected) {
      fail(ErrorKind::input, {.what = "the weight of another session does not fit the variable",
                              .tensor = mine.name(id),
                              .expected = detail::to_text(expected),
                              .found = detail::to_text(found)});
    }
    pairs.emplace_back(id, other);
  }
  for (const auto& [id, other] : pairs) {
    state_->engine.set_variable(id, weights.state_->engine.variable(other));
  }
}

}  // namespace halftone
