#include "exec/bind.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "exec/run.hpp"
#include "networks.hpp"
#include "results.hpp"

using namespace halftone;
using test::with_own_variables;

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

// A binding borrows its program and owns all other memory: two of them do not disturb each other.
TEST_CASE("bind: bindings of one program are independent") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {3});
  g.add_output(op::exp(op::neg(op::identity(x))).id);
  g.add_output(x.id);
  Program program = program_for(std::move(g), {});
  const kernel::Executor one;
  const std::unique_ptr<Bound> a = bind(program, {}, one), b = bind(program, {}, one);
  const float low[]{0, 0, 0}, high[]{-1, -2, -3};
  a->set_input(0, low);
  b->set_input(0, high);
  run(*a);
  run(*b);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(a->output(0).values<float>()[i] == 1);  // e^0
    CHECK(b->output(0).values<float>()[i] == doctest::Approx(std::exp(-high[i])));
  }
  CHECK(a->output(0).data != b->output(0).data);
}

TEST_CASE("bind: times name the steps, with the bytes that they read and write") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {8, 16}), z = g.input<float>("z", {16, 4});
  output(g, op::matmul(x, z), "product");
  Program program = program_for(std::move(g), {});
  const kernel::Executor one;
  const std::unique_ptr<Bound> bound = bind(program, {}, one);
  REQUIRE(bound->times.size() == 1);
  CHECK(bound->times[0].op == "MatMul");
  CHECK(bound->times[0].name == "product");
  CHECK(bound->times[0].flops == 2 * 8 * 16 * 4);  // a product and a sum for each term
  CHECK(bound->times[0].bytes == 4 * (8 * 16 + 16 * 4 + 8 * 4));
  CHECK(bound->bytes() >= 4 * 8 * 4);
}
