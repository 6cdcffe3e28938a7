#include <halftone/op/center_crop_pad.hpp>

#include "gradient_check.hpp"
#include "movement.hpp"

using namespace run_op_test;
using op::CenterCropPad;

TEST_CASE_TEMPLATE("center crop pad: the middle, and zeros around it", T, float, half, std::int64_t,
                   std::uint8_t, bool) {
  const Array<T> x = array<T>({5}, {1, 1, 0, 1, 1});
  check_equal<T>(run(CenterCropPad{}, {x, indices({2})}), {2}, {1, 0});  // the larger part behind
  check_equal<T>(run(CenterCropPad{}, {x, indices({3})}), {3}, {1, 0, 1});
  check_equal<T>(run(CenterCropPad{}, {x, indices({8})}), {8}, {0, 1, 1, 0, 1, 1, 0, 0});
  check_equal<T>(run(CenterCropPad{}, {x, indices({0})}), {0}, {});
}

TEST_CASE("center crop pad: some dimensions are cut, others filled") {
  const Array<float> x = counted<float>({2, 7, 4});
  const Array<std::int32_t> shape({2}, {6, 3});
  const AnyArray y = run(CenterCropPad{.axes = {-1, 1}}, {x, shape}, backwards());
  REQUIRE(y.info().shape == Dims{2, 3, 6});
  const std::vector<double> values = doubles(y);
  for_each_index({2, 3, 6}, [&](const Dims& at, std::size_t i) {
    const bool is_inside = at[2] >= 1 && at[2] < 5;
    const double expected =
        is_inside ? static_cast<double>((at[0] * 7 + at[1] + 2) * 4 + at[2] - 1) : 0;
    CHECK(values[i] == expected);
  });
  CHECK(run(CenterCropPad{}, {Array<float>(Dims{}), indices({})}).info().shape == Dims{});
}

TEST_CASE("center crop pad: gradient, and what does not fit") {
  gradient_test::check_gradients(
      {gradient_test::scattered({2, 7, 4}), gradient_test::integers({2, 4, 7})},
      [](Graph&, auto& in) { return op::center_crop_pad(in[0], in[1]); });
  gradient_test::check_gradients(
      {gradient_test::scattered({2, 7, 4}), gradient_test::integers({5, 8})},
      [](Graph&, auto& in) { return op::center_crop_pad(in[0], in[1], {.axes = {0, -2}}); });
  const Array<float> x({2, 3});
  CHECK(reason(CenterCropPad{}, {x, indices({2})}) == "the shape has not one number per dimension");
  CHECK(reason(CenterCropPad{}, {x, indices({2, -1})}) == "an extent is negative");
  CHECK(reason(CenterCropPad{.axes = {2}}, {x, indices({2})}) == "axis is out of range");
  CHECK(reason(CenterCropPad{.axes = {0, -2}}, {x, indices({2, 2})}) ==
        "a dimension is named twice");
}
