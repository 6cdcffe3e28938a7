#include <halftone/op/arithmetic.hpp>

#include <cmath>

#include "run_op.hpp"

using namespace run_op_test;

namespace {

/// Both operands scattered, b away from 0; against f in double, rounded once.
template <class T, class Op, class F>
void check_binary(const Op& op, F f) {
  const bool is_unsigned = std::is_unsigned_v<T>;
  const Array<T> a = scattered<T>({3, 1, 41}, is_unsigned ? 1 : -9, 9, 1);
  Array<T> b = scattered<T>({2, 41}, 1, 6, 2);
  for (std::size_t i = 0; i < b.size(); i += 2) {
    if (!is_unsigned) b[i] = static_cast<T>(-static_cast<halftone::detail::Compute<T>>(b[i]));
  }
  const std::vector<double> av = doubles(a), bv = doubles(b);
  std::vector<double> expected;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 2; ++j)
      for (std::size_t k = 0; k < 41; ++k) expected.push_back(f(av[i * 41 + k], bv[j * 41 + k]));
  const AnyArray c = run(op, {a, b});
  CHECK(c.info().shape == Dims{3, 2, 41});
  check_close<T>(c, expected, 1.01);
}

template <class T>
double quotient(double a, double b) {
  return real<T> ? a / b : std::trunc(a / b);
}

}  // namespace

TEST_CASE_TEMPLATE("arithmetic: numpy's formulas with broadcasting both ways", T, float, double,
                   half, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                   std::uint16_t) {
  // Unsigned differences wrap; the tests below have them.
  check_binary<T>(op::Add{}, [](double a, double b) { return a + b; });
  if (!std::is_unsigned_v<T>) {
    check_binary<T>(op::Sub{}, [](double a, double b) { return a - b; });
  }
  check_binary<T>(op::Mul{}, [](double a, double b) { return a * b; });
  check_binary<T>(op::Div{}, quotient<T>);
  check_binary<T>(op::Max{}, [](double a, double b) { return std::fmax(a, b); });
  check_binary<T>(op::Min{}, [](double a, double b) { return std::fmin(a, b); });
  check_binary<T>(op::Mod{.fmod = 1}, [](double a, double b) { return std::fmod(a, b); });
}

TEST_CASE("arithmetic: examples of the ONNX specification") {
  check_equal<float>(run(op::Sub{}, {Array<float>({3}, {1, 2, 3}), Array<float>({3}, {3, 2, 1})}),
                     {3}, {-2, 0, 2});
  check_equal<std::uint8_t>(
      run(op::Sub{}, {array<std::uint8_t>({2}, {1, 200}), array<std::uint8_t>({}, {2})}), {2},
      {255, 198});
  check_equal<float>(run(op::Div{}, {Array<float>({2}, {3, 4}), Array<float>({2}, {1, 2})}), {2},
                     {3, 2});
  check_equal<float>(run(op::Neg{}, {Array<float>({2}, {-4, 2})}), {2}, {4, -2});
  // Mod: the signs of Python's % and of C's fmod.
  const auto a = array<std::int32_t>({6}, {-4, 7, 5, 4, -7, 8});
  const auto b = array<std::int32_t>({6}, {2, -3, 8, -2, 3, 5});
  check_equal<std::int32_t>(run(op::Mod{}, {a, b}), {6}, {0, -2, 5, 0, 2, 3});
  check_equal<std::int32_t>(run(op::Mod{.fmod = 1}, {a, b}), {6}, {0, 1, 5, 0, -1, 3});
  check_equal<double>(
      run(op::Mod{}, {array<double>({3}, {-4.5, 5.5, -1}), array<double>({3}, {2, -3, 1})}), {3},
      {1.5, -0.5, 0});
  // ONNX's cases for fmod 0: zeros have the sign of b, what is infinite is one step away.
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> y =
      doubles(run(op::Mod{}, {array<double>({8}, {0., -0., 4, -4, -3, 3, infinity, 1}),
                              array<double>({8}, {-2, 2, -2, 2, infinity, infinity, 2, 0})}));
  const std::vector<double> expected{-0., 0., -0., 0., infinity, 3};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(y[i] == expected[i]);
    CHECK(std::signbit(y[i]) == std::signbit(expected[i]));
  }
  CHECK(std::isnan(y[6]));
  CHECK(std::isnan(y[7]));
}

TEST_CASE_TEMPLATE("arithmetic: integer divisions by 0 and of the lowest number do not trap", T,
                   std::int8_t, std::int16_t, std::int32_t, std::int64_t) {
  const T lowest = std::numeric_limits<T>::min();
  const Array<T> a({4}, {7, 0, lowest, lowest}), b({4}, {0, 0, -1, 0});
  check_equal<T>(run(op::Div{}, {a, b}), {4}, {0, 0, static_cast<double>(lowest), 0});
  check_equal<T>(run(op::Mod{}, {a, b}), {4}, {0, 0, 0, 0});
  check_equal<T>(run(op::Mod{.fmod = 1}, {a, b}), {4}, {0, 0, 0, 0});
}

TEST_CASE_TEMPLATE("arithmetic: infinities, NaN and zeros as IEEE 754 has them", T, float, double,
                   half, bfloat16) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Array<T> a = array<T>({6}, {1, -1, 0, infinity, nan, 1}),
                 b = array<T>({6}, {0, 0, 0, -infinity, 1, nan});
  check_close<T>(run(op::Div{}, {a, b}), {infinity, -infinity, nan, nan, nan, nan});
  check_close<T>(run(op::Add{}, {a, b}), {1, -1, 0, nan, nan, nan});
  check_close<T>(run(op::Max{}, {a, b}), {1, 0, 0, infinity, nan, nan});
  check_close<T>(run(op::Min{}, {a, b}), {0, -1, 0, -infinity, nan, nan});
}

TEST_CASE("arithmetic: empty tensors and scalars") {
  check_equal<float>(run(op::Add{}, {Array<float>({0, 3}), Array<float>({3}, {1, 2, 3})}), {0, 3},
                     {});
  check_equal<float>(run(op::Add{}, {Array<float>({}, {2}), Array<float>({}, {3})}), {}, {5});
  check_equal<float>(run(op::Add{}, {Array<float>({0}), Array<float>({1}, {3})}), {0}, {});
  check_equal<float>(run(op::Mul{}, {Array<float>({1, 1}, {2}), Array<float>({}, {3})}), {1, 1},
                     {6});
}

TEST_CASE("arithmetic: what does not fit has a reason") {
  CHECK(reason(op::Add{}, {Array<float>({2}), Array<float>({3})}) ==
        "shapes do not broadcast together");
  CHECK(reason(op::Add{}, {Array<float>({0}), Array<float>({3})}) ==
        "shapes do not broadcast together");
  CHECK(reason(op::Add{}, {Array<float>({2}), Array<double>({2})}) ==
        "element types of the inputs differ");
  CHECK(reason(op::Add{}, {Array<bool>({2}), Array<bool>({2})}) == "element type is not offered");
  CHECK(reason(op::Neg{}, {Array<std::uint8_t>({2})}) == "element type is not offered");
  CHECK(reason(op::Add{}, {Array<float>({2})}) == "too few inputs");
}

TEST_CASE("arithmetic: any number of tensors become a chain") {
  const Array<float> a({2}, {1, 8}), b({2, 1}, {2, 4}), c({}, {3});
  check_equal<float>(run_expanded<op::Max>(op::Max{}, {a, b, c}), {2, 2}, {3, 8, 4, 8});
  check_equal<float>(run_expanded<op::Min>(op::Min{}, {a, b, c}), {2, 2}, {1, 2, 1, 3});
  check_equal<float>(run_expanded<op::Add>(op::Sum{}, {a, b, c}), {2, 2}, {6, 13, 8, 15});
  check_equal<float>(run_expanded<op::Add, op::Div>(op::Mean{}, {a, b, c}), {2, 2},
                     {2, 13.f / 3, 8.f / 3, 5});
  check_equal<float>(run_expanded<op::Add>(op::Sum{}, {a}), {2}, {1, 8});
  CHECK_THROWS_AS(run_expanded<op::Add>(op::Sum{}, {}), ModelError);
}

TEST_CASE("arithmetic: broadcast and axis of the first opsets") {
  const Array<float> a({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), b({3}, {100, 200, 300});
  const AnyArray c =
      run_expanded<op::Add, op::Reshape>(op::Add_1{{.axis = 1, .broadcast = 1}}, {a, b});
  check_equal<float>(c, {2, 3, 2}, {100, 101, 202, 203, 304, 305, 106, 107, 208, 209, 310, 311});
  const Array<float> last({2}, {10, 20});
  const AnyArray d =
      run_expanded<op::Sub, op::Reshape>(op::Sub_1{{.axis = {}, .broadcast = 1}}, {a, last});
  CHECK(doubles(d)[1] == -19);
  const AnyArray e =
      run_expanded<op::Mul, op::Reshape>(op::Mul_1{{.axis = -1, .broadcast = 1}}, {a, last});
  CHECK(doubles(e)[3] == 60);
  const auto beyond = op::Div_1{{.axis = 2, .broadcast = 1}};
  CHECK_THROWS_AS((run_expanded<op::Div, op::Reshape>(beyond, {a, a})), ModelError);
}

TEST_CASE("arithmetic: gradients against central differences") {
  const auto check = [](auto op, double a, double b) {
    const double h = 1e-6;
    const auto [da, db] = op.backward(1.0, a, b);
    CHECK(da == doctest::Approx((op.forward(a + h, b) - op.forward(a - h, b)) / (2 * h)));
    CHECK(db == doctest::Approx((op.forward(a, b + h) - op.forward(a, b - h)) / (2 * h)));
  };
  for (const double a : {-2.5, 0.5, 3.0}) {
    for (const double b : {-1.5, 0.25, 2.0}) {
      check(op::Add{}, a, b);
      check(op::Sub{}, a, b);
      check(op::Mul{}, a, b);
      check(op::Div{}, a, b);
      check(op::Max{}, a, b);
      check(op::Min{}, a, b);
    }
  }
  CHECK(op::Neg::backward(2.0, 5.0) == -2);
  // Equal operands both get all of it.
  CHECK(op::Max::backward(3.0, 1.0, 1.0) == std::tuple(3.0, 3.0));
  CHECK(op::Min::backward(3.0, 1.0, 1.0) == std::tuple(3.0, 3.0));
}
