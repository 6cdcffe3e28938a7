// Gradients in constant evaluation, where they are found in a list of operators.
#include <halftone/transform/gradient.hpp>

#include <doctest/doctest.h>

#include <string>

#include <halftone/halftone.hpp>

#include "error_of.hpp"
#include "fingerprint.hpp"
#include "networks.hpp"

using namespace halftone;
using test::fingerprint;

namespace {

/// The gradient of a graph's last output, summed, by its first input. Without a list: the core's.
template <class... Op>
constexpr Graph differentiated(Graph g) {
  const TensorId x = g.inputs[0];
  const AnyTensor loss = op::sum(AnyTensor{&g, g.outputs.back()}, none, {.keepdims = 0});
  if constexpr (sizeof...(Op) != 0) {
    g.outputs = differentiate<op::ReduceSum, Op...>(g, loss.id, std::span(&x, 1));
  } else {
    g.outputs = differentiate(g, loss.id, std::span(&x, 1));
  }
  return g;
}

template <class... Op, class Make>
void check_same(Make) {
  constexpr std::uint64_t by_compiler = fingerprint(differentiated<Op...>(Make{}()));
  CHECK(fingerprint(differentiated<>(Make{}())) == by_compiler);
}

/// One operator, or what it expands to, on x: [2, 4, 6, 8] float.
template <class... Op, class Record>
void check_operator(Record) {
  check_same<Op...>([] {
    Graph g;
    const AnyTensor x = g.input<float>("x", {2, 4, 6, 8});
    output(g, AnyTensor(Record{}(g, x)));
    return g;
  });
}

constexpr AnyTensor weight(Graph& g, Dims shape) { return g.input<float>("w", shape); }
constexpr AnyTensor indices(Graph& g, Dims shape) { return g.input<std::int64_t>("i", shape); }

/// Two Calls of one body, x w each time.
constexpr Graph called() {
  Graph g, body;
  const AnyTensor inner_x = body.input<float>("x", {3}), inner_w = body.input<float>("w", {3});
  body.add_output(op::mul(inner_x, inner_w).id);
  const TensorId x = g.input<float>("x", {3}).id, w = g.input<float>("w", {3}).id;
  const TensorInfo info = g.info(x);
  const std::size_t first = add_node(g, op::Call{.callee = {0}}, {x, w}, {&info, 1});
  const std::size_t second =
      add_node(g, op::Call{.callee = {0}}, {g.nodes[first].outputs[0], w}, {&info, 1});
  g.add_output(g.nodes[second].outputs[0]);
  g.graphs.push_back(std::move(body));
  return g;
}

}  // namespace

// The law in both tests: constant evaluation and the run evaluate one function.
TEST_CASE("gradient: operators of each kind have the same one in constant evaluation") {
  check_operator<op::Gelu>([](Graph&, AnyTensor x) { return op::gelu(x); });
  check_operator<op::Max>([](Graph& g, AnyTensor x) { return op::maximum(x, weight(g, {8})); });
  check_operator<op::ReduceProd>(
      [](Graph& g, AnyTensor x) { return op::prod(x, constant(g, {1}), {.keepdims = 0}); });
  check_operator<op::MatMul>(
      [](Graph& g, AnyTensor x) { return op::matmul(x, weight(g, {8, 3})); });
  check_operator<op::Conv>([](Graph& g, AnyTensor x) {
    return op::conv(x, weight(g, {4, 2, 3, 3}), {.strides = {2, 2}, .group = 2});
  });
  check_operator<op::AveragePool>(
      [](Graph&, AnyTensor x) { return op::average_pool(x, {.kernel_shape = {2, 2}}); });
  check_operator<op::LRN>([](Graph&, AnyTensor x) { return op::lrn(x, {.size = 3}); });
  check_operator<op::BatchNormalization>([](Graph& g, AnyTensor x) {
    const AnyTensor scale = weight(g, {4}), bias = weight(g, {4}), mean = weight(g, {4}),
                    variance = weight(g, {4});
    return op::batch_normalization(x, scale, bias, mean, variance);
  });
  check_operator<op::LayerNormalization>(
      [](Graph& g, AnyTensor x) { return op::layer_normalization(x, weight(g, {8})); });
  check_operator<op::Concat>(
      [](Graph&, AnyTensor x) { return op::concat(std::vector{x, x}, {.axis = 1}); });
  check_operator<op::Slice>([](Graph& g, AnyTensor x) {
    return op::slice(x, constant(g, {1}), constant(g, {3}), constant(g, {1}));
  });
  check_operator<op::Gather>([](Graph& g, AnyTensor x) { return op::gather(x, indices(g, {3})); });
  check_operator<op::ScatterElements>([](Graph& g, AnyTensor x) {
    return op::scatter_elements(x, indices(g, {2, 4, 6, 8}), weight(g, {2, 4, 6, 8}));
  });
  check_operator<op::Reshape, op::LSTM>([](Graph& g, AnyTensor x) {
    const AnyTensor w = weight(g, {1, 12, 8}), r = weight(g, {1, 12, 3});
    return op::lstm(op::reshape(x, constant(g, {8, 6, 8})), w, r, {.hidden_size = 3})[0];
  });
  check_operator<op::Reshape, op::Transpose, op::MatMul>([](Graph& g, AnyTensor x) {
    return op::einsum(std::vector{x, weight(g, {8, 3})}, {.equation = "abcd,de->abce"});
  });
}

TEST_CASE("gradient: goes through bodies in constant evaluation, too") {
  check_same<op::Call, op::Mul>([] { return called(); });
  check_same<op::Loop, op::Add>([] { return test::looped(); });
}

TEST_CASE("gradient: an operator that the list leaves out has none") {
  Graph g = called();
  const std::string error = test::error_of([&] { differentiated<op::Mul>(g); });
  CHECK(test::contains(error, "have no gradient"));
  CHECK(test::contains(error, "Call"));
}
