#include <halftone/kernel/softmax.hpp>
#include <halftone/op/softmax.hpp>

#include <cmath>
#include <cstring>

#include "run_op.hpp"

using namespace run_op_test;

namespace {

/// The definition in double; the middle one of [outer, n, inner].
std::vector<double> by_definition(const std::vector<double>& x, std::size_t outer, std::size_t n,
                                  std::size_t inner, bool logarithm) {
  std::vector<double> y(x.size());
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < inner; ++i) {
      const auto at = [&](std::size_t k) { return (o * n + k) * inner + i; };
      double largest = x[at(0)], sum = 0;
      for (std::size_t k = 0; k < n; ++k) largest = std::fmax(largest, x[at(k)]);
      for (std::size_t k = 0; k < n; ++k) sum += std::exp(x[at(k)] - largest);
      for (std::size_t k = 0; k < n; ++k) {
        const double v = x[at(k)] - largest;
        y[at(k)] = logarithm ? v - std::log(sum) : std::exp(v) / sum;
      }
    }
  return y;
}

}  // namespace

TEST_CASE_TEMPLATE("softmax: the definition along every axis", T, float, double, half, bfloat16) {
  for (const std::int64_t n : {1, 2, 3, 7, 8, 16, 17, 33, 100, 1000}) {
    for (const std::int64_t inner : {1, 2, 5, 16, 19, 40}) {
      const Array<T> x = scattered<T>({3, n, inner}, -9, 9, static_cast<std::uint64_t>(n));
      const auto size = static_cast<std::size_t>(n), columns = static_cast<std::size_t>(inner);
      // A difference of up to 18 is rounded before it becomes an exponent.
      const double units = 32;
      check_close<T>(run(op::Softmax{.axis = 1}, {x}),
                     by_definition(doubles(x), 3, size, columns, false), units);
      check_close<T>(run(op::LogSoftmax{.axis = -2}, {x}),
                     by_definition(doubles(x), 3, size, columns, true), units, 1e-6);
    }
  }
  const Array<T> x = scattered<T>({4, 6}, -3, 3);
  check_close<T>(run(op::Softmax{.axis = 0}, {x}), by_definition(doubles(x), 1, 4, 6, false), 16);
  check_close<T>(run(op::Softmax{}, {x}), by_definition(doubles(x), 4, 6, 1, false), 16);
}

TEST_CASE("softmax: examples of the ONNX specification") {
  const Array<float> x({1, 3}, {-1, 0, 1});
  check_close<float>(run(op::Softmax{.axis = 1}, {x}), {0.09003058, 0.24472848, 0.66524094}, 4,
                     1e-7);
  check_close<float>(run(op::LogSoftmax{.axis = 1}, {x}), {-2.4076061, -1.407606, -0.407606}, 4,
                     1e-6);
  const Array<float> large({2, 4}, {0, 1, 2, 3, 10000, 10001, 10002, 10003});
  const std::vector<double> row{0.032058604, 0.08714432, 0.23688284, 0.6439143};
  check_close<float>(run(op::Softmax{}, {large}),
                     {row[0], row[1], row[2], row[3], row[0], row[1], row[2], row[3]}, 4, 1e-7);
}

TEST_CASE("softmax: infinities and NaN spoil their line only") {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Array<float> x =
      array<float>({5, 2}, {0, -infinity, infinity, 0, -infinity, -infinity, nan, 0, 1, 1});
  check_close<float>(run(op::Softmax{}, {x}), {1, 0, nan, nan, nan, nan, nan, nan, 0.5, 0.5});
  check_close<float>(run(op::LogSoftmax{}, {x}),
                     {0, -infinity, nan, nan, nan, nan, nan, nan, -std::log(2.0), -std::log(2.0)});
}

TEST_CASE_TEMPLATE("softmax: in place is the same", T, float, half) {
  for (const std::int64_t inner : {1, 21}) {
    for (const bool logarithm : {false, true}) {
      const Array<T> x = scattered<T>({5, 37, inner}, -5, 5);
      Array<T> y({5, 37, inner}), z({5, 37, inner}, x.values());
      kernel::softmax<T>({}, logarithm, x.begin(), y.begin(), 5, 37, inner);
      kernel::softmax<T>({}, logarithm, z.begin(), z.begin(), 5, 37, inner);
      CHECK(std::memcmp(y.data(), z.data(), y.bytes()) == 0);
    }
  }
}

TEST_CASE("softmax: empty tensors, and axes that are not there") {
  check_equal<float>(run(op::Softmax{}, {Array<float>({0, 4})}), {0, 4}, {});
  check_equal<float>(run(op::Softmax{}, {Array<float>({4, 0})}), {4, 0}, {});
  CHECK(reason(op::Softmax{.axis = 2}, {Array<float>({2, 2})}) == "axis is out of range");
  CHECK(reason(op::Softmax{.axis = -3}, {Array<float>({2, 2})}) == "axis is out of range");
  CHECK(reason(op::LogSoftmax{}, {Array<float>({}, {1})}) == "axis is out of range");
  CHECK(reason(op::Softmax{}, {Array<std::int32_t>({2, 2})}) == "element type is not offered");
}

TEST_CASE("softmax: before opset 13 over all dimensions from the axis on") {
  const Array<float> x = scattered<float>({2, 3, 4}, -3, 3);
  const AnyArray y = run_expanded<op::Softmax, op::Flatten, op::Reshape>(op::Softmax_1{}, {x});
  CHECK(y.info().shape == Dims{2, 3, 4});
  check_close<float>(y, by_definition(doubles(x), 2, 12, 1, false), 32);
  const AnyArray z =
      run_expanded<op::LogSoftmax, op::Flatten, op::Reshape>(op::LogSoftmax_1{{.axis = 0}}, {x});
  check_close<float>(z, by_definition(doubles(x), 1, 24, 1, true), 16, 1e-6);
  for (const std::int64_t axis : {0, 1, 2}) {
    const AnyArray empty = run_expanded<op::Softmax, op::Flatten, op::Reshape>(
        op::Softmax_1{{.axis = axis}}, {Array<float>({2, 0, 4, 3})});
    check_equal<float>(empty, {2, 0, 4, 3}, {});
  }
  // A single dimension needs no other shape.
  check_close<float>(run_expanded<op::Softmax>(op::Softmax_1{{.axis = -1}}, {x}),
                     by_definition(doubles(x), 6, 4, 1, false), 16);
  const Array<float> features = scattered<float>({2, 12, 1, 1}, -3, 3);
  check_close<float>(run_expanded<op::Softmax>(op::Softmax_1{}, {features}),
                     by_definition(doubles(features), 2, 12, 1, false), 16);
}
