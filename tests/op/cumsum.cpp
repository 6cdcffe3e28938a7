#include <halftone/op/cumsum.hpp>

#include <halftone/op/cumprod.hpp>

#include <halftone/base/error.hpp>

#include "gradient_check.hpp"
#include "movement.hpp"

using namespace run_op_test;

namespace {

/// The definition; small whole numbers are exact in every type.
template <class T, class I>
void check_sums(const Dims& shape, std::int64_t axis, bool exclusive, bool reverse,
                const halftone::kernel::Executor& executor = {}) {
  const Array<T> x = array<T>(shape, doubles(scattered<std::int8_t>(shape, 0, 4)));
  const std::vector<double> values = doubles(x);
  const std::size_t at = normalized_axis(axis, shape.size());
  std::vector<double> expected(values.size());
  for_each_index(shape, [&](const Dims& index, std::size_t i) {
    Dims from = index;
    for (from[at] = 0; from[at] < shape[at]; ++from[at]) {
      const bool counts = reverse ? from[at] > index[at] : from[at] < index[at];
      if (counts || (!exclusive && from[at] == index[at])) {
        expected[i] += values[position(shape, from)];
      }
    }
  });
  check_equal<T>(run(op::CumSum{.exclusive = exclusive ? 1 : 0, .reverse = reverse ? 1 : 0},
                     {x, Array<I>({}, {static_cast<I>(axis)})}, executor),
                 shape, expected);
}

}  // namespace

TEST_CASE_TEMPLATE("cumsum: the definition", T, float, double, half, bfloat16, std::int32_t,
                   std::uint64_t) {
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      for (std::int64_t axis = -3; axis < 3; ++axis) {
        check_sums<T, std::int64_t>({3, 4, 70}, axis, exclusive, reverse);
      }
      // Few columns, one row, more columns than have their totals beside each other.
      check_sums<T, std::int32_t>({5, 4, 3}, 1, exclusive, reverse);
      check_sums<T, std::int32_t>({2, 1, 33}, 1, exclusive, reverse);
      check_sums<T, std::int32_t>({3, 1101}, 0, exclusive, reverse);
      check_sums<T, std::int32_t>({1}, 0, exclusive, reverse);
      check_sums<T, std::int32_t>({2, 0}, 0, exclusive, reverse);
    }
  }
}

TEST_CASE("cumsum: many lines are divided; half is not rounded on the way") {
  check_sums<float, std::int32_t>({3000, 50}, 1, false, false, backwards());
  check_sums<float, std::int32_t>({30, 5000}, 0, false, true, backwards());
  // 2048 + 1 is no half: rounding every sum would stay there.
  const Array<half> ones = array<half>({4096}, std::vector<double>(4096, 1));
  CHECK(doubles(run(op::CumSum{}, {ones, indices({0})})).back() == 4096);
}

TEST_CASE("cumsum: wrong axes") {
  const Array<float> x({3, 2});
  CHECK(reason(op::CumSum{}, {x, indices({2})}) == "axis is out of range");
  CHECK(reason(op::CumSum{}, {x, indices({0, 1})}) == "axis is not one number");
  CHECK(reason(op::CumSum{}, {Array<float>(Dims{}), indices({0})}) == "the input is a scalar");
}

TEST_CASE_TEMPLATE("cumprod: examples of the ONNX specification", T, float, double, half,
                   std::int32_t, std::uint64_t) {
  const Array<T> x = array<T>({3}, {1, 2, 3}), y = array<T>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto zero = indices({0});
  check_equal<T>(run(op::CumProd{}, {x, zero}), {3}, {1, 2, 6});
  check_equal<T>(run(op::CumProd{.exclusive = 1}, {x, zero}), {3}, {1, 1, 2});
  check_equal<T>(run(op::CumProd{.reverse = 1}, {x, zero}), {3}, {6, 6, 3});
  check_equal<T>(run(op::CumProd{.exclusive = 1, .reverse = 1}, {x, zero}), {3}, {6, 3, 1});
  check_equal<T>(run(op::CumProd{}, {y, zero}, backwards()), {2, 3}, {1, 2, 3, 4, 10, 18});
  check_equal<T>(run(op::CumProd{}, {y, indices({-1})}), {2, 3}, {1, 2, 6, 4, 20, 120});
}

TEST_CASE("cumprod: gradient") {
  for (const std::int64_t exclusive : {0, 1}) {
    for (const std::int64_t reverse : {0, 1}) {
      gradient_test::check_gradients(
          {gradient_test::scattered({3, 4, 2}, 0.5, 2), gradient_test::integers({1})},
          [&](Graph&, auto& in) {
            return op::cumprod(in[0], in[1], {.exclusive = exclusive, .reverse = reverse});
          });
    }
  }
}
