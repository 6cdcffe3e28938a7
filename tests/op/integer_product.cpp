#include <halftone/op/integer_product.hpp>

#include "expanded.hpp"

using namespace run_op_test;

namespace {

using Signed = Array<std::int8_t>;
using Unsigned = Array<std::uint8_t>;

/// Whole numbers of all sizes that T holds.
template <class T>
Array<T> bytes(const Dims& shape, std::uint64_t seed = 1) {
  const bool is_signed = std::is_signed_v<T>;
  return scattered<T>(shape, is_signed ? -128 : 0, is_signed ? 128 : 256, seed);
}

double saturated(double v, bool is_signed) {
  return std::fmin(std::fmax(v, is_signed ? -128 : 0), is_signed ? 127 : 255);
}

/// a [m, k] b [k, n] less the zero points of rows and columns.
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b,
                            std::size_t m, std::size_t k, const std::vector<double>& za,
                            const std::vector<double>& zb) {
  const std::size_t n = b.size() / k;
  std::vector<double> y(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t q = 0; q < k; ++q) {
        y[i * n + j] += (a[i * k + q] - za[i % za.size()]) * (b[q * n + j] - zb[j % zb.size()]);
      }
    }
  }
  return y;
}

}  // namespace

TEST_CASE("quantize: examples of the ONNX specification") {
  const Array<float> x({6}, {0, 2, 3, 1000, -254, -1000});
  const Array<float> scale({}, {2});
  check_equal<std::uint8_t>(run_session(op::QuantizeLinear{}, {x, scale, Unsigned({}, {128})})[0],
                            {6}, {128, 129, 130, 255, 1, 0});
  const Array<float> image({1, 3, 3, 2}, {-162, 10, -100, 232, -20, -50, -76, 0, 0, 252, 32, -44,
                                          245, -485, -960, -270, -375, -470});
  const Array<float> scales({3}, {2, 4, 5});
  const Unsigned zero_points({3}, {84, 24, 196});
  const std::vector<double> expected{3,  89, 34, 200, 74, 59, 5,   24,  24,
                                     87, 32, 13, 245, 99, 4,  142, 121, 102};
  for (const std::int64_t axis : {1, -3}) {
    check_equal<std::uint8_t>(
        run_session(op::QuantizeLinear{.axis = axis}, {image, scales, zero_points})[0],
        {1, 3, 3, 2}, expected);
  }
  const Unsigned bytes({4}, {0, 3, 128, 255});
  check_equal<float>(
      run_session(op::DequantizeLinear{}, {bytes, Array<float>({}, {2}), Unsigned({}, {128})})[0],
      {4}, {-256, -250, 0, 254});
}

TEST_CASE("quantize: ties, signs, absent zero points, other types") {
  const std::vector<double> values{-0.5, 0.5, 1.5, 2.5, -1.5, 300, -300, std::nan("")};
  const Array<float> x = array<float>({8}, values), one({}, {1});
  check_equal<std::uint8_t>(run_session(op::QuantizeLinear{}, {x, one})[0], {8},
                            {0, 0, 2, 2, 0, 255, 0, 0});
  check_equal<std::int8_t>(run_session(op::QuantizeLinear{}, {x, one, Signed({}, {1})})[0], {8},
                           {1, 1, 3, 3, -1, 127, -128, 0});
  const Array<std::int32_t> whole({3}, {-7, 100, 5});
  check_equal<std::int8_t>(
      run_session(op::QuantizeLinear{}, {whole, Array<float>({}, {2}), Signed({}, {0})})[0], {3},
      {-4, 50, 2});
  const Array<half> short_x = array<half>({2, 2}, {1, 2, 3, 4});
  check_equal<std::int8_t>(
      run_session(op::QuantizeLinear{.axis = -1},
                  {short_x, array<half>({2}, {0.5, 0.25}), Signed({2}, {0, 10})})[0],
      {2, 2}, {2, 18, 6, 26});
  check_equal<float>(run_session(op::DequantizeLinear{}, {whole, Array<float>({}, {0.5f})})[0], {3},
                     {-3.5, 50, 2.5});
  check_equal<half>(run_session(op::DequantizeLinear{.axis = 0},
                                {Signed({2, 1}, {-128, 127}), array<half>({2}, {0.5, 2}),
                                 Signed({2}, {-128, 1})})[0],
                    {2, 1}, {0, 252});
  check_equal<std::uint8_t>(run_session(op::QuantizeLinear{}, {Array<float>({0, 3}), one})[0],
                            {0, 3}, {});
}

TEST_CASE("quantize: what does not fit is said when it is recorded") {
  const Array<float> x({2, 3}), scales({3}, {1, 1, 1});
  CHECK_THROWS_AS(run_session(op::QuantizeLinear{.axis = 2}, {x, scales}), ModelError);
  CHECK_THROWS_AS(run_session(op::QuantizeLinear{.axis = 0}, {x, scales}), ShapeError);
}

TEST_CASE("dynamic quantize: examples of the ONNX specification, and zeros") {
  const auto check = [](const Array<float>& x, double scale, double zero,
                        const std::vector<double>& y) {
    const auto made = run_session(op::DynamicQuantizeLinear{}, {x}, 3);
    check_equal<std::uint8_t>(made[0], x.info().shape, y);
    check_close<float>(made[1], {scale});
    check_equal<std::uint8_t>(made[2], {}, {zero});
  };
  check(Array<float>({6}, {0, 2, -3, -2.5f, 1.34f, 0.5f}), 5.0 / 255, 153,
        {153, 255, 0, 26, 221, 179});
  check(Array<float>({6}, {-1, -2.1f, -1.3f, -2.5f, -3.34f, -4}), 4.0 / 255, 255,
        {191, 121, 172, 96, 42, 0});
  check(Array<float>({3, 4}, {1, 2.1f, 1.3f, 2.5f, 3.34f, 4, 1.5f, 2.6f, 3.9f, 4, 3, 2.345f}),
        4.0 / 255, 0, {64, 134, 83, 159, 213, 255, 96, 166, 249, 255, 191, 149});
  check(Array<float>({2}, {0, 0}), 0, 0, {0, 0});
}

TEST_CASE("integer product: the definition, also where float would round") {
  for (const std::int64_t k : {5, 258, 259, 3000}) {
    const Unsigned a = bytes<std::uint8_t>({3, k});
    const Signed b = bytes<std::int8_t>({k, 4}, 5);
    const auto size = static_cast<std::size_t>(k);
    check_equal<std::int32_t>(run(op::MatMulInteger{}, {a, b}), {3, 4},
                              product(doubles(a), doubles(b), 3, size, {0}, {0}));
    check_equal<std::int32_t>(
        run(op::MatMulInteger{}, {a, b, Unsigned({}, {255}), Signed({}, {-128})}), {3, 4},
        product(doubles(a), doubles(b), 3, size, {255}, {-128}));
    const Unsigned rows({3}, {0, 7, 255});
    const Signed columns({4}, {-128, 0, 1, 127});
    check_equal<std::int32_t>(
        run(op::MatMulInteger{}, {a, b, rows, columns}), {3, 4},
        product(doubles(a), doubles(b), 3, size, doubles(rows), doubles(columns)));
  }
  // Several matrices, whose zero points have as many dimensions.
  const Signed a = bytes<std::int8_t>({2, 3, 5}), b = bytes<std::int8_t>({2, 5, 4}, 5);
  const AnyArray y =
      run(op::MatMulInteger{}, {a, b, Signed({2, 3, 1}, {1, 2, 3, 4, 5, 6}), absent()});
  CHECK(y.info().shape == Dims{2, 3, 4});
  const std::vector<double> all = doubles(a), right = doubles(b), found = doubles(y);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::vector<double> left(all.begin() + 15 * static_cast<int>(i),
                                   all.begin() + 15 * static_cast<int>(i + 1));
    const double z = 3 * static_cast<double>(i);
    const std::vector<double> expected = product(
        left,
        {right.begin() + 20 * static_cast<int>(i), right.begin() + 20 * static_cast<int>(i + 1)}, 3,
        5, {z + 1, z + 2, z + 3}, {0});
    CHECK(std::vector<double>(found.begin() + 12 * static_cast<int>(i),
                              found.begin() + 12 * static_cast<int>(i + 1)) == expected);
  }
}

TEST_CASE("quantised product: the definition") {
  const Unsigned a = bytes<std::uint8_t>({3, 20});
  const Signed b = bytes<std::int8_t>({20, 4}, 5);
  const std::vector<double> exact = product(doubles(a), doubles(b), 3, 20, {113}, {1, -2, 3, 0});
  // Powers of two: every step but the last is exact.
  const double b_scales[] = {0.5, 0.25, 0.125, 1};
  std::vector<double> expected;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    expected.push_back(saturated(std::nearbyint(exact[i] * b_scales[i % 4] / 512) + 100, false));
  }
  check_equal<std::uint8_t>(
      run_session(op::QLinearMatMul{},
                  {a, Array<float>({}, {0.25f}), Unsigned({}, {113}), b,
                   Array<float>({4}, {0.5f, 0.25f, 0.125f, 1}), Signed({4}, {1, -2, 3, 0}),
                   Array<float>({1}, {128}), Unsigned({1}, {100})})[0],
      {3, 4}, expected);
}

TEST_CASE("QLinearMatMul of float8 numbers, which are not rounded to whole ones") {
  const auto a = array<float8_e4m3fn>({1, 3}, {1.5, -2, 0.25});
  const auto b = array<float8_e5m2>({3, 2}, {2, 1, 1, 0.5, 4, -1});
  const auto zero_a = array<float8_e4m3fn>({}, {0});
  const auto zero_b = array<float8_e5m2>({}, {0});
  const Array<float> two({}, {2}), half_of({}, {0.5f}), four({}, {4});
  // a b = [2, 0.25], times 2 * 0.5 / 4.
  check_equal<float8_e4m3fn>(
      run_session(op::QLinearMatMul{}, {a, two, zero_a, b, half_of, zero_b, four, zero_a})[0],
      {1, 2}, {0.5, 0.0625});
}

TEST_CASE("integer convolution: zero points are what padding adds") {
  // The example of the ONNX specification.
  const Unsigned x({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10}), w({1, 1, 2, 2}, {1, 1, 1, 1});
  check_equal<std::int32_t>(run(op::ConvInteger{}, {x, w, Unsigned({}, {1})}), {1, 1, 2, 2},
                            {12, 16, 24, 28});
  check_equal<std::int32_t>(
      run(op::ConvInteger{.conv = {.pads = {1, 1, 1, 1}}}, {x, w, Unsigned({}, {1})}), {1, 1, 4, 4},
      {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9});
  // One zero point for each filter, many terms: a product of matrices.
  const Signed many = bytes<std::int8_t>({2, 300, 1}), filters = bytes<std::int8_t>({3, 300, 1}, 7);
  std::vector<double> expected;
  const std::vector<double> left = doubles(many), right = doubles(filters);
  const double zero_points[] = {-5, 0, 9};
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t f = 0; f < 3; ++f) {
      double sum = 0;
      for (std::size_t c = 0; c < 300; ++c) {
        sum += (left[n * 300 + c] - 3) * (right[f * 300 + c] - zero_points[f]);
      }
      expected.push_back(sum);
    }
  }
  check_equal<std::int32_t>(
      run(op::ConvInteger{}, {many, filters, Signed({}, {3}), Signed({3}, {-5, 0, 9})}), {2, 3, 1},
      expected);
  // Quantised, with a bias.
  std::vector<double> rounded;
  const double scales[] = {0.5, 0.25, 1}, bias[] = {1000, -20000, 77};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double v = (expected[i] + bias[i % 3]) * scales[i % 3] / 1024;
    rounded.push_back(saturated(std::nearbyint(v) - 7, true));
  }
  check_equal<std::int8_t>(
      run_session(op::QLinearConv{}, {many, Array<float>({}, {0.5f}), Signed({}, {3}), filters,
                                      Array<float>({3}, {0.5f, 0.25f, 1}), Signed({3}, {-5, 0, 9}),
                                      Array<float>({}, {512}), Signed({}, {-7}),
                                      Array<std::int32_t>({3}, {1000, -20000, 77})})[0],
      {2, 3, 1}, rounded);
}

// Blocks of every size: several of rows, columns and terms, strides, dilations, groups, pads; a
// convolution in double has the same exact sums.
TEST_CASE("integer convolution: as a convolution in double") {
  struct Case {
    Dims x, w;
    op::Conv conv;
  };
  const Case cases[]{
      {{1, 3, 40, 40}, {5, 3, 3, 3}, {.pads = {1, 1, 1, 1}}},
      {{2, 40, 9, 7}, {530, 40, 3, 3}, {.strides = {2, 1}, .pads = {0, 2, 1, 1}}},
      {{1, 6, 11, 12}, {8, 3, 2, 3}, {.dilations = {2, 3}, .pads = {3, 4, 0, 5}, .group = 2}},
      {{1, 4, 3, 4, 5}, {4, 1, 2, 2, 2}, {.strides = {1, 2, 3}, .group = 4}},
      {{2, 3, 1100}, {2, 3, 5}, {.strides = {3}, .pads = {7, 9}}},
      {{1, 2, 3}, {1, 2, 2}, {.pads = {6, 6}}},
  };
  for (const Case& c : cases) {
    const Unsigned x = bytes<std::uint8_t>(c.x);
    const Signed w = bytes<std::int8_t>(c.w, 3);
    const Unsigned zero_x({}, {77});
    const Signed zero_w = bytes<std::int8_t>({c.w[0]}, 9);
    Array<double> left(c.x), right(c.w);
    const auto filter = right.size() / zero_w.size();
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = double(x[i]) - 77;
    for (std::size_t i = 0; i < right.size(); ++i) right[i] = double(w[i]) - zero_w[i / filter];
    const AnyArray expected = run(c.conv, {left, right});
    check_equal<std::int32_t>(run(op::ConvInteger{.conv = c.conv}, {x, w, zero_x, zero_w}),
                              expected.info().shape, doubles(expected));
  }
}

TEST_CASE("integer product: vectors, and stacks that broadcast") {
  const Unsigned a = bytes<std::uint8_t>({7}), matrices = bytes<std::uint8_t>({3, 1, 5, 7}, 2);
  const Signed b = bytes<std::int8_t>({7}, 5), right = bytes<std::int8_t>({2, 7, 4}, 6);
  const auto wide = [](const auto& x) {
    Array<double> y(x.info().shape);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = double(x[i]);
    return y;
  };
  const auto check = [&](const auto& left, const auto& other) {
    const AnyArray expected = run(op::MatMul{}, {wide(left), wide(other)});
    check_equal<std::int32_t>(run(op::MatMulInteger{}, {left, other}), expected.info().shape,
                              doubles(expected));
  };
  check(a, b);
  check(a, right);
  check(matrices, b);
  check(matrices, right);
  check(bytes<std::uint8_t>({600, 300}), bytes<std::int8_t>({300, 1100}, 4));
  CHECK(reason(op::MatMulInteger{}, {matrices, right, Unsigned({3})}) ==
        "zero points do not broadcast to their tensor");
  CHECK(reason(op::ConvInteger{},
               {bytes<std::uint8_t>({1, 1, 3}), bytes<std::int8_t>({2, 1, 2}), Unsigned({2})}) ==
        "the zero point of the input is not one number");
}
