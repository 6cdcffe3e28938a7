// Programs that are bound and run: what memory holds before, and what is written over what, change
// nothing.
#include "exec/run.hpp"

#include <doctest/doctest.h>

#include "networks.hpp"
#include "random_graph.hpp"
#include "results.hpp"

using namespace halftone;
using test::results;
using test::Results;
using test::with_own_variables;

namespace {

void check_laws(const Graph& graph) {
  const auto program = [&](bool in_place) {
    return make_program(with_own_variables(graph), NoPasses{}, {.in_place = in_place});
  };
  const Results expected = results(program(true), false);
  CHECK(results(program(true), true) == expected);
  CHECK(results(program(false), false) == expected);
  Program transformed = program_for(with_own_variables(graph), {.fuse = false});
  CHECK(results(std::move(transformed), true) == expected);
}

}  // namespace

TEST_CASE("run: neither what the arena held nor in-place writes change a result") {
  for (Graph graph : {test::lenet(), test::encoder_layer()}) {
    REQUIRE(infer(graph).empty());
    check_laws(graph);
  }
  test::Random random(11);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    check_laws(test::random_graph(random));
  }
}

TEST_CASE("run: in-place writes save memory") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {64});
  g.add_output(op::tanh(op::exp(op::sin(x))).id);
  CHECK(make_program(g).arena_bytes == 64 * 4);
  CHECK(make_program(g, NoPasses{}, {.in_place = false}).arena_bytes == 2 * 64 * 4);
}
