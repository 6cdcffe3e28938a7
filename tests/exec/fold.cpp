#include "exec/fold.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include <halftone/halftone.hpp>
#include <halftone/train/weights.hpp>

#include "error_of.hpp"

using namespace halftone;

namespace {

/// y = reshape(x, [2 * rows of x, -1]) of x [rows, 6]: the shape is computed in the graph.
Graph computed_shape(std::int64_t rows) {
  Graph g;
  const AnyTensor x = g.input<float>("x", {rows, 6});
  const AnyTensor half =
      op::mul(op::shape_of(x), constant(g, Dims{2, 0}));  // [2 rows, 0], and 0 - 1 behind it
  output(g, op::reshape(x, op::add(half, constant(g, Dims{0, -1}))), "y");
  for (const Node& node : g.nodes) {
    for (const TensorId id : node.outputs) g.tensor(id).info = {};
  }
  return g;
}

}  // namespace

TEST_CASE("fold: shapes that follow from those of inputs become known, and their nodes go") {
  Graph g = computed_shape(4);
  fold_shapes(g);
  CHECK(g.info(g.outputs[0]) == TensorInfo{ElementType::float32, {8, 3}});
  CHECK(g.nodes.size() == 1);
  // Training looks at it no more.
  CHECK(!detail::has_unknown_shapes(g));
  CHECK(detail::has_unknown_shapes(computed_shape(4)));
}

TEST_CASE("fold: what the model states is kept where nothing is found") {
  Graph g;
  const AnyTensor x = g.input<float>("x", {4});
  const AnyTensor at = op::nonzero(x);
  g.add_output(at.id);
  g.tensor(at.id).info = {ElementType::int64, {1, 3}};
  fold_shapes(g);
  CHECK(g.info(at.id).shape == Dims{1, 3});
}

TEST_CASE("fold: what does not fit is an error that names the node") {
  Graph g = computed_shape(4);
  g.tensor(g.inputs[0]).info.shape = {4, 6, 1};  // the numbers for two dimensions do not fit three
  const std::string error = test::error_of([&] { fold_shapes(g); });
  CHECK_MESSAGE(error != "no error", error);
}

TEST_CASE("fold: large constants wait for a run") {
  kernel::Executor one;
  for (const std::int64_t elements : {most_small_bytes / 4, most_small_bytes / 4 + 1}) {
    Graph g;
    const float value = 2;
    const AnyTensor x = constant<float>(g, std::span(&value, 1), {});
    g.add_output(AnyTensor(op::expand(x, constant(g, Dims{elements}))).id);
    const bool is_small = elements * 4 <= most_small_bytes;
    CHECK(evaluate_small(&one, g, 0) == is_small);
    CHECK((g.tensor(g.outputs[0]).role == Role::constant) == is_small);
    CHECK(g.nodes[0].outputs.empty() == is_small);
  }
}

TEST_CASE("fold: constants are aligned, and computed once") {
  Graph g;
  const Storage storage = Storage::allocate(64);
  const std::vector<float> values{1, 2, 3};
  std::memcpy(const_cast<std::byte*>(storage.data()) + 1, values.data(), 12);
  const TensorId odd =
      g.add_constant({ElementType::float32, {3}}, Bytes(Storage(storage), storage.data() + 1, 12));
  g.add_output(AnyTensor(op::neg(AnyTensor{&g, odd})).id);
  const void* data = aligned_data(g.tensor(odd));
  CHECK(reinterpret_cast<std::uintptr_t>(data) % alignof(float) == 0);
  CHECK(aligned_data(g.tensor(odd)) == data);
  CHECK(static_cast<const float*>(data)[2] == 3);
  kernel::Executor executor;
  REQUIRE(evaluate_constant(&executor, g, 0));
  CHECK(g.tensor(g.outputs[0]).role == Role::constant);
  CHECK(static_cast<const float*>(aligned_data(g.tensor(g.outputs[0])))[2] == -3);
}
