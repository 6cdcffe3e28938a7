#include "exec/run_node.hpp"

#include <doctest/doctest.h>

#include <vector>

#include <halftone/halftone.hpp>

#include "error_of.hpp"

using namespace halftone;
using test::contains;
using test::error_of;

namespace {

const kernel::Executor one;

std::vector<AnyView> views(const std::vector<AnyArray>& arrays) {
  return {arrays.begin(), arrays.end()};
}

}  // namespace

TEST_CASE("run_node: runs a node alone, with the shapes that its inputs have") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {dynamic, 2}), w = g.input<float>("w", {2, dynamic});
  g.add_output(AnyTensor(op::matmul(x, w)).id);
  const std::vector<AnyArray> in{Array<float>({1, 2}, {3, 4}),
                                 Array<float>({2, 3}, {1, 0, 1, 0, 1, 1})};
  const std::vector<AnyArray> y = run_node(g, g.nodes[0], views(in), one);
  REQUIRE(y.size() == 1);
  CHECK(y[0].info().shape == Dims{1, 3});
  const std::span<const float> values = y[0].values<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{3, 4, 7});
  CHECK(infos_of_outputs(g, g.nodes[0], views(in))[0] == y[0].info());
  const std::vector<AnyArray> wrong{in[0], Array<float>({3, 3})};
  const std::string error = error_of([&] { run_node(g, g.nodes[0], views(wrong), one); });
  CHECK_MESSAGE(contains(error, "MatMul"), error);
  CHECK_MESSAGE(contains(error, "inner dimensions differ"), error);
}

TEST_CASE("run_node: an output that shares memory with an input in a plan has its own") {
  Graph g;
  op::identity(g.input<float>("x", {2}));
  const std::vector<AnyArray> in{Array<float>({2}, {5, 6})};
  const std::vector<AnyArray> same = run_node(g, g.nodes[0], views(in), one);
  CHECK(same[0].data() != in[0].data());
  CHECK(same[0].values<float>()[1] == 6);
}

TEST_CASE("run_node: a tensor beyond memory is refused before it is made") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {1}), shape = g.input<std::int64_t>("shape", {2});
  op::expand(x, shape);
  const std::int64_t huge = std::int64_t{1} << 40;
  const std::vector<AnyArray> in{Array<float>({1}), Array<std::int64_t>({2}, {huge, huge})};
  const std::string error = error_of([&] { run_node(g, g.nodes[0], views(in), one); });
  CHECK_MESSAGE(error != "no error", error);
  CHECK_THROWS_AS(check_fits(g, nullptr, {ElementType::float32, {huge, 1024}}), MemoryError);
  CHECK_NOTHROW(check_fits(g, nullptr, {ElementType::float32, {1024, 1024}}));
}
