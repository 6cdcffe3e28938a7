#include <doctest/doctest.h>

#include <halftone/exec/engine.hpp>
#include <halftone/train.hpp>

#include "../../bench/networks.hpp"

using namespace halftone;

// No arena can be smaller than the largest sum of what is live at one step of the schedule; the
// plan has to come within a tenth of it.
namespace {

struct Network {
  const char* name;
  Graph (*make)();
};
const Network all[]{
    {"mlp", [] { return networks::mlp(); }},
    {"lenet", [] { return networks::lenet(8); }},
    {"resnet18", [] { return networks::resnet18(2, 32); }},
    {"encoder", [] { return networks::classifier(1, 32); }},
    {"lstm", [] { return networks::lstm(4, 16); }},
    {"mobilenet", [] { return networks::mobilenet(1); }},
};

void check_arena(Graph graph, const std::string& name) {
  CAPTURE(name);
  for (TensorRecord& t : graph.tensors) {  // random numbers would take most of the time
    if (t.initial.rule != Initial::Rule::data) t.initial = {.rule = Initial::Rule::fill};
  }
  Engine engine(std::move(graph));
  CHECK(engine.live_bytes() > 0);
  CHECK(engine.arena_bytes() >= engine.live_bytes());
  CHECK(static_cast<double>(engine.arena_bytes()) <=
        1.1 * static_cast<double>(engine.live_bytes()));
}

}  // namespace

TEST_CASE("memory: the arena is hardly larger than what is live at one step") {
  for (const Network& network : all) {
    check_arena(network.make(), network.name);
    for (const bool with_adam : {false, true}) {
      Graph g = network.make();
      const AnyTensor logits = g["logits"];
      const AnyTensor label = g.input<std::int32_t>("label", {logits.info().shape[0]});
      const AnyTensor loss = op::nll_loss(op::softmax(logits), label);
      if (with_adam) {
        train(g, loss, Adam{});
      } else {
        train(g, loss, Sgd{.learning_rate = 0.1f});
      }
      g.outputs = {loss.id};
      check_arena(std::move(g), std::string(network.name) + (with_adam ? ", Adam" : ", SGD"));
    }
  }
}
