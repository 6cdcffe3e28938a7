#include <halftone/op/flatten.hpp>

#include "movement.hpp"

using namespace run_op_test;

TEST_CASE("flatten: products of the extents before and from axis") {
  const TensorInfo x{ElementType::float32, {2, 3, 4, 5}};
  const Dims expected[]{{1, 120}, {2, 60}, {6, 20}, {24, 5}, {120, 1}};
  for (std::int64_t axis = 0; axis <= 4; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    CHECK(op::Flatten{.axis = axis}.infer(x).outputs[0].shape == expected[i]);
    if (axis < 4) {
      CHECK(op::Flatten{.axis = axis - 4}.infer(x).outputs[0].shape == expected[i]);
    }
  }
  CHECK(op::Flatten{.axis = 5}.infer(x).reason == "axis is out of range");
  CHECK(op::Flatten{.axis = -5}.infer(x).reason == "axis is out of range");
  CHECK(op::Flatten{.axis = 0}.infer({ElementType::float32, {}}).outputs[0].shape == Dims{1, 1});
  CHECK(op::Flatten{}.infer({ElementType::float32, {}}).reason == "axis is out of range");
  CHECK(op::Flatten{}.infer({ElementType::float32, {0, 3}}).outputs[0].shape == Dims{0, 3});
  CHECK(op::Flatten{}.infer({ElementType::float32, {dynamic, 3, 2}}).outputs[0].shape ==
        Dims{dynamic, 6});
}

static_assert(std::is_same_v<result<op::Flatten{}, Tensor<half, halftone::Shape<dynamic, 3, 2>>>,
                             Tensor<half, halftone::Shape<dynamic, 6>>>);
