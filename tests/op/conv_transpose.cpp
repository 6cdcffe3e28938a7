#include <halftone/op/conv_transpose.hpp>

#include "movement.hpp"

using namespace run_op_test;

namespace {

struct Case {
  Dims x, w;
  op::ConvTranspose op;
  Pads pads;    // what the attributes come to
  Dims output;  // spatial
};

/// The definition: every element of x adds its kernel to y.
std::vector<double> by_definition(const Case& c, const Dims& shape, const std::vector<double>& x,
                                  const std::vector<double>& w) {
  const std::size_t rank = c.output.size();
  const std::int64_t filters = c.w[1], group_channels = c.x[1] / c.op.group;
  std::vector<double> y(static_cast<std::size_t>(product(shape)));
  Dims taps{filters};
  for (std::size_t d = 0; d < rank; ++d) taps.push_back(c.w[2 + d]);
  for_each_index(c.x, [&](const Dims& from, std::size_t i) {
    for_each_index(taps, [&](const Dims& tap, std::size_t) {
      Dims to{from[0], from[1] / group_channels * filters + tap[0]}, weight{from[1], tap[0]};
      for (std::size_t d = 0; d < rank; ++d) {
        const std::int64_t stride = c.op.strides.empty() ? 1 : c.op.strides[d];
        const std::int64_t dilation = c.op.dilations.empty() ? 1 : c.op.dilations[d];
        to.push_back(from[2 + d] * stride - c.pads[d] + tap[1 + d] * dilation);
        if (to.back() < 0 || to.back() >= c.output[d]) return;
        weight.push_back(tap[1 + d]);
      }
      y[position(shape, to)] += x[i] * w[position(c.w, weight)];
    });
  });
  return y;
}

const Case cases[] = {
    {{1, 1, 3, 3}, {1, 2, 3, 3}, {}, {0, 0, 0, 0}, {5, 5}},
    {{2, 6, 5, 4},
     {6, 3, 3, 2},
     {.strides = {2, 3}, .dilations = {1, 2}, .pads = {1, 0, 2, 1}, .group = 2},
     {1, 0, 2, 1},
     {8, 11}},
    {{1, 3, 3}, {3, 2, 3}, {.strides = {2}}, {0, 0}, {7}},
    {{1, 2, 3, 4, 5},
     {2, 2, 3, 2, 3},
     {.strides = {2, 1, 3}, .output_padding = {1, 0, 2}},
     {0, 0, 0, 0, 0, 0},
     {8, 5, 17}},
    {{1, 2, 2, 3, 2, 2}, {2, 1, 2, 2, 1, 2}, {}, Pads::filled(8, 0), {3, 4, 2, 3}},
    // ONNX's examples of output_shape and output_padding.
    {{1, 1, 3, 3},
     {1, 2, 3, 3},
     {.strides = {3, 2}, .output_shape = {10, 8}},
     {0, 0, 0, 0},
     {10, 8}},
    {{1, 1, 3, 3},
     {1, 2, 3, 3},
     {.strides = {3, 2}, .output_padding = {1, 1}},
     {0, 0, 0, 0},
     {10, 8}},
    {{1, 1, 3, 3}, {1, 2, 3, 3}, {.strides = {3, 2}, .pads = {1, 2, 1, 2}}, {1, 2, 1, 2}, {7, 3}},
    // auto_pad: the odd element at the end or at the begin.
    {{1, 1, 3, 3},
     {1, 2, 4, 4},
     {.strides = {1, 2}, .auto_pad = AutoPad::same_upper},
     {1, 1, 2, 1},
     {3, 6}},
    {{1, 1, 3, 3},
     {1, 2, 4, 4},
     {.strides = {1, 2}, .auto_pad = AutoPad::same_lower},
     {2, 1, 1, 1},
     {3, 6}},
    {{1, 1, 3, 3},
     {1, 2, 3, 3},
     {.output_shape = {1, 2, 4, 4}, .auto_pad = AutoPad::same_upper},
     {0, 0, 1, 1},
     {4, 4}},
    {{1, 1, 3, 3}, {1, 2, 3, 3}, {.output_shape = {4, 4}}, {1, 1, 0, 0}, {4, 4}},
    {{1, 4, 7, 9},
     {4, 1, 3, 3},
     {.strides = {2, 2}, .group = 4, .auto_pad = AutoPad::valid},
     {0, 0, 0, 0},
     {15, 19}},
    // Channels in blocks: with strides a convolution for each phase, of several images at once.
    {{3, 20, 4, 3},
     {20, 18, 3, 3},
     {.strides = {2, 2}, .pads = {1, 1, 1, 1}},
     {1, 1, 1, 1},
     {7, 5}},
    {{2, 20, 4, 3},
     {20, 34, 3, 3},
     {.strides = {2, 2}, .output_padding = {1, 1}, .pads = {1, 1, 1, 1}},
     {1, 1, 1, 1},
     {8, 6}},
    {{5, 16, 3, 3},
     {16, 17, 1, 1},
     {.strides = {2, 2}, .output_padding = {1, 1}},
     {0, 0, 0, 0},
     {6, 6}},
    {{1, 32, 5, 20},
     {32, 20, 4, 4},
     {.strides = {2, 2}, .pads = {1, 1, 1, 1}},
     {1, 1, 1, 1},
     {10, 40}},
    {{2, 9, 4, 3}, {9, 16, 3, 5}, {.strides = {1, 2}, .pads = {2, 0, 1, 3}}, {2, 0, 1, 3}, {3, 6}},
    {{2, 16, 3, 3},
     {16, 16, 3, 3},
     {.strides = {2, 2}, .pads = {2, 2, 2, 2}},
     {2, 2, 2, 2},
     {3, 3}},
    {{2, 16, 7}, {16, 5, 6}, {.strides = {4}, .pads = {3, 2}}, {3, 2}, {25}},
    // Groups that convolutions divide channels into: of one channel, of some, of blocks.
    {{2, 20, 5, 6}, {20, 1, 3, 3}, {.pads = {1, 1, 1, 1}, .group = 20}, {1, 1, 1, 1}, {5, 6}},
    {{2, 20, 5, 6},
     {20, 1, 3, 3},
     {.strides = {2, 2}, .output_padding = {1, 1}, .pads = {1, 1, 1, 1}, .group = 20},
     {1, 1, 1, 1},
     {10, 12}},
    {{1, 17, 4, 5},
     {17, 1, 5, 4},
     {.strides = {2, 2}, .pads = {2, 1, 2, 2}, .group = 17},
     {2, 1, 2, 2},
     {7, 9}},
    {{1, 18, 4, 5},
     {18, 1, 1, 1},
     {.strides = {2, 2}, .output_padding = {1, 0}, .group = 18},
     {0, 0, 0, 0},
     {8, 9}},
    {{1, 18, 6, 5},
     {18, 1, 3, 3},
     {.strides = {1, 1}, .dilations = {2, 2}, .pads = {2, 2, 2, 2}, .group = 18},
     {2, 2, 2, 2},
     {6, 5}},
    {{1, 24, 4, 5}, {24, 4, 3, 3}, {.pads = {1, 1, 1, 1}, .group = 6}, {1, 1, 1, 1}, {4, 5}},
    {{2, 16, 4, 5},
     {16, 8, 3, 3},
     {.strides = {2, 2}, .pads = {1, 1, 0, 0}, .group = 2},
     {1, 1, 0, 0},
     {8, 10}},
    {{1, 32, 4, 5},
     {32, 16, 3, 3},
     {.strides = {2, 1}, .pads = {1, 1, 1, 1}, .group = 2},
     {1, 1, 1, 1},
     {7, 5}},
    {{1, 16, 4, 5}, {16, 2, 3, 3}, {.pads = {1, 1, 1, 1}, .group = 16}, {1, 1, 1, 1}, {4, 5}},
    {{1, 32, 3, 4, 5},
     {32, 16, 2, 3, 3},
     {.pads = {0, 1, 1, 0, 1, 1}, .group = 2},
     {0, 1, 1, 0, 1, 1},
     {4, 4, 5}},
    {{2, 20, 4, 3, 5},
     {20, 18, 3, 2, 3},
     {.pads = {1, 0, 1, 1, 1, 1}},
     {1, 0, 1, 1, 1, 1},
     {4, 3, 5}},
    {{1, 16, 2, 3, 4},
     {16, 17, 3, 3, 3},
     {.strides = {1, 2, 2}, .dilations = {2, 1, 1}},
     {0, 0, 0, 0, 0, 0},
     {6, 7, 9}},
    {{2, 16, 3, 3}, {16, 16, 3, 2}, {.pads = {1, 1, 1, 0}}, {1, 1, 1, 0}, {3, 3}},
    // Several blocks of filters, and products that are divided.
    {{1, 3, 100, 190},
     {3, 5, 3, 3},
     {.strides = {2, 2}, .pads = {1, 1, 1, 1}},
     {1, 1, 1, 1},
     {199, 379}},
};

}  // namespace

TEST_CASE("transposed convolution: the definition") {
  for (const Case& c : cases) {
    CAPTURE(c.output.size());
    Dims shape{c.x[0], c.w[1] * c.op.group};
    for (const std::int64_t n : c.output) shape.push_back(n);
    // Small whole numbers: exact in every type but bfloat16, which rounds once.
    const auto xs = doubles(scattered<std::int8_t>(c.x, -3, 3, 1)),
               ws = doubles(scattered<std::int8_t>(c.w, -4, 4, 2)),
               bs = doubles(scattered<std::int8_t>({shape[1]}, -5, 5, 3));
    const std::vector<double> without_bias = by_definition(c, shape, xs, ws);
    std::vector<double> with_bias = without_bias;
    for_each_index(shape, [&](const Dims& at, std::size_t i) {
      with_bias[i] += bs[static_cast<std::size_t>(at[1])];
    });
    const auto check = [&]<class T>(T) {
      const Array<T> x = array<T>(c.x, xs), w = array<T>(c.w, ws), b = array<T>({shape[1]}, bs);
      const AnyArray y = run(c.op, {x, w, b}, backwards()), z = run(c.op, {x, w});
      CHECK(y.info().shape == shape);
      check_close<T>(y, with_bias, 1);
      check_close<T>(z, without_bias, 1);
    };
    check(float{});
    if (c.x[2] >= 100) continue;
    check(double{});
    check(half{});
    check(bfloat16{});
  }
}

TEST_CASE("transposed convolution: empty tensors and dynamic extents") {
  const op::ConvTranspose op{.strides = {2, 2}};
  CHECK(run(op, {Array<float>({0, 1, 2, 2}), Array<float>({1, 1, 3, 3})}).info().shape ==
        Dims{0, 1, 5, 5});
  // Without channels every element is a sum of nothing.
  check_equal<float>(
      run(op, {Array<float>({1, 0, 1, 1}), Array<float>({0, 1, 1, 2}), Array<float>({1}, {3})}),
      {1, 1, 1, 2}, {3, 3});
  const Inferred y = op.infer({ElementType::float32, {dynamic, 4, dynamic, 6}},
                              {ElementType::float32, {4, 2, 3, 3}}, {});
  CHECK(y.outputs[0].shape == Dims{dynamic, 2, dynamic, 13});
}

TEST_CASE("transposed convolution: what does not fit") {
  using Op = op::ConvTranspose;
  const Array<float> x({1, 4, 3, 3}), w({4, 2, 3, 3});
  CHECK(reason(Op{}, {x, Array<float>({3, 2, 3, 3})}) == "input channels do not match the weight");
  CHECK(reason(Op{.group = 3}, {x, w}) == "group does not divide the number of channels");
  CHECK(reason(Op{.group = 0}, {x, w}) == "group is out of range");
  CHECK(reason(Op{}, {x, w, Array<float>({4})}) == "the bias has not one element per filter");
  CHECK(reason(Op{.kernel_shape = {3, 2}}, {x, w}) == "kernel_shape is not the weight's");
  CHECK(reason(Op{.strides = {1}}, {x, w}) == "strides need one number per spatial dimension");
  CHECK(reason(Op{.strides = {0, 1}}, {x, w}) == "strides are out of range");
  CHECK(reason(Op{.pads = {3, 3, 3, 3}}, {x, w}) == "spatial extent leaves no output");
  CHECK(reason(Op{.output_padding = {1}}, {x, w}) ==
        "output_padding needs one number per spatial dimension");
  CHECK(reason(Op{.output_shape = {1}}, {x, w}) ==
        "output_shape needs one number per spatial dimension");
  CHECK(reason(Op{}, {Array<float>({1, 4}), Array<float>({4, 2})}) ==
        "the input has no spatial dimension");
}
