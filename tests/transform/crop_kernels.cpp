#include "transform/crop_kernels.hpp"

#include <doctest/doctest.h>

#include <vector>

#include <halftone/halftone.hpp>

#include "results.hpp"

using namespace halftone;

namespace {

AnyTensor numbers(Graph& g, const Dims& shape) {
  std::vector<float> values(static_cast<std::size_t>(product(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 15) - 7;
  return constant<float>(g, values, shape);
}

/// Checks what kernel a convolution has left. Its results are those of the definition: what goes was
/// multiplied by zero, and sums of small whole numbers are exact.
void check(const Dims& x, const Dims& w, const op::Conv& conv, const Dims& left) {
  Graph g;
  output(g, op::conv(g.input<float>("x", x), numbers(g, w), conv), "y");
  const Graph cropped = crop_kernels(Graph(g));
  REQUIRE(cropped.nodes.size() == 1);
  CHECK(Dims(cropped.info(cropped.nodes[0].inputs[1]).shape.span().subspan(2)) == left);
  CHECK(cropped.info(cropped.outputs[0]) == g.info(g.outputs[0]));
  test::for_each_pair(test::results(cropped), test::results(g),
                      [](float p, float q) { CHECK(p == doctest::Approx(q).epsilon(1e-5)); });
}

}  // namespace

TEST_CASE("crop kernels: what sees nothing but padding goes") {
  const Dims x{2, 3, 5, 6}, w{4, 3, 3, 3};
  check(x, w, {.pads = {1, 1, 1, 1}}, {3, 3});
  check(x, w, {.dilations = {6, 6}, .pads = {6, 6, 6, 6}}, {1, 1});
  check(x, w, {.dilations = {5, 5}, .pads = {5, 5, 5, 5}}, {1, 3});
  check(x, w, {.kernel_shape = {3, 3}, .dilations = {9, 9}, .auto_pad = AutoPad::same_upper},
        {1, 1});
  // With strides, and with pads of which some have to stay.
  check(x, w, {.strides = {2, 2}, .dilations = {6, 6}, .pads = {6, 6, 6, 6}}, {1, 1});
  check(x, w, {.strides = {2, 3}, .dilations = {5, 7}, .pads = {6, 9, 5, 8}}, {2, 2});
  check(x, w, {.pads = {0, 0, 9, 9}}, {3, 3});
  check(x, w, {.strides = {4, 4}, .dilations = {8, 8}, .pads = {9, 8, 10, 11}}, {1, 2});
  check({1, 2, 7}, {3, 2, 5}, {.dilations = {4}, .pads = {8, 8}}, {3});
  check({1, 2, 3, 4, 5}, {2, 2, 3, 3, 3}, {.dilations = {3, 4, 5}, .pads = {3, 4, 5, 3, 4, 5}},
        {1, 1, 1});
  check({1, 4, 5, 6}, {4, 2, 3, 3}, {.dilations = {6, 6}, .pads = {6, 6, 6, 6}, .group = 2},
        {1, 1});
}

TEST_CASE("crop kernels: weights that are no constants stay as they are") {
  Graph g;
  const AnyTensor w = parameter<float, Shape<4, 3, 3, 3>>(g, "w", ones);
  output(
      g,
      op::conv(g.input<float>("x", {2, 3, 5, 6}), w, {.dilations = {6, 6}, .pads = {6, 6, 6, 6}}),
      "y");
  CHECK(crop_kernels(Graph(g)) == g);
}
