#include <halftone/op/cumprod.hpp>

#include "gradient_check.hpp"
#include "run_op.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("cumprod: all four directions along each axis", T, float, double, half, bfloat16,
                   std::int32_t, std::uint64_t) {
  const Array<T> x = array<T>({2, 3, 2}, {1, 2, 3, 1, 2, 2, 1, 3, 0, 1, 2, 4});
  const std::vector<double> v = doubles(x);
  const std::size_t extents[] = {2, 3, 2}, strides[] = {6, 2, 1};
  for (const std::int64_t axis : {-3, -2, 2}) {
    const auto at = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    for (const bool exclusive : {false, true}) {
      for (const bool reverse : {false, true}) {
        std::vector<double> expected;
        for (std::size_t i = 0; i < v.size(); ++i) {
          const std::size_t own = i / strides[at] % extents[at];
          double product = 1;
          for (std::size_t k = 0; k < extents[at]; ++k) {
            const bool counts = (reverse ? k > own : k < own) || (k == own && !exclusive);
            if (counts) product *= v[i - own * strides[at] + k * strides[at]];
          }
          expected.push_back(product);
        }
        const Array<std::int64_t> along({}, {axis});
        check_equal<T>(run(op::CumProd{.exclusive = exclusive, .reverse = reverse}, {x, along}),
                       {2, 3, 2}, expected);
      }
    }
  }
}

TEST_CASE("cumprod: axes that are out of range, empty tensors") {
  const Array<float> x({2, 3});
  CHECK(reason(op::CumProd{}, {Array<float>(Dims{}), Array<std::int32_t>(Dims{})}) ==
        "the input is a scalar");
  CHECK(reason(op::CumProd{}, {x, Array<std::int64_t>({}, {2})}) == "axis is out of range");
  check_equal<float>(run(op::CumProd{}, {Array<float>({0, 3}), Array<std::int64_t>({}, {0})}),
                     {0, 3}, {});
}

TEST_CASE("gradient of cumprod, zeros included") {
  using gradient_test::check_gradients;
  const Array<double> x = array<double>({2, 4}, {1.5, -0.5, 2, 0.75, 0.5, 0, 1.25, 0});
  for (const std::int64_t axis : {0, 1}) {
    for (const std::int64_t exclusive : {0, 1}) {
      for (const std::int64_t reverse : {0, 1}) {
        const Array<std::int64_t> along({1}, {axis});
        check_gradients({x, along}, [&](Graph&, auto& in) {
          return op::cumprod(in[0], in[1], {.exclusive = exclusive, .reverse = reverse});
        });
      }
    }
  }
}
