#include <halftone/op/split.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

/// The parts follow each other along axis, with these extents.
template <class T>
void check_parts(const std::vector<AnyArray>& y, const Array<T>& x, std::int64_t axis,
                 const std::vector<std::int64_t>& sizes) {
  REQUIRE(y.size() == sizes.size());
  const std::size_t at = normalized_axis(axis, x.info().rank());
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    Dims expected = x.info().shape;
    expected[at] = sizes[i];
    check_moved(y[i], expected, x, [&](Dims index) {
      index[at] += offset;
      return index;
    });
    offset += sizes[i];
  }
}

}  // namespace

TEST_CASE_TEMPLATE("split: sizes, equal parts, num_outputs", T, std::uint8_t, half, float, double) {
  for (std::int64_t axis = -3; axis < 3; ++axis) {
    const op::Split split{.axis = axis};
    const Array<T> x = counted<T>({6, 6, 6});
    check_parts(run_all(split, {x, indices({1, 3, 0, 2})}, 4), x, axis, {1, 3, 0, 2});
    check_parts(run_all(split, {x}, 3), x, axis, {2, 2, 2});
    check_parts(run_all(op::Split{.axis = axis, .num_outputs = 4}, {x}, 4), x, axis, {2, 2, 2, 0});
  }
  const Array<T> x = counted<T>({7});
  check_parts(run_all(op::Split{.num_outputs = 3}, {x}, 3), x, 0, {3, 3, 1});
}

TEST_CASE("split: an empty tensor; large ones are divided") {
  const Array<float> empty({0, 4});
  check_parts(run_all(op::Split{}, {empty}, 2), empty, 0, {0, 0});
  const Array<float> x = counted<float>({300, 1000});
  check_parts(run_all(op::Split{.axis = 1}, {x, indices({1, 999})}, 2, 0, backwards()), x, 1,
              {1, 999});
}

TEST_CASE("split: wrong sizes") {
  const Array<float> x({6});
  CHECK(reason(op::Split{.axis = 1}, {x}, 2) == "axis is out of range");
  CHECK(reason(op::Split{}, {x}, 4) == "the outputs do not divide the extent evenly");
  CHECK(reason(op::Split{}, {x, indices({2, 3})}, 2) ==
        "the sizes in split do not add up to the extent");
  CHECK(reason(op::Split{}, {x, indices({7, -1})}, 2) == "a size in split is negative");
  CHECK(reason(op::Split{}, {x, indices({INT64_MAX, INT64_MAX})}, 2) ==
        "the sizes in split do not add up to the extent");
  CHECK(reason(op::Split{}, {x, indices({2, 4})}, 3) == "the node has another number of outputs");
  CHECK(reason(op::Split{.num_outputs = 2}, {x, indices({2, 4})}, 2) ==
        "both split and num_outputs are given");
  CHECK(reason(op::Split{.num_outputs = 0}, {x}, 1) == "the number of outputs is out of range");
}

TEST_CASE("split: versions 2 and 11 have attributes") {
  Graph graph;
  const AnyTensor x = graph.input<float>("x", {6});
  const std::vector<Word> words = pack(op::Split_2{.split = {1, 5}});
  const std::vector<TensorId> in{x.id};
  const std::vector<TensorId> y = halftone::detail::expand_thunk<op::Split_2>(graph, words, in, 2);
  REQUIRE(y.size() == 2);
  CHECK(graph.info(y[0]).shape == Dims{1});
  CHECK(graph.info(y[1]).shape == Dims{5});
  const std::vector<Word> equal = pack(op::Split_2{});
  const std::vector<TensorId> z = halftone::detail::expand_thunk<op::Split_2>(graph, equal, in, 3);
  REQUIRE(z.size() == 3);
  CHECK(graph.info(z[2]).shape == Dims{2});
}

TEST_CASE("split: as a function") {
  Graph graph;
  const AnyTensor x = graph.input<float>("x", {6});
  CHECK(op::split(x, {.num_outputs = 3}).size() == 3);
  const auto typed = input<float, halftone::Shape<2, 6>>(graph, "t");
  const auto parts = apply<op::Split{.axis = 1, .num_outputs = 4}>(typed);
  static_assert(
      std::is_same_v<
          std::remove_const_t<decltype(parts)>,
          std::tuple<Tensor<float, halftone::Shape<2, 2>>, Tensor<float, halftone::Shape<2, 2>>,
                     Tensor<float, halftone::Shape<2, 2>>, Tensor<float, halftone::Shape<2, 0>>>>);
}
