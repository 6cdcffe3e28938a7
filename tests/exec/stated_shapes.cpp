// Shapes that a model states, but that the values of a run contradict: memory follows the values.
#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include <halftone/exec/engine.hpp>
#include <halftone/halftone.hpp>

using namespace halftone;

namespace {

Array<std::int64_t> integers(std::initializer_list<std::int64_t> values) {
  return Array<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

Array<float> counted(const Dims& shape) {
  Array<float> x(shape);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  return x;
}

/// One node whose inputs are the graph's, with an output of a shape that the model makes up.
template <class Op>
Graph one_node(const Op& op, const std::vector<TensorInfo>& inputs, const TensorInfo& stated) {
  Graph g;
  std::vector<TensorId> ids;
  for (const TensorInfo& info : inputs) {
    ids.push_back(g.add_input(info, "x" + std::to_string(ids.size())));
  }
  std::vector<TensorInfo> outputs(descriptor<Op>.signature.required_outputs());
  outputs[0] = stated;
  const std::size_t n = add_node(g, op, ids, outputs);
  g.add_output(g.nodes[n].outputs[0]);
  return g;
}

template <class Op>
AnyArray run(const Op& op, const std::vector<AnyArray>& arrays, const Dims& stated) {
  std::vector<TensorInfo> infos;
  for (const AnyArray& x : arrays) infos.push_back(x.info());
  Engine engine(one_node(op, infos, {arrays[0].info().type, stated}));
  const std::vector<AnyView> views(arrays.begin(), arrays.end());
  engine.run(views);
  const AnyView y = engine.output(0);
  AnyArray copy(y.info);
  std::copy_n(static_cast<const std::byte*>(y.data), y.bytes(), copy.data());
  return copy;
}

std::vector<float> floats(const AnyArray& x) {
  const auto values = x.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("stated shapes that values contradict are inferred again") {
  // A slice behind the end is empty (numpy), whatever the model says.
  const AnyArray x = counted({4, 3});
  AnyArray y = run(op::Slice{}, {x, integers({1000000, 0}), integers({4, 3})}, {4, 1});
  CHECK(y.info().shape == Dims{0, 3});
  y = run(op::Slice{}, {x, integers({1, 0}), integers({3, 2})}, {4, 1});
  CHECK(y.info().shape == Dims{2, 2});
  CHECK(floats(y) == std::vector<float>{3, 4, 6, 7});

  CHECK(run(op::Reshape{}, {x, integers({2, -1})}, {12}).info().shape == Dims{2, 6});
  CHECK(run(op::Expand{}, {counted({1}), integers({2, 5})}, {1}).info().shape == Dims{2, 5});
  CHECK(run(op::Tile{}, {x, integers({2, 3})}, {4, 3}).info().shape == Dims{8, 9});
  CHECK(run(op::Pad{}, {x, integers({1, 0, 1, 5})}, {4, 3}).info().shape == Dims{6, 8});
  CHECK(run(op::TopK{}, {x, integers({2})}, {4, 3}).info().shape == Dims{4, 2});
  CHECK_THROWS_AS(run(op::Reshape{}, {x, integers({5})}, {12}), Error);
  CHECK_THROWS_AS(run(op::TopK{}, {x, integers({7})}, {4, 3}), Error);
}

TEST_CASE("a shape that follows from a stated one is the real one's") {
  // y = x[start:], and what Shape says of y.
  Graph g;
  const TensorId x = g.add_input({ElementType::float32, {6}}, "x");
  const TensorId start = g.add_input({ElementType::int64, {1}}, "start");
  const AnyTensor end = constant(g, Dims{6});
  const TensorInfo stated[]{{ElementType::float32, {5}}}, shape[]{{ElementType::int64, {1}}};
  const TensorId y = g.nodes[add_node(g, op::Slice{}, {x, start, end.id}, stated)].outputs[0];
  g.add_output(g.nodes[add_node(g, op::Shape{}, {y}, shape)].outputs[0]);
  Engine engine(std::move(g));
  engine.run(std::vector<AnyView>{counted({6}), integers({4})});
  CHECK(engine.output(0).values<std::int64_t>()[0] == 2);
}

TEST_CASE("what no machine has memory for is an error of that kind") {
  for (const Dims& repeats :
       {Dims{1 << 20, std::int64_t{1} << 40}, Dims{std::int64_t{1} << 40, std::int64_t{1} << 40},
        Dims{std::int64_t{1} << 40, 0}}) {
    Graph g;
    const AnyTensor x = g.input<float>("x", {1000, 1000});
    const AnyTensor y = op::tile(x, constant(g, repeats));
    g.add_output(y.id);
    CHECK_THROWS_AS(Engine(std::move(g)), MemoryError);
    CHECK_THROWS_AS(
        run(op::Tile{}, {counted({1000, 1000}), integers({repeats[0], repeats[1]})}, {1, 1}),
        MemoryError);
  }
}

TEST_CASE("what was folded may be inferred again") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {2, 3, 4});
  const AnyTensor shape = op::shape_of(x);
  const AnyTensor flat = op::concat(
      std::vector<AnyTensor>{op::gather(shape, constant(g, Dims{0})), constant(g, Dims{-1})},
      {.axis = 0});
  const TensorInfo unknown[]{{}};
  const TensorId y = g.nodes[add_node(g, op::Reshape{}, {x.id, flat.id}, unknown)].outputs[0];
  g.add_output(y);
  Engine twice(g);
  for (int i = 0; i < 2; ++i) {
    twice.prepare(std::vector<TensorInfo>{{ElementType::float32, {2, 3, 4}}});
    twice.run(std::vector<AnyView>{counted({2, 3, 4})});
    CHECK(twice.output(0).info.shape == Dims{2, 12});
  }
}
