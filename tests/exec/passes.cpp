#include "exec/passes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <halftone/halftone.hpp>

#include "error_of.hpp"
#include "exec/late.hpp"

using namespace halftone;

namespace {

const kernel::Executor one;
constexpr TensorInfo open{ElementType::float32, {dynamic}};

/// s' = s joined with s, while s' has fewer than 20 elements: its shape changes in every pass.
Graph growing() {
  Graph g, body;
  body.input<std::int64_t>("pass", {});
  body.input<bool>("go", {});
  const AnyTensor s = body.input<float>("s", {dynamic});
  const AnyTensor next = op::concat(std::vector<AnyTensor>{s, s}, {.axis = 0});
  const std::int64_t limit = 20;
  const AnyTensor goes = op::less(op::size_of(next), constant(body, std::span(&limit, 1), {}));
  body.outputs = {goes.id, next.id};
  g.graphs.push_back(std::move(body));
  const AnyTensor most = g.input<std::int64_t>("most", {}), go = g.input<bool>("go", {});
  const AnyTensor x = g.input<float>("x", {dynamic});
  g.add_node(descriptor<op::Loop>, pack(op::Loop{.body = {0}}), {most.id, go.id, x.id}, {&open, 1},
             "grow");
  return g;
}
/// What the one node of a graph gives.
std::vector<AnyArray> results(const Graph& graph, const std::vector<AnyView>& inputs) {
  Graph whole = graph;
  whole.outputs = whole.nodes[0].outputs;
  Program program = make_program(std::move(whole), NoPasses{}, {.late = true});
  const std::unique_ptr<Bound> bound = bind(program, {}, one);
  for (std::size_t i = 0; i < inputs.size(); ++i) bound->set_input(i, inputs[i]);
  return results_of(*bound);
}
std::vector<AnyArray> grown(std::int64_t most, bool go, std::int64_t elements) {
  const Graph g = growing();
  const Array<std::int64_t> count(Dims{}, {most});
  const Array<bool> first(Dims{}, {go});
  Array<float> x({elements});
  for (float& value : x) value = 7;
  return results(g, {count, first, x});
}

/// Sums along an axis: the state after each pass is a slice of the second output.
Graph running_sum(std::int64_t axis, std::int64_t direction) {
  Graph g, body;
  const AnyTensor s = body.input<float>("s", {dynamic}), x = body.input<float>("x", {dynamic});
  const AnyTensor next = op::add(s, x);
  body.outputs = {next.id, AnyTensor(op::identity(next)).id};
  g.graphs.push_back(std::move(body));
  const AnyTensor first = g.input<float>("first", {dynamic});
  const AnyTensor all = g.input<float>("all", {dynamic, dynamic});
  const TensorInfo infos[]{open, {ElementType::float32, {dynamic, dynamic}}};
  g.add_node(descriptor<op::Scan>,
             pack(op::Scan{.body = {0},
                           .num_scan_inputs = 1,
                           .scan_input_axes = {axis},
                           .scan_input_directions = {direction},
                           .scan_output_axes = {axis},
                           .scan_output_directions = {direction}}),
             {first.id, all.id}, infos, "sum");
  return g;
}

}  // namespace

// n elements become n 2^k after k passes, and the first result of at least 20 is the last one.
TEST_CASE("passes: a state grows until the condition or the number of passes ends it") {
  CHECK(grown(100, true, 3)[0].info().shape == Dims{24});
  CHECK(grown(100, true, 20)[0].info().shape == Dims{40});
  CHECK(grown(2, true, 3)[0].info().shape == Dims{12});
  CHECK(grown(0, true, 3)[0].info().shape == Dims{3});
  CHECK(grown(100, false, 3)[0].info().shape == Dims{3});
  CHECK(grown(-1, true, 3)[0].info().shape == Dims{3});
  const std::vector<AnyArray> y = grown(100, true, 5);
  for (const float value : y[0].values<float>()) CHECK(value == 7);
}

TEST_CASE("passes: a scan goes along an axis in either direction") {
  const float values[2][3]{{1, 2, 3}, {4, 5, 6}};
  const Array<float> all({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const std::int64_t axis : {0, 1}) {
    for (const std::int64_t direction : {0, 1}) {
      const Graph g = running_sum(axis, direction);
      const std::size_t passes = axis == 0 ? 2 : 3, width = axis == 0 ? 3 : 2;
      const Array<float> first({static_cast<std::int64_t>(width)});
      const std::vector<AnyArray> y = results(g, {first, all});
      REQUIRE(y[1].info().shape == Dims{2, 3});
      for (std::size_t w = 0; w < width; ++w) {
        float sum = 0;
        for (std::size_t p = 0; p < passes; ++p) {
          const std::size_t at = direction == 1 ? passes - 1 - p : p;
          const std::size_t i = axis == 0 ? at : w, k = axis == 0 ? w : at;
          sum += values[i][k];
          CHECK(y[1].values<float>()[i * 3 + k] == sum);
        }
        CHECK(y[0].values<float>()[w] == sum);
      }
    }
  }
}

TEST_CASE("passes: a condition of two elements and wrong axes are errors that name the node") {
  const Graph g = growing();
  const Array<std::int64_t> count(Dims{}, {2});
  const Array<bool> two({2}, {true, true});
  const Array<float> x({3});
  std::string error = test::error_of([&] { results(g, {count, two, x}); });
  CHECK_MESSAGE(test::contains(error, "'grow'"), error);
  CHECK_MESSAGE(test::contains(error, "the condition is not one boolean"), error);

  const Graph sum = running_sum(2, 0);
  const Array<float> all({2, 3});
  error = test::error_of([&] { results(sum, {x, all}); });
  CHECK_MESSAGE(test::contains(error, "axis is out of range"), error);
}
