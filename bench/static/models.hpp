#pragma once

// The models of bench/static/run.
#include <halftone/static.hpp>

using namespace halftone;

template <int In, int Out>
constexpr auto dense(Graph& g, auto x) {
  auto w = parameter<float, Shape<In, Out>>(g, "w");
  auto b = parameter<float, Shape<Out>>(g, "b", uniform{-0.5f, 0.5f});
  return op::matmul(x, w) + b;
}

struct Mlp {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<1, 8>>(g, "x");
    output(g, dense<16, 3>(g, op::relu(dense<8, 16>(g, x))), "y");
  }
};

struct WideMlp {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<1, 784>>(g, "x");
    const auto h = op::relu(dense<512, 512>(g, op::relu(dense<784, 512>(g, x))));
    output(g, dense<512, 10>(g, h), "y");
  }
};

struct BatchedMlp {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<32, 784>>(g, "x");
    const auto h = op::relu(dense<512, 512>(g, op::relu(dense<784, 512>(g, x))));
    output(g, dense<512, 10>(g, h), "y");
  }
};

/// Forward, backward and updates of a small network.
struct TrainedMlp {
  static constexpr void build(Graph& g) {
    const auto x = input<float, Shape<16, 8>>(g, "x");
    const auto y = input<float, Shape<16, 3>>(g, "y");
    const auto error = dense<16, 3>(g, op::relu(dense<8, 16>(g, x))) - y;
    const auto loss = op::mean(error * error);
    output(g, loss, "loss");
    train(g, loss, Sgd{.learning_rate = 0.0625f});
  }
};

/// 195 operators forward: 64 layers, and the loss.
struct DeepTraining {
  static constexpr void build(Graph& g) {
    auto x = input<float, Shape<4, 16>>(g, "x");
    const auto y = input<float, Shape<4, 16>>(g, "y");
    auto h = op::tanh(dense<16, 16>(g, x));
    for (int i = 1; i < 64; ++i) h = op::tanh(dense<16, 16>(g, h));
    const auto error = h - y;
    const auto loss = op::mean(error * error);
    output(g, loss, "loss");
    train(g, loss, Sgd{.learning_rate = 0.0625f});
  }
};

#if __has_include("digits.hpp")
#include "digits.hpp"  // halftone compile cnn_trained.onnx --size batch=1 --emit header
using Digits = digits::Model;
#endif
