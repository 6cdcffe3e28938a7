#include <halftone/op/tensor_scatter.hpp>

#include "gradient_check.hpp"
#include "run_op.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("tensor scatter: linear and circular", T, float, half, std::int8_t,
                   std::int64_t) {
  const Array<T> past = scattered<T>({2, 3, 5, 2}, -9, 9),
                 update = scattered<T>({2, 3, 4, 2}, 10, 20);
  for (const auto mode : {op::CacheMode::linear, op::CacheMode::circular}) {
    const bool is_circular = mode == op::CacheMode::circular;
    const Array<std::int64_t> at({2}, {1, is_circular ? 8 : 0});
    for (const std::int64_t axis : {-2, 2}) {
      std::vector<double> expected = doubles(past);
      for (std::size_t i = 0; i < update.size(); ++i) {
        const std::size_t line = i / 8, step = i / 2 % 4;
        const auto to = (static_cast<std::size_t>(at[line / 3]) + step) % 5;
        expected[line * 10 + to * 2 + i % 2] = doubles(update)[i];
      }
      check_equal<T>(run(op::TensorScatter{mode, axis}, {past, update, at}), {2, 3, 5, 2},
                     expected);
    }
  }
}

TEST_CASE("tensor scatter: no places, other dimensions, what is out of range") {
  const Array<float> past({1, 4}, {1, 2, 3, 4}), update({1, 2}, {8, 9});
  check_equal<float>(run(op::TensorScatter{.axis = 1}, {past, update}), {1, 4}, {8, 9, 3, 4});
  const op::TensorScatter circular{op::CacheMode::circular, -1};
  check_equal<float>(run(circular, {past, update, Array<std::int64_t>({1}, {-1})}), {1, 4},
                     {9, 2, 3, 8});
  check_equal<float>(run(circular, {past, update, Array<std::int64_t>({1}, {INT64_MAX})}), {1, 4},
                     {9, 2, 3, 8});
  for (const std::int64_t place : {std::int64_t{3}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    CHECK_THROWS_AS(
        run(op::TensorScatter{.axis = 1}, {past, update, Array<std::int64_t>({1}, {place})}),
        InputError);
  }
  CHECK(reason(op::TensorScatter{}, {past, update}) ==
        "axis is out of range, or that of the batch");
  CHECK(reason(op::TensorScatter{.axis = 1}, {past, Array<float>({1, 5})}) ==
        "the update does not fit the cache");
  CHECK(reason(op::TensorScatter{.axis = 1}, {past, Array<float>({2})}) ==
        "the update has another rank than the cache");
  CHECK(reason(op::TensorScatter{.axis = 1}, {past, update, Array<std::int64_t>({2})}) ==
        "write_indices need one number for each sample");
  check_equal<float>(
      run(circular, {Array<float>({1, 0}), Array<float>({1, 0}), Array<std::int64_t>({1})}), {1, 0},
      {});
}

TEST_CASE("gradient of tensor scatter") {
  using gradient_test::check_gradients;
  using gradient_test::scattered;
  const Array<std::int64_t> at({2}, {1, 6});
  check_gradients({scattered({2, 5, 3}), scattered({2, 4, 3}, -1, 1, 2), at}, [](Graph&, auto& in) {
    return op::tensor_scatter(in[0], in[1], in[2], {.mode = op::CacheMode::circular});
  });
  check_gradients({scattered({2, 5, 3}), scattered({2, 4, 3}, -1, 1, 2)},
                  [](Graph&, auto& in) { return op::tensor_scatter(in[0], in[1]); });
}
