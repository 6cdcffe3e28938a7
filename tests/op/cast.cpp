#include <halftone/op/cast.hpp>

#include <cmath>

#include "movement.hpp"

using namespace run_op_test;

namespace {

template <class Y>
constexpr op::Cast to{.to = element_type<Y>};

/// The definition for numbers that are exact as double: rounding is the element type's own.
template <class Y>
double converted(double x) {
  if constexpr (std::is_same_v<Y, bool>) {
    return x != 0;
  } else if constexpr (std::is_integral_v<Y>) {
    const double low = static_cast<double>(std::numeric_limits<Y>::min());
    const double high = static_cast<double>(std::numeric_limits<Y>::max());
    return std::isnan(x) ? 0 : x <= low ? low : x >= high ? high : std::trunc(x);
  } else {
    return static_cast<double>(static_cast<Y>(x));
  }
}

template <class Y>
void check_from_floats() {
  std::vector<double> values{0, -0.0, 0.5, -0.5, 0.99, 1, -1, 1.5, -1.5, 2.5, 100.7, -100.7};
  for (const double limit : {127., 128., 255., 256., 32767., 32768., 65535., 65536., 2147483520.,
                             2147483648., 4294967040., 4294967296., 9.2e18, 1.9e19, 1e30}) {
    values.insert(values.end(), {limit, -limit, limit * 1.25, -limit * 1.25, limit - 1, 1 - limit});
  }
  const double infinity = std::numeric_limits<double>::infinity();
  values.insert(values.end(), {infinity, -infinity, std::nan(""), 3e-8, -6e-5});
  const auto check = [&]<class X>(X) {
    const Array<X> x = array<X>({static_cast<std::int64_t>(values.size())}, values);
    std::vector<double> expected;
    for (const double v : doubles(x)) expected.push_back(converted<Y>(v));
    const AnyArray y = run(to<Y>, {x});
    REQUIRE(y.info() == TensorInfo{element_type<Y>, x.info().shape});
    const std::vector<double> found = doubles(y);
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(doubles(x)[i]);
      // Halves of NaN compare as NaN; a sum of both kinds of 0 is of no interest here.
      CHECK((std::isnan(expected[i]) ? std::isnan(found[i]) : found[i] == expected[i]));
    }
  };
  check(float{});
  check(double{});
  check(half{});
  check(bfloat16{});
}

/// Between integers the low bits count, as C++20 has it; to floats nearest.
template <class Y>
void check_from_integers() {
  const auto check = [&]<class X>(X) {
    Array<X> x({600});
    std::uint64_t bits = 1;
    for (std::size_t i = 0; i < 600; ++i) {
      bits = bits * 6364136223846793005u + 1442695040888963407u;
      x[i] = static_cast<X>(bits >> (i % 60));
    }
    const AnyArray y = run(to<Y>, {x});
    bool same = true;
    for (std::size_t i = 0; i < 600; ++i) {
      Y expected;
      if constexpr (std::is_same_v<Y, bool>) {
        expected = x[i] != 0;
      } else if constexpr (std::is_arithmetic_v<Y>) {
        expected = static_cast<Y>(x[i]);
      } else {
        expected = Y(halftone::detail::to_float_for_rounding(x[i]));
      }
      same = same && static_cast<double>(y.values<Y>()[i]) == static_cast<double>(expected);
    }
    CHECK(same);
  };
  check(std::int8_t{});
  check(std::uint8_t{});
  check(std::int16_t{});
  check(std::uint16_t{});
  check(std::int32_t{});
  check(std::uint32_t{});
  check(std::int64_t{});
  check(std::uint64_t{});
  check(bool{});
}

}  // namespace

TEST_CASE_TEMPLATE("cast: floats to every type", Y, float, double, half, bfloat16, std::int8_t,
                   std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                   std::int64_t, std::uint64_t, bool) {
  check_from_floats<Y>();
}

TEST_CASE_TEMPLATE("cast: integers to every type", Y, float, double, bfloat16, std::int8_t,
                   std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                   std::int64_t, std::uint64_t, bool) {
  check_from_integers<Y>();
}

TEST_CASE("cast: integers to half round once") {
  // 2049 lies between 2048 and 2050, ties to even; 65519 is the last that is not infinite.
  const Array<std::int64_t> x({5}, {2049, 2051, 65519, 65520, -70000});
  const double infinity = std::numeric_limits<double>::infinity();
  check_equal<half>(run(to<half>, {x}), {5}, {2048, 2052, 65504, infinity, -infinity});
}

TEST_CASE("cast: ONNX's table for float8") {
  const float infinity = std::numeric_limits<float>::infinity();
  const Array<float> x({6}, {0.47892547f, 448, 460, 500, -1e6f, infinity});
  check_equal<float8_e4m3fn>(run(to<float8_e4m3fn>, {x}), {6}, {0.46875, 448, 448, 448, -448, 448});
  const std::vector<double> y =
      doubles(run(op::Cast{.to = ElementType::float8_e4m3fn, .saturate = false}, {x}));
  CHECK(y[1] == 448);
  CHECK(y[2] == 448);
  CHECK(std::isnan(y[3]));
  CHECK(std::isnan(y[4]));
  CHECK(std::isnan(y[5]));
  check_equal<float8_e5m2>(run(to<float8_e5m2>, {x}), {6}, {0.5, 448, 448, 512, -57344, 57344});
  const std::vector<double> z =
      doubles(run(op::Cast{.to = ElementType::float8_e5m2, .saturate = false}, {x}));
  CHECK(z[4] == -std::numeric_limits<double>::infinity());
  CHECK(z[5] == std::numeric_limits<double>::infinity());
  // And back.
  const Array<float8_e4m3fn> f = array<float8_e4m3fn>({3}, {1.5, -448, 0});
  check_equal<half>(run(to<half>, {f}), {3}, {1.5, -448, 0});
  check_equal<std::int8_t>(run(to<std::int8_t>, {f}), {3}, {1, -128, 0});
  check_equal<bool>(run(to<bool>, {f}), {3}, {1, 1, 0});
  check_equal<float8_e5m2>(run(to<float8_e5m2>, {Array<bool>({2}, {true, false})}), {2}, {1, 0});
}

TEST_CASE("cast: the same type, empty tensors, large ones in parts") {
  const Array<float> x = scattered<float>({3, 7}, -5, 5);
  check_equal<float>(run(to<float>, {x}), {3, 7}, doubles(x));
  check_equal<half>(run(to<half>, {Array<float>({0, 3})}), {0, 3}, {});
  const Array<std::int32_t> large = counted<std::int32_t>({300, 1001});
  check_equal<double>(run(to<double>, {large}, backwards()), {300, 1001}, doubles(large));
}

TEST_CASE("cast: wrong types") {
  CHECK(reason(op::Cast{}, {Array<float>({1})}) == "attribute 'to' is missing");
  CHECK(reason(op::Cast{.to = ElementType::complex64}, {Array<float>({1})}) ==
        "element type is not offered");
}
