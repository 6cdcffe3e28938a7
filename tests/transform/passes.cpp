#include <doctest/doctest.h>

#include <halftone/op/list.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/fuse.hpp>
#include <halftone/transform/infer.hpp>
#include <halftone/transform/memory_plan.hpp>
#include <halftone/transform/schedule.hpp>

// The passes run in constant evaluation: most of these tests are done once the file compiles.
using namespace halftone;

namespace {

/// y = relu(h * h) / h with h = x w + 1; the exponential is dead.
constexpr Graph example() {
  Graph g;
  auto x = input<float, Shape<dynamic, 4>>(g, "x");
  auto w = parameter<float, Shape<4, 5>>(g, "w");
  auto h = op::matmul(x, w) + 1;
  auto k = op::relu(h * h);
  op::exp(k);
  output(g, k / h, "y");
  return g;
}

constexpr Graph with_batch(std::int64_t batch) {
  Graph g = example();
  g.tensor(g.inputs[0]).info.shape[0] = batch;
  return g;
}

constexpr bool infers() {
  Graph g = with_batch(3);
  return infer(g).empty() && g.info(g.outputs[0]) == TensorInfo{ElementType::float32, {3, 5}};
}
static_assert(infers());

constexpr bool finds_the_defect() {
  Graph g = example();
  g.tensor(g.inputs[0]).info.shape[1] = 9;
  const auto defects = infer(g);
  return defects.size() == 1 && defects[0].node == 0 &&
         defects[0].inferred.reason == "inner dimensions differ" &&
         defects[0].inferred.expected == 9 && defects[0].inferred.found == 4;
}
static_assert(finds_the_defect());

constexpr bool drops_dead_code() {
  return example().nodes.size() == 6 && without_dead_code(example()).nodes.size() == 5;
}
static_assert(drops_dead_code());

/// A pass that has nothing more to do changes nothing.
constexpr bool is_idempotent() {
  Graph g = with_batch(2);
  static_cast<void>(infer(g));
  const Graph once = without_dead_code(g);
  const Graph fused = fuse_elementwise(once);
  return without_dead_code(once) == once && fuse_elementwise(fused) == fused &&
         schedule(schedule(fused)) == schedule(fused);
}
static_assert(is_idempotent());

constexpr bool fuses_what_is_element_wise() {
  Graph g = with_batch(2);
  static_cast<void>(infer(g));
  g = fuse_elementwise(without_dead_code(std::move(g)));
  return g.nodes.size() == 2 && g.nodes[1].op->id == op::Fused::id &&
         g.graphs[0].nodes.size() == 4 && infer(g).empty();
}
static_assert(fuses_what_is_element_wise());

/// A value that another node reads between the two element-wise ones keeps them apart.
constexpr bool keeps_order_around_a_reader() {
  Graph g;
  auto x = input<float, Shape<4, 4>>(g, "x");
  auto a = x + 1;
  auto m = op::matmul(a, a);
  output(g, a + m, "y");
  const Graph fused = fuse_elementwise(g);
  return fused.nodes.size() == 3;
}
static_assert(keeps_order_around_a_reader());

/// Two long branches: finishing one before the other begins needs less memory.
constexpr bool schedules_for_memory() {
  Graph g;
  auto x = input<float, Shape<8, 8>>(g, "x");
  auto big1 = op::matmul(x, constant<float>(g, std::array<float, 512>{}, {8, 64}));
  auto big2 = op::matmul(x, constant<float>(g, std::array<float, 512>{}, {8, 64}));
  auto small1 = op::matmul(big1, constant<float>(g, std::array<float, 64>{}, {64, 1}));
  auto small2 = op::matmul(big2, constant<float>(g, std::array<float, 64>{}, {64, 1}));
  output(g, small1 + small2, "y");
  const Graph ordered = schedule(g);
  return peak_bytes(g) == 4 * (64 * 8 * 2 + 8) && peak_bytes(ordered) == 4 * (64 * 8 + 8 + 8);
}
static_assert(schedules_for_memory());

constexpr bool plans_memory() {
  // Two that never meet share their place; the arena is no larger than what lives at once.
  constexpr Lifetime buffers[]{{1000, 0, 1}, {100, 1, 2}, {1000, 2, 3}, {64, 0, 3}};
  const MemoryPlan plan = plan_memory(buffers);
  return plan.bytes == live_peak(buffers) && plan.offsets[0] == plan.offsets[2];
}
static_assert(plans_memory());

}  // namespace

TEST_CASE("a memory plan never lets two live buffers overlap") {
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
