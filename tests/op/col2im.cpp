#include <halftone/op/col2im.hpp>

#include "gradient_check.hpp"
#include "movement.hpp"

using namespace run_op_test;
using op::Col2Im;
using op::Im2Col;

TEST_CASE("col2im: examples of ONNX") {
  const Array<float> x({1, 4, 5},
                       {1, 5, 9, 13, 17, 2, 6, 10, 14, 18, 3, 7, 11, 15, 19, 4, 8, 12, 16, 20});
  const auto image = indices({6, 6}), block = indices({2, 2});
  check_equal<float>(run(Col2Im{.dilations = {1, 5}}, {x, image, block}), {1, 1, 6, 6},
                     {1,  0, 0, 0, 0, 2,  8,  0, 0, 0, 0, 10, 16, 0, 0, 0, 0, 18,
                      24, 0, 0, 0, 0, 26, 32, 0, 0, 0, 0, 34, 19, 0, 0, 0, 0, 20});
  Array<float> y({1, 5, 15});
  for (std::size_t i = 0; i < 75; ++i) y[i] = static_cast<float>(1 + i / 15 + 5 * (i % 15));
  check_equal<float>(run(Col2Im{.pads = {0, 1, 0, 1}}, {y, indices({5, 5}), indices({1, 5})}),
                     {1, 1, 5, 5}, {8,   21, 24, 27,  24,  38,  66,  69,  72,  54,  68,  111, 114,
                                    117, 84, 98, 156, 159, 162, 114, 128, 201, 204, 207, 144});
}

TEST_CASE_TEMPLATE("col2im: each pixel comes back as often as blocks have it", T, float, half,
                   std::int8_t, std::uint64_t) {
  for (const bool is_spread : {false, true}) {
    const Dims dilations = is_spread ? Dims{2, 1, 1} : Dims{},
               strides = is_spread ? Dims{1, 2, 3} : Dims{};
    const Pads pads = is_spread ? Pads{1, 0, 2, 0, 1, 1} : Pads{};
    const Array<T> x =
        array<T>({2, 3, 4, 5, 6}, doubles(scattered<std::int8_t>({2, 3, 4, 5, 6}, 0, 3)));
    const Im2Col taken{
        .block = {2, 2, 3}, .dilations = dilations, .strides = strides, .pads = pads};
    const Col2Im added{.dilations = dilations, .strides = strides, .pads = pads};
    const auto image = indices({4, 5, 6}), block = indices({2, 2, 3});
    const AnyArray columns = run(taken, {x}, backwards());
    const std::vector<double> y = doubles(run(added, {columns, image, block}, backwards()));
    const std::vector<double> ones(x.size(), 1);
    const std::vector<double> counts =
        doubles(run(added, {run(taken, {array<T>({2, 3, 4, 5, 6}, ones)}), image, block}));
    const std::vector<double> values = doubles(x);
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == values[i] * counts[i]);
  }
}

TEST_CASE("col2im: gradients") {
  for (const Pads& pads : {Pads{}, Pads{1, 0, 2, 1}}) {
    const Im2Col taken{.block = {2, 3}, .dilations = {1, 2}, .strides = {2, 1}, .pads = pads};
    gradient_test::check_gradients({gradient_test::scattered({2, 2, 5, 7})},
                                   [&](Graph&, auto& in) { return op::im2col(in[0], taken); });
    const Dims x = infer(taken, {Array<double>({2, 2, 5, 7})}).outputs[0].shape;
    gradient_test::check_gradients({gradient_test::scattered(x), gradient_test::integers({5, 7}),
                                    gradient_test::integers({2, 3})},
                                   [&](Graph&, auto& in) {
                                     return op::col2im(
                                         in[0], in[1], in[2],
                                         {.dilations = {1, 2}, .strides = {2, 1}, .pads = pads});
                                   });
  }
}

TEST_CASE("col2im: what does not fit") {
  const auto image = indices({4, 4}), block = indices({2, 2});
  CHECK(reason(Col2Im{}, {Array<float>({1, 4, 8}), image, block}) ==
        "the image has another number of blocks");
  CHECK(reason(Col2Im{}, {Array<float>({1, 5, 9}), image, block}) ==
        "the elements of a block do not divide the dimension of channels");
  CHECK(reason(Col2Im{}, {Array<float>({1, 4, 9}), image, indices({0, 2})}) ==
        "an extent of the block is not positive");
  CHECK(reason(Col2Im{}, {Array<float>({1, 4, 9}), image, indices({2})}) ==
        "image and block have different numbers of dimensions");
  CHECK(reason(Col2Im{.strides = {0, 1}}, {Array<float>({1, 4, 9}), image, block}) ==
        "strides are out of range");
  CHECK(reason(Col2Im{}, {Array<float>({1, 4, 9}), indices({1, 4}), block}) ==
        "the window is larger than the padded input");
}
