#include <halftone/op/activation.hpp>

#include <cmath>

#include "run_op.hpp"

using namespace run_op_test;

// Values are compared with the formulas of the ONNX specification in double, gradients with central
// differences.

TEST_CASE_TEMPLATE("activation: formulas of the ONNX specification", T, float, double, half,
                   bfloat16) {
  const auto nan_or = [](double x, double y) { return std::isnan(x) ? x : y; };
  check_unary<T>(op::Relu{}, [&](double x) { return nan_or(x, std::fmax(x, 0)); }, -9, 9, 0);
  check_unary<T>(op::Sigmoid{}, [](double x) { return 1 / (1 + std::exp(-x)); }, -20, 20);
  check_unary<T>(
      op::LeakyRelu{.alpha = 0.125f}, [](double x) { return x < 0 ? x / 8 : x; }, -9, 9, 1.01);
  check_unary<T>(
      op::Elu{.alpha = 0.5f}, [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }, -9, 9);
  const double alpha = op::Selu{}.alpha, gamma = op::Selu{}.gamma;
  check_unary<T>(
      op::Selu{}, [&](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); }, -9, 9);
  check_unary<T>(
      op::Celu{.alpha = 2}, [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }, -9, 9);
  check_unary<T>(
      op::Softplus{},
      [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }, -30, 40, 8);
  check_unary<T>(op::Softsign{}, [](double x) { return x / (1 + std::fabs(x)); }, -9, 9);
  check_unary<T>(
      op::HardSigmoid{.alpha = 0.25f, .beta = 0.5f},
      [&](double x) { return nan_or(x, std::fmax(0, std::fmin(1, 0.25 * x + 0.5))); }, -4, 4);
  check_unary<T>(
      op::HardSwish{},
      [&](double x) { return nan_or(x, x * std::fmax(0, std::fmin(1, x / 6 + 0.5))); }, -4, 4, 4,
      1e-7);
  check_unary<T>(op::ThresholdedRelu{.alpha = 2}, [](double x) { return x > 2 ? x : 0; }, -4, 4, 0);
  check_unary<T>(
      op::Shrink{.lambd = 1.5f, .bias = 1},
      [](double x) { return x < -1.5  ? x + 1
                            : x > 1.5 ? x - 1
                                      : 0; }, -4, 4, 1.01);
  check_unary<T>(
      op::Mish{},
      [](double x) { return x * std::tanh(std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)))); },
      -9, 9);
}

TEST_CASE("activation: integers") {
  check_equal<std::int8_t>(run(op::Relu{}, {array<std::int8_t>({3}, {-128, 0, 127})}), {3},
                           {0, 0, 127});
  check_equal<std::int64_t>(
      run(op::PRelu{}, {array<std::int64_t>({2}, {-3, 4}), array<std::int64_t>({}, {5})}), {2},
      {-15, 4});
  check_equal<std::uint8_t>(
      run(op::Shrink{.lambd = 4, .bias = 1}, {array<std::uint8_t>({3}, {0, 4, 200})}), {3},
      {0, 0, 199});
  // Products modulo 2^64, and sums that end where the type does; as constants, since constant
  // evaluation refuses what C++ leaves undefined.
  static_assert(op::PRelu::forward(-(std::int64_t{1} << 62) - 1, std::int64_t{4}) == -4);
  static_assert(op::PRelu::forward(std::int32_t{-65536}, std::int32_t{65536}) == 0);
  static_assert(op::Shrink{.bias = 10}.forward(std::int8_t{-120}) == -110);
  static_assert(op::Shrink{.bias = -10}.forward(std::int8_t{-120}) == -128);
  static_assert(op::Shrink{.bias = 10}.forward(std::uint8_t{5}) == 0);
}

TEST_CASE_TEMPLATE("activation: PRelu", T, float, double, half, bfloat16) {
  const Array<T> x = array<T>({2, 3}, {-1, 2, -3, 4, -5, 6}), slope = array<T>({3}, {2, 3, 4});
  check_equal<T>(run(op::PRelu{}, {x, slope}), {2, 3}, {-2, 2, -12, 4, -15, 6});
  check_equal<T>(run(op::PRelu{}, {x, array<T>({2, 1}, {0.5, 0.25})}), {2, 3},
                 {-0.5, 2, -1.5, 4, -1.25, 6});
  CHECK(reason(op::PRelu{}, {x, Array<T>({2})}) == "slope does not broadcast to x");
  CHECK(reason(op::PRelu{}, {slope, x}) == "slope has more dimensions than x");
  // Before opset 7: one slope for each channel.
  const Array<T> image = array<T>({1, 2, 1, 2}, {-1, 1, -2, -4});
  check_equal<T>(
      run_expanded<op::PRelu, op::Reshape>(op::PRelu_1{}, {image, array<T>({2}, {2, 3})}),
      {1, 2, 1, 2}, {-2, 1, -6, -12});
}

TEST_CASE("activation: gradients against central differences") {
  check_gradient(op::Sigmoid{}, -5, 5);
  check_gradient(op::LeakyRelu{}, -3, -0.1);
  check_gradient(op::LeakyRelu{}, 0.1, 3);
  check_gradient(op::Elu{.alpha = 0.7f}, -3, -0.1);
  check_gradient(op::Elu{.alpha = 0.7f}, 0.1, 3);
  check_gradient(op::Selu{}, -3, -0.1);
  check_gradient(op::Selu{}, 0.1, 3);
  check_gradient(op::Celu{.alpha = 1.5f}, -3, 3);
  check_gradient(op::Softplus{}, -5, 5);
  check_gradient(op::Softsign{}, -5, 5);
  check_gradient(op::HardSigmoid{}, -2.4, 2.4);
  check_gradient(op::HardSigmoid{}, 2.6, 5);
  check_gradient(op::HardSigmoid{}, -5, -2.6);
  check_gradient(op::HardSwish{}, -2.9, 2.9);
  check_gradient(op::HardSwish{}, 3.1, 5);
  check_gradient(op::HardSwish{}, -5, -3.1);
  check_gradient(op::ThresholdedRelu{}, -3, 0.9);
  check_gradient(op::ThresholdedRelu{}, 1.1, 3);
  check_gradient(op::Shrink{}, 0.6, 3);
  check_gradient(op::Shrink{}, -0.4, 0.4);
  check_gradient(op::Mish{}, -5, 5);
}

TEST_CASE("activation: gradients at corners are the means that PopART has") {
  CHECK(op::ReluGradient::forward(1.0, 0.0) == 0);
  CHECK(op::Elu{.alpha = 0.5f}.backward(1.0, 0.0) == 0.75);
  CHECK(op::Selu{.alpha = 2, .gamma = 2}.backward(1.0, 0.0) == 3);
  CHECK(op::HardSigmoid{.alpha = 0.25f}.backward(1.0, 2.0) == 0.125);
  CHECK(op::HardSigmoid{.alpha = 0.25f}.backward(1.0, -2.0) == 0.125);
  CHECK(op::Shrink{}.backward(1.0, 0.5) == 0.5);
  CHECK(op::Shrink{}.backward(1.0, -0.5) == 0.5);
  const auto [dx, dslope] = op::PRelu::backward(3.0, -2.0, 0.5);
  CHECK(dx == 1.5);
  CHECK(dslope == -6);
}
