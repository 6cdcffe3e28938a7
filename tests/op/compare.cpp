#include <halftone/op/compare.hpp>

#include <cmath>

#include "run_op.hpp"

using namespace run_op_test;

TEST_CASE_TEMPLATE("compare: order of numbers, none with NaN", T, float, double, half, bfloat16,
                   std::int8_t, std::int64_t, std::uint16_t) {
  const bool is_float = real<T>;
  const Array<T> a = array<T>({6}, {1, 2, 3, 0, is_float ? std::nan("") : 4, 5});
  const Array<T> b = array<T>({6}, {2, 2, 1, is_float ? -0.0 : 0, is_float ? 1 : 5, 7});
  check_equal<bool>(run(op::Greater{}, {a, b}), {6}, {0, 0, 1, 0, 0, 0});
  check_equal<bool>(run(op::Less{}, {a, b}), {6}, {1, 0, 0, 0, is_float ? 0. : 1., 1});
  check_equal<bool>(run(op::Equal{}, {a, b}), {6}, {0, 1, 0, 1, 0, 0});
  check_equal<bool>(run(op::GreaterOrEqual{}, {a, b}), {6}, {0, 1, 1, 1, 0, 0});
  check_equal<bool>(run(op::LessOrEqual{}, {a, b}), {6}, {1, 1, 0, 1, is_float ? 0. : 1., 1});
}

TEST_CASE("compare: truth tables, with broadcasting both ways") {
  const Array<bool> a({2, 1}, {false, true}), b({2}, {false, true});
  check_equal<bool>(run(op::And{}, {a, b}), {2, 2}, {0, 0, 0, 1});
  check_equal<bool>(run(op::Or{}, {a, b}), {2, 2}, {0, 1, 1, 1});
  check_equal<bool>(run(op::Xor{}, {a, b}), {2, 2}, {0, 1, 1, 0});
  check_equal<bool>(run(op::Equal{}, {a, b}), {2, 2}, {1, 0, 0, 1});
  check_equal<bool>(run(op::Not{}, {b}), {2}, {1, 0});
  check_equal<bool>(run(op::Not{}, {Array<bool>({0, 2})}), {0, 2}, {});
  CHECK(reason(op::And{}, {Array<float>({1}), Array<float>({1})}) == "element type is not offered");
  CHECK(reason(op::Greater{}, {b, b}) == "element type is not offered");
}

TEST_CASE_TEMPLATE("compare: Where moves elements of any type", T, float, double, half, bfloat16,
                   std::int8_t, std::int64_t, bool, float8_e4m3fn) {
  const Array<bool> c({2, 1, 1}, {true, false});
  Array<T> a({3, 1}), b({50});
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(static_cast<float>(i % 2));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(static_cast<float>(i % 3 == 0));
  const AnyArray y = run(op::Where{}, {c, a, b});
  CHECK(y.info() == TensorInfo{element_type<T>, {2, 3, 50}});
  const std::vector<double> found = doubles(y);
  for (std::size_t i = 0; i < 300; ++i) {
    const double expected = i < 150 ? static_cast<double>(i / 50 % 2) : i % 50 % 3 == 0;
    REQUIRE(found[i] == expected);
  }
}

TEST_CASE("compare: Where's NaN keeps its bits") {
  const auto nan = std::bit_cast<float>(0x7fa12345u);
  const AnyArray y =
      run(op::Where{}, {Array<bool>({}, {true}), Array<float>({1}, {nan}), Array<float>({}, {0})});
  CHECK(std::bit_cast<std::uint32_t>(y.values<float>()[0]) == 0x7fa12345u);
}

TEST_CASE("compare: gradient of Where") {
  const auto [nothing, da, db] = op::Where::backward(3.0, true, 1.0, 2.0);
  static_cast<void>(nothing);
  CHECK(da == 3);
  CHECK(db == 0);
  // select is Where on numbers and vectors.
  CHECK(halftone::select(false, 1, 2.5) == 2.5);
}

TEST_CASE("compare: broadcast and axis of the first opsets") {
  const Array<bool> a({2, 2}, {true, true, false, true}), b({2}, {true, false});
  const AnyArray y =
      run_expanded<op::And, op::Reshape>(op::And_1{{.axis = 0, .broadcast = 1}}, {a, b});
  check_equal<bool>(y, {2, 2}, {1, 1, 0, 0});
  const AnyArray z =
      run_expanded<op::Xor, op::Reshape>(op::Xor_1{{.axis = 1, .broadcast = 1}}, {a, b});
  check_equal<bool>(z, {2, 2}, {0, 1, 1, 1});
}
