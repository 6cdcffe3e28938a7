#include <halftone/transform/outline.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/ipu/profile.hpp>
#include <halftone/program/program.hpp>
#include <halftone/train.hpp>

#include "../../bench/networks.hpp"

using namespace halftone;

namespace {

std::size_t calls(const Graph& g) {
  return static_cast<std::size_t>(
      std::count_if(g.nodes.begin(), g.nodes.end(),
                    [](const Node& node) { return node.op->id == op::Call::id; }));
}

/// With shapes that are known, in the order in which it runs.
Graph ordered(const Graph& g) { return ipu::program_for(g).graph; }

/// Of what differs between nodes: vertices' codelets are there once in any case.
std::int64_t code_bytes(const ipu::Report& r) {
  std::int64_t sum = 0;
  for (const auto& tile : r.memory) {
    for (const ipu::Category category : {ipu::Category::vertex_state, ipu::Category::control_code,
                                         ipu::Category::internal_exchange_code}) {
      sum += tile[static_cast<std::size_t>(category)];
    }
  }
  return sum;
}

Array<float> ramp(const Dims& shape) {
  Array<float> x(shape);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01f * (static_cast<float>(i % 97) - 48);
  return x;
}

}  // namespace

TEST_CASE("equal layers become calls of one body") {
  const Graph flat = ordered(networks::encoder(1, 16, 6, 64));
  const Graph g = outline(flat);
  CHECK(calls(g) >= 5);
  REQUIRE(!g.graphs.empty());
  CHECK(g.nodes.size() < flat.nodes.size() / 3);
  // A layer has 8 products: none is left outside but what only one layer has.
  std::size_t products = 0;
  for (const Node& node : g.nodes) products += node.op->id == op::MatMul::id;
  CHECK(products <= 8);
  // Nothing is worth so much.
  CHECK(calls(outline(flat, {.threshold = 1e9})) == 0);
  // Bodies are outlined once: what is called twice already has no second body.
  CHECK(calls(outline(g, {.threshold = 1000})) == calls(g));
}

// The law: outlining changes nothing but where nodes stand. What an encoder computes may differ by
// rounding: the cpu has one kernel for an attention whose scale it knows, which a body is given, and
// for its gradient, which is in a body of its own.
TEST_CASE("outlined models compute the same") {
  const Graph model = networks::encoder(2, 8, 4, 64);
  const auto result = [&](Graph g) {
    Session session(std::move(g));
    const AnyView y = session.run({{"x", ramp({2, 8, 64})}})["y"];
    const auto* const data = static_cast<const float*>(y.data);
    return std::vector<float>(data, data + y.info.elements());
  };
  const std::vector<float> found = result(outline(ordered(model))), flat = result(ordered(model));
  REQUIRE(found.size() == flat.size());
  for (std::size_t i = 0; i < flat.size(); ++i) CHECK(std::abs(found[i] - flat[i]) < 1e-5f);

  Graph trained = networks::encoder(2, 8, 4, 64);
  const AnyTensor loss = op::mean(trained["y"], {.keepdims = 0});
  train(trained, loss, Sgd{.momentum = 0.9f});
  trained.outputs = {loss.id};
  const auto losses = [&](Graph g) {
    Session session(std::move(g));
    std::vector<float> list;
    for (int i = 0; i < 3; ++i) {
      list.push_back(*static_cast<const float*>(session.run({{"x", ramp({2, 8, 64})}})[0].data));
    }
    return list;
  };
  const Graph outlined = outline(ordered(trained));
  CHECK(calls(outlined) > 4);
  const std::vector<float> shared = losses(outlined), own = losses(trained);
  for (std::size_t i = 0; i < own.size(); ++i) CHECK(std::abs(shared[i] - own[i]) < 1e-5f);
}

TEST_CASE("parts of a training step have bodies of their own, and updates stay") {
  Graph g = networks::encoder(1, 8, 4, 64);
  const AnyTensor loss = op::mean(g["y"], {.keepdims = 0});
  train(g, loss, Adam{});
  g.outputs = {loss.id};
  const Graph outlined = outline(ordered(g));
  for (const Node& node : outlined.nodes) {
    if (node.op->id != op::Call::id) continue;
    const auto callee = static_cast<std::size_t>(unpack<op::Call>(node.attributes).callee.index);
    for (const Node& inner : outlined.graphs[callee].nodes) {
      CHECK(inner.place.part == node.place.part);
      CHECK(inner.place.part != Part::update);
    }
  }
}

// The option of a profile: without calls every node brings its own code.
TEST_CASE("a machine has the code of outlined nodes once") {
  const Graph g = networks::encoder(1, 16, 6, 64);
  const auto code = [&](double threshold) {
    return code_bytes(ipu::profile(g, ipu::gc200, {.outline = OutlineOptions{threshold}}));
  };
  const std::int64_t once = code(1), never = code(1e9);
  CHECK(3 * once < never);
  CHECK(code(10'000) >= once);
  const ipu::Report calls = ipu::profile(g, ipu::gc200, {.outline = OutlineOptions{}});
  CHECK(std::count_if(calls.programs.begin(), calls.programs.end(),
                      [](const ipu::Program& p) { return p.name == "Call"; }) >= 5);
}
