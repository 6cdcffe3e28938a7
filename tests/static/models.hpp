#pragma once

// Models that the compiler runs as static programs and a session as graphs.
#include <halftone/function.hpp>
#include <halftone/static.hpp>

using namespace halftone;

template <int In, int Out>
constexpr auto dense(Graph& g, auto x) {
  auto w = parameter<float, Shape<In, Out>>(g, "w");
  auto b = parameter<float, Shape<Out>>(g, "b", uniform{-0.5f, 0.5f});
  return op::matmul(x, w) + b;
}

struct Perceptron {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<1, 8>>(g, "x");
    output(g, dense<16, 3>(g, op::relu(dense<8, 16>(g, x))), "y");
  }
};

/// Of the second model's convolution, in place.
inline constexpr float window[36] = {
    0.5f,  -1,    0.25f, 2,     0.125f, -0.75f, 1,     0.5f, -0.25f, 0.375f, -2,      1.5f,
    -0.5f, 0.75f, 1,     -0.5f, 0.25f,  0.5f,   -1.5f, 1,    0.5f,   -0.25f, 0.125f,  1,
    2,     -1,    0.5f,  0.25f, -0.75f, 1,      0.5f,  -1,   0.25f,  0.5f,   -0.125f, 0.75f};

/// Operators with scratch memory, broadcasting, views, axes that are constants, and long functions.
struct Mixed {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<2, 1, 9, 9>>(g, "x");
    const auto w = parameter<float, Shape<4, 1, 3, 3>>(g, "window", in_place(window));
    const auto scale = parameter<float, Shape<4, 1, 1>>(g, "scale", uniform{0.5f, 2});
    const auto c = apply<op::Conv{.pads = {1, 1, 1, 1}}>(x, w) * scale;
    const auto pooled = apply<op::MaxPool{.kernel_shape = {3, 3}, .strides = {3, 3}}>(op::tanh(c));
    const AnyTensor flat = op::flatten(pooled);
    const AnyTensor sums = op::mean(c, constant(g, {1, -1}));
    output(g, op::softmax(flat), "shares");
    output(g, op::exp(sums) - op::sigmoid(sums), "sums");
    output(g, op::transpose(flat) > 0.25f, "is_large");
    output(g, op::identity(x), "again");
  }
};

constexpr auto classifier_loss(Graph& g) {
  const auto x = input<float, Shape<8, 20>>(g, "x");
  const auto label = input<std::int32_t, Shape<8>>(g, "label");
  const auto h = op::relu(dense<20, 24>(g, x));
  const auto loss = op::nll_loss(op::softmax(dense<24, 10>(g, h)), label);
  output(g, loss, "loss");
  return loss;
}
struct TrainedBySgd {
  static constexpr void build(Graph& g) {
    const auto loss = classifier_loss(g);
    train(g, loss, Sgd{.learning_rate = variable{0.25f}, .momentum = 0.5f});
  }
};
struct TrainedByAdam {
  static constexpr void build(Graph& g) {
    const auto loss = classifier_loss(g);
    const Adam adam{.learning_rate = 0.0625f, .weight_decay = 0.125f};
    train(g, loss, adam);
  }
};

struct Descent {
  constexpr void update(auto w, auto dw) const { op::copy_var_update(w, w - 0.125f * dw); }
};
struct TrainedByOwn {
  static constexpr void build(Graph& g) { train(g, classifier_loss(g), Descent{}); }
};

/// Convolutions and their gradients.
struct TrainedImages {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<4, 3, 8, 8>>(g, "x");
    const auto label = input<std::int32_t, Shape<4>>(g, "label");
    const auto w = parameter<float, Shape<8, 3, 3, 3>>(g, "first");
    const auto b = parameter<float, Shape<8>>(g, "bias", zeros);
    const auto c = op::relu(apply<op::Conv{.pads = {1, 1, 1, 1}}>(x, w, b));
    const auto m = apply<op::MaxPool{.kernel_shape = {2, 2}, .strides = {2, 2}}>(c);
    const auto v = parameter<float, Shape<4, 8, 3, 3>>(g, "second");
    const AnyTensor flat = op::flatten(op::relu(apply<op::Conv{}>(m, v)));
    const auto last = parameter<float, Shape<16, 10>>(g, "last");
    const AnyTensor loss = op::nll_loss(op::softmax(op::matmul(flat, last)), label);
    output(g, loss, "loss");
    train(g, loss, Sgd{.learning_rate = 0.015625f});
  }
};

/// Calls of one function, one of them inside another, which changes a variable. What a session calls
/// becomes nodes of a static program.
struct Functions {
  static constexpr void build(Graph& g) {
    using Row = Tensor<float, Shape<4>>;
    const auto half = function([](Row x) { return std::tuple(x * 0.5f, x); });
    const auto count = function([&](by_ref<Row> sum, Row x) {
      const auto [smaller, same] = call(half, x);
      op::copy_var_update(*sum, *sum + smaller);
      return smaller * same;
    });
    const auto x = input<float, Shape<4>>(g, "x");
    const auto sum = parameter<float, Shape<4>>(g, "sum", zeros);
    const auto y = call(count, sum, x);
    const auto z = call(count, sum, y);
    const auto [smaller, same] = call(half, z);
    output(g, smaller, "smaller");
    output(g, same, "same");
  }
};
