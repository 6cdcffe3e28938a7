#include <halftone/op/range.hpp>

#include <halftone/op/onehot.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

template <class T>
Array<T> number(double value) {
  return array<T>({}, {value});
}
template <class T>
AnyArray range(double start, double limit, double delta) {
  return run(op::Range{}, {number<T>(start), number<T>(limit), number<T>(delta)});
}

}  // namespace

TEST_CASE_TEMPLATE("range: start + i * delta before limit", T, float, double, half, bfloat16,
                   std::int16_t, std::int32_t, std::int64_t) {
  check_equal<T>(range<T>(3, 9, 3), {2}, {3, 6});
  check_equal<T>(range<T>(3, 10, 3), {3}, {3, 6, 9});
  check_equal<T>(range<T>(10, 4, -2), {3}, {10, 8, 6});
  check_equal<T>(range<T>(10, 3, -2), {4}, {10, 8, 6, 4});
  check_equal<T>(range<T>(1, 1, 5), {0}, {});
  check_equal<T>(range<T>(1, 3, -1), {0}, {});
  CHECK(reason(op::Range{}, {number<T>(1), number<T>(2), number<T>(0)}) == "delta is 0");
}

TEST_CASE("range: limits") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(doubles(range<double>(0, 1, 0.25)) == std::vector<double>{0, 0.25, 0.5, 0.75});
  CHECK(reason(op::Range{}, {number<float>(0), number<float>(infinity), number<float>(1)}) ==
        "there are too many numbers");
  CHECK(reason(op::Range{}, {number<float>(0), number<float>(std::nan("")), number<float>(1)}) ==
        "there are too many numbers");
  const Array<std::int64_t> low({}, {INT64_MIN}), high({}, {INT64_MAX});
  CHECK(reason(op::Range{}, {low, high, Array<std::int64_t>({}, {1})}) ==
        "there are too many numbers");
  check_equal<std::int64_t>(run(op::Range{}, {low, high, high}), {3}, {-0x1p63, -1, 0x1p63});
  CHECK(reason(op::Range{}, {indices({1, 2}), indices({1}), indices({1})}) ==
        "an input is not one number");
  const InputInfo unknown[] = {{low.info()}, {low.info()}, {low.info()}};
  CHECK(op::Range{}.infer(Inputs(unknown, 1)).outputs[0].shape == Dims{dynamic});
  // 2048 + 1 is no half: numbers are not added up in half.
  const std::vector<double> y = doubles(range<half>(2046, 2052, 1));
  CHECK(y == std::vector<double>{2046, 2047, 2048, 2048, 2050, 2052});
  CHECK(reason(op::Range{.stash_type = ElementType::float16}, {low, high, high}) ==
        "stash_type is not offered");
}

TEST_CASE_TEMPLATE("onehot: on where indices say", T, std::uint8_t, half, float, double) {
  const Array<T> values = array<T>({2}, {5, 2});
  const Array<std::int64_t> depth({}, {3});
  check_equal<T>(run(op::OneHot{}, {indices({0, 2, -1, 3, -4}), depth, values}), {5, 3},
                 {2, 5, 5, 5, 5, 2, 5, 5, 2, 5, 5, 5, 5, 5, 5});
  const Array<std::int32_t> pairs({2, 2}, {0, 1, 2, 1});
  const Array<float> real_depth = array<float>({1}, {3});
  check_equal<T>(run(op::OneHot{.axis = 1}, {pairs, real_depth, values}), {2, 3, 2},
                 {2, 5, 5, 2, 5, 5, 5, 5, 5, 2, 2, 5});
  check_equal<T>(run(op::OneHot{.axis = -3}, {pairs, real_depth, values}), {3, 2, 2},
                 {2, 5, 5, 5, 5, 2, 5, 2, 5, 5, 2, 5});
  // Cut off; numbers that are none pick nothing.
  const Array<float> reals = array<float>({4}, {1.9, -0.5, std::nan(""), 1e30});
  check_equal<T>(run(op::OneHot{.axis = 0}, {reals, depth, values}), {3, 4},
                 {5, 2, 5, 5, 2, 5, 5, 5, 5, 5, 5, 5});
  check_equal<T>(run(op::OneHot{}, {Array<std::int64_t>({2, 0}), depth, values}), {2, 0, 3}, {});
  const Array<std::uint64_t> large({3}, {1, ~std::uint64_t{0}, 3});
  check_equal<T>(run(op::OneHot{}, {large, Array<std::uint8_t>({}, {3}), values}), {3, 3},
                 {5, 2, 5, 5, 5, 5, 5, 5, 5});
}

TEST_CASE("onehot: wrong inputs") {
  const Array<float> values({2}), one({1});
  const Array<std::int64_t> depth({}, {3}), negative({}, {-1});
  CHECK(reason(op::OneHot{.axis = 2}, {indices({0}), depth, values}) == "axis is out of range");
  CHECK(reason(op::OneHot{}, {indices({0}), negative, values}) == "depth is out of range");
  CHECK(reason(op::OneHot{}, {indices({0}), indices({1, 2}), values}) == "depth is not one number");
  CHECK(reason(op::OneHot{}, {indices({0}), depth, one}) == "values are not a pair");
  CHECK(reason(op::OneHot{}, {indices({0}), Array<bool>({1}), values}) == "depth is no number");
}
