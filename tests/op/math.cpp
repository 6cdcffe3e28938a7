#include <halftone/op/math.hpp>

#include <cmath>

#include "run_op.hpp"

using namespace run_op_test;

// Values are compared with the C library's functions of double at the rounded arguments, gradients
// with central differences.

TEST_CASE_TEMPLATE("math: functions of one number", T, float, double, half, bfloat16) {
  check_unary<T>(op::Exp{}, [](double x) { return std::exp(x); }, -20, 11);
  check_unary<T>(op::Log{}, [](double x) { return std::log(x); }, -1, 50);
  check_unary<T>(op::Sqrt{}, [](double x) { return std::sqrt(x); }, -1, 50, 1.01);
  check_unary<T>(op::Reciprocal{}, [](double x) { return 1 / x; }, -9, 9, 1.01);
  check_unary<T>(op::Erf{}, [](double x) { return std::erf(x); }, -5, 5);
  check_unary<T>(op::Abs{}, [](double x) { return std::fabs(x); }, -9, 9, 0);
  check_unary<T>(op::Floor{}, [](double x) { return std::floor(x); }, -9, 9, 0);
  check_unary<T>(op::Ceil{}, [](double x) { return std::ceil(x); }, -9, 9, 0);
  check_unary<T>(op::Round{}, [](double x) { return std::nearbyint(x); }, -9, 9, 0);
  check_unary<T>(
      op::Sign{}, [](double x) { return std::isnan(x) ? x
                                        : x > 0       ? 1
                                        : x < 0       ? -1
                                                      : 0.0; }, -9, 9,
      0);
  check_unary<T>(op::Sin{}, [](double x) { return std::sin(x); }, -30, 30, 4, 1e-16);
  check_unary<T>(op::Cos{}, [](double x) { return std::cos(x); }, -30, 30, 4, 1e-16);
  check_unary<T>(op::Tan{}, [](double x) { return std::tan(x); }, -30, 30, 8, 1e-16);
  check_unary<T>(op::Asin{}, [](double x) { return std::asin(x); }, -1.1, 1.1);
  check_unary<T>(op::Acos{}, [](double x) { return std::acos(x); }, -1.1, 1.1);
  check_unary<T>(op::Atan{}, [](double x) { return std::atan(x); }, -9, 9);
  check_unary<T>(op::Sinh{}, [](double x) { return std::sinh(x); }, -9, 9);
  check_unary<T>(op::Cosh{}, [](double x) { return std::cosh(x); }, -9, 9);
  check_unary<T>(op::Tanh{}, [](double x) { return std::tanh(x); }, -9, 9);
  check_unary<T>(op::Asinh{}, [](double x) { return std::asinh(x); }, -9, 9);
  check_unary<T>(op::Acosh{}, [](double x) { return std::acosh(x); }, 0.5, 9);
  check_unary<T>(op::Atanh{}, [](double x) { return std::atanh(x); }, -1.1, 1.1);
}

TEST_CASE_TEMPLATE("math: Abs and Sign of integers", T, std::int8_t, std::int32_t, std::int64_t) {
  const T lowest = std::numeric_limits<T>::min();
  const Array<T> x({5}, {-3, 0, 7, lowest, static_cast<T>(lowest + 1)});
  check_equal<T>(run(op::Abs{}, {x}), {5},
                 {3, 0, 7, static_cast<double>(lowest), -static_cast<double>(lowest + 1)});
  check_equal<T>(run(op::Sign{}, {x}), {5}, {-1, 0, 1, -1, -1});
  check_equal<std::uint8_t>(run(op::Sign{}, {array<std::uint8_t>({2}, {0, 200})}), {2}, {0, 1});
}

TEST_CASE("math: halves round to even, as in the example of the ONNX specification") {
  const Array<float> x({15}, {0.1f, 0.5f, 0.9f, 1.2f, 1.5f, 1.8f, 2.3f, 2.5f, 2.7f, -1.1f, -1.5f,
                              -1.9f, -2.2f, -2.5f, -2.8f});
  check_equal<float>(run(op::Round{}, {x}), {15},
                     {0, 0, 1, 1, 2, 2, 2, 2, 3, -1, -2, -2, -2, -2, -3});
}

TEST_CASE_TEMPLATE("math: IsNaN and IsInf", T, float, double, half, bfloat16) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Array<T> x = array<T>({5}, {std::nan(""), infinity, -infinity, 0, 3});
  check_equal<bool>(run(op::IsNaN{}, {x}), {5}, {1, 0, 0, 0, 0});
  check_equal<bool>(run(op::IsInf{}, {x}), {5}, {0, 1, 1, 0, 0});
  check_equal<bool>(run(op::IsInf{.detect_negative = 0}, {x}), {5}, {0, 1, 0, 0, 0});
  check_equal<bool>(run(op::IsInf{.detect_positive = 0}, {x}), {5}, {0, 0, 1, 0, 0});
  check_equal<bool>(run(op::IsInf{.detect_negative = 0, .detect_positive = 0}, {x}), {5},
                    {0, 0, 0, 0, 0});
}

TEST_CASE_TEMPLATE("math: Pow of two floats as C's pow", T, float, double, half, bfloat16) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  std::vector<double> bases{0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, infinity, -infinity, nan};
  std::vector<double> powers{0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 7.25, infinity, -infinity, nan};
  const auto n = static_cast<std::int64_t>(bases.size());
  const Array<T> x = array<T>({n, 1}, bases), y = array<T>({n}, powers);
  std::vector<double> expected;
  for (const double a : bases)
    for (const double b : powers) expected.push_back(std::pow(a, b));
  check_close<T>(run(op::Pow{}, {x, y}), expected);
}

TEST_CASE("math: Pow of types that differ") {
  // Examples of the ONNX specification.
  const Array<float> x({3}, {1, 2, 3});
  const Array<std::int64_t> n({3}, {1, 2, 3});
  check_equal<float>(run(op::Pow{}, {x, array<std::int64_t>({3}, {4, 5, 6})}), {3}, {1, 32, 729});
  check_equal<std::int64_t>(run(op::Pow{}, {n, array<float>({3}, {4, 5, 6})}), {3}, {1, 32, 729});
  check_equal<float>(run(op::Pow{}, {x, array<std::int32_t>({3}, {4, 5, 6})}), {3}, {1, 32, 729});
  check_equal<std::int32_t>(
      run(op::Pow{}, {array<std::int32_t>({3}, {1, 2, 3}), array<std::uint32_t>({3}, {4, 5, 6})}),
      {3}, {1, 32, 729});
  // Laws of integer powers; powers of halves and doubles.
  check_equal<std::int64_t>(run(op::Pow{}, {array<std::int64_t>({7}, {0, 0, 1, -1, -1, 2, -3}),
                                            array<std::int64_t>({7}, {0, -2, -5, -3, -4, -1, 3})}),
                            {7}, {1, 0, 1, -1, 1, 0, -27});
  check_equal<std::int32_t>(
      run(op::Pow{}, {array<std::int32_t>({3}, {4, 10, -10}), array<double>({3}, {0.5, 99, 99})}),
      {3}, {2, 2147483647, -2147483648.0});
  check_equal<double>(run(op::Pow{}, {array<double>({2}, {9, -2}), array<half>({2}, {0.5, 3})}),
                      {2}, {3, -8});
  check_equal<half>(run(op::Pow{}, {array<half>({2}, {9, -2}), array<float>({2}, {0.5, 3})}), {2},
                    {3, -8});
  check_equal<float>(
      run(op::Pow{}, {array<float>({2}, {-1, 3}), array<std::int64_t>({2}, {16777217, 2})}), {2},
      {-1, 9});
  CHECK(reason(op::Pow{}, {Array<float>({2}), Array<bool>({2})}) == "element type is not offered");
  CHECK(reason(op::Pow{}, {Array<std::uint8_t>({2}), Array<float>({2})}) ==
        "element type is not offered");
}

TEST_CASE("math: a square is the same whatever its neighbours' powers are") {
  const Array<float> x = scattered<float>({64}, 0.1, 9);
  Array<float> two({64}), mixed({64});
  for (std::size_t i = 0; i < 64; ++i) two[i] = 2, mixed[i] = i % 2 == 0 ? 2 : 2.5f;
  const auto a = doubles(run(op::Pow{}, {x, two})), b = doubles(run(op::Pow{}, {x, mixed}));
  for (std::size_t i = 0; i < 64; i += 2) CHECK(a[i] == b[i]);
}

TEST_CASE("math: gradients against central differences") {
  check_gradient(op::Exp{}, -3, 3);
  check_gradient(op::Log{}, 0.1, 5);
  check_gradient(op::Sqrt{}, 0.1, 5);
  check_gradient(op::Reciprocal{}, 0.2, 5);
  check_gradient(op::Erf{}, -2, 2);
  check_gradient(op::Abs{}, 0.1, 5);
  check_gradient(op::Abs{}, -5, -0.1);
  check_gradient(op::Sin{}, -5, 5);
  check_gradient(op::Cos{}, -5, 5);
  check_gradient(op::Tan{}, -1.3, 1.3);
  check_gradient(op::Asin{}, -0.9, 0.9);
  check_gradient(op::Acos{}, -0.9, 0.9);
  check_gradient(op::Atan{}, -5, 5);
  check_gradient(op::Sinh{}, -3, 3);
  check_gradient(op::Cosh{}, -3, 3);
  check_gradient(op::Tanh{}, -3, 3);
  check_gradient(op::Asinh{}, -3, 3);
  check_gradient(op::Acosh{}, 1.1, 5);
  check_gradient(op::Atanh{}, -0.9, 0.9);
  for (const double x : {-2.3, 0.4}) {
    CHECK(op::Floor::backward(1.0, x) == 0);
    CHECK(op::Ceil::backward(1.0, x) == 0);
    CHECK(op::Round::backward(1.0, x) == 0);
    CHECK(op::Sign::backward(1.0, x) == 0);
  }
}

TEST_CASE("math: gradient of Pow") {
  const double h = 1e-6;
  for (const double x : {0.3, 1.0, 2.5}) {
    for (const double y : {-1.5, 0.0, 2.0, 3.25}) {
      const auto [dx, dy] = op::Pow::backward(1.0, x, y);
      CHECK(dx == doctest::Approx((std::pow(x + h, y) - std::pow(x - h, y)) / (2 * h)));
      CHECK(dy == doctest::Approx((std::pow(x, y + h) - std::pow(x, y - h)) / (2 * h)));
    }
  }
  // Where the formula has 0 times infinity.
  CHECK(op::Pow::backward(1.0, 0.0, 0.0) == std::tuple(0.0, 0.0));
  CHECK(op::Pow::backward(1.0, 0.0, 2.0) == std::tuple(0.0, 0.0));
}
