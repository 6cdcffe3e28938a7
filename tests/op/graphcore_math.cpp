#include <halftone/op/graphcore_activation.hpp>
#include <halftone/op/graphcore_math.hpp>

#include <cmath>

#include "run_op.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("graphcore activations: their formulas in double", T, float, half) {
  const double near = 8 * rounding<float>();
  // Gelu and Swish have the limit at -inf, where the formulas are 0 times infinity.
  const auto is_lowest = [](double x) { return x < 0 && std::isinf(x); };
  check_unary<T>(
      op::Gelu{},
      [&](double x) {
        if (is_lowest(x)) return 0.0;
        return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
      },
      -6, 6, 8, near);
  check_unary<T>(
      op::GeluErf{}, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, -6, 6,
      8, near);
  check_unary<T>(
      op::Swish{}, [&](double x) { return is_lowest(x) ? 0.0 : x / (1 + std::exp(-x)); }, -20, 20,
      8);
}

TEST_CASE("graphcore element-wise operators: gradients") {
  check_gradient(op::Gelu{}, -4, 4);
  check_gradient(op::GeluErf{}, -4, 4);
  check_gradient(op::Swish{}, -6, 6);
  check_gradient(op::Scale{.scale = -1.5f}, -4, 4);
  check_gradient(op::Expm1{}, -3, 3);
  check_gradient(op::Log1p{}, -0.9, 5);
}

TEST_CASE_TEMPLATE("graphcore functions of one number: C's", T, float, double, half, bfloat16) {
  check_unary<T>(op::Expm1{}, [](double x) { return std::expm1(x); }, -5, 5);
  check_unary<T>(op::Log1p{}, [](double x) { return std::log1p(x); }, -0.5, 50);
  check_unary<T>(op::Scale{.scale = 0.25f}, [](double x) { return x / 4; }, -5, 5);
  check_unary<T>(op::GraphcoreRound{}, [](double x) { return std::round(x); }, -9, 9);
}

TEST_CASE("graphcore round: halves go away from zero") {
  const float below = std::nextafterf(0.5f, 0);
  const Array<float> x({10},
                       {0.5f, -0.5f, 1.5f, 2.5f, -2.5f, below, -below, 8388609, 3e9f, -0.25f});
  check_equal<float>(run(op::GraphcoreRound{}, {x}), {10},
                     {1, -1, 2, 3, -3, 0, -0.0, 8388609, 3e9f, -0.0});
  check_equal<float>(run_expanded<op::Round>(op::NearbyInt{}, {x}), {10},
                     {0, -0.0, 2, 2, -2, 0, -0.0, 8388609, 3e9f, -0.0});
}

TEST_CASE_TEMPLATE("scaled add: factors are attributes or inputs", T, float, half, double) {
  const Array<T> x = array<T>({2, 2}, {1, 2, 3, 4}), y = array<T>({2, 2}, {10, 20, 30, 40});
  const Array<T> two = array<T>({}, {2}), half_ = array<T>({1}, {0.5});
  check_equal<T>(run(op::ScaledAdd{}, {x, y}), {2, 2}, {11, 22, 33, 44});
  check_equal<T>(run(op::ScaledAdd{.scale0 = 2, .scale1 = -1}, {x, y}), {2, 2},
                 {-8, -16, -24, -32});
  check_equal<T>(run(op::ScaledAdd{}, {x, y, two, half_}), {2, 2}, {7, 14, 21, 28});
  check_equal<T>(run(op::ScaledAdd{}, {x, y, absent(), half_}), {2, 2}, {6, 12, 18, 24});
  CHECK(reason(op::ScaledAdd{}, {x, array<T>({2}, {1, 2})}) ==
        "the terms have different numbers of dimensions");
  CHECK(reason(op::ScaledAdd{}, {x, array<T>({2, 1}, {1, 2})}) ==
        "the terms have different shapes");
  CHECK(reason(op::ScaledAdd{}, {x, y, two}) == "the second scale is missing");
  CHECK(reason(op::ScaledAdd{}, {x, y, two, x}) == "a scale is not a scalar");
  CHECK(reason(op::ScaledAdd{.scale0 = 2}, {x, y, two, two}) ==
        "scales are given both as inputs and as attributes");
  CHECK(run(op::ScaledAdd{}, {Array<T>({0, 3}), Array<T>({0, 3})}).info().shape == Dims{0, 3});
}

TEST_CASE_TEMPLATE("atan2: C's, with broadcasting", T, float, double, half) {
  const std::vector<double> ys{0, 1, -1, 2.5, -0.0}, xs{1, -1, 0, -3};
  std::vector<double> expected;
  for (const double y : ys) {
    for (const double x : xs) expected.push_back(std::atan2(y, x));
  }
  check_close<T>(run(op::Atan2{}, {array<T>({5, 1}, ys), array<T>({4}, xs)}), expected);
  const auto d = op::Atan2::backward(1.0, 0.7, -0.4);
  CHECK(std::get<0>(d) == doctest::Approx(-0.4 / (0.49 + 0.16)));
  CHECK(std::get<1>(d) == doctest::Approx(-0.7 / (0.49 + 0.16)));
}

TEST_CASE("fmod, remainder: signs of dividend and divisor") {
  const Array<float> a({4}, {5.5f, -5.5f, 5.5f, -5.5f}), b({4}, {3, 3, -3, -3});
  check_equal<float>(run_expanded<op::Mod>(op::Fmod{}, {a, b}), {4}, {2.5, -2.5, 2.5, -2.5});
  check_equal<float>(run_expanded<op::Mod>(op::Remainder{}, {a, b}), {4}, {2.5, 0.5, -0.5, -2.5});
  const Array<std::int32_t> i({4}, {7, -7, 7, -7}), j({4}, {4, 4, -4, -4});
  check_equal<std::int32_t>(run_expanded<op::Mod>(op::Fmod{}, {i, j}), {4}, {3, -3, 3, -3});
  check_equal<std::int32_t>(run_expanded<op::Mod>(op::Remainder{}, {i, j}), {4}, {3, 1, -1, -3});
}

TEST_CASE("arithmetic with a constant") {
  const Array<std::int32_t> i({3}, {0, 4, 5});
  check_equal<std::int32_t>(
      run_expanded<op::Add, op::Mod>(op::IncrementMod{.increment = 2, .modulus = 6}, {i}), {3},
      {2, 0, 1});
  const Array<float> x({3}, {1, 2, 4});
  check_equal<float>(run_expanded<op::Mul>(op::Square{}, {x}), {3}, {1, 4, 16});
  const auto with = [&](BinaryOperator f, std::int64_t index) {
    return run_expanded<op::Add, op::Sub, op::Mul, op::Div, op::Pow>(
        op::BinaryConstScalar{.value = 2, .op = f, .scalar_in_index = index}, {x});
  };
  check_equal<float>(with(BinaryOperator::add, 0), {3}, {3, 4, 6});
  check_equal<float>(with(BinaryOperator::subtract, 0), {3}, {1, 0, -2});
  check_equal<float>(with(BinaryOperator::subtract, 1), {3}, {-1, 0, 2});
  check_equal<float>(with(BinaryOperator::multiply, 1), {3}, {2, 4, 8});
  check_equal<float>(with(BinaryOperator::divide, 0), {3}, {2, 1, 0.5});
  check_equal<float>(with(BinaryOperator::power, 0), {3}, {2, 4, 16});
  check_equal<float>(with(BinaryOperator::power, 1), {3}, {1, 4, 16});
}

TEST_CASE_TEMPLATE("bitwise operators", T, std::uint8_t, std::int32_t, std::uint32_t) {
  const Array<T> a({2, 1}, {T(12), T(5)}), b({2}, {T(10), T(3)});
  const auto expect = [&](auto f) {
    std::vector<double> values;
    for (const T x : a.values()) {
      for (const T y : b.values()) values.push_back(static_cast<double>(static_cast<T>(f(x, y))));
    }
    return values;
  };
  check_equal<T>(run(op::BitwiseAnd{}, {a, b}), {2, 2}, {8, 0, 0, 1});
  check_equal<T>(run(op::BitwiseOr{}, {a, b}), {2, 2}, {14, 15, 15, 7});
  check_equal<T>(run(op::BitwiseXor{}, {a, b}), {2, 2}, {6, 15, 15, 6});
  check_equal<T>(run(op::BitwiseXnor{}, {a, b}), {2, 2}, expect([](T x, T y) { return ~(x ^ y); }));
  check_equal<T>(run(op::BitwiseNot{}, {run(op::BitwiseNot{}, {b})}), {2}, {10, 3});
  check_equal<T>(run_expanded<op::BitwiseAnd>(op::GraphcoreBitwiseAnd{}, {a, b}), {2, 2},
                 {8, 0, 0, 1});
  check_equal<T>(run_expanded<op::BitwiseOr>(op::GraphcoreBitwiseOr{}, {a, b}), {2, 2},
                 {14, 15, 15, 7});
  check_equal<T>(run_expanded<op::BitwiseXor>(op::GraphcoreBitwiseXor{}, {a, b}), {2, 2},
                 {6, 15, 15, 6});
  CHECK(doubles(run_expanded<op::BitwiseNot>(op::GraphcoreBitwiseNot{}, {b})) ==
        doubles(run(op::BitwiseNot{}, {b})));
}
