#include "transform/resolve_sequences.hpp"

#include <doctest/doctest.h>

#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/transform/infer.hpp>

using namespace halftone;

namespace {

constexpr ElementType floats = sequence_of(ElementType::float32);

template <class Op>
AnyTensor record(const Op& op, const std::vector<AnyTensor>& in, const TensorInfo& y) {
  std::vector<TensorId> ids;
  for (const AnyTensor& x : in) ids.push_back(x.id);
  Graph& g = *in[0].graph;
  return {&g, g.nodes[add_node(g, op, ids, {&y, 1})].outputs[0]};
}
AnyTensor item(const AnyTensor& list, const AnyTensor& at, const Dims& shape) {
  return record(op::SequenceAt{}, {list, at}, {ElementType::float32, shape});
}

/// Joins the parts of x [6, 2] in the order `last`, `first`, taken out of a sequence.
Graph swapped(AnyTensor (*position)(Graph& g, std::int64_t value)) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {6, 2});
  const std::int64_t three = 3;
  const AnyTensor parts = record(op::SplitToSequence{.axis = 0},
                                 {x, constant(g, std::span(&three, 1), {})}, {floats, {}});
  const AnyTensor last = item(parts, position(g, -1), {3, 2});
  const AnyTensor first = item(parts, position(g, 0), {3, 2});
  output(g, op::concat(std::vector<AnyTensor>{last, first}, {.axis = 0}), "y");
  return g;
}
AnyTensor known(Graph& g, std::int64_t value) {
  return constant(g, std::span<const std::int64_t>(&value, 1), {});
}
AnyTensor unknown(Graph& g, std::int64_t value) {
  return g.input<std::int64_t>(value < 0 ? "last" : "first", {});
}
bool has_sequence(const Graph& g) {
  for (const Node& node : g.nodes) {
    for (const TensorId id : node.outputs) {
      if (id != no_tensor && is_sequence(g.info(id).type)) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("resolve sequences: known items are tensors, with the same values and with gradients") {
  Graph g = swapped(known);
  CHECK(has_sequence(g));
  CHECK(resolve_sequences(g));
  CHECK_FALSE(has_sequence(g));
  REQUIRE(infer(g).empty());
  Graph again = g;
  CHECK_FALSE(resolve_sequences(again));
  CHECK(again == g);
  Session session(g);
  Array<float> x({6, 2});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const Result y = session.run({{"x", x}});
  for (std::size_t i = 0; i < 12; ++i) CHECK(y[0].values<float>()[i] == x[(i + 6) % 12]);
  const AnyTensor loss = op::sum(AnyTensor{&g, g.outputs[0]}, none, {.keepdims = 0});
  const TensorId wanted = g.inputs[0];
  CHECK(differentiate(g, loss.id, std::span(&wanted, 1))[0] != no_tensor);
}

TEST_CASE("resolve sequences: a position that the run tells leaves the graph as it is") {
  Graph g = swapped(unknown);
  const Graph before = g;
  CHECK_FALSE(resolve_sequences(g));
  CHECK(g == before);
}

TEST_CASE("resolve sequences: an output keeps its tensor, and lengths become constants") {
  Graph g;
  const AnyTensor a = g.input<float>("a", {2}), b = g.input<float>("b", {3});
  const AnyTensor list = record(op::SequenceConstruct{}, {a, b}, {floats, {}});
  const AnyTensor longer = record(op::SequenceInsert{}, {list, a}, {floats, {}});
  output(g, record(op::SequenceLength{}, {longer}, {ElementType::int64, {}}), "length");
  output(g, item(longer, known(g, 1), {3}), "item");
  const std::vector<TensorId> outputs = g.outputs;
  REQUIRE(resolve_sequences(g));
  CHECK(g.outputs == outputs);
  CHECK_FALSE(has_sequence(g));
  Session session(g);
  const Array<float> two({2}, {1, 2}), three({3}, {3, 4, 5});
  const Result y = session.run({{"a", two}, {"b", three}});
  CHECK(y["length"].values<std::int64_t>()[0] == 3);
  CHECK(y["item"].values<float>()[2] == 5);
}
