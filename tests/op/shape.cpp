#include <halftone/op/shape.hpp>

#include "movement.hpp"

using namespace run_op_test;

TEST_CASE("shape: all extents, or some; clamped") {
  const Array<float> x({2, 3, 4});
  check_equal<std::int64_t>(run(op::Shape{}, {x}), {3}, {2, 3, 4});
  check_equal<std::int64_t>(run(op::Shape{.start = 1}, {x}), {2}, {3, 4});
  check_equal<std::int64_t>(run(op::Shape{.start = -1}, {x}), {1}, {4});
  check_equal<std::int64_t>(run(op::Shape{.start = 0, .end = 2}, {x}), {2}, {2, 3});
  check_equal<std::int64_t>(run(op::Shape{.start = 1, .end = -1}, {x}), {1}, {3});
  check_equal<std::int64_t>(run(op::Shape{.start = -9, .end = 9}, {x}), {3}, {2, 3, 4});
  check_equal<std::int64_t>(run(op::Shape{.start = 2, .end = 1}, {x}), {0}, {});
  check_equal<std::int64_t>(run(op::Shape{.start = INT64_MIN, .end = INT64_MAX}, {x}), {3},
                            {2, 3, 4});
  check_equal<std::int64_t>(run(op::Shape{}, {Array<bool>(Dims{})}), {0}, {});
  check_equal<std::int64_t>(run(op::Shape{}, {Array<half>({0, 5})}), {2}, {0, 5});
}

TEST_CASE("size: number of elements") {
  check_equal<std::int64_t>(run(op::Size{}, {Array<float>({2, 3, 4})}), {}, {24});
  check_equal<std::int64_t>(run(op::Size{}, {Array<float>(Dims{})}), {}, {1});
  check_equal<std::int64_t>(run(op::Size{}, {Array<std::int8_t>({3, 0})}), {}, {0});
}

TEST_CASE("shape, size: elements are not needed") {
  CHECK(descriptor<op::Shape>.only_infos);
  CHECK(descriptor<op::Size>.only_infos);
}
