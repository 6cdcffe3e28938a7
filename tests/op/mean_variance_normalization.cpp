#include <halftone/op/mean_variance_normalization.hpp>

#include "expanded.hpp"

using namespace run_op_test;

namespace {

/// The line along `axis` of [2, 3, 4] that element i is on.
std::size_t line_of(std::size_t i, std::size_t axis) {
  const std::size_t at[] = {i / 12, i / 4 % 3, i % 4};
  return axis == 0 ? at[1] * 4 + at[2] : axis == 1 ? at[0] * 4 + at[2] : at[0] * 3 + at[1];
}

}  // namespace

TEST_CASE_TEMPLATE("mean variance normalization: the definition", T, float, double, half) {
  const Array<T> x = scattered<T>({2, 3, 2, 2}, 90, 110);
  const std::vector<double> v = doubles(x);
  std::vector<double> expected;
  for (std::size_t i = 0; i < v.size(); ++i) {
    double sum = 0, squares = 0;
    for (const bool second : {false, true}) {
      for (std::size_t k = 0; k < v.size(); ++k) {
        if (k / 4 % 3 != i / 4 % 3) continue;
        if (second) {
          squares += (v[k] - sum / 8) * (v[k] - sum / 8);
        } else {
          sum += v[k];
        }
      }
    }
    expected.push_back((v[i] - sum / 8) / (std::sqrt(squares / 8) + 1e-9));
  }
  check_close<T>(run_session(op::MeanVarianceNormalization{}, {x})[0], expected, 8,
                 sizeof(T) == 8 ? 1e-13 : 1e-5);
  // What does not vary is 0, in half as well.
  const Array<T> flat = array<T>({2, 2}, {3, 3, 5, 5});
  check_close<T>(run_session(op::MeanVarianceNormalization{.axes = {-1}}, {flat})[0], {0, 0, 0, 0});
}

TEST_CASE_TEMPLATE("norms: each line by its own", T, float, double, half) {
  const Array<T> x = scattered<T>({2, 3, 4}, -3, 3);
  const std::vector<double> v = doubles(x);
  for (const std::int64_t axis : {0, 1, 2, -1, -3}) {
    const std::size_t at = normalized_axis(axis, 3);
    for (const std::int64_t p : {1, 2}) {
      std::vector<double> expected;
      for (std::size_t i = 0; i < v.size(); ++i) {
        double norm = 0;
        for (std::size_t k = 0; k < v.size(); ++k) {
          if (line_of(k, at) == line_of(i, at)) norm += p == 1 ? std::fabs(v[k]) : v[k] * v[k];
        }
        expected.push_back(v[i] / (p == 1 ? norm : std::sqrt(norm)));
      }
      check_close<T>(run_session(op::LpNormalization{.axis = axis, .p = p}, {x})[0], expected, 8);
    }
  }
  check_equal<T>(run_session(op::LpNormalization{}, {array<T>({2, 2}, {0, 0, 3, 4})})[0], {2, 2},
                 doubles(array<T>({2, 2}, {0, 0, 0.6, 0.8})));
  CHECK_THROWS_AS(run_session(op::LpNormalization{.p = 3}, {x}), ModelError);
}
