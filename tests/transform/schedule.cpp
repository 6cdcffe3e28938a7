// Laws of schedules, on random graphs with views, and with variables that nodes modify.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/halftone.hpp>
#include <halftone/transform/infer.hpp>
#include <halftone/transform/schedule.hpp>

#include "random_graph.hpp"

using namespace halftone;
using test::below;
using test::Random;
using test::random_graph;

namespace {

/// Pairs of nodes whose order counts: who makes what another reads, and who touch one variable that
/// is modified.
bool must_precede(const Aliases& aliases, const Node& a, const Node& b) {
  for (const TensorId x : b.inputs) {
    if (x == no_tensor) continue;
    for (const TensorId y : a.outputs) {
      if (x == y) return true;
    }
    for (const TensorId y : a.inputs) {
      if (y != no_tensor && aliases.is_modified(x) && aliases.root(x) == aliases.root(y))
        return true;
    }
  }
  return false;
}

/// The graph with its nodes in another order that means the same.
Graph reordered(const Graph& g, Random& random) {
  const Aliases aliases(g);
  std::vector<std::size_t> left;
  for (std::size_t n = 0; n < g.nodes.size(); ++n) left.push_back(n);
  Graph other = g;
  other.nodes.clear();
  while (!left.empty()) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < left.size(); ++i) {
      bool waits = false;
      for (std::size_t k = 0; k < i; ++k) {
        waits = waits || must_precede(aliases, g.nodes[left[k]], g.nodes[left[i]]);
      }
      if (!waits) ready.push_back(i);
    }
    const std::size_t next = ready[below(random, ready.size())];
    other.nodes.push_back(g.nodes[left[next]]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
  }
  return other;
}

/// All outputs and variables after two runs, as bytes.
std::vector<std::byte> results(const Graph& g, bool fuse) {
  Engine engine(g, {.fuse = fuse});
  std::vector<std::byte> bytes;
  const auto add = [&](const AnyView& view) {
    const auto* data = static_cast<const std::byte*>(view.data);
    bytes.insert(bytes.end(), data, data + view.bytes());
  };
  for (int run = 0; run < 2; ++run) {
    Array<float> x({6, 6}), z({6, 6});
    for (std::size_t i = 0; i < 36; ++i) {
      x[i] = static_cast<float>(i % 7) / 7 - 0.5f;
      z[i] = static_cast<float>(i % 5 + static_cast<std::size_t>(run)) / 5;
    }
    const AnyArray first(x), second(z);
    const std::vector<AnyView> inputs{first, second};
    engine.run(inputs);
    for (std::size_t i = 0; i < g.outputs.size(); ++i) add(engine.output(i));
  }
  for (const char* name : {"v", "w"}) add(engine.variable(g.find(name)));
  return bytes;
}

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

}  // namespace

TEST_CASE("schedule: every order that means the same has the same results, bit for bit") {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const Graph g = random_graph(random);
    const std::vector<std::byte> expected = results(g, true);
    CHECK(results(reordered(g, random), true) == expected);
    CHECK(results(reordered(g, random), false) == expected);
  }
}

TEST_CASE("schedule: keeps what must be in order, and needs no more memory") {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const Graph g = random_graph(random);
    const Graph ordered = schedule(g);
    CHECK(peak_bytes(ordered) <= peak_bytes(g));
    REQUIRE(ordered.nodes.size() == g.nodes.size());
    const Aliases aliases(g);
    // By their first outputs, which name nodes.
    const auto place_of = [&](const Node& node) {
      for (std::size_t n = 0; n < ordered.nodes.size(); ++n) {
        if (ordered.nodes[n].outputs[0] == node.outputs[0]) return n;
      }
      FAIL("a node is lost");
      return ordered.nodes.size();
    };
    for (std::size_t b = 0; b < g.nodes.size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        if (!must_precede(aliases, g.nodes[a], g.nodes[b])) continue;
        CHECK(place_of(g.nodes[a]) < place_of(g.nodes[b]));
      }
    }
  }
}
