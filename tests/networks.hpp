#pragma once

#include <vector>

#include <halftone/halftone.hpp>

namespace test {

/// Two convolutions with pooling and three layers, in the sizes of LeNet (LeCun and others 1998).
constexpr halftone::Graph lenet() {
  using namespace halftone;
  Graph g;
  auto x = input<float, Shape<1, 1, 28, 28>>(g, "x");
  auto c1 =
      op::relu(op::conv(x, parameter<float, Shape<6, 1, 5, 5>>(g, "c1"), {.pads = {2, 2, 2, 2}}));
  auto p1 = op::max_pool(c1, {.kernel_shape = {2, 2}, .strides = {2, 2}});
  auto c2 = op::relu(op::conv(p1, parameter<float, Shape<16, 6, 5, 5>>(g, "c2")));
  auto p2 = op::max_pool(c2, {.kernel_shape = {2, 2}, .strides = {2, 2}});
  auto f = op::flatten(p2);
  auto h1 = op::relu(op::matmul(f, parameter<float, Shape<400, 120>>(g, "f1")));
  auto h2 = op::relu(op::matmul(h1, parameter<float, Shape<120, 84>>(g, "f2")));
  output(g, op::matmul(h2, parameter<float, Shape<84, 10>>(g, "f3")), "logits");
  return g;
}

/// One layer of a transformer's encoder with one head, 8 tokens of 16 numbers (Vaswani and others
/// 2017).
constexpr halftone::Graph encoder_layer() {
  using namespace halftone;
  Graph g;
  auto x = input<float, Shape<8, 16>>(g, "x");
  auto q = op::matmul(x, parameter<float, Shape<16, 16>>(g, "wq"));
  auto k = op::matmul(x, parameter<float, Shape<16, 16>>(g, "wk"));
  auto v = op::matmul(x, parameter<float, Shape<16, 16>>(g, "wv"));
  auto scores = op::softmax(op::mul(op::matmul(q, op::transpose(k)), 0.25f));
  auto attended = op::matmul(op::matmul(scores, v), parameter<float, Shape<16, 16>>(g, "wo"));
  auto first = op::layer_normalization(op::add(x, attended), parameter<float, Shape<16>>(g, "s1"));
  auto hidden = op::relu(op::matmul(first, parameter<float, Shape<16, 64>>(g, "w1")));
  auto more = op::matmul(hidden, parameter<float, Shape<64, 16>>(g, "w2"));
  output(g, op::layer_normalization(op::add(first, more), parameter<float, Shape<16>>(g, "s2")),
         "y");
  return g;
}

/// A perceptron with a hidden layer (Rumelhart and others 1986) and the loss of four samples.
constexpr halftone::Graph perceptron() {
  using namespace halftone;
  Graph g;
  auto x = input<float, Shape<4, 8>>(g, "x");
  auto label = input<std::int32_t, Shape<4>>(g, "label");
  auto w1 = parameter<float, Shape<8, 16>>(g, "w1");
  auto b1 = parameter<float, Shape<16>>(g, "b1");
  auto w2 = parameter<float, Shape<16, 3>>(g, "w2");
  auto b2 = parameter<float, Shape<3>>(g, "b2");
  auto hidden = op::relu(op::add(op::matmul(x, w1), b1));
  auto logits = op::add(op::matmul(hidden, w2), b2);
  output(g, op::nll_loss(op::softmax(logits), label), "loss");
  return g;
}

/// x * 2^3 by a loop.
constexpr halftone::Graph looped() {
  using namespace halftone;
  Graph g;
  const AnyTensor x = g.input<float>("x", {2});
  Graph body;
  body.graph_name = body.store_name("double");
  body.input<std::int64_t>("pass", {});
  const AnyTensor condition = body.input<bool>("go_on", {});
  const AnyTensor state = body.input<float>("state", {2});
  output(body, condition, "next");
  op::exp(state);  // dead
  output(body, state + state, "twice");
  g.graphs.push_back(std::move(body));
  const AnyTensor count = constant<std::int64_t>(g, std::vector<std::int64_t>{3}, {});
  const TensorInfo y{ElementType::float32, {2}};
  const std::size_t n = g.add_node(descriptor<op::Loop>, pack(op::Loop{.body = {0}}),
                                   {count.id, no_tensor, x.id}, {&y, 1}, "loop");
  g.outputs.push_back(g.nodes[n].outputs[0]);
  return g;
}

}  // namespace test
