#include <halftone/op/concat.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

/// Along `axis` the inputs follow each other, from the specification.
template <class T>
void check_concat(const Dims& shape, std::int64_t axis, const std::vector<std::int64_t>& extents,
                  const halftone::kernel::Executor& executor = {}) {
  const std::size_t at = normalized_axis(axis, shape.size());
  std::vector<AnyArray> inputs;
  std::vector<double> offset;
  Dims whole = shape;
  whole[at] = 0;
  for (const std::int64_t extent : extents) {
    Dims one = shape;
    one[at] = extent;
    inputs.push_back(scattered<T>(one, 0, 100, static_cast<std::uint64_t>(extent) + 7));
    whole[at] += extent;
  }
  const AnyArray y = run(op::Concat{.axis = axis}, inputs, executor);
  REQUIRE(y.info() == TensorInfo{element_type<T>, whole});
  bool same = true;
  for_each_index(whole, [&](Dims index, std::size_t i) {
    std::size_t from = 0;
    for (; index[at] >= extents[from]; ++from) index[at] -= extents[from];
    same = same &&
           y.values<T>()[i] == inputs[from].values<T>()[position(inputs[from].info().shape, index)];
  });
  CHECK(same);
}

}  // namespace

TEST_CASE_TEMPLATE("concat: every axis", T, std::uint8_t, half, float, double) {
  for (std::int64_t axis = -3; axis < 3; ++axis) {
    check_concat<T>({2, 3, 5}, axis, {1, 4, 2});
    check_concat<T>({2, 3, 5}, axis, {3});
    check_concat<T>({2, 3, 5}, axis, {0, 2, 0, 1});
    check_concat<T>({7, 1, 9}, axis, {16, 1, 12});
  }
  check_concat<T>({5}, 0, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("concat: large ones are divided") {
  check_concat<float>({4, 3, 100000}, 1, {1, 3}, backwards());
  check_concat<float>({100000, 4}, 1, {1, 3, 2}, backwards());
}

TEST_CASE("concat: wrong inputs") {
  const Array<float> a({2, 3}), b({2, 4}), c({3});
  const Array<half> h({2, 3});
  CHECK(reason(op::Concat{.axis = 1}, {a, b}) == "");
  CHECK(reason(op::Concat{.axis = 0}, {a, b}) ==
        "the inputs differ along another dimension than axis");
  CHECK(reason(op::Concat{.axis = 2}, {a, a}) == "axis is out of range");
  CHECK(reason(op::Concat{.axis = -3}, {a, a}) == "axis is out of range");
  CHECK(reason(op::Concat{}, {a, a}) == "an attribute is missing");
  CHECK(reason(op::Concat{.axis = 0}, {a, c}) == "the inputs have different ranks");
  CHECK(reason(op::Concat{.axis = 0}, {a, h}) == "element types of the inputs differ");
  CHECK(reason(op::Concat{.axis = 0}, {}) == "there is no input");
  CHECK(reason(op::Concat{.axis = 0}, {Array<float>(Dims{})}) == "axis is out of range");
}

TEST_CASE("concat: version 1 joins along dimension 1 by default") {
  const Array<float> a({1, 2}, {1, 2}), b({1, 1}, {3});
  check_equal<float>(run_expanded<op::Concat>(op::Concat_1{}, {a, b}), {1, 3}, {1, 2, 3});
}

namespace {
using A = Tensor<float, halftone::Shape<2, 3>>;
using B = Tensor<float, halftone::Shape<2, 4>>;
using N = Tensor<float, halftone::Shape<dynamic, 3>>;
static_assert(
    std::is_same_v<result<op::Concat{.axis = 1}, A, B, A>, Tensor<float, halftone::Shape<2, 10>>>);
static_assert(std::is_same_v<result<op::Concat{.axis = 0}, A, N>,
                             Tensor<float, halftone::Shape<dynamic, 3>>>);
static_assert(
    std::is_same_v<result<op::Concat{.axis = -1}, A, N>, Tensor<float, halftone::Shape<2, 6>>>);
static_assert(why_not<op::Concat{.axis = 0}, A, B> ==
              "Concat: the inputs differ along another dimension than axis");
static_assert(
    std::is_same_v<decltype(halftone::detail::StaticCall<op::Concat{.axis = 0}, A, B>::expected),
                   const std::int64_t>);
static_assert(halftone::detail::StaticCall<op::Concat{.axis = 0}, A, B>::expected == 3);
static_assert(halftone::detail::StaticCall<op::Concat{.axis = 0}, A, B>::found == 4);
}  // namespace
