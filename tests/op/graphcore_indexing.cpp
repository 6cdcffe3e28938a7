#include <halftone/op/graphcore_scatter.hpp>
#include <halftone/op/graphcore_statistics.hpp>

#include <halftone/base/error.hpp>

#include <algorithm>
#include <cmath>

#include "movement.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("bucketize: the number of boundaries on the left", T, float, half, std::int32_t,
                   std::uint32_t) {
  const Array<T> x = array<T>({2, 4}, {0, 1, 2, 3, 4, 5, 9, 10}), b = array<T>({3}, {1, 4, 9});
  check_equal<std::int32_t>(run(op::Bucketize{}, {x, b}), {2, 4}, {0, 0, 1, 1, 1, 2, 2, 3});
  check_equal<std::int32_t>(run(op::Bucketize{.right = 1}, {x, b}), {2, 4},
                            {0, 1, 1, 1, 2, 2, 3, 3});
  check_equal<std::int32_t>(run(op::Bucketize{}, {x, Array<T>({0})}), {2, 4},
                            {0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(reason(op::Bucketize{.right = 2}, {x, b}) == "right is not 0 or 1");
  CHECK(reason(op::Bucketize{}, {x, x}) == "the boundaries are not a vector");
}

TEST_CASE("histogram: the definition; many elements on several threads") {
  const float nan = std::nanf("");
  const Array<float> x({8}, {-3, -1, 0, 0.5f, 1, 2, 7, nan});
  check_equal<std::uint32_t>(run(op::Histogram{.levels = {-1, 0.5f, 2}}, {x}), {4}, {2, 2, 2, 2});
  check_equal<std::uint32_t>(
      run(op::Histogram{.levels = {-1, 0.5f, 2}, .absolute_of_input = 1}, {x}), {4}, {1, 1, 3, 3});
  check_equal<std::uint32_t>(run(op::Histogram{}, {Array<half>({0, 2})}), {1}, {0});
  CHECK(reason(op::Histogram{.levels = {1, nan}}, {x}) == "a level is not a number");
  // Levels in any order are sorted, as PopART sorts them.
  check_equal<std::uint32_t>(run(op::Histogram{.levels = {2, -1, 0.5f}}, {x}), {4}, {2, 2, 2, 2});
  check_equal<std::uint32_t>(run(op::Histogram{.levels = {1, 1}}, {x}), {3}, {5, 0, 3});
  const Array<float> many = scattered<float>({100000}, 0, 4);
  std::vector<double> expected(4);
  for (const float v : many.values()) ++expected[static_cast<std::size_t>(v)];
  check_equal<std::uint32_t>(run(op::Histogram{.levels = {1, 2, 3}}, {many}, backwards()), {4},
                             expected);
}

TEST_CASE_TEMPLATE("sort: the order of std::sort along every axis, stable", T, float, half,
                   std::int8_t, std::uint64_t, double) {
  const Dims shape{3, 50, 4};
  Array<T> x = scattered<T>(shape, 0, 9);
  if constexpr (std::is_signed_v<T> || real<T>) {
    for (std::size_t i = 0; i < x.size(); i += 3) x[i] = static_cast<T>(-static_cast<float>(x[i]));
  }
  for (const std::int64_t axis : {0, 1, -1}) {
    for (const std::int64_t descending : {0, 1}) {
      const auto y = run_all(op::Sort{.axis = axis, .descending = descending}, {x}, 2);
      const std::size_t at = normalized_axis(axis, 3);
      const std::vector<double> values = doubles(x), sorted = doubles(y[0]), where = doubles(y[1]);
      bool same = true;
      for_each_index(shape, [&](const Dims& start, std::size_t) {
        if (start[at] != 0) return;
        const auto place = [&](std::int64_t i) {
          Dims index = start;
          index[at] = i;
          return position(shape, index);
        };
        std::vector<std::int64_t> order(static_cast<std::size_t>(shape[at]));
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
        // In the order of their indices where they are equal.
        std::sort(order.begin(), order.end(), [&](std::int64_t m, std::int64_t n) {
          const double left = values[place(m)], right = values[place(n)];
          if (left == right) return m < n;
          return descending != 0 ? left > right : left < right;
        });
        for (std::size_t i = 0; i < order.size(); ++i) {
          const std::size_t to = place(static_cast<std::int64_t>(i));
          same = same && sorted[to] == values[place(order[i])] &&
                 where[to] == static_cast<double>(order[i]);
        }
      });
      CHECK(same);
    }
  }
  CHECK(reason(op::Sort{.axis = 3}, {x}) == "axis is out of range");
  CHECK(run(op::Sort{}, {Array<T>({3, 0})}).info().shape == Dims{3, 0});
  CHECK(run(op::Sort{}, {Array<T>({0, 3})}).info().shape == Dims{0, 3});
}

TEST_CASE("sort: NaN comes last, zeros of both signs are equal") {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  const Array<float> x({6}, {nan, 0, -0.f, infinity, -infinity, -1});
  const auto y = run_all(op::Sort{}, {x}, 2);
  CHECK(doubles(y[1]) == std::vector<double>{4, 5, 1, 2, 3, 0});
  CHECK(std::isnan(doubles(y[0])[5]));
}

TEST_CASE_TEMPLATE("median: the lower middle one, with its row-major index", T, float, half,
                   std::int32_t) {
  const Array<T> x = array<T>({2, 2, 3}, {5, 1, 4, 2, 6, 3, 9, 9, 7, 8, 7, 7});
  const auto over = [&](const Dims& axes, std::int64_t keepdims) {
    return run_all(op::ReduceMedian{.axes = axes, .keepdims = keepdims}, {x}, 2);
  };
  auto y = over({1, 2}, 0);
  check_equal<T>(y[0], {2}, {3, 7});
  check_equal<std::int32_t>(y[1], {2}, {5, 5});
  y = over({0, -1}, 1);
  check_equal<T>(y[0], {1, 2, 1}, {5, 6});
  check_equal<std::int32_t>(y[1], {1, 2, 1}, {0, 1});
  y = over({}, 0);
  check_equal<T>(y[0], {}, {6});
  check_equal<std::int32_t>(y[1], {}, {4});
  y = over({0}, 0);
  check_equal<T>(y[0], {2, 3}, {5, 1, 4, 2, 6, 3});
  CHECK(reason(op::ReduceMedian{.axes = {3}}, {x}) == "axis is out of range");
  CHECK(reason(op::ReduceMedian{.axes = {0}}, {Array<T>({0, 2})}) ==
        "there is no element in the middle");
  CHECK(run(op::ReduceMedian{.axes = {1}, .keepdims = 0}, {Array<T>({0, 2})}).info().shape ==
        Dims{0});
}

TEST_CASE_TEMPLATE("scatter: every reduction", T, float, half, std::int32_t) {
  const Array<T> x = array<T>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Array<std::int32_t> list({4}, {2, 0, 2, -1});
  const auto with = [&](ScatterReduction reduction, const std::vector<AnyArray>& inputs) {
    return run(op::ScatterReduce{.axis_size = 4, .reduction = reduction}, inputs);
  };
  using R = ScatterReduction;
  check_equal<T>(with(R::sum, {x, list}), {2, 4}, {2, 0, 4, 4, 6, 0, 12, 8});
  check_equal<T>(with(R::max, {x, list}), {2, 4}, {2, 0, 3, 4, 6, 0, 7, 8});
  check_equal<T>(with(R::min, {x, list}), {2, 4}, {2, 0, 1, 4, 6, 0, 5, 8});
  check_equal<T>(with(R::mul, {x, list}), {2, 4}, {2, 1, 3, 4, 6, 1, 35, 8});
  check_equal<T>(with(R::last, {x, list}), {2, 4}, {2, 0, 3, 4, 6, 0, 7, 8});
  const Array<T> initial = array<T>({2, 4}, {3, 3, 3, 3, 6, 6, 6, 6});
  check_equal<T>(with(R::sum, {x, list, initial}), {2, 4}, {5, 3, 7, 7, 12, 6, 18, 14});
  check_equal<T>(with(R::max, {x, list, initial}), {2, 4}, {3, 3, 3, 4, 6, 6, 7, 8});
  check_equal<T>(with(R::min, {x, list, initial}), {2, 4}, {2, 3, 1, 3, 6, 6, 5, 6});
  check_equal<T>(with(R::last, {x, list, initial}), {2, 4}, {2, 3, 3, 4, 6, 6, 7, 8});
  // Indices of x's shape; along the first dimension; in groups; smaller than x.
  check_equal<T>(with(R::sum, {x, Array<std::int64_t>({2, 4}, {0, 0, 1, 1, 3, 2, 1, 0})}), {2, 4},
                 {3, 7, 0, 0, 8, 7, 6, 5});
  check_equal<T>(
      run(op::ScatterReduce{.axis = 0, .axis_size = 3}, {x, Array<std::uint32_t>({2, 1}, {2, 2})}),
      {3, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 6, 8, 10, 12});
  const Array<T> deep = array<T>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  check_equal<T>(run(op::ScatterReduce{.axis = 1, .axis_size = 2, .group_size = 2},
                     {deep, Array<std::int32_t>({2, 2}, {1, 1, 1, 0})}),
                 {2, 2, 2}, {0, 0, 4, 6, 7, 8, 5, 6});
  check_equal<T>(run(op::ScatterReduce{.axis_size = 2, .enable_index_broadcast = 0},
                     {x, Array<std::int32_t>({1, 3}, {1, 0, 1})}),
                 {2, 2}, {2, 4, 0, 0});
}

TEST_CASE("scatter: wrong ones") {
  const Array<float> x({2, 4});
  const Array<std::int32_t> list({4});
  using Op = op::ScatterReduce;
  CHECK(reason(Op{.axis = 2, .axis_size = 1}, {x, list}) == "axis is out of range");
  CHECK(reason(Op{.axis_size = 0}, {x, list}) == "axis_size is less than 1");
  CHECK(reason(Op{}, {x, list}) == "an attribute is missing");
  CHECK(reason(Op{.axis_size = 1, .group_size = 0}, {x, list}) == "group_size is less than 1");
  CHECK(reason(Op{.axis = 0, .axis_size = 1, .group_size = 2}, {x, list}) ==
        "the axis is that of the groups");
  CHECK(reason(Op{.axis_size = 1, .group_size = 3}, {x, list}) ==
        "group_size is not the first extent");
  CHECK(reason(Op{.axis_size = 1}, {x, Array<std::int32_t>({3})}) ==
        "indices are neither of the input's shape nor one list");
  CHECK(reason(Op{.axis_size = 1, .enable_index_broadcast = 0}, {x, list}) ==
        "indices have another number of dimensions");
  CHECK(reason(Op{.axis_size = 1, .enable_index_broadcast = 0}, {x, Array<std::int32_t>({3, 1})}) ==
        "there are more indices than elements");
  CHECK(reason(Op{.axis_size = 3}, {x, list, x}) == "the initial values have another shape");
  CHECK(reason(Op{.axis_size = 3}, {x, list, Array<float>({2})}) ==
        "the initial values have another number of dimensions");
  CHECK_THROWS_AS(run(Op{.axis_size = 3}, {x, Array<std::int32_t>({4}, {0, 1, 3, 2})}), InputError);
}

TEST_CASE_TEMPLATE("grouped gather: a gather in each group", T, std::uint8_t, float) {
  const Array<T> x = counted<T>({2, 3, 4, 2});
  const Array<std::int32_t> which({2, 3}, {3, 0, -1, 1, 1, 2});
  check_moved(run(op::GroupedGather{.axis = 2, .group_size = 2}, {x, which}), {2, 3, 3, 2}, x,
              [&](const Dims& i) {
                const std::int64_t k = which[static_cast<std::size_t>(i[0] * 3 + i[2])];
                return Dims{i[0], i[1], k < 0 ? k + 4 : k, i[3]};
              });
  check_moved(run(op::GroupedGather{.axis = -1}, {x, Array<std::int64_t>({1, 2}, {1, 0})}),
              {2, 3, 4, 1, 2}, x, [](const Dims& i) { return Dims{i[0], i[1], i[2], 1 - i[4]}; });
  CHECK(reason(op::GroupedGather{.group_size = 2}, {x, which}) == "the axis is that of the groups");
  CHECK(reason(op::GroupedGather{.axis = 1, .group_size = 3}, {x, which}) ==
        "the indices are not in groups");
  CHECK(reason(op::GroupedGather{.axis = 1, .group_size = 3}, {x, Array<std::int32_t>({3, 1})}) ==
        "group_size is not the first extent");
}
