#include <halftone/train/state.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>

#include <halftone/halftone.hpp>

#include "../folder.hpp"

using namespace halftone;

namespace {

/// The loss is the sum of v w x, so that both are trained.
Graph product() {
  Graph g;
  const AnyTensor v = parameter<float, Shape<2>>(g, "v", ones);
  const AnyTensor w = parameter<float, Shape<2>>(g, "w", ones);
  output(g, op::sum(v * w * g.input<float>("x", {2}), {.keepdims = 0}), "loss");
  return g;
}

/// What a graph keeps beside weights: name, kind and weight.
std::map<std::string, std::pair<State, std::string>> states(const Graph& g) {
  std::map<std::string, std::pair<State, std::string>> all;
  for (const TensorRecord& t : g.tensors) {
    if (t.role != Role::state) continue;
    const std::string of(t.of == no_tensor ? "" : g.name(t.of));
    all[std::string(g.text(t.name))] = {t.state, of};
  }
  return all;
}

}  // namespace

TEST_CASE("state says what it is and which weight it belongs to") {
  Graph g = product();
  train(g, g["loss"], Adam{.learning_rate = variable{0.5f}, .loss_scaling = variable{2}},
        {.accumulation = 2, .specific = {{"w", {{"beta1", variable{0.5f}}}}}});
  using All = std::map<std::string, std::pair<State, std::string>>;
  CHECK(states(g) == All{{"learning_rate", {State::hyperparameter, ""}},
                         {"loss_scaling", {State::hyperparameter, ""}},
                         {"beta1___w", {State::hyperparameter, "w"}},
                         {"AccumulationCount", {State::partial, ""}},
                         {"Accum___v", {State::partial, "v"}},
                         {"Accum___w", {State::partial, "w"}},
                         {"Accl1___v", {State::moment, "v"}},
                         {"Accl1___w", {State::moment, "w"}},
                         {"Accl2___v", {State::moment, "v"}},
                         {"Accl2___w", {State::moment, "w"}},
                         {"Step___v", {State::steps, "v"}},
                         {"Step___w", {State::steps, "w"}}});
  CHECK(g.tensor(g.find("v")).role == Role::variable);
}

TEST_CASE("state of scaled optimizers and of automatic loss scaling belongs to all weights") {
  Graph g = product();
  train(g, g["loss"], Adam{.loss_scaling = variable{2}, .scaled_optimizer_state = true});
  CHECK(states(g).at("PreviousLossScaling_") == std::pair{State::loss_scaling, std::string()});
}

// The law: what is stored is found again as what it was.
TEST_CASE("state is found in a file, and only what is called like state") {
  Graph g = product();
  g.add_variable({ElementType::float32, {2}}, Initial{}, "Accl1___nothing");
  const AnyTensor used = parameter<float, Shape<2>>(g, "Accl1___x", ones);
  output(g, op::relu(used), "y");
  const std::size_t own = g.tensors.size();
  train(g, g["loss"], Sgd{.learning_rate = 0.5f, .momentum = 0.5f});
  CHECK(g.tensors.size() > own);
  const test::Folder folder;
  onnx::save(Session(std::move(g)).graph(), folder / "net.onnx");
  Graph stored = onnx::load(folder / "net.onnx");
  const std::map<std::string, std::pair<State, std::string>> expected{
      {"Accl1___v", {State::moment, "v"}}, {"Accl1___w", {State::moment, "w"}}};
  CHECK(states(stored) == expected);
  CHECK(stored.tensor(stored.find("Accl1___nothing")).role == Role::variable);
  CHECK(stored.tensor(stored.find("Accl1___x")).role == Role::variable);
  train(stored, stored["loss"], Sgd{.learning_rate = 0.5f, .momentum = 0.5f});
  CHECK(states(stored).at("Accl1___w") == expected.at("Accl1___w"));
}
