#include <halftone/transform/memory_plan.hpp>

#include <doctest/doctest.h>

#include <vector>

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

constexpr bool plans_memory() {
  // Two that never meet share their place; the arena is no larger than what lives at once.
  constexpr Lifetime buffers[]{{1000, 0, 1}, {100, 1, 2}, {1000, 2, 3}, {64, 0, 3}};
  const MemoryPlan plan = plan_memory(buffers);
  return plan.bytes == live_peak(buffers) && plan.offsets[0] == plan.offsets[2];
}
static_assert(plans_memory());

/// Nothing needs no memory; buffers of one step lie one behind the other.
constexpr bool plans_the_extremes() {
  constexpr Lifetime empty[]{{0, 0, 3}, {0, 1, 2}}, together[]{{1, 5, 5}, {65, 5, 5}, {64, 5, 5}};
  return plan_memory({}).bytes == 0 && plan_memory(empty).bytes == 0 &&
         plan_memory(together).bytes == 64 + 128 + 64 && plan_memory(together, 1).bytes == 130;
}
static_assert(plans_the_extremes());

}  // namespace

TEST_CASE("memory plan: the arena is hardly larger than what is live at one step") {
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

TEST_CASE("memory plan: never lets two live buffers overlap") {
  std::uint32_t seed = 1;
  auto random = [&](std::uint32_t below) {
    seed = seed * 1664525 + 1013904223;
    return static_cast<std::int32_t>((seed >> 8) % below);
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 60; ++i) {
      const std::int32_t first = random(40);
      buffers.push_back({random(5000), first, first + random(8)});
    }
    const MemoryPlan plan = plan_memory(buffers);
    for (std::size_t a = 0; a < buffers.size(); ++a) {
      CHECK(plan.offsets[a] % 64 == 0);
      CHECK(plan.offsets[a] + buffers[a].bytes <= plan.bytes);
      for (std::size_t b = 0; b < a; ++b) {
        if (buffers[a].last < buffers[b].first || buffers[b].last < buffers[a].first) continue;
        CHECK((plan.offsets[a] + buffers[a].bytes <= plan.offsets[b] ||
               plan.offsets[b] + buffers[b].bytes <= plan.offsets[a]));
      }
    }
    CHECK(plan.bytes <= 1.25 * static_cast<double>(live_peak(buffers)));
  }
}
