#include <halftone/op/squeeze.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

Dims shape_of(const Inferred& inferred) {
  REQUIRE(inferred.outputs.size() == 1);
  return inferred.outputs[0].shape;
}
Dims squeezed(const Dims& x, std::initializer_list<std::int64_t> axes) {
  return shape_of(infer(op::Squeeze{}, {Array<float>(x), indices(axes)}));
}
Dims unsqueezed(const Dims& x, std::initializer_list<std::int64_t> axes) {
  return shape_of(infer(op::Unsqueeze{}, {Array<float>(x), indices(axes)}));
}

}  // namespace

TEST_CASE("squeeze: numpy's shapes") {
  CHECK(squeezed({1, 3, 1, 5}, {0}) == Dims{3, 1, 5});
  CHECK(squeezed({1, 3, 1, 5}, {-2}) == Dims{1, 3, 5});
  CHECK(squeezed({1, 3, 1, 5}, {2, 0}) == Dims{3, 5});
  CHECK(squeezed({1, 3}, {}) == Dims{1, 3});
  CHECK(infer(op::Squeeze{}, {Array<float>({1, 3, 1, 5})}).outputs[0].shape == Dims{3, 5});
  CHECK(infer(op::Squeeze{}, {Array<float>({1, 1})}).outputs[0].shape == Dims{});
  CHECK(reason(op::Squeeze{}, {Array<float>({1, 3}), indices({1})}) ==
        "a dimension to remove has not one element");
  CHECK(reason(op::Squeeze{}, {Array<float>({1, 3}), indices({2})}) == "axis is out of range");
  CHECK(reason(op::Squeeze{}, {Array<float>({1, 3}), indices({0, -2})}) ==
        "a dimension is named twice");
}

TEST_CASE("squeeze: unknown extents") {
  const Bytes zero = halftone::detail::bytes_of(Dims{0}.span());
  const InputInfo in[]{
      {.info = {ElementType::float32, {dynamic, dynamic}}},
      {.info = {ElementType::int64, {1}}, .data = zero.span(), .is_constant = true}};
  CHECK(op::Squeeze::infer(Inputs(in, 1)).outputs[0].shape == Dims{dynamic});
  CHECK(!op::Squeeze::infer(Inputs(std::span(in, 1), 1)).outputs[0].is_known());
}

TEST_CASE("unsqueeze: numpy's shapes") {
  CHECK(unsqueezed({3, 4}, {0}) == Dims{1, 3, 4});
  CHECK(unsqueezed({3, 4}, {-1}) == Dims{3, 4, 1});
  CHECK(unsqueezed({3, 4}, {4, 0, 2}) == Dims{1, 3, 1, 4, 1});
  CHECK(unsqueezed({}, {0, 1}) == Dims{1, 1});
  CHECK(unsqueezed({3}, {}) == Dims{3});
  CHECK(reason(op::Unsqueeze{}, {Array<float>({3}), indices({2})}) == "axis is out of range");
  CHECK(reason(op::Unsqueeze{}, {Array<float>({3}), indices({0, -3})}) ==
        "a dimension is named twice");
  CHECK(reason(op::Unsqueeze{}, {Array<float>({3}), indices({0, 1, 2, 3, 4, 5, 6, 7})}) ==
        "too many dimensions");
}

TEST_CASE("squeeze, unsqueeze: versions 1 and 11 have attributes") {
  const Array<float> x({1, 3, 1}, {1, 2, 3});
  check_equal<float>(run_expanded<op::Squeeze>(op::Squeeze_1{}, {x}), {3}, {1, 2, 3});
  check_equal<float>(run_expanded<op::Squeeze>(op::Squeeze_1{.axes = {-1}}, {x}), {1, 3},
                     {1, 2, 3});
  check_equal<float>(run_expanded<op::Unsqueeze>(op::Unsqueeze_1{.axes = {0, 2}}, {x}),
                     {1, 1, 1, 3, 1}, {1, 2, 3});
}
