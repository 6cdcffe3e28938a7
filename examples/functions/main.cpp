// Functions: bodies that are recorded once, called twice, and differentiated where they are called.
#include <cstdio>

#include <halftone/autodiff.hpp>
#include <halftone/halftone.hpp>
using namespace halftone;

template <int... D>
using F = Tensor<float, Shape<D...>>;

/// A layer is a struct with its weights and what it computes.
template <int Batch, int In, int Out>
struct Linear {
  struct Weights {
    F<In, Out> W;
    F<Out> b;
    constexpr void tensors(auto&& visit) { visit("W", W), visit("b", b); }
  };
  auto operator()(F<Batch, In> x, Weights w) const { return op::gelu(op::matmul(x, w.W) + w.b); }
};

/// Trains a body that is called twice, with weights for each call; returns the loss after `steps`.
float train_calls(const Array<float>& xs, const Array<float>& ys, int steps) {
  Graph g;
  auto x = input<float, Shape<32, 8>>(g, "x"), y = input<float, Shape<32, 8>>(g, "y");
  auto layer = function(Linear<32, 8, 8>{});
  auto hidden = call(layer, x, parameters<Linear<32, 8, 8>::Weights>(g, "first"));
  auto error = call(layer, hidden, parameters<Linear<32, 8, 8>::Weights>(g, "second")) - y;
  auto loss = op::mean(error * error);
  train(g, loss, Adam{.learning_rate = 0.01f});
  Session session(std::move(g), {.outputs = {loss}});
  for (int i = 1; i < steps; ++i) session.run({{"x", xs}, {"y", ys}});
  return session.run({{"x", xs}, {"y", ys}})[0].values<float>()[0];
}

/// The same network, whose gradients are asked for call by call.
float train_call_sites(const Array<float>& xs, const Array<float>& ys, int steps) {
  Graph g;
  auto x = input<float, Shape<32, 8>>(g, "x"), y = input<float, Shape<32, 8>>(g, "y");
  auto first = parameters<Linear<32, 8, 8>::Weights>(g, "first");
  auto second = parameters<Linear<32, 8, 8>::Weights>(g, "second");
  auto layer = function(Linear<32, 8, 8>{});
  auto hidden = call_with_info(layer, x, first);
  auto out = call_with_info(layer, hidden.out, second);
  auto error = out.out - y;
  auto loss = op::mean(error * error);
  auto gradient = autodiff(layer);
  auto [d_hidden, d_second] = call(gradient, out, error * (2 / 256.f));
  auto [d_x, d_first] = call(gradient, hidden, d_hidden);
  Adam adam{.learning_rate = 0.01f};
  const auto update = [&](auto w, auto dw) { adam.update(w, dw); };
  for_pairs(first, d_first, update);
  for_pairs(second, d_second, update);
  Session session(std::move(g), {.outputs = {loss}});
  for (int i = 1; i < steps; ++i) session.run({{"x", xs}, {"y", ys}});
  return session.run({{"x", xs}, {"y", ys}})[0].values<float>()[0];
}

int main() {
  Array<float> xs({32, 8}), ys({32, 8});  // y is x, turned round and smaller
  for (int i = 0; i < 32; ++i) {
    for (int k = 0; k < 8; ++k) {
      xs[i * 8 + k] = static_cast<float>((i * 7 + k * 5) % 11) / 11;
      ys[i * 8 + 7 - k] = xs[i * 8 + k] / 2;
    }
  }
  std::printf("losses %.4f %.4f\n", train_calls(xs, ys, 1), train_calls(xs, ys, 500));
  std::printf("losses %.4f %.4f\n", train_call_sites(xs, ys, 1), train_call_sites(xs, ys, 500));
}
