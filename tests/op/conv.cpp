#include <halftone/op/conv.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

template <class T>
Array<T> whole(const Dims& shape, std::uint64_t seed) {
  Array<T> x = scattered<T>(shape, -3, 3, seed);
  std::vector<double> values = doubles(x);
  for (double& v : values) v = std::round(v);
  return array<T>(shape, values);
}

/// The definition, in double: a sum over a filter's channels and taps that fall on the input. Whole
/// numbers, so that all sums are exact. The output's extents are given, from the specification.
template <class T>
void check_conv(const op::Conv& conv, const Dims& x_shape, const Dims& w_shape, bool with_bias,
                const Dims& spatial, const Pads& pads,
                const halftone::kernel::Executor& executor = {}) {
  const std::size_t rank = x_shape.size() - 2;
  const Array<T> x = whole<T>(x_shape, 1), w = whole<T>(w_shape, 2), b = whole<T>({w_shape[0]}, 3);
  const std::vector<double> xv = doubles(x), wv = doubles(w), bv = doubles(b);
  Dims y_shape{x_shape[0], w_shape[0]};
  for (const std::int64_t extent : spatial) y_shape.push_back(extent);
  const Dims strides = conv.strides.empty() ? Dims::filled(rank, 1) : conv.strides;
  const Dims dilations = conv.dilations.empty() ? Dims::filled(rank, 1) : conv.dilations;
  const Dims taps(w_shape.span().subspan(1));
  const std::int64_t filter = product(taps);
  std::vector<double> expected;
  for_each_index(y_shape, [&](const Dims& index, std::size_t) {
    const std::int64_t group = index[1] / (w_shape[0] / conv.group);
    double sum = with_bias ? bv[static_cast<std::size_t>(index[1])] : 0;
    for_each_index(taps, [&](const Dims& tap, std::size_t t) {
      Dims from{index[0], group * w_shape[1] + tap[0]};
      for (std::size_t d = 0; d < rank; ++d) {
        from.push_back(index[2 + d] * strides[d] - pads[d] + tap[1 + d] * dilations[d]);
        if (from.back() < 0 || from.back() >= x_shape[2 + d]) return;
      }
      sum += xv[position(x_shape, from)] * wv[static_cast<std::size_t>(index[1] * filter) + t];
    });
    expected.push_back(sum);
  });
  for (const std::uint64_t constants : {0, 6}) {
    std::vector<AnyArray> inputs{x, w};
    if (with_bias) inputs.push_back(b);
    check_equal<T>(run_all(conv, inputs, 0, constants, executor)[0], y_shape, expected);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("conv: one to three dimensions, strides, dilations, pads, groups", T, float,
                   double, half, bfloat16) {
  for (const bool bias : {false, true}) {
    check_conv<T>({}, {2, 3, 9}, {5, 3, 3}, bias, {7}, {0, 0});
    check_conv<T>({.strides = {2}, .dilations = {2}, .pads = {1, 2}}, {2, 3, 9}, {5, 3, 3}, bias,
                  {4}, {1, 2});
    check_conv<T>({}, {1, 1, 5, 5}, {1, 1, 3, 3}, bias, {3, 3}, {0, 0, 0, 0});
    check_conv<T>({.pads = {1, 1, 1, 1}}, {2, 16, 7, 9}, {20, 16, 3, 3}, bias, {7, 9},
                  {1, 1, 1, 1});
    check_conv<T>({.strides = {2, 1}, .dilations = {1, 2}, .pads = {1, 0, 0, 2}}, {1, 3, 8, 9},
                  {6, 3, 3, 2}, bias, {4, 9}, {1, 0, 0, 2});
    check_conv<T>({.group = 2}, {1, 4, 5, 5}, {6, 2, 2, 2}, bias, {4, 4}, {0, 0, 0, 0});
    check_conv<T>({.pads = {1, 1, 1, 1}, .group = 6}, {1, 6, 5, 5}, {6, 1, 3, 3}, bias, {5, 5},
                  {1, 1, 1, 1});
    check_conv<T>({.group = 3}, {1, 3, 5, 5}, {6, 1, 1, 1}, bias, {5, 5}, {0, 0, 0, 0});
    check_conv<T>({.kernel_shape = {1, 1}}, {2, 40, 6, 6}, {33, 40, 1, 1}, bias, {6, 6},
                  {0, 0, 0, 0});
    check_conv<T>({.strides = {1, 2, 1}, .pads = {1, 0, 1, 0, 1, 1}}, {1, 2, 4, 6, 5},
                  {3, 2, 2, 3, 3}, bias, {4, 3, 5}, {1, 0, 1, 0, 1, 1});
  }
}

TEST_CASE("conv: auto_pad") {
  // Pads of ceil(8 / 3) = 3 outputs: (3 - 1) * 3 + 2 - 8 = 0, of ceil(5 / 2) = 3: 4 + 4 - 5 = 3.
  check_conv<float>({.strides = {3, 2}, .auto_pad = AutoPad::same_upper}, {1, 1, 8, 5},
                    {1, 1, 2, 4}, true, {3, 3}, {0, 1, 0, 2});
  check_conv<float>({.strides = {3, 2}, .auto_pad = AutoPad::same_lower}, {1, 1, 8, 5},
                    {1, 1, 2, 4}, true, {3, 3}, {0, 2, 0, 1});
  check_conv<float>({.auto_pad = AutoPad::valid}, {1, 1, 8, 5}, {1, 1, 2, 4}, true, {7, 2},
                    {0, 0, 0, 0});
}

TEST_CASE("conv: an empty batch, and tasks in any order") {
  check_conv<float>({}, {0, 3, 9, 9}, {5, 3, 3, 3}, true, {7, 7}, {0, 0, 0, 0});
  check_conv<float>({.pads = {1, 1, 1, 1}}, {2, 32, 20, 20}, {48, 32, 3, 3}, true, {20, 20},
                    {1, 1, 1, 1}, backwards());
  check_conv<float>({.pads = {2, 2}}, {2, 20, 400}, {48, 20, 5}, true, {400}, {2, 2}, backwards());
}

// 40 filters are no whole number of register tiles.
TEST_CASE("conv: equal filters give equal numbers, bit for bit") {
  const Array<float> w({40, 64, 1, 1}, std::vector<float>(40 * 64, 0.02f));
  const AnyArray y = run_all(op::Conv{}, {scattered<float>({1, 64, 13, 13}, 0, 1, 1), w})[0];
  const std::vector<double> values = doubles(y);
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(values[i] == values[i % (13 * 13)]);
}

TEST_CASE("conv: wrong shapes and attributes") {
  const Array<float> x({1, 4, 5, 5}), w({6, 4, 3, 3}), b({6});
  const op::Conv conv;
  CHECK(reason(conv, {x, w, b}) == "");
  CHECK(reason(conv, {x, Array<float>({6, 2, 3, 3})}) == "input channels do not match the weight");
  CHECK(reason(op::Conv{.group = 2}, {x, w}) == "input channels do not match the weight");
  CHECK(reason(op::Conv{.group = 4}, {x, Array<float>({6, 1, 3, 3})}) ==
        "group does not divide the number of filters");
  CHECK(reason(op::Conv{.group = 0}, {x, w}) == "group is out of range");
  CHECK(reason(op::Conv{.group = -1}, {x, w}) == "group is out of range");
  CHECK(reason(op::Conv{.group = INT64_MAX}, {x, w}) == "group is out of range");
  CHECK(reason(conv, {x, Array<float>({6, 4, 3})}) == "input and weight have different ranks");
  CHECK(reason(conv, {Array<float>({1, 4}), Array<float>({1, 4})}) ==
        "the input has not one to three spatial dimensions");
  CHECK(reason(op::Conv{.kernel_shape = {3, 2}}, {x, w}) == "kernel_shape is not the weight's");
  CHECK(reason(op::Conv{.kernel_shape = {3}}, {x, w}) ==
        "kernel_shape needs one number per spatial dimension");
  CHECK(reason(conv, {x, w, Array<float>({5})}) == "the bias has not one element per filter");
  CHECK(reason(conv, {x, w, Array<float>({1, 6})}) == "the bias is not a vector");
  CHECK(reason(op::Conv{.strides = {0, 1}}, {x, w}) == "strides are out of range");
  CHECK(reason(op::Conv{.dilations = {3, 3}}, {x, w}) ==
        "the window is larger than the padded input");
}

namespace {
using X = Tensor<float, halftone::Shape<dynamic, 128, 56, 56>>;
using W = Tensor<float, halftone::Shape<64, 64, 3, 3>>;
using Call = halftone::detail::StaticCall<op::Conv{}, X, W>;
static_assert(why_not<op::Conv{}, X, W> == "Conv: input channels do not match the weight");
static_assert(Call::expected == 128 && Call::found == 64);
static_assert(
    std::is_same_v<result<op::Conv{.strides = {2, 2}, .pads = {1, 1, 1, 1}, .group = 2}, X, W>,
                   Tensor<float, halftone::Shape<dynamic, 64, 28, 28>>>);
static_assert(std::is_same_v<
              result<op::Conv{.auto_pad = AutoPad::same_upper},
                     Tensor<float, halftone::Shape<1, 3, dynamic, 9>>,
                     Tensor<float, halftone::Shape<4, 3, 2, 2>>, Tensor<float, halftone::Shape<4>>>,
              Tensor<float, halftone::Shape<1, 4, dynamic, 9>>>);
}  // namespace
