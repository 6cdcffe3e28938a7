#pragma once

#include "../static/models.hpp"

// Models that are recorded at run time as in constant evaluation: compilers choose the order of a
// call's arguments, so that each node has a statement of its own.

/// A network for images of digits.
struct Digits {
  static constexpr void build(Graph& g) {
    const auto image = input<float, Shape<2, 1, 8, 8>>(g, "image");
    const auto first = parameter<float, Shape<8, 1, 3, 3>>(g, "conv1/w");
    const auto bias = parameter<float, Shape<8>>(g, "conv1/b", zeros);
    const auto c = op::relu(apply<op::Conv{.pads = {1, 1, 1, 1}}>(image, first, bias));
    const auto m = apply<op::MaxPool{.kernel_shape = {2, 2}, .strides = {2, 2}}>(c);
    const auto second = parameter<float, Shape<16, 8, 3, 3>>(g, "conv2/w");
    const auto d = op::relu(apply<op::Conv{}>(m, second));
    const auto mean = op::mean(d, constant(g, {2, 3}));
    const AnyTensor flat = op::flatten(d);
    const auto w = parameter<float, Shape<64, 10>>(g, "w");
    const AnyTensor logits = op::matmul(flat, w);
    output(g, op::softmax(logits), "shares");
    output(g, mean, "mean");
    output(g, op::identity(image), "again");
  }
};

/// Nodes of constants, which are computed before the machine runs: element by element with
/// broadcasting, by a kernel, as a view, and from a shape alone.
struct Folded {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<4, 6>>(g, "x");
    constexpr float row[] = {1, 2, 3, 4, 5, 6}, column[] = {1, -1, 2, -2};
    const auto a = constant<float, Shape<1, 6>>(g, std::span<const float>(row));
    const auto b = constant<float, Shape<4, 1>>(g, std::span<const float>(column));
    const auto sums = op::exp(a + b);
    const auto shape = constant(g, {6, 4});
    const AnyTensor table = op::transpose(op::reshape(sums, shape));
    const auto y = op::relu(x);
    output(g, y * table, "y");
    const auto square = constant<float, Shape<6, 6>>(g, in_place(window));
    const AnyTensor turned = op::transpose(square);
    output(g, op::matmul(y, turned), "z");
    output(g, apply<op::Shape{}>(x), "shape");
  }
};
