#include <halftone/op/scatter_elements.hpp>

#include <halftone/base/error.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

double joined(ScatterMode mode, double a, double b) {
  switch (mode) {
    case ScatterMode::add:
      return a + b;
    case ScatterMode::mul:
      return a * b;
    case ScatterMode::max:
      return a > b ? a : b;
    case ScatterMode::min:
      return a < b ? a : b;
    default:
      return b;
  }
}

constexpr ScatterMode modes[] = {ScatterMode::replace, ScatterMode::add, ScatterMode::mul,
                                 ScatterMode::max, ScatterMode::min};

/// The definition, one update after the other; small whole numbers are exact in every type.
template <class T, class I>
void check_elements(const Dims& shape, const Dims& updated, std::int64_t axis, ScatterMode mode,
                    const halftone::kernel::Executor& executor = {}) {
  const std::size_t at = normalized_axis(axis, shape.size());
  const Array<T> x = array<T>(shape, doubles(scattered<std::int8_t>(shape, 0, 4)));
  const Array<T> updates = array<T>(updated, doubles(scattered<std::int8_t>(updated, 0, 3, 5)));
  Array<I> which(updated);
  std::vector<double> y = doubles(x);
  const std::vector<double> changes = doubles(updates);
  for_each_index(updated, [&](const Dims& index, std::size_t i) {
    // A place is hit at most three times or so: products stay small.
    Dims target = index;
    target[at] = (index[at] * 2 + index[0]) % shape[at];
    which[i] = static_cast<I>(i % 2 == 0 ? target[at] : target[at] - shape[at]);
    double& place = y[position(shape, target)];
    place = joined(mode, place, changes[i]);
  });
  check_equal<T>(
      run(op::ScatterElements{.axis = axis, .reduction = mode}, {x, which, updates}, executor),
      shape, y);
}

}  // namespace

TEST_CASE_TEMPLATE("scatter_elements: the definition", T, std::uint8_t, std::int64_t, half,
                   bfloat16, float) {
  for (const ScatterMode mode : modes) {
    for (std::int64_t axis = -3; axis < 3; ++axis) {
      check_elements<T, std::int64_t>({3, 4, 5}, {3, 4, 5}, axis, mode);
      check_elements<T, std::int32_t>({3, 4, 5}, {2, 3, 4}, axis, mode);
    }
    check_elements<T, std::int32_t>({3, 4}, {0, 4}, 0, mode);
  }
}

TEST_CASE("scatter_elements: large ones are divided") {
  check_elements<float, std::int64_t>({400, 600}, {390, 600}, 1, ScatterMode::add, backwards());
  check_elements<float, std::int64_t>({400, 600}, {400, 500}, 0, ScatterMode::replace, backwards());
}

TEST_CASE("scatter_nd: the definition") {
  const Array<float> x = counted<float>({3, 2, 4});
  const Array<std::int64_t> which({2, 2, 2}, {0, 0, 2, -1, -3, 1, 0, 0});
  const Array<float> updates = counted<float>({2, 2, 4});
  for (const ScatterMode mode : modes) {
    std::vector<double> y = doubles(x);
    const std::size_t rows[] = {0, 5, 1, 0};
    for (std::size_t i = 0; i < 16; ++i) {
      double& place = y[rows[i / 4] * 4 + i % 4];
      place = joined(mode, place, static_cast<double>(i));
    }
    check_equal<float>(run(op::ScatterND{.reduction = mode}, {x, which, updates}), {3, 2, 4}, y);
  }
  // Single elements, and rows that are divided among tasks.
  const Array<std::int64_t> ends({2, 1}, {-1, 0});
  check_equal<half>(
      run(op::ScatterND{}, {array<half>({4}, {1, 2, 3, 4}), ends, array<half>({2}, {8, 9})}), {4},
      {9, 2, 3, 8});
  const Array<double> rows = counted<double>({2, 100000});
  std::vector<double> sum = doubles(rows), change = sum;
  for (std::size_t i = 0; i < 100000; ++i) {
    sum[i] += change[100000 + i];
    sum[100000 + i] += change[i];
  }
  check_equal<double>(
      run(op::ScatterND{.reduction = ScatterMode::add}, {rows, ends, rows}, backwards()),
      {2, 100000}, sum);
}

TEST_CASE("scatter: numbers that are none, truth, the operator's first name") {
  const double nan = std::nan("");
  const Array<std::int64_t> which({3}, {0, 1, 2});
  const Array<float> x = array<float>({3}, {nan, 1, 2}), updates = array<float>({3}, {1, nan, 3});
  for (const ScatterMode mode : {ScatterMode::max, ScatterMode::min}) {
    const auto y = doubles(run(op::ScatterElements{.reduction = mode}, {x, which, updates}));
    CHECK(std::isnan(y[0]));
    CHECK(std::isnan(y[1]));
    CHECK(y[2] == (mode == ScatterMode::max ? 3 : 2));
  }
  check_equal<bool>(run(op::ScatterElements{.reduction = ScatterMode::add},
                        {array<bool>({3}, {0, 1, 0}), which, array<bool>({3}, {0, 1, 1})}),
                    {3}, {0, 1, 1});
  check_equal<float>(run_expanded<op::ScatterElements>(
                         op::Scatter{.axis = 1},
                         {array<float>({1, 3}, {1, 2, 3}), Array<std::int64_t>({1, 2}, {2, 0}),
                          array<float>({1, 2}, {8, 9})}),
                     {1, 3}, {9, 2, 8});
}

TEST_CASE("scatter: indices out of range, wrong shapes") {
  const Array<float> x({3, 2}), row({1, 2});
  const Array<std::int64_t> which({1, 2}, {0, 3}), flat({1});
  CHECK_THROWS_AS(run(op::ScatterElements{}, {x, which, row}), InputError);
  CHECK_THROWS_AS(run(op::ScatterND{}, {x, which, Array<float>({1})}), InputError);
  CHECK(reason(op::ScatterElements{.axis = -3}, {x, which, row}) == "axis is out of range");
  CHECK(reason(op::ScatterElements{}, {x, which, x}) ==
        "updates have another shape than the indices");
  CHECK(reason(op::ScatterElements{}, {x, which, Array<float>({2})}) ==
        "updates have another rank than the indices");
  CHECK(reason(op::ScatterND{}, {x, flat, x}) ==
        "updates have another rank than indices and data ask for");
  CHECK(reason(op::ScatterND{}, {x, flat, Array<float>({3})}) ==
        "updates have another shape than indices and data ask for");
}
