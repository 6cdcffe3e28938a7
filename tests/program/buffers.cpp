// Which memory the values of a graph lie in: laws, on networks and on random graphs.
#include <doctest/doctest.h>

#include <vector>

#include <halftone/program/buffers.hpp>
#include <halftone/transform/dead_code.hpp>
#include <halftone/transform/fuse.hpp>
#include <halftone/transform/schedule.hpp>

#include "networks.hpp"
#include "random_graph.hpp"

using namespace halftone;

namespace {

/// What a buffer holds at each step, by walking through the nodes: a value that somebody still reads
/// must lie where it was written. The law that every assignment of buffers has to keep.
constexpr bool keeps_every_value(const Graph& graph) {
  const Buffers buffers(graph);
  const Uses uses(graph);
  std::vector<TensorId> holds(buffers.lifetimes.size(), no_tensor);  // a root
  const auto is_there = [&](TensorId id, std::size_t step) {
    const int buffer = buffers.of(id);
    if (buffer == Buffers::none) return graph.tensor(buffers.root[id]).role != Role::value;
    const Lifetime& life = buffers.lifetimes[static_cast<std::size_t>(buffer)];
    return holds[static_cast<std::size_t>(buffer)] == buffers.root[id] &&
           life.bytes >= graph.info(id).bytes() && life.first <= static_cast<std::int32_t>(step) &&
           life.last >= static_cast<std::int32_t>(step);
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const TensorId id : node.inputs) {
      if (id != no_tensor && !is_there(id, n)) return false;
    }
    for (const TensorId id : node.outputs) {
      if (id == no_tensor || buffers.root[id] != id) continue;
      const int buffer = buffers.of(id);
      if (buffer == Buffers::none) return false;
      holds[static_cast<std::size_t>(buffer)] = id;
    }
  }
  for (const TensorId id : graph.outputs) {
    if (!is_there(id, graph.nodes.size())) return false;
  }
  return true;
}

/// The same in the arena: no two buffers overlap while both are needed.
constexpr bool overlaps(const Buffers& buffers) {
  const std::vector<Lifetime>& lives = buffers.lifetimes;
  const MemoryPlan plan = plan_memory(lives);
  for (std::size_t a = 0; a < lives.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (lives[a].last < lives[b].first || lives[b].last < lives[a].first) continue;
      if (plan.offsets[a] < plan.offsets[b] + lives[b].bytes &&
          plan.offsets[b] < plan.offsets[a] + lives[a].bytes) {
        return true;
      }
    }
  }
  return false;
}

constexpr bool holds(Graph graph) {
  static_cast<void>(infer(graph));
  const Graph fused = schedule(fuse_elementwise(without_dead_code(graph)));
  return keeps_every_value(graph) && keeps_every_value(fused) && !overlaps(Buffers(fused));
}

static_assert(holds(test::lenet()));

/// A chain of element-wise nodes writes over what it reads: one buffer.
constexpr bool chains_share_a_buffer() {
  Graph g;
  auto x = input<float, Shape<4, 4>>(g, "x");
  auto y = op::matmul(x, x);
  output(g, op::tanh(op::relu(op::sigmoid(y))), "y");
  return Buffers(g).lifetimes.size() == 1;
}
static_assert(chains_share_a_buffer());

/// What is read again is not written over; a view has no memory of its own and keeps its tensor's.
constexpr bool readers_keep_memory() {
  Graph g;
  auto x = input<float, Shape<4, 4>>(g, "x");
  auto y = op::matmul(x, x);
  auto view = op::identity(y);
  auto z = op::relu(y);
  output(g, op::add(z, view), "sum");
  const Buffers buffers(g);
  return buffers.lifetimes.size() == 2 && buffers.root[view.id] == y.id &&
         buffers.of(z.id) != buffers.of(y.id) && keeps_every_value(g);
}
static_assert(readers_keep_memory());

/// A view of a variable that changes before the view is read has the old values: its own memory.
constexpr bool views_of_changed_variables_are_copied() {
  Graph g;
  auto w = parameter<float, Shape<4>>(g, "w");
  auto x = input<float, Shape<4>>(g, "x");
  const AnyTensor old = op::identity(AnyTensor(w));
  op::copy_var_update(AnyTensor(w), AnyTensor(x));
  output(g, op::add(old, AnyTensor(x)), "y");
  const Buffers buffers(g);
  return buffers.is_copied[0] && buffers.root[old.id] == old.id &&
         buffers.of(old.id) != Buffers::none;
}
static_assert(views_of_changed_variables_are_copied());

/// The next value of a variable is made where the last one lies, unless that is read afterwards.
constexpr bool next_values_are_written_over() {
  const auto is_written = [](bool reads_old) {
    Graph g;
    auto w = parameter<float, Shape<4>>(g, "w");
    auto x = input<float, Shape<4>>(g, "x");
    const AnyTensor next = op::add(AnyTensor(w), AnyTensor(x));
    const AnyTensor y = op::exp(next);
    output(g, reads_old ? op::mul(AnyTensor(w), y) : y, "y");
    op::copy_var_update(AnyTensor(w), next);
    const Buffers buffers(g);
    return buffers.root[next.id] == w.id && buffers.shares(g, g.nodes.size() - 1);
  };
  return is_written(false) && !is_written(true);
}
static_assert(next_values_are_written_over());

}  // namespace

TEST_CASE("buffers: every value lies where it was written until it is read for the last time") {
  test::Random random(3);
  for (int round = 0; round < 1000; ++round) {
    CAPTURE(round);
    const Graph graph = test::random_graph(random);
    REQUIRE(keeps_every_value(graph));
    REQUIRE_FALSE(overlaps(Buffers(graph)));
    const Graph fused = schedule(fuse_elementwise(without_dead_code(graph)));
    REQUIRE(keeps_every_value(fused));
    REQUIRE_FALSE(overlaps(Buffers(fused)));
  }
}

TEST_CASE("buffers: a graph that is too large is a memory error before anything is taken") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {std::int64_t{1} << 30, std::int64_t{1} << 29});
  AnyTensor sum = op::relu(x);
  std::vector<AnyTensor> all;
  for (int i = 0; i < 4; ++i) all.push_back(op::exp(sum));
  for (const AnyTensor& t : all) g.add_output(t.id);
  CHECK_THROWS_AS(Buffers{g}, MemoryError);
}
