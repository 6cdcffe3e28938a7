// Programs that are bound and run: what memory holds before, and what is written over what, change
// nothing.
#include "exec/run.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "networks.hpp"
#include "random_graph.hpp"

using namespace halftone;

namespace {

using Results = std::vector<std::string>;

/// Outputs of two runs, with an arena of zeros or of signalling NaNs before each.
Results results(Program program, bool with_nan) {
  const kernel::Executor one;
  const std::unique_ptr<Bound> bound = bind(program, {}, one);
  std::vector<AnyArray> inputs;
  for (std::size_t i = 0; i < program.graph.inputs.size(); ++i) {
    AnyArray& x = inputs.emplace_back(program.graph.info(program.graph.inputs[i]));
    int k = 0;
    for (float& value : x.values<float>()) value = static_cast<float>(++k % 13) / 13;
    bound->set_input(i, x.data());
  }
  Results list;
  for (int times = 0; times < 2; ++times) {
    const std::size_t floats = bound->arena.size() / sizeof(float);
    for (std::size_t i = 0; i < floats && with_nan; ++i) {
      constexpr std::uint32_t signalling = 0x7fa00001;
      std::memcpy(bound->arena.data() + i * sizeof(float), &signalling, sizeof signalling);
    }
    run(*bound);
    for (std::size_t o = 0; o < program.outputs.size(); ++o) {
      const AnyView y = bound->output(o);
      list.emplace_back(static_cast<const char*>(y.data), y.bytes());
    }
  }
  return list;
}

/// Variables are written by runs: every program gets its own.
Graph with_own_variables(Graph graph) {
  for (TensorRecord& t : graph.tensors) {
    if (t.role != Role::variable) continue;
    Storage storage = Storage::allocate(static_cast<std::size_t>(t.info.bytes()));
    if (t.data.size() != 0) {
      std::memcpy(storage.data(), t.data.span().data(), t.data.size());
    } else {
      int k = 0;
      for (std::size_t at = 0; at < storage.size(); at += sizeof(float)) {
        const float value = static_cast<float>(++k % 7) / 16;
        std::memcpy(storage.data() + at, &value, sizeof value);
      }
    }
    const std::byte* data = storage.data();
    t.data = Bytes(std::move(storage), data, static_cast<std::size_t>(t.info.bytes()));
  }
  return graph;
}

void check_laws(const Graph& graph) {
  const auto program = [&](bool in_place) {
    return make_program(with_own_variables(graph), NoPasses{}, in_place);
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
  CHECK(make_program(g, NoPasses{}, false).arena_bytes == 2 * 64 * 4);
}

TEST_CASE("bind: what kernels ask for becomes part of the program") {
  Graph graph = with_own_variables(test::encoder_layer());
  REQUIRE(infer(graph).empty());
  for (TensorRecord& t : graph.tensors) {
    if (t.role == Role::variable) t.role = Role::constant;
  }
  Program program = program_for(std::move(graph), {});
  CHECK_FALSE(program.is_bound);
  CHECK(program.packed.empty());
  const std::uint64_t before = hash(program);
  const kernel::Executor one;
  const std::unique_ptr<Bound> bound = bind(program, {}, one);
  CHECK(program.is_bound);
  CHECK(hash(program) != before);
  // A program that was bound is bound again as it is.
  const Program copy = program;
  const std::unique_ptr<Bound> again = bind(program, {}, one);
  CHECK(program == copy);
  CHECK(again->bytes() == bound->bytes());
}
