#include <halftone/op/arg_max.hpp>

#include <halftone/op/hardmax.hpp>

#include "movement.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("argmax, argmin: the definition along every axis", T, float, half, bfloat16,
                   std::int8_t, std::uint64_t) {
  const Dims shape{3, 5, 70};
  const Array<T> x = scattered<T>(shape, 0, 9);
  const std::vector<double> values = doubles(x);
  for (std::int64_t axis = -3; axis < 3; ++axis) {
    const std::size_t at = normalized_axis(axis, 3);
    for (const bool largest : {false, true}) {
      for (const std::int64_t last : {0, 1}) {
        Dims reduced = shape;
        reduced[at] = 1;
        std::vector<double> expected;
        for_each_index(reduced, [&](const Dims& index, std::size_t) {
          Dims i = index, best = index;
          for (i[at] = 0; i[at] < shape[at]; ++i[at]) {
            const double v = values[position(shape, i)], b = values[position(shape, best)];
            if ((largest ? v > b : v < b) || (last != 0 && v == b)) best = i;
          }
          expected.push_back(static_cast<double>(best[at]));
        });
        const AnyArray y =
            largest ? run(op::ArgMax{.axis = axis, .select_last_index = last}, {x}, backwards())
                    : run(op::ArgMin{.axis = axis, .select_last_index = last}, {x});
        check_equal<std::int64_t>(y, reduced, expected);
      }
    }
  }
}

TEST_CASE_TEMPLATE("argmax, argmin: lines and columns around whole vectors", T, float, double, half,
                   std::int8_t, std::uint32_t, std::int64_t) {
  for (const std::int64_t n : {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300}) {
    for (const std::int64_t inner : {1, 2, 17}) {
      const Dims shape{3, n, inner};
      const Array<T> x = scattered<T>(shape, 0, 40);
      const std::vector<double> values = doubles(x);
      for (const bool last : {false, true}) {
        std::vector<double> largest, smallest;
        for_each_index({3, 1, inner}, [&](const Dims& index, std::size_t) {
          Dims i = index, most = index, least = index;
          for (; i[1] < n; ++i[1]) {
            const double v = values[position(shape, i)];
            const double high = values[position(shape, most)], low = values[position(shape, least)];
            if (v > high || (last && v == high)) most = i;
            if (v < low || (last && v == low)) least = i;
          }
          largest.push_back(static_cast<double>(most[1]));
          smallest.push_back(static_cast<double>(least[1]));
        });
        const std::int64_t chosen = last ? 1 : 0;
        check_equal<std::int64_t>(run(op::ArgMax{.axis = 1, .select_last_index = chosen}, {x}),
                                  {3, 1, inner}, largest);
        check_equal<std::int64_t>(run(op::ArgMin{.axis = 1, .select_last_index = chosen}, {x}),
                                  {3, 1, inner}, smallest);
      }
    }
  }
}

TEST_CASE("argmax, argmin: the first NaN, wherever it is") {
  for (const std::int64_t inner : {1, 20}) {
    for (std::int64_t n = 2; n < 200; n += 31) {
      for (std::int64_t at = 0; at < n; at += n / 2) {
        Array<float> x({n, inner});
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
        for (std::int64_t k = at; k < n; k += 3) {
          for (std::int64_t i = 0; i < inner; ++i) {
            x[static_cast<std::size_t>(k * inner + i)] = std::nanf("");
          }
        }
        const std::vector<double> expected(static_cast<std::size_t>(inner),
                                           static_cast<double>(at));
        for (const std::int64_t last : {0, 1}) {
          check_equal<std::int64_t>(run(op::ArgMax{.select_last_index = last}, {x}), {1, inner},
                                    expected);
          check_equal<std::int64_t>(run(op::ArgMin{.select_last_index = last}, {x}), {1, inner},
                                    expected);
        }
      }
    }
  }
}

TEST_CASE("argmax: shapes and special numbers") {
  const double nan = std::nan("");
  const Array<float> x({2, 3}, {1, 3, 3, -1, -2, -1});
  check_equal<std::int64_t>(run(op::ArgMax{.axis = -1, .keepdims = 0}, {x}), {2}, {1, 0});
  check_equal<std::int64_t>(run(op::ArgMin{.axis = 1, .keepdims = 0}, {x}), {2}, {0, 1});
  check_equal<std::int64_t>(run(op::ArgMax{}, {x}), {1, 3}, {0, 0, 0});
  // As numpy has it: the first NaN is both.
  const Array<float> odd = array<float>({5}, {1, nan, 3, nan, -4});
  check_equal<std::int64_t>(run(op::ArgMax{}, {odd}), {1}, {1});
  check_equal<std::int64_t>(run(op::ArgMin{.select_last_index = 1}, {odd}), {1}, {1});
  const double infinity = std::numeric_limits<double>::infinity();
  check_equal<std::int64_t>(run(op::ArgMax{}, {array<half>({2}, {-infinity, -infinity})}), {1},
                            {0});
  check_equal<std::int64_t>(run(op::ArgMax{.axis = 1}, {Array<float>({0, 3})}), {0, 1}, {});
  check_equal<std::int64_t>(run(op::ArgMax{.axis = 0}, {Array<float>({3, 0})}), {1, 0}, {});
  CHECK(reason(op::ArgMax{.axis = 1}, {Array<float>({3})}) == "axis is out of range");
  CHECK(reason(op::ArgMin{}, {Array<float>(Dims{})}) == "axis is out of range");
  CHECK(reason(op::ArgMin{}, {Array<float>({0})}) == "there is no element to choose from");
}

TEST_CASE_TEMPLATE("hardmax: a one for the first largest element", T, float, half) {
  const Array<T> x = array<T>({2, 2, 2}, {1, 5, 3, 5, 0, -1, 0, -2});
  check_equal<T>(run(op::Hardmax{}, {x}), {2, 2, 2}, {0, 1, 0, 1, 1, 0, 1, 0});
  check_equal<T>(run(op::Hardmax{.axis = -2}, {x}), {2, 2, 2}, {0, 1, 1, 0, 1, 1, 0, 0});
  check_equal<T>(run(op::Hardmax{.axis = 0}, {x}), {2, 2, 2}, {1, 1, 1, 1, 0, 0, 0, 0});
  check_equal<T>(run(op::Hardmax{}, {Array<T>({2, 0})}), {2, 0}, {});
  CHECK(reason(op::Hardmax{.axis = 3}, {x}) == "axis is out of range");
  // Before opset 13 all dimensions from the axis on are one.
  check_equal<T>(run_expanded<op::Hardmax, op::Flatten, op::Reshape>(op::Hardmax_1{}, {x}),
                 {2, 2, 2}, {0, 1, 0, 0, 1, 0, 0, 0});
}
