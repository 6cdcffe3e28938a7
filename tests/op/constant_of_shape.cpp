#include <halftone/op/constant_of_shape.hpp>

#include <bit>

#include "movement.hpp"

using namespace run_op_test;

TEST_CASE("constant_of_shape: the value everywhere, a float 0 by default") {
  check_equal<float>(run(op::ConstantOfShape{}, {indices({2, 3})}), {2, 3}, {0, 0, 0, 0, 0, 0});
  const op::ConstantOfShape ones{.value_type = ElementType::float32,
                                 .value_bits = std::bit_cast<std::int32_t>(1.5f)};
  check_equal<float>(run(ones, {indices({3})}), {3}, {1.5, 1.5, 1.5});
  check_equal<std::int8_t>(
      run(op::ConstantOfShape{.value_type = ElementType::int8, .value_bits = 0xfe}, {indices({2})}),
      {2}, {-2, -2});
  check_equal<std::int64_t>(
      run(op::ConstantOfShape{.value_type = ElementType::int64, .value_bits = -7}, {indices({})}),
      {}, {-7});
  check_equal<bool>(run(op::ConstantOfShape{.value_type = ElementType::boolean, .value_bits = 1},
                        {indices({2, 0})}),
                    {2, 0}, {});
}

TEST_CASE("constant_of_shape: wrong shapes, unknown ones") {
  const op::ConstantOfShape op;
  CHECK(reason(op, {indices({2, -1})}) == "an extent is negative");
  CHECK(reason(op, {indices({1, 1, 1, 1, 1, 1, 1, 1, 1})}) == "too many dimensions");
  CHECK(reason(op, {Array<std::int64_t>({1, 1})}) == "the shape is not a vector");
  CHECK(reason(op::ConstantOfShape{.value_type = ElementType::string}, {indices({1})}) ==
        "element type is not offered");
  const InputInfo in[]{{.info = {ElementType::int64, {2}}}};
  CHECK(op.infer(Inputs(in, 1)).outputs[0] == TensorInfo{ElementType::float32, {dynamic, dynamic}});
}
